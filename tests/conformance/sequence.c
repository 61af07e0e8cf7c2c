/* SPDX-License-Identifier: Apache-2.0 */
/* Many collectives in a row, of all kinds and sizes, drawn from a seed that all ranks share. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <math.h>
#include <stdlib.h>

/* Every result is checked in full, so data of an earlier call that shine through are seen. */
static void sequence_mixed_small(kit *k) {
    uint64_t state = k->seed;
    for (size_t i = 0; i < kit_times(3000); i++)
        checked_random(k, &state, 4000);
}

static void sequence_mixed_large(kit *k) {
    uint64_t state = k->seed;
    for (size_t i = 0; i < kit_times(500); i++)
        checked_random(k, &state, 1 << 21);
}

/* The same call with the same addresses again and again; only the data differ. */
static void sequence_no_stale_data(kit *k) {
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS];
    uint64_t all[KIT_MAX_RANKS], sum, rounds = kit_times(5000);
    for (size_t r = 0; r < k->size; r++) {
        counts[r] = 1;
        displs[r] = r;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t mine = round * 1000 + k->rank, from_root = mine;
        size_t root = round % k->size;
        CHECK_OK(cobre_broadcast_t(k->comm, &from_root, 1, root));
        CHECK_EQ(from_root, round * 1000 + root);
        CHECK_OK(cobre_allreduce_t(k->comm, &mine, &sum, 1, COBRE_SUM));
        CHECK_EQ(sum, k->size * round * 1000 + k->size * (k->size - 1) / 2);
        CHECK_OK(cobre_allgatherv_t(k->comm, &mine, 1, all, k->size, counts, displs));
        for (size_t r = 0; r < k->size; r++)
            CHECK_EQ(all[r], round * 1000 + r);
    }
}

/* Sizes from 1 B to the limit, as the logarithm. The first eight rounds visit all eighths of that range, the others
 * those below 1 MiB, which take little time. */
enum { STRATA = 8, SMALL_STRATA = 6, ROUNDS = STRATA + 4 * SMALL_STRATA };
static size_t property_bytes(uint64_t *state, size_t round) {
    double log_max = log2(KIT_SANITIZED ? 2 << 20 : 64 << 20);
    double u = (double)(kit_random(state) >> 11) * 0x1p-53;
    double stratum = (double)((round * 5 + 3) % (round < STRATA ? STRATA : SMALL_STRATA));
    size_t bytes = (size_t)ceil(exp2(log_max * (stratum + u) / STRATA));
    return bytes ? bytes : 1;
}

/* Other types and sizes for each number of ranks. */
static uint64_t property_state(const kit *k) {
    return k->seed + ((uint64_t)k->size << 32);
}

static void allreduce_property(kit *k) {
    uint64_t state = property_state(k);
    for (size_t round = 0; round < ROUNDS; round++) {
        cobre_type type = reference_types[kit_below(&state, REFERENCE_TYPES)];
        cobre_op op = (cobre_op)(COBRE_SUM + kit_below(&state, 3));
        size_t size = reference_size(type), count = (property_bytes(&state, round) + size - 1) / size;
        checked_allreduce(k, kit_below(&state, 4) == 0, type, op, count, kit_random(&state));
    }
}

/* Parts of very different length, some empty, in another order and with other gaps on each rank. */
static void allgatherv_property(kit *k) {
    uint64_t state = property_state(k);
    for (size_t round = 0; round < ROUNDS; round++) {
        cobre_type type = reference_types[kit_below(&state, REFERENCE_TYPES)];
        size_t total = property_bytes(&state, round) / reference_size(type), left = total;
        layout l = {.extent = 0};
        for (size_t i = 0, r = kit_below(&state, k->size); i + 1 < k->size; i++, r = (r + 1) % k->size)
            left -= l.counts[r] = kit_below(&state, 4) == 0 ? 0 : kit_below(&state, left + 1);
        for (size_t r = 0; r < k->size && left; r++)
            if (l.counts[r] == 0)
                l.counts[r] = left, left = 0;
        l.counts[0] += left;
        bool in_place = kit_below(&state, 2), region = kit_below(&state, 4) == 0;
        uint64_t data_seed = kit_random(&state), own = region ? state : state + k->rank;
        layout_place(k, &l, kit_below(&own, k->size), kit_below(&own, 100));
        if (kit_below(&own, 2))
            layout_reverse(k, &l);
        gather_target target = region     ? (in_place ? IN_PLACE_IN_REGION : INTO_REGION)
                               : in_place ? IN_PLACE
                                          : INTO_BUFFER;
        checked_allgatherv(k, target, type, &l, data_seed);
    }
}

/* Every number of ranks, where that takes little time. */
#define PROPERTY(name)                                                                                                 \
    KIT_CASE_WITH(name, .ranks = "1,2,3,4,5,6,7,8", .on = "local shm"),                                                \
        KIT_CASE_WITH(name, .ranks = "2,3,5,8", .on = "tcp"), KIT_CASE_WITH(name, .ranks = "3", .on = "mpi")
const kit_case sequence_cases[] = {
    KIT_CASE(sequence_mixed_small), KIT_CASE(sequence_mixed_large), KIT_CASE(sequence_no_stale_data),
    PROPERTY(allreduce_property),   PROPERTY(allgatherv_property),  KIT_END,
};
