/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c: what is said of an LP that has no optimum. */
#include "sddp/stage/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Letters, digits and a few more; anything else would be trouble in a file name. */
static void tame(char *name) {
    for (; *name; name++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *name))
            *name = '_';
}

/* Writes the LP in the units of the case. */
static bool write_lp(const cb_stage *stage, const double *values, const char *path) {
    const cb_node *node = stage->node;
    cb_stage_kind kind = *stage->kind;
    cb_stage *plain;
    cb_start start = {.set = false};
    kind.plain = true;
    const char **names = calloc((size_t)(stage->columns + stage->rows) + 1, sizeof *names);
    if (!names || cb_stage_create(&kind, node, &plain)) {
        free(names);
        return false;
    }
    for (size_t j = 0; j < node->columns; j++)
        names[j] = cb_column_name(node, j);
    for (size_t i = 0; i < node->rows; i++)
        names[(size_t)stage->columns + i] = cb_row_name(node, i);
    bool written = cb_stage_residents(stage, &start) && cb_stage_start(plain, &start) == COBRE_OK;
    if (written) {
        cb_stage_set_state(plain, stage->state);
        cb_stage_set_noise(plain, values);
        written = plain->solver->write(plain->lp, path, names, names + stage->columns) == 0;
    }
    cb_start_free(&start);
    cb_stage_free(plain);
    free(names);
    return written;
}

static const char *advice_for(const cb_stage *stage, cb_lp_outcome result) {
    if (result == CB_LP_UNBOUNDED)
        return "the cost is unbounded: check signs of costs and bounds";
    if (result != CB_LP_INFEASIBLE)
        return "scale the data, or try another solver";
    return *stage->kind->problem->contents
               ? "every state and outcome must be feasible: give deficits.csv tiers whose depths add up to 1, and a "
                 "storage_min that can always be reached"
               : "every state and outcome must be feasible: add a slack with a penalty (a deficit)";
}

cobre_status cb_stage_fail(cb_stage *stage, cb_lp_outcome result, size_t outcome, const double *values) {
    const cb_node *node = stage->node;
    char name[192], path[512], at[1024], which[32] = "given noise";
    if (outcome != CB_NONE)
        snprintf(which, sizeof which, "outcome %zu", outcome + 1);
    size_t length = (size_t)snprintf(at, sizeof at, "node %.400s, %s", node->name, which);
    for (size_t i = 0; i < node->randoms && length < sizeof at; i++)
        length += (size_t)snprintf(at + length, sizeof at - length, "%s%s = %.9g", i ? ", " : ": ",
                                   cb_random_name(node, i), values[i]);
    if (result == CB_LP_GAVE_UP)
        return cb_lp_gave_up(stage->solver, at);
    snprintf(name, sizeof name, "cobre-%.127s-%s.lp", node->name, which);
    tame(name);
    snprintf(path, sizeof path, "%s/%s", stage->kind->lp_folder ? stage->kind->lp_folder : ".", name);
    const cb_lp_solver *other = cb_stage_other_solver(stage); /* it was asked, too */
    bool written = write_lp(stage, values, path);
    return cb_fail_at(COBRE_LP_FAILED, written ? path : "", 0, advice_for(stage, result),
                      "%s: the LP is %s after %d tries of %s%s%s%s%s", at, cb_lp_outcome_name(result), CB_LP_EFFORTS,
                      stage->solver->name, other ? " and as many of " : "", other ? other->name : "",
                      written ? "; written to " : "", written ? path : "");
}
