/* SPDX-License-Identifier: Apache-2.0 */
/* issues.h: the errors of a case, as a list that tools return. */
#ifndef COBRE_CLI_MCP_ISSUES_H
#define COBRE_CLI_MCP_ISSUES_H

#include "cli/mcp/mcp.h"

extern const struct cb_mcp_field cb_mcp_issue_fields[]; /* of one of them */

struct cb_mcp_issues {
    json_t *list; /* freed by the caller */
    size_t errors, warnings;
};

/* As a training would: reads the case, and looks for bounds of its nodes. What fails without an issue becomes one.
 * scenarios: a table of them, or NULL. False: it is not valid. *problem is to be freed in any case. */
bool cb_mcp_find_issues(cobre_comm *comm, const char *path, const char *scenarios, struct cb_mcp_issues *issues,
                        cobre_sddp_problem **problem);

#endif
