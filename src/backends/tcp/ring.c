/* ring.c: large payloads, streamed from neighbour to neighbour. All ranks have met before (star.c).
 *
 *   allgatherv   Rank r sends on part r, then what it receives: parts r-1, r-2, ...; what it may send is its own part and
 *                all that has come. (R-1)/R of the result cross each link, all links at once.
 *   broadcast    A chain from the root round the ring; each rank passes on what has come. B bytes cross each link but one.
 *   allreduce    A chain in rank order: 0 sends its operand to 1, which folds its own to it and sends the fold on, ... up
 *                to R-1, which holds x0 op x1 op ... and sends the result back the same way. Links are full duplex, so
 *                that results flow down while folds flow up: B bytes each way over each link but the one between R-1 and
 *                0, and the order of operands is the promised one. Two ranks share the work instead: each sends the
 *                other the half of its operand that the other folds, and then the half that it has folded itself.
 *
 * Everything moves in the caller's memory, but for folds that come in, which wait in two halves of a small stage. */
#include <stdlib.h>
#include <string.h>

#include "backends/tcp/tcp.h"

/* out may send what it had at first and all that has come in. */
struct passing {
    struct cb_flow *in, *out;
    size_t own;
};

static void pass_on(void *context) {
    struct passing *passing = context;
    passing->out->ready = cb_least(passing->own + passing->in->done, passing->out->total);
}

static cobre_status run_passing(struct cb_tcp_comm *comm, const cb_call *call, struct cb_flow flows[2], size_t own) {
    struct passing passing = {.in = &flows[0], .out = &flows[1], .own = own};
    pass_on(&passing);
    return cb_flow_run(comm, call, flows, 2, pass_on, &passing);
}

static size_t before(size_t rank, size_t steps, size_t size) {
    return (rank + size - steps) % size;
}

cobre_status cb_ring_allgatherv(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, rank = comm->base.rank;
    struct cb_piece *parts = comm->frames.pieces; /* own, then in the order of their coming */
    struct cb_flow flows[2];
    for (size_t step = 0; step < size; step++)
        parts[step] = cb_part_of(call, before(rank, step, size));
    cb_put_own(call, parts[0]);
    cb_flow_start(&flows[0], comm->previous, false, before(rank, 1, size), parts + 1, size - 1);
    cb_flow_start(&flows[1], comm->next, true, (rank + 1) % size, parts, size - 1);
    return run_passing(comm, call, flows, parts[0].bytes);
}

cobre_status cb_ring_broadcast(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, rank = comm->base.rank, place = before(rank, call->root, size);
    struct cb_piece whole = {call->recv, cb_bytes_of(call, call->count)};
    struct cb_flow flows[2];
    cb_flow_start(&flows[0], comm->previous, false, before(rank, 1, size), &whole, place > 0);
    cb_flow_start(&flows[1], comm->next, true, (rank + 1) % size, &whole, place + 1 < size);
    return run_passing(comm, call, flows, place == 0 ? whole.bytes : 0);
}

enum { HALF = CB_TCP_STAGE / 2 };

/* The chain of a reduction, as one rank sees it. Flows that its place in the chain does not have are empty. */
struct chain {
    const cb_call *call;
    unsigned char *stage; /* two halves, filled in turn by the folds that come in */
    size_t folded, bytes;
    bool is_last;
    struct cb_flow flows[4];
};
enum { FOLDS_IN, FOLDS_OUT, RESULTS_IN, RESULTS_OUT };

/* Folds what has come whole, into recv. */
static void fold_arrived(struct chain *chain) {
    const cb_call *call = chain->call;
    while (chain->folded < chain->bytes) {
        size_t now = cb_least(HALF, chain->bytes - chain->folded);
        if (chain->flows[FOLDS_IN].done < chain->folded + now)
            return;
        unsigned char *staged = chain->stage + chain->folded / HALF % 2 * HALF;
        cb_fold(call->type, call->op, staged, (const unsigned char *)call->send + chain->folded,
                now / cb_type_size(call->type));
        memcpy((unsigned char *)call->recv + chain->folded, staged, now);
        chain->folded += now;
    }
}

/* A half that has been folded may be filled again. In place is safe: a result can come only for what has gone up. */
static void advance_chain(void *context) {
    struct chain *chain = context;
    struct cb_flow *flows = chain->flows;
    if (flows[FOLDS_IN].total) {
        fold_arrived(chain);
        flows[FOLDS_IN].ready = cb_least(chain->folded + 2 * HALF, chain->bytes);
        flows[FOLDS_OUT].ready = cb_least(chain->folded, flows[FOLDS_OUT].total);
    }
    size_t results = chain->is_last ? chain->folded : flows[RESULTS_IN].done;
    flows[RESULTS_OUT].ready = cb_least(results, flows[RESULTS_OUT].total);
}

/* The halves of the stage, over and over, and room for one piece more. */
static struct cb_piece *list_halves(unsigned char *stage, size_t bytes, size_t *count) {
    *count = bytes / HALF + (bytes % HALF != 0);
    struct cb_piece *pieces = malloc((*count + 1) * sizeof *pieces);
    for (size_t i = 0; pieces && i < *count; i++)
        pieces[i] = (struct cb_piece){stage + i % 2 * HALF, cb_least(HALF, bytes - i * HALF)};
    return pieces;
}

/* A reduction of two ranks, as one of them sees it. What goes out: the operand of the other's half, the results of our
 * own. What comes in: the other's operand of our half, through the stage, and the results of the other's half. */
struct pair {
    const cb_call *call;
    unsigned char *stage;
    size_t rank, first, bytes, folded; /* our half: where it begins, how long it is, how far it is folded */
    struct cb_flow flows[2];           /* in, out */
};

/* acc op x in rank order: rank 0's operand first. */
static void fold_pair(struct pair *pair, unsigned char *staged, size_t bytes) {
    const cb_call *call = pair->call;
    size_t at = pair->first + pair->folded, count = bytes / cb_type_size(call->type);
    const unsigned char *own = (const unsigned char *)call->send + at;
    unsigned char *result = (unsigned char *)call->recv + at;
    if (pair->rank == 0) {
        if (result != own)
            memcpy(result, own, bytes);
        cb_fold(call->type, call->op, result, staged, count);
    } else {
        cb_fold(call->type, call->op, staged, own, count);
        memcpy(result, staged, bytes);
    }
}

static void advance_pair(void *context) {
    struct pair *pair = context;
    struct cb_flow *in = &pair->flows[0], *out = &pair->flows[1];
    while (pair->folded < pair->bytes) {
        size_t now = cb_least(HALF, pair->bytes - pair->folded);
        if (in->done < pair->folded + now)
            break;
        fold_pair(pair, pair->stage + pair->folded / HALF % 2 * HALF, now);
        pair->folded += now;
    }
    in->ready = pair->folded == pair->bytes ? in->total : cb_least(pair->folded + 2 * HALF, pair->bytes);
    out->ready = out->total - pair->bytes + pair->folded;
}

static cobre_status reduce_pair(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t rank = comm->base.rank, size = cb_type_size(call->type), middle = call->count / 2 * size, halves;
    size_t all = call->count * size, others = rank ? 0 : middle; /* where the other's half begins */
    struct pair pair = {.call = call,
                        .stage = comm->frames.payloads,
                        .rank = rank,
                        .first = rank ? middle : 0,
                        .bytes = rank ? all - middle : middle};
    struct cb_piece *in = list_halves(pair.stage, pair.bytes, &halves);
    if (!in)
        return cb_tcp_no_memory(comm, call);
    in[halves] = (struct cb_piece){(unsigned char *)call->recv + others, all - pair.bytes};
    struct cb_piece out[] = {{(unsigned char *)(uintptr_t)call->send + others, all - pair.bytes},
                             {(unsigned char *)call->recv + pair.first, pair.bytes}};
    cb_flow_start(&pair.flows[0], comm->previous, false, !rank, in, halves + 1);
    cb_flow_start(&pair.flows[1], comm->next, true, !rank, out, 2);
    advance_pair(&pair);
    cobre_status status = cb_flow_run(comm, call, pair.flows, 2, advance_pair, &pair);
    free(in);
    return status;
}

cobre_status cb_ring_allreduce(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, rank = comm->base.rank, halves;
    if (size == 2)
        return reduce_pair(comm, call);
    bool is_first = rank == 0, is_last = rank + 1 == size;
    struct chain chain = {
        .call = call, .stage = comm->frames.payloads, .bytes = cb_bytes_of(call, call->count), .is_last = is_last};
    struct cb_piece operand = {(void *)(uintptr_t)call->send, chain.bytes}, result = {call->recv, chain.bytes};
    struct cb_piece *staged = list_halves(chain.stage, chain.bytes, &halves);
    if (!staged)
        return cb_tcp_no_memory(comm, call);
    int up = comm->next, down = comm->previous;
    cb_flow_start(&chain.flows[FOLDS_IN], down, false, rank - !is_first, staged, is_first ? 0 : halves);
    cb_flow_start(&chain.flows[FOLDS_OUT], up, true, rank + 1, is_first ? &operand : &result, !is_last);
    cb_flow_start(&chain.flows[RESULTS_IN], up, false, rank + 1, &result, !is_last);
    cb_flow_start(&chain.flows[RESULTS_OUT], down, true, rank - !is_first, &result, !is_first);
    advance_chain(&chain);
    cobre_status status = cb_flow_run(comm, call, chain.flows, 4, advance_chain, &chain);
    free(staged);
    return status;
}
