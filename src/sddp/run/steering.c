/* SPDX-License-Identifier: Apache-2.0 */
/* steering.c: see steering.h. A connection carries one line and its answer. */
#include "sddp/run/steering.h"
#include "sddp/open.h"

#include "sddp/error.h"
#include "sddp/run/files.h"
#include "sddp/run/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A path of any length, by a descriptor of its folder. */
static struct sockaddr_un address_in(int folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" CB_FILE_STEER, folder);
    return address;
}

static bool is_own_user(int fd) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* After connect has failed. */
static void say_why(const char *folder, int error, char why[CB_STEERING_LINE]) {
    if (error == ENOENT || error == ECONNREFUSED)
        snprintf(why, CB_STEERING_LINE,
                 "%.200s: no training can be reached there: it has ended, or runs on another host", folder);
    else if (error == EACCES || error == EPERM)
        snprintf(why, CB_STEERING_LINE, "%.200s: the training there belongs to another user", folder);
    else if (error == EAGAIN)
        snprintf(why, CB_STEERING_LINE, "%.200s: too many others are steering that training", folder);
    else
        snprintf(why, CB_STEERING_LINE, "%.200s: %s", folder, strerror(error));
}

static int dial(const char *path) {
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    struct sockaddr_un address = address_in(folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    int error = good ? 0 : errno;
    if (good && !is_own_user(fd)) {
        good = false;
        error = EPERM;
    }
    if (!good && fd >= 0)
        close(fd);
    close(folder);
    errno = error;
    return good ? fd : -1;
}

int cb_steering_send(const char *folder, const char *command, char why[CB_STEERING_LINE]) {
    char line[CB_STEERING_LINE];
    int length = snprintf(line, sizeof line, "%s\n", command);
    if (length >= (int)sizeof line || strchr(command, '\n')) {
        snprintf(why, CB_STEERING_LINE, "a command is one line of at most %d characters", CB_STEERING_LINE - 2);
        return -1;
    }
    int fd = dial(folder);
    if (fd < 0) {
        say_why(folder, errno, why);
        return -1;
    }
    if (send(fd, line, (size_t)length, MSG_NOSIGNAL) == length)
        return fd;
    say_why(folder, ECONNREFUSED, why);
    close(fd);
    return -1;
}

bool cb_steering_answer(int fd, char answer[CB_STEERING_LINE]) {
    ssize_t length = recv(fd, answer, CB_STEERING_LINE - 1, MSG_DONTWAIT);
    answer[length > 0 ? length : 0] = 0;
    answer[strcspn(answer, "\n")] = 0;
    return length > 0;
}

cobre_status cb_steering_open(struct cb_steering *steering, const char *path) {
    *steering = (struct cb_steering)CB_STEERING_CLOSED;
    for (size_t i = 0; i < CB_STEERING_CLIENTS; i++)
        steering->client[i].fd = -1;
    steering->folder = cb_open_path(path, O_RDONLY | O_DIRECTORY);
    if (steering->folder < 0)
        return cb_file_failed(path);
    struct sockaddr_un address = address_in(steering->folder);
    unlinkat(steering->folder, CB_FILE_STEER, 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* The mode comes before the name, and both before the first caller. */
    if (fd >= 0 && fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, CB_STEERING_CLIENTS) == 0) {
        steering->listener = fd;
        return COBRE_OK;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    cb_steering_close(steering);
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, "to steer it, let it write its results to a local disk (--out)",
                      "%s/" CB_FILE_STEER ": %s: this training cannot be steered", path, strerror(error));
}

static void hang_up(struct cb_steering_client *client) {
    close(client->fd);
    *client = (struct cb_steering_client){.fd = -1};
}

void cb_steering_close(struct cb_steering *steering) {
    for (size_t i = 0; i < CB_STEERING_CLIENTS && steering->listener >= 0; i++)
        if (steering->client[i].fd >= 0)
            hang_up(&steering->client[i]);
    if (steering->listener >= 0) {
        unlinkat(steering->folder, CB_FILE_STEER, 0);
        close(steering->listener);
    }
    if (steering->folder >= 0)
        close(steering->folder);
    steering->listener = steering->folder = -1;
}

/* A place for the next caller. When all are taken, one that has not finished its line loses its place. */
static struct cb_steering_client *find_place(struct cb_steering *steering) {
    for (size_t i = 0; i < CB_STEERING_CLIENTS; i++)
        if (steering->client[i].fd < 0)
            return &steering->client[i];
    hang_up(&steering->client[0]);
    return &steering->client[0];
}

static void accept_callers(struct cb_steering *steering) {
    int fd;
    while ((fd = accept4(steering->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (is_own_user(fd))
            find_place(steering)->fd = fd;
        else
            close(fd);
    }
}

/* What a caller has sent so far; with the end of its line it is answered and done with. */
static void hear(struct cb_steering_client *client, void *arg,
                 void (*command)(void *arg, char *line, char answer[CB_STEERING_LINE])) {
    size_t room = sizeof client->line - 1 - client->length;
    ssize_t count = recv(client->fd, client->line + client->length, room, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->length += count > 0 ? (size_t)count : 0;
    client->line[client->length] = 0;
    char *end = memchr(client->line, '\n', client->length);
    if (count > 0 && !end && client->length < sizeof client->line - 1)
        return;
    char answer[CB_STEERING_LINE] = "no, a command is one line of text";
    if (end && !memchr(client->line, 0, (size_t)(end - client->line))) {
        *end = 0;
        command(arg, client->line, answer);
    }
    char rest[CB_STEERING_LINE]; /* of what is too long: unread it would make the answer an error */
    for (size_t i = 0; i < 1000 && recv(client->fd, rest, sizeof rest, 0) > 0; i++)
        ;
    size_t length = strnlen(answer, sizeof answer - 2);
    answer[length] = '\n';
    send(client->fd, answer, length + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    hang_up(client);
}

void cb_steering_poll(struct cb_steering *steering, void *arg,
                      void (*command)(void *arg, char *line, char answer[CB_STEERING_LINE])) {
    struct pollfd polled[1 + CB_STEERING_CLIENTS] = {{.fd = steering->listener, .events = POLLIN}};
    if (steering->listener < 0)
        return;
    for (size_t i = 0; i < CB_STEERING_CLIENTS; i++)
        polled[1 + i] = (struct pollfd){.fd = steering->client[i].fd, .events = POLLIN};
    if (poll(polled, 1 + CB_STEERING_CLIENTS, 0) <= 0) /* it is much cheaper than to ask each socket */
        return;
    accept_callers(steering);
    for (size_t i = 0; i < CB_STEERING_CLIENTS; i++)
        if (steering->client[i].fd >= 0)
            hear(&steering->client[i], arg, command);
}
