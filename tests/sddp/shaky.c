/* SPDX-License-Identifier: Apache-2.0 */
/* shaky.c: an LP solver of the tests, as a plugin: GLPK that finds no optimum where the whole part of the objective is a
 * multiple of 3. Which LPs these are depends on the LPs alone. SHAKY_VERSION: what it says its version is. */
#include "sddp/like_glpk.h"

static const char *shaky_version(void) {
    return SHAKY_VERSION;
}

static cb_lp_outcome shaky_solve(cb_lp *lp, int effort) {
    cb_lp_outcome outcome = solve(lp, effort);
    return outcome == CB_LP_OPTIMAL && fmod(trunc(objective(lp)), 3) == 0 ? CB_LP_STUCK : outcome;
}

const cb_lp_solver cobre_lp_plugin = {
    LIKE_GLPK,
    .name = "shaky",
    .version = shaky_version,
    .create = create,
    .solve = shaky_solve,
    .objective = objective,
    .row_dual = row_dual,
};
