/* SPDX-License-Identifier: Apache-2.0 */
/* cobre/sddp.h: multistage stochastic linear programs, solved by stochastic dual dynamic programming.
 *
 *     cobre_comm *comm; cobre_sddp_problem *problem; cobre_sddp_policy *policy;
 *     cobre_sddp_train_options options = {.struct_size = sizeof options, .iterations = 100};
 *     cobre_comm_open(NULL, &comm);
 *     cobre_sddp_load(comm, "case.sof.json", NULL, &problem);
 *     cobre_sddp_train(problem, &options, &policy, NULL);
 *     printf("bound %g\n", cobre_sddp_policy_bound(policy));
 *     cobre_sddp_policy_save(policy, "policy.cobre");
 *     cobre_sddp_policy_free(&policy); cobre_sddp_problem_free(&problem); cobre_comm_free(&comm);
 *
 * Rules that hold for every call:
 *   - It returns a status, 0 is success; after a failure cobre_last_error() of the same thread says what, where and
 *     what to do, also as JSON. "Collective" means as in comm.h: every rank of the communicator calls it, with equal
 *     arguments. What fails on one rank fails on all of them, with the error of the first that failed: `culprit` is its
 *     rank. COBRE_COLLECTIVE_FAILED is as in comm.h.
 *   - A wrong argument (NULL, an index out of range, a value that an enum does not have) is COBRE_INVALID_ARGUMENT, found
 *     before anything is sent. Functions that return a value instead of a status return 0, false, NULL or NaN for it.
 *   - Structs begin with struct_size, so that they can grow. In structs of the caller, options and results, it is sizeof
 *     the struct; 0 is that of version 1. A result is written up to there. In structs that callbacks get, the library
 *     sets it. Options that are zero have their defaults; NULL instead of options means: all of them.
 *   - A problem or policy belongs to a communicator, which must outlive it.
 *   - Callbacks get `arg` of the same struct.
 *   - The floating-point settings of the calling thread (rounding mode, flush to zero, traps) do not count. They are the
 *     same after a call; callbacks run in those that a thread starts with: rounding to nearest, no flushing, no traps.
 *   - Bounds, cuts, policy bytes and simulated costs do not depend on the number of ranks or the backend. They depend on
 *     the problem, the options that say so, and the pair of LP solvers with their versions: the one in use and the
 *     one that takes over where it finds no optimum. Rank 0 chooses them; a rank that lacks one is an error on all.
 *   - Values are in the problem's own sense: for a problem that maximises, `bound` is an upper bound.
 */
#ifndef COBRE_SDDP_H
#define COBRE_SDDP_H

#include "comm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cobre_sddp_problem cobre_sddp_problem; /* a policy graph of linear programs */
typedef struct cobre_sddp_builder cobre_sddp_builder; /* a problem that is being built */
typedef struct cobre_sddp_policy cobre_sddp_policy;   /* its cuts, and where each LP starts from */

/* An index: none. */
#define COBRE_SDDP_NONE SIZE_MAX

/* One error of a case, or a warning. No text is NULL; what is not known is "". */
typedef struct {
    size_t struct_size;
    const char *file;  /* "" for a problem that was built */
    size_t line;       /* 0 if not known */
    const char *place; /* a JSON path, a column of a table; of a problem that was built: names, "node a, row b" */
    const char *message;
    const char *suggestion; /* what to do about it */
    bool warning;           /* no error: the case can be solved, but not as well as it seems */
    size_t more;            /* others of this kind in the same file that are not told one by one */
} cobre_sddp_issue;

typedef struct {
    size_t struct_size;
    const char *scenarios; /* a table of scenarios to simulate, instead of the case's own; NULL: none */
    void *arg;
    void (*issue)(void *arg, const cobre_sddp_issue *issue); /* on rank 0, for every error and warning; may be NULL */
} cobre_sddp_load_options;

/* Reads a case: a StochOptFormat file (*.sof.json, *.sof.json.gz), or the folder of a hydrothermal case. Rank 0 reads; the
 * problem is in memory once per host. Collective, blocks. On COBRE_INVALID_CASE every error has been passed to `issue` on
 * rank 0, and *problem is NULL; else every warning. The caller owns *problem and frees it before the communicator. */
COBRE_API cobre_status cobre_sddp_load(cobre_comm *comm, const char *path, const cobre_sddp_load_options *options,
                                       cobre_sddp_problem **problem);
COBRE_API void cobre_sddp_problem_free(cobre_sddp_problem **problem); /* collective; sets NULL; accepts NULL */

/* Makes the same problem on another communicator. Collective over `comm`, blocks. Rank 0's problem counts, of whatever
 * communicator; other ranks pass NULL. *shared is a problem of its own: it and `problem` can be freed in any order. */
COBRE_API cobre_status cobre_sddp_problem_share(cobre_comm *comm, const cobre_sddp_problem *problem,
                                                cobre_sddp_problem **shared);

/* Building a problem, instead of reading it. It is done on rank 0 alone, as below; then all ranks call cobre_sddp_finish.
 *
 *     cobre_sddp_builder *builder = NULL; cobre_sddp_problem *problem;
 *     if (cobre_rank(comm) == 0 && !cobre_sddp_builder_new("storage", false, &builder)) {
 *         size_t water = cobre_sddp_add_state(builder, "water", 10);
 *         size_t node = cobre_sddp_add_node(builder, "today", 1);
 *         size_t in = cobre_sddp_add_column(builder, node, "water_in", -INFINITY, INFINITY, 0);
 *         ...
 *     }
 *     cobre_sddp_finish(comm, &builder, NULL, &problem);
 *
 * The problem is a policy graph: a root with the initial state, and nodes. Each node is a linear program in its columns.
 * Every state needs at each node an incoming column, which is fixed to what the node before left (its own bounds do not
 * count), and an outgoing column, whose value goes on: see cobre_sddp_set_state. All states come before the first node;
 * else the order is free, as long as things exist before they are used.
 *
 * An add never fails visibly. A mistake (a number out of range, an index of something that does not exist) is kept with the
 * names involved, the call does nothing more, and an index that it would return is COBRE_SDDP_NONE, which every call
 * accepts and ignores. cobre_sddp_finish reports all mistakes. A NULL builder is accepted and ignored, too.
 *
 * Costs, constants and value bounds are in the problem's own sense. Names are copied and must be unique among their kind
 * (states; nodes; columns, rows and random variables of one node); NULL makes one up. Bounds may be infinite. */
#define COBRE_SDDP_ROOT (SIZE_MAX - 1) /* as the `from` of an edge */

/* Makes a builder without states and nodes, and frees one that was not finished. */
COBRE_API cobre_status cobre_sddp_builder_new(const char *name, bool maximise, cobre_sddp_builder **builder);
COBRE_API void cobre_sddp_builder_free(cobre_sddp_builder **builder); /* without finish; sets NULL; accepts NULL */

/* Add states, nodes, columns, rows and entries. Each returns the index of what it added: from 0, in the order added; COBRE_SDDP_NONE after a mistake. stage: for reports; 0: the distance from the root. */
COBRE_API size_t cobre_sddp_add_state(cobre_sddp_builder *builder, const char *name, double initial);
COBRE_API size_t cobre_sddp_add_node(cobre_sddp_builder *builder, const char *name, size_t stage);
COBRE_API size_t cobre_sddp_add_column(cobre_sddp_builder *builder, size_t node, const char *name, double lower,
                                       double upper, double cost);
COBRE_API size_t cobre_sddp_add_row(cobre_sddp_builder *builder, size_t node, const char *name, double lower,
                                    double upper);
COBRE_API void cobre_sddp_add_entry(cobre_sddp_builder *builder, size_t node, size_t row, size_t column,
                                    double value); /* entries of one place add up */
COBRE_API void cobre_sddp_add_constant(cobre_sddp_builder *builder, size_t node, double cost); /* of the objective */
COBRE_API void cobre_sddp_set_state(cobre_sddp_builder *builder, size_t node, size_t state, size_t column_in,
                                    size_t column_out);

/* Noise. The random variables of a node are seen before its decision and are independent from node to node. They have
 * finitely many outcomes and enter linearly. Each cobre_sddp_add_noise is a term: the number that it is about has the
 * value that it was added with (an entry that was not added: 0) plus the sum of factor * random variable over its terms.
 * All random variables of a node come before its first outcome and its first step of a scenario. */
typedef enum {
    COBRE_SDDP_NOISE_ROW, /* both finite sides of row `index`: its right-hand side */
    COBRE_SDDP_NOISE_ROW_LOWER,
    COBRE_SDDP_NOISE_ROW_UPPER,
    COBRE_SDDP_NOISE_COLUMN_LOWER, /* of column `index` */
    COBRE_SDDP_NOISE_COLUMN_UPPER,
    COBRE_SDDP_NOISE_COST,     /* of column `index` */
    COBRE_SDDP_NOISE_CONSTANT, /* of the objective; index is not used */
    COBRE_SDDP_NOISE_ENTRY     /* of row `index` in column `column`; no other target uses `column` */
} cobre_sddp_noise_target;

/* Adds a random variable to a node, and a term of it. Returns the index of the variable; COBRE_SDDP_NONE after a mistake. */
COBRE_API size_t cobre_sddp_add_random(cobre_sddp_builder *builder, size_t node, const char *name);
COBRE_API void cobre_sddp_add_noise(cobre_sddp_builder *builder, size_t node, size_t random, double factor,
                                    cobre_sddp_noise_target target, size_t index, size_t column);

/* Adds an outcome of the random variables of a node. values: one for each of them. A node without random variables needs no outcome. One of probability 0
 * is left out: the others are numbered without it. */
COBRE_API void cobre_sddp_add_outcome(cobre_sddp_builder *builder, size_t node, double probability,
                                      const double *values);

/* Give a node a noise model instead of a table of outcomes: finish draws `openings` equally likely outcomes. With independent normal z[j] random variable i
 * is deviation[i] * sum over j <= i of factor[i][j] * z[j], or, lognormal, the exponential of that. A factor is a square
 * matrix by rows, of which only the lower triangle is used; nodes can share it. cobre_sddp_add_factor returns its index,
 * COBRE_SDDP_NONE after a mistake. The seed is 0 unless set. */
COBRE_API size_t cobre_sddp_add_factor(cobre_sddp_builder *builder, size_t order, const double *values);
COBRE_API void cobre_sddp_set_model(cobre_sddp_builder *builder, size_t node, size_t openings, bool lognormal,
                                    const double *deviation, size_t factor);
COBRE_API void cobre_sddp_set_opening_seed(cobre_sddp_builder *builder, uint64_t seed);

/* Adds an edge from a node, or COBRE_SDDP_ROOT, to a node. What the probabilities of a node's edges lack of 1 ends the process.
 * discount, above 0 and at most 1: what a cost at `to` is worth at `from`. */
COBRE_API void cobre_sddp_add_edge(cobre_sddp_builder *builder, size_t from, size_t to, double probability,
                                   double discount);

/* How a node sees its future cost: beta * mean + (1 - beta) * mean of the worst alpha share; without it: the mean. And a
 * bound of it, from below, or from above in a problem that maximises; without it a training finds one. */
COBRE_API void cobre_sddp_set_risk(cobre_sddp_builder *builder, size_t node, double beta, double alpha);
COBRE_API void cobre_sddp_set_value_bound(cobre_sddp_builder *builder, size_t node, double bound);

/* What comes after a node without successors, which else costs nothing: at least intercept + sum of slope * outgoing state,
 * of all cuts of the node the most; slopes: one for each state. In a problem that maximises: at most, and the least. It becomes
 * a part of the node's own cost: a column "terminal" with cost 1, and rows "terminal[1]", ..., which count from where
 * columns and rows of the node end. Cuts that others make superfluous become no rows. */
COBRE_API void cobre_sddp_add_terminal_cut(cobre_sddp_builder *builder, size_t node, double intercept,
                                           const double *slopes);

/* Adds terminal cuts from a file: all cuts of one node, called `of`, from a policy file or from a table as `cobre policy --export csv` writes it
 * (*.csv): those of the future cost of that node. NULL: the file has cuts of one node only. States are found by name;
 * docs/case-format.md says more. */
COBRE_API void cobre_sddp_add_terminal(cobre_sddp_builder *builder, size_t node, const char *path, const char *of);

/* A trajectory to simulate (COBRE_SDDP_GIVEN), and its steps. values as of an outcome of the node. It may begin at any
 * node: a simulation from there on takes it, or a part of it. cobre_sddp_add_scenario returns its index, COBRE_SDDP_NONE
 * after a mistake. */
COBRE_API size_t cobre_sddp_add_scenario(cobre_sddp_builder *builder);
COBRE_API void cobre_sddp_add_step(cobre_sddp_builder *builder, size_t scenario, size_t node, const double *values);

/* What the numbers mean to people. All of this is for tables, reports and answers, and changes no result. Labels that the
 * library returns have no NULL texts; in labels that you pass NULL means "". Texts must have no commas, quotes or ends of
 * lines. */
typedef enum { COBRE_SDDP_STATE, COBRE_SDDP_COLUMN, COBRE_SDDP_ROW, COBRE_SDDP_RANDOM } cobre_sddp_part;

typedef struct {
    size_t struct_size;
    const char *kind;      /* "generation"; of a row: what its dual means, "marginal_cost" */
    const char *element;   /* "coal" */
    const char *block;     /* load block, one of cobre_sddp_problem_block_name; "": of the whole stage */
    const char *unit;      /* "MW" */
    const char *type;      /* what the element is: "thermal" */
    const char *subsystem; /* that it belongs to */
    double factor;         /* the number in this unit is factor times that of the problem; 0 is 1 */
    double energy; /* what one unit of it is worth as energy in the subsystem: stored water; 0: it is no store */
    bool detail;   /* of interest to few: not in the statistics of a simulation */
} cobre_sddp_label;

/* Says what the numbers of a name mean: of all states, columns, rows or random variables of that name, whatever their node. */
COBRE_API void cobre_sddp_add_label(cobre_sddp_builder *builder, cobre_sddp_part part, const char *name,
                                    const cobre_sddp_label *label);
COBRE_API size_t cobre_sddp_add_block(cobre_sddp_builder *builder,
                                      const char *name); /* its index; COBRE_SDDP_NONE after a mistake */
COBRE_API void cobre_sddp_set_units(cobre_sddp_builder *builder, const char *time, const char *cost);
COBRE_API void cobre_sddp_set_date(cobre_sddp_builder *builder, size_t node, const char *date); /* "2027-03-01" */

/* In the unit of time, and the shares of it that the load blocks have: one for each block added before. */
COBRE_API void cobre_sddp_set_duration(cobre_sddp_builder *builder, size_t node, double duration, const double *shares);

/* Makes the problem, as cobre_sddp_load does. Collective, blocks. Rank 0's builder counts; other ranks may pass NULL, or a
 * pointer to NULL. Frees the builder and sets *builder to NULL, on success and on failure. Mistakes are passed to `issue`
 * of the options on rank 0 and fail with COBRE_INVALID_CASE. The other options are not used. */
COBRE_API cobre_status cobre_sddp_finish(cobre_comm *comm, cobre_sddp_builder **builder,
                                         const cobre_sddp_load_options *options, cobre_sddp_problem **problem);

/* What a problem consists of. Names belong to the problem. */
COBRE_API const char *cobre_sddp_problem_name(const cobre_sddp_problem *problem);
COBRE_API const char *cobre_sddp_problem_contents(const cobre_sddp_problem *problem); /* "4 hydros, ..."; may be "" */
COBRE_API bool cobre_sddp_problem_maximises(const cobre_sddp_problem *problem);
COBRE_API size_t cobre_sddp_problem_states(const cobre_sddp_problem *problem);
COBRE_API const char *cobre_sddp_problem_state_name(const cobre_sddp_problem *problem, size_t state);
COBRE_API double cobre_sddp_problem_state_initial(const cobre_sddp_problem *problem, size_t state);
COBRE_API size_t cobre_sddp_problem_nodes(const cobre_sddp_problem *problem);
COBRE_API const char *cobre_sddp_problem_node_name(const cobre_sddp_problem *problem, size_t node);
COBRE_API size_t cobre_sddp_problem_node_stage(const cobre_sddp_problem *problem,
                                               size_t node); /* from 1; for reports */

/* What may be given as the state that comes into a node: the bounds of its incoming column, which count only here. Of a
 * reservoir they are the least and the most storage over all stages. */
COBRE_API void cobre_sddp_problem_state_limits(const cobre_sddp_problem *problem, size_t node, size_t state,
                                               double *lower, double *upper);
COBRE_API size_t cobre_sddp_problem_columns(const cobre_sddp_problem *problem, size_t node);
COBRE_API const char *cobre_sddp_problem_column_name(const cobre_sddp_problem *problem, size_t node, size_t column);

/* What a column can be at most, in any outcome and whatever state comes in: its bounds, or what follows from the rows where it
 * has none. Infinite where nothing follows. */
COBRE_API void cobre_sddp_problem_column_range(const cobre_sddp_problem *problem, size_t node, size_t column,
                                               double *lower, double *upper);
COBRE_API size_t cobre_sddp_problem_rows(const cobre_sddp_problem *problem, size_t node);
COBRE_API const char *cobre_sddp_problem_row_name(const cobre_sddp_problem *problem, size_t node, size_t row);
COBRE_API size_t cobre_sddp_problem_randoms(const cobre_sddp_problem *problem, size_t node);
COBRE_API const char *cobre_sddp_problem_random_name(const cobre_sddp_problem *problem, size_t node, size_t random);
COBRE_API size_t cobre_sddp_problem_outcomes(const cobre_sddp_problem *problem, size_t node);
COBRE_API bool cobre_sddp_problem_has_noise_model(const cobre_sddp_problem *problem); /* of any node */
COBRE_API bool cobre_sddp_problem_averse(const cobre_sddp_problem *problem); /* it has a risk measure of its own */

/* What its numbers mean, as above. The label of a name that has none is made of the name: of "kind[element]" in brackets.
 * Its texts last as long as the problem; those of a made one until the next call of this thread. */
COBRE_API cobre_status cobre_sddp_problem_label(const cobre_sddp_problem *problem, cobre_sddp_part part,
                                                const char *name, cobre_sddp_label *label);
COBRE_API size_t cobre_sddp_problem_blocks(const cobre_sddp_problem *problem);
COBRE_API const char *cobre_sddp_problem_block_name(const cobre_sddp_problem *problem, size_t block);
COBRE_API double cobre_sddp_problem_block_share(const cobre_sddp_problem *problem, size_t node, size_t block);
COBRE_API const char *cobre_sddp_problem_node_date(const cobre_sddp_problem *problem, size_t node); /* "": not known */
COBRE_API double cobre_sddp_problem_node_duration(const cobre_sddp_problem *problem, size_t node);  /* 0: not known */
COBRE_API const char *cobre_sddp_problem_time_unit(const cobre_sddp_problem *problem);              /* of durations */
COBRE_API const char *cobre_sddp_problem_cost_unit(const cobre_sddp_problem *problem); /* of costs and bounds */

/* The node under way at a date, "2027-03" or "2027-03-15"; COBRE_SDDP_NONE: none is, no dates are known, or it is no
 * date. */
COBRE_API size_t cobre_sddp_problem_node_at(const cobre_sddp_problem *problem, const char *date);

/* The mean of a node's outcomes, with their probabilities. noise: room for cobre_sddp_problem_randoms values. */
COBRE_API cobre_status cobre_sddp_problem_mean_noise(const cobre_sddp_problem *problem, size_t node, double *noise);

/* States and noise as people write them. text: "Furnas=40%,Serra Alta=2300", or the name of a CSV file, which ends in
 * ".csv". A name may be in quotes, in which "" is a quote: "\"a, b\"=3". In the array only what it names changes; after a
 * failure nothing does. Not collective.
 *
 * States that come into `node`: a name is that of a state, or X for storage[X]. A number is in the unit of the case; n % is
 * lower + n / 100 * (upper - lower) of the state's limits there. Columns of a file: state and value, or hydro and storage.
 *
 * Noise of `node`: a name is that of a random variable, or X for inflow[X] and noise[X]. A number is its value, n % is that
 * share of its mean. Where a model makes an inflow of noise and of inflows before, both are about the inflow, X or inflow[X]: the
 * noise that makes it is found, from the state that comes in (NULL: the initial one). A number for noise[X] is the noise. Columns of a file: random and value, or
 * inflow and value, or hydro and inflow. */
COBRE_API cobre_status cobre_sddp_state_from_text(const cobre_sddp_problem *problem, size_t node, const char *text,
                                                  double *state);
COBRE_API cobre_status cobre_sddp_noise_from_text(const cobre_sddp_problem *problem, size_t node, const double *state,
                                                  const char *text, double *noise);

/* Writes a StochOptFormat 1.0 file that cobre_sddp_load makes the same problem of: beside `path` first, then it is renamed.
 * Not collective. What the format cannot say: a risk measure, a discount of an edge from the root, and scenarios of inflows
 * that a model makes are refused with COBRE_INVALID_ARGUMENT. Other discounts become part of the probabilities, which keeps
 * the optimum, but trajectories may end earlier; noise in the bound of a column becomes a row; a noise model becomes the
 * outcomes drawn from it; value bounds and stages are left out. */
COBRE_API cobre_status cobre_sddp_problem_write(const cobre_sddp_problem *problem, const char *path);

/* An LP solver: a plugin, libcobre-lp-NAME.so, that was found. cobre(7) says where they are looked for. */
typedef struct {
    size_t struct_size;      /* sizeof(cobre_sddp_solver); 0 is that of version 1 */
    const char *name, *file; /* all texts last as long as the process */
    const char *version;     /* of the solver's library; NULL if it cannot be used */
    const char *license;     /* of the plugin as a whole, an SPDX expression; NULL if it cannot be used */
    const char *problem;     /* why it cannot be used; NULL if it can */
} cobre_sddp_solver;

/* The number of solvers that were found, and one of them, from 0, in the order of names. */
COBRE_API size_t cobre_sddp_solvers(void);
COBRE_API cobre_status cobre_sddp_solver_at(size_t index, cobre_sddp_solver *solver);

/* Why training ended. A rule that was not set never fires. */
#define COBRE_SDDP_STOP_MAP(X)                                                                                         \
    X(NOT_YET, "not yet")                                                                                              \
    X(ITERATIONS, "iteration limit")                                                                                   \
    X(TIME, "time limit")                                                                                              \
    X(STALLED, "bound stalled")                                                                                        \
    X(GAP, "statistical gap")                                                                                          \
    X(SIMULATION, "simulation")                                                                                        \
    X(ALL_RULES, "all rules")                                                                                          \
    X(ASKED, "asked to stop")

typedef enum {
#define COBRE_SDDP_STOP_ENUM(code, name) COBRE_SDDP_STOP_##code,
    COBRE_SDDP_STOP_MAP(COBRE_SDDP_STOP_ENUM)
#undef COBRE_SDDP_STOP_ENUM
} cobre_sddp_stop;

COBRE_API const char *cobre_sddp_stop_name(cobre_sddp_stop stop); /* "iteration limit"; "?" if unknown */

/* What a rank has done and what it holds: X(code, name, unit). A pause counts nowhere. */
#define COBRE_SDDP_EFFORT_MAP(X)                                                                                       \
    X(FORWARD, "forward", "s") /* passes; by the wall clock, as all up to OTHER */                                     \
    X(BACKWARD, "backward", "s")                                                                                       \
    X(BOUND, "bound", "s")                                                                                             \
    X(COMMUNICATION, "communication", "s") /* data on its way, when all ranks have come */                             \
    X(WAITING, "waiting", "s")             /* for ranks that have not come yet */                                      \
    X(SIMULATION, "simulation", "s")       /* of the rule; in an iteration: after the one before */                    \
    X(OTHER, "other", "s")                 /* checkpoints, callbacks */                                                \
    X(CPU, "cpu", "s")                     /* CPU time of the process */                                               \
    X(SOLVES, "solves", "LP")                                                                                          \
    X(MEMORY, "memory", "byte") /* in main memory, now */                                                              \
    X(SHARED, "shared", "byte") /* those of them that are in shared memory */

typedef enum {
#define COBRE_SDDP_EFFORT_ENUM(code, name, unit) COBRE_SDDP_EFFORT_##code,
    COBRE_SDDP_EFFORT_MAP(COBRE_SDDP_EFFORT_ENUM)
#undef COBRE_SDDP_EFFORT_ENUM
        COBRE_SDDP_EFFORTS
} cobre_sddp_effort;

#define COBRE_SDDP_EFFORT_ROOM 16 /* in results: for those that may come */

COBRE_API const char *cobre_sddp_effort_name(cobre_sddp_effort effort); /* "forward"; "?" if unknown */
COBRE_API const char *cobre_sddp_effort_unit(cobre_sddp_effort effort); /* "s"; "?" if unknown */

/* The collectives that carry data while it trains: X(code, name). */
#define COBRE_SDDP_OPERATION_MAP(X)                                                                                    \
    X(ALLGATHERV, "allgatherv") /* of cuts, with taking them into the policy; and of efforts */                        \
    X(ALLREDUCE, "allreduce")                                                                                          \
    X(BROADCAST, "broadcast")

typedef enum {
#define COBRE_SDDP_OPERATION_ENUM(code, name) COBRE_SDDP_OPERATION_##code,
    COBRE_SDDP_OPERATION_MAP(COBRE_SDDP_OPERATION_ENUM)
#undef COBRE_SDDP_OPERATION_ENUM
        COBRE_SDDP_OPERATIONS
} cobre_sddp_operation;

COBRE_API const char *cobre_sddp_operation_name(cobre_sddp_operation operation); /* "allgatherv"; "?" if unknown */

typedef struct {
    uint64_t calls, bytes; /* bytes: of what a rank has afterwards */
    double seconds;        /* the mean over the ranks */
} cobre_sddp_traffic;

/* One iteration, as seen by every rank alike (but for times). Arrays last for the call. */
typedef struct {
    size_t struct_size;
    uint64_t iteration;     /* from 1 */
    double bound;           /* deterministic */
    double mean, deviation; /* of the cost of this iteration's forward passes */
    double window_mean;     /* the same over the last `window` passes, and half the 95 % interval of that mean */
    double window_half;
    uint64_t window_passes; /* how many there are in the window */
    uint64_t cuts;          /* in the pool */
    uint64_t solves;        /* LPs so far, of all ranks */
    double seconds;         /* since training started, this rank's clock */

    size_t ranks;                      /* effort[e * ranks + r]: of rank r in this iteration; e: a cobre_sddp_effort */
    const double *effort;              /* NULL: it was not collected */
    const cobre_sddp_traffic *traffic; /* in this iteration, of each cobre_sddp_operation */

    /* On rank 0; elsewhere 0 and NULL. Of each stage that nodes have, in the order of their numbers. */
    size_t stages;
    const uint64_t *cuts_made;   /* so far */
    const uint64_t *cuts_kept;   /* of equal ones one; those that are not dropped */
    const uint64_t *cuts_active; /* that the LPs hold when the next iteration starts; the others come when violated */
} cobre_sddp_progress;

/* Which cuts a training stops looking for. LPs get only cuts that they violate, so that this saves a part of the search for
 * these, and no more. All cuts stay in the policy: simulations and decisions use them. */
typedef enum {
    COBRE_SDDP_DROP_NEVER,
    COBRE_SDDP_DROP_LEVEL_ONE,  /* cuts that are the highest at none of the states where cuts were made */
    COBRE_SDDP_DROP_LAST_ACTIVE /* cuts that were active in no LP of the last drop_after iterations */
} cobre_sddp_drop;

/* What can be changed while it trains. None of it changes the bits of an iteration. */
typedef struct {
    size_t struct_size;
    bool pause;      /* as it is. True: no rank computes from now on, and `steer` is called ten times a second */
    bool checkpoint; /* set it to true to save the policy after this iteration, in the file of the checkpoints */

    /* A copy. Its stopping rules may be changed, and count from now on; what a training would refuse is ignored. */
    struct cobre_sddp_train_options *options;
} cobre_sddp_steering;

/* Options marked * change the bits; all others only say when to end and what to tell. */
typedef struct cobre_sddp_train_options {
    size_t struct_size;
    const char *solver; /* * LP solver, "glpk" for instance; NULL: the one that is preferred for the problem's size */
    uint64_t seed;      /* * of the random numbers */
    size_t forward_passes; /* * a constant, never the number of ranks; default: 1 */
    bool multi_cut;        /* * a cut for each outcome instead of one for their weighted mean */
    bool has_risk;         /* * replaces the problem's own: beta * mean + (1 - beta) * worst alpha share */
    double risk_beta, risk_alpha;
    bool has_value_bound; /* * value_bound bounds every node's future cost; else it is found from the nodes' own LPs.
                             With multi-cuts it must also bound the cost of each outcome of a node from there on */
    double value_bound;   /* * a resumed training has the bounds of its file; another one is refused */

    uint64_t iterations;     /* rule: this many in all, including those before a resume */
    double seconds;          /* rule: time since this call */
    uint64_t stall_window;   /* rule: over this many iterations the bound moved by no more than ... */
    double stall_tolerance;  /*       ... this, relative; default: 1e-6 */
    bool gap_rule;           /* rule: the bound lies within the 95 % interval of the window's mean */
    uint64_t window;         /* forward passes in the window; default: 100 */
    uint64_t simulate_every; /* rule: simulate every this many iterations; the bound lies in the interval */
    size_t simulate_passes;  /*       with this many passes; default: 500 */
    bool stop_when_all;      /* all the rules that are set must hold; default: any. Without rules: 100 iterations */

    const char *checkpoint;    /* file to write, atomically, by rank 0, once an iteration is complete ... */
    uint64_t checkpoint_every; /* ... after so many iterations, and (checkpoint_seconds, below) so much time. Both 0:
                                  only at the end, and of the complete iterations when training fails */
    const char *resume;        /* policy file to go on from, with its solvers, to the same bits as without the break */
    const char *warm_start;    /* policy file whose cuts to start with; only initial states may differ */
    const char *lp_folder;     /* where to write the .lp of a failure; NULL: the current one */

    void *arg;
    /* Asked before each LP and after each iteration, on every rank. 0: go on. 1, on any rank: training ends on all of them
     * after the iteration; a simulation that follows it is left out. 2, on any rank: it ends on all of them as soon as each
     * has come to the end of its LP, or, if it was not asked itself, of its share of the step; the iteration under way is
     * left out, and the policy is that of the last complete one. */
    int (*stop)(void *arg);
    /* Once, on every rank, when policies have been read and nothing was refused. iterations: those of a training that is resumed. */
    void (*start)(void *arg, uint64_t iterations);
    void (*progress)(void *arg, const cobre_sddp_progress *progress); /* once per iteration, on every rank */

    double checkpoint_seconds; /* since the last checkpoint, by rank 0's clock; looked at after each iteration */
    /* On rank 0, after each checkpoint but the last. One that cannot be written (then cobre_last_error says why) does not
     * end training: the next one is tried again. */
    void (*saved)(void *arg, cobre_status status);
    /* On rank 0, after each iteration, before `progress`; and while it is paused. A pause ends also when it is asked to stop, or out of
     * time. */
    void (*steer)(void *arg, cobre_sddp_steering *steering);
    bool accept_other_case;    /* * warm_start may be of a case with other data; then no bound is proven */
    cobre_sddp_drop drop_cuts; /* * */
    uint64_t drop_after;       /* * default: 50 */
    const char *rescue; /* file for the complete iterations if `checkpoint` cannot be written when training ends */
} cobre_sddp_train_options;

typedef struct {
    size_t struct_size;
    cobre_sddp_stop stop;
    uint64_t iterations;             /* done in all */
    double window_mean, window_half; /* as in cobre_sddp_progress, of the last iteration */
    uint64_t window_passes;
    uint64_t solves;   /* LPs, of all ranks */
    double seconds;    /* this took, by this rank's clock */
    uint64_t unproven; /* LPs of this training, of all ranks, from which no cut could be proven: none was made */
    bool unfinished;   /* `stop` returned 2 in the middle of an iteration, which is left out */
    double effort[COBRE_SDDP_EFFORT_ROOM]; /* of this rank in all, by cobre_sddp_effort */
} cobre_sddp_training;

/* Trains a policy. Collective, blocks. `result` may be NULL. The caller owns *policy and frees it before the problem. On failure
 * *policy is NULL; the checkpoint, if one was asked for, holds the iterations that were complete. COBRE_INVALID_CASE: a node has no bound of its future cost;
 * cobre_sddp_validate says so for every node. */
COBRE_API cobre_status cobre_sddp_train(cobre_sddp_problem *problem, const cobre_sddp_train_options *options,
                                        cobre_sddp_policy **policy, cobre_sddp_training *result);

typedef struct {
    size_t struct_size;
    const char *solver; /* these three as in cobre_sddp_train_options */
    bool has_value_bound;
    double value_bound;
    void *arg;
    void (*issue)(void *arg, const cobre_sddp_issue *issue); /* on rank 0, for every error found; may be NULL */
} cobre_sddp_validate_options;

/* Would a training start? Looks for a bound of every node's future cost, as a training does first. Collective, blocks. */
COBRE_API cobre_status cobre_sddp_validate(cobre_sddp_problem *problem, const cobre_sddp_validate_options *options);

/* Save and load a policy. The file is also the checkpoint: names, cuts, where each LP starts from, the trace of bounds. It holds no time,
 * host, backend or rank count. Saving: rank 0 writes beside `path` and renames, but straight to a descriptor,
 * "/proc/self/fd/7", which may be one of memory; collective. Loading: rank 0 reads; collective. The file must belong to a problem with the same states and nodes; cobre_sddp_policy_difference says what
 * else differs. */
COBRE_API cobre_status cobre_sddp_policy_save(cobre_sddp_policy *policy, const char *path);
COBRE_API cobre_status cobre_sddp_policy_load(cobre_sddp_problem *problem, const char *path,
                                              cobre_sddp_policy **policy);

/* Reads a policy file without its problem, in this process only: not collective. All below can be asked of it; it cannot
 * be simulated or saved. */
COBRE_API cobre_status cobre_sddp_policy_read(const char *path, cobre_sddp_policy **policy);

/* Frees a policy. Sets NULL; accepts NULL. Collective, except for a policy that was read. */
COBRE_API void cobre_sddp_policy_free(cobre_sddp_policy **policy);

/* What a policy holds. Names belong to the policy. */
COBRE_API const char *cobre_sddp_policy_name(const cobre_sddp_policy *policy); /* of its problem */
COBRE_API bool cobre_sddp_policy_maximises(const cobre_sddp_policy *policy);
COBRE_API size_t cobre_sddp_policy_states(const cobre_sddp_policy *policy);
COBRE_API const char *cobre_sddp_policy_state_name(const cobre_sddp_policy *policy, size_t state);
COBRE_API size_t cobre_sddp_policy_nodes(const cobre_sddp_policy *policy);
COBRE_API const char *cobre_sddp_policy_node_name(const cobre_sddp_policy *policy, size_t node);
COBRE_API size_t cobre_sddp_policy_node_stage(const cobre_sddp_policy *policy, size_t node); /* from 1 */
COBRE_API uint64_t cobre_sddp_policy_iterations(const cobre_sddp_policy *policy);
/* Of the last iteration. NaN before the first one, and if there is a difference, below. */
COBRE_API double cobre_sddp_policy_bound(const cobre_sddp_policy *policy);

/* False after a warm start with the cuts of another case: then the bound may lie beyond the optimum. */
COBRE_API bool cobre_sddp_policy_proven(const cobre_sddp_policy *policy);

/* What differs between the problem that a policy was loaded for and the one that it was trained for: "the initial state of
 * x is 1 here and was 2 there". NULL if nothing does. Such a policy can be simulated; the bound of its training is not one of
 * this problem. Where a hydrothermal case begins in another season, its cuts have moved with the seasons. */
COBRE_API const char *cobre_sddp_policy_difference(const cobre_sddp_policy *policy);

/* The LP solvers that it was trained with; the one to fall back to is "" if there was none. */
COBRE_API const char *cobre_sddp_policy_solver(const cobre_sddp_policy *policy);
COBRE_API const char *cobre_sddp_policy_solver_version(const cobre_sddp_policy *policy);
COBRE_API const char *cobre_sddp_policy_fallback(const cobre_sddp_policy *policy);
COBRE_API const char *cobre_sddp_policy_fallback_version(const cobre_sddp_policy *policy);
COBRE_API uint64_t cobre_sddp_policy_seed(const cobre_sddp_policy *policy);

/* Was it trained with a risk measure? Then the mean of simulated costs is no bound, and its distance from `bound` no gap. */
COBRE_API bool cobre_sddp_policy_averse(const cobre_sddp_policy *policy);

/* A cut says: future cost of `node` (of `outcome` of `node`, for multi-cuts; else outcome is COBRE_SDDP_NONE) >= intercept
 * + sum of slope * state, over all states; <= for a problem that maximises. */
typedef struct {
    size_t struct_size;
    size_t node, outcome;
    uint64_t iteration; /* that made it; 0: warm start */
    double intercept;
} cobre_sddp_cut;

/* The number of cuts. */
COBRE_API uint64_t cobre_sddp_policy_cuts(const cobre_sddp_policy *policy);

/* Gives a cut by its index, from 0. slopes: room for cobre_sddp_policy_states values; may be NULL. */
COBRE_API cobre_status cobre_sddp_policy_cut(const cobre_sddp_policy *policy, uint64_t index, cobre_sddp_cut *cut,
                                             double *slopes);

/* One stage of one simulated trajectory. Arrays belong to the library and last for the call. */
typedef struct {
    size_t struct_size;
    size_t trajectory, step;            /* from 0 */
    size_t node, outcome;               /* outcome: COBRE_SDDP_NONE if the noise is not one of the node's outcomes */
    double stage_cost;                  /* without future cost, not discounted */
    double future_cost;                 /* the policy's estimate */
    double discount;                    /* what a cost of this stage is worth at the start */
    const double *noise;                /* cobre_sddp_problem_randoms of them */
    const double *state_in, *state_out; /* cobre_sddp_problem_states */
    const double *columns;              /* values, cobre_sddp_problem_columns */
    const double *row_duals; /* cobre_sddp_problem_rows: change of cost for one more unit of the right-hand side */
} cobre_sddp_stage;

typedef enum {
    COBRE_SDDP_IN_SAMPLE,     /* sampled from the outcomes of the nodes */
    COBRE_SDDP_OUT_OF_SAMPLE, /* sampled from the noise model of nodes that have one, else in-sample */
    COBRE_SDDP_GIVEN          /* the scenarios of the case, or of the table it was loaded with, each once: from the
                                 node on where trajectories begin, which each of them must have */
} cobre_sddp_sampling;

typedef struct {
    size_t struct_size;
    cobre_sddp_sampling sampling;
    size_t trajectories; /* 1000; less than 2^32; not for COBRE_SDDP_GIVEN */
    uint64_t seed;
    size_t max_steps;   /* a trajectory on a cyclic graph ends here at the latest; 0: when it ends by itself */
    const char *solver; /* NULL: those that it was trained with, of the same versions */
    const char *lp_folder;
    void *arg;
    int (*stop)(void *arg); /* asked between trajectories */
    /* Called on the rank that computed the trajectory, at once, in the order of its trajectories and their steps: every
     * stage of every trajectory exactly once over all ranks. May be NULL. */
    void (*stage)(void *arg, const cobre_sddp_stage *stage);

    bool has_node; /* trajectories begin at `node`, where costs have their full worth; else where the root leads */
    size_t node;
    const double *state; /* that comes in there, within the limits of each; NULL: the initial one */

    /* A folder that exists, into which rank 0 writes costs.csv and statistics.csv, and the tables below: all files, or none
     * after a failure; cobre-simulate(1) describes them. They do not depend on the number of ranks. NULL: none. */
    const char *folder;
    const char *tables; /* "stages,states,variables,duals,noise", some of these, "all" or "none"; NULL: none, or all of
                           netcdf */
    bool netcdf;        /* all of them as one file, simulation.nc, instead of CSV */
} cobre_sddp_simulate_options;

typedef struct {
    size_t struct_size;
    size_t trajectories;
    double mean, deviation, half; /* of the discounted cost; half the 95 % interval of the mean */
    double minimum, maximum;
    uint64_t solves; /* LPs of this rank */
    double seconds;  /* this took, by this rank's clock */
} cobre_sddp_simulation;

/* Simulates the policy; trajectories are spread over the ranks. Collective, blocks. `result` may be NULL. */
COBRE_API cobre_status cobre_sddp_simulate(cobre_sddp_policy *policy, const cobre_sddp_simulate_options *options,
                                           cobre_sddp_simulation *result);

typedef struct {
    size_t struct_size;
    size_t node;
    const double *state; /* that comes in, as in cobre_sddp_simulate_options; NULL: the initial one */
    const double *noise; /* cobre_sddp_problem_randoms of them; NULL: the mean of the node's outcomes */
    const char *solver;  /* these two as in cobre_sddp_simulate_options */
    const char *lp_folder;
    void *arg;
    void (*stage)(void *arg, const cobre_sddp_stage *stage); /* what is decided; trajectory, step: 0; discount: 1 */
} cobre_sddp_decide_options;

/* What the policy decides at one node: one stage of a simulation. Not collective: each rank may call it, by itself and with
 * its own arguments. A solver that this rank lacks is an error here, on this rank alone. */
COBRE_API cobre_status cobre_sddp_decide(cobre_sddp_policy *policy, const cobre_sddp_decide_options *options);

/* What a stage of a simulation, or a decision, means: its numbers under their labels, and what is made of them. Texts last
 * for the call of the callback. */
typedef struct {
    size_t struct_size;
    const char *kind, *element, *block, *unit, *type, *subsystem; /* as in cobre_sddp_label */
    /* "element": over the load blocks the mean, weighted by their shares; "block": in one of them; "before": a state that
     * comes in; "subsystem" and "system": sums over the elements, useful storage as energy; "component": the part of the
     * cost that is due to the kind `element` */
    const char *level;
    double value;
} cobre_sddp_figure;

/* Calls `figure` for each figure of a stage. Not collective. It looks at the labels of the whole problem each time: for single stages. */
COBRE_API cobre_status cobre_sddp_figures(const cobre_sddp_problem *problem, const cobre_sddp_stage *stage, void *arg,
                                          void (*figure)(void *arg, const cobre_sddp_figure *figure));

/* Comparing runs: what their folders hold, side by side, how each differs from the first one, and whether that can be chance.
 * Not collective. All texts belong to the comparison; none is NULL. */
typedef struct cobre_sddp_comparison cobre_sddp_comparison;

typedef enum {
    COBRE_SDDP_BY_SUBSYSTEM, /* means over the stages, of subsystems and the system */
    COBRE_SDDP_BY_ELEMENT,   /* also of each element */
    COBRE_SDDP_BY_STAGE      /* each stage, of subsystems and the system; of elements, for kinds that have no sums */
} cobre_sddp_detail;

typedef struct {
    size_t struct_size;
    cobre_sddp_detail by;
    const char *kind; /* only this one, such as "marginal_cost", at all levels; NULL: all kinds */
} cobre_sddp_compare_options;

/* Compares runs. paths: run folders, of `cobre train` or `cobre simulate`, or policy files; 2 to 8. Files of a folder that do not belong
 * together are COBRE_FILE_FAILED. The caller frees *comparison. */
COBRE_API cobre_status cobre_sddp_compare(const char *const *paths, size_t count,
                                          const cobre_sddp_compare_options *options,
                                          cobre_sddp_comparison **comparison);
COBRE_API void cobre_sddp_comparison_free(cobre_sddp_comparison **comparison); /* sets NULL; accepts NULL */

typedef struct {
    size_t struct_size;
    const char *path;
    const char *name;     /* that of the folder, made unique */
    const char *words;    /* how it compares with the first run; "" of the first */
    const char *sampling; /* "in-sample"; "": it was not simulated */
    uint64_t trajectories, seed;
    bool averse; /* trained with a risk measure */
} cobre_sddp_compared_run;

/* The number of runs, and what is known of one of them, from 0. */
COBRE_API size_t cobre_sddp_comparison_runs(const cobre_sddp_comparison *comparison);
COBRE_API cobre_status cobre_sddp_comparison_run(const cobre_sddp_comparison *comparison, size_t run,
                                                 cobre_sddp_compared_run *result);

/* Sentences about what cannot be compared, or not as it seems, and what to do about it. NULL after the last one. */
COBRE_API const char *cobre_sddp_comparison_note(const cobre_sddp_comparison *comparison, size_t note);

/* A figure: as in statistics.csv, or "cost_cvar5" (mean of the worst 5 % of the costs), "deficit_probability", "gap",
 * "bound", "iterations", "cuts". */
typedef struct {
    size_t struct_size;
    const char
        *over; /* "training"; "horizon": of whole trajectories; "stages": the mean over them; "stage": this one */
    const char *kind, *level, *element;
    const char *unit;   /* "": none; a share is a part of 1 */
    const char *date;   /* of a stage; "": not known */
    size_t step, stage; /* 0: not of one stage */
} cobre_sddp_compared;

/* The number of figures, and one of them, from 0. */
COBRE_API size_t cobre_sddp_comparison_rows(const cobre_sddp_comparison *comparison);
COBRE_API cobre_status cobre_sddp_comparison_row(const cobre_sddp_comparison *comparison, size_t row,
                                                 cobre_sddp_compared *result);

/* A figure in one run, and how it differs from the first one. NaN: not known, or there is none. */
typedef struct {
    size_t struct_size;
    double value;            /* the mean over the trajectories; of rows over "training" the number itself */
    double deviation, count; /* of the trajectories */
    double difference;       /* from the first run */
    double error;            /* half the 95 % interval of the difference */
    bool significant;        /* the difference is larger than that */
    const char *
        method; /* of the error. "pairs": from the differences of trajectories with the same number. "independent": from
                           both deviations, too large where runs share their noise. "shares": of a probability, by Agresti
                           and Caffo. "stages": the mean of the stages' errors, an upper limit. "": there is no error */
    const char *note; /* why there is no difference, or no error; "": there is */
} cobre_sddp_difference;

/* Figure `row` in run `run`, both from 0. */
COBRE_API cobre_status cobre_sddp_comparison_difference(const cobre_sddp_comparison *comparison, size_t row, size_t run,
                                                        cobre_sddp_difference *result);

/* Writes an HTML page, in one file without scripts, of what is in `count` run folders: those of `cobre train` and `cobre
 * simulate`. One folder: what was found, in words, figures and pictures. 2 to 6 of them: side by side, with the differences
 * from the first one. Not collective: one rank calls it. COBRE_FILE_FAILED: a folder holds no run, its files do not belong
 * together, there is nothing to show, or the page cannot be written. */
COBRE_API cobre_status cobre_sddp_report(const char *const *folders, size_t count, const char *path);

#ifdef __cplusplus
}
#endif

#endif
