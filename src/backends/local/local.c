/* SPDX-License-Identifier: Apache-2.0 */
/* local.c: one process. Gather and reduce are the identity and copy send to recv; broadcast and barrier do nothing.
 * The shared memory of the node is this process's own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "comm/backend.h"

static cobre_status identity(const cb_call *call, size_t at) {
    size_t size = cb_type_size(call->type), bytes = call->count * size;
    if (bytes && (char *)call->recv + at * size != call->send)
        memmove((char *)call->recv + at * size, call->send, bytes);
    return COBRE_OK;
}

static cobre_status make_alone(const char *operation, cobre_comm **comm) {
    *comm = calloc(1, sizeof **comm);
    if (!*comm)
        return cb_no_room(
            NULL, COBRE_LOCAL,
            &(struct cb_shortage){
                .operation = operation, .asked = sizeof **comm, .there = cb_memory_free(-1), .os_error = ENOMEM});
    (*comm)->backend = COBRE_LOCAL;
    (*comm)->size = 1;
    (*comm)->node_size = 1;
    return COBRE_OK;
}

static cobre_status open_alone(const cb_options *options, cobre_comm **comm) {
    (void)options;
    return make_alone("open", comm);
}

static void free_alone(cobre_comm *comm) {
    free(comm);
}

static void abort_alone(cobre_comm *comm, int code, const char *text) {
    (void)comm, (void)code, (void)text;
}

cobre_status cb_local_split_local(cobre_comm *comm, const cb_call *call) {
    (void)comm;
    return make_alone("split_local", call->made);
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

cobre_status cb_local_allgatherv_region(cobre_comm *comm, const cb_call *call) {
    return cb_local_allgatherv(comm, call); /* call->recv is the region's memory */
}

cobre_status cb_local_region_create(cobre_comm *comm, const cb_call *call) {
    return cb_heap_region_create(comm, call);
}

cobre_status cb_local_region_fence(cobre_comm *comm, const cb_call *call) {
    (void)comm, (void)call;
    return COBRE_OK;
}

static cobre_status from_environment(cb_options *options) {
    (void)options;
    return COBRE_OK;
}

static cobre_status from_config(const cobre_config *config, cb_options *options) {
    (void)config, (void)options;
    return COBRE_OK;
}

/* N jobs of one rank each. */
static bool launch(cb_launch *launch) {
    (void)launch;
    return true;
}

static void launch_rank(const cb_launch *launch, size_t rank) {
    (void)launch, (void)rank;
}

const cb_backend cb_local_backend = {
    .alone = true,
    .from_environment = from_environment,
    .from_config = from_config,
    .open = open_alone,
    .free = free_alone,
    .abort = abort_alone,
    .memory_free = cb_heap_memory_free,
    .launch = launch,
    .launch_rank = launch_rank,
};
