/* SPDX-License-Identifier: Apache-2.0 */
/* path.h: which nodes and outcomes a trajectory meets. All of it is known before any LP is solved, so that every rank
 * knows every trajectory's path without communication. */
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

/* Trajectory (a, b) of `purpose`, from `start` on: a node, or CB_ROOT, for where that leads. Step k draws from cb_rng_start(seed, purpose, a, b, k): first the node, then the
 * outcome. max_steps 0: until it ends by itself. False: no memory. */
bool cb_path_sample(const cobre_sddp_problem *problem, size_t start, uint64_t seed, cb_rng_purpose purpose, uint32_t a,
                    uint32_t b, size_t max_steps, cb_path *path);

#endif
