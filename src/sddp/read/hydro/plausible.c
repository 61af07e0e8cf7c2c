/* SPDX-License-Identifier: Apache-2.0 */
/* plausible.c: warns about numbers that are legal, but look like a wrong unit, a placeholder or a slip. */
#include <math.h>
#include <stdio.h>

#include "sddp/read/hydro/hydro.h"

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
        cb_warn_at(c->builder, CB_HYDRO_AT(c, file, 0), "fill in the inflow, or leave the year out",
                   "hydro %s: an inflow is %g, %zu time%s: does that mean that it is not known?",
                   cb_hydro_at_name(c, h), mark, count, count == 1 ? "" : "s");
}

static bool looks_like_share(double storage) {
    return storage > 0 && storage <= 1;
}

static void check_storage(cb_hydro_case *c, size_t h) {
    const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
    bool initial = looks_like_share(hydro->storage_initial);
    if (!c->water || !(hydro->storage_max > 0))
        return;
    if (looks_like_share(hydro->storage_max))
        cb_warn_at(c->builder, CB_HYDRO_AT(c, "hydros.csv", hydro->base.line), "give volumes in hm3",
                   "hydro %s: a storage of at most %g hm3: is it a share?", hydro->base.name, hydro->storage_max);
    else if (hydro->storage_max > 10 && (initial || looks_like_share(hydro->storage_min)))
        cb_warn_at(c->builder, CB_HYDRO_AT(c, "hydros.csv", hydro->base.line), "give volumes in hm3",
                   "hydro %s: %s storage of %g hm3, of at most %g: is it a share?", hydro->base.name,
                   initial ? "an initial" : "a minimum", initial ? hydro->storage_initial : hydro->storage_min,
                   hydro->storage_max);
}

static void check_depth(cb_hydro_case *c, size_t subsystem) {
    cb_hydro_supply sum = cb_hydro_supply_of(c, subsystem);
    if (sum.depth > 0 && fabs(sum.depth - 1) > 1e-6)
        cb_warn_at(
            c->builder, CB_HYDRO_AT(c, "deficits.csv", 0), "make them add up to 1: then every load can be balanced",
            "subsystem %s: the depths of its deficit tiers add up to %g", c->subsystem[subsystem].name, sum.depth);
}

void cb_hydro_check_plausible(cb_hydro_case *c) {
    for (size_t h = 0; h < cb_hydros(c); h++) {
        if (c->outcomes)
            check_inflows(c, h);
        check_storage(c, h);
    }
    for (size_t s = 0; s < c->subsystems; s++)
        check_depth(c, s);
}
