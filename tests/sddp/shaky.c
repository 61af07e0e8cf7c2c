/* SPDX-License-Identifier: Apache-2.0 */
/* shaky.c: an LP solver of the tests, as a plugin: GLPK that finds no optimum where the whole part of the objective is a
 * multiple of 3. Which LPs these are depends on the LPs alone. SHAKY_VERSION: what it says its version is. */
#include <limits.h>

#define cobre_lp_plugin glpk_plugin
#include "sddp/lp/glpk.c"
#undef cobre_lp_plugin

static const char *shaky_version(void) {
    return SHAKY_VERSION;
}

static cb_lp_outcome shaky_solve(cb_lp *lp, int effort) {
    cb_lp_outcome outcome = solve(lp, effort);
    return outcome == CB_LP_OPTIMAL && fmod(trunc(objective(lp)), 3) == 0 ? CB_LP_STUCK : outcome;
}

COBRE_API extern const cb_lp_solver cobre_lp_plugin;
const cb_lp_solver cobre_lp_plugin = {
    .abi = CB_LP_ABI,
    .name = "shaky",
    .license = "GPL-3.0-or-later",
    .version = shaky_version,
    .from_rows = INT_MAX, /* by name only */
    .create = create,
    .destroy = destroy,
    .set_column = set_column,
    .set_row = set_row,
    .set_cost = set_cost,
    .set_entry = set_entry,
    .add_row = add_row,
    .start = start,
    .solve = shaky_solve,
    .trouble = trouble,
    .objective = objective,
    .column_value = column_value,
    .row_dual = row_dual,
    .basis = get_basis,
    .extra_stand = extra_stand,
    .write = write_file,
};
