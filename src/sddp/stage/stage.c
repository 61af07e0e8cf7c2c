/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c: solves a node's LP with the cuts that it needs.
 *
 * A solve depends only on the pool, on the start that the LP was given and on the solves since then. So the results of
 * a trajectory do not depend on the other work of its rank. */
#include "sddp/stage/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/grow.h"

#define CUT_TOLERANCE 1e-9 /* relative; a cut is violated by more than that */
#define CUTS_A_ROUND 2     /* added at once, for each function */
#define GAP 1e-9           /* relative; between the solution and what the duals prove */
#define ACCURACY 1e-6      /* relative; a solution that costs less than what is proven by more than this is none */
#define POLISHES 4         /* at most, of one solve */

void cb_start_free(cb_start *start) {
    free(start->cut);
    free(start->stand);
    *start = (cb_start){0};
}

bool cb_start_room(cb_start *start, size_t cuts, size_t own) {
    size_t stands = own + cuts;
    if (cuts > start->cuts_room) {
        uint32_t *cut = realloc(start->cut, cuts * sizeof *cut);
        if (!cut)
            return false;
        start->cut = cut;
        start->cuts_room = cuts;
    }
    if (stands > start->stand_room) {
        unsigned char *stand = realloc(start->stand, stands);
        if (!stand)
            return false;
        start->stand = stand;
        start->stand_room = stands;
    }
    return true;
}

void cb_stage_free(cb_stage *stage) {
    if (!stage)
        return;
    if (stage->own)
        stage->kind->pair.solver->destroy(stage->own);
    if (stage->spare)
        stage->kind->pair.fallback->destroy(stage->spare);
    cb_safe_free(stage);
    free(stage->resident);
    cb_arena_free(&stage->memory);
    free(stage);
}

void cb_stage_rest(cb_stage *stage) {
    const cb_lp_pair *pair = &stage->kind->pair;
    if (pair->solver->rest)
        pair->solver->rest(stage->own);
    if (stage->spare && pair->fallback->rest)
        pair->fallback->rest(stage->spare);
}

static void use(cb_stage *stage, const cb_lp_solver *solver, cb_lp *lp) {
    stage->solver = solver;
    stage->lp = lp;
}

static cobre_status fill(cb_stage *stage) {
    const cb_node *node = stage->node;
    size_t states = stage->kind->problem->states;
    CB_TRY(cb_stage_build(stage, stage->kind->pair.solver, &stage->own));
    use(stage, stage->kind->pair.solver, stage->own);
    cb_targets_create(stage);
    stage->lower = cb_arena_alloc(&stage->memory, node->columns, sizeof *stage->lower);
    stage->upper = cb_arena_alloc(&stage->memory, node->columns, sizeof *stage->upper);
    stage->row_lower = cb_arena_alloc(&stage->memory, node->rows, sizeof *stage->row_lower);
    stage->row_upper = cb_arena_alloc(&stage->memory, node->rows, sizeof *stage->row_upper);
    stage->cost = cb_arena_alloc(&stage->memory, node->columns, sizeof *stage->cost);
    stage->state = cb_arena_alloc(&stage->memory, states, sizeof *stage->state);
    stage->out = cb_arena_alloc(&stage->memory, states, sizeof *stage->out);
    stage->row_index = cb_arena_alloc(&stage->memory, states + 1, sizeof *stage->row_index);
    stage->row_value = cb_arena_alloc(&stage->memory, states + 1, sizeof *stage->row_value);
    if (!cb_safe_create(stage) || stage->memory.failed)
        return cb_no_memory("a stage problem", (7 * node->columns + 3 * states) * sizeof(double));
    for (size_t j = 0; j < node->columns; j++) {
        stage->lower[j] = node->column[j].lower;
        stage->upper[j] = node->column[j].upper;
        stage->cost[j] = node->column[j].cost;
    }
    for (size_t i = 0; i < node->rows; i++) {
        stage->row_lower[i] = node->row[i].lower;
        stage->row_upper[i] = node->row[i].upper;
    }
    stage->constant = node->constant;
    for (size_t s = 0; s < states && stage->kind->free_state; s++) {
        cb_range in = node->range[node->state_in[s]];
        cb_stage_put_column(stage, node->state_in[s], in.lower, in.upper);
    }
    return COBRE_OK;
}

cobre_status cb_stage_create(const cb_stage_kind *kind, const cb_node *node, cb_stage **pointer) {
    cb_stage *stage = *pointer = calloc(1, sizeof *stage);
    if (!stage)
        return cb_no_memory("a stage problem", sizeof *stage);
    stage->kind = kind;
    stage->node = node;
    cobre_status status = fill(stage);
    if (status) {
        cb_stage_free(stage);
        *pointer = NULL;
    }
    return status;
}

void cb_stage_put_column(cb_stage *stage, size_t column, double lower, double upper) {
    double unit = stage->unit[column];
    stage->solver->set_column(stage->lp, (int)column, lower / unit, upper / unit);
}

double cb_stage_column(const cb_stage *stage, size_t column) {
    return stage->unit[column] * stage->solver->column_value(stage->lp, (int)column);
}

double cb_stage_dual(const cb_stage *stage, size_t row) {
    double unit = row < stage->node->rows ? stage->dual_unit[row] : 1 / (stage->scale * stage->future_unit);
    return stage->solver->row_dual(stage->lp, (int)row) * unit;
}

/* future - slopes x >= intercept; index and value have room for it. */
static cb_lp_row cut_row(const cb_stage *stage, const cb_resident *cut, int *index, double *value) {
    const double *record = cb_pool_cut(stage->kind->pool, cut->id);
    size_t states = stage->kind->problem->states;
    for (size_t s = 0; s < states; s++) {
        size_t column = stage->node->state_out[s];
        index[s] = (int)column;
        value[s] = -stage->unit[column] / stage->future_unit * record[CB_CUT_SLOPES + s];
    }
    index[states] = (int)(stage->node->columns + cut->future);
    value[states] = 1;
    return (cb_lp_row){.count = (int)states + 1,
                       .index = index,
                       .value = value,
                       .lower = record[CB_CUT_INTERCEPT] / stage->future_unit};
}

static bool remember(cb_stage *stage, uint32_t id) {
    size_t function = (size_t)cb_pool_cut(stage->kind->pool, id)[CB_CUT_FUNCTION], f = 0;
    if (!CB_GROW(stage, stage->resident, stage->cuts, stage->cuts_room))
        return false;
    while (stage->function[f] != function) /* at most one for each outcome of the children */
        f++;
    stage->resident[stage->cuts++] = (cb_resident){.id = id, .future = (uint32_t)f};
    return true;
}

/* Starts the LP in use with the resident cuts. basis NULL: the slack basis. */
static cobre_status start_lp(cb_stage *stage, const unsigned char *basis) {
    size_t width = stage->kind->problem->states + 1;
    cb_lp_row *rows = malloc((stage->cuts + 1) * sizeof *rows);
    int *index = malloc((stage->cuts * width + 1) * sizeof *index);
    double *value = malloc((stage->cuts * width + 1) * sizeof *value);
    bool room = rows && index && value;
    for (size_t i = 0; room && i < stage->cuts; i++)
        rows[i] = cut_row(stage, &stage->resident[i], index + i * width, value + i * width);
    if (room)
        stage->solver->start(stage->lp, rows, (int)stage->cuts, basis);
    free(rows);
    free(index);
    free(value);
    return room ? COBRE_OK : cb_no_memory("resident cuts", stage->cuts * width * sizeof(double));
}

/* What the cuts say at the initial state: a usual size of future costs. */
static double usual_future(const cb_stage *stage) {
    const cobre_sddp_problem *problem = stage->kind->problem;
    double size = 0;
    for (size_t f = 0; f < stage->futures; f++)
        size = fmax(size, fabs(stage->future_bound[f]));
    for (size_t i = 0; i < stage->cuts; i++) {
        const double *record = cb_pool_cut(stage->kind->pool, stage->resident[i].id);
        double value = record[CB_CUT_INTERCEPT];
        for (size_t s = 0; s < problem->states; s++)
            value += record[CB_CUT_SLOPES + s] * problem->state[s].initial;
        size = fmax(size, fabs(value));
    }
    return size;
}

/* The unit of future costs follows their size, so that the tolerance of solvers is small beside them. A size far below that
 * of the other costs is what rounding left. */
static void find_future_unit(cb_stage *stage) {
    enum { EXPONENT = 12, LEAST = -100 };
    int exponent;
    double size = usual_future(stage);
    frexp(size * stage->scale, &exponent);
    bool usual = exponent > LEAST && size > 0 && isfinite(size);
    frexp(size, &exponent);
    stage->future_unit = stage->kind->plain ? 1 : usual ? ldexp(1, exponent - EXPONENT) : CB_LARGE_COST / stage->scale;
}

static void put_futures(cb_stage *stage) {
    int own = (int)stage->node->columns;
    double unit = stage->future_unit;
    for (int j = own; j < stage->columns; j++)
        stage->solver->set_cost(stage->lp, j, stage->scale * unit * stage->future_cost[j - own]);
    for (size_t f = 0; f < stage->futures; f++)
        stage->solver->set_column(stage->lp, own + (int)f, stage->future_bound[f] / unit, INFINITY);
}

cobre_status cb_stage_start(cb_stage *stage, const cb_start *start) {
    bool set = start && start->set;
    use(stage, stage->kind->pair.solver, stage->own);
    stage->cuts = 0;
    for (size_t i = 0; set && i < start->cuts; i++)
        if (!remember(stage, start->cut[i]))
            return cb_no_memory("resident cuts", start->cuts * sizeof *start->cut);
    find_future_unit(stage);
    put_futures(stage);
    return start_lp(stage, set ? start->stand : NULL);
}

const cb_lp_solver *cb_stage_other_solver(const cb_stage *stage) {
    return stage->solver == stage->kind->pair.solver ? stage->kind->pair.fallback : stage->kind->pair.solver;
}

/* The other solver takes over, with the state, the noise and the cuts as they are. It starts from the slack basis: the
 * one at hand led to no optimum. All of this is the same whatever else this rank computes. */
static cobre_status fall_back(cb_stage *stage, const double *values) {
    const cb_lp_solver *other = cb_stage_other_solver(stage);
    if (!stage->spare)
        CB_TRY(cb_stage_build(stage, other, &stage->spare));
    use(stage, other, stage->lp == stage->own ? stage->spare : stage->own);
    put_futures(stage);
    CB_TRY(start_lp(stage, NULL));
    cb_stage_set_state(stage, stage->state);
    cb_stage_set_noise(stage, values);
    return COBRE_OK;
}

/* Insertion sort: the list is short and mostly sorted. Stands move with their cuts. */
static void sort_by_id(uint32_t *cut, unsigned char *stand, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint32_t id = cut[i];
        unsigned char its = stand[i];
        size_t at = i;
        for (; at > 0 && cut[at - 1] > id; at--) {
            cut[at] = cut[at - 1];
            stand[at] = stand[at - 1];
        }
        cut[at] = id;
        stand[at] = its;
    }
}

/* A cut that was not used is basic, so that leaving it out leaves a basis. */
cobre_status cb_stage_save(cb_stage *stage, cb_start *start) {
    size_t own = (size_t)(stage->columns + stage->rows), kept = 0;
    if (!cb_start_room(start, stage->cuts, own))
        return cb_no_memory("a basis", own + stage->cuts);
    stage->solver->basis(stage->lp, start->stand);
    for (size_t i = 0; i < stage->cuts; i++)
        if (stage->resident[i].used || start->stand[own + i] != CB_BASIC) {
            start->cut[kept] = stage->resident[i].id;
            start->stand[own + kept++] = start->stand[own + i];
        }
    sort_by_id(start->cut, start->stand + own, kept);
    start->cuts = kept;
    start->own = own;
    start->set = true;
    return COBRE_OK;
}

bool cb_stage_residents(const cb_stage *stage, cb_start *start) {
    size_t own = (size_t)(stage->columns + stage->rows);
    if (!cb_start_room(start, stage->cuts, own))
        return false;
    for (size_t i = 0; i < own + stage->cuts; i++)
        start->stand[i] = i < (size_t)stage->columns ? CB_AT_LOWER : CB_BASIC;
    for (size_t i = 0; i < stage->cuts; i++)
        start->cut[i] = stage->resident[i].id;
    start->cuts = stage->cuts;
    start->own = own;
    return start->set = true;
}

void cb_stage_set_state(cb_stage *stage, const double *state) {
    for (size_t s = 0; s < stage->kind->problem->states; s++) {
        stage->state[s] = state[s];
        cb_stage_put_column(stage, stage->node->state_in[s], state[s], state[s]);
    }
}

static bool is_resident(const cb_stage *stage, uint32_t id) {
    for (size_t i = stage->cuts; i-- > 0;)
        if (stage->resident[i].id == id)
            return true;
    return false;
}

/* Adds the worst cuts that future-cost column f violates; how many. */
static size_t add_violated(cb_stage *stage, size_t f, double level) {
    cb_violation worst[CUTS_A_ROUND];
    double tolerance = CUT_TOLERANCE * fmax(stage->future_unit, fabs(level));
    size_t found =
        cb_pool_violated(stage->kind->pool, stage->function[f], stage->out, level, tolerance, worst, CUTS_A_ROUND);
    size_t added = 0;
    for (size_t i = 0; i < found; i++) {
        if (is_resident(stage, worst[i].id)) /* within the solver's own tolerance */
            continue;
        if (!remember(stage, worst[i].id))
            return 0;
        cb_lp_row row = cut_row(stage, &stage->resident[stage->cuts - 1], stage->row_index, stage->row_value);
        stage->solver->add_row(stage->lp, &row);
        added++;
    }
    return added;
}

static void read_solution(cb_stage *stage) {
    const cb_lp_solver *solver = stage->solver;
    for (size_t s = 0; s < stage->kind->problem->states; s++)
        stage->out[s] = cb_stage_column(stage, stage->node->state_out[s]);
    for (size_t i = 0; i < stage->cuts; i++)
        if (!stage->resident[i].used && solver->extra_stand(stage->lp, (int)i) != CB_BASIC) {
            stage->resident[i].used = true;
            if (stage->kind->pool->now > 0)
                stage->kind->pool->used[stage->resident[i].id] = stage->kind->pool->now;
        }
}

static size_t refine(cb_stage *stage) {
    size_t added = 0;
    for (size_t f = 0; f < stage->futures; f++)
        added += add_violated(
            stage, f, stage->solver->column_value(stage->lp, (int)(stage->node->columns + f)) * stage->future_unit);
    return added;
}

double cb_stage_future(const cb_stage *stage) {
    int own = (int)stage->node->columns;
    double sum = 0;
    for (int j = own; j < stage->columns; j++)
        sum += stage->future_cost[j - own] * stage->solver->column_value(stage->lp, j);
    return sum * stage->future_unit;
}

/* The LP in use, by its solver or else by the other one. If neither finds an optimum, what the first one found counts. Not
 * when it gave up: it does so for want of memory, which depends on the machine, and bits must not. */
static cobre_status solve_lp(cb_stage *stage, int effort, size_t outcome, const double *values) {
    const cb_lp_solver *first = stage->solver;
    cb_lp *lp = stage->lp;
    cb_lp_outcome result = cb_lp_solve_from(first, lp, effort);
    if (result == CB_LP_STUCK && effort > 0) /* less effort has found an optimum before */
        result = cb_lp_solve(first, lp);
    if (result == CB_LP_OPTIMAL)
        return COBRE_OK;
    if (result != CB_LP_GAVE_UP && cb_stage_other_solver(stage)) {
        CB_TRY(fall_back(stage, values));
        if (cb_lp_solve(stage->solver, stage->lp) == CB_LP_OPTIMAL)
            return COBRE_OK;
        use(stage, first, lp);
    }
    return cb_stage_fail(stage, result, outcome, values);
}

/* Solves, adding cuts until none is violated, and reads what there is. */
static cobre_status solve_and_read(cb_stage *stage, int effort, size_t outcome, const double *values) {
    do {
        CB_TRY(solve_lp(stage, effort, outcome, values));
        read_solution(stage);
    } while (stage->futures > 0 && refine(stage) > 0);
    if (stage->no_memory)
        return cb_no_memory("resident cuts", stage->cuts);
    stage->future = cb_stage_future(stage);
    stage->objective = stage->solver->objective(stage->lp) / stage->scale + stage->constant;
    return cb_safe_read(stage, outcome);
}

/* Solvers take a basis for optimal even when its factors have lost all digits (seen: values that are 100 % off, once in 400
 * solves by GLPK of multi-cuts with slopes of 1e6). Such a solution costs less than what is proven. */
static bool is_wrong(const cb_stage *stage) {
    return stage->proven && stage->bound - stage->objective > ACCURACY * fabs(stage->objective) + 4 * stage->rounding;
}

/* The duals prove less than the solution costs: they are not accurate. */
static bool has_gap(const cb_stage *stage) {
    return stage->proven && stage->objective - stage->bound > GAP * fabs(stage->objective) + 4 * stage->rounding;
}

/* A solution that cannot be right is found again, one step up the ladder, in the end by the other solver. */
static cobre_status correct(cb_stage *stage, size_t outcome, const double *values) {
    for (int effort = 1; effort < CB_LP_EFFORTS && is_wrong(stage); effort++)
        CB_TRY(solve_and_read(stage, effort, outcome, values));
    if (!is_wrong(stage) || !cb_stage_other_solver(stage))
        return COBRE_OK;
    CB_TRY(fall_back(stage, values));
    return solve_and_read(stage, 0, outcome, values);
}

cobre_status cb_stage_solve(cb_stage *stage, size_t outcome, const double *values) {
    cb_polished result = CB_POLISH_BETTER;
    stage->solves++;
    CB_TRY(solve_and_read(stage, 0, outcome, values));
    if (is_wrong(stage))
        CB_TRY(correct(stage, outcome, values));
    for (int i = 0; i < POLISHES && has_gap(stage) && result == CB_POLISH_BETTER; i++) {
        CB_TRY(cb_polish(stage, outcome, &result));
        if (result == CB_POLISH_BETTER)
            read_solution(stage);
        if (result == CB_POLISH_FAILED || (result == CB_POLISH_BETTER && stage->futures > 0 && refine(stage) > 0))
            CB_TRY(solve_and_read(stage, 0, outcome, values));
    }
    return COBRE_OK;
}

void cb_stage_state_out(const cb_stage *stage, double *state) {
    for (size_t s = 0; s < stage->kind->problem->states; s++) {
        size_t column = stage->node->state_out[s];
        state[s] = fmin(fmax(stage->out[s], stage->lower[column]), stage->upper[column]);
    }
}
