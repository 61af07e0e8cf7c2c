/* SPDX-License-Identifier: Apache-2.0 */
/* plausible.c: warns about numbers that are legal, but look like another unit, a mark or a slip. */
#include <math.h>
#include <stdio.h>

#include "sddp/read/hydro/hydro.h"

#define FAR_ABOVE 1.5 /* a load is far above what can be generated and brought in, by this factor */

static cb_place in_table(cb_hydro_case *c, const char *file, size_t line) {
    return (cb_place){.file = cb_hydro_text(c, "%s/%s", c->folder, file), .line = line};
}

#define IN_TABLE(...) ((const cb_place[]){in_table(__VA_ARGS__)})

/* Programs mark what was not measured by such numbers. */
static bool is_mark(double inflow) {
    return inflow == -99 || inflow == -999 || inflow == -9999 || inflow == -99999;
}

static void check_inflows(cb_hydro_case *c, size_t h) {
    const char *file = c->source == CB_HYDRO_HISTORY ? "history.csv" : "inflows.csv";
    size_t width = cb_hydros(c) + c->subsystems, count = 0;
    double mark = 0;
    for (size_t period = 0; period < cb_hydro_periods(c, c->inflow_key); period++)
        for (size_t k = 0; k < c->outcomes[period].count; k++) {
            double inflow = c->outcomes[period].values[k * width + h];
            mark = is_mark(inflow) ? inflow : mark;
            count += is_mark(inflow);
        }
    if (count > 0)
        cb_warn_at(c->builder, IN_TABLE(c, file, 0), "fill in the inflow, or leave the year out",
                   "hydro %s: an inflow is %g, %zu time%s: does that mean that it is not known?",
                   cb_hydro_at_name(c, h), mark, count, count == 1 ? "" : "s");
}

static void check_storage(cb_hydro_case *c, size_t h) {
    const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
    if (!c->water || !(hydro->storage_max > 0))
        return;
    if (hydro->storage_max <= 1)
        cb_warn_at(c->builder, IN_TABLE(c, "hydros.csv", hydro->base.line), "give volumes in hm3",
                   "hydro %s: a storage of at most %g hm3: is it a share?", hydro->base.name, hydro->storage_max);
    else if (hydro->storage_initial > 0 && hydro->storage_initial <= 1 && hydro->storage_max > 10)
        cb_warn_at(c->builder, IN_TABLE(c, "hydros.csv", hydro->base.line), "give volumes in hm3",
                   "hydro %s: an initial storage of %g hm3, of at most %g: is it a share?", hydro->base.name,
                   hydro->storage_initial, hydro->storage_max);
}

static void check_depth(cb_hydro_case *c, size_t subsystem) {
    cb_hydro_supply sum = cb_hydro_supply_of(c, subsystem);
    if (sum.depth > 0 && fabs(sum.depth - 1) > 1e-6)
        cb_warn_at(c->builder, IN_TABLE(c, "deficits.csv", 0), "make them add up to 1: then every load can be balanced",
                   "subsystem %s: the depths of its deficit tiers add up to %g", c->subsystem[subsystem].name,
                   sum.depth);
}

/* The stage and block in which most is lacking; one warning per subsystem is enough. */
static void check_load(cb_hydro_case *c, size_t subsystem) {
    double worst = FAR_ABOVE, load = 0, can = 0;
    size_t stage = CB_NONE;
    for (size_t t = 0; t < c->stages && !c->subsystem[subsystem].random_load; t++) {
        cb_hydro_case now;
        if (!cb_hydro_at_stage(c, t, &now))
            return;
        double supply = cb_hydro_supply_of(&now, subsystem).can;
        const double *loads = &c->load[cb_hydro_period(c, c->load_key, t) * c->blocks * c->subsystems];
        for (size_t b = 0; b < c->blocks; b++)
            if (loads[b * c->subsystems + subsystem] > worst * supply) {
                load = loads[b * c->subsystems + subsystem];
                can = supply;
                worst = supply > 0 ? load / supply : INFINITY;
                stage = t;
            }
        cb_hydro_leave_stage(&now);
    }
    if (stage != CB_NONE)
        cb_warn_at(c->builder, IN_TABLE(c, "load.csv", 0), "see that both are in MW",
                   "stage %zu, subsystem %s: a load of %g MW, but its plants and imports supply at most %g", stage + 1,
                   c->subsystem[subsystem].name, load, can);
}

void cb_hydro_check_plausible(cb_hydro_case *c) {
    for (size_t h = 0; h < cb_hydros(c); h++) {
        if (c->outcomes)
            check_inflows(c, h);
        check_storage(c, h);
    }
    for (size_t s = 0; s < c->subsystems; s++) {
        check_depth(c, s);
        check_load(c, s);
    }
}
