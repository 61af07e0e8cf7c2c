/* SPDX-License-Identifier: Apache-2.0 */
/* Shared regions. The same source must be right where memory is shared and where each rank has a block of its own. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool all_bytes(const void *data, size_t bytes, uint8_t value) {
    for (size_t i = 0; i < bytes; i++)
        if (((const uint8_t *)data)[i] != value)
            return false;
    return true;
}

/* Created zeroed and page-aligned, written by the leader, read by all, freed. Twice: the second must be zeroed too. */
static void region_lifecycle(kit *k) {
    enum { COUNT = 100000 };
    for (size_t round = 0; round < 3; round++) {
        cobre_region *region = NULL;
        CHECK_OK(cobre_region_create(k->comm, COUNT, COBRE_F64, 0, &region));
        const double *data = cobre_region_data(region);
        CHECK(region != NULL && data != NULL);
        CHECK_EQ(cobre_region_count(region), COUNT);
        CHECK_EQ((uintptr_t)data % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
        CHECK(all_bytes(data, COUNT * sizeof *data, 0));
        CHECK_OK(cobre_region_fence(region)); /* all have looked before the leader writes */
        double *mine = cobre_region_data_mut(region);
        for (size_t i = 0; mine && i < COUNT; i++)
            mine[i] = (double)(i + round);
        CHECK_OK(cobre_region_fence(region));
        for (size_t i = 0; i < COUNT; i++)
            CHECK(data[i] == (double)(i + round));
        CHECK_OK(cobre_region_free(&region));
        CHECK(region == NULL);
    }
}

static void region_every_type(kit *k) {
    for (size_t t = 0; t < REFERENCE_TYPES; t++) {
        cobre_type type = reference_types[t];
        size_t count = 1000 + t, bytes = count * reference_size(type);
        cobre_region *region = NULL;
        CHECK_OK(cobre_region_create(k->comm, count, type, t % 2 ? COBRE_REGION_INTERLEAVE : 0, &region));
        if (cobre_region_data_mut(region))
            reference_fill(cobre_region_data_mut(region), type, 0, count, k->seed + t);
        CHECK_OK(cobre_region_fence(region));
        uint8_t *expected = kit_alloc(bytes);
        reference_fill(expected, type, 0, count, k->seed + t);
        CHECK(memcmp(cobre_region_data(region), expected, bytes) == 0);
        CHECK((const char *)cobre_region_claim(region, 7, 1) ==
              (const char *)cobre_region_data(region) + 7 * reference_size(type));
        free(expected);
        CHECK_OK(cobre_region_free(&region));
    }
}

static void region_empty(kit *k) {
    static const size_t none[KIT_MAX_RANKS];
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, 0, COBRE_F64, 0, &region));
    CHECK(region != NULL && cobre_region_data(region) != NULL);
    CHECK_EQ(cobre_region_count(region), 0);
    CHECK(cobre_region_claim(region, 0, 0) != NULL);
    CHECK(cobre_region_claim(region, 0, 1) == NULL);
    CHECK_OK(cobre_region_fence(region));
    CHECK_OK(cobre_allgatherv_region(k->comm, NULL, 0, region, none, none));
    CHECK_OK(cobre_region_seal(region));
    CHECK_OK(cobre_region_free(&region));
    checked_still_works(k);
}

/* Several at once, freed in another order than created, with collectives between. */
static void region_several(kit *k) {
    enum { REGIONS = 8 };
    cobre_region *region[REGIONS];
    for (size_t i = 0; i < REGIONS; i++) {
        CHECK_OK(cobre_region_create(k->comm, 5000 * (i + 1), COBRE_U8, 0, &region[i]));
        if (cobre_region_data_mut(region[i]))
            memset(cobre_region_data_mut(region[i]), (int)(i + 1), 5000 * (i + 1));
        checked_allreduce(k, false, COBRE_F64, COBRE_SUM, 1000, k->seed + i);
    }
    for (size_t i = 0; i < REGIONS; i++)
        CHECK_OK(cobre_region_fence(region[i]));
    for (size_t n = 0; n < REGIONS; n++) {
        size_t i = n * 3 % REGIONS;
        CHECK(all_bytes(cobre_region_data(region[i]), 5000 * (i + 1), (uint8_t)(i + 1)));
        CHECK_OK(cobre_region_free(&region[i]));
        checked_broadcast(k, COBRE_U8, 10000, n % k->size, k->seed + n);
    }
}

static void region_leader(kit *k) {
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, 10, COBRE_I32, 0, &region));
    CHECK((cobre_region_data_mut(region) != NULL) == cobre_is_leader(k->comm));
    CHECK(cobre_region_data_mut(region) == NULL || cobre_region_data_mut(region) == cobre_region_data(region));
    uint64_t led = cobre_is_leader(k->comm) ? cobre_node_size(k->comm) : 0, all = 0;
    CHECK_OK(cobre_allreduce_t(k->comm, &led, &all, 1, COBRE_SUM));
    CHECK_EQ(all, k->size); /* one leader a node, however large */
    CHECK_OK(cobre_region_free(&region));
    CHECK(cobre_region_data_mut(NULL) == NULL && cobre_region_data(NULL) == NULL);
    CHECK_EQ(cobre_region_count(NULL), 0);
}

static void region_claim_bounds(kit *k) {
    static const size_t outside[][2] = {{0, 11},       {10, 1},       {11, 0},          {9, 2},
                                        {SIZE_MAX, 1}, {1, SIZE_MAX}, {5, SIZE_MAX - 4}};
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, 10, COBRE_F64, 0, &region));
    const double *data = cobre_region_data(region);
    CHECK(cobre_region_claim(region, 0, 10) == data);
    CHECK(cobre_region_claim(region, 9, 1) == data + 9);
    CHECK(cobre_region_claim(region, 10, 0) == data + 10);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        CHECK(cobre_region_claim(region, outside[i][0], outside[i][1]) == NULL);
        CHECK_STATUS(cobre_last_error()->status, COBRE_INVALID_ARGUMENT);
    }
    CHECK(cobre_region_claim(NULL, 0, 0) == NULL);
    CHECK_OK(cobre_region_free(&region));
}

/* By node rank, never by job rank: the same lines fill a block that all share and a block of one's own. */
static void region_distributed_population(kit *k) {
    static const size_t counts[] = {1, 5, 1000, 100003};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        size_t count = counts[c], l = cobre_node_rank(k->comm), ranks = cobre_node_size(k->comm);
        size_t first = count * l / ranks, behind = count * (l + 1) / ranks;
        cobre_region *region = NULL;
        CHECK_OK(cobre_region_create(k->comm, count, COBRE_U64, 0, &region));
        uint64_t *part = cobre_region_claim(region, first, behind - first);
        CHECK(part != NULL);
        for (size_t i = first; i < behind; i++)
            part[i - first] = i * i + 1;
        CHECK_OK(cobre_region_fence(region));
        const uint64_t *all = cobre_region_data(region);
        for (size_t i = 0; i < count; i++)
            CHECK_EQ(all[i], i * i + 1);
        CHECK_OK(cobre_region_free(&region));
    }
}

/* The ranks of the node write in turn, everybody reads after each fence; nothing else orders them. */
static void region_fence_ping_pong(kit *k) {
    enum { COUNT = 64 };
    size_t ranks = cobre_node_size(k->comm), l = cobre_node_rank(k->comm);
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, 2 * COUNT, COBRE_U64, 0, &region));
    const uint64_t *data = cobre_region_data(region);
    uint64_t rounds = kit_times(2000);
    for (uint64_t round = 1; round <= rounds; round++) {
        size_t half = round % 2 * COUNT; /* the other half may still be read */
        if (round % ranks == l) {
            uint64_t *mine = cobre_region_claim(region, half, COUNT);
            for (size_t i = 0; i < COUNT; i++)
                mine[i] = round * COUNT + i;
        }
        CHECK_OK(cobre_region_fence(region));
        for (size_t i = 0; i < COUNT; i++)
            CHECK_EQ(data[half + i], round * COUNT + i);
    }
    CHECK_OK(cobre_region_free(&region));
}

static void write_byte(kit *k, void *address) {
    (void)k;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would make an exit of it */
    *(volatile uint8_t *)address = 1;
}

/* Read-only for everyone, through every pointer that was handed out before. The write is made by a forked child. */
static void region_seal(kit *k) {
    enum { COUNT = 3000 };
    size_t l = cobre_node_rank(k->comm), ranks = cobre_node_size(k->comm);
    size_t first = COUNT * l / ranks, behind = COUNT * (l + 1) / ranks;
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, COUNT, COBRE_U8, 0, &region));
    uint8_t *part = cobre_region_claim(region, first, behind - first);
    memset(part, 9, behind - first);
    CHECK_OK(cobre_region_seal(region));
    CHECK(all_bytes(cobre_region_data(region), COUNT, 9));
    CHECK(cobre_region_data_mut(region) == NULL);
    CHECK(cobre_region_claim(region, first, 1) == NULL);
    CHECK_STATUS(cobre_last_error()->status, COBRE_INVALID_ARGUMENT);
    int status = kit_in_child(k, write_byte, part);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(all_bytes(cobre_region_data(region), COUNT, 9));
    CHECK_OK(cobre_region_fence(region));
    CHECK_OK(cobre_region_free(&region));
    checked_still_works(k);
}

/* More than there is: an error on all ranks that says how much, and nothing is lost. */
static void region_too_big(kit *k) {
    uint64_t asked[] = {kit_memory_total() + (1 << 30), (uint64_t)1 << 45, (uint64_t)1 << 58};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        kit_note(k, "region of %llu bytes", (unsigned long long)asked[i]);
        size_t count = asked[i] / sizeof(double);
        cobre_region *region = NULL;
        CHECK_STATUS(cobre_region_create(k->comm, count, COBRE_F64, 0, &region), COBRE_ALLOCATION_FAILED);
        CHECK(region == NULL);
        const cobre_error *error = cobre_last_error();
        CHECK(error->expected >= count * sizeof(double));
        CHECK(error->actual < error->expected && error->message[0] && error->suggestion[0]);
        checked_still_works(k);
    }
    cobre_region *region = NULL;
    CHECK_STATUS(cobre_region_create(k->comm, SIZE_MAX / 2, COBRE_F64, 0, &region), COBRE_INVALID_BUFFER_SIZE);
    CHECK(region == NULL);
    region_lifecycle(k);
}

/* What was written stays readable after the region is freed, sealed or not, and after the communicator is. */
static void region_detach(kit *k) {
    enum { COUNT = 5000 };
    cobre_memory *memory[2] = {NULL, NULL};
    const double *data[2];
    for (size_t round = 0; round < 2; round++) {
        cobre_region *region = NULL;
        CHECK_OK(cobre_region_create(k->comm, COUNT, COBRE_F64, 0, &region));
        double *mine = cobre_region_data_mut(region);
        for (size_t i = 0; mine && i < COUNT; i++)
            mine[i] = (double)(i + round);
        CHECK_OK(cobre_region_detach(region, &memory[round]));
        cobre_memory *again = memory[round];
        CHECK_STATUS(cobre_region_detach(region, &again), COBRE_INVALID_ARGUMENT);
        CHECK(again == NULL);
        CHECK_OK(round ? cobre_region_seal(region) : cobre_region_fence(region));
        data[round] = cobre_region_data(region);
        CHECK_OK(cobre_region_free(&region));
    }
    CHECK_OK(cobre_barrier(k->comm));
    CHECK(data[0][COUNT - 1] == COUNT - 1 && data[1][COUNT - 1] == COUNT);
    kit_reopen(k);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++)
            CHECK(data[round][i] == (double)(i + round));
        cobre_memory_free(&memory[round]);
        CHECK(memory[round] == NULL);
        cobre_memory_free(&memory[round]);
    }
    CHECK_STATUS(cobre_region_detach(NULL, &memory[0]), COBRE_INVALID_ARGUMENT);
    cobre_memory_free(NULL);
}

/* Given back before and after the region is freed. */
static void detach_cycle(kit *k, size_t i) {
    cobre_region *region = NULL;
    cobre_memory *memory = NULL;
    CHECK_OK(cobre_region_create(k->comm, 1000, COBRE_F64, 0, &region));
    CHECK_OK(cobre_region_detach(region, &memory));
    if (i % 2)
        cobre_memory_free(&memory);
    CHECK_OK(cobre_region_free(&region));
    cobre_memory_free(&memory);
}

static void region_detach_no_leak(kit *k) {
    checked_no_leak(k, kit_times(2000), detach_cycle);
}

static void region_cycle(kit *k, size_t i) {
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, 1 + i * 97 % 20000, COBRE_F64, 0, &region));
    if (cobre_region_data_mut(region))
        *(double *)cobre_region_data_mut(region) = 1;
    CHECK_OK(i % 2 ? cobre_region_seal(region) : cobre_region_fence(region));
    CHECK_OK(cobre_region_free(&region));
}

static void region_no_leak(kit *k) {
    checked_no_leak(k, 200, region_cycle);
}

const kit_case region_cases[] = {
    KIT_CASE(region_lifecycle),
    KIT_CASE(region_every_type),
    KIT_CASE(region_empty),
    KIT_CASE(region_several),
    KIT_CASE(region_leader),
    KIT_CASE(region_claim_bounds),
    KIT_CASE(region_distributed_population),
    KIT_CASE(region_fence_ping_pong),
    KIT_CASE(region_seal),
    KIT_CASE(region_too_big),
    KIT_CASE(region_no_leak),
    KIT_CASE(region_detach),
    KIT_CASE_WITH(region_detach_no_leak, .on = "local shm tcp"), /* mpi keeps it to the end */
    KIT_END,
};
