/* SPDX-License-Identifier: Apache-2.0 */
/* validate_case.c: the tool validate_case: every problem of a case. */
#include "cli/mcp/issues.h"

static const struct cb_mcp_field input[] = {
    {.name = "case",
     .kind = CB_MCP_TEXT,
     .required = true,
     .help = "the case: a folder with case.json, or a *.sof.json file; absolute or below a root"},
    CB_MCP_PAGE_FIELDS("50"),
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "case", .kind = CB_MCP_TEXT, .required = true, .help = "the path, without symbolic links"},
    {.name = "valid", .kind = CB_MCP_YES_NO, .required = true, .help = "it can be trained"},
    {.name = "errors", .kind = CB_MCP_WHOLE, .required = true, .help = "how many there are"},
    {.name = "warnings", .kind = CB_MCP_WHOLE, .required = true, .help = "how many there are"},
    {.name = "problems",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = cb_mcp_issue_fields,
     .required = true,
     .help = "errors and warnings, in the order of the files"},
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

static void answer(struct cb_mcp_call *call, const char *path, const struct cb_mcp_issues *found,
                   const cobre_sddp_problem *problem) {
    json_t *facts = json_object();
    cb_json_set(facts, "case", cb_json_text(path));
    cb_json_set(facts, "valid", json_boolean(problem != NULL));
    cb_json_set(facts, "errors", cb_json_count(found->errors));
    cb_json_set(facts, "warnings", cb_json_count(found->warnings));
    cb_mcp_put_page(call, facts, "problems", found->list, 50, 8000);
    if (problem)
        put_size(facts, problem);
    cb_mcp_answer(call, facts, "The case is %s: %zu error%s, %zu warning%s.", problem ? "valid" : "not valid",
                  found->errors, found->errors == 1 ? "" : "s", found->warnings, found->warnings == 1 ? "" : "s");
}

static void call(struct cb_mcp_call *call) {
    struct cb_place place;
    struct cb_mcp_issues found = {.errors = 0};
    cobre_sddp_problem *problem = NULL;
    if (!cb_mcp_place(call, "case", CB_PLACE_ANY, &place))
        return;
    bool valid = cb_mcp_find_issues(call->server->comm, place.path, &found, &problem);
    if (!valid && cobre_last_error()->status == COBRE_ALLOCATION_FAILED) /* which says nothing about the case */
        cb_mcp_refuse(call, "start a job with it, such as train, or use cobre on the command line",
                      "this server has too little memory for the case: %s", cobre_last_error()->message);
    else
        answer(call, place.path, &found, valid ? problem : NULL);
    json_decref(found.list);
    cobre_sddp_problem_free(&problem);
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
