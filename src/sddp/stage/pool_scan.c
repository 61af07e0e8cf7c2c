/* SPDX-License-Identifier: Apache-2.0 */
/* pool_scan.c: which cuts of the pool a solution violates. One pass over the function's cuts, a product of `states`
 * terms each; this is the inner loop beside the LP solver. */
#include "sddp/stage/pool.h"

/* The lanes are what the compiler turns into vector registers; their number, not the machine, fixes the bits. */
#define LANES 4

/* The lanes' names do not depend on `states`, so that they stay in registers in the last, shorter round, too: with few
 * states that round is all there is. */
static inline double value_at(const double *record, const double *state, size_t states) {
    const double *slope = record + CB_CUT_SLOPES;
    double lane[LANES] = {0, 0, 0, 0};
    size_t s = 0;
    for (; s + LANES <= states; s += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] += slope[s + l] * state[s + l];
    if (s < states)
        lane[0] += slope[s] * state[s];
    if (s + 1 < states)
        lane[1] += slope[s + 1] * state[s + 1];
    if (s + 2 < states)
        lane[2] += slope[s + 2] * state[s + 2];
    return record[CB_CUT_INTERCEPT] + ((lane[0] + lane[1]) + (lane[2] + lane[3]));
}

double cb_cut_value(const double *record, const double *state, size_t states) {
    return value_at(record, state, states);
}

/* Keeps `worst` sorted; an equal value goes behind the older one. */
static size_t insert(cb_violation *worst, size_t count, size_t most, cb_violation violation) {
    size_t at = count < most ? count++ : most - 1;
    for (; at > 0 && worst[at - 1].value < violation.value; at--)
        worst[at] = worst[at - 1];
    worst[at] = violation;
    return count;
}

size_t cb_pool_violated(const cb_pool *pool, size_t function, const double *state, double level, double tolerance,
                        cb_violation *worst, size_t most) {
    const cb_cut_list *list = &pool->list[function];
    size_t count = 0;
    double bar = level + tolerance;
    for (size_t i = 0; i < list->count; i++) {
        double value = value_at(cb_pool_cut(pool, list->id[i]), state, pool->states);
        if (value > bar) {
            count = insert(worst, count, most, (cb_violation){.id = list->id[i], .value = value});
            if (count == most)
                bar = worst[most - 1].value;
        }
    }
    return count;
}
