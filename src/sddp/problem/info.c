/* info.c: what a problem consists of, for its users. */
#include "sddp/problem/problem.h"

const char *cobre_sddp_problem_name(const cobre_sddp_problem *problem) {
    return problem->name;
}

const char *cobre_sddp_problem_contents(const cobre_sddp_problem *problem) {
    return problem->contents;
}

bool cobre_sddp_problem_maximises(const cobre_sddp_problem *problem) {
    return problem->maximise;
}

size_t cobre_sddp_problem_states(const cobre_sddp_problem *problem) {
    return problem->states;
}

const char *cobre_sddp_problem_state_name(const cobre_sddp_problem *problem, size_t state) {
    return problem->state[state].name;
}

size_t cobre_sddp_problem_nodes(const cobre_sddp_problem *problem) {
    return problem->nodes;
}

const char *cobre_sddp_problem_node_name(const cobre_sddp_problem *problem, size_t node) {
    return problem->node[node].name;
}

size_t cobre_sddp_problem_node_stage(const cobre_sddp_problem *problem, size_t node) {
    return problem->node[node].stage;
}

size_t cobre_sddp_problem_columns(const cobre_sddp_problem *problem, size_t node) {
    return problem->node[node].columns;
}

const char *cobre_sddp_problem_column_name(const cobre_sddp_problem *problem, size_t node, size_t column) {
    return cb_column_name(&problem->node[node], column);
}

size_t cobre_sddp_problem_rows(const cobre_sddp_problem *problem, size_t node) {
    return problem->node[node].rows;
}

const char *cobre_sddp_problem_row_name(const cobre_sddp_problem *problem, size_t node, size_t row) {
    return cb_row_name(&problem->node[node], row);
}

size_t cobre_sddp_problem_randoms(const cobre_sddp_problem *problem, size_t node) {
    return problem->node[node].randoms;
}

const char *cobre_sddp_problem_random_name(const cobre_sddp_problem *problem, size_t node, size_t random) {
    return cb_random_name(&problem->node[node], random);
}

size_t cobre_sddp_problem_outcomes(const cobre_sddp_problem *problem, size_t node) {
    return problem->node[node].outcomes;
}

bool cobre_sddp_problem_has_noise_model(const cobre_sddp_problem *problem) {
    for (size_t n = 0; n < problem->nodes; n++)
        if (problem->node[n].model.deviation)
            return true;
    return false;
}

bool cobre_sddp_problem_averse(const cobre_sddp_problem *problem) {
    for (size_t n = 0; n < problem->nodes; n++)
        if (problem->node[n].risk.beta < 1)
            return true;
    return false;
}
