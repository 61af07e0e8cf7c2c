/* SPDX-License-Identifier: Apache-2.0 */
/* inflow.c: inflows.csv, a table of outcomes, and history.csv, whose years are the outcomes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

static const cb_hydro_field inflow_field = {
    .name = "inflow", .required = true, .low = -INFINITY, .high = INFINITY, .unit = "the inflow, in m3/s or MW"};

/* The column of each hydro, then of each subsystem whose load is random ("load[SE]"). */
static void value_columns(cb_hydro_case *c, cb_csv *table, size_t *columns, bool loads) {
    for (size_t h = 0; h < cb_hydros(c); h++)
        columns[h] = *cb_hydro_at_name(c, h)
                         ? cb_csv_need(table, cb_hydro_at_name(c, h), "add one with the inflow of this plant")
                         : CB_NONE;
    for (size_t s = 0; s < c->subsystems; s++) {
        char name[128];
        snprintf(name, sizeof name, "load[%s]", c->subsystem[s].name);
        columns[cb_hydros(c) + s] = loads && !c->subsystem[s].transshipment ? cb_csv_find(table, name) : CB_NONE;
        c->subsystem[s].random_load = columns[cb_hydros(c) + s] != CB_NONE;
    }
}

/* Without hydros a column is most likely a hydro's. */
static void check_columns(cb_hydro_case *c, cb_csv *table) {
    size_t column = 0;
    while (column < table->columns && (table->known[column] || strcmp(table->header[column], "note") == 0))
        column++;
    if (cb_hydros(c) > 0 || column == table->columns) {
        cb_csv_check_columns(c->builder, table);
        return;
    }
    cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, column), "add it to hydros.csv",
                "\"%s\" is not a hydro plant: the case has none", table->header[column]);
}

static void read_values(cb_hydro_case *c, const cb_csv *table, size_t row, const size_t *columns, double *values) {
    for (size_t i = 0; i < cb_hydros(c) + c->subsystems; i++) {
        values[i] = columns[i] == CB_NONE ? 0 : cb_hydro_number(c, table, row, columns[i], &inflow_field);
        if (i < cb_hydros(c) && values[i] < 0)
            cb_hydro_at(c, i)->may_lack = true;
    }
}

/* Makes as much room in each period as its outcomes need. */
static void make_room(cb_hydro_case *c) {
    for (size_t period = 0; period < cb_hydro_periods(c, c->inflow_key); period++) {
        cb_hydro_outcomes *outcomes = &c->outcomes[period];
        outcomes->probability = cb_hydro_array(c, outcomes->room, sizeof *outcomes->probability);
        outcomes->values = cb_hydro_array(c, outcomes->room * (cb_hydros(c) + c->subsystems), sizeof *outcomes->values);
        if (!outcomes->probability || !outcomes->values)
            outcomes->room = 0;
    }
}

/* Probabilities are given or all equal. Stage 1 needs no outcomes when its inflow is known. */
static void check_outcomes(cb_hydro_case *c, const cb_csv *table, bool given) {
    for (size_t period = 0; period < cb_hydro_periods(c, c->inflow_key); period++) {
        cb_hydro_outcomes *outcomes = &c->outcomes[period];
        char when[32];
        double sum = 0;
        cb_hydro_period_text(c->inflow_key, period, when);
        for (size_t k = 0; k < outcomes->count; k++) {
            if (!given)
                outcomes->probability[k] = 1 / (double)outcomes->count;
            sum += outcomes->probability[k];
        }
        cb_place at = {.file = table->path, .line = outcomes->count ? outcomes->line : table->header_line};
        if (outcomes->count == 0 && !(c->inflow_key == CB_HYDRO_BY_STAGE && period == 0 && cb_hydro_first_known(c)))
            cb_error_at(c->builder, &at, "add at least one line", "there is no outcome for %s", when);
        else if (outcomes->count > 0 && fabs(sum - 1) > 1e-6)
            cb_error_at(c->builder, &at, "correct them", "%s: the probabilities of its outcomes add up to %.9g, not 1",
                        when, sum);
    }
}

static void read_outcome(cb_hydro_case *c, const cb_csv *table, size_t row, size_t period, size_t probability,
                         const size_t *columns) {
    static const cb_hydro_field field = {.name = "probability", .high = 1, .unit = "a probability, from 0 to 1"};
    double chance = cb_hydro_number(c, table, row, probability, &field);
    if (period == CB_NONE || c->outcomes[period].room == 0)
        return;
    cb_hydro_outcomes *outcomes = &c->outcomes[period];
    if (outcomes->count == 0)
        outcomes->line = table->line[row];
    outcomes->probability[outcomes->count] = chance;
    read_values(c, table, row, columns, &outcomes->values[outcomes->count++ * (cb_hydros(c) + c->subsystems)]);
}

static void read_outcomes(cb_hydro_case *c, const cb_csv *table, size_t key_column, size_t probability,
                          const size_t *columns) {
    size_t *period = cb_hydro_array(c, table->rows, sizeof *period);
    for (size_t row = 0; period && row < table->rows; row++) {
        period[row] = cb_hydro_read_period(c, table, row, c->inflow_key, key_column);
        if (period[row] != CB_NONE)
            c->outcomes[period[row]].room++;
    }
    make_room(c);
    for (size_t row = 0; period && row < table->rows; row++)
        read_outcome(c, table, row, period[row], probability, columns);
}

void cb_hydro_read_inflows(cb_hydro_case *c) {
    cb_csv table;
    bool needed = cb_hydros(c) > 0;
    if (cb_hydro_open(c, "inflows.csv", !needed, &table)) {
        size_t key_column, probability = cb_csv_find(&table, "probability");
        size_t *columns = cb_hydro_array(c, cb_hydros(c) + c->subsystems, sizeof *columns);
        c->inflow_key = cb_hydro_find_key(c, &table, &key_column);
        c->outcomes = cb_hydro_array(c, cb_hydro_periods(c, c->inflow_key), sizeof *c->outcomes);
        cb_csv_find(&table, "outcome"); /* for the human reader */
        if (columns && c->outcomes) {
            value_columns(c, &table, columns, true);
            check_columns(c, &table);
            read_outcomes(c, &table, key_column, probability, columns);
            if (cb_csv_sound(c->builder, &table))
                check_outcomes(c, &table, probability != CB_NONE);
        }
    }
    cb_csv_free(&table);
}

/* The year's place among the outcomes; CB_NONE: it has none yet. */
static size_t year_index(const cb_hydro_case *c, double year) {
    for (size_t y = c->year_count; y-- > 0;)
        if (c->years[y] == year)
            return y;
    return CB_NONE;
}

/* All the years that are used, in order of appearance, so that every season can have all of them in the same order. */
static void find_years(cb_hydro_case *c, const cb_csv *table, size_t column) {
    static const cb_hydro_field field = {
        .name = "year", .required = true, .low = -INFINITY, .high = INFINITY, .unit = "a year"};
    c->years = cb_hydro_array(c, table->rows, sizeof *c->years);
    for (size_t row = 0; c->years && row < table->rows; row++) {
        double year = cb_hydro_number(c, table, row, column, &field);
        if (year >= c->first_year && year <= c->last_year && year_index(c, year) == CB_NONE)
            c->years[c->year_count++] = year;
    }
    if (c->year_count == 0 && cb_csv_sound(c->builder, table))
        cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, column), "correct either",
                    "there is no year between the \"years\" of case.json");
    for (size_t period = 0; period < cb_hydro_periods(c, c->inflow_key); period++)
        c->outcomes[period].room = c->year_count;
    make_room(c);
    for (size_t period = 0; period < cb_hydro_periods(c, c->inflow_key); period++) {
        cb_hydro_outcomes *outcomes = &c->outcomes[period];
        while (outcomes->count < outcomes->room)
            outcomes->probability[outcomes->count++] = 1 / (double)c->year_count;
    }
}

static void read_history_rows(cb_hydro_case *c, const cb_csv *table, size_t year_column, size_t key_column,
                              const size_t *columns) {
    size_t width = cb_hydros(c) + c->subsystems, periods = cb_hydro_periods(c, c->inflow_key);
    bool *seen = cb_hydro_array(c, periods * c->year_count, sizeof *seen);
    for (size_t row = 0; row < table->rows && seen; row++) {
        double year;
        if (!cb_csv_number(cb_csv_text(table, row, year_column), &year) || year < c->first_year || year > c->last_year)
            continue;
        size_t period = cb_hydro_read_period(c, table, row, c->inflow_key, key_column), y = year_index(c, year);
        if (period == CB_NONE || y == CB_NONE)
            continue;
        cb_place at = cb_csv_place(table, row, key_column);
        if (seen[period * c->year_count + y])
            cb_error_at(c->builder, &at, "keep one", "season %zu of year %g is there twice", period + 1, year);
        seen[period * c->year_count + y] = true;
        if (y < c->outcomes[period].count)
            read_values(c, table, row, columns, &c->outcomes[period].values[y * width]);
    }
    bool sound = cb_csv_sound(c->builder, table);
    for (size_t y = 0; seen && sound && y < c->year_count; y++)
        for (size_t period = 0; period < periods; period++)
            if (!seen[period * c->year_count + y]) {
                cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, CB_NONE),
                            "add it, or leave the year out with \"years\" in case.json",
                            "year %g has no line for season %zu", c->years[y], period + 1);
                break;
            }
}

void cb_hydro_read_history(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "history.csv", false, &table)) {
        size_t year = cb_csv_column(c->builder, &table, "year", true),
               season = cb_csv_column(c->builder, &table, "season", true);
        size_t *columns = cb_hydro_array(c, cb_hydros(c) + c->subsystems, sizeof *columns);
        c->inflow_key = cb_hydro_find_key(c, &table, &season);
        c->outcomes = cb_hydro_array(c, cb_hydro_periods(c, c->inflow_key), sizeof *c->outcomes);
        if (columns && c->outcomes) {
            value_columns(c, &table, columns, false);
            check_columns(c, &table);
            if (!table.incomplete && c->inflow_key == CB_HYDRO_BY_SEASON) {
                find_years(c, &table, year);
                read_history_rows(c, &table, year, season, columns);
            }
        }
    }
    cb_csv_free(&table);
}
