/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c: what is computed once from a whole problem. */
#include <math.h>

#include "sddp/hash.h"
#include "sddp/problem/image.h"

#define LARGE_COST 8192.0 /* beyond it costs are scaled to at most 2^USUAL_EXPONENT */
#define USUAL_EXPONENT 10

static void hash_edges(uint64_t *h, const cb_edge *edge, size_t count) {
    cb_hash_word(h, count);
    for (size_t e = 0; e < count; e++) {
        cb_hash_word(h, edge[e].to);
        cb_hash_double(h, edge[e].probability);
        cb_hash_double(h, edge[e].discount);
    }
}

static void hash_lp(uint64_t *h, const cb_node *node) {
    cb_hash_word(h, node->columns);
    for (size_t j = 0; j < node->columns; j++) {
        cb_hash_double(h, node->column[j].lower);
        cb_hash_double(h, node->column[j].upper);
        cb_hash_double(h, node->column[j].cost);
    }
    cb_hash_word(h, node->rows);
    for (size_t i = 0; i < node->rows; i++) {
        cb_hash_double(h, node->row[i].lower);
        cb_hash_double(h, node->row[i].upper);
    }
    for (size_t j = 0; j < node->columns; j++)
        for (int e = node->start[j]; e < node->start[j + 1]; e++) {
            cb_hash_word(h, (uint64_t)node->index[e] << 32 | (uint64_t)j);
            cb_hash_double(h, node->value[e]);
        }
    cb_hash_double(h, node->constant);
}

static void hash_noise(uint64_t *h, const cb_node *node) {
    for (size_t i = 0; i < node->noises; i++) {
        cb_hash_word(h, (uint64_t)node->noise[i].target << 32 | node->noise[i].random);
        cb_hash_word(h, (uint64_t)node->noise[i].index << 32 | node->noise[i].column);
        cb_hash_double(h, node->noise[i].factor);
    }
    cb_hash_word(h, node->outcomes);
    for (size_t k = 0; k < node->outcomes; k++)
        cb_hash_double(h, node->probability[k]);
    for (size_t k = 0; k < node->outcomes * node->randoms; k++)
        cb_hash_double(h, node->outcome[k]);
}

static void hash_node(uint64_t *h, const cobre_sddp_problem *problem, const cb_node *node) {
    cb_hash_text(h, node->name);
    hash_lp(h, node);
    hash_noise(h, node);
    hash_edges(h, node->edge, node->edges);
    cb_hash_double(h, node->risk.beta);
    cb_hash_double(h, node->risk.alpha);
    for (size_t s = 0; s < problem->states; s++)
        cb_hash_word(h, (uint64_t)node->state_in[s] << 32 | node->state_out[s]);
}

static uint64_t fingerprint(const cobre_sddp_problem *problem) {
    uint64_t h = CB_HASH_START;
    cb_hash_word(&h, problem->maximise);
    for (size_t s = 0; s < problem->states; s++) {
        cb_hash_text(&h, problem->state[s].name);
        cb_hash_double(&h, problem->state[s].initial);
    }
    hash_edges(&h, problem->root_edge, problem->root_edges);
    for (size_t n = 0; n < problem->nodes; n++)
        hash_node(&h, problem, &problem->node[n]);
    return h;
}

uint64_t cb_node_sum(const cobre_sddp_problem *problem, size_t node) {
    uint64_t h = CB_HASH_START;
    hash_node(&h, problem, &problem->node[node]);
    return h;
}

static double largest_cost(const cb_node *node) {
    double largest = 0;
    for (size_t j = 0; j < node->columns; j++)
        largest = fmax(largest, fabs(node->column[j].cost));
    for (size_t i = 0; i < node->noises; i++)
        for (size_t k = 0; k < node->outcomes && node->noise[i].target == COBRE_SDDP_NOISE_COST; k++)
            largest =
                fmax(largest, fabs(node->noise[i].factor * node->outcome[k * node->randoms + node->noise[i].random]));
    return largest;
}

/* Large costs make cuts with large slopes, which stand beside the 1 of the future cost and cost the solver digits.
 * A power of two changes no bit of the costs themselves. */
static double find_scale(const cobre_sddp_problem *problem) {
    double largest = 0;
    int exponent;
    for (size_t n = 0; n < problem->nodes; n++)
        largest = fmax(largest, largest_cost(&problem->node[n]));
    frexp(largest, &exponent);
    return largest > LARGE_COST && isfinite(largest) ? ldexp(1, USUAL_EXPONENT - exponent) : 1;
}

void cb_image_sum_up(const cobre_sddp_problem *problem, void *image) {
    cb_image_head *head = image;
    head->scale = find_scale(problem);
    head->fingerprint = fingerprint(problem);
}
