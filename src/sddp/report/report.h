/* report.h: the parts of `cobre report`. */
#ifndef COBRE_SDDP_REPORT_H
#define COBRE_SDDP_REPORT_H

#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

/* samples.c: what one element did: at each step, a value for each trajectory. */
struct values {
    double *at;
    size_t count, room;
};

struct series {
    char *kind, *element;
    struct values *step;
    size_t steps, room;
};

struct samples {
    struct series *series; /* in the order of the table */
    size_t count, room;
    bool no_memory;
};

/* Reads the rows of folder/name whose kind `wants` (NULL: all), by the values in `column`; the last steps,
 * which fewer than 5 % of the trajectories reach, are left out. False: no such table. */
bool cb_samples_read(struct samples *samples, const char *folder, const char *name, const char *column,
                     bool (*wants)(const char *kind));
void cb_samples_free(struct samples *samples);

/* Puts first a series named `element` that is the sum of those of `kind`, trajectory by trajectory. */
void cb_samples_add_total(struct samples *samples, const char *kind, const char *element);
void cb_samples_negate(struct samples *samples);
double cb_mean(const struct values *values);

enum { CB_PERCENTILES = 5 };
extern const int cb_percentile[CB_PERCENTILES];                                  /* 5, 25, 50, 75, 95 */
void cb_percentiles(const struct values *values, double result[CB_PERCENTILES]); /* sorts the values */

/* key,value tables. */
struct facts_row {
    char *key, *value;
};
struct fact_list {
    struct facts_row *rows;
    size_t count;
};
void cb_facts_read(struct fact_list *facts, const char *folder, const char *name);
const char *cb_fact(const struct fact_list *facts, const char *key);   /* "" if there is none */
double cb_fact_number(const struct fact_list *facts, const char *key); /* NaN if there is none */
void cb_facts_free(struct fact_list *facts);

/* axis.c: numbers and where they are drawn. */
struct scale {
    double from, to;   /* values */
    double start, end; /* where they are in the picture */
};
double cb_scale_at(const struct scale *scale, double value);
double cb_nice_step(double range, int ticks);      /* 1, 2 or 5 times a power of ten */
void cb_scale_fit(struct scale *scale, int ticks); /* starts it at a whole tick, and leaves a little room above */

const char *cb_grouped_text(const char *number, char text[64]); /* 71,603.4 */

/* "71.6k": short, with as many decimals as ticks `step` apart need; largest: of all on that axis. */
const char *cb_tick_text(double value, double step, double largest, char text[32]);

/* chart.c: an SVG picture. Series are told apart by their number, from 1 to CB_COLOURS. */
enum { CB_COLOURS = 8, CB_CHART_WIDTH = 520, CB_CHART_HEIGHT = 290 };

struct chart {
    FILE *to;
    struct scale x, y;
    unsigned id; /* of the picture in its page */
};

void cb_chart_begin(struct chart *chart, FILE *to, double height, const char *title, const char *description);
int cb_whole_ticks(const struct scale *scale, int most); /* how many, when only whole numbers make sense */
void cb_chart_axes(const struct chart *chart, const char *x_name, const char *y_name, int x_ticks);
void cb_chart_tick(const struct chart *chart, double value, double step, double most); /* its label below the picture */
void cb_chart_line(const struct chart *chart, unsigned colour, const char *class, const double *x, const double *y,
                   size_t count);
void cb_chart_band(const struct chart *chart, unsigned colour, const char *class, const double *x, const double *low,
                   const double *high, size_t count);
void cb_chart_bar(const struct chart *chart, unsigned colour, double x0, double x1, double y0, double y1,
                  const char *tip);
void cb_chart_mark(const struct chart *chart, double x, const char *text); /* a line from top to bottom */

/* A strip around x that shows a line and `tip` under the pointer. */
void cb_chart_strip(const struct chart *chart, double x, double width, const char *tip);
void cb_chart_end(const struct chart *chart);

/* page.c: HTML around the pictures. */
void cb_html_write(FILE *to, const char *text);
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

/* Rows of numbers behind a picture: begin with the names of the columns. */
void cb_data_begin(FILE *to, const char *const *columns, size_t count);
void cb_data_row(FILE *to, const char *name, const double *values, size_t count);
void cb_data_end(FILE *to);

/* training.c, costs.c, simulation.c: sections. False: there is nothing to show. */
bool cb_report_training(FILE *to, const char *folder, const struct fact_list *summary);
bool cb_report_costs(FILE *to, const char *folder, const struct fact_list *summary, const struct fact_list *simulation);
bool cb_report_simulation(FILE *to, const char *folder, const struct fact_list *summary,
                          const struct fact_list *simulation);

#endif
