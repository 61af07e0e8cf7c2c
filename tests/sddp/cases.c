/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c: the reference cases: built here, or read from tables. */
#include "sddp/cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/hydro_kit.h"

#define INF INFINITY

/* Stage t of T in a row after stage t - 1. */
static void chain(cobre_sddp_builder *p, size_t node) {
    cobre_sddp_add_edge(p, node == 0 ? COBRE_SDDP_ROOT : node - 1, node, 1, 1);
}

static cobre_sddp_builder *new_problem(const char *name, bool maximise) {
    cobre_sddp_builder *p;
    return cobre_sddp_builder_new(name, maximise, &p) ? NULL : p;
}

static cobre_sddp_builder *fast_hydro_thermal(void) {
    cobre_sddp_builder *p = new_problem("fast_hydro_thermal", true);
    size_t x = cobre_sddp_add_state(p, "x", 0);
    for (size_t t = 0; t < 2; t++) {
        size_t n = cobre_sddp_add_node(p, NULL, t + 1);
        size_t in = cobre_sddp_add_column(p, n, "x_in", -INF, INF, 0),
               out = cobre_sddp_add_column(p, n, "x_out", 0, 8, 0);
        size_t y = cobre_sddp_add_column(p, n, "y", 0, INF, 0), g = cobre_sddp_add_column(p, n, "p", 0, INF, -5);
        size_t demand = cobre_sddp_add_row(p, n, "demand", 6, INF), water = cobre_sddp_add_row(p, n, "water", -INF, 0);
        cobre_sddp_set_state(p, n, x, in, out);
        cobre_sddp_add_entry(p, n, demand, g, 1);
        cobre_sddp_add_entry(p, n, demand, y, 1);
        cobre_sddp_add_entry(p, n, water, out, 1);
        cobre_sddp_add_entry(p, n, water, in, -1);
        cobre_sddp_add_entry(p, n, water, y, 1);
        size_t xi = cobre_sddp_add_random(p, n, "xi");
        cobre_sddp_add_noise(p, n, xi, 1, COBRE_SDDP_NOISE_ROW, water, 0);
        if (t == 0) {
            cobre_sddp_add_outcome(p, n, 1, (double[]){6});
        } else {
            cobre_sddp_add_outcome(p, n, 0.5, (double[]){2});
            cobre_sddp_add_outcome(p, n, 0.5, (double[]){10});
        }
        cobre_sddp_set_value_bound(p, n, 0);
        chain(p, n);
    }
    return p;
}

static cobre_sddp_builder *fast_production_management(void) {
    cobre_sddp_builder *p = new_problem("fast_production_management", false);
    size_t x[2] = {cobre_sddp_add_state(p, "x1", 0), cobre_sddp_add_state(p, "x2", 0)};
    for (size_t t = 0; t < 3; t++) {
        size_t n = cobre_sddp_add_node(p, NULL, t + 1), total = cobre_sddp_add_row(p, n, "sales", -INF, 0);
        for (size_t i = 0; i < 2; i++) {
            size_t in = cobre_sddp_add_column(p, n, NULL, -INF, INF, 0);
            size_t out = cobre_sddp_add_column(p, n, NULL, 0, INF, i ? 0.7 : 0.2);
            size_t s = cobre_sddp_add_column(p, n, NULL, 0, INF, i ? -2.54 : -2.33),
                   stock = cobre_sddp_add_row(p, n, NULL, -INF, 0);
            cobre_sddp_set_state(p, n, x[i], in, out);
            cobre_sddp_add_entry(p, n, stock, s, 1);
            cobre_sddp_add_entry(p, n, stock, in, -1);
            cobre_sddp_add_entry(p, n, total, s, 1);
        }
        size_t d = cobre_sddp_add_random(p, n, "d");
        cobre_sddp_add_noise(p, n, d, 1, COBRE_SDDP_NOISE_ROW_UPPER, total, 0);
        if (t == 0) {
            cobre_sddp_add_outcome(p, n, 1, (double[]){0});
        } else {
            cobre_sddp_add_outcome(p, n, 0.5, (double[]){2});
            cobre_sddp_add_outcome(p, n, 0.5, (double[]){10});
        }
        chain(p, n);
    }
    return p;
}

static cobre_sddp_builder *fast_quickstart(void) {
    cobre_sddp_builder *p = new_problem("fast_quickstart", false);
    size_t x = cobre_sddp_add_state(p, "x", 0);
    for (size_t t = 0; t < 2; t++) {
        size_t n = cobre_sddp_add_node(p, NULL, t + 1);
        size_t in = cobre_sddp_add_column(p, n, "x_in", -INF, INF, 0),
               out = cobre_sddp_add_column(p, n, "x_out", 0, INF, t ? 0 : 1);
        cobre_sddp_set_state(p, n, x, in, out);
        cobre_sddp_set_value_bound(p, n, -5);
        chain(p, n);
        if (t == 0)
            continue;
        size_t s = cobre_sddp_add_column(p, n, "s", 0, 0, -2), row = cobre_sddp_add_row(p, n, "stock", -INF, 0);
        cobre_sddp_add_entry(p, n, row, s, 1);
        cobre_sddp_add_entry(p, n, row, in, -1);
        size_t xi = cobre_sddp_add_random(p, n, "xi");
        cobre_sddp_add_noise(p, n, xi, 1, COBRE_SDDP_NOISE_COLUMN_UPPER, s, 0);
        cobre_sddp_add_outcome(p, n, 0.5, (double[]){2});
        cobre_sddp_add_outcome(p, n, 0.5, (double[]){3});
    }
    return p;
}

static void farm_year(cobre_sddp_builder *p, size_t n, size_t k, size_t weather, size_t acres, const size_t *bales) {
    static const double yield[3][3] = {{30, 75, 37.5}, {15, 37.5, 18.25}, {7.5, 18.75, 9.325}};
    static const double days[3] = {60, 60, 245}, buy_cost[3] = {5, 6, 7}, price[3] = {4.5, 5.5, 6.5},
                        need[3] = {210, 210, 858}, eat_cost[3][3] = {{0, 1, 2}, {0, 0, 1}, {0, 0, 0}};
    size_t acres_in = cobre_sddp_add_column(p, n, "acres_in", -INF, INF, 50),
           acres_out = cobre_sddp_add_column(p, n, "acres", 0, 60, 0);
    size_t land = cobre_sddp_add_row(p, n, "land", -INF, 0), fed = cobre_sddp_add_row(p, n, "fed", need[k], INF);
    size_t store = cobre_sddp_add_row(p, n, "store", -INF, 3000), sold = cobre_sddp_add_row(p, n, "sold", -INF, 3000);
    cobre_sddp_set_state(p, n, acres, acres_in, acres_out);
    cobre_sddp_add_entry(p, n, land, acres_out, 1);
    cobre_sddp_add_entry(p, n, land, acres_in, -1);
    for (size_t c = 0; c < 3; c++) {
        size_t in = cobre_sddp_add_column(p, n, NULL, -INF, INF, 0.05 * days[k]),
               out = cobre_sddp_add_column(p, n, NULL, 0, INF, 0);
        size_t buy = cobre_sddp_add_column(p, n, NULL, 0, INF, buy_cost[c]),
               sell = cobre_sddp_add_column(p, n, NULL, 0, INF, -price[c]);
        size_t eat = cobre_sddp_add_column(p, n, NULL, 0, INF, eat_cost[c][k]),
               more = cobre_sddp_add_column(p, n, NULL, 0, INF, 1000);
        size_t less = cobre_sddp_add_column(p, n, NULL, 0, INF, 1000), has = cobre_sddp_add_row(p, n, NULL, -INF, 0);
        size_t balance = cobre_sddp_add_row(p, n, NULL, 0, 0);
        const size_t column[] = {out, in, buy, eat, sell, more, less};
        const double sign[] = {1, -1, -1, 1, 1, -1, 1};
        for (size_t i = 0; i < 7; i++)
            cobre_sddp_add_entry(p, n, balance, column[i], sign[i]);
        if (c == k)
            cobre_sddp_add_entry(p, n, balance, acres_in, -yield[k][weather]);
        cobre_sddp_set_state(p, n, bales[c], in, out);
        cobre_sddp_add_entry(p, n, fed, eat, 1);
        cobre_sddp_add_entry(p, n, store, out, 1);
        cobre_sddp_add_entry(p, n, sold, sell, 1);
        cobre_sddp_add_entry(p, n, has, sell, 1);
        cobre_sddp_add_entry(p, n, has, in, -1);
    }
}

static cobre_sddp_builder *mccardle_farm(void) {
    static const double weather[3] = {.14, .69, .17};
    cobre_sddp_builder *p = new_problem("mccardle_farm", false);
    size_t acres = cobre_sddp_add_state(p, "acres", 60), bales[3];
    for (size_t c = 0; c < 3; c++)
        bales[c] = cobre_sddp_add_state(p, NULL, 0);
    size_t first = cobre_sddp_add_node(p, "start", 1), in = cobre_sddp_add_column(p, first, "acres_in", -INF, INF, 0);
    size_t out = cobre_sddp_add_column(p, first, "acres", 0, 60, 0),
           land = cobre_sddp_add_row(p, first, "land", -INF, 0);
    cobre_sddp_set_state(p, first, acres, in, out);
    cobre_sddp_add_entry(p, first, land, out, 1);
    cobre_sddp_add_entry(p, first, land, in, -1);
    for (size_t c = 0; c < 3; c++) {
        size_t from = cobre_sddp_add_column(p, first, NULL, -INF, INF, 0),
               to = cobre_sddp_add_column(p, first, NULL, 0, INF, 0);
        size_t same = cobre_sddp_add_row(p, first, NULL, 0, 0);
        cobre_sddp_set_state(p, first, bales[c], from, to);
        cobre_sddp_add_entry(p, first, same, to, 1);
        cobre_sddp_add_entry(p, first, same, from, -1);
    }
    cobre_sddp_add_edge(p, COBRE_SDDP_ROOT, first, 1, 1);
    for (size_t k = 0; k < 3; k++)
        for (size_t w = 0; w < 3; w++)
            farm_year(p, cobre_sddp_add_node(p, NULL, k + 2), k, w, acres, bales);
    for (size_t k = 0; k < 3; k++)
        for (size_t w = 0; w < 3; w++)
            for (size_t before = 0; before < (k ? 3u : 1u); before++)
                cobre_sddp_add_edge(p, k ? 1 + 3 * (k - 1) + before : first, 1 + 3 * k + w, weather[w], 1);
    for (size_t n = 0; n < p->nodes; n++)
        cobre_sddp_set_value_bound(p, n, 0);
    return p;
}

/* The case under test, which is gone afterwards. Its errors are told when the problem is finished. */
static cobre_sddp_builder *read_tables(void) {
    cobre_sddp_builder *p = cb_read_hydrothermal(kit_folder, &(cobre_sddp_load_options){.issue = NULL});
    kit_remove_folder();
    return p;
}

/* 300 MWmonth of load, and 190, 250, 250 or 310 of water: the gas plant makes up the rest, at 50. */
static cobre_sddp_builder *toy(void) {
    kit_make_folder();
    kit_copy("toy");
    return read_tables();
}

static cobre_sddp_builder *hydro_thermal_tables(void) {
    kit_make_folder();
    kit_copy("toy");
    kit_remove("deficits.csv");
    kit_edit("case.json", "\"stages\": 3", "\"stages\": 2");
    kit_put("thermals.csv", "thermal,subsystem,cost\nt,main,5\n");
    kit_put("hydros.csv", "hydro,subsystem,storage_max\nlake,main,8\n");
    kit_put("load.csv", "main\n6\n");
    kit_put("inflows.csv", "stage,lake\n1,6\n2,2\n2,10\n");
    return read_tables();
}

static cobre_sddp_builder *reservoir_infinite(void) {
    kit_make_folder();
    kit_copy("reservoir");
    return read_tables();
}

static cobre_sddp_builder *reservoir(size_t stages) {
    char horizon[32];
    snprintf(horizon, sizeof horizon, "\"stages\": %zu", stages);
    kit_make_folder();
    kit_copy("reservoir");
    kit_edit("case.json", ",\n    \"cycle\": {\"to\": 1, \"probability\": 0.9}", "");
    kit_edit("case.json", "\"stages\": 1", horizon);
    return read_tables();
}

static cobre_sddp_builder *reservoir_1(void) {
    return reservoir(1);
}

static cobre_sddp_builder *reservoir_2(void) {
    return reservoir(2);
}

static cobre_sddp_builder *reservoir_4(void) {
    return reservoir(4);
}

static cobre_sddp_builder *reservoir_20(void) {
    return reservoir(20);
}

static cobre_sddp_builder *cvar_1d(double level) {
    char json[256];
    snprintf(json, sizeof json,
             "{\"name\": \"cvar_1d\", \"units\": \"energy\", \"time_unit\": \"month\", \"stages\": 4,\n"
             " \"subsystems\": [\"main\"], \"risk\": {\"beta\": %g, \"alpha\": %g}}",
             level, level);
    kit_make_folder();
    kit_copy("toy");
    kit_put("case.json", json);
    kit_put("thermals.csv", "thermal,subsystem,max,cost\none,main,15,5\ntwo,main,15,10\n");
    kit_put("hydros.csv", "hydro,subsystem,storage_max,storage_initial,turbine_max,spill_max,spill_cost,first_inflow\n"
                          "lake,main,100,83.222,60,200,1,0\n");
    kit_put("deficits.csv", "cost\n50\n");
    kit_put("load.csv", "main\n75\n");
    kit_put("inflows.csv", "lake\n54.79241319772865\n25.109857957182598\n27.829848747772807\n5.530869784084061\n"
                           "26.487687851952586\n51.1329266674026\n22.76831053666164\n50.36170215462795\n"
                           "64.96459616194586\n63.38225909904922\n");
    return read_tables();
}

static cobre_sddp_builder *cvar_10(void) {
    return cvar_1d(.1);
}

static cobre_sddp_builder *cvar_50(void) {
    return cvar_1d(.5);
}

static cobre_sddp_builder *cvar_90(void) {
    return cvar_1d(.9);
}

static cobre_sddp_builder *cvar_neutral(void) {
    return cvar_1d(1);
}

/* The Brazilian four-subsystem problem */

static cobre_sddp_builder *brazil_T3(void) {
    kit_make_folder();
    kit_copy("brazil3");
    return read_tables();
}

/* Deficits weigh `weight`, thermals the rest. cost_scale multiplies both, so that the deficits' costs take it out again. */
static cobre_sddp_builder *brazil_60_weighted(double weight) {
    static const struct {
        const char *subsystem;
        double cost;
    } deficit[] = {{"SE", 1142.8}, {"S", 2465.4}, {"NE", 5152.46}, {"N", 5845.54}};
    static const double depth[] = {0.05, 0.05, 0.1, 0.8};
    char table[1024] = "subsystem,tier,depth,cost\n", scale[64];
    for (size_t i = 0; i < 4; i++)
        for (size_t tier = 0; tier < 4; tier++) {
            size_t used = strlen(table);
            snprintf(table + used, sizeof table - used, "%s,%zu,%g,%.17g\n", deficit[i].subsystem, tier + 1,
                     depth[tier], deficit[i].cost * .1 * weight / (1 - weight));
        }
    snprintf(scale, sizeof scale, "\"cost_scale\": %.17g,", (1 - weight) * .1 / 60);
    kit_make_folder();
    kit_copy("brazil60");
    kit_edit("case.json", "\"cost_scale\": 0.0008333333333333334,", scale);
    kit_put("deficits.csv", table);
    return read_tables();
}

/* X(name, weight) */
#define BRAZIL_60(X)                                                                                                   \
    X(brazil_60, 0.5)                                                                                                  \
    X(brazil_60_0, 0)                                                                                                  \
    X(brazil_60_125, 0.125)                                                                                            \
    X(brazil_60_25, 0.25)                                                                                              \
    X(brazil_60_375, 0.375)                                                                                            \
    X(brazil_60_625, 0.625)                                                                                            \
    X(brazil_60_75, 0.75)                                                                                              \
    X(brazil_60_875, 0.875)
#define WEIGHTED(name, weight)                                                                                         \
    static cobre_sddp_builder *name(void) {                                                                            \
        return brazil_60_weighted(weight);                                                                             \
    }
BRAZIL_60(WEIGHTED)

/* Not published: every kind of noise at once, checked against its extensive form. Water evaporates at random (an entry of
 * the incoming state), a turbine's efficiency and a fuel's cost are random, so are demand, a limit and a fee. */
static cobre_sddp_builder *all_noise(void) {
    cobre_sddp_builder *p = new_problem("all_noise", false);
    size_t x = cobre_sddp_add_state(p, "x", 10);
    for (size_t t = 0; t < 4; t++) {
        size_t n = cobre_sddp_add_node(p, NULL, t + 1);
        size_t in = cobre_sddp_add_column(p, n, "x_in", -INF, INF, 0),
               out = cobre_sddp_add_column(p, n, "x_out", 0, 12, 0);
        size_t h = cobre_sddp_add_column(p, n, "h", 0, 6, 0), s = cobre_sddp_add_column(p, n, "s", 0, INF, 0);
        size_t g = cobre_sddp_add_column(p, n, "g", 0, INF, 2), water = cobre_sddp_add_row(p, n, "water", 3, 3);
        size_t demand = cobre_sddp_add_row(p, n, "demand", 5, INF), w[6];
        cobre_sddp_set_state(p, n, x, in, out);
        cobre_sddp_add_entry(p, n, water, out, 1);
        cobre_sddp_add_entry(p, n, water, in, -1);
        cobre_sddp_add_entry(p, n, water, h, 1);
        cobre_sddp_add_entry(p, n, water, s, 1);
        cobre_sddp_add_entry(p, n, demand, h, 1);
        cobre_sddp_add_entry(p, n, demand, g, 1);
        cobre_sddp_add_entry(p, n, demand, in, 0.01);
        for (size_t i = 0; i < 6; i++)
            w[i] = cobre_sddp_add_random(p, n, NULL);
        const struct {
            cobre_sddp_noise_target target;
            size_t index, column, random;
            double factor;
        } noise[] = {
            {COBRE_SDDP_NOISE_ENTRY, water, in, w[0], 1},       {COBRE_SDDP_NOISE_ENTRY, demand, h, w[1], 1},
            {COBRE_SDDP_NOISE_ENTRY, demand, in, w[0], -0.01},  {COBRE_SDDP_NOISE_COST, g, 0, w[2], 1},
            {COBRE_SDDP_NOISE_ROW_LOWER, demand, 0, w[3], 1},   {COBRE_SDDP_NOISE_ROW, water, 0, w[3], 0.5},
            {COBRE_SDDP_NOISE_COLUMN_UPPER, h, 0, w[4], 1},     {COBRE_SDDP_NOISE_CONSTANT, 0, 0, w[5], 1},
            {COBRE_SDDP_NOISE_COLUMN_UPPER, out, 0, w[4], 0.5}, {COBRE_SDDP_NOISE_COLUMN_LOWER, out, 0, w[4], 0.2}};
        for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
            cobre_sddp_add_noise(p, n, noise[i].random, noise[i].factor, noise[i].target, noise[i].index,
                                 noise[i].column);
        cobre_sddp_add_outcome(p, n, 0.5, (double[]){0.1, 0.2, 0, 0, 1, 0.3});
        cobre_sddp_add_outcome(p, n, 0.3, (double[]){0.3, -0.1, 1.5, 1, 0, 0});
        cobre_sddp_add_outcome(p, n, 0.2, (double[]){0, 0, 3, 2, 2, 1});
        cobre_sddp_add_edge(p, n == 0 ? COBRE_SDDP_ROOT : n - 1, n, 1, n == 0 ? 1 : 0.95);
    }
    return p;
}

static cobre_sddp_builder *stock(void) {
    cobre_sddp_builder *p = new_problem("stock", false);
    size_t x = cobre_sddp_add_state(p, "x", 0.5);
    for (size_t t = 1; t <= 5; t++) {
        size_t n = cobre_sddp_add_node(p, NULL, t);
        size_t in = cobre_sddp_add_column(p, n, "x_in", -INF, INF, 0),
               out = cobre_sddp_add_column(p, n, "x_out", 0, 1, 0);
        size_t u = cobre_sddp_add_column(p, n, "u", 0, 0.5, sin(3.0 * (double)t) - 1),
               row = cobre_sddp_add_row(p, n, "balance", 0, 0);
        cobre_sddp_set_state(p, n, x, in, out);
        cobre_sddp_add_entry(p, n, row, out, 1);
        cobre_sddp_add_entry(p, n, row, in, -1);
        cobre_sddp_add_entry(p, n, row, u, 1);
        size_t xi = cobre_sddp_add_random(p, n, "xi");
        cobre_sddp_add_noise(p, n, xi, 1, COBRE_SDDP_NOISE_ROW, row, 0);
        for (int k = 0; k < 10; k++)
            cobre_sddp_add_outcome(p, n, 0.1, (double[]){k / 30.0});
        chain(p, n);
    }
    return p;
}

static cobre_sddp_builder *multistock(void) {
    cobre_sddp_builder *p = new_problem("multistock", false);
    size_t x[3];
    for (size_t i = 0; i < 3; i++)
        x[i] = cobre_sddp_add_state(p, NULL, 0.5);
    for (size_t t = 1; t <= 5; t++) {
        size_t n = cobre_sddp_add_node(p, NULL, t), total = cobre_sddp_add_row(p, n, "total", -INF, 1.5);
        for (size_t i = 0; i < 3; i++) {
            size_t in = cobre_sddp_add_column(p, n, NULL, -INF, INF, 0),
                   out = cobre_sddp_add_column(p, n, NULL, 0, 1, 0);
            size_t u = cobre_sddp_add_column(p, n, NULL, 0, 0.5, sin(3.0 * (double)t) - 1),
                   row = cobre_sddp_add_row(p, n, NULL, 0, 0);
            cobre_sddp_set_state(p, n, x[i], in, out);
            cobre_sddp_add_entry(p, n, row, out, 1);
            cobre_sddp_add_entry(p, n, row, in, -1);
            cobre_sddp_add_entry(p, n, row, u, -1);
            cobre_sddp_add_entry(p, n, total, u, 1);
            size_t xi = cobre_sddp_add_random(p, n, NULL);
            cobre_sddp_add_noise(p, n, xi, -1, COBRE_SDDP_NOISE_ROW, row, 0);
        }
        for (int k = 0; k < 27; k++)
            cobre_sddp_add_outcome(p, n, 1.0 / 27, (double[]){k % 3 * 0.15, k / 3 % 3 * 0.15, k / 9 * 0.15});
        cobre_sddp_set_value_bound(p, n, -5);
        chain(p, n);
    }
    return p;
}

const reference_case reference_cases[] = {
    {"fast_hydro_thermal", fast_hydro_thermal, -10, 1e-9, .iterations = 10, .small = true},
    {"fast_production_management", fast_production_management, -23.96, 1e-6, .iterations = 20, .small = true},
    {"fast_quickstart", fast_quickstart, -2, 1e-9, .iterations = 10, .small = true},
    {"mccardle_farm", mccardle_farm, 4074.1391, 1e-5, .iterations = 60, .small = true},
    {"toy", toy, 50 * (110 + 50 + 50 + 0) / 4.0, 1e-6, .iterations = 30, .small = true},
    {"hydro_thermal_tables", hydro_thermal_tables, 10, 1e-9, .iterations = 10, .small = true},
    {"reservoir_1", reservoir_1, 55.0 / 6, 1e-8, .iterations = 1, .small = true},
    {"reservoir_2", reservoir_2, 21.38888889, 1e-6, .iterations = 30, .small = true},
    {"reservoir_4", reservoir_4, 45.83333333, 1e-6, .iterations = 100, .small = true},
    {"all_noise", all_noise, 7.50530218675, 1e-6, .iterations = 100, .small = true},
    {"reservoir_20", reservoir_20, 241.3833, 0.1, .iterations = 400, .effort = LONG},
    {"reservoir_infinite", reservoir_infinite, 715.0 / 6, 1e-3, .iterations = 400, .effort = LONG},
    {"cvar_1d_10", cvar_10, 4433.813449426, 4.4e-3, .iterations = 200, .small = true, .effort = LONG},
    {"cvar_1d_50", cvar_50, 1634.681619423, 1.6e-3, .iterations = 500, .small = true, .effort = LONG},
    {"cvar_1d_90", cvar_90, 1069.838288130, 1.0e-3, .iterations = 400, .small = true, .effort = LONG},
    {"cvar_1d_neutral", cvar_neutral, 1057.646764188, 1.0e-3, .iterations = 400, .small = true, .effort = LONG},
    {"stock", stock, -1.47107492, 1.5e-6, .iterations = 150, .effort = LONG},
    {"multistock", multistock, -4.3405956, 0.01, .iterations = 200, .effort = LONG, .multi = SLOW},
    {"brazil_T3", brazil_T3, 782309.1877977113, 0.79, .iterations = 400, .effort = LONG, .multi = NEVER},
    {"brazil_60", brazil_60, 71603.4667, 1800, 360, .iterations = 118, .effort = SLOW, .multi = NEVER},
    {"brazil_60_0", brazil_60_0, 24508.2582, 0.01, .iterations = 11, .effort = LONG, .multi = NEVER},
    {"brazil_60_125", brazil_60_125, 37270.7478, 900, 186, .iterations = 65, .effort = SLOW, .multi = NEVER},
    {"brazil_60_25", brazil_60_25, 49470.0955, 1200, 247, .iterations = 121, .effort = SLOW, .multi = NEVER},
    {"brazil_60_375", brazil_60_375, 61144.7233, 1500, 305, .iterations = 101, .effort = SLOW, .multi = NEVER},
    {"brazil_60_625", brazil_60_625, 73860.6937, 1800, 369, .iterations = 140, .effort = SLOW, .multi = NEVER},
    {"brazil_60_75", brazil_60_75, 56584.7944, 1400, 282, .iterations = 163, .effort = SLOW, .multi = NEVER},
    {"brazil_60_875", brazil_60_875, 27798.2428, 700, 138, .iterations = 93, .effort = SLOW, .multi = NEVER},
    {.name = NULL},
};

const reference_case *find_case(const char *name) {
    for (const reference_case *c = reference_cases; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}
