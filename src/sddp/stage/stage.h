/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h: the LP of one node on one rank: the node's own LP, a column for its future cost, and the cuts that it needs.
 *
 * Cuts stay in the pool; the LP holds those that mattered lately (resident cuts). A solve is: solve the LP; look for cuts
 * of the pool that the solution violates; add the worst few; again, until there are none. */
#ifndef COBRE_SDDP_STAGE_STAGE_H
#define COBRE_SDDP_STAGE_STAGE_H

#include "sddp/arena.h"
#include "sddp/lp/plugins.h"
#include "sddp/problem/problem.h"
#include "sddp/stage/pool.h"

/* Where an LP starts from: a basis and the resident cuts, sorted by id. stand: columns, rows, then one for each cut. */
typedef struct {
    uint32_t *cut;
    unsigned char *stand;
    size_t cuts, own; /* stands: own of columns and rows, then cuts */
    size_t cuts_room, stand_room;
    bool set;
} cb_start;

bool cb_start_room(cb_start *start, size_t cuts, size_t own); /* false: no memory */

void cb_start_free(cb_start *start);

/* What the LPs of a policy have in common. */
typedef struct {
    const cobre_sddp_problem *problem;
    cb_lp_pair pair;
    const cb_pool *pool;
    bool multi_cut, has_risk;
    cb_risk risk;              /* instead of the node's, if has_risk */
    const size_t *function;    /* multi-cut: of outcome 0 of each node; single: unused, the function is the node */
    const double *value_bound; /* of each node's future cost */
    const double *own_bound;   /* of each node's own cost */
    const char *lp_folder;
} cb_stage_kind;

cb_risk cb_node_risk(const cb_stage_kind *kind, const cb_node *node);

typedef struct cb_target cb_target;

typedef struct {
    cb_arena memory; /* of all arrays but those of cuts */
    const cb_stage_kind *kind;
    const cb_node *node;
    const cb_lp_solver *solver; /* in use: after a start the pair's solver, since it found no optimum the fallback */
    cb_lp *lp;                  /* its LP: one of the next two */
    cb_lp *own, *spare;         /* spare: the fallback's, made when first needed */
    int columns, rows;          /* of the LP without cuts; the node's own come first */
    size_t futures;             /* future-cost columns: columns [node->columns, + futures) */
    size_t *function;           /* what each of them is bounded by */
    double *future_cost;        /* objective coefficients of all columns after the node's own */
    uint32_t *cut;              /* resident, in the order of the LP's extra rows */
    unsigned char *used;        /* it was binding since the last start */
    size_t cuts, cuts_room, used_room;
    bool no_memory;
    double constant;               /* of the objective, with noise */
    double *lower, *upper;         /* of the node's columns, with noise */
    double *row_lower, *row_upper; /* of the node's rows, with noise in right-hand sides */
    double *state;                 /* incoming */
    cb_target *target;
    size_t targets;
    double *out;              /* outgoing states of the last solve, as the solver gave them */
    double objective, future; /* the whole, and the part that is future cost */
    uint64_t solves;          /* stage problems */
    int *row_index;           /* scratch for one cut */
    double *row_value;
} cb_stage;

/* With kind->pool NULL: the node's own cost only. */
cobre_status cb_stage_create(const cb_stage_kind *kind, const cb_node *node, cb_stage **stage);
void cb_stage_free(cb_stage *stage);

/* start NULL or not set: slack basis, no cuts. */
cobre_status cb_stage_start(cb_stage *stage, const cb_start *start);
bool cb_start_fits(const cb_stage_kind *kind, const cb_node *node, const cb_start *start); /* the LP of that node? */
cobre_status cb_stage_save(cb_stage *stage, cb_start *start); /* only the cuts used since the start */

void cb_stage_set_state(cb_stage *stage, const double *state);
void cb_stage_set_noise(cb_stage *stage, const double *values); /* after the state */

/* Afterwards out, objective and future hold. An LP without an optimum goes to the solver to fall back to, which then stays
 * until the next start. A failure writes the LP to a file and names it; outcome is for the message (CB_NONE: none of the
 * node's). */
cobre_status cb_stage_solve(cb_stage *stage, size_t outcome, const double *values);

void cb_stage_state_out(const cb_stage *stage, double *state); /* projected onto its bounds */
void cb_stage_slopes(const cb_stage *stage, double *slopes);   /* of the objective, over the incoming state */

/* value_bound.c: bounds of the own cost and of the future cost of each node, before there are cuts. Rank 0 finds them, by
 * `pair` if there must be LPs; all ranks get them. Collective. options: a bound that is given instead, and what to do
 * with each error; the solver in it is not used. */
cobre_status cb_find_bounds(const cobre_sddp_problem *problem, const cb_lp_pair *pair,
                            const cobre_sddp_validate_options *options, double *own_bound, double *value_bound);

/* build.c: the LP without cuts, in the hands of `solver`; the same whenever it is made. *lp is NULL before. */
cobre_status cb_stage_build(cb_stage *stage, const cb_lp_solver *solver, cb_lp **lp);

/* The one of the pair that is not in use. NULL: there is none. */
const cb_lp_solver *cb_stage_other_solver(const cb_stage *stage);

/* failure.c: makes the error of an LP for which no solver found an optimum, and writes that LP to a file. */
cobre_status cb_stage_fail(cb_stage *stage, cb_lp_outcome result, size_t outcome, const double *values);

/* noise.c */
void cb_targets_create(cb_stage *stage); /* no memory: stage->memory.failed */

#endif
