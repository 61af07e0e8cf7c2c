/* SPDX-License-Identifier: Apache-2.0 */
/* stdio.h: serves a client on standard input and output, until it has gone. */
#ifndef COBRE_CLI_MCP_STDIO_H
#define COBRE_CLI_MCP_STDIO_H

#include "cli/mcp/mcp.h"

bool cb_mcp_stdio(struct cb_mcp *server); /* false: it could not begin; see errno */

#endif
