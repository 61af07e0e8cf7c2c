/* SPDX-License-Identifier: Apache-2.0 */
/* conflict.c: which limits of a node's LP contradict each other, when there is no solution. The answer is irreducible:
 * without any one of its members there is a solution.
 *
 * It is found by deletion, on an LP of its own: the node's rows and columns at the state and outcome, without costs and
 * cuts. (Cuts take no solution away: the future cost has no upper limit.) A block of limits is lifted; if there is still no
 * solution, it stays lifted; else its limits come back, and each half is tried alone, down to single limits. With k of n
 * limits in conflict that takes about 2 k log2(n / k) LPs. What comes last is lifted first: rows, then bounds of columns, then
 * the incoming state. */
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
    size_t columns = node->columns, rows = node->rows;
    cb_lp_model *model = &search->model;
    *model = (cb_lp_model){.columns = (int)columns,
                           .rows = (int)rows,
                           .cost = cb_arena_alloc(memory, columns, sizeof *model->cost),
                           .column_lower = cb_arena_alloc(memory, columns, sizeof *model->column_lower),
                           .column_upper = cb_arena_alloc(memory, columns, sizeof *model->column_upper),
                           .row_lower = cb_arena_alloc(memory, rows, sizeof *model->row_lower),
                           .row_upper = cb_arena_alloc(memory, rows, sizeof *model->row_upper),
                           .start = cb_arena_alloc(memory, columns + 1, sizeof *model->start),
                           .index = cb_arena_alloc(memory, node->entries, sizeof *model->index),
                           .value = cb_arena_alloc(memory, node->entries, sizeof *model->value)};
    size_t most = rows + 2 * columns;
    search->limit = cb_arena_alloc(memory, most, sizeof *search->limit);
    search->lifted = cb_arena_alloc(memory, most, sizeof *search->lifted);
    return !memory->failed;
}

static void add_noise(cb_lp_model *model, const cb_noise *noise, double change) {
    size_t i = noise->index;
    bool lower = noise->target == COBRE_SDDP_NOISE_ROW || noise->target == COBRE_SDDP_NOISE_ROW_LOWER ||
                 noise->target == COBRE_SDDP_NOISE_COLUMN_LOWER;
    bool upper = noise->target == COBRE_SDDP_NOISE_ROW || noise->target == COBRE_SDDP_NOISE_ROW_UPPER ||
                 noise->target == COBRE_SDDP_NOISE_COLUMN_UPPER;
    bool row = cb_noise_family(noise->target) == COBRE_SDDP_NOISE_ROW;
    if (lower)
        (row ? model->row_lower : model->column_lower)[i] += change;
    if (upper)
        (row ? model->row_upper : model->column_upper)[i] += change;
    if (noise->target == COBRE_SDDP_NOISE_ENTRY)
        for (int e = model->start[noise->column]; e < model->start[noise->column + 1]; e++)
            if (model->index[e] == (int)i)
                model->value[e] += change;
}

static void fill(struct search *search, const double *values) {
    const cb_node *node = search->node;
    cb_lp_model *model = &search->model;
    for (size_t i = 0; i < node->rows; i++) {
        model->row_lower[i] = node->row[i].lower;
        model->row_upper[i] = node->row[i].upper;
    }
    for (size_t j = 0; j < node->columns; j++) {
        model->column_lower[j] = node->column[j].lower;
        model->column_upper[j] = node->column[j].upper;
        model->start[j + 1] = node->start[j + 1];
    }
    for (size_t e = 0; e < node->entries; e++) {
        model->index[e] = node->index[e];
        model->value[e] = node->value[e];
    }
    for (size_t i = 0; i < node->noises; i++)
        add_noise(model, &node->noise[i], node->noise[i].factor * values[node->noise[i].random]);
    for (size_t s = 0; s < search->stage->kind->problem->states; s++)
        model->column_lower[node->state_in[s]] = model->column_upper[node->state_in[s]] = search->stage->state[s];
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
        if (cb_incoming_state(problem, node, j) != CB_NONE)
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

static cb_conflict search_with(const cb_lp_solver *solver, const cb_stage *stage, const double *values,
                               cb_arena *memory) {
    struct search search = {.node = stage->node, .stage = stage, .solver = solver};
    cb_conflict conflict = {.members = 0};
    if (!alloc(&search, memory))
        return conflict;
    fill(&search, values);
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

cb_conflict cb_find_conflict(const cb_stage *stage, const double *values, cb_arena *memory) {
    const cb_lp_solver *other = cb_stage_other_solver(stage);
    cb_conflict conflict = search_with(stage->solver, stage, values, memory);
    return conflict.members == 0 && other ? search_with(other, stage, values, memory) : conflict;
}
