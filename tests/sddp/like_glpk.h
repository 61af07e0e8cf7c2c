/* SPDX-License-Identifier: Apache-2.0 */
/* like_glpk.h: for LP solvers of the tests, as plugins: GLPK with some calls replaced. */
#include <limits.h>

#define cobre_lp_plugin glpk_plugin
#include "sddp/lp/glpk.c"
#undef cobre_lp_plugin

COBRE_API extern const cb_lp_solver cobre_lp_plugin;

/* Members of a cb_lp_solver; create, solve, objective and row_dual are left to be given. Chosen by name only. */
#define LIKE_GLPK                                                                                                      \
    .abi = CB_LP_ABI, .license = "GPL-3.0-or-later", .from_rows = INT_MAX, .destroy = destroy,                         \
    .set_column = set_column, .set_row = set_row, .set_cost = set_cost, .set_entry = set_entry, .add_row = add_row,    \
    .start = start, .trouble = trouble, .column_value = column_value, .basis = get_basis, .extra_stand = extra_stand,  \
    .write = write_file
