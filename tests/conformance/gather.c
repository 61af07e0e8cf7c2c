/* SPDX-License-Identifier: Apache-2.0 */
/* allgatherv and allgatherv_region: each scenario is written once, for a target. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Into a region displs must be the same on all ranks. */
static bool is_region(gather_target target) {
    return target == INTO_REGION || target == IN_PLACE_IN_REGION;
}

static layout counts_of(const kit *k, size_t (*count)(const kit *k, size_t rank)) {
    layout l = {.extent = 0};
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = count(k, r);
    layout_place(k, &l, 0, 0);
    return l;
}

static size_t one(const kit *k, size_t rank) {
    (void)k, (void)rank;
    return 1;
}

static size_t hundred(const kit *k, size_t rank) {
    (void)k, (void)rank;
    return 100;
}

static size_t none(const kit *k, size_t rank) {
    (void)k, (void)rank;
    return 0;
}

static size_t uneven(const kit *k, size_t rank) {
    return 3 + 7 * rank + (rank == k->size / 2 ? 100 : 0);
}

/* With one rank recv becomes send; with more, every rank's block, in rank order. */
static void identity(kit *k, gather_target target) {
    layout l = counts_of(k, hundred);
    checked_allgatherv(k, target, COBRE_F64, &l, k->seed);
}

static void heterogeneous(kit *k, gather_target target) {
    layout l = counts_of(k, uneven);
    checked_allgatherv(k, target, COBRE_F64, &l, k->seed);
    checked_allgatherv(k, target, COBRE_U8, &l, k->seed + 1);
}

static void single_element(kit *k, gather_target target) {
    layout l = counts_of(k, one);
    for (size_t i = 0; i < 20; i++)
        checked_allgatherv(k, target, COBRE_I64, &l, k->seed + i);
}

/* Each rank alone is empty, each rank alone is not, and nobody sends anything. */
static void empty_send(kit *k, gather_target target) {
    for (size_t chosen = 0; chosen < k->size; chosen++) {
        layout l = counts_of(k, uneven);
        l.counts[chosen] = 0;
        layout_place(k, &l, 0, 1);
        checked_allgatherv(k, target, COBRE_I32, &l, k->seed + chosen);
        l = counts_of(k, none);
        l.counts[chosen] = 1000;
        layout_place(k, &l, 0, 0);
        checked_allgatherv(k, target, COBRE_I32, &l, k->seed + chosen + 100);
    }
}

static void all_empty(kit *k, gather_target target) {
    layout l = counts_of(k, none);
    checked_allgatherv(k, target, COBRE_F32, &l, k->seed);
    layout_place(k, &l, 0, 5); /* recv is there, and stays as it is */
    checked_allgatherv(k, target, COBRE_F32, &l, k->seed);
    checked_still_works(k);
}

static void every_type(kit *k, gather_target target) {
    layout l = counts_of(k, uneven);
    for (size_t i = 0; i < REFERENCE_TYPES; i++)
        checked_allgatherv(k, target, reference_types[i], &l, k->seed + i);
}

static void gaps(kit *k, gather_target target) {
    for (size_t gap = 1; gap <= 4097; gap *= 17) {
        layout l = counts_of(k, uneven);
        layout_place(k, &l, 0, gap);
        checked_allgatherv(k, target, COBRE_U8, &l, k->seed + gap);
        checked_allgatherv(k, target, COBRE_F64, &l, k->seed + gap);
    }
    layout l = counts_of(k, uneven); /* large parts take another path than small ones */
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = 200003 + 11 * r;
    layout_place(k, &l, 0, 3);
    checked_allgatherv(k, target, COBRE_F64, &l, k->seed + 9);
}

static void reversed(kit *k, gather_target target) {
    for (size_t scale = 1; scale <= 100000; scale *= 100) {
        layout l = counts_of(k, uneven);
        for (size_t r = 0; r < k->size; r++)
            l.counts[r] *= scale;
        layout_place(k, &l, 0, 2);
        layout_reverse(k, &l);
        checked_allgatherv(k, target, COBRE_U8, &l, k->seed + scale);
    }
}

static void displs_differ(kit *k, gather_target target) {
    for (size_t scale = 1; scale <= 100000; scale *= 100) {
        layout l = counts_of(k, uneven);
        for (size_t r = 0; r < k->size; r++)
            l.counts[r] *= scale;
        layout_place(k, &l, k->rank, k->rank); /* own part first, gaps of another width on each rank */
        if (k->rank % 2)
            layout_reverse(k, &l);
        checked_allgatherv(k, target, COBRE_U8, &l, k->seed + scale);
    }
}

/* Totals around borders at which an implementation may change its ways, spread so that the last rank has the most. */
static void large_payload(kit *k, gather_target target) {
    static const size_t borders[] = {32,    1024,    2048,    4096,    8192,    16384,   32768,
                                     65536, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 22, 24 << 20};
    size_t weights = k->size * (k->size + 1) / 2;
    for (size_t b = 0; b < sizeof borders / sizeof borders[0]; b++)
        for (int off = -1; off <= 1; off++) {
            size_t total = borders[b] + (size_t)(ptrdiff_t)off;
            if (total > 1 << 20 && (off <= 0 || KIT_SANITIZED))
                continue;
            layout l = counts_of(k, none);
            size_t left = total;
            for (size_t r = 1; r < k->size; r++)
                left -= l.counts[r] = total * (r + 1) / weights;
            l.counts[0] = left;
            layout_place(k, &l, is_region(target) ? 0 : k->rank, 1);
            checked_allgatherv(k, target, COBRE_U8, &l, k->seed + total);
        }
}

/* The same borders for each part. */
static void part_borders(kit *k, gather_target target) {
    for (size_t border = 32; border <= 1 << 20; border *= 2)
        for (int off = -1; off <= 1; off++) {
            if (border > 1 << 18 && (off < 0 || KIT_SANITIZED))
                continue;
            layout l = counts_of(k, none);
            for (size_t r = 0; r < k->size; r++)
                l.counts[r] = border + (size_t)(ptrdiff_t)off;
            layout_place(k, &l, 0, 0);
            checked_allgatherv(k, target, COBRE_U8, &l, k->seed + border);
        }
}

static void in_place(kit *k, gather_target target) {
    layout l = counts_of(k, uneven);
    checked_allgatherv(k, target, COBRE_F64, &l, k->seed);
    layout_place(k, &l, 0, 3);
    checked_allgatherv(k, target, COBRE_U32, &l, k->seed + 1);
    layout_reverse(k, &l);
    checked_allgatherv(k, target, COBRE_U8, &l, k->seed + 2);
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = r % 2 ? 0 : 123457 * (r + 1);
    layout_place(k, &l, is_region(target) ? 0 : k->rank, 1);
    checked_allgatherv(k, target, COBRE_F64, &l, k->seed + 3);
}

/* A rank that has not entered yet sees the region as it was, whatever the others have done. */
static void allgatherv_region_waits_for_all(kit *k) {
    enum { COUNT = 5000 };
    layout l = {.extent = 0};
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = COUNT;
    layout_place(k, &l, 0, 0);
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, l.extent, COBRE_U64, 0, &region));
    uint64_t mine[COUNT];
    const uint64_t *all = cobre_region_data(region);
    uint64_t rounds = kit_times(200);
    for (uint64_t round = 1; round <= rounds; round++) {
        for (size_t i = 0; i < COUNT; i++)
            mine[i] = round;
        size_t late = round % k->size;
        if (k->rank != late)
            atomic_fetch_add(&k->board->entered, 1);
        else {
            while (atomic_load(&k->board->entered) < round * (k->size - 1))
                sched_yield();
            for (size_t look = 0; look < 20; look++)
                for (size_t i = 0; i < l.extent; i += COUNT / 2)
                    CHECK_EQ(((const volatile uint64_t *)all)[i], round - 1);
        }
        CHECK_OK(cobre_allgatherv_region(k->comm, mine, COUNT, region, l.counts, l.displs));
        for (size_t i = 0; i < l.extent; i++)
            CHECK_EQ(all[i], round);
        CHECK_OK(cobre_region_fence(region));
    }
    CHECK_OK(cobre_region_free(&region));
}

/* Results pile up in one region: parts of earlier calls stay where they are. */
static void allgatherv_region_appends(kit *k) {
    enum { CALLS = 10 };
    layout l = {.extent = 0};
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = uneven(k, r);
    layout_place(k, &l, 0, 0);
    size_t step = l.extent, size = sizeof(double);
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, CALLS * step, COBRE_F64, 0, &region));
    uint8_t *send = kit_alloc(l.counts[k->rank] * size), *expected = kit_alloc(step * size);
    for (size_t call = 0; call < CALLS; call++) {
        reference_fill(send, COBRE_F64, 0, l.counts[k->rank], reference_sequence(k->seed + call, k->rank));
        CHECK_OK(cobre_allgatherv_region(k->comm, send, l.counts[k->rank], region, l.counts, l.displs));
        for (size_t r = 0; r < k->size; r++)
            l.displs[r] += step;
        for (size_t past = 0; past <= call; past++) {
            size_t at = 0;
            for (size_t r = 0; r < k->size; at += l.counts[r++])
                reference_fill(expected + at * size, COBRE_F64, 0, l.counts[r], reference_sequence(k->seed + past, r));
            const uint8_t *data = cobre_region_data(region);
            CHECK(memcmp(data + past * step * size, expected, step * size) == 0);
        }
    }
    CHECK_OK(cobre_region_free(&region));
    free(expected);
    free(send);
}

#define SCENARIO(name, plain, shared)                                                                                  \
    static void allgatherv_##name(kit *k) {                                                                            \
        name(k, plain);                                                                                                \
    }                                                                                                                  \
    static void allgatherv_region_##name(kit *k) {                                                                     \
        name(k, shared);                                                                                               \
    }
SCENARIO(identity, INTO_BUFFER, INTO_REGION)
SCENARIO(heterogeneous, INTO_BUFFER, INTO_REGION)
SCENARIO(single_element, INTO_BUFFER, INTO_REGION)
SCENARIO(empty_send, INTO_BUFFER, INTO_REGION)
SCENARIO(all_empty, INTO_BUFFER, INTO_REGION)
SCENARIO(every_type, INTO_BUFFER, INTO_REGION)
SCENARIO(gaps, INTO_BUFFER, INTO_REGION)
SCENARIO(reversed, INTO_BUFFER, INTO_REGION)
SCENARIO(large_payload, INTO_BUFFER, INTO_REGION)
SCENARIO(part_borders, INTO_BUFFER, INTO_REGION)
SCENARIO(in_place, IN_PLACE, IN_PLACE_IN_REGION)

static void allgatherv_displs_differ(kit *k) {
    displs_differ(k, INTO_BUFFER);
    displs_differ(k, IN_PLACE);
}

#define BOTH(name) KIT_CASE(allgatherv_##name), KIT_CASE(allgatherv_region_##name)
const kit_case gather_cases[] = {
    BOTH(identity),
    BOTH(heterogeneous),
    BOTH(single_element),
    BOTH(empty_send),
    BOTH(all_empty),
    BOTH(every_type),
    BOTH(gaps),
    BOTH(reversed),
    BOTH(large_payload),
    BOTH(part_borders),
    BOTH(in_place),
    KIT_CASE(allgatherv_displs_differ),
    KIT_CASE(allgatherv_region_waits_for_all),
    KIT_CASE(allgatherv_region_appends),
    KIT_END,
};
