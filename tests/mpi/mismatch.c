/* mismatch.c: ranks that make different calls, with COBRE_CHECK=1: every rank gets an error with both calls in it. */
#include "rank.h"

static struct {
    cobre_region *region[2], *made;
    double send[20000], recv[40000];
} d;

static cobre_status barrier(void) {
    return cobre_barrier(comm);
}

static cobre_status reduce_4(void) {
    return cobre_allreduce(comm, d.send, 4, d.recv, 4, COBRE_F64, COBRE_SUM);
}

static cobre_status reduce_5(void) {
    return cobre_allreduce(comm, d.send, 5, d.recv, 5, COBRE_F64, COBRE_SUM);
}

static cobre_status reduce_i64(void) {
    return cobre_allreduce(comm, d.send, 4, d.recv, 4, COBRE_I64, COBRE_SUM);
}

static cobre_status reduce_max(void) {
    return cobre_allreduce(comm, d.send, 4, d.recv, 4, COBRE_F64, COBRE_MAX);
}

static cobre_status reduce_large(void) {
    return cobre_allreduce(comm, d.send, 20000, d.recv, 20000, COBRE_F64, COBRE_SUM);
}

static cobre_status broadcast(size_t count, size_t root) {
    return cobre_broadcast(comm, cobre_rank(comm) == root ? d.send : d.recv, count, COBRE_F64, root);
}

static cobre_status broadcast_0(void) {
    return broadcast(4, 0);
}

static cobre_status broadcast_1(void) {
    return broadcast(4, 1);
}

static cobre_status broadcast_large(void) {
    return broadcast(20000, 0);
}

/* counts: 2 a rank, but `first` for rank 0 and 4 - first for rank 1; `gap` between the parts. */
static cobre_status gather(size_t first, size_t gap, cobre_region *region) {
    size_t counts[8] = {0}, displs[8] = {0}, at = 0;
    for (size_t r = 0; r < cobre_size(comm); r++) {
        counts[r] = r == 0 ? first : r == 1 ? 4 - first : 2;
        displs[r] = at;
        at += counts[r] + gap;
    }
    size_t mine = counts[cobre_rank(comm)];
    if (region)
        return cobre_allgatherv_region(comm, d.send, mine, region, counts, displs);
    return cobre_allgatherv(comm, d.send, mine, d.recv, 40000, counts, displs, COBRE_F64);
}

static cobre_status gather_2_2(void) {
    return gather(2, 0, NULL);
}

static cobre_status gather_1_3(void) {
    return gather(1, 0, NULL);
}

static cobre_status gather_region(void) {
    return gather(2, 0, d.region[0]);
}

static cobre_status gather_region_gaps(void) {
    return gather(2, 1, d.region[0]);
}

static cobre_status gather_other_region(void) {
    return gather(2, 0, d.region[1]);
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

static cobre_status create_100(void) {
    return cobre_region_create(comm, 100, COBRE_F64, 0, &d.made);
}

static cobre_status create_101(void) {
    return cobre_region_create(comm, 101, COBRE_F64, 0, &d.made);
}

static cobre_status create_interleaved(void) {
    return cobre_region_create(comm, 100, COBRE_F64, COBRE_REGION_INTERLEAVE, &d.made);
}

static cobre_status create_u64(void) {
    return cobre_region_create(comm, 100, COBRE_U64, 0, &d.made);
}

static cobre_status split(void) {
    cobre_comm *local;
    return cobre_split_local(comm, &local);
}

/* What most ranks do and what one does; the message must hold both texts. The same pairs as tests/fault. */
static const struct {
    cobre_status (*usual)(void), (*odd)(void);
    const char *usual_text, *odd_text;
    bool on_node; /* only the ranks of a node meet in it */
} pairs[] = {
    {barrier, reduce_4, "barrier", "allreduce(sum, f64, count 4)", false},
    {reduce_4, reduce_5, "count 4", "count 5", false},
    {reduce_4, reduce_i64, "f64", "i64", false},
    {reduce_4, reduce_max, "allreduce(sum", "allreduce(max", false},
    {reduce_4, reduce_large, "count 4", "count 20000", false},
    {broadcast_0, broadcast_1, "root 0", "root 1", false},
    {broadcast_0, broadcast_large, "count 4", "count 20000", false},
    {gather_2_2, gather_1_3, "allgatherv(f64", "another split", false},
    {gather_2_2, gather_region, "allgatherv(", "allgatherv_region(", false},
    {gather_region, gather_region_gaps, "allgatherv_region(", "region", false},
    {gather_region, gather_other_region, "allgatherv_region(", "region", false},
    {create_100, create_interleaved, "flags 0", "flags 1", false},
    {create_100, create_101, "count 100", "count 101", false},
    {create_100, create_u64, "f64", "u64", false},
    {split, barrier, "split_local", "barrier", false},
    {fence_1, fence_2, "region_fence(region 1)", "region_fence(region 2)", true},
    {fence_1, seal_1, "region_fence", "region_seal", true},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* A rank of another node than the odd one's sees nothing wrong in a fence. */
static void check(size_t pair, size_t odd, bool same_node, cobre_status status) {
    const cobre_error *error = cobre_last_error();
    if (pairs[pair].on_node && !same_node) {
        MUST_OK(status);
        return;
    }
    MUST(status == COBRE_COLLECTIVE_FAILED && error->cause == COBRE_CAUSE_MISMATCH);
    bool both = strstr(error->message, pairs[pair].usual_text) && strstr(error->message, pairs[pair].odd_text);
    bool blamed = cobre_node_size(comm) < 3 || error->culprit == odd;
    if (!both || !blamed)
        fprintf(stderr, "pair %zu, odd %zu, rank %zu: %s\n", pair, odd, cobre_rank(comm), error->message);
    MUST(both && blamed);
    MUST(cobre_barrier(comm) == COBRE_COLLECTIVE_FAILED && cobre_last_error()->cause == COBRE_CAUSE_MISMATCH);
    MUST(strstr(cobre_last_error()->message, "is broken since"));
}

static void make_pair(size_t pair, size_t odd) {
    MUST_OK(cobre_comm_open(NULL, &comm));
    size_t rank = cobre_rank(comm), first = rank - cobre_node_rank(comm);
    bool same_node = odd >= first && odd < first + cobre_node_size(comm);
    for (size_t i = 0; i < 2; i++)
        MUST_OK(cobre_region_create(comm, 100, COBRE_F64, 0, &d.region[i]));
    memset(d.recv, 0x5a, sizeof d.recv);
    cobre_status (*call)(void) = rank == odd ? pairs[pair].odd : pairs[pair].usual;
    check(pair, odd, same_node, call());
    for (size_t i = 0; i < sizeof d.recv; i++)
        MUST(((unsigned char *)d.recv)[i] == 0x5a);
    for (size_t i = 0; i < 2; i++)
        MUST_OK(cobre_region_free(&d.region[i]));
    MUST_OK(cobre_comm_free(&comm));
}

int main(int argc, char **argv) {
    size_t from = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    char text[64];
    MUST_OK(cobre_comm_open(NULL, &comm));
    size_t size = cobre_size(comm), rank = cobre_rank(comm);
    MUST_OK(cobre_comm_free(&comm));
    for (size_t pair = from; pair < PAIRS; pair++)
        make_pair(pair, pair % size);
    snprintf(text, sizeof text, "%zu pairs", PAIRS - from);
    happened_on(rank, "returned", text);
    await("leave", NULL, 0);
    return 1;
}
