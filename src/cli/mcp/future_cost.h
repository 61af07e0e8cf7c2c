/* SPDX-License-Identifier: Apache-2.0 */
/* future_cost.h: the future cost of a node by a policy's cuts, as a function of the state that the node leaves.
 *
 * Single cuts bound the future cost of the node itself. Multi-cuts bound the cost of each outcome of each node that
 * follows, and the future cost is their mean. With a risk measure it is not, and is not computed here. */
#ifndef COBRE_CLI_MCP_FUTURE_COST_H
#define COBRE_CLI_MCP_FUTURE_COST_H

#include "cobre/sddp.h"

struct cb_future_cut {
    cobre_sddp_cut cut;
    uint64_t index;  /* in the policy */
    size_t function; /* that it bounds */
    double height;   /* at the last state that was asked about; NaN: none was */
    bool active;     /* it is the highest there, of its function (the lowest in a problem that maximises) */
};

struct cb_future {
    const cobre_sddp_policy *policy;
    size_t node, states;
    struct cb_future_function {
        size_t node, outcome; /* as of a cut */
        double weight, floor; /* floor: it is no less than that, cuts or not */
    } * function;
    struct cb_future_cut *cut;
    double *slope; /* of each cut and state */
    size_t functions, cuts, cuts_room, slopes_room;
    bool known; /* the future cost can be computed */
    bool no_memory;
};

/* problem NULL: the cuts can be listed, and nothing more. Free in any case. */
cobre_status cb_future_open(struct cb_future *future, const cobre_sddp_policy *policy,
                            const cobre_sddp_problem *problem, size_t node);
void cb_future_free(struct cb_future *future);

/* Sets the heights, and returns the future cost. */
double cb_future_at(struct cb_future *future, const double *state);

/* The same where one state is larger by `shift`; *slope: how it changes with that state; *cuts: cuts say so. Otherwise
 * it is, at least in part, a bound that holds everywhere: there the slope is not known. */
double cb_future_along(const struct cb_future *future, size_t state, double shift, double *slope, bool *cuts);

#endif
