/* SPDX-License-Identifier: Apache-2.0 */
/* pair.c: two ranks. Each sends its call with its payload, receives the other's, and does the work itself: nothing goes
 * to rank 0 and back.
 *
 *   broadcast    The root's call carries the buffer.
 *   allgatherv   Each call carries its rank's part.
 *   allreduce    Each call carries an operand. Large ones are not sent whole: the ranks meet, then share the work. Each
 *                sends the other the half of its operand that the other folds, and then the half that it has folded. */
#include <stdlib.h>
#include <string.h>

#include "backends/tcp/tcp.h"

/* Sends our call with a payload and takes the other's payload to its place: a small one through the stage, in one read
 * with its head; a large one only when its head has been compared. */
static cobre_status swap(struct cb_tcp_comm *comm, const cb_call *call, struct cb_piece payload,
                         struct cb_piece place) {
    size_t other = !comm->base.rank;
    bool staged = place.bytes <= CB_TCP_SMALL;
    struct cb_piece stage = {comm->frames.stages, place.bytes};
    struct cb_exchange exchange = {.comm = comm, .call = call};
    cb_exchange_send_call(&exchange, other, payload);
    struct cb_flow *in = cb_exchange_take_call(&exchange, other, staged ? stage : place);
    if (!staged)
        in->ready = CB_HEADER_BYTES;
    cobre_status status = cb_exchange_run(&exchange);
    if (!status && staged && place.bytes && place.base != stage.base)
        memcpy(place.base, stage.base, place.bytes);
    return status;
}

cobre_status cb_pair_meet(struct cb_tcp_comm *comm, const cb_call *call) {
    return swap(comm, call, (struct cb_piece){0}, (struct cb_piece){0});
}

cobre_status cb_pair_broadcast(struct cb_tcp_comm *comm, const cb_call *call) {
    struct cb_piece whole = cb_result_of(call), nothing = {0};
    return comm->base.rank == call->root ? swap(comm, call, whole, nothing) : swap(comm, call, nothing, whole);
}

cobre_status cb_pair_allgatherv(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t rank = comm->base.rank;
    cobre_status status = swap(comm, call, cb_operand_of(call), cb_part_of(call, !rank));
    if (!status)
        cb_put_own(call, cb_part_of(call, rank));
    return status;
}

/* Folds the other's operand, which is staged, and ours from `at` on, rank 0's first, into recv. */
static void fold_staged(size_t rank, const cb_call *call, unsigned char *staged, size_t at, size_t bytes) {
    size_t count = bytes / cb_type_size(call->type);
    const unsigned char *own = (const unsigned char *)call->send + at;
    unsigned char *result = (unsigned char *)call->recv + at;
    if (rank == 0) {
        if (result != own)
            memcpy(result, own, bytes);
        cb_fold(call->type, call->op, result, staged, count);
    } else {
        cb_fold(call->type, call->op, staged, own, count);
        memcpy(result, staged, bytes);
    }
}

static cobre_status reduce_small(struct cb_tcp_comm *comm, const cb_call *call) {
    struct cb_piece operand = cb_operand_of(call), stage = {comm->frames.stages, operand.bytes};
    cobre_status status = swap(comm, call, operand, stage);
    if (!status && operand.bytes)
        fold_staged(comm->base.rank, call, stage.base, 0, operand.bytes);
    return status;
}

/* A large reduction, as one of the two sees it. What goes out: the operand of the other's half, the results of our own.
 * What comes in: the other's operand of our half, through the stage, and the results of the other's half. */
struct sharing {
    const cb_call *call;
    unsigned char *stage;
    size_t rank, first, bytes, folded; /* our half: where it begins, how long it is, how far it is folded */
    struct cb_flow flows[2];           /* in, out */
};

static void fold_arrived(void *context) {
    struct sharing *sharing = context;
    struct cb_flow *in = &sharing->flows[0], *out = &sharing->flows[1];
    while (sharing->folded < sharing->bytes) {
        size_t now = cb_least(CB_TCP_HALF, sharing->bytes - sharing->folded);
        if (in->done < sharing->folded + now)
            break;
        fold_staged(sharing->rank, sharing->call, sharing->stage + sharing->folded / CB_TCP_HALF % 2 * CB_TCP_HALF,
                    sharing->first + sharing->folded, now);
        sharing->folded += now;
    }
    in->ready =
        sharing->folded == sharing->bytes ? in->total : cb_least(sharing->folded + 2 * CB_TCP_HALF, sharing->bytes);
    out->ready = out->total - sharing->bytes + sharing->folded;
}

static cobre_status reduce_large(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t rank = comm->base.rank, size = cb_type_size(call->type), middle = call->count / 2 * size, halves;
    size_t all = call->count * size, others = rank ? 0 : middle; /* where the other's half begins */
    struct sharing sharing = {.call = call,
                              .stage = comm->frames.stages,
                              .rank = rank,
                              .first = rank ? middle : 0,
                              .bytes = rank ? all - middle : middle};
    struct cb_piece *in = cb_list_halves(sharing.stage, sharing.bytes, &halves);
    if (!in)
        return cb_tcp_no_memory(comm, call);
    in[halves] = (struct cb_piece){(unsigned char *)call->recv + others, all - sharing.bytes};
    struct cb_piece out[] = {{(unsigned char *)(uintptr_t)call->send + others, all - sharing.bytes},
                             {(unsigned char *)call->recv + sharing.first, sharing.bytes}};
    cb_flow_start(&sharing.flows[0], comm->data[!rank], false, !rank, in, halves + 1);
    cb_flow_start(&sharing.flows[1], comm->data[!rank], true, !rank, out, 2);
    fold_arrived(&sharing);
    cobre_status status = cb_flow_run(comm, call, sharing.flows, 2, fold_arrived, &sharing);
    free(in);
    return status;
}

cobre_status cb_pair_allreduce(struct cb_tcp_comm *comm, const cb_call *call) {
    if (cb_bytes_of(call, call->count) <= CB_TCP_SMALL)
        return reduce_small(comm, call);
    cobre_status status = cb_pair_meet(comm, call);
    return status ? status : reduce_large(comm, call);
}
