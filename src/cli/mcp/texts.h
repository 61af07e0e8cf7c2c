/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h: documents that the server hands out; cmake/mcp_texts.cmake makes them of the files in docs. */
#ifndef COBRE_CLI_MCP_TEXTS_H
#define COBRE_CLI_MCP_TEXTS_H

extern const char cb_mcp_case_format[];   /* case-format.md */
extern const char cb_mcp_case_schema[];   /* case.schema.json */
extern const char cb_mcp_events_schema[]; /* events.schema.json */

#endif
