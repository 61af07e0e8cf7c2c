/* SPDX-License-Identifier: Apache-2.0 */
/* path.c: samples the path of a trajectory. */
#include "sddp/problem/path.h"

#include "sddp/grow.h"

#define ALL 1e-6 /* probabilities that add up to 1 within this add up to 1 */

/* The edge that u, in [0, 1), falls on; count if it falls on the end of the process. */
static size_t pick_edge(const cb_edge *edge, size_t count, double u) {
    double sum = 0;
    for (size_t e = 0; e < count; e++) {
        sum += edge[e].probability;
        if (u < sum)
            return e;
    }
    return count > 0 && sum > 1 - ALL ? count - 1 : count;
}

static size_t pick_outcome(const cb_node *node, double u) {
    double sum = 0;
    for (size_t k = 0; k + 1 < node->outcomes; k++) {
        sum += node->probability[k];
        if (u < sum)
            return k;
    }
    return node->outcomes - 1;
}

bool cb_path_sample(const cobre_sddp_problem *problem, size_t start, uint64_t seed, cb_rng_purpose purpose, uint32_t a,
                    uint32_t b, size_t max_steps, cb_path *path) {
    const cb_edge first = {.to = start, .probability = 1, .discount = 1};
    const cb_edge *edge = start == CB_ROOT ? problem->root_edge : &first;
    size_t edges = start == CB_ROOT ? problem->root_edges : 1;
    double discount = 1;
    path->steps = 0;
    while (max_steps == 0 || path->steps < max_steps) {
        cb_rng rng;
        cb_rng_start(&rng, seed, purpose, a, b, (uint32_t)path->steps);
        size_t e = pick_edge(edge, edges, cb_rng_uniform(&rng));
        if (e == edges)
            return true;
        if (!cb_grow(&path->step, sizeof *path->step, path->steps, &path->room))
            return false;
        discount *= edge[e].discount;
        const cb_node *node = &problem->node[edge[e].to];
        path->step[path->steps++] = (struct cb_step){
            .node = edge[e].to, .outcome = pick_outcome(node, cb_rng_uniform(&rng)), .discount = discount};
        edge = node->edge;
        edges = node->edges;
    }
    return true;
}
