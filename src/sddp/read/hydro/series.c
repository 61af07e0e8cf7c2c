/* SPDX-License-Identifier: Apache-2.0 */
/* series.c: stages.csv, blocks.csv and load.csv. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

static const cb_hydro_field stage_field[] = {
    {CB_HYDRO_MEMBER(cb_hydro_stage, duration), .low = 1e-3, .high = 87600,
     .unit = "the length of the stage, in the case's unit of time"},
    {CB_HYDRO_MEMBER(cb_hydro_stage, discount), .low = 1e-9, .high = 1,
     .unit = "a factor above 0, at most 1, by which costs shrink from the stage before"},
    {CB_HYDRO_MEMBER(cb_hydro_stage, beta), .high = 1, .unit = "the weight of the expectation, from 0 to 1"},
    {CB_HYDRO_MEMBER(cb_hydro_stage, alpha), .low = 1e-9, .high = 1,
     .unit = "the share of worst outcomes, above 0, at most 1"},
};
enum { STAGE_FIELDS = sizeof stage_field / sizeof *stage_field };

static void default_stages(cb_hydro_case *c) {
    c->stage = cb_hydro_array(c, c->stages, sizeof *c->stage);
    for (size_t t = 0; c->stage && t < c->stages; t++) {
        char name[32];
        snprintf(name, sizeof name, "%zu", t + 1);
        c->stage[t] =
            (cb_hydro_stage){.name = cb_hydro_text(c, "%s", name),
                             .duration = c->duration,
                             .discount = 0, /* unless stages.csv says: from the case's rate, when all is read */
                             .beta = c->beta,
                             .alpha = c->alpha};
    }
}

/* The factor from the stage before; a year has 12 months or 8760 hours. */
static void fill_discounts(cb_hydro_case *c) {
    for (size_t t = 0; t < c->stages; t++) {
        double years = c->stage[t ? t - 1 : 0].duration / (c->months ? 12 : 8760);
        if (c->stage[t].discount == 0)
            c->stage[t].discount = c->annual_rate > 0 ? pow(1 + c->annual_rate, -years) : c->discount;
    }
}

static void read_stage(cb_hydro_case *c, cb_csv *table, size_t row, size_t number, size_t name, const size_t *columns) {
    size_t index = cb_hydro_whole(c, table, row, number, 1, c->stages, "stage of this case");
    if (index == CB_NONE)
        return;
    cb_hydro_stage *stage = &c->stage[index - 1];
    if (stage->line)
        cb_error_at(c->builder, CB_CSV_AT(table, row, number), "keep one",
                    "stage %zu is there twice, first in line %zu", index, stage->line);
    stage->line = table->line[row];
    cb_place at = cb_csv_place(table, row, name);
    if (*cb_csv_text(table, row, name) && cb_hydro_good_name(c, &at, cb_csv_text(table, row, name)))
        stage->name = cb_hydro_text(c, "%s", cb_csv_text(table, row, name));
    for (size_t f = 0; f < STAGE_FIELDS; f++) {
        cb_hydro_field field = stage_field[f];
        memcpy(&field.fallback, (char *)stage + field.offset, sizeof field.fallback);
        double value = cb_hydro_number(c, table, row, columns[f], &field);
        memcpy((char *)stage + field.offset, &value, sizeof value);
    }
}

static void check_stage_names(cb_hydro_case *c, const cb_csv *table) {
    for (size_t t = 0; t < c->stages; t++)
        for (size_t other = 0; other < t; other++)
            if (strcmp(c->stage[t].name, c->stage[other].name) == 0) {
                size_t line = c->stage[t].line ? c->stage[t].line : c->stage[other].line;
                cb_place at = {.file = table->path, .line = line, .text = "column name"};
                cb_error_at(c->builder, &at, "give each a name of its own", "stages %zu and %zu are both called \"%s\"",
                            other + 1, t + 1, c->stage[t].name);
            }
}

void cb_hydro_read_stages(cb_hydro_case *c) {
    cb_csv table;
    default_stages(c);
    if (!c->stage)
        return;
    if (cb_hydro_open(c, "stages.csv", true, &table)) {
        size_t columns[STAGE_FIELDS], number = cb_csv_column(c->builder, &table, "stage", true),
                                      name = cb_csv_find(&table, "name");
        cb_hydro_field_columns(c, &table, stage_field, STAGE_FIELDS, columns);
        cb_csv_check_columns(c->builder, &table);
        for (size_t row = 0; number != CB_NONE && row < table.rows; row++)
            read_stage(c, &table, row, number, name, columns);
        if (name != CB_NONE)
            check_stage_names(c, &table);
    }
    cb_csv_free(&table);
    fill_discounts(c);
}

static void add_block(cb_hydro_case *c, const cb_place *at, const char *name) {
    if (cb_hydro_find(cb_hydro_block_names(c), name) == CB_NONE && cb_hydro_good_name(c, at, name))
        c->block[c->blocks++] = cb_hydro_text(c, "%s", name);
}

/* Each period and block once: NaN means not yet. */
static double *empty_cells(cb_hydro_case *c, size_t count) {
    double *cells = cb_hydro_array(c, count, sizeof *cells);
    for (size_t i = 0; cells && i < count; i++)
        cells[i] = NAN;
    return cells;
}

static void read_shares(cb_hydro_case *c, cb_csv *table, size_t name, size_t column, size_t key_column) {
    cb_hydro_field field = {.name = "share",
                            .required = true,
                            .low = 1e-6,
                            .high = 1,
                            .unit = "a share of the stage's time, above 0, at most 1, not hours or percent"};
    bool *seen = cb_hydro_array(c, cb_hydro_periods(c, c->share_key) * c->blocks, sizeof *seen);
    for (size_t row = 0; row < table->rows && seen; row++) {
        size_t period = cb_hydro_read_period(c, table, row, c->share_key, key_column);
        size_t block = cb_hydro_find(cb_hydro_block_names(c), cb_csv_text(table, row, name));
        double share = cb_hydro_number(c, table, row, column, &field);
        if (period == CB_NONE || block == CB_NONE)
            continue;
        cb_place at = cb_csv_place(table, row, name);
        if (seen[period * c->blocks + block])
            cb_error_at(c->builder, &at, "keep one", "block \"%s\" is there twice", c->block[block]);
        seen[period * c->blocks + block] = true;
        c->share[period * c->blocks + block] = share;
    }
}

static void check_shares(cb_hydro_case *c, const cb_csv *table) {
    for (size_t period = 0; period < cb_hydro_periods(c, c->share_key); period++) {
        char when[32];
        double sum = 0;
        cb_hydro_period_text(c->share_key, period, when);
        cb_place at = cb_csv_place(table, CB_NONE, CB_NONE);
        for (size_t b = 0; b < c->blocks; b++)
            sum += c->share[period * c->blocks + b];
        if (isnan(sum)) /* a number that is wrong has been reported */
            cb_error_at(c->builder, &at, "give one for each block", "%s: not all blocks have a share", when);
        else if (fabs(sum - 1) > 1e-6)
            cb_error_at(c->builder, &at, "correct them", "%s: the shares of the blocks add up to %.9g, not 1", when,
                        sum);
    }
}

void cb_hydro_read_blocks(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "blocks.csv", true, &table)) {
        size_t key_column, name = cb_csv_column(c->builder, &table, "block", true),
                           share = cb_csv_column(c->builder, &table, "share", true);
        c->share_key = cb_hydro_find_key(c, &table, &key_column);
        cb_csv_check_columns(c->builder, &table);
        c->block = cb_hydro_array(c, table.rows, sizeof *c->block);
        for (size_t row = 0; c->block && row < table.rows; row++)
            add_block(c, CB_CSV_AT(&table, row, name), cb_csv_text(&table, row, name));
        c->share = empty_cells(c, cb_hydro_periods(c, c->share_key) * c->blocks);
        if (c->share)
            read_shares(c, &table, name, share, key_column);
        if (c->share && cb_csv_sound(c->builder, &table))
            check_shares(c, &table);
    }
    c->blocks_unsure = !cb_csv_sound(c->builder, &table);
    cb_csv_free(&table);
    if (c->blocks == 0) { /* one, of the whole stage */
        c->share_key = CB_HYDRO_ALWAYS;
        c->share = cb_hydro_array(c, 1, sizeof *c->share);
        c->block = cb_hydro_array(c, 1, sizeof *c->block);
        if (c->share && c->block) {
            c->block[c->blocks++] = "";
            c->share[0] = 1;
        }
    }
}

/* The column of each subsystem; subsystems without load, and those whose load is random, need none. */
static void load_columns(cb_hydro_case *c, cb_csv *table, size_t *columns) {
    for (size_t s = 0; s < c->subsystems; s++) {
        columns[s] = CB_NONE;
        if (c->subsystem[s].transshipment)
            continue;
        columns[s] = cb_csv_need(table, c->subsystem[s].name,
                                 c->subsystem[s].random_load ? NULL
                                                             : "add one with the load of this subsystem in MW, or "
                                                               "declare it as \"transshipment\" in case.json");
    }
}

/* False: there has been such a line, which is reported. */
static bool read_loads(cb_hydro_case *c, cb_csv *table, size_t row, size_t period, size_t block,
                       const size_t *columns) {
    static const cb_hydro_field field = {
        .name = "load", .required = true, .high = INFINITY, .unit = "the load in MW, from 0 on"};
    double *load = &c->load[(period * c->blocks + block) * c->subsystems];
    bool is_new = isnan(load[0]);
    if (!is_new) {
        cb_place at = cb_csv_place(table, row, CB_NONE);
        char when[32];
        cb_hydro_period_text(c->load_key, period, when);
        cb_error_at(c->builder, &at, "keep one line", "%s%s%s is there twice", when, c->blocks > 1 ? ", block " : "",
                    c->block[block]);
    }
    for (size_t s = 0; s < c->subsystems; s++) {
        double value = columns[s] == CB_NONE ? 0 : cb_hydro_number(c, table, row, columns[s], &field);
        load[s] = isnan(value) ? 0 : value; /* reported; NaN means: no line yet */
    }
    return is_new;
}

static void check_loads(cb_hydro_case *c, const cb_csv *table) {
    for (size_t period = 0; period < cb_hydro_periods(c, c->load_key); period++)
        for (size_t b = 0; b < c->blocks; b++)
            if (isnan(c->load[(period * c->blocks + b) * c->subsystems])) {
                char when[32];
                cb_hydro_period_text(c->load_key, period, when);
                cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, CB_NONE), "add it", "there is no line for %s%s%s",
                            when, c->blocks > 1 ? ", block " : "", c->block[b]);
            }
}

/* Without blocks.csv the one block has no name, and all lines would be wrong. */
static void check_block_column(cb_hydro_case *c, cb_csv *table, size_t column) {
    if (column == CB_NONE || c->blocks_unsure || c->blocks == 0 || *c->block[0])
        return;
    cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, column), "add the table, or remove the column",
                "there are no blocks: the case has no blocks.csv");
    table->incomplete = true;
}

static void read_load_table(cb_hydro_case *c, cb_csv *table) {
    size_t key_column, block_column = cb_csv_find(table, "block");
    size_t *columns = cb_hydro_array(c, c->subsystems, sizeof *columns);
    c->load_key = cb_hydro_find_key(c, table, &key_column);
    c->load = empty_cells(c, cb_hydro_periods(c, c->load_key) * c->blocks * c->subsystems);
    if (columns && c->load) {
        load_columns(c, table, columns);
        check_block_column(c, table, block_column);
        cb_csv_check_columns(c->builder, table);
        for (size_t row = 0; row < table->rows; row++) {
            size_t period = cb_hydro_read_period(c, table, row, c->load_key, key_column), block = 0;
            if (block_column != CB_NONE)
                block = cb_hydro_refer(c, table, row, block_column, cb_hydro_block_names(c));
            if (period == CB_NONE || block == CB_NONE)
                continue;
            size_t last = block_column == CB_NONE ? c->blocks : block + 1; /* without blocks: the same in all */
            while (block < last && read_loads(c, table, row, period, block, columns))
                block++;
        }
        if (cb_csv_sound(c->builder, table) && !c->blocks_unsure)
            check_loads(c, table);
    }
}

void cb_hydro_read_load(cb_hydro_case *c) {
    cb_csv table;
    bool all_random = true;
    for (size_t s = 0; s < c->subsystems; s++)
        all_random &= c->subsystem[s].random_load || c->subsystem[s].transshipment;
    if (cb_hydro_open(c, "load.csv", all_random, &table))
        read_load_table(c, &table);
    cb_csv_free(&table);
    if (!c->load) {
        c->load_key = CB_HYDRO_ALWAYS;
        c->load = cb_hydro_array(c, c->blocks * c->subsystems, sizeof *c->load);
    }
}
