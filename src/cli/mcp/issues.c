/* SPDX-License-Identifier: Apache-2.0 */
/* issues.c: finds all errors of a case. */
#include "cli/mcp/issues.h"

#include "cli/mcp/words.h"

const struct cb_mcp_field cb_mcp_issue_fields[] = {
    {.name = "warning", .kind = CB_MCP_YES_NO, .required = true, .help = "the case can be solved all the same"},
    {.name = "file", .kind = CB_MCP_TEXT, .required = true, .help = "where it is"},
    {.name = "line", .kind = CB_MCP_WHOLE, .required = true, .nullable = true, .help = "in the file, from 1"},
    {.name = "place", .kind = CB_MCP_TEXT, .required = true, .help = "column of a table, or path in a JSON file"},
    {.name = "message", .kind = CB_MCP_TEXT, .required = true, .help = "what is wrong"},
    {.name = "remedy", .kind = CB_MCP_TEXT, .required = true, .help = "what to do about it"},
    {.name = "more", .kind = CB_MCP_WHOLE, .required = true, .help = "others of this kind that are not listed"},
    {.name = NULL},
};

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    struct cb_mcp_issues *found = arg;
    json_t *row = json_object();
    cb_json_set(row, "warning", json_boolean(issue->warning));
    cb_json_set(row, "file", cb_json_text(issue->file));
    cb_json_set(row, "line", issue->line ? cb_json_count(issue->line) : json_null());
    cb_json_set(row, "place", cb_json_text(issue->place));
    cb_json_set(row, "message", cb_mcp_plain_json(issue->message));
    cb_json_set(row, "remedy", cb_mcp_plain_json(issue->suggestion));
    cb_json_set(row, "more", cb_json_count(issue->more));
    cb_json_append(found->list, row);
    *(issue->warning ? &found->warnings : &found->errors) += 1 + issue->more;
}

bool cb_mcp_find_issues(cobre_comm *comm, const char *path, const char *scenarios, struct cb_mcp_issues *found,
                        cobre_sddp_problem **problem) {
    *found = (struct cb_mcp_issues){.list = json_array()};
    cobre_sddp_load_options load = {
        .struct_size = sizeof load, .scenarios = scenarios, .issue = on_issue, .arg = found};
    cobre_sddp_validate_options options = {.struct_size = sizeof options, .issue = on_issue, .arg = found};
    if (cobre_sddp_load(comm, path, &load, problem) == COBRE_OK && cobre_sddp_validate(*problem, &options) == COBRE_OK)
        return true;
    const cobre_error *error = cobre_last_error();
    if (found->errors == 0)
        on_issue(found, &(cobre_sddp_issue){.file = error->file,
                                            .line = error->line,
                                            .place = "",
                                            .message = error->message,
                                            .suggestion = error->suggestion});
    return false;
}
