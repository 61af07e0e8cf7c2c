/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h: the dashboard of a training, for `cobre watch` and `cobre train --watch`. */
#ifndef COBRE_CLI_WATCH_WATCH_H
#define COBRE_CLI_WATCH_WATCH_H

#include <stdbool.h>
#include <sys/stat.h>

struct cb_watch {
    const char *command; /* the name in messages: "watch" */
    const char *folder;  /* of results; NULL: the events come from standard input */
    bool ascii;          /* only letters of ASCII */

    /* For a caller that has just started the training: the older file of events, which is not shown. NULL: there was none. */
    const struct stat *older;
    /* Is the training still alive? If it ends before its first event, the dashboard returns at once. NULL: the lock of the
     * folder tells. */
    bool (*alive)(void *arg);
    void *arg;
};

/* Shows it until the user quits. Returns the exit code: 0, 1 after an error that was printed, 128 + the signal that
 * ended it. */
int cb_watch_run(const struct cb_watch *how);

/* NULL, or the reason why this build has no dashboard. */
const char *cb_watch_missing(void);

/* Sends a command to the training, waits for the answer and prints it. Returns the exit code. */
int cb_watch_send(const char *folder, const char *words);

#endif
