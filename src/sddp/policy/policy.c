/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c: a policy in memory. */
#include "sddp/policy/policy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sddp/grow.h"
#include "sddp/usual_floats.h"

static cobre_status fill(cobre_sddp_policy *policy, bool multi_cut) {
    size_t nodes = policy->names.nodes;
    cb_arena *memory = &policy->names.memory;
    policy->function = cb_arena_alloc(memory, nodes, sizeof *policy->function);
    policy->value_bound = cb_arena_alloc(memory, nodes, sizeof *policy->value_bound);
    policy->own_bound = cb_arena_alloc(memory, nodes, sizeof *policy->own_bound);
    policy->start = cb_arena_alloc(memory, nodes, sizeof *policy->start);
    if (memory->failed)
        return cb_no_memory("a policy", nodes * sizeof(double) * 8);
    for (size_t n = 0; n < nodes; n++) {
        policy->function[n] = policy->functions;
        policy->functions += multi_cut ? policy->names.outcomes[n] : 1;
    }
    size_t states = policy->names.states;
    CB_TRY(cb_pool_init(&policy->pool, policy->comm, states, policy->functions, cb_drop_numbers(policy->drop, states)));
    policy->pool.notes_use = policy->drop == COBRE_SDDP_DROP_LAST_ACTIVE;
    return COBRE_OK;
}

cobre_status cb_policy_new(cobre_comm *comm, cobre_sddp_problem *problem, cb_policy_names *names,
                           const cb_policy_options *options, cobre_sddp_policy **pointer) {
    cobre_sddp_policy *policy = *pointer = calloc(1, sizeof *policy);
    if (!policy) {
        cb_arena_free(&names->memory);
        return cb_no_memory("a policy", sizeof *policy);
    }
    policy->comm = comm;
    policy->problem = problem;
    policy->names = *names;
    *names = (cb_policy_names){0};
    policy->solvers = options->solvers;
    policy->seed = options->seed;
    policy->passes = options->passes;
    policy->drop = options->drop;
    policy->drop_after = options->drop_after;
    policy->window = 100;
    policy->proven = true;
    snprintf(policy->lp_folder, sizeof policy->lp_folder, "%s", options->lp_folder ? options->lp_folder : ".");
    cobre_status status = fill(policy, options->multi_cut);
    policy->kind = (cb_stage_kind){.problem = problem,
                                   .pool = &policy->pool,
                                   .multi_cut = options->multi_cut,
                                   .has_risk = options->has_risk,
                                   .risk = options->risk,
                                   .function = policy->function,
                                   .value_bound = policy->value_bound,
                                   .own_bound = policy->own_bound,
                                   .lp_folder = policy->lp_folder};
    if (status)
        cobre_sddp_policy_free(pointer);
    return status;
}

void cobre_sddp_policy_free(cobre_sddp_policy **pointer) {
    if (!pointer || !*pointer)
        return;
    cobre_sddp_policy *policy = *pointer;
    *pointer = NULL;
    cb_pool_free(&policy->pool);
    cobre_comm_free(&policy->alone);
    for (size_t n = 0; policy->start && n < policy->names.nodes; n++)
        cb_start_free(&policy->start[n]);
    cb_arena_free(&policy->names.memory);
    free(policy->trace);
    free(policy);
}

bool cb_policy_trace(cobre_sddp_policy *policy, cb_trace trace) {
    if (!cb_grow(&policy->trace, sizeof trace, policy->iterations, &policy->trace_room))
        return false;
    policy->trace[policy->iterations++] = trace;
    return true;
}

/* Mean and half interval over the last passes, from the iterations' own means and deviations. */
static void window_of(const cobre_sddp_policy *policy, cobre_sddp_progress *progress) {
    uint64_t most = policy->window / policy->passes + (policy->window % policy->passes > 0), last = progress->iteration;
    uint64_t first = last > most ? last - most : 0;
    double passes = (double)policy->passes, count = (double)(last - first), mean = 0, squares = 0;
    for (uint64_t i = first; i < last; i++)
        mean += policy->trace[i].mean / count;
    for (uint64_t i = first; i < last; i++) {
        double off = policy->trace[i].mean - mean, deviation = policy->trace[i].deviation;
        squares += passes * off * off + (passes - 1) * deviation * deviation;
    }
    double n = passes * count;
    progress->window_mean = mean;
    progress->window_passes = (uint64_t)n;
    progress->window_half = n > 1 ? 1.96 * sqrt(squares / (n - 1) / n) : INFINITY;
}

cobre_sddp_progress cb_policy_progress(const cobre_sddp_policy *policy, uint64_t iteration) {
    if (iteration == 0 || iteration > policy->iterations)
        return (cobre_sddp_progress){.struct_size = sizeof(cobre_sddp_progress)};
    const cb_trace *trace = &policy->trace[iteration - 1];
    double sign = policy->names.maximise ? -1 : 1;
    cobre_sddp_progress progress = {.struct_size = sizeof progress,
                                    .iteration = iteration,
                                    .bound = sign * trace->bound,
                                    .mean = sign * trace->mean,
                                    .deviation = trace->deviation,
                                    .cuts = trace->cuts,
                                    .solves = trace->solves};
    window_of(policy, &progress);
    progress.window_mean *= sign;
    return progress;
}

uint64_t cobre_sddp_policy_cuts(const cobre_sddp_policy *policy) {
    return policy ? policy->pool.cuts : 0;
}

cobre_status cobre_sddp_policy_cut(const cobre_sddp_policy *policy, uint64_t index, cobre_sddp_cut *result,
                                   double *slopes) {
    CB_USUAL_FLOATS();
    if (!policy || !result)
        return cb_refuse_null(policy ? "cut" : "policy");
    CB_TRY(CB_CHECK_RESULT(result, cobre_sddp_cut, intercept));
    if (index >= policy->pool.cuts)
        return cb_refuse("index", "use an index below cobre_sddp_policy_cuts", "cut %" PRIu64 " of %" PRIu64, index,
                         policy->pool.cuts);
    const double *record = cb_pool_cut(&policy->pool, index);
    double sign = policy->names.maximise ? -1 : 1;
    size_t function = (size_t)record[CB_CUT_FUNCTION], node = policy->names.nodes - 1;
    while (policy->function[node] > function)
        node--;
    cobre_sddp_cut cut = {.node = node,
                          .outcome = policy->kind.multi_cut ? function - policy->function[node] : COBRE_SDDP_NONE,
                          .iteration = (uint64_t)record[CB_CUT_ITERATION],
                          .intercept = sign * record[CB_CUT_INTERCEPT]};
    for (size_t s = 0; slopes && s < policy->names.states; s++)
        slopes[s] = sign * record[CB_CUT_SLOPES + s];
    cb_versioned_give(result, CB_THROUGH(cobre_sddp_cut, intercept), &cut, sizeof cut);
    return COBRE_OK;
}

const char *cobre_sddp_policy_name(const cobre_sddp_policy *policy) {
    return policy ? policy->names.name[0] : NULL;
}

bool cobre_sddp_policy_maximises(const cobre_sddp_policy *policy) {
    return policy && policy->names.maximise;
}

bool cobre_sddp_policy_averse(const cobre_sddp_policy *policy) {
    return policy && policy->names.averse;
}

size_t cobre_sddp_policy_states(const cobre_sddp_policy *policy) {
    return policy ? policy->names.states : 0;
}

const char *cobre_sddp_policy_state_name(const cobre_sddp_policy *policy, size_t state) {
    return policy && state < policy->names.states ? policy->names.name[1 + state] : NULL;
}

size_t cobre_sddp_policy_nodes(const cobre_sddp_policy *policy) {
    return policy ? policy->names.nodes : 0;
}

const char *cobre_sddp_policy_node_name(const cobre_sddp_policy *policy, size_t node) {
    return policy && node < policy->names.nodes ? policy->names.name[1 + policy->names.states + node] : NULL;
}

size_t cobre_sddp_policy_node_stage(const cobre_sddp_policy *policy, size_t node) {
    return policy && node < policy->names.nodes ? (size_t)policy->names.stage[node] : 0;
}

uint64_t cobre_sddp_policy_iterations(const cobre_sddp_policy *policy) {
    return policy ? policy->iterations : 0;
}

const char *cobre_sddp_policy_solver(const cobre_sddp_policy *policy) {
    return policy ? policy->solvers.solver : NULL;
}

const char *cobre_sddp_policy_solver_version(const cobre_sddp_policy *policy) {
    return policy ? policy->solvers.solver_version : NULL;
}

const char *cobre_sddp_policy_fallback(const cobre_sddp_policy *policy) {
    return policy ? policy->solvers.fallback : NULL;
}

const char *cobre_sddp_policy_fallback_version(const cobre_sddp_policy *policy) {
    return policy ? policy->solvers.fallback_version : NULL;
}

uint64_t cobre_sddp_policy_seed(const cobre_sddp_policy *policy) {
    return policy ? policy->seed : 0;
}

double cobre_sddp_policy_bound(const cobre_sddp_policy *policy) {
    CB_USUAL_FLOATS();
    bool known = policy && policy->iterations > 0 && !policy->match.what[0];
    return known ? cb_policy_progress(policy, policy->iterations).bound : NAN;
}

bool cobre_sddp_policy_proven(const cobre_sddp_policy *policy) {
    return policy && policy->proven;
}

const char *cobre_sddp_policy_difference(const cobre_sddp_policy *policy) {
    return policy && policy->match.what[0] ? policy->match.what : NULL;
}
