/* SPDX-License-Identifier: Apache-2.0 */
/* view_convergence.c: the bound, and the simulated mean with its interval, over the iterations or the time. */
#include "cli/watch/dashboard.h"
#include "cli/watch/plot.h"

#include "sddp/run/numbers.h"

#include <math.h>
#include <string.h>

enum { HEAD = 2, MARGIN = 7, FEWEST = 4 };

/* Which records are in the plot: the newest ones, or those around the cursor. */
static void choose_records(struct cb_dashboard *dashboard) {
    size_t count = dashboard->history.count, span = count >> dashboard->zoom;
    span = span > FEWEST ? span : count < FEWEST ? count : FEWEST;
    if (dashboard->follows || dashboard->from + span > count)
        dashboard->from = count - span;
    if (dashboard->cursor < dashboard->from || dashboard->cursor >= dashboard->from + span)
        dashboard->from = dashboard->cursor > span / 2 ? dashboard->cursor - span / 2 : 0;
    if (dashboard->from + span > count)
        dashboard->from = count - span;
    dashboard->to = dashboard->from + span;
}

static double x_of(const struct cb_dashboard *dashboard, size_t at) {
    return dashboard->clock ? dashboard->history.record[at].seconds : dashboard->history.trace[at].iteration;
}

static struct cb_range x_range(const struct cb_dashboard *dashboard) {
    struct cb_range range = {.from = x_of(dashboard, dashboard->from), .to = x_of(dashboard, dashboard->to - 1)};
    if (dashboard->clock && dashboard->zoom == 0)
        range.from = 0;
    if (!(range.to > range.from))
        range.from -= 0.5, range.to = range.from + 1;
    return range;
}

static void widen(struct cb_range *range, double value) {
    if (!isfinite(value) || fabs(value) > 1e300 || (range->log && value <= 0))
        return;
    range->from = fmin(range->from, value);
    range->to = fmax(range->to, value);
}

/* The bound and the mean count; the interval, as far as it does not take half of the picture. */
static struct cb_range y_range(const struct cb_dashboard *dashboard) {
    struct cb_range range = {.from = INFINITY, .to = -INFINITY, .log = dashboard->log};
    const struct cb_iteration *trace = dashboard->history.trace;
    for (size_t i = dashboard->from; i < dashboard->to; i++) {
        widen(&range, trace[i].bound);
        widen(&range, trace[i].mean);
    }
    struct cb_range inner = range;
    double more = 0.5 * (inner.to - inner.from), last = trace[dashboard->to - 1].half;
    more = isfinite(last) ? fmax(more, 1.5 * last) : more;
    for (size_t i = dashboard->from; i < dashboard->to; i++) {
        widen(&range, fmax(trace[i].mean - trace[i].half, inner.from - more));
        widen(&range, fmin(trace[i].mean + trace[i].half, inner.to + more));
    }
    if (!(range.to >= range.from))
        range.from = range.log ? 1 : 0, range.to = range.log ? 10 : 1;
    double margin = range.to > range.from ? 0.03 * (range.to - range.from) : fmax(1, 0.1 * fabs(range.to));
    range.from = range.log ? range.from * 0.97 : range.from - margin;
    range.to = range.log ? range.to * 1.03 : range.to + margin;
    return range;
}

/* What a series has in a few neighbouring records. */
struct bucket {
    double x0, x1, first, last, low, high;
    bool whole; /* no iteration is missing before or in it */
};

static struct bucket gather(const struct cb_dashboard *dashboard, size_t begin, size_t end, bool of_mean) {
    const struct cb_iteration *trace = dashboard->history.trace;
    struct bucket bucket = {.first = NAN, .last = NAN, .low = INFINITY, .high = -INFINITY, .whole = true};
    bucket.x0 = x_of(dashboard, begin);
    bucket.x1 = x_of(dashboard, end - 1);
    for (size_t i = begin; i < end; i++) {
        double value = of_mean ? trace[i].mean : trace[i].bound;
        bucket.whole = bucket.whole && (i == 0 || trace[i].iteration == trace[i - 1].iteration + 1);
        if (i == begin)
            bucket.first = value;
        bucket.last = value;
        bucket.low = fmin(bucket.low, value);
        bucket.high = fmax(bucket.high, value);
    }
    return bucket;
}

/* Several records in one dot are drawn as one stroke from the least to the largest. */
static void draw_series(const struct cb_dashboard *dashboard, struct cb_plot *plot, bool of_mean, size_t step) {
    enum cb_style style = of_mean ? CB_MEAN : CB_BOUND;
    struct bucket before = {.last = NAN};
    for (size_t i = dashboard->from; i < dashboard->to; i += step) {
        size_t end = i + step < dashboard->to ? i + step : dashboard->to;
        struct bucket bucket = gather(dashboard, i, end, of_mean);
        cb_plot_point(plot, style, bucket.x1, bucket.last);
        if (step > 1)
            cb_plot_line(plot, style, bucket.x1, bucket.low, bucket.x1, bucket.high);
        if (bucket.whole && i > dashboard->from)
            cb_plot_line(plot, style, before.x1, before.last, bucket.x0, bucket.first);
        before = bucket;
    }
}

static void draw_band(const struct cb_dashboard *dashboard, struct cb_plot *plot, size_t step) {
    const struct cb_iteration *trace = dashboard->history.trace;
    double width = plot->width * 2.0, range = plot->x.to - plot->x.from;
    for (size_t i = dashboard->from; i < dashboard->to; i += step) {
        bool next = i + step < dashboard->to && (step > 1 || trace[i + 1].iteration == trace[i].iteration + 1);
        double x = x_of(dashboard, i), end = next ? x_of(dashboard, i + step) : x;
        for (int n = 0; n < 4096 && (n == 0 || x + n * range / width < end); n++)
            cb_plot_band(plot, x + n * range / width, trace[i].mean - trace[i].half, trace[i].mean + trace[i].half);
    }
}

/* Names at the right end, so that no colour is needed to tell the lines apart. */
static void name_series(const struct cb_dashboard *dashboard, struct cb_plot *plot) {
    const struct cb_iteration *last = &dashboard->history.trace[dashboard->to - 1];
    int x = plot->left + plot->width + 1;
    int bound = cb_plot_line_of(plot, last->bound), mean = cb_plot_line_of(plot, last->mean);
    if (mean >= 0 && mean == bound)
        mean += last->mean > last->bound ? -1 : 1;
    if (mean >= plot->top + plot->height)
        mean = bound - 1;
    if (bound >= 0)
        cb_canvas_text(plot->canvas, bound, x, CB_BOUND, "bound");
    if (mean >= 0)
        cb_canvas_text(plot->canvas, mean, x, CB_MEAN, "mean");
}

static void draw_cursor(struct cb_dashboard *dashboard, const struct cb_plot *plot) {
    enum { LINE = 0x2506 };
    int x = cb_plot_column_of(plot, x_of(dashboard, dashboard->cursor));
    struct cb_canvas *canvas = &dashboard->canvas;
    for (int y = plot->top; x >= 0 && !dashboard->follows && y < plot->top + plot->height; y++)
        if (canvas->cell[y * canvas->width + x].letter == ' ')
            cb_canvas_put(canvas, y, x, CB_FAINT, canvas->ascii ? ':' : LINE);
}

static void draw_numbers(struct cb_dashboard *dashboard, int y) {
    const struct cb_history *history = &dashboard->history;
    const struct cb_iteration *at = &history->trace[dashboard->cursor];
    const struct cb_record *record = &history->record[dashboard->cursor];
    struct cb_canvas *canvas = &dashboard->canvas;
    char bound[32], mean[32], half[32];
    int x = cb_canvas_print(canvas, y, 0, CB_BOUND, "%s bound %s", history->maximises ? "upper" : "lower",
                            cb_short_text(at->bound, 7, bound));
    x = cb_canvas_print(canvas, y, x + 3, CB_MEAN, "simulated mean %s ± %s", cb_short_text(at->mean, 6, mean),
                        cb_short_text(at->half, 3, half));
    if (record->passes > 0)
        cb_canvas_print(canvas, y, x + 1, CB_PLAIN, "(95 %%, %.0f passes)", record->passes);
}

static size_t not_positive(const struct cb_dashboard *dashboard) {
    size_t count = 0;
    for (size_t i = dashboard->from; i < dashboard->to; i++)
        count += dashboard->history.trace[i].bound <= 0 || dashboard->history.trace[i].mean <= 0;
    return count;
}

/* A unit may be "$" or "1200 $". */
static const char *unit_words(const char *unit) {
    return !*unit ? "" : *unit >= '0' && *unit <= '9' ? " in units of " : " in ";
}

static void draw_axes_names(struct cb_dashboard *dashboard, int y) {
    struct cb_canvas *canvas = &dashboard->canvas;
    const char *unit = dashboard->history.unit;
    int x = cb_canvas_print(canvas, y, 0, CB_FAINT, "cost%s%.20s, %s, over the %s", unit_words(unit), unit,
                            dashboard->log ? "logarithmic" : "linear", dashboard->clock ? "time" : "iterations");
    if (dashboard->zoom)
        x = cb_canvas_print(canvas, y, x, CB_FAINT, ", zoom %dx", 1 << dashboard->zoom);
    size_t hidden = dashboard->log ? not_positive(dashboard) : 0;
    if (hidden)
        cb_canvas_print(canvas, y, x, CB_CARE, "; %zu not above 0", hidden);
    if (canvas->ascii)
        cb_canvas_text(canvas, y, canvas->width - 33, CB_FAINT, "* bound  o mean  . 95 % interval");
}

static void draw(struct cb_dashboard *dashboard, int top, int height) {
    struct cb_canvas *canvas = &dashboard->canvas;
    struct cb_plot plot;
    if (!cb_view_record(dashboard)) {
        cb_canvas_text(canvas, top + 1, 2, CB_PLAIN, "There is no iteration yet.");
        return;
    }
    choose_records(dashboard);
    draw_numbers(dashboard, top);
    draw_axes_names(dashboard, top + 1);
    if (!cb_plot_open(&plot, canvas, top + HEAD, 0, height - HEAD, canvas->width - MARGIN, x_range(dashboard),
                      y_range(dashboard), dashboard->clock))
        return;
    size_t dots = (size_t)plot.width * 4, step = (dashboard->to - dashboard->from + dots - 1) / dots;
    dashboard->per_column = (dashboard->to - dashboard->from) / (size_t)plot.width + 1;
    draw_band(dashboard, &plot, step);
    draw_series(dashboard, &plot, true, step);
    draw_series(dashboard, &plot, false, step);
    cb_plot_close(&plot);
    draw_cursor(dashboard, &plot);
    name_series(dashboard, &plot);
}

static void write_rows(struct cb_dashboard *dashboard, FILE *to) {
    fputs("iteration,seconds,bound,window_mean,window_half,window_passes,gap\n", to);
    for (size_t i = dashboard->from; i < dashboard->to && i < dashboard->history.count; i++) {
        const struct cb_iteration *at = &dashboard->history.trace[i];
        const struct cb_record *record = &dashboard->history.record[i];
        cb_view_field(to, at->iteration, ',');
        cb_view_field(to, record->seconds, ',');
        cb_view_field(to, at->bound, ',');
        cb_view_field(to, at->mean, ',');
        cb_view_field(to, at->half, ',');
        cb_view_field(to, record->passes, ',');
        cb_view_field(to, record->gap, '\n');
    }
}

const struct cb_view cb_view_convergence = {.name = "convergence", .draw = draw, .write = write_rows};
