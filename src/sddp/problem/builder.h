/* SPDX-License-Identifier: Apache-2.0 */
/* builder.h: a problem under construction, on one rank.
 *
 * The functions do not report failure. They keep an error with its place, and the caller goes on, so that all errors of
 * a case are found at once; finish reports them. After an error a function returns the index CB_NONE, which every
 * function accepts and ignores. `at` is the reader's place in the input. If it is NULL, the error names the node and
 * the thing instead. */
#ifndef COBRE_SDDP_PROBLEM_BUILDER_H
#define COBRE_SDDP_PROBLEM_BUILDER_H

#include "sddp/arena.h"
#include "sddp/problem/problem.h"

/* A value in a JSON file: member `key` of `up`, or, with key NULL, its item `index`. NULL is the whole file. The links of
 * such a chain lie on the stack of the reader. */
typedef struct cb_json_at {
    const struct cb_json_at *up;
    const char *key;
    size_t index;
} cb_json_at;

/* A place in the input, for errors. */
typedef struct {
    const char *file;
    size_t line;            /* 0: not known; in a JSON file it is looked up */
    const char *text;       /* "column cost"; "" or NULL: nothing more is known */
    const cb_json_at *json; /* instead of text: it becomes a JSON pointer (RFC 6901), "/nodes/1" */
} cb_place;

/* The places of a member and of an item of the JSON value at `at`. They last as long as the enclosing block. */
#define CB_MEMBER(at, name) (&(cb_place){.file = (at)->file, .json = &(cb_json_at){.up = (at)->json, .key = (name)}})
#define CB_ITEM(at, number)                                                                                            \
    (&(cb_place){.file = (at)->file, .json = &(cb_json_at){.up = (at)->json, .index = (number)}})

typedef struct {
    const char *name;
    double lower, upper, cost; /* the cost as it is minimised: negated if the problem maximises */
} cb_builder_column;

typedef struct {
    const char *name;
    double lower, upper;
} cb_builder_row;

typedef struct {
    int row, column;
    double value;
} cb_entry;

/* The cost after a node is at least intercept + sum of slope * outgoing state; at most, if the problem maximises. */
typedef struct {
    double intercept;
    const double *slope; /* of each state */
} cb_builder_cut;

typedef struct {
    const char *name;
    size_t stage;
    cb_place at; /* where it was added */

    size_t columns, rows, entries, randoms, noises, outcomes, edges, cuts;
    size_t columns_room, rows_room, entries_room, randoms_room, noises_room, outcomes_room, edges_room, cuts_room;
    cb_builder_column *column;
    cb_builder_row *row;
    cb_entry *entry;              /* as added; check sorts them by column, then row, and sums duplicates */
    size_t *state_in, *state_out; /* column of each state */
    const char **random_name;
    cb_shown *shown; /* of each random variable; NULL: no column shows them */
    cb_noise *noise; /* check sorts them by family, index, column */
    double *probability;
    double *table; /* outcome k: randoms values; NULL with a model */
    cb_edge *edge;
    cb_builder_cut *cut; /* terminal cuts; check turns them into rows */
    double *deviation;   /* of a model; NULL: there is none */
    size_t factor;       /* its matrix */
    bool lognormal;
    double constant; /* of the objective */
    cb_risk risk;
    bool has_value_bound;
    double value_bound;
    bool in_scenario; /* a scenario gives values of its random variables */
    const char *date; /* these three: see problem.h */
    double duration, *share;
    size_t shares;
    size_t all_edges; /* check sets these two: edges of probability 0 come after the others */
    bool reached;     /* the process can reach it */
} cb_builder_node;

/* A trajectory given by the case: nodes and, for each, the values of its random variables. */
typedef struct {
    size_t steps, nodes_room, values_room;
    size_t *node;
    double **values;
} cb_scenario;

typedef struct {
    size_t order;
    double *value; /* order x order */
} cb_factor;

typedef struct cb_json_lines cb_json_lines; /* sddp/read/json_file.c */

/* The errors, or warnings, of one kind in one file, which are reported as one. */
typedef struct {
    const char *format, *file;
    bool warning;
    size_t count, last; /* how many are kept; the one that is shown for all */
} cb_error_kind;

struct cobre_sddp_builder {
    const char *name;
    char contents[160]; /* of a hydrothermal case */
    bool maximise;
    size_t states, nodes, root_edges, scenarios, factors, labels, blocks;
    size_t states_room, nodes_room, root_edges_room, scenarios_room, factors_room, labels_room, blocks_room;
    cb_state *state;
    cb_builder_node *node;
    cb_edge *root_edge;
    cb_scenario *scenario;
    cb_factor *factor;
    cb_label *label; /* as added; packing sorts them */
    const char **block;
    const char *time, *money; /* units: see problem.h */
    uint64_t opening_seed;
    size_t seasons, first_season;   /* of a hydrothermal case: in a cycle, and of its first stage; 0: it has none */
    size_t longest, all_root_edges; /* found by check */

    cb_arena arena;      /* names, texts of errors, and arrays that do not grow */
    cb_place whole;      /* the place of errors about the whole problem */
    cb_json_lines *json; /* of the JSON file that was read, if any: lines of the places in it */
    cobre_sddp_issue *issue, *warning;
    size_t errors, issues, issues_room, warnings, warnings_room; /* errors: also counts those that are not kept */
    cb_error_kind *kind;
    size_t kinds, kinds_room;
    bool quiet; /* errors were reported before: they are neither kept nor counted */
    bool no_memory;
};

/* Zeroed memory that lives as long as the builder. NULL: no memory, which the builder notes. */
void *cb_builder_alloc(cobre_sddp_builder *builder, size_t count, size_t size);

/* A copy of a text, with the same lifetime. */
const char *cb_builder_keep(cobre_sddp_builder *builder, const char *text);

void cb_builder_rename(cobre_sddp_builder *builder, const char *name);
void cb_builder_place(cobre_sddp_builder *builder,
                      const cb_place *at); /* the place of errors about the whole; copied */

/* An error that a reader has found. advice tells the user how to mend it; NULL: none. */
void cb_error_at(cobre_sddp_builder *builder, const cb_place *at, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a mistake that is probably in the whole file: the first one is kept, the others are counted. */
void cb_error_once(cobre_sddp_builder *builder, const cb_place *at, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A warning: not an error, but probably a surprise. Warnings are reported only if there is no error. */
void cb_warn_at(cobre_sddp_builder *builder, const cb_place *at, const char *advice, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Like the functions of sddp.h, with a place. */
size_t cb_add_state(cobre_sddp_builder *builder, const cb_place *at, const char *name, double initial);
size_t cb_add_node(cobre_sddp_builder *builder, const cb_place *at, const char *name, size_t stage);
size_t cb_add_column(cobre_sddp_builder *builder, const cb_place *at, size_t node, const char *name, double lower,
                     double upper, double cost);
size_t cb_add_row(cobre_sddp_builder *builder, const cb_place *at, size_t node, const char *name, double lower,
                  double upper);
void cb_add_entry(cobre_sddp_builder *builder, const cb_place *at, size_t node, size_t row, size_t column,
                  double value);
void cb_add_cost(cobre_sddp_builder *builder, const cb_place *at, size_t node, size_t column,
                 double cost); /* adds to the cost */
void cb_narrow_column(cobre_sddp_builder *builder, const cb_place *at, size_t node, size_t column, double lower,
                      double upper);
void cb_shift_row(cobre_sddp_builder *builder, const cb_place *at, size_t node, size_t row,
                  double by); /* moves both sides that are finite */
void cb_add_constant(cobre_sddp_builder *builder, const cb_place *at, size_t node, double cost);
void cb_set_state(cobre_sddp_builder *builder, const cb_place *at, size_t node, size_t state, size_t column_in,
                  size_t column_out);
size_t cb_add_random(cobre_sddp_builder *builder, const cb_place *at, size_t node, const char *name);
void cb_show_randoms(cobre_sddp_builder *builder, size_t node, const cb_shown *shown); /* one per random variable */
void cb_add_noise(cobre_sddp_builder *builder, const cb_place *at, size_t node, cb_noise noise);
void cb_add_outcome(cobre_sddp_builder *builder, const cb_place *at, size_t node, double probability,
                    const double *values);
size_t cb_add_factor(cobre_sddp_builder *builder, const cb_place *at, size_t order, const double *values);
void cb_set_model(cobre_sddp_builder *builder, const cb_place *at, size_t node, size_t openings, bool lognormal,
                  const double *deviation, size_t factor);
void cb_add_edge(cobre_sddp_builder *builder, const cb_place *at, size_t from, size_t to, double probability,
                 double discount);
void cb_set_risk(cobre_sddp_builder *builder, const cb_place *at, size_t node, double beta, double alpha);
void cb_set_value_bound(cobre_sddp_builder *builder, const cb_place *at, size_t node, double bound);
void cb_add_terminal_cut(cobre_sddp_builder *builder, const cb_place *at, size_t node, double intercept,
                         const double *slopes);
void cb_drop_scenarios(cobre_sddp_builder *builder);
void cb_add_step(cobre_sddp_builder *builder, const cb_place *at, size_t scenario, size_t node, const double *values);

size_t cb_find_state(const cobre_sddp_builder *builder, const char *name); /* CB_NONE: there is none */
size_t cb_find_node(const cobre_sddp_builder *builder, const char *name);
size_t cb_find_random(const cobre_sddp_builder *builder, size_t node, const char *name);

/* label.c: labels are found by part and name; if several have the same, the first counts. */
void cb_sort_labels(cobre_sddp_builder *builder);

/* check.c: checks that need the whole problem; sorts its entries. */
void cb_builder_check(cobre_sddp_builder *builder);

/* terminal.c: the terminal cuts of all nodes become rows. */
void cb_terminal_build(cobre_sddp_builder *builder);

/* sddp/read/json_file.c: the JSON pointer of a place, cut off if it does not fit; and the line of a pointer in the file
 * that was read (0: not known). */
enum { CB_POINTER_ROOM = 512 };
void cb_json_pointer(const cb_json_at *at, char pointer[CB_POINTER_ROOM]);
size_t cb_json_line(cb_json_lines *lines, const char *file, const char *pointer);
void cb_json_forget(cobre_sddp_builder *builder); /* after the last report */

/* warn.c: warns about doubtful numbers in a problem without errors, which this builder has made. */
void cb_builder_warn(cobre_sddp_builder *builder, const cobre_sddp_problem *problem);

/* finish.c: reports every error, if there are any, and sets one last error that sums them up. */
cobre_status cb_builder_tell(const cobre_sddp_builder *builder, void issue(void *arg, const cobre_sddp_issue *issue),
                             void *arg);

/* Like cobre_sddp_finish, with the status of the steps before it; frees the builder. */
cobre_status cb_finish(cobre_comm *comm, cobre_status status, cobre_sddp_builder **builder,
                       const cobre_sddp_load_options *options, cobre_sddp_problem **problem);

#endif
