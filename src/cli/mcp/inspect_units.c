/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_units.c: the units of the numbers in the tables of a case, as docs/case-format.md has them. */
#include "cli/mcp/inspect_case.h"

#include <string.h>

enum unit { POWER, FLOW, VOLUME, PRICE, WATER_PRICE, PRODUCTIVITY, TIME };

static const struct {
    const char *column;
    enum unit unit;
} columns[] = {
    {"min", POWER},          {"max", POWER},          {"cost", PRICE},
    {"storage_min", VOLUME}, {"storage_max", VOLUME}, {"storage_initial", VOLUME},
    {"turbine_max", FLOW},   {"spill_max", FLOW},     {"spill_cost", WATER_PRICE},
    {"outflow_min", FLOW},   {"first_inflow", FLOW},  {"outflow_penalty", WATER_PRICE},
    {"mean", FLOW},          {"scale", FLOW},         {"productivity", PRODUCTIVITY},
    {"duration", TIME},
};

/* "": it has none. */
static const char *unit_text(const json_t *settings, enum unit unit, char text[64]) {
    const char *units = json_string_value(json_object_get(settings, "units")),
               *time = json_string_value(json_object_get(settings, "time_unit")),
               *currency = json_string_value(json_object_get(settings, "currency"));
    bool water = !units || strcmp(units, "water") == 0, months = time && strcmp(time, "month") == 0;
    const char *energy = months ? "MWmonth" : "MWh", *volume = water ? "hm3" : energy;
    switch (unit) {
    case POWER: return "MW";
    case FLOW: return water ? "m3/s" : "MW";
    case VOLUME: return volume;
    case PRODUCTIVITY: return water ? "MW per m3/s" : "";
    case TIME: return months ? "month" : "h";
    default: snprintf(text, 64, "%.32s/%s", currency ? currency : "$", unit == PRICE ? energy : volume); return text;
    }
}

/* A column under the name of the element has its load or its inflow. False: there is no unit. */
static bool unit_of(const char *table, const char *column, const char *element, enum unit *unit) {
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(columns[i].column, column) == 0) {
            *unit = columns[i].unit;
            return true;
        }
    char load[CB_CASE_VALUE];
    snprintf(load, sizeof load, "load[%.256s]", element);
    bool its_load = strcmp(column, load) == 0;
    *unit = its_load || strcmp(table, "load.csv") == 0 ? POWER : FLOW;
    return its_load || (strcmp(column, element) == 0 && strcmp(table, "correlation.csv") != 0);
}

static void add_units(json_t *units, const json_t *settings, const json_t *row, const char *element) {
    const char *table = json_string_value(json_object_get(row, "table")), *column;
    json_t *value, *its = json_object_get(units, table);
    enum unit unit;
    char text[64];
    if (its) /* rows of a table have the same columns */
        return;
    cb_json_set(units, table, its = json_object());
    json_object_foreach(json_object_get(row, "values"), column, value) {
        const char *name = unit_of(table, column, element, &unit) ? unit_text(settings, unit, text) : "";
        if (*name)
            cb_json_set(its, column, cb_json_text(name));
    }
}

json_t *cb_inspect_units(const struct cb_inspection *inspection, const json_t *rows, const char *element) {
    json_t *settings = cb_inspect_json(inspection), *units = json_object(), *row;
    size_t i;
    if (inspection->study->case_place.folder)
        json_array_foreach(rows, i, row) add_units(units, settings, row, element);
    json_decref(settings);
    return units;
}
