/* elements.c: the tables with one line for each thing: thermals, hydros, exchanges, deficits. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sddp/grow.h"
#include "sddp/read/hydro/hydro.h"

static const cb_hydro_field thermal_field[] = {
    {"min", offsetof(cb_hydro_thermal, min), 0, 0, INFINITY, "the least generation in MW, from 0 on"},
    {"max", offsetof(cb_hydro_thermal, max), INFINITY, 0, INFINITY,
     "the most generation in MW, from 0 on, or nothing for no limit"},
    {"cost", offsetof(cb_hydro_thermal, cost), NAN, -INFINITY, INFINITY, "the cost of a MWh"},
};

static const cb_hydro_field hydro_field[] = {
    {"storage_min", offsetof(cb_hydro_hydro, storage_min), 0, 0, INFINITY, "the least storage, from 0 on"},
    {"storage_max", offsetof(cb_hydro_hydro, storage_max), 0, 0, INFINITY,
     "the most storage, from 0 on; 0 for run of river"},
    {"turbine_max", offsetof(cb_hydro_hydro, turbine_max), INFINITY, 0, INFINITY,
     "the most flow through the turbines, from 0 on, or nothing for no limit"},
    {"spill_max", offsetof(cb_hydro_hydro, spill_max), INFINITY, 0, INFINITY,
     "the most spill as a flow, from 0 on, or nothing for no limit"},
    {"spill_cost", offsetof(cb_hydro_hydro, spill_cost), 0, -INFINITY, INFINITY,
     "the cost of a unit of volume spilled"},
    {"outflow_min", offsetof(cb_hydro_hydro, outflow_min), 0, 0, INFINITY, "the least outflow, from 0 on"},
    {"outflow_penalty", offsetof(cb_hydro_hydro, outflow_penalty), 0, 0, INFINITY,
     "the cost of a unit of volume below outflow_min"},
};

/* What cannot change from stage to stage. */
enum { STORAGE_INITIAL, PRODUCTIVITY, FIRST_INFLOW };
static const cb_hydro_field hydro_fixed[] = {
    {"storage_initial", offsetof(cb_hydro_hydro, storage_initial), 0, 0, INFINITY,
     "the storage before the first stage"},
    {"productivity", offsetof(cb_hydro_hydro, productivity), 1, 0, 20,
     "MW for each m3/s, below 20: 1 m3/s falling 1000 m makes less than 10 MW"},
    {"first_inflow", offsetof(cb_hydro_hydro, first_inflow), -INFINITY, -INFINITY, INFINITY, "the inflow of stage 1"},
};

static const cb_hydro_field line_field[] = {
    {"max", offsetof(cb_hydro_line, max), INFINITY, 0, INFINITY,
     "the most power in MW, from 0 on, or nothing for no limit"},
    {"cost", offsetof(cb_hydro_line, cost), 0, -INFINITY, INFINITY, "the cost of a MWh sent"},
    {"loss", offsetof(cb_hydro_line, loss), 0, 0, 0.999, "the share of the power that is lost: 3 % is 0.03"},
};

static const cb_hydro_field deficit_field[] = {
    {"depth", offsetof(cb_hydro_deficit, depth), 1, 0, 1, "a share of the load: 5 % is 0.05"},
    {"cost", offsetof(cb_hydro_deficit, cost), NAN, 0, INFINITY, "the cost of a MWh that is not supplied, from 0 on"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const cb_hydro_kind cb_hydro_kind_thermals = {"thermals", thermal_field, COUNT(thermal_field)};
const cb_hydro_kind cb_hydro_kind_hydros = {"hydros", hydro_field, COUNT(hydro_field)};
const cb_hydro_kind cb_hydro_kind_exchanges = {"exchanges", line_field, COUNT(line_field)};

/* The name in a line's first column; NULL: reported. */
static const char *new_name(cb_hydro_case *c, const cb_csv *table, size_t row, size_t column, cb_hydro_names *names) {
    const char *name = cb_csv_text(table, row, column);
    cb_place at = cb_csv_place(table, row, column);
    if (column == CB_NONE || !cb_hydro_good_name(c, &at, name))
        return NULL;
    if (cb_hydro_find(c, names, name) == CB_NONE)
        return cb_hydro_keep(c, name);
    cb_error_at(c->builder, &at, "give each a name of its own", "\"%s\" is there twice", name);
    return NULL;
}

void cb_hydro_check_thermal(cb_hydro_case *c, const cb_place *at, const cb_hydro_thermal *thermal) {
    if (thermal->min > thermal->max)
        cb_error_at(c->builder, at, "swap or correct them", "thermal %s: min %g is above max %g", thermal->name,
                    thermal->min, thermal->max);
}

void cb_hydro_check_hydro(cb_hydro_case *c, const cb_place *at, const cb_hydro_hydro *hydro) {
    if (hydro->storage_min > hydro->storage_max)
        cb_error_at(c->builder, at, "swap or correct them", "hydro %s: storage_min %g is above storage_max %g",
                    hydro->name, hydro->storage_min, hydro->storage_max);
    if (hydro->outflow_min > 0 && hydro->outflow_penalty == 0)
        cb_error_at(c->builder, at,
                    "give a "
                    "penalty",
                    "hydro %s: outflow_min without outflow_penalty would cost nothing to miss", hydro->name);
    if (hydro->outflow_min > hydro->turbine_max + hydro->spill_max)
        cb_error_at(c->builder, at, NULL, "hydro %s: outflow_min %g is above turbine_max + spill_max = %g", hydro->name,
                    hydro->outflow_min, hydro->turbine_max + hydro->spill_max);
}

static void check_initial(cb_hydro_case *c, const cb_place *at, const cb_hydro_hydro *hydro) {
    bool outside = hydro->storage_initial > hydro->storage_max || hydro->storage_initial < hydro->storage_min;
    if (outside && hydro->storage_min <= hydro->storage_max)
        cb_error_at(c->builder, at,
                    "it "
                    "is a volume, not a share",
                    "hydro %s: storage_initial %g is not between storage_min %g and storage_max %g", hydro->name,
                    hydro->storage_initial, hydro->storage_min, hydro->storage_max);
    if (!c->water && !isnan(hydro->productivity) && hydro->productivity != 1)
        cb_error_at(c->builder, at,
                    "remove "
                    "the column, or use \"units\": \"water\"",
                    "hydro %s: productivity %g, but in energy units a flow is the power itself", hydro->name,
                    hydro->productivity);
}

static void read_thermals(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "thermals.csv", true, &table)) {
        size_t columns[COUNT(thermal_field)], name_column = cb_csv_column(c->builder, &table, "thermal", true),
                                              subsystem = cb_csv_column(c->builder, &table, "subsystem", true);
        cb_hydro_field_columns(c, &table, thermal_field, COUNT(thermal_field), columns);
        cb_csv_unknown_columns(c->builder, &table);
        for (size_t row = 0; row < table.rows; row++) {
            cb_hydro_thermal new = {.line = table.line[row]};
            const char *name = new_name(c, &table, row, name_column, cb_hydro_thermal_name);
            new.subsystem =
                cb_hydro_refer(c, &table, row, subsystem, cb_hydro_subsystem_name, "subsystem", "case.json");
            cb_hydro_fields(c, &table, columns, row, thermal_field, COUNT(thermal_field), &new);
            new.name = name ? name : "";
            cb_place at = cb_csv_place(&table, row, CB_NONE);
            cb_hydro_check_thermal(c, &at, &new);
            if (CB_GROW(c->builder, c->thermal, c->thermals, c->thermals_room))
                c->thermal[c->thermals++] = new;
        }
    }
    cb_csv_free(&table);
}

typedef struct {
    size_t name, subsystem, downstream, spill_downstream, field[COUNT(hydro_field)], fixed[COUNT(hydro_fixed)];
} hydro_columns;

static void find_plant_columns(cb_hydro_case *c, cb_csv *table, hydro_columns *columns) {
    columns->name = cb_csv_column(c->builder, table, "hydro", true);
    columns->subsystem = cb_csv_column(c->builder, table, "subsystem", true);
    columns->downstream = cb_csv_find(table, "downstream");
    columns->spill_downstream = cb_csv_find(table, "spill_downstream");
    cb_hydro_field_columns(c, table, hydro_field, COUNT(hydro_field), columns->field);
    cb_hydro_field_columns(c, table, hydro_fixed, COUNT(hydro_fixed), columns->fixed);
    if (c->water)
        cb_csv_column(c->builder, table, "productivity", true);
    cb_csv_unknown_columns(c->builder, table);
}

static void read_hydro(cb_hydro_case *c, cb_csv *table, size_t row, const hydro_columns *columns) {
    cb_hydro_hydro new = {.line = table->line[row], .downstream = CB_NONE, .spill_downstream = CB_NONE};
    const char *name = new_name(c, table, row, columns->name, cb_hydro_hydro_name);
    new.subsystem =
        cb_hydro_refer(c, table, row, columns->subsystem, cb_hydro_subsystem_name, "subsystem", "case.json");
    cb_hydro_fields(c, table, columns->field, row, hydro_field, COUNT(hydro_field), &new);
    cb_hydro_fields(c, table, columns->fixed, row, hydro_fixed, COUNT(hydro_fixed), &new);
    if (c->water && columns->fixed[PRODUCTIVITY] != CB_NONE &&
        !*cb_csv_text(table, row, columns->fixed[PRODUCTIVITY])) {
        cb_error_at(c->builder, CB_CSV_AT(table, row, columns->fixed[PRODUCTIVITY]),
                    CB_TEXT("give %s", hydro_fixed[PRODUCTIVITY].unit), "is empty");
    }
    if (columns->fixed[FIRST_INFLOW] == CB_NONE || !*cb_csv_text(table, row, columns->fixed[FIRST_INFLOW]))
        new.first_inflow = NAN;
    new.name = name ? name : "";
    cb_place at = cb_csv_place(table, row, CB_NONE);
    cb_hydro_check_hydro(c, &at, &new);
    check_initial(c, &at, &new);
    if (CB_GROW(c->builder, c->hydro, c->hydros, c->hydros_room))
        c->hydro[c->hydros++] = new;
}

/* Once all hydros are known. Spilled water takes the way of turbined water, unless it has its own. */
static void read_downstream(cb_hydro_case *c, cb_csv *table, size_t row, const hydro_columns *columns) {
    cb_hydro_hydro *hydro = cb_hydro_at(c, row);
    if (*cb_csv_text(table, row, columns->downstream))
        hydro->downstream =
            cb_hydro_refer(c, table, row, columns->downstream, cb_hydro_hydro_name, "hydro", "hydros.csv");
    hydro->spill_downstream = hydro->downstream;
    if (*cb_csv_text(table, row, columns->spill_downstream))
        hydro->spill_downstream =
            cb_hydro_refer(c, table, row, columns->spill_downstream, cb_hydro_hydro_name, "hydro", "hydros.csv");
}

/* Stage 1 is known for all hydros or for none. */
static void check_first_inflow(cb_hydro_case *c, const cb_csv *table, size_t column) {
    for (size_t p = 1; p < cb_hydros(c) && column != CB_NONE; p++)
        if (isnan(cb_hydro_at(c, p)->first_inflow) != isnan(cb_hydro_at(c, 0)->first_inflow)) {
            cb_error_at(c->builder, CB_CSV_AT(table, isnan(cb_hydro_at(c, p)->first_inflow) ? p : 0, column),
                        "give all or none", "the inflow of stage 1 is known for some hydros only");
            return;
        }
}

static void read_hydros(cb_hydro_case *c) {
    cb_csv table;
    size_t before = c->builder->errors;
    bool opened = cb_hydro_open(c, "hydros.csv", true, &table);
    c->hydros_unsure = c->builder->errors > before;
    if (opened) {
        hydro_columns columns;
        find_plant_columns(c, &table, &columns);
        for (size_t row = 0; row < table.rows; row++)
            read_hydro(c, &table, row, &columns);
        for (size_t row = 0; row < cb_hydros(c); row++)
            read_downstream(c, &table, row, &columns);
        check_first_inflow(c, &table, columns.fixed[FIRST_INFLOW]);
    }
    cb_csv_free(&table);
}

static void check_line(cb_hydro_case *c, const cb_csv *table, size_t row, const cb_hydro_line *new) {
    cb_place at = cb_csv_place(table, row, CB_NONE);
    if (new->from == CB_NONE || new->to == CB_NONE)
        return;
    if (new->from == new->to)
        cb_error_at(c->builder, &at, "name two ends", "goes from %s to itself", c->subsystem[new->from].name);
    for (size_t l = 0; l < c->lines; l++)
        if (c->line[l].from == new->from && c->line[l].to == new->to)
            cb_error_at(c->builder, &at, "keep one", "the exchange from %s to %s is there twice, first in line %zu",
                        c->subsystem[new->from].name, c->subsystem[new->to].name, c->line[l].line);
}

static void read_lines(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "exchanges.csv", true, &table)) {
        size_t columns[COUNT(line_field)], from = cb_csv_column(c->builder, &table, "from", true),
                                           to = cb_csv_column(c->builder, &table, "to", true);
        cb_hydro_field_columns(c, &table, line_field, COUNT(line_field), columns);
        cb_csv_unknown_columns(c->builder, &table);
        for (size_t row = 0; row < table.rows; row++) {
            cb_hydro_line new = {.line = table.line[row]};
            new.from = cb_hydro_refer(c, &table, row, from, cb_hydro_balance_name, "subsystem", "case.json");
            new.to = cb_hydro_refer(c, &table, row, to, cb_hydro_balance_name, "subsystem", "case.json");
            cb_hydro_fields(c, &table, columns, row, line_field, COUNT(line_field), &new);
            check_line(c, &table, row, &new);
            if (CB_GROW(c->builder, c->line, c->lines, c->lines_room))
                c->line[c->lines++] = new;
        }
    }
    cb_csv_free(&table);
}

static void read_deficit(cb_hydro_case *c, cb_csv *table, size_t row, const size_t *columns, size_t tier,
                         size_t subsystem) {
    cb_hydro_deficit new = {.line = table->line[row], .subsystem = CB_NONE};
    char number[32];
    snprintf(number, sizeof number, "%zu", row + 1);
    const char *name = tier == CB_NONE ? number : cb_csv_text(table, row, tier);
    cb_place at = cb_csv_place(table, row, tier);
    new.tier = cb_hydro_good_name(c, &at, name) ? cb_hydro_keep(c, name) : "";
    if (*cb_csv_text(table, row, subsystem))
        new.subsystem = cb_hydro_refer(c, table, row, subsystem, cb_hydro_subsystem_name, "subsystem", "case.json");
    cb_hydro_fields(c, table, columns, row, deficit_field, COUNT(deficit_field), &new);
    for (size_t d = 0; d < c->deficits && *new.tier; d++) {
        const cb_hydro_deficit *old = &c->deficit[d];
        if (strcmp(old->tier, new.tier) == 0 &&
            (old->subsystem == new.subsystem || old->subsystem == CB_NONE || new.subsystem == CB_NONE))
            cb_error_at(c->builder, &at, "keep one",
                        "tier \"%s\" is there twice for the same subsystem, first in line %zu", new.tier, old->line);
    }
    if (CB_GROW(c->builder, c->deficit, c->deficits, c->deficits_room))
        c->deficit[c->deficits++] = new;
}

static void read_deficits(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "deficits.csv", true, &table)) {
        size_t columns[COUNT(deficit_field)], tier = cb_csv_find(&table, "tier"),
                                              subsystem = cb_csv_find(&table, "subsystem");
        cb_hydro_field_columns(c, &table, deficit_field, COUNT(deficit_field), columns);
        cb_csv_unknown_columns(c->builder, &table);
        for (size_t row = 0; row < table.rows; row++)
            read_deficit(c, &table, row, columns, tier, subsystem);
    }
    cb_csv_free(&table);
}

void cb_hydro_read_elements(cb_hydro_case *c) {
    read_thermals(c);
    read_hydros(c);
    read_lines(c);
    read_deficits(c);
}
