/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h: counter-based random numbers (Random123, Philox 4x32-10).
 *
 * A number depends on the seed and on its purpose, not on how many were drawn before: trajectory m of iteration i gets the
 * same noise on any rank. */
#ifndef COBRE_SDDP_RNG_H
#define COBRE_SDDP_RNG_H

#include <stdint.h>

/* The purpose of a number: streams of different purposes never overlap. */
typedef enum {
    CB_RNG_FORWARD = 1, /* a = iteration, b = trajectory, c = step */
    CB_RNG_RULE,        /* the simulation of the stopping rule: as FORWARD */
    CB_RNG_SIMULATE,    /* a = 0, b = trajectory, c = step */
    CB_RNG_OPENING      /* outcomes drawn from a noise model: a = 0, b = outcome, c = node */
} cb_rng_purpose;

typedef struct {
    uint32_t key[2], counter[4]; /* counter[0]: purpose and block; [1..3]: c, b, a */
    uint64_t ready[2];           /* numbers of the current block */
    unsigned left;
} cb_rng;

void cb_rng_start(cb_rng *rng, uint64_t seed, cb_rng_purpose purpose, uint32_t a, uint32_t b, uint32_t c);
uint64_t cb_rng_bits(cb_rng *rng);
double cb_rng_uniform(cb_rng *rng); /* in [0, 1), a multiple of 2^-53 */
double cb_rng_normal(cb_rng *rng);  /* mean 0, deviation 1 (Box-Muller, the cosine half) */

#endif
