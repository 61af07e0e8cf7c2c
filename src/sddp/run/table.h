/* SPDX-License-Identifier: Apache-2.0 */
/* table.h: the CSV tables of a run folder, written and read back. */
#ifndef COBRE_SDDP_RUN_TABLE_H
#define COBRE_SDDP_RUN_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes a field, in quotes when it needs them; control characters become blanks, so that a row is a line. */
void cb_field_write(FILE *file, const char *text);

/* Some columns of a table with a header, read row by row. */
enum { CB_SHEET_FIELDS = 32 };
struct sheet {
    FILE *file;
    char *line;
    size_t room;
    size_t count, column[CB_SHEET_FIELDS]; /* the columns asked for, and where they are */
    char *field[CB_SHEET_FIELDS];          /* their fields in this row */
};

/* `columns` are their names, up to a NULL. False: there is no such table, or it lacks one of them. */
bool cb_sheet_open(struct sheet *sheet, const char *folder, const char *name, const char *const *columns);
bool cb_sheet_next(struct sheet *sheet); /* false: no more rows */
void cb_sheet_close(struct sheet *sheet);

#endif
