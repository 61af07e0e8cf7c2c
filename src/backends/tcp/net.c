/* SPDX-License-Identifier: Apache-2.0 */
/* net.c: sockets: listening, connecting, and the few options that matter.
 *
 * Two ranks of one host need no TCP: a Unix socket takes a third to a half of the time. Beside every listener there is one
 * for them, named after its address and port in the abstract namespace, which belongs to the network namespace as
 * ports do: who reaches the listener's address from here without leaving finds it, and nobody else. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

#define TRY_SECONDS 3.0 /* for one address; another of the same name may answer */

static struct addrinfo *resolve(const char *host, uint16_t port, int flags, int *error) {
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

static uint16_t port_of(int fd) {
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
    struct addrinfo *found = resolve(host, *port, AI_PASSIVE, error);
    for (const struct addrinfo *at = found; at && listeners->count < CB_MAX_LISTENERS / 2; at = at->ai_next) {
        set_port(at->ai_addr, *port);
        int fd = listen_at(at);
        if (fd >= 0) {
            listeners->fds[listeners->count++] = fd;
            *port = port_of(fd);
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

/* Do all addresses of the name stay on this machine? */
bool cb_net_is_loopback(const char *host) {
    int error;
    struct addrinfo *found = resolve(host, 0, 0, &error);
    bool all = found != NULL;
    for (const struct addrinfo *at = found; at; at = at->ai_next)
        all &= at->ai_family == AF_INET
                   ? ntohl(((struct sockaddr_in *)(void *)at->ai_addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
                   : IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)(void *)at->ai_addr)->sin6_addr);
    if (found)
        freeaddrinfo(found);
    return all;
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

static int connect_to(const struct addrinfo *address, const struct cb_patience *patience) {
    int fd = open_socket(address), error = 0;
    socklen_t length = sizeof error;
    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
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

int cb_net_connect(const char *host, uint16_t port, const struct cb_patience *patience, int *error) {
    int fd = -1;
    struct addrinfo *found = resolve(host, port, 0, error);
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        struct cb_patience one = *patience;
        double until = cb_now() + TRY_SECONDS;
        one.until = until < patience->until ? until : patience->until;
        fd = connect_to(at, &one);
        *error = fd < 0 ? errno : 0;
    }
    if (found)
        freeaddrinfo(found);
    return fd;
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
#ifdef TCP_KEEPIDLE
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
#endif
}

/* Nor may what was sent stay unacknowledged for longer. Only here: see link.c. */
void cb_net_for_control(int fd, double timeout) {
    cb_net_for_data(fd);
    cb_net_keep_alive(fd, timeout);
#ifdef TCP_USER_TIMEOUT
    unsigned milliseconds = timeout < 1e6 ? (unsigned)(timeout * 1e3) : 1000000000u;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
#endif
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

#ifdef __linux__
/* The Unix name of a listener at that address; any: of one at all addresses. 0: it has none. */
static socklen_t name_of(const struct sockaddr_storage *address, bool any, struct sockaddr_un *name) {
    struct sockaddr_storage at = *address;
    char host[64], port[8];
    if (any && at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&at)->sin6_addr = in6addr_any;
    else if (any)
        ((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = at.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (getnameinfo((struct sockaddr *)&at, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return 0;
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int text = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "cobre-tcp/%s/%s", host, port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)text);
}

static int unix_socket(void) {
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void cb_net_listen_unix(struct cb_listeners *listeners) {
    size_t count = getenv("COBRE_TEST_TCP_ONLY") ? 0 : listeners->count;
    for (size_t i = 0; i < count; i++) {
        struct sockaddr_storage address = {0};
        struct sockaddr_un name;
        socklen_t length = sizeof address;
        int fd = unix_socket();
        if (fd < 0)
            break;
        if (getsockname(listeners->fds[i], (struct sockaddr *)&address, &length) == 0 &&
            (length = name_of(&address, false, &name)) > 0 && bind(fd, (struct sockaddr *)&name, length) == 0 &&
            listen(fd, SOMAXCONN) == 0)
            listeners->fds[listeners->count++] = fd;
        else
            close(fd);
    }
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
                                  &((const struct sockaddr_in6 *)b)->sin6_addr);
    return a->ss_family == AF_INET &&
           ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

/* Another user could have taken the name first. */
static bool is_ours(int fd) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int cb_net_connect_unix(int like) {
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t length = sizeof here, other = sizeof there;
    if (getsockname(like, (struct sockaddr *)&here, &length) != 0 ||
        getpeername(like, (struct sockaddr *)&there, &other) != 0 || !same_host(&here, &there))
        return -1;
    for (int any = 0; any < 2; any++) {
        struct sockaddr_un name;
        int fd = unix_socket();
        socklen_t named = name_of(&there, any, &name);
        if (fd >= 0 && named > 0 && connect(fd, (struct sockaddr *)&name, named) == 0 && is_ours(fd))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}
#else
void cb_net_listen_unix(struct cb_listeners *listeners) {
    (void)listeners;
}

int cb_net_connect_unix(int like) {
    (void)like;
    return -1;
}
#endif
