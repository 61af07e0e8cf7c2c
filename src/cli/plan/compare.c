/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: `cobre compare`: options and CSV. */
#include "cli/plan/compare.h"

#include "cli/json.h"
#include "cli/plan/session.h"

#include <math.h>

enum { MOST = 8 };

static const char intro[] =
    "usage: cobre compare RUN RUN... [--by element|stage] [--kind KIND] [--csv FILE] [--json]\n"
    "\n"
    "Puts 2 to 8 runs side by side, and says how each differs from the first one, and whether that is more than "
    "chance.\n"
    "A run is a folder of `cobre train` and `cobre simulate`. Policy files can be compared, too: bounds and cuts.\n"
    "\n";

struct request {
    struct session base;
    cobre_sddp_compare_options options;
    const char *csv;
};

static const struct cb_option own_rows[] = {
    {.name = "by",
     .help = "show each element, or each stage of one kind (default: subsystems, as means over the stages)",
     .value = {{.name = "element|stage",
                .kind = CB_VALUE_CHOICE,
                .field = CB_FIELD(struct request, options.by),
                .choices = (const struct cb_choice[]){{"element", COBRE_SDDP_BY_ELEMENT},
                                                      {"stage", COBRE_SDDP_BY_STAGE},
                                                      {NULL, 0}}}}},
    {.name = "kind",
     .help = "only this kind of figures: marginal_cost, stored_energy, ...; all of its elements",
     .value = {{.name = "KIND",
                .kind = CB_VALUE_TEXT,
                .field = CB_FIELD(struct request, options.kind),
                .missing = "a kind"}}},
    {.name = "csv",
     .help = "write the rows to a table, too",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct request, csv), .missing = "a file"}}},
    {.name = NULL},
};

const struct command_line cb_line_compare = {.command = "compare",
                                             .intro = intro,
                                             .end = "\nSee cobre-compare(1).\n",
                                             .table = {{own_rows, 0}, {cb_json_rows, offsetof(struct request, base)}},
                                             .needs = "run",
                                             .words = MOST};

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

static cobre_status write_csv(const char *path, const cobre_sddp_comparison *comparison) {
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

static int answer(const struct request *request, const cobre_sddp_comparison *comparison) {
    if (request->csv && write_csv(request->csv, comparison) != COBRE_OK)
        return cb_session_failed(&request->base);
    if (request->base.json)
        cb_json_print(cb_compare_json(comparison), 0);
    else
        cb_compare_print(comparison);
    return 0;
}

static int read_options(int argc, char **argv, struct request *request, size_t *runs) {
    int code = cb_line_read(&cb_line_compare, argc, argv, request, &request->base.given);
    if (code != CB_GO_ON)
        return code;
    while (request->base.given.words[*runs])
        (*runs)++;
    if (*runs < 2)
        return cb_usage_error("compare", "one run alone: give two or more");
    if (request->options.by == COBRE_SDDP_BY_STAGE && !request->options.kind)
        return cb_usage_error("compare", "--by stage needs --kind, such as marginal_cost or stored_energy");
    return CB_GO_ON;
}

int cb_command_compare(int argc, char **argv) {
    struct request request = {.base.self.command = "compare", .options.struct_size = sizeof request.options};
    cobre_sddp_comparison *comparison = NULL;
    size_t runs = 0;
    int code = read_options(argc, argv, &request, &runs);
    if (code != CB_GO_ON)
        return code;
    if (cobre_sddp_compare((const char *const *)request.base.given.words, runs, &request.options, &comparison))
        return cb_session_failed(&request.base);
    code = answer(&request, comparison);
    cobre_sddp_comparison_free(&comparison);
    return code;
}
