/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: `cobre compare`. */
#include "cli/plan/compare.h"

#include "cli/json.h"
#include "cli/plan/session.h"

enum { MOST = 8 };

static const char intro[] =
    "usage: cobre compare RUN RUN... [--by element|stage] [--kind KIND] [--csv FILE]\n"
    "                     [--json]\n"
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
    {.name = "csv",
     .help = "write the rows to a table, too",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct request, csv), .missing = "a file"}}},
    {.name = NULL},
};

const struct command_line cb_line_compare = {.command = "compare",
                                             .intro = intro,
                                             .end = "\nSee cobre-compare(1).\n",
                                             .table = {{cb_compare_rows, offsetof(struct request, options)},
                                                       {own_rows, 0},
                                                       {cb_json_rows, offsetof(struct request, base)}},
                                             .needs = "run",
                                             .words = MOST};

static int answer(const struct request *request, const cobre_sddp_comparison *comparison) {
    if (request->csv && cb_compare_csv(request->csv, comparison) != COBRE_OK)
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
