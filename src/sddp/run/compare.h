/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: runs side by side. compared_runs.c reads them, compare.c makes the rows, compare_words.c puts them into words,
 * comparison.c shows them. */
#ifndef COBRE_SDDP_RUN_COMPARE_H
#define COBRE_SDDP_RUN_COMPARE_H

#include "sddp/run/results.h"
#include "sddp/stage/stage.h"

enum { CB_COMPARE_MOST = 8 };

/* A run, as its folder holds it. Missing numbers are NaN. */
struct cb_run {
    const char *path, *name, *words;
    struct cb_results results; /* empty for a policy file */
    bool simulated, sample;    /* sample: its trajectories were drawn, so that there is a sampling error */
    bool has_policy, averse, maximises, unproven;
    cb_risk risk; /* the risk measure in the options of the training */
    double bound, iterations, cuts;
    const char *unit; /* of costs */
    double *worst;    /* each cost's part in the mean of the worst: sampling.h */
    double worst_mean;
    struct json_t *origin; /* of a folder: cb_record_origin */
};

/* A stage in time: by its date if the runs have dates in common, else by its step. */
struct cb_moment {
    const char *date;
    size_t stage, step[CB_COMPARE_MOST]; /* of each run; 0: it has no such stage */
    bool common;                         /* all runs with statistics have it, and enough trajectories reach it */
};

struct cobre_sddp_comparison {
    cobre_sddp_compare_options options;
    cb_arena memory; /* of texts and of the runs' data besides their results */
    struct cb_run run[CB_COMPARE_MOST];
    size_t runs;
    struct cb_moment *moment;
    size_t moments, moments_room;
    cobre_sddp_compared *row;
    size_t rows, rows_room;
    cobre_sddp_difference *cell; /* of each row and run */
    size_t cells_room;
    const char **note;
    size_t notes, notes_room;
    bool no_memory;
};

/* A text that lasts as long as the comparison. */
const char *cb_compare_text(cobre_sddp_comparison *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cb_compare_note(cobre_sddp_comparison *c, const char *text);

/* Reads all runs, and names them. */
cobre_status cb_compare_read(cobre_sddp_comparison *c, const char *const *paths);

/* After the rows: the words about each run, and notes. */
void cb_compare_words(cobre_sddp_comparison *c);
void cb_compare_notes(cobre_sddp_comparison *c);

/* A bound is one of the mean cost, or of a risk measure of the costs. Is it the same in both runs? */
bool cb_compare_same_aim(const struct cb_run *a, const struct cb_run *b);

/* The planners' name of a figure: "cost of thermal generation", "marginal cost Sul". And: is it shown in percent? */
void cb_compared_words(const cobre_sddp_compared *row, char text[256]);
bool cb_compared_is_share(const cobre_sddp_compared *row);

/* The differences of the runs in a figure of whole trajectories; NULL: there is no such figure. */
const cobre_sddp_difference *cb_compare_find(const cobre_sddp_comparison *c, const char *kind, size_t run);

#endif
