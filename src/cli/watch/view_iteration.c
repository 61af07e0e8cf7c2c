/* SPDX-License-Identifier: Apache-2.0 */
/* view_iteration.c: the use of time in an iteration, and the iterations before it. */
#include "cli/watch/dashboard.h"

#include "sddp/run/numbers.h"

#include <math.h>

enum { NAME_WIDTH = 15, NUMBER = 10, BARS = NAME_WIDTH + 3 * NUMBER + 2 };

static void draw_phases(struct cb_dashboard *dashboard, const struct cb_record *record, int top) {
    struct cb_canvas *canvas = &dashboard->canvas;
    char mean[32], slowest[32], share[32];
    double longest = 0, all = 0;
    for (size_t i = 0; i < CB_SPENTS; i++) {
        longest = fmax(longest, record->slowest[i]);
        all += isnan(record->mean[i]) ? 0 : record->mean[i];
    }
    cb_canvas_print(canvas, top, 0, CB_FAINT, "%-*s%*s%*s%*s  %s", NAME_WIDTH, "time per rank", NUMBER, "mean", NUMBER,
                    "slowest", NUMBER, "share", canvas->ascii ? "# mean - slowest" : "█ mean ░ slowest");
    if (longest > 0)
        cb_canvas_print(canvas, top, BARS + 16, CB_FAINT, ", full: %s", cb_view_seconds(longest, mean));
    for (size_t i = 0; i < CB_SPENTS; i++) {
        int y = top + 1 + (int)i;
        snprintf(share, sizeof share, "%.1f %%", 100 * record->mean[i] / all);
        cb_canvas_print(canvas, y, 0, CB_PLAIN, "%-*s%*s%*s%*s", NAME_WIDTH,
                        cobre_sddp_effort_name((cobre_sddp_effort)i), NUMBER, cb_view_seconds(record->mean[i], mean),
                        NUMBER, cb_view_seconds(record->slowest[i], slowest), NUMBER,
                        isfinite(record->mean[i] / all) ? share : "-");
        if (longest > 0)
            cb_canvas_bar(canvas, y, BARS, canvas->width - BARS, record->mean[i] / longest,
                          record->slowest[i] / longest);
    }
}

static void draw_row(struct cb_dashboard *dashboard, int y, size_t at) {
    const struct cb_record *record = &dashboard->history.record[at];
    const struct cb_iteration *trace = &dashboard->history.trace[at];
    char bound[32], mean[32], gap[32], took[32], rate[32], cuts[32];
    snprintf(cuts, sizeof cuts, "%.0f", fmin(record->cuts, 1e10));
    snprintf(gap, sizeof gap, fabs(record->gap) < 10 ? "%.2f %%" : "%.3g %%", 100 * record->gap);
    cb_canvas_print(&dashboard->canvas, y, 0, CB_PLAIN, "%9.0f %12s %12s %10s %10s %9s %10s", trace->iteration,
                    cb_short_text(trace->bound, 7, bound), cb_short_text(trace->mean, 7, mean),
                    isfinite(record->gap) ? gap : "-", cb_view_seconds(record->took, took),
                    cb_brief_text(record->rate, 4, rate), isnan(record->cuts) ? "-" : cuts);
}

/* The newest one first; where iterations are missing, that is said. */
static void draw_table(struct cb_dashboard *dashboard, int top, int lines) {
    const struct cb_iteration *trace = dashboard->history.trace;
    size_t rows = dashboard->cursor + 1, first = cb_view_scroll(dashboard, rows, lines);
    int y = top + 1;
    cb_canvas_print(&dashboard->canvas, top, 0, CB_FAINT, "%9s %12s %12s %10s %10s %9s %10s", "iteration", "bound",
                    "mean", "gap", "took", "LP/s", "cuts");
    for (size_t i = first; i < rows && y <= top + lines; i++) {
        size_t at = dashboard->cursor - i;
        draw_row(dashboard, y++, at);
        double missing = at > 0 ? trace[at].iteration - trace[at - 1].iteration - 1 : 0;
        if (missing > 0 && y <= top + lines)
            cb_canvas_print(&dashboard->canvas, y++, 0, CB_CARE, "%9s %.0f missing", "...", missing);
    }
}

static void draw(struct cb_dashboard *dashboard, int top, int height) {
    struct cb_canvas *canvas = &dashboard->canvas;
    const struct cb_record *record = cb_view_record(dashboard);
    char took[32], rate[32];
    if (!record) {
        cb_canvas_text(canvas, top + 1, 2, CB_PLAIN, "There is no iteration yet.");
        return;
    }
    cb_canvas_print(canvas, top, 0, CB_STRONG, "iteration %.0f took %s: %s LPs per second",
                    dashboard->history.trace[dashboard->cursor].iteration, cb_view_seconds(record->took, took),
                    cb_brief_text(record->rate, 4, rate));
    draw_phases(dashboard, record, top + 1);
    draw_table(dashboard, top + CB_SPENTS + 3, height - CB_SPENTS - 4);
}

static void write_rows(struct cb_dashboard *dashboard, FILE *to) {
    const struct cb_history *history = &dashboard->history;
    fputs("run,iteration,seconds,took,bound,window_mean,gap,cuts,solves,lps_per_second", to);
    for (size_t i = 0; i < CB_SPENTS; i++)
        fprintf(to, ",%s_mean,%s_slowest", cobre_sddp_effort_name((cobre_sddp_effort)i),
                cobre_sddp_effort_name((cobre_sddp_effort)i));
    putc('\n', to);
    for (size_t r = 0; history->count && r <= dashboard->cursor && r < history->count; r++) {
        const struct cb_record *record = &history->record[r];
        const double values[] = {record->seconds, record->took, history->trace[r].bound, history->trace[r].mean,
                                 record->gap,     record->cuts, record->solves};
        cb_view_key(dashboard, to, history->trace[r].iteration);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            cb_view_field(to, values[i], ',');
        cb_view_field(to, record->rate, ',');
        for (size_t i = 0; i < CB_SPENTS; i++) {
            cb_view_field(to, (double)record->mean[i], ',');
            cb_view_field(to, (double)record->slowest[i], i + 1 < CB_SPENTS ? ',' : '\n');
        }
    }
}

const struct cb_view cb_view_iteration = {.name = "iteration", .draw = draw, .write = write_rows};
