/* SPDX-License-Identifier: Apache-2.0 */
/* train_run.h: a training as users see it. It leaves a folder of results, or nothing; it reports events; and it can be
 * steered while it runs. */
#ifndef COBRE_SDDP_RUN_TRAIN_RUN_H
#define COBRE_SDDP_RUN_TRAIN_RUN_H

#include "sddp/run/folder.h"
#include "sddp/run/gap.h"
#include "sddp/run/record.h"
#include "sddp/run/steering.h"

enum { CB_STEER_MOST = 64, CB_STEER_WORDS = 160 };

/* The commands from the socket, on rank 0 (train_steer.c). */
struct cb_train_steer {
    struct cb_steering socket;
    double looked_at;                          /* by cb_clock */
    bool pause, checkpoint, stop;              /* requests */
    cobre_sddp_train_options rules;            /* as requested; checked */
    bool averse;                               /* there is a risk measure */
    char words[CB_STEER_MOST][CB_STEER_WORDS]; /* commands that no event has reported yet, in their order */
    size_t commands, taken;                    /* their number; how many of them have taken effect */
};

struct cb_train_run {
    /* The caller sets these, alike on all ranks ... */
    cobre_sddp_problem *problem;
    cobre_sddp_train_options options; /* except its callbacks and, with a folder, checkpoint and lp_folder */
    const char *case_path;            /* as the user named it; "": the problem was built by calls */
    const char *folder;               /* NULL: nothing is written except options.checkpoint */
    bool force;                       /* an older run in the folder is replaced */
    bool held;                        /* rank 0 of the caller has opened and locked the folder, and will close it */
    struct json_t *warnings;          /* about the case, [message, suggestion] each; NULL: none */

    /* ... and these, each of which may be NULL. They get `arg`. */
    void *arg;
    int (*stop)(void *arg); /* these three as in cobre_sddp_train_options, on every rank */
    void (*start)(void *arg, uint64_t iterations);
    void (*progress)(void *arg, const cobre_sddp_progress *progress);
    /* On rank 0. */
    void (*event)(void *arg, const char *line, size_t length); /* a line of events.jsonl, with its end */
    void (*say)(void *arg, const char *message); /* a problem that does not end it: a file that cannot be written */
    void (*steered)(void *arg);                  /* `paused`, or rules in `options`, may have changed */
    /* At the end of a training that went well, on any rank: a file could not be written, and cobre_last_error()
     * names it. NULL: `say` is called. */
    void (*lost)(void *arg);

    /* The caller may read these. They are valid on rank 0; `policy` and `started` on all ranks. */
    char policy[PATH_MAX];    /* the file in the folder; "": there is none */
    bool started;             /* nothing was refused */
    uint64_t before;          /* iterations of the policy that it continues */
    uint64_t iterations;      /* complete so far */
    uint64_t saved;           /* after a failure: iterations in the folder's policy, or in the checkpoint */
    bool paused;              /* now */
    bool refused;             /* the folder holds a run, which `found` describes */
    struct cb_record found;   /* then only */
    struct cb_training files; /* its events; `steered`: the rules have changed */

    /* For train_run.c and train_steer.c. */
    struct cb_folder own; /* unless it is held */
    bool in_place;        /* it continues the policy in the folder */
    struct cb_train_steer steer;
    bool no_policy, no_trace; /* the policy, events or their tables could not be written when that was last tried */
};

/* Opens, locks and claims the folder (one that holds a run is refused, COBRE_FILE_FAILED, unless it is forced or
 * resumed in place), trains, and writes all files. Members that are not set above are zero before the call. Collective.
 * After a failure *policy is NULL. */
cobre_status cb_train_run(struct cb_train_run *run, cobre_sddp_policy **policy, cobre_sddp_training *result);

/* Notes about the result, which events hold, too. NULL follows the last; a note may be empty. */
enum { CB_TRAIN_NOTES = 4, CB_TRAIN_NOTE = CB_GAP_NOTE };
const char *cb_train_note(const struct cb_train_run *run, const cobre_sddp_training *result,
                          const cobre_sddp_policy *policy, size_t index, char note[CB_TRAIN_NOTE]);

/* train_steer.c: on rank 0, where there is a folder. look: may be called at any time; wish: as
 * cobre_sddp_train_options.steer; tell: writes events about what has taken effect. */
void cb_train_steer_open(struct cb_train_run *run);
void cb_train_steer_close(struct cb_train_run *run);
void cb_train_steer_look(struct cb_train_run *run);
void cb_train_steer_wish(struct cb_train_run *run, cobre_sddp_steering *steering);
void cb_train_steer_tell(struct cb_train_run *run);

#endif
