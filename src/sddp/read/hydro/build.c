/* SPDX-License-Identifier: Apache-2.0 */
/* build.c: builds the LP of each stage.
 *
 *     load[s,b]   hours of b * (generation + deficit + imports - exports) = hours of b * load
 *
 * The kinds of elements add the rest, each in its own file. Balances are in energy and in volume, so that their duals
 * are prices of a MWh and of a unit of stored water. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

const char *cb_hydro_name(const char *kind, const char *a, const char *b, const char *block) {
    static _Thread_local char name[512];
    snprintf(name, sizeof name, "%s[%s%s%s%s%s]", kind, a, *b ? "," : "", b, *block ? "," : "", block);
    return name;
}

size_t cb_hydro_column(cb_hydro_builder *b, const char *name, double lower, double upper, double cost) {
    return cb_add_column(b->c->builder, &b->at, b->node, name, lower, upper, cost * b->c->cost_scale);
}

size_t cb_hydro_row(cb_hydro_builder *b, const char *name, double lower, double upper) {
    return cb_add_row(b->c->builder, &b->at, b->node, name, lower, upper);
}

void cb_hydro_entry(cb_hydro_builder *b, size_t row, size_t column, double value) {
    cb_add_entry(b->c->builder, &b->at, b->node, row, column, value);
}

void cb_hydro_noise(cb_hydro_builder *b, cb_noise_target target, size_t index, size_t column, size_t random,
                    double factor) {
    cb_add_noise(b->c->builder, &b->at, b->node,
                 (cb_noise){.target = target, .index = index, .column = column, .random = random, .factor = factor});
}

double cb_hydro_share(const cb_hydro_builder *b, size_t block) {
    return b->c->share[cb_hydro_period(b->c, b->c->share_key, b->stage) * b->c->blocks + block];
}

double cb_hydro_hours(const cb_hydro_builder *b, size_t block) {
    return b->hours * cb_hydro_share(b, block);
}

double cb_hydro_load(const cb_hydro_builder *b, size_t block, size_t subsystem) {
    const cb_hydro_case *c = b->c;
    return c->load[(cb_hydro_period(c, c->load_key, b->stage) * c->blocks + block) * c->subsystems + subsystem];
}

size_t cb_hydro_balance(const cb_hydro_builder *b, size_t block, size_t subsystem) {
    return b->balance[block * b->c->subsystems + subsystem];
}

void cb_hydro_follow_load(cb_hydro_builder *b, size_t subsystem, size_t column, double share) {
    cb_hydro_follower *new = cb_hydro_array(b->c, 1, sizeof *new);
    if (!new)
        return;
    *new = (cb_hydro_follower){.next = b->followers, .column = column, .subsystem = subsystem, .share = share};
    b->followers = new;
}

static void add_balances(cb_hydro_builder *b) {
    const cb_hydro_case *c = b->c;
    for (size_t block = 0; block < c->blocks; block++)
        for (size_t s = 0; s < c->subsystems; s++) {
            double energy = cb_hydro_hours(b, block) * cb_hydro_load(b, block, s);
            const char *kind = c->subsystem[s].transshipment ? "transfer" : "load";
            b->balance[block * c->subsystems + s] =
                cb_hydro_row(b, cb_hydro_name(kind, c->subsystem[s].name, "", c->block[block]), energy, energy);
        }
}

static void build_stage(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    add_balances(b);
    for (size_t k = 0; k < CB_KINDS; k++)
        if (cb_hydro_kinds[k]->build_stage)
            cb_hydro_kinds[k]->build_stage(b, &c->list[k]);
    for (size_t block = 0; block < c->blocks; block++)
        for (size_t k = 0; k < CB_KINDS; k++)
            if (cb_hydro_kinds[k]->build_block)
                cb_hydro_kinds[k]->build_block(b, &c->list[k], block);
    if (c->source == CB_HYDRO_PAR)
        cb_hydro_build_par(b);
    else
        cb_hydro_build_inflow(b);
    cb_set_risk(c->builder, &b->at, b->node, c->stage[b->stage].beta, c->stage[b->stage].alpha);
    if (c->has_value_bound)
        cb_set_value_bound(c->builder, &b->at, b->node, c->value_bound);
}

static void add_node(cb_hydro_case *c, size_t stage) {
    cb_hydro_case now;
    if (!cb_hydro_at_stage(c, stage, &now))
        return;
    cb_hydro_builder b = {.c = &now, .stage = stage, .hours = c->stage[stage].duration};
    b.volume = c->water ? 0.0036 * b.hours : b.hours;
    b.water = cb_hydro_array(&now, cb_hydros(c), sizeof *b.water);
    b.balance = cb_hydro_array(&now, c->blocks * c->subsystems, sizeof *b.balance);
    b.at = (cb_place){.file = c->json_path, .text = CB_TEXT("stage %zu", stage + 1)};
    b.node = cb_add_node(c->builder, &b.at, c->stage[stage].name, stage + 1);
    if (b.water && b.balance && b.node != CB_NONE) {
        cobre_sddp_set_date(c->builder, b.node, c->stage[stage].date);
        cobre_sddp_set_duration(c->builder, b.node, b.hours,
                                &c->share[cb_hydro_period(c, c->share_key, stage) * c->blocks]);
        build_stage(&b);
    }
    cb_hydro_leave_stage(&now);
}

/* "2 subsystems, 3 hydros, 4 thermals, 2 exchanges" */
static void count_elements(const cb_hydro_case *c) {
    char *text = c->builder->contents;
    size_t size = sizeof c->builder->contents, subsystems = cb_hydro_subsystem_names(c).count;
    snprintf(text, size, "%zu subsystem%s", subsystems, subsystems == 1 ? "" : "s");
    for (size_t k = 0; k < CB_KINDS; k++)
        if (!cb_hydro_kinds[k]->tiers)
            snprintf(text + strlen(text), size - strlen(text), ", %zu %s", c->list[k].count,
                     c->list[k].count == 1 ? cb_hydro_kinds[k]->word : cb_hydro_kinds[k]->table);
}

void cb_hydro_build(cb_hydro_case *c) {
    const cb_place at = {.file = c->json_path};
    count_elements(c);
    c->builder->seasons = c->seasons;
    c->builder->first_season = c->seasons ? c->first_season : 0;
    cb_builder_rename(c->builder, *c->name ? c->name : c->folder);
    for (size_t k = 0; k < CB_KINDS; k++)
        if (cb_hydro_kinds[k]->add_states)
            cb_hydro_kinds[k]->add_states(c, &at, &c->list[k]);
    cb_hydro_date_stages(c);
    cb_hydro_describe_all(c);
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
    if (c->terminal.file && c->cost_scale != 1)
        cb_warn_at(c->builder, &(cb_place){.file = c->json_path, .text = "/terminal"},
                   "take cuts of a case with the same cost_scale, or scale their table",
                   "its cuts are taken as costs after cost_scale %g: a policy does not say its own", c->cost_scale);
    if (c->terminal.file && !c->builder->no_memory)
        cb_read_terminal(c->builder, &(cb_place){.file = c->json_path, .text = "/terminal"}, c->stages - 1,
                         &c->terminal);
}
