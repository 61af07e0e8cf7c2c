/* SPDX-License-Identifier: Apache-2.0 */
/* format.h: the policy file.
 *
 *     header        fixed size, below
 *     names         of the problem, the states, the nodes, each ended by a zero byte; padded to 8 bytes
 *     nodes         stage of each node, number of outcomes of each node, sum of each node's data
 *     initial       of each state
 *     bounds        value bound of each node, own bound of each node
 *     trace         of each iteration: bound, mean, deviation, cuts, solves
 *     starts        see starts.c; padded to 8 bytes
 *     cuts          records as in the pool, in the order of ids; with what the rule for dropping cuts needs
 *     checksum      of all words before it
 *
 * Everything is in words of 8 bytes, in the byte order of the machine, which the header tells. The contents do not depend
 * on the number of ranks. */
#ifndef COBRE_SDDP_POLICY_FORMAT_H
#define COBRE_SDDP_POLICY_FORMAT_H

#include "sddp/policy/policy.h"

#define CB_POLICY_MAGIC "COBRESDP"
#define CB_POLICY_VERSION 4
#define CB_POLICY_ORDER 0x0102030405060708u

typedef struct {
    char magic[8];
    uint64_t version, order, fingerprint;
    cb_lp_names solvers;
    uint64_t seed, passes, multi_cut, has_risk;
    double beta, alpha;
    uint64_t drop, drop_after;
    uint64_t proven, maximise, averse, seasons, first_season, ranges, states, nodes, functions, iterations, cuts;
    uint64_t name_bytes;  /* padded */
    uint64_t start_bytes; /* before they are padded */
} cb_policy_head;

/* The bytes of names, nodes and initial states. */
static inline uint64_t cb_policy_named_bytes(const cb_policy_head *head) {
    return head->name_bytes + 24 * head->nodes + 8 * head->states;
}

/* The bytes from the names to the starts. */
static inline uint64_t cb_policy_middle_bytes(const cb_policy_head *head) {
    return cb_policy_named_bytes(head) + 16 * head->nodes + sizeof(cb_trace) * head->iterations +
           cb_padded(head->start_bytes);
}

/* The numbers of a cut. */
static inline size_t cb_policy_stride(const cb_policy_head *head) {
    return CB_CUT_SLOPES + (size_t)head->states + cb_drop_numbers((cobre_sddp_drop)head->drop, (size_t)head->states);
}

static inline uint64_t cb_policy_file_bytes(const cb_policy_head *head) {
    return sizeof *head + cb_policy_middle_bytes(head) + 8 * cb_policy_stride(head) * head->cuts + 8;
}

/* Does the header make sense? It decides how much is read and allocated. If it does, the sums above do not overflow. */
bool cb_policy_head_good(const cb_policy_head *head);

#endif
