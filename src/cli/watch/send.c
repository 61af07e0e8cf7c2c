/* SPDX-License-Identifier: Apache-2.0 */
/* send.c: one command to a training, from a shell. */
#include "cli/watch/watch.h"

#include "sddp/run/files.h"
#include "sddp/run/folder.h"
#include "sddp/run/steering.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The start of the last line of a file; "": there is none. */
static void read_last(int fd, char *start, size_t room) {
    enum { MOST = 1 << 22 };
    off_t size = lseek(fd, 0, SEEK_END), from = size > MOST ? size - MOST : 0;
    char *tail = size > 0 ? malloc(MOST) : NULL;
    ssize_t count = tail ? pread(fd, tail, MOST, from) : 0;
    while (count > 0 && tail[count - 1] == '\n')
        count--;
    const char *before = count > 0 ? memrchr(tail, '\n', (size_t)count) : NULL, *line = before ? before + 1 : tail;
    snprintf(start, room, "%.*s", count > 0 ? (int)(tail + count - line) : 0, count > 0 ? line : "");
    free(tail);
}

static bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* After a command could not be sent: is there a plainer reason than that nobody listens? */
static void find_reason(const char *folder, char text[CB_STEERING_LINE]) {
    char path[PATH_MAX], last[64] = "";
    bool known;
    struct stat status;
    if (stat(folder, &status) != 0) {
        snprintf(text, CB_STEERING_LINE, "%.200s: %s", folder, strerror(errno));
        return;
    }
    if (cb_folder_join(folder, CB_FILE_EVENTS, path) != COBRE_OK || cb_folder_is_locked(folder, &known))
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        snprintf(text, CB_STEERING_LINE, "%.200s: there is no training: it has no " CB_FILE_EVENTS, folder);
    if (fd < 0)
        return;
    read_last(fd, last, sizeof last);
    close(fd);
    bool finished = begins(last, "{\"event\": \"finished\"");
    if (finished || begins(last, "{\"event\": \"error\""))
        snprintf(text, CB_STEERING_LINE, "%.200s: the training has %s", folder, finished ? "finished" : "failed");
}

int cb_watch_send(const char *folder, const char *words) {
    enum { PATIENCE_MS = 60000 };
    char text[CB_STEERING_LINE];
    int fd = cb_steering_send(folder, words, text);
    if (fd < 0) {
        if (!strchr(words, '\n') && strlen(words) + 2 < sizeof text)
            find_reason(folder, text);
        fprintf(stderr, "cobre watch: %s\n", text);
        return 1;
    }
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    bool heard = poll(&polled, 1, PATIENCE_MS) > 0, answered = heard && cb_steering_answer(fd, text);
    close(fd);
    if (answered)
        printf("%s\n", text);
    else
        fprintf(stderr, "cobre watch: %s: %s\n", folder,
                heard ? "the training has ended without an answer"
                      : "no answer in 60 s: the training is busy or stuck");
    return answered && strncmp(text, "ok", 2) == 0 ? 0 : 1;
}
