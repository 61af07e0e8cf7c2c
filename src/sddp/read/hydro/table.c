/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: code that all readers of tables share: names, numbers with limits, keys. */
#include "sddp/read/hydro/hydro.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "options/distance.h"

void *cb_hydro_array(cb_hydro_case *c, size_t count, size_t size) {
    void *array = cb_arena_alloc(&c->arena, count, size);
    c->builder->no_memory |= !array;
    return array;
}

const char *cb_hydro_text(cb_hydro_case *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = cb_arena_text(&c->arena, format, arguments);
    va_end(arguments);
    c->builder->no_memory |= !text;
    return text ? text : "";
}

cb_place cb_hydro_place(cb_hydro_case *c, const char *file, size_t line) {
    return (cb_place){.file = cb_hydro_text(c, "%s/%s", c->folder, file), .line = line};
}

bool cb_hydro_open(cb_hydro_case *c, const char *file, bool optional, cb_csv *table) {
    const char *path = cb_hydro_text(c, "%s/%s", c->folder, file);
    *table = (cb_csv){.errors = c->builder->errors};
    return *path && cb_csv_read(c->builder, path, optional, table);
}

static bool required(const cb_hydro_case *c, const cb_hydro_field *field) {
    return field->required || (field->water && c->water);
}

double cb_hydro_number(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, const cb_hydro_field *field) {
    const char *text = cb_csv_text(table, row, column);
    double value = field->fallback;
    if (!*text && !required(c, field))
        return value;
    if (column == CB_NONE) /* the header was blamed */
        return NAN;
    cb_place at = cb_csv_place(table, row, column);
    if (!*text) {
        cb_error_at(c->builder, &at, CB_TEXT("give %s", field->unit), "is empty");
        value = NAN;
    } else if (!cb_csv_number(text, &value)) {
        cb_csv_not_a_number(c->builder, &at, text);
        value = NAN;
    } else if (value < field->low || value > field->high) {
        cb_error_at(c->builder, &at, CB_TEXT("give %s", field->unit), "%s is %s %g", text,
                    value < field->low ? "below" : "above", value < field->low ? field->low : field->high);
        value = NAN;
    }
    return value;
}

size_t cb_hydro_whole(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, size_t low, size_t high,
                      const char *what) {
    double value;
    const char *text = cb_csv_text(table, row, column);
    if (cb_csv_number(text, &value) && value >= (double)low && value <= (double)high && floor(value) == value)
        return (size_t)value;
    cb_error_at(c->builder, CB_CSV_AT(table, row, column), CB_TEXT("give a whole number from %zu to %zu", low, high),
                "\"%s\" is no %s", text, what);
    return CB_NONE;
}

void cb_hydro_field_columns(cb_hydro_case *c, cb_csv *table, const cb_hydro_field *field, size_t count,
                            size_t *columns) {
    for (size_t f = 0; f < count; f++)
        columns[f] = cb_csv_column(c->builder, table, field[f].name, required(c, &field[f]));
}

void cb_hydro_fields(cb_hydro_case *c, cb_csv *table, const size_t *columns, size_t row, const cb_hydro_field *field,
                     size_t count, void *element) {
    for (size_t f = 0; f < count; f++) {
        double value = cb_hydro_number(c, table, row, columns[f], &field[f]);
        memcpy((char *)element + field[f].offset, &value, sizeof value);
    }
}

/* Names become parts of column names like deficit[SE,tier]. */
bool cb_hydro_good_name(cb_hydro_case *c, const cb_place *at, const char *name) {
    if (!*name)
        cb_error_at(c->builder, at, "give one", "a name is missing");
    else if (strpbrk(name, "[],\"\t\r\n") || strlen(name) > 100)
        cb_error_at(c->builder, at, "use at most 100 bytes, without brackets, commas, quotes and tabs",
                    "\"%.120s\" is not a valid name", name);
    else
        return true;
    return false;
}

static const char *name_at(const cb_hydro_names *names, size_t index) {
    const char *name;
    memcpy(&name, (const char *)names->at + index * names->size, sizeof name);
    return name;
}

size_t cb_hydro_find(cb_hydro_names names, const char *name) {
    for (size_t i = 0; *name && i < names.count; i++)
        if (strcmp(name_at(&names, i), name) == 0)
            return i;
    return CB_NONE;
}

/* CB_NONE: none is close. */
static size_t find_closest(const cb_hydro_names *names, const char *name) {
    size_t closest = CB_NONE;
    for (size_t i = 0; i < names->count; i++)
        if (cb_is_close(name, name_at(names, i)) &&
            (closest == CB_NONE || cb_distance(name, name_at(names, i)) < cb_distance(name, name_at(names, closest))))
            closest = i;
    return closest;
}

/* First the closest one, if there is one. */
static void list_names(const cb_hydro_names *names, size_t closest, char *text, size_t size) {
    enum { MOST = 12 };
    size_t shown = 0;
    const char *before = closest == CB_NONE ? "known are: " : "; others: ";
    snprintf(text, size, "%s%s",
             closest == CB_NONE ? "" : "closest name: ", closest == CB_NONE ? "" : name_at(names, closest));
    for (size_t i = 0; i < names->count; i++)
        if (*name_at(names, i) && i != closest && shown++ < MOST)
            snprintf(text + strlen(text), size - strlen(text), "%s%s", shown > 1 ? ", " : before, name_at(names, i));
    if (shown > MOST)
        snprintf(text + strlen(text), size - strlen(text), " and %zu more", shown - MOST);
    if (!*text)
        snprintf(text, size, "there are none");
}

size_t cb_hydro_refer(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, cb_hydro_names names) {
    if (column == CB_NONE)
        return CB_NONE;
    const char *name = cb_csv_text(table, row, column);
    size_t index = cb_hydro_find(names, name);
    if (index != CB_NONE || names.unsure)
        return index;
    enum { GUESSES = 100 }; /* a table can have a million lines, of which few errors are told */
    char known[600];
    size_t closest = c->builder->errors < GUESSES ? find_closest(&names, name) : CB_NONE;
    list_names(&names, closest, known, sizeof known);
    cb_place at = cb_csv_place(table, row, column);
    if (*name)
        cb_error_at(c->builder, &at, CB_TEXT("correct the name%s%s", *names.file ? ", or add it to " : "", names.file),
                    "unknown %s \"%s\"; %s", names.word, name, known);
    else
        cb_error_at(c->builder, &at, NULL, "the %s is missing; %s", names.word, known);
    return CB_NONE;
}

cb_hydro_names cb_hydro_names_of(const cb_hydro_case *c, size_t kind) {
    const cb_hydro_kind *its = cb_hydro_kinds[kind];
    cb_hydro_names names = {.at = c->list[kind].at,
                            .count = c->list[kind].count,
                            .size = its->size,
                            .word = its->word,
                            .unsure = c->list[kind].unsure};
    snprintf(names.file, sizeof names.file, "%s.csv", its->table);
    return names;
}

cb_hydro_names cb_hydro_hydro_names(const cb_hydro_case *c) {
    return cb_hydro_names_of(c, CB_KIND_HYDRO);
}

cb_hydro_names cb_hydro_node_names(const cb_hydro_case *c) {
    return (cb_hydro_names){.at = c->subsystem,
                            .count = c->subsystems,
                            .size = sizeof *c->subsystem,
                            .word = "subsystem",
                            .file = "case.json"};
}

cb_hydro_names cb_hydro_subsystem_names(const cb_hydro_case *c) {
    cb_hydro_names names = cb_hydro_node_names(c);
    while (names.count > 0 && c->subsystem[names.count - 1].transshipment)
        names.count--;
    return names;
}

cb_hydro_names cb_hydro_block_names(const cb_hydro_case *c) {
    return (cb_hydro_names){.at = c->block,
                            .count = c->blocks,
                            .size = sizeof *c->block,
                            .word = "block",
                            .file = "blocks.csv",
                            .unsure = c->blocks_unsure};
}

cb_hydro_key cb_hydro_find_key(cb_hydro_case *c, cb_csv *table, size_t *column) {
    size_t stage = cb_csv_find(table, "stage"), season = cb_csv_find(table, "season");
    if (stage != CB_NONE && season != CB_NONE) {
        cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, season), "keep one",
                    "there are a column \"stage\" and a column \"season\"");
    }
    if (season != CB_NONE && c->seasons == 0) {
        cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, season),
                    "add \"seasons\" to case.json, or use a column \"stage\"", "the case has no seasons");
        *column = CB_NONE;
        return CB_HYDRO_ALWAYS;
    }
    *column = stage != CB_NONE ? stage : season;
    return stage != CB_NONE ? CB_HYDRO_BY_STAGE : season != CB_NONE ? CB_HYDRO_BY_SEASON : CB_HYDRO_ALWAYS;
}

size_t cb_hydro_periods(const cb_hydro_case *c, cb_hydro_key key) {
    return key == CB_HYDRO_BY_STAGE ? c->stages : key == CB_HYDRO_BY_SEASON ? c->seasons : 1;
}

size_t cb_hydro_period(const cb_hydro_case *c, cb_hydro_key key, size_t stage) {
    if (key == CB_HYDRO_BY_SEASON)
        return (stage + c->first_season - 1) % c->seasons;
    return key == CB_HYDRO_BY_STAGE ? stage : 0;
}

size_t cb_hydro_read_period(cb_hydro_case *c, const cb_csv *table, size_t row, cb_hydro_key key, size_t column) {
    if (key == CB_HYDRO_ALWAYS)
        return 0;
    const char *what = key == CB_HYDRO_BY_STAGE ? "stage of this case" : "season of this case";
    size_t number = cb_hydro_whole(c, table, row, column, 1, cb_hydro_periods(c, key), what);
    return number == CB_NONE ? CB_NONE : number - 1;
}

void cb_hydro_period_text(cb_hydro_key key, size_t period, char text[32]) {
    if (key == CB_HYDRO_ALWAYS)
        snprintf(text, 32, "every stage");
    else
        snprintf(text, 32, "%s %zu", key == CB_HYDRO_BY_STAGE ? "stage" : "season", period + 1);
}
