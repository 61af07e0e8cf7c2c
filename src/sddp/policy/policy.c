/* policy.c: a policy in memory. */
#include "sddp/policy/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sddp/grow.h"

static cobre_status fill(cobre_sddp_policy *policy, const cb_policy_options *options) {
    const cobre_sddp_problem *problem = policy->problem;
    size_t nodes = problem->nodes;
    policy->function = malloc((nodes + 1) * sizeof *policy->function);
    policy->value_bound = malloc((nodes + 1) * sizeof *policy->value_bound);
    policy->own_bound = malloc((nodes + 1) * sizeof *policy->own_bound);
    policy->start = calloc(nodes + 1, sizeof *policy->start);
    if (!policy->function || !policy->value_bound || !policy->own_bound || !policy->start)
        return cb_no_memory("a policy", nodes * sizeof(double) * 8);
    for (size_t n = 0; n < nodes; n++) {
        policy->function[n] = policy->functions;
        policy->functions += options->multi_cut ? problem->node[n].outcomes : 1;
        policy->value_bound[n] = problem->node[n].value_bound;
        policy->own_bound[n] = problem->node[n].own_bound;
        if (options->multi_cut && !isfinite(policy->own_bound[n]))
            return cb_fail(COBRE_INVALID_ARGUMENT, "bound its states, or use single cuts",
                           "multi-cuts need a bound on the cost of node %s alone, and its "
                           "LP has none",
                           problem->node[n].name);
    }
    return cb_pool_init(&policy->pool, policy->comm, problem->states, policy->functions);
}

cobre_status cb_policy_new(cobre_comm *comm, cobre_sddp_problem *problem, const cb_policy_options *options,
                           cobre_sddp_policy **pointer) {
    cobre_sddp_policy *policy = *pointer = calloc(1, sizeof *policy);
    if (!policy)
        return cb_no_memory("a policy", sizeof *policy);
    policy->comm = comm;
    policy->problem = problem;
    policy->solvers = options->solvers;
    policy->seed = options->seed;
    policy->passes = options->passes;
    policy->window = options->window ? options->window : 100;
    snprintf(policy->lp_folder, sizeof policy->lp_folder, "%s", options->lp_folder ? options->lp_folder : ".");
    cobre_status status = fill(policy, options);
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
    for (size_t n = 0; policy->start && n < policy->problem->nodes; n++)
        cb_start_free(&policy->start[n]);
    free(policy->start);
    free(policy->function);
    free(policy->value_bound);
    free(policy->own_bound);
    free(policy->trace);
    free(policy);
}

bool cb_policy_trace(cobre_sddp_policy *policy, cb_trace trace) {
    if (!CB_GROW(policy, policy->trace, policy->iterations, policy->trace_room))
        return false;
    policy->trace[policy->iterations++] = trace;
    return true;
}

/* Mean and half interval over the last passes, from the iterations' own means and deviations. */
static void window_of(const cobre_sddp_policy *policy, cobre_sddp_progress *progress) {
    uint64_t most = (policy->window + policy->passes - 1) / policy->passes, last = progress->iteration;
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
        return (cobre_sddp_progress){0};
    const cb_trace *trace = &policy->trace[iteration - 1];
    double sign = policy->problem->maximise ? -1 : 1;
    cobre_sddp_progress progress = {.iteration = iteration,
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
    return policy->pool.cuts;
}

/* The slopes in the pool are internal; those of a problem that maximises are copied with the sign turned. */
cobre_sddp_cut cobre_sddp_policy_cut(const cobre_sddp_policy *policy, uint64_t id) {
    static _Thread_local double *turned;
    const double *record = cb_pool_cut(&policy->pool, id);
    size_t function = (size_t)record[CB_CUT_FUNCTION], node = policy->problem->nodes - 1, states = policy->pool.states;
    while (policy->function[node] > function)
        node--;
    cobre_sddp_cut cut = {.node = node,
                          .outcome = policy->kind.multi_cut ? function - policy->function[node] : SIZE_MAX,
                          .iteration = (uint64_t)record[CB_CUT_ITERATION],
                          .intercept = record[CB_CUT_INTERCEPT],
                          .slopes = record + CB_CUT_SLOPES};
    double *copy = policy->problem->maximise ? realloc(turned, (states + 1) * sizeof *copy) : NULL;
    if (!copy)
        return cut;
    turned = copy;
    for (size_t s = 0; s < states; s++)
        copy[s] = -record[CB_CUT_SLOPES + s];
    cut.intercept = -cut.intercept;
    cut.slopes = copy;
    return cut;
}

uint64_t cobre_sddp_policy_iterations(const cobre_sddp_policy *policy) {
    return policy->iterations;
}

const char *cobre_sddp_policy_solver(const cobre_sddp_policy *policy) {
    return policy->solvers.solver;
}

const char *cobre_sddp_policy_solver_version(const cobre_sddp_policy *policy) {
    return policy->solvers.solver_version;
}

const char *cobre_sddp_policy_fallback(const cobre_sddp_policy *policy) {
    return policy->solvers.fallback;
}

const char *cobre_sddp_policy_fallback_version(const cobre_sddp_policy *policy) {
    return policy->solvers.fallback_version;
}

uint64_t cobre_sddp_policy_seed(const cobre_sddp_policy *policy) {
    return policy->seed;
}

double cobre_sddp_policy_bound(const cobre_sddp_policy *policy) {
    return cb_policy_progress(policy, policy->iterations).bound;
}

bool cobre_sddp_policy_averse(const cobre_sddp_policy *policy) {
    return policy->kind.has_risk ? policy->kind.risk.beta < 1 : cobre_sddp_problem_averse(policy->problem);
}
