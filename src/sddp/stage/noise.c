/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c: puts an outcome into the LP. The noise terms of one row, column, cost or entry are next to each other
 * (src/sddp/problem/check.c sorts them). They make one target, which is computed and set as a whole.
 *
 * Noise in an entry of an incoming state's column does not change the matrix, which would cost a factorisation. That
 * column is fixed, so noise times state goes to the row's right-hand side. The state must be set before the noise. */
#include "sddp/stage/stage.h"

struct cb_target {
    cb_noise_target what; /* any of its family */
    int index, column;
    cb_range plain; /* without noise; of a cost, constant or entry: lower */
    const cb_noise *term;
    size_t terms;
    size_t state; /* an entry of this incoming state's column; else CB_NONE */
    int entry;    /* where it is among the node's */
};

/* An entry that has noise is always there. */
static int entry_at(const cb_node *node, int row, int column) {
    int e = node->start[column];
    while (node->index[e] != row)
        e++;
    return e;
}

static cb_target make(const cb_node *node, const cb_noise *noise) {
    cb_target target = {.what = noise->target, .index = (int)noise->index, .column = (int)noise->column, .term = noise};
    switch (cb_noise_family(noise->target)) {
    case COBRE_SDDP_NOISE_ROW: target.plain = node->row[noise->index]; break;
    case COBRE_SDDP_NOISE_COLUMN_LOWER:
        target.plain = (cb_range){node->column[noise->index].lower, node->column[noise->index].upper};
        break;
    case COBRE_SDDP_NOISE_COST: target.plain.lower = node->column[noise->index].cost; break;
    case COBRE_SDDP_NOISE_ENTRY:
        target.entry = entry_at(node, target.index, target.column);
        target.plain.lower = node->value[target.entry];
        break;
    default: target.plain.lower = node->constant;
    }
    return target;
}

/* CB_NONE if the incoming state is free. */
static size_t incoming_state(const cb_stage *stage, const cb_noise *noise) {
    if (stage->kind->free_state || noise->target != COBRE_SDDP_NOISE_ENTRY)
        return CB_NONE;
    return cb_incoming_state(stage->node, noise->column);
}

void cb_targets_create(cb_stage *stage) {
    const cb_node *node = stage->node;
    stage->target = cb_arena_alloc(&stage->memory, node->noises, sizeof *stage->target);
    for (size_t i = 0; stage->target && i < node->noises; i++) {
        if (i == 0 || !cb_same_target(&node->noise[i - 1], &node->noise[i])) {
            stage->target[stage->targets] = make(node, &node->noise[i]);
            stage->target[stage->targets++].state = incoming_state(stage, &node->noise[i]);
        }
        stage->target[stage->targets - 1].terms++;
    }
}

static void put_row(cb_stage *stage, int row, double lower, double upper) {
    double factor = stage->factor[row];
    stage->solver->set_row(stage->lp, row, factor * lower, factor * upper);
}

/* Is there another entry of this row in an incoming state's column? Targets of a row are next to each other. */
static bool later_state(const cb_stage *stage, size_t i) {
    for (size_t next = i + 1; next < stage->targets && stage->target[next].index == stage->target[i].index; next++)
        if (stage->target[next].state != CB_NONE)
            return true;
    return false;
}

/* Entries come after rows, sorted by row: the row is set again after its last one. */
static void shift_row(cb_stage *stage, size_t i, double entry, double *shift) {
    const cb_target *target = &stage->target[i];
    *shift += (entry - target->plain.lower) * stage->state[target->state];
    if (later_state(stage, i))
        return;
    stage->shift[target->index] = *shift;
    put_row(stage, target->index, stage->row_lower[target->index] - *shift, stage->row_upper[target->index] - *shift);
    *shift = 0;
}

void cb_stage_set_noise(cb_stage *stage, const double *values) {
    const cb_lp_solver *solver = stage->solver;
    double shift = 0;
    for (size_t i = 0; i < stage->targets; i++) {
        const cb_target *target = &stage->target[i];
        int at = target->index;
        cb_range now = target->plain;
        cb_apply_noise(target->term, target->terms, values, &now);
        switch (cb_noise_family(target->what)) {
        case COBRE_SDDP_NOISE_ROW:
            stage->row_lower[at] = now.lower;
            stage->row_upper[at] = now.upper;
            put_row(stage, at, now.lower, now.upper);
            break;
        case COBRE_SDDP_NOISE_COLUMN_LOWER:
            stage->lower[at] = now.lower;
            stage->upper[at] = now.upper;
            cb_safe_bounds(stage, (size_t)at, now);
            cb_stage_put_column(stage, (size_t)at, now.lower, now.upper);
            break;
        case COBRE_SDDP_NOISE_COST:
            stage->cost[at] = now.lower;
            solver->set_cost(stage->lp, at, stage->scale * stage->unit[at] * now.lower);
            break;
        case COBRE_SDDP_NOISE_ENTRY:
            stage->own_value[target->entry] = now.lower;
            if (target->state != CB_NONE)
                shift_row(stage, i, now.lower, &shift);
            else
                solver->set_entry(stage->lp, at, target->column,
                                  stage->factor[at] * now.lower * stage->unit[target->column]);
            break;
        default: stage->constant = now.lower;
        }
    }
}

bool cb_has_random_dual(const cb_node *node) {
    for (size_t i = 0; i < node->noises; i++)
        if (node->noise[i].target == COBRE_SDDP_NOISE_COST || node->noise[i].target == COBRE_SDDP_NOISE_ENTRY)
            return true;
    return false;
}
