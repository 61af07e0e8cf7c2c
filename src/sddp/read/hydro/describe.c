/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c: the meaning of the numbers of a hydrothermal case: labels with units, for tables, reports and answers.
 * Each kind of elements describes its own. */
#include <math.h>
#include <stdio.h>

#include "sddp/read/hydro/hydro.h"

static const char *unit_of(cb_hydro_case *c, cb_hydro_unit unit) {
    const char *energy = c->months ? "MWmonth" : "MWh", *volume = c->water ? "hm3" : energy;
    switch (unit) {
    case CB_HYDRO_POWER: return "MW";
    case CB_HYDRO_FLOW: return c->water ? "m3/s" : "MW";
    case CB_HYDRO_VOLUME: return volume;
    case CB_HYDRO_ENERGY: return energy;
    case CB_HYDRO_PRICE: return cb_hydro_text(c, "%s/%s", c->currency, energy);
    case CB_HYDRO_WATER_PRICE: return cb_hydro_text(c, "%s/%s", c->currency, volume);
    default: return "";
    }
}

/* Duals are in costs as they are in the objective; a price is in those of the tables. */
void cb_hydro_describe(cb_hydro_case *c, const char *name, const cb_hydro_label *its) {
    double factor = its->sign == 0 ? 1 : its->sign;
    cobre_sddp_label label = {.struct_size = sizeof label,
                              .kind = its->kind,
                              .element = its->element,
                              .block = its->block,
                              .unit = unit_of(c, its->unit),
                              .type = its->type,
                              .subsystem = its->subsystem,
                              .factor = its->part == COBRE_SDDP_ROW ? factor / c->cost_scale : factor,
                              .energy = its->energy,
                              .detail = its->detail};
    cobre_sddp_add_label(c->builder, its->part, name, &label);
}

/* "k$" for a cost_scale of 0.001; "1200 $" where no prefix fits. */
static const char *cost_unit(cb_hydro_case *c) {
    static const struct {
        double scale;
        const char *prefix;
    } known[] = {{1, ""}, {1e-3, "k"}, {1e-6, "M"}, {1e-9, "G"}};
    for (size_t i = 0; i < CB_COUNT(known); i++)
        if (fabs(c->cost_scale / known[i].scale - 1) < 1e-9)
            return cb_hydro_text(c, "%s%s", known[i].prefix, c->currency);
    return cb_hydro_text(c, "%.6g %s", 1 / c->cost_scale, c->currency);
}

static void describe_subsystem(cb_hydro_case *c, const cb_hydro_subsystem *its) {
    for (size_t b = 0; b < c->blocks; b++)
        cb_hydro_describe(c, cb_hydro_name(its->transshipment ? "transfer" : "load", its->name, "", c->block[b]),
                          &(cb_hydro_label){.part = COBRE_SDDP_ROW,
                                            .kind = "marginal_cost",
                                            .element = its->name,
                                            .block = c->block[b],
                                            .type = "subsystem",
                                            .subsystem = its->name,
                                            .unit = CB_HYDRO_PRICE,
                                            .detail = its->transshipment});
    cb_hydro_describe(c, cb_hydro_name("load", its->name, "", ""),
                      &(cb_hydro_label){.part = COBRE_SDDP_RANDOM,
                                        .kind = "load",
                                        .element = its->name,
                                        .type = "subsystem",
                                        .subsystem = its->name,
                                        .unit = CB_HYDRO_POWER});
}

void cb_hydro_describe_all(cb_hydro_case *c) {
    cobre_sddp_set_units(c->builder, c->months ? "month" : "h", cost_unit(c));
    for (size_t b = 0; b < c->blocks; b++)
        if (*c->block[b])
            cobre_sddp_add_block(c->builder, c->block[b]);
    for (size_t s = 0; s < c->subsystems; s++)
        describe_subsystem(c, &c->subsystem[s]);
    for (size_t k = 0; k < CB_KINDS; k++)
        if (cb_hydro_kinds[k]->describe)
            cb_hydro_kinds[k]->describe(c, &c->list[k]);
}
