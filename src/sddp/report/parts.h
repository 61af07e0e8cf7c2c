/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: the parts of a report. */
#ifndef COBRE_SDDP_REPORT_PARTS_H
#define COBRE_SDDP_REPORT_PARTS_H

#include "sddp/grow.h"
#include "sddp/report/chart.h"
#include "sddp/report/report.h"
#include "sddp/run/files.h"
#include "sddp/run/numbers.h"
#include "sddp/run/results.h"
#include "sddp/run/table.h"
#include "sddp/run/verdict.h"

enum { CB_MOST_RUNS = CB_REPORT_MOST, CB_WORDS = 128 };

/* One run folder, as read. */
struct run {
    const char *folder;
    const char *name; /* tells several runs apart */
    const struct cb_results *results;
    struct cb_run_verdict verdict;
    bool maximises, averse;
    bool unchecked; /* it has no record, so its files cannot be checked */
};

struct report {
    FILE *to;
    struct run run[CB_MOST_RUNS];
    size_t runs;
    struct cb_results own;             /* of one run */
    cobre_sddp_comparison *comparison; /* of several runs, and their results; else NULL */
    unsigned pictures;                 /* so far */
    bool no_memory;
};

/* answers.c: the answers at the top. */
void cb_report_answers(struct report *report);
void cb_answer_verdict(FILE *to, const char *question, const struct cb_run_verdict *verdict, const char *class);

/* The sections. False: there is nothing to show. */
bool cb_report_convergence(struct report *report); /* training.c */
bool cb_report_times(struct report *report);
bool cb_report_costs(struct report *report);   /* costs.c */
bool cb_report_system(struct report *report);  /* system.c: storage, prices, ... of a hydrothermal system */
bool cb_report_unnamed(struct report *report); /* fans.c: states and variables of any other problem */
void cb_report_several(struct report *report); /* several.c: runs side by side */

/* costs.c: the tail of the trajectories. */
struct tail {
    double p95, p99, worst; /* in a problem that maximises: of the other end */
    double mean;            /* of the worst 5 % */
};
bool cb_tail_of(struct report *report, const struct run *run, struct tail *tail); /* false: there are no costs */

/* fans.c: a figure over the steps. */
enum { CB_MOST_FANS = 6 };
const struct cb_series *cb_next_series(const struct cb_results *results, const struct cb_series *after,
                                       const char *kind, const char *level);
size_t cb_count_series(const struct cb_results *results, const char *kind, const char *level);
size_t cb_steps_of(const struct cb_series *series); /* those that 5 % of the trajectories reach */
double cb_mean_over_steps(const struct cb_series *series);
const char *cb_axis_name(const char *name, const char *unit, char text[CB_WORDS]); /* "spill, MW" */

/* Rows for at most so many steps, evenly chosen: the number of the step, from 1, and the columns that `fill` sets. */
enum { CB_MOST_STEPS = 160 };
void cb_grid_steps(struct report *report, struct grid *grid, const struct cb_series *series,
                   void fill(double *row, const struct cb_point *point));

struct fans {
    const char *table, *kind; /* NULL: any */
    const char *level, *title, *text, *y_name;
    const char *capacity; /* the kind of a line that shows the most it can be */
    const char *least;    /* ... and of one for the least */
    bool same_scale;
    const char *system; /* comes first: the level system under this name */
};
bool cb_report_fans(struct report *report, const struct fans *fans);

double *cb_grid_add(struct report *report, struct grid *grid); /* a new row of zeros; NULL: no memory */

/* words.c: numbers, dates and names in words. All return `text`. */
const char *cb_grouped_text(const char *number, char text[CB_WORDS]); /* 71,603.4 */
const char *cb_amount_text(double value, char text[CB_WORDS]);        /* 442.6 million */
double cb_amount_scale(double largest, const char **name);            /* 1e6 and "million "; 1 and "" */
const char *cb_quantity_text(double value, const char *unit, char text[CB_WORDS]);
const char *cb_percent_text(double share, char text[CB_WORDS]);
const char *cb_kind_text(const char *kind, char text[CB_WORDS]);       /* "thermal generation" */
const char *cb_element_text(const char *element, char text[CB_WORDS]); /* "N → S"; or `element` itself */
const char *cb_date_text(const char *date, char text[CB_WORDS]);       /* "Jun 2027" */
const char *cb_step_text(const struct cb_point *point, char text[CB_WORDS]);
int cb_month_of(const char *date); /* months since the year 0; -1: not a date */

/* page.c: HTML around the pictures. */
void cb_page_begin(FILE *to, const char *name);
void cb_page_end(FILE *to);
void cb_section_end(FILE *to);
void cb_paragraph(FILE *to, const char *text); /* writes nothing if the text is empty or NULL */
void cb_card_begin(FILE *to, const char *title, const char *text);
void cb_card_end(FILE *to);
void cb_tile(FILE *to, const char *name, const char *value, const char *note);

/* An answer: the question, a figure, and a sentence. */
void cb_answer(FILE *to, const char *question, const char *class, const char *figure, const char *text);

struct legend {
    const char *name;
    unsigned colour;
    const char *shape; /* line, band, bar */
};
void cb_legend(FILE *to, const struct legend *legend, size_t count);
void cb_section_begin(FILE *to, const char *title, const char *text, const struct legend *legend, size_t count);

/* A table that is always seen. */
void cb_table_begin(FILE *to, const char *label, const char *const *names); /* names: up to a NULL */
void cb_row_begin(FILE *to, const char *name);
void cb_cell(FILE *to, const char *text);
void cb_row_end(FILE *to);
void cb_table_end(FILE *to);

/* The numbers of a picture as a table: the last row, and a few evenly chosen before it. `digits`: of the first column;
 * 0: whole numbers. points: the first column has their dates or stages instead; NULL: it does not. */
void cb_data_table(FILE *to, const char *const *names, const struct grid *grid, int digits,
                   const struct cb_point *points);

#endif
