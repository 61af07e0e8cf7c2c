/* SPDX-License-Identifier: Apache-2.0 */
/* chart.c: pictures as inline SVG. The page sets colours and sizes of text (report.css). A picture is as wide as its
 * card. On a narrow screen its text is larger, so the margins are wider than necessary. */
#include "sddp/report/parts.h"

#include <math.h>
#include <stdbool.h>

enum { LEFT = 62, RIGHT = 14, TOP = 26, BOTTOM = 52, Y_TICKS = 5 };

/* How many bytes the letter has; 0: it is cut off. */
static size_t letter(const char *text) {
    unsigned char first = (unsigned char)*text;
    size_t bytes = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < bytes; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    return bytes;
}

/* "5 %" and "± 3" stay on one line. */
static bool is_tied(const char *text, const char *start) {
    return *text == ' ' && (text[1] == '%' || (text - start >= 2 && memcmp(text - 2, "±", 2) == 0));
}

void cb_html_write(FILE *to, const char *text) {
    size_t bytes = 1;
    for (const char *at = text; *at; at += bytes ? bytes : 1) {
        bytes = letter(at);
        switch (*at) {
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '&': fputs("&amp;", to); break;
        case '"': fputs("&quot;", to); break;
        default:
            if (is_tied(at, text))
                fputs("&nbsp;", to);
            else
                fwrite(at, 1, bytes, to);
        }
    }
}

void cb_chart_begin(struct chart *chart, FILE *to, unsigned id, double height, const char *title,
                    const char *description) {
    chart->to = to;
    chart->id = id;
    chart->x.start = LEFT;
    chart->x.end = CB_CHART_WIDTH - RIGHT;
    chart->y.start = height - BOTTOM;
    chart->y.end = TOP;
    fprintf(to,
            "<svg class=\"chart\" viewBox=\"0 0 %d %g\" role=\"img\" aria-labelledby=\"t%u d%u\">\n"
            "<title id=\"t%u\">",
            CB_CHART_WIDTH, height, chart->id, chart->id, chart->id);
    cb_html_write(to, title);
    fprintf(to, "</title><desc id=\"d%u\">", chart->id);
    cb_html_write(to, description);
    fprintf(to, "</desc>\n<clipPath id=\"c%u\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/></clipPath>\n",
            chart->id, chart->x.start, chart->y.end - 2, chart->x.end - chart->x.start,
            chart->y.start - chart->y.end + 4);
}

static double largest(const struct scale *scale) {
    return fmax(fabs(scale->from), fabs(scale->to));
}

static void draw_y_axis(const struct chart *chart) {
    char text[32];
    const struct scale *y = &chart->y;
    double step = cb_nice_step(y->to - y->from, Y_TICKS);
    for (double value = ceil(y->from / step - 1e-9) * step; value <= y->to + step * 1e-6; value += step) {
        double at = cb_scale_at(y, value);
        fprintf(chart->to,
                "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"tick\" x=\"%g\" y=\"%.1f\" dy=\".32em\" text-anchor=\"end\">%s</text>\n",
                chart->x.start, chart->x.end, at, at, chart->x.start - 8, at,
                cb_tick_text(value, step, largest(y), text));
    }
}

/* The last label must not leave the picture. */
static void write_tick(const struct chart *chart, double value, const char *text) {
    double at = cb_scale_at(&chart->x, value);
    bool last = at > chart->x.end - 4 * (double)strlen(text);
    fprintf(chart->to, "<text class=\"tick\" x=\"%.1f\" y=\"%g\" dy=\"1em\" text-anchor=\"%s\">%s</text>\n",
            last ? chart->x.end + RIGHT - 2 : at, chart->y.start + 9, last ? "end" : "middle", text);
}

void cb_chart_tick(const struct chart *chart, double value, double step, double most) {
    char text[32];
    write_tick(chart, value, cb_tick_text(value, step, most, text));
}

static void draw_base(const struct chart *chart) {
    fprintf(chart->to, "<line class=\"base\" x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\"/>\n", chart->x.start, chart->x.end,
            chart->y.start, chart->y.start);
}

/* after: what is added to the numbers before they are written. */
static void draw_x_axis(const struct chart *chart, int ticks, double after) {
    struct scale x = chart->x;
    char text[32];
    x.from += after;
    x.to += after;
    double step = cb_nice_step(x.to - x.from, ticks);
    draw_base(chart);
    for (double value = ceil(x.from / step - 1e-9) * step; value <= x.to + step * 1e-6; value += step)
        write_tick(chart, value - after, cb_tick_text(value, step, largest(&x), text));
}

static void draw_names(const struct chart *chart, const char *x_name, const char *y_name) {
    fprintf(chart->to, "<text class=\"name\" x=\"%g\" y=\"%g\" text-anchor=\"end\">", chart->x.end,
            chart->y.start + BOTTOM - 4);
    cb_html_write(chart->to, x_name);
    fprintf(chart->to, "</text><text class=\"name\" x=\"4\" y=\"13\">");
    cb_html_write(chart->to, y_name);
    fprintf(chart->to, "</text>\n");
}

void cb_chart_axes(const struct chart *chart, const char *x_name, const char *y_name, int x_ticks) {
    draw_y_axis(chart);
    draw_x_axis(chart, x_ticks, 0);
    draw_names(chart, x_name, y_name);
}

/* Where a mark is between two steps, the place of the second one. */
static void draw_notch(const struct chart *chart, double value) {
    double at = cb_scale_at(&chart->x, value);
    fprintf(chart->to, "<line class=\"base\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>\n", at, at, chart->y.start,
            chart->y.start + 4);
}

static void draw_dates(const struct chart *chart, const struct cb_point *point, size_t count) {
    int months = cb_months_between(point, count);
    draw_base(chart);
    for (size_t i = 0; i < count; i++) {
        char text[CB_WORDS];
        if (!cb_is_date_tick(point, i, months))
            continue;
        if (months % 12 == 0)
            snprintf(text, sizeof text, "%d", cb_month_of(point[i].date) / 12);
        else
            cb_date_text(point[i].date, text);
        draw_notch(chart, (double)i + 1);
        write_tick(chart, (double)i + 1, text);
    }
}

void cb_chart_steps(const struct chart *chart, const struct cb_point *point, size_t count, const char *y_name) {
    size_t first = point[0].stage;
    bool by_stage = first > 0 && point[count - 1].stage == first + count - 1;
    bool by_date = cb_month_of(point[0].date) >= 0;
    draw_y_axis(chart);
    if (by_date)
        draw_dates(chart, point, count);
    else
        draw_x_axis(chart, cb_whole_ticks(&chart->x, 8), by_stage ? (double)first - 1 : 0);
    draw_names(chart, by_date ? "date" : by_stage ? "stage" : "step", y_name);
}

/* One value far off the scale must not make a number that a browser cannot read. */
static double y_at(const struct chart *chart, double value) {
    double at = cb_scale_at(&chart->y, value);
    return at > 5000 ? 5000 : at > -5000 ? at : -5000;
}

void cb_chart_line(const struct chart *chart, unsigned colour, const char *class, const struct grid *grid, size_t y) {
    fprintf(chart->to, "<path class=\"line s%u %s\" data-series=\"%s\" clip-path=\"url(#c%u)\" d=\"", colour, class,
            class, chart->id);
    bool pen_down = false;
    for (size_t i = 0; i < grid->rows; i++) {
        const double *row = grid->at + i * grid->columns;
        if (isfinite(row[y]))
            fprintf(chart->to, pen_down ? "L%.1f %.1f" : "M%.1f %.1fh0", cb_scale_at(&chart->x, row[0]),
                    y_at(chart, row[y])); /* h0: a point that is alone is seen, too */
        pen_down = isfinite(row[y]);
    }
    fprintf(chart->to, "\"/>\n");
}

void cb_chart_band(const struct chart *chart, unsigned colour, const char *class, const struct grid *grid, size_t low,
                   size_t high) {
    fprintf(chart->to, "<path class=\"band s%u %s\" data-series=\"%s\" clip-path=\"url(#c%u)\" d=\"", colour, class,
            class, chart->id);
    char move = 'M';
    for (size_t i = 0; i < grid->rows; i++) {
        const double *row = grid->at + i * grid->columns;
        if (isfinite(row[high])) {
            fprintf(chart->to, "%c%.1f %.1f", move, cb_scale_at(&chart->x, row[0]), y_at(chart, row[high]));
            move = 'L';
        }
    }
    for (size_t i = grid->rows; i-- > 0;) {
        const double *row = grid->at + i * grid->columns;
        if (isfinite(row[low]))
            fprintf(chart->to, "L%.1f %.1f", cb_scale_at(&chart->x, row[0]), y_at(chart, row[low]));
    }
    fprintf(chart->to, "%s\"/>\n", move == 'L' ? "Z" : "");
}

void cb_chart_stairs(const struct chart *chart, unsigned colour, const char *class, const struct grid *grid, size_t y) {
    double half = grid->rows > 1 ? (grid->at[grid->columns] - grid->at[0]) / 2 : 0.5;
    fprintf(chart->to, "<path class=\"stairs s%u %s\" data-series=\"%s\" clip-path=\"url(#c%u)\" d=\"M%.1f %.1f",
            colour, class, class, chart->id, cb_scale_at(&chart->x, grid->at[0] - half), y_at(chart, 0));
    for (size_t i = 0; i < grid->rows; i++) {
        const double *row = grid->at + i * grid->columns;
        fprintf(chart->to, "V%.1fH%.1f", y_at(chart, row[y]), cb_scale_at(&chart->x, row[0] + half));
    }
    fprintf(chart->to, "V%.1fZ\"/>\n", y_at(chart, 0));
}

void cb_chart_bar(const struct chart *chart, unsigned colour, double x0, double x1, double y0, double y1,
                  const char *tip) {
    double left = cb_scale_at(&chart->x, x0), right = cb_scale_at(&chart->x, x1);
    double top = fmin(y_at(chart, y0), y_at(chart, y1)), bottom = fmax(y_at(chart, y0), y_at(chart, y1));
    fprintf(chart->to, "<rect class=\"bar s%u\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">", colour, left,
            top, right - left, bottom - top);
    if (tip) {
        fprintf(chart->to, "<title>");
        cb_html_write(chart->to, tip);
        fprintf(chart->to, "</title>");
    }
    fprintf(chart->to, "</rect>\n");
}

void cb_chart_mark(const struct chart *chart, double x, unsigned row, const char *text) {
    double at = cb_scale_at(&chart->x, x);
    bool right = at > chart->x.start + 0.6 * (chart->x.end - chart->x.start);
    double top = chart->y.end + 20 * (double)row;
    if (!(at >= chart->x.start - 1 && at <= chart->x.end + 1))
        return;
    fprintf(chart->to,
            "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/><text class=\"over\" x=\"%.1f\" "
            "y=\"%g\" dy=\".8em\" text-anchor=\"%s\">",
            at, at, chart->y.start, chart->y.end, at + (right ? -6 : 6), top, right ? "end" : "start");
    cb_html_write(chart->to, text);
    fprintf(chart->to, "</text>\n");
}

void cb_chart_strip(const struct chart *chart, double x, double width, const char *tip) {
    double at = cb_scale_at(&chart->x, x);
    fprintf(chart->to,
            "<g class=\"strip\"><rect x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"/><line x1=\"%.1f\" x2=\"%.1f\" "
            "y1=\"%g\" y2=\"%g\"/><title>",
            at - width / 2, chart->y.end, width, chart->y.start - chart->y.end, at, at, chart->y.start, chart->y.end);
    cb_html_write(chart->to, tip);
    fprintf(chart->to, "</title></g>\n");
}

void cb_chart_end(const struct chart *chart) {
    fprintf(chart->to, "</svg>\n");
}
