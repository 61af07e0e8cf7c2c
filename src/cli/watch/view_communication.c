/* SPDX-License-Identifier: Apache-2.0 */
/* view_communication.c: bytes and times of the collective operations, and the waiting time of each rank. */
#include "cli/watch/dashboard.h"

#include "sddp/run/table.h"

#include <math.h>

enum { BARS = 57, RANK_BARS = 46 };

static const char *share_text(double part, double whole, char text[32]) {
    double share = 100 * part / whole;
    snprintf(text, 32, !isfinite(share) ? "-" : share < 1e4 ? "%.2f %%" : "%.0e %%", share);
    return text;
}

static double count_of(double calls) {
    return calls >= 0 ? fmin(calls, 1e9) : 0;
}

static void draw_operation(struct cb_dashboard *dashboard, int y, const struct cb_operation *operation, double took,
                           double most) {
    struct cb_canvas *canvas = &dashboard->canvas;
    char bytes[32], seconds[32], share[32];
    int x = cb_canvas_print(canvas, y, 0, CB_PLAIN, "%-14.14s", operation->name);
    cb_canvas_print(canvas, y, x, CB_PLAIN, "%9.0f %10s %10s %9s", count_of(operation->calls),
                    cb_view_bytes(operation->bytes, bytes), cb_view_seconds(operation->seconds, seconds),
                    share_text(operation->seconds, took, share));
    if (most > 0)
        cb_canvas_bar(canvas, y, BARS, canvas->width - BARS, operation->seconds / most, 0);
}

/* Returns the line behind it. */
static int draw_operations(struct cb_dashboard *dashboard, int top, int lines, double took) {
    const struct cb_detail *detail = &dashboard->detail;
    struct cb_canvas *canvas = &dashboard->canvas;
    double most = detail->operations ? detail->operation[0].seconds : 0;
    int y = top;
    char full[32];
    int x = cb_canvas_print(canvas, y, 0, CB_FAINT, "%-14s%9s %10s %10s %9s", "operation", "calls", "data", "time",
                            "share");
    if (most > 0)
        cb_canvas_print(canvas, y, x + 2, CB_FAINT, "full: %s", cb_view_seconds(most, full));
    y++;
    for (size_t i = 0; i < detail->operations && y < top + lines; i++)
        draw_operation(dashboard, y++, &detail->operation[i], took, most);
    if (detail->operations == 0)
        cb_canvas_text(canvas, y++, 0, CB_PLAIN, "none that carries data");
    return y;
}

static void draw_rank(struct cb_dashboard *dashboard, int y, size_t rank, double took, double most) {
    const struct cb_detail *detail = &dashboard->detail;
    double waiting = detail->rank[COBRE_SDDP_EFFORT_WAITING][rank],
           moving = detail->rank[COBRE_SDDP_EFFORT_COMMUNICATION][rank];
    char waits[32], moves[32], share[32];
    struct cb_canvas *canvas = &dashboard->canvas;
    cb_canvas_print(canvas, y, 0, CB_PLAIN, "%6zu %16s %10s %9s", rank, cb_view_seconds(moving, moves),
                    cb_view_seconds(waiting, waits), share_text(waiting, took, share));
    if (most > 0)
        cb_canvas_bar(canvas, y, RANK_BARS, canvas->width - RANK_BARS, waiting / most, 0);
}

static void draw_ranks(struct cb_dashboard *dashboard, int top, int height, double took) {
    const struct cb_detail *detail = &dashboard->detail;
    double most = cb_detail_most(detail->rank[COBRE_SDDP_EFFORT_WAITING], detail->ranks);
    char full[32];
    int lines = height - 1;
    size_t first = cb_view_scroll(dashboard, detail->ranks, lines);
    cb_canvas_print(&dashboard->canvas, top, 0, CB_FAINT, "%6s %16s %10s %9s  full: %s", "rank", "communication",
                    "waiting", "share", cb_view_seconds(most, full));
    for (int i = 0; i < lines && first + (size_t)i < detail->ranks; i++)
        draw_rank(dashboard, top + 1 + i, first + (size_t)i, took, most);
}

static void draw(struct cb_dashboard *dashboard, int top, int height) {
    const struct cb_detail *detail = &dashboard->detail;
    char moving[32], waiting[32];
    if (!cb_view_detail(dashboard, top))
        return;
    const struct cb_record *record = cb_view_record(dashboard);
    double bytes = 0;
    for (size_t i = 0; i < detail->operations; i++)
        bytes += isnan(detail->operation[i].bytes) ? 0 : detail->operation[i].bytes;
    char all[32];
    cb_canvas_print(&dashboard->canvas, top, 0, CB_STRONG,
                    "%s for each rank; communication %s, waiting %s of the iteration", cb_view_bytes(bytes, all),
                    share_text(record->mean[COBRE_SDDP_EFFORT_COMMUNICATION], record->took, moving),
                    share_text(record->mean[COBRE_SDDP_EFFORT_WAITING], record->took, waiting));
    int y = draw_operations(dashboard, top + 1, height / 2, record->took) + 1;
    draw_ranks(dashboard, y, top + height - y, record->took);
}

static void write_rows(struct cb_dashboard *dashboard, FILE *to) {
    const struct cb_detail *detail = &dashboard->detail;
    double iteration = dashboard->history.count ? dashboard->history.trace[dashboard->cursor].iteration : NAN;
    fputs("run,iteration,what,name,calls,bytes,seconds\n", to);
    for (size_t i = 0; detail->known && i < detail->operations; i++) {
        cb_view_key(dashboard, to, iteration);
        fputs("operation,", to);
        cb_field_write(to, detail->operation[i].name);
        putc(',', to);
        cb_view_field(to, detail->operation[i].calls, ',');
        cb_view_field(to, detail->operation[i].bytes, ',');
        cb_view_field(to, detail->operation[i].seconds, '\n');
    }
    for (size_t i = 0; detail->known && i < detail->ranks; i++) {
        cb_view_key(dashboard, to, iteration);
        fprintf(to, "communication,%zu,,,", i);
        cb_view_field(to, detail->rank[COBRE_SDDP_EFFORT_COMMUNICATION][i], '\n');
        cb_view_key(dashboard, to, iteration);
        fprintf(to, "waiting,%zu,,,", i);
        cb_view_field(to, detail->rank[COBRE_SDDP_EFFORT_WAITING][i], '\n');
    }
}

const struct cb_view cb_view_communication = {.name = "communication", .draw = draw, .write = write_rows};
