/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c: numbers computed once from a whole problem: fingerprint, scale and unit. */
#include <math.h>
#include <stdlib.h>

#include "sddp/hash.h"
#include "sddp/problem/image.h"

#define SIZE_EXPONENT 8 /* of the median of bounds and right-hand sides in an LP */
#define FAR 20          /* a bound that is 2^FAR times the next smaller one, or more, is as good as none */
#define GAP 13          /* a cost that is 2^GAP times the next smaller one, or more, is not usual */

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

/* How often each power of two occurs. */
enum { LEAST = -1100, BINS = 2200 };
typedef struct {
    size_t count[BINS], total;
} histogram;

static void count_in(histogram *h, double value) {
    int exponent;
    if (value == 0 || !isfinite(value))
        return;
    frexp(value, &exponent);
    h->count[exponent - LEAST]++;
    h->total++;
}

/* Takes out what is far above the rest, if the rest is no small part: such bounds mean infinity. */
static void drop_far(histogram *h) {
    size_t below = 0;
    int last = BINS;
    for (int bin = 0; bin < BINS; bin++) {
        if (h->count[bin] == 0)
            continue;
        if (bin - last > FAR && 4 * below >= h->total) {
            h->total = below;
            return; /* nobody looks beyond the total */
        }
        below += h->count[bin];
        last = bin;
    }
}

/* Of the median; 0 if there is nothing. */
static int middle(const histogram *h) {
    size_t below = 0;
    int bin = 0;
    while (bin < BINS - 1 && 2 * (below += h->count[bin]) < h->total)
        bin++;
    return h->total > 0 ? bin + LEAST : 0;
}

/* The largest that is not far from the others: beyond a gap there are penalties that nobody is meant to pay. */
static int top(const histogram *h) {
    int last = middle(h);
    for (int exponent = last; exponent < LEAST + BINS && exponent - last <= GAP; exponent++)
        if (h->count[exponent - LEAST] > 0)
            last = exponent;
    return last;
}

/* sizes: of bounds and right-hand sides. cost: room for a flag of each row. */
static void count_node(const cb_node *node, bool *cost, histogram *costs, histogram *sizes) {
    cb_find_cost_rows(node, cost);
    for (size_t j = 0; j < node->columns; j++) {
        if (!cb_is_cost(&node->column[j]))
            count_in(costs, node->column[j].cost);
        count_in(sizes, node->column[j].lower);
        count_in(sizes, node->column[j].upper);
    }
    for (size_t i = 0; i < node->rows; i++) {
        if (cost[i])
            continue;
        count_in(sizes, node->row[i].lower);
        count_in(sizes, node->row[i].upper);
    }
    for (const cb_noise *noise = node->noise; noise < node->noise + node->noises; noise++) {
        histogram *h = noise->target == COBRE_SDDP_NOISE_COST           ? costs
                       : noise->target <= COBRE_SDDP_NOISE_COLUMN_UPPER ? sizes
                                                                        : NULL;
        for (size_t k = 0; h && k < node->outcomes; k++)
            count_in(h, noise->factor * node->outcome[k * node->randoms + noise->random]);
    }
}

/* Solvers have absolute tolerances, so that they want numbers of a usual size. Powers of two change no bit of the data. */
static bool find_scales(const cobre_sddp_problem *problem, cb_image_head *head) {
    histogram costs = {.total = 0}, sizes = {.total = 0};
    bool *cost = malloc(cb_most_rows(problem) + 1), room = cost;
    for (size_t n = 0; room && n < problem->nodes; n++)
        count_node(&problem->node[n], cost, &costs, &sizes);
    drop_far(&sizes);
    int unit = sizes.total > 0 ? middle(&sizes) - SIZE_EXPONENT : 0;
    head->unit = ldexp(1, unit);
    head->scale = costs.total > 0 ? ldexp(CB_LARGE_COST, -top(&costs) - unit) : 1;
    free(cost);
    return room;
}

bool cb_image_sum_up(const cobre_sddp_problem *problem, void *image) {
    cb_image_head *head = image;
    head->fingerprint = fingerprint(problem);
    return find_scales(problem, head) && cb_find_ranges(problem, image);
}
