/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c: frames that go out and come in at the same time, for pair.c and star.c. Heads are written, read and compared
 * here.
 *
 * A head and what follows it are read at once. Ranks that made different calls also disagree on how many bytes follow, and
 * such a call must not write into the caller's memory. So the payload of a call goes to a staging buffer, and to its place
 * after the calls have been compared; or only the head comes before that. Results need neither, because they are sent after
 * all calls agreed. */
#include <string.h>

#include "backends/tcp/tcp.h"

void cb_frame_write(const struct cb_tcp_comm *comm, const cb_call *call, uint8_t tag, struct cb_frame *frame) {
    cb_header header = {.tag = tag, .sequence = comm->sequence, .print = call->print};
    for (size_t i = 1; i <= frame->count; i++)
        header.length += frame->pieces[i].bytes;
    cb_pack_header(&header, frame->head);
}

static struct cb_flow *add(struct cb_exchange *exchange, bool out, size_t peer, struct cb_frame *frame) {
    struct cb_tcp_comm *comm = exchange->comm;
    struct cb_flow *flow = &comm->frames.flows[exchange->count++];
    frame->pieces[0] = (struct cb_piece){frame->head, CB_HEADER_BYTES};
    cb_flow_start(flow, comm->data[comm->base.rank == 0 ? peer : 0], out, peer, frame->pieces, frame->count + 1);
    return flow;
}

void cb_exchange_send(struct cb_exchange *exchange, size_t peer, struct cb_frame *frame) {
    add(exchange, true, peer, frame);
}

struct cb_flow *cb_exchange_take(struct cb_exchange *exchange, size_t peer, uint8_t tag, struct cb_frame *frame) {
    struct cb_flow *flow = add(exchange, false, peer, frame);
    frame->tag = tag;
    flow->unread = frame;
    return flow;
}

static struct cb_frame *call_frame(const struct cb_exchange *exchange, size_t rank, struct cb_piece payload) {
    struct cb_frame *frame = &exchange->comm->frames.calls[rank];
    frame->pieces[1] = payload;
    frame->count = 1;
    return frame;
}

void cb_exchange_send_call(struct cb_exchange *exchange, size_t peer, struct cb_piece payload) {
    struct cb_frame *frame = call_frame(exchange, exchange->comm->base.rank, payload);
    cb_frame_write(exchange->comm, exchange->call, CB_TAG_CALL, frame);
    cb_exchange_send(exchange, peer, frame);
}

struct cb_flow *cb_exchange_take_call(struct cb_exchange *exchange, size_t peer, struct cb_piece place) {
    return cb_exchange_take(exchange, peer, CB_TAG_CALL, call_frame(exchange, peer, place));
}

/* Nothing more comes by this flow, and the others may never read what we send. */
static void stop(struct cb_exchange *exchange, struct cb_flow *refused) {
    struct cb_flow *flows = exchange->comm->frames.flows;
    for (size_t i = 0; i < exchange->count; i++)
        if (flows[i].out || &flows[i] == refused)
            flows[i].total = flows[i].ready = flows[i].done;
}

/* A head has come whole: compare, and let its payload come, or stop. */
static void read_head(struct cb_exchange *exchange, struct cb_flow *flow) {
    const struct cb_frame *frame = flow->unread;
    cb_header header;
    flow->unread = NULL;
    bool good = cb_parse_header(frame->head, &header) && header.tag == frame->tag &&
                header.sequence == exchange->comm->sequence;
    bool same = good && memcmp(&header.print, &exchange->call->print, sizeof header.print) == 0;
    exchange->comm->frames.prints[flow->peer] = header.print;
    if (same && header.length == flow->total - CB_HEADER_BYTES) {
        flow->ready = flow->total;
        return;
    }
    exchange->differs |= good && !same;
    exchange->nonsense |= !good || same;
    exchange->culprit = flow->peer;
    stop(exchange, flow);
}

static void read_heads(void *context) {
    struct cb_exchange *exchange = context;
    struct cb_flow *flows = exchange->comm->frames.flows;
    for (size_t i = 0; i < exchange->count; i++)
        if (flows[i].unread && flows[i].done >= CB_HEADER_BYTES)
            read_head(exchange, &flows[i]);
}

/* Rank 0 knows all calls, the ranks of a pair each other's. */
static const cb_fingerprint *call_of(const void *comm, size_t rank) {
    return &((const struct cb_tcp_comm *)comm)->frames.prints[rank];
}

static cobre_status mismatch(struct cb_tcp_comm *comm, const cb_call *call) {
    cb_failure failure = {0};
    comm->frames.prints[comm->base.rank] = call->print;
    cb_find_mismatch(&failure, comm->base.size, call_of, comm);
    return cb_tcp_fail(comm, call, &failure);
}

cobre_status cb_exchange_run(struct cb_exchange *exchange) {
    struct cb_tcp_comm *comm = exchange->comm;
    const cb_call *call = exchange->call;
    CB_TRY(cb_flow_run(comm, call, comm->frames.flows, exchange->count, read_heads, exchange));
    if (exchange->differs)
        return mismatch(comm, call);
    if (exchange->nonsense)
        return cb_tcp_fail(comm, call,
                           &(cb_failure){.cause = COBRE_CAUSE_TRANSPORT,
                                         .culprit = (uint32_t)exchange->culprit,
                                         .text = "sent a frame that does not belong here"});
    return COBRE_OK;
}
