/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c: what a rank holds while it trains. */
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
    return COBRE_OK;
}

uint64_t cb_stages_solves(const cb_stages *stages) {
    uint64_t sum = 0;
    for (size_t n = 0; n < stages->kind->problem->nodes; n++)
        sum += stages->stage[n] ? stages->stage[n]->solves : 0;
    return sum;
}

/* Outcomes of all children of the node that has most of them. */
static size_t most_children(const cobre_sddp_problem *problem) {
    size_t most = 1;
    for (size_t n = 0; n < problem->nodes; n++) {
        size_t outcomes = cb_child_outcomes(problem, &problem->node[n]);
        most = outcomes > most ? outcomes : most;
    }
    return most;
}

static bool allocate(cb_trainer *trainer) {
    size_t passes = trainer->policy->passes, own = trainer->last - trainer->first, nodes = trainer->problem->nodes;
    size_t outcomes = most_children(trainer->problem), states = trainer->problem->states;
    size_t cuts = own * (trainer->policy->kind.multi_cut ? outcomes : 1);
    cb_arena *memory = &trainer->memory;
    trainer->path = cb_arena_alloc(memory, passes, sizeof *trainer->path);
    trainer->chain = cb_arena_alloc(memory, own * nodes, sizeof *trainer->chain);
    trainer->next = cb_arena_alloc(memory, nodes, sizeof *trainer->next);
    trainer->state = cb_arena_alloc(memory, own, sizeof *trainer->state);
    trainer->state_room = cb_arena_alloc(memory, own, sizeof *trainer->state_room);
    trainer->cost = cb_arena_alloc(memory, own, sizeof *trainer->cost);
    trainer->count = cb_arena_alloc(memory, trainer->ranks, sizeof *trainer->count);
    trainer->record = cb_arena_alloc(memory, cuts, trainer->policy->pool.stride * sizeof *trainer->record);
    trainer->probability = cb_arena_alloc(memory, outcomes, sizeof *trainer->probability);
    trainer->value = cb_arena_alloc(memory, outcomes, sizeof *trainer->value);
    trainer->intercept = cb_arena_alloc(memory, outcomes, sizeof *trainer->intercept);
    trainer->weight = cb_arena_alloc(memory, outcomes, sizeof *trainer->weight);
    trainer->slope = cb_arena_alloc(memory, outcomes, states * sizeof *trainer->slope);
    trainer->worst = cb_arena_alloc(memory, outcomes, sizeof *trainer->worst);
    return !memory->failed && cb_tally_init(trainer);
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
    cb_block(policy->passes, trainer->rank, trainer->ranks, &trainer->first, &trainer->last);
    CB_TRY(cb_stages_init(&trainer->stages, &policy->kind));
    return allocate(trainer) ? COBRE_OK : cb_no_memory("training", policy->passes * trainer->problem->nodes);
}

void cb_trainer_free(cb_trainer *trainer) {
    size_t own = trainer->last - trainer->first;
    for (size_t m = 0; trainer->path && m < trainer->policy->passes; m++)
        free(trainer->path[m].step);
    for (size_t i = 0; trainer->chain && i < own * trainer->problem->nodes; i++)
        cb_start_free(&trainer->chain[i]);
    for (size_t n = 0; trainer->next && n < trainer->problem->nodes; n++)
        cb_start_free(&trainer->next[n]);
    for (size_t i = 0; trainer->state && i < own; i++)
        free(trainer->state[i]);
    cb_stages_free(&trainer->stages);
    cb_arena_free(&trainer->memory);
    free(trainer->starts);
}

cobre_status cb_trainer_lp(cb_trainer *trainer, size_t trajectory, size_t node, cb_stage **stage) {
    const cb_start *chain = cb_trainer_chain(trainer, trajectory, node);
    CB_TRY(cb_stages_get(&trainer->stages, node, stage));
    return cb_stage_start(*stage, chain->set ? chain : &trainer->policy->start[node]);
}

cobre_status cb_trainer_agree(cb_trainer *trainer, cobre_status status) {
    double begin = cb_clock();
    status = cb_agree(trainer->comm, status);
    cb_tally_add(trainer, COBRE_SDDP_EFFORT_WAITING, begin);
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
