/* SPDX-License-Identifier: Apache-2.0 */
/* pool_scan.c: finds the cuts of the pool that a solution violates, in one pass over the function's cuts. After the LP
 * solver this is the most expensive loop, and it grows with the iterations.
 *
 * The value of a cut takes a product of `states` terms. With many states most cuts are ruled out by a sketch, whose
 * slopes are rounded to 13 bits and take a quarter of the memory. With slopes g = c q + r and the state x = d y + z,
 * where q and y are integers up to LARGEST, and |r| <= c / 2, |z| <= d / 2,
 *
 *     g x <= c d (q y + |q| / 2) + c |x| / 2        (|.|: the sum of absolute values),
 *
 * and q y is a sum of integers. HALF is a little more than 1/2, which covers the rounding errors here. The terms with
 * cb_rounding cover the rounding errors of the value itself. A cut whose sketch is not above the bar is not above it
 * either, so the result has the same bits as without sketches. */
#include <math.h>
#include <stdlib.h>

#include "sddp/stage/stage.h"

#define LARGEST 4095 /* BLOCK products of two of them fit into 32 bits */
#define BLOCK 128
#define HALF 0.502
#define SKETCHED 16 /* states; with fewer a sketch is no shorter */

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

size_t cb_sketch_width(size_t states) {
    return states < SKETCHED ? 0 : (states + 7) / 8 * 8;
}

/* Rounds to multiples of a step, which it returns: NaN if there is none that is safe to compute with. */
static double round_all(const double *value, size_t count, size_t width, int16_t *rounded) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(value[i]));
        sum += value[i]; /* of anything that is no number it is none */
    }
    bool usual = isfinite(sum) && (largest == 0 || (largest > 1e-100 && largest < 1e100));
    double step = usual ? largest / LARGEST : NAN;
    for (size_t i = 0; i < width; i++)
        rounded[i] = i < count && step > 0 ? (int16_t)lrint(value[i] / step) : 0;
    return step;
}

cb_sketch cb_sketch_of(const double *record, size_t states, size_t width, int16_t *slope) {
    double intercept = record[CB_CUT_INTERCEPT];
    cb_sketch sketch = {.intercept = intercept + 8 * cb_rounding(states) * fabs(intercept),
                        .step = round_all(record + CB_CUT_SLOPES, states, width, slope)};
    for (size_t s = 0; s < states; s++)
        sketch.loss += HALF * abs(slope[s]);
    return sketch;
}

/* A state as sketches are multiplied with it. */
typedef struct {
    const int16_t *rounded;
    double step, loss;
} query;

static query round_state(const cb_pool *pool, const double *state) {
    query rounded = {.rounded = pool->rounded};
    double size = 0;
    if (pool->width == 0)
        return rounded;
    rounded.step = round_all(state, pool->states, pool->width, pool->rounded);
    for (size_t s = 0; s < pool->states; s++)
        size += fabs(state[s]);
    rounded.loss = (HALF + 8 * LARGEST * cb_rounding(pool->states)) * size;
    return rounded;
}

static inline double multiply(const int16_t *one, const int16_t *other, size_t width) {
    double sum = 0;
    for (size_t first = 0; first < width; first += BLOCK) {
        size_t last = first + BLOCK < width ? first + BLOCK : width;
        int32_t part = 0;
        for (size_t s = first; s < last; s++)
            part += one[s] * other[s];
        sum += part;
    }
    return sum;
}

/* Certainly not above the bar. What is not a number is not certain. */
static inline bool is_below(const cb_pool *pool, const cb_cut_list *list, size_t i, const query *state, double bar) {
    if (pool->width == 0)
        return false;
    const cb_sketch *cut = &list->sketch[i];
    double product = multiply(list->slope + i * pool->width, state->rounded, pool->width);
    return cut->intercept + cut->step * (state->step * (product + cut->loss) + state->loss) <= bar;
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
    query rounded = round_state(pool, state);
    size_t count = 0;
    double bar = level + tolerance;
    for (size_t i = 0; i < list->count; i++) {
        if (is_below(pool, list, i, &rounded, bar))
            continue;
        double value = value_at(cb_pool_cut(pool, list->cut[i].id), state, pool->states);
        if (value > bar) {
            count = insert(worst, count, most, (cb_violation){.id = list->cut[i].id, .value = value});
            if (count == most)
                bar = worst[most - 1].value;
        }
    }
    return count;
}
