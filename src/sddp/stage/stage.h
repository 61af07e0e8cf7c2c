/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h: the LP of one node on one rank: the node's own LP, a column for its future cost, and the cuts that it needs.
 *
 * Cuts stay in the pool; the LP holds those that mattered lately (resident cuts). A solve is: solve the LP; look for cuts
 * of the pool that the solution violates; add the worst few; again, until there are none. Then find what the duals prove
 * (safe.c), which is all that cuts and bounds are made of. */
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
    const cb_pool *pool; /* NULL: the LPs have no future cost */
    bool free_state;     /* without a pool: the incoming state is anything that can come in */
    bool plain;          /* the numbers of the LP are those of the problem, for people who read it */
    bool multi_cut, has_risk;
    cb_risk risk;              /* instead of the node's, if has_risk */
    const size_t *function;    /* multi-cut: of outcome 0 of each node; single: unused, the function is the node */
    const double *value_bound; /* of each node's future cost */
    const double *own_bound;   /* of each node's own cost */
    const char *lp_folder;
} cb_stage_kind;

cb_risk cb_node_risk(const cb_stage_kind *kind, const cb_node *node);
double cb_cost_bound(const cb_stage_kind *kind, size_t node); /* of the cost from this node on, before there are cuts */

typedef struct cb_target cb_target;
typedef struct cb_anchor cb_anchor;

/* A cut that is in the LP. */
typedef struct {
    uint32_t id;
    uint32_t future; /* the future-cost column that it bounds */
    bool used;       /* it was binding since the last start */
} cb_resident;

/* A column that has no near bound on one side. */
typedef struct {
    size_t column;
    cb_range range, whole; /* whole: with bounds that are far away */
    bool waits;            /* it is free, and has no pivot yet */
} cb_open;

/* A free column, and the entry in the row whose dual makes its reduced cost 0. */
typedef struct {
    size_t column, entry;
    bool used;
} cb_pivot;

/* Numbers of the problem have the problem's units. The LP's own are powers of two times these: a column is `unit` times the
 * LP's, a row of the LP is `factor` times the problem's, its objective `scale` times, and so a row's dual is `dual_unit` times
 * the LP's. */
typedef struct {
    cb_arena memory; /* of all arrays but those of cuts */
    const cb_stage_kind *kind;
    const cb_node *node;
    const cb_lp_solver *solver; /* in use: after a start the pair's solver, since it found no optimum the fallback */
    cb_lp *lp;                  /* its LP: one of the next two */
    cb_lp *own, *spare;         /* spare: the fallback's, made when first needed */
    int columns, rows;          /* of the LP without cuts; the node's own come first */
    double scale, *unit, *factor, *dual_unit;
    double future_unit;    /* of the columns after the node's own */
    size_t futures;        /* future-cost columns: columns [node->columns, + futures) */
    size_t *function;      /* what each of them is bounded by */
    double *future_bound;  /* of each of them, from below */
    double *discount;      /* of the edge to each of them (multi-cuts) */
    double *future_cost;   /* objective coefficients of all columns after the node's own */
    cb_resident *resident; /* in the order of the LP's extra rows */
    size_t cuts, cuts_room;
    bool no_memory;
    double constant;               /* of the objective, with noise */
    double *lower, *upper;         /* of the node's columns, with noise */
    double *row_lower, *row_upper; /* of the node's rows, with noise in right-hand sides */
    double *shift;       /* of rows: noise in entries times the incoming state, which the LP has on the right */
    double *cost;        /* of the node's columns, with noise */
    const double *value; /* of the node's entries, with noise */
    double *own_value;   /* that, if there is noise in entries; else NULL */
    double *state;       /* incoming */
    cb_target *target;
    size_t targets;
    double *out;              /* outgoing states of the last solve, as the solver gave them */
    double objective, future; /* the whole, and the part that is future cost; as the solver gave them */
    uint64_t solves;          /* stage problems */
    int *row_index;           /* scratch for one cut */
    double *row_value;

    /* safe.c: what the duals prove. The cost is at least intercept + slope x for every state x that can come in. */
    bool proven;
    double intercept, *slope;
    double bound;    /* of the cost at the state, a little below intercept + slope state */
    double rounding; /* what of it is for rounding errors */
    double *dual;    /* of all rows of the LP: the node's, those for the risk measure, the cuts */
    size_t dual_room;
    double *budget;     /* of each future-cost column: the sum of its cuts' duals, then how much of them it can pay */
    double *low, *high; /* of the node's columns; 0 for those in `open`, and for incoming states that are set */
    cb_open *open;      /* columns for which no finite bounds are known */
    size_t opens;
    bool far;           /* bounds that are far away count */
    cb_pivot *pivot;    /* of free columns */
    double *wobble;     /* of each row: how far its dual may be from the truth */
    int *sharing;       /* of each row: how many free columns it has that have no pivot */
    double *reduced;    /* costs of the node's columns, as computed from the duals */
    double *error;      /* how far each of them may be from the truth */
    double entry_error; /* of a column, relative to the absolute values of its terms */
    double *pull;       /* of the cuts on each outgoing state, and the sum of absolute values */
    size_t *bad;        /* those of `open` whose reduced cost asks for a bound that there is not */
    cb_anchor *anchor;  /* of each outcome, if costs or entries have noise; else one */
    unsigned char *stand;
    size_t stand_room;
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

static inline double *cb_risk_duals(const cb_stage *stage) {
    return stage->dual + stage->node->rows;
}

static inline double *cb_cut_duals(const cb_stage *stage) {
    return stage->dual + stage->rows;
}

/* Afterwards all results hold. An LP without an optimum goes to the solver to fall back to, which then stays
 * until the next start. A failure writes the LP to a file and names it; outcome is for the message (CB_NONE: none of the
 * node's). */
cobre_status cb_stage_solve(cb_stage *stage, size_t outcome, const double *values);

void cb_stage_state_out(const cb_stage *stage, double *state); /* projected onto its bounds */
double cb_stage_column(const cb_stage *stage, size_t column);  /* its value, one of the node's */
double cb_stage_dual(const cb_stage *stage, size_t row);       /* of any row of the LP; cuts come last */
double cb_stage_future(const cb_stage *stage);                 /* the future cost of the solution in the LP */

/* value_bound.c: bounds of the own cost and of the future cost of each node, before there are cuts. Rank 0 finds them, by
 * `pair` if there must be LPs; all ranks get them. Collective. options: a bound that is given instead, and what to do
 * with each error; the solver in it is not used. */
cobre_status cb_find_bounds(const cobre_sddp_problem *problem, const cb_lp_pair *pair,
                            const cobre_sddp_validate_options *options, double *own_bound, double *value_bound);

/* build.c: the LP without cuts, in the hands of `solver`; the same whenever it is made. *lp is NULL before. */
cobre_status cb_stage_build(cb_stage *stage, const cb_lp_solver *solver, cb_lp **lp);

/* build.c: an empty model with room for so many. false: no memory. */
bool cb_model_alloc(cb_arena *memory, cb_lp_model *model, size_t columns, size_t rows, size_t entries);

/* The one of the pair that is not in use. NULL: there is none. */
const cb_lp_solver *cb_stage_other_solver(const cb_stage *stage);

/* A start with the cuts that are in the LP now, at the slack basis. false: no memory. */
bool cb_stage_residents(const cb_stage *stage, cb_start *start);

/* failure.c: makes the error of an LP for which no solver found an optimum, and writes that LP to a file. */
cobre_status cb_stage_fail(cb_stage *stage, cb_lp_outcome result, size_t outcome, const double *values);

/* The bounds of a column of the node, in the LP. */
void cb_stage_put_column(cb_stage *stage, size_t column, double lower, double upper);

/* Does the LP have rows for a risk measure (build.c)? */
static inline bool cb_stage_averse(const cb_stage *stage) {
    return stage->rows > (int)stage->node->rows;
}

/* safe.c: reads the duals of the last solve, and finds what they prove: nothing if the noise is none of the outcomes
 * (CB_NONE). */
bool cb_safe_create(cb_stage *stage); /* false: no memory */
void cb_safe_free(cb_stage *stage);
void cb_safe_bounds(cb_stage *stage, size_t column, cb_range bounds); /* of a column, as they are now */
cobre_status cb_safe_read(cb_stage *stage, size_t outcome);
cobre_status cb_safe_prove(cb_stage *stage, size_t outcome); /* from the duals as they are */
void cb_safe_tidy(cb_stage *stage);                          /* duals that no row or cut can have become 0 */
void cb_safe_reduce(cb_stage *stage);                        /* reduced costs and their errors, from the duals */

/* The error of a sum of so many products, relative to the sum of their absolute values; with room for a few more steps. */
static inline double cb_rounding(size_t terms) {
    return (double)(terms + 8) * 0x1p-53;
}

/* The error of a slope goes where it is least: into the slope where the range is infinite or far, else into the intercept. false:
 * the range is infinite on both sides. */
bool cb_round_slope(double *slope, double error, cb_range range, double unit, double *loss);

/* polish.c: makes the duals more accurate when they prove less than the LP costs, and the solution with them. */
typedef enum {
    CB_POLISH_NOTHING, /* to be done: everything is as it was */
    CB_POLISH_BETTER,  /* duals and solution */
    CB_POLISH_FAILED   /* the LP must be solved again */
} cb_polished;
cobre_status cb_polish(cb_stage *stage, size_t outcome, cb_polished *result);

/* noise.c */
bool cb_has_random_dual(const cb_node *node); /* is there noise in costs or entries? */
void cb_targets_create(cb_stage *stage);      /* no memory: stage->memory.failed */

#endif
