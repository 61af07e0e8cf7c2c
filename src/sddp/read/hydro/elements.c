/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c: reads the tables of the elements, as their kinds describe them. */
#include <stdio.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

#define DECLARE(NAME, name) extern const cb_hydro_kind cb_hydro_kind_##name;
CB_HYDRO_KIND_MAP(DECLARE)

#define ADDRESS(NAME, name) &cb_hydro_kind_##name,
const cb_hydro_kind *const cb_hydro_kinds[CB_KINDS] = {CB_HYDRO_KIND_MAP(ADDRESS)};

/* The name in row `row`; "": reported. */
static const char *read_name(cb_hydro_case *c, size_t k, const cb_csv *table, size_t row, size_t column) {
    const cb_hydro_kind *kind = cb_hydro_kinds[k];
    char number[32];
    snprintf(number, sizeof number, "%zu", row + 1);
    bool numbered = kind->tiers && column == CB_NONE;
    const char *name = numbered ? number : cb_csv_text(table, row, column);
    cb_place at = cb_csv_place(table, row, column);
    if ((column == CB_NONE && !numbered) || !cb_hydro_good_name(c, &at, name))
        return "";
    if (kind->tiers || cb_hydro_find(cb_hydro_names_of(c, k), name) == CB_NONE)
        return cb_hydro_text(c, "%s", name);
    cb_error_at(c->builder, &at, "give each a name of its own", "\"%s\" is there twice", name);
    return "";
}

static void read_references(cb_hydro_case *c, const cb_hydro_reference *reference, const cb_csv *table, size_t row,
                            size_t column, cb_hydro_element *element) {
    size_t index = CB_NONE;
    if (!reference->optional || *cb_csv_text(table, row, column))
        index = cb_hydro_refer(c, table, row, column, reference->names(c));
    memcpy((char *)element + reference->offset, &index, sizeof index);
}

/* columns: of the fields, then of the references. */
static void read_rows(cb_hydro_case *c, size_t k, cb_csv *table, size_t *columns) {
    const cb_hydro_kind *kind = cb_hydro_kinds[k];
    cb_hydro_list *list = &c->list[k];
    size_t *references = columns + kind->fields, name = CB_NONE;
    if (kind->name)
        name = cb_csv_column(c->builder, table, kind->name, !kind->tiers);
    for (size_t r = 0; r < kind->references; r++)
        references[r] = cb_csv_column(c->builder, table, kind->reference[r].name, !kind->reference[r].optional);
    cb_hydro_field_columns(c, table, kind->field, kind->fields, columns);
    cb_csv_check_columns(c->builder, table);
    for (size_t row = 0; row < table->rows; row++) {
        cb_hydro_element *element = cb_hydro_element_at(c, k, row);
        *element =
            (cb_hydro_element){.name = kind->name ? read_name(c, k, table, row, name) : "", .line = table->line[row]};
        cb_hydro_fields(c, table, columns, row, kind->field, kind->fields, element);
        list->count++;
    }
    for (size_t row = 0; row < list->count; row++)
        for (size_t r = 0; r < kind->references; r++)
            read_references(c, &kind->reference[r], table, row, references[r], cb_hydro_element_at(c, k, row));
    for (size_t row = 0; kind->check && row < list->count; row++)
        kind->check(c, CB_CSV_AT(table, row, CB_NONE), cb_hydro_element_at(c, k, row));
    if (kind->complete)
        kind->complete(c, list, table);
}

static void read_kind(cb_hydro_case *c, size_t k) {
    const cb_hydro_kind *kind = cb_hydro_kinds[k];
    cb_csv table;
    bool opened = cb_hydro_open(c, CB_TEXT("%s.csv", kind->table), true, &table);
    c->list[k].unsure = !cb_csv_sound(c->builder, &table);
    if (opened) {
        size_t *columns = cb_hydro_array(c, kind->fields + kind->references, sizeof *columns);
        c->list[k].at = cb_hydro_array(c, table.rows, kind->size);
        if (columns && c->list[k].at)
            read_rows(c, k, &table, columns);
        c->list[k].unsure |= table.incomplete;
    }
    cb_csv_free(&table);
}

void cb_hydro_read_elements(cb_hydro_case *c) {
    for (size_t k = 0; k < CB_KINDS; k++)
        read_kind(c, k);
}
