/* SPDX-License-Identifier: Apache-2.0 */
#include "fault/operations.h"

#include <stdlib.h>

enum {
    SMALL = 4,
    LARGE = 400 * 1000, /* doubles: several rounds in any segment, and the sliced reduction */
};

static cobre_status barrier(tools *t) {
    return cobre_barrier(t->comm);
}

static cobre_status broadcast_small(tools *t) {
    return cobre_broadcast(t->comm, t->recv, SMALL, COBRE_F64, self.size - 1);
}

static cobre_status broadcast_large(tools *t) {
    return cobre_broadcast(t->comm, t->recv, LARGE, COBRE_F64, 0);
}

static cobre_status allreduce_small(tools *t) {
    return cobre_allreduce(t->comm, t->send, SMALL, t->recv, SMALL, COBRE_F64, COBRE_SUM);
}

static cobre_status allreduce_large(tools *t) {
    return cobre_allreduce(t->comm, t->send, LARGE, t->recv, LARGE, COBRE_F64, COBRE_SUM);
}

static cobre_status gather(tools *t, size_t count, cobre_region *region) {
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS];
    for (size_t r = 0; r < self.size; r++) {
        counts[r] = count;
        displs[r] = r * count;
    }
    if (region)
        return cobre_allgatherv_region(t->comm, t->send, count, region, counts, displs);
    return cobre_allgatherv(t->comm, t->send, count, t->recv, self.size * count, counts, displs, COBRE_F64);
}

static cobre_status allgatherv_small(tools *t) {
    return gather(t, SMALL, NULL);
}

static cobre_status allgatherv_large(tools *t) {
    return gather(t, LARGE, NULL);
}

static cobre_status allgatherv_region(tools *t) {
    return gather(t, SMALL, t->region);
}

static cobre_status region_create(tools *t) {
    cobre_region *region;
    cobre_status status = cobre_region_create(t->comm, 10000, COBRE_F64, 0, &region);
    CHECK((region == NULL) == (status != COBRE_OK));
    CHECK_OK(cobre_region_free(&region));
    return status;
}

static cobre_status region_fence(tools *t) {
    return cobre_region_fence(t->region);
}

static cobre_status split_local(tools *t) {
    cobre_comm *local;
    cobre_status status = cobre_split_local(t->comm, &local);
    CHECK((local == NULL) == (status != COBRE_OK));
    CHECK_OK(cobre_comm_free(&local));
    return status;
}

const operation operations[] = {
    {"barrier", barrier},
    {"broadcast_small", broadcast_small},
    {"broadcast_large", broadcast_large},
    {"allreduce_small", allreduce_small},
    {"allreduce_large", allreduce_large},
    {"allgatherv_small", allgatherv_small},
    {"allgatherv_large", allgatherv_large},
    {"allgatherv_region", allgatherv_region},
    {"region_create", region_create},
    {"split_local", split_local},
    {"region_fence", region_fence}, /* the last: nobody waits in it where memory is not shared */
};

size_t operation_count(void) {
    return sizeof operations / sizeof *operations - (backend != COBRE_SHM);
}

tools equip(void) {
    tools t = {.comm = open_rank()};
    t.send = calloc(LARGE, sizeof *t.send);
    t.recv = calloc(self.size * LARGE, sizeof *t.recv);
    CHECK(t.send && t.recv);
    CHECK_OK(cobre_region_create(t.comm, self.size * SMALL, COBRE_F64, 0, &t.region));
    return t;
}

void put_away(tools *t) {
    CHECK_OK(cobre_region_free(&t->region));
    CHECK_OK(cobre_comm_free(&t->comm));
    free(t->send);
    free(t->recv);
}

/* Sums are looked at: a rank must not go on with a dead one's half-written data. */
cobre_status mixed_collectives(tools *t, uint64_t *state) {
    const operation *chosen = &operations[kit_below(state, operation_count())];
    double value = (double)kit_below(state, 1000);
    for (size_t i = 0; i < SMALL; i++)
        t->send[i] = value + (double)self.rank;
    cobre_status status = chosen->call(t);
    double sum = (double)self.size * value + (double)(self.size * (self.size - 1) / 2);
    bool reduced = chosen->call == allreduce_small || chosen->call == allreduce_large;
    CHECK(status || !reduced || (t->recv[0] == sum && t->recv[SMALL - 1] == sum));
    return status;
}
