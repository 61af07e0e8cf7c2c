/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: the parts of `cobre train`. */
#ifndef COBRE_CLI_PLAN_TRAIN_H
#define COBRE_CLI_PLAN_TRAIN_H

#include "cli/plan/session.h"
#include "cli/plan/time_left.h"

/* The status line under the table. */
struct train_progress {
    double begin, drawn; /* begin: by our clock; drawn: seconds since then */
    struct time_left left;
};

/* The output of rank 0. brief: no rows. */
struct train_print {
    struct cb_train_text text;
    bool quiet, brief, terminal, paused;
    unsigned rows; /* since the header */
    double kept;   /* the time of the last row that stayed */
    cobre_sddp_progress newest, last_kept;
    struct train_progress progress;
};

struct train {
    struct session base;
    struct cb_train_run run;
    const char *out; /* NULL: the default */
    const char *log; /* NULL: none */
    bool converged;  /* convergence is required */
    bool watch;      /* the dashboard is shown */
    double grace;    /* seconds that an iteration may still take after a signal */
    char folder[PATH_MAX];
    struct train_print print;
    bool unread; /* nobody reads its events any more */
    int code;    /* exit code of a failure during training; 0: none */
};

/* train_options.c */
int cb_train_read_line(int argc, char **argv, struct train *train);

/* train_watch.c: for --watch this process becomes two. CB_GO_ON: the one that trains, in the background; else the exit
 * code of the one that shows the dashboard. */
int cb_train_watch(struct train *train);

/* train_print.c: the output of rank 0 while it trains, as a table or as lines. */
void cb_train_print_start(struct train *train);
void cb_train_print_row(struct train_print *print, const cobre_sddp_progress *progress);
void cb_train_print_tick(struct train_print *print);  /* between rows, at any time */
void cb_train_print_break(struct train_print *print); /* there will be no more rows */
void cb_train_print_end(struct train *train, const cobre_sddp_training *result, const cobre_sddp_policy *policy);

/* train_progress.c: the line under the table. */
void cb_progress_begin(struct train_progress *progress, const cobre_sddp_train_options *options);
void cb_progress_note(struct train_progress *progress, const cobre_sddp_progress *newest);
void cb_progress_draw(struct train_progress *progress, const char *bound, const char *gap);
bool cb_progress_is_old(const struct train_progress *progress, double seconds); /* was it drawn so long ago? */

/* train_command.c: proposed commands. */

/* "cobre train CASE ...", with the options that were given: to go on from the policy that is in the folder, or to do the
 * same elsewhere (out; NULL: as given), or by force. */
void cb_train_write_command(FILE *to, const struct train *train, bool resume, const char *out, bool force);
void cb_train_say_command(const struct train *train, bool resume, const char *out,
                          bool force); /* on a line of its own */

/* Rank 0 prints why the folder must not be written to, and commands that would work. */
int cb_train_refuse(struct train *train);

#endif
