/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.c: a comparison of runs as JSON. */
#include "cli/plan/compare.h"

#include <math.h>

static json_t *run_json(const cobre_sddp_comparison *comparison, size_t index) {
    cobre_sddp_compared_run run = {.struct_size = sizeof run};
    json_t *object = json_object();
    cobre_sddp_comparison_run(comparison, index, &run);
    cb_json_set(object, "name", cb_json_text(run.name));
    cb_json_set(object, "path", cb_json_text(run.path));
    cb_json_set(object, "words", cb_json_text(run.words));
    cb_json_set(object, "sampling", *run.sampling ? cb_json_text(run.sampling) : json_null());
    cb_json_set(object, "trajectories", cb_json_count(run.trajectories));
    cb_json_set(object, "seed", cb_json_count(run.seed));
    cb_json_set(object, "averse", json_boolean(run.averse));
    return object;
}

static json_t *difference_json(const cobre_sddp_comparison *comparison, size_t row, size_t run) {
    cobre_sddp_difference cell = {.struct_size = sizeof cell};
    json_t *object = json_object();
    cobre_sddp_comparison_difference(comparison, row, run, &cell);
    cb_json_set(object, "value", cb_json_real(cell.value));
    cb_json_set(object, "deviation", cb_json_real(cell.deviation));
    cb_json_set(object, "count", isfinite(cell.count) ? cb_json_count((uint64_t)cell.count) : json_null());
    cb_json_set(object, "difference", cb_json_real(cell.difference));
    cb_json_set(object, "error", cb_json_real(cell.error));
    cb_json_set(object, "significant", isnan(cell.error) ? json_null() : json_boolean(cell.significant));
    cb_json_set(object, "method", cb_json_text(cell.method));
    cb_json_set(object, "note", cb_json_text(cell.note));
    return object;
}

static json_t *row_json(const cobre_sddp_comparison *comparison, size_t index) {
    cobre_sddp_compared row = {.struct_size = sizeof row};
    json_t *object = json_object(), *runs = json_array();
    cobre_sddp_comparison_row(comparison, index, &row);
    cb_json_set(object, "over", cb_json_text(row.over));
    cb_json_set(object, "kind", cb_json_text(row.kind));
    cb_json_set(object, "level", cb_json_text(row.level));
    cb_json_set(object, "element", cb_json_text(row.element));
    cb_json_set(object, "unit", cb_json_text(row.unit));
    cb_json_set(object, "step", row.step ? cb_json_count(row.step) : json_null());
    cb_json_set(object, "stage", row.stage ? cb_json_count(row.stage) : json_null());
    cb_json_set(object, "date", *row.date ? cb_json_text(row.date) : json_null());
    for (size_t i = 0; i < cobre_sddp_comparison_runs(comparison); i++)
        cb_json_append(runs, difference_json(comparison, index, i));
    cb_json_set(object, "runs", runs);
    return object;
}

json_t *cb_compare_json(const cobre_sddp_comparison *comparison) {
    json_t *object = json_object(), *runs = json_array(), *notes = json_array(), *rows = json_array();
    for (size_t i = 0; i < cobre_sddp_comparison_runs(comparison); i++)
        cb_json_append(runs, run_json(comparison, i));
    for (size_t i = 0; cobre_sddp_comparison_note(comparison, i); i++)
        cb_json_append(notes, cb_json_text(cobre_sddp_comparison_note(comparison, i)));
    for (size_t i = 0; i < cobre_sddp_comparison_rows(comparison); i++)
        cb_json_append(rows, row_json(comparison, i));
    cb_json_set(object, "runs", runs);
    cb_json_set(object, "notes", notes);
    cb_json_set(object, "rows", rows);
    return object;
}
