/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c: the data of a rank while it trains: creates, shares out and frees it. */
#include "sddp/train/trainer.h"

#include <stdlib.h>

void cb_block(size_t count, size_t rank, size_t ranks, size_t *first, size_t *last) {
    size_t each = count / ranks, longer = count % ranks;
    *first = rank * each + (rank < longer ? rank : longer);
    *last = *first + each + (rank < longer);
}

cobre_status cb_stages_init(cb_stages *stages, const cb_stage_kind *kind) {
    size_t nodes = kind->problem->nodes;
    *stages = (cb_stages){.kind = kind, .stage = calloc(nodes + 1, sizeof *stages->stage)};
    return stages->stage ? COBRE_OK : cb_no_memory("stage problems", nodes * sizeof *stages->stage);
}

void cb_stages_free(cb_stages *stages) {
    for (size_t n = 0; stages->stage && n < stages->kind->problem->nodes; n++)
        cb_stage_free(stages->stage[n]);
    free(stages->stage);
    *stages = (cb_stages){0};
}

cobre_status cb_stages_get(cb_stages *stages, size_t node, cb_stage **stage) {
    if (!stages->stage[node])
        CB_TRY(cb_stage_create(stages->kind, &stages->kind->problem->node[node], &stages->stage[node]));
    *stage = stages->stage[node];
    if (stages->last && stages->last != *stage)
        cb_stage_rest(stages->last);
    stages->last = *stage;
    return COBRE_OK;
}

uint64_t cb_stages_solves(const cb_stages *stages) {
    uint64_t sum = 0;
    for (size_t n = 0; n < stages->kind->problem->nodes; n++)
        sum += stages->stage[n] ? stages->stage[n]->solves : 0;
    return sum;
}

/* What one trajectory has in one step at most, after any node or the root; pieces: trajectory 0. */
static void measure(cb_team *team, const cobre_sddp_policy *policy) {
    const cobre_sddp_problem *problem = policy->problem;
    team->states = problem->states;
    team->outcomes = team->pieces = 1;
    for (size_t n = 0; n <= problem->nodes; n++) {
        bool root = n == problem->nodes;
        size_t edges = root ? problem->root_edges : problem->node[n].edges, outcomes = 0, pieces = 0;
        const cb_edge *edge = root ? problem->root_edge : problem->node[n].edge;
        for (size_t e = 0; e < edges; e++) {
            outcomes += problem->node[edge[e].to].outcomes;
            pieces += cb_pieces(&problem->node[edge[e].to], false);
        }
        team->outcomes = outcomes > team->outcomes ? outcomes : team->outcomes;
        team->pieces = pieces > team->pieces ? pieces : team->pieces;
    }
    team->records = (policy->kind.multi_cut ? team->outcomes : 1) * policy->pool.stride;
}

static bool allocate(cb_trainer *trainer) {
    size_t passes = trainer->policy->passes, nodes = trainer->problem->nodes, outcomes = trainer->team.outcomes;
    cb_arena *memory = &trainer->memory;
    trainer->path = cb_arena_alloc(memory, passes, sizeof *trainer->path);
    trainer->next = cb_arena_alloc(memory, nodes, sizeof *trainer->next);
    trainer->ended = cb_arena_alloc(memory, nodes, sizeof *trainer->ended);
    trainer->piece = cb_arena_alloc(memory, passes + 1, sizeof *trainer->piece);
    trainer->cut = cb_arena_alloc(memory, passes + 1, sizeof *trainer->cut);
    trainer->own_cut = cb_arena_alloc(memory, passes, sizeof *trainer->own_cut);
    trainer->count = cb_arena_alloc(memory, trainer->ranks, sizeof *trainer->count);
    trainer->probability = cb_arena_alloc(memory, outcomes, sizeof *trainer->probability);
    trainer->weight = cb_arena_alloc(memory, outcomes, sizeof *trainer->weight);
    trainer->worst = cb_arena_alloc(memory, outcomes, sizeof *trainer->worst);
    return !memory->failed && cb_tally_init(trainer) && cb_drop_init(trainer);
}

static cobre_status init_own(cb_trainer *trainer) {
    CB_TRY(cb_stages_init(&trainer->stages, &trainer->policy->kind));
    return allocate(trainer) ? COBRE_OK : cb_no_memory("training", trainer->policy->passes * trainer->problem->nodes);
}

cobre_status cb_trainer_init(cb_trainer *trainer, cobre_sddp_policy *policy, const cobre_sddp_train_options *options) {
    *trainer = (cb_trainer){.comm = policy->comm,
                            .rank = cobre_rank(policy->comm),
                            .ranks = cobre_size(policy->comm),
                            .policy = policy,
                            .problem = policy->problem,
                            .options = *options,
                            .start_time = cb_clock()};
    trainer->saved_time = trainer->start_time;
    trainer->wished = *options;
    policy->window = options->window;
    measure(&trainer->team, policy);
    CB_TRY(cb_agree(trainer->comm, init_own(trainer)));
    return cb_team_open(&trainer->team, trainer->comm, &trainer->memory, policy->passes);
}

void cb_trainer_free(cb_trainer *trainer) {
    for (size_t m = 0; trainer->path && m < trainer->policy->passes; m++)
        free(trainer->path[m].step);
    for (size_t n = 0; trainer->next && trainer->ended && n < trainer->problem->nodes; n++) {
        cb_start_free(&trainer->next[n]);
        cb_start_free(&trainer->ended[n]);
    }
    cb_team_close(&trainer->team);
    cb_drop_free(trainer);
    cb_start_free(&trainer->scratch);
    cb_stages_free(&trainer->stages);
    cb_arena_free(&trainer->memory);
    free(trainer->starts);
}

cobre_status cb_trainer_start(cb_trainer *trainer, size_t node, const cb_start *start, cb_stage **stage) {
    CB_TRY(cb_stages_get(&trainer->stages, node, stage));
    return cb_stage_start(*stage, start);
}

cobre_status cb_trainer_worked(cb_trainer *trainer, cobre_status status) {
    if (status)
        cb_team_give_up(&trainer->team);
    return status;
}

cobre_status cb_trainer_agree(cb_trainer *trainer, cobre_status status) {
    double begin = cb_clock();
    status = cb_agree(trainer->comm, status);
    cb_tally_add(trainer, COBRE_SDDP_EFFORT_WAITING, begin);
    return status;
}

cobre_status cb_trainer_settle(cb_trainer *trainer, cobre_status status) {
    CB_TRY(cb_trainer_agree(trainer, status));
    double begin = cb_clock();
    status = cb_team_settle(&trainer->team, trainer->comm);
    cb_tally_add(trainer, COBRE_SDDP_EFFORT_COMMUNICATION, begin);
    return status;
}

cobre_status cb_trainer_stopped(const cb_trainer *trainer, int wish) {
    const cobre_sddp_train_options *options = &trainer->options;
    return options->stop && options->stop(options->arg) >= wish ? CB_STOPPED : COBRE_OK;
}

cobre_status cb_trainer_solve(const cb_trainer *trainer, cb_stage *stage, size_t outcome, const double *noise) {
    CB_TRY(cb_trainer_stopped(trainer, 2));
    return cb_stage_solve(stage, outcome, noise);
}
