/* SPDX-License-Identifier: Apache-2.0 */
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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sddp/stage/stage.h"

#define MARGIN 1e-6
#define STILL 1e-13 /* moves less: it stands */

static double margin(double bound) {
    return bound - MARGIN * fmax(1, fabs(bound));
}

static bool has_random_cost(const cb_node *node) {
    for (size_t i = 0; i < node->noises; i++)
        if (node->noise[i].target == COBRE_SDDP_NOISE_COST || node->noise[i].target == COBRE_SDDP_NOISE_CONSTANT ||
            cb_noise_family(node->noise[i].target) == COBRE_SDDP_NOISE_COLUMN_LOWER)
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
        random |=
            cb_noise_family(node->noise[i].target) == COBRE_SDDP_NOISE_COLUMN_LOWER && node->noise[i].index == column;
    for (size_t k = 0; k < node->outcomes && random; k++) {
        double low = lower, high = upper;
        for (size_t i = 0; i < node->noises; i++) {
            const cb_noise *noise = &node->noise[i];
            double change =
                noise->index == column ? noise->factor * node->outcome[k * node->randoms + noise->random] : 0;
            low += noise->target == COBRE_SDDP_NOISE_COLUMN_LOWER ? change : 0;
            high += noise->target == COBRE_SDDP_NOISE_COLUMN_UPPER ? change : 0;
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

struct search {
    const cobre_sddp_problem *problem;
    const cb_lp_pair *pair;
    const cobre_sddp_validate_options *options;
    double *own_bound, *value_bound; /* of each node: the results */
    range *in;                       /* in_ranges, made when first needed */
    size_t errors;
};

/* An error of the case. The first is what the last error quotes. */
__attribute__((format(printf, 4, 5))) static void report(struct search *search, const cobre_sddp_issue *at,
                                                         const char *advice, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    cobre_sddp_issue issue = *at;
    issue.struct_size = sizeof issue;
    issue.message = message;
    issue.suggestion = advice;
    if (search->errors++ == 0)
        cb_fail_at(COBRE_INVALID_CASE, issue.file, issue.line, advice, "%s%s%s", issue.place, *issue.place ? ": " : "",
                   message);
    if (!search->options->issue)
        return;
    const cobre_error first = *cobre_last_error(); /* it stays that, whatever the callback does */
    search->options->issue(search->options->arg, &issue);
    cobre_set_error(&first);
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
    double *bound = &search->own_bound[index];
    size_t outcome = 0;
    cb_lp_outcome result = CB_LP_OPTIMAL;
    *bound = bound_by_columns(problem, node);
    if (*bound >= 0)
        return COBRE_OK;
    if (!search->in && !(search->in = in_ranges(problem)))
        return cb_no_memory("ranges of states", problem->nodes * problem->states * sizeof *search->in);
    CB_TRY(bound_by_pair(problem, index, search->pair, search->in + index * problem->states, bound, &outcome, &result));
    if (result == CB_LP_OPTIMAL || !needed)
        return COBRE_OK;
    report(search, &(cobre_sddp_issue){.file = node->file, .line = node->line, .place = node->place},
           result == CB_LP_INFEASIBLE ? "correct its constraints: no state that may come in can meet them"
                                      : "give one (--value-bound), or bound the states",
           "node %s, outcome %zu: its own LP is %s when the incoming state is free, so that no bound of the future %s "
           "can be found",
           node->name, outcome + 1, cb_lp_outcome_name(result), problem->maximise ? "value" : "cost");
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
        moved = fmax(moved, fabs(sum - *bound) / fmax(1, fabs(sum)));
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
        report(search, &(cobre_sddp_issue){.file = problem->node[0].file, .place = ""},
               "give one (--value-bound), or end its cycles with a larger probability",
               "no bound of the future %s can be found: the process goes on for too long",
               problem->maximise ? "value" : "cost");
    for (size_t n = 0; n < problem->nodes; n++) {
        double *bound = &search->value_bound[n];
        *bound = is_given(search, n, &given) ? given : *bound > 0 ? *bound * (1 - 1e-9) : margin(*bound);
    }
}

static bool any_missing(const struct search *search) {
    double given;
    for (size_t n = 0; n < search->problem->nodes; n++)
        if (search->problem->node[n].edges > 0 && !is_given(search, n, &given))
            return true;
    return false;
}

static cobre_status find(struct search *search) {
    bool needed = any_missing(search);
    cobre_status status = COBRE_OK;
    for (size_t n = 0; n < search->problem->nodes && !status; n++)
        status = find_own_bound(search, n, needed);
    free(search->in);
    CB_TRY(status);
    fixed_point(search);
    if (search->errors == 0)
        return COBRE_OK;
    const cobre_error first = *cobre_last_error();
    if (search->errors == 1)
        return first.status;
    return cb_fail_at(COBRE_INVALID_CASE, first.file, first.line, first.suggestion,
                      "%zu errors in the case; the first: %s", search->errors, first.message);
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
