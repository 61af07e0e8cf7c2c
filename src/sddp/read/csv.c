/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c: reads tables (csv.h). */
#include "sddp/read/csv.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/distance.h"
#include "sddp/grow.h"
#include "sddp/read/json_file.h"
#include "sddp/read/text.h"

typedef struct {
    cobre_sddp_builder *builder;
    cb_csv *table;
    char *at;
    cb_place place; /* of the line */
} scanner;

/* Reads a quoted field in place, from its opening quote; NULL: reported. */
static char *quoted(scanner *s) {
    char *field = ++s->at, *to = field;
    for (;; *to++ = *s->at++) {
        if (*s->at == '"' && s->at[1] == '"') {
            s->at++;
        } else if (*s->at == '"') {
            break;
        } else if (!*s->at || *s->at == '\n') {
            cb_error_at(s->builder, &s->place, "close it; names cannot have line breaks",
                        "a quote is not closed on its line");
            return NULL;
        }
    }
    s->at++;
    s->at += strspn(s->at, " \t\r");
    bool ends = !*s->at || *s->at == ',' || *s->at == '\n';
    *to = 0;
    if (!ends)
        cb_error_at(s->builder, &s->place, "write a quote inside a field as two",
                    "there is text after a closing quote");
    return ends ? field : NULL;
}

static char *plain(scanner *s) {
    char *field = s->at, *end = field + strcspn(field, ",\n");
    s->at = end;
    while (end > field && strchr(" \t\r", end[-1]))
        end--;
    if (memchr(field, '"', (size_t)(end - field))) {
        cb_error_at(s->builder, &s->place, "put the whole field in quotes, and double it",
                    "there is a quote inside a field");
        return NULL;
    }
    if (end != s->at) /* else the separator's place, which the caller overwrites */
        *end = 0;
    return field;
}

/* Ends the field at the separator and says which it was: ',' or, at the end of the line, '\n'. */
static char separator(scanner *s) {
    char was = *s->at;
    if (was)
        *s->at++ = 0;
    return was ? was : '\n';
}

static bool clean(scanner *s, const char *field) {
    bool ascii = true;
    for (const char *c = field; *c; c++) {
        ascii &= (unsigned char)*c < 0x80;
        if ((unsigned char)*c < ' ' && *c != '\t') {
            cb_error_at(s->builder, &s->place, "save it as plain text",
                        "there is a control character (0x%02x) in a field", (unsigned)*c);
            return false;
        }
    }
    if (!ascii && !cb_is_utf8(field)) {
        cb_error_at(s->builder, &s->place, "save it with the encoding UTF-8", "is not UTF-8 text");
        return false;
    }
    return true;
}

static bool add_field(scanner *s, char *field) {
    cb_csv *table = s->table;
    if (!CB_GROW(s->builder, table->field, table->fields, table->fields_room))
        return false;
    table->field[table->fields++] = field;
    return true;
}

static void skip_line(scanner *s) {
    s->at += strcspn(s->at, "\n");
    s->at += *s->at == '\n';
}

/* Reads the fields of one line; false: reported, and the line is skipped. */
static bool read_line(scanner *s) {
    for (;;) {
        s->at += strspn(s->at, " \t");
        char *field = *s->at == '"' ? quoted(s) : plain(s);
        if (!field) {
            skip_line(s);
            return false;
        }
        char end = separator(s);
        if (!clean(s, field) || !add_field(s, field)) {
            if (end != '\n')
                skip_line(s);
            return false;
        }
        if (end == '\n')
            return true;
    }
}

/* Goes on to the next line that holds something. */
static bool next_line(scanner *s) {
    for (; *s->at; skip_line(s)) {
        s->place.line++;
        size_t blank = strspn(s->at, " \t\r");
        if (s->at[0] != '#' && s->at[blank] && s->at[blank] != '\n')
            return true;
    }
    return false;
}

/* True: it is a whole line, in which something else stands for the commas. Reported. */
static bool has_other_separators(scanner *s, const char *field) {
    bool semicolon = strchr(field, ';'), tab = strchr(field, '\t');
    if (semicolon || tab)
        cb_error_once(s->builder, &s->place, "separate them by commas, with decimal points",
                      "columns are separated by %s", semicolon ? "\";\"" : "tabs");
    return semicolon || tab;
}

static bool check_header(scanner *s) {
    cb_csv *table = s->table;
    if (table->columns == 1 && has_other_separators(s, table->header[0]))
        return false;
    bool good = true;
    for (size_t c = 0; c < table->columns; c++) {
        if (!*table->header[c]) {
            cb_error_at(s->builder, &s->place, "name it in the first line", "column %zu has no name", c + 1);
            good = false;
            continue;
        }
        size_t other = 0;
        while (strcmp(table->header[other], table->header[c]) != 0)
            other++;
        if (other < c) {
            cb_error_at(s->builder, &s->place, "keep one", "two columns are called \"%s\"", table->header[c]);
            good = false;
        }
    }
    return good;
}

/* The fields of the first line become the header. */
static bool read_header(scanner *s) {
    cb_csv *table = s->table;
    if (!next_line(s)) {
        s->place.line = 1;
        cb_error_at(s->builder, &s->place, "the first line names the columns", "is empty");
        return false;
    }
    table->header_line = s->place.line;
    if (!read_line(s))
        return false;
    table->header = table->field;
    table->columns = table->fields;
    table->field = NULL;
    table->fields = table->fields_room = 0;
    table->known = calloc(table->columns, sizeof *table->known);
    table->place = calloc(table->columns, sizeof *table->place);
    bool memory = table->known && table->place;
    for (size_t c = 0; memory && c < table->columns; c++)
        if (asprintf(&table->place[c], "column %s", table->header[c]) < 0) {
            table->place[c] = NULL;
            memory = false;
        }
    s->builder->no_memory |= !memory;
    return memory && check_header(s);
}

static bool is_digits(const char *text) {
    return *text && !text[strspn(text, "0123456789")];
}

/* Each field too many follows a number, and could be its decimals. */
static bool has_decimal_commas(char *const *field, size_t count, size_t columns) {
    size_t pairs = 0;
    for (size_t i = 0; i + 1 < count; i++)
        if (is_digits(field[i] + (*field[i] == '-')) && is_digits(field[i + 1])) {
            pairs++;
            i++;
        }
    return count > columns && pairs >= count - columns;
}

static void blame_count(scanner *s, char *const *field, size_t count) {
    if (count == 1 && has_other_separators(s, field[0]))
        return;
    if (has_decimal_commas(field, count, s->table->columns))
        cb_error_once(s->builder, &s->place, "write a decimal point, here and in the whole table",
                      "has %zu fields, but the header names %zu columns: is there a decimal comma?", count,
                      s->table->columns);
    else
        cb_error_at(s->builder, &s->place, "give one value for each column",
                    "has %zu field%s, but the header names %zu columns", count, count == 1 ? "" : "s",
                    s->table->columns);
}

static void read_rows(scanner *s) {
    cb_csv *table = s->table;
    while (next_line(s) && !s->builder->no_memory) {
        size_t before = table->rows * table->columns;
        bool good = read_line(s);
        size_t count = table->fields - before;
        if (good && count != table->columns) {
            blame_count(s, table->field + before, count);
            good = false;
        }
        if (good && CB_GROW(s->builder, table->line, table->rows, table->rows_room))
            table->line[table->rows++] = s->place.line;
        table->fields = table->rows * table->columns;
    }
}

bool cb_csv_read(cobre_sddp_builder *builder, const char *path, bool optional, cb_csv *table) {
    size_t size = 0;
    *table = (cb_csv){.path = strdup(path), .errors = builder->errors};
    builder->no_memory |= !table->path;
    table->text = cb_read_text(builder, path, optional, &size);
    if (!table->text || !table->path)
        return false;
    scanner s = {.builder = builder, .table = table, .at = table->text, .place = {.file = path}};
    if (strncmp(s.at, "\xEF\xBB\xBF", 3) == 0)
        s.at += 3;
    if (!read_header(&s))
        return false;
    read_rows(&s);
    return true;
}

void cb_csv_free(cb_csv *table) {
    for (size_t c = 0; table->place && c < table->columns; c++)
        free(table->place[c]);
    free(table->place);
    free(table->path);
    free(table->text);
    free(table->header);
    free(table->field);
    free(table->line);
    free(table->known);
    for (size_t i = 0; i < table->asks; i++)
        free(table->asked[i].name);
    free(table->asked);
    *table = (cb_csv){0};
}

/* Adds a name to those that this table knows. */
static void note(cb_csv *table, const char *name, size_t column, const char *advice) {
    for (size_t i = 0; i < table->asks; i++)
        if (strcmp(table->asked[i].name, name) == 0)
            return;
    char *copy = strdup(name);
    if (!copy || !CB_GROW(table, table->asked, table->asks, table->asks_room)) {
        table->no_memory = true;
        free(copy);
        return;
    }
    table->asked[table->asks++] = (cb_csv_name){.name = copy, .there = column != CB_NONE, .advice = advice};
}

/* The only column whose name compares equal; CB_NONE: there is none, or more than one. */
static size_t only_column(const cb_csv *table, const char *name, int compare(const char *, const char *)) {
    size_t found = CB_NONE;
    for (size_t c = 0; c < table->columns; c++)
        if (compare(table->header[c], name) == 0) {
            if (found != CB_NONE)
                return CB_NONE;
            found = c;
        }
    return found;
}

static size_t find(cb_csv *table, const char *name, const char *advice) {
    size_t column = only_column(table, name, strcmp);
    if (column == CB_NONE)
        column = only_column(table, name, strcasecmp);
    if (column != CB_NONE && table->known[column]) /* it was asked for before */
        return column;
    if (column != CB_NONE)
        table->known[column] = true;
    table->incomplete |= column == CB_NONE && advice;
    note(table, name, column, advice);
    return column;
}

size_t cb_csv_find(cb_csv *table, const char *name) {
    return find(table, name, NULL);
}

size_t cb_csv_need(cb_csv *table, const char *name, const char *advice) {
    return find(table, name, advice);
}

bool cb_csv_sound(const cobre_sddp_builder *builder, const cb_csv *table) {
    return builder->errors == table->errors;
}

cb_place cb_csv_place(const cb_csv *table, size_t row, size_t column) {
    return (cb_place){.file = table->path,
                      .line = row < table->rows ? table->line[row] : table->header_line,
                      .text = column < table->columns ? table->place[column] : ""};
}

const char *cb_csv_text(const cb_csv *table, size_t row, size_t column) {
    return column < table->columns ? table->field[row * table->columns + column] : "";
}

bool cb_csv_number(const char *text, double *value) {
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return false;
    locale_t plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain_locale)
        return false;
    char *end;
    *value = strtod_l(text, &end, plain_locale);
    freelocale(plain_locale);
    return !*end && isfinite(*value);
}

size_t cb_csv_column(cobre_sddp_builder *builder, cb_csv *table, const char *name, bool required) {
    size_t column = find(table, name, required ? "add it" : NULL);
    builder->no_memory |= table->no_memory;
    return column;
}

/* The known name that was probably meant; rather one that no other column has. NULL: none is close. */
static cb_csv_name *find_closest(const cb_csv *table, const char *column) {
    cb_csv_name *closest = NULL;
    size_t best = 0;
    for (size_t i = 0; i < table->asks; i++) {
        cb_csv_name *name = &table->asked[i];
        size_t distance = cb_is_close(column, name->name) ? 1 + 2 * cb_distance(column, name->name) + name->there : 0;
        if (distance > 0 && (!closest || distance < best)) {
            closest = name;
            best = distance;
        }
    }
    return closest;
}

/* "stage, season, ...", as far as there is room. */
static const char *list_names(const cb_csv *table, const cb_csv_name *but, char text[512]) {
    size_t length = 0;
    text[0] = 0;
    for (size_t i = 0; i < table->asks && length < 500; i++) {
        const char *name = table->asked[i].name, *before = length ? ", " : "";
        bool full = length + strlen(name) > 480;
        if (&table->asked[i] != but)
            length += (size_t)snprintf(text + length, 512 - length, "%s%s", before, full ? "..." : name);
        if (full)
            break;
    }
    return *text ? text : "none";
}

/* Blames it for what is missing, too, if that is what its name was meant to be. */
static void blame_column(cobre_sddp_builder *builder, const cb_csv *table, size_t column, bool guess) {
    char names[512];
    cb_csv_name *closest = guess ? find_closest(table, table->header[column]) : NULL;
    cb_error_at(builder, CB_CSV_AT(table, CB_NONE, column), "correct its name, or call a column of remarks \"note\"",
                "unknown column \"%s\"; %s%s%s%s", table->header[column], closest ? "closest name: " : "",
                closest ? closest->name : "",
                closest ? "; others: " : "known here: ", list_names(table, closest, names));
    if (closest)
        closest->there = true;
}

/* Columns that nobody asked for are mistakes: an optional one that is misspelt would go unnoticed. */
void cb_csv_check_columns(cobre_sddp_builder *builder, cb_csv *table) {
    enum { GUESSES = 20 }; /* a header can have millions of columns */
    size_t unknown = 0;
    for (size_t column = 0; column < table->columns; column++)
        if (!table->known[column] && strcmp(table->header[column], "note") != 0)
            blame_column(builder, table, column, unknown++ < GUESSES);
    for (size_t i = 0; i < table->asks; i++)
        if (table->asked[i].advice && !table->asked[i].there)
            cb_error_at(builder, CB_CSV_AT(table, CB_NONE, CB_NONE), table->asked[i].advice,
                        "there is no column \"%s\"", table->asked[i].name);
    builder->no_memory |= table->no_memory;
    table->incomplete |= unknown > 0;
    if (table->incomplete)
        table->rows = 0;
}

void cb_csv_not_a_number(cobre_sddp_builder *builder, const cb_place *at, const char *text) {
    if (strchr(text, ','))
        cb_error_once(builder, at, "write a decimal point, and no thousands separators, here and in the whole table",
                      "\"%s\" is not a number: it has a comma", text);
    else
        cb_error_at(builder, at, strchr(text, '%') ? "write a share: 5 % is 0.05" : "write it like 12.5 or 1e3",
                    "\"%s\" is not a number", text);
}
