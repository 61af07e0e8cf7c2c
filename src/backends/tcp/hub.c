/* hub.c: large payloads where the ring could not be made: all through rank 0, whose link carries R times the data. All
 * ranks have met before (star.c). */
#include <string.h>

#include "backends/tcp/tcp.h"

static cobre_status run(struct cb_tcp_comm *comm, const cb_call *call, size_t count) {
    return cb_flow_run(comm, call, comm->frames.flows, count, NULL, NULL);
}

struct relay {
    struct cb_flow *flows; /* [0] comes in, the others go out */
    size_t count;
};

static void pass_on(void *context) {
    struct relay *relay = context;
    for (size_t i = 1; i < relay->count; i++)
        relay->flows[i].ready = relay->flows[0].done;
}

cobre_status cb_hub_broadcast(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, rank = comm->base.rank, count = 1;
    struct cb_piece whole = {call->recv, cb_bytes_of(call, call->count)};
    struct cb_flow *flows = comm->frames.flows;
    if (rank != 0) {
        cb_flow_start(&flows[0], comm->data[0], rank == call->root, 0, &whole, 1);
        return run(comm, call, 1);
    }
    bool relays = call->root != 0;
    cb_flow_start(&flows[0], relays ? comm->data[call->root] : -1, false, call->root, &whole, relays);
    for (size_t r = 1; r < size; r++)
        if (r != call->root)
            cb_flow_start(&flows[count++], comm->data[r], true, r, &whole, 1);
    struct relay relay = {flows, count};
    if (!relays)
        return run(comm, call, count);
    pass_on(&relay);
    return cb_flow_run(comm, call, flows, count, pass_on, &relay);
}

/* One stage at a time: operands in, result out. */
cobre_status cb_hub_allreduce(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, bytes = cb_bytes_of(call, call->count);
    unsigned char *stages = comm->frames.payloads;
    struct cb_flow *flows = comm->frames.flows;
    struct cb_piece *pieces = comm->frames.pieces;
    for (size_t done = 0, now; done < bytes; done += now) {
        now = bytes - done < CB_TCP_STAGE ? bytes - done : CB_TCP_STAGE;
        struct cb_piece operand = {(unsigned char *)(uintptr_t)call->send + done, now};
        struct cb_piece result = {(unsigned char *)call->recv + done, now};
        cobre_status status;
        if (comm->base.rank != 0) {
            cb_flow_start(&flows[0], comm->data[0], true, 0, &operand, 1);
            cb_flow_start(&flows[1], comm->data[0], false, 0, &result, 1);
            status = run(comm, call, 2);
            if (status)
                return status;
            continue;
        }
        for (size_t r = 1; r < size; r++) {
            pieces[r] = (struct cb_piece){stages + r * CB_TCP_STAGE, now};
            cb_flow_start(&flows[r - 1], comm->data[r], false, r, &pieces[r], 1);
        }
        status = run(comm, call, size - 1);
        if (status)
            return status;
        if (result.base != operand.base)
            memcpy(result.base, operand.base, now);
        for (size_t r = 1; r < size; r++)
            cb_fold(call->type, call->op, result.base, stages + r * CB_TCP_STAGE, now / cb_type_size(call->type));
        for (size_t r = 1; r < size; r++)
            cb_flow_start(&flows[r - 1], comm->data[r], true, r, &result, 1);
        status = run(comm, call, size - 1);
        if (status)
            return status;
    }
    return COBRE_OK;
}

cobre_status cb_hub_allgatherv(struct cb_tcp_comm *comm, const cb_call *call) {
    size_t size = comm->base.size, rank = comm->base.rank;
    struct cb_flow *flows = comm->frames.flows;
    struct cb_piece *parts = comm->frames.pieces;
    for (size_t r = 0; r < size; r++)
        parts[r] = cb_part_of(call, r);
    cb_put_own(call, parts[rank]);
    if (rank != 0) {
        cb_flow_start(&flows[0], comm->data[0], true, 0, &parts[rank], 1);
        cb_flow_start(&flows[1], comm->data[0], false, 0, parts, size);
        return run(comm, call, 2);
    }
    for (size_t r = 1; r < size; r++)
        cb_flow_start(&flows[r - 1], comm->data[r], false, r, &parts[r], 1);
    cobre_status status = run(comm, call, size - 1);
    if (status)
        return status;
    for (size_t r = 1; r < size; r++)
        cb_flow_start(&flows[r - 1], comm->data[r], true, r, parts, size);
    return run(comm, call, size - 1);
}
