/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that make different calls, and a rank that makes a wrong one first.
 *
 * Different calls break a communicator, so each try has one of its own. Under MPI they are compared only with COBRE_CHECK=1,
 * which the case sets. */
#include "conformance/tables.h"
#include "kit/variables.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 20 * 1000, IN_REGION = 100, PATTERN = 0x5a };

typedef struct {
    enum { BARRIER, ALLREDUCE, BROADCAST, GATHER, GATHER_REGION, CREATE, SPLIT, FENCE, SEAL } what;
    size_t count, root;
    cobre_type type;
    cobre_op op;
    unsigned flags;
    /* Of a gather: 2 * count elements per rank, but first * count of rank 0 and (4 - first) * count of rank 1. */
    size_t first, gap;
    size_t region; /* the first or the second */
} call;

typedef struct {
    cobre_region *region[2];
    double send[LARGE], recv[4 * LARGE];
    size_t own, own_count;      /* where a gather may have copied its own part into recv */
    size_t node[KIT_MAX_RANKS]; /* a rank's leader */
} desk;

#define REDUCE(n, t, o)                                                                                                \
    { .what = ALLREDUCE, .count = (n), .type = COBRE_##t, .op = COBRE_##o }
#define FROM(n, r)                                                                                                     \
    { .what = BROADCAST, .count = (n), .root = (r) }
#define PARTS(f, g, n)                                                                                                 \
    { .what = GATHER, .first = (f), .gap = (g), .count = (n) }
#define INTO(r, g)                                                                                                     \
    { .what = GATHER_REGION, .first = 2, .gap = (g), .count = 1, .region = (r) }
#define MAKE(n, t, f)                                                                                                  \
    { .what = CREATE, .count = (n), .type = COBRE_##t, .flags = (f) }
#define ON(call, r)                                                                                                    \
    { .what = (call), .region = (r) }

/* What most ranks do and what one does; the message must hold both texts. */
static const struct {
    call usual, odd;
    const char *usual_text, *odd_text;
} pairs[] = {
    {{.what = BARRIER}, REDUCE(4, F64, SUM), "barrier", "allreduce(sum, f64, count 4)"},
    {REDUCE(4, F64, SUM), REDUCE(5, F64, SUM), "count 4", "count 5"},
    {REDUCE(4, F64, SUM), REDUCE(4, I64, SUM), "f64", "i64"},
    {REDUCE(4, F64, SUM), REDUCE(4, F64, MAX), "allreduce(sum", "allreduce(max"},
    {REDUCE(LARGE, F64, SUM), REDUCE(LARGE, F64, MAX), "allreduce(sum", "allreduce(max"},
    {REDUCE(4, F64, SUM), REDUCE(LARGE, F64, SUM), "count 4", "count 20000"},
    {FROM(4, 0), FROM(4, 1), "root 0", "root 1"},
    {FROM(4, 0), FROM(LARGE, 0), "count 4", "count 20000"},
    {PARTS(2, 0, 1), PARTS(1, 0, 1), "allgatherv(f64", "another split"},
    {PARTS(2, 7, 1000), PARTS(1, 7, 1000), "allgatherv(f64", "another split"},
    {PARTS(2, 0, 1), PARTS(2, 0, LARGE / 4), "allgatherv(f64", "elements in all"},
    {PARTS(2, 0, LARGE / 4), REDUCE(LARGE, F64, SUM), "allgatherv(f64", "allreduce(sum"},
    {PARTS(2, 0, 1), INTO(0, 0), "allgatherv(", "allgatherv_region("},
    {INTO(0, 0), INTO(0, 1), "allgatherv_region(", "region"},
    {INTO(0, 0), INTO(1, 0), "allgatherv_region(", "region"},
    {MAKE(100, F64, 0), MAKE(100, F64, COBRE_REGION_INTERLEAVE), "flags 0", "flags 1"},
    {MAKE(100, F64, 0), MAKE(101, F64, 0), "count 100", "count 101"},
    {MAKE(100, F64, 0), MAKE(100, U64, 0), "f64", "u64"},
    {{.what = SPLIT}, {.what = BARRIER}, "split_local", "barrier"},
    {ON(FENCE, 0), ON(FENCE, 1), "region_fence(region 1)", "region_fence(region 2)"},
    {ON(FENCE, 0), ON(SEAL, 0), "region_fence", "region_seal"},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static cobre_status gather(const kit *k, desk *d, const call *c) {
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS], at = 0;
    for (size_t r = 0; r < k->size; r++) {
        counts[r] = c->count * (r == 0 ? c->first : r == 1 ? 4 - c->first : 2);
        displs[r] = at;
        at += counts[r] + c->gap;
    }
    size_t mine = counts[k->rank];
    if (c->what == GATHER_REGION)
        return cobre_allgatherv_region(k->comm, d->send, mine, d->region[c->region], counts, displs);
    d->own = displs[k->rank];
    d->own_count = mine;
    return cobre_allgatherv(k->comm, d->send, mine, d->recv, 4 * LARGE, counts, displs, COBRE_F64);
}

static cobre_status create(const kit *k, const call *c) {
    cobre_region *made;
    cobre_status status = cobre_region_create(k->comm, c->count, c->type, c->flags, &made);
    CHECK(!made);
    return status;
}

static cobre_status split(const kit *k) {
    cobre_comm *local;
    cobre_status status = cobre_split_local(k->comm, &local);
    CHECK(!local);
    return status;
}

static cobre_status make_call(const kit *k, desk *d, const call *c) {
    switch (c->what) {
    case BARRIER: return cobre_barrier(k->comm);
    case ALLREDUCE: return cobre_allreduce(k->comm, d->send, c->count, d->recv, c->count, c->type, c->op);
    case BROADCAST:
        return cobre_broadcast(k->comm, k->rank == c->root ? d->send : d->recv, c->count, COBRE_F64, c->root);
    case GATHER:
    case GATHER_REGION: return gather(k, d, c);
    case CREATE: return create(k, c);
    case SPLIT: return split(k);
    case FENCE: return cobre_region_fence(d->region[c->region]);
    default: return cobre_region_seal(d->region[c->region]);
    }
}

static bool all_pattern(const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    return count == 0 || (*at == PATTERN && memcmp(at, at + 1, count - 1) == 0);
}

/* A call that did not happen has written nothing. */
static void check_untouched(const kit *k, const desk *d) {
    size_t part = d->own_count * sizeof(double), after = d->own + d->own_count;
    CHECK(all_pattern(d->recv, d->own * sizeof(double)));
    CHECK(all_pattern(d->recv + d->own, part) || memcmp(d->recv + d->own, d->send, part) == 0);
    CHECK(all_pattern(d->recv + after, (4 * LARGE - after) * sizeof(double)));
    CHECK(d->send[0] == (double)k->rank && memcmp(d->send, d->send + 1, (LARGE - 1) * sizeof(double)) == 0);
    for (size_t i = 0; i < 2 && k->backend != COBRE_TCP; i++) /* there a region is like recv */
        CHECK(all_pattern(cobre_region_data(d->region[i]), IN_REGION * sizeof(double)));
}

static void check_error(const kit *k, cobre_status status, size_t culprit) {
    const cobre_error *error = cobre_last_error();
    CHECK_EQ(status, COBRE_COLLECTIVE_FAILED);
    CHECK_EQ(error->cause, COBRE_CAUSE_MISMATCH);
    CHECK(error->culprit < k->size);
    if (culprit != COBRE_NO_RANK)
        CHECK_EQ(error->culprit, culprit);
}

/* The ranks that have failed name the same one. */
static void check_agreement(const kit *k) {
    size_t named = COBRE_NO_RANK;
    for (size_t r = 0; r < k->size; r++) {
        size_t culprit = (size_t)k->board->cell[r].value[0];
        if (named == COBRE_NO_RANK)
            named = culprit;
        CHECK(culprit == named || culprit == COBRE_NO_RANK);
    }
}

static void prepare(const kit *k, desk *d) {
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(cobre_region_create(k->comm, IN_REGION, COBRE_F64, 0, &d->region[i]));
        if (cobre_is_leader(k->comm))
            memset(cobre_region_data_mut(d->region[i]), PATTERN, IN_REGION * sizeof(double));
        CHECK_OK(cobre_region_fence(d->region[i]));
    }
    memset(d->recv, PATTERN, sizeof d->recv);
    d->own = d->own_count = 0;
}

/* Two odd ones at most. With three calls to compare and one odd one everybody blames that one. Only the ranks of a node
 * meet in a fence: the others see nothing wrong. */
static void differ(kit *k, desk *d, size_t pair, size_t odd, size_t also_odd) {
    kit_note(k, "pair %zu, rank %zu and %zu are odd", pair, odd, also_odd);
    kit_reopen(k);
    check_agreement(k);
    prepare(k, d);
    bool on_node = pairs[pair].usual.what == FENCE;
    size_t meeting = on_node ? cobre_node_size(k->comm) : k->size, culprit = COBRE_NO_RANK;
    cobre_status status =
        make_call(k, d, k->rank == odd || k->rank == also_odd ? &pairs[pair].odd : &pairs[pair].usual);
    const cobre_error *error = cobre_last_error();
    if (on_node && (meeting == 1 || d->node[k->rank] != d->node[odd])) {
        CHECK_OK(status);
    } else {
        check_error(k, status, meeting > 2 && odd == also_odd ? odd : COBRE_NO_RANK);
        CHECK_HOLDS(error->message, pairs[pair].usual_text);
        CHECK_HOLDS(error->message, pairs[pair].odd_text);
        CHECK(!strstr(error->message, "another split") || strstr(error->message, "allgatherv("));
        culprit = error->culprit;
        check_error(k, cobre_barrier(k->comm), culprit);
        CHECK_HOLDS(error->message, "is broken since");
    }
    check_untouched(k, d);
    k->board->cell[k->rank].value[0] = culprit;
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(cobre_region_free(&d->region[i]));
}

static void find_nodes(const kit *k, size_t node[]) {
    cobre_comm *local;
    uint64_t leader = k->rank;
    CHECK_OK(cobre_split_local(k->comm, &local));
    CHECK_OK(cobre_broadcast_t(local, &leader, 1, 0));
    CHECK_OK(cobre_comm_free(&local));
    for (size_t r = 0; r < k->size; r++) {
        uint64_t of = leader;
        CHECK_OK(cobre_broadcast_t(k->comm, &of, 1, r));
        node[r] = (size_t)of;
    }
}

static void mismatched_calls(kit *k) {
    bool mpi = k->backend == COBRE_MPI, set = mpi && !getenv(ENV_CHECK);
    desk *d = malloc(sizeof *d);
    CHECK(d != NULL);
    find_nodes(k, d->node);
    for (size_t i = 0; i < LARGE; i++)
        d->send[i] = (double)k->rank;
    if (set)
        setenv(ENV_CHECK, "1", 1);
    for (size_t pair = 0; pair < PAIRS; pair++) {
        for (size_t odd = 0; odd < k->size; odd++)
            if (!mpi || odd == pair % k->size) /* there each try takes longer */
                differ(k, d, pair, odd, odd);
        if (k->size == 4 && !mpi)
            differ(k, d, pair, pair % 2, 2);
    }
    if (set)
        unsetenv(ENV_CHECK);
    kit_reopen(k);
    check_agreement(k);
    free(d);
}

/* Payloads that no socket's buffer holds, of ranks that all send. */
static void mismatched_huge_broadcasts(kit *k) {
    enum { COUNT = 4 * 1000 * 1000 };
    double *buffer = calloc(COUNT, sizeof *buffer);
    CHECK(buffer != NULL);
    check_error(k, cobre_broadcast(k->comm, buffer, COUNT, COBRE_F64, k->rank), 1); /* the first unlike rank 0 */
    free(buffer);
}

static void err(const kit *k) {
    uint64_t mine = 1, sum, all[3];
    size_t counts[3] = {1, 1, 1}, displs[3] = {0, 1, 2}, overlapping[3] = {0};
    cobre_region *region;
    CHECK_STATUS(cobre_allreduce(k->comm, &mine, 1, &sum, 2, COBRE_U64, COBRE_SUM), COBRE_INVALID_BUFFER_SIZE);
    CHECK_STATUS(cobre_allreduce(k->comm, &mine, 1, &sum, 1, (cobre_type)99, COBRE_SUM), COBRE_INVALID_ARGUMENT);
    CHECK_STATUS(cobre_allreduce(k->comm, &mine, 1, &sum, 1, COBRE_U64, (cobre_op)99), COBRE_INVALID_ARGUMENT);
    CHECK_STATUS(cobre_allreduce(k->comm, NULL, 1, &sum, 1, COBRE_U64, COBRE_SUM), COBRE_INVALID_ARGUMENT);
    CHECK_STATUS(cobre_broadcast(k->comm, &mine, 1, COBRE_U64, 3), COBRE_INVALID_ROOT);
    CHECK_STATUS(cobre_allgatherv(k->comm, &mine, 1, all, 3, counts, overlapping, COBRE_U64), COBRE_INVALID_ARGUMENT);
    CHECK_STATUS(cobre_allgatherv(k->comm, &mine, 1, all, 2, counts, displs, COBRE_U64), COBRE_INVALID_BUFFER_SIZE);
    CHECK_STATUS(cobre_region_create(k->comm, 1, COBRE_U64, 1024, &region), COBRE_INVALID_ARGUMENT);
    CHECK_STATUS(cobre_split_local(k->comm, NULL), COBRE_INVALID_ARGUMENT);
}

/* A wrong argument on one rank is that rank's affair: it has not entered, and a right call heals it, while the others
 * go on waiting. */
static void argument_error_of_one(kit *k) {
    size_t counts[3] = {1, 1, 1}, displs[3] = {0, 1, 2};
    for (size_t odd = 0; odd < k->size; odd++) {
        uint64_t mine = k->rank + 1, sum = 0, all[3] = {0};
        if (k->rank == odd) {
            while (atomic_load(&k->board->entered) < (odd + 1) * (k->size - 1))
                sched_yield();
            err(k);
        } else {
            atomic_fetch_add(&k->board->entered, 1);
        }
        CHECK_OK(cobre_allreduce_t(k->comm, &mine, &sum, 1, COBRE_SUM));
        CHECK_EQ(sum, 6);
        CHECK_OK(cobre_allgatherv_t(k->comm, &mine, 1, all, 3, counts, displs));
        CHECK(all[0] == 1 && all[1] == 2 && all[2] == 3);
    }
}

const kit_case mismatch_cases[] = {
    /* MPI too, but in a launch of its own. */
    KIT_CASE_WITH(mismatched_calls, .ranks = "2,3,4", .on = "shm tcp", .breaks = true),
    KIT_CASE_WITH(mismatched_huge_broadcasts, .ranks = "2,3", .on = "shm tcp"),
    KIT_CASE_WITH(argument_error_of_one, .ranks = "3"),
    KIT_END,
};
