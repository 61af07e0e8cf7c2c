/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/run/table.h"
#include "sddp/open.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void cb_field_write(FILE *file, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (const char *at = text; *at; at++) {
        if (*at == '"')
            putc('"', file);
        putc((unsigned char)*at < 0x20 ? ' ' : *at, file);
    }
    putc('"', file);
}

/* Cuts a field out of the line, in place; returns where the next one starts, NULL after the last. */
static char *cut_field(char *at, char **field) {
    char *to = NULL; /* the end of a quoted one */
    *field = at;
    if (*at == '"') {
        to = *field = ++at;
        for (; *at && !(at[0] == '"' && at[1] != '"'); at++) {
            at += *at == '"';
            *to++ = *at;
        }
        at += *at == '"';
    }
    at += strcspn(at, ",\r\n");
    bool more = *at == ',';
    *(to ? to : at) = '\0';
    return more ? at + 1 : NULL;
}

/* Cuts the next line into `field`; what it lacks reads as empty. False: there is no more. */
static bool read_line(struct sheet *sheet, char *field[CB_SHEET_FIELDS]) {
    if (getline(&sheet->line, &sheet->room, sheet->file) < 0)
        return false;
    char *end = sheet->line + strlen(sheet->line), *next = sheet->line;
    for (size_t i = 0; i < CB_SHEET_FIELDS; i++)
        if (next)
            next = cut_field(next, &field[i]);
        else
            field[i] = end;
    return true;
}

bool cb_sheet_next(struct sheet *sheet) {
    char *all[CB_SHEET_FIELDS];
    if (!read_line(sheet, all))
        return false;
    for (size_t i = 0; i < sheet->count; i++)
        sheet->field[i] = all[sheet->column[i]];
    return true;
}

bool cb_sheet_open(struct sheet *sheet, const char *folder, const char *name, const char *const *columns) {
    char path[PATH_MAX], *all[CB_SHEET_FIELDS];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    struct stat status; /* a pipe would wait for somebody */
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    *sheet = (struct sheet){.file = regular ? cb_open_stream(path, "r") : NULL};
    bool good = sheet->file && read_line(sheet, all);
    for (; good && columns[sheet->count]; sheet->count++) {
        size_t *column = &sheet->column[sheet->count];
        while (*column < CB_SHEET_FIELDS && strcmp(all[*column], columns[sheet->count]) != 0)
            (*column)++;
        good = *column < CB_SHEET_FIELDS;
    }
    if (!good)
        cb_sheet_close(sheet);
    return good;
}

void cb_sheet_close(struct sheet *sheet) {
    if (sheet->file)
        fclose(sheet->file);
    free(sheet->line);
}
