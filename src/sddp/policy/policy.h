/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h: what training makes: cuts, where each LP starts from, and the trace. */
#ifndef COBRE_SDDP_POLICY_POLICY_H
#define COBRE_SDDP_POLICY_POLICY_H

#include "sddp/stage/stage.h"

typedef struct {
    double bound, mean, deviation; /* internal sense */
    uint64_t cuts, solves;
} cb_trace;

/* What a policy knows about its problem. It is in the file, so that a policy can be shown without its case. */
typedef struct {
    cb_arena memory; /* of what is here, and of the policy that has these names */
    size_t states, nodes;
    bool maximise, averse;                       /* averse: trained with a risk measure */
    size_t bytes;                                /* of text: a multiple of 8 */
    char *text;                                  /* each name ended by a zero byte */
    const char **name;                           /* in `text`: of the problem, then of the states, then of the nodes */
    uint64_t *stage, *outcomes;                  /* of each node; outcomes: how many */
    uint64_t *sum;                               /* of each node: of its data */
    double *initial;                             /* of each state */
    uint64_t fingerprint, seasons, first_season; /* of the problem */
    uint64_t ranges; /* a sum of the states that its nodes may leave, for which its cuts were made */
} cb_policy_names;

/* How a policy's file and a problem go together. */
typedef struct {
    bool same;      /* that very problem */
    bool valid;     /* the cuts may serve as they are: what differs is only where the process begins */
    bool proven;    /* and are bounds here as they are there: the states that they are asked about are the same, too */
    size_t shift;   /* node n of the problem is node n + shift of the file */
    char what[400]; /* differs; empty: nothing */
} cb_match;

struct cobre_sddp_policy {
    cobre_comm *comm;
    cobre_sddp_problem *problem; /* NULL: the file was read alone */
    cobre_comm *alone;           /* then this is `comm`, and the policy's own; else NULL */
    cb_policy_names names;
    bool proven;    /* its cuts are bounds of its problem, so that its bound is one, too */
    cb_match match; /* with its file; if anything differs, the trace is not that of its problem */
    cb_lp_names
        solvers;        /* of the training; those of kind are NULL in a policy that was loaded, until they are needed */
    cb_stage_kind kind; /* points to what follows */
    char lp_folder[512];
    uint64_t seed;
    size_t passes;   /* forward, per iteration */
    uint64_t window; /* passes that cb_policy_progress looks back; not in the file */
    size_t functions;
    size_t *function;                /* of outcome 0 of each node, for multi-cuts */
    double *value_bound, *own_bound; /* of each node */
    cb_pool pool;
    cb_start *start; /* of each node */
    uint64_t iterations;
    cb_trace *trace; /* of each iteration */
    size_t trace_room;
};

/* What makes a policy what it is; all of it is in its file. */
typedef struct {
    cb_lp_names solvers;
    uint64_t seed;
    size_t passes;
    bool multi_cut, has_risk;
    cb_risk risk;
    const char *lp_folder;
} cb_policy_options;

static inline uint64_t cb_padded(uint64_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/* names.c: those of a problem; and those of a file: what is no array is set, packed is text, stage, outcomes, sum, initial.
 * INVALID_POLICY, without a message, when they make no sense. Also after a failure names->memory is to be freed. */
cobre_status cb_names_of(const cobre_sddp_problem *problem, bool averse, cb_policy_names *names);
cobre_status cb_names_unpack(cb_policy_names *names, const unsigned char *packed);

/* names.c: a sum of the ranges of states that nodes leave to others. */
uint64_t cb_range_sum(const cobre_sddp_problem *problem);

/* match.c: refuses a file whose states or nodes are others. */
cobre_status cb_policy_match(const char *path, const cb_policy_names *file, bool multi_cut,
                             const cobre_sddp_problem *problem, cb_match *match);

/* A policy without cuts, starts and bounds of its nodes. names becomes the policy's, or is freed. problem: may be NULL.
 * Collective. */
cobre_status cb_policy_new(cobre_comm *comm, cobre_sddp_problem *problem, cb_policy_names *names,
                           const cb_policy_options *options, cobre_sddp_policy **policy);

bool cb_policy_trace(cobre_sddp_policy *policy, cb_trace trace); /* appends; false: no memory */

/* One iteration of the trace as its users see it. */
cobre_sddp_progress cb_policy_progress(const cobre_sddp_policy *policy, uint64_t iteration);

/* starts.c: starts as bytes, for a file and for the other ranks. Packing: NULL without memory; zeros follow, up to a
 * multiple of 8. Unpacking: INVALID_POLICY, without a message, when they make no sense. */
unsigned char *cb_starts_pack(const cb_start *start, size_t nodes, size_t *bytes);
cobre_status cb_starts_unpack(cb_start *start, size_t nodes, const unsigned char *bytes, size_t length);

/* file.c: writes the policy as of its last complete iteration. Not collective. */
cobre_status cb_policy_write(const cobre_sddp_policy *policy, const char *path);

/* file.c, collective: rank 0 reads. The policy without LP solvers. */
cobre_status cb_policy_load(cobre_sddp_problem *problem, const char *path, const char *lp_folder,
                            cobre_sddp_policy **policy);

/* The cuts of a file, for a warm start. accept: those that may be no bounds here, too. */
cobre_status cb_policy_add_cuts(cobre_sddp_policy *policy, const char *path, bool accept);

#endif
