/* SPDX-License-Identifier: Apache-2.0 */
/* view_resources.c: memory and CPU of each rank. */
#include "cli/watch/dashboard.h"

#include <math.h>

enum { BARS = 65 };

/* What the ranks have for themselves; shared memory is in the memory of each of them. */
static double own_memory(const struct cb_detail *detail, size_t rank) {
    double shared = detail->rank[COBRE_SDDP_EFFORT_SHARED][rank];
    return fmax(0, detail->rank[COBRE_SDDP_EFFORT_MEMORY][rank] - (isnan(shared) ? 0 : shared));
}

static double all_own_memory(const struct cb_detail *detail) {
    double sum = 0;
    for (size_t i = 0; i < detail->ranks; i++)
        sum += isnan(detail->rank[COBRE_SDDP_EFFORT_MEMORY][i]) ? 0 : own_memory(detail, i);
    return sum;
}

static void draw_totals(struct cb_dashboard *dashboard, int y, double took) {
    const struct cb_detail *detail = &dashboard->detail;
    char all[32], own[32], shared[32], busy[32] = "-";
    double cpu = cb_detail_sum(detail->rank[COBRE_SDDP_EFFORT_CPU], detail->ranks);
    double common = cb_detail_most(detail->rank[COBRE_SDDP_EFFORT_SHARED], detail->ranks),
           private = all_own_memory(detail);
    if (took > 0 && !isnan(cpu))
        snprintf(busy, sizeof busy, "%.2f", cpu / took);
    cb_canvas_print(&dashboard->canvas, y, 0, CB_STRONG, "%zu rank%s: %s of memory, %s own and %s shared; %s CPUs busy",
                    detail->ranks, detail->ranks == 1 ? "" : "s", cb_view_bytes(private + common, all),
                    cb_view_bytes(private, own), cb_view_bytes(common, shared), busy);
}

static void draw_rank(struct cb_dashboard *dashboard, int y, size_t rank, double took) {
    const struct cb_detail *detail = &dashboard->detail;
    struct cb_canvas *canvas = &dashboard->canvas;
    char memory[32], shared[32], cpu[32], share[32] = "-";
    double busy = detail->rank[COBRE_SDDP_EFFORT_CPU][rank] / took;
    if (isfinite(busy))
        snprintf(share, sizeof share, "%.0f %%", 100 * fmin(busy, 1e6));
    cb_canvas_print(canvas, y, 0, CB_PLAIN, "%6zu %11s %13s %11s %9s %9.0f", rank,
                    cb_view_bytes(detail->rank[COBRE_SDDP_EFFORT_MEMORY][rank], memory),
                    cb_view_bytes(detail->rank[COBRE_SDDP_EFFORT_SHARED][rank], shared),
                    cb_view_seconds(detail->rank[COBRE_SDDP_EFFORT_CPU][rank], cpu), share,
                    isnan(detail->rank[COBRE_SDDP_EFFORT_SOLVES][rank])
                        ? 0
                        : fmin(detail->rank[COBRE_SDDP_EFFORT_SOLVES][rank], 1e12));
    cb_canvas_bar(canvas, y, BARS, canvas->width - BARS, busy, isfinite(busy) ? 1 : 0);
}

static void draw(struct cb_dashboard *dashboard, int top, int height) {
    const struct cb_detail *detail = &dashboard->detail;
    struct cb_canvas *canvas = &dashboard->canvas;
    if (!cb_view_detail(dashboard, top))
        return;
    double took = cb_view_record(dashboard)->took;
    draw_totals(dashboard, top, took);
    cb_canvas_print(canvas, top + 1, 0, CB_FAINT, "%6s %11s %13s %11s %9s %9s %s", "rank", "memory", "shared", "CPU",
                    "CPU/time", "LPs", "full: 100 %");
    int lines = height - 2;
    size_t first = cb_view_scroll(dashboard, detail->ranks, lines);
    for (int i = 0; i < lines && first + (size_t)i < detail->ranks; i++)
        draw_rank(dashboard, top + 2 + i, first + (size_t)i, took);
}

static void write_rows(struct cb_dashboard *dashboard, FILE *to) {
    const struct cb_detail *detail = &dashboard->detail;
    const struct cb_record *record = cb_view_record(dashboard);
    fputs("run,iteration,rank,memory,shared,cpu,solves,took\n", to);
    for (size_t i = 0; detail->known && record && i < detail->ranks; i++) {
        cb_view_key(dashboard, to, dashboard->history.trace[dashboard->cursor].iteration);
        fprintf(to, "%zu,", i);
        cb_view_field(to, detail->rank[COBRE_SDDP_EFFORT_MEMORY][i], ',');
        cb_view_field(to, detail->rank[COBRE_SDDP_EFFORT_SHARED][i], ',');
        cb_view_field(to, detail->rank[COBRE_SDDP_EFFORT_CPU][i], ',');
        cb_view_field(to, detail->rank[COBRE_SDDP_EFFORT_SOLVES][i], ',');
        cb_view_field(to, record->took, '\n');
    }
}

const struct cb_view cb_view_resources = {.name = "resources", .draw = draw, .write = write_rows};
