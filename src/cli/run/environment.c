/* environment.c: how a rank learns where it is. A new backend adds one line to `transports` and the two functions that
 * it names. */
#include "cli/run/job.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static void set_number(const char *name, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    setenv(name, text, 1);
}

static bool shm_prepare(struct job *job) {
    uint64_t random;
    if (getentropy(&random, sizeof random) < 0)
        return false;
    snprintf(job->segment, sizeof job->segment, "/cobre-%ld-%016llx", (long)getpid(), (unsigned long long)random);
    return true;
}

static void shm_set(const struct job *job, size_t rank) {
    setenv("COBRE_SHM_NAME", job->segment, 1);
    set_number("COBRE_SHM_RANK", rank);
    set_number("COBRE_SHM_SIZE", job->options.size);
}

static bool make_token(struct job *job) {
    unsigned char random[(sizeof job->token - 1) / 2];
    if (getentropy(random, sizeof random) < 0)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(job->token + 2 * i, 3, "%02x", random[i]);
    return true;
}

/* A program may open a second communicator on the port while connections of the first still linger. */
static int make_socket(int family) {
    const int yes = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return fd;
}

/* One socket for IPv4 and IPv6 where that can be had. */
static int listen_everywhere(void) {
    const int no = 0;
    struct sockaddr_in6 all6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    int fd = make_socket(AF_INET6);
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0 &&
        bind(fd, (struct sockaddr *)&all6, sizeof all6) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    cb_close(&fd);
    return -1;
}

static int listen_at(in_addr_t address) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    int fd = make_socket(AF_INET);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    cb_close(&fd);
    return -1;
}

bool cb_environment_listen(struct job *job, bool loopback) {
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    job->listen_fd = loopback ? listen_at(INADDR_LOOPBACK) : listen_everywhere();
    if (job->listen_fd < 0 && !loopback)
        job->listen_fd = listen_at(INADDR_ANY);
    if (job->listen_fd < 0 || getsockname(job->listen_fd, (struct sockaddr *)&bound, &length) < 0)
        return false;
    job->port = ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)&bound)->sin_port
                                                 : ((struct sockaddr_in6 *)&bound)->sin6_port);
    return true;
}

/* On other hosts the agent of rank 0 listens, and tells us the port. */
static bool tcp_prepare(struct job *job) {
    const struct host_list *list = &job->options.hosts;
    if (!make_token(job))
        return false;
    job->coordinator = list->count ? cb_host_address(list->hosts[0].name) : "127.0.0.1";
    return list->count || cb_environment_listen(job, true);
}

static void tcp_set(const struct job *job, size_t rank) {
    setenv("COBRE_TCP_COORDINATOR", job->coordinator, 1);
    set_number("COBRE_TCP_PORT", job->port);
    set_number("COBRE_TCP_RANK", rank);
    set_number("COBRE_TCP_SIZE", job->options.size);
    setenv("COBRE_TCP_TOKEN", job->token, 1);
    if (rank == 0 && fcntl(job->listen_fd, F_SETFD, 0) == 0)
        set_number(CB_ENV_LISTEN_FD, (uint64_t)job->listen_fd);
}

static bool local_prepare(struct job *job) {
    (void)job;
    return true;
}

static void local_set(const struct job *job, size_t rank) {
    (void)job;
    (void)rank;
}

static const struct transport {
    cobre_backend backend;
    bool (*prepare)(struct job *job);                /* once, before the guard and the ranks; false: see errno */
    void (*set)(const struct job *job, size_t rank); /* in each rank, before exec */
} transports[] = {
    {.backend = COBRE_SHM, .prepare = shm_prepare, .set = shm_set},
    {.backend = COBRE_TCP, .prepare = tcp_prepare, .set = tcp_set},
    {.backend = COBRE_LOCAL, .prepare = local_prepare, .set = local_set},
};

static const struct transport *transport_of(cobre_backend backend) {
    for (size_t i = 0; i < sizeof transports / sizeof *transports; i++)
        if (transports[i].backend == backend)
            return &transports[i];
    return NULL;
}

bool cb_environment_has(cobre_backend backend) {
    return transport_of(backend) != NULL;
}

bool cb_environment_prepare(struct job *job) {
    return transport_of(job->options.backend)->prepare(job);
}

/* What says who this rank is. A launcher inside a rank must not hand on its own. */
static void forget_outer_job(void) {
    static const char *const names[] = {
        "COBRE_SHM_NAME",  "COBRE_SHM_RANK",       "COBRE_SHM_SIZE", "COBRE_TCP_COORDINATOR",
        "COBRE_TCP_PORT",  "COBRE_TCP_RANK",       "COBRE_TCP_SIZE", "COBRE_TCP_BIND",
        "COBRE_TCP_TOKEN", "COBRE_TCP_TOKEN_FILE", "COBRE_TCP_OPEN", CB_ENV_LISTEN_FD,
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

void cb_environment_set(const struct job *job, size_t rank, int error_fd) {
    forget_outer_job();
    setenv("COBRE_COMM_BACKEND", cobre_backend_name(job->options.backend), 1);
    set_number(CB_ENV_RUN_SIZE, job->options.size);
    set_number(CB_ENV_ERROR_FD, (uint64_t)error_fd);
    transport_of(job->options.backend)->set(job, rank);
}

/* Who and where one is, and ways to things that only this host has. */
bool cb_environment_is_of_host(const char *variable) {
    static const char *const names[] = {
        "HOME=",   "USER=", "LOGNAME=", "SHELL=", "MAIL=",       "HOSTNAME=", "HOST=",    "PWD=",
        "OLDPWD=", "TMP=",  "TMPDIR=",  "TEMP=",  "SHLVL=",      "_=",        "DISPLAY=", "WAYLAND_DISPLAY=",
        "TTY=",    "SSH_",  "XDG_",     "DBUS_",  "XAUTHORITY=", "GPG_",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}
