/* SPDX-License-Identifier: Apache-2.0 */
/* edit_json.h: finds the place of a value in the text of a JSON file, so that it alone can be replaced. */
#ifndef COBRE_CLI_MCP_EDIT_JSON_H
#define COBRE_CLI_MCP_EDIT_JSON_H

#include "cli/mcp/case_files.h"

struct cb_spot {
    struct cb_span value; /* length 0: it is not there, and would come at `at`, in the object that has been found */
    bool first;           /* ... as the first member of it */
    const char *key;      /* the last one of the path */
};

/* text: valid JSON. path: "inflow.openings", "subsystems.0". False: a key before the last one is not there, or what it
 * leads to has no members. */
bool cb_spot_find(const char *text, const char *path, struct cb_spot *spot);

#endif
