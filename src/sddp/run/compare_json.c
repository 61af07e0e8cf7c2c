/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.c: a comparison of runs as JSON. */
#include "sddp/run/compare_json.h"

#include "sddp/run/json.h"

#include <math.h>

static json_t *run_json(const cobre_sddp_comparison *comparison, size_t index) {
    cobre_sddp_compared_run run = {.struct_size = sizeof run};
    json_t *object = json_object();
    bool good = true;
    cobre_sddp_comparison_run(comparison, index, &run);
    good &= cb_put(object, "name", cb_json_of_text(run.name));
    good &= cb_put(object, "path", cb_json_of_text(run.path));
    good &= cb_put(object, "words", cb_json_of_text(run.words));
    good &= cb_put(object, "sampling", *run.sampling ? cb_json_of_text(run.sampling) : json_null());
    good &= cb_put(object, "trajectories", cb_json_of_number(run.trajectories));
    good &= cb_put(object, "seed", cb_json_of_number(run.seed));
    good &= cb_put(object, "averse", json_boolean(run.averse));
    return cb_json_whole(object, good);
}

static json_t *difference_json(const cobre_sddp_comparison *comparison, size_t row, size_t run) {
    cobre_sddp_difference cell = {.struct_size = sizeof cell};
    json_t *object = json_object();
    bool good = true;
    cobre_sddp_comparison_difference(comparison, row, run, &cell);
    good &= cb_put(object, "value", cb_json_of_real(cell.value));
    good &= cb_put(object, "deviation", cb_json_of_real(cell.deviation));
    good &= cb_put(object, "count", isfinite(cell.count) ? cb_json_of_number((uint64_t)cell.count) : json_null());
    good &= cb_put(object, "difference", cb_json_of_real(cell.difference));
    good &= cb_put(object, "error", cb_json_of_real(cell.error));
    good &= cb_put(object, "significant", isnan(cell.error) ? json_null() : json_boolean(cell.significant));
    good &= cb_put(object, "method", cb_json_of_text(cell.method));
    good &= cb_put(object, "note", cb_json_of_text(cell.note));
    return cb_json_whole(object, good);
}

static json_t *row_json(const cobre_sddp_comparison *comparison, size_t index) {
    cobre_sddp_compared row = {.struct_size = sizeof row};
    json_t *object = json_object(), *runs = json_array();
    bool good = true;
    cobre_sddp_comparison_row(comparison, index, &row);
    good &= cb_put(object, "over", cb_json_of_text(row.over));
    good &= cb_put(object, "kind", cb_json_of_text(row.kind));
    good &= cb_put(object, "level", cb_json_of_text(row.level));
    good &= cb_put(object, "element", cb_json_of_text(row.element));
    good &= cb_put(object, "unit", cb_json_of_text(row.unit));
    good &= cb_put(object, "step", row.step ? cb_json_of_number(row.step) : json_null());
    good &= cb_put(object, "stage", row.stage ? cb_json_of_number(row.stage) : json_null());
    good &= cb_put(object, "date", *row.date ? cb_json_of_text(row.date) : json_null());
    for (size_t i = 0; i < cobre_sddp_comparison_runs(comparison); i++)
        good &= cb_push(runs, difference_json(comparison, index, i));
    good &= cb_put(object, "runs", runs);
    return cb_json_whole(object, good);
}

json_t *cb_compare_json(const cobre_sddp_comparison *comparison) {
    json_t *object = json_object(), *runs = json_array(), *notes = json_array(), *rows = json_array();
    bool good = true;
    for (size_t i = 0; i < cobre_sddp_comparison_runs(comparison); i++)
        good &= cb_push(runs, run_json(comparison, i));
    for (size_t i = 0; cobre_sddp_comparison_note(comparison, i); i++)
        good &= cb_push(notes, cb_json_of_text(cobre_sddp_comparison_note(comparison, i)));
    for (size_t i = 0; i < cobre_sddp_comparison_rows(comparison); i++)
        good &= cb_push(rows, row_json(comparison, i));
    good &= cb_put(object, "runs", runs);
    good &= cb_put(object, "notes", notes);
    good &= cb_put(object, "rows", rows);
    return cb_json_whole(object, good);
}
