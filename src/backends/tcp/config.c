/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: the tcp backend as the core sees it: its variables, its configuration, how a launcher starts its ranks. */
#include "backends/tcp/tcp.h"

#include "comm/select.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define COORDINATOR "COBRE_TCP_COORDINATOR"
#define PORT "COBRE_TCP_PORT"
#define RANK "COBRE_TCP_RANK"
#define SIZE "COBRE_TCP_SIZE"
#define TIMEOUT "COBRE_TCP_TIMEOUT_SECS"
#define BIND "COBRE_TCP_BIND"
#define TOKEN "COBRE_TCP_TOKEN"
#define TOKEN_FILE "COBRE_TCP_TOKEN_FILE"
#define OPEN "COBRE_TCP_OPEN"
#define LISTEN_FD "COBRE_RUN_LISTEN_FD" /* from the launcher, for rank 0: a bound socket */

#if COBRE_HAVE_TCP

/* A secret in a file must be the reader's own, and nobody else's. */
static cobre_status read_token_file(const char *path, char *token, size_t size) {
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return CB_REFUSE(COBRE_TCP, TOKEN_FILE, "see that the file exists and that this user can read it",
                         TOKEN_FILE " %.128s cannot be read: %s", path, strerror(errno));
    bool safe = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && (file.st_uid == geteuid() || file.st_uid == 0) &&
                !(file.st_mode & 077);
    ssize_t got = safe ? read(fd, token, size) : 0;
    close(fd);
    if (!safe)
        return CB_REFUSE(COBRE_TCP, TOKEN_FILE, "make it yours alone: chmod 600",
                         TOKEN_FILE " %.128s is not a file, or others can read or change it", path);
    while (got > 0 && (token[got - 1] == '\n' || token[got - 1] == '\r'))
        got--;
    if (got <= 0 || (size_t)got >= size || memchr(token, '\0', (size_t)got))
        return CB_REFUSE(COBRE_TCP, TOKEN_FILE, "put one line of 1 to 511 characters into it",
                         TOKEN_FILE " %.128s holds no token, a longer one than 511 characters, or a zero byte", path);
    token[got] = '\0';
    return COBRE_OK;
}

static cobre_status copy_token(const char *token, const char *from, struct cb_tcp_options *own) {
    if (strlen(token) >= sizeof own->token)
        return CB_REFUSE(COBRE_TCP, from, "use a token of up to 511 characters", "%s is longer than 511 characters",
                         from);
    snprintf(own->token, sizeof own->token, "%s", token);
    return COBRE_OK;
}

static cobre_status read_token(struct cb_tcp_options *own) {
    const char *token = cb_variable(TOKEN), *file = cb_variable(TOKEN_FILE);
    if (token && file)
        return CB_REFUSE(COBRE_TCP, TOKEN, "unset one of them", TOKEN " and " TOKEN_FILE " are both set");
    if (file)
        return read_token_file(file, own->token, sizeof own->token);
    return token ? copy_token(token, TOKEN, own) : COBRE_OK;
}

static cobre_status read_port(struct cb_tcp_options *own) {
    const char *text = cb_variable(PORT);
    uint64_t port = 29500;
    if (text && (!cb_parse_whole(text, &port) || port == 0 || port > UINT16_MAX))
        return CB_REFUSE(COBRE_TCP, PORT, "set it to a port above 1023, or unset it for 29500",
                         PORT " is \"%.64s\", which is not a port from 1 to 65535", text);
    own->port = (uint16_t)port;
    return COBRE_OK;
}

/* The launcher's socket, already bound to the port that the other ranks were told. The program may have closed it and have
 * something else there now. */
static void read_listener(size_t rank, struct cb_tcp_options *own) {
    if (rank == 0)
        own->listen_fd = cb_take_descriptor(LISTEN_FD);
}

static cobre_status from_environment(cb_options *options) {
    struct cb_tcp_options *own = cb_tcp_own_mut(options);
    static const char *const needed[] = {RANK, SIZE, NULL};
    char list[128];
    cb_list_missing(needed, list, sizeof list);
    const char *rank = cb_variable(RANK);
    own->coordinator = cb_variable(COORDINATOR);
    if (!own->coordinator && !(rank && strcmp(rank, "0") == 0))
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s" COORDINATOR, list[0] ? ", " : "");
    if (list[0])
        return cb_missing(
            COBRE_TCP, list,
            "let the launcher set them: cobre run --backend tcp -n 2 ./program; or by hand: " CB_ENV_BACKEND
            "=tcp " COORDINATOR "=host " RANK "=1 " SIZE "=2 ./program");
    own->bind = cb_variable(BIND);
    own->listen_fd = -1;
    cobre_status status = cb_read_count(COBRE_TCP, SIZE, &options->size);
    if (!status)
        status = cb_read_count(COBRE_TCP, RANK, &options->rank);
    if (!status)
        status = cb_check_ranks(options, RANK, SIZE);
    if (!status)
        status = cb_read_seconds(COBRE_TCP, TIMEOUT, &options->join_timeout_secs);
    if (!status)
        status = read_port(own);
    if (!status)
        status = cb_read_switch(COBRE_TCP, OPEN, &own->open);
    if (!status)
        status = read_token(own);
    read_listener(options->rank, own);
    return status;
}

static cobre_status from_config(const cobre_config *config, cb_options *options) {
    struct cb_tcp_options *own = cb_tcp_own_mut(options);
    if (config->size == 0 || (config->rank > 0 && !config->tcp_coordinator))
        return cb_missing(
            COBRE_TCP,
            config->size                                   ? "config.tcp_coordinator"
            : config->rank == 0 || config->tcp_coordinator ? "config.size"
                                                           : "config.size, config.tcp_coordinator",
            "set them in the config: {.backend = COBRE_TCP, .tcp_coordinator = \"host\", .rank = 1, .size = 2}");
    options->rank = config->rank;
    options->size = config->size;
    own->coordinator = config->tcp_coordinator;
    own->bind = config->tcp_bind;
    own->listen_fd = -1;
    own->port = config->tcp_port ? config->tcp_port : 29500;
    own->open = config->tcp_open;
    cobre_status status = cb_check_ranks(options, "config.rank", "config.size");
    return status || !config->tcp_token ? status : copy_token(config->tcp_token, "config.tcp_token", own);
}

static bool in_config(const cobre_config *config) {
    return config->tcp_coordinator;
}

static bool launch(cb_launch *launch) {
    unsigned char random[32];
    if (getentropy(random, sizeof random) < 0)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(launch->name + 2 * i, 3, "%02x", random[i]);
    return true;
}

/* Bound, so that nobody else can have the port; rank 0 listens, when it is there to answer. */
static int bind_to(const struct sockaddr *address, socklen_t length) {
    const int no = 0;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (fd >= 0 && bind(fd, address, length) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int bind_to_ipv4(in_addr_t address) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    return bind_to((struct sockaddr *)&at, sizeof at);
}

/* One socket for IPv4 and IPv6 where that can be had. */
static int bind_everywhere(void) {
    struct sockaddr_in6 all = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    int fd = bind_to((struct sockaddr *)&all, sizeof all);
    return fd >= 0 ? fd : bind_to_ipv4(INADDR_ANY);
}

/* Rank 0's socket is bound before any rank starts, so that the others can be told its port. */
static bool launch_here(cb_launch *launch) {
    launch->listen_fd = launch->coordinator ? bind_everywhere() : bind_to_ipv4(INADDR_LOOPBACK);
    launch->port = launch->listen_fd >= 0 ? cb_net_port_of(launch->listen_fd) : 0;
    return launch->port != 0;
}

static void launch_rank(const cb_launch *launch, size_t rank) {
    setenv(COORDINATOR, launch->coordinator ? launch->coordinator : "127.0.0.1", 1);
    cb_set_number(PORT, launch->port);
    cb_set_number(RANK, rank);
    cb_set_number(SIZE, launch->size);
    setenv(TOKEN, launch->name, 1);
    if (rank == 0)
        cb_set_descriptor(LISTEN_FD, launch->listen_fd);
}

#endif

const cb_backend cb_tcp_backend = {
    .variables = (const char *const[]){COORDINATOR, PORT, RANK, SIZE, BIND, TOKEN, TOKEN_FILE, OPEN, LISTEN_FD, NULL},
    .settings = (const char *const[]){TIMEOUT, NULL},
    .signs = (const char *const[]){COORDINATOR, RANK, NULL},
    .sizes = (const cb_size_sign[]){{.name = SIZE}, {.name = RANK, .is_rank = true}, {.name = NULL}},
    .over_hosts = true,
#if COBRE_HAVE_TCP
    .from_environment = from_environment,
    .from_config = from_config,
    .config_sign = "config.tcp_coordinator",
    .in_config = in_config,
    .open = cb_tcp_open,
    .free = cb_tcp_free,
    .abort = cb_tcp_abort,
    .memory_free = cb_heap_memory_free,
    .at_exit = cb_tcp_at_exit,
    .after_fork = cb_tcp_close,
    .launch = launch,
    .launch_here = launch_here,
    .launch_rank = launch_rank,
#endif
};
