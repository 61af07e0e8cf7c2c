/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c: the forward passes of an iteration.
 *
 * Every rank samples the paths of all trajectories and walks along its own block: at each step the node's LP starts where
 * the iteration starts at that node (or where this trajectory left it, if it was there before), takes the state and the
 * outcome, and hands its outgoing state on, projected onto its bounds. No communication.
 *
 * Cost: one LP per step, with one more factorisation, because a start is restored. */
#include <stdlib.h>

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

static cobre_status state_room(cb_trainer *trainer, size_t own, size_t steps) {
    size_t need = (steps + 1) * (trainer->problem->states + 1);
    if (need <= trainer->state_room[own])
        return COBRE_OK;
    double *state = realloc(trainer->state[own], 2 * need * sizeof *state);
    if (!state)
        return cb_no_memory("states", 2 * need * sizeof *state);
    trainer->state[own] = state;
    trainer->state_room[own] = 2 * need;
    return COBRE_OK;
}

static cobre_status walk_step(cb_trainer *trainer, size_t m, const struct cb_step *step, const double *in, double *out,
                              double *cost) {
    cb_stage *stage;
    const cb_node *node = &trainer->problem->node[step->node];
    const double *noise = node->outcome + step->outcome * node->randoms;
    CB_TRY(cb_trainer_lp(trainer, m, step->node, &stage));
    cb_stage_set_state(stage, in);
    cb_stage_set_noise(stage, noise);
    CB_TRY(cb_trainer_solve(trainer, stage, step->outcome, noise));
    cb_stage_state_out(stage, out);
    *cost += step->discount * (stage->objective - stage->future);
    return cb_stage_save(stage, cb_trainer_chain(trainer, m, step->node));
}

static cobre_status walk(cb_trainer *trainer, size_t m) {
    const cb_path *path = &trainer->path[m];
    size_t own = m - trainer->first, states = trainer->problem->states;
    CB_TRY(state_room(trainer, own, path->steps));
    double *state = trainer->state[own]; /* before step k: k * states on */
    for (size_t s = 0; s < states; s++)
        state[s] = trainer->problem->state[s].initial;
    trainer->cost[own] = 0;
    for (size_t k = 0; k < path->steps; k++, state += states)
        CB_TRY(walk_step(trainer, m, &path->step[k], state, state + states, &trainer->cost[own]));
    return COBRE_OK;
}

cobre_status cb_forward(cb_trainer *trainer, uint64_t iteration) {
    CB_TRY(sample(trainer, iteration));
    for (size_t i = 0; i < (trainer->last - trainer->first) * trainer->problem->nodes; i++)
        trainer->chain[i].set = false;
    for (size_t m = trainer->first; m < trainer->last; m++)
        CB_TRY(walk(trainer, m));
    return COBRE_OK;
}
