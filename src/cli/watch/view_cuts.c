/* SPDX-License-Identifier: Apache-2.0 */
/* view_cuts.c: the cuts of each stage: made, kept, active. */
#include "cli/watch/dashboard.h"

#include <math.h>

enum { BARS = 46 };

static const char *count_text(double count, char text[32]) {
    snprintf(text, 32, isnan(count) ? "-" : count < 1e9 ? "%.0f" : "%.2e", count);
    return text;
}

static const char *share_text(double part, double whole, char text[32]) {
    snprintf(text, 32, whole > 0 ? "%.1f %%" : "-", 100 * part / whole);
    return text;
}

static void draw_stage(struct cb_dashboard *dashboard, int y, size_t stage, double most) {
    struct cb_canvas *canvas = &dashboard->canvas;
    double *const *of = dashboard->detail.stage;
    double made = of[CB_STAGE_MADE][stage], kept = of[CB_STAGE_KEPT][stage], active = of[CB_STAGE_ACTIVE][stage];
    char text[4][32];
    cb_canvas_print(canvas, y, 0, CB_PLAIN, "%5zu %9s %9s %9s %9s", stage + 1, count_text(made, text[0]),
                    count_text(kept, text[1]), count_text(active, text[2]), share_text(kept, made, text[3]));
    if (most > 0)
        cb_canvas_bar(canvas, y, BARS, canvas->width - BARS, active / most, 0);
}

static void draw_totals(struct cb_dashboard *dashboard, int y) {
    const struct cb_detail *detail = &dashboard->detail;
    char made[32], kept[32], active[32];
    cb_canvas_print(&dashboard->canvas, y, 0, CB_STRONG, "%zu stage%s: %s cuts made, %s kept, %s active",
                    detail->stages, detail->stages == 1 ? "" : "s",
                    count_text(cb_detail_sum(detail->stage[CB_STAGE_MADE], detail->stages), made),
                    count_text(cb_detail_sum(detail->stage[CB_STAGE_KEPT], detail->stages), kept),
                    count_text(cb_detail_sum(detail->stage[CB_STAGE_ACTIVE], detail->stages), active));
}

static void draw(struct cb_dashboard *dashboard, int top, int height) {
    struct cb_canvas *canvas = &dashboard->canvas;
    const struct cb_detail *detail = &dashboard->detail;
    if (!cb_view_detail(dashboard, top))
        return;
    draw_totals(dashboard, top);
    cb_canvas_print(canvas, top + 1, 0, CB_FAINT, "%5s %9s %9s %9s %9s  %s", "stage", "made", "kept", "active",
                    "kept/made", "active");
    int lines = height - 2;
    size_t first = cb_view_scroll(dashboard, detail->stages, lines);
    double most = cb_detail_most(detail->stage[CB_STAGE_ACTIVE], detail->stages);
    for (int i = 0; i < lines && first + (size_t)i < detail->stages; i++)
        draw_stage(dashboard, top + 2 + i, first + (size_t)i, most);
}

static void write_rows(struct cb_dashboard *dashboard, FILE *to) {
    const struct cb_detail *detail = &dashboard->detail;
    fputs("stage,made,kept,active\n", to);
    for (size_t i = 0; detail->known && i < detail->stages; i++) {
        fprintf(to, "%zu,", i + 1);
        cb_view_field(to, detail->stage[CB_STAGE_MADE][i], ',');
        cb_view_field(to, detail->stage[CB_STAGE_KEPT][i], ',');
        cb_view_field(to, detail->stage[CB_STAGE_ACTIVE][i], '\n');
    }
}

const struct cb_view cb_view_cuts = {.name = "cuts", .draw = draw, .write = write_rows};
