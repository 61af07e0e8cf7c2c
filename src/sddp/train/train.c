/* train.c: the training loop.
 *
 * An iteration: forward passes, each rank its block; backward pass, one gather of cuts a step; the bound, by the owner of
 * trajectory 0, which is rank 0; then one exchange:
 *   - allreduce, maximum: did a rank fail, is a rank asked to stop, is a rank out of time; the bound and the size of
 *     the starts, which only rank 0 has;
 *   - broadcast of the starts of the next iteration: where trajectory 0's last solve at each node ended;
 *   - two exact sums (mean, then squares of the deviations from it);
 *   - allreduce, sum: LPs solved, and ranks that had no memory for what they got.
 * So everything that the next iteration depends on is in the policy, and the same on all ranks: a policy file is a
 * checkpoint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/train/trainer.h"

cobre_status cb_mean_deviation(cobre_comm *comm, const double *value, size_t count, size_t total, double *mean,
                               double *deviation) {
    cobre_exact sum, squares;
    cobre_exact_init(&sum);
    cobre_exact_init(&squares);
    cobre_exact_add_n(&sum, value, count);
    CB_TRY(cobre_exact_allreduce(comm, &sum));
    *mean = cobre_exact_round(&sum) / (double)total;
    for (size_t i = 0; i < count; i++)
        cobre_exact_add(&squares, (value[i] - *mean) * (value[i] - *mean));
    CB_TRY(cobre_exact_allreduce(comm, &squares));
    *deviation = total > 1 ? sqrt(cobre_exact_round(&squares) / (double)(total - 1)) : 0;
    return COBRE_OK;
}

/* The starts of the next iteration, from rank 0 to all. *own: see trainer.h. */
static cobre_status send_starts(cb_trainer *trainer, const unsigned char *packed, size_t bytes, cobre_status *own) {
    if (bytes > trainer->starts_room) { /* on all ranks or on none */
        unsigned char *more = realloc(trainer->starts, 2 * bytes);
        trainer->starts = more ? more : trainer->starts;
        CB_TRY(cb_agree(trainer->comm, more ? COBRE_OK : cb_no_memory("starts", 2 * bytes)));
        trainer->starts_room = 2 * bytes;
    }
    if (packed)
        memcpy(trainer->starts, packed, bytes);
    CB_TRY(cobre_broadcast(trainer->comm, trainer->starts, bytes, COBRE_U8, 0));
    *own = cb_starts_unpack(trainer->policy->start, trainer->problem->nodes, trainer->starts, bytes);
    return COBRE_OK;
}

/* Rank 0: where trajectory 0 ended at each node it visited, the old start elsewhere. */
static unsigned char *pack_starts(cb_trainer *trainer, size_t *bytes) {
    for (size_t n = 0; n < trainer->problem->nodes; n++)
        if (cb_trainer_chain(trainer, 0, n)->set &&
            !cb_start_copy(&trainer->policy->start[n], cb_trainer_chain(trainer, 0, n)))
            return NULL;
    return cb_starts_pack(trainer->policy->start, trainer->problem->nodes, bytes);
}

static cobre_status exchange(cb_trainer *trainer, cobre_status own, uint64_t solves_before, bool *asked, bool *late) {
    cobre_sddp_policy *policy = trainer->policy;
    size_t bytes = 0;
    unsigned char *packed = NULL;
    if (trainer->rank == 0 && !own && !(packed = pack_starts(trainer, &bytes)))
        own = cb_no_memory("starts", 0);
    const cobre_sddp_train_options *options = &trainer->options;
    double seconds = cb_clock() - trainer->start_time;
    double word[5] = {own != 0, options->stop && options->stop(options->arg),
                      options->seconds > 0 && seconds >= options->seconds,
                      trainer->rank == 0 ? trainer->bound : -INFINITY, (double)bytes};
    cobre_status status = cobre_allreduce(trainer->comm, word, 5, word, 5, COBRE_F64, COBRE_MAX);
    if (!status)
        status = word[0] != 0 ? cb_agree(trainer->comm, own) : send_starts(trainer, packed, (size_t)word[4], &own);
    free(packed);
    CB_TRY(status);
    *asked = word[1] != 0;
    *late = word[2] != 0;
    cb_trace trace = {.bound = word[3], .cuts = policy->pool.cuts};
    CB_TRY(cb_mean_deviation(trainer->comm, trainer->cost, trainer->last - trainer->first, policy->passes, &trace.mean,
                             &trace.deviation));
    if (!own && !cb_policy_trace(policy, trace))
        own = cb_no_memory("the trace", 0);
    uint64_t sum[2] = {cb_stages_solves(&trainer->stages) - solves_before, own != 0};
    CB_TRY(cobre_allreduce(trainer->comm, sum, 2, sum, 2, COBRE_U64, COBRE_SUM));
    if (sum[1] > 0)
        return cb_agree(trainer->comm, own);
    size_t last = policy->iterations - 1;
    policy->trace[last].solves = sum[0] + (last > 0 ? policy->trace[last - 1].solves : 0);
    return COBRE_OK;
}

static cobre_status iterate(cb_trainer *trainer, bool *asked, bool *late) {
    uint64_t iteration = trainer->policy->iterations + 1, solves = cb_stages_solves(&trainer->stages);
    cobre_status own = COBRE_OK;
    double begin = cb_clock();
    CB_TRY(cb_forward(trainer, iteration, &own));
    trainer->times.forward += cb_clock() - begin;
    CB_TRY(cb_backward(trainer, iteration, &own));
    begin = cb_clock();
    if (trainer->rank == 0 && !own)
        own = cb_lower_bound(trainer);
    double bounded = cb_clock();
    trainer->times.bound += bounded - begin;
    CB_TRY(exchange(trainer, own, solves, asked, late));
    trainer->times.communication += cb_clock() - bounded;
    return COBRE_OK;
}

static cobre_status checkpoint(cb_trainer *trainer, bool last) {
    const cobre_sddp_train_options *options = &trainer->options;
    if (!options->checkpoint)
        return COBRE_OK;
    bool due = options->checkpoint_every > 0 && trainer->policy->iterations % options->checkpoint_every == 0;
    return due || last ? cobre_sddp_policy_save(trainer->policy, options->checkpoint) : COBRE_OK;
}

static cobre_status loop(cb_trainer *trainer, cobre_sddp_training *result) {
    const cobre_sddp_train_options *options = &trainer->options;
    cobre_sddp_policy *policy = trainer->policy;
    if (policy->iterations > 0)
        result->last = cb_policy_progress(policy, policy->iterations);
    CB_TRY(cb_rules_check(trainer, false, false, &result->stop)); /* a resumed run may have been done */
    if (options->start)
        options->start(options->arg);
    if (result->stop)
        CB_TRY(checkpoint(trainer, true));
    while (!result->stop) {
        bool asked, late;
        CB_TRY(iterate(trainer, &asked, &late));
        result->last = cb_policy_progress(policy, policy->iterations);
        result->last.seconds = cb_clock() - trainer->start_time;
        if (options->progress)
            options->progress(options->arg, &result->last);
        CB_TRY(cb_rules_check(trainer, asked, late, &result->stop));
        CB_TRY(checkpoint(trainer, result->stop != COBRE_SDDP_STOP_NOT_YET));
    }
    return COBRE_OK;
}

static bool is_averse(const cobre_sddp_problem *problem, const cobre_sddp_train_options *options) {
    return options->has_risk ? options->risk_beta < 1 : cobre_sddp_problem_averse(problem);
}

static cobre_status check(const cobre_sddp_problem *problem, const cobre_sddp_train_options *options) {
    if ((options->gap_rule || options->simulate_every) && is_averse(problem, options))
        return cb_fail(COBRE_INVALID_ARGUMENT, "stop by iterations, by time or when the bound stalls",
                       "with a risk measure the mean of simulated costs bounds nothing, so that the statistical "
                       "rules cannot hold");
    if (options->resume && options->warm_start)
        return cb_fail(COBRE_INVALID_ARGUMENT, "give one of them", "resume and warm_start exclude each other");
    if (options->has_risk &&
        !(options->risk_beta >= 0 && options->risk_beta <= 1 && options->risk_alpha > 0 && options->risk_alpha <= 1))
        return cb_fail(COBRE_INVALID_ARGUMENT, NULL, "risk: beta %g must be in [0, 1], alpha %g in (0, 1]",
                       options->risk_beta, options->risk_alpha);
    if (options->forward_passes > UINT32_MAX)
        return cb_fail(COBRE_INVALID_ARGUMENT, "make more iterations instead", "%zu forward passes are too many",
                       options->forward_passes);
    return COBRE_OK;
}

static cobre_sddp_train_options with_defaults(const cobre_sddp_train_options *options) {
    cobre_sddp_train_options all = {0};
    if (options)
        memcpy(&all, options, options->struct_size < sizeof all ? options->struct_size : sizeof all);
    all.forward_passes = all.forward_passes ? all.forward_passes : 1;
    all.stall_tolerance = all.stall_tolerance > 0 ? all.stall_tolerance : 1e-6;
    all.window = all.window ? all.window : 100;
    all.simulate_passes = all.simulate_passes ? all.simulate_passes : 500;
    bool any = all.iterations || all.seconds > 0 || all.stall_window || all.gap_rule || all.simulate_every;
    all.iterations = any ? all.iterations : 100;
    return all;
}

static cobre_status resume(cobre_comm *comm, cobre_sddp_problem *problem, const cobre_sddp_train_options *options,
                           cobre_sddp_policy **policy) {
    CB_TRY(cb_policy_read(comm, problem, options->resume, options->lp_folder, policy));
    const cobre_sddp_policy *old = *policy;
    const char *differs = NULL;
    if (options->solver && strcmp(options->solver, old->solvers.solver) != 0)
        differs = "solver";
    else if (options->seed != old->seed)
        differs = "seed";
    else if (options->forward_passes != old->passes)
        differs = "number of forward passes";
    else if (options->multi_cut != old->kind.multi_cut)
        differs = "kind of cuts";
    else if (options->has_risk != old->kind.has_risk ||
             (options->has_risk &&
              (options->risk_beta != old->kind.risk.beta || options->risk_alpha != old->kind.risk.alpha)))
        differs = "risk measure";
    if (!differs) {
        (*policy)->window = options->window;
        return cb_lp_take(comm, &old->solvers, CB_TEXT("%s was trained with", options->resume),
                          ", or use the policy as a warm start (--warm-start)", &(*policy)->kind.pair);
    }
    bool same_cuts = options->multi_cut == old->kind.multi_cut && strcmp(differs, "risk measure") != 0;
    cobre_sddp_policy_free(policy);
    return cb_fail_at(COBRE_INVALID_ARGUMENT, options->resume, 0,
                      CB_TEXT("resume with the same options%s", same_cuts ? ", or use it as a warm start" : ""),
                      "%s: the %s is not the one of that run", options->resume, differs);
}

static cobre_status begin(cobre_comm *comm, cobre_sddp_problem *problem, const cobre_sddp_train_options *options,
                          cobre_sddp_policy **policy) {
    if (options->resume)
        return resume(comm, problem, options, policy);
    cb_lp_pair pair;
    CB_TRY(cb_lp_agree(comm, options->solver, (int)cb_most_rows(problem), &pair));
    cb_policy_options own = {.solvers = cb_lp_names_of(&pair),
                             .seed = options->seed,
                             .window = options->window,
                             .passes = options->forward_passes,
                             .multi_cut = options->multi_cut,
                             .has_risk = options->has_risk,
                             .risk = {.beta = options->risk_beta, .alpha = options->risk_alpha},
                             .lp_folder = options->lp_folder};
    cobre_status status = cb_agree(comm, cb_policy_new(comm, problem, &own, policy));
    if (!status)
        (*policy)->kind.pair = pair;
    return !status && options->warm_start ? cb_policy_add_cuts(*policy, options->warm_start) : status;
}

cobre_status cobre_sddp_train(cobre_comm *comm, cobre_sddp_problem *problem, const cobre_sddp_train_options *given,
                              cobre_sddp_policy **policy, cobre_sddp_training *result) {
    cobre_sddp_train_options options = with_defaults(given);
    cobre_sddp_training none = {0}, *all = result ? result : &none;
    cb_trainer trainer = {0};
    *policy = NULL;
    *all = (cobre_sddp_training){0};
    CB_TRY(check(problem, &options));
    cobre_status status = begin(comm, problem, &options, policy);
    if (!status)
        status = cb_problem_share_tours(comm, problem);
    if (!status)
        status = cb_agree(comm, cb_trainer_init(&trainer, *policy, &options));
    if (!status) {
        status = loop(&trainer, all);
        all->iterations = (*policy)->iterations;
        all->times = trainer.times;
        all->times.total = cb_clock() - trainer.start_time;
    }
    cb_trainer_free(&trainer);
    if (status)
        cobre_sddp_policy_free(policy);
    return status;
}
