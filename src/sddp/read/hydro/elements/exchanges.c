/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.c: exchanges.csv: directions of lines between subsystems. */
#include <math.h>

#include "sddp/read/hydro/hydro.h"

typedef struct {
    cb_hydro_element base;
    size_t from, to;
    double max, cost, loss;
} exchange;

static const cb_hydro_field field[] = {
    {CB_HYDRO_MEMBER(exchange, max), .fallback = INFINITY, .high = INFINITY,
     .unit = "the most power in MW, from 0 on, or nothing for no limit"},
    {CB_HYDRO_MEMBER(exchange, cost), .low = -INFINITY, .high = INFINITY, .unit = "the cost of a MWh sent"},
    {CB_HYDRO_MEMBER(exchange, loss), .high = 0.999, .unit = "the share of the power that is lost: 3 % is 0.03"},
};

static const cb_hydro_reference reference[] = {
    {CB_HYDRO_MEMBER(exchange, from), .names = cb_hydro_node_names},
    {CB_HYDRO_MEMBER(exchange, to), .names = cb_hydro_node_names},
};

static void complete(cb_hydro_case *c, const cb_hydro_list *list, cb_csv *table) {
    exchange *exchanges = list->at;
    for (size_t i = 0; i < list->count; i++) {
        exchange *its = &exchanges[i];
        if (its->from == CB_NONE || its->to == CB_NONE)
            continue;
        cb_place at = cb_csv_place(table, i, CB_NONE);
        const char *from = c->subsystem[its->from].name, *to = c->subsystem[its->to].name;
        its->base.name = cb_hydro_text(c, "%s->%s", from, to);
        if (its->from == its->to)
            cb_error_at(c->builder, &at, "name two ends", "goes from %s to itself", from);
        for (size_t k = 0; k < i; k++)
            if (exchanges[k].from == its->from && exchanges[k].to == its->to)
                cb_error_at(c->builder, &at, "keep one", "the exchange from %s to %s is there twice, first in line %zu",
                            from, to, exchanges[k].base.line);
    }
}

static void supply(const cb_hydro_list *list, size_t subsystem, cb_hydro_supply *sum) {
    const exchange *exchanges = list->at;
    for (size_t i = 0; i < list->count; i++) {
        if (exchanges[i].from == subsystem)
            sum->exports += exchanges[i].max;
        if (exchanges[i].to == subsystem)
            sum->can += exchanges[i].max * (1 - exchanges[i].loss);
    }
}

static void describe(cb_hydro_case *c, const cb_hydro_list *list) {
    const exchange *exchanges = list->at;
    for (size_t i = 0; i < list->count; i++)
        for (size_t b = 0; b < c->blocks; b++) {
            const char *from = c->subsystem[exchanges[i].from].name, *to = c->subsystem[exchanges[i].to].name;
            cb_hydro_describe(c, cb_hydro_name("exchange", from, to, c->block[b]),
                              &(cb_hydro_label){.part = COBRE_SDDP_COLUMN,
                                                .kind = "exchange",
                                                .element = exchanges[i].base.name,
                                                .block = c->block[b],
                                                .type = "line",
                                                .unit = CB_HYDRO_POWER});
        }
}

static void build_block(cb_hydro_builder *b, const cb_hydro_list *list, size_t block) {
    const exchange *exchanges = list->at;
    const cb_hydro_subsystem *subsystem = b->c->subsystem;
    double hours = cb_hydro_hours(b, block);
    for (size_t i = 0; i < list->count; i++) {
        const exchange *its = &exchanges[i];
        const char *name =
            cb_hydro_name("exchange", subsystem[its->from].name, subsystem[its->to].name, b->c->block[block]);
        size_t sent = cb_hydro_column(b, name, 0, its->max, its->cost * hours);
        cb_hydro_entry(b, cb_hydro_balance(b, block, its->from), sent, -hours);
        cb_hydro_entry(b, cb_hydro_balance(b, block, its->to), sent, hours * (1 - its->loss));
    }
}

const cb_hydro_kind cb_hydro_kind_exchange = {
    .table = "exchanges",
    .word = "exchange",
    .size = sizeof(exchange),
    .field = field,
    .fields = CB_COUNT(field),
    .reference = reference,
    .references = CB_COUNT(reference),
    .complete = complete,
    .supply = supply,
    .describe = describe,
    .build_block = build_block,
};
