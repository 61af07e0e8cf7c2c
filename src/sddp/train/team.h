/* SPDX-License-Identifier: Apache-2.0 */
/* team.h: what the ranks of a node share while they train: the work, states, results, and where LPs start from.
 *
 * Nodes get contiguous blocks of trajectories, in proportion to their ranks. Within a node a counter deals out the work: a
 * rank that is done takes the next piece that nobody has begun. What a piece of work gives does not depend on who does
 * it, and so no result does.
 *
 * Two regions per node hold what travels between its ranks:
 *   - the board: the counters, and arrays whose sizes all ranks know before an iteration;
 *   - the heap: starts of LPs, whose sizes nobody knows before. A start gets its place by adding its size to a counter. If
 *     that is beyond the end of the heap, its rank keeps the start until the ranks meet, and make a larger heap.
 *
 * The counters only grow, so that nobody needs to set them back while others still look at them: each rank knows what they
 * were when a phase began. In a phase of N pieces each rank takes one number too many, by which it learns that the phase is
 * over: the counter then stands N + members higher. A rank that fails sets the highest bit (cb_team_give_up), so that the others
 * learn at their next take that the phase, and with it the training, is over.
 *
 * Who may write: a place of an array belongs to the rank that took the piece of work which it is for; the leader alone reads
 * records and costs, rank 0 alone the ends. What is written in one phase is read in another, after a fence, or, within
 * one, by the rank that finished a trajectory last (cb_team_finish, which releases and acquires). What outcomes prove takes
 * much room, so that trajectories use it in batches, one batch per phase. */
#ifndef COBRE_SDDP_TRAIN_TEAM_H
#define COBRE_SDDP_TRAIN_TEAM_H

#include <stdalign.h>
#include <stdatomic.h>

#include "sddp/policy/policy.h"

typedef struct {
    alignas(64) _Atomic uint64_t taken; /* pieces of work, ever */
    alignas(64) _Atomic uint64_t used;  /* bytes of the heap, ever */
} cb_counters;

/* A start that found no room in the heap. */
typedef struct cb_missed {
    struct cb_missed *next;
    size_t place, bytes;
    unsigned char packed[];
} cb_missed;

typedef struct {
    size_t members;                 /* ranks of this node */
    size_t first, last;             /* its trajectories */
    size_t *node_first, *node_last; /* of each rank that leads a node: its node's; of the others none */
    size_t most;                    /* trajectories of the node that has most of them */

    /* The board. Arrays are by trajectory of this node, from 0, unless they say otherwise. */
    cobre_region *board;
    size_t steps;  /* for which there is room */
    size_t states; /* numbers of one state */
    size_t outcomes, pieces,
        records;  /* most in one step of one trajectory (pieces: of trajectory 0); records: numbers */
    size_t batch; /* trajectories for whose proofs there is room */
    cb_counters *counters;
    _Atomic uint64_t *finished;        /* pieces of backward passes, ever */
    double *cost;                      /* of the forward pass */
    double *state;                     /* before each step, and after the last */
    double *value, *intercept, *slope; /* what the outcomes of a step prove, at the state and as cuts: of one batch */
    double *record;                    /* the cuts of one step, one behind the other */
    uint64_t *start;                   /* in the heap: where the LP of each step ended in the forward pass */
    uint64_t *end;                     /* in the heap, by step and piece: where trajectory 0's pieces ended */

    cobre_region *heap;
    unsigned char *bytes;
    size_t room;
    cb_missed *missed;

    uint64_t taken, used; /* the counters when this phase, this iteration began */
    uint64_t *expected;   /* of each trajectory: what `finished` will be at the end of this phase */
} cb_team;

static inline double *cb_team_state(const cb_team *team, size_t i, size_t step) {
    return team->state + (i * (team->steps + 1) + step) * team->states;
}

static inline uint64_t *cb_team_start(const cb_team *team, size_t i, size_t step) {
    return &team->start[i * (team->steps + 1) + step];
}

static inline uint64_t *cb_team_end(const cb_team *team, size_t step, size_t piece) {
    return &team->end[step * team->pieces + piece];
}

/* Finds out who is on which node, and deals out `passes` trajectories. The sizes above are set. Collective. */
cobre_status cb_team_open(cb_team *team, cobre_comm *comm, cb_arena *memory, size_t passes);
void cb_team_close(cb_team *team); /* collective */

/* Room for so many steps. No phase is under way. Collective. */
cobre_status cb_team_steps(cb_team *team, cobre_comm *comm, size_t steps);

/* The next of `count` pieces of work, which this rank then must do; CB_NONE: all are taken, and the phase is over for
 * this rank. */
size_t cb_team_take(cb_team *team, size_t count);

/* This rank has failed: nobody takes any more work. */
void cb_team_give_up(cb_team *team);

/* What a rank of this node has written to the board, all of them can read afterwards. Collective over the node. */
cobre_status cb_team_fence(cb_team *team);

/* Trajectory i has one piece less. True: it was the last one, and this rank sees what all pieces wrote. */
bool cb_team_finish(cb_team *team, size_t i);

/* Puts a start into the heap; and reads it after the next cb_team_settle. */
cobre_status cb_team_put(cb_team *team, const cb_start *start, uint64_t *place);
cobre_status cb_team_get(const cb_team *team, uint64_t place, cb_start *start);

/* After a meeting of all ranks (cb_agree): what a rank has written, all ranks of its node can read afterwards. Collective. */
cobre_status cb_team_settle(cb_team *team, cobre_comm *comm);

/* The heap is empty. Between cb_team_settle and the next collective. */
void cb_team_clear(cb_team *team);

#endif
