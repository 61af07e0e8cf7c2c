/* SPDX-License-Identifier: Apache-2.0 */
/* hydros.c: hydros.csv: plants on rivers, with or without a reservoir.
 *
 *     water[h]         storage - storage_in + volume * (turbined + spill - what comes from upstream) = volume * inflow
 *     outflow[h]       turbined + spill + outflow_lack >= outflow_min
 *     production[h,b]  productivity * turbined - hydro = 0; in energy units they are the same column
 *
 * The inflow enters in build_inflow.c or build_par.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

static const cb_hydro_field field[] = {
    {CB_HYDRO_MEMBER(cb_hydro_hydro, storage_min), .high = INFINITY, .unit = "the least storage, from 0 on"},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, storage_max), .high = INFINITY,
     .unit = "the most storage, from 0 on; 0 for run of river"},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, turbine_max), .fallback = INFINITY, .high = INFINITY,
     .unit = "the most flow through the turbines, from 0 on, or nothing for no limit"},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, spill_max), .fallback = INFINITY, .high = INFINITY,
     .unit = "the most spill as a flow, from 0 on, or nothing for no limit"},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, spill_cost), .low = -INFINITY, .high = INFINITY,
     .unit = "the cost of a unit of volume spilled"},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, outflow_min), .high = INFINITY, .unit = "the least outflow, from 0 on"},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, outflow_penalty), .high = INFINITY,
     .unit = "the cost of a unit of volume below outflow_min"},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, storage_initial), .high = INFINITY, .unit = "the storage before the first stage",
     .fixed = true},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, productivity), .fallback = 1, .water = true, .high = 20,
     .unit = "MW for each m3/s, below 20: 1 m3/s falling 1000 m makes less than 10 MW", .fixed = true},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, first_inflow), .fallback = NAN, .low = -INFINITY, .high = INFINITY,
     .unit = "the inflow of stage 1", .fixed = true},
};

static const cb_hydro_reference reference[] = {
    {CB_HYDRO_MEMBER(cb_hydro_hydro, subsystem), .names = cb_hydro_subsystem_names},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, downstream), .names = cb_hydro_hydro_names, .optional = true},
    {CB_HYDRO_MEMBER(cb_hydro_hydro, spill_downstream), .names = cb_hydro_hydro_names, .optional = true},
};

static void check(cb_hydro_case *c, const cb_place *at, const void *element) {
    const cb_hydro_hydro *hydro = element;
    const char *name = hydro->base.name;
    if (hydro->storage_min > hydro->storage_max)
        cb_error_at(c->builder, at, "swap or correct them", "hydro %s: storage_min %g is above storage_max %g", name,
                    hydro->storage_min, hydro->storage_max);
    if (hydro->outflow_min > 0 && hydro->outflow_penalty == 0)
        cb_error_at(c->builder, at, "give a penalty",
                    "hydro %s: outflow_min without outflow_penalty would cost nothing to miss", name);
    if (hydro->outflow_min > hydro->turbine_max + hydro->spill_max)
        cb_error_at(c->builder, at, NULL, "hydro %s: outflow_min %g is above turbine_max + spill_max = %g", name,
                    hydro->outflow_min, hydro->turbine_max + hydro->spill_max);
}

static void check_fixed(cb_hydro_case *c, const cb_place *at, const cb_hydro_hydro *hydro) {
    bool outside = hydro->storage_initial > hydro->storage_max || hydro->storage_initial < hydro->storage_min;
    if (outside && hydro->storage_min <= hydro->storage_max)
        cb_error_at(c->builder, at, "it is a volume, not a share",
                    "hydro %s: storage_initial %g is not between storage_min %g and storage_max %g", hydro->base.name,
                    hydro->storage_initial, hydro->storage_min, hydro->storage_max);
    if (!c->water && !isnan(hydro->productivity) && hydro->productivity != 1)
        cb_error_at(c->builder, at, "remove the column, or use \"units\": \"water\"",
                    "hydro %s: productivity %g, but in energy units a flow is the power itself", hydro->base.name,
                    hydro->productivity);
}

/* Stage 1 is known for all hydros or for none. */
static void check_first_inflow(cb_hydro_case *c, const cb_csv *table, size_t column) {
    for (size_t h = 1; h < cb_hydros(c); h++)
        if (isnan(cb_hydro_at(c, h)->first_inflow) != isnan(cb_hydro_at(c, 0)->first_inflow)) {
            cb_error_at(c->builder, CB_CSV_AT(table, isnan(cb_hydro_at(c, h)->first_inflow) ? h : 0, column),
                        "give all or none", "the inflow of stage 1 is known for some hydros only");
            return;
        }
}

/* Follows turbined and spilled water from `from`; true: it comes back to `start`. */
static bool returns(const cb_hydro_case *c, size_t start, size_t from, unsigned char *seen) {
    const size_t next[2] = {cb_hydro_at(c, from)->downstream, cb_hydro_at(c, from)->spill_downstream};
    for (int i = 0; i < 2; i++) {
        if (next[i] == CB_NONE)
            continue;
        if (next[i] == start)
            return true;
        if (!seen[next[i]]++ && returns(c, start, next[i], seen))
            return true;
    }
    return false;
}

static void check_cascade(cb_hydro_case *c, const cb_csv *table) {
    unsigned char *seen = cb_hydro_array(c, cb_hydros(c), 1);
    for (size_t h = 0; seen && h < cb_hydros(c); h++) {
        memset(seen, 0, cb_hydros(c));
        if (returns(c, h, h, seen)) {
            cb_error_at(c->builder, CB_CSV_AT(table, h, CB_NONE), "water runs downhill, correct the cascade",
                        "hydro %s: its water comes back to it by way of \"downstream\"", cb_hydro_at_name(c, h));
            break; /* the others of the circle would say the same */
        }
    }
}

/* Spilled water takes the way of turbined water, unless it has its own. */
static void complete(cb_hydro_case *c, const cb_hydro_list *list, cb_csv *table) {
    for (size_t h = 0; h < list->count; h++) {
        cb_hydro_hydro *hydro = cb_hydro_at(c, h);
        check_fixed(c, CB_CSV_AT(table, h, CB_NONE), hydro);
        if (hydro->spill_downstream == CB_NONE)
            hydro->spill_downstream = hydro->downstream;
    }
    check_first_inflow(c, table, cb_csv_find(table, "first_inflow"));
    check_cascade(c, table);
}

static void supply(const cb_hydro_list *list, size_t subsystem, cb_hydro_supply *sum) {
    const cb_hydro_hydro *hydros = list->at;
    for (size_t h = 0; h < list->count; h++)
        if (hydros[h].subsystem == subsystem && hydros[h].productivity > 0)
            sum->can += hydros[h].turbine_max * hydros[h].productivity;
}

/* The dearest MWh that serves load anywhere. */
static double dearest(const cb_hydro_case *c) {
    double most = 1;
    for (size_t s = 0; s < c->subsystems; s++)
        most = fmax(most, cb_hydro_supply_of(c, s).dearest);
    return most;
}

/* Widens the extremes of the case by what holds in one stage. */
static void widen(cb_hydro_case *c, const cb_hydro_case *now) {
    c->dearest = fmax(c->dearest, dearest(now));
    for (size_t h = 0; h < cb_hydros(c); h++) {
        cb_hydro_hydro *hydro = cb_hydro_at(c, h);
        const cb_hydro_hydro *its = cb_hydro_at(now, h);
        hydro->lowest = fmin(hydro->lowest, its->storage_min);
        hydro->highest = fmax(hydro->highest, its->storage_max);
        hydro->saves = fmax(hydro->saves, its->outflow_penalty + fmax(0, -its->spill_cost));
    }
}

/* A hydro is a reservoir if it can store water in any stage; its limits over all stages bound what comes in. */
static void find_extremes(cb_hydro_case *c) {
    for (size_t h = 0; h < cb_hydros(c); h++)
        cb_hydro_at(c, h)->lowest = INFINITY;
    widen(c, c);
    for (size_t t = 0; t < c->stages && c->changes > 0; t++) {
        cb_hydro_case now;
        if (!cb_hydro_at_stage(c, t, &now))
            return;
        widen(c, &now);
        cb_hydro_leave_stage(&now);
    }
    for (size_t h = 0; h < cb_hydros(c); h++)
        cb_hydro_at(c, h)->reservoir = cb_hydro_at(c, h)->highest > 0;
}

/* Water runs in no circle (check_cascade), so that this ends. */
static void find_worth(cb_hydro_case *c) {
    static const cb_hydro_hydro sea = {.worth = 0};
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t h = 0; h < cb_hydros(c); h++) {
            cb_hydro_hydro *hydro = cb_hydro_at(c, h);
            const cb_hydro_hydro *turbined = hydro->downstream != CB_NONE ? cb_hydro_at(c, hydro->downstream) : &sea;
            const cb_hydro_hydro *spilled =
                hydro->spill_downstream != CB_NONE ? cb_hydro_at(c, hydro->spill_downstream) : &sea;
            double worth = fmax(hydro->productivity + turbined->worth, spilled->worth);
            double saved = hydro->saves + fmax(turbined->saved, spilled->saved);
            moved |= worth != hydro->worth || saved != hydro->saved;
            hydro->worth = worth;
            hydro->saved = saved;
        }
    }
}

/* The most that a unit of volume can save on its way, when nothing else supplies the load. */
static double most_saved(const cb_hydro_case *c, const cb_hydro_hydro *hydro) {
    return c->dearest * (c->water ? fmax(hydro->worth, 0.01) / 0.0036 : hydro->worth) + hydro->saved;
}

/* Ten times that by default: then nobody buys water for the sake of it. */
static double lack_cost(const cb_hydro_case *c, const cb_hydro_hydro *hydro) {
    return c->lack_cost < 0 ? 10 * most_saved(c, hydro) : c->lack_cost;
}

static void check_lack_cost(cb_hydro_case *c, const cb_place *at) {
    for (size_t h = 0; h < cb_hydros(c); h++) {
        const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
        double most = most_saved(c, hydro);
        if (hydro->may_lack && lack_cost(c, hydro) < most) {
            cb_warn_at(
                c->builder, at, "raise it, or leave it out",
                "lack_cost %g is below %g, which water can save at hydro %s: water from nowhere may hide a deficit",
                c->lack_cost, most, hydro->base.name);
            return;
        }
    }
}

static void add_states(cb_hydro_case *c, const cb_place *at, const cb_hydro_list *list) {
    find_extremes(c);
    find_worth(c);
    check_lack_cost(c, at);
    for (size_t h = 0; h < list->count; h++) {
        cb_hydro_hydro *hydro = cb_hydro_at(c, h);
        if (hydro->reservoir)
            hydro->state = cb_add_state(c->builder, at, cb_hydro_name("storage", hydro->base.name, "", ""),
                                        hydro->storage_initial);
    }
    for (size_t h = 0; h < list->count; h++)
        for (size_t l = 0; l < cb_hydro_at(c, h)->lags; l++) {
            char lag[32];
            snprintf(lag, sizeof lag, "%zu", l + 1);
            double past = c->past[h * CB_HYDRO_MAX_LAGS + l]; /* NaN: it does not matter */
            size_t state = cb_add_state(c->builder, at, cb_hydro_name("inflow", cb_hydro_at_name(c, h), lag, ""),
                                        isnan(past) ? 0 : past);
            if (l == 0)
                cb_hydro_at(c, h)->lag_state = state;
        }
}

/* The energy of a unit of stored volume: all the turbines that it comes to on its way down. */
static double energy_of(const cb_hydro_case *c, const cb_hydro_hydro *hydro) {
    double productivity = hydro->productivity;
    while (hydro->downstream != CB_NONE) {
        hydro = cb_hydro_at(c, hydro->downstream);
        productivity += hydro->productivity;
    }
    return c->water ? productivity / 0.0036 : 1;
}

static void describe_lags(cb_hydro_case *c, const cb_hydro_hydro *hydro, const cb_hydro_label *base) {
    static const struct {
        cobre_sddp_part part;
        const char *name, *kind;
    } all[] = {{COBRE_SDDP_STATE, "inflow", "past_inflow"},
               {COBRE_SDDP_COLUMN, "inflow_in", "past_inflow_in"},
               {COBRE_SDDP_COLUMN, "inflow_lag", "past_inflow"},
               {COBRE_SDDP_ROW, "lag", "past_inflow_dual"}};
    for (size_t l = 0; l < hydro->lags; l++)
        for (size_t i = 0; i < CB_COUNT(all); i++) {
            char lag[32];
            cb_hydro_label label = *base;
            snprintf(lag, sizeof lag, "%zu", l + 1);
            label.part = all[i].part;
            label.kind = all[i].kind;
            label.element = cb_hydro_text(c, "%s:%s", hydro->base.name, lag);
            label.type = "lag";
            label.unit = all[i].part == COBRE_SDDP_ROW ? CB_HYDRO_NO_UNIT : CB_HYDRO_FLOW;
            label.detail = true;
            cb_hydro_describe(c, cb_hydro_name(all[i].name, hydro->base.name, lag, ""), &label);
        }
}

/* What there is once per stage. */
static void describe_stage(cb_hydro_case *c, const cb_hydro_hydro *hydro, const cb_hydro_label *base) {
    const struct {
        cobre_sddp_part part;
        const char *name, *kind;
        cb_hydro_unit unit;
        double sign;
        bool detail, stores;
    } all[] = {
        {COBRE_SDDP_STATE, "storage", "storage", CB_HYDRO_VOLUME, 1, false, true},
        {COBRE_SDDP_COLUMN, "storage", "storage", CB_HYDRO_VOLUME, 1, true, false}, /* the state has it */
        {COBRE_SDDP_COLUMN, "storage_in", "storage_in", CB_HYDRO_VOLUME, 1, true, false},
        {COBRE_SDDP_COLUMN, "spill", "spill", CB_HYDRO_FLOW, 1, false, false},
        {COBRE_SDDP_COLUMN, "outflow_lack", "outflow_lack", CB_HYDRO_FLOW, 1, false, false},
        {COBRE_SDDP_COLUMN, "inflow_lack", "inflow_lack", CB_HYDRO_FLOW, 1, false, false},
        {COBRE_SDDP_COLUMN, "inflow", "inflow", CB_HYDRO_FLOW, 1, false, false},
        {COBRE_SDDP_RANDOM, "inflow", "inflow", CB_HYDRO_FLOW, 1, false, false},
        {COBRE_SDDP_RANDOM, "noise", "noise", CB_HYDRO_NO_UNIT, 1, true, false},
        {COBRE_SDDP_ROW, "water", "water_value", CB_HYDRO_WATER_PRICE, -1, false,
         false}, /* more water lowers the cost */
        {COBRE_SDDP_ROW, "outflow", "outflow_dual", CB_HYDRO_NO_UNIT, 1, true, false},
        {COBRE_SDDP_ROW, "inflow", "inflow_dual", CB_HYDRO_NO_UNIT, 1, true, false},
    };
    for (size_t i = 0; i < CB_COUNT(all); i++) {
        cb_hydro_label label = *base;
        label.part = all[i].part;
        label.kind = all[i].kind;
        label.unit = all[i].unit;
        label.sign = all[i].sign;
        label.detail = all[i].detail;
        label.energy = all[i].stores ? energy_of(c, hydro) : 0;
        cb_hydro_describe(c, cb_hydro_name(all[i].name, hydro->base.name, "", ""), &label);
    }
}

static void describe_block(cb_hydro_case *c, const cb_hydro_hydro *hydro, cb_hydro_label label) {
    const char *name = hydro->base.name;
    label.part = COBRE_SDDP_COLUMN;
    label.kind = "hydro_generation";
    label.unit = CB_HYDRO_POWER;
    cb_hydro_describe(c, cb_hydro_name("hydro", name, "", label.block), &label);
    label.kind = "turbined";
    label.unit = CB_HYDRO_FLOW;
    cb_hydro_describe(c, cb_hydro_name("turbined", name, "", label.block), &label);
    label.part = COBRE_SDDP_ROW;
    label.kind = "production_dual";
    label.unit = CB_HYDRO_NO_UNIT;
    label.detail = true;
    cb_hydro_describe(c, cb_hydro_name("production", name, "", label.block), &label);
}

static void describe(cb_hydro_case *c, const cb_hydro_list *list) {
    for (size_t h = 0; h < list->count; h++) {
        const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
        cb_hydro_label label = {
            .element = hydro->base.name, .type = "hydro", .subsystem = c->subsystem[hydro->subsystem].name};
        describe_stage(c, hydro, &label);
        describe_lags(c, hydro, &label);
        for (size_t b = 0; b < c->blocks; b++) {
            label.block = c->block[b];
            describe_block(c, hydro, label);
        }
    }
}

/* Water leaves its hydro and, if there is one, reaches the next. */
static void flow(cb_hydro_builder *b, size_t column, size_t from, size_t to, double volume) {
    cb_hydro_entry(b, b->water[from], column, volume);
    if (to != CB_NONE)
        cb_hydro_entry(b, b->water[to], column, -volume);
}

static void add_turbine(cb_hydro_builder *b, size_t h, size_t block, size_t outflow) {
    const cb_hydro_hydro *hydro = cb_hydro_at(b->c, h);
    const char *name = hydro->base.name, *block_name = b->c->block[block];
    bool water = b->c->water;
    double share = cb_hydro_share(b, block);
    size_t turbined = cb_hydro_column(b, cb_hydro_name(water ? "turbined" : "hydro", name, "", block_name), 0,
                                      hydro->turbine_max, 0),
           power = turbined;
    flow(b, turbined, h, hydro->downstream, b->volume * share);
    if (outflow != CB_NONE)
        cb_hydro_entry(b, outflow, turbined, share);
    if (water && hydro->productivity > 0) {
        size_t row = cb_hydro_row(b, cb_hydro_name("production", name, "", block_name), 0, 0);
        power = cb_hydro_column(b, cb_hydro_name("hydro", name, "", block_name), 0, INFINITY, 0);
        cb_hydro_entry(b, row, turbined, hydro->productivity);
        cb_hydro_entry(b, row, power, -1);
    }
    if (hydro->productivity > 0)
        cb_hydro_entry(b, cb_hydro_balance(b, block, hydro->subsystem), power, cb_hydro_hours(b, block));
}

static void add_storage(cb_hydro_builder *b, size_t h) {
    const cb_hydro_hydro *hydro = cb_hydro_at(b->c, h);
    const char *name = hydro->base.name;
    size_t in = cb_hydro_column(b, cb_hydro_name("storage_in", name, "", ""), hydro->lowest, hydro->highest, 0);
    size_t out = cb_hydro_column(b, cb_hydro_name("storage", name, "", ""), hydro->storage_min, hydro->storage_max, 0);
    cb_hydro_entry(b, b->water[h], in, -1);
    cb_hydro_entry(b, b->water[h], out, 1);
    cb_set_state(b->c->builder, &b->at, b->node, hydro->state, in, out);
}

static void add_hydro(cb_hydro_builder *b, size_t h) {
    cb_hydro_case *c = b->c;
    const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
    const char *name = hydro->base.name;
    size_t outflow = CB_NONE;
    if (hydro->reservoir)
        add_storage(b, h);
    if (hydro->outflow_min > 0) {
        outflow = cb_hydro_row(b, cb_hydro_name("outflow", name, "", ""), hydro->outflow_min, INFINITY);
        size_t lack = cb_hydro_column(b, cb_hydro_name("outflow_lack", name, "", ""), 0, hydro->outflow_min,
                                      hydro->outflow_penalty * b->volume);
        cb_hydro_entry(b, outflow, lack, 1);
    }
    for (size_t block = 0; block < c->blocks; block++)
        add_turbine(b, h, block, outflow);
    size_t spill =
        cb_hydro_column(b, cb_hydro_name("spill", name, "", ""), 0, hydro->spill_max, hydro->spill_cost * b->volume);
    flow(b, spill, h, hydro->spill_downstream, b->volume);
    if (outflow != CB_NONE)
        cb_hydro_entry(b, outflow, spill, 1);
    if (hydro->may_lack) {
        size_t lack = cb_hydro_column(b, cb_hydro_name("inflow_lack", name, "", ""), 0, INFINITY,
                                      lack_cost(c, hydro) * b->volume);
        cb_hydro_entry(b, b->water[h], lack, -b->volume);
    }
}

static void build_stage(cb_hydro_builder *b, const cb_hydro_list *list) {
    for (size_t h = 0; h < list->count; h++)
        b->water[h] = cb_hydro_row(b, cb_hydro_name("water", cb_hydro_at_name(b->c, h), "", ""), 0, 0);
    for (size_t h = 0; h < list->count; h++)
        add_hydro(b, h);
}

const cb_hydro_kind cb_hydro_kind_hydro = {
    .table = "hydros",
    .word = "hydro",
    .size = sizeof(cb_hydro_hydro),
    .name = "hydro",
    .field = field,
    .fields = CB_COUNT(field),
    .reference = reference,
    .references = CB_COUNT(reference),
    .check = check,
    .complete = complete,
    .supply = supply,
    .describe = describe,
    .add_states = add_states,
    .build_stage = build_stage,
};
