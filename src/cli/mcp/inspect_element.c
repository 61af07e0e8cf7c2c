/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_element.c: all data of one element of a case. */
#include "cli/mcp/inspect_case.h"
#include "sddp/read/hydro/hydro.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *name, const char *const *words) {
    for (; *words; words++)
        if (strcasecmp(name, *words) == 0)
            return true;
    return false;
}

/* Does this column name what its row is about? */
static bool names_own(const char *column) {
    static const char *const own[] = {"name", "block", "tier", NULL};
    for (size_t k = 0; k < CB_KINDS; k++)
        if (cb_hydro_kinds[k]->name && strcasecmp(column, cb_hydro_kinds[k]->name) == 0)
            return true;
    return is_one_of(column, own);
}

/* Does it name another element? */
static bool names_other(const char *column) {
    static const char *const others[] = {"subsystem", "downstream", "spill_downstream", "from", "to", NULL};
    return is_one_of(column, others);
}

/* "own", "refers", or NULL: the row is not about it. */
static const char *role_of(const struct cb_case_file *file, size_t row, const char *element) {
    char column[CB_CASE_VALUE], value[CB_CASE_VALUE], line[2 * CB_CASE_VALUE + 4] = "", to[CB_CASE_VALUE];
    const char *role = NULL;
    for (size_t c = 0; c < file->columns; c++) {
        cb_case_text(file, cb_case_header(file, c), column);
        cb_case_text(file, cb_case_field(file, row, c), value);
        if (strcasecmp(column, "from") == 0 && cb_case_column(file, "to") != SIZE_MAX)
            snprintf(line, sizeof line, "%s->%s", value,
                     cb_case_text(file, cb_case_field(file, row, cb_case_column(file, "to")), to));
        if (strcmp(value, element) == 0 && names_own(column))
            return "own";
        role = strcmp(value, element) == 0 && names_other(column) ? "refers" : role;
    }
    return strcmp(line, element) == 0 ? "own" : role;
}

static json_t *new_row(const struct cb_case_file *file, size_t row, const char *role) {
    json_t *entry = json_object();
    cb_json_set(entry, "table", cb_json_text(file->name));
    cb_json_set(entry, "line", cb_json_count(file->line[row]));
    cb_json_set(entry, "role", cb_json_text(role));
    cb_json_set(entry, "values", json_object());
    return entry;
}

static json_t *number_json(double number) {
    return number == floor(number) && fabs(number) < 1e15 ? json_integer((json_int_t)number) : cb_json_real(number);
}

/* As written: a number that is one, else a text. */
static void put_value(json_t *entry, const struct cb_case_file *file, size_t row, size_t column) {
    char name[CB_CASE_VALUE], text[CB_CASE_VALUE];
    double number;
    json_t *key = cb_json_text(cb_case_text(file, cb_case_header(file, column), name));
    cb_case_text(file, cb_case_field(file, row, column), text);
    cb_json_set(json_object_get(entry, "values"), json_string_value(key),
                !*text                         ? json_null()
                : cb_csv_number(text, &number) ? number_json(number)
                                               : cb_json_text(text));
    json_decref(key);
}

static void add_rows(json_t *rows, const struct cb_case_file *file, const char *element) {
    for (size_t r = 0; r < file->rows; r++) {
        const char *role = role_of(file, r, element);
        json_t *entry = role ? new_row(file, r, role) : NULL;
        for (size_t c = 0; entry && c < file->columns; c++)
            put_value(entry, file, r, c);
        if (entry)
            cb_json_append(rows, entry);
    }
}

/* A column under the name of an element, as in history.csv. SIZE_MAX: there is none. */
static size_t column_of(const struct cb_case_file *file, const char *element) {
    char load[CB_CASE_VALUE + 8];
    size_t column = cb_case_column(file, element);
    snprintf(load, sizeof load, "load[%.*s]", CB_CASE_VALUE - 1, element);
    return column == SIZE_MAX ? cb_case_column(file, load) : column;
}

/* What such a table has besides columns of elements: year, season, block, probability. */
static bool is_key(const struct cb_case_file *file, size_t column, const json_t *names) {
    char text[CB_CASE_VALUE];
    cb_case_text(file, cb_case_header(file, column), text);
    return !json_object_get(names, text) && strncmp(text, "load[", 5) != 0;
}

static void add_column(json_t *rows, const struct cb_case_file *file, const char *element, const json_t *names) {
    size_t column = column_of(file, element);
    for (size_t r = 0; column != SIZE_MAX && r < file->rows; r++) {
        json_t *entry = new_row(file, r, "column");
        for (size_t c = 0; c < file->columns; c++)
            if (c == column || is_key(file, c, names))
                put_value(entry, file, r, c);
        cb_json_append(rows, entry);
    }
}

/* The rows that are its own come first, those of long tables last. */
json_t *cb_inspect_element(const struct cb_inspection *inspection, const char *element) {
    json_t *rows = json_array(), *names = cb_inspect_names(inspection);
    bool known = json_object_get(names, element);
    for (size_t i = 0; known && i < inspection->files->count; i++)
        if (inspection->files->at[i].table)
            add_rows(rows, &inspection->files->at[i], element);
    for (size_t i = 0; known && i < inspection->files->count; i++)
        if (inspection->files->at[i].table)
            add_column(rows, &inspection->files->at[i], element, names);
    json_decref(names);
    return rows;
}

/* A StochOptFormat file has states, not elements: their limits at each node. */
json_t *cb_inspect_part(const struct cb_inspection *inspection, const char *element) {
    const cobre_sddp_problem *problem = inspection->study->problem;
    json_t *rows = json_array();
    size_t state = 0;
    while (state < cobre_sddp_problem_states(problem) &&
           strcmp(cobre_sddp_problem_state_name(problem, state), element) != 0)
        state++;
    for (size_t n = 0; state < cobre_sddp_problem_states(problem) && n < cobre_sddp_problem_nodes(problem); n++) {
        double lower, upper;
        json_t *entry = json_object(), *values = json_object();
        cobre_sddp_problem_state_limits(problem, n, state, &lower, &upper);
        cb_json_set(values, "node", cb_json_text(cobre_sddp_problem_node_name(problem, n)));
        cb_json_set(values, "initial", cb_json_real(cobre_sddp_problem_state_initial(problem, state)));
        cb_json_set(values, "lower", cb_json_real(lower));
        cb_json_set(values, "upper", cb_json_real(upper));
        cb_json_set(entry, "table", cb_json_text(inspection->files->at[0].name));
        cb_json_set(entry, "line", json_null());
        cb_json_set(entry, "role", cb_json_text("node"));
        cb_json_set(entry, "values", values);
        cb_json_append(rows, entry);
    }
    return rows;
}
