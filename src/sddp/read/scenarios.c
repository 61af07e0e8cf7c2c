/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios.c: scenarios to simulate, from a table: one line per step, in order, with a column for each random variable. The
 * simulation checks where they begin. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/read/csv.h"
#include "sddp/read/reader.h"

typedef struct {
    cobre_sddp_builder *builder;
    cb_csv table;
    bool by_stage; /* the n-th node is stage n; else there is a column with the names of nodes */
    size_t name, key;
    double *values; /* of one step */
} reader;

/* Tables of hydrothermal cases call inflow[head] and noise[head] just head; in others such a name is a name. */
static size_t random_column(reader *r, const char *random) {
    char name[512];
    size_t skip = !r->by_stage ? 0 : strncmp(random, "inflow[", 7) == 0 ? 7 : strncmp(random, "noise[", 6) == 0 ? 6 : 0;
    snprintf(name, sizeof name, "%s", random + skip);
    if (skip && *name)
        name[strlen(name) - 1] = 0;
    return cb_csv_need(&r->table, name, "add one with the values of this random variable");
}

/* Every random variable of every node must have a column. */
static void check_columns(reader *r) {
    for (size_t n = 0; n < r->builder->nodes; n++)
        for (size_t i = 0; i < r->builder->node[n].randoms; i++)
            random_column(r, r->builder->node[n].random_name[i]);
    cb_csv_check_columns(r->builder, &r->table);
}

static size_t find_node(reader *r, size_t row) {
    const char *text = cb_csv_text(&r->table, row, r->key);
    double number;
    size_t node = CB_NONE;
    if (!r->by_stage)
        node = cb_find_node(r->builder, text);
    else if (cb_csv_number(text, &number) && number >= 1 && number <= (double)r->builder->nodes &&
             floor(number) == number)
        node = (size_t)number - 1;
    cb_place at = cb_csv_place(&r->table, row, r->key);
    if (node == CB_NONE)
        cb_error_at(r->builder, &at, "correct it", "\"%s\" is no %s of this case", text,
                    r->by_stage ? "stage" : "node");
    return node;
}

/* The scenario of a row: those with the same name belong together. first: the row that began it. */
static size_t find_scenario(reader *r, size_t row, size_t *first) {
    const char *name = cb_csv_text(&r->table, row, r->name);
    for (size_t s = r->builder->scenarios; s-- > 0;)
        if (strcmp(cb_csv_text(&r->table, first[s], r->name), name) == 0)
            return s;
    first[r->builder->scenarios] = row;
    return cobre_sddp_add_scenario(r->builder);
}

static void check_follows(reader *r, const cb_place *at, const cb_scenario *scenario, size_t node) {
    if (scenario->steps == 0)
        return;
    const cb_builder_node *last = &r->builder->node[scenario->node[scenario->steps - 1]];
    for (size_t e = 0; e < last->edges; e++)
        if (last->edge[e].to == node)
            return;
    cb_error_at(r->builder, at, "give every step of a scenario a line, in order", "%s does not follow %s",
                r->builder->node[node].name, last->name);
}

static void read_values(reader *r, size_t row, const cb_builder_node *node) {
    for (size_t i = 0; i < node->randoms; i++) {
        size_t column = random_column(r, node->random_name[i]);
        const char *text = cb_csv_text(&r->table, row, column);
        r->values[i] = 0;
        cb_place at = cb_csv_place(&r->table, row, column);
        if (!*text)
            cb_error_at(r->builder, &at, "give a number", "is empty");
        else if (!cb_csv_number(text, &r->values[i]))
            cb_csv_not_a_number(r->builder, &at, text);
    }
}

static void read_rows(reader *r, size_t *first) {
    for (size_t row = 0; row < r->table.rows && !r->builder->no_memory; row++) {
        size_t node = find_node(r, row), scenario = find_scenario(r, row, first);
        if (node == CB_NONE || scenario == CB_NONE)
            continue;
        cb_place at = cb_csv_place(&r->table, row, CB_NONE);
        check_follows(r, CB_CSV_AT(&r->table, row, r->key), &r->builder->scenario[scenario], node);
        read_values(r, row, &r->builder->node[node]);
        cb_add_step(r->builder, &at, scenario, node, r->values);
    }
}

void cb_read_scenarios(cobre_sddp_builder *builder, const char *path, bool by_stage) {
    reader r = {.builder = builder, .by_stage = by_stage};
    size_t most = 0;
    for (size_t n = 0; n < builder->nodes; n++)
        most = builder->node[n].randoms > most ? builder->node[n].randoms : most;
    cb_drop_scenarios(builder);
    if (cb_csv_read(builder, path, false, &r.table)) {
        size_t *first = malloc((r.table.rows + 1) * sizeof *first);
        r.values = malloc((most + 1) * sizeof *r.values);
        r.name = cb_csv_column(builder, &r.table, "scenario", true);
        r.key = cb_csv_column(builder, &r.table, by_stage ? "stage" : "node", true);
        check_columns(&r);
        builder->no_memory |= !first || !r.values;
        if (cb_csv_sound(builder, &r.table) && !builder->no_memory)
            read_rows(&r, first);
        if (cb_csv_sound(builder, &r.table) && r.table.rows == 0) {
            cb_error_at(builder, CB_CSV_AT(&r.table, CB_NONE, CB_NONE), "add lines", "there is no scenario");
        }
        free(first);
        free(r.values);
    }
    cb_csv_free(&r.table);
}
