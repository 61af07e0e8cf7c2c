/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/future_cost.h"

#include "sddp/error.h"
#include "sddp/grow.h"
#include "sddp/policy/policy.h"

#include <math.h>

static bool is_better(const struct cb_future *future, double a, double b) {
    return cobre_sddp_policy_maximises(future->policy) ? a < b : a > b;
}

static double outward(const struct cb_future *future, double value) {
    return cobre_sddp_policy_maximises(future->policy) ? -value : value;
}

/* Those that the future cost of the node is made of. */
static void fill_functions(struct cb_future *future, const cobre_sddp_problem *problem) {
    const cobre_sddp_policy *policy = future->policy;
    const cb_node *node = problem ? &problem->node[future->node] : NULL;
    if (!policy->kind.multi_cut || !problem) {
        future->function[future->functions++] =
            (struct cb_future_function){.node = future->node,
                                        .outcome = COBRE_SDDP_NONE,
                                        .weight = 1,
                                        .floor = outward(future, policy->value_bound[future->node])};
        return;
    }
    for (size_t e = 0; e < node->edges; e++) {
        const cb_edge *edge = &node->edge[e];
        for (size_t k = 0; k < problem->node[edge->to].outcomes; k++)
            future->function[future->functions++] = (struct cb_future_function){
                .node = edge->to,
                .outcome = k,
                .weight = edge->probability * edge->discount * problem->node[edge->to].probability[k],
                .floor = outward(future, cb_cost_bound(&policy->kind, edge->to))};
    }
}

static size_t count_functions(const struct cb_future *future, const cobre_sddp_problem *problem) {
    size_t count = 1;
    for (size_t e = 0; problem && e < problem->node[future->node].edges; e++)
        count += problem->node[problem->node[future->node].edge[e].to].outcomes;
    return count;
}

static size_t function_of(const struct cb_future *future, const cobre_sddp_cut *cut) {
    for (size_t f = 0; f < future->functions; f++)
        if (future->function[f].node == cut->node &&
            (future->function[f].outcome == cut->outcome || future->functions == 1))
            return f;
    return COBRE_SDDP_NONE;
}

static void add_cut(struct cb_future *future, uint64_t index) {
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    cobre_sddp_policy_cut(future->policy, index, &cut, NULL);
    size_t function = function_of(future, &cut);
    if (function == COBRE_SDDP_NONE || !CB_GROW(future, future->cut, future->cuts, future->cuts_room))
        return;
    size_t size = (future->states ? future->states : 1) * sizeof *future->slope;
    if (!cb_grow(&future->slope, size, future->cuts, &future->slopes_room)) {
        future->no_memory = true;
        return;
    }
    cobre_sddp_policy_cut(future->policy, index, &cut, future->slope + future->cuts * future->states);
    future->cut[future->cuts++] =
        (struct cb_future_cut){.cut = cut, .index = index, .function = function, .height = NAN};
}

cobre_status cb_future_open(struct cb_future *future, const cobre_sddp_policy *policy,
                            const cobre_sddp_problem *problem, size_t node) {
    *future = (struct cb_future){.policy = policy, .node = node, .states = cobre_sddp_policy_states(policy)};
    future->function = calloc(count_functions(future, problem), sizeof *future->function);
    if (!future->function)
        return cb_no_memory("cuts", 0);
    fill_functions(future, problem);
    future->known =
        problem && problem->node[node].edges > 0 && !(policy->kind.multi_cut && cobre_sddp_policy_averse(policy));
    for (uint64_t i = 0; i < cobre_sddp_policy_cuts(policy) && !future->no_memory; i++)
        add_cut(future, i);
    return future->no_memory ? cb_no_memory("cuts", 0) : COBRE_OK;
}

void cb_future_free(struct cb_future *future) {
    free(future->function);
    free(future->cut);
    free(future->slope);
}

/* The cut that is highest of one function, where a state is larger by `shift`; NULL: the floor is above all. A cut that reaches the
 * floor, but for the accuracy of LPs, says that the cost is really so low. */
static const struct cb_future_cut *highest(const struct cb_future *future, size_t function, size_t state, double shift,
                                           double *value) {
    const struct cb_future_cut *best = NULL;
    double floor = future->function[function].floor, top = floor;
    for (size_t c = 0; c < future->cuts; c++) {
        const struct cb_future_cut *cut = &future->cut[c];
        double height = cut->height + (shift != 0 ? shift * future->slope[c * future->states + state] : 0);
        if (cut->function == function && (!best || is_better(future, height, top))) {
            top = height;
            best = cut;
        }
    }
    bool above = best && is_better(future, top, floor);
    *value = above ? top : floor;
    return above || fabs(top - floor) <= 1e-6 * fabs(floor) ? best : NULL;
}

double cb_future_along(const struct cb_future *future, size_t state, double shift, double *slope, bool *cuts) {
    double sum = 0;
    *slope = 0;
    *cuts = true;
    for (size_t f = 0; f < future->functions; f++) {
        double value;
        const struct cb_future_cut *best = highest(future, f, state, shift, &value);
        sum += future->function[f].weight * value;
        *cuts &= best || future->function[f].weight == 0;
        if (best)
            *slope += future->function[f].weight * future->slope[(size_t)(best - future->cut) * future->states + state];
    }
    return future->known ? sum : NAN;
}

/* Cuts that are equally high but for rounding are all active. */
static void mark_active(struct cb_future *future, size_t function) {
    double value;
    const struct cb_future_cut *best = highest(future, function, 0, 0, &value);
    if (!best)
        return;
    for (size_t c = 0; c < future->cuts; c++)
        if (future->cut[c].function == function)
            future->cut[c].active =
                &future->cut[c] == best || fabs(future->cut[c].height - value) <= 1e-9 * fabs(value);
}

double cb_future_at(struct cb_future *future, const double *state) {
    double unused;
    bool cuts;
    for (size_t c = 0; c < future->cuts; c++) {
        struct cb_future_cut *cut = &future->cut[c];
        cut->height = cut->cut.intercept;
        cut->active = false;
        for (size_t s = 0; s < future->states; s++)
            cut->height += future->slope[c * future->states + s] * state[s];
    }
    for (size_t f = 0; f < future->functions; f++)
        mark_active(future, f);
    return cb_future_along(future, 0, 0, &unused, &cuts);
}
