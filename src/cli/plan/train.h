/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: the parts of `cobre train`. */
#ifndef COBRE_CLI_PLAN_TRAIN_H
#define COBRE_CLI_PLAN_TRAIN_H

#include "cli/plan/session.h"
#include "cli/plan/time_left.h"
#include "sddp/run/gap.h"
#include "sddp/run/record.h"
#include "sddp/run/steering.h"

/* What the line under the table is made of. */
struct train_progress {
    double begin, drawn; /* by our clock; since then */
    struct time_left left;
};

/* What rank 0 prints. brief: no rows. */
struct train_print {
    bool quiet, brief, terminal, maximises, averse, paused;
    unsigned rows; /* since the header */
    double kept;   /* when a row last stayed */
    cobre_sddp_progress newest, last_kept;
    struct train_progress progress;
};

enum { CB_STEER_MOST = 64, CB_STEER_WORDS = 160 };

/* What has been said by the socket, on rank 0 (train_steer.c). */
struct train_steer {
    struct cb_steering socket;
    int64_t looked_at;                         /* ms */
    bool pause, checkpoint, stop;              /* wishes */
    cobre_sddp_train_options rules;            /* as wished; checked */
    bool averse;                               /* there is a risk measure */
    char words[CB_STEER_MOST][CB_STEER_WORDS]; /* of commands, in their order, that no event has told yet */
    size_t commands, taken;                    /* those; how many of them have taken effect */
};

struct train {
    struct session base;
    cobre_sddp_train_options options;
    const char *out; /* NULL: the default */
    const char *log; /* NULL: none */
    bool force;      /* replaces an older run */
    bool converged;  /* is required */
    bool watch;      /* the dashboard is shown */
    double grace;    /* seconds that an iteration may still take after a signal */
    bool in_place;   /* goes on with the policy that is in the folder */
    bool started;    /* nothing was refused */
    char folder[PATH_MAX], policy[PATH_MAX];
    struct train_print print;
    struct cb_training files;
    struct train_steer steer;
    bool no_policy, no_trace; /* the policy, events or their tables could not be written when that was last tried */
    uint64_t iterations;      /* made so far */
    int code;                 /* of what failed while it trained; 0: nothing */
};

/* train_options.c */
int cb_train_read_line(int argc, char **argv, struct train *train);

/* train_watch.c: for --watch this process becomes two. CB_GO_ON: the one that trains, in the background; else the exit code of the
 * one that shows the dashboard. */
int cb_train_watch(struct train *train);

/* train_steer.c: on rank 0. look: as often as one likes; wish: as cobre_sddp_train_options.steer; tell: writes events about what has
 * taken effect. */
void cb_train_steer_open(struct train *train);
void cb_train_steer_close(struct train *train);
void cb_train_steer_look(struct train *train);
void cb_train_steer_wish(struct train *train, cobre_sddp_steering *steering);
void cb_train_steer_tell(struct train *train);

/* train_print.c: what rank 0 says while it trains, as a table or as lines. */
void cb_train_print_start(struct train *train);
void cb_train_print_row(struct train_print *print, const cobre_sddp_progress *progress);
double cb_train_gap(const struct train_print *print, const cobre_sddp_progress *now); /* a share; NaN: there is none */
void cb_train_print_tick(struct train_print *print);  /* between rows, as often as one likes */
void cb_train_print_break(struct train_print *print); /* there will be no more rows */

/* What is odd about the result: NULL after the last, empty where there is nothing to say. */
enum { CB_TRAIN_NOTES = 4, CB_TRAIN_NOTE = CB_GAP_NOTE };
const char *cb_train_note(const struct train *train, const cobre_sddp_training *result, const cobre_sddp_policy *policy,
                          size_t index, char note[CB_TRAIN_NOTE]);
void cb_train_print_end(struct train *train, const cobre_sddp_training *result, const cobre_sddp_policy *policy);

/* train_progress.c: the line under the table. */
void cb_progress_begin(struct train_progress *progress, const cobre_sddp_train_options *options);
void cb_progress_note(struct train_progress *progress, const cobre_sddp_progress *newest);
void cb_progress_draw(struct train_progress *progress, const char *bound, const char *gap);
bool cb_progress_is_old(const struct train_progress *progress, double seconds); /* it was drawn so long ago */

/* train_command.c: the commands that it proposes. */

/* "cobre train CASE ...", with the options that were given: to go on from the policy that is in the folder, or to do the
 * same elsewhere (out; NULL: as given), or by force. */
void cb_train_write_command(FILE *to, const struct train *train, bool resume, const char *out, bool force);
void cb_train_say_command(const struct train *train, bool resume, const char *out,
                          bool force); /* on a line of its own */

/* Rank 0 looks whether the folder may be written to, or says which commands would work. Collective. */
int cb_train_claim(struct train *train);

#endif
