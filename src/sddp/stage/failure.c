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

static int write_lp(cb_stage *stage, const char *path) {
    const cb_node *node = stage->node;
    size_t count = (size_t)(stage->columns + stage->rows);
    const char **names = malloc((count + 1) * sizeof *names);
    if (!names)
        return 1;
    for (int j = 0; j < stage->columns; j++)
        names[j] = (size_t)j < node->columns ? cb_column_name(node, (size_t)j) : NULL;
    for (int i = 0; i < stage->rows; i++)
        names[stage->columns + i] = (size_t)i < node->rows ? cb_row_name(node, (size_t)i) : NULL;
    int failed = stage->solver->write(stage->lp, path, names, names + stage->columns);
    free(names);
    FILE *file = failed || stage->kind->problem->scale == 1 ? NULL : fopen(path, "ae");
    if (file) {
        fprintf(file, "\\ All costs, and the future costs, are here %.17g times those of the case.\n",
                stage->kind->problem->scale);
        fclose(file);
    }
    return failed;
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
    bool written = write_lp(stage, path) == 0;
    return cb_fail_at(COBRE_LP_FAILED, written ? path : "", 0, advice_for(stage, result),
                      "%s: the LP is %s after %d tries of %s%s%s%s%s", at, cb_lp_outcome_name(result), CB_LP_EFFORTS,
                      stage->solver->name, other ? " and as many of " : "", other ? other->name : "",
                      written ? "; written to " : "", written ? path : "");
}
