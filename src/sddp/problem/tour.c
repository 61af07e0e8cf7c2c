/* SPDX-License-Identifier: Apache-2.0 */
/* tour.c: the order in which the outcomes of a node are solved.
 *
 * Each LP of a chain starts from the basis of the one before. The more alike the two are, the fewer pivots it takes. So
 * after each outcome comes the nearest of the next few that are left, with each random variable measured by its range. That
 * leaves long ways for the end. So parts of the tour are then reversed where it becomes shorter (2-opt), until none does, but
 * a few times at most.
 * Only training needs tours. They are in one region per host; each of its L ranks finds those of every L-th node. */
#include <math.h>
#include <stdlib.h>

#include "sddp/problem/problem.h"

#define CANDIDATES 128 /* looked at for each place: without a limit a million outcomes would take days */
#define PASSES 4

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

/* From the outcome at one place to that at a later one; behind the last there is none. */
static double way(const cb_node *node, const double *scale, const uint32_t *tour, size_t from, size_t to) {
    return to < node->outcomes ? sqrt(distance(node, scale, tour[from], tour[to])) : 0;
}

static void reverse(uint32_t *tour, size_t first, size_t last) {
    for (; first < last; first++, last--) {
        uint32_t outcome = tour[first];
        tour[first] = tour[last];
        tour[last] = outcome;
    }
}

/* Reverses what comes after `at`, up to each of the next few places, where that is shorter. True: it was, for one. */
static bool shorten(const cb_node *node, const double *scale, uint32_t *tour, size_t at) {
    size_t end = at + CANDIDATES < node->outcomes ? at + CANDIDATES : node->outcomes;
    double first = way(node, scale, tour, at, at + 1);
    bool shorter = false;
    for (size_t last = at + 2; last < end; last++) {
        double before = first + way(node, scale, tour, last, last + 1), other = way(node, scale, tour, at, last);
        if (other >= before || other + way(node, scale, tour, at + 1, last + 1) >= (1 - 1e-9) * before)
            continue;
        reverse(tour, at + 1, last);
        first = other;
        shorter = true;
    }
    return shorter;
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
    bool shorter = true;
    for (int pass = 0; pass < PASSES && shorter; pass++) {
        shorter = false;
        for (size_t at = 0; at + 2 < node->outcomes; at++)
            shorter |= shorten(node, scale, tour, at);
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
