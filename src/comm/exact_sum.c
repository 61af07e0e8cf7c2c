/* SPDX-License-Identifier: Apache-2.0 */
/* exact_sum.c: sums of doubles without rounding.
 *
 * One fixed-point number spans the whole range of a double (Kulisch's accumulator), kept as overlapping 64-bit limbs so
 * that an addition need not carry (the small superaccumulator of R. Neal, "Fast exact summation using small and large
 * superaccumulators", 2015). A double is an integer of 53 bits times 2^(position - 1074): its low part goes into limb
 * position / 32, the rest into the next one. Carries are settled once in CARRY_INTERVAL additions.
 *
 * Invariants:
 *   - One addition changes a limb by less than 2^52 and a carried limb is below 2^32: |limb| < 2^32 + pending * 2^52.
 *     With pending <= CARRY_INTERVAL no limb overflows.
 *   - Carried: limbs 0 to 66 are in [0, 2^32), limb 67 has the sign. Carried sums of 2^20 ranks can be added limb by
 *     limb: nothing exceeds 2^52. Each number has one carried form.
 *   - 2^62 values below 2^1024 are below 2^(62 + 1024 + 1074) = 2^2160 units of 2^-1074. The limbs have 68 * 32 = 2176
 *     bits, so limb 67 stays within +-2^16, sign included. */
#include <assert.h>
#include <string.h>

#include "comm/dispatch.h"

#define CARRY_INTERVAL 1024 /* additions; a limb stays below 2^62 + 2^32 */
#define TOP (COBRE_EXACT_LIMBS - 1)
#define LIMB_BASE ((int64_t)1 << 32)

#define FRACTION_BITS 52
#define FRACTION (((uint64_t)1 << FRACTION_BITS) - 1)
#define SPECIAL_EXPONENT 2047u
#define SIGN_BIT ((uint64_t)1 << 63)
#define INFINITE ((uint64_t)SPECIAL_EXPONENT << FRACTION_BITS)
#define QUIET_NAN (INFINITE | (uint64_t)1 << (FRACTION_BITS - 1))
#define FINITE_BITS (1024 + 1074) /* from 2^-1074 to the top of DBL_MAX */

/* What the ranks add up: all but `pending`. */
#define REDUCED_FIELDS (offsetof(cobre_exact, pending) / sizeof(int64_t))
static_assert(sizeof(cobre_exact) == (REDUCED_FIELDS + 1) * sizeof(int64_t), "an array of int64, pending last");

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void cobre_exact_init(cobre_exact *sum) {
    *sum = (cobre_exact){0};
}

static void carry(cobre_exact *sum) {
    for (size_t i = 0; i < TOP; i++) {
        int64_t digit = sum->limb[i] & (LIMB_BASE - 1);
        sum->limb[i + 1] += (sum->limb[i] - digit) / LIMB_BASE; /* rounds down: a digit is not negative */
        sum->limb[i] = digit;
    }
    sum->pending = 0;
}

static void count_special(cobre_exact *sum, uint64_t bits) {
    if (bits & FRACTION)
        sum->nan++;
    else if (bits & SIGN_BIT)
        sum->minus_inf++;
    else
        sum->plus_inf++;
}

/* Adds to the limbs, or to the count of infinities and NaN. The caller looks after `values` and `pending`. */
static inline void add_bits(cobre_exact *sum, uint64_t bits) {
    unsigned exponent = (unsigned)(bits >> FRACTION_BITS) & SPECIAL_EXPONENT;
    if (exponent == SPECIAL_EXPONENT) {
        count_special(sum, bits);
        return;
    }
    unsigned normal = exponent != 0; /* subnormals lack the leading bit and sit where exponent 1 does */
    unsigned position = exponent - normal, shift = position % 32;
    uint64_t integer = (bits & FRACTION) | (uint64_t)normal << FRACTION_BITS;
    int64_t low = (int64_t)(integer << shift & (uint64_t)(LIMB_BASE - 1));
    int64_t high = (int64_t)(integer >> (32 - shift));
    int64_t sign = 1 - 2 * (int64_t)(bits >> 63); /* not a branch: signs are often random */
    sum->limb[position / 32] += sign * low;
    sum->limb[position / 32 + 1] += sign * high;
    if (bits == SIGN_BIT)
        sum->minus_zeros++;
}

void cobre_exact_add(cobre_exact *sum, double value) {
    cobre_exact_add_n(sum, &value, 1);
}

void cobre_exact_add_n(cobre_exact *sum, const double *values, size_t count) {
    sum->values += (int64_t)count;
    while (count > 0) {
        if (sum->pending >= CARRY_INTERVAL)
            carry(sum);
        size_t room = (size_t)(CARRY_INTERVAL - sum->pending);
        size_t n = count < room ? count : room;
        for (size_t i = 0; i < n; i++)
            add_bits(sum, bits_of(values[i]));
        sum->pending += (int64_t)n;
        values += n;
        count -= n;
    }
}

cobre_status cobre_exact_allreduce(cobre_comm *comm, cobre_exact *sum) {
    CB_TRY(cb_check_handle(comm, "exact_allreduce"));
    if (!sum)
        return CB_INVALID(comm, "exact_allreduce", "sum", "pass a sum that cobre_exact_init has set up",
                          "exact_allreduce: sum is NULL");
    cobre_exact total = *sum;
    carry(&total);
    CB_TRY(cobre_allreduce(comm, &total, REDUCED_FIELDS, &total, REDUCED_FIELDS, COBRE_I64, COBRE_SUM));
    carry(&total);
    *sum = total;
    return COBRE_OK;
}

static bool has_special(const cobre_exact *sum) {
    return sum->nan || sum->plus_inf || sum->minus_inf;
}

static double round_special(const cobre_exact *sum) {
    if (sum->nan || (sum->plus_inf && sum->minus_inf))
        return double_of(QUIET_NAN);
    return double_of(sum->plus_inf ? INFINITE : INFINITE | SIGN_BIT);
}

/* Makes the sum carried and not negative; says whether it was. */
static bool take_magnitude(cobre_exact *sum) {
    carry(sum);
    if (sum->limb[TOP] >= 0)
        return false;
    for (size_t i = 0; i < COBRE_EXACT_LIMBS; i++)
        sum->limb[i] = -sum->limb[i];
    carry(sum);
    return true;
}

/* Length in bits of a magnitude, 0 for zero. */
static size_t bit_length(const cobre_exact *sum) {
    for (size_t i = COBRE_EXACT_LIMBS; i-- > 0;)
        if (sum->limb[i])
            return 32 * i + 64 - (size_t)__builtin_clzll((unsigned long long)sum->limb[i]);
    return 0;
}

/* 64 bits of a magnitude, the lowest at `position`. */
static uint64_t bits_from(const cobre_exact *sum, size_t position) {
    const int64_t *limb = sum->limb + position / 32;
    unsigned shift = position % 32;
    uint64_t low = (uint64_t)limb[0] | (uint64_t)limb[1] << 32;
    return low >> shift | (uint64_t)limb[2] << 1 << (63 - shift);
}

static bool any_bit_below(const cobre_exact *sum, size_t position) {
    for (size_t i = 0; i < position / 32; i++)
        if (sum->limb[i])
            return true;
    return sum->limb[position / 32] & (((int64_t)1 << position % 32) - 1);
}

/* The nearest double, in bits. Up to 53 bits are their own encoding: as an integer it has the leading bit where the
 * exponent begins. Each position further up adds 1 to the exponent, and so does a round-up that overflows the fraction:
 * past DBL_MAX it becomes infinity by itself. */
static uint64_t round_magnitude(const cobre_exact *sum) {
    size_t length = bit_length(sum);
    if (length <= FRACTION_BITS + 1)
        return bits_from(sum, 0);
    if (length > FINITE_BITS)
        return INFINITE;
    size_t position = length - (FRACTION_BITS + 1);
    uint64_t window = bits_from(sum, position - 1); /* from the bit worth half a unit upwards */
    uint64_t integer = window >> 1;
    bool half = window & 1;
    bool up = half && ((integer & 1) || any_bit_below(sum, position - 1));
    return ((uint64_t)position << FRACTION_BITS) + integer + up;
}

double cobre_exact_round(const cobre_exact *sum) {
    if (has_special(sum))
        return round_special(sum);
    if (sum->values > 0 && sum->minus_zeros == sum->values)
        return double_of(SIGN_BIT);
    cobre_exact magnitude = *sum;
    bool negative = take_magnitude(&magnitude);
    uint64_t bits = round_magnitude(&magnitude);
    return double_of(negative ? bits | SIGN_BIT : bits);
}
