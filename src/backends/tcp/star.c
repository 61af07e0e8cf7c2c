/* star.c: small operations: one frame to rank 0, one frame back.
 *
 * Rank 0 reads every rank's frame as it arrives, compares the calls, folds in rank order and answers: R - 1 frames in and
 * R - 1 out at rank 0, 1 and 1 elsewhere. With two ranks both send at once and each does the work itself: half the latency.
 *
 * A head and what follows it are read at once. Ranks that made different calls also disagree on how many bytes follow, and
 * such a call must not write into the caller's memory: what comes with a call is staged, and moved to its place once the
 * calls have been compared; only the large payloads of a pair are held back instead. Results need neither: they are sent
 * when all calls agreed. */
#include <string.h>

#include "backends/tcp/tcp.h"

/* What a frame of this operation carries, from each rank. */
struct star {
    struct cb_tcp_comm *comm;
    const cb_call *call;
    uint8_t tag; /* that is expected */
    bool differs, nonsense;
    size_t culprit;
    struct cb_flow *in; /* the flows that start with a head */
    size_t in_count;
    struct cb_flow *out; /* of a pair: what the other may never read */
};

/* Writes a head of this rank's into heads[which] and returns it as a piece. */
static struct cb_piece make_head(const struct cb_tcp_comm *comm, const cb_call *call, size_t which, uint8_t tag,
                                 size_t bytes) {
    unsigned char *head = comm->frames.heads[which];
    cb_pack_header(&(cb_header){.length = bytes, .tag = tag, .sequence = comm->sequence, .print = call->print}, head);
    return (struct cb_piece){head, CB_HEADER_BYTES};
}

/* A head has come whole: compare, and go on, or stop there. */
static void check_head(struct star *star, struct cb_flow *flow) {
    struct cb_frames *frames = &star->comm->frames;
    cb_header header;
    size_t payload = flow->total - CB_HEADER_BYTES;
    flow->compared = true;
    bool good = cb_parse_header(frames->heads[flow->peer], &header) && header.tag == star->tag &&
                header.sequence == star->comm->sequence;
    frames->prints[flow->peer] = header.print;
    bool same = good && memcmp(&header.print, &star->call->print, sizeof header.print) == 0;
    if (same && header.length == payload) {
        flow->ready = flow->total;
        return;
    }
    star->differs |= good && !same;
    star->nonsense |= !good || same;
    star->culprit = flow->peer;
    flow->total = flow->ready = flow->done;
    if (star->out)
        star->out->total = star->out->ready = star->out->done;
}

static void check_heads(void *context) {
    struct star *star = context;
    for (size_t i = 0; i < star->in_count; i++)
        if (!star->in[i].compared && star->in[i].done >= CB_HEADER_BYTES)
            check_head(star, &star->in[i]);
}

/* Rank 0 knows all calls, the ranks of a pair each other's. */
static const cb_fingerprint *call_of(const void *comm, size_t rank) {
    return &((const struct cb_tcp_comm *)comm)->frames.prints[rank];
}

static cobre_status mismatch(struct star *star) {
    struct cb_tcp_comm *comm = star->comm;
    cb_failure failure = {0};
    comm->frames.prints[comm->base.rank] = star->call->print;
    cb_find_mismatch(&failure, comm->base.size, call_of, comm);
    return cb_tcp_fail(comm, star->call, &failure);
}

static cobre_status run(struct star *star, struct cb_flow *flows, size_t count) {
    cobre_status status = cb_flow_run(star->comm, star->call, flows, count, star->in_count ? check_heads : NULL, star);
    if (status)
        return status;
    if (star->differs)
        return mismatch(star);
    if (star->nonsense)
        return cb_tcp_fail(star->comm, star->call,
                           &(cb_failure){.cause = COBRE_CAUSE_TRANSPORT,
                                         .culprit = (uint32_t)star->culprit,
                                         .text = "sent a frame that does not belong here"});
    return COBRE_OK;
}

static int connection(const struct cb_tcp_comm *comm, size_t peer) {
    return comm->data[comm->base.rank == 0 ? peer : 0];
}

/* A head and `count` pieces behind it that come in from peer; pieces[0] is the head's place. */
static void start_in(struct cb_tcp_comm *comm, struct cb_flow *flow, size_t peer, struct cb_piece *pieces,
                     size_t count) {
    pieces[0] = (struct cb_piece){comm->frames.heads[peer], CB_HEADER_BYTES};
    cb_flow_start(flow, connection(comm, peer), false, peer, pieces, count + 1);
}

static size_t bytes_in(const struct cb_piece *pieces, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += pieces[i].bytes;
    return bytes;
}

/* Where a frame's pieces can be listed: a head's place, then room for one piece a rank. */
static struct cb_piece *out_pieces(const struct cb_tcp_comm *comm) {
    return comm->frames.pieces;
}

static struct cb_piece *in_pieces(const struct cb_tcp_comm *comm) {
    return comm->frames.pieces + comm->base.size + 1;
}

/* Sends a frame to peer and takes one from it; both have their pieces behind the head's place. `held`: the payload that
 * comes waits until the heads have been compared. */
static cobre_status swap(struct cb_tcp_comm *comm, const cb_call *call, size_t peer, uint8_t tag, size_t out_count,
                         size_t in_count, bool held) {
    struct cb_flow *flows = comm->frames.flows;
    struct cb_piece *out = out_pieces(comm);
    out[0] = make_head(comm, call, comm->base.rank, CB_TAG_CALL, bytes_in(out + 1, out_count));
    cb_flow_start(&flows[0], connection(comm, peer), true, peer, out, out_count + 1);
    start_in(comm, &flows[1], peer, in_pieces(comm), in_count);
    if (held)
        flows[1].ready = CB_HEADER_BYTES;
    struct star star = {.comm = comm, .call = call, .tag = tag, .in = &flows[1], .in_count = 1, .out = &flows[0]};
    return run(&star, flows, 2);
}

/* Rank 0: takes a frame from every rank; in_pieces holds a head's place and one piece for each. */
static cobre_status collect(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size;
    struct cb_flow *flows = comm->frames.flows;
    for (size_t r = 1; r < size; r++)
        start_in(comm, &flows[r - 1], r, in_pieces(comm) + 2 * r, 1);
    struct star star = {.comm = comm, .call = call, .tag = CB_TAG_CALL, .in = flows, .in_count = size - 1};
    return run(&star, flows, size - 1);
}

/* Rank 0: answers everyone with the pieces behind out_pieces' head, but `except` with an empty frame. */
static cobre_status answer(struct cb_tcp_comm *comm, const cb_call *call, size_t count, size_t except) {
    size_t size = comm->base.size;
    struct cb_flow *flows = comm->frames.flows;
    struct cb_piece *out = out_pieces(comm), *empty = in_pieces(comm);
    out[0] = make_head(comm, call, 0, CB_TAG_RESULT, bytes_in(out + 1, count));
    empty[0] = make_head(comm, call, size, CB_TAG_RESULT, 0);
    for (size_t r = 1; r < size; r++)
        cb_flow_start(&flows[r - 1], comm->data[r], true, r, r == except ? empty : out, r == except ? 1 : count + 1);
    struct star star = {.comm = comm, .call = call};
    return run(&star, flows, size - 1);
}

/* Where a payload of rank's waits. Only rank 0 has one for each; the others take frames from rank 0 alone. */
static unsigned char *stage_of(const struct cb_tcp_comm *comm, size_t rank) {
    return comm->frames.payloads + (comm->base.rank == 0 ? rank * CB_TCP_STAGE : 0);
}

static void list_incoming(struct cb_tcp_comm *comm, size_t rank, size_t bytes) {
    in_pieces(comm)[2 * rank + 1] = (struct cb_piece){stage_of(comm, rank), bytes};
}

static void unstage(const struct cb_tcp_comm *comm, size_t rank, struct cb_piece place) {
    if (place.bytes && place.base != stage_of(comm, rank))
        memcpy(place.base, stage_of(comm, rank), place.bytes);
}

static bool is_pair(const struct cb_tcp_comm *comm) {
    return comm->base.size == 2;
}

/* Two ranks: each sends its own frame, with out_pieces behind the head, and takes the other's payload to its place. */
static cobre_status swap_with_other(struct cb_tcp_comm *comm, const cb_call *call, size_t out_count,
                                    struct cb_piece place) {
    size_t other = !comm->base.rank;
    bool held = place.bytes > CB_TCP_SMALL;
    in_pieces(comm)[1] = held ? place : (struct cb_piece){stage_of(comm, other), place.bytes};
    cobre_status status = swap(comm, call, other, CB_TAG_CALL, out_count, 1, held);
    if (!status && !held)
        unstage(comm, other, place);
    return status;
}

cobre_status cb_star_meet(struct cb_tcp_comm *comm, const cb_call *call) {
    if (is_pair(comm))
        return swap_with_other(comm, call, 0, (struct cb_piece){0});
    if (comm->base.rank != 0)
        return swap(comm, call, 0, CB_TAG_RESULT, 0, 0, false);
    for (size_t r = 1; r < comm->base.size; r++)
        list_incoming(comm, r, 0);
    cobre_status status = collect(comm, call);
    return status ? status : answer(comm, call, 0, 0);
}

cobre_status cb_star_broadcast(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t rank = comm->base.rank;
    bool is_root = rank == call->root;
    struct cb_piece whole = {call->recv, cb_bytes_of(call, call->count)}, nothing = {0};
    out_pieces(comm)[1] = whole;
    if (is_pair(comm))
        return swap_with_other(comm, call, is_root, is_root ? nothing : whole);
    if (rank != 0) {
        in_pieces(comm)[1] = whole;
        return swap(comm, call, 0, CB_TAG_RESULT, is_root, !is_root, false);
    }
    for (size_t r = 1; r < comm->base.size; r++)
        list_incoming(comm, r, r == call->root ? whole.bytes : 0);
    cobre_status status = collect(comm, call);
    if (status)
        return status;
    if (!is_root)
        unstage(comm, call->root, whole);
    return answer(comm, call, 1, call->root);
}

/* recv = x0 op x1 op ...: own operand among the others', in rank order. */
static void fold_frames(struct cb_tcp_comm *comm, const cb_call *call, size_t bytes) {
    if (comm->base.rank == 0) {
        if (call->recv != call->send)
            memcpy(call->recv, call->send, bytes);
        for (size_t r = 1; r < comm->base.size; r++)
            cb_fold(call->type, call->op, call->recv, stage_of(comm, r), call->count);
    } else { /* rank 1 of a pair */
        cb_fold(call->type, call->op, stage_of(comm, 0), call->send, call->count);
        memcpy(call->recv, stage_of(comm, 0), bytes);
    }
}

cobre_status cb_star_allreduce(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t rank = comm->base.rank, bytes = cb_bytes_of(call, call->count);
    cobre_status status;
    out_pieces(comm)[1] = (struct cb_piece){(void *)(uintptr_t)call->send, bytes};
    if (is_pair(comm)) {
        status = swap_with_other(comm, call, 1, (struct cb_piece){stage_of(comm, !rank), bytes});
        if (!status)
            fold_frames(comm, call, bytes);
        return status;
    }
    if (rank != 0) {
        in_pieces(comm)[1] = (struct cb_piece){call->recv, bytes};
        return swap(comm, call, 0, CB_TAG_RESULT, 1, 1, false);
    }
    for (size_t r = 1; r < comm->base.size; r++)
        list_incoming(comm, r, bytes);
    status = collect(comm, call);
    if (status)
        return status;
    fold_frames(comm, call, bytes);
    out_pieces(comm)[1] = (struct cb_piece){call->recv, bytes};
    return answer(comm, call, 1, 0);
}

cobre_status cb_star_allgatherv(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t rank = comm->base.rank, size = comm->base.size;
    struct cb_piece own = cb_part_of(call, rank), *list = rank ? in_pieces(comm) : out_pieces(comm);
    out_pieces(comm)[1] = (struct cb_piece){(void *)(uintptr_t)call->send, own.bytes};
    if (rank != 0 && !is_pair(comm)) {
        for (size_t r = 0; r < size; r++)
            list[r + 1] = cb_part_of(call, r);
        return swap(comm, call, 0, CB_TAG_RESULT, 1, size, false);
    }
    for (size_t r = 1; r < size && !is_pair(comm); r++)
        list_incoming(comm, r, cb_part_of(call, r).bytes);
    cobre_status status = is_pair(comm) ? swap_with_other(comm, call, 1, cb_part_of(call, !rank)) : collect(comm, call);
    if (status)
        return status;
    cb_put_own(call, own);
    if (is_pair(comm))
        return COBRE_OK;
    for (size_t r = 0; r < size; r++) {
        list[r + 1] = cb_part_of(call, r);
        if (r > 0)
            unstage(comm, r, list[r + 1]);
    }
    return answer(comm, call, size, 0);
}
