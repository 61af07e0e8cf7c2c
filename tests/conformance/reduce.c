/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce: sums, minima and maxima of every type and size, and exact sums. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cobre_op ops[] = {COBRE_SUM, COBRE_MIN, COBRE_MAX};
enum { OPS = sizeof ops / sizeof ops[0] };

/* Results that a reader can check in the head. */
static void allreduce_sum(kit *k) {
    double mine[3] = {(double)k->rank + 1, 0.5, -(double)k->rank}, sum[3];
    double n = (double)k->size;
    CHECK_OK(cobre_allreduce(k->comm, mine, 3, sum, 3, COBRE_F64, COBRE_SUM));
    CHECK(sum[0] == n * (n + 1) / 2 && sum[1] == n / 2 && sum[2] == -n * (n - 1) / 2);
    CHECK(mine[0] == (double)k->rank + 1 && mine[1] == 0.5 && mine[2] == -(double)k->rank);
}

static void allreduce_min(kit *k) {
    int32_t mine[3] = {(int32_t)k->rank - 5, -(int32_t)k->rank, 7}, min[3];
    CHECK_OK(cobre_allreduce_t(k->comm, mine, min, 3, COBRE_MIN));
    CHECK(min[0] == -5 && min[1] == 1 - (int32_t)k->size && min[2] == 7);
}

static void allreduce_max(kit *k) {
    uint8_t mine[3] = {(uint8_t)k->rank, (uint8_t)(200 - k->rank), 0}, max[3]; /* 200: is a u8 compared unsigned? */
    CHECK_OK(cobre_allreduce_t(k->comm, mine, max, 3, COBRE_MAX));
    CHECK(max[0] == k->size - 1 && max[1] == 200 && max[2] == 0);
}

static void allreduce_single_element(kit *k) {
    for (uint64_t i = 0; i < kit_times(1000); i++) {
        uint64_t mine = i * 100 + k->rank, sum = 0;
        CHECK_OK(cobre_allreduce_t(k->comm, &mine, &sum, 1, COBRE_SUM));
        CHECK_EQ(sum, k->size * i * 100 + k->size * (k->size - 1) / 2);
    }
}

static void allreduce_every_type(kit *k) {
    static const size_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100, 511, 1023, 4099};
    for (size_t t = 0; t < REFERENCE_TYPES; t++)
        for (size_t o = 0; o < OPS; o++)
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                checked_allreduce(k, false, reference_types[t], ops[o], counts[c], k->seed + c);
}

static void allreduce_in_place(kit *k) {
    for (size_t count = 1; count <= 300000; count = count * 8 + 5)
        for (size_t o = 0; o < OPS; o++) {
            checked_allreduce(k, true, COBRE_F64, ops[o], count, k->seed + count);
            checked_allreduce(k, true, COBRE_U8, ops[o], count, k->seed + count);
        }
}

/* Odd counts, so that no slice is as long as the others, and sizes around borders. */
static void allreduce_large(kit *k) {
    size_t most = kit_times(8 << 20);
    for (size_t bytes = 1024; bytes <= most; bytes *= 2)
        for (int off = -1; off <= 1; off++) {
            size_t count = bytes / 8 + (size_t)(ptrdiff_t)off;
            if (bytes > 1 << 18 && off <= 0)
                continue;
            checked_allreduce(k, false, COBRE_F64, COBRE_SUM, count, k->seed + count);
            checked_allreduce(k, false, COBRE_U8, COBRE_SUM, 8 * count + 3, k->seed + count);
            if (bytes <= 1 << 20)
                checked_allreduce(k, false, COBRE_I32, COBRE_MIN, 2 * count + 1, k->seed + count);
        }
}

/* Fewer elements than ranks, and as many: some slices are empty. */
static void allreduce_short(kit *k) {
    for (size_t count = 1; count <= 2 * k->size + 1; count++)
        checked_allreduce(k, false, COBRE_F32, COBRE_SUM, count, k->seed + count);
}

#define WRAPS(T, U, type, most, least)                                                                                 \
    do {                                                                                                               \
        T mine[3] = {most, least, (T)(most - (T)k->rank)}, sum[3];                                                     \
        U n = (U)k->size;                                                                                              \
        CHECK_OK(cobre_allreduce(k->comm, mine, 3, sum, 3, type, COBRE_SUM));                                          \
        CHECK((U)sum[0] == (U)(n * (U)most));                                                                          \
        CHECK((U)sum[1] == (U)(n * (U)least));                                                                         \
        CHECK((U)sum[2] == (U)(n * (U)most - n * (n - 1) / 2));                                                        \
    } while (0)

static void allreduce_wraps(kit *k) {
    WRAPS(uint8_t, uint8_t, COBRE_U8, UINT8_MAX, 1);
    WRAPS(int32_t, uint32_t, COBRE_I32, INT32_MAX, INT32_MIN);
    WRAPS(uint32_t, uint32_t, COBRE_U32, UINT32_MAX, 1);
    WRAPS(int64_t, uint64_t, COBRE_I64, INT64_MAX, INT64_MIN);
    WRAPS(uint64_t, uint64_t, COBRE_U64, UINT64_MAX, 1);
}

/* Extremes of the integers: signed types are compared as signed, unsigned as unsigned. */
static void allreduce_integer_extremes(kit *k) {
    bool first = k->rank == 0, only = k->size == 1;
    int32_t i32 = first ? INT32_MIN : INT32_MAX, i32_min, i32_max;
    int64_t i64 = first ? INT64_MIN : INT64_MAX, i64_min, i64_max;
    uint32_t u32 = first ? 0 : UINT32_MAX, u32_min, u32_max;
    uint64_t u64 = first ? 0 : UINT64_MAX, u64_min, u64_max;
    CHECK_OK(cobre_allreduce_t(k->comm, &i32, &i32_min, 1, COBRE_MIN));
    CHECK_OK(cobre_allreduce_t(k->comm, &i32, &i32_max, 1, COBRE_MAX));
    CHECK_OK(cobre_allreduce_t(k->comm, &i64, &i64_min, 1, COBRE_MIN));
    CHECK_OK(cobre_allreduce_t(k->comm, &i64, &i64_max, 1, COBRE_MAX));
    CHECK_OK(cobre_allreduce_t(k->comm, &u32, &u32_min, 1, COBRE_MIN));
    CHECK_OK(cobre_allreduce_t(k->comm, &u32, &u32_max, 1, COBRE_MAX));
    CHECK_OK(cobre_allreduce_t(k->comm, &u64, &u64_min, 1, COBRE_MIN));
    CHECK_OK(cobre_allreduce_t(k->comm, &u64, &u64_max, 1, COBRE_MAX));
    CHECK(i32_min == INT32_MIN && i32_max == (only ? INT32_MIN : INT32_MAX));
    CHECK(i64_min == INT64_MIN && i64_max == (only ? INT64_MIN : INT64_MAX));
    CHECK(u32_min == 0 && u32_max == (only ? 0 : UINT32_MAX));
    CHECK(u64_min == 0 && u64_max == (only ? 0 : UINT64_MAX));
}

static void exact_sum(kit *k) {
    for (size_t i = 0; i < 50; i++)
        checked_exact_sum(k, k->seed + i);
}

/* The values that IEEE arithmetic treats apart. */
static void exact_special(kit *k) {
    static const struct {
        double first, others, sum; /* added by rank 0, by each other rank */
    } rows[] = {{INFINITY, 1, INFINITY}, {-INFINITY, 1, -INFINITY}, {-0.0, -0.0, -0.0}, {0.0, -0.0, 0.0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cobre_exact sum;
        cobre_exact_init(&sum);
        cobre_exact_add(&sum, k->rank == 0 ? rows[i].first : rows[i].others);
        CHECK_OK(cobre_exact_allreduce(k->comm, &sum));
        double actual = cobre_exact_round(&sum);
        CHECK(memcmp(&actual, &rows[i].sum, sizeof actual) == 0);
    }
    cobre_exact empty, clash;
    cobre_exact_init(&empty);
    CHECK_OK(cobre_exact_allreduce(k->comm, &empty));
    CHECK(cobre_exact_round(&empty) == 0 && !signbit(cobre_exact_round(&empty)));
    cobre_exact_init(&clash);
    cobre_exact_add(&clash, k->rank == 0 ? INFINITY : -INFINITY);
    CHECK_OK(cobre_exact_allreduce(k->comm, &clash));
    CHECK(k->size == 1 ? isinf(cobre_exact_round(&clash)) : isnan(cobre_exact_round(&clash)));
}

const kit_case reduce_cases[] = {
    KIT_CASE(allreduce_sum),
    KIT_CASE(allreduce_min),
    KIT_CASE(allreduce_max),
    KIT_CASE(allreduce_single_element),
    KIT_CASE(allreduce_every_type),
    KIT_CASE(allreduce_in_place),
    KIT_CASE(allreduce_large),
    KIT_CASE(allreduce_short),
    KIT_CASE(allreduce_wraps),
    KIT_CASE(allreduce_integer_extremes),
    KIT_CASE(exact_sum),
    KIT_CASE(exact_special),
    KIT_END,
};
