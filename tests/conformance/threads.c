/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads of a rank on one communicator: one of them is refused at once, and nobody else notices. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { LONG = 120 }; /* seconds; only a hang takes so long */

struct pair {
    kit *k;
    cobre_region *region;
    uint64_t calls;          /* of each kind, by both threads together */
    _Atomic uint64_t ticket; /* calls that a thread has taken upon it */
    _Atomic uint64_t refused;
};

static void run_both(struct pair *pair, void *(*body)(void *)) {
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, body, pair) == 0);
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* The call was refused: as status and text say, and at once, because nobody else is in the collective. */
static void check_refused(cobre_status status, const char *operation) {
    CHECK_EQ(status, COBRE_INVALID_COMMUNICATOR);
    CHECK_EQ(cobre_last_error()->status, COBRE_INVALID_COMMUNICATOR);
    CHECK_HOLDS(cobre_last_error()->message, operation);
    CHECK_HOLDS(cobre_last_error()->message, "in use by another thread");
}

/* Every call that could touch what the other thread uses. */
static void try_everything(const struct pair *pair) {
    cobre_comm *comm = pair->k->comm, *part = comm;
    cobre_region *region = pair->region, *made = region;
    size_t counts[KIT_MAX_RANKS] = {0}, displs[KIT_MAX_RANKS] = {0};
    double value = 1, result = 2;
    cobre_exact sum;
    cobre_exact_init(&sum);
    check_refused(cobre_barrier(comm), "barrier");
    check_refused(cobre_broadcast_t(comm, &value, 1, 0), "broadcast");
    check_refused(cobre_allreduce_t(comm, &value, &result, 1, COBRE_SUM), "allreduce");
    check_refused(cobre_allgatherv(comm, NULL, 0, NULL, 0, counts, displs, COBRE_U8), "allgatherv");
    check_refused(cobre_exact_allreduce(comm, &sum), "allreduce");
    check_refused(cobre_split_local(comm, &part), "split_local");
    check_refused(cobre_region_create(comm, 1, COBRE_U8, 0, &made), "region_create");
    check_refused(cobre_region_fence(region), "region_fence");
    check_refused(cobre_region_seal(region), "region_seal");
    check_refused(cobre_allgatherv_region(comm, NULL, 0, region, counts, displs), "allgatherv_region");
    check_refused(cobre_region_free(&region), "region_free");
    check_refused(cobre_comm_free(&comm), "free");
    CHECK(comm == pair->k->comm && region == pair->region && part == NULL && made == NULL && result == 2);
}

/* What every thread may ask at any time. */
static void ask(const struct pair *pair) {
    const cobre_comm *comm = pair->k->comm;
    CHECK_EQ(cobre_rank(comm), pair->k->rank);
    CHECK_EQ(cobre_size(comm), pair->k->size);
    CHECK_EQ(cobre_comm_backend(comm), pair->k->backend);
    CHECK(cobre_region_claim(pair->region, 0, 1) != NULL && cobre_region_count(pair->region) == 1);
    CHECK(cobre_node_size(comm) > cobre_node_rank(comm));
}

/* One of the two threads gets in, and waits: the others come when the second one has been refused everything. */
static void *enter_or_be_refused(void *argument) {
    struct pair *pair = argument;
    kit_be(pair->k);
    cobre_status status = cobre_barrier(pair->k->comm);
    if (status == COBRE_OK) {
        CHECK_EQ(atomic_load(&pair->k->board->entered), 1);
        return NULL;
    }
    check_refused(status, "barrier");
    try_everything(pair);
    ask(pair);
    atomic_fetch_add(&pair->refused, 1);
    atomic_store(&pair->k->board->entered, 1);
    return NULL;
}

static void second_thread_is_refused(kit *k) {
    struct pair pair = {.k = k};
    size_t counts[KIT_MAX_RANKS];
    uint64_t last = k->size - 1;
    CHECK_OK(cobre_region_create(k->comm, 1, COBRE_U8, 0, &pair.region));
    if (k->rank == last)
        run_both(&pair, enter_or_be_refused);
    else {
        for (double end = kit_seconds() + LONG; !atomic_load(&k->board->entered); sched_yield())
            CHECK_SAY(kit_seconds() < end, "a thread of rank %llu is refused", (unsigned long long)last);
        CHECK_OK(cobre_barrier(k->comm));
    }
    CHECK_EQ(pair.refused, k->rank == last);
    for (size_t r = 0; r < k->size; r++)
        counts[r] = 0;
    CHECK_OK(cobre_allgatherv_region(k->comm, NULL, 0, pair.region, counts, counts)); /* the regions' numbers agree */
    CHECK_OK(cobre_region_free(&pair.region));
    CHECK_OK(cobre_region_create(k->comm, 1, COBRE_U8, 0, &pair.region));
    CHECK_OK(cobre_allgatherv_region(k->comm, NULL, 0, pair.region, counts, counts));
    CHECK_OK(cobre_region_free(&pair.region));
}

/* Calls until it is let in. */
static void insist(struct pair *pair, cobre_status (*call)(kit *k)) {
    for (cobre_status status; (status = call(pair->k)); sched_yield()) {
        CHECK_EQ(status, COBRE_INVALID_COMMUNICATOR);
        atomic_fetch_add(&pair->refused, 1);
    }
}

static cobre_status meet(kit *k) {
    return cobre_barrier(k->comm);
}

static cobre_status sum_ranks(kit *k) {
    uint64_t mine = k->rank + 1, sum = 0;
    cobre_status status = cobre_allreduce_t(k->comm, &mine, &sum, 1, COBRE_SUM);
    CHECK(status || sum == k->size * (k->size + 1) / 2);
    return status;
}

static void *hammer_barriers(void *argument) {
    struct pair *pair = argument;
    kit_be(pair->k);
    while (atomic_fetch_add(&pair->ticket, 1) < pair->calls)
        insist(pair, meet);
    return NULL;
}

static void *hammer_sums(void *argument) {
    struct pair *pair = argument;
    kit_be(pair->k);
    while (atomic_fetch_add(&pair->ticket, 1) < pair->calls)
        insist(pair, sum_ranks);
    return NULL;
}

/* Each rank makes the same number of calls that are let in; which thread makes them is chance. */
static void two_threads_hammer(kit *k) {
    struct pair pair = {.k = k, .calls = kit_times(20000)};
    run_both(&pair, hammer_barriers);
    pair.ticket = 0;
    run_both(&pair, hammer_sums);
    CHECK_OK(sum_ranks(k));
}

/* The same on one rank only: the others, with one thread each, see nothing. */
static void two_threads_of_one_rank_hammer(kit *k) {
    struct pair pair = {.k = k, .calls = kit_times(20000)};
    if (k->rank == 0)
        run_both(&pair, hammer_sums);
    else
        for (uint64_t i = 0; i < pair.calls; i++)
            CHECK_OK(sum_ranks(k));
    CHECK_OK(cobre_barrier(k->comm));
}

/* The calls of local never wait: they may overlap. */
static void *make_regions(void *argument) {
    struct pair *pair = argument;
    kit_be(pair->k);
    for (size_t i = 0; i < kit_times(4000); i++) {
        cobre_region *region;
        CHECK_OK(cobre_region_create(pair->k->comm, 1, COBRE_U8, 0, &region));
        CHECK_OK(cobre_barrier(pair->k->comm));
        CHECK_OK(sum_ranks(pair->k));
        CHECK_OK(cobre_region_free(&region));
    }
    return NULL;
}

static void local_calls_overlap(kit *k) {
    struct pair pair = {.k = k};
    run_both(&pair, make_regions);
}

const kit_case thread_cases[] = {
    KIT_CASE_WITH(second_thread_is_refused, .ranks = "2,3", .on = "shm tcp mpi"),
    KIT_CASE_WITH(two_threads_hammer, .ranks = "1,2,3", .on = "shm tcp mpi"),
    KIT_CASE_WITH(two_threads_of_one_rank_hammer, .ranks = "2,3", .on = "shm tcp mpi"),
    KIT_CASE_WITH(local_calls_overlap, .ranks = "1", .on = "local"),
    KIT_END,
};
