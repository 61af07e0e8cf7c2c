/* SPDX-License-Identifier: Apache-2.0 */
/* conflict.c: finds limits of a node's LP that contradict each other, when the LP has no solution. The answer is
 * irreducible: without any one of its members there is a solution.
 *
 * It is found by deletion, on an LP of its own: the node's rows and columns at the state and outcome, without costs and
 * cuts. (Cuts take no solution away: the future cost has no upper limit.) A block of limits is lifted. If there is
 * still no solution, it stays lifted. Otherwise its limits come back, and each half is tried alone, down to single
 * limits. With k of n limits in conflict that takes about 2 k log2(n / k) LPs. Limits are lifted from the last to the
 * first: rows, then bounds of columns, then the incoming state. */
#include <math.h>

#include "sddp/stage/conflict.h"

struct search {
    const cb_node *node;
    const cb_stage *stage;
    const cb_lp_solver *solver;
    cb_lp *lp;
    cb_lp_model model; /* its limits are those that are in force */
    cb_limit *limit;
    bool *lifted;
    size_t limits;
    bool failed; /* the solver found neither a solution nor that there is none */
};

static bool alloc(struct search *search, cb_arena *memory) {
    const cb_node *node = search->node;
    size_t most = node->rows + 2 * node->columns;
    search->limit = cb_arena_alloc(memory, most, sizeof *search->limit);
    search->lifted = cb_arena_alloc(memory, most, sizeof *search->lifted);
    return cb_model_alloc(memory, &search->model, node->columns, node->rows, node->entries);
}

static void fill(struct search *search) {
    const cb_node *node = search->node;
    const cb_stage *stage = search->stage;
    cb_lp_model *model = &search->model;
    model->columns = (int)node->columns;
    model->rows = (int)node->rows;
    for (size_t i = 0; i < node->rows; i++) {
        model->row_lower[i] = stage->row_lower[i];
        model->row_upper[i] = stage->row_upper[i];
    }
    for (size_t j = 0; j < node->columns; j++) {
        model->column_lower[j] = stage->lower[j];
        model->column_upper[j] = stage->upper[j];
        model->start[j + 1] = node->start[j + 1];
    }
    for (size_t e = 0; e < node->entries; e++) {
        model->index[e] = node->index[e];
        model->value[e] = stage->value[e];
    }
    for (size_t s = 0; s < stage->kind->problem->states; s++)
        model->column_lower[node->state_in[s]] = model->column_upper[node->state_in[s]] = stage->state[s];
}

static void add_limit(struct search *search, cb_limit_kind kind, size_t index, double lower, double upper) {
    if (!isinf(lower) || !isinf(upper))
        search->limit[search->limits++] = (cb_limit){.kind = kind, .index = index, .lower = lower, .upper = upper};
}

static void list_limits(struct search *search) {
    const cobre_sddp_problem *problem = search->stage->kind->problem;
    const cb_node *node = search->node;
    const cb_lp_model *model = &search->model;
    for (size_t s = 0; s < problem->states; s++)
        add_limit(search, CB_LIMIT_STATE, s, search->stage->state[s], search->stage->state[s]);
    for (size_t j = 0; j < node->columns; j++) {
        double lower = model->column_lower[j], upper = model->column_upper[j];
        if (cb_incoming_state(node, j) != CB_NONE)
            continue;
        if (lower == upper) {
            add_limit(search, CB_LIMIT_COLUMN, j, lower, upper);
        } else {
            add_limit(search, CB_LIMIT_COLUMN, j, lower, INFINITY);
            add_limit(search, CB_LIMIT_COLUMN, j, -INFINITY, upper);
        }
    }
    for (size_t i = 0; i < node->rows; i++)
        add_limit(search, CB_LIMIT_ROW, i, model->row_lower[i], model->row_upper[i]);
}

/* Lifts the limits [from, to), or puts them back. */
static void lift(struct search *search, size_t from, size_t to, bool lifted) {
    cb_lp_model *model = &search->model;
    for (size_t i = from; i < to; i++) {
        const cb_limit *limit = &search->limit[i];
        bool row = limit->kind == CB_LIMIT_ROW;
        size_t at = limit->kind == CB_LIMIT_STATE ? search->node->state_in[limit->index] : limit->index;
        double *lower = (row ? model->row_lower : model->column_lower) + at;
        double *upper = (row ? model->row_upper : model->column_upper) + at;
        if (!isinf(limit->lower))
            *lower = lifted ? -INFINITY : limit->lower;
        if (!isinf(limit->upper))
            *upper = lifted ? INFINITY : limit->upper;
        (row ? search->solver->set_row : search->solver->set_column)(search->lp, (int)at, *lower, *upper);
        search->lifted[i] = lifted;
    }
}

/* The primal method, from the slack basis: CLP's dual method goes astray among columns without limits. */
static bool has_solution(struct search *search) {
    search->solver->start(search->lp, NULL, 0, NULL);
    cb_lp_outcome outcome = search->solver->solve(search->lp, CB_LP_EFFORTS - 1);
    search->failed |= outcome != CB_LP_OPTIMAL && outcome != CB_LP_INFEASIBLE;
    return outcome == CB_LP_OPTIMAL;
}

/* The whole ladder says that there is no solution. */
static bool surely_none(struct search *search) {
    search->solver->start(search->lp, NULL, 0, NULL);
    return cb_lp_solve(search->solver, search->lp) == CB_LP_INFEASIBLE;
}

/* Lifts what is not needed of [from, to). needed: it is known that not all of it can be lifted. True: all was lifted. */
static bool thin(struct search *search, size_t from, size_t to, bool needed) {
    if (from == to || search->failed)
        return true;
    if (!needed) {
        lift(search, from, to, true);
        if (!has_solution(search))
            return true;
        lift(search, from, to, false);
    }
    if (to - from == 1)
        return false;
    size_t middle = from + (to - from) / 2;
    bool all = thin(search, middle, to, false);
    thin(search, from, middle, all);
    return false;
}

static size_t keep_needed(struct search *search) {
    size_t kept = 0;
    for (size_t i = 0; i < search->limits; i++)
        if (!search->lifted[i])
            search->limit[kept++] = search->limit[i];
    return kept;
}

static cb_conflict search_with(const cb_lp_solver *solver, const cb_stage *stage, cb_arena *memory) {
    struct search search = {.node = stage->node, .stage = stage, .solver = solver};
    cb_conflict conflict = {.members = 0};
    if (!alloc(&search, memory))
        return conflict;
    fill(&search);
    list_limits(&search);
    search.lp = solver->create(&search.model);
    if (!search.lp)
        return conflict;
    if (surely_none(&search)) {
        thin(&search, 0, search.limits, false);
        if (!search.failed && surely_none(&search))
            conflict = (cb_conflict){.member = search.limit, .members = keep_needed(&search)};
    }
    solver->destroy(search.lp);
    return conflict;
}

cb_conflict cb_find_conflict(const cb_stage *stage, cb_arena *memory) {
    const cb_lp_solver *other = cb_stage_other_solver(stage);
    cb_conflict conflict = search_with(stage->solver, stage, memory);
    return conflict.members == 0 && other ? search_with(other, stage, memory) : conflict;
}
