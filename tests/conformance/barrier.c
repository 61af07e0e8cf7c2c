/* SPDX-License-Identifier: Apache-2.0 */
/* barrier: seen through the board, memory that cobre knows nothing of. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Plain stores before, plain loads after: the barrier alone orders them. */
static void barrier_write_before_read(kit *k) {
    for (uint64_t round = 1; round <= kit_times(2000); round++) {
        for (size_t i = 0; i < 8; i++)
            k->board->cell[k->rank].value[i] = round * 1000 + 10 * k->rank + i;
        CHECK_OK(cobre_barrier(k->comm));
        for (size_t r = 0; r < k->size; r++)
            for (size_t i = 0; i < 8; i++)
                CHECK_EQ(k->board->cell[r].value[i], round * 1000 + 10 * r + i);
        CHECK_OK(cobre_barrier(k->comm));
    }
}

/* One barrier right after the other: each rank is as far as we are, or one step ahead. */
static void barrier_repeated(kit *k) {
    for (uint64_t n = 1; n <= kit_times(4000); n++) {
        atomic_store(&k->board->step[k->rank], n);
        CHECK_OK(cobre_barrier(k->comm));
        for (size_t r = 0; r < k->size; r++) {
            uint64_t step = atomic_load(&k->board->step[r]);
            CHECK_SAY(step == n || step == n + 1, "after barrier %llu rank %zu is in barrier %llu",
                      (unsigned long long)n, r, (unsigned long long)step);
        }
    }
}

/* After collective n everybody has entered n, and nobody is behind n + 1, because we have not entered it. */
static void check_entered(const kit *k, uint64_t n) {
    uint64_t entered = atomic_load(&k->board->entered);
    CHECK(entered >= n * k->size);
    CHECK(entered <= n * k->size + k->size - 1);
}

/* Ranks of changing speed: the fast one of a round must not fall through the next barrier. */
static void barrier_no_fall_through(kit *k) {
    uint64_t state = k->seed + 77 * k->rank, rounds = kit_times(4000);
    for (uint64_t n = 1; n <= rounds; n++) {
        for (size_t slow = kit_below(&state, 4) ? 0 : kit_below(&state, 20); slow > 0; slow--)
            sched_yield();
        atomic_fetch_add(&k->board->entered, 1);
        CHECK_OK(cobre_barrier(k->comm));
        check_entered(k, n);
    }
}

/* The same for every collective, the root's broadcast and those that carry nothing included. */
static void collectives_wait_for_all(kit *k) {
    enum { LARGE = 50000 };
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS], none[KIT_MAX_RANKS] = {0};
    uint64_t rounds = kit_times(2000), gathered[KIT_MAX_RANKS], value = 0, sum;
    double *large = kit_alloc(2 * LARGE * sizeof *large);
    memset(large, 0, 2 * LARGE * sizeof *large);
    for (size_t r = 0; r < k->size; r++) {
        counts[r] = 1;
        displs[r] = r;
    }
    for (uint64_t n = 1; n <= rounds; n++) {
        size_t root = n / 8 % k->size;
        kit_note(k, "collective %llu", (unsigned long long)n);
        atomic_fetch_add(&k->board->entered, 1);
        switch (n % 8) {
        case 0: CHECK_OK(cobre_barrier(k->comm)); break;
        case 1: CHECK_OK(cobre_broadcast_t(k->comm, &value, 1, root)); break;
        case 2: CHECK_OK(cobre_allreduce_t(k->comm, &n, &sum, 1, COBRE_SUM)); break;
        case 3: CHECK_OK(cobre_allgatherv_t(k->comm, &n, 1, gathered, k->size, counts, displs)); break;
        case 4: CHECK_OK(cobre_broadcast_t(k->comm, large, LARGE, root)); break;
        case 5: CHECK_OK(cobre_broadcast(k->comm, NULL, 0, COBRE_U8, root)); break;
        case 6: CHECK_OK(cobre_allgatherv(k->comm, NULL, 0, NULL, 0, none, none, COBRE_U8)); break;
        default: CHECK_OK(cobre_allreduce_t(k->comm, large, large + LARGE, LARGE, COBRE_SUM));
        }
        check_entered(k, n);
    }
    free(large);
}

/* What holds on mpi. A rank returns when it has what it receives: after a barrier, a reduction and what belongs to regions
 * everybody has entered; after a broadcast the root has, and after a gather those with something to give. With COBRE_CHECK=1
 * everybody has in any case. */
static void collectives_wait_for_senders(kit *k) {
    enum { LARGE = 20000, KINDS = 9 };
    bool checked = getenv("COBRE_CHECK") != NULL;
    size_t counts[KIT_MAX_RANKS] = {0}, displs[KIT_MAX_RANKS] = {0};
    uint64_t gathered[KIT_MAX_RANKS], value = 0, sum;
    double *large = kit_alloc(2 * LARGE * sizeof *large);
    cobre_region *region = NULL;
    memset(large, 0, 2 * LARGE * sizeof *large);
    for (size_t r = 0; r < k->size; r++)
        displs[r] = r;
    for (uint64_t n = 1; n <= KINDS * kit_times(40); n++) {
        size_t root = n / KINDS % k->size, kind = n % KINDS;
        kit_note(k, "collective %llu", (unsigned long long)n);
        for (size_t r = 0; r < k->size; r++)
            counts[r] = kind == 4 || (kind == 5 && r != root);
        atomic_store(&k->board->step[k->rank], n);
        switch (kind) {
        case 0: CHECK_OK(cobre_barrier(k->comm)); break;
        case 1: CHECK_OK(cobre_allreduce_t(k->comm, &n, &sum, 1, COBRE_SUM)); break;
        case 2: CHECK_OK(cobre_allreduce_t(k->comm, large, large + LARGE, LARGE, COBRE_SUM)); break;
        case 3: CHECK_OK(cobre_broadcast_t(k->comm, &value, 1, root)); break;
        case 4:
        case 5: CHECK_OK(cobre_allgatherv_t(k->comm, &n, counts[k->rank], gathered, k->size, counts, displs)); break;
        case 6: CHECK_OK(cobre_region_create(k->comm, k->size, COBRE_U64, 0, &region)); break;
        case 7: CHECK_OK(cobre_allgatherv_region(k->comm, NULL, 0, region, counts, displs)); break;
        default: CHECK_OK(cobre_allgatherv(k->comm, NULL, 0, NULL, 0, counts, counts, COBRE_U8));
        }
        for (size_t r = 0; r < k->size; r++) {
            bool gives = kind == 3 ? r == root : kind == 5 ? counts[r] : kind != 8;
            CHECK_SAY(!(gives || checked) || atomic_load(&k->board->step[r]) >= n,
                      "after collective %llu (%zu) rank %zu has entered it", (unsigned long long)n, kind, r);
        }
        if (kind == 7)
            CHECK_OK(cobre_region_free(&region));
    }
    CHECK_OK(cobre_barrier(k->comm));
    free(large);
}

/* The root of a small broadcast, and a rank in a gather of nothing, are back before the others have entered. */
static void mpi_returns_early(kit *k) {
    size_t none[KIT_MAX_RANKS] = {0};
    uint64_t value = 7;
    if (getenv("COBRE_CHECK"))
        SKIP(k, "with COBRE_CHECK=1 everybody waits for everybody");
    for (double end = kit_seconds() + 120; k->rank && !atomic_load(&k->board->entered); sched_yield())
        CHECK_SAY(kit_seconds() < end, "rank 0 does not wait for us");
    CHECK_OK(cobre_broadcast_t(k->comm, &value, 1, 0));
    CHECK_OK(cobre_allgatherv(k->comm, NULL, 0, NULL, 0, none, none, COBRE_U8));
    atomic_store(&k->board->entered, 1);
    CHECK_OK(cobre_barrier(k->comm));
}

/* One rank: there is nobody to wait for, so it never sleeps. */
static void barrier_no_op(kit *k) {
    struct rusage before, after;
    CHECK_EQ(k->size, 1);
    CHECK_OK(cobre_barrier(k->comm)); /* the first may still set up things */
    CHECK(getrusage(RUSAGE_THREAD, &before) == 0);
    for (size_t i = 0; i < kit_times(1000000); i++)
        CHECK_OK(cobre_barrier(k->comm));
    CHECK(getrusage(RUSAGE_THREAD, &after) == 0);
    CHECK_EQ(after.ru_nvcsw, before.ru_nvcsw);
}

const kit_case barrier_cases[] = {
    KIT_CASE(barrier_write_before_read),
    KIT_CASE(barrier_repeated),
    KIT_CASE(barrier_no_fall_through),
    KIT_CASE_WITH(collectives_wait_for_all, .on = "local shm tcp"),
    KIT_CASE_WITH(collectives_wait_for_senders, .on = "mpi"),
    KIT_CASE_WITH(mpi_returns_early, .ranks = "2,3", .on = "mpi"),
    KIT_CASE_WITH(barrier_no_op, .ranks = "1"),
    KIT_END,
};
