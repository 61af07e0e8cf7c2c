/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: rewrites texts of the planner, which are meant for a command line, for clients of tools: "--iterations" becomes
 * "iterations", "`cobre simulate`" becomes "`simulate`", and a document becomes a resource. */
#ifndef COBRE_CLI_MCP_WORDS_H
#define COBRE_CLI_MCP_WORDS_H

#include "cli/json.h"

void cb_mcp_plain(char *text); /* in place: it does not become longer */
json_t *cb_mcp_plain_json(const char *text);
json_t *cb_mcp_plain_list(const json_t *texts);

#endif
