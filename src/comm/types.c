/* SPDX-License-Identifier: Apache-2.0 */
/* types.c: element types, and the one fold that every backend uses.
 *
 * The order of operands is the caller's: acc holds the fold of ranks 0..r-1, x is rank r's. Compiled without
 * contraction to fused multiply-add; each loop is written so that it vectorises without changing a bit. The caller's
 * settings of the processor do not count: floats are folded in the usual ones. */
#include <string.h>

#include "comm/backend.h"
#include "comm/float_settings.h"

size_t cobre_type_size(cobre_type type) {
    return cb_type_size(type);
}

size_t cb_type_size(cobre_type type) {
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

const char *cobre_type_name(cobre_type type) {
    switch (type) {
    case COBRE_U8: return "u8";
    case COBRE_I32: return "i32";
    case COBRE_U32: return "u32";
    case COBRE_I64: return "i64";
    case COBRE_U64: return "u64";
    case COBRE_F32: return "f32";
    case COBRE_F64: return "f64";
    }
    return "?";
}

const char *cb_op_name(cobre_op op) {
    switch (op) {
    case COBRE_SUM: return "sum";
    case COBRE_MIN: return "min";
    case COBRE_MAX: return "max";
    }
    return "?";
}

/* Sums go through the unsigned type of the same width: they wrap and never trap. Operands narrower than int are
 * promoted, which the cast back undoes. */
#define FOLD_INTEGER(name, T, U)                                                                                       \
    static void fold_##name(cobre_op op, T *restrict acc, const T *restrict x, size_t n) {                             \
        switch (op) {                                                                                                  \
        case COBRE_SUM:                                                                                                \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = (T)((U)acc[i] + (U)x[i]);                                                                     \
            break;                                                                                                     \
        case COBRE_MIN:                                                                                                \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = x[i] < acc[i] ? x[i] : acc[i];                                                                \
            break;                                                                                                     \
        case COBRE_MAX:                                                                                                \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = x[i] > acc[i] ? x[i] : acc[i];                                                                \
            break;                                                                                                     \
        }                                                                                                              \
    }

FOLD_INTEGER(u8, uint8_t, unsigned)
FOLD_INTEGER(i32, int32_t, uint32_t)
FOLD_INTEGER(u32, uint32_t, uint32_t)
FOLD_INTEGER(i64, int64_t, uint64_t)
FOLD_INTEGER(u64, uint64_t, uint64_t)

/* Equal operands have equal bits, but for the zeros: or-ing the bits gives the lesser zero, and-ing the greater. */
#define FOLD_FLOAT(name, T, BITS, QUIET_NAN)                                                                           \
    static inline BITS bits_of_##name(T x) {                                                                           \
        BITS bits;                                                                                                     \
        memcpy(&bits, &x, sizeof bits);                                                                                \
        return bits;                                                                                                   \
    }                                                                                                                  \
    static inline T float_of_##name(BITS bits) {                                                                       \
        T x;                                                                                                           \
        memcpy(&x, &bits, sizeof x);                                                                                   \
        return x;                                                                                                      \
    }                                                                                                                  \
    static inline T canonical_##name(T x) {                                                                            \
        return x != x ? float_of_##name(QUIET_NAN) : x;                                                                \
    }                                                                                                                  \
    static inline T min_##name(T a, T b) {                                                                             \
        T least = a < b ? a : b < a ? b : float_of_##name(bits_of_##name(a) | bits_of_##name(b));                      \
        return a != a || b != b ? float_of_##name(QUIET_NAN) : least;                                                  \
    }                                                                                                                  \
    static inline T max_##name(T a, T b) {                                                                             \
        T greatest = a > b ? a : b > a ? b : float_of_##name(bits_of_##name(a) & bits_of_##name(b));                   \
        return a != a || b != b ? float_of_##name(QUIET_NAN) : greatest;                                               \
    }                                                                                                                  \
    __attribute__((noinline)) static void fold_##name(cobre_op op, T *restrict acc, const T *restrict x, size_t n) {   \
        switch (op) {                                                                                                  \
        case COBRE_SUM:                                                                                                \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = canonical_##name(acc[i] + x[i]);                                                              \
            break;                                                                                                     \
        case COBRE_MIN:                                                                                                \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = min_##name(acc[i], x[i]);                                                                     \
            break;                                                                                                     \
        case COBRE_MAX:                                                                                                \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = max_##name(acc[i], x[i]);                                                                     \
            break;                                                                                                     \
        }                                                                                                              \
    }

FOLD_FLOAT(f32, float, uint32_t, UINT32_C(0x7fc00000))
FOLD_FLOAT(f64, double, uint64_t, UINT64_C(0x7ff8000000000000))

static void fold_floats(cobre_type type, cobre_op op, void *acc, const void *x, size_t count) {
    cb_float_settings was;
    bool changed = cb_float_settings_default(&was);
    if (type == COBRE_F32)
        fold_f32(op, acc, x, count);
    else
        fold_f64(op, acc, x, count);
    if (changed)
        cb_float_settings_restore(&was);
}

void cb_fold(cobre_type type, cobre_op op, void *acc, const void *x, size_t count) {
    switch (type) {
    case COBRE_U8: fold_u8(op, acc, x, count); break;
    case COBRE_I32: fold_i32(op, acc, x, count); break;
    case COBRE_U32: fold_u32(op, acc, x, count); break;
    case COBRE_I64: fold_i64(op, acc, x, count); break;
    case COBRE_U64: fold_u64(op, acc, x, count); break;
    case COBRE_F32:
    case COBRE_F64: fold_floats(type, op, acc, x, count); break;
    }
}
