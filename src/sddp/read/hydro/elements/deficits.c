/* SPDX-License-Identifier: Apache-2.0 */
/* deficits.c: deficits.csv: tiers of load that stays unserved. */
#include <math.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

typedef struct {
    cb_hydro_element base;
    size_t subsystem; /* CB_NONE: every one */
    double depth, cost;
} deficit;

static const cb_hydro_field field[] = {
    {CB_HYDRO_MEMBER(deficit, depth), .fallback = 1, .high = 1, .unit = "a share of the load: 5 % is 0.05"},
    {CB_HYDRO_MEMBER(deficit, cost), .required = true, .high = INFINITY,
     .unit = "the cost of a MWh that is not supplied, from 0 on"},
};

static const cb_hydro_reference reference[] = {
    {CB_HYDRO_MEMBER(deficit, subsystem), .names = cb_hydro_subsystem_names, .optional = true},
};

static bool concerns(const deficit *its, size_t subsystem) {
    return its->subsystem == CB_NONE || its->subsystem == subsystem;
}

static void complete(cb_hydro_case *c, const cb_hydro_list *list, cb_csv *table) {
    const deficit *deficits = list->at;
    size_t tier = cb_csv_find(table, "tier");
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < i && *deficits[i].base.name; k++) {
            const deficit *old = &deficits[k], *new = &deficits[i];
            if (strcmp(old->base.name, new->base.name) == 0 &&
                (concerns(old, new->subsystem) || new->subsystem == CB_NONE))
                cb_error_at(c->builder, CB_CSV_AT(table, i, tier), "keep one",
                            "tier \"%s\" is there twice for the same subsystem, first in line %zu", new->base.name,
                            old->base.line);
        }
}

static void supply(const cb_hydro_list *list, size_t subsystem, cb_hydro_supply *sum) {
    const deficit *deficits = list->at;
    for (size_t i = 0; i < list->count; i++)
        if (concerns(&deficits[i], subsystem)) {
            sum->depth += deficits[i].depth;
            sum->dearest = fmax(sum->dearest, deficits[i].cost);
        }
}

static void describe_tier(cb_hydro_case *c, const char *subsystem, const char *tier) {
    for (size_t b = 0; b < c->blocks; b++)
        cb_hydro_describe(c, cb_hydro_name("deficit", subsystem, tier, c->block[b]),
                          &(cb_hydro_label){.part = COBRE_SDDP_COLUMN,
                                            .kind = "deficit",
                                            .element = cb_hydro_text(c, "%s:%s", subsystem, tier),
                                            .block = c->block[b],
                                            .type = "tier",
                                            .subsystem = subsystem,
                                            .unit = CB_HYDRO_POWER});
}

static void describe(cb_hydro_case *c, const cb_hydro_list *list) {
    const deficit *deficits = list->at;
    for (size_t s = 0; s < c->subsystems; s++)
        for (size_t i = 0; i < list->count; i++)
            if (!c->subsystem[s].transshipment && concerns(&deficits[i], s))
                describe_tier(c, c->subsystem[s].name, deficits[i].base.name);
}

static void build_block(cb_hydro_builder *b, const cb_hydro_list *list, size_t block) {
    const deficit *deficits = list->at;
    double hours = cb_hydro_hours(b, block);
    for (size_t s = 0; s < b->c->subsystems; s++)
        for (size_t i = 0; i < list->count; i++) {
            const deficit *its = &deficits[i];
            const cb_hydro_subsystem *subsystem = &b->c->subsystem[s];
            if (subsystem->transshipment || !concerns(its, s))
                continue;
            const char *name = cb_hydro_name("deficit", subsystem->name, its->base.name, b->c->block[block]);
            size_t unserved = cb_hydro_column(b, name, 0, its->depth * cb_hydro_load(b, block, s), its->cost * hours);
            cb_hydro_entry(b, cb_hydro_balance(b, block, s), unserved, hours);
            cb_hydro_follow_load(b, s, unserved, its->depth);
        }
}

const cb_hydro_kind cb_hydro_kind_deficit = {
    .table = "deficits",
    .word = "deficit",
    .size = sizeof(deficit),
    .name = "tier",
    .tiers = true,
    .field = field,
    .fields = CB_COUNT(field),
    .reference = reference,
    .references = CB_COUNT(reference),
    .complete = complete,
    .supply = supply,
    .describe = describe,
    .build_block = build_block,
};
