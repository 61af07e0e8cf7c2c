/* SPDX-License-Identifier: Apache-2.0 */
/* plot.c: draws lines on the canvas, in braille dots.
 *
 * A letter has 2 x 4 dots and one style. If several were drawn there, it is the first in the order of cb_style. */
#include "cli/watch/plot.h"

#include "sddp/report/chart.h"
#include "sddp/run/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL = 10,
    TICKS_APART = 2,
    BRAILLE = 0x2800,
    VERTICAL = 0x2502,
    CORNER = 0x2514,
    FLAT = 0x2500,
    TICK = 0x2524
};

static int dots_across(const struct cb_plot *plot) {
    return plot->canvas->ascii ? 1 : 2;
}

static int dots_down(const struct cb_plot *plot) {
    return plot->canvas->ascii ? 1 : 4;
}

/* From 0 to 1 within the range. */
static double share_of(const struct cb_range *range, double value) {
    if (!range->log)
        return (value - range->from) / (range->to - range->from);
    return value > 0 ? log10(value / range->from) / log10(range->to / range->from) : NAN;
}

/* In dots, from the left and from the top; may be outside. */
static double dot_x(const struct cb_plot *plot, double x) {
    return share_of(&plot->x, x) * (plot->width * dots_across(plot) - 1);
}

static double dot_y(const struct cb_plot *plot, double y) {
    return (1 - share_of(&plot->y, y)) * (plot->height * dots_down(plot) - 1);
}

static void set_dot(struct cb_plot *plot, enum cb_style style, int x, int y) {
    static const unsigned char bit[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    int across = dots_across(plot), down = dots_down(plot);
    if (x < 0 || y < 0 || x >= plot->width * across || y >= plot->height * down)
        return;
    size_t at = (size_t)(y / down * plot->width + x / across);
    plot->dot[at] |= bit[x % across][y % down];
    if (!plot->style[at] || style < plot->style[at])
        plot->style[at] = (unsigned char)style;
}

static bool is_inside(double dot, int room) {
    return dot >= -1 && dot <= room;
}

void cb_plot_point(struct cb_plot *plot, enum cb_style style, double x, double y) {
    double at_x = dot_x(plot, x), at_y = dot_y(plot, y);
    if (is_inside(at_x, 2 * plot->width) && is_inside(at_y, 4 * plot->height)) /* neither NaN nor huge */
        set_dot(plot, style, (int)lround(at_x), (int)lround(at_y));
}

/* A value that is far outside still gives its line a direction. */
static double tame(double dot, int room) {
    return fmax(-8.0 * room, fmin(9.0 * room, dot));
}

void cb_plot_line(struct cb_plot *plot, enum cb_style style, double x0, double y0, double x1, double y1) {
    double from_x = dot_x(plot, x0), from_y = dot_y(plot, y0), to_x = dot_x(plot, x1), to_y = dot_y(plot, y1);
    if (!isfinite(from_x + from_y + to_x + to_y))
        return;
    int across = plot->width * dots_across(plot), down = plot->height * dots_down(plot);
    if (fmax(from_x, to_x) < 0 || fmin(from_x, to_x) > across)
        return;
    from_x = tame(from_x, across), to_x = tame(to_x, across);
    from_y = tame(from_y, down), to_y = tame(to_y, down);
    int steps = (int)ceil(fmax(fabs(to_x - from_x), fabs(to_y - from_y)));
    for (int i = 0; i <= steps; i++) {
        double share = steps ? (double)i / steps : 0;
        set_dot(plot, style, (int)lround(from_x + share * (to_x - from_x)),
                (int)lround(from_y + share * (to_y - from_y)));
    }
}

void cb_plot_band(struct cb_plot *plot, double x, double low, double high) {
    double at_x = dot_x(plot, x), bottom = dot_y(plot, low), top = dot_y(plot, high);
    int down = plot->height * dots_down(plot);
    if (!is_inside(at_x, 2 * plot->width) || !isfinite(bottom + top))
        return;
    int column = (int)lround(at_x), last = (int)lround(tame(bottom, down));
    bool thin = dots_across(plot) > 1;
    for (int y = (int)lround(tame(top, down)); y <= last; y++)
        if (!thin || (column + 2 * y) % 4 == 0)
            set_dot(plot, CB_BAND, column, y);
}

void cb_plot_close(struct cb_plot *plot) {
    for (int y = 0; y < plot->height; y++)
        for (int x = 0; x < plot->width; x++) {
            size_t at = (size_t)(y * plot->width + x);
            enum cb_style style = plot->style[at];
            uint32_t ascii = style == CB_BOUND ? '*' : style == CB_MEAN ? 'o' : '.';
            if (plot->dot[at])
                cb_canvas_put(plot->canvas, plot->top + y, plot->left + x, style,
                              plot->canvas->ascii ? ascii : (uint32_t)(BRAILLE + plot->dot[at]));
        }
    free(plot->dot);
    free(plot->style);
    plot->dot = plot->style = NULL;
}

int cb_plot_line_of(const struct cb_plot *plot, double y) {
    double dot = dot_y(plot, y);
    return is_inside(dot, plot->height * dots_down(plot)) ? plot->top + (int)lround(dot) / dots_down(plot) : -1;
}

int cb_plot_column_of(const struct cb_plot *plot, double x) {
    double dot = dot_x(plot, x);
    return is_inside(dot, plot->width * dots_across(plot)) ? plot->left + (int)lround(dot) / dots_across(plot) : -1;
}

static void label_y(struct cb_plot *plot, double value, double step, double largest) {
    char text[32];
    int line = cb_plot_line_of(plot, value);
    if (line < plot->top || line >= plot->top + plot->height)
        return;
    if (plot->y.log || largest >= 1e15)
        cb_brief_text(value, 3, text);
    else
        cb_tick_text(value, step, largest, text);
    cb_canvas_fill(plot->canvas, line, plot->left - 1 - LABEL, LABEL, CB_FAINT, ' ');
    cb_canvas_print(plot->canvas, line, plot->left - 1 - LABEL, CB_PLAIN, "%*.*s", LABEL - 1, LABEL - 1, text);
    cb_canvas_put(plot->canvas, line, plot->left - 1, CB_FAINT, plot->canvas->ascii ? '+' : TICK);
}

/* Round numbers on whole lines, evenly spaced: of all axes on which some lines are a step of 1, 2 or 5 times a power of
 * ten, the one that leaves least room around the values. Returns the step; 0: the values are too close to each
 * other. */
static double fit_y(struct cb_plot *plot) {
    static const double digit[] = {1, 2, 5};
    double rows = plot->height - 1, range = plot->y.to - plot->y.from, best = INFINITY, best_step = 0;
    double largest = fmax(fabs(plot->y.from), fabs(plot->y.to));
    if (!(range > 1e-12 * largest) || !(range < 1e300))
        return 0;
    double power = pow(10, floor(log10(range / rows)));
    for (int i = 0; i < 9; i++)
        for (int apart = TICKS_APART; apart <= 2 * TICKS_APART; apart++) {
            double step = digit[i % 3] * power * (i < 3 ? 1 : i < 6 ? 10 : 100), line = step / apart;
            if (line < best && (floor(plot->y.from / line) + rows) * line >= plot->y.to)
                best = line, best_step = step;
        }
    if (isinf(best))
        return 0;
    plot->y.from = floor(plot->y.from / best) * best;
    plot->y.to = plot->y.from + rows * best;
    return best_step;
}

static void label_evenly(struct cb_plot *plot, double step) {
    double range = plot->y.to - plot->y.from, largest = fmax(fabs(plot->y.from), fabs(plot->y.to));
    double first = ceil(plot->y.from / step - 1e-6);
    for (int i = 0; i <= plot->height && (first + i) * step <= plot->y.to + 1e-6 * range; i++)
        label_y(plot, (first + i) * step, step, largest);
}

static bool is_taken(const struct cb_plot *plot, int line) {
    int x = plot->left - 1;
    uint32_t tick = plot->canvas->ascii ? '+' : TICK;
    return line > 0 && plot->canvas->cell[line * plot->canvas->width + x].letter == tick;
}

/* 1, 2 and 5 times the powers of ten, as far as there is room. Returns how many there are. */
static int label_powers(struct cb_plot *plot) {
    static const double digit[] = {1, 2, 5};
    int count = 0;
    for (size_t d = 0; d < 3; d++)
        for (double power = floor(log10(plot->y.from)); power <= log10(plot->y.to); power++) {
            double value = digit[d] * pow(10, power);
            int line = cb_plot_line_of(plot, value);
            if (value < plot->y.from || value > plot->y.to || is_taken(plot, line) || is_taken(plot, line - 1) ||
                is_taken(plot, line + 1))
                continue;
            label_y(plot, value, 0, value);
            count++;
        }
    return count;
}

static void draw_y_axis(struct cb_plot *plot) {
    enum { FEWEST_POWERS = 3 };
    if (plot->y.log)
        plot->y.from /= 1.03, plot->y.to *= 1.03;
    double range = plot->y.to - plot->y.from, step = plot->y.log ? 0 : fit_y(plot);
    for (int y = 0; y < plot->height; y++)
        cb_canvas_put(plot->canvas, plot->top + y, plot->left - 1, CB_FAINT, plot->canvas->ascii ? '|' : VERTICAL);
    if (plot->y.log && label_powers(plot) >= FEWEST_POWERS)
        return;
    int ticks = plot->height / TICKS_APART > 1 ? plot->height / TICKS_APART : 2;
    label_evenly(plot, step > 0 ? step : cb_nice_step(range, ticks));
}

/* Seconds are round otherwise than numbers. */
static double clock_step(double range, int ticks) {
    static const double round[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200};
    if (range / ticks <= 0.5)
        return cb_nice_step(range, ticks);
    for (size_t i = 0; i < sizeof round / sizeof *round; i++)
        if (round[i] >= range / ticks)
            return round[i];
    return 86400 * ceil(range / ticks / 86400);
}

static void draw_x_axis(struct cb_plot *plot, bool clock) {
    int line = plot->top + plot->height, end = 0;
    bool ascii = plot->canvas->ascii;
    cb_canvas_put(plot->canvas, line, plot->left - 1, CB_FAINT, ascii ? '+' : CORNER);
    cb_canvas_fill(plot->canvas, line, plot->left, plot->width, CB_FAINT, ascii ? '-' : FLAT);
    double range = plot->x.to - plot->x.from;
    int ticks = plot->width / 12 > 1 ? plot->width / 12 : 1;
    double step = clock ? clock_step(range, ticks) : fmax(1, cb_nice_step(range, ticks));
    double first = ceil(plot->x.from / step - 1e-9) * step;
    for (int i = 0; i < plot->width && first + i * step <= plot->x.to + 1e-9 * range; i++) {
        char text[32];
        double value = first + i * step;
        if (clock && step >= 1)
            cb_clock_text(value, text);
        else
            snprintf(text, sizeof text, clock ? "%.3g s" : "%.0f", value);
        int length = (int)strlen(text), x = cb_plot_column_of(plot, value) - length / 2;
        if (x < plot->left - LABEL || x < end || x + length > plot->canvas->width)
            continue;
        end = cb_canvas_text(plot->canvas, line + 1, x, CB_PLAIN, text) + 1;
    }
}

bool cb_plot_open(struct cb_plot *plot, struct cb_canvas *canvas, int top, int left, int height, int width,
                  struct cb_range x, struct cb_range y, bool clock) {
    *plot = (struct cb_plot){.canvas = canvas,
                             .top = top,
                             .left = left + LABEL + 1,
                             .height = height - 2,
                             .width = width - LABEL - 1,
                             .x = x,
                             .y = y};
    if (plot->height < 2 || plot->width < 8)
        return false;
    plot->dot = calloc((size_t)plot->height, (size_t)plot->width);
    plot->style = calloc((size_t)plot->height, (size_t)plot->width);
    if (!plot->dot || !plot->style) {
        free(plot->dot);
        free(plot->style);
        return false;
    }
    draw_y_axis(plot);
    draw_x_axis(plot, clock);
    return true;
}
