/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.c: the cuts of a stage, from the policy that was saved last. */
#include "cli/watch/dashboard.h"

#include "sddp/run/files.h"
#include "sddp/run/folder.h"
#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

void cb_inspect_close(struct cb_dashboard *dashboard) {
    cobre_sddp_policy_free(&dashboard->policy);
    free(dashboard->cut);
    free(dashboard->column);
    dashboard->cut = NULL;
    dashboard->column = NULL;
    dashboard->cuts = dashboard->scroll = dashboard->aside = 0;
}

static bool find_cuts(struct cb_dashboard *dashboard, size_t stage) {
    const cobre_sddp_policy *policy = dashboard->policy;
    uint64_t all = cobre_sddp_policy_cuts(policy);
    dashboard->cut = malloc((all + 1) * sizeof *dashboard->cut);
    for (uint64_t i = 0; dashboard->cut && i < all; i++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        if (cobre_sddp_policy_cut(policy, i, &cut, NULL) == COBRE_OK &&
            cobre_sddp_policy_node_stage(policy, cut.node) == stage)
            dashboard->cut[dashboard->cuts++] = i;
    }
    return dashboard->cut;
}

static size_t stages_of(const cobre_sddp_policy *policy) {
    size_t stages = 0;
    for (size_t i = 0; i < cobre_sddp_policy_nodes(policy); i++) {
        size_t stage = cobre_sddp_policy_node_stage(policy, i);
        stages = stage > stages ? stage : stages;
    }
    return stages;
}

static size_t nodes_of(const cobre_sddp_policy *policy, size_t stage) {
    size_t count = 0;
    for (size_t i = 0; i < cobre_sddp_policy_nodes(policy); i++)
        count += cobre_sddp_policy_node_stage(policy, i) == stage;
    return count;
}

struct weight {
    double sum;
    size_t state;
};

static int by_weight(const void *left, const void *right) {
    const struct weight *a = left, *b = right;
    return a->sum != b->sum ? (a->sum < b->sum) - (a->sum > b->sum) : (a->state > b->state) - (a->state < b->state);
}

/* The states whose slopes are largest, on the mean of the cuts, come first. */
static bool order_states(struct cb_dashboard *dashboard) {
    size_t states = cobre_sddp_policy_states(dashboard->policy);
    struct weight *weight = calloc(states + 1, sizeof *weight);
    double *slopes = calloc(states + 1, sizeof *slopes);
    dashboard->column = calloc(states + 1, sizeof *dashboard->column);
    bool good = weight && slopes && dashboard->column;
    for (size_t i = 0; good && i < states; i++)
        weight[i].state = i;
    for (size_t i = 0; good && i < dashboard->cuts; i++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        if (cobre_sddp_policy_cut(dashboard->policy, dashboard->cut[i], &cut, slopes) == COBRE_OK)
            for (size_t s = 0; s < states; s++)
                weight[s].sum += fabs(slopes[s]);
    }
    if (good)
        qsort(weight, states, sizeof *weight, by_weight);
    for (size_t i = 0; good && i < states; i++)
        dashboard->column[i] = weight[i].state;
    free(weight);
    free(slopes);
    return good;
}

void cb_inspect_open(struct cb_dashboard *dashboard, size_t stage) {
    char path[PATH_MAX];
    cb_inspect_close(dashboard);
    if (cb_folder_join(cb_steer_folder(dashboard), CB_FILE_POLICY, path) != COBRE_OK || access(path, R_OK) != 0) {
        cb_say_line(dashboard, cb_state_is_over(dashboard) ? "no policy was saved"
                                                           : "no policy is saved yet: press c, then i again");
        return;
    }
    if (cobre_sddp_policy_read(path, &dashboard->policy) != COBRE_OK) {
        cb_say_line(dashboard, "%s", cobre_last_error()->message);
        return;
    }
    size_t stages = stages_of(dashboard->policy);
    if (stage < 1 || stage > stages)
        cb_say_line(dashboard, "there is no stage %zu: they go from 1 to %zu", stage, stages);
    if (stage < 1 || stage > stages || !find_cuts(dashboard, stage) || !order_states(dashboard)) {
        cb_inspect_close(dashboard);
        return;
    }
    dashboard->stage = stage;
    dashboard->nodes = nodes_of(dashboard->policy, stage) > 1;
    dashboard->mode = CB_INSPECTING;
}

/* Where the columns of the states are. */
struct columns {
    int left, width;
    size_t first, count; /* that are shown */
};

static int letters_of(const char *text) {
    int letters = 0;
    for (; *text; text++)
        letters += ((unsigned char)*text & 0xc0) != 0x80;
    return letters;
}

/* As wide as the longest name, within limits. All that fit are shown, from the one that was scrolled to. */
static struct columns place_columns(struct cb_dashboard *dashboard) {
    enum { LEAST = 10, MOST = 24 };
    size_t states = cobre_sddp_policy_states(dashboard->policy);
    struct columns columns = {.left = dashboard->nodes ? 9 + 10 + 14 : 9 + 14, .width = LEAST};
    for (size_t s = 0; s < states; s++) {
        int width = letters_of(cobre_sddp_policy_state_name(dashboard->policy, s));
        columns.width = width > columns.width ? width : columns.width;
    }
    columns.width = (columns.width < MOST ? columns.width : MOST) + 2;
    size_t room = (size_t)((dashboard->canvas.width - columns.left) / columns.width);
    size_t last = states > room ? states - room : 0;
    dashboard->aside = dashboard->aside < last ? dashboard->aside : last;
    columns.first = dashboard->aside;
    columns.count = states < room ? states : room;
    return columns;
}

/* At the right end of a column; what is too long is cut there. */
static void draw_entry(struct cb_canvas *canvas, int y, const struct columns *columns, size_t at, enum cb_style style,
                       const char *text) {
    int left = columns->left + (int)at * columns->width, room = columns->width - 2, length = letters_of(text);
    int x = cb_canvas_text(canvas, y, left + 2 + (length < room ? room - length : 0), style, text);
    cb_canvas_fill(canvas, y, left + columns->width, x - left - columns->width, CB_PLAIN, ' ');
}

static const char *slope_text(double slope, char text[32]) {
    return slope == 0 ? "0" : cb_short_text(slope, 7, text);
}

static void draw_cut(struct cb_dashboard *dashboard, int y, uint64_t index, const struct columns *columns,
                     double *slopes) {
    struct cb_canvas *canvas = &dashboard->canvas;
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    char number[32];
    if (cobre_sddp_policy_cut(dashboard->policy, index, &cut, slopes) != COBRE_OK)
        return;
    cb_canvas_print(canvas, y, 0, CB_PLAIN, "%9.0f", (double)cut.iteration);
    if (dashboard->nodes)
        cb_canvas_print(canvas, y, 11, CB_PLAIN, "%-8.8s", cobre_sddp_policy_node_name(dashboard->policy, cut.node));
    cb_canvas_print(canvas, y, columns->left - 14, CB_PLAIN, "%14s", cb_short_text(cut.intercept, 7, number));
    for (size_t i = 0; i < columns->count; i++)
        draw_entry(canvas, y, columns, i, CB_PLAIN, slope_text(slopes[dashboard->column[columns->first + i]], number));
}

static void draw_heads(struct cb_dashboard *dashboard, int y, const struct columns *columns) {
    struct cb_canvas *canvas = &dashboard->canvas;
    const cobre_sddp_policy *policy = dashboard->policy;
    char cost[64];
    int x = cb_canvas_print(canvas, y, 0, CB_STRONG, "stage %zu: %zu cut%s of the policy of iteration %.0f; %s",
                            dashboard->stage, dashboard->cuts, dashboard->cuts == 1 ? "" : "s",
                            (double)cobre_sddp_policy_iterations(policy), cb_view_cost(dashboard, cost));
    if (columns->count < cobre_sddp_policy_states(policy))
        cb_canvas_print(canvas, y, x, CB_FAINT, "; states %zu-%zu of %zu", columns->first + 1,
                        columns->first + columns->count, cobre_sddp_policy_states(policy));
    cb_canvas_text(canvas, y + 1, 0, CB_FAINT, dashboard->nodes ? "iteration  node" : "iteration");
    cb_canvas_print(canvas, y + 1, columns->left - 14, CB_FAINT, "%14s", "intercept");
    for (size_t i = 0; i < columns->count; i++)
        draw_entry(canvas, y + 1, columns, i, CB_FAINT,
                   cobre_sddp_policy_state_name(policy, dashboard->column[columns->first + i]));
}

/* The newest cut first. */
void cb_inspect_draw(struct cb_dashboard *dashboard) {
    int lines = dashboard->canvas.height - CB_TOP - CB_BOTTOM - 2;
    size_t first = cb_view_scroll(dashboard, dashboard->cuts, lines);
    struct columns columns = place_columns(dashboard);
    double *slopes = calloc(cobre_sddp_policy_states(dashboard->policy) + 1, sizeof *slopes);
    draw_heads(dashboard, CB_TOP, &columns);
    for (int i = 0; slopes && i < lines && first + (size_t)i < dashboard->cuts; i++)
        draw_cut(dashboard, CB_TOP + 2 + i, dashboard->cut[dashboard->cuts - 1 - first - (size_t)i], &columns, slopes);
    free(slopes);
}

void cb_inspect_write(struct cb_dashboard *dashboard, FILE *to) {
    const cobre_sddp_policy *policy = dashboard->policy;
    size_t states = cobre_sddp_policy_states(policy);
    double *slopes = calloc(states + 1, sizeof *slopes);
    fputs("run,iteration,node,intercept", to);
    for (size_t s = 0; s < states; s++) {
        putc(',', to);
        cb_field_write(to, cobre_sddp_policy_state_name(policy, s));
    }
    putc('\n', to);
    for (size_t i = dashboard->cuts; slopes && i-- > 0;) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        cobre_sddp_policy_cut(policy, dashboard->cut[i], &cut, slopes);
        cb_view_key(dashboard, to, (double)cut.iteration);
        cb_field_write(to, cobre_sddp_policy_node_name(policy, cut.node));
        putc(',', to);
        for (size_t s = 0; s < states + 1; s++)
            cb_view_field(to, s == 0 ? cut.intercept : slopes[s - 1], s < states ? ',' : '\n');
    }
    free(slopes);
}
