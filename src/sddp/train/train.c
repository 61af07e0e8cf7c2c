/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: the training loop.
 *
 * An iteration has forward passes, a backward pass with one gather of cuts per step, and the solves for the bound. In
 * all of them the ranks of a node share the work (team.h). If no rank failed, the ranks then exchange:
 *   - allreduce, maximum: the news;
 *   - broadcast: the starts of the next iteration, where trajectory 0's last solve at each node ended;
 *   - two exact sums: the mean, then the squares of the deviations from it;
 *   - allreduce, sum: LPs solved;
 *   - gather: the work of each rank (effort.c);
 *   - allreduce, maximum: which cuts were active, if those that are not are dropped (drop.c);
 *   - broadcast: stopping rules, if they were changed from outside (steer.c).
 * So everything that the next iteration depends on is in the policy, and the same on all ranks: a policy file is a
 * checkpoint.
 *
 * A failed iteration may leave cuts behind those that the trace counts, and nothing else. A file leaves them out, so
 * rank 0 alone can still save the complete iterations. A stopped iteration ends in the same way, but without a failure:
 * all ranks then drop these cuts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/train/rules.h"
#include "sddp/train/trainer.h"
#include "sddp/usual_floats.h"

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

/* The starts of the next iteration, from rank 0 to all. */
static cobre_status send_starts(cb_trainer *trainer, const unsigned char *packed) {
    size_t bytes = (size_t)trainer->news.start_bytes;
    if (bytes > trainer->starts_room) { /* on all ranks or on none */
        unsigned char *more = realloc(trainer->starts, 2 * bytes);
        trainer->starts = more ? more : trainer->starts;
        CB_TRY(cb_agree(trainer->comm, more ? COBRE_OK : cb_no_memory("starts", 2 * bytes)));
        trainer->starts_room = 2 * bytes;
    }
    if (packed)
        memcpy(trainer->starts, packed, bytes);
    return cobre_broadcast(trainer->comm, trainer->starts, bytes, COBRE_U8, 0);
}

cobre_status cb_news_exchange(cb_trainer *trainer, double start_bytes) {
    const cobre_sddp_train_options *options = &trainer->options;
    trainer->news = (cb_news){.asked = options->stop ? options->stop(options->arg) : 0,
                              .seconds = cb_clock() - trainer->start_time,
                              .bound = trainer->rank == 0 ? trainer->bound : -INFINITY,
                              .start_bytes = start_bytes,
                              .pause = trainer->pause,
                              .rules = trainer->rank == 0 && cb_rules_differ(&trainer->wished, options)};
    size_t words = sizeof trainer->news / sizeof(double);
    double begin = cb_clock();
    CB_TRY(cobre_allreduce(trainer->comm, &trainer->news, words, &trainer->news, words, COBRE_F64, COBRE_MAX));
    cb_tally_operation(trainer, COBRE_SDDP_OPERATION_ALLREDUCE, 1, sizeof trainer->news, begin);
    return COBRE_OK;
}

static cobre_status exchange(cb_trainer *trainer, const unsigned char *packed, size_t bytes, uint64_t solves,
                             cb_trace *trace) {
    cb_steer_ask(trainer);
    CB_TRY(cb_news_exchange(trainer, (double)bytes));
    double begin = cb_clock();
    CB_TRY(send_starts(trainer, packed));
    cb_tally_operation(trainer, COBRE_SDDP_OPERATION_BROADCAST, 1, (size_t)trainer->news.start_bytes, begin);
    trace->bound = trainer->news.bound;
    uint64_t own[2] = {solves, trainer->unproven}, all[2];
    begin = cb_clock();
    size_t costs = cobre_is_leader(trainer->comm) ? trainer->team.last - trainer->team.first : 0;
    CB_TRY(cb_mean_deviation(trainer->comm, trainer->team.cost, costs, trainer->policy->passes, &trace->mean,
                             &trace->deviation));
    CB_TRY(cobre_allreduce_t(trainer->comm, own, all, 2, COBRE_SUM));
    cb_tally_operation(trainer, COBRE_SDDP_OPERATION_ALLREDUCE, 3, 2 * sizeof(cobre_exact) + sizeof all, begin);
    trainer->tally.spent[COBRE_SDDP_EFFORT_SOLVES] += (double)solves;
    trace->solves = all[0];
    trainer->all_unproven = all[1];
    return cb_steer_take(trainer);
}

/* What was exchanged becomes part of the policy, all of it or nothing. */
static cobre_status take(cb_trainer *trainer, cb_trace trace) {
    cobre_sddp_policy *policy = trainer->policy;
    size_t bytes = (size_t)trainer->news.start_bytes, nodes = trainer->problem->nodes;
    trace.cuts = policy->pool.cuts;
    if (policy->iterations > 0)
        trace.solves += policy->trace[policy->iterations - 1].solves;
    CB_TRY(cb_starts_unpack(trainer->next, nodes, trainer->starts, bytes));
    if (!cb_policy_trace(policy, trace))
        return cb_no_memory("the trace", sizeof trace);
    for (size_t n = 0; n < nodes; n++) {
        cb_start old = policy->start[n];
        policy->start[n] = trainer->next[n];
        trainer->next[n] = old;
    }
    return COBRE_OK;
}

/* The end of an iteration: the ranks meet before the exchange, and again over what they had no memory for after it. */
static cobre_status finish(cb_trainer *trainer, cobre_status status, uint64_t solves) {
    cb_trace trace = {0};
    size_t bytes = 0;
    unsigned char *packed = NULL;
    CB_TRY(cb_trainer_settle(trainer, status ? status : cb_trainer_stopped(trainer, 2)));
    cb_team_clear(&trainer->team);
    if (trainer->rank == 0) {
        cb_lower_bound(trainer);
        if (!(packed = cb_next_starts(trainer, &bytes)))
            status = cb_no_memory("starts", 0);
    }
    status = cb_trainer_agree(trainer, status);
    if (!status)
        status = exchange(trainer, packed, bytes, solves, &trace);
    free(packed);
    return status ? status : cb_trainer_agree(trainer, take(trainer, trace));
}

static cobre_status iterate(cb_trainer *trainer) {
    uint64_t iteration = trainer->policy->iterations + 1, solves = cb_stages_solves(&trainer->stages);
    cb_pool *pool = &trainer->policy->pool;
    pool->now = pool->notes_use ? (uint32_t)iteration : 0;
    CB_TRY(cb_forward(trainer, iteration));
    CB_TRY(cb_backward(trainer, iteration));
    double begin = cb_clock();
    cobre_status status = cb_solve_first(trainer);
    cb_tally_add(trainer, COBRE_SDDP_EFFORT_BOUND, begin);
    pool->now = 0;
    CB_TRY(finish(trainer, status, cb_stages_solves(&trainer->stages) - solves));
    CB_TRY(cb_drop_cuts(trainer));
    return cb_tally_tell(trainer);
}

/* Rank 0 alone writes it and knows whether that went well: the others go on. */
void cb_checkpoint(cb_trainer *trainer) {
    const cobre_sddp_train_options *options = &trainer->options;
    bool by_count = options->checkpoint_every > 0 && trainer->policy->iterations % options->checkpoint_every == 0;
    bool by_time = options->checkpoint_seconds > 0 && cb_clock() - trainer->saved_time >= options->checkpoint_seconds;
    bool due = by_count || by_time || trainer->save;
    trainer->save = false;
    if (!options->checkpoint || trainer->rank > 0 || !due)
        return;
    cobre_status status = cb_policy_write(trainer->policy, options->checkpoint);
    trainer->saved_time = cb_clock();
    trainer->saved = status ? trainer->saved : trainer->policy->iterations;
    if (options->saved)
        options->saved(options->arg, status);
}

/* The last chance: if the file cannot be written, another one is. */
static cobre_status save_last(const cb_trainer *trainer, const char *path) {
    cobre_status status = cb_policy_write(trainer->policy, path);
    if (!status || !trainer->options.rescue)
        return status;
    cobre_error error = *cobre_last_error();
    (void)cb_policy_write(trainer->policy, trainer->options.rescue);
    return cobre_set_error(&error);
}

/* Training has failed: what was complete before is saved, and the error stays. */
static void save_rest(const cb_trainer *trainer) {
    const cobre_sddp_policy *policy = trainer->policy;
    const char *path = trainer->options.checkpoint;
    if (!path || trainer->rank > 0 || policy->iterations == trainer->saved)
        return;
    cobre_error error = *cobre_last_error();
    char message[sizeof error.message];
    memcpy(message, error.message, sizeof message);
    if (save_last(trainer, path))
        snprintf(error.message, sizeof error.message, "%.*s; and the policy so far cannot be saved: %.*s",
                 (int)sizeof message / 2, message, (int)sizeof message / 3, cobre_last_error()->message);
    cobre_set_error(&error);
}

/* How it ended. */
typedef struct {
    cobre_sddp_stop stop;
    cobre_sddp_progress last;
    uint64_t before; /* cuts before the first iteration */
    bool under_way;  /* an iteration is */
} ending;

/* All ranks were told to end now: what is in the policy is what was complete. */
static void stop_here(cb_trainer *trainer, ending *result) {
    cobre_sddp_policy *policy = trainer->policy;
    cb_pool_cut_off(&policy->pool,
                    policy->iterations > 0 ? policy->trace[policy->iterations - 1].cuts : result->before);
    result->stop = COBRE_SDDP_STOP_ASKED;
}

/* The rules are looked at again when something has changed that they depend on. */
static cobre_status pause_training(cb_trainer *trainer, cobre_sddp_stop *stop) {
    while (!*stop && trainer->news.pause != 0) {
        CB_TRY(cb_steer_pause(trainer));
        trainer->policy->window = trainer->options.window;
        if (trainer->news.asked != 0 || trainer->news.rules != 0 || cb_rules_late(trainer))
            CB_TRY(cb_rules_check(trainer, stop));
    }
    return COBRE_OK;
}

static cobre_status loop(cb_trainer *trainer, ending *result) {
    const cobre_sddp_train_options *options = &trainer->options;
    cobre_sddp_policy *policy = trainer->policy;
    result->before = policy->pool.cuts;
    if (policy->iterations > 0)
        result->last = cb_policy_progress(policy, policy->iterations);
    if (options->start)
        options->start(options->arg, policy->iterations);
    CB_TRY(cb_drop_cuts(trainer));
    CB_TRY(cb_rules_check(trainer, &result->stop)); /* a resumed run may have been done */
    while (!result->stop) {
        result->under_way = true;
        CB_TRY(iterate(trainer));
        result->under_way = false;
        result->last = cb_policy_progress(policy, policy->iterations);
        result->last.seconds = cb_clock() - trainer->start_time;
        cb_tally_show(trainer, &result->last);
        if (options->progress)
            options->progress(options->arg, &result->last);
        policy->window = options->window; /* it may have changed */
        CB_TRY(cb_rules_check(trainer, &result->stop));
        if (!result->stop)
            cb_checkpoint(trainer);
        CB_TRY(pause_training(trainer, &result->stop));
    }
    return COBRE_OK;
}

/* The loop, and what becomes of an iteration that did not come to its end. */
static cobre_status run(cb_trainer *trainer, ending *result) {
    cobre_status status = loop(trainer, result);
    if (status == CB_STOPPED)
        stop_here(trainer, result);
    else if (status)
        save_rest(trainer);
    return status == CB_STOPPED ? COBRE_OK : status;
}

static cobre_status check(const cobre_sddp_problem *problem, const cobre_sddp_train_options *options) {
    if (cb_rules_statistical(options) && cb_options_averse(problem, options))
        return cb_refuse("options", "stop by iterations, by time or when the bound stalls",
                         "with a risk measure the mean of simulated costs bounds nothing, so that the statistical "
                         "rules cannot hold");
    if (options->resume && options->warm_start)
        return cb_refuse("options.warm_start", "give one of them", "resume and warm_start exclude each other");
    if (options->has_risk &&
        !(options->risk_beta >= 0 && options->risk_beta <= 1 && options->risk_alpha > 0 && options->risk_alpha <= 1))
        return cb_refuse("options.risk_beta, options.risk_alpha", "correct them",
                         "risk: beta %g must be in [0, 1], alpha %g in (0, 1]", options->risk_beta,
                         options->risk_alpha);
    if (options->forward_passes > UINT32_MAX)
        return cb_refuse("options.forward_passes", "make more iterations instead", "%zu forward passes are too many",
                         options->forward_passes);
    if ((unsigned)options->drop_cuts > COBRE_SDDP_DROP_LAST_ACTIVE)
        return cb_refuse("options.drop_cuts", "give one of cobre_sddp_drop", "there is no rule %d for dropping cuts",
                         (int)options->drop_cuts);
    if (options->simulate_passes > UINT32_MAX)
        return cb_refuse("options.simulate_passes", "simulate more often instead", "%zu passes are too many",
                         options->simulate_passes);
    return COBRE_OK;
}

static void set_defaults(cobre_sddp_train_options *all) {
    all->forward_passes = all->forward_passes ? all->forward_passes : 1;
    all->drop_after = all->drop_cuts != COBRE_SDDP_DROP_LAST_ACTIVE ? 0 : all->drop_after ? all->drop_after : 50;
    cb_rules_default(all);
}

/* A resumed training has the bounds of its file: one that is given must be the same. */
static bool is_other_bound(const cobre_sddp_policy *policy, const cobre_sddp_train_options *options) {
    double bound = policy->problem->maximise ? -options->value_bound : options->value_bound;
    for (size_t n = 0; n < policy->names.nodes && options->has_value_bound; n++)
        if (policy->value_bound[n] != bound)
            return true;
    return false;
}

/* Frees the policy. */
static cobre_status other_case(cobre_sddp_policy **policy, const char *path) {
    cb_match match = (*policy)->match;
    cobre_sddp_policy_free(policy);
    return cb_fail_at(
        COBRE_INVALID_POLICY, path, 0,
        CB_TEXT("use it as a warm start (--warm-start%s)", match.valid ? "" : " with --accept-other-case"),
        "%s: it was trained for another case: %s", path, match.what);
}

static cobre_status resume(cobre_sddp_problem *problem, const cobre_sddp_train_options *options,
                           cobre_sddp_policy **policy) {
    CB_TRY(cb_policy_load(problem, options->resume, options->lp_folder, policy));
    const cobre_sddp_policy *old = *policy;
    const char *differs = NULL;
    if (old->match.what[0])
        return other_case(policy, options->resume);
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
    else if (options->drop_cuts != old->drop || options->drop_after != old->drop_after)
        differs = "rule for dropping cuts";
    else if (is_other_bound(old, options))
        differs = "value bound";
    if (!differs)
        return cb_lp_take(problem->comm, &old->solvers, CB_TEXT("%s was trained with", options->resume),
                          ", or use the policy as a warm start (--warm-start)", &(*policy)->kind.pair);
    bool same_cuts = options->multi_cut == old->kind.multi_cut && strcmp(differs, "risk measure") != 0;
    cobre_sddp_policy_free(policy);
    return cb_fail_at(COBRE_INVALID_ARGUMENT, options->resume, 0,
                      CB_TEXT("resume with the same options%s", same_cuts ? ", or use it as a warm start" : ""),
                      "%s: the %s is not the one of that run", options->resume, differs);
}

/* The bounds of the nodes, before there are cuts. */
static cobre_status bound_nodes(cobre_sddp_policy *policy, const cobre_sddp_train_options *options) {
    const cobre_sddp_validate_options given = {.has_value_bound = options->has_value_bound,
                                               .value_bound = options->value_bound};
    CB_TRY(cb_find_bounds(policy->problem, &policy->kind.pair, &given, policy->own_bound, policy->value_bound));
    for (size_t n = 0; n < policy->names.nodes && options->multi_cut; n++) {
        if (isfinite(policy->own_bound[n]))
            continue;
        if (!options->has_value_bound)
            return cb_refuse("options.multi_cut", "give a value bound, bound its states, or use single cuts",
                             "multi-cuts need a bound on the cost of node %s alone, and its LP has none",
                             cobre_sddp_policy_node_name(policy, n));
        /* Own bound and value bound add up to the given one: it also bounds the cost of each outcome from here on. */
        policy->own_bound[n] = policy->problem->node[n].edges > 0 ? 0 : policy->value_bound[n];
    }
    return COBRE_OK;
}

static cobre_status make(cobre_sddp_problem *problem, const cobre_sddp_train_options *options, const cb_lp_pair *pair,
                         cobre_sddp_policy **policy) {
    cb_policy_names names = {0};
    cb_policy_options own = {.solvers = cb_lp_names_of(pair),
                             .seed = options->seed,
                             .passes = options->forward_passes,
                             .multi_cut = options->multi_cut,
                             .has_risk = options->has_risk,
                             .risk = {.beta = options->risk_beta, .alpha = options->risk_alpha},
                             .drop = options->drop_cuts,
                             .drop_after = options->drop_after,
                             .lp_folder = options->lp_folder};
    cobre_status status = cb_names_of(problem, cb_options_averse(problem, options), &names);
    if (!status)
        return cb_policy_new(problem->comm, problem, &names, &own, policy);
    cb_arena_free(&names.memory);
    return status;
}

static cobre_status begin(cobre_sddp_problem *problem, const cobre_sddp_train_options *options,
                          cobre_sddp_policy **policy) {
    if (options->resume)
        return resume(problem, options, policy);
    cb_lp_pair pair;
    CB_TRY(cb_lp_agree(problem->comm, options->solver, (int)cb_usual_rows(problem), &pair));
    CB_TRY(cb_agree(problem->comm, make(problem, options, &pair, policy)));
    (*policy)->kind.pair = pair;
    CB_TRY(bound_nodes(*policy, options));
    return options->warm_start ? cb_policy_add_cuts(*policy, options->warm_start, options->accept_other_case)
                               : COBRE_OK;
}

static void tell(cb_trainer *trainer, const ending *end, cobre_sddp_training *result) {
    cb_tally_close(trainer);
    cobre_sddp_training all = {.stop = end->stop,
                               .iterations = trainer->policy->iterations,
                               .window_mean = end->last.window_mean,
                               .window_half = end->last.window_half,
                               .window_passes = end->last.window_passes,
                               .solves = end->last.solves,
                               .unproven = trainer->all_unproven,
                               .seconds = cb_clock() - trainer->start_time,
                               .unfinished = end->under_way};
    memcpy(all.effort, trainer->tally.spent, COBRE_SDDP_EFFORTS * sizeof *all.effort);
    if (result)
        cb_versioned_give(result, CB_THROUGH(cobre_sddp_training, seconds), &all, sizeof all);
}

cobre_status cobre_sddp_train(cobre_sddp_problem *problem, const cobre_sddp_train_options *given,
                              cobre_sddp_policy **policy, cobre_sddp_training *result) {
    CB_USUAL_FLOATS();
    cobre_sddp_train_options options = {0};
    cb_trainer trainer = {0};
    ending end = {.stop = COBRE_SDDP_STOP_NOT_YET};
    if (!problem || !policy)
        return cb_refuse_null(problem ? "policy" : "problem");
    *policy = NULL;
    CB_TRY(CB_TAKE_OPTIONS(&options, given, cobre_sddp_train_options, progress));
    CB_TRY(CB_CHECK_RESULT(result, cobre_sddp_training, seconds));
    set_defaults(&options);
    CB_TRY(check(problem, &options));
    cobre_status status = begin(problem, &options, policy);
    if (!status)
        status = cb_problem_share_tours(problem);
    if (!status)
        status = cb_trainer_init(&trainer, *policy, &options);
    if (!status)
        status = run(&trainer, &end);
    if (!status)
        status = cb_drop_end(&trainer);
    if (!status && options.checkpoint && (*policy)->iterations > 0)
        status = cb_agree(trainer.comm, trainer.rank == 0 ? save_last(&trainer, options.checkpoint) : COBRE_OK);
    if (!status)
        tell(&trainer, &end, result);
    cb_trainer_free(&trainer);
    if (status)
        cobre_sddp_policy_free(policy);
    return status;
}
