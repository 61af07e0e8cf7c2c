/* simulate.c: walking through the graph with a policy.
 *
 * Every LP of every trajectory starts from the policy's start of its node, so that a trajectory does not depend on the
 * others. Trajectories are dealt out in rounds: in each, rank r of R computes the r-th block of ROUND * R trajectories;
 * then, if anybody wants to see the stages, one allgatherv brings all of them to all ranks, and the callback is called in
 * the order of trajectories and steps. Paths and noise need not travel: every rank can draw them. Mean and deviation are
 * exact sums. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/train/trainer.h"

#define ROUND 4 /* trajectories a rank and round */

typedef struct {
    cobre_sddp_policy *policy;
    const cobre_sddp_problem *problem;
    cb_stages *stages;
    cobre_sddp_sampling sampling;
    uint64_t seed;
    cb_rng_purpose purpose;
    uint32_t a;
    size_t max_steps;
    cb_path path;  /* of the current trajectory */
    double *noise; /* of the current step */
    double *state; /* in, then out */
} simulation;

static double edge_discount(const cobre_sddp_problem *problem, size_t from, size_t to) {
    size_t count = from == CB_ROOT ? problem->root_edges : problem->node[from].edges;
    const cb_edge *edge = from == CB_ROOT ? problem->root_edge : problem->node[from].edge;
    for (size_t e = 0; e < count; e++)
        if (edge[e].to == to)
            return edge[e].discount;
    return 1;
}

static bool given_path(const cobre_sddp_problem *problem, size_t trajectory, cb_path *path) {
    const cb_scenario *scenario = &problem->scenario[trajectory];
    size_t from = CB_ROOT;
    double discount = 1;
    struct cb_step *step = realloc(path->step, (scenario->steps + 1) * sizeof *step);
    if (!step)
        return false;
    path->step = step;
    path->room = scenario->steps + 1;
    path->steps = scenario->steps;
    for (size_t k = 0; k < scenario->steps; from = scenario->node[k++]) {
        discount *= edge_discount(problem, from, scenario->node[k]);
        step[k] = (struct cb_step){.node = scenario->node[k], .outcome = CB_NONE, .discount = discount};
    }
    return true;
}

static cobre_status set_path(simulation *sim, size_t trajectory) {
    bool done = sim->sampling == COBRE_SDDP_GIVEN ? given_path(sim->problem, trajectory, &sim->path)
                                                  : cb_path_sample(sim->problem, sim->seed, sim->purpose, sim->a,
                                                                   (uint32_t)trajectory, sim->max_steps, &sim->path);
    if (!done)
        return cb_no_memory("a path", sim->path.steps);
    for (size_t k = 0; k < sim->path.steps; k++)
        if (sim->sampling == COBRE_SDDP_OUT_OF_SAMPLE && sim->problem->node[sim->path.step[k].node].draw)
            sim->path.step[k].outcome = CB_NONE;
    return COBRE_OK;
}

/* The noise of step k. Draws of their own are told from the path's by a + 1. */
static const double *noise_of(simulation *sim, size_t trajectory, size_t k) {
    const struct cb_step *step = &sim->path.step[k];
    const cb_node *node = &sim->problem->node[step->node];
    if (step->outcome != CB_NONE)
        return node->outcome + step->outcome * node->randoms;
    if (sim->sampling == COBRE_SDDP_GIVEN)
        return sim->problem->scenario[trajectory].values[k];
    cb_rng rng;
    cb_rng_start(&rng, sim->seed, sim->purpose, sim->a + 1, (uint32_t)trajectory, (uint32_t)k);
    node->draw(node->model, step->node, &rng, sim->noise);
    return sim->noise;
}

/* A stage on its way to the other ranks: stage cost, future cost, state out, columns, row duals. */
static size_t packed_stage(const cobre_sddp_problem *problem, size_t node) {
    return 2 + problem->states + problem->node[node].columns + problem->node[node].rows;
}

static void pack_stage(const simulation *sim, const cb_stage *stage, double *packed) {
    const cb_lp_solver *solver = stage->solver;
    double sign = sim->problem->maximise ? -1 : 1;
    size_t states = sim->problem->states;
    packed[0] = sign * (stage->objective - stage->future);
    packed[1] = sign * stage->future;
    memcpy(packed + 2, sim->state + states, states * sizeof *packed);
    double *column = packed + 2 + states, *row = column + stage->node->columns;
    for (size_t j = 0; j < stage->node->columns; j++)
        column[j] = solver->column_value(stage->lp, (int)j);
    for (size_t i = 0; i < stage->node->rows; i++)
        row[i] = sign * solver->row_dual(stage->lp, (int)i) / stage->kind->problem->scale;
}

/* Walks trajectory m along sim->path; packed may be NULL. */
static cobre_status walk(simulation *sim, size_t trajectory, double *packed, double *cost) {
    size_t states = sim->problem->states;
    for (size_t s = 0; s < states; s++)
        sim->state[s] = sim->problem->state[s].initial;
    *cost = 0;
    for (size_t k = 0; k < sim->path.steps; k++) {
        const struct cb_step *step = &sim->path.step[k];
        const double *noise = noise_of(sim, trajectory, k);
        cb_stage *stage;
        CB_TRY(cb_stages_get(sim->stages, step->node, &stage));
        CB_TRY(cb_stage_start(stage, &sim->policy->start[step->node]));
        cb_stage_set_state(stage, sim->state);
        cb_stage_set_noise(stage, noise);
        CB_TRY(cb_stage_solve(stage, step->outcome, noise));
        cb_stage_state_out(stage, sim->state + states);
        *cost += step->discount * (stage->objective - stage->future);
        if (packed) {
            pack_stage(sim, stage, packed);
            packed += packed_stage(sim->problem, step->node);
        }
        memcpy(sim->state, sim->state + states, states * sizeof *sim->state);
    }
    return COBRE_OK;
}

static cobre_status init(simulation *sim) {
    size_t most = 1;
    sim->problem = sim->policy->problem;
    for (size_t n = 0; n < sim->problem->nodes; n++)
        most = sim->problem->node[n].randoms > most ? sim->problem->node[n].randoms : most;
    sim->noise = malloc(most * sizeof *sim->noise);
    sim->state = malloc((2 * sim->problem->states + 1) * sizeof *sim->state);
    return sim->noise && sim->state ? COBRE_OK : cb_no_memory("a simulation", most * sizeof *sim->noise);
}

static void release(simulation *sim) {
    free(sim->noise);
    free(sim->state);
    free(sim->path.step);
}

cobre_status cb_simulate_costs(cobre_sddp_policy *policy, cb_stages *stages, uint64_t seed, cb_rng_purpose purpose,
                               uint32_t a, size_t first, size_t last, double *cost) {
    simulation sim = {.policy = policy, .stages = stages, .seed = seed, .purpose = purpose, .a = a};
    cobre_status status = init(&sim);
    for (size_t m = first; m < last && !status; m++) {
        status = set_path(&sim, m);
        if (!status)
            status = walk(&sim, m, NULL, &cost[m - first]);
    }
    release(&sim);
    return status;
}

/* One round: trajectories [begin, end). */
typedef struct {
    size_t begin, end;
    double *packed;        /* of all of them */
    size_t *count, *place; /* of each rank, in doubles */
    double *cost;          /* of this rank's */
} round_of;

static cobre_status measure(simulation *sim, cobre_comm *comm, round_of *round) {
    size_t ranks = cobre_size(comm), total = 0;
    for (size_t r = 0; r < ranks; r++) {
        size_t first, last;
        cb_block(round->end - round->begin, r, ranks, &first, &last);
        round->place[r] = total;
        for (size_t m = first; m < last; m++) {
            CB_TRY(set_path(sim, round->begin + m));
            for (size_t k = 0; k < sim->path.steps; k++)
                total += packed_stage(sim->problem, sim->path.step[k].node);
        }
        round->count[r] = total - round->place[r];
    }
    double *packed = realloc(round->packed, (total + 1) * sizeof *packed);
    if (!packed)
        return cb_no_memory("simulated stages", total * sizeof *packed);
    round->packed = packed;
    return COBRE_OK;
}

static cobre_status compute(simulation *sim, cobre_comm *comm, round_of *round, bool keep) {
    size_t rank = cobre_rank(comm), first, last;
    cb_block(round->end - round->begin, rank, cobre_size(comm), &first, &last);
    double *packed = keep ? round->packed + round->place[rank] : NULL;
    for (size_t m = first; m < last; m++) {
        CB_TRY(set_path(sim, round->begin + m));
        CB_TRY(walk(sim, round->begin + m, packed, &round->cost[m - first]));
        for (size_t k = 0; keep && k < sim->path.steps; k++)
            packed += packed_stage(sim->problem, sim->path.step[k].node);
    }
    return COBRE_OK;
}

/* Tells the stages of all trajectories of the round. */
static cobre_status tell(simulation *sim, const round_of *round, const cobre_sddp_simulate_options *options) {
    const double *packed = round->packed;
    size_t states = sim->problem->states;
    for (size_t m = round->begin; m < round->end; m++) {
        CB_TRY(set_path(sim, m));
        for (size_t s = 0; s < states; s++)
            sim->state[s] = sim->problem->state[s].initial;
        for (size_t k = 0; k < sim->path.steps; k++) {
            const struct cb_step *step = &sim->path.step[k];
            const double *out = packed + 2, *column = out + states;
            cobre_sddp_stage stage = {.trajectory = m,
                                      .step = k,
                                      .node = step->node,
                                      .outcome = step->outcome,
                                      .stage_cost = packed[0],
                                      .future_cost = packed[1],
                                      .discount = step->discount,
                                      .noise = noise_of(sim, m, k),
                                      .state_in = sim->state,
                                      .state_out = out,
                                      .columns = column,
                                      .row_duals = column + sim->problem->node[step->node].columns};
            options->stage(options->arg, &stage);
            memcpy(sim->state, out, states * sizeof *out);
            packed += packed_stage(sim->problem, step->node);
        }
    }
    return COBRE_OK;
}

static cobre_status one_round(simulation *sim, cobre_comm *comm, round_of *round,
                              const cobre_sddp_simulate_options *options, bool *asked) {
    bool keep = options->stage != NULL;
    cobre_status status = keep ? measure(sim, comm, round) : COBRE_OK;
    if (!status)
        status = compute(sim, comm, round, keep);
    uint32_t word[2] = {status != 0, options->stop && options->stop(options->arg)};
    CB_TRY(cobre_allreduce(comm, word, 2, word, 2, COBRE_U32, COBRE_MAX));
    if (word[0])
        return cb_agree(comm, status);
    *asked = word[1] != 0;
    if (!keep)
        return COBRE_OK;
    size_t rank = cobre_rank(comm), total = 0;
    for (size_t r = 0; r < cobre_size(comm); r++)
        total += round->count[r];
    CB_TRY(cobre_allgatherv(comm, round->packed + round->place[rank], round->count[rank], round->packed, total,
                            round->count, round->place, COBRE_F64));
    return cb_agree(comm, tell(sim, round, options));
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
    size_t ranks = cobre_size(comm), most = ROUND * ranks;
    size_t *counts = malloc(2 * ranks * sizeof *counts);
    round_of round = {.count = counts, .place = counts ? counts + ranks : NULL};
    cobre_status status = cb_agree(comm, counts ? COBRE_OK : cb_no_memory("counts", ranks));
    for (bool asked = false; !status && !asked && *total < trajectories; *total = round.end) {
        round.begin = *total;
        round.end = trajectories - *total > most ? *total + most : trajectories;
        round.cost = cost + *count;
        status = one_round(sim, comm, &round, options, &asked);
        size_t first, last;
        cb_block(round.end - round.begin, cobre_rank(comm), ranks, &first, &last);
        *count += last - first;
    }
    free(round.packed);
    free(counts);
    return status;
}

cobre_status cobre_sddp_simulate(cobre_comm *comm, cobre_sddp_policy *policy, const cobre_sddp_simulate_options *given,
                                 cobre_sddp_simulation *result) {
    cobre_sddp_simulate_options options = {0};
    cobre_sddp_simulation unwanted;
    if (given)
        memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
    size_t trajectories = options.sampling == COBRE_SDDP_GIVEN ? policy->problem->scenarios
                          : options.trajectories               ? options.trajectories
                                                               : 1000;
    if (trajectories == 0)
        return cb_fail(COBRE_INVALID_ARGUMENT, "simulate in-sample", "the case gives no scenarios of its own");
    cb_stage_kind kind = policy->kind;
    if (options.solver)
        CB_TRY(cb_lp_agree(comm, options.solver, (int)cb_most_rows(policy->problem), &kind.pair));
    else if (!kind.pair.solver)
        CB_TRY(cb_lp_take(comm, &policy->solvers, "the policy was trained with", ", or choose a solver (--solver)",
                          &kind.pair));
    if (options.lp_folder)
        kind.lp_folder = options.lp_folder;
    cb_stages stages;
    cobre_status status = cb_stages_init(&stages, &kind);
    simulation sim = {.policy = policy,
                      .stages = &stages,
                      .sampling = options.sampling,
                      .seed = options.seed,
                      .purpose = CB_RNG_SIMULATE,
                      .max_steps = options.max_steps};
    size_t count = 0, total = 0;
    double *cost = malloc((trajectories + 1) * sizeof *cost);
    if (!status)
        status = cost ? init(&sim) : cb_no_memory("simulated costs", trajectories * sizeof *cost);
    status = cb_agree(comm, status);
    if (!status)
        status = rounds(&sim, comm, &options, trajectories, cost, &count, &total);
    if (!status)
        status = summarise(comm, policy->problem->maximise ? -1 : 1, cost, count, total, result ? result : &unwanted);
    free(cost);
    release(&sim);
    cb_stages_free(&stages);
    return status;
}
