/* SPDX-License-Identifier: Apache-2.0 */
/* plugins.h: the LP solvers that are installed, and the pair of them that a job uses. */
#ifndef COBRE_SDDP_LP_PLUGINS_H
#define COBRE_SDDP_LP_PLUGINS_H

#include "sddp/error.h"
#include "sddp/lp/lp.h"

#define CB_ENV_LP_PATH "COBRE_LP_PATH" /* the only folder where plugins are looked for */

/* load.c: a file libcobre-lp-NAME.so that was found. */
typedef struct {
    char name[CB_LP_NAME];
    char file[1024];
    const cb_lp_solver *solver; /* NULL: it cannot be used, */
    char problem[512];          /* for this reason */
    bool tried;                 /* was loading it tried? */
} cb_lp_plugin;

/* Loaded, in the order of names; NULL past the end. */
const cb_lp_plugin *cb_lp_plugin_at(size_t index);

/* NULL: it is not installed or cannot be used. */
const cb_lp_solver *cb_lp_solver_by_name(const char *name);

/* Writes the reason to `why`, and returns that. name NULL: any solver. */
enum { CB_LP_WHY = 1024 };
const char *cb_lp_why_not(char why[CB_LP_WHY], const char *name);

/* The solver of a job, and the fallback that takes over when it finds no optimum; fallback may be NULL. */
typedef struct {
    const cb_lp_solver *solver, *fallback;
} cb_lp_pair;

/* The same as texts, for a policy file and other ranks; "": there is none. */
typedef struct {
    char solver[CB_LP_NAME], solver_version[CB_LP_VERSION];
    char fallback[CB_LP_NAME], fallback_version[CB_LP_VERSION];
} cb_lp_names;

cb_lp_names cb_lp_names_of(const cb_lp_pair *pair);

/* choose.c: the solver `name`, or the preferred one for models of so many rows (name NULL), and the best of the others as
 * fallback. For this process alone. */
cobre_status cb_lp_choose(const char *name, int rows, cb_lp_pair *pair);

/* Rank 0 chooses. All ranks fail unless each has the same two solvers in the same versions. Collective. */
cobre_status cb_lp_agree(cobre_comm *comm, const char *name, int rows, cb_lp_pair *pair);

/* Exactly these solvers, on every rank; otherwise all fail. who: "the policy was trained with"; instead: another remedy for
 * the user, as in ", or choose another one". Collective. */
cobre_status cb_lp_take(cobre_comm *comm, const cb_lp_names *names, const char *who, const char *instead,
                        cb_lp_pair *pair);

/* The same for this process alone. */
cobre_status cb_lp_find(const cb_lp_names *names, const char *who, const char *instead, cb_lp_pair *pair);

/* lp.c: climbs the ladder, from its first step or from a given one. */
cb_lp_outcome cb_lp_solve(const cb_lp_solver *solver, cb_lp *lp);
cb_lp_outcome cb_lp_solve_from(const cb_lp_solver *solver, cb_lp *lp, int effort);

const char *cb_lp_outcome_name(cb_lp_outcome outcome);
cobre_status cb_lp_gave_up(const cb_lp_solver *solver, const char *at); /* sets the error; at: "node 1, outcome 2" */

#endif
