/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: every cut, once per host.
 *
 * A cut is a record of doubles: the function it bounds, the iteration that made it, its intercept, its slopes. Records
 * have ids 0, 1, 2, ... in the order of (iteration, step backwards, trajectory), whichever rank made them.
 * They lie in regions of `chunk` records each (a power of two). All ranks together add a region when the last one is full,
 * and fill it by allgatherv_region: each rank copies only its own cuts. Each rank also holds, for each function, the list
 * of its cuts. An entry takes 8 bytes; with many states there is also a sketch (pool_scan.c) of 24 bytes and 2 per state.
 * A training may drop cuts from the lists (drop.c): then records have more numbers behind their slopes, which the rule needs.
 *
 * Cuts bound a function from below: the future cost of a node (single cuts), or the cost from one outcome of a node on
 * (multi-cuts). */
#ifndef COBRE_SDDP_STAGE_POOL_H
#define COBRE_SDDP_STAGE_POOL_H

#include "sddp/error.h"

enum { CB_CUT_FUNCTION, CB_CUT_ITERATION, CB_CUT_INTERCEPT, CB_CUT_SLOPES }; /* offsets in a record */

/* A listed cut. Equal cuts are listed once; hash is the hash of the cut's numbers. */
typedef struct {
    uint32_t id, hash;
} cb_listed;

/* A cut whose slopes are rounded to multiples of `step`. The other members are rounded up a little: see pool_scan.c. */
typedef struct {
    double intercept, step, loss;
} cb_sketch;

typedef struct {
    cb_listed *cut;
    cb_sketch *sketch;
    int16_t *slope; /* of each sketch: `width` of them, in steps */
    size_t count, cut_room, sketch_room, slope_room;
} cb_cut_list;

typedef struct {
    cobre_comm *comm;
    size_t states, stride; /* doubles in a record */
    size_t more;           /* of them behind the slopes */
    unsigned chunk_bits;
    size_t chunks, chunks_room;
    struct cb_chunk {
        cobre_region *region;
        const double *data;
    } * chunk;
    uint64_t cuts;
    size_t functions;
    cb_cut_list *list;    /* by function */
    size_t width;         /* of a sketch; 0: there are none */
    int16_t *rounded;     /* scratch of cb_pool_violated, which one thread may call at a time: a state in steps */
    size_t *part, *place; /* by rank, in one gather */
    bool notes_use;
    uint32_t *used; /* if so: of each cut, the last iteration in which it was active in an LP of this rank */
    size_t used_room;
    uint32_t now; /* the iteration under way; 0: LPs do not count */
} cb_pool;

cobre_status cb_pool_init(cb_pool *pool, cobre_comm *comm, size_t states, size_t functions, size_t more);
void cb_pool_free(cb_pool *pool); /* collective */

/* Adds counts[r] records of each rank r, in rank order; records: the caller's own. Collective, but it may fail on one
 * rank alone, if that has no memory for the lists: the caller carries the failure to the next cb_agree. */
cobre_status cb_pool_add(cb_pool *pool, const double *records, const size_t *counts);

/* Keeps only the first `cuts`. Collective. */
void cb_pool_cut_off(cb_pool *pool, uint64_t cuts);

/* Lists only the cuts that stay, by their ids; NULL: all. Of equal ones the oldest is listed. Not collective. */
cobre_status cb_pool_relist(cb_pool *pool, const bool *stays);

static inline const double *cb_pool_cut(const cb_pool *pool, uint64_t id) {
    return pool->chunk[id >> pool->chunk_bits].data + (id & (((uint64_t)1 << pool->chunk_bits) - 1)) * pool->stride;
}

/* The value of a cut at a state. It is summed in four lanes, added as (0 + 1) + (2 + 3) on every machine. */
double cb_cut_value(const double *record, const double *state, size_t states);

/* pool_scan.c: the number of slopes of a sketch; and the sketch of a cut. */
size_t cb_sketch_width(size_t states);
cb_sketch cb_sketch_of(const double *record, size_t states, size_t width, int16_t *slope);

typedef struct {
    uint32_t id;
    double value;
} cb_violation;

/* Finds the cuts of `function` that lie above `level` at `state` by more than `tolerance`. Writes at most `most` of
 * them: the highest first, and the older first among equals. Returns how many. */
size_t cb_pool_violated(const cb_pool *pool, size_t function, const double *state, double level, double tolerance,
                        cb_violation *worst, size_t most);

#endif
