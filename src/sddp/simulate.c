/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.c: walks through the graph with a policy: along trajectories, or for one step.
 *
 * Every LP of every trajectory starts from the policy's start of its node, so that a trajectory does not depend on the
 * others. Trajectories are dealt out in rounds: in each, rank r of R computes the r-th block of ROUND * R trajectories,
 * and passes their steps to its own callback. After a round the ranks meet: has one failed, or been asked to stop? Mean
 * and deviation are exact sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/run/netcdf.h"
#include "sddp/run/simulation.h"
#include "sddp/train/trainer.h"
#include "sddp/usual_floats.h"

#define ROUND 8 /* trajectories per rank in a round */

typedef struct {
    cb_arena memory; /* of the arrays below */
    cobre_sddp_policy *policy;
    const cobre_sddp_problem *problem;
    cb_stages *stages;
    cobre_sddp_sampling sampling;
    uint64_t seed;
    cb_rng_purpose purpose;
    uint32_t a;
    size_t max_steps;
    size_t start;        /* the node where trajectories begin; CB_ROOT: where that leads */
    const double *given; /* the state that comes in there; NULL: the initial one */
    size_t skipped;      /* of the current scenario: its steps before the start */
    void (*tell)(void *arg, const cobre_sddp_stage *stage); /* NULL: nobody wants to know */
    void *arg;
    cb_path path;  /* of the current trajectory */
    double *noise; /* of the current step */
    double *state; /* in, then out */
    double *column, *dual;
} simulation;

static double edge_discount(const cobre_sddp_problem *problem, size_t from, size_t to) {
    size_t count = from == CB_ROOT ? problem->all_root_edges : problem->node[from].all_edges;
    const cb_edge *edge = from == CB_ROOT ? problem->root_edge : problem->node[from].edge;
    for (size_t e = 0; e < count; e++)
        if (edge[e].to == to)
            return edge[e].discount;
    return 1;
}

/* The step of a scenario with which its trajectory begins; as many as it has if it never comes to the start. */
static size_t first_step(const cobre_sddp_problem *problem, size_t scenario, size_t start) {
    size_t k = 0, steps = cb_scenario_steps(problem, scenario);
    while (start != CB_ROOT && k < steps && cb_scenario_node(problem, scenario, k) != start)
        k++;
    return k;
}

static bool given_path(simulation *sim, size_t trajectory) {
    size_t all = cb_scenario_steps(sim->problem, trajectory);
    double discount = 1;
    struct cb_step *step = realloc(sim->path.step, (all + 1) * sizeof *step);
    if (!step)
        return false;
    sim->skipped = first_step(sim->problem, trajectory, sim->start);
    sim->path = (cb_path){.step = step, .room = all + 1, .steps = all - sim->skipped};
    for (size_t k = 0; k < sim->path.steps; k++) {
        size_t node = cb_scenario_node(sim->problem, trajectory, sim->skipped + k);
        if (k > 0 || sim->start == CB_ROOT)
            discount *= edge_discount(sim->problem, k > 0 ? step[k - 1].node : CB_ROOT, node);
        step[k] = (struct cb_step){.node = node, .outcome = CB_NONE, .discount = discount};
    }
    return true;
}

static cobre_status set_path(simulation *sim, size_t trajectory) {
    bool done = sim->sampling == COBRE_SDDP_GIVEN
                    ? given_path(sim, trajectory)
                    : cb_path_sample(sim->problem, sim->start, sim->seed, sim->purpose, sim->a, (uint32_t)trajectory,
                                     sim->max_steps, &sim->path);
    if (!done)
        return cb_no_memory("a path", sim->path.steps);
    for (size_t k = 0; k < sim->path.steps; k++)
        if (sim->sampling == COBRE_SDDP_OUT_OF_SAMPLE && sim->problem->node[sim->path.step[k].node].model.deviation)
            sim->path.step[k].outcome = CB_NONE;
    return COBRE_OK;
}

/* A scenario gives what noise shows in: the noise follows from the state. */
static cobre_status given_noise(simulation *sim, size_t trajectory, size_t k, const double **noise) {
    size_t step = sim->skipped + k, n = sim->path.step[k].node;
    const cb_node *node = &sim->problem->node[n];
    const double *wanted = cb_scenario_values(sim->problem, trajectory, step);
    char why[CB_LIMITS_ROOM];
    *noise = node->shown ? sim->noise : wanted;
    for (size_t i = 0; node->shown && i < node->randoms; i++)
        if (!cb_noise_for(sim->problem, n, i, sim->state, wanted[i], &sim->noise[i], why))
            return cb_fail(COBRE_INVALID_CASE, cb_noise_advice(node), "scenario %zu, step %zu (node %s): %s",
                           trajectory + 1, step + 1, node->name, why);
    return node->shown ? cb_check_noise(node, sim->noise) : COBRE_OK;
}

/* The noise of step k. Draws of their own are told from the path's by a + 1. */
static cobre_status find_noise(simulation *sim, size_t trajectory, size_t k, const double **noise) {
    const struct cb_step *step = &sim->path.step[k];
    const cb_node *node = &sim->problem->node[step->node];
    *noise = sim->noise;
    if (step->outcome != CB_NONE) {
        *noise = node->outcome + step->outcome * node->randoms;
        return COBRE_OK;
    }
    if (sim->sampling == COBRE_SDDP_GIVEN)
        return given_noise(sim, trajectory, k, noise);
    cb_rng rng;
    cb_rng_start(&rng, sim->seed, sim->purpose, sim->a + 1, (uint32_t)trajectory, (uint32_t)k);
    cb_draw(&node->model, node->randoms, &rng, sim->noise);
    return cb_check_draw(node, sim->noise);
}

/* Tells the callback what the LP of step k gave. */
static void tell_stage(simulation *sim, size_t trajectory, size_t k, const double *noise, const cb_stage *stage) {
    const struct cb_step *step = &sim->path.step[k];
    double sign = sim->problem->maximise ? -1 : 1;
    for (size_t j = 0; j < stage->node->columns; j++)
        sim->column[j] = cb_stage_column(stage, j);
    for (size_t i = 0; i < stage->node->rows; i++)
        sim->dual[i] = sign * stage->dual[i];
    sim->tell(sim->arg, &(cobre_sddp_stage){.struct_size = sizeof(cobre_sddp_stage),
                                            .trajectory = trajectory,
                                            .step = k,
                                            .node = step->node,
                                            .outcome = step->outcome,
                                            .stage_cost = sign * (stage->objective - stage->future),
                                            .future_cost = sign * stage->future,
                                            .discount = step->discount,
                                            .noise = noise,
                                            .state_in = sim->state,
                                            .state_out = sim->state + sim->problem->states,
                                            .columns = sim->column,
                                            .row_duals = sim->dual});
}

/* Step k of sim->path: from sim->state to the state behind it. */
static cobre_status take_step(simulation *sim, size_t trajectory, size_t k, const double *noise, double *cost) {
    const struct cb_step *step = &sim->path.step[k];
    cb_stage *stage;
    CB_TRY(cb_stages_get(sim->stages, step->node, &stage));
    CB_TRY(cb_stage_start(stage, &sim->policy->start[step->node]));
    cb_stage_set_state(stage, sim->state);
    cb_stage_set_noise(stage, noise);
    CB_TRY(cb_stage_solve(stage, step->outcome, noise));
    cb_stage_state_out(stage, sim->state + sim->problem->states);
    *cost += step->discount * (stage->objective - stage->future);
    if (sim->tell)
        tell_stage(sim, trajectory, k, noise, stage);
    return COBRE_OK;
}

/* Walks along sim->path. */
static cobre_status walk(simulation *sim, size_t trajectory, double *cost) {
    size_t states = sim->problem->states;
    CB_TRY(cb_take_state(sim->problem, sim->start, sim->given, sim->state));
    *cost = 0;
    for (size_t k = 0; k < sim->path.steps; k++) {
        const double *noise;
        CB_TRY(find_noise(sim, trajectory, k, &noise));
        CB_TRY(take_step(sim, trajectory, k, noise, cost));
        memcpy(sim->state, sim->state + states, states * sizeof *sim->state);
    }
    return COBRE_OK;
}

/* Trajectories [first, last). */
static cobre_status compute(simulation *sim, size_t first, size_t last, double *cost) {
    for (size_t m = first; m < last; m++) {
        CB_TRY(set_path(sim, m));
        CB_TRY(walk(sim, m, &cost[m - first]));
    }
    return COBRE_OK;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static cobre_status init(simulation *sim) {
    size_t randoms = 0, columns = 0, rows = 0;
    sim->problem = sim->policy->problem;
    for (size_t n = 0; n < sim->problem->nodes; n++) {
        randoms = larger(randoms, sim->problem->node[n].randoms);
        columns = larger(columns, sim->problem->node[n].columns);
        rows = larger(rows, sim->problem->node[n].rows);
    }
    sim->noise = cb_arena_alloc(&sim->memory, randoms, sizeof *sim->noise);
    sim->state = cb_arena_alloc(&sim->memory, 2 * sim->problem->states, sizeof *sim->state);
    sim->column = cb_arena_alloc(&sim->memory, columns, sizeof *sim->column);
    sim->dual = cb_arena_alloc(&sim->memory, rows, sizeof *sim->dual);
    return sim->memory.failed ? cb_no_memory("a simulation", (randoms + columns + rows) * sizeof(double)) : COBRE_OK;
}

static void release(simulation *sim) {
    cb_arena_free(&sim->memory);
    free(sim->path.step);
}

cobre_status cb_simulate_costs(cobre_sddp_policy *policy, cb_stages *stages, uint64_t seed, cb_rng_purpose purpose,
                               uint32_t a, size_t first, size_t last, double *cost) {
    simulation sim = {.policy = policy, .stages = stages, .seed = seed, .purpose = purpose, .a = a, .start = CB_ROOT};
    cobre_status status = init(&sim);
    if (!status)
        status = compute(&sim, first, last, cost);
    release(&sim);
    return status;
}

static cobre_status summarise(cobre_comm *comm, double sign, const double *cost, size_t count, size_t total,
                              cobre_sddp_simulation *result) {
    double extreme[2] = {-INFINITY, -INFINITY}; /* the largest, and minus the smallest */
    CB_TRY(cb_mean_deviation(comm, cost, count, total, &result->mean, &result->deviation));
    for (size_t i = 0; i < count; i++) {
        extreme[0] = fmax(extreme[0], sign * cost[i]);
        extreme[1] = fmax(extreme[1], -sign * cost[i]);
    }
    CB_TRY(cobre_allreduce(comm, extreme, 2, extreme, 2, COBRE_F64, COBRE_MAX));
    result->trajectories = total;
    result->mean *= sign;
    result->half = total > 1 ? 1.96 * result->deviation / sqrt((double)total) : INFINITY;
    result->maximum = extreme[0];
    result->minimum = -extreme[1];
    return COBRE_OK;
}

/* All rounds; *count costs of this rank's trajectories, *total of all ranks'. */
static cobre_status rounds(simulation *sim, cobre_comm *comm, const cobre_sddp_simulate_options *options,
                           size_t trajectories, double *cost, size_t *count, size_t *total) {
    size_t ranks = cobre_size(comm);
    for (uint32_t asked = 0; !asked && *total < trajectories;) {
        size_t left = trajectories - *total, round = left < ROUND * ranks ? left : ROUND * ranks, first, last;
        cb_block(round, cobre_rank(comm), ranks, &first, &last);
        CB_TRY(cb_agree(comm, compute(sim, *total + first, *total + last, cost + *count)));
        asked = options->stop && options->stop(options->arg);
        CB_TRY(cobre_allreduce_t(comm, &asked, &asked, 1, COBRE_MAX));
        *count += last - first;
        *total += round;
    }
    return COBRE_OK;
}

static bool leads_to(const cobre_sddp_problem *problem, size_t node) {
    for (size_t e = 0; e < problem->all_root_edges; e++)
        if (problem->root_edge[e].to == node)
            return true;
    return false;
}

/* Every scenario has the step with which trajectories begin. */
static cobre_status check_scenarios(const cobre_sddp_problem *problem, size_t start) {
    if (problem->scenarios == 0)
        return cb_refuse("options.sampling", "simulate in-sample", "the case gives no scenarios of its own");
    for (size_t s = 0; s < problem->scenarios; s++) {
        size_t k = first_step(problem, s, start);
        if (k == cb_scenario_steps(problem, s))
            return cb_refuse("options.node", "begin at a node that all of them have, or leave it out of the table",
                             "scenario %zu has no step at node %s", s + 1, problem->node[start].name);
        size_t node = cb_scenario_node(problem, s, k);
        if (start == CB_ROOT && !leads_to(problem, node))
            return cb_refuse("options.node", "say where the simulation begins, and in which state (--stage, --state)",
                             "scenario %zu begins at node %s, which is not where the case begins", s + 1,
                             problem->node[node].name);
    }
    return COBRE_OK;
}

static cobre_status check_policy(const cobre_sddp_policy *policy) {
    if (!policy)
        return cb_refuse_null("policy");
    if (!policy->problem)
        return cb_refuse("policy", "load it by cobre_sddp_policy_load",
                         "the policy was read without its problem, and cannot be simulated");
    return COBRE_OK;
}

static size_t start_of(const cobre_sddp_simulate_options *options) {
    return options->has_node ? options->node : CB_ROOT;
}

static cobre_status check(const cobre_sddp_policy *policy, const cobre_sddp_simulate_options *options) {
    const cobre_sddp_problem *problem = policy->problem;
    if ((unsigned)options->sampling > COBRE_SDDP_GIVEN)
        return cb_refuse("options.sampling", "use one of the cobre_sddp_sampling constants",
                         "options.sampling is %d, which is not a way of sampling", (int)options->sampling);
    if (options->trajectories > UINT32_MAX)
        return cb_refuse("options.trajectories", "simulate again with another seed instead",
                         "%zu trajectories are too many", options->trajectories);
    if (options->has_node && options->node >= problem->nodes)
        return cb_refuse_node("options.node", problem, options->node);
    CB_TRY(cb_take_state(problem, start_of(options), options->state, NULL));
    return options->sampling == COBRE_SDDP_GIVEN ? check_scenarios(problem, start_of(options)) : COBRE_OK;
}

#define TRAINED_WITH "the policy was trained with"
#define OR_CHOOSE ", or choose a solver (--solver)"

static cobre_status choose_solvers(const cobre_sddp_policy *policy, const cobre_sddp_simulate_options *options,
                                   cb_lp_pair *pair) {
    if (options->solver)
        return cb_lp_agree(policy->comm, options->solver, (int)cb_usual_rows(policy->problem), pair);
    if (pair->solver)
        return COBRE_OK;
    return cb_lp_take(policy->comm, &policy->solvers, TRAINED_WITH, OR_CHOOSE, pair);
}

static cobre_status simulate(cobre_sddp_policy *policy, const cb_stage_kind *kind,
                             const cobre_sddp_simulate_options *options, cobre_sddp_simulation *result) {
    size_t trajectories = options->sampling == COBRE_SDDP_GIVEN ? policy->problem->scenarios
                          : options->trajectories               ? options->trajectories
                                                                : 1000;
    size_t count = 0, total = 0;
    cb_stages stages;
    simulation sim = {.policy = policy,
                      .stages = &stages,
                      .sampling = options->sampling,
                      .seed = options->seed,
                      .purpose = CB_RNG_SIMULATE,
                      .max_steps = options->max_steps,
                      .start = start_of(options),
                      .given = options->state,
                      .tell = options->stage,
                      .arg = options->arg};
    double *cost = cb_arena_alloc(&sim.memory, trajectories, sizeof *cost);
    cobre_status status = cb_stages_init(&stages, kind);
    if (!status)
        status = init(&sim);
    status = cb_agree(policy->comm, status);
    if (!status)
        status = rounds(&sim, policy->comm, options, trajectories, cost, &count, &total);
    if (!status)
        status = summarise(policy->comm, policy->problem->maximise ? -1 : 1, cost, count, total, result);
    if (!status)
        result->solves = cb_stages_solves(&stages);
    release(&sim);
    cb_stages_free(&stages);
    return status;
}

/* A simulation that writes tables: its callbacks, and those of the caller. */
typedef struct {
    const cobre_sddp_simulate_options *options; /* the caller's */
    struct cb_spool spool;
} recorder;

/* Without room for what it makes a simulation need not go on. */
static int record_stop(void *arg) {
    const recorder *its = arg;
    if (its->spool.failed)
        return 1;
    return its->options->stop ? its->options->stop(its->options->arg) : 0;
}

static void record_stage(void *arg, const cobre_sddp_stage *stage) {
    recorder *its = arg;
    cb_spool_stage(&its->spool, stage);
    if (its->options->stage)
        its->options->stage(its->options->arg, stage);
}

static cobre_status simulate_and_record(cobre_sddp_policy *policy, const cb_stage_kind *kind,
                                        const cobre_sddp_simulate_options *options, const struct cb_tables *tables,
                                        struct cb_kept *kept, cobre_sddp_simulation *result) {
    recorder its = {.options = options};
    cobre_sddp_simulate_options recorded = *options;
    recorded.arg = &its;
    recorded.stop = record_stop;
    recorded.stage = record_stage;
    cobre_status status = cb_spool_open(&its.spool, policy->comm, tables, policy->problem);
    if (!status)
        status = simulate(policy, kind, &recorded, result);
    if (!status)
        status = cb_spool_finish(&its.spool);
    if (!status && kept)
        status = cb_tables_keep(&its.spool, kept);
    if (!status && options->folder)
        status = cb_tables_write(&its.spool, tables, options->folder, kept);
    cb_spool_close(&its.spool);
    return status;
}

/* In memory all tables are one. */
static void choose_kept(struct cb_tables *tables, bool writes) {
    for (size_t table = CB_TABLE_COSTS + 1; table < CB_TABLES; table++) {
        tables->cells |= tables->wanted[table];
        tables->wanted[table] &= writes;
    }
}

cobre_status cb_simulate(cobre_sddp_policy *policy, const cobre_sddp_simulate_options *given, struct cb_kept *kept,
                         cobre_sddp_simulation *result) {
    CB_USUAL_FLOATS();
    cobre_sddp_simulate_options options = {0};
    cobre_sddp_simulation all = {0};
    struct cb_tables tables;
    CB_TRY(check_policy(policy));
    CB_TRY(CB_TAKE_OPTIONS(&options, given, cobre_sddp_simulate_options, stage));
    CB_TRY(CB_CHECK_RESULT(result, cobre_sddp_simulation, maximum));
    CB_TRY(check(policy, &options));
    CB_TRY(cb_tables_choose(&options, &tables));
    if (options.folder && tables.netcdf) /* rank 0 alone needs the library */
        CB_TRY(cb_agree(policy->comm, cobre_rank(policy->comm) == 0 ? cb_netcdf_ready() : COBRE_OK));
    cb_stage_kind kind = policy->kind;
    CB_TRY(choose_solvers(policy, &options, &kind.pair));
    if (options.lp_folder)
        kind.lp_folder = options.lp_folder;
    if (kept)
        choose_kept(&tables, options.folder != NULL);
    double begin = cb_clock();
    cobre_status status = options.folder || kept ? simulate_and_record(policy, &kind, &options, &tables, kept, &all)
                                                 : simulate(policy, &kind, &options, &all);
    all.seconds = cb_clock() - begin;
    if (!status && result)
        cb_versioned_give(result, CB_THROUGH(cobre_sddp_simulation, maximum), &all, sizeof all);
    return status;
}

cobre_status cobre_sddp_simulate(cobre_sddp_policy *policy, const cobre_sddp_simulate_options *options,
                                 cobre_sddp_simulation *result) {
    return cb_simulate(policy, options, NULL, result);
}

/* The solvers of this rank alone. */
static cobre_status find_solvers(const cobre_sddp_policy *policy, const char *solver, cb_lp_pair *pair) {
    if (solver)
        return cb_lp_choose(solver, (int)cb_most_rows(policy->problem), pair);
    return pair->solver ? COBRE_OK : cb_lp_find(&policy->solvers, TRAINED_WITH, OR_CHOOSE, pair);
}

/* One step, from the state and with the noise of the options. */
static cobre_status decide(simulation *sim, const cobre_sddp_decide_options *options) {
    double cost = 0;
    struct cb_step *step = sim->path.step = malloc(sizeof *step);
    CB_TRY(init(sim));
    if (!step)
        return cb_no_memory("a step", sizeof *step);
    *step = (struct cb_step){.node = options->node, .outcome = CB_NONE, .discount = 1};
    CB_TRY(cb_take_state(sim->problem, options->node, options->state, sim->state));
    if (!options->noise)
        CB_TRY(cobre_sddp_problem_mean_noise(sim->problem, options->node, sim->noise));
    return take_step(sim, 0, 0, options->noise ? options->noise : sim->noise, &cost);
}

cobre_status cobre_sddp_decide(cobre_sddp_policy *policy, const cobre_sddp_decide_options *given) {
    CB_USUAL_FLOATS();
    cobre_sddp_decide_options options = {0};
    CB_TRY(check_policy(policy));
    CB_TRY(CB_TAKE_OPTIONS(&options, given, cobre_sddp_decide_options, stage));
    if (options.node >= policy->problem->nodes)
        return cb_refuse_node("options.node", policy->problem, options.node);
    if (options.noise)
        CB_TRY(cb_check_noise(&policy->problem->node[options.node], options.noise));
    cb_stage_kind kind = policy->kind;
    cb_stages stages;
    CB_TRY(find_solvers(policy, options.solver, &kind.pair));
    if (options.lp_folder)
        kind.lp_folder = options.lp_folder;
    simulation sim = {.policy = policy, .stages = &stages, .tell = options.stage, .arg = options.arg};
    cobre_status status = cb_stages_init(&stages, &kind);
    if (!status)
        status = decide(&sim, &options);
    release(&sim);
    cb_stages_free(&stages);
    return status;
}
