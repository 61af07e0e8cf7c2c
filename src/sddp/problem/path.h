/* SPDX-License-Identifier: Apache-2.0 */
/* path.h: the nodes and outcomes that a trajectory visits. They are known before any LP is solved, so every rank knows
 * every trajectory's path without communication. */
#ifndef COBRE_SDDP_PROBLEM_PATH_H
#define COBRE_SDDP_PROBLEM_PATH_H

#include "sddp/problem/problem.h"

typedef struct {
    size_t steps, room;
    struct cb_step {
        size_t node, outcome;
        double discount; /* from the start to here */
    } * step;
} cb_path;

/* Samples the path of trajectory (a, b) of `purpose`. It begins at the node `start`, or at a successor of the root if
 * that is CB_ROOT. Step k draws from cb_rng_start(seed, purpose, a, b, k): first the node, then the outcome. max_steps
 * 0: until the path ends by itself. False: no memory. */
bool cb_path_sample(const cobre_sddp_problem *problem, size_t start, uint64_t seed, cb_rng_purpose purpose, uint32_t a,
                    uint32_t b, size_t max_steps, cb_path *path);

#endif
