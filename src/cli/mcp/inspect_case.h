/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_case.h: the parts of the tool inspect_case. */
#ifndef COBRE_CLI_MCP_INSPECT_CASE_H
#define COBRE_CLI_MCP_INSPECT_CASE_H

#include "cli/mcp/case_files.h"
#include "cli/mcp/study.h"

struct cb_inspection {
    struct cb_mcp_call *call;
    const struct cb_case_files *files;
    const struct cb_study *study;
    size_t shown; /* of the longest list that goes on */
    bool more;    /* a list goes on */
};

/* inspect_tables.c */
json_t *cb_inspect_elements(struct cb_inspection *inspection);
json_t *cb_inspect_topology(struct cb_inspection *inspection);
json_t *cb_inspect_files(const struct cb_inspection *inspection);
void cb_inspect_settings(const struct cb_inspection *inspection, json_t *facts); /* "settings" and "inflow" */

/* inspect_element.c: all that the tables, or the nodes of a StochOptFormat file, say of one element. */
json_t *cb_inspect_element(const struct cb_inspection *inspection, const char *element);
json_t *cb_inspect_part(const struct cb_inspection *inspection, const char *element);

/* inspect_units.c: the units of the columns in these rows: {"hydros.csv": {"storage_max": "hm3"}}. */
json_t *cb_inspect_units(const struct cb_inspection *inspection, const json_t *rows, const char *element);

/* inspect_tables.c: the settings of the case; {} if they cannot be read. */
json_t *cb_inspect_json(const struct cb_inspection *inspection);

/* inspect_tables.c: the names of all elements, as keys. */
json_t *cb_inspect_names(const struct cb_inspection *inspection);

#endif
