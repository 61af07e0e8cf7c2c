/* SPDX-License-Identifier: Apache-2.0 */
/* rng.c: Philox 4x32-10 of Random123. Counter word 0 holds the purpose (8 bits) and the block within the stream (24). */
#include "sddp/rng.h"

#include <math.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wundef"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

void cb_rng_start(cb_rng *rng, uint64_t seed, cb_rng_purpose purpose, uint32_t a, uint32_t b, uint32_t c) {
    *rng = (cb_rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)}, .counter = {(uint32_t)purpose << 24, c, b, a}};
}

uint64_t cb_rng_bits(cb_rng *rng) {
    if (rng->left == 0) {
        philox4x32_ctr_t counter = {{rng->counter[0], rng->counter[1], rng->counter[2], rng->counter[3]}};
        philox4x32_key_t key = {{rng->key[0], rng->key[1]}};
        philox4x32_ctr_t out = philox4x32(counter, key);
        rng->ready[1] = (uint64_t)out.v[1] << 32 | out.v[0];
        rng->ready[0] = (uint64_t)out.v[3] << 32 | out.v[2];
        rng->left = 2;
        rng->counter[0]++;
    }
    return rng->ready[--rng->left];
}

double cb_rng_uniform(cb_rng *rng) {
    return (double)(cb_rng_bits(rng) >> 11) * 0x1p-53;
}

double cb_rng_normal(cb_rng *rng) {
    double radius = sqrt(-2 * log(1 - cb_rng_uniform(rng))); /* 1 - u is never 0 */
    return radius * cos(2 * 3.14159265358979323846 * cb_rng_uniform(rng));
}
