/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h: lines on the canvas, in braille dots: two per column, four per line. With ASCII there is one dot per letter. */
#ifndef COBRE_CLI_WATCH_PLOT_H
#define COBRE_CLI_WATCH_PLOT_H

#include "cli/watch/canvas.h"

/* The ranges of the axes. With a logarithmic scale, values are logarithms to base 10. */
struct cb_range {
    double from, to;
    bool log;
};

struct cb_plot {
    struct cb_canvas *canvas;
    int top, left, height, width; /* of the dots, in letters */
    struct cb_range x, y;
    unsigned char *dot; /* of each letter: its dots, and its style */
    unsigned char *style;
};

/* Draws the axes with their labels into the area; the rest is for the plot. False: no memory or no room. */
bool cb_plot_open(struct cb_plot *plot, struct cb_canvas *canvas, int top, int left, int height, int width,
                  struct cb_range x, struct cb_range y, bool clock);

/* Draws a line from one point to the next. Points that are not finite, or not positive with a logarithm, are left out. */
void cb_plot_line(struct cb_plot *plot, enum cb_style style, double x0, double y0, double x1, double y1);
void cb_plot_point(struct cb_plot *plot, enum cb_style style, double x, double y);

/* Draws thin dots between two values. */
void cb_plot_band(struct cb_plot *plot, double x, double low, double high);

/* Puts the dots on the canvas, and frees them. */
void cb_plot_close(struct cb_plot *plot);

/* The line and the column of a value; -1: it is outside. */
int cb_plot_line_of(const struct cb_plot *plot, double y);
int cb_plot_column_of(const struct cb_plot *plot, double x);

#endif
