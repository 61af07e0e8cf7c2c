/* lp.c: the solvers of this build, and the retry ladder. */
#include "sddp/lp/lp.h"

#include <string.h>

#include "sddp/lp/solvers.h"

static const cb_lp_solver *const solvers[] = {
#ifdef COBRE_HAVE_GLPK
    &cb_lp_glpk,
#endif
#ifdef COBRE_HAVE_CLP
    &cb_lp_clp,
#endif
    NULL};

/* From here on CLP is the faster one: docs/rationale.md has the figures. */
#define LARGE_ROWS 50

const cb_lp_solver *cb_lp_solver_at(size_t index) {
    for (size_t i = 0; i < index; i++)
        if (!solvers[i])
            return NULL;
    return solvers[index];
}

const cb_lp_solver *cb_lp_solver_by_name(const char *name) {
    for (size_t i = 0; solvers[i]; i++)
        if (strcmp(solvers[i]->name, name) == 0)
            return solvers[i];
    return NULL;
}

const char *cobre_sddp_solver(size_t index) {
    const cb_lp_solver *solver = cb_lp_solver_at(index);
    return solver ? solver->name : NULL;
}

cobre_status cb_lp_choose(const char *name, int rows, const cb_lp_solver **solver) {
    const cb_lp_solver *large = cb_lp_solver_by_name("clp");
    if (name)
        *solver = cb_lp_solver_by_name(name);
    else
        *solver = rows >= LARGE_ROWS && large ? large : solvers[0];
    if (*solver)
        return COBRE_OK;
    return cb_fail(COBRE_SOLVER_NOT_AVAILABLE,
                   CB_TEXT("use \"%s\", or "
                           "build with libglpk-dev and coinor-libclp-dev installed",
                           solvers[0]->name),
                   "there is no LP solver \"%s\" in this build", name);
}

cb_lp_outcome cb_lp_solve(const cb_lp_solver *solver, cb_lp *lp) {
    cb_lp_outcome outcome = CB_LP_STUCK;
    for (int effort = 0; effort < CB_LP_EFFORTS && outcome != CB_LP_OPTIMAL && outcome != CB_LP_GAVE_UP; effort++)
        outcome = solver->solve(lp, effort);
    return outcome;
}

const char *cb_lp_outcome_name(cb_lp_outcome outcome) {
    switch (outcome) {
    case CB_LP_OPTIMAL: return "optimal";
    case CB_LP_INFEASIBLE: return "infeasible";
    case CB_LP_UNBOUNDED: return "unbounded";
    case CB_LP_STUCK: return "stopped by numerical trouble";
    case CB_LP_GAVE_UP: return "given up by the solver";
    }
    return "?";
}
