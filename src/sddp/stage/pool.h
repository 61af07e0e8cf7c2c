/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: every cut, once per host.
 *
 * A cut is a record of doubles: the function it bounds, the iteration that made it, its intercept, its slopes. Records
 * have ids 0, 1, 2, ... in the order of (iteration, step backwards, trajectory), which does not depend on who made them.
 * They lie in regions of `chunk` records each (a power of two), added by all ranks together when the last one is full,
 * and filled by allgatherv_region: each rank copies only its own cuts. Besides them a rank holds, for each function, the
 * list of its ids (4 bytes per cut).
 *
 * A function is what cuts bound from below: the future cost of a node (single cuts), or the cost of one outcome of a node
 * from there on (multi-cuts). */
#ifndef COBRE_SDDP_STAGE_POOL_H
#define COBRE_SDDP_STAGE_POOL_H

#include "sddp/error.h"

enum { CB_CUT_FUNCTION, CB_CUT_ITERATION, CB_CUT_INTERCEPT, CB_CUT_SLOPES }; /* offsets in a record */

typedef struct {
    uint32_t *id;
    size_t count, room;
} cb_cut_list;

typedef struct {
    cobre_comm *comm;
    size_t states, stride; /* doubles in a record */
    unsigned chunk_bits;
    size_t chunks, chunks_room;
    struct cb_chunk {
        cobre_region *region;
        const double *data;
    } * chunk;
    uint64_t cuts;
    size_t functions;
    cb_cut_list *list;    /* of each function */
    size_t *part, *place; /* of each rank, in one gather */
} cb_pool;

cobre_status cb_pool_init(cb_pool *pool, cobre_comm *comm, size_t states, size_t functions);
void cb_pool_free(cb_pool *pool); /* collective */

/* Adds counts[r] records of each rank r, in rank order; records: the caller's own. Collective, but it may fail on one
 * rank alone, for which the lists were too large: the caller carries that to the next cb_agree. */
cobre_status cb_pool_add(cb_pool *pool, const double *records, const size_t *counts);

/* Leaves the first `cuts` only. Collective. */
void cb_pool_cut_off(cb_pool *pool, uint64_t cuts);

static inline const double *cb_pool_cut(const cb_pool *pool, uint64_t id) {
    return pool->chunk[id >> pool->chunk_bits].data + (id & (((uint64_t)1 << pool->chunk_bits) - 1)) * pool->stride;
}

/* The value of a cut at a state. Four lanes, added as (0 + 1) + (2 + 3), whatever the machine. */
double cb_cut_value(const double *record, const double *state, size_t states);

typedef struct {
    uint32_t id;
    double value;
} cb_violation;

/* The cuts of `function` that lie most above `level` at `state`, by more than `tolerance`: at most `most` of them, worst
 * first, of equal ones the older first. Returns how many. */
size_t cb_pool_violated(const cb_pool *pool, size_t function, const double *state, double level, double tolerance,
                        cb_violation *worst, size_t most);

#endif
