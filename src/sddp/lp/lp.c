/* SPDX-License-Identifier: Apache-2.0 */
/* lp.c: the retry ladder of a solve. */
#include "sddp/lp/plugins.h"

cb_lp_outcome cb_lp_solve_from(const cb_lp_solver *solver, cb_lp *lp, int first) {
    cb_lp_outcome outcome = CB_LP_STUCK;
    for (int effort = first; effort < CB_LP_EFFORTS && outcome != CB_LP_OPTIMAL && outcome != CB_LP_GAVE_UP; effort++)
        outcome = solver->solve(lp, effort);
    return outcome;
}

cb_lp_outcome cb_lp_solve(const cb_lp_solver *solver, cb_lp *lp) {
    return cb_lp_solve_from(solver, lp, 0);
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

cobre_status cb_lp_gave_up(const cb_lp_solver *solver, const char *at) {
    return cb_fail(COBRE_LP_FAILED, "use fewer ranks or a machine with more memory, or try another solver",
                   "%s: %s gave up: %s", at, solver->name, solver->trouble());
}
