/* SPDX-License-Identifier: Apache-2.0 */
/* self.h: commands whose ranks are the command itself: `cobre train -n 4`. */
#ifndef COBRE_CLI_RUN_SELF_H
#define COBRE_CLI_RUN_SELF_H

#include "options/options.h"

struct self {
    const char *command; /* "train" */
    size_t size;         /* -n; 0: not given */
    const char *backend; /* --backend; NULL: the launcher's default */
    bool started;        /* --rank: this is a rank that the command itself has started */
};

/* -n, --backend, and --rank, which is not for users. */
extern const struct cb_option cb_self_rows[];

/* argv: the command's own, its name first. CB_GO_ON: this process is a rank, by the environment. Otherwise it was
 * the launcher of the ranks, and this is the exit code. */
int cb_self_start(const struct self *self, int argc, char **argv);

#endif
