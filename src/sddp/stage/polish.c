/* SPDX-License-Identifier: Apache-2.0 */
/* polish.c: makes duals more accurate, by one step of iterative refinement (after Gleixner, Steffy and Wolter, 2016).
 *
 * Solvers judge reduced costs by an absolute tolerance, or relative to the largest cost. With a penalty of 1e12 among
 * costs of 1, that leaves no accuracy for the small ones. So the LP is solved again, from its last basis, with the
 * reduced costs as costs. They are magnified until their errors are about 1, and cut off where they are far from 0:
 * there a bound holds the column anyway. Rows whose duals went into the reduced costs are fixed at their activity. The
 * duals of that LP are scaled back and added to the present ones. If they prove more they stay; otherwise everything is
 * as before. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/stage/stage.h"

#define LARGEST 1000.0 /* cost in a magnified LP; GLPK judges relative to the largest cost, but to no less than 1000 */

/* One polish: what there was before, and what it works with. */
typedef struct {
    double *dual, *slope; /* before */
    double intercept, bound, rounding, objective;
    double *held;    /* the duals that went into the costs */
    double *reduced; /* costs of all columns of the LP, in its units */
} polish;

static void copy(double *to, const double *from, size_t count) {
    if (count > 0)
        memcpy(to, from, count * sizeof *to);
}

/* Rows of the LP; the cuts are the last. */
static size_t all_rows(const cb_stage *stage) {
    return (size_t)stage->rows + stage->cuts;
}

static bool begin(const cb_stage *stage, polish *p) {
    size_t rows = all_rows(stage), states = stage->kind->problem->states;
    p->dual = malloc((2 * rows + states + (size_t)stage->columns + 1) * sizeof *p->dual);
    if (!p->dual)
        return false;
    p->held = p->dual + rows;
    p->slope = p->held + rows;
    p->reduced = p->slope + states;
    copy(p->dual, stage->dual, rows);
    copy(p->slope, stage->slope, states);
    p->intercept = stage->intercept;
    p->bound = stage->bound;
    p->rounding = stage->rounding;
    p->objective = stage->objective;
    return true;
}

static void put_back(cb_stage *stage, const polish *p) {
    copy(stage->dual, p->dual, all_rows(stage));
    copy(stage->slope, p->slope, stage->kind->problem->states);
    stage->intercept = p->intercept;
    stage->bound = p->bound;
    stage->rounding = p->rounding;
    stage->proven = true;
}

static bool read_basis(cb_stage *stage) {
    size_t need = (size_t)stage->columns + all_rows(stage);
    if (need > stage->stand_room) {
        unsigned char *stand = realloc(stage->stand, 2 * need);
        if (!stand)
            return false;
        stage->stand = stand;
        stage->stand_room = 2 * need;
    }
    stage->solver->basis(stage->lp, stage->stand);
    return true;
}

/* A basic row has no dual; what rounding left there goes. */
static void clear_basic(cb_stage *stage) {
    for (size_t i = 0; i < all_rows(stage); i++)
        if (stage->stand[(size_t)stage->columns + i] == CB_BASIC)
            stage->dual[i] = 0;
}

static void find_reduced(cb_stage *stage, double *reduced) {
    size_t own = stage->node->columns, futures = stage->futures;
    const double *risk = cb_risk_duals(stage), *cut = cb_cut_duals(stage);
    cb_safe_reduce(stage);
    for (size_t j = 0; j < own; j++)
        reduced[j] = stage->scale * stage->unit[j] * stage->reduced[j];
    for (int j = (int)own; j < stage->columns; j++)
        reduced[j] = stage->future_cost[j - (int)own];
    for (size_t i = 0; i < stage->cuts; i++)
        reduced[own + stage->resident[i].future] -= cut[i];
    for (size_t f = 0; f < futures && cb_stage_averse(stage); f++) {
        reduced[own + f] += stage->discount[f] * risk[f];
        reduced[own + futures] -= risk[f];
        reduced[own + futures + 1 + f] -= risk[f];
    }
    for (int j = (int)own; j < stage->columns; j++)
        reduced[j] *= stage->scale * stage->future_unit;
}

static bool is_fixed(const cb_stage *stage, size_t column) {
    return stage->lower[column] == stage->upper[column] || cb_incoming_state(stage->node, column) != CB_NONE;
}

/* By how much the worst reduced cost is wrong, beyond what rounding explains: of a basic column it should be 0, of another
 * one it should have a sign. Columns that are fixed do not matter. */
static double worst_of(const cb_stage *stage, const double *reduced) {
    double worst = 0;
    for (size_t j = 0; j < (size_t)stage->columns; j++) {
        bool own = j < stage->node->columns;
        double wrong = stage->stand[j] == CB_BASIC      ? fabs(reduced[j])
                       : stage->stand[j] == CB_AT_LOWER ? -reduced[j]
                                                        : reduced[j];
        double noise = own ? 4 * stage->scale * stage->unit[j] * stage->error[j]
                           : 4 * stage->scale * stage->future_unit * cb_rounding(stage->cuts);
        if (wrong > noise && wrong > worst && !(own && is_fixed(stage, j)))
            worst = wrong;
    }
    return worst;
}

/* The rows whose duals went into the costs are held where they stand, or let go. Equations stand anyway. */
static void hold(cb_stage *stage, const polish *p, bool held) {
    const cb_lp_solver *solver = stage->solver;
    size_t rows = stage->node->rows;
    for (size_t i = 0; i < rows; i++) {
        double factor = stage->factor[i], lower = stage->row_lower[i] - stage->shift[i],
               upper = stage->row_upper[i] - stage->shift[i];
        double side = p->held[i] > 0 ? lower : upper;
        if (p->held[i] != 0 && lower < upper)
            solver->set_row(stage->lp, (int)i, factor * (held ? side : lower), factor * (held ? side : upper));
    }
    for (size_t f = 0; rows + f < (size_t)stage->rows; f++)
        if (p->held[rows + f] > 0)
            solver->set_row(stage->lp, (int)(rows + f), 0, held ? 0 : INFINITY);
    for (size_t i = 0; i < stage->cuts; i++) {
        double lower = cb_pool_cut(stage->kind->pool, stage->resident[i].id)[CB_CUT_INTERCEPT] / stage->future_unit;
        if (p->held[(size_t)stage->rows + i] > 0)
            solver->set_row(stage->lp, stage->rows + (int)i, lower, held ? lower : INFINITY);
    }
}

static double usual_cost(const cb_stage *stage, int column) {
    int own = (int)stage->node->columns;
    return stage->scale * (column < own ? stage->unit[column] * stage->cost[column]
                                        : stage->future_unit * stage->future_cost[column - own]);
}

/* Solves with magnified costs, and adds what its duals are to those at hand. */
static cb_lp_outcome solve_magnified(cb_stage *stage, const polish *p, double times) {
    const cb_lp_solver *solver = stage->solver;
    for (int j = 0; j < stage->columns; j++)
        solver->set_cost(stage->lp, j, fmax(-LARGEST, fmin(LARGEST, times * p->reduced[j])));
    hold(stage, p, true);
    cb_lp_outcome result = solver->solve(stage->lp, CB_LP_POLISH);
    for (size_t i = 0; i < all_rows(stage) && result == CB_LP_OPTIMAL; i++)
        stage->dual[i] += cb_stage_dual(stage, i) / times;
    hold(stage, p, false);
    for (int j = 0; j < stage->columns; j++)
        solver->set_cost(stage->lp, j, usual_cost(stage, j));
    return result;
}

/* The cost of the solution; the solver's objective is that of the magnified costs. */
static void sum_up(cb_stage *stage) {
    stage->future = cb_stage_future(stage);
    stage->objective = stage->constant;
    for (size_t j = 0; j < stage->node->columns; j++)
        stage->objective += stage->cost[j] * cb_stage_column(stage, j);
    stage->objective += stage->future;
}

static cobre_status run(cb_stage *stage, polish *p, size_t outcome, cb_polished *result) {
    int exponent;
    clear_basic(stage);
    copy(p->held, stage->dual, all_rows(stage));
    find_reduced(stage, p->reduced);
    double worst = worst_of(stage, p->reduced);
    *result = CB_POLISH_NOTHING;
    if (!(worst > 0 && isfinite(worst))) {
        put_back(stage, p);
        return COBRE_OK;
    }
    frexp(worst, &exponent);
    *result = CB_POLISH_FAILED;
    if (solve_magnified(stage, p, ldexp(1, -exponent)) == CB_LP_OPTIMAL) {
        cb_safe_tidy(stage);
        CB_TRY(cb_safe_prove(stage, outcome));
        sum_up(stage);
        if (stage->proven && stage->objective - stage->bound < p->objective - p->bound)
            *result = CB_POLISH_BETTER;
    }
    if (*result != CB_POLISH_BETTER || stage->bound < p->bound)
        put_back(stage, p);
    return COBRE_OK;
}

cobre_status cb_polish(cb_stage *stage, size_t outcome, cb_polished *result) {
    polish p;
    if (!begin(stage, &p))
        return cb_no_memory("duals", (size_t)stage->columns * sizeof *p.dual);
    cobre_status status =
        read_basis(stage) ? run(stage, &p, outcome, result) : cb_no_memory("a basis", (size_t)stage->columns);
    free(p.dual);
    return status;
}
