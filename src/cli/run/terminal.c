/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c: the keyboard of rank 0. Its process group is not the terminal's, so reading the terminal itself would
 * stop it (SIGTTIN); the launcher reads and passes on. */
#include "cli/run/job.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int feed = -1; /* write end of rank 0's input */
static char typed[4096];
static size_t typed_count;

static bool in_foreground(void) {
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

int cb_terminal_open(void) {
    int ends[2];
    if (!cb_pipe(ends))
        return -1;
    cb_unblocked(ends[1]);
    feed = ends[1];
    return ends[0];
}

/* The terminal, when there is room for what is typed there; -1 otherwise. In the background it is not ours to read, and
 * nothing says when that changes: look again. */
int cb_terminal_fd(bool *look_again) {
    *look_again = false;
    if (feed < 0 || typed_count)
        return -1;
    *look_again = !in_foreground();
    return *look_again ? -1 : STDIN_FILENO;
}

/* Always watched: that rank 0 has closed its input shows only here. */
int cb_terminal_feed_fd(bool *pending) {
    *pending = typed_count > 0;
    return feed;
}

void cb_terminal_read(void) {
    ssize_t count = read(STDIN_FILENO, typed, sizeof typed);
    if (count > 0)
        typed_count = (size_t)count;
    else if (count == 0 || (errno != EINTR && errno != EAGAIN && in_foreground()))
        cb_close(&feed);
    if (typed_count)
        cb_terminal_feed(false);
}

void cb_terminal_feed(bool broken) {
    ssize_t count = broken ? -1 : write(feed, typed, typed_count);
    if (count < 0 && (broken || (errno != EAGAIN && errno != EINTR))) {
        cb_close(&feed);
        typed_count = 0;
    } else if (count > 0) {
        typed_count -= (size_t)count;
        memmove(typed, typed + count, typed_count);
    }
}
