/* SPDX-License-Identifier: Apache-2.0 */
/* case_files.h: the files of a case, byte by byte: to show their contents, and to change a number in a copy. Errors in
 * them do not matter here: the reader of cases reports those. */
#ifndef COBRE_CLI_MCP_CASE_FILES_H
#define COBRE_CLI_MCP_CASE_FILES_H

#include "cli/mcp/places.h"

#include <stdio.h>

struct cb_span {
    size_t at, length;
};

struct cb_case_file {
    char *name; /* "hydros.csv" */
    char *text; /* a zero byte follows */
    size_t size;

    /* Of a table. Lines whose fields are not as many as its columns are left out. */
    bool table;
    size_t columns, rows, fields, rows_room, fields_room;
    struct cb_span
        *field;   /* first the columns' names; then columns of them for each row; with quotes, without blanks */
    size_t *line; /* of each row, in the file */
    size_t header_line;
    bool no_memory;
};

struct cb_case_files {
    char folder[PATH_MAX];
    struct cb_case_file *at;
    size_t count, room;
    bool no_memory;
};

/* Reads the files of a folder (those that end in .csv, .json, .cobre or .md), or a single one. False: `why` says what
 * is wrong. Also then they are to be freed. */
bool cb_case_files_read(struct cb_places *places, const struct cb_place *place, struct cb_case_files *files,
                        char why[CB_PLACE_WHY]);
void cb_case_files_free(struct cb_case_files *files);
const struct cb_case_file *cb_case_file_find(const struct cb_case_files *files, const char *name); /* NULL: not there */

/* Reads one file, which the caller frees; NULL: `why` has the reason. */
char *cb_case_read(struct cb_places *places, const char *path, size_t most, size_t *size, char why[CB_PLACE_WHY]);

/* The text of a span, without its quotes. Of a long one the beginning. */
enum { CB_CASE_VALUE = 512 };
const char *cb_case_text(const struct cb_case_file *file, struct cb_span span, char text[CB_CASE_VALUE]);

/* Column by its name, whatever the case; SIZE_MAX: there is none. */
size_t cb_case_column(const struct cb_case_file *file, const char *name);

static inline struct cb_span cb_case_header(const struct cb_case_file *file, size_t column) {
    return file->field[column];
}

static inline struct cb_span cb_case_field(const struct cb_case_file *file, size_t row, size_t column) {
    return file->field[(row + 1) * file->columns + column];
}

#endif
