/* rules.c: when training ends. Each rule that is set holds or does not; any of them, or all, end training. Being asked to
 * stop always does. All ranks decide alike: the rules see only what is in the policy, and flags that were exchanged. */
#include <math.h>
#include <stdlib.h>

#include "sddp/train/trainer.h"

typedef struct {
    size_t set, hold;
    cobre_sddp_stop first; /* of those that hold */
} verdict;

static void rule(verdict *all, bool set, bool holds, cobre_sddp_stop stop) {
    all->set += set;
    all->hold += set && holds;
    if (set && holds && !all->first)
        all->first = stop;
}

static bool stalled(const cb_trainer *trainer) {
    const cobre_sddp_policy *policy = trainer->policy;
    uint64_t window = trainer->options.stall_window, last = policy->iterations;
    if (window == 0 || last <= window)
        return false;
    double now = policy->trace[last - 1].bound, then = policy->trace[last - 1 - window].bound;
    return fabs(now - then) <= trainer->options.stall_tolerance * fmax(1, fabs(now));
}

static bool gap_closed(const cb_trainer *trainer) {
    if (trainer->policy->iterations == 0)
        return false;
    cobre_sddp_progress last = cb_policy_progress(trainer->policy, trainer->policy->iterations);
    return last.window_passes >= trainer->options.window && fabs(last.window_mean - last.bound) <= last.window_half;
}

/* Simulates the policy and compares. */
static cobre_status simulation_agrees(cb_trainer *trainer, bool *agrees) {
    cobre_sddp_policy *policy = trainer->policy;
    uint64_t every = trainer->options.simulate_every;
    size_t passes = trainer->options.simulate_passes, first, last;
    *agrees = false;
    if (every == 0 || policy->iterations == 0 || policy->iterations % every != 0)
        return COBRE_OK;
    double begin = cb_clock(), mean, deviation;
    cb_block(passes, trainer->rank, trainer->ranks, &first, &last);
    double *cost = malloc((last - first + 1) * sizeof *cost);
    cobre_status status = cost ? cb_simulate_costs(policy, &trainer->stages, policy->seed, CB_RNG_RULE,
                                                   (uint32_t)policy->iterations, first, last, cost)
                               : cb_no_memory("simulated costs", passes);
    status = cb_agree(trainer->comm, status);
    if (!status)
        status = cb_mean_deviation(trainer->comm, cost, last - first, passes, &mean, &deviation);
    free(cost);
    trainer->times.simulation += cb_clock() - begin;
    CB_TRY(status);
    double half = 1.96 * deviation / sqrt((double)passes);
    *agrees = fabs(mean - policy->trace[policy->iterations - 1].bound) <= half;
    return COBRE_OK;
}

cobre_status cb_rules_check(cb_trainer *trainer, cobre_sddp_stop *stop) {
    const cobre_sddp_train_options *options = &trainer->options;
    bool agrees;
    verdict all = {0};
    CB_TRY(simulation_agrees(trainer, &agrees));
    rule(&all, options->iterations > 0, trainer->policy->iterations >= options->iterations, COBRE_SDDP_STOP_ITERATIONS);
    rule(&all, options->seconds > 0, trainer->news.late != 0, COBRE_SDDP_STOP_TIME);
    rule(&all, options->stall_window > 0, stalled(trainer), COBRE_SDDP_STOP_STALLED);
    rule(&all, options->gap_rule, gap_closed(trainer), COBRE_SDDP_STOP_GAP);
    rule(&all, options->simulate_every > 0, agrees, COBRE_SDDP_STOP_SIMULATION);
    if (trainer->news.asked != 0)
        *stop = COBRE_SDDP_STOP_ASKED;
    else if (options->stop_when_all)
        *stop = all.hold == all.set ? (all.set == 1 ? all.first : COBRE_SDDP_STOP_ALL_RULES) : COBRE_SDDP_STOP_NOT_YET;
    else
        *stop = all.first;
    return COBRE_OK;
}
