/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h: the result of a training: cuts, the start of each LP, and the trace. */
#ifndef COBRE_SDDP_POLICY_POLICY_H
#define COBRE_SDDP_POLICY_POLICY_H

#include "sddp/stage/stage.h"

typedef struct {
    double bound, mean, deviation; /* internal sense */
    uint64_t cuts, solves;
} cb_trace;

/* The description of its problem that a policy carries. It is in the file, so that a policy can be shown without its
 * case. */
typedef struct {
    cb_arena memory; /* of these arrays, and of the policy that has these names */
    size_t states, nodes;
    bool maximise, averse;                       /* averse: trained with a risk measure */
    size_t bytes;                                /* of text: a multiple of 8 */
    char *text;                                  /* each name ended by a zero byte */
    const char **name;                           /* in `text`: of the problem, then of the states, then of the nodes */
    uint64_t *stage, *outcomes;                  /* of each node; outcomes: how many */
    uint64_t *sum;                               /* of each node: a hash of its data */
    double *initial;                             /* of each state */
    uint64_t fingerprint, seasons, first_season; /* of the problem */
    uint64_t ranges; /* a hash of the ranges of states that nodes may leave: the cuts were made for these */
} cb_policy_names;

/* How a policy file fits a problem. */
typedef struct {
    bool same;      /* it is the very same problem */
    bool valid;     /* the cuts can be used as they are: only the beginning of the process differs */
    bool proven;    /* and they are bounds of this problem, too: the ranges of states are the same */
    size_t shift;   /* node n of the problem is node n + shift of the file */
    char what[400]; /* the differences in words; empty: there are none */
} cb_match;

struct cobre_sddp_policy {
    cobre_comm *comm;
    cobre_sddp_problem *problem; /* NULL: the file was read alone */
    cobre_comm *alone;           /* then it is `comm`, and the policy frees it; else NULL */
    cb_policy_names names;
    bool proven;    /* its cuts are bounds for its problem, so that its bound is valid */
    cb_match match; /* with its file; if anything differs, the trace belongs to another problem */
    cb_lp_names
        solvers; /* of the training; in a policy that was loaded those of `kind` are NULL until they are needed */
    cb_stage_kind kind; /* points to the arrays below */
    char lp_folder[512];
    uint64_t seed;
    size_t passes;        /* forward, per iteration */
    cobre_sddp_drop drop; /* which cuts its training drops */
    uint64_t drop_after;
    uint64_t window; /* how many forward passes cb_policy_progress looks back; not in the file */
    size_t functions;
    size_t *function;                /* of outcome 0 of each node, for multi-cuts */
    double *value_bound, *own_bound; /* of each node */
    cb_pool pool;
    cb_start *start; /* of each node */
    uint64_t iterations;
    cb_trace *trace; /* of each iteration */
    size_t trace_room;
};

/* The settings of a policy; all of them are in its file. */
typedef struct {
    cb_lp_names solvers;
    uint64_t seed;
    size_t passes;
    bool multi_cut, has_risk;
    cb_risk risk;
    cobre_sddp_drop drop;
    uint64_t drop_after;
    const char *lp_folder;
} cb_policy_options;

/* The numbers behind the slopes of a cut that a rule for dropping needs: the state where the cut was made, or the last
 * iteration in which it was active. */
static inline size_t cb_drop_numbers(cobre_sddp_drop drop, size_t states) {
    return drop == COBRE_SDDP_DROP_LEVEL_ONE ? states : drop == COBRE_SDDP_DROP_LAST_ACTIVE;
}

static inline uint64_t cb_padded(uint64_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/* names.c: the names of a problem; and those of a file. For a file the caller has set all members that are not arrays;
 * `packed` is text, stage, outcomes, sum, initial. Returns INVALID_POLICY, without a message, if they make no sense.
 * The caller frees names->memory, also after a failure. */
cobre_status cb_names_of(const cobre_sddp_problem *problem, bool averse, cb_policy_names *names);
cobre_status cb_names_unpack(cb_policy_names *names, const unsigned char *packed);

/* names.c: a hash of the ranges of states that nodes leave to others. */
uint64_t cb_range_sum(const cobre_sddp_problem *problem);

/* match.c: refuses a file that has other states or nodes. */
cobre_status cb_policy_match(const char *path, const cb_policy_names *file, bool multi_cut,
                             const cobre_sddp_problem *problem, cb_match *match);

/* A policy without cuts, starts and bounds of its nodes. It takes `names` over; after a failure they are freed. problem
 * may be NULL. Collective. */
cobre_status cb_policy_new(cobre_comm *comm, cobre_sddp_problem *problem, cb_policy_names *names,
                           const cb_policy_options *options, cobre_sddp_policy **policy);

bool cb_policy_trace(cobre_sddp_policy *policy, cb_trace trace); /* appends; false: no memory */

/* One iteration of the trace as users see it. */
cobre_sddp_progress cb_policy_progress(const cobre_sddp_policy *policy, uint64_t iteration);

/* starts.c: starts as bytes, for a file and for the other ranks. Packing returns NULL without memory, and fills up with
 * zeros to a multiple of 8. Unpacking returns INVALID_POLICY, without a message, if the bytes make no sense. */
size_t cb_start_bytes(const cb_start *start);                           /* of a packed start */
unsigned char *cb_start_pack(const cb_start *start, unsigned char *at); /* returns the end of its output */
cobre_status cb_start_unpack(cb_start *start, const unsigned char **at, size_t *left); /* advances *at */
unsigned char *cb_starts_pack(const cb_start *start, size_t nodes, size_t *bytes);
cobre_status cb_starts_unpack(cb_start *start, size_t nodes, const unsigned char *bytes, size_t length);

/* file.c: writes the policy as of its last complete iteration. Not collective. */
cobre_status cb_policy_write(const cobre_sddp_policy *policy, const char *path);

/* file.c: loads a policy, without its LP solvers. Rank 0 reads. Collective. */
cobre_status cb_policy_load(cobre_sddp_problem *problem, const char *path, const char *lp_folder,
                            cobre_sddp_policy **policy);

/* The cuts of a file, for a warm start. accept: also take cuts that may not be bounds for this problem. */
cobre_status cb_policy_add_cuts(cobre_sddp_policy *policy, const char *path, bool accept);

#endif
