/* SPDX-License-Identifier: Apache-2.0 */
/* peer_cobre.c: cobre, on the backend that the environment selects. */
#include "cli/bench/peer.h"

#include "cobre/comm.h"

#include <stdio.h>
#include <stdlib.h>

struct state {
    cobre_comm *comm;
    cobre_region *region;
};

static struct state unchecked, checked;

static void must(cobre_status status) {
    if (status == COBRE_OK)
        return;
    fprintf(stderr, "cobre bench: %s\n%s\n", cobre_last_error()->message, cobre_last_error()->suggestion);
    exit(1);
}

static cobre_comm *comm_of(const struct peer *peer) {
    return ((struct state *)peer->state)->comm;
}

static void open_peer(struct peer *peer) {
    struct state *state = peer->state;
    must(cobre_comm_open(NULL, &state->comm));
    peer->rank = cobre_rank(state->comm);
    peer->size = cobre_size(state->comm);
    peer->name = cobre_backend_name(cobre_comm_backend(state->comm));
}

static void open_checked(struct peer *peer) {
    setenv("COBRE_CHECK", "1", 1);
    open_peer(peer);
}

static void close_peer(struct peer *peer) {
    must(cobre_comm_free(&((struct state *)peer->state)->comm));
}

static void barrier(struct peer *peer) {
    must(cobre_barrier(comm_of(peer)));
}

static void allreduce(struct peer *peer, const double *send, double *recv, size_t count) {
    must(cobre_allreduce(comm_of(peer), send, count, recv, count, COBRE_F64, COBRE_SUM));
}

static void maximum(struct peer *peer, double *values, size_t count) {
    must(cobre_allreduce(comm_of(peer), values, count, values, count, COBRE_F64, COBRE_MAX));
}

static void broadcast(struct peer *peer, double *buffer, size_t count, size_t root) {
    must(cobre_broadcast(comm_of(peer), buffer, count, COBRE_F64, root));
}

static void allgatherv(struct peer *peer, const double *send, double *recv, const size_t *counts,
                       const size_t *displs) {
    size_t last = peer->size - 1;
    must(cobre_allgatherv(comm_of(peer), send, counts[peer->rank], recv, displs[last] + counts[last], counts, displs,
                          COBRE_F64));
}

static const double *region_create(struct peer *peer, size_t count) {
    struct state *state = peer->state;
    must(cobre_region_create(state->comm, count, COBRE_F64, 0, &state->region));
    return cobre_region_data(state->region);
}

static void region_gather(struct peer *peer, const double *send, const size_t *counts, const size_t *displs) {
    struct state *state = peer->state;
    must(cobre_allgatherv_region(state->comm, send, counts[peer->rank], state->region, counts, displs));
}

static void region_free(struct peer *peer) {
    must(cobre_region_free(&((struct state *)peer->state)->region));
}

#define PEER(opens, own)                                                                                               \
    {                                                                                                                  \
        .state = &own, .open = opens, .close = close_peer, .barrier = barrier, .allreduce = allreduce,                 \
        .broadcast = broadcast, .allgatherv = allgatherv, .maximum = maximum, .region_create = region_create,          \
        .region_gather = region_gather, .region_free = region_free                                                     \
    }

struct peer peer_cobre = PEER(open_peer, unchecked), peer_cobre_checked = PEER(open_checked, checked);
