/* SPDX-License-Identifier: Apache-2.0 */
/* info.c: tells users the parts of a problem: its nodes, columns, rows, outcomes and names. */
#include "sddp/problem/problem.h"

#include <math.h>

static const cb_node none; /* for an index out of range: it has no name and nothing in it */

static const cb_node *node_at(const cobre_sddp_problem *problem, size_t node) {
    return problem && node < problem->nodes ? &problem->node[node] : &none;
}

const char *cobre_sddp_problem_name(const cobre_sddp_problem *problem) {
    return problem ? problem->name : NULL;
}

const char *cobre_sddp_problem_contents(const cobre_sddp_problem *problem) {
    return problem ? problem->contents : NULL;
}

bool cobre_sddp_problem_maximises(const cobre_sddp_problem *problem) {
    return problem && problem->maximise;
}

size_t cobre_sddp_problem_states(const cobre_sddp_problem *problem) {
    return problem ? problem->states : 0;
}

const char *cobre_sddp_problem_state_name(const cobre_sddp_problem *problem, size_t state) {
    return problem && state < problem->states ? problem->state[state].name : NULL;
}

double cobre_sddp_problem_state_initial(const cobre_sddp_problem *problem, size_t state) {
    return problem && state < problem->states ? problem->state[state].initial : NAN;
}

void cobre_sddp_problem_state_limits(const cobre_sddp_problem *problem, size_t node, size_t state, double *lower,
                                     double *upper) {
    bool known = problem && node < problem->nodes && state < problem->states;
    cb_range limits = known ? cb_state_limits(problem, node, state) : (cb_range){NAN, NAN};
    if (lower)
        *lower = limits.lower;
    if (upper)
        *upper = limits.upper;
}

size_t cobre_sddp_problem_nodes(const cobre_sddp_problem *problem) {
    return problem ? problem->nodes : 0;
}

const char *cobre_sddp_problem_node_name(const cobre_sddp_problem *problem, size_t node) {
    return node_at(problem, node)->name;
}

size_t cobre_sddp_problem_node_stage(const cobre_sddp_problem *problem, size_t node) {
    return node_at(problem, node)->stage;
}

size_t cobre_sddp_problem_columns(const cobre_sddp_problem *problem, size_t node) {
    return node_at(problem, node)->columns;
}

const char *cobre_sddp_problem_column_name(const cobre_sddp_problem *problem, size_t index, size_t column) {
    const cb_node *node = node_at(problem, index);
    return column < node->columns ? cb_column_name(node, column) : NULL;
}

void cobre_sddp_problem_column_range(const cobre_sddp_problem *problem, size_t index, size_t column, double *lower,
                                     double *upper) {
    const cb_node *node = node_at(problem, index);
    cb_range range = column < node->columns ? node->range[column] : (cb_range){NAN, NAN};
    if (lower)
        *lower = range.lower;
    if (upper)
        *upper = range.upper;
}

void cb_find_cost_rows(const cb_node *node, bool *cost) {
    for (size_t i = 0; i < node->rows; i++)
        cost[i] = false;
    for (size_t j = 0; j < node->columns; j++)
        for (int e = node->start[j]; cb_is_cost(&node->column[j]) && e < node->start[j + 1]; e++)
            cost[node->index[e]] = true;
}

size_t cb_most_rows(const cobre_sddp_problem *problem) {
    size_t rows = 0;
    for (size_t n = 0; n < problem->nodes; n++)
        rows = problem->node[n].rows > rows ? problem->node[n].rows : rows;
    return rows;
}

cobre_status cb_refuse_node(const char *subject, const cobre_sddp_problem *problem, size_t node) {
    return cb_refuse(subject, "count nodes from 0", "%s is %zu, but the problem has %zu node%s", subject, node,
                     problem->nodes, problem->nodes == 1 ? "" : "s");
}

size_t cb_usual_rows(const cobre_sddp_problem *problem) {
    size_t most = 0;
    for (size_t n = 0; n < problem->nodes; n++) {
        const cb_node *node = &problem->node[n];
        size_t rows = node->rows;
        for (size_t j = 0; j < node->columns; j++) {
            size_t entries = (size_t)(node->start[j + 1] - node->start[j]);
            if (cb_is_cost(&node->column[j]))
                rows -= entries < rows ? entries : rows;
        }
        most = rows > most ? rows : most;
    }
    return most;
}

size_t cb_child_outcomes(const cobre_sddp_problem *problem, const cb_node *node) {
    size_t outcomes = 0;
    for (size_t e = 0; e < node->edges; e++)
        outcomes += problem->node[node->edge[e].to].outcomes;
    return outcomes;
}

double cb_going_on(const cb_node *node) {
    double sum = 0;
    for (size_t e = 0; e < node->edges; e++)
        sum += node->edge[e].probability;
    return sum;
}

size_t cobre_sddp_problem_rows(const cobre_sddp_problem *problem, size_t node) {
    return node_at(problem, node)->rows;
}

const char *cobre_sddp_problem_row_name(const cobre_sddp_problem *problem, size_t index, size_t row) {
    const cb_node *node = node_at(problem, index);
    return row < node->rows ? cb_row_name(node, row) : NULL;
}

size_t cobre_sddp_problem_randoms(const cobre_sddp_problem *problem, size_t node) {
    return node_at(problem, node)->randoms;
}

const char *cobre_sddp_problem_random_name(const cobre_sddp_problem *problem, size_t index, size_t random) {
    const cb_node *node = node_at(problem, index);
    return random < node->randoms ? cb_random_name(node, random) : NULL;
}

size_t cobre_sddp_problem_outcomes(const cobre_sddp_problem *problem, size_t node) {
    return node_at(problem, node)->outcomes;
}

cobre_status cobre_sddp_problem_mean_noise(const cobre_sddp_problem *problem, size_t node, double *noise) {
    if (!problem || !noise)
        return cb_refuse_null(problem ? "noise" : "problem");
    if (node >= problem->nodes)
        return cb_refuse_node("node", problem, node);
    for (size_t i = 0; i < problem->node[node].randoms; i++)
        noise[i] = cb_mean_noise(&problem->node[node], i);
    return COBRE_OK;
}

bool cobre_sddp_problem_has_noise_model(const cobre_sddp_problem *problem) {
    for (size_t n = 0; n < cobre_sddp_problem_nodes(problem); n++)
        if (problem->node[n].model.deviation)
            return true;
    return false;
}

bool cobre_sddp_problem_averse(const cobre_sddp_problem *problem) {
    for (size_t n = 0; n < cobre_sddp_problem_nodes(problem); n++)
        if (problem->node[n].risk.beta < 1)
            return true;
    return false;
}
