/* SPDX-License-Identifier: Apache-2.0 */
/* without.c: the dashboard of a build without ncurses. */
#include "cli/watch/watch.h"

#include <stdio.h>

const char *cb_watch_missing(void) {
    return "this build has no dashboard: it was built without ncurses (Debian: libncurses-dev)";
}

int cb_watch_run(const struct cb_watch *how) {
    fprintf(stderr, "cobre %s: %s\n", how->command, cb_watch_missing());
    return 1;
}
