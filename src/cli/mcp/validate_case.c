/* SPDX-License-Identifier: Apache-2.0 */
/* validate_case.c: the tool validate_case: every problem of a case. */
#include "cli/mcp/case_files.h"
#include "cli/mcp/issues.h"
#include "cli/mcp/study.h"

#include <string.h>

static const struct cb_mcp_field input[] = {
    {.name = "case",
     .kind = CB_MCP_TEXT,
     .required = true,
     .help = "the case: a folder with case.json, or a *.sof.json file; absolute or below a root"},
    {.name = "table",
     .kind = CB_MCP_TEXT,
     .help = "report errors of this table (hydros.csv) and of case.json only, while other tables are not ready yet"},
    {.name = "scenarios",
     .kind = CB_MCP_TEXT,
     .help = "a table of scenarios to simulate: it is checked, too; absolute or below a root"},
    CB_MCP_PAGE_FIELDS("50"),
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "case", .kind = CB_MCP_TEXT, .required = true, .help = "the path, without symbolic links"},
    {.name = "valid",
     .kind = CB_MCP_YES_NO,
     .required = true,
     .help = "it can be trained; with table: that one has no error"},
    {.name = "errors", .kind = CB_MCP_WHOLE, .required = true, .help = "how many there are"},
    {.name = "warnings", .kind = CB_MCP_WHOLE, .required = true, .help = "how many there are"},
    {.name = "problems",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = cb_mcp_issue_fields,
     .required = true,
     .help = "errors and warnings, in the order of the files"},
    {.name = "elsewhere",
     .kind = CB_MCP_WHOLE,
     .required = true,
     .help = "errors in other tables than the one asked for"},
    CB_MCP_NEXT_FIELD,
    {.name = "name", .kind = CB_MCP_TEXT, .nullable = true, .help = "of a valid case"},
    {.name = "contents", .kind = CB_MCP_TEXT, .nullable = true, .help = "its elements, in words"},
    {.name = "nodes", .kind = CB_MCP_WHOLE, .nullable = true, .help = "stages, or nodes of a graph"},
    {.name = "states", .kind = CB_MCP_WHOLE, .nullable = true, .help = "reservoirs, and inflows that are remembered"},
    {.name = NULL},
};

static void put_size(json_t *facts, const cobre_sddp_problem *problem) {
    cb_json_set(facts, "name", cb_json_text(cobre_sddp_problem_name(problem)));
    cb_json_set(facts, "contents", cb_json_text(cobre_sddp_problem_contents(problem)));
    cb_json_set(facts, "nodes", cb_json_count(cobre_sddp_problem_nodes(problem)));
    cb_json_set(facts, "states", cb_json_count(cobre_sddp_problem_states(problem)));
}

static bool is_about(const json_t *issue, const char *table) {
    const char *file = json_string_value(json_object_get(issue, "file")), *slash = strrchr(file, '/');
    return strcmp(slash ? slash + 1 : file, table) == 0;
}

/* Leaves what is about this table; errors of case.json keep tables from being read. How many errors are elsewhere. */
static size_t only(struct cb_mcp_issues *found, const char *table) {
    size_t elsewhere = 0;
    for (size_t i = 0; table && i < json_array_size(found->list);) {
        const json_t *issue = json_array_get(found->list, i);
        bool warning = json_is_true(json_object_get(issue, "warning"));
        size_t count = 1 + (size_t)json_integer_value(json_object_get(issue, "more"));
        if (is_about(issue, table) || (!warning && is_about(issue, "case.json"))) {
            i++;
            continue;
        }
        *(warning ? &found->warnings : &found->errors) -= count;
        elsewhere += warning ? 0 : count;
        json_array_remove(found->list, i);
    }
    return elsewhere;
}

static void answer(struct cb_mcp_call *call, const char *path, struct cb_mcp_issues *found,
                   const cobre_sddp_problem *problem, bool whole) {
    const char *table = cb_mcp_text(call, "table");
    size_t elsewhere = only(found, table);
    bool valid = table ? found->errors == 0 : whole;
    json_t *facts = json_object();
    cb_json_set(facts, "case", cb_json_text(path));
    cb_json_set(facts, "valid", json_boolean(valid));
    cb_json_set(facts, "errors", cb_json_count(found->errors));
    cb_json_set(facts, "warnings", cb_json_count(found->warnings));
    cb_mcp_put_page(call, facts, "problems", found->list, 50, 8000);
    cb_json_set(facts, "elsewhere", cb_json_count(elsewhere));
    if (whole)
        put_size(facts, problem);
    cb_mcp_answer(call, facts, "The %s is %s: %zu error%s, %zu warning%s.%s", table ? "table" : "case",
                  valid ? "valid" : "not valid", found->errors, found->errors == 1 ? "" : "s", found->warnings,
                  found->warnings == 1 ? "" : "s", elsewhere ? " Other tables have errors." : "");
}

/* A table that is not there has no errors: it would be valid. */
static bool check_table(struct cb_mcp_call *call, const struct cb_place *place) {
    const char *table = cb_mcp_text(call, "table");
    struct cb_case_files files;
    char why[CB_PLACE_WHY];
    if (!table)
        return true;
    bool read = cb_case_files_read(&call->server->places, place, &files, why);
    bool there = read && cb_case_file_find(&files, table);
    json_t *known = json_object();
    for (size_t i = 0; i < files.count; i++)
        cb_json_set(known, files.at[i].name, json_true());
    if (!read)
        cb_mcp_refuse(call, "list_studies names the cases that are there", "%s", why);
    else if (!there)
        cb_study_unknown(call, "table", table, "table", known, "give one of these, or none");
    json_decref(known);
    cb_case_files_free(&files);
    return there;
}

static void call(struct cb_mcp_call *call) {
    struct cb_place place, scenarios = {.fd = -1};
    struct cb_mcp_issues found = {.errors = 0};
    cobre_sddp_problem *problem = NULL;
    bool more = cb_mcp_text(call, "scenarios");
    if (!cb_mcp_place(call, "case", CB_PLACE_ANY, &place))
        return;
    if (check_table(call, &place) && (!more || cb_mcp_place(call, "scenarios", CB_PLACE_FILE, &scenarios))) {
        bool valid = cb_mcp_find_issues(call->server->comm, place.path, more ? scenarios.path : NULL, &found, &problem);
        if (!valid && cobre_last_error()->status == COBRE_ALLOCATION_FAILED) /* which says nothing about the case */
            cb_mcp_refuse(call, "start a job with it, such as train, or use cobre on the command line",
                          "this server has too little memory for the case: %s", cobre_last_error()->message);
        else
            answer(call, place.path, &found, problem, valid);
    }
    json_decref(found.list);
    cobre_sddp_problem_free(&problem);
    cb_place_close(&scenarios);
    cb_place_close(&place);
}

const struct cb_mcp_tool cb_mcp_validate_case = {
    .name = "validate_case",
    .title = "Validate a case",
    .description =
        "Reads a case as a training would, and lists every error and warning with file, line, column and remedy. "
        "Of a valid case it says how large it is. Nothing is written.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
