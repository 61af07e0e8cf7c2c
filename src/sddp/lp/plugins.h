/* SPDX-License-Identifier: Apache-2.0 */
/* plugins.h: the LP solvers that are here, and the pair of them that a job uses. */
#ifndef COBRE_SDDP_LP_PLUGINS_H
#define COBRE_SDDP_LP_PLUGINS_H

#include "sddp/error.h"
#include "sddp/lp/lp.h"

/* load.c: a file libcobre-lp-NAME.so that was found. */
typedef struct {
    char name[CB_LP_NAME];
    char file[1024];
    const cb_lp_solver *solver; /* NULL: it cannot be used ... */
    char problem[512];          /* ... and this is why */
    bool tried;                 /* to load it */
} cb_lp_plugin;

/* Loaded, in the order of names; NULL past the end. */
const cb_lp_plugin *cb_lp_plugin_at(size_t index);

/* NULL: it is not here or cannot be used. */
const cb_lp_solver *cb_lp_solver_by_name(const char *name);

/* Why not, written to `why`, which is returned. name NULL: any. */
enum { CB_LP_WHY = 1024 };
const char *cb_lp_why_not(char why[CB_LP_WHY], const char *name);

/* What a job solves its LPs with, and what takes over when that finds no optimum; fallback is NULL if there is none. */
typedef struct {
    const cb_lp_solver *solver, *fallback;
} cb_lp_pair;

/* The same in a policy file and on the way to other ranks; "" for what there is not. */
typedef struct {
    char solver[CB_LP_NAME], solver_version[CB_LP_VERSION];
    char fallback[CB_LP_NAME], fallback_version[CB_LP_VERSION];
} cb_lp_names;

cb_lp_names cb_lp_names_of(const cb_lp_pair *pair);

/* choose.c: the solver asked for, or the one that is preferred for models of this many rows (name NULL), and the best of the
 * others to fall back to. For this process alone. */
cobre_status cb_lp_choose(const char *name, int rows, cb_lp_pair *pair);

/* Rank 0 chooses, and every rank has the same two of the same version: otherwise all fail. Collective. */
cobre_status cb_lp_agree(cobre_comm *comm, const char *name, int rows, cb_lp_pair *pair);

/* Exactly these, on every rank; otherwise all fail. who: "the policy was trained with"; instead: what else the user can do,
 * as in ", or choose another one". Collective. */
cobre_status cb_lp_take(cobre_comm *comm, const cb_lp_names *names, const char *who, const char *instead,
                        cb_lp_pair *pair);

/* The same for this process alone. */
cobre_status cb_lp_find(const cb_lp_names *names, const char *who, const char *instead, cb_lp_pair *pair);

/* lp.c: climbs the ladder, from its foot or from a step on. */
cb_lp_outcome cb_lp_solve(const cb_lp_solver *solver, cb_lp *lp);
cb_lp_outcome cb_lp_solve_from(const cb_lp_solver *solver, cb_lp *lp, int effort);

const char *cb_lp_outcome_name(cb_lp_outcome outcome);
cobre_status cb_lp_gave_up(const cb_lp_solver *solver, const char *at); /* the error; at: "node 1, outcome 2" */

#endif
