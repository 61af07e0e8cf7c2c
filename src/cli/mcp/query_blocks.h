/* SPDX-License-Identifier: Apache-2.0 */
/* query_blocks.h: the question of query_results, and figures by load block. */
#ifndef COBRE_CLI_MCP_QUERY_BLOCKS_H
#define COBRE_CLI_MCP_QUERY_BLOCKS_H

#include "cli/mcp/mcp.h"
#include "sddp/run/results.h"

struct cb_query {
    const char *kind, *element, *level; /* NULL: any */
    const char *by, *statistic;
    size_t from, to; /* stages */
    bool sample;     /* the trajectories were drawn, so that means have an interval */
};

extern const char *const cb_query_statistics[]; /* NULL after the last */
double cb_query_pick(const char *statistic, const struct cb_point *point);

/* From the detailed tables. NULL: the call has been refused. */
json_t *cb_query_blocks(struct cb_mcp_call *call, const struct cb_results *results, const struct cb_query *query);

#endif
