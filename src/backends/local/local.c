/* local.c: one process. Gather and reduce are the identity and copy send to recv; broadcast and barrier do nothing.
 * Memory that a node shares is this process's own. */
#include <stdlib.h>
#include <string.h>

#include "comm/backend.h"

static cobre_status identity(const cb_call *call, size_t at) {
    size_t size = cb_type_size(call->type), bytes = call->count * size;
    if (bytes && (char *)call->recv + at * size != call->send)
        memmove((char *)call->recv + at * size, call->send, bytes);
    return COBRE_OK;
}

cobre_status cb_local_open(const cb_options *options, cobre_comm **comm) {
    (void)options;
    *comm = calloc(1, sizeof **comm);
    if (!*comm)
        return cb_error(
            NULL, COBRE_LOCAL, COBRE_ALLOCATION_FAILED,
            &(struct cb_details){.operation = "open", .expected = sizeof **comm, .suggestion = "free memory"},
            "no memory for a communicator");
    (*comm)->backend = COBRE_LOCAL;
    (*comm)->size = 1;
    (*comm)->node_size = 1;
    return COBRE_OK;
}

void cb_local_free(cobre_comm *comm) {
    free(comm);
}

void cb_local_abort(cobre_comm *comm, int code, const char *text) {
    (void)comm, (void)code, (void)text;
}

cobre_status cb_local_split_local(cobre_comm *comm, const cb_call *call, cobre_comm **local) {
    (void)comm, (void)call;
    return cb_local_open(NULL, local);
}

cobre_status cb_local_barrier(cobre_comm *comm, const cb_call *call) {
    (void)comm, (void)call;
    return COBRE_OK;
}

cobre_status cb_local_broadcast(cobre_comm *comm, const cb_call *call) {
    (void)comm, (void)call;
    return COBRE_OK;
}

cobre_status cb_local_allreduce(cobre_comm *comm, const cb_call *call) {
    (void)comm;
    return identity(call, 0);
}

cobre_status cb_local_allgatherv(cobre_comm *comm, const cb_call *call) {
    (void)comm;
    return identity(call, call->displs[0]);
}

cobre_status cb_local_allgatherv_region(cobre_comm *comm, const cb_call *call, cobre_region *region) {
    (void)region; /* call->recv is its memory */
    return cb_local_allgatherv(comm, call);
}

cobre_status cb_local_region_create(cobre_comm *comm, const cb_call *call, cobre_region *region) {
    (void)call;
    return cb_heap_region_create(comm, region);
}

cobre_status cb_local_region_fence(cobre_region *region, const cb_call *call) {
    (void)region, (void)call;
    return COBRE_OK;
}

void cb_local_region_free(cobre_region *region) {
    cb_heap_region_free(region);
}
