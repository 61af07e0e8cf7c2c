/* SPDX-License-Identifier: Apache-2.0 */
/* decision.h: the decision of a policy at a node, as JSON for `cobre decide --json` and `cobre mcp`. */
#ifndef COBRE_SDDP_RUN_DECISION_H
#define COBRE_SDDP_RUN_DECISION_H

#include "sddp/run/begin.h"

#include <jansson.h>

struct cb_decision {
    /* The question. */
    struct cb_begin begin;
    const char *inflow;    /* as for cobre_sddp_noise_from_text; NULL: the mean */
    const char *solver;    /* this and lp_folder are as in cobre_sddp_decide_options */
    const char *lp_folder; /* where an LP without a solution is written; NULL: the current folder */

    /* Its meaning for the problem. */
    struct cb_beginning beginning;
    size_t node;
    double *noise;
};

/* Finds the meaning of the question. The caller frees it, also after a failure. */
cobre_status cb_decision_find(const cobre_sddp_problem *problem, struct cb_decision *decision);

/* Decides. policy_path: its name in the answer. */
cobre_status cb_decision_make(const cobre_sddp_problem *problem, cobre_sddp_policy *policy,
                              const struct cb_decision *decision, const char *policy_path, json_t **answer);
void cb_decision_free(struct cb_decision *decision);

#endif
