/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c: the public functions of a comparison. */
#include <jansson.h>
#include <stdlib.h>

#include "sddp/run/compare.h"

void cobre_sddp_comparison_free(cobre_sddp_comparison **comparison) {
    cobre_sddp_comparison *c = comparison ? *comparison : NULL;
    if (!c)
        return;
    for (size_t i = 0; i < c->runs; i++) {
        cb_results_free(&c->run[i].results);
        json_decref(c->run[i].origin);
    }
    cb_arena_free(&c->memory);
    free(c->moment);
    free(c->row);
    free(c->cell);
    free(c->note);
    free(c);
    *comparison = NULL;
}

size_t cobre_sddp_comparison_runs(const cobre_sddp_comparison *comparison) {
    return comparison ? comparison->runs : 0;
}

size_t cobre_sddp_comparison_rows(const cobre_sddp_comparison *comparison) {
    return comparison ? comparison->rows : 0;
}

const char *cobre_sddp_comparison_note(const cobre_sddp_comparison *comparison, size_t note) {
    return comparison && note < comparison->notes ? comparison->note[note] : NULL;
}

static cobre_status check_index(const cobre_sddp_comparison *comparison, size_t index, size_t count,
                                const char *subject) {
    if (!comparison)
        return cb_refuse_null("comparison");
    return index < count ? COBRE_OK
                         : cb_refuse(subject, "ask how many there are", "%s %zu: there are %zu", subject, index, count);
}

cobre_status cobre_sddp_comparison_run(const cobre_sddp_comparison *comparison, size_t run,
                                       cobre_sddp_compared_run *result) {
    CB_TRY(check_index(comparison, run, cobre_sddp_comparison_runs(comparison), "run"));
    if (!result)
        return cb_refuse_null("result");
    CB_TRY(CB_CHECK_RESULT(result, cobre_sddp_compared_run, averse));
    const struct cb_run *its = &comparison->run[run];
    const struct cb_facts *simulation = &its->results.simulation;
    cobre_sddp_compared_run own = {.path = its->path,
                                   .name = its->name,
                                   .words = its->words,
                                   .sampling = cb_fact(simulation, "sampling"),
                                   .trajectories = strtoull(cb_fact(simulation, "trajectories"), NULL, 10),
                                   .seed = strtoull(cb_fact(simulation, "seed"), NULL, 10),
                                   .averse = its->averse};
    cb_versioned_give(result, CB_THROUGH(cobre_sddp_compared_run, averse), &own, sizeof own);
    return COBRE_OK;
}

cobre_status cobre_sddp_comparison_row(const cobre_sddp_comparison *comparison, size_t row,
                                       cobre_sddp_compared *result) {
    CB_TRY(check_index(comparison, row, cobre_sddp_comparison_rows(comparison), "row"));
    if (!result)
        return cb_refuse_null("result");
    CB_TRY(CB_CHECK_RESULT(result, cobre_sddp_compared, stage));
    cb_versioned_give(result, CB_THROUGH(cobre_sddp_compared, stage), &comparison->row[row], sizeof *comparison->row);
    return COBRE_OK;
}

cobre_status cobre_sddp_comparison_difference(const cobre_sddp_comparison *comparison, size_t row, size_t run,
                                              cobre_sddp_difference *result) {
    CB_TRY(check_index(comparison, row, cobre_sddp_comparison_rows(comparison), "row"));
    CB_TRY(check_index(comparison, run, comparison->runs, "run"));
    if (!result)
        return cb_refuse_null("result");
    CB_TRY(CB_CHECK_RESULT(result, cobre_sddp_difference, note));
    cb_versioned_give(result, CB_THROUGH(cobre_sddp_difference, note), &comparison->cell[row * comparison->runs + run],
                      sizeof *comparison->cell);
    return COBRE_OK;
}
