/* SPDX-License-Identifier: Apache-2.0 */
/* edit_changes.h: the effect of a list of changes on the files of a case. */
#ifndef COBRE_CLI_MCP_EDIT_CHANGES_H
#define COBRE_CLI_MCP_EDIT_CHANGES_H

#include "cli/mcp/case_files.h"
#include "cli/mcp/study.h"

/* A part of a file that is replaced. */
struct cb_edit {
    const struct cb_case_file *file;
    struct cb_span span;
    char *new; /* as it is written */
};

struct cb_edits {
    struct cb_edit *at; /* in the order of files and places */
    size_t count, room;
    json_t *differences; /* {"file", "line", "place", "old", "new"} */
    json_t *counts;      /* {"load.csv": {"north": 36}} */
    json_t *notes;       /* texts: changes that the user should check */
    bool no_memory;
};

/* Reads the argument "changes". False: the call has been refused. The caller frees them, also then. */
bool cb_edits_find(struct cb_mcp_call *call, const struct cb_case_files *files, struct cb_edits *edits);
void cb_edits_free(struct cb_edits *edits);

/* Adds a change of a JSON file. path: of keys. new: taken over. told: the new value without quotes. */
bool cb_edits_add(struct cb_edits *edits, const struct cb_case_file *file, struct cb_span span, const char *path,
                  char *new, const char *told);

/* Is this part of the file, or some of it, changed already? */
bool cb_edits_has(const struct cb_edits *edits, const struct cb_case_file *file, struct cb_span span);

/* Writes a file with its edits. */
void cb_edits_write(const struct cb_edits *edits, const struct cb_case_file *file, FILE *to);

#endif
