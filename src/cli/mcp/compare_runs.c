/* SPDX-License-Identifier: Apache-2.0 */
/* compare_runs.c: the tool compare_runs: runs or policies side by side, with the sampling error. */
#include "cli/mcp/study.h"
#include "cli/mcp/words.h"
#include "cli/plan/compare.h"
#include "sddp/run/compare.h"
#include "sddp/run/json.h"

#include <string.h>

static const struct cb_mcp_field input[] = {
    {.name = "runs",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_TEXT,
     .longest = CB_COMPARE_MOST,
     .required = true,
     .help = "2 to 8 folders of runs, or policy files; the others are compared with the first"},
    {.name = "by",
     .kind = CB_MCP_TEXT,
     .choices = (const char *const[]){"subsystem", "element", "stage", NULL},
     .fallback = "\"subsystem\"",
     .help = "subsystem: means over the stages; element: also of each element; stage: each stage of one kind"},
    {.name = "kind", .kind = CB_MCP_TEXT, .help = "only this kind of figures: marginal_cost, stored_energy, ..."},
    CB_MCP_PAGE_FIELDS("60"),
    {.name = NULL},
};

#define TEXT(key, text)                                                                                                \
    { .name = key, .kind = CB_MCP_TEXT, .required = true, .help = text }
#define NUMBER(key, text)                                                                                              \
    { .name = key, .kind = CB_MCP_NUMBER, .required = true, .nullable = true, .help = text }

static const struct cb_mcp_field run_fields[] = {
    TEXT("name", "that of the folder, made unique"),
    TEXT("path", "without symbolic links"),
    TEXT("words", "how it compares with the first run; empty of the first"),
    {.name = "sampling", .kind = CB_MCP_TEXT, .required = true, .nullable = true, .help = "null: it was not simulated"},
    {.name = "trajectories", .kind = CB_MCP_WHOLE, .required = true, .help = "of its simulation"},
    {.name = "seed", .kind = CB_MCP_WHOLE, .required = true, .help = "of its simulation"},
    {.name = "averse", .kind = CB_MCP_YES_NO, .required = true, .help = "trained with a risk measure"},
    {.name = NULL},
};

static const struct cb_mcp_field cell_fields[] = {
    NUMBER("value", "the mean over the trajectories; of rows over \"training\" the number itself"),
    NUMBER("deviation", "of the trajectories"),
    {.name = "count", .kind = CB_MCP_WHOLE, .required = true, .nullable = true, .help = "of the trajectories"},
    NUMBER("difference", "from the first run"),
    NUMBER("error", "half the 95 % interval of the difference"),
    {.name = "significant",
     .kind = CB_MCP_YES_NO,
     .required = true,
     .nullable = true,
     .help = "the difference is larger than the error: more than chance; null: there is no error to judge by"},
    TEXT("method", "of the error: pairs, independent, shares or stages; empty: there is no error"),
    TEXT("note", "why there is no difference, or no error"),
    {.name = NULL},
};

static const struct cb_mcp_field row_fields[] = {
    TEXT("over", "training; horizon: whole trajectories; stages: the mean over them; stage: this one"),
    TEXT("kind", "of the figure"),
    TEXT("level", "system, subsystem, element or component"),
    TEXT("element", "that it is of; empty: of the system"),
    TEXT("unit", "of the numbers"),
    {.name = "step", .kind = CB_MCP_WHOLE, .required = true, .nullable = true, .help = "null: not of one stage"},
    {.name = "stage", .kind = CB_MCP_WHOLE, .required = true, .nullable = true, .help = "null: not of one stage"},
    {.name = "date", .kind = CB_MCP_TEXT, .required = true, .nullable = true, .help = "of the stage"},
    {.name = "runs",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = cell_fields,
     .required = true,
     .help = "in the order of the runs"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "runs",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = run_fields,
     .required = true,
     .help = "what is compared"},
    {.name = "notes",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_TEXT,
     .required = true,
     .help = "what cannot be compared, or not as it seems, and what to do about it"},
    {.name = "rows",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = row_fields,
     .required = true,
     .help = "figures, side by side"},
    {.name = "row_count", .kind = CB_MCP_WHOLE, .required = true, .help = "rows on all pages"},
    CB_MCP_NEXT_FIELD,
    {.name = NULL},
};

/* The paths, each of which must be allowed. */
static bool find_runs(struct cb_mcp_call *call, struct cb_place *place, const char **path, size_t *count) {
    const json_t *runs = json_object_get(call->arguments, "runs");
    for (*count = 0; *count < json_array_size(runs); (*count)++) {
        const char *given = json_string_value(json_array_get(runs, *count));
        if (!cb_mcp_place_at(call, "runs", given, CB_PLACE_ANY, &place[*count]))
            return false;
        path[*count] = place[*count].path;
    }
    if (*count >= 2)
        return true;
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "runs",
                                                  .received = *count ? path[0] : "nothing",
                                                  .problem = "one run alone cannot be compared",
                                                  .allowed = "2 to 8 paths",
                                                  .next = "list_studies names the runs that are there"});
    return false;
}

static bool options_of(struct cb_mcp_call *call, cobre_sddp_compare_options *options) {
    const char *by = cb_mcp_text(call, "by");
    *options = (cobre_sddp_compare_options){.struct_size = sizeof *options,
                                            .by = by && strcmp(by, "element") == 0 ? COBRE_SDDP_BY_ELEMENT
                                                  : by && strcmp(by, "stage") == 0 ? COBRE_SDDP_BY_STAGE
                                                                                   : COBRE_SDDP_BY_SUBSYSTEM,
                                            .kind = cb_mcp_text(call, "kind")};
    if (options->by != COBRE_SDDP_BY_STAGE || options->kind)
        return true;
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "kind",
                                                  .received = "nothing",
                                                  .problem = "a comparison by stage needs a kind of figures",
                                                  .allowed = "a kind, such as marginal_cost or stored_energy",
                                                  .next = "give kind, too"});
    return false;
}

/* The kinds of figures that the runs have. */
static json_t *kinds_of(const char *const *path, size_t count) {
    cobre_sddp_comparison *comparison = NULL;
    json_t *known = json_object();
    if (cobre_sddp_compare(path, count, NULL, &comparison) == COBRE_OK)
        for (size_t r = 0; r < comparison->runs; r++)
            for (size_t i = 0; i < comparison->run[r].results.count; i++)
                cb_json_set(known, comparison->run[r].results.series[i].kind, json_true());
    cobre_sddp_comparison_free(&comparison);
    return known;
}

/* If it is not for the kind, then for what the runs are. */
static void explain(struct cb_mcp_call *call, const char *const *path, size_t count, const char *kind) {
    json_t *known = kind ? kinds_of(path, count) : json_object();
    if (json_object_size(known) > 0 && !json_object_get(known, kind))
        cb_study_unknown(call, "kind", kind, "kind", known, "give one of these, or none");
    else if (cobre_last_error()->file[0])
        cb_study_unfit(call, "runs", cobre_last_error()->file);
    else
        cb_mcp_failed(call);
    json_decref(known);
}

/* Texts of the planner that may name options. */
static void make_plain(json_t *facts) {
    json_t *run;
    size_t i;
    cb_json_set(facts, "notes", cb_mcp_plain_list(json_object_get(facts, "notes")));
    json_array_foreach(json_object_get(facts, "runs"), i, run) {
        cb_json_set(run, "words", cb_mcp_plain_json(json_string_value(json_object_get(run, "words"))));
    }
}

static void answer(struct cb_mcp_call *call, const cobre_sddp_comparison *comparison) {
    json_t *facts = cb_compare_json(comparison), *rows = json_object_get(facts, "rows");
    size_t count = json_array_size(rows), others = cb_study_length(facts) - cb_study_length(rows);
    make_plain(facts);
    const char *words = cb_json_text_in(json_array_get(json_object_get(facts, "runs"), 1), "words");
    const char *note = json_string_value(json_array_get(json_object_get(facts, "notes"), 0));
    cb_json_set(facts, "row_count", cb_json_count(count));
    json_incref(rows);
    cb_mcp_put_page(call, facts, "rows", rows, 60, others < 15000 ? 18500 - others : 3500);
    json_decref(rows);
    cb_mcp_answer(call, facts, "%s%s%s", *words ? words : "The runs are side by side below.", note ? " Mind: " : "",
                  note ? note : "");
}

static void compare(struct cb_mcp_call *call, const char *const *path, size_t count) {
    cobre_sddp_compare_options options;
    cobre_sddp_comparison *comparison = NULL;
    if (!options_of(call, &options))
        return;
    if (cobre_sddp_compare(path, count, &options, &comparison) != COBRE_OK)
        explain(call, path, count, options.kind);
    else
        answer(call, comparison);
    cobre_sddp_comparison_free(&comparison);
}

static void call(struct cb_mcp_call *call) {
    struct cb_place place[CB_COMPARE_MOST];
    const char *path[CB_COMPARE_MOST];
    size_t count;
    if (find_runs(call, place, path, &count))
        compare(call, path, count);
    while (count-- > 0)
        cb_place_close(&place[count]);
}

const struct cb_mcp_tool cb_mcp_compare_runs = {
    .name = "compare_runs",
    .title = "Compare runs",
    .description =
        "Puts 2 to 8 runs or policies side by side: costs, their worst 5 %, deficits, storages, prices, bounds. Says "
        "how each differs from the first one, with the error that the samples leave, and whether that is more "
        "than chance. Runs should be simulated with the same seed.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
