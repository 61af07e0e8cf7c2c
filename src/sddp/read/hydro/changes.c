/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c: changes.csv, which changes numbers of the other tables in some stages or seasons. */
#include "sddp/read/hydro/hydro.h"

#include <stdio.h>
#include <string.h>

/* The tables whose numbers can change; "" for the others. */
static cb_hydro_names table_names(const char *tables[CB_KINDS]) {
    for (size_t k = 0; k < CB_KINDS; k++)
        tables[k] = cb_hydro_kinds[k]->tiers ? "" : cb_hydro_kinds[k]->table;
    return (cb_hydro_names){.at = tables, .count = CB_KINDS, .size = sizeof *tables, .word = "table"};
}

static size_t find_field(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, const cb_hydro_kind *kind) {
    const char *name = cb_csv_text(table, row, column);
    char known[256] = "";
    for (size_t f = 0; f < kind->fields; f++) {
        if (kind->field[f].fixed)
            continue;
        if (strcmp(kind->field[f].name, name) == 0)
            return f;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "", kind->field[f].name);
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
    const char *tables[CB_KINDS];
    cb_hydro_change new = {.line = table->line[row]};
    new.kind = cb_hydro_refer(c, table, row, columns->kind, table_names(tables));
    new.period = cb_hydro_read_period(c, table, row, c->change_key, columns->key);
    if (new.kind == CB_NONE)
        return;
    const cb_hydro_kind *kind = cb_hydro_kinds[new.kind];
    new.element = cb_hydro_refer(c, table, row, columns->element, cb_hydro_names_of(c, new.kind));
    new.field = columns->field == CB_NONE ? CB_NONE : find_field(c, table, row, columns->field, kind);
    if (new.period == CB_NONE || new.element == CB_NONE || new.field == CB_NONE)
        return;
    cb_hydro_field field = kind->field[new.field];
    field.required = true;
    new.value = cb_hydro_number(c, table, row, columns->value, &field);
    check_twice(c, table, row, &new);
    c->change[c->changes++] = new;
}

bool cb_hydro_at_stage(cb_hydro_case *c, size_t stage, cb_hydro_case *now) {
    *now = *c;
    now->arena = (cb_arena){0};
    for (size_t k = 0; k < CB_KINDS; k++) {
        size_t count = c->list[k].count, size = cb_hydro_kinds[k]->size;
        now->list[k].at = cb_hydro_array(now, count, size);
        if (!now->list[k].at) {
            cb_hydro_leave_stage(now);
            return false;
        }
        if (count > 0)
            memcpy(now->list[k].at, c->list[k].at, count * size);
    }
    for (size_t i = 0; i < c->changes; i++) {
        const cb_hydro_change *its = &c->change[i];
        if (cb_hydro_period(c, c->change_key, stage) == its->period)
            memcpy((char *)cb_hydro_element_at(now, its->kind, its->element) +
                       cb_hydro_kinds[its->kind]->field[its->field].offset,
                   &its->value, sizeof its->value);
    }
    return true;
}

void cb_hydro_leave_stage(cb_hydro_case *now) {
    cb_arena_free(&now->arena);
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
            if (cb_hydro_kinds[change->kind]->check)
                cb_hydro_kinds[change->kind]->check(c, &at, cb_hydro_element_at(&now, change->kind, change->element));
        }
        cb_hydro_leave_stage(&now);
    }
}

void cb_hydro_read_changes(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "changes.csv", true, &table)) {
        change_columns columns = {.kind = cb_csv_column(c->builder, &table, "table", true),
                                  .element = cb_csv_column(c->builder, &table, "name", true),
                                  .field = cb_csv_column(c->builder, &table, "column", true),
                                  .value = cb_csv_column(c->builder, &table, "value", true)};
        c->change_key = cb_hydro_find_key(c, &table, &columns.key);
        cb_csv_check_columns(c->builder, &table);
        c->change = cb_hydro_array(c, table.rows, sizeof *c->change);
        for (size_t row = 0; c->change && row < table.rows; row++)
            read_row(c, &table, row, &columns);
        if (cb_csv_sound(c->builder, &table))
            check_changes(c, table.path);
    }
    cb_csv_free(&table);
}
