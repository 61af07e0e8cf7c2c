/* build.c: the linear program of each stage.
 *
 *     load[s,b]        hours of b * (thermal and hydro generation + deficit + imports - exports) = hours of b * load
 *     water[h]         storage - storage_in + volume * (turbined + spill - what comes from upstream) = volume * inflow
 *     outflow[h]       turbined + spill + outflow_lack >= outflow_min
 *     production[h,b]  productivity * turbined - hydro = 0; in energy units they are the same column
 *
 * Balances are in energy and in volume, so that their duals are prices of a MWh and of a unit of stored water. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sddp/read/hydro/hydro.h"

const char *cb_hydro_name(const char *kind, const char *a, const char *b, const char *block) {
    static _Thread_local char name[512];
    snprintf(name, sizeof name, "%s[%s%s%s%s%s]", kind, a, *b ? "," : "", b, *block ? "," : "", block);
    return name;
}

static size_t column(cb_hydro_builder *b, const char *name, double lower, double upper, double cost) {
    return cb_add_column(b->c->builder, &b->at, b->node, name, lower, upper, cost * b->c->cost_scale);
}

static void entry(cb_hydro_builder *b, size_t row, size_t at, double value) {
    cb_add_entry(b->c->builder, &b->at, b->node, row, at, value);
}

static double share(const cb_hydro_builder *b, size_t block) {
    return b->c->share[cb_hydro_period(b->c, b->c->share_key, b->stage) * b->c->blocks + block];
}

static double load(const cb_hydro_builder *b, size_t block, size_t subsystem) {
    const cb_hydro_case *c = b->c;
    return c->load[(cb_hydro_period(c, c->load_key, b->stage) * c->blocks + block) * c->subsystems + subsystem];
}

static size_t balance(const cb_hydro_builder *b, size_t block, size_t subsystem) {
    return b->balance[block * b->c->subsystems + subsystem];
}

static void add_rows(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    for (size_t block = 0; block < c->blocks; block++)
        for (size_t s = 0; s < c->subsystems; s++) {
            double energy = b->hours * share(b, block) * load(b, block, s);
            const char *kind = c->subsystem[s].transshipment ? "transfer" : "load";
            b->balance[block * c->subsystems + s] =
                cb_add_row(c->builder, &b->at, b->node, cb_hydro_name(kind, c->subsystem[s].name, "", c->block[block]),
                           energy, energy);
        }
    for (size_t h = 0; h < cb_hydros(c); h++)
        b->water[h] =
            cb_add_row(c->builder, &b->at, b->node, cb_hydro_name("water", cb_hydro_at(c, h)->name, "", ""), 0, 0);
}

static void add_thermals(cb_hydro_builder *b, size_t block) {
    for (size_t i = 0; i < b->c->thermals; i++) {
        const cb_hydro_thermal *thermal = &b->c->thermal[i];
        double hours = b->hours * share(b, block);
        size_t at = column(b, cb_hydro_name("generation", thermal->name, "", b->c->block[block]), thermal->min,
                           thermal->max, thermal->cost * hours);
        entry(b, balance(b, block, thermal->subsystem), at, hours);
    }
}

static void add_deficits(cb_hydro_builder *b, size_t block, size_t subsystem) {
    cb_hydro_case *c = b->c;
    double hours = b->hours * share(b, block);
    for (size_t i = 0; i < c->deficits; i++) {
        const cb_hydro_deficit *deficit = &c->deficit[i];
        size_t *at = &b->deficit[(block * c->subsystems + subsystem) * c->deficits + i];
        *at = CB_NONE;
        if (c->subsystem[subsystem].transshipment || (deficit->subsystem != CB_NONE && deficit->subsystem != subsystem))
            continue;
        *at = column(b, cb_hydro_name("deficit", c->subsystem[subsystem].name, deficit->tier, c->block[block]), 0,
                     deficit->depth * load(b, block, subsystem), deficit->cost * hours);
        entry(b, balance(b, block, subsystem), *at, hours);
    }
}

static void add_lines(cb_hydro_builder *b, size_t block) {
    cb_hydro_case *c = b->c;
    double hours = b->hours * share(b, block);
    for (size_t i = 0; i < c->lines; i++) {
        const cb_hydro_line *line = &c->line[i];
        size_t at = column(
            b, cb_hydro_name("exchange", c->subsystem[line->from].name, c->subsystem[line->to].name, c->block[block]),
            0, line->max, line->cost * hours);
        entry(b, balance(b, block, line->from), at, -hours);
        entry(b, balance(b, block, line->to), at, hours * (1 - line->loss));
    }
}

/* Water leaves its hydro and, if there is one, reaches the next. */
static void flow(cb_hydro_builder *b, size_t at, size_t from, size_t to, double volume) {
    entry(b, b->water[from], at, volume);
    if (to != CB_NONE)
        entry(b, b->water[to], at, -volume);
}

static void add_turbine(cb_hydro_builder *b, size_t h, size_t block, size_t outflow) {
    cb_hydro_case *c = b->c;
    const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
    double part = share(b, block);
    const char *name = cb_hydro_name(c->water ? "turbined" : "hydro", hydro->name, "", c->block[block]);
    size_t turbined = column(b, name, 0, hydro->turbine_max, 0), power = turbined;
    flow(b, turbined, h, hydro->downstream, b->volume * part);
    if (outflow != CB_NONE)
        entry(b, outflow, turbined, part);
    if (c->water && hydro->productivity > 0) {
        size_t row = cb_add_row(c->builder, &b->at, b->node,
                                cb_hydro_name("production", hydro->name, "", c->block[block]), 0, 0);
        power = column(b, cb_hydro_name("hydro", hydro->name, "", c->block[block]), 0, INFINITY, 0);
        entry(b, row, turbined, hydro->productivity);
        entry(b, row, power, -1);
    }
    if (hydro->productivity > 0)
        entry(b, balance(b, block, hydro->subsystem), power, b->hours * part);
}

static void add_storage(cb_hydro_builder *b, size_t h) {
    cb_hydro_case *c = b->c;
    const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
    size_t in = column(b, cb_hydro_name("storage_in", hydro->name, "", ""), hydro->lowest, hydro->highest, 0);
    size_t out = column(b, cb_hydro_name("storage", hydro->name, "", ""), hydro->storage_min, hydro->storage_max, 0);
    entry(b, b->water[h], in, -1);
    entry(b, b->water[h], out, 1);
    cb_set_state(c->builder, &b->at, b->node, hydro->state, in, out);
}

/* Ten times what the water of the cascade is worth when there is nothing else to supply the load. */
static double default_lack_cost(const cb_hydro_case *c, size_t h) {
    double dearest = 1, productivity = 0;
    for (size_t i = 0; i < c->deficits; i++)
        dearest = fmax(dearest, c->deficit[i].cost);
    for (size_t i = 0; i < c->thermals; i++)
        dearest = fmax(dearest, c->thermal[i].cost);
    for (; h != CB_NONE; h = cb_hydro_at(c, h)->downstream)
        productivity += cb_hydro_at(c, h)->productivity;
    return 10 * dearest * (c->water ? fmax(productivity, 0.01) / 0.0036 : 1);
}

static void add_hydro(cb_hydro_builder *b, size_t h) {
    cb_hydro_case *c = b->c;
    const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
    size_t outflow = CB_NONE;
    if (hydro->reservoir)
        add_storage(b, h);
    if (hydro->outflow_min > 0) {
        outflow = cb_add_row(c->builder, &b->at, b->node, cb_hydro_name("outflow", hydro->name, "", ""),
                             hydro->outflow_min, INFINITY);
        entry(b, outflow,
              column(b, cb_hydro_name("outflow_lack", hydro->name, "", ""), 0, INFINITY,
                     hydro->outflow_penalty * b->volume),
              1);
    }
    for (size_t block = 0; block < c->blocks; block++)
        add_turbine(b, h, block, outflow);
    size_t spill =
        column(b, cb_hydro_name("spill", hydro->name, "", ""), 0, hydro->spill_max, hydro->spill_cost * b->volume);
    flow(b, spill, h, hydro->spill_downstream, b->volume);
    if (outflow != CB_NONE)
        entry(b, outflow, spill, 1);
    if (hydro->may_lack) {
        double cost = c->lack_cost < 0 ? default_lack_cost(c, h) : c->lack_cost;
        entry(b, b->water[h],
              column(b, cb_hydro_name("inflow_lack", hydro->name, "", ""), 0, INFINITY, cost * b->volume), -b->volume);
    }
}

static void build_stage(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    add_rows(b);
    for (size_t h = 0; h < cb_hydros(c); h++)
        add_hydro(b, h);
    for (size_t block = 0; block < c->blocks; block++) {
        add_thermals(b, block);
        for (size_t s = 0; s < c->subsystems; s++)
            add_deficits(b, block, s);
        add_lines(b, block);
    }
    if (c->source == CB_HYDRO_PAR)
        cb_hydro_build_par(b);
    else
        cb_hydro_build_inflow(b);
    cb_set_risk(c->builder, &b->at, b->node, c->stage[b->stage].beta, c->stage[b->stage].alpha);
    if (c->has_value_bound)
        cb_set_value_bound(c->builder, &b->at, b->node, c->value_bound);
}

/* A hydro is a reservoir if it can store water in any stage; its limits over all stages bound what comes in. */
static void find_reservoirs(cb_hydro_case *c) {
    for (size_t h = 0; h < cb_hydros(c); h++) {
        cb_hydro_hydro *hydro = cb_hydro_at(c, h);
        hydro->lowest = hydro->storage_min;
        hydro->highest = hydro->storage_max;
    }
    for (size_t t = 0; t < c->stages && c->changes > 0; t++) {
        cb_hydro_case now;
        if (!cb_hydro_at_stage(c, t, &now))
            return;
        for (size_t h = 0; h < cb_hydros(c); h++) {
            cb_hydro_at(c, h)->lowest = fmin(cb_hydro_at(c, h)->lowest, cb_hydro_at(&now, h)->storage_min);
            cb_hydro_at(c, h)->highest = fmax(cb_hydro_at(c, h)->highest, cb_hydro_at(&now, h)->storage_max);
        }
        cb_hydro_leave_stage(&now);
    }
    for (size_t h = 0; h < cb_hydros(c); h++)
        cb_hydro_at(c, h)->reservoir = cb_hydro_at(c, h)->highest > 0;
}

static void add_states(cb_hydro_case *c) {
    const cb_place at = {.file = c->json_path};
    for (size_t h = 0; h < cb_hydros(c); h++) {
        cb_hydro_hydro *hydro = cb_hydro_at(c, h);
        if (hydro->reservoir)
            hydro->state =
                cb_add_state(c->builder, &at, cb_hydro_name("storage", hydro->name, "", ""), hydro->storage_initial);
    }
    for (size_t h = 0; h < cb_hydros(c); h++)
        for (size_t l = 0; l < cb_hydro_at(c, h)->lags; l++) {
            char lag[32];
            snprintf(lag, sizeof lag, "%zu", l + 1);
            double past = c->past[h * CB_HYDRO_MAX_LAGS + l]; /* NaN: it does not matter */
            size_t state = cb_add_state(c->builder, &at, cb_hydro_name("inflow", cb_hydro_at(c, h)->name, lag, ""),
                                        isnan(past) ? 0 : past);
            if (l == 0)
                cb_hydro_at(c, h)->lag_state = state;
        }
}

static void add_node(cb_hydro_case *c, size_t stage) {
    cb_hydro_case now;
    if (!cb_hydro_at_stage(c, stage, &now))
        return;
    cb_hydro_builder b = {.c = &now, .stage = stage, .hours = c->stage[stage].duration};
    b.volume = c->water ? 0.0036 * b.hours : b.hours;
    b.water = cb_hydro_array(c, cb_hydros(c), sizeof *b.water);
    b.balance = cb_hydro_array(c, c->blocks * c->subsystems, sizeof *b.balance);
    b.deficit = cb_hydro_array(c, c->blocks * c->subsystems * c->deficits, sizeof *b.deficit);
    b.at = (cb_place){.file = c->json_path, .text = CB_TEXT("stage %zu", stage + 1)};
    b.node = cb_add_node(c->builder, &b.at, c->stage[stage].name, stage + 1);
    if (b.water && b.balance && b.deficit && b.node != CB_NONE)
        build_stage(&b);
    free(b.water);
    free(b.balance);
    free(b.deficit);
    cb_hydro_leave_stage(&now);
}

static const char *plural(size_t count) {
    return count == 1 ? "" : "s";
}

static void count_elements(const cb_hydro_case *c) {
    size_t subsystems = 0;
    for (size_t s = 0; s < c->subsystems; s++)
        subsystems += !c->subsystem[s].transshipment;
    snprintf(c->builder->contents, sizeof c->builder->contents,
             "%zu subsystem%s, %zu hydro%s, %zu thermal%s, %zu exchange%s", subsystems, plural(subsystems),
             cb_hydros(c), plural(cb_hydros(c)), c->thermals, plural(c->thermals), c->lines, plural(c->lines));
}

void cb_hydro_build(cb_hydro_case *c) {
    const cb_place at = {.file = c->json_path};
    count_elements(c);
    cb_builder_rename(c->builder, *c->name ? c->name : c->folder);
    find_reservoirs(c);
    add_states(c);
    if (c->source == CB_HYDRO_PAR)
        cb_hydro_add_factors(c);
    for (size_t t = 0; t < c->stages && !c->builder->no_memory; t++)
        add_node(c, t);
    cb_add_edge(c->builder, &at, CB_ROOT, 0, 1, 1);
    for (size_t t = 0; t + 1 < c->stages; t++)
        cb_add_edge(c->builder, &at, t, t + 1, 1, c->stage[t + 1].discount);
    if (c->has_cycle)
        cb_add_edge(c->builder, &at, c->stages - 1, c->cycle_to - 1, c->cycle_probability,
                    c->stage[c->cycle_to - 1].discount);
    if (c->source == CB_HYDRO_HISTORY && !c->builder->no_memory)
        cb_hydro_build_scenarios(c);
}
