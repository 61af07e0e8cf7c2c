/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c: terminal cuts bound the cost after a node without successors. They become rows of its LP:
 *
 *     terminal[k]   terminal - sum of slope * outgoing state >= intercept     (<= in a problem that maximises)
 *
 * The column `terminal` has the cost 1 and no bounds: its range follows from the rows (ranges.c).
 *
 * Each row costs time in every solve. So a cut is dropped if another one dominates it in the whole box of the states'
 * bounds. That is so if the other one is higher in the middle of the box by at least the sum over the states of
 * |difference of slopes| * half the width. Cuts are visited from the highest in the middle to the lowest, and each is
 * compared with the cuts kept before it. This costs at most pairs times states, and mostly far less, because the sum soon
 * exceeds the difference. After STEPS operations only the last kept cuts are compared, which still finds copies. */
#include <math.h>
#include <stdlib.h>

#include "sddp/problem/builder.h"

#define STEPS 1e9 /* about a second */

/* A cut while it is compared. */
typedef struct {
    const cb_builder_cut *cut;
    double height; /* in the middle, in the sense of a minimisation */
} candidate;

/* Those of one node. */
typedef struct {
    size_t states, cuts;
    double *middle, *half; /* of the box, for each state; half is infinite where a bound is missing */
    candidate *candidate;
} desk;

/* A bound that noise moves is none. */
static void find_box(const cb_builder_node *node, desk *d) {
    for (size_t s = 0; s < d->states; s++) {
        const cb_builder_column *column = &node->column[node->state_out[s]];
        bool bounded = isfinite(column->lower) && isfinite(column->upper);
        for (size_t i = 0; i < node->noises; i++)
            bounded &= cb_noise_family(node->noise[i].target) != COBRE_SDDP_NOISE_COLUMN_LOWER ||
                       node->noise[i].index != node->state_out[s];
        d->middle[s] = bounded ? column->lower / 2 + column->upper / 2 : 0;
        d->half[s] = bounded ? column->upper / 2 - column->lower / 2 : INFINITY;
    }
}

static double height_of(const desk *d, const cb_builder_cut *cut, bool maximise) {
    double height = cut->intercept;
    for (size_t s = 0; s < d->states; s++)
        height += cut->slope[s] * d->middle[s];
    return maximise ? -height : height;
}

/* Does the lower one exceed the higher one anywhere? */
static bool exceeds(const desk *d, const candidate *lower, const candidate *higher) {
    double left = higher->height - lower->height;
    for (size_t s = 0; s < d->states && left >= 0; s++) {
        double difference = fabs(lower->cut->slope[s] - higher->cut->slope[s]);
        left -= difference > 0 ? difference * d->half[s] : 0;
    }
    return left < 0;
}

static int by_order(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->cut < y->cut ? -1 : 1;
}

/* The highest first. */
static int by_height(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->height > y->height ? -1 : x->height < y->height ? 1 : by_order(a, b);
}

static bool lay_out(cobre_sddp_builder *builder, const cb_builder_node *node, desk *d) {
    *d = (desk){.states = builder->states,
                .cuts = node->cuts,
                .middle = cb_builder_alloc(builder, builder->states, sizeof *d->middle),
                .half = cb_builder_alloc(builder, builder->states, sizeof *d->half),
                .candidate = cb_builder_alloc(builder, node->cuts, sizeof *d->candidate)};
    if (builder->no_memory)
        return false;
    find_box(node, d);
    for (size_t k = 0; k < d->cuts; k++)
        d->candidate[k] = (candidate){.cut = &node->cut[k], .height = height_of(d, &node->cut[k], builder->maximise)};
    return true;
}

/* Leaves the cuts that are not superfluous, in the order in which they were added. */
static void select_cuts(desk *d) {
    size_t kept = 0, most = (size_t)(STEPS / ((double)d->cuts * (double)(d->states + 1))) + 1;
    qsort(d->candidate, d->cuts, sizeof *d->candidate, by_height);
    for (size_t k = 0; k < d->cuts; k++) {
        candidate now = d->candidate[k];
        size_t last = kept > most ? kept - most : 0, i = kept;
        while (i > last && exceeds(d, &now, &d->candidate[i - 1]))
            i--;
        if (i == last)
            d->candidate[kept++] = now;
    }
    qsort(d->candidate, kept, sizeof *d->candidate, by_order);
    d->cuts = kept;
}

/* The cost of what comes after is a component of the cost; how it is made up is of interest to few. */
static void describe(cobre_sddp_builder *builder, cobre_sddp_part part, const char *name) {
    const cobre_sddp_label label = {.struct_size = sizeof label,
                                    .kind = "terminal",
                                    .element = name,
                                    .unit = part == COBRE_SDDP_COLUMN ? builder->money : "",
                                    .type = "terminal",
                                    .detail = true};
    cobre_sddp_add_label(builder, part, name, &label);
}

static void add_row(cobre_sddp_builder *builder, size_t index, size_t column, const cb_builder_cut *cut,
                    size_t number) {
    const cb_builder_node *node = &builder->node[index];
    const char *name = CB_TEXT("terminal[%zu]", number);
    describe(builder, COBRE_SDDP_ROW, name);
    size_t row = cb_add_row(builder, &node->at, index, name, builder->maximise ? -INFINITY : cut->intercept,
                            builder->maximise ? cut->intercept : INFINITY);
    cb_add_entry(builder, &node->at, index, row, column, 1);
    for (size_t s = 0; s < builder->states; s++)
        if (cut->slope[s] != 0)
            cb_add_entry(builder, &node->at, index, row, node->state_out[s], -cut->slope[s]);
}

static bool can_have_cuts(cobre_sddp_builder *builder, const cb_builder_node *node) {
    if (node->edges > 0)
        cb_error_at(builder, &node->at, "remove its terminal cuts, or its successors",
                    "node %s has successors and terminal cuts: two things come after it", node->name);
    for (size_t s = 0; s < builder->states; s++)
        if (node->state_out[s] == CB_NONE) /* is told elsewhere */
            return false;
    return node->edges == 0;
}

static void build(cobre_sddp_builder *builder, size_t index) {
    const cb_builder_node *node = &builder->node[index];
    desk d;
    if (!can_have_cuts(builder, node) || !lay_out(builder, node, &d))
        return;
    select_cuts(&d);
    describe(builder, COBRE_SDDP_COLUMN, "terminal");
    size_t column = cb_add_column(builder, &node->at, index, "terminal", -INFINITY, INFINITY, 1);
    for (size_t k = 0; k < d.cuts && !builder->no_memory; k++)
        add_row(builder, index, column, d.candidate[k].cut, k + 1);
}

void cb_terminal_build(cobre_sddp_builder *builder) {
    for (size_t n = 0; n < builder->nodes && !builder->no_memory; n++)
        if (builder->node[n].cuts > 0)
            build(builder, n);
}
