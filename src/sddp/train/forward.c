/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c: the forward passes of an iteration.
 *
 * Every rank samples the paths of all trajectories. The ranks of a node then walk along those of their node, each taking the
 * next trajectory that nobody has begun: at each step the node's LP starts where the iteration starts at that node, takes
 * the state and the outcome, and hands its outgoing state on, projected onto its bounds. States and bases are left for
 * the backward pass, where any rank of the node may need them.
 *
 * Cost: one LP per step, with one more factorisation, because a start is restored. */
#include "sddp/train/trainer.h"

/* The paths are the same on all ranks. */
static cobre_status sample(cb_trainer *trainer, uint64_t iteration) {
    trainer->steps = 0;
    for (size_t m = 0; m < trainer->policy->passes; m++) {
        cb_path *path = &trainer->path[m];
        if (!cb_path_sample(trainer->problem, CB_ROOT, trainer->policy->seed, CB_RNG_FORWARD, (uint32_t)iteration,
                            (uint32_t)m, 0, path))
            return cb_no_memory("a path", path->steps * sizeof *path->step);
        trainer->steps = path->steps > trainer->steps ? path->steps : trainer->steps;
    }
    return COBRE_OK;
}

static cobre_status walk_step(cb_trainer *trainer, size_t i, size_t k, double *cost) {
    cb_team *team = &trainer->team;
    cb_stage *stage;
    const struct cb_step *step = &trainer->path[team->first + i].step[k];
    const cb_node *node = &trainer->problem->node[step->node];
    const double *noise = node->outcome + step->outcome * node->randoms;
    CB_TRY(cb_trainer_start(trainer, step->node, &trainer->policy->start[step->node], &stage));
    cb_stage_set_state(stage, cb_team_state(team, i, k));
    cb_stage_set_noise(stage, noise);
    CB_TRY(cb_trainer_solve(trainer, stage, step->outcome, noise));
    cb_stage_state_out(stage, cb_team_state(team, i, k + 1));
    *cost += step->discount * (stage->objective - stage->future);
    CB_TRY(cb_stage_save(stage, &trainer->scratch));
    return cb_team_put(team, &trainer->scratch, cb_team_start(team, i, k));
}

/* Trajectory i of this node. */
static cobre_status walk(cb_trainer *trainer, size_t i) {
    const cb_team *team = &trainer->team;
    for (size_t s = 0; s < trainer->problem->states; s++)
        cb_team_state(team, i, 0)[s] = trainer->problem->state[s].initial;
    team->cost[i] = 0;
    for (size_t k = 0; k < trainer->path[team->first + i].steps; k++)
        CB_TRY(walk_step(trainer, i, k, &team->cost[i]));
    return COBRE_OK;
}

static cobre_status walk_all(cb_trainer *trainer) {
    cb_team *team = &trainer->team;
    for (size_t i; (i = cb_team_take(team, team->last - team->first)) != CB_NONE;)
        CB_TRY(cb_trainer_worked(trainer, walk(trainer, i)));
    return COBRE_OK;
}

cobre_status cb_forward(cb_trainer *trainer, uint64_t iteration) {
    double begin = cb_clock();
    cobre_status status = sample(trainer, iteration);
    cb_tally_add(trainer, COBRE_SDDP_EFFORT_FORWARD, begin);
    CB_TRY(cb_trainer_agree(trainer, status));
    CB_TRY(cb_team_steps(&trainer->team, trainer->comm, trainer->steps));
    begin = cb_clock();
    status = walk_all(trainer);
    cb_tally_add(trainer, COBRE_SDDP_EFFORT_FORWARD, begin);
    return cb_trainer_settle(trainer, status);
}
