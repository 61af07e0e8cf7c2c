/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/reference.h"

#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

uint64_t reference_sequence(uint64_t seed, size_t rank) {
    return mix(mix(seed + 1) + 0x9e3779b97f4a7c15u * (uint64_t)(rank + 1));
}

size_t reference_size(cobre_type type) {
    switch (type) {
    case COBRE_U8: return 1;
    case COBRE_I32:
    case COBRE_U32:
    case COBRE_F32: return 4;
    case COBRE_I64:
    case COBRE_U64:
    case COBRE_F64: return 8;
    }
    return 0;
}

static uint64_t word(uint64_t sequence, size_t index) {
    return mix(sequence + 0x9e3779b97f4a7c15u * (uint64_t)index);
}

/* Bytes first .. first + count - 1 of the sequence's words. */
static void fill_bytes(uint8_t *buf, size_t first, size_t count, uint64_t sequence) {
    for (size_t done = 0; done < count;) {
        size_t at = first + done, skip = at % 8, take = 8 - skip;
        if (take > count - done)
            take = count - done;
        uint64_t bits = word(sequence, at / 8);
        memcpy(buf + done, (const uint8_t *)&bits + skip, take);
        done += take;
    }
}

/* Random sign and fraction, an exponent within 32 of that of 1. A few are something special, most of these zeros: two
 * of them must meet before their signs matter. */
static uint64_t bits_f64(uint64_t random) {
    uint64_t sign = random & 0x8000000000000000u, fraction = random & 0x000fffffffffffffu, dice = random >> 52 & 0x7ff;
    switch (dice) {
    case 0: return sign | fraction;                             /* subnormal */
    case 1: return sign | 0x7ff0000000000000u;                  /* infinite */
    case 2: return sign | 0x7ff0000000000000u | (fraction | 1); /* NaN with a payload, quiet or signalling */
    case 3: return sign | 0x7fe0000000000000u | fraction;       /* two of them overflow */
    default: return dice < 32 ? sign : sign | (0x3ff - 32 + (dice & 63)) << 52 | fraction;
    }
}

static uint32_t bits_f32(uint64_t random) {
    uint32_t sign = (uint32_t)(random >> 32) & 0x80000000u, fraction = (uint32_t)random & 0x007fffffu;
    uint32_t dice = (uint32_t)(random >> 52 & 0x7ff);
    switch (dice) {
    case 0: return sign | fraction;
    case 1: return sign | 0x7f800000u;
    case 2: return sign | 0x7f800000u | (fraction | 1);
    case 3: return sign | 0x7f000000u | fraction;
    default: return dice < 32 ? sign : sign | (0x7f - 16 + (dice & 31)) << 23 | fraction;
    }
}

void reference_fill(void *buf, cobre_type type, size_t first, size_t count, uint64_t sequence) {
    if (type == COBRE_F64) {
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = bits_f64(word(sequence, first + i));
            memcpy((uint8_t *)buf + 8 * i, &bits, 8);
        }
    } else if (type == COBRE_F32) {
        for (size_t i = 0; i < count; i++) {
            uint32_t bits = bits_f32(word(sequence, first + i));
            memcpy((uint8_t *)buf + 4 * i, &bits, 4);
        }
    } else {
        size_t size = reference_size(type);
        fill_bytes(buf, first * size, count * size, sequence);
    }
}

static double from_bits64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float from_bits32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Straight from the contract: NaN first, then the sum, or the lesser by value and then by sign. */
#define FOLD_FLOAT(name, T, nan_value)                                                                                 \
    static T name(cobre_op op, T a, T b) {                                                                             \
        if (isnan(a) || isnan(b))                                                                                      \
            return nan_value;                                                                                          \
        if (op == COBRE_SUM) {                                                                                         \
            T sum = a + b;                                                                                             \
            return isnan(sum) ? nan_value : sum;                                                                       \
        }                                                                                                              \
        bool a_is_less = a < b || (a == b && signbit(a) && !signbit(b));                                               \
        return a_is_less == (op == COBRE_MIN) ? a : b;                                                                 \
    }
FOLD_FLOAT(fold_f64, double, from_bits64(REFERENCE_F64_NAN))
FOLD_FLOAT(fold_f32, float, from_bits32(REFERENCE_F32_NAN))

/* Sums in the unsigned type of the same width: they wrap. */
#define FOLD_INTEGER(name, T, U)                                                                                       \
    static T name(cobre_op op, T a, T b) {                                                                             \
        if (op == COBRE_SUM)                                                                                           \
            return (T)(U)((U)a + (U)b);                                                                                \
        return (a < b) == (op == COBRE_MIN) ? a : b;                                                                   \
    }
FOLD_INTEGER(fold_u8, uint8_t, uint8_t)
FOLD_INTEGER(fold_i32, int32_t, uint32_t)
FOLD_INTEGER(fold_u32, uint32_t, uint32_t)
FOLD_INTEGER(fold_i64, int64_t, uint64_t)
FOLD_INTEGER(fold_u64, uint64_t, uint64_t)

#define FOLD_ALL(T, fold)                                                                                              \
    for (size_t i = 0; i < count; i++)                                                                                 \
        ((T *)acc)[i] = fold(op, ((T *)acc)[i], ((const T *)x)[i]);                                                    \
    break

void reference_fold(cobre_type type, cobre_op op, void *acc, const void *x, size_t count) {
    switch (type) {
    case COBRE_U8: FOLD_ALL(uint8_t, fold_u8);
    case COBRE_I32: FOLD_ALL(int32_t, fold_i32);
    case COBRE_U32: FOLD_ALL(uint32_t, fold_u32);
    case COBRE_I64: FOLD_ALL(int64_t, fold_i64);
    case COBRE_U64: FOLD_ALL(uint64_t, fold_u64);
    case COBRE_F32: FOLD_ALL(float, fold_f32);
    case COBRE_F64: FOLD_ALL(double, fold_f64);
    }
}

void reference_reduce(void *acc, void *work, cobre_type type, cobre_op op, size_t first, size_t count, uint64_t seed,
                      size_t size) {
    reference_fill(acc, type, first, count, reference_sequence(seed, 0));
    for (size_t r = 1; r < size; r++) {
        reference_fill(work, type, first, count, reference_sequence(seed, r));
        reference_fold(type, op, acc, work, count);
    }
}
