/* SPDX-License-Identifier: Apache-2.0 */
/* value_bound.c: a valid bound on each node's future cost, for the LPs before there are cuts.
 *
 *   1. own_bound of a node: its stage cost is never below this, whatever the state and the outcome. If the bounds of the
 *      columns alone show that it is not negative, that bound is taken. Otherwise the node's LP is solved for every
 *      outcome, with the incoming state free within the range that its parents may leave.
 *   2. future cost of node i >= sum over edges of p d (own_bound + future cost bound of the child), as a fixed point;
 *      monotone and homogeneous risk measures obey it, too. On a graph without cycles it is exact after as many rounds
 *      as the longest path has steps.
 *
 * A bound from an LP is the one that its duals prove (safe.c). A looser bound costs iterations, never correctness. */
#include <math.h>
#include <stdlib.h>

#include "sddp/problem/builder.h"
#include "sddp/stage/stage.h"

#define MARGIN 1e-9 /* relative, for the rounding of sums and a fixed point that is not quite reached */
#define STILL 1e-13 /* moves less: it stands */

static bool has_random_cost(const cb_node *node) {
    for (size_t i = 0; i < node->noises; i++)
        if (node->noise[i].target == COBRE_SDDP_NOISE_COST || node->noise[i].target == COBRE_SDDP_NOISE_CONSTANT ||
            cb_noise_family(node->noise[i].target) == COBRE_SDDP_NOISE_COLUMN_LOWER)
            return true;
    return false;
}

/* From the bounds of the columns alone; -INFINITY when they do not say. */
static double bound_by_columns(const cb_node *node) {
    if (has_random_cost(node))
        return -INFINITY;
    double bound = node->constant, size = fabs(bound);
    for (size_t j = 0; j < node->columns; j++) {
        const cb_column *column = &node->column[j];
        double term = column->cost == 0 ? 0
                      : cb_incoming_state(node, j) != CB_NONE
                          ? -INFINITY
                          : column->cost * (column->cost > 0 ? column->lower : column->upper);
        bound += term;
        size += fabs(term);
    }
    return isfinite(bound) ? bound - cb_rounding(node->columns) * size : -INFINITY;
}

struct search {
    const cobre_sddp_problem *problem;
    const cb_lp_pair *pair;
    const cobre_sddp_validate_options *options;
    double *own_bound, *value_bound; /* of each node: the results */
    cobre_sddp_builder *errors;      /* builds nothing, but keeps the errors of the case */
};

/* The least own cost of a node. */
typedef struct {
    double bound; /* -INFINITY: there is none, because the LP of `outcome` has no optimum */
    size_t outcome;
    cb_lp_outcome result;
} own_cost;

static cobre_status bound_by_lp(const struct search *search, size_t index, const cb_lp_solver *solver, own_cost *own) {
    const cobre_sddp_problem *problem = search->problem;
    const cb_node *node = &problem->node[index];
    cb_stage_kind kind = {.problem = problem, .pair = {.solver = solver}, .free_state = true};
    cb_stage *stage;
    CB_TRY(cb_stage_create(&kind, node, &stage));
    cobre_status status = cb_stage_start(stage, NULL);
    *own = (own_cost){.bound = INFINITY};
    for (size_t k = 0; k < node->outcomes && !status && own->bound > -INFINITY; k++) {
        cb_stage_set_noise(stage, node->outcome + k * node->randoms);
        own->outcome = k;
        own->result = cb_lp_solve(solver, stage->lp);
        if (own->result == CB_LP_GAVE_UP) /* says nothing about the case */
            status = cb_lp_gave_up(solver, CB_TEXT("node %s, outcome %zu", node->name, k + 1));
        if (own->result == CB_LP_OPTIMAL)
            status = cb_safe_read(stage, k);
        own->bound = own->result == CB_LP_OPTIMAL && stage->proven ? fmin(own->bound, stage->bound) : -INFINITY;
    }
    cb_stage_free(stage);
    return status;
}

/* The other solver is asked, too, before a node has no bound. If it finds none either, what the first one said counts. */
static cobre_status bound_by_pair(const struct search *search, size_t index, own_cost *own) {
    own_cost second;
    CB_TRY(bound_by_lp(search, index, search->pair->solver, own));
    if (own->bound > -INFINITY || !search->pair->fallback)
        return COBRE_OK;
    CB_TRY(bound_by_lp(search, index, search->pair->fallback, &second));
    if (second.bound > -INFINITY)
        *own = second;
    return COBRE_OK;
}

/* A bound that need not be found: the option's, else the case's. */
static bool is_given(const struct search *search, size_t node, double *bound) {
    const cobre_sddp_validate_options *options = search->options;
    *bound = !options->has_value_bound   ? search->problem->node[node].value_bound
             : search->problem->maximise ? -options->value_bound
                                         : options->value_bound;
    return options->has_value_bound || search->problem->node[node].has_value_bound;
}

/* needed: it is an error of the case when there is none; else only multi-cuts need it, and say so. */
static cobre_status find_own_bound(struct search *search, size_t index, bool needed) {
    const cobre_sddp_problem *problem = search->problem;
    const cb_node *node = &problem->node[index];
    own_cost own;
    search->own_bound[index] = node->reached ? bound_by_columns(node) : 0;
    if (search->own_bound[index] >= 0)
        return COBRE_OK;
    CB_TRY(bound_by_pair(search, index, &own));
    own.bound = search->own_bound[index] = fmax(search->own_bound[index], own.bound);
    if (own.bound > -INFINITY || !needed)
        return COBRE_OK;
    const cb_place at = {.file = node->file, .line = node->line, .text = node->place};
    if (own.result == CB_LP_OPTIMAL) {
        cb_error_at(
            search->errors, &at, "give one (--value-bound), or bound its columns",
            "node %s, outcome %zu: no bound of its own cost can be proven, because columns without bounds matter "
            "to it, and so no bound of the future %s can be found",
            node->name, own.outcome + 1, problem->maximise ? "value" : "cost");
        return COBRE_OK;
    }
    cb_error_at(
        search->errors, &at,
        own.result == CB_LP_INFEASIBLE ? "correct its constraints: no state that may come in can meet them"
                                       : "give one (--value-bound), or bound the states",
        "node %s, outcome %zu: its own LP is %s when the incoming state is free, so that no bound of the future %s "
        "can be found",
        node->name, own.outcome + 1, cb_lp_outcome_name(own.result), problem->maximise ? "value" : "cost");
    return COBRE_OK;
}

/* One round of the fixed point, from the last node to the first; how much the bounds moved, relative. */
static double improve(const struct search *search) {
    double moved = 0;
    for (size_t n = search->problem->nodes; n-- > 0;) {
        const cb_node *node = &search->problem->node[n];
        double sum = 0, *bound = &search->value_bound[n];
        for (size_t e = 0; e < node->edges; e++) {
            const cb_edge *edge = &node->edge[e];
            double child;
            if (!is_given(search, edge->to, &child))
                child = search->value_bound[edge->to];
            sum += edge->probability * edge->discount * (search->own_bound[edge->to] + child);
        }
        moved = fmax(moved, sum == *bound ? 0 : fabs(sum - *bound) / fmax(fabs(*bound), fabs(sum)));
        *bound = sum;
    }
    return moved;
}

static void fixed_point(struct search *search) {
    enum { ROUNDS = 1000000 };
    const cobre_sddp_problem *problem = search->problem;
    size_t rounds = problem->longest ? problem->longest : ROUNDS;
    double moved = 1, given;
    for (size_t n = 0; n < problem->nodes; n++)
        search->value_bound[n] = 0;
    for (size_t i = 0; i < rounds && moved > STILL; i++)
        moved = improve(search);
    if (!problem->longest && moved > STILL)
        cb_error_at(search->errors, &(cb_place){.file = problem->node[0].file},
                    "give one (--value-bound), or end its cycles with a larger probability",
                    "no bound of the future %s can be found: the process goes on for too long",
                    problem->maximise ? "value" : "cost");
    for (size_t n = 0; n < problem->nodes; n++) {
        double *bound = &search->value_bound[n];
        *bound = is_given(search, n, &given) ? given : *bound - MARGIN * fabs(*bound);
    }
}

static bool any_missing(const struct search *search) {
    double given;
    for (size_t n = 0; n < search->problem->nodes; n++)
        if (search->problem->node[n].edges > 0 && !is_given(search, n, &given))
            return true;
    return false;
}

static cobre_status check(const cobre_sddp_validate_options *options) {
    if (!options->has_value_bound || fabs(options->value_bound) <= CB_MOST)
        return COBRE_OK;
    return cb_refuse("options.value_bound", CB_TEXT("give a number between -%g and %g", CB_MOST, CB_MOST),
                     "the value bound is %g", options->value_bound);
}

static cobre_status find(struct search *search) {
    CB_TRY(check(search->options));
    bool needed = any_missing(search);
    cobre_status status = cobre_sddp_builder_new(NULL, false, &search->errors);
    for (size_t n = 0; n < search->problem->nodes && !status; n++)
        status = find_own_bound(search, n, needed);
    if (!status)
        fixed_point(search);
    if (!status)
        status = cb_builder_tell(search->errors, search->options->issue, search->options->arg);
    cobre_sddp_builder_free(&search->errors);
    return status;
}

cobre_status cb_find_bounds(const cobre_sddp_problem *problem, const cb_lp_pair *pair,
                            const cobre_sddp_validate_options *options, double *own_bound, double *value_bound) {
    cobre_comm *comm = problem->comm;
    struct search search = {
        .problem = problem, .pair = pair, .options = options, .own_bound = own_bound, .value_bound = value_bound};
    CB_TRY(cb_agree(comm, cobre_rank(comm) == 0 ? find(&search) : COBRE_OK));
    CB_TRY(cobre_broadcast(comm, own_bound, problem->nodes, COBRE_F64, 0));
    return cobre_broadcast(comm, value_bound, problem->nodes, COBRE_F64, 0);
}
