/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce of floats: the order of the fold, signed zeros and NaN, looked at bit by bit. */
#include "conformance/checked.h"
#include "conformance/tables.h"
#include "kit/float_settings.h"

#include <stdlib.h>
#include <string.h>

#define MINUS_ZERO_F64 0x8000000000000000u
#define MINUS_ZERO_F32 0x80000000u
#define INFINITY_F64 0x7ff0000000000000u
#define INFINITY_F32 0x7f800000u

/* The fold from the last rank to the first, and by pairs: orders that an implementation might prefer. */
static void fold_backwards(const kit *k, double *acc, double *x, size_t count, uint64_t seed) {
    reference_fill(acc, COBRE_F64, 0, count, reference_sequence(seed, k->size - 1));
    for (size_t r = k->size - 1; r-- > 0;) {
        reference_fill(x, COBRE_F64, 0, count, reference_sequence(seed, r));
        reference_fold(COBRE_F64, COBRE_SUM, acc, x, count);
    }
}

static void fold_pairs(const kit *k, double *acc, double *x, double *pair, size_t count, uint64_t seed) {
    for (size_t r = 0; r < k->size; r += 2) {
        reference_fill(pair, COBRE_F64, 0, count, reference_sequence(seed, r));
        if (r + 1 < k->size) {
            reference_fill(x, COBRE_F64, 0, count, reference_sequence(seed, r + 1));
            reference_fold(COBRE_F64, COBRE_SUM, pair, x, count);
        }
        if (r == 0)
            memcpy(acc, pair, count * sizeof *acc);
        else
            reference_fold(COBRE_F64, COBRE_SUM, acc, pair, count);
    }
}

/* First that the data tell orders apart, then that the result has the bits of the rank order, on every path. */
static void allreduce_rank_order_bits(kit *k) {
    enum { COUNT = 1000 };
    double in_order[COUNT], other[COUNT], x[COUNT], pair[COUNT];
    reference_reduce(in_order, x, COBRE_F64, COBRE_SUM, 0, COUNT, k->seed, k->size);
    if (k->size >= 3) {
        fold_backwards(k, other, x, COUNT, k->seed);
        CHECK(memcmp(in_order, other, sizeof other) != 0);
    }
    if (k->size >= 4) {
        fold_pairs(k, other, x, pair, COUNT, k->seed);
        CHECK(memcmp(in_order, other, sizeof other) != 0);
    }
    static const size_t counts[] = {1, 4, 100, COUNT, 65537, 500009};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        checked_allreduce(k, false, COBRE_F64, COBRE_SUM, counts[i], k->seed);
        checked_allreduce(k, false, COBRE_F32, COBRE_SUM, counts[i], k->seed);
    }
}

/* 1e16 + 1 is 1e16, so each other order of these gives another sum. */
static void allreduce_rank_order_by_hand(kit *k) {
    static const double of_rank[] = {1e16, 1.0, -1e16, 1.0};
    double mine = of_rank[k->rank % 4], sum = 0, expected = of_rank[0];
    for (size_t r = 1; r < k->size; r++)
        expected += of_rank[r % 4];
    CHECK_OK(cobre_allreduce_t(k->comm, &mine, &sum, 1, COBRE_SUM));
    CHECK(sum == expected);
    if (k->size == 4)
        CHECK(sum == 1.0); /* ((1e16 + 1) - 1e16) + 1; exactly it would be 2 */
}

/* Element j is `odd` on rank j and `common` on the others; each element of the result must be `expected`. */
static void one_rank_differs_f64(kit *k, cobre_op op, uint64_t odd, uint64_t common, uint64_t expected) {
    uint64_t mine[KIT_MAX_RANKS], result[KIT_MAX_RANKS];
    for (size_t j = 0; j < k->size; j++)
        mine[j] = j == k->rank ? odd : common;
    CHECK_OK(cobre_allreduce(k->comm, mine, k->size, result, k->size, COBRE_F64, op));
    for (size_t j = 0; j < k->size; j++)
        CHECK_EQ(result[j], expected);
}

static void one_rank_differs_f32(kit *k, cobre_op op, uint32_t odd, uint32_t common, uint32_t expected) {
    uint32_t mine[KIT_MAX_RANKS], result[KIT_MAX_RANKS];
    for (size_t j = 0; j < k->size; j++)
        mine[j] = j == k->rank ? odd : common;
    CHECK_OK(cobre_allreduce(k->comm, mine, k->size, result, k->size, COBRE_F32, op));
    for (size_t j = 0; j < k->size; j++)
        CHECK_EQ(result[j], expected);
}

static void allreduce_signed_zeros(kit *k) {
    bool only = k->size == 1;
    one_rank_differs_f64(k, COBRE_SUM, MINUS_ZERO_F64, MINUS_ZERO_F64, MINUS_ZERO_F64);
    one_rank_differs_f64(k, COBRE_SUM, MINUS_ZERO_F64, 0, only ? MINUS_ZERO_F64 : 0);
    one_rank_differs_f64(k, COBRE_SUM, 0, MINUS_ZERO_F64, 0);
    one_rank_differs_f64(k, COBRE_MIN, MINUS_ZERO_F64, 0, MINUS_ZERO_F64);
    one_rank_differs_f64(k, COBRE_MIN, 0, MINUS_ZERO_F64, only ? 0 : MINUS_ZERO_F64);
    one_rank_differs_f64(k, COBRE_MAX, MINUS_ZERO_F64, 0, only ? MINUS_ZERO_F64 : 0);
    one_rank_differs_f64(k, COBRE_MAX, 0, MINUS_ZERO_F64, 0);
    one_rank_differs_f32(k, COBRE_SUM, MINUS_ZERO_F32, MINUS_ZERO_F32, MINUS_ZERO_F32);
    one_rank_differs_f32(k, COBRE_SUM, MINUS_ZERO_F32, 0, only ? MINUS_ZERO_F32 : 0);
    one_rank_differs_f32(k, COBRE_MIN, MINUS_ZERO_F32, 0, MINUS_ZERO_F32);
    one_rank_differs_f32(k, COBRE_MIN, 0, MINUS_ZERO_F32, only ? 0 : MINUS_ZERO_F32);
    one_rank_differs_f32(k, COBRE_MAX, MINUS_ZERO_F32, 0, only ? MINUS_ZERO_F32 : 0);
    one_rank_differs_f32(k, COBRE_MAX, 0, MINUS_ZERO_F32, 0);
}

/* A NaN of any rank, quiet or signalling, of either sign and with a payload, gives the canonical one. With one rank
 * there is no arithmetic: the input comes back as it is. */
static void allreduce_nan(kit *k) {
    static const uint64_t nans64[] = {0x7ff8000000000000u, 0xfff8000000000000u, 0x7ff800000000beefu,
                                      0x7ff0000000000001u, 0xfff4123456789abcu, 0xffffffffffffffffu};
    static const uint64_t others64[] = {0x3ff0000000000000u, 0, MINUS_ZERO_F64, INFINITY_F64, 0xfff8000000000123u};
    static const uint32_t nans32[] = {0x7fc00000u, 0xffc00000u, 0x7fc0beefu, 0x7f800001u, 0xffa12345u, 0xffffffffu};
    static const uint32_t others32[] = {0x3f800000u, 0, MINUS_ZERO_F32, INFINITY_F32, 0xffc00123u};
    for (cobre_op op = COBRE_SUM; op <= COBRE_MAX; op++)
        for (size_t n = 0; n < sizeof nans64 / sizeof nans64[0]; n++)
            for (size_t o = 0; o < sizeof others64 / sizeof others64[0]; o++) {
                one_rank_differs_f64(k, op, nans64[n], others64[o], k->size == 1 ? nans64[n] : REFERENCE_F64_NAN);
                one_rank_differs_f32(k, op, nans32[n], others32[o], k->size == 1 ? nans32[n] : REFERENCE_F32_NAN);
            }
}

static void allreduce_infinities(kit *k) {
    const uint64_t plus = INFINITY_F64, minus = INFINITY_F64 | MINUS_ZERO_F64;
    bool only = k->size == 1;
    one_rank_differs_f64(k, COBRE_SUM, plus, 0, plus);
    one_rank_differs_f64(k, COBRE_SUM, plus, minus, only ? plus : REFERENCE_F64_NAN);
    one_rank_differs_f64(k, COBRE_MIN, minus, plus, minus);
    one_rank_differs_f64(k, COBRE_MAX, plus, minus, plus);
    one_rank_differs_f32(k, COBRE_SUM, INFINITY_F32, INFINITY_F32 | MINUS_ZERO_F32,
                         only ? INFINITY_F32 : REFERENCE_F32_NAN);
    one_rank_differs_f64(k, COBRE_SUM, 0x7fefffffffffffffu, 0x7fefffffffffffffu, only ? 0x7fefffffffffffffu : plus);
}

/* Subnormals are numbers like others: nothing here may run with flush-to-zero. */
static void allreduce_subnormals(kit *k) {
    uint64_t mine = k->rank + 1, sum = 0;
    CHECK_OK(cobre_allreduce(k->comm, &mine, 1, &sum, 1, COBRE_F64, COBRE_SUM));
    CHECK_EQ(sum, k->size * (k->size + 1) / 2); /* the bits of a subnormal count its smallest unit */
    uint32_t mine32 = (uint32_t)k->rank + 1, least = 0;
    CHECK_OK(cobre_allreduce(k->comm, &mine32, 1, &least, 1, COBRE_F32, COBRE_MIN));
    CHECK_EQ(least, 1);
}

/* Who has them: rank `one`, or all for KIT_MAX_RANKS. */
static void run_in(const kit *k, const struct float_settings *settings, size_t one, void (*call)(kit *k, void *),
                   void *data) {
    kit here = *k;
    bool changes = one == KIT_MAX_RANKS || one == k->rank;
    kit_note(k, "%s on %s", settings->name, one == KIT_MAX_RANKS ? "all ranks" : "one rank");
    if (changes)
        set_floats(settings);
    struct floats_now before = read_floats();
    call(&here, data);
    struct floats_now after = read_floats();
    set_usual_floats();
    CHECK_EQ(after.control, before.control);
    CHECK_EQ(after.rounding, before.rounding);
}

struct reduction {
    cobre_type type;
    cobre_op op;
    size_t count;
    const void *send;
    void *recv;
};

static void reduce(kit *k, void *data) {
    const struct reduction *r = data;
    CHECK_OK(cobre_allreduce(k->comm, r->send, r->count, r->recv, r->count, r->type, r->op));
}

static const size_t who[] = {0, 1, KIT_MAX_RANKS};

/* The data tell the settings apart: sums that round, infinities, NaN, subnormals. */
static void allreduce_any_settings(kit *k) {
    static const size_t counts[] = {1, 3, 1000, 20000};
    enum { MOST = 20000 };
    double *send = kit_alloc(4 * MOST * sizeof *send), *recv = send + MOST, *expected = recv + MOST;
    for (size_t n = 0; n < 3 * sizeof counts / sizeof counts[0]; n++)
        for (cobre_type type = COBRE_F32; type <= COBRE_F64; type++) {
            struct reduction r = {type, COBRE_SUM + (cobre_op)(n % 3), counts[n / 3], send, recv};
            reference_fill(send, type, 0, r.count, reference_sequence(k->seed, k->rank));
            reference_reduce(expected, expected + MOST, type, r.op, 0, r.count, k->seed, k->size);
            for (size_t s = 0; s < FLOAT_SETTINGS; s++)
                for (size_t w = 0; w < sizeof who / sizeof who[0]; w++) {
                    memset(recv, 0, r.count * reference_size(type));
                    run_in(k, &float_settings[s], who[w], reduce, &r);
                    CHECK_BYTES((const char *)recv, (const char *)expected, r.count * reference_size(type));
                }
        }
    free(send);
}

/* By hand, as bits: 5 and 10 are subnormal; 1 + 2^-60 rounds to 1, and DBL_MAX + DBL_MAX to infinity. */
static void allreduce_any_settings_by_hand(kit *k) {
    enum { COUNT = 4 };
    static const uint64_t first[COUNT] = {5, 0x3ff0000000000000u, 0xbff0000000000000u, 0x7fefffffffffffffu};
    static const uint64_t second[COUNT] = {10, 0x3c30000000000000u, 0xbc30000000000000u, 0x7fefffffffffffffu};
    static const uint64_t sums[COUNT] = {15, 0x3ff0000000000000u, 0xbff0000000000000u, INFINITY_F64};
    uint64_t recv[COUNT];
    CHECK_EQ(k->size, 2);
    for (size_t s = 0; s < FLOAT_SETTINGS; s++)
        for (size_t w = 0; w < sizeof who / sizeof who[0]; w++) {
            struct reduction r = {COBRE_F64, COBRE_SUM, COUNT, k->rank ? second : first, recv};
            run_in(k, &float_settings[s], who[w], reduce, &r);
            CHECK_BYTES((const char *)recv, (const char *)sums, sizeof sums);
            r = (struct reduction){COBRE_F64, COBRE_MIN, 1, r.send, recv};
            run_in(k, &float_settings[s], who[w], reduce, &r);
            CHECK_EQ(recv[0], 5);
            r.op = COBRE_MAX;
            run_in(k, &float_settings[s], who[w], reduce, &r);
            CHECK_EQ(recv[0], 10);
        }
}

/* 1, then 2^-60, then subnormals, then what is to be taken away again. */
static void sum_exactly(kit *k, void *data) {
    static const double values[] = {1, 0x1p-60, 0x1p-1074, 5e-324, -1, 0x1.8p-1040, 1e300, -1e300};
    cobre_exact sum;
    double *total = data;
    cobre_exact_init(&sum);
    cobre_exact_add(&sum, values[k->rank % 2]);
    cobre_exact_add_n(&sum, values, sizeof values / sizeof values[0]);
    cobre_exact sum_here = sum;
    CHECK_OK(cobre_exact_allreduce(k->comm, &sum));
    total[0] = cobre_exact_round(&sum);
    cobre_exact_init(&sum);
    cobre_exact_add_n(&sum, values + 2, 2);
    total[1] = cobre_exact_round(&sum);
    total[2] = cobre_exact_round(&sum_here);
}

static void exact_sum_any_settings(kit *k) {
    double expected[3], total[3];
    sum_exactly(k, expected);
    uint64_t two_units = 2;
    CHECK_BYTES((const char *)&expected[1], (const char *)&two_units, sizeof two_units);
    for (size_t s = 0; s < FLOAT_SETTINGS; s++)
        for (size_t w = 0; w < sizeof who / sizeof who[0]; w++) {
            run_in(k, &float_settings[s], who[w], sum_exactly, total);
            CHECK_BYTES((const char *)total, (const char *)expected, sizeof total);
        }
}

/* One rank: what comes back are the very bytes, for every type, canonical or not. */
static void allreduce_identity(kit *k) {
    enum { COUNT = 3000 };
    uint64_t send[COUNT], recv[COUNT];
    CHECK_EQ(k->size, 1);
    for (size_t t = 0; t < REFERENCE_TYPES; t++)
        for (cobre_op op = COBRE_SUM; op <= COBRE_MAX; op++) {
            reference_fill(send, COBRE_U64, 0, COUNT, k->seed + t); /* all bit patterns, as bytes */
            memset(recv, 0, sizeof recv);
            size_t count = sizeof send / reference_size(reference_types[t]);
            CHECK_OK(cobre_allreduce(k->comm, send, count, recv, count, reference_types[t], op));
            CHECK(memcmp(send, recv, sizeof send) == 0);
        }
}

const kit_case float_cases[] = {
    KIT_CASE(allreduce_rank_order_bits),
    KIT_CASE(allreduce_rank_order_by_hand),
    KIT_CASE(allreduce_signed_zeros),
    KIT_CASE(allreduce_nan),
    KIT_CASE(allreduce_infinities),
    KIT_CASE(allreduce_subnormals),
    KIT_CASE(allreduce_any_settings),
    KIT_CASE_WITH(allreduce_any_settings_by_hand, .ranks = "2"),
    KIT_CASE(exact_sum_any_settings),
    KIT_CASE_WITH(allreduce_identity, .ranks = "1"),
    KIT_END,
};
