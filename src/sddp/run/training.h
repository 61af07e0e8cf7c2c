/* SPDX-License-Identifier: Apache-2.0 */
/* training.h: what a training leaves in its folder besides the policy: training.csv, one row per iteration, written as
 * it goes; times.csv, seconds by rank and phase; summary.csv, one key and value per row.
 *
 * Each call returns a status; after a failure cobre_last_error() names the file. */
#ifndef COBRE_SDDP_RUN_TRAINING_H
#define COBRE_SDDP_RUN_TRAINING_H

#include "cobre/sddp.h"

#include <limits.h>
#include <stdio.h>

/* The caller sets what comes before `trace`; the rest starts as zero. */
struct cb_training {
    const char *folder, *case_path;
    cobre_comm *comm;
    const cobre_sddp_problem *problem;
    const cobre_sddp_train_options *options;
    FILE *trace; /* training.csv; NULL before it could be opened */
    char trace_path[PATH_MAX];
    uint64_t first;        /* iteration of this training; 0: there was none yet */
    int64_t end;           /* where the next bytes go */
    char *rows;            /* what could not be written yet */
    size_t length, room;   /* of them */
    struct json_t *record; /* run.json, as of the start (record.h) */
};

/* For rank 0: a row of training.csv. The first row of a training that was resumed comes after the older rows, which are
 * in the training.csv beside the policy that it was resumed from. Rows that cannot be written are kept, and tried again by
 * the next call. */
cobre_status cb_training_row(struct cb_training *training, const cobre_sddp_progress *progress);

/* For rank 0: the end of training.csv, also after a failure. */
cobre_status cb_training_end(struct cb_training *training, uint64_t iterations);

/* times.csv. Collective: rank 0 writes the times of all ranks. */
cobre_status cb_training_times(const struct cb_training *training, const cobre_sddp_training *result);

/* For rank 0: summary.csv. */
cobre_status cb_training_summary(const struct cb_training *training, const cobre_sddp_training *result,
                                 const cobre_sddp_policy *policy);

#endif
