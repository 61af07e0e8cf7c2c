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
    bool maximise, averse;      /* averse: trained with a risk measure */
    size_t bytes;               /* of text: a multiple of 8 */
    char *text;                 /* each name ended by a zero byte */
    const char **name;          /* in `text`: of the problem, then of the states, then of the nodes */
    uint64_t *stage, *outcomes; /* of each node; outcomes: how many */
} cb_policy_names;

struct cobre_sddp_policy {
    cobre_comm *comm;
    cobre_sddp_problem *problem; /* NULL: the file was read alone */
    cobre_comm *alone;           /* then this is `comm`, and the policy's own; else NULL */
    cb_policy_names names;
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

/* names.c: those of a problem; and those of a file: states, nodes and bytes are set, packed is text, stage, outcomes.
 * INVALID_POLICY, without a message, when they make no sense. Also after a failure names->memory is to be freed. */
cobre_status cb_names_of(const cobre_sddp_problem *problem, bool averse, cb_policy_names *names);
cobre_status cb_names_unpack(cb_policy_names *names, const unsigned char *packed);

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

/* file.c, collective: rank 0 reads. The policy of this very problem, without LP solvers. */
cobre_status cb_policy_load(cobre_sddp_problem *problem, const char *path, const char *lp_folder,
                            cobre_sddp_policy **policy);

/* The cuts of a problem whose states and nodes have the same names, for a warm start. */
cobre_status cb_policy_add_cuts(cobre_sddp_policy *policy, const char *path);

#endif
