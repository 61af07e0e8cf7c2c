/* SPDX-License-Identifier: Apache-2.0 */
/* build_inflow.c: puts random inflows and loads into the LP, from a table or from history. */
#include "sddp/read/hydro/hydro.h"

/* A random load moves the balance of every block, and the columns whose bounds are shares of it. */
static void add_load_noise(cb_hydro_builder *b, size_t subsystem, size_t random) {
    for (size_t block = 0; block < b->c->blocks; block++)
        cb_hydro_noise(b, COBRE_SDDP_NOISE_ROW, cb_hydro_balance(b, block, subsystem), 0, random,
                       cb_hydro_hours(b, block));
    for (const cb_hydro_follower *its = b->followers; its; its = its->next)
        if (its->subsystem == subsystem)
            cb_hydro_noise(b, COBRE_SDDP_NOISE_COLUMN_UPPER, its->column, 0, random, its->share);
}

/* The values of an outcome that belong to a random variable: all hydros, and the subsystems whose load is random. */
static void pick(const cb_hydro_case *c, size_t stage, const double *values, double *picked) {
    size_t n = 0;
    for (size_t h = 0; h < cb_hydros(c); h++)
        picked[n++] = stage == 0 && cb_hydro_first_known(c) ? cb_hydro_at(c, h)->first_inflow : values[h];
    for (size_t s = 0; s < c->subsystems; s++)
        if (c->subsystem[s].random_load)
            picked[n++] = values[cb_hydros(c) + s];
}

void cb_hydro_build_inflow(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    size_t width = cb_hydros(c) + c->subsystems;
    for (size_t h = 0; h < cb_hydros(c); h++)
        cb_hydro_noise(
            b, COBRE_SDDP_NOISE_ROW, b->water[h], 0,
            cb_add_random(c->builder, &b->at, b->node, cb_hydro_name("inflow", cb_hydro_at_name(c, h), "", "")),
            b->volume);
    for (size_t s = 0; s < c->subsystems; s++)
        if (c->subsystem[s].random_load)
            add_load_noise(
                b, s, cb_add_random(c->builder, &b->at, b->node, cb_hydro_name("load", c->subsystem[s].name, "", "")));
    double *picked = cb_hydro_array(c, width, sizeof *picked);
    if (picked && b->stage == 0 && cb_hydro_first_known(c)) {
        for (size_t h = 0; h < cb_hydros(c); h++) /* there are no random loads then: check.c */
            picked[h] = cb_hydro_at(c, h)->first_inflow;
        cb_add_outcome(c->builder, &b->at, b->node, 1, picked);
    } else if (picked && c->outcomes) {
        const cb_hydro_outcomes *outcomes = &c->outcomes[cb_hydro_period(c, c->inflow_key, b->stage)];
        for (size_t k = 0; k < outcomes->count; k++) {
            pick(c, b->stage, &outcomes->values[k * width], picked);
            cb_add_outcome(c->builder, &b->at, b->node, outcomes->probability[k], picked);
        }
    }
}

/* Scenario y begins in year y of the history and goes on through the years, from the last to the first. */
void cb_hydro_build_scenarios(cb_hydro_case *c) {
    size_t width = cb_hydros(c) + c->subsystems;
    double *picked = cb_hydro_array(c, width, sizeof *picked);
    for (size_t y = 0; picked && y < c->year_count; y++) {
        const cb_place at = {.file = c->json_path, .text = CB_TEXT("scenario of year %g", c->years[y])};
        size_t scenario = cobre_sddp_add_scenario(c->builder);
        for (size_t t = 0; t < c->stages; t++) {
            size_t year = (y + (t + c->first_season - 1) / c->seasons) % c->year_count;
            pick(c, t, &c->outcomes[cb_hydro_period(c, c->inflow_key, t)].values[year * width], picked);
            cb_add_step(c->builder, &at, scenario, t, picked);
        }
    }
}
