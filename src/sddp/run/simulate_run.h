/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_run.h: a simulation as users see it. It begins where they say, and leaves its tables in a folder or in
 * memory. */
#ifndef COBRE_SDDP_RUN_SIMULATE_RUN_H
#define COBRE_SDDP_RUN_SIMULATE_RUN_H

#include "sddp/run/begin.h"
#include "sddp/run/folder.h"
#include "sddp/run/gap.h"
#include "sddp/run/record.h"
#include "sddp/run/simulation.h"

struct cb_simulate_run {
    /* The caller sets these, alike on all ranks ... */
    cobre_sddp_policy *policy;
    const char *policy_path;             /* its file, for the record; NULL: it is in memory only */
    cobre_sddp_simulate_options options; /* except arg, stop, folder, node and state and, with a folder, lp_folder */
    bool has_sampling;                   /* options.sampling was chosen */
    const char *scenarios;               /* the table that the problem was loaded with; NULL: none */
    struct cb_begin begin;
    const char *folder; /* NULL: nothing is written */
    bool chosen;        /* the user has named the folder: another simulation in it is replaced without a note */
    bool held;          /* rank 0 of the caller has opened the folder, and will close it */
    bool keep;          /* rank 0 keeps the results in memory */

    /* ... and these, each of which may be NULL. */
    void *arg;
    int (*stop)(void *arg);                    /* as in cobre_sddp_simulate_options */
    void (*note)(void *arg, const char *text); /* on rank 0: a note for users before it begins */

    /* Results, on rank 0 except for `sampling` and `beginning`. */
    const char *sampling; /* its name for users */
    struct cb_beginning beginning;
    char hash[CB_SHA256_TEXT]; /* of the policy, where there is a folder */
    struct cb_kept kept;       /* if `keep` is set */
    double bound, gap;         /* NaN: there is none */
    char why[CB_GAP_NOTE];     /* a note about the gap; "": none */
};

/* Options that exclude each other are COBRE_INVALID_ARGUMENT; it needs no policy. Sets `sampling`. cb_simulate_run
 * calls it, too. */
cobre_status cb_simulate_run_check(struct cb_simulate_run *run);

/* For rank 0: refuses a folder that holds another policy. cb_simulate_run calls it, unless it was called before. */
cobre_status cb_simulate_run_claim(struct cb_simulate_run *run);

/* Simulates, and writes all files; after a failure of the simulation, none. Members that are not set above are zero before
 * the call. Collective. The caller frees the run, also after a failure. */
cobre_status cb_simulate_run(struct cb_simulate_run *run, cobre_sddp_simulation *result);
void cb_simulate_run_free(struct cb_simulate_run *run);

#endif
