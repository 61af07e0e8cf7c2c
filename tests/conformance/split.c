/* SPDX-License-Identifier: Apache-2.0 */
/* split_local: a second communicator that the first knows nothing of. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <pthread.h>

/* Shared memory: all ranks again, in the same order. No shared memory: each rank alone. */
static void split_local_size(kit *k) {
    cobre_comm *local = NULL;
    CHECK_OK(cobre_split_local(k->comm, &local));
    CHECK_EQ(cobre_size(local), cobre_node_size(k->comm));
    CHECK_EQ(cobre_rank(local), cobre_node_rank(k->comm));
    CHECK_EQ(cobre_node_size(local), cobre_node_size(k->comm));
    CHECK_EQ(cobre_node_rank(local), cobre_node_rank(k->comm));
    CHECK(cobre_is_leader(local) == cobre_is_leader(k->comm));
    if (k->backend == COBRE_SHM)
        CHECK(cobre_comm_backend(local) == COBRE_SHM && cobre_size(local) == k->size);
    kit child = kit_on(k, local);
    checked_still_works(&child);
    CHECK_OK(cobre_comm_free(&local));
    CHECK(local == NULL);
    checked_still_works(k);
}

/* Calls on both, in an order drawn by chance. */
static void split_local_interleaved(kit *k) {
    cobre_comm *local = NULL;
    CHECK_OK(cobre_split_local(k->comm, &local));
    kit child = kit_on(k, local);
    uint64_t order = k->seed, of_parent = k->seed + 1, of_child = k->seed + 2;
    for (size_t i = 0; i < kit_times(500); i++)
        if (kit_below(&order, 2))
            checked_random(k, &of_parent, 1 << 17);
        else
            checked_random(&child, &of_child, 1 << 17);
    CHECK_OK(cobre_comm_free(&local));
    checked_still_works(k);
}

static void split_local_free_parent_first(kit *k) {
    cobre_comm *local = NULL;
    CHECK_OK(cobre_split_local(k->comm, &local));
    CHECK_OK(cobre_comm_free(&k->comm));
    kit child = kit_on(k, local);
    uint64_t state = k->seed;
    for (size_t i = 0; i < 50; i++)
        checked_random(&child, &state, 1 << 17);
    CHECK_OK(cobre_comm_free(&local));
}

static void split_local_of_split(kit *k) {
    cobre_comm *local = NULL, *again = NULL;
    CHECK_OK(cobre_split_local(k->comm, &local));
    CHECK_OK(cobre_split_local(local, &again));
    CHECK_OK(cobre_comm_free(&local));
    kit grandchild = kit_on(k, again);
    checked_still_works(&grandchild);
    checked_still_works(k);
    CHECK_OK(cobre_comm_free(&again));
}

/* A region belongs to its communicator: the other one does not take it. */
static void split_local_regions(kit *k) {
    enum { COUNT = 1000 };
    static const size_t none[KIT_MAX_RANKS];
    cobre_comm *local = NULL;
    CHECK_OK(cobre_split_local(k->comm, &local));
    cobre_region *of_parent = NULL, *of_child = NULL;
    CHECK_OK(cobre_region_create(k->comm, COUNT, COBRE_I32, 0, &of_parent));
    CHECK_OK(cobre_region_create(local, COUNT, COBRE_I32, 0, &of_child));
    CHECK_STATUS(cobre_allgatherv_region(k->comm, NULL, 0, of_child, none, none), COBRE_INVALID_ARGUMENT);
    CHECK_STATUS(cobre_allgatherv_region(local, NULL, 0, of_parent, none, none), COBRE_INVALID_ARGUMENT);
    int32_t *to_parent = cobre_region_data_mut(of_parent), *to_child = cobre_region_data_mut(of_child);
    for (int32_t i = 0; to_parent && to_child && i < COUNT; i++) {
        to_parent[i] = i;
        to_child[i] = -i;
    }
    CHECK_OK(cobre_region_fence(of_child));
    CHECK_OK(cobre_region_fence(of_parent));
    const int32_t *parents = cobre_region_data(of_parent), *childs = cobre_region_data(of_child);
    for (int32_t i = 0; i < COUNT; i++)
        CHECK(parents[i] == i && childs[i] == -i);
    CHECK_OK(cobre_region_free(&of_parent));
    CHECK_OK(cobre_region_free(&of_child));
    CHECK_OK(cobre_comm_free(&local));
}

static void *use_child(void *argument) {
    kit *child = argument;
    kit_be(child);
    uint64_t state = child->seed + 5;
    for (size_t i = 0; i < kit_times(300); i++)
        checked_random(child, &state, 1 << 16);
    return NULL;
}

/* Two threads a rank, a communicator each, at the same time. */
static void split_local_two_threads(kit *k) {
    cobre_comm *local = NULL;
    CHECK_OK(cobre_split_local(k->comm, &local));
    kit child = kit_on(k, local);
    char note[sizeof k->board->note[0]] = ""; /* the thread's own: two must not write one */
    child.note = note;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, use_child, &child), 0);
    uint64_t state = k->seed;
    for (size_t i = 0; i < kit_times(300); i++)
        checked_random(k, &state, 1 << 16);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_OK(cobre_comm_free(&local));
}

static void split_cycle(kit *k, size_t number) {
    (void)number;
    cobre_comm *local = NULL;
    CHECK_OK(cobre_split_local(k->comm, &local));
    CHECK_OK(cobre_barrier(local));
    CHECK_OK(cobre_comm_free(&local));
}

static void split_local_no_leak(kit *k) {
    checked_no_leak(k, 100, split_cycle);
}

const kit_case split_cases[] = {
    KIT_CASE(split_local_size),
    KIT_CASE(split_local_interleaved),
    KIT_CASE(split_local_free_parent_first),
    KIT_CASE(split_local_of_split),
    KIT_CASE(split_local_regions),
    KIT_CASE(split_local_two_threads),
    KIT_CASE(split_local_no_leak),
    KIT_END,
};
