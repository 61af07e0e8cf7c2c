/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h: pictures as inline SVG. Their colours are those of the page they are in (report.css). */
#ifndef COBRE_SDDP_REPORT_CHART_H
#define COBRE_SDDP_REPORT_CHART_H

#include <stddef.h>
#include <stdio.h>

#include "sddp/run/results.h"

/* The numbers of a picture, row by row. The first column is x. */
struct grid {
    double *at;
    size_t rows, columns, room;
};

/* axis.c: numbers and where they are drawn. */
struct scale {
    double from, to;   /* values */
    double start, end; /* their positions in the picture */
};
double cb_scale_at(const struct scale *scale, double value);
double cb_nice_step(double range, int ticks);            /* 1, 2 or 5 times a power of ten */
void cb_scale_fit(struct scale *scale, int ticks);       /* starts it at a whole tick, and leaves a little room above */
int cb_whole_ticks(const struct scale *scale, int most); /* the number of ticks, if only whole numbers make sense */

/* "71.6k": short, with as many decimals as ticks `step` apart need; largest: of all on that axis. */
const char *cb_tick_text(double value, double step, double largest, char text[32]);

/* Is the date of point `at` a tick? months: the distance between ticks (cb_months_between). */
bool cb_is_date_tick(const struct cb_point *point, size_t at, int months);
int cb_months_between(const struct cb_point *point, size_t count);

/* chart.c: a picture. Each series has a colour, from 1 to 8. */
enum { CB_CHART_WIDTH = 520, CB_CHART_HEIGHT = 296 };

struct chart {
    FILE *to;
    struct scale x, y;
    unsigned id; /* of the picture in its page */
};

void cb_chart_begin(struct chart *chart, FILE *to, unsigned id, double height, const char *title,
                    const char *description);
void cb_chart_axes(const struct chart *chart, const char *x_name, const char *y_name, int x_ticks);
void cb_chart_tick(const struct chart *chart, double value, double step, double most); /* its label below the picture */

/* Axes of a picture whose x is the number of a step, from 1. Ticks are dates if they are known, else stages. */
void cb_chart_steps(const struct chart *chart, const struct cb_point *point, size_t count, const char *y_name);

/* A line through the values of one column; a band between those of two. Values that are not finite are left out. */
void cb_chart_line(const struct chart *chart, unsigned colour, const char *class, const struct grid *grid, size_t y);
void cb_chart_band(const struct chart *chart, unsigned colour, const char *class, const struct grid *grid, size_t low,
                   size_t high);
/* Bars from 0 to the values of a column, from half a step before x to half a step after it. */
void cb_chart_stairs(const struct chart *chart, unsigned colour, const char *class, const struct grid *grid, size_t y);
void cb_chart_bar(const struct chart *chart, unsigned colour, double x0, double x1, double y0, double y1,
                  const char *tip);
/* A vertical line with a text; row: the number of texts above it. */
void cb_chart_mark(const struct chart *chart, double x, unsigned row, const char *text);

/* A strip around x that shows a line and `tip` under the pointer. */
void cb_chart_strip(const struct chart *chart, double x, double width, const char *tip);
void cb_chart_end(const struct chart *chart);

/* Text of SVG and HTML: special characters are escaped, and an incomplete UTF-8 character at the end is left out. */
void cb_html_write(FILE *to, const char *text);

#endif
