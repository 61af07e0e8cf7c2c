/* SPDX-License-Identifier: Apache-2.0 */
/* renewables.c: renewables.csv: wind and sun, which can be curtailed. */
#include <math.h>

#include "sddp/read/hydro/hydro.h"

typedef struct {
    cb_hydro_element base;
    size_t subsystem;
    double min, max, cost;
} renewable;

static const cb_hydro_field field[] = {
    {CB_HYDRO_MEMBER(renewable, min), .high = INFINITY, .unit = "what cannot be curtailed in MW, from 0 on"},
    {CB_HYDRO_MEMBER(renewable, max), .required = true, .high = INFINITY,
     .unit = "the most generation in MW, from 0 on"},
    {CB_HYDRO_MEMBER(renewable, cost), .low = -INFINITY, .high = INFINITY, .unit = "the cost of a MWh", .fixed = true},
};

static const cb_hydro_reference reference[] = {
    {CB_HYDRO_MEMBER(renewable, subsystem), .names = cb_hydro_subsystem_names},
};

static void check(cb_hydro_case *c, const cb_place *at, const void *element) {
    const renewable *its = element;
    if (its->min > its->max)
        cb_error_at(c->builder, at, "swap or correct them", "renewable %s: min %g is above max %g", its->base.name,
                    its->min, its->max);
}

static void supply(const cb_hydro_list *list, size_t subsystem, cb_hydro_supply *sum) {
    const renewable *renewables = list->at;
    for (size_t i = 0; i < list->count; i++)
        if (renewables[i].subsystem == subsystem) {
            sum->must += renewables[i].min;
            sum->can += renewables[i].max;
        }
}

static void describe(cb_hydro_case *c, const cb_hydro_list *list) {
    const renewable *renewables = list->at;
    for (size_t i = 0; i < list->count; i++)
        for (size_t b = 0; b < c->blocks; b++)
            cb_hydro_describe(c, cb_hydro_name("renewable", renewables[i].base.name, "", c->block[b]),
                              &(cb_hydro_label){.part = COBRE_SDDP_COLUMN,
                                                .kind = "renewable_generation",
                                                .element = renewables[i].base.name,
                                                .block = c->block[b],
                                                .type = "renewable",
                                                .subsystem = c->subsystem[renewables[i].subsystem].name,
                                                .unit = CB_HYDRO_POWER});
}

static void build_block(cb_hydro_builder *b, const cb_hydro_list *list, size_t block) {
    const renewable *renewables = list->at;
    double hours = cb_hydro_hours(b, block);
    for (size_t i = 0; i < list->count; i++) {
        const renewable *its = &renewables[i];
        size_t column = cb_hydro_column(b, cb_hydro_name("renewable", its->base.name, "", b->c->block[block]), its->min,
                                        its->max, its->cost * hours);
        cb_hydro_entry(b, cb_hydro_balance(b, block, its->subsystem), column, hours);
    }
}

const cb_hydro_kind cb_hydro_kind_renewable = {
    .table = "renewables",
    .word = "renewable",
    .size = sizeof(renewable),
    .name = "renewable",
    .field = field,
    .fields = CB_COUNT(field),
    .reference = reference,
    .references = CB_COUNT(reference),
    .check = check,
    .supply = supply,
    .describe = describe,
    .build_block = build_block,
};
