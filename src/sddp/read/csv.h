/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h: one table of a case: comma-separated, the first line names the columns, RFC 4180 quotes.
 *
 * The reader is strict where leniency would hide a mistake: every line has as many fields as the header; a quoted field ends
 * on its line; the text is UTF-8. It tolerates what programs write: a byte order mark, CRLF, blanks around fields, empty
 * lines, no newline at the end, lines that start with #, a column name in the wrong case. */
#ifndef COBRE_SDDP_READ_CSV_H
#define COBRE_SDDP_READ_CSV_H

#include "sddp/problem/builder.h"

/* A column that was asked for. */
typedef struct {
    char *name;
    bool there;         /* the table has it, or a misspelling of its name was reported */
    const char *advice; /* for the error if it is missing; NULL: it is optional */
} cb_csv_name;

typedef struct {
    char *path, *text; /* fields lie in text */
    size_t columns, rows, fields, fields_room, rows_room;
    char **header, **field; /* field of row r, column c: field[r * columns + c] */
    size_t header_line;
    size_t *line;    /* of each row, in the file */
    char **place;    /* "column NAME", of each column */
    bool *known;     /* columns that were asked for */
    bool incomplete; /* a required column is missing */
    size_t errors;   /* the number of errors before it was read */
    cb_csv_name *asked;
    size_t asks, asks_room;
    bool no_memory;
} cb_csv;

/* False: there is no such table (reported unless `optional`), or nothing of it could be read (reported). Wrong lines
 * are reported and left out. The caller frees the table in any case. */
bool cb_csv_read(cobre_sddp_builder *builder, const char *path, bool optional, cb_csv *table);
void cb_csv_free(cb_csv *table);

size_t cb_csv_find(cb_csv *table, const char *name); /* marks the column as known; CB_NONE: there is none */
size_t cb_csv_need(cb_csv *table, const char *name, const char *advice); /* the same for a required column */
size_t cb_csv_column(cobre_sddp_builder *builder, cb_csv *table, const char *name,
                     bool required); /* either of the two */
/* Call it after all columns were asked for. Reports unknown columns, and required ones that are missing, unless an unknown
 * name is close to theirs. Such a table has no rows from here on: the meaning of its lines is not sure, and each would
 * repeat the error of the header. */
void cb_csv_check_columns(cobre_sddp_builder *builder, cb_csv *table);

/* The place of a field. column CB_NONE: of the row. row CB_NONE: of the header. It lasts as long as the table. */
cb_place cb_csv_place(const cb_csv *table, size_t row, size_t column);
#define CB_CSV_AT(...) ((const cb_place[]){cb_csv_place(__VA_ARGS__)}) /* as an argument */

bool cb_csv_sound(const cobre_sddp_builder *builder, const cb_csv *table); /* has it no reported error? */

const char *cb_csv_text(const cb_csv *table, size_t row, size_t column); /* "" for column CB_NONE */

/* A decimal number, whatever the locale; false for anything else: hexadecimal, infinities, NaN, trailing text. */
bool cb_csv_number(const char *text, double *value);
void cb_csv_not_a_number(cobre_sddp_builder *builder, const cb_place *at,
                         const char *text); /* reports a text that is not a number, with advice */

#endif
