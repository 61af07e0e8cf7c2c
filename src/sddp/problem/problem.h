/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h: a finished problem, which never changes. Every input format becomes one through the builder (builder.h).
 *
 * A policy graph: a root with the initial state, and nodes. Each node is a sparse LP. Every state has at each node an
 * incoming column, which is fixed to what the parent left, and an outgoing column, whose value goes on. A node's random
 * variables are seen before its decision; they are independent from node to node, have finitely many outcomes (a table,
 * or drawn once from a model), and enter linearly into right-hand sides, bounds, costs and matrix entries:
 *
 *     target = its value as added + sum of factor * random variable, over the noise terms of that target
 *
 * The future cost of node i is, with edges (i, c) of probability p and discount d,
 *
 *     sum over c of p d E[cost of c on],     or, risk-averse,     P rho_i(d cost of c on),  P = sum of p,
 *
 * where rho_i = beta * E + (1 - beta) * AVaR_alpha is taken jointly over children (with p / P) and outcomes. The
 * probability 1 - P that is missing ends the process at no cost. The first stage is taken in expectation.
 *
 * The image (image.h) holds all of it: one block of memory with offsets instead of pointers, once per host. The structs
 * below are views: each rank's own pointers into the image. */
#ifndef COBRE_SDDP_PROBLEM_PROBLEM_H
#define COBRE_SDDP_PROBLEM_PROBLEM_H

#include <math.h>

#include "sddp/error.h"
#include "sddp/rng.h"

#define CB_NONE COBRE_SDDP_NONE
#define CB_ROOT COBRE_SDDP_ROOT
#define CB_MOST 1e20 /* the largest number in a problem: CLP asserts that costs stay below 1e25 */

#define CB_LARGE_COST 1024.0 /* in an LP: usual costs are at most about this */

typedef cobre_sddp_noise_target cb_noise_target; /* the target of a noise term */

/* The first target of the same family: both sides of a row belong together. */
static inline cb_noise_target cb_noise_family(cb_noise_target target) {
    return target <= COBRE_SDDP_NOISE_ROW_UPPER      ? COBRE_SDDP_NOISE_ROW
           : target == COBRE_SDDP_NOISE_COLUMN_UPPER ? COBRE_SDDP_NOISE_COLUMN_LOWER
                                                     : target;
}

typedef struct {
    cb_noise_target target;
    size_t index, column; /* column: only for ENTRY */
    size_t random;
    double factor;
} cb_noise;

static inline bool cb_same_target(const cb_noise *a, const cb_noise *b) {
    return cb_noise_family(a->target) == cb_noise_family(b->target) && a->index == b->index && a->column == b->column;
}

typedef struct {
    double lower, upper;
} cb_range;

/* Adds noise terms of one target to it; an infinite side stays infinite. A cost, constant or entry is both sides. */
static inline void cb_apply_noise(const cb_noise *term, size_t terms, const double *values, cb_range *range) {
    for (size_t i = 0; i < terms; i++) {
        double change = term[i].factor * values[term[i].random];
        if (term[i].target != COBRE_SDDP_NOISE_ROW_UPPER && term[i].target != COBRE_SDDP_NOISE_COLUMN_UPPER)
            range->lower += change;
        if (term[i].target != COBRE_SDDP_NOISE_ROW_LOWER && term[i].target != COBRE_SDDP_NOISE_COLUMN_LOWER)
            range->upper += change;
    }
}

typedef struct {
    size_t to;
    double probability, discount;
} cb_edge;

typedef struct {
    double beta, alpha; /* beta 1: expectation */
} cb_risk;

typedef struct {
    double lower, upper, cost; /* the cost to minimise: negated if the problem maximises */
} cb_column;

/* A column that has a cost and no bounds is a cost itself: the rows that bound it hold sums of money, as cuts do. Such
 * rows say nothing about the size of the amounts in an LP. */
static inline bool cb_is_cost(const cb_column *column) {
    return column->cost != 0 && column->lower == -INFINITY && column->upper == INFINITY;
}

/* Where a node's outcomes were drawn from: random variable i is d[i] * sum over j <= i of f[i][j] * z[j], with normal z,
 * or, lognormal, the exponential of that. */
typedef struct {
    const double *deviation; /* d; NULL: the outcomes are a table */
    const double *factor;    /* f: rows of a square matrix */
    bool lognormal;
} cb_model;

/* A random variable that a column shows. All other columns of `row` are incoming states, so that the value of `column`
 * is plain + slope * random variable, once a state comes in. */
typedef struct {
    size_t row, column;
} cb_shown;

typedef struct {
    const char *name;
    size_t stage;
    const char *file, *place; /* where it was added, for errors found later; "" if not known */
    size_t line;

    size_t columns, rows, entries, randoms, noises, outcomes, edges;
    size_t all_edges; /* also counts edges of probability 0, which come last; only given scenarios take them */
    bool reached;     /* the process can reach it */
    const cb_column *column;
    const cb_range *range; /* of each column: its values, for all incoming states and all outcomes (ranges.c) */
    const cb_range *row;
    const int *start, *index; /* column j has entries start[j] .. start[j + 1], in rows index[], ascending */
    const double *value;
    const size_t *state_in, *state_out; /* column of each state */
    const uint32_t *incoming;           /* of each column: 1 + the state whose incoming column it is; 0: none */
    const cb_noise *noise;              /* sorted by family, index, column */
    const cb_shown *shown;              /* of each random variable; NULL: no column shows them */
    const double *probability;          /* of each outcome */
    const double *outcome;              /* outcome k: randoms values */
    const uint32_t *tour;               /* in training: all outcomes, in the order in which they are solved */
    const cb_edge *edge;
    cb_model model;
    double constant; /* of the objective */
    cb_risk risk;
    bool has_value_bound; /* it was given */
    double value_bound;   /* of the future cost, internal sense; -INFINITY if it was not given */

    const char *date;    /* when it begins: "2027-03-01"; "": not known */
    double duration;     /* in the problem's unit of time; 0: not known */
    const double *share; /* of each load block: its share of the duration */

    const char *text; /* names lie at these offsets from here */
    const uint64_t *column_name, *row_name, *random_name;
} cb_node;

/* The state whose incoming column this is; CB_NONE: none. */
static inline size_t cb_incoming_state(const cb_node *node, size_t column) {
    return node->incoming[column] ? node->incoming[column] - 1 : CB_NONE;
}

static inline const char *cb_column_name(const cb_node *node, size_t column) {
    return node->text + node->column_name[column];
}

static inline const char *cb_row_name(const cb_node *node, size_t row) {
    return node->text + node->row_name[row];
}

static inline const char *cb_random_name(const cb_node *node, size_t random) {
    return node->text + node->random_name[random];
}

typedef struct {
    const char *name;
    double initial;
} cb_state;

/* The meaning of the numbers under a name. `part`: is it a name of states, of columns, ...? */
typedef struct {
    cobre_sddp_part part;
    const char *name;
    size_t order; /* in which they were added */
    cobre_sddp_label label;
} cb_label;

/* A step of a trajectory given by the case. */
typedef struct {
    size_t node;
    uint64_t values; /* offset of those of its random variables */
} cb_given_step;

struct cobre_sddp_problem {
    cobre_comm *comm;
    cobre_region *image;
    cobre_region *tours; /* the orders of outcomes, also once per host */
    const char *name;
    const char *contents; /* of a hydrothermal case: "4 subsystems, 4 hydros"; else empty */
    bool maximise;
    size_t states, nodes, root_edges, all_root_edges, scenarios;
    cb_state *state;
    cb_node *node;
    const cb_edge *root_edge;
    const uint64_t *scenario; /* scenario s: steps scenario[s] .. scenario[s + 1] */
    const cb_given_step *step;

    size_t labels, blocks;
    cb_label *label;    /* sorted by part and name */
    const char **block; /* names of the load blocks */
    const char *time;   /* unit of durations, "h"; "": not known */
    const char *money;  /* unit of costs as in the objective, "$"; "": not known */

    size_t longest;       /* steps of the longest path; 0: there is a cycle */
    size_t seasons;       /* in a cycle; node n is stage n + 1 then. 0: there are none */
    size_t first_season;  /* of node 0, from 1 */
    uint64_t fingerprint; /* of everything that can change results */
    double scale;         /* objectives of LPs are this, a power of two, times those of the problem */
    double unit;          /* the problem's columns and rows are this, a power of two, times those of LPs */
};

static inline size_t cb_scenario_steps(const cobre_sddp_problem *problem, size_t scenario) {
    return problem->scenario[scenario + 1] - problem->scenario[scenario];
}

static inline size_t cb_scenario_node(const cobre_sddp_problem *problem, size_t scenario, size_t step) {
    return problem->step[problem->scenario[scenario] + step].node;
}

const double *cb_scenario_values(const cobre_sddp_problem *problem, size_t scenario, size_t step);

/* model.c: draws the values of random variables, from rng alone. */
void cb_draw(const cb_model *model, size_t randoms, cb_rng *rng, double *values);

/* Refuses drawn values that are out of range, or that put a noise target out of range: a lognormal model can draw
 * anything. The second function does the same for noise that a caller gives. */
cobre_status cb_check_draw(const cb_node *node, const double *values);
cobre_status cb_check_noise(const cb_node *node, const double *values);

/* incoming.c: the limits of a state that a user gives; a value that is beyond them only by rounding becomes the limit. */
cb_range cb_state_limits(const cobre_sddp_problem *problem, size_t node, size_t state);
bool cb_state_fits(const cobre_sddp_problem *problem, size_t node, size_t state, double *value);
enum { CB_LIMITS_ROOM = 400 };
const char *cb_limits_text(const cobre_sddp_problem *problem, size_t node, size_t state, double value,
                           char text[CB_LIMITS_ROOM]); /* text: why it does not fit */

/* The incoming state at `start`, a node or CB_ROOT. given NULL: the initial state. own NULL: the state is only
 * checked. */
cobre_status cb_take_state(const cobre_sddp_problem *problem, size_t start, const double *given, double *own);

/* The column that shows random variable `random` has the value plain + slope * random. If no column shows it, that is
 * the variable itself. */
typedef struct {
    double plain, slope;
} cb_effect;
cb_effect cb_effect_of(const cobre_sddp_problem *problem, size_t node, size_t random, const double *state);

/* The noise that gives this value. false: there is none, and `why` tells the reason. */
bool cb_noise_for(const cobre_sddp_problem *problem, size_t node, size_t random, const double *state, double value,
                  double *noise, char why[CB_LIMITS_ROOM]);
const char *cb_noise_advice(const cb_node *node); /* tells the user how to mend that */
double cb_mean_noise(const cb_node *node, size_t random);

/* sums.c: a hash of the node's data, including its edges. */
uint64_t cb_node_sum(const cobre_sddp_problem *problem, size_t node);

/* info.c */
void cb_find_cost_rows(const cb_node *node,
                       bool *cost); /* for each row: does it have a column that is a cost (cb_is_cost)? */
size_t cb_most_rows(const cobre_sddp_problem *problem);  /* the most rows of any node */
size_t cb_usual_rows(const cobre_sddp_problem *problem); /* the same without rows that bound a cost, as cuts do */
cobre_status cb_refuse_node(const char *subject, const cobre_sddp_problem *problem, size_t node); /* no such node */

size_t cb_child_outcomes(const cobre_sddp_problem *problem, const cb_node *node); /* of all successors */
double cb_going_on(const cb_node *node);                                          /* probability of a successor */

#define CB_FAR 0x1p28 /* in units of an LP, where usual numbers are about 2^8: a bound beyond this counts as infinite */

/* ranges.c: the range, with sides beyond CB_FAR made infinite. */
cb_range cb_near(cb_range range, double unit);

/* ranges.c: a range that includes the bounds of a column, with and without noise. */
cb_range cb_bounds_of(const cb_node *node, size_t column);

/* tour.c: the tours of all nodes, if the problem has none yet. Collective. */
cobre_status cb_problem_share_tours(cobre_sddp_problem *problem);
bool cb_find_tour(const cb_node *node, uint32_t *tour); /* false: no memory */

#endif
