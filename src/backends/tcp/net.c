/* SPDX-License-Identifier: Apache-2.0 */
/* net.c: sockets: listening, connecting, and the few options that matter.
 *
 * Two ranks of one host need no TCP: a Unix socket takes a third to a half of the time, and the kernel tells the owner
 * of the process at the other end. Rank 0's has a name that follows from its port, in the abstract namespace, which
 * belongs to the network namespace as ports do. So exactly the processes that reach the port without leaving the host
 * find it. These names, and much of the information in link.c, exist only on Linux. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

struct addrinfo *cb_net_resolve(const char *host, uint16_t port, int flags, int *error) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV}, *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    *error = getaddrinfo(host, service, &hints, &found);
    return *error ? NULL : found;
}

static int open_socket(const struct addrinfo *address) {
    return socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->ai_protocol);
}

static int listen_at(const struct addrinfo *address) {
    int fd = open_socket(address), on = 1;
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) /* 0.0.0.0 gets a listener of its own */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

uint16_t cb_net_port_of(int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

static void set_port(struct sockaddr *address, uint16_t port) {
    if (address->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

void cb_net_close(struct cb_listeners *listeners) {
    while (listeners->count)
        close(listeners->fds[--listeners->count]);
}

/* Listens at every address of host (NULL: all of this machine's) that the machine has, on one port; 0 lets the system
 * choose it. A port that another program has at one of them will not do, and closes all listeners: some ranks would
 * reach that program. Where there is none, *error is errno, or a negative getaddrinfo code. */
void cb_net_listen(struct cb_listeners *listeners, const char *host, uint16_t *port, int *error) {
    struct addrinfo *found = cb_net_resolve(host, *port, AI_PASSIVE, error);
    for (const struct addrinfo *at = found; at && listeners->count < CB_MAX_LISTENERS - 1; at = at->ai_next) {
        set_port(at->ai_addr, *port);
        int fd = listen_at(at);
        if (fd >= 0) {
            listeners->fds[listeners->count++] = fd;
            *port = cb_net_port_of(fd);
            continue;
        }
        *error = errno;
        if (errno == EADDRINUSE) {
            cb_net_close(listeners);
            break;
        }
    }
    if (found)
        freeaddrinfo(found);
}

bool cb_net_is_here(const struct sockaddr *address, socklen_t length) {
    struct sockaddr_storage at = {0};
    int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(&at, address, length);
    set_port((struct sockaddr *)&at, 0);
    bool here = fd >= 0 && bind(fd, (struct sockaddr *)&at, length) == 0;
    if (fd >= 0)
        close(fd);
    return here;
}

/* Has the name an address like that? */
static bool has(const char *host, bool (*like_that)(const struct addrinfo *)) {
    int error;
    bool found_one = false;
    struct addrinfo *found = cb_net_resolve(host, 0, 0, &error);
    for (const struct addrinfo *at = found; at; at = at->ai_next)
        found_one |= like_that(at);
    if (found)
        freeaddrinfo(found);
    return found_one;
}

static bool is_not_loopback(const struct addrinfo *at) {
    return at->ai_family == AF_INET
               ? ntohl(((struct sockaddr_in *)(void *)at->ai_addr)->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET
               : !IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)(void *)at->ai_addr)->sin6_addr);
}

static bool is_not_here(const struct addrinfo *at) {
    return !cb_net_is_here(at->ai_addr, at->ai_addrlen);
}

static bool is_any(const struct addrinfo *at) {
    return at != NULL;
}

bool cb_net_is_loopback(const char *host) {
    return has(host, is_any) && !has(host, is_not_loopback);
}

bool cb_net_is_elsewhere(const char *host) {
    return has(host, is_not_here);
}

bool cb_net_await(int fd, short events, const struct cb_patience *patience) {
    for (;;) {
        struct pollfd polls[] = {{.fd = fd, .events = events}, {.fd = patience->alarm, .events = POLLIN}};
        double left = patience->until - cb_now();
        int slice = left > 0.05 ? 50 : left > 0 ? (int)(left * 1e3) + 1 : 0;
        int result = poll(polls, 2, slice);
        if (result > 0 && polls[0].revents)
            return true;
        errno = result > 0 && polls[1].revents          ? ECONNABORTED
                : cb_tcp_interrupted(patience->options) ? EINTR
                                                        : ETIMEDOUT;
        if (errno != ETIMEDOUT || left <= 0)
            return false;
    }
}

/* A port that nobody listens on can be connected to by itself, if the system gives it as source port as well. */
static bool is_self_connected(int fd) {
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t length = sizeof here, other = sizeof there;
    return getsockname(fd, (struct sockaddr *)&here, &length) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &other) == 0 && length == other &&
           memcmp(&here, &there, length) == 0;
}

int cb_net_connect(const struct sockaddr *address, socklen_t address_length, const struct cb_patience *patience) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    socklen_t length = sizeof error;
    if (fd < 0)
        return -1;
    if (connect(fd, address, address_length) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            if (!cb_net_await(fd, POLLOUT, patience))
                error = errno;
            else
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        }
    }
    if (error == 0 && is_self_connected(fd)) { /* reset it: an orderly end would keep rank 0's port busy for a minute */
        struct linger reset = {.l_onoff = 1};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        error = ECONNREFUSED;
    }
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

bool cb_net_send(int fd, const void *bytes, size_t count, const struct cb_patience *patience) {
    const char *at = bytes;
    while (count) {
        ssize_t sent = send(fd, at, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            at += sent;
            count -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!cb_net_await(fd, POLLOUT, patience))
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool cb_net_receive(int fd, void *bytes, size_t count, const struct cb_patience *patience) {
    char *at = bytes;
    while (count) {
        ssize_t got = recv(fd, at, count, MSG_DONTWAIT);
        if (got > 0) {
            at += got;
            count -= (size_t)got;
        } else if (got == 0) {
            errno = ECONNRESET;
            return false;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!cb_net_await(fd, POLLIN, patience))
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

void cb_net_for_data(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* The kernel asks a host that says nothing, and ends the connection when `timeout`, or most of a day, has passed without
 * an answer. A rank that computes need not know: its kernel answers. */
void cb_net_keep_alive(int fd, double timeout) {
    int on = 1, every = timeout < 10 ? 1 : timeout > 3600 ? 600 : (int)(timeout / 6);
    int probes = timeout > 76000 ? 126 : timeout < 3 * every ? 1 : (int)(timeout / every) - 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* Nor may what was sent stay unacknowledged for longer. Only here: see link.c. */
void cb_net_for_control(int fd, double timeout) {
    cb_net_for_data(fd);
    cb_net_keep_alive(fd, timeout);
    unsigned milliseconds = timeout < 1e6 ? (unsigned)(timeout * 1e3) : 1000000000u;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

static void write_address(int fd, int (*name_of_end)(int, struct sockaddr *, socklen_t *), char *text, size_t len) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 && address.ss_family == AF_UNIX) {
        snprintf(text, len, "this host");
        return;
    }
    length = sizeof address;
    if (name_of_end(fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, text, (socklen_t)len, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(text, len, "?");
}

/* The numeric address at the other end, which is also what a second connection to the same host needs. */
void cb_net_peer_text(int fd, char *text, size_t len) {
    write_address(fd, getpeername, text, len);
}

void cb_net_own_text(int fd, char *text, size_t len) {
    write_address(fd, getsockname, text, len);
}

void cb_net_name_of_port(uint16_t port, struct cb_unix_name *name) {
    snprintf(name->text, sizeof name->text, "cobre-tcp/%u", port);
}

void cb_net_name_of_ring(const unsigned char job[CB_JOB_ID], size_t rank, struct cb_unix_name *name) {
    char id[2 * CB_JOB_ID + 1];
    snprintf(name->text, sizeof name->text, "cobre-tcp/%s/%zu", sodium_bin2hex(id, sizeof id, job, CB_JOB_ID), rank);
}

static int unix_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* In the abstract namespace: nothing stays in a file system. */
static socklen_t unix_address(const struct cb_unix_name *name, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(name->text);
    memcpy(address->sun_path + 1, name->text, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

bool cb_net_listen_unix(struct cb_listeners *listeners, const struct cb_unix_name *name) {
    struct sockaddr_un address;
    socklen_t length = unix_address(name, &address);
    int fd = unix_socket();
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0) {
        listeners->fds[listeners->count++] = fd;
        return true;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return false;
}

bool cb_net_is_ours(int fd) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int cb_net_connect_unix(const struct cb_unix_name *name) {
    struct sockaddr_un address;
    socklen_t length = unix_address(name, &address);
    int fd = unix_socket(), error;
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, length) != 0)
        error = errno;
    else if (!cb_net_is_ours(fd)) /* who has taken the name first */
        error = EACCES;
    else
        return fd;
    close(fd);
    errno = error;
    return -1;
}
