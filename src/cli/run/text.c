/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: small functions that the launcher's files share. */
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void cb_give_up(const char *what) {
    fprintf(stderr, "cobre run: %s: %s; the ranks are stopped\n", what, strerror(errno));
    _exit(CB_EXIT_LAUNCHER);
}

void cb_text_append(struct text *text, const char *bytes, size_t count) {
    if (count == 0)
        return;
    if (text->length + count > text->capacity) {
        size_t capacity = text->capacity ? text->capacity : 256;
        while (capacity < text->length + count)
            capacity *= 2;
        char *data = realloc(text->data, capacity);
        if (!data)
            cb_give_up("no memory for output");
        text->data = data;
        text->capacity = capacity;
    }
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
}

void cb_text_drop(struct text *text, size_t count) {
    text->length -= count;
    if (text->length)
        memmove(text->data, text->data + count, text->length);
}

bool cb_text_write(struct text *text, int fd) {
    while (text->length) {
        ssize_t written = write(fd, text->data, text->length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == EAGAIN;
        cb_text_drop(text, (size_t)written);
    }
    return true;
}

bool cb_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC) == 0;
}

void cb_unblocked(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void cb_close(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int64_t cb_now_ms(void) {
    return (int64_t)(1000 * cb_now());
}

/* WNOWAIT: the zombie keeps the id of its group from being used again. */
bool cb_has_ended(pid_t pid, int *how, int *status) {
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return false;
    *how = info.si_code;
    *status = info.si_status;
    return true;
}

bool cb_own_path(char path[PATH_MAX]) {
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length >= 0)
        path[length] = '\0';
    return length >= 0;
}
