/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: what the sections of a report are made of. */
#ifndef COBRE_SDDP_REPORT_PARTS_H
#define COBRE_SDDP_REPORT_PARTS_H

#include "sddp/grow.h"
#include "sddp/report/chart.h"
#include "sddp/run/files.h"
#include "sddp/run/numbers.h"
#include "sddp/run/results.h"
#include "sddp/run/table.h"

struct report {
    FILE *to;
    const char *folder;
    struct cb_results results;
    bool maximises;
    unsigned pictures; /* so far */
    bool no_memory;
};

/* training.c, costs.c, simulation.c: sections. False: there is nothing to show. */
bool cb_report_training(struct report *report);
bool cb_report_costs(struct report *report);
bool cb_report_simulation(struct report *report);

/* samples.c: tables of a run, read back. Where memory is out, report->no_memory is set. */
double *cb_grid_add(struct report *report, struct grid *grid); /* a new row of zeros; NULL: no memory */

struct values {
    double *at;
    size_t count, room;
};
double cb_mean(const struct values *values);

void cb_percentiles(const struct values *values, double result[CB_PERCENTILES]); /* sorts the values */

/* What one element did: at each step, a value for each trajectory. */
struct series {
    char *kind, *element;
    struct values *step;
    size_t steps, room;
};

struct samples {
    struct series *series; /* in the order of the table */
    size_t count, room;
};

/* Reads the values in `column` of the rows of one of `kinds` (up to a NULL; no kinds: all rows). The last steps, which
 * fewer than 5 % of the trajectories reach, are left out. False: there is nothing of that. */
bool cb_samples_read(struct report *report, struct samples *samples, const char *table, const char *column,
                     const char *const *kinds);
void cb_samples_free(struct samples *samples);

/* Puts first a series named `element` that is the sum of the others, trajectory by trajectory. */
void cb_samples_add_total(struct report *report, struct samples *samples, const char *element);
void cb_samples_negate(struct samples *samples);

/* page.c: HTML around the pictures. */
void cb_page_begin(FILE *to, const char *name);
void cb_page_end(FILE *to);
void cb_section_end(FILE *to);
void cb_card_begin(FILE *to, const char *title, const char *text);
void cb_card_end(FILE *to);
void cb_tile(FILE *to, const char *name, const char *value, const char *note);

struct legend {
    const char *name;
    unsigned colour;
    const char *shape; /* line, band, bar */
};
void cb_legend(FILE *to, const struct legend *legend, size_t count);
void cb_section_begin(FILE *to, const char *title, const char *text, const struct legend *legend, size_t count);

/* The numbers behind a picture: the last row, and every so manyeth before it. `digits` are those of the first column;
 * 0: it has whole numbers. */
void cb_data_table(FILE *to, const char *const *names, const struct grid *grid, int digits, size_t every);

#endif
