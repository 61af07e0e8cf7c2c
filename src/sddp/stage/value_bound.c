/* value_bound.c: a valid bound on each node's future cost, for the LPs before there are cuts.
 *
 *   1. own_bound of a node: its stage cost is never below this, whatever the state and the outcome. If the bounds of the
 *      columns alone show that it is not negative, that is taken; else the node's LP is solved for every outcome, with
 *      the incoming state free within what its parents may leave.
 *   2. future cost of node i >= sum over edges of p d (own_bound + future cost bound of the child), as a fixed point;
 *      monotone and homogeneous risk measures obey it, too. On a graph without cycles it is exact after as many rounds
 *      as the longest path has steps.
 *
 * Bounds from an LP get a margin, because an LP is solved to a tolerance. A looser bound costs iterations, never
 * correctness. */
#include <math.h>
#include <stdlib.h>

#include "sddp/stage/stage.h"

#define MARGIN 1e-6
#define STILL 1e-13 /* moves less: it stands */

static double margin(double bound) {
    return bound - MARGIN * fmax(1, fabs(bound));
}

static bool has_random_cost(const cb_node *node) {
    for (size_t i = 0; i < node->noises; i++)
        if (node->noise[i].target == CB_NOISE_COST || node->noise[i].target == CB_NOISE_CONSTANT ||
            cb_noise_family(node->noise[i].target) == CB_NOISE_COLUMN_LOWER)
            return true;
    return false;
}

typedef struct {
    double lower, upper;
} range;

static bool is_incoming(const cobre_sddp_problem *problem, const cb_node *node, size_t column) {
    for (size_t s = 0; s < problem->states; s++)
        if (node->state_in[s] == column)
            return true;
    return false;
}

/* From the bounds of the columns alone; -INFINITY when they do not say. */
static double bound_by_columns(const cobre_sddp_problem *problem, const cb_node *node) {
    if (has_random_cost(node))
        return -INFINITY;
    double bound = node->constant;
    for (size_t j = 0; j < node->columns; j++) {
        const cb_column *column = &node->column[j];
        if (column->cost != 0)
            bound += is_incoming(problem, node, j) ? -INFINITY
                                                   : column->cost * (column->cost > 0 ? column->lower : column->upper);
    }
    return bound;
}

/* What the outgoing state of a node may be, over all outcomes. */
static range out_range(const cb_node *node, size_t column) {
    range widest = {node->column[column].lower, node->column[column].upper};
    double lower = widest.lower, upper = widest.upper;
    bool random = false;
    for (size_t i = 0; i < node->noises; i++)
        random |= cb_noise_family(node->noise[i].target) == CB_NOISE_COLUMN_LOWER && node->noise[i].index == column;
    for (size_t k = 0; k < node->outcomes && random; k++) {
        double low = lower, high = upper;
        for (size_t i = 0; i < node->noises; i++) {
            const cb_noise *noise = &node->noise[i];
            double change =
                noise->index == column ? noise->factor * node->outcome[k * node->randoms + noise->random] : 0;
            low += noise->target == CB_NOISE_COLUMN_LOWER ? change : 0;
            high += noise->target == CB_NOISE_COLUMN_UPPER ? change : 0;
        }
        widest = (range){fmin(widest.lower, low), fmax(widest.upper, high)};
    }
    return widest;
}

static void widen(range *all, range one) {
    *all = (range){fmin(all->lower, one.lower), fmax(all->upper, one.upper)};
}

/* What may come in at each node, from the root or from any parent: a range for each state. NULL: no memory. For all nodes
 * at once, because a node does not know its parents. */
static range *in_ranges(const cobre_sddp_problem *problem) {
    size_t states = problem->states;
    range *all = malloc((problem->nodes * states + 1) * sizeof *all);
    for (size_t i = 0; all && i < problem->nodes * states; i++)
        all[i] = (range){INFINITY, -INFINITY};
    for (size_t s = 0; all && s < states; s++) {
        double initial = problem->state[s].initial;
        for (size_t e = 0; e < problem->root_edges; e++)
            widen(&all[problem->root_edge[e].to * states + s], (range){initial, initial});
        for (size_t n = 0; n < problem->nodes; n++) {
            const cb_node *node = &problem->node[n];
            range out = node->edges > 0 ? out_range(node, node->state_out[s]) : (range){0, 0};
            for (size_t e = 0; e < node->edges; e++)
                widen(&all[node->edge[e].to * states + s], out);
        }
        for (size_t n = 0; n < problem->nodes; n++)
            if (!(all[n * states + s].lower <= all[n * states + s].upper)) /* nobody leads here */
                all[n * states + s] = (range){initial, initial};
    }
    return all;
}

/* *bound is -INFINITY when the LP of outcome *worst has no optimum. */
static cobre_status bound_by_lp(const cobre_sddp_problem *problem, size_t index, const cb_lp_solver *solver,
                                const range *in, double *bound, size_t *worst, cb_lp_outcome *result) {
    const cb_node *node = &problem->node[index];
    cb_stage_kind kind = {.problem = problem, .pair = {.solver = solver}};
    cb_stage *stage;
    CB_TRY(cb_stage_create(&kind, node, &stage));
    for (size_t s = 0; s < problem->states; s++)
        solver->set_column(stage->lp, (int)node->state_in[s], in[s].lower, in[s].upper);
    cobre_status status = cb_stage_start(stage, NULL);
    *bound = INFINITY;
    for (size_t k = 0; k < node->outcomes && !status && *bound > -INFINITY; k++) {
        cb_stage_set_noise(stage, node->outcome + k * node->randoms);
        *worst = k;
        *result = cb_lp_solve(solver, stage->lp);
        if (*result == CB_LP_GAVE_UP) /* says nothing about the case */
            status = cb_fail(COBRE_LP_FAILED,
                             "use fewer ranks or a "
                             "machine with more memory, or try another solver",
                             "node %s, outcome %zu: %s gave up when it bounded the cost: %s", node->name, k + 1,
                             solver->name, solver->trouble());
        *bound = *result == CB_LP_OPTIMAL
                     ? fmin(*bound, solver->objective(stage->lp) / problem->scale + stage->constant)
                     : -INFINITY;
    }
    *bound = margin(*bound);
    cb_stage_free(stage);
    return status;
}

/* The other solver is asked, too, before a node has no bound; *worst and *result stay those of the first one. */
static cobre_status bound_by_pair(const cobre_sddp_problem *problem, size_t index, const cb_lp_pair *pair,
                                  const range *in, double *bound, size_t *worst, cb_lp_outcome *result) {
    CB_TRY(bound_by_lp(problem, index, pair->solver, in, bound, worst, result));
    if (*result == CB_LP_OPTIMAL || !pair->fallback)
        return COBRE_OK;
    double second;
    size_t outcome;
    cb_lp_outcome again;
    CB_TRY(bound_by_lp(problem, index, pair->fallback, in, &second, &outcome, &again));
    if (again == CB_LP_OPTIMAL) {
        *bound = second;
        *result = again;
    }
    return COBRE_OK;
}

/* needed: it is an error of the case when there is none; else only multi-cuts need it, and say so. *in: in_ranges, made
 * when first needed. */
static cobre_status own_bound(cobre_sddp_problem *problem, size_t index, const cb_lp_pair *pair, bool needed,
                              range **in) {
    cb_node *node = &problem->node[index];
    size_t outcome = 0;
    cb_lp_outcome result = CB_LP_OPTIMAL;
    node->own_bound = bound_by_columns(problem, node);
    if (node->own_bound >= 0)
        return COBRE_OK;
    if (!*in && !(*in = in_ranges(problem)))
        return cb_no_memory("ranges of states", problem->nodes * problem->states * sizeof **in);
    CB_TRY(bound_by_pair(problem, index, pair, *in + index * problem->states, &node->own_bound, &outcome, &result));
    if (result == CB_LP_OPTIMAL || !needed)
        return COBRE_OK;
    cb_problem_at_node(problem, node);
    cb_builder_error(problem,
                     result == CB_LP_INFEASIBLE ? "correct its constraints: no state that may come in can meet them"
                                                : "give one (--value-bound), or bound the states",
                     "node %s, outcome %zu: its own LP is %s when the incoming state is free, so that no bound of the "
                     "future %s can be found",
                     node->name, outcome + 1, cb_lp_outcome_name(result), problem->maximise ? "value" : "cost");
    return COBRE_OK;
}

/* One round of the fixed point, from the last node to the first; how much the bounds moved, relative. */
static double improve(const cobre_sddp_problem *problem, double *bound) {
    double moved = 0;
    for (size_t n = problem->nodes; n-- > 0;) {
        const cb_node *node = &problem->node[n];
        double sum = 0;
        for (size_t e = 0; e < node->edges; e++) {
            const cb_edge *edge = &node->edge[e];
            double child =
                problem->node[edge->to].has_value_bound ? problem->node[edge->to].value_bound : bound[edge->to];
            sum += edge->probability * edge->discount * (problem->node[edge->to].own_bound + child);
        }
        moved = fmax(moved, fabs(sum - bound[n]) / fmax(1, fabs(sum)));
        bound[n] = sum;
    }
    return moved;
}

static void fixed_point(cobre_sddp_problem *problem, double *bound) {
    enum { ROUNDS = 1000000 };
    size_t rounds = problem->longest ? problem->longest : ROUNDS;
    double moved = 1;
    for (size_t i = 0; i < rounds && moved > STILL; i++)
        moved = improve(problem, bound);
    if (!problem->longest && moved > STILL) {
        cb_problem_at(problem, problem->at_file, 0, "%s", "");
        cb_builder_error(problem,
                         "give one "
                         "(--value-bound), or end its cycles with a larger probability",
                         "no bound of the future %s can be found: the process goes on for too long",
                         problem->maximise ? "value" : "cost");
    }
    for (size_t n = 0; n < problem->nodes; n++)
        if (!problem->node[n].has_value_bound)
            problem->node[n].value_bound = bound[n] > 0 ? bound[n] * (1 - 1e-9) : margin(bound[n]);
}

static bool any_missing(const cobre_sddp_problem *problem) {
    for (size_t n = 0; n < problem->nodes; n++)
        if (problem->node[n].edges > 0 && !problem->node[n].has_value_bound)
            return true;
    return false;
}

static cobre_status find_bounds(cobre_sddp_problem *problem, const cb_lp_pair *pair) {
    bool needed = any_missing(problem);
    range *in = NULL;
    cobre_status status = COBRE_OK;
    for (size_t n = 0; n < problem->nodes && !status; n++)
        status = own_bound(problem, n, pair, needed, &in);
    free(in);
    CB_TRY(status);
    double *bound = calloc(problem->nodes + 1, sizeof *bound);
    if (!bound)
        return cb_no_memory("value bounds", problem->nodes * sizeof *bound);
    fixed_point(problem, bound);
    free(bound);
    return COBRE_OK;
}

cobre_status cb_problem_find_bounds(cobre_comm *comm, cobre_sddp_problem *problem, const char *solver) {
    cb_lp_pair pair;
    CB_TRY(cb_lp_agree(comm, solver, (int)cb_most_rows(problem), &pair));
    return cb_agree(comm, find_bounds(problem, &pair));
}
