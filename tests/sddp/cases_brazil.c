/* cases_brazil.c: the Brazilian four-subsystem problem from its tables (shared/cases/data/msppy). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

enum { SUBSYSTEMS = 4, PLACES = 5, TIERS = 4, MONTHS = 12, YEARS = 82, MOST_THERMALS = 50 };

typedef struct {
    double demand[MONTHS][SUBSYSTEMS], deficit[TIERS][2], exchange[PLACES][PLACES], exchange_cost[PLACES][PLACES];
    double stored_max[SUBSYSTEMS], stored[SUBSYSTEMS], hydro_max[SUBSYSTEMS];
    double thermal[SUBSYSTEMS][MOST_THERMALS][3]; /* lower, upper, cost */
    size_t thermals[SUBSYSTEMS];
    double inflow[SUBSYSTEMS][YEARS][MONTHS];
} data;

/* Reads the numbers of a table, without its first line, its first column and the year 1983, which three of the four
 * histories lack; how many lines there were. */
static size_t read_table(const char *name, double *numbers, size_t width, size_t lines) {
    char path[4096], line[4096];
    snprintf(path, sizeof path, COBRE_SOURCE "/cases/msppy/%s", name);
    FILE *file = fopen(path, "r");
    size_t count = 0;
    if (!file)
        return 0;
    for (bool header = true; count < lines && fgets(line, sizeof line, file); header = false) {
        if (header || strncmp(line, "1983;", 5) == 0)
            continue;
        char *at = strpbrk(line, ",;");
        for (size_t i = 0; i < width && at; i++, at = strpbrk(at, ",;"))
            numbers[count * width + i] = strtod(++at, NULL);
        count++;
    }
    fclose(file);
    return count;
}

static bool read_data(data *d) {
    double hydro[12][2] = {{0}};
    bool all = read_table("demand.csv", *d->demand, SUBSYSTEMS, MONTHS) == MONTHS &&
               read_table("deficit.csv", *d->deficit, 2, TIERS) == TIERS &&
               read_table("exchange.csv", *d->exchange, PLACES, PLACES) == PLACES &&
               read_table("exchange_cost.csv", *d->exchange_cost, PLACES, PLACES) == PLACES &&
               read_table("hydro.csv", *hydro, 2, 12) == 12;
    for (size_t i = 0; i < SUBSYSTEMS && all; i++) {
        char name[32];
        d->stored_max[i] = hydro[i][0];
        d->stored[i] = hydro[i][1];
        d->hydro_max[i] = hydro[2 * SUBSYSTEMS + i][0]; /* between them: inflows */
        snprintf(name, sizeof name, "thermal_%zu.csv", i);
        d->thermals[i] = read_table(name, *d->thermal[i], 3, MOST_THERMALS);
        snprintf(name, sizeof name, "hist_%zu.csv", i);
        all = d->thermals[i] > 0 && read_table(name, *d->inflow[i], MONTHS, YEARS) == YEARS;
    }
    return all;
}

/* What differs between the two versions of the problem. */
typedef struct {
    size_t stages;
    const double *first_inflow;
    double discount, spill_cost, exchange_factor, thermal_factor, deficit_factor;
    double (*deficit_cost)(const data *d, size_t subsystem, size_t tier);
    size_t (*history_month)(size_t stage); /* stage from 1 */
    size_t (*demand_month)(size_t stage);
} variant;

static void add_subsystem(cobre_sddp_problem *p, const data *d, const variant *v, size_t n, size_t i, size_t month,
                          const size_t *power) {
    char name[64];
    snprintf(name, sizeof name, "storage_in[%zu]", i);
    size_t in = cb_add_column(p, n, name, -INFINITY, INFINITY, 0);
    snprintf(name, sizeof name, "storage[%zu]", i);
    size_t out = cb_add_column(p, n, name, 0, d->stored_max[i], 0);
    snprintf(name, sizeof name, "spill[%zu]", i);
    size_t spill = cb_add_column(p, n, name, 0, INFINITY, v->spill_cost);
    snprintf(name, sizeof name, "hydro[%zu]", i);
    size_t hydro = cb_add_column(p, n, name, 0, d->hydro_max[i], 0);
    snprintf(name, sizeof name, "water[%zu]", i);
    size_t water = cb_add_row(p, n, name, 0, 0);
    cb_set_state(p, n, i, in, out);
    const size_t column[] = {out, spill, hydro, in};
    for (size_t c = 0; c < 4; c++)
        cb_add_entry(p, n, water, column[c], c == 3 ? -1 : 1);
    cb_add_noise(p, n, (cb_noise){.target = CB_NOISE_ROW, .index = water, .random = i, .factor = 1});
    cb_add_entry(p, n, power[i], hydro, 1);
    for (size_t j = 0; j < TIERS; j++) {
        snprintf(name, sizeof name, "deficit[%zu,%zu]", i, j);
        size_t c = cb_add_column(p, n, name, 0, d->demand[month][i] * d->deficit[j][1],
                                 v->deficit_factor * v->deficit_cost(d, i, j));
        cb_add_entry(p, n, power[i], c, 1);
    }
    for (size_t k = 0; k < d->thermals[i]; k++) {
        snprintf(name, sizeof name, "generation[%zu,%zu]", i, k);
        const double *thermal = d->thermal[i][k];
        size_t c = cb_add_column(p, n, name, thermal[0], thermal[1], v->thermal_factor * thermal[2]);
        cb_add_entry(p, n, power[i], c, 1);
    }
}

static void add_stage(cobre_sddp_problem *p, const data *d, const variant *v, size_t stage) {
    size_t n = cb_add_node(p, NULL, stage), power[PLACES], month = v->demand_month(stage);
    char name[64];
    for (size_t i = 0; i < SUBSYSTEMS; i++)
        cb_add_random(p, n, NULL);
    for (size_t i = 0; i < PLACES; i++) {
        double demand = i < SUBSYSTEMS ? d->demand[month][i] : 0;
        snprintf(name, sizeof name, "load[%zu]", i);
        power[i] = cb_add_row(p, n, name, demand, demand);
    }
    for (size_t i = 0; i < SUBSYSTEMS; i++)
        add_subsystem(p, d, v, n, i, month, power);
    for (size_t i = 0; i < PLACES; i++)
        for (size_t j = 0; j < PLACES; j++) {
            snprintf(name, sizeof name, "exchange[%zu,%zu]", i, j);
            size_t c = cb_add_column(p, n, name, 0, d->exchange[i][j], v->exchange_factor * d->exchange_cost[i][j]);
            cb_add_entry(p, n, power[i], c, -1);
            cb_add_entry(p, n, power[j], c, 1);
        }
    if (stage == 1)
        cb_add_outcome(p, n, 1, v->first_inflow);
    for (size_t y = 0; y < YEARS && stage > 1; y++) {
        double inflow[SUBSYSTEMS];
        for (size_t i = 0; i < SUBSYSTEMS; i++)
            inflow[i] = d->inflow[i][y][v->history_month(stage)];
        cb_add_outcome(p, n, 1.0 / YEARS, inflow);
    }
    cb_add_edge(p, n == 0 ? CB_ROOT : n - 1, n, 1, n == 0 ? 1 : v->discount);
}

static cobre_sddp_problem *build(const char *name, const variant *v) {
    data *d = calloc(1, sizeof *d);
    if (!d || !read_data(d)) {
        free(d);
        return NULL;
    }
    cobre_sddp_problem *p = cb_problem_new(name, false);
    cb_problem_at(p, __FILE__, 0, "%s", name);
    for (size_t i = 0; i < SUBSYSTEMS; i++)
        cb_add_state(p, NULL, d->stored[i]);
    for (size_t stage = 1; stage <= v->stages; stage++)
        add_stage(p, d, v, stage);
    free(d);
    return p;
}

static double by_tier(const data *d, size_t subsystem, size_t tier) {
    (void)subsystem;
    return d->deficit[tier][0];
}

static size_t month_after(size_t stage) {
    return (stage - 1) % MONTHS;
}

cobre_sddp_problem *build_brazil_T3(void) {
    static const double inflow[] = {39717.564, 6632.5141, 15897.183, 2525.2938};
    static const variant v = {.stages = 3,
                              .first_inflow = inflow,
                              .discount = 0.9906,
                              .spill_cost = 0.001,
                              .exchange_factor = 1,
                              .thermal_factor = 1,
                              .deficit_factor = 1,
                              .deficit_cost = by_tier,
                              .history_month = month_after,
                              .demand_month = month_after};
    return build("brazil_T3", &v);
}

static double by_subsystem(const data *d, size_t subsystem, size_t tier) {
    (void)tier;
    return d->deficit[subsystem][0];
}

/* Stage 2 takes January, and so on. */
static size_t month_before(size_t stage) {
    return (stage + MONTHS - 2) % MONTHS;
}

static size_t same_month(size_t stage) {
    return (stage - 1) % MONTHS;
}

/* Deficits weigh `weight`, thermals the rest. */
static cobre_sddp_problem *build_weighted(const char *name, double weight) {
    static const double inflow[] = {39717.564, 6632.5141, 15897.183, 2525.938};
    const variant v = {.stages = 60,
                       .first_inflow = inflow,
                       .discount = 1,
                       .thermal_factor = (1 - weight) * .1 / 60,
                       .deficit_factor = weight * .01 / 60,
                       .deficit_cost = by_subsystem,
                       .history_month = month_before,
                       .demand_month = same_month};
    return build(name, &v);
}

#define WEIGHTED(name, weight)                                                                                         \
    cobre_sddp_problem *build_##name(void) {                                                                           \
        return build_weighted(#name, weight);                                                                          \
    }
BRAZIL_60(WEIGHTED)
