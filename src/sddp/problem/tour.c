/* SPDX-License-Identifier: Apache-2.0 */
/* tour.c: the order in which the outcomes of a node are solved.
 *
 * Each LP of a chain starts from the basis of the one before. The more alike the two are, the fewer pivots it takes. So
 * after each outcome comes the nearest of the next few that are left, with each random variable measured by its range.
 * Only training needs tours. They are in one region per host; each of its L ranks finds those of every L-th node. */
#include <math.h>
#include <stdlib.h>

#include "sddp/problem/problem.h"

#define CANDIDATES 128 /* looked at for each place: without a limit a million outcomes would take days */

static double distance(const cb_node *node, const double *scale, size_t a, size_t b) {
    const double *one = node->outcome + a * node->randoms, *other = node->outcome + b * node->randoms;
    double sum = 0;
    for (size_t i = 0; i < node->randoms; i++) {
        double difference = (one[i] - other[i]) * scale[i];
        sum += difference * difference;
    }
    return sum;
}

/* 1 / range, 0 for what does not vary. */
static double scale_of(const cb_node *node, size_t random) {
    double lowest = INFINITY, highest = -INFINITY;
    for (size_t k = 0; k < node->outcomes; k++) {
        double value = node->outcome[k * node->randoms + random];
        lowest = fmin(lowest, value);
        highest = fmax(highest, value);
    }
    return highest > lowest ? 1 / (highest - lowest) : 0;
}

static size_t nearest(const cb_node *node, const double *scale, const uint32_t *tour, size_t at) {
    size_t last = at + CANDIDATES < node->outcomes ? at + CANDIDATES : node->outcomes, best = at;
    double least = INFINITY;
    for (size_t i = at; i < last; i++) {
        double far = distance(node, scale, tour[at - 1], tour[i]);
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

bool cb_find_tour(const cb_node *node, uint32_t *tour) {
    double *scale = malloc((node->randoms + 1) * sizeof *scale);
    if (!scale)
        return false;
    for (size_t i = 0; i < node->randoms; i++)
        scale[i] = scale_of(node, i);
    for (size_t k = 0; k < node->outcomes; k++)
        tour[k] = (uint32_t)k;
    for (size_t at = 1; at < node->outcomes; at++) {
        size_t next = nearest(node, scale, tour, at);
        uint32_t outcome = tour[next];
        tour[next] = tour[at];
        tour[at] = outcome;
    }
    free(scale);
    return true;
}

static bool find_own(cobre_sddp_problem *problem) {
    cobre_comm *comm = problem->comm;
    const uint32_t *data = cobre_region_data(problem->tours);
    size_t offset = 0;
    bool good = true;
    for (size_t n = 0; n < problem->nodes; n++) {
        cb_node *node = &problem->node[n];
        if (n % cobre_node_size(comm) == cobre_node_rank(comm))
            good = cb_find_tour(node, cobre_region_claim(problem->tours, offset, node->outcomes)) && good;
        node->tour = data + offset;
        offset += node->outcomes;
    }
    return good;
}

cobre_status cb_problem_share_tours(cobre_sddp_problem *problem) {
    cobre_comm *comm = problem->comm;
    if (problem->tours)
        return COBRE_OK;
    size_t total = 0;
    for (size_t n = 0; n < problem->nodes; n++)
        total += problem->node[n].outcomes;
    CB_TRY(cobre_region_create(comm, total, COBRE_U32, COBRE_REGION_INTERLEAVE, &problem->tours));
    bool good = find_own(problem);
    cobre_status status = cb_agree(comm, good ? COBRE_OK : cb_no_memory("the order of outcomes", 0));
    if (!status)
        status = cobre_region_seal(problem->tours);
    if (status)
        cobre_region_free(&problem->tours);
    return status;
}
