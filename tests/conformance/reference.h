/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h: what the right answer is, written without a line of the library's.
 *
 * Data come from counters: element i of sequence s is a function of i and s alone, so every rank can make every other
 * rank's data and check its own result without another message. */
#ifndef COBRE_TEST_REFERENCE_H
#define COBRE_TEST_REFERENCE_H

#include "cobre/comm.h"

#define REFERENCE_F64_NAN 0x7ff8000000000000u
#define REFERENCE_F32_NAN 0x7fc00000u

static const cobre_type reference_types[] = {COBRE_U8,  COBRE_I32, COBRE_U32, COBRE_I64,
                                             COBRE_U64, COBRE_F32, COBRE_F64};
enum { REFERENCE_TYPES = sizeof reference_types / sizeof reference_types[0] };

/* The sequence of one rank in a call that all ranks know by `seed`. */
uint64_t reference_sequence(uint64_t seed, size_t rank);

/* Elements first .. first + count - 1. Integers take every value; floats have exponents near enough to each other that
 * sums round, and far enough that the order of summing shows; a few are NaN, infinite, zero or subnormal. */
void reference_fill(void *buf, cobre_type type, size_t first, size_t count, uint64_t sequence);

/* acc[i] = acc[i] op x[i]. */
void reference_fold(cobre_type type, cobre_op op, void *acc, const void *x, size_t count);

/* The fold over the sequences of ranks 0 .. size - 1, in this order. `work` has room for count elements. */
void reference_reduce(void *acc, void *work, cobre_type type, cobre_op op, size_t first, size_t count, uint64_t seed,
                      size_t size);

size_t reference_size(cobre_type type);

#endif
