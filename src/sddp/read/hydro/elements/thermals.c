/* SPDX-License-Identifier: Apache-2.0 */
/* thermals.c: thermals.csv: plants that burn something. */
#include <math.h>

#include "sddp/read/hydro/hydro.h"

typedef struct {
    cb_hydro_element base;
    size_t subsystem;
    double min, max, cost;
} thermal;

static const cb_hydro_field field[] = {
    {CB_HYDRO_MEMBER(thermal, min), .high = INFINITY, .unit = "the least generation in MW, from 0 on"},
    {CB_HYDRO_MEMBER(thermal, max), .fallback = INFINITY, .high = INFINITY,
     .unit = "the most generation in MW, from 0 on, or nothing for no limit"},
    {CB_HYDRO_MEMBER(thermal, cost), .required = true, .low = -INFINITY, .high = INFINITY, .unit = "the cost of a MWh"},
};

static const cb_hydro_reference reference[] = {
    {CB_HYDRO_MEMBER(thermal, subsystem), .names = cb_hydro_subsystem_names},
};

static void check(cb_hydro_case *c, const cb_place *at, const void *element) {
    const thermal *its = element;
    if (its->min > its->max)
        cb_error_at(c->builder, at, "swap or correct them", "thermal %s: min %g is above max %g", its->base.name,
                    its->min, its->max);
}

static void supply(const cb_hydro_list *list, size_t subsystem, cb_hydro_supply *sum) {
    const thermal *thermals = list->at;
    for (size_t i = 0; i < list->count; i++)
        if (thermals[i].subsystem == subsystem) {
            sum->must += thermals[i].min;
            sum->can += thermals[i].max;
            sum->dearest = fmax(sum->dearest, thermals[i].cost);
        }
}

static void describe(cb_hydro_case *c, const cb_hydro_list *list) {
    const thermal *thermals = list->at;
    for (size_t i = 0; i < list->count; i++)
        for (size_t b = 0; b < c->blocks; b++)
            cb_hydro_describe(c, cb_hydro_name("generation", thermals[i].base.name, "", c->block[b]),
                              &(cb_hydro_label){.part = COBRE_SDDP_COLUMN,
                                                .kind = "thermal_generation",
                                                .element = thermals[i].base.name,
                                                .block = c->block[b],
                                                .type = "thermal",
                                                .subsystem = c->subsystem[thermals[i].subsystem].name,
                                                .unit = CB_HYDRO_POWER});
}

static void build_block(cb_hydro_builder *b, const cb_hydro_list *list, size_t block) {
    const thermal *thermals = list->at;
    double hours = cb_hydro_hours(b, block);
    for (size_t i = 0; i < list->count; i++) {
        const thermal *its = &thermals[i];
        size_t generation = cb_hydro_column(b, cb_hydro_name("generation", its->base.name, "", b->c->block[block]),
                                            its->min, its->max, its->cost * hours);
        cb_hydro_entry(b, cb_hydro_balance(b, block, its->subsystem), generation, hours);
    }
}

const cb_hydro_kind cb_hydro_kind_thermal = {
    .table = "thermals",
    .word = "thermal",
    .size = sizeof(thermal),
    .name = "thermal",
    .field = field,
    .fields = CB_COUNT(field),
    .reference = reference,
    .references = CB_COUNT(reference),
    .check = check,
    .supply = supply,
    .describe = describe,
    .build_block = build_block,
};
