/* SPDX-License-Identifier: Apache-2.0 */
/* file_limit.h: a file that would grow beyond the limit of file sizes (ulimit -f) is an error, EFBIG, and not the end of
 * the process.
 *
 * The system sends SIGXFSZ to the thread that asked. Between hold and release the thread does not take it. The program's
 * handler stays as it is, and a signal that waited before still waits afterwards. */
#ifndef COBRE_COMM_FILE_LIMIT_H
#define COBRE_COMM_FILE_LIMIT_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct cb_file_limit {
    sigset_t mask;
    bool waited; /* one was pending before */
};

static inline bool cb_file_limit_pending(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

static inline void cb_file_limit_hold(struct cb_file_limit *hold) {
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    hold->waited = cb_file_limit_pending();
    pthread_sigmask(SIG_BLOCK, &limit, &hold->mask);
}

/* Leaves errno alone. */
static inline void cb_file_limit_release(const struct cb_file_limit *hold) {
    int error = errno;
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    if (!hold->waited && cb_file_limit_pending())
        while (sigtimedwait(&limit, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &hold->mask, NULL);
    errno = error;
}

#endif
