/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c: large payloads, streamed from neighbour to neighbour. All ranks have met before (star.c).
 *
 *   allgatherv   Rank r sends on part r, then what it receives: parts r-1, r-2, ...; what it may send is its own part and
 *                all that has come. (R-1)/R of the result cross each link, all links at once.
 *   broadcast    A chain from the root round the ring; each rank passes on what has come. B bytes cross each link but one.
 *   allreduce    A chain in rank order: 0 sends its operand to 1, which folds its own to it and sends the fold on, ... up
 *                to R-1, which holds x0 op x1 op ... and sends the result back the same way. Links are full duplex, so
 *                that results flow down while folds flow up: B bytes each way over each link but the one between R-1 and
 *                0, and the order of operands is the promised one.
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
    struct cb_piece *parts = comm->frames.result.pieces; /* own, then in the order of their coming */
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
    struct cb_piece whole = cb_result_of(call);
    struct cb_flow flows[2];
    cb_flow_start(&flows[0], comm->previous, false, before(rank, 1, size), &whole, place > 0);
    cb_flow_start(&flows[1], comm->next, true, (rank + 1) % size, &whole, place + 1 < size);
    return run_passing(comm, call, flows, place == 0 ? whole.bytes : 0);
}

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
        size_t now = cb_least(CB_TCP_HALF, chain->bytes - chain->folded);
        if (chain->flows[FOLDS_IN].done < chain->folded + now)
            return;
        unsigned char *staged = chain->stage + chain->folded / CB_TCP_HALF % 2 * CB_TCP_HALF;
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
        flows[FOLDS_IN].ready = cb_least(chain->folded + 2 * CB_TCP_HALF, chain->bytes);
        flows[FOLDS_OUT].ready = cb_least(chain->folded, flows[FOLDS_OUT].total);
    }
    size_t results = chain->is_last ? chain->folded : flows[RESULTS_IN].done;
    flows[RESULTS_OUT].ready = cb_least(results, flows[RESULTS_OUT].total);
}

cobre_status cb_ring_allreduce(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, rank = comm->base.rank, halves;
    bool is_first = rank == 0, is_last = rank + 1 == size;
    struct chain chain = {
        .call = call, .stage = comm->frames.stages, .bytes = cb_bytes_of(call, call->count), .is_last = is_last};
    struct cb_piece operand = cb_operand_of(call), result = cb_result_of(call);
    struct cb_piece *staged = cb_list_halves(chain.stage, chain.bytes, &halves);
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
