/* changes.c: changes.csv, numbers of the other tables that differ in some stages or seasons. */
#include "sddp/read/hydro/hydro.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/grow.h"

static const char *line_name(const cb_hydro_case *c, size_t index) {
    static _Thread_local char name[256];
    if (index >= c->lines)
        return NULL;
    const cb_hydro_line *line = &c->line[index];
    if (line->from == CB_NONE || line->to == CB_NONE)
        return "";
    snprintf(name, sizeof name, "%s->%s", c->subsystem[line->from].name, c->subsystem[line->to].name);
    return name;
}

static const cb_hydro_kind *const kinds[] = {&cb_hydro_kind_thermals, &cb_hydro_kind_hydros, &cb_hydro_kind_exchanges};
static cb_hydro_names *const kind_names[] = {cb_hydro_thermal_name, cb_hydro_hydro_name, line_name};
static const char *const kind_word[] = {"thermal", "hydro", "exchange"};
enum { KINDS = 3 };

static const char *table_name(const cb_hydro_case *c, size_t index) {
    (void)c;
    return index < KINDS ? kinds[index]->table : NULL;
}

static size_t find_field(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, const cb_hydro_kind *kind) {
    const char *name = cb_csv_text(table, row, column);
    char known[256] = "";
    for (size_t f = 0; f < kind->fields; f++) {
        if (strcmp(kind->field[f].name, name) == 0)
            return f;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", f ? ", " : "", kind->field[f].name);
    }
    cb_error_at(c->builder, CB_CSV_AT(table, row, column), CB_TEXT("use one of: %s", known),
                "\"%s\" of %s cannot change", name, kind->table);
    return CB_NONE;
}

typedef struct {
    size_t key, kind, element, field, value;
} change_columns;

static void check_twice(cb_hydro_case *c, const cb_csv *table, size_t row, const cb_hydro_change *new) {
    for (size_t i = 0; i < c->changes; i++) {
        const cb_hydro_change *old = &c->change[i];
        if (old->period == new->period && old->kind == new->kind && old->element == new->element &&
            old->field == new->field) {
            cb_error_at(c->builder, CB_CSV_AT(table, row, CB_NONE), "keep one", "changes the same number as line %zu",
                        old->line);
        }
    }
}

static void read_row(cb_hydro_case *c, cb_csv *table, size_t row, const change_columns *columns) {
    cb_hydro_change new = {.line = table->line[row]};
    size_t kind = cb_hydro_refer(c, table, row, columns->kind, table_name, "table", "nothing");
    new.period = cb_hydro_read_period(c, table, row, c->change_key, columns->key);
    if (kind == CB_NONE)
        return;
    char file[64];
    snprintf(file, sizeof file, "%s.csv", kinds[kind]->table);
    new.kind = kinds[kind];
    new.element = cb_hydro_refer(c, table, row, columns->element, kind_names[kind], kind_word[kind], file);
    new.field = columns->field == CB_NONE ? CB_NONE : find_field(c, table, row, columns->field, new.kind);
    if (new.period == CB_NONE || new.element == CB_NONE || new.field == CB_NONE)
        return;
    cb_hydro_field field = new.kind->field[new.field];
    field.fallback = NAN;
    new.value = cb_hydro_number(c, table, row, columns->value, &field);
    check_twice(c, table, row, &new);
    if (CB_GROW(c->builder, c->change, c->changes, c->changes_room))
        c->change[c->changes++] = new;
}

static void *element_of(const cb_hydro_case *c, const cb_hydro_change *change) {
    if (change->kind == &cb_hydro_kind_thermals)
        return &c->thermal[change->element];
    if (change->kind == &cb_hydro_kind_hydros)
        return cb_hydro_at(c, change->element);
    return &c->line[change->element];
}

static void *copy_array(cb_hydro_case *c, const void *array, size_t count, size_t size) {
    void *copy = cb_hydro_array(c, count, size);
    if (copy && count > 0)
        memcpy(copy, array, count * size);
    return copy;
}

bool cb_hydro_at_stage(cb_hydro_case *c, size_t stage, cb_hydro_case *now) {
    *now = *c;
    now->thermal = copy_array(c, c->thermal, c->thermals, sizeof *c->thermal);
    now->hydro = copy_array(c, c->hydro, c->hydros, sizeof *c->hydro);
    now->line = copy_array(c, c->line, c->lines, sizeof *c->line);
    if (!now->thermal || !now->hydro || !now->line) {
        cb_hydro_leave_stage(now);
        return false;
    }
    for (size_t i = 0; i < c->changes; i++) {
        const cb_hydro_change *change = &c->change[i];
        if (cb_hydro_period(c, c->change_key, stage) == change->period)
            memcpy((char *)element_of(now, change) + change->kind->field[change->field].offset, &change->value,
                   sizeof change->value);
    }
    return true;
}

void cb_hydro_leave_stage(cb_hydro_case *now) {
    free(now->thermal);
    free(now->hydro);
    free(now->line);
}

/* Elements must make sense in every stage in which something of them changes. */
static void check_changes(cb_hydro_case *c, const char *path) {
    for (size_t t = 0; t < c->stages && t < cb_hydro_periods(c, c->change_key); t++) {
        size_t before = c->builder->errors;
        cb_hydro_case now;
        if (!cb_hydro_at_stage(c, t, &now))
            return;
        for (size_t i = 0; i < c->changes && c->builder->errors == before; i++) {
            const cb_hydro_change *change = &c->change[i];
            if (cb_hydro_period(c, c->change_key, t) != change->period)
                continue;
            cb_place at = {.file = path, .line = change->line};
            if (change->kind == &cb_hydro_kind_thermals)
                cb_hydro_check_thermal(c, &at, element_of(&now, change));
            else if (change->kind == &cb_hydro_kind_hydros)
                cb_hydro_check_hydro(c, &at, element_of(&now, change));
        }
        cb_hydro_leave_stage(&now);
    }
}

void cb_hydro_read_changes(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "changes.csv", true, &table)) {
        size_t before = c->builder->errors;
        change_columns columns = {.kind = cb_csv_column(c->builder, &table, "table", true),
                                  .element = cb_csv_column(c->builder, &table, "name", true),
                                  .field = cb_csv_column(c->builder, &table, "column", true),
                                  .value = cb_csv_column(c->builder, &table, "value", true)};
        c->change_key = cb_hydro_find_key(c, &table, &columns.key);
        cb_csv_unknown_columns(c->builder, &table);
        for (size_t row = 0; row < table.rows; row++)
            read_row(c, &table, row, &columns);
        if (c->builder->errors == before)
            check_changes(c, table.path);
    }
    cb_csv_free(&table);
}
