/* SPDX-License-Identifier: Apache-2.0 */
/* compare_csv.c: a comparison of runs as a table. */
#include "sddp/draft.h"
#include "sddp/run/compare_json.h"
#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

#include <math.h>

static void write_field(FILE *to, const char *text) {
    cb_field_write(to, text);
    putc(',', to);
}

static void write_number(FILE *to, double value) {
    char text[32];
    fprintf(to, "%s,", isnan(value) ? "" : cb_exact_text(value, text));
}

static void write_count(FILE *to, size_t count) {
    if (count)
        fprintf(to, "%zu", count);
    putc(',', to);
}

static void write_row(FILE *to, const cobre_sddp_comparison *comparison, size_t index, size_t r) {
    cobre_sddp_compared row = {.struct_size = sizeof row};
    cobre_sddp_compared_run run = {.struct_size = sizeof run};
    cobre_sddp_difference cell = {.struct_size = sizeof cell};
    cobre_sddp_comparison_row(comparison, index, &row);
    cobre_sddp_comparison_run(comparison, r, &run);
    cobre_sddp_comparison_difference(comparison, index, r, &cell);
    const char *const text[] = {row.over, row.kind, row.level, row.element, row.unit};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        write_field(to, text[i]);
    write_count(to, row.step);
    write_count(to, row.stage);
    write_field(to, row.date);
    write_field(to, run.name);
    const double number[] = {cell.value, cell.deviation, cell.count, cell.difference, cell.error};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        write_number(to, number[i]);
    write_field(to, isnan(cell.error) ? "" : cell.significant ? "yes" : "no");
    write_field(to, cell.method);
    cb_field_write(to, cell.note);
    putc('\n', to);
}

cobre_status cb_compare_csv(const char *path, const cobre_sddp_comparison *comparison) {
    struct cb_draft draft;
    cobre_status status = cb_draft_open(&draft, path);
    if (status)
        return status;
    fputs("over,kind,level,element,unit,step,stage,date,run,value,deviation,count,difference,error,significant,method,"
          "note\n",
          draft.file);
    for (size_t i = 0; i < cobre_sddp_comparison_rows(comparison); i++)
        for (size_t r = 0; r < cobre_sddp_comparison_runs(comparison); r++)
            write_row(draft.file, comparison, i, r);
    return cb_draft_close(&draft, COBRE_OK);
}
