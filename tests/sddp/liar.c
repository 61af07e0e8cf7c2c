/* SPDX-License-Identifier: Apache-2.0 */
/* liar.c: an LP solver of the tests, as a plugin: GLPK whose objective and dual values are wrong by up to a share of their
 * size, which is COBRE_TEST_LIE at the time when an LP is made. How wrong one is depends on its index and value alone: the
 * same LP is told the same lies on any rank. */
#include "sddp/like_glpk.h"

static double share;

/* In [1 - share, 1 + share], times the value. */
static double lie(int index, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits ^= (uint64_t)(uint32_t)index * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 3; i++) { /* mixed as in splitmix64 */
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
        bits ^= bits >> 27;
    }
    return value * (1 + share * ((double)(bits >> 11) * 0x1p-52 - 1));
}

static const char *liar_version(void) {
    return "1.0";
}

static cb_lp *liar_create(const cb_lp_model *model) {
    const char *text = getenv("COBRE_TEST_LIE");
    share = text ? strtod(text, NULL) : 0;
    return create(model);
}

static double liar_objective(const cb_lp *lp) {
    return lie(-1, objective(lp));
}

static double liar_row_dual(const cb_lp *lp, int row) {
    return lie(row, row_dual(lp, row));
}

const cb_lp_solver cobre_lp_plugin = {
    LIKE_GLPK,
    .name = "liar",
    .version = liar_version,
    .create = liar_create,
    .solve = solve,
    .objective = liar_objective,
    .row_dual = liar_row_dual,
};
