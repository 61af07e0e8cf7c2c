/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_tables.c: an overview of the tables of a case: elements by kind, topology, settings. The kinds of elements
 * are those of the reader of cases, so that a new kind is listed without a change here. */
#include "cli/mcp/inspect_case.h"
#include "sddp/read/hydro/hydro.h"

#include <string.h>

static const char *value_at(const struct cb_case_file *file, size_t row, const char *column, char text[CB_CASE_VALUE]) {
    size_t c = file ? cb_case_column(file, column) : SIZE_MAX;
    text[0] = 0;
    return c == SIZE_MAX ? text : cb_case_text(file, cb_case_field(file, row, c), text);
}

static const struct cb_case_file *table_of(const struct cb_inspection *inspection, const char *name) {
    char file[128];
    snprintf(file, sizeof file, "%s.csv", name);
    return cb_case_file_find(inspection->files, file);
}

json_t *cb_inspect_json(const struct cb_inspection *inspection) {
    const struct cb_case_file *file = cb_case_file_find(inspection->files, "case.json");
    json_t *json = file ? json_loadb(file->text, file->size, 0, NULL) : NULL;
    return json ? json : json_object();
}

/* Names are keys: each once. */
static void add_name(json_t *names, const char *name) {
    json_t *text = cb_json_text(name); /* UTF-8, whatever the file has */
    if (*name)
        cb_json_set(names, json_string_value(text), json_true());
    json_decref(text);
}

static json_t *names_of_kind(const struct cb_inspection *inspection, const cb_hydro_kind *kind) {
    const struct cb_case_file *table = table_of(inspection, kind->table);
    json_t *names = json_object();
    for (size_t r = 0; table && r < table->rows; r++) {
        char name[3 * CB_CASE_VALUE], from[CB_CASE_VALUE], to[CB_CASE_VALUE];
        if (kind->tiers && cb_case_column(table, "tier") == SIZE_MAX)
            snprintf(name, sizeof name, "%zu", r + 1);
        else if (kind->name)
            snprintf(name, sizeof name, "%s", value_at(table, r, kind->name, from));
        else
            snprintf(name, sizeof name, "%s->%s", value_at(table, r, "from", from), value_at(table, r, "to", to));
        add_name(names, name);
    }
    return names;
}

static json_t *names_in(const json_t *list) {
    json_t *names = json_object(), *name;
    size_t i;
    json_array_foreach(list, i, name) if (json_is_string(name)) add_name(names, json_string_value(name));
    return names;
}

static json_t *blocks_of(const struct cb_inspection *inspection) {
    const struct cb_case_file *table = table_of(inspection, "blocks");
    json_t *names = json_object();
    char text[CB_CASE_VALUE];
    for (size_t r = 0; table && r < table->rows; r++)
        add_name(names, value_at(table, r, "block", text));
    return names;
}

static json_t *states_of(const struct cb_inspection *inspection) {
    const cobre_sddp_problem *problem = inspection->study->problem;
    json_t *names = json_object();
    for (size_t s = 0; s < cobre_sddp_problem_states(problem); s++)
        add_name(names, cobre_sddp_problem_state_name(problem, s));
    return names;
}

/* {"hydros": {"Furnas": true}} */
static json_t *all_kinds(const struct cb_inspection *inspection) {
    json_t *kinds = json_object(), *json = cb_inspect_json(inspection);
    if (inspection->study->case_place.folder) {
        cb_json_set(kinds, "subsystems", names_in(json_object_get(json, "subsystems")));
        cb_json_set(kinds, "transshipment", names_in(json_object_get(json, "transshipment")));
        for (size_t k = 0; k < CB_KINDS; k++)
            cb_json_set(kinds, cb_hydro_kinds[k]->table, names_of_kind(inspection, cb_hydro_kinds[k]));
        cb_json_set(kinds, "blocks", blocks_of(inspection));
    } else {
        cb_json_set(kinds, "states", states_of(inspection));
    }
    json_decref(json);
    return kinds;
}

json_t *cb_inspect_names(const struct cb_inspection *inspection) {
    json_t *kinds = all_kinds(inspection), *names = json_object(), *its;
    const char *kind;
    json_object_foreach(kinds, kind, its) json_object_update(names, its);
    json_decref(kinds);
    return names;
}

/* A page of a list, which is taken. */
static json_t *page_of(struct cb_inspection *inspection, json_t *list) {
    json_t *page = cb_mcp_page(inspection->call, list, 100, 3000);
    size_t shown = json_array_size(page), first = (size_t)cb_mcp_number(inspection->call, "offset", 0);
    if (first + shown < json_array_size(list) && (!inspection->more || shown < inspection->shown)) {
        inspection->more = true;
        inspection->shown = shown;
    }
    json_decref(list);
    return page;
}

json_t *cb_inspect_elements(struct cb_inspection *inspection) {
    json_t *kinds = all_kinds(inspection), *elements = json_array(), *names;
    const char *kind, *name;
    json_object_foreach(kinds, kind, names) {
        json_t *entry = json_object(), *list = json_array(), *unused;
        json_object_foreach(names, name, unused) cb_json_append(list, cb_json_text(name));
        cb_json_set(entry, "kind", cb_json_text(kind));
        cb_json_set(entry, "count", cb_json_count(json_array_size(list)));
        cb_json_set(entry, "names", page_of(inspection, list));
        cb_json_append(elements, entry);
    }
    json_decref(kinds);
    return elements;
}

static json_t *text_or_null(const char *text) {
    return *text ? cb_json_text(text) : json_null();
}

static json_t *rivers_of(const struct cb_inspection *inspection) {
    const struct cb_case_file *table = table_of(inspection, "hydros");
    json_t *rivers = json_array();
    for (size_t r = 0; table && r < table->rows; r++) {
        char plant[CB_CASE_VALUE], down[CB_CASE_VALUE], spill[CB_CASE_VALUE];
        json_t *river = json_object();
        value_at(table, r, "downstream", down);
        value_at(table, r, "spill_downstream", spill);
        cb_json_set(river, "plant", cb_json_text(value_at(table, r, "hydro", plant)));
        cb_json_set(river, "downstream", text_or_null(down));
        cb_json_set(river, "spill_downstream", text_or_null(*spill ? spill : down));
        cb_json_append(rivers, river);
    }
    return rivers;
}

static json_t *exchanges_of(const struct cb_inspection *inspection) {
    const struct cb_case_file *table = table_of(inspection, "exchanges");
    json_t *exchanges = json_array();
    for (size_t r = 0; table && r < table->rows; r++) {
        char text[CB_CASE_VALUE];
        double most;
        json_t *exchange = json_object();
        cb_json_set(exchange, "from", cb_json_text(value_at(table, r, "from", text)));
        cb_json_set(exchange, "to", cb_json_text(value_at(table, r, "to", text)));
        bool known = cb_csv_number(value_at(table, r, "max", text), &most);
        cb_json_set(exchange, "max", known ? cb_json_real(most) : json_null());
        cb_json_append(exchanges, exchange);
    }
    return exchanges;
}

json_t *cb_inspect_topology(struct cb_inspection *inspection) {
    json_t *topology = json_object();
    cb_json_set(topology, "rivers", page_of(inspection, rivers_of(inspection)));
    cb_json_set(topology, "exchanges", page_of(inspection, exchanges_of(inspection)));
    return topology;
}

json_t *cb_inspect_files(const struct cb_inspection *inspection) {
    json_t *files = json_array();
    for (size_t i = 0; i < inspection->files->count; i++) {
        const struct cb_case_file *file = &inspection->files->at[i];
        json_t *entry = json_object();
        cb_json_set(entry, "file", cb_json_text(file->name));
        cb_json_set(entry, "rows", cb_json_count(file->rows));
        cb_json_set(entry, "bytes", cb_json_count(file->size));
        cb_json_append(files, entry);
    }
    return files;
}

void cb_inspect_settings(const struct cb_inspection *inspection, json_t *facts) {
    static const char *const listed[] = {"name", "subsystems", "transshipment", "inflow", NULL};
    const cobre_sddp_problem *problem = inspection->study->problem;
    json_t *settings = cb_inspect_json(inspection), *inflow = json_object_get(settings, "inflow");
    inflow = json_is_object(inflow) ? json_incref(inflow) : json_object();
    if (inspection->study->case_place.folder && !json_object_get(inflow, "source"))
        cb_json_set(inflow, "source", cb_json_text("table"));
    cb_json_set(inflow, "noise_model", json_boolean(cobre_sddp_problem_has_noise_model(problem)));
    for (size_t i = 0; listed[i]; i++)
        json_object_del(settings, listed[i]);
    cb_json_set(facts, "settings", settings);
    cb_json_set(facts, "inflow", inflow);
}
