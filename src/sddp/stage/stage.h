/* SPDX-License-Identifier: Apache-2.0 */
/* stage.h: the LP of one node on one rank: the node's own LP, a column for its future cost, and the cuts that it needs.
 *
 * Cuts stay in the pool; the LP holds those that were binding lately (resident cuts). A solve repeats three steps: it
 * solves the LP, looks in the pool for cuts that the solution violates, and adds the worst few. It ends when there are
 * none. Then safe.c finds a bound that the duals prove; all cuts and bounds are made of these proofs. */
#ifndef COBRE_SDDP_STAGE_STAGE_H
#define COBRE_SDDP_STAGE_STAGE_H

#include "sddp/arena.h"
#include "sddp/lp/plugins.h"
#include "sddp/problem/problem.h"
#include "sddp/stage/pool.h"

/* The start of an LP: a basis and the resident cuts, sorted by id. stand: of columns, rows, then cuts. */
typedef struct {
    uint32_t *cut;
    unsigned char *stand;
    size_t cuts, own; /* stands: own of columns and rows, then cuts */
    size_t cuts_room, stand_room;
    bool set;
} cb_start;

bool cb_start_room(cb_start *start, size_t cuts, size_t own); /* false: no memory */

void cb_start_free(cb_start *start);

/* The data that all LPs of a policy share. */
typedef struct {
    const cobre_sddp_problem *problem;
    cb_lp_pair pair;
    const cb_pool *pool; /* NULL: the LPs have no future cost */
    bool free_state;     /* without a pool: the incoming state is free within its range */
    bool plain;          /* the LP is not scaled, for people who read it */
    bool multi_cut, has_risk;
    cb_risk risk;              /* replaces the node's, if has_risk */
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
    bool used;       /* it has been binding since the last start */
} cb_resident;

/* A column that has no near bound on one side. */
typedef struct {
    size_t column;
    cb_range range, whole; /* whole: with bounds that are far away */
    bool waits;            /* it is free and has no pivot yet */
} cb_open;

/* A free column, and the entry in the row whose dual makes its reduced cost 0. */
typedef struct {
    size_t column, entry;
    bool used;
} cb_pivot;

/* Numbers of the problem have the problem's units. The LP's own are powers of two times these: a column is `unit` times
 * the LP's, a row of the LP is `factor` times the problem's, its objective `scale` times, and so a row's dual is
 * `dual_unit` times the LP's. */
typedef struct {
    cb_arena memory; /* of all arrays but those of cuts */
    const cb_stage_kind *kind;
    const cb_node *node;
    const cb_lp_solver *solver; /* in use: the pair's solver after a start; the fallback once that found no optimum */
    cb_lp *lp;                  /* the solver's LP: own or spare */
    cb_lp *own, *spare;         /* spare: the fallback's, made when first needed */
    int columns, rows;          /* of the LP without cuts; the node's own come first */
    double scale, *unit, *factor, *dual_unit;
    double future_unit;    /* of the columns after the node's own */
    size_t futures;        /* future-cost columns: columns [node->columns, + futures) */
    size_t *function;      /* the function that bounds each of them */
    double *future_bound;  /* of each of them, from below */
    double *discount;      /* of the edge to each of them (multi-cuts) */
    double *future_cost;   /* objective coefficients of all columns after the node's own */
    cb_resident *resident; /* in the order of the LP's extra rows */
    size_t cuts, cuts_room;
    bool no_memory;
    double constant;               /* of the objective, with noise */
    double *lower, *upper;         /* of the node's columns, with noise */
    double *row_lower, *row_upper; /* of the node's rows, with noise in right-hand sides */
    double *shift;       /* of rows: noise in entries times the incoming state; the LP has it in the right-hand side */
    double *cost;        /* of the node's columns, with noise */
    const double *value; /* of the node's entries, with noise */
    double *own_value;   /* where `value` is stored if entries have noise; else NULL */
    double *state;       /* incoming */
    cb_target *target;
    size_t targets;
    double *out;              /* outgoing states of the last solve, as the solver gave them */
    double objective, future; /* the total, and its future cost; as the solver gave them */
    uint64_t solves;          /* LPs solved */
    int *row_index;           /* scratch for one cut */
    double *row_value;

    /* safe.c: the bound that the duals prove. For every possible incoming state x the cost is at least intercept + slope x. */
    bool proven;
    double intercept, *slope;
    double bound;    /* of the cost at the state, a little below intercept + slope state */
    double rounding; /* its part that covers rounding errors */
    double *dual;    /* of all rows of the LP: the node's, those for the risk measure, the cuts */
    size_t dual_room;
    double *budget; /* of each future-cost column: the sum of its cuts' duals, then the factor that scales them down */
    double *low, *high; /* of the node's columns; 0 for those in `open`, and for incoming states that are set */
    cb_open *open;      /* columns for which no finite bounds are known */
    size_t opens;
    bool far;           /* far bounds count, too */
    cb_pivot *pivot;    /* of free columns */
    double *wobble;     /* of each row: the error bound of its dual */
    int *sharing;       /* of each row: its number of free columns without a pivot */
    double *reduced;    /* costs of the node's columns, as computed from the duals */
    double *error;      /* the error bound of each of them */
    double entry_error; /* of a column, relative to the absolute values of its terms */
    double *pull;       /* of the cuts on each outgoing state, and the sum of absolute values */
    size_t *bad;        /* those of `open` whose reduced cost asks for a missing bound */
    cb_anchor *anchor;  /* of each outcome, if costs or entries have noise; else one */
    unsigned char *stand;
    size_t stand_room;
} cb_stage;

/* With kind->pool NULL: the node's own cost only. */
cobre_status cb_stage_create(const cb_stage_kind *kind, const cb_node *node, cb_stage **stage);
void cb_stage_free(cb_stage *stage);

/* Frees memory that the next start allocates again. No other call is allowed until then. */
void cb_stage_rest(cb_stage *stage);

/* start NULL or not set: slack basis, no cuts. */
cobre_status cb_stage_start(cb_stage *stage, const cb_start *start);
bool cb_start_fits(const cb_stage_kind *kind, const cb_node *node, const cb_start *start); /* is it for this LP? */
cobre_status cb_stage_save(cb_stage *stage, cb_start *start); /* only the cuts used since the start */

void cb_stage_set_state(cb_stage *stage, const double *state);
void cb_stage_set_noise(cb_stage *stage, const double *values); /* must come after the state */

static inline double *cb_risk_duals(const cb_stage *stage) {
    return stage->dual + stage->node->rows;
}

static inline double *cb_cut_duals(const cb_stage *stage) {
    return stage->dual + stage->rows;
}

/* Solves; all results are then valid. If the LP has no optimum, the fallback solver tries, and stays in use until the next
 * start. A failure writes the LP to a file and names it. outcome is for the message; CB_NONE: it is not one of the
 * node's. */
cobre_status cb_stage_solve(cb_stage *stage, size_t outcome, const double *values);

void cb_stage_state_out(const cb_stage *stage, double *state); /* projected onto its bounds */
double cb_stage_column(const cb_stage *stage, size_t column);  /* the value of a column of the node */
double cb_stage_dual(const cb_stage *stage, size_t row);       /* of any row of the LP; cuts come last */
double cb_stage_future(const cb_stage *stage);                 /* the future cost of the LP's solution */

/* value_bound.c: bounds of the own cost and of the future cost of each node, before there are cuts. Rank 0 finds them,
 * and solves LPs with `pair` if it must; all ranks get them. Collective. options: may give a bound instead, and a
 * callback for errors; its solver is not used. */
cobre_status cb_find_bounds(const cobre_sddp_problem *problem, const cb_lp_pair *pair,
                            const cobre_sddp_validate_options *options, double *own_bound, double *value_bound);

/* build.c: makes the LP without cuts in `solver`; it is the same every time. *lp is NULL before. */
cobre_status cb_stage_build(cb_stage *stage, const cb_lp_solver *solver, cb_lp **lp);

/* build.c: an empty model with room for so many columns, rows and entries. false: no memory. */
bool cb_model_alloc(cb_arena *memory, cb_lp_model *model, size_t columns, size_t rows, size_t entries);

/* The solver of the pair that is not in use. NULL: there is none. */
const cb_lp_solver *cb_stage_other_solver(const cb_stage *stage);

/* A start at the slack basis with the LP's resident cuts. false: no memory. */
bool cb_stage_residents(const cb_stage *stage, cb_start *start);

/* failure.c: makes the error of an LP for which no solver found an optimum, and writes that LP to a file. */
cobre_status cb_stage_fail(cb_stage *stage, cb_lp_outcome result, size_t outcome, const double *values);

/* The bounds of one of the node's columns in the LP. */
void cb_stage_put_column(cb_stage *stage, size_t column, double lower, double upper);

/* Does the LP have rows for a risk measure (build.c)? */
static inline bool cb_stage_averse(const cb_stage *stage) {
    return stage->rows > (int)stage->node->rows;
}

/* safe.c: reads the duals of the last solve, and finds the bound that they prove. There is none if the noise is not one
 * of the node's outcomes (CB_NONE). */
bool cb_safe_create(cb_stage *stage); /* false: no memory */
void cb_safe_free(cb_stage *stage);
void cb_safe_bounds(cb_stage *stage, size_t column, cb_range bounds); /* sets the bounds of a column */
cobre_status cb_safe_read(cb_stage *stage, size_t outcome);
cobre_status cb_safe_prove(cb_stage *stage, size_t outcome); /* with the present duals */
void cb_safe_tidy(cb_stage *stage);                          /* sets duals of an impossible sign to 0 */
void cb_safe_reduce(cb_stage *stage); /* computes reduced costs and their errors from the duals */

/* The error of a sum of so many products, relative to the sum of their absolute values; with room for a few more
 * operations. */
static inline double cb_rounding(size_t terms) {
    return (double)(terms + 8) * 0x1p-53;
}

/* Subtracts the error of a slope where it costs least: in the slope if the range is infinite or far on one side, else in the
 * intercept. false: the range is infinite on both sides. */
bool cb_round_slope(double *slope, double error, cb_range range, double unit, double *loss);

/* polish.c: makes duals and solution more accurate if the duals prove less than the LP's optimum. */
typedef enum {
    CB_POLISH_NOTHING, /* nothing has changed */
    CB_POLISH_BETTER,  /* duals and solution are better */
    CB_POLISH_FAILED   /* the LP must be solved again */
} cb_polished;
cobre_status cb_polish(cb_stage *stage, size_t outcome, cb_polished *result);

/* noise.c */
bool cb_has_random_dual(const cb_node *node); /* is there noise in costs or entries? */
void cb_targets_create(cb_stage *stage);      /* no memory: stage->memory.failed */

#endif
