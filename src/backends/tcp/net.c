/* net.c: sockets: listening, connecting, and the few options that matter. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcp.h"

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

/* Listens at every address of host (NULL: all of this machine's), on one port; 0 lets the system choose it. Returns how
 * many listeners there are; 0: *error is the errno of the first that failed, or a negative getaddrinfo code. */
size_t cb_net_listen(const char *host, uint16_t port, int *listeners, uint16_t *bound, int *error) {
    size_t count = 0;
    struct addrinfo *found = resolve(host, port, AI_PASSIVE, error);
    *bound = port;
    for (const struct addrinfo *at = found; at && count < CB_MAX_LISTENERS; at = at->ai_next) {
        set_port(at->ai_addr, *bound);
        int fd = listen_at(at);
        if (fd < 0) {
            *error = *error ? *error : errno;
            continue;
        }
        listeners[count++] = fd;
        *bound = port_of(fd);
    }
    if (found)
        freeaddrinfo(found);
    return count;
}

static bool await_event(int fd, short events, double until) {
    struct pollfd wait = {.fd = fd, .events = events};
    for (;;) {
        double left = until - cb_now();
        int result = poll(&wait, 1, left > 0 ? (int)(left * 1e3) + 1 : 0);
        if (result > 0 || (result == 0 && left <= 0))
            return result > 0;
    }
}

static int connect_to(const struct addrinfo *address, double until) {
    int fd = open_socket(address), error = 0;
    socklen_t length = sizeof error;
    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            error = ETIMEDOUT;
            if (await_event(fd, POLLOUT, until))
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        }
    }
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

int cb_net_connect(const char *host, uint16_t port, double deadline, int *error) {
    int fd = -1;
    struct addrinfo *found = resolve(host, port, 0, error);
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        double until = cb_now() + TRY_SECONDS;
        fd = connect_to(at, until < deadline ? until : deadline);
        *error = fd < 0 ? errno : 0;
    }
    if (found)
        freeaddrinfo(found);
    return fd;
}

bool cb_net_send(int fd, const void *bytes, size_t count, double until) {
    const char *at = bytes;
    while (count) {
        ssize_t sent = send(fd, at, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            at += sent;
            count -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!await_event(fd, POLLOUT, until))
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool cb_net_receive(int fd, void *bytes, size_t count, double until) {
    char *at = bytes;
    while (count) {
        ssize_t got = recv(fd, at, count, MSG_DONTWAIT);
        if (got > 0) {
            at += got;
            count -= (size_t)got;
        } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!await_event(fd, POLLIN, until))
                return false;
        } else if (got == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

void cb_net_for_data(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* A host that acknowledges nothing is found within `timeout`. Only here: on a data connection, which can fill, the same
 * options would turn a live rank that does not read into an error. */
void cb_net_for_control(int fd, double timeout) {
    int on = 1, probes = 4;
    int every = timeout < 10 ? 1 : timeout > 3600 ? 600 : (int)(timeout / 6);
    unsigned milliseconds = timeout < 1e6 ? (unsigned)(timeout * 1e3) : 1000000000u;
    cb_net_for_data(fd);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#ifdef TCP_KEEPIDLE
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
#endif
#ifdef TCP_USER_TIMEOUT
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
#endif
}

/* The numeric address at the other end, which is also what a second connection to the same host needs. */
void cb_net_peer_text(int fd, char *text, size_t len) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, text, (socklen_t)len, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(text, len, "?");
}
