/* table.h: the CSV tables of a run folder, written and read back. */
#ifndef COBRE_SDDP_RUN_TABLE_H
#define COBRE_SDDP_RUN_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a field, in quotes when it needs them; control characters become blanks, so that a row is a line. */
void cb_field_write(FILE *file, const char *text);

/* A file that takes its place only when it is whole, so that an older one survives a full disk. What is no regular
 * file (/dev/stdout) is written directly. False: errno says why. */
struct draft {
    FILE *file;
    char path[PATH_MAX], part[PATH_MAX]; /* part: as it is written */
};
bool cb_draft_open(struct draft *draft, const char *path);
bool cb_draft_close(struct draft *draft, bool good); /* not good: it is thrown away */

/* A table with a header, read row by row. */
enum { CB_SHEET_FIELDS = 32 };
struct sheet {
    FILE *file;
    char *line, *header;
    size_t room, number; /* number: of the line, from 1 */
    char *field[CB_SHEET_FIELDS], *name[CB_SHEET_FIELDS];
    size_t fields, columns;
};
bool cb_sheet_open(struct sheet *sheet, const char *folder, const char *name); /* false: there is none to read */
bool cb_sheet_next(struct sheet *sheet);                                       /* false: no more rows */
size_t cb_sheet_column(const struct sheet *sheet, const char *name);           /* CB_SHEET_FIELDS: there is none */
void cb_sheet_close(struct sheet *sheet);

#endif
