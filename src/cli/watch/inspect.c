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
    dashboard->cut = NULL;
    dashboard->cuts = dashboard->scroll = 0;
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
    if (stage < 1 || stage > stages || !find_cuts(dashboard, stage)) {
        cb_inspect_close(dashboard);
        return;
    }
    dashboard->stage = stage;
    dashboard->mode = CB_INSPECTING;
}

/* The state with the largest slope, of those that are not done; `states`: there is none. */
static size_t next_slope(const double *slopes, const bool *done, size_t states) {
    size_t best = states;
    for (size_t s = 0; s < states; s++)
        if (!done[s] && slopes[s] != 0 && (best == states || fabs(slopes[s]) > fabs(slopes[best])))
            best = s;
    return best;
}

static void draw_slopes(struct cb_dashboard *dashboard, int y, int x, const double *slopes, bool *done) {
    const cobre_sddp_policy *policy = dashboard->policy;
    struct cb_canvas *canvas = &dashboard->canvas;
    size_t states = cobre_sddp_policy_states(policy), at;
    char number[32];
    for (size_t i = 0; i < states; i++)
        done[i] = false;
    while (x < canvas->width && (at = next_slope(slopes, done, states)) < states) {
        done[at] = true;
        x = cb_canvas_print(canvas, y, x, CB_PLAIN, "%s %s", cobre_sddp_policy_state_name(policy, at),
                            cb_brief_text(slopes[at], 4, number)) +
            2;
    }
}

static void draw_cut(struct cb_dashboard *dashboard, int y, uint64_t index, double *slopes, bool *done) {
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    char intercept[32];
    if (cobre_sddp_policy_cut(dashboard->policy, index, &cut, slopes) != COBRE_OK)
        return;
    int x = cb_canvas_print(&dashboard->canvas, y, 0, CB_PLAIN, "%9.0f %-8.8s %13s  ", (double)cut.iteration,
                            cobre_sddp_policy_node_name(dashboard->policy, cut.node),
                            cb_brief_text(cut.intercept, 6, intercept));
    draw_slopes(dashboard, y, x, slopes, done);
}

/* The newest cut first. */
void cb_inspect_draw(struct cb_dashboard *dashboard) {
    struct cb_canvas *canvas = &dashboard->canvas;
    size_t states = cobre_sddp_policy_states(dashboard->policy);
    int lines = canvas->height - CB_TOP - CB_BOTTOM - 2;
    size_t first = cb_view_scroll(dashboard, dashboard->cuts, lines);
    double *slopes = calloc(states + 1, sizeof *slopes);
    bool *done = calloc(states + 1, sizeof *done);
    cb_canvas_print(canvas, CB_TOP, 0, CB_STRONG, "stage %zu: %zu cut%s, in the policy of iteration %.0f",
                    dashboard->stage, dashboard->cuts, dashboard->cuts == 1 ? "" : "s",
                    (double)cobre_sddp_policy_iterations(dashboard->policy));
    cb_canvas_print(canvas, CB_TOP + 1, 0, CB_FAINT, "%9s %-8s %13s  %s", "iteration", "node", "intercept",
                    "slopes, the largest first");
    for (int i = 0; slopes && done && i < lines && first + (size_t)i < dashboard->cuts; i++)
        draw_cut(dashboard, CB_TOP + 2 + i, dashboard->cut[dashboard->cuts - 1 - first - (size_t)i], slopes, done);
    free(slopes);
    free(done);
}

void cb_inspect_write(struct cb_dashboard *dashboard, FILE *to) {
    const cobre_sddp_policy *policy = dashboard->policy;
    size_t states = cobre_sddp_policy_states(policy);
    double *slopes = calloc(states + 1, sizeof *slopes);
    fputs("node,iteration,intercept", to);
    for (size_t s = 0; s < states; s++) {
        putc(',', to);
        cb_field_write(to, cobre_sddp_policy_state_name(policy, s));
    }
    putc('\n', to);
    for (size_t i = dashboard->cuts; slopes && i-- > 0;) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        cobre_sddp_policy_cut(policy, dashboard->cut[i], &cut, slopes);
        cb_field_write(to, cobre_sddp_policy_node_name(policy, cut.node));
        fprintf(to, ",%.0f,", (double)cut.iteration);
        for (size_t s = 0; s < states + 1; s++)
            cb_view_field(to, s == 0 ? cut.intercept : slopes[s - 1], s < states ? ',' : '\n');
    }
    free(slopes);
}
