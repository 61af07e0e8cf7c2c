/* mismatch.c: ranks that make different calls, and a rank that makes a wrong one first. */
#include "kit/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 20 * 1000, PATTERN = 0x5a };

typedef struct {
    cobre_comm *comm;
    cobre_region *region[2];
    cobre_region *made;
    double send[LARGE], recv[4 * LARGE];
} desk;
static desk d;

static cobre_status barrier(void) {
    return cobre_barrier(d.comm);
}

static cobre_status reduce(size_t count, cobre_type type, cobre_op op) {
    return cobre_allreduce(d.comm, d.send, count, d.recv, count, type, op);
}

static cobre_status reduce_4(void) {
    return reduce(4, COBRE_F64, COBRE_SUM);
}

static cobre_status reduce_5(void) {
    return reduce(5, COBRE_F64, COBRE_SUM);
}

static cobre_status reduce_i64(void) {
    return reduce(4, COBRE_I64, COBRE_SUM);
}

static cobre_status reduce_max(void) {
    return reduce(4, COBRE_F64, COBRE_MAX);
}

static cobre_status reduce_large(void) {
    return reduce(LARGE, COBRE_F64, COBRE_SUM);
}

static cobre_status reduce_large_max(void) {
    return reduce(LARGE, COBRE_F64, COBRE_MAX);
}

static cobre_status broadcast(size_t count, size_t root) {
    return cobre_broadcast(d.comm, self.rank == root ? d.send : d.recv, count, COBRE_F64, root);
}

static cobre_status broadcast_0(void) {
    return broadcast(4, 0);
}

static cobre_status broadcast_1(void) {
    return broadcast(4, 1);
}

static cobre_status broadcast_large(void) {
    return broadcast(LARGE, 0);
}

/* counts: 2 a rank, but `first` for rank 0 and 4 - first for rank 1; gaps of `gap` between the parts. */
static cobre_status gather(size_t first, size_t gap, size_t times, cobre_region *region) {
    size_t counts[4] = {0}, displs[4] = {0}, at = 0;
    for (size_t r = 0; r < self.size; r++) {
        counts[r] = times * (r == 0 ? first : r == 1 ? 4 - first : 2);
        displs[r] = at;
        at += counts[r] + gap;
    }
    size_t mine = counts[self.rank];
    if (region)
        return cobre_allgatherv_region(d.comm, d.send, mine, region, counts, displs);
    return cobre_allgatherv(d.comm, d.send, mine, d.recv, 4 * LARGE, counts, displs, COBRE_F64);
}

static cobre_status gather_2_2(void) {
    return gather(2, 0, 1, NULL);
}

static cobre_status gather_1_3(void) {
    return gather(1, 0, 1, NULL);
}

static cobre_status gather_large(void) {
    return gather(2, 0, LARGE / 4, NULL);
}

static cobre_status gather_region(void) {
    return gather(2, 0, 1, d.region[0]);
}

static cobre_status gather_region_gaps(void) {
    return gather(2, 1, 1, d.region[0]);
}

static cobre_status gather_other_region(void) {
    return gather(2, 0, 1, d.region[1]);
}

static cobre_status fence_1(void) {
    return cobre_region_fence(d.region[0]);
}

static cobre_status fence_2(void) {
    return cobre_region_fence(d.region[1]);
}

static cobre_status seal_1(void) {
    return cobre_region_seal(d.region[0]);
}

static cobre_status create(size_t count, cobre_type type, unsigned flags) {
    cobre_status status = cobre_region_create(d.comm, count, type, flags, &d.made);
    CHECK(!status || !d.made);
    return status;
}

static cobre_status create_plain(void) {
    return create(100, COBRE_F64, 0);
}

static cobre_status create_interleaved(void) {
    return create(100, COBRE_F64, COBRE_REGION_INTERLEAVE);
}

static cobre_status create_larger(void) {
    return create(101, COBRE_F64, 0);
}

static cobre_status create_u64(void) {
    return create(100, COBRE_U64, 0);
}

static cobre_status split(void) {
    cobre_comm *local;
    cobre_status status = cobre_split_local(d.comm, &local);
    CHECK(status && !local);
    return status;
}

/* What most ranks do and what one does; the message must hold both texts. */
static const struct {
    cobre_status (*usual)(void), (*odd)(void);
    const char *usual_text, *odd_text;
} pairs[] = {
    {barrier, reduce_4, "barrier", "allreduce(sum, f64, count 4)"},
    {reduce_4, reduce_5, "count 4", "count 5"},
    {reduce_4, reduce_i64, "f64", "i64"},
    {reduce_4, reduce_max, "allreduce(sum", "allreduce(max"},
    {reduce_large, reduce_large_max, "allreduce(sum", "allreduce(max"},
    {reduce_4, reduce_large, "count 4", "count 20000"},
    {broadcast_0, broadcast_1, "root 0", "root 1"},
    {broadcast_0, broadcast_large, "count 4", "count 20000"},
    {gather_2_2, gather_1_3, "allgatherv(f64", "another split"},
    {gather_2_2, gather_large, "allgatherv(f64", "elements in all"},
    {gather_large, reduce_large, "allgatherv(f64", "allreduce(sum"},
    {gather_2_2, gather_region, "allgatherv(", "allgatherv_region("},
    {gather_region, gather_region_gaps, "allgatherv_region(", "region"},
    {gather_region, gather_other_region, "allgatherv_region(", "region"},
    {create_plain, create_interleaved, "flags 0", "flags 1"},
    {create_plain, create_larger, "count 100", "count 101"},
    {create_plain, create_u64, "f64", "u64"},
    {split, barrier, "split_local", "barrier"},
    /* The last two: nobody waits in a fence where memory is not shared. */
    {fence_1, fence_2, "region_fence(region 1)", "region_fence(region 2)"},
    {fence_1, seal_1, "region_fence", "region_seal"},
};

static size_t pair_count(void) {
    return sizeof pairs / sizeof *pairs - (backend == COBRE_SHM ? 0 : 2);
}

static struct { size_t pair, odd, also_odd; } plan;

static bool all_pattern(const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    while (count && *at == PATTERN)
        at++, count--;
    return count == 0;
}

static void make_different_calls(void) {
    d.comm = open_rank();
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(cobre_region_create(d.comm, 100, COBRE_F64, 0, &d.region[i]));
        if (cobre_is_leader(d.comm))
            memset(cobre_region_data_mut(d.region[i]), PATTERN, 100 * sizeof(double));
        CHECK_OK(cobre_region_fence(d.region[i]));
    }
    for (size_t i = 0; i < LARGE; i++)
        d.send[i] = (double)self.rank;
    memset(d.recv, PATTERN, sizeof d.recv);
    bool odd = self.rank == plan.odd || self.rank == plan.also_odd;
    cobre_status (*call)(void) = odd ? pairs[plan.pair].odd : pairs[plan.pair].usual;
    tell("returned", call());
    if (call != gather_2_2 && call != gather_1_3 && call != gather_large)
        CHECK_SAY(all_pattern(d.recv, sizeof d.recv), "a call that did not happen writes nothing");
    for (size_t i = 0; i < 2 && backend == COBRE_SHM; i++) /* elsewhere a region is this rank's own recv */
        CHECK(all_pattern(cobre_region_data(d.region[i]), 100 * sizeof(double)));
    for (size_t i = 0; i < LARGE; i++)
        CHECK(d.send[i] == (double)self.rank);
    tell("again", cobre_barrier(d.comm));
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(cobre_region_free(&d.region[i]));
    CHECK_OK(cobre_comm_free(&d.comm));
}

static void check_all(job *j, size_t culprit) {
    for (size_t r = 0; r < j->size; r++) {
        const report *returned = await(j, r, "returned");
        if (culprit == COBRE_NO_RANK)
            culprit = returned->culprit; /* any, but all must name the same */
        CHECK(culprit < j->size);
        must_have_failed(j, returned, COBRE_CAUSE_MISMATCH, culprit, returned->time);
        CHECK_SAY(strstr(returned->message, pairs[plan.pair].usual_text) &&
                      strstr(returned->message, pairs[plan.pair].odd_text),
                  "\"%s\" and \"%s\" are in: %s", pairs[plan.pair].usual_text, pairs[plan.pair].odd_text,
                  returned->message);
        CHECK_SAY(!strstr(returned->message, "another split") || strstr(returned->message, "allgatherv("),
                  "only parts are split: %s", returned->message);
        const report *again = await(j, r, "again");
        must_have_failed(j, again, COBRE_CAUSE_MISMATCH, culprit, again->time);
    }
    end_job(j);
}

static void mismatched_calls(void) {
    for (plan.pair = 0; plan.pair < pair_count(); plan.pair++)
        for (size_t size = 2; size <= 4; size++)
            for (plan.odd = 0; plan.odd < size; plan.odd++) {
                if (KIT_SANITIZED && (plan.odd + plan.pair) % 2)
                    continue;
                job j;
                plan.also_odd = plan.odd;
                start_job(&j, size, make_different_calls);
                check_all(&j, size == 2 ? COBRE_NO_RANK : plan.odd);
            }
}

static void mismatched_halves(void) {
    for (plan.pair = 0; plan.pair < pair_count(); plan.pair++) {
        job j;
        plan.odd = plan.pair % 2;
        plan.also_odd = 2;
        start_job(&j, 4, make_different_calls);
        check_all(&j, COBRE_NO_RANK);
    }
}

/* allgatherv may have copied the caller's own part; everything else in recv must be as it was. */
static void make_different_gathers(void) {
    cobre_comm *comm = open_rank();
    size_t odd = self.rank == plan.odd, total = 0;
    size_t counts[3] = {1000 + odd, 2000, 3000}, displs[3];
    double mine[3001], recv[7000];
    for (size_t r = 0; r < 3; r++) {
        displs[r] = total + 7;
        total = displs[r] + counts[r];
    }
    memset(mine, 1, sizeof mine);
    memset(recv, PATTERN, sizeof recv);
    size_t count = counts[self.rank], from = displs[self.rank];
    tell("returned", cobre_allgatherv(comm, mine, count, recv, 7000, counts, displs, COBRE_F64));
    CHECK(all_pattern(recv, from * sizeof *recv));
    CHECK(all_pattern(recv + from + count, (7000 - from - count) * sizeof *recv));
    CHECK(all_pattern(recv + from, count * sizeof *recv) || memcmp(recv + from, mine, count * sizeof *recv) == 0);
    CHECK_OK(cobre_comm_free(&comm));
}

static void mismatched_gathers_write_nothing(void) {
    for (plan.odd = 0; plan.odd < 3; plan.odd++) {
        job j;
        start_job(&j, 3, make_different_gathers);
        for (size_t r = 0; r < 3; r++) {
            const report *returned = await(&j, r, "returned");
            must_have_failed(&j, returned, COBRE_CAUSE_MISMATCH, plan.odd, returned->time);
        }
        end_job(&j);
    }
}

/* Payloads that no socket's buffer holds, of two ranks that both send. */
static void make_different_broadcasts(void) {
    enum { HUGE_COUNT = 4 * 1000 * 1000 };
    cobre_comm *comm = open_rank();
    double *buffer = calloc(HUGE_COUNT, sizeof *buffer);
    CHECK(buffer);
    tell("returned", cobre_broadcast(comm, buffer, HUGE_COUNT, COBRE_F64, self.rank));
    free(buffer);
    CHECK_OK(cobre_comm_free(&comm));
}

static void mismatched_huge_broadcasts(void) {
    job j;
    start_job(&j, 2, make_different_broadcasts);
    for (size_t r = 0; r < 2; r++) {
        const report *returned = await(&j, r, "returned");
        must_have_failed(&j, returned, COBRE_CAUSE_MISMATCH, 1, returned->time); /* the first unlike rank 0 */
    }
    end_job(&j);
}

/* A wrong argument on one rank is that rank's affair; it has not entered, and a right call heals it. */
static void err_then_do_right(void) {
    cobre_comm *comm = open_rank();
    uint64_t mine = self.rank + 1, sum = 0;
    size_t counts[3] = {1, 1, 1}, displs[3] = {0, 1, 2}, overlapping[3] = {0, 0, 0};
    uint64_t all[3] = {0};
    cobre_region *region;
    CHECK_OK(cobre_barrier(comm));
    if (self.rank == plan.odd) {
        await_order();
        CHECK(cobre_allreduce(comm, &mine, 1, &sum, 2, COBRE_U64, COBRE_SUM) == COBRE_INVALID_BUFFER_SIZE);
        CHECK(cobre_allreduce(comm, &mine, 1, &sum, 1, (cobre_type)99, COBRE_SUM) == COBRE_INVALID_ARGUMENT);
        CHECK(cobre_allreduce(comm, &mine, 1, &sum, 1, COBRE_U64, (cobre_op)99) == COBRE_INVALID_ARGUMENT);
        CHECK(cobre_allreduce(comm, NULL, 1, &sum, 1, COBRE_U64, COBRE_SUM) == COBRE_INVALID_ARGUMENT);
        CHECK(cobre_broadcast(comm, &mine, 1, COBRE_U64, 3) == COBRE_INVALID_ROOT);
        CHECK(cobre_allgatherv(comm, &mine, 1, all, 3, counts, overlapping, COBRE_U64) == COBRE_INVALID_ARGUMENT);
        CHECK(cobre_allgatherv(comm, &mine, 1, all, 2, counts, displs, COBRE_U64) == COBRE_INVALID_BUFFER_SIZE);
        CHECK(cobre_region_create(comm, 1, COBRE_U64, 1024, &region) == COBRE_INVALID_ARGUMENT);
        CHECK(cobre_split_local(comm, NULL) == COBRE_INVALID_ARGUMENT);
        say("erred", 0);
        await_order();
    }
    report_inside();
    tell("returned", cobre_allreduce(comm, &mine, 1, &sum, 1, COBRE_U64, COBRE_SUM));
    CHECK(sum == 6);
    CHECK_OK(cobre_allgatherv(comm, &mine, 1, all, 3, counts, displs, COBRE_U64));
    CHECK(all[0] == 1 && all[1] == 2 && all[2] == 3);
    CHECK_OK(cobre_comm_free(&comm));
}

static void argument_error_of_one(void) {
    for (plan.odd = 0; plan.odd < 3; plan.odd++) {
        job j;
        start_job(&j, 3, err_then_do_right);
        for (size_t r = 0; r < 3; r++)
            if (r != plan.odd)
                await(&j, r, "inside");
        order(&j, plan.odd, 'e');
        await(&j, plan.odd, "erred");
        set_aside(0.2);
        for (size_t r = 0; r < 3; r++)
            CHECK_SAY(!has_reported(&j, r, "returned"), "rank %zu goes on waiting", r);
        order(&j, plan.odd, 'g');
        for (size_t r = 0; r < 3; r++)
            CHECK(await(&j, r, "returned")->status == COBRE_OK);
        end_job(&j);
    }
}

const check_case mismatch_cases[] = {
    {.name = "mismatched_calls", .run = mismatched_calls, .busy = true},
    {.name = "mismatched_halves", .run = mismatched_halves, .busy = true},
    {.name = "mismatched_gathers_write_nothing", .run = mismatched_gathers_write_nothing},
    {.name = "mismatched_huge_broadcasts", .run = mismatched_huge_broadcasts},
    {.name = "argument_error_of_one", .run = argument_error_of_one},
    CHECK_END,
};
