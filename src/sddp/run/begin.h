/* SPDX-License-Identifier: Apache-2.0 */
/* begin.h: the beginning of a simulation, as users give it: a node and a state. */
#ifndef COBRE_SDDP_RUN_BEGIN_H
#define COBRE_SDDP_RUN_BEGIN_H

#include "cobre/sddp.h"

/* The user's input; option_tables.c has the rows of its options. */
struct cb_begin {
    size_t stage;      /* 0: not given */
    const char *date;  /* the stage under way then: "2027-03"; NULL: not given */
    const char *node;  /* its name; NULL: not given */
    const char *state; /* as for cobre_sddp_state_from_text; NULL: the initial one */
};

/* Its meaning for a problem. */
struct cb_beginning {
    size_t node;   /* COBRE_SDDP_ROOT: where the case begins */
    double *state; /* NULL: the initial one */
    bool complete; /* every state is given */
    size_t said;   /* the offset in `text` of the words about the state */
    char
        text[400]; /* "from stage 7, storage given for 1 of 2 reservoirs (Furnas 2300 hm3)"; empty: nothing was given */
};

/* False: more than one of stage, date and node are given. */
bool cb_begin_is_clear(const struct cb_begin *begin);

/* The given node; COBRE_SDDP_ROOT: none is given. */
cobre_status cb_begin_node(const cobre_sddp_problem *problem, const struct cb_begin *begin, size_t *node);

/* The node of a decision: the given one, or else the first one. Fails if the case can begin at several nodes. */
cobre_status cb_begin_decision(const cobre_sddp_problem *problem, const struct cb_beginning *found, size_t *node);

/* Rank 0 reads. Collective; fails on all ranks alike. */
cobre_status cb_begin_find(const cobre_sddp_problem *problem, const struct cb_begin *begin, struct cb_beginning *found);
void cb_begin_free(struct cb_beginning *found);

/* Does it differ from the beginning that the policy was trained for? Then the policy's bound does not apply. */
bool cb_begins_elsewhere(const cobre_sddp_problem *problem, const cobre_sddp_simulate_options *options);

#endif
