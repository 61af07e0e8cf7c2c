/* SPDX-License-Identifier: Apache-2.0 */
/* edit_changes.c: from a list of {table, row, column, value} to parts of files that are replaced. */
#include "cli/mcp/edit_changes.h"

#include "cli/mcp/edit_json.h"
#include "cli/mcp/server.h"
#include "sddp/grow.h"
#include "sddp/read/csv.h"
#include "sddp/run/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One change, and where it is in the list. */
struct change {
    struct cb_mcp_call *call;
    struct cb_edits *edits;
    size_t index;
    const json_t *row; /* values that select rows; NULL: by its number */
    size_t number;
    const char *table, *column, *value;
    const struct cb_case_file *file;
};

/* "changes[2].column" */
static const char *field_name(const struct change *change, const char *part, char text[64]) {
    snprintf(text, 64, "changes[%zu].%s", change->index, part);
    return text;
}

static bool unknown(const struct change *change, const char *part, const char *received, const char *what,
                    json_t *known, const char *next) {
    char field[64];
    cb_study_unknown(change->call, field_name(change, part, field), received, what, known, next);
    json_decref(known);
    return false;
}

static bool wrong(const struct change *change, const char *part, const char *received, const char *allowed,
                  const char *problem) {
    char field[64];
    cb_mcp_mistake(change->call, &(struct cb_mcp_mistake){.field = field_name(change, part, field),
                                                          .received = received,
                                                          .problem = problem,
                                                          .allowed = allowed,
                                                          .next = "inspect_case with an element shows its rows"});
    return false;
}

/* A value as it was given: a text, or a number as people write it. To be freed. */
static char *said(const json_t *value) {
    char number[32];
    if (json_is_string(value))
        return strdup(json_string_value(value));
    if (json_is_real(value))
        return strdup(cb_exact_text(json_real_value(value), number));
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* Edits. */

static size_t line_of(const struct cb_case_file *file, size_t at) {
    size_t line = 1;
    for (size_t i = 0; i < at; i++)
        line += file->text[i] == '\n';
    return line;
}

/* What stands there, without quotes. */
static json_t *old_json(const struct cb_edit *edit) {
    char text[CB_CASE_VALUE];
    const char *from = edit->file->text + edit->span.at;
    if (edit->span.length == 0)
        return json_null();
    if (edit->file->table || *from != '"')
        return cb_json_text(cb_case_text(edit->file, edit->span, text));
    json_t *old = json_loadb(from, edit->span.length, JSON_DECODE_ANY, NULL);
    return old ? old : json_null();
}

/* How many places of each column, or under each key: {"load.csv": {"north": 36}}. */
static void count_place(struct cb_edits *edits, const char *file, const char *column) {
    json_t *columns = json_object_get(edits->counts, file);
    if (!columns)
        cb_json_set(edits->counts, file, columns = json_object());
    json_t *name = cb_json_text(column);
    const char *key = json_string_value(name);
    cb_json_set(columns, key, json_integer(json_integer_value(json_object_get(columns, key)) + 1));
    json_decref(name);
}

/* row SIZE_MAX: of a JSON file, where `column` is a path of keys. */
static void tell(struct cb_edits *edits, const struct cb_edit *edit, size_t row, const char *column, const char *told) {
    const struct cb_case_file *file = edit->file;
    char place[CB_CASE_VALUE];
    json_t *difference = json_object();
    if (row == SIZE_MAX)
        snprintf(place, sizeof place, "%.200s", column);
    else
        snprintf(place, sizeof place, "row %zu, column %.200s", row + 1, column);
    cb_json_set(difference, "file", cb_json_text(file->name));
    cb_json_set(difference, "line", cb_json_count(row == SIZE_MAX ? line_of(file, edit->span.at) : file->line[row]));
    cb_json_set(difference, "place", cb_json_text(place));
    cb_json_set(difference, "old", old_json(edit));
    cb_json_set(difference, "new", cb_json_text(told));
    cb_json_append(edits->differences, difference);
    count_place(edits, file->name, column);
}

/* The first edit that is not before this place: they are in the order of files and places. */
static size_t find_edit(const struct cb_edits *edits, const struct cb_case_file *file, size_t at) {
    size_t low = 0, high = edits->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct cb_edit *edit = &edits->at[middle];
        bool before = edit->file == file ? edit->span.at < at : edit->file < file;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

static bool add_edit(struct cb_edits *edits, const struct cb_edit *edit, size_t row, const char *column,
                     const char *told) {
    if (!edit->new || !CB_GROW(edits, edits->at, edits->count, edits->room)) {
        edits->no_memory = true;
        free(edit->new);
        return false;
    }
    size_t index = find_edit(edits, edit->file, edit->span.at);
    memmove(&edits->at[index + 1], &edits->at[index], (edits->count++ - index) * sizeof *edits->at);
    edits->at[index] = *edit;
    tell(edits, edit, row, column, told);
    return true;
}

bool cb_edits_add(struct cb_edits *edits, const struct cb_case_file *file, struct cb_span span, const char *path,
                  char *new, const char *told) {
    return add_edit(edits, &(struct cb_edit){.file = file, .span = span, .new = new}, SIZE_MAX, path, told);
}

bool cb_edits_has(const struct cb_edits *edits, const struct cb_case_file *file, struct cb_span span) {
    size_t next = find_edit(edits, file, span.at);
    const struct cb_edit *after = next < edits->count ? &edits->at[next] : NULL,
                         *before = next > 0 ? &edits->at[next - 1] : NULL;
    return (after && after->file == file && (after->span.at == span.at || after->span.at < span.at + span.length)) ||
           (before && before->file == file && before->span.at + before->span.length > span.at);
}

void cb_edits_free(struct cb_edits *edits) {
    for (size_t i = 0; i < edits->count; i++)
        free(edits->at[i].new);
    free(edits->at);
    json_decref(edits->differences);
    json_decref(edits->counts);
    json_decref(edits->notes);
}

void cb_edits_write(const struct cb_edits *edits, const struct cb_case_file *file, FILE *to) {
    size_t at = 0;
    for (size_t i = find_edit(edits, file, 0); i < edits->count && edits->at[i].file == file; i++) {
        const struct cb_edit *edit = &edits->at[i];
        fwrite(file->text + at, 1, edit->span.at - at, to);
        fputs(edit->new, to);
        at = edit->span.at + edit->span.length;
    }
    fwrite(file->text + at, 1, file->size - at, to);
}

/* Values that depend on what was there: "*1.1", "+10%", "-5%". */

/* What the old number becomes. False: the value is none of these. */
static bool relative(const char *value, double old, double *new) {
    char *end;
    bool times = *value == '*', percent = *value == '+' || *value == '-';
    double change = strtod(value + times, &end);
    bool good = (times && end > value + 1 && !*end) || (percent && end > value && strcmp(end, "%") == 0);
    *new = times ? old *change : old *(100 + change) / 100;
    return good && isfinite(change);
}

/* The text that takes the place of the old one: the value itself, or the old number changed by it, with 15 digits so that 1.1 times
 * 835 is 918.5. NULL: there is no number that it could change. */
static const char *new_value(const char *value, const char *old, char text[32]) {
    double number, new;
    if (!relative(value, 1, &new))
        return value;
    if (!cb_csv_number(old, &number) || !relative(value, number, &new) || !isfinite(new))
        return NULL;
    snprintf(text, 32, "%.15g", new);
    return text;
}

/* Tables. */

static json_t *columns_of(const struct cb_case_file *file) {
    json_t *names = json_object();
    char text[CB_CASE_VALUE];
    for (size_t c = 0; c < file->columns; c++)
        cb_json_set(names, cb_case_text(file, cb_case_header(file, c), text), json_true());
    return names;
}

/* As numbers if both are. */
static bool is_equal(const char *text, const char *wanted) {
    double a, b;
    return strcmp(text, wanted) == 0 || (cb_csv_number(text, &a) && cb_csv_number(wanted, &b) && a == b);
}

static bool matches(const struct cb_case_file *file, size_t row, const json_t *wanted) {
    const char *column;
    json_t *value;
    json_object_foreach((json_t *)wanted, column, value) {
        char text[CB_CASE_VALUE], *its = said(value);
        cb_case_text(file, cb_case_field(file, row, cb_case_column(file, column)), text);
        bool same = its && is_equal(text, its);
        free(its);
        if (!same)
            return false;
    }
    return true;
}

/* No row matches: which values has the first column that is named? */
static bool no_row(const struct change *change) {
    if (json_object_size(change->row) == 0)
        return wrong(change, "row", "{}", NULL, "the table has no rows");
    json_t *values = json_object(), *value = NULL;
    const char *column = json_object_iter_key(json_object_iter((json_t *)change->row));
    char text[CB_CASE_VALUE], what[CB_CASE_VALUE], part[CB_CASE_VALUE];
    size_t c = cb_case_column(change->file, column);
    for (size_t r = 0; r < change->file->rows; r++)
        if (*cb_case_text(change->file, cb_case_field(change->file, r, c), text))
            cb_json_set(values, text, json_true());
    value = json_object_get(change->row, column);
    char *wanted = said(value);
    bool several = json_object_size(change->row) > 1;
    snprintf(what, sizeof what, several ? "row with these values; of \"%.100s\" there is no" : "row whose %.100s is",
             column);
    snprintf(part, sizeof part, "row.%.100s", column);
    if (several && json_object_get(values, wanted ? wanted : "")) {
        json_decref(values);
        wrong(change, "row", wanted, "values of one row", "no row of the table has all of these values together");
    } else {
        unknown(change, part, wanted ? wanted : "", what, values, "give one of these");
    }
    free(wanted);
    return false;
}

static bool check_columns(const struct change *change) {
    const char *column;
    json_t *value;
    json_object_foreach((json_t *)change->row, column, value) {
        if (cb_case_column(change->file, column) == SIZE_MAX)
            return unknown(change, "row", column, "column", columns_of(change->file), "give one of these");
        if (json_is_object(value) || json_is_array(value))
            return wrong(change, "row", column, "a number or a text", "the value of a column must be one");
    }
    return true;
}

/* A field as it is written; NULL: no memory. */
static char *field_text(const char *value) {
    size_t length = strlen(value), size;
    char *text = NULL;
    if (!strpbrk(value, ",\"") && (!length || (!strchr(" \t#", value[0]) && !strchr(" \t", value[length - 1]))))
        return strdup(value);
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    putc('"', to);
    for (; *value; value++)
        fputs(*value == '"' ? "\"\"" : (const char[]){*value, 0}, to);
    putc('"', to);
    fclose(to);
    return text;
}

static bool change_field(const struct change *change, size_t row, size_t column) {
    struct cb_span span = cb_case_field(change->file, row, column);
    char old[CB_CASE_VALUE], text[32];
    double number;
    const char *value = new_value(change->value, cb_case_text(change->file, span, old), text);
    if (!value)
        return wrong(change, "value", change->value, "a number or a text",
                     *old ? "there is no number that it could change" : "an empty field has no number to be changed");
    if (cb_csv_number(old, &number) && *value && !cb_csv_number(value, &number))
        return wrong(change, "value", value, "a number, or a change of the old one: *1.1, +10%, -5%",
                     "this column has numbers");
    if (cb_edits_has(change->edits, change->file, span))
        return wrong(change, "row", value, "each field once", "this field is changed twice");
    if (is_equal(old, value))
        return true;
    struct cb_edit edit = {.file = change->file, .span = span, .new = field_text(value)};
    return add_edit(change->edits, &edit, row, change->column, value) ||
           wrong(change, "value", value, NULL, "there is no memory for it");
}

/* One value for rows that had several: it may be meant, or not. */
static void note_same(const struct change *change, size_t rows, size_t values) {
    char text[2 * CB_CASE_VALUE];
    double factor;
    if (values < 2 || relative(change->value, 1, &factor))
        return;
    snprintf(text, sizeof text, "%.100s, column %.100s: %zu rows had different values, and all have %.100s now",
             change->table, change->column, rows, *change->value ? change->value : "the default");
    cb_json_append(change->edits->notes, cb_json_text(text));
}

static bool is_selected(const struct change *change, size_t row) {
    return change->row ? matches(change->file, row, change->row) : row + 1 == change->number;
}

static bool change_rows(const struct change *change, size_t column) {
    size_t found = 0, values = 0;
    char allowed[64], given[32], old[CB_CASE_VALUE], first[CB_CASE_VALUE] = "";
    snprintf(given, sizeof given, "%zu", change->number);
    snprintf(allowed, sizeof allowed, "a whole number from 1 to %zu", change->file->rows);
    if (!change->row && change->number > change->file->rows)
        return wrong(change, "row_number", given, allowed, "the table has no such row");
    for (size_t r = 0; r < change->file->rows; r++) {
        if (!is_selected(change, r))
            continue;
        cb_case_text(change->file, cb_case_field(change->file, r, column), found ? old : first);
        values += found == 0 || !is_equal(old, first);
        found++;
        if (!change_field(change, r, column))
            return false;
    }
    note_same(change, found, values);
    return found > 0 || no_row(change);
}

static bool has_control(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            return true;
    return false;
}

static bool change_table(const struct change *change) {
    size_t column = cb_case_column(change->file, change->column);
    if (column == SIZE_MAX)
        return unknown(change, "column", change->column, "column", columns_of(change->file), "give one of these");
    if ((change->row != NULL) == (change->number > 0))
        return wrong(change, "row", change->row ? "also row_number" : "nothing",
                     "an object such as {\"hydro\": \"Furnas\"}, or {} for all rows; or row_number",
                     "it must say which rows are meant");
    if (has_control(change->value))
        return wrong(change, "value", change->value, "a number or a text of one line", "it cannot stand in a table");
    return (!change->row || check_columns(change)) && change_rows(change, column);
}

/* JSON. */

/* The members that are there where the path ends. */
static json_t *keys_near(const struct cb_case_file *file, const char *path) {
    json_t *json = json_loadb(file->text, file->size, 0, NULL), *at = json, *keys = json_object(), *value;
    const char *key;
    for (size_t length; path[length = strcspn(path, ".")]; path += length + 1) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(length < 127 ? length : 127), path);
        json_t *next = json_object_get(at, name);
        if (!next)
            break;
        at = next;
    }
    json_object_foreach(at, key, value) cb_json_set(keys, key, json_true());
    json_decref(json);
    return keys;
}

/* A text stays one; what else is there, or new, is the JSON that the value is, if it is any. */
static char *json_text(const struct change *change, const char *value, struct cb_span old) {
    bool text = old.length && change->file->text[old.at] == '"';
    json_t *json = text ? NULL : json_loads(value, JSON_DECODE_ANY, NULL);
    char *written = json ? strdup(value) : NULL;
    json_decref(json);
    if (written)
        return written;
    json_t *plain = cb_json_text(value);
    written = json_dumps(plain, JSON_ENCODE_ANY);
    json_decref(plain);
    return written;
}

/* Another new member at the same place comes behind the first one. */
static bool append_member(const struct change *change, const struct cb_spot *spot, const char *member,
                          const char *value) {
    struct cb_edits *edits = change->edits;
    for (size_t i = 0; i < edits->count; i++) {
        struct cb_edit *edit = &edits->at[i];
        char *both;
        if (edit->file != change->file || edit->span.at != spot->value.at)
            continue;
        if (asprintf(&both, "%s, %s", edit->new, member) < 0)
            return false;
        free(edit->new);
        edit->new = both;
        tell(edits, edit, SIZE_MAX, change->column, value);
        return true;
    }
    char *new;
    return asprintf(&new, "%s%s", spot->first ? "" : ", ", member) >= 0 &&
           cb_edits_add(edits, change->file, spot->value, change->column, new, value);
}

static bool insert_member(const struct change *change, const struct cb_spot *spot) {
    json_t *keys = keys_near(change->file, change->column), *name = cb_json_text(spot->key);
    char *value = json_text(change, change->value, spot->value), *key = json_dumps(name, JSON_ENCODE_ANY),
         *member = NULL;
    bool typo = cb_mcp_typo(spot->key, keys) != NULL,
         made = value && key && asprintf(&member, "%s: %s", key, value) >= 0;
    json_decref(name);
    bool good = typo   ? unknown(change, "column", change->column, "key", json_incref(keys), "give one of these")
                : made ? append_member(change, spot, member, *value == '"' ? change->value : value)
                       : wrong(change, "value", NULL, NULL, "there is no memory for it");
    json_decref(keys);
    free(value);
    free(key);
    if (made)
        free(member);
    return good;
}

/* Are these the same JSON? */
static bool is_same(const char *old, size_t length, const char *new) {
    json_t *a = json_loadb(old, length, JSON_DECODE_ANY, NULL), *b = json_loads(new, JSON_DECODE_ANY, NULL);
    bool same = a && b && json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return same;
}

static bool replace_value(const struct change *change, struct cb_span span) {
    char old[CB_CASE_VALUE], number[32];
    const char *value = new_value(change->value, cb_case_text(change->file, span, old), number);
    if (!value)
        return wrong(change, "value", change->value, "a number or JSON", "there is no number that it could change");
    char *new = json_text(change, value, span), *told = new &&*new != '"' ? strdup(new) : strdup(value);
    bool same = new &&is_same(change->file->text + span.at, span.length, new);
    bool good = same || (told && cb_edits_add(change->edits, change->file, span, change->column, new, told));
    if (same || !told)
        free(new);
    free(told);
    return good || wrong(change, "value", NULL, NULL, "there is no memory for it");
}

static bool change_json(const struct change *change) {
    struct cb_spot spot;
    json_t *json = json_loadb(change->file->text, change->file->size, 0, NULL);
    bool valid = json != NULL;
    json_decref(json);
    if (!valid)
        return wrong(change, "table", change->table, "a valid JSON file", "it cannot be read: validate_case says why");
    if (!cb_spot_find(change->file->text, change->column, &spot))
        return unknown(change, "column", change->column, "key", keys_near(change->file, change->column),
                       "give a path of keys, such as inflow.openings");
    if (spot.value.length == 0)
        return insert_member(change, &spot);
    if (cb_edits_has(change->edits, change->file, spot.value))
        return wrong(change, "column", change->column, "each key once", "this place is changed twice");
    return replace_value(change, spot.value);
}

/* The list. */

static json_t *tables_of(const struct cb_case_files *files) {
    json_t *names = json_object();
    for (size_t i = 0; i < files->count; i++) {
        const char *dot = strrchr(files->at[i].name, '.');
        if (dot && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".json") == 0))
            cb_json_set(names, files->at[i].name, json_true());
    }
    return names;
}

static bool make_change(struct change *change, const struct cb_case_files *files) {
    json_t *known = tables_of(files);
    bool there = json_object_get(known, change->table);
    if (!there)
        return unknown(change, "table", change->table, "table", known, "give one of these");
    json_decref(known);
    change->file = cb_case_file_find(files, change->table);
    return change->file->table ? change_table(change) : change_json(change);
}

bool cb_edits_find(struct cb_mcp_call *call, const struct cb_case_files *files, struct cb_edits *edits) {
    size_t i;
    json_t *entry;
    *edits = (struct cb_edits){.differences = json_array(), .counts = json_object(), .notes = json_array()};
    json_array_foreach(json_object_get(call->arguments, "changes"), i, entry) {
        struct change change = {.call = call,
                                .edits = edits,
                                .index = i,
                                .row = json_object_get(entry, "row"),
                                .number = (size_t)json_integer_value(json_object_get(entry, "row_number")),
                                .value = json_string_value(json_object_get(entry, "value")),
                                .table = json_string_value(json_object_get(entry, "table")),
                                .column = json_string_value(json_object_get(entry, "column"))};
        if (!make_change(&change, files))
            return false;
    }
    return true;
}
