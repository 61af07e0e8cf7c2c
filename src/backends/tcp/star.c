/* SPDX-License-Identifier: Apache-2.0 */
/* star.c: more than two ranks, small payloads: one frame to rank 0, one frame back.
 *
 * Every rank sends its call to rank 0, with its payload. Rank 0 receives each into that rank's staging buffer, does the
 * work in rank order, and answers all with the result: R - 1 frames in and R - 1 out at rank 0, 1 and 1
 * elsewhere.
 *
 * Large payloads, where the ring could not be made, go the same way stage by stage; rank 0's link carries R times the
 * data. Each stage has frames of its own, with the sequence number and the fingerprint of the whole call. */
#include <string.h>

#include "backends/tcp/tcp.h"

/* Rank 0: where the payload of rank's call waits. */
static unsigned char *stage_of(const struct cb_tcp_comm *comm, size_t rank) {
    return comm->frames.stages + rank * CB_TCP_STAGE;
}

static void unstage(const struct cb_tcp_comm *comm, size_t rank, struct cb_piece place) {
    if (place.bytes)
        memcpy(place.base, stage_of(comm, rank), place.bytes);
}

/* Rank 0: the call of that rank, which carries so many bytes. */
static void take_call(struct cb_exchange *calls, size_t rank, size_t bytes) {
    cb_exchange_take_call(calls, rank, (struct cb_piece){stage_of(calls->comm, rank), bytes});
}

/* The frame of a result: on rank 0 where its payload is, on the others where it belongs. */
static struct cb_frame *result_of_one(struct cb_tcp_comm *comm, struct cb_piece piece) {
    struct cb_frame *result = &comm->frames.result;
    result->pieces[1] = piece;
    result->count = 1;
    return result;
}

static struct cb_frame *result_of_parts(struct cb_tcp_comm *comm, const cb_call *call) {
    struct cb_frame *result = &comm->frames.result;
    for (size_t r = 0; r < comm->base.size; r++)
        result->pieces[r + 1] = cb_part_of(call, r);
    result->count = comm->base.size;
    return result;
}

/* All but rank 0: sends our call with a payload, takes the result. */
static cobre_status ask(struct cb_tcp_comm *comm, const cb_call *call, struct cb_piece payload,
                        struct cb_frame *result) {
    struct cb_exchange exchange = {.comm = comm, .call = call};
    cb_exchange_send_call(&exchange, 0, payload);
    cb_exchange_take(&exchange, 0, CB_TAG_RESULT, result);
    return cb_exchange_run(&exchange);
}

/* Rank 0: sends the result to all, but only a head to the rank that has it already (0: to none). */
static cobre_status answer(struct cb_tcp_comm *comm, const cb_call *call, struct cb_frame *result, size_t has_it) {
    struct cb_piece head;
    struct cb_frame nothing = {.pieces = &head};
    struct cb_exchange exchange = {.comm = comm, .call = call};
    cb_frame_write(comm, call, CB_TAG_RESULT, result);
    cb_frame_write(comm, call, CB_TAG_RESULT, &nothing);
    for (size_t r = 1; r < comm->base.size; r++)
        cb_exchange_send(&exchange, r, r == has_it ? &nothing : result);
    return cb_exchange_run(&exchange);
}

cobre_status cb_star_meet(struct cb_tcp_comm *comm, const cb_call *call) {
    struct cb_piece nothing = {0};
    struct cb_frame *result = result_of_one(comm, nothing);
    if (comm->base.rank != 0)
        return ask(comm, call, nothing, result);
    struct cb_exchange calls = {.comm = comm, .call = call};
    for (size_t r = 1; r < comm->base.size; r++)
        take_call(&calls, r, 0);
    cobre_status status = cb_exchange_run(&calls);
    return status ? status : answer(comm, call, result, 0);
}

cobre_status cb_star_broadcast(struct cb_tcp_comm *comm, const cb_call *call) {
    struct cb_piece whole = cb_result_of(call), nothing = {0};
    bool is_root = comm->base.rank == call->root;
    if (comm->base.rank != 0)
        return is_root ? ask(comm, call, whole, result_of_one(comm, nothing))
                       : ask(comm, call, nothing, result_of_one(comm, whole));
    struct cb_exchange calls = {.comm = comm, .call = call};
    for (size_t r = 1; r < comm->base.size; r++)
        take_call(&calls, r, r == call->root ? whole.bytes : 0);
    CB_TRY(cb_exchange_run(&calls));
    if (!is_root)
        unstage(comm, call->root, whole);
    return answer(comm, call, result_of_one(comm, whole), call->root);
}

cobre_status cb_star_allreduce(struct cb_tcp_comm *comm, const cb_call *call) {
    struct cb_piece operand = cb_operand_of(call);
    struct cb_frame *result = result_of_one(comm, cb_result_of(call));
    if (comm->base.rank != 0)
        return ask(comm, call, operand, result);
    struct cb_exchange calls = {.comm = comm, .call = call};
    for (size_t r = 1; r < comm->base.size; r++)
        take_call(&calls, r, operand.bytes);
    CB_TRY(cb_exchange_run(&calls));
    if (call->recv != call->send)
        memcpy(call->recv, call->send, operand.bytes);
    for (size_t r = 1; r < comm->base.size; r++)
        cb_fold(call->type, call->op, call->recv, stage_of(comm, r), call->count);
    return answer(comm, call, result, 0);
}

cobre_status cb_star_allgatherv(struct cb_tcp_comm *comm, const cb_call *call) {
    struct cb_frame *result = result_of_parts(comm, call);
    if (comm->base.rank != 0)
        return ask(comm, call, cb_operand_of(call), result);
    struct cb_exchange calls = {.comm = comm, .call = call};
    for (size_t r = 1; r < comm->base.size; r++)
        take_call(&calls, r, cb_part_of(call, r).bytes);
    CB_TRY(cb_exchange_run(&calls));
    cb_put_own(call, cb_part_of(call, 0));
    for (size_t r = 1; r < comm->base.size; r++)
        unstage(comm, r, cb_part_of(call, r));
    return answer(comm, call, result, 0);
}

/* An operation on as many elements as a stage holds, again and again. */
static cobre_status by_stages(struct cb_tcp_comm *comm, const cb_call *call, cb_algorithm *operation) {
    size_t most = CB_TCP_STAGE / cb_type_size(call->type);
    cobre_status status = COBRE_OK;
    for (size_t first = 0; first < call->count && !status; first += most) {
        cb_call stage = *call;
        stage.count = cb_least(call->count - first, most);
        stage.recv = (unsigned char *)call->recv + cb_bytes_of(call, first);
        if (call->send)
            stage.send = (const unsigned char *)call->send + cb_bytes_of(call, first);
        status = operation(comm, &stage);
    }
    return status;
}

cobre_status cb_star_broadcast_stages(struct cb_tcp_comm *comm, const cb_call *call) {
    return by_stages(comm, call, cb_star_broadcast);
}

cobre_status cb_star_allreduce_stages(struct cb_tcp_comm *comm, const cb_call *call) {
    return by_stages(comm, call, cb_star_allreduce);
}

/* A broadcast of each part, which its own rank only reads. */
cobre_status cb_star_allgatherv_stages(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, rank = comm->base.rank;
    cobre_status status = COBRE_OK;
    for (size_t r = 0; r < size && !status; r++) {
        struct cb_piece part = r == rank ? cb_operand_of(call) : cb_part_of(call, r);
        cb_call broadcast = {
            .print = call->print, .type = call->type, .root = r, .count = call->counts[r], .recv = part.base};
        status = by_stages(comm, &broadcast, cb_star_broadcast);
    }
    if (!status)
        cb_put_own(call, cb_part_of(call, rank));
    return status;
}
