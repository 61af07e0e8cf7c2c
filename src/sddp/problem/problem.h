/* problem.h: the one internal problem that every input format becomes.
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
 * Building: cb_problem_new, then the cb_add_ and cb_set_ functions in any order that names things after they exist, then
 * cb_problem_finish. The functions never fail visibly: an error is reported where cb_problem_at said the reader is, it is
 * counted, and the caller goes on, so that all errors of a case are found at once. An index returned after an error is
 * CB_NONE, which every function accepts and ignores. */
#ifndef COBRE_SDDP_PROBLEM_PROBLEM_H
#define COBRE_SDDP_PROBLEM_PROBLEM_H

#include "sddp/error.h"
#include "sddp/rng.h"

#define CB_NONE SIZE_MAX
#define CB_MOST 1e20           /* the largest number in a problem: CLP has an assertion that costs stay below 1e25 */
#define CB_ROOT (SIZE_MAX - 1) /* as the `from` of an edge */

/* While it is built. */
typedef struct cobre_sddp_problem cobre_sddp_builder;

/* Where in the input something stands, for errors. */
typedef struct {
    const char *file;
    size_t line;      /* 0: not known */
    const char *text; /* "column cost", "/nodes/1"; "" or NULL: no more is known */
} cb_place;

/* What a noise term adds to. */
typedef enum {
    CB_NOISE_ROW, /* both finite sides of row `index`: its right-hand side */
    CB_NOISE_ROW_LOWER,
    CB_NOISE_ROW_UPPER,
    CB_NOISE_COLUMN_LOWER,
    CB_NOISE_COLUMN_UPPER,
    CB_NOISE_COST,     /* of column `index` */
    CB_NOISE_CONSTANT, /* of the objective; index is not used */
    CB_NOISE_ENTRY     /* of row `index`, column `column` */
} cb_noise_target;

/* The first of those that concern the same thing: both sides of a row belong together. */
static inline cb_noise_target cb_noise_family(cb_noise_target target) {
    return target <= CB_NOISE_ROW_UPPER      ? CB_NOISE_ROW
           : target == CB_NOISE_COLUMN_UPPER ? CB_NOISE_COLUMN_LOWER
                                             : target;
}

typedef struct {
    cb_noise_target target;
    size_t index, column; /* column: only for ENTRY */
    size_t random;
    double factor;
} cb_noise;

/* Draws the values of a node's random variables. Called on any rank, in any order: all it may use is rng. */
typedef void cb_draw(const void *model, size_t node, cb_rng *rng, double *values);

typedef struct {
    size_t to;
    double probability, discount;
} cb_edge;

typedef struct {
    double beta, alpha; /* beta 1: expectation */
} cb_risk;

typedef struct {
    char *name;
    double lower, upper, cost;
} cb_column;

typedef struct {
    char *name;
    double lower, upper;
} cb_row;

typedef struct {
    int row, column;
    double value;
} cb_entry;

typedef struct {
    char *name;
    size_t stage;
    const char *file; /* where it was added, for errors found at the end */
    size_t line;
    char *place;

    size_t columns, rows, entries, randoms, noises, outcomes, edges;
    size_t columns_room, rows_room, entries_room, randoms_room, noises_room, outcomes_room, edges_room;
    cb_column *column;
    cb_row *row;
    cb_entry *entry;              /* as added; finish sorts them by column, then row, and sums duplicates */
    int *start;                   /* after finish: column j has entries start[j] .. start[j + 1] */
    size_t *state_in, *state_out; /* column of each state */
    char **random_name;
    cb_noise *noise;       /* after finish: sorted by family, index, column */
    double *probability;   /* of each outcome */
    double *table;         /* outcome k: randoms values; while building. NULL after finish */
    const double *outcome; /* after finish: the same, in the opening tree */
    const uint32_t *tour;  /* in training: all outcomes, in the order in which they are solved */
    cb_draw *draw;
    const void *model;
    cb_edge *edge;
    double constant; /* of the objective */
    cb_risk risk;
    bool has_value_bound;
    double value_bound; /* of the future cost, internal sense, if the case gives one */
} cb_node;

typedef struct {
    char *name;
    double initial;
} cb_state;

/* A trajectory given by the case: nodes and, for each, the values of its random variables. */
typedef struct {
    size_t steps;
    size_t *node;
    double **values;
} cb_scenario;

typedef struct cb_json_lines cb_json_lines; /* sddp/read/json_file.c */

struct cobre_sddp_problem {
    cobre_comm *comm; /* after finish */
    char *name;
    char contents[160]; /* of a hydrothermal case: "4 subsystems, 4 hydros"; else empty */
    bool maximise;      /* costs are stored as they are minimised: negated if this is set, by the builder functions */
    size_t states, nodes, root_edges, scenarios;
    size_t states_room, nodes_room, root_edges_room, scenarios_room;
    cb_state *state;
    cb_node *node;
    cb_edge *root_edge;
    cb_scenario *scenario;

    size_t longest; /* steps of the longest path; 0: there is a cycle */
    uint64_t opening_seed;
    uint64_t fingerprint;   /* of all that changes results; the same on all ranks */
    uint64_t shape;         /* of the names of states and nodes: what a warm start asks for */
    cobre_region *openings; /* all outcomes of all nodes, once a host */
    cobre_region *tours;    /* their orders, likewise */
    double scale;           /* costs in the LPs are this, a power of two, times those of the problem */
    void *owned;            /* what the reader keeps alive for draw functions; freed by free_owned */
    void (*free_owned)(void *);

    const char *at_file; /* where the reader is */
    size_t at_line;
    char at_place[512];
    char **files;        /* names that at_file points to */
    cb_json_lines *json; /* of the JSON file that was read, if any: lines of the places in it */
    size_t file_count, file_room;
    size_t errors;
    void (*issue)(void *arg, const cobre_sddp_issue *issue);
    void *issue_arg;
    bool no_memory;
};

cobre_sddp_problem *cb_problem_new(const char *name, bool maximise); /* NULL: out of memory */
void cb_problem_rename(cobre_sddp_problem *problem, const char *name);
void cb_problem_on_issue(cobre_sddp_problem *problem, void (*issue)(void *, const cobre_sddp_issue *), void *arg);

/* From here on errors are reported at this place. file is copied; line 0: not known; place: printf, may be "". */
void cb_problem_at(cobre_sddp_problem *problem, const char *file, size_t line, const char *place, ...)
    __attribute__((format(printf, 4, 5)));

void cb_problem_at_node(cobre_sddp_problem *problem, const cb_node *node); /* where the node was added */

/* A reader's own error, at a place. advice: what to do about it; NULL: nothing. */
void cb_error_at(cobre_sddp_builder *builder, const cb_place *at, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A reader's own error, at the current place. advice: what to do about it; NULL: nothing. */
void cb_builder_error(cobre_sddp_problem *problem, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Costs, constants and value bounds are given in the problem's own sense. Names are copied and must be unique among
 * their kind (states; nodes; columns, rows, random variables of one node); NULL makes one up. A stage of 0 becomes the
 * distance from the root. A probability that is NaN has been reported. */
size_t cb_add_state(cobre_sddp_builder *problem, const cb_place *at, const char *name, double initial);
size_t cb_add_node(cobre_sddp_builder *problem, const cb_place *at, const char *name, size_t stage);
size_t cb_add_column(cobre_sddp_builder *problem, const cb_place *at, size_t node, const char *name, double lower,
                     double upper, double cost);
size_t cb_add_row(cobre_sddp_builder *problem, const cb_place *at, size_t node, const char *name, double lower,
                  double upper);
void cb_add_entry(cobre_sddp_builder *problem, const cb_place *at, size_t node, size_t row, size_t column,
                  double value); /* sums up */
void cb_add_cost(cobre_sddp_builder *problem, const cb_place *at, size_t node, size_t column,
                 double cost); /* to what it has */
void cb_narrow_column(cobre_sddp_builder *problem, const cb_place *at, size_t node, size_t column, double lower,
                      double upper);
void cb_shift_row(cobre_sddp_builder *problem, const cb_place *at, size_t node, size_t row,
                  double by); /* both finite sides */
void cb_add_constant(cobre_sddp_builder *problem, const cb_place *at, size_t node, double cost);
void cb_set_state(cobre_sddp_builder *problem, const cb_place *at, size_t node, size_t state, size_t column_in,
                  size_t column_out);

/* Noise. A node without outcomes has one, of probability 1 (and may have no random variables). values: one for each
 * random variable added so far; all random variables come before the first outcome. */
size_t cb_add_random(cobre_sddp_builder *problem, const cb_place *at, size_t node, const char *name);
void cb_add_noise(cobre_sddp_builder *problem, const cb_place *at, size_t node, cb_noise noise);
void cb_add_outcome(cobre_sddp_builder *problem, const cb_place *at, size_t node, double probability,
                    const double *values);

/* Instead of a table: `count` equally likely outcomes, drawn when the problem is finished, by the ranks of each host
 * together. model must live as long as the problem (cb_problem_own). Outcome k of node n is drawn from
 * cb_rng_start(opening seed, CB_RNG_OPENING, 0, k, n). */
void cb_set_draw(cobre_sddp_builder *problem, const cb_place *at, size_t node, size_t count, cb_draw *draw,
                 const void *model);
void cb_set_opening_seed(cobre_sddp_problem *problem, uint64_t seed); /* 0 */
void cb_problem_own(cobre_sddp_problem *problem, void *owned, void (*free_owned)(void *));

void cb_add_edge(cobre_sddp_builder *problem, const cb_place *at, size_t from, size_t to, double probability,
                 double discount);
void cb_set_risk(cobre_sddp_builder *problem, const cb_place *at, size_t node, double beta, double alpha);
void cb_set_value_bound(cobre_sddp_builder *problem, const cb_place *at, size_t node,
                        double bound); /* of the node's future cost */

/* A scenario and its steps. values as in cb_add_outcome of that node, copied; NULL when it has no random variables. */
size_t cb_add_scenario(cobre_sddp_problem *problem);
void cb_drop_scenarios(cobre_sddp_problem *problem);
void cb_add_step(cobre_sddp_builder *problem, const cb_place *at, size_t scenario, size_t node, const double *values);

size_t cb_most_rows(const cobre_sddp_problem *problem);                    /* of its nodes */
size_t cb_find_state(const cobre_sddp_problem *problem, const char *name); /* CB_NONE if there is none */
size_t cb_find_node(const cobre_sddp_problem *problem, const char *name);
size_t cb_find_random(const cobre_sddp_problem *problem, size_t node, const char *name);

/* Checks what only the whole can show, sorts, draws, moves the outcomes into the opening tree, checks that all ranks
 * built the same. Collective: ranks whose reader found errors call it too. On failure the problem can only be freed. */
cobre_status cb_problem_finish(cobre_comm *comm, cobre_sddp_problem *problem);

/* sddp/read/json_file.c: the line of a place in the JSON file that was read; 0: not known. */
size_t cb_json_line(cb_json_lines *lines, const char *file, const char *place);
void cb_json_forget(cobre_sddp_problem *problem); /* when there is nothing more to report */

/* The parts of finish, each in a file of its own. */
void cb_problem_check(cobre_sddp_problem *problem);                           /* check.c */
cobre_status cb_problem_share(cobre_comm *comm, cobre_sddp_problem *problem); /* openings.c */

/* tour.c: the tours of all nodes, if the problem has none yet. Collective. */
cobre_status cb_problem_share_tours(cobre_comm *comm, cobre_sddp_problem *problem);
bool cb_find_tour(const cb_node *node, uint32_t *tour); /* false: no memory */

#endif
