/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast, and who the ranks are. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <string.h>

static void broadcast_root_0(kit *k) {
    checked_broadcast(k, COBRE_F64, 1, 0, k->seed);
    checked_broadcast(k, COBRE_F64, 1000, 0, k->seed + 1);
}

static void broadcast_root_last(kit *k) {
    checked_broadcast(k, COBRE_F64, 1, k->size - 1, k->seed);
    checked_broadcast(k, COBRE_F64, 1000, k->size - 1, k->seed + 1);
}

static void broadcast_every_root(kit *k) {
    for (size_t round = 0; round < 20; round++)
        for (size_t root = 0; root < k->size; root++) {
            checked_broadcast(k, COBRE_I32, 10 + round, root, k->seed + round);
            checked_broadcast(k, COBRE_U8, 50000, root, k->seed + round);
        }
}

static void broadcast_every_type(kit *k) {
    for (size_t t = 0; t < REFERENCE_TYPES; t++)
        for (size_t count = 1; count <= 10000; count *= 10)
            checked_broadcast(k, reference_types[t], count, t % k->size, k->seed + t);
}

static void broadcast_integrity(kit *k) {
    size_t most = KIT_SANITIZED ? 1 << 20 : 24 << 20;
    for (size_t bytes = 32; bytes <= 1 << 20; bytes *= 2)
        for (int off = -1; off <= 1; off++)
            checked_broadcast(k, COBRE_U8, bytes + (size_t)(ptrdiff_t)off, bytes % k->size, k->seed + bytes);
    checked_broadcast(k, COBRE_F64, most / 8 + 1, k->size / 2, k->seed);
    checked_broadcast(k, COBRE_U8, most - 3, k->size - 1, k->seed);
}

/* Nothing to send is still a collective; the buffer may be NULL. */
static void broadcast_empty(kit *k) {
    uint8_t guard[4] = {1, 2, 3, 4};
    for (size_t root = 0; root < k->size; root++) {
        CHECK_OK(cobre_broadcast(k->comm, NULL, 0, COBRE_F64, root));
        CHECK_OK(cobre_broadcast(k->comm, guard, 0, COBRE_U8, root));
    }
    CHECK(memcmp(guard, (const uint8_t[]){1, 2, 3, 4}, sizeof guard) == 0);
    checked_still_works(k);
}

/* One rank: broadcast leaves its buffer as it is. */
static void broadcast_no_op(kit *k) {
    enum { COUNT = 3000 };
    uint64_t buf[COUNT], before[COUNT];
    CHECK_EQ(k->size, 1);
    reference_fill(buf, COBRE_U64, 0, COUNT, k->seed);
    memcpy(before, buf, sizeof buf);
    for (size_t t = 0; t < REFERENCE_TYPES; t++)
        CHECK_OK(cobre_broadcast(k->comm, buf, sizeof buf / reference_size(reference_types[t]), reference_types[t], 0));
    CHECK(memcmp(buf, before, sizeof buf) == 0);
}

static void rank_in_range(kit *k) {
    CHECK(cobre_rank(k->comm) < cobre_size(k->comm));
    CHECK(cobre_node_rank(k->comm) < cobre_node_size(k->comm));
    CHECK(cobre_node_size(k->comm) <= cobre_size(k->comm));
    CHECK(cobre_is_leader(k->comm) == (cobre_node_rank(k->comm) == 0));
    if (k->backend == COBRE_SHM) {
        CHECK_EQ(cobre_node_rank(k->comm), k->rank);
        CHECK_EQ(cobre_node_size(k->comm), k->size);
    }
    if (k->backend == COBRE_LOCAL || k->backend == COBRE_TCP)
        CHECK_EQ(cobre_node_size(k->comm), 1);
}

static void rank_constant(kit *k) {
    uint64_t state = k->seed;
    for (size_t i = 0; i < kit_times(100); i++) {
        checked_random(k, &state, 10000);
        CHECK_EQ(cobre_rank(k->comm), k->rank);
        CHECK_EQ(cobre_size(k->comm), k->size);
    }
}

static void rank_unique(kit *k) {
    uint8_t mine[KIT_MAX_RANKS] = {0}, holders[KIT_MAX_RANKS];
    mine[k->rank] = 1;
    CHECK_OK(cobre_allreduce_t(k->comm, mine, holders, k->size, COBRE_SUM));
    for (size_t r = 0; r < k->size; r++)
        CHECK_EQ(holders[r], 1);
}

static void size_consistent(kit *k) {
    uint64_t mine = cobre_size(k->comm), least, most;
    CHECK_OK(cobre_allreduce_t(k->comm, &mine, &least, 1, COBRE_MIN));
    CHECK_OK(cobre_allreduce_t(k->comm, &mine, &most, 1, COBRE_MAX));
    CHECK_EQ(least, mine);
    CHECK_EQ(most, mine);
}

const kit_case broadcast_cases[] = {
    KIT_CASE(broadcast_root_0),
    KIT_CASE(broadcast_root_last),
    KIT_CASE(broadcast_every_root),
    KIT_CASE(broadcast_every_type),
    KIT_CASE(broadcast_integrity),
    KIT_CASE(broadcast_empty),
    KIT_CASE_WITH(broadcast_no_op, .ranks = "1"),
    KIT_CASE(rank_in_range),
    KIT_CASE(rank_constant),
    KIT_CASE(rank_unique),
    KIT_CASE(size_consistent),
    KIT_END,
};
