/* SPDX-License-Identifier: Apache-2.0 */
/* test_hydro_case.c: the programs that the shipped cases become, against hand calculation. */
#include "sddp/hydro_kit.h"

#include <math.h>

static kit_result r;

static size_t noises(size_t node, cb_noise_target target) {
    size_t count = 0;
    for (size_t i = 0; i < r.builder->node[node].noises; i++)
        count += r.builder->node[node].noise[i].target == target;
    return count;
}

static const cb_noise *noise_on(size_t node, cb_noise_target target, const char *name) {
    const cb_builder_node *n = &r.builder->node[node];
    for (size_t i = 0; i < n->noises; i++) {
        const cb_noise *noise = &n->noise[i];
        bool row = target <= COBRE_SDDP_NOISE_ROW_UPPER || target == COBRE_SDDP_NOISE_ENTRY;
        const char *on = row ? n->row[noise->index].name : n->column[noise->index].name;
        if (noise->target == target && strcmp(on, name) == 0)
            return noise;
    }
    CHECK_NEVER("no noise on %s", name);
}

static double outcome(size_t node, size_t k, size_t random) {
    const cb_builder_node *n = &r.builder->node[node];
    return n->table[k * n->randoms + random];
}

static void toy(void) {
    kit_copy("toy");
    kit_read_well(&r);
    const cobre_sddp_builder *p = r.builder;
    CHECK_EQ(p->nodes, 3);
    CHECK_EQ(p->states, 1);
    CHECK_TEXT(p->state[0].name, "storage[lake]");
    kit_near(p->state[0].initial, 100);
    for (size_t n = 0; n < 3; n++) {
        CHECK_EQ(p->node[n].stage, n + 1);
        CHECK_EQ(p->node[n].columns, 6);
        CHECK_EQ(p->node[n].rows, 2);
        CHECK_EQ(p->node[n].outcomes, n == 0 ? 1 : 2);
        kit_near(kit_row(&r, n, "load[main]")->lower, 100);
        kit_near(kit_row(&r, n, "load[main]")->upper, 100);
        kit_near(kit_row(&r, n, "water[lake]")->lower, 0);
        kit_near(kit_column(&r, n, "storage[lake]")->upper, 200);
        kit_near(kit_column(&r, n, "hydro[lake]")->upper, 100);
        kit_near(kit_column(&r, n, "generation[gas]")->upper, 80);
        kit_near(kit_column(&r, n, "generation[gas]")->cost, 50);
        kit_near(kit_column(&r, n, "deficit[main,1]")->upper, 100);
        kit_near(kit_column(&r, n, "deficit[main,1]")->cost, 500);
        CHECK(isinf(kit_column(&r, n, "spill[lake]")->upper));
        kit_near(kit_entry(&r, n, "load[main]", "hydro[lake]"), 1);
        kit_near(kit_entry(&r, n, "load[main]", "generation[gas]"), 1);
        kit_near(kit_entry(&r, n, "load[main]", "deficit[main,1]"), 1);
        kit_near(kit_entry(&r, n, "water[lake]", "storage_in[lake]"), -1);
        kit_near(kit_entry(&r, n, "water[lake]", "storage[lake]"), 1);
        kit_near(kit_entry(&r, n, "water[lake]", "hydro[lake]"), 1);
        kit_near(kit_entry(&r, n, "water[lake]", "spill[lake]"), 1);
        kit_near(noise_on(n, COBRE_SDDP_NOISE_ROW, "water[lake]")->factor, 1);
        kit_near(outcome(n, 0, 0), n == 0 ? 50 : 20);
        kit_near(p->node[n].probability[0], n == 0 ? 1 : 0.5);
    }
    CHECK_EQ(p->node[0].edges, 1);
    kit_near(p->node[0].edge[0].probability, 1);
    kit_near(p->node[0].edge[0].discount, 1);
    CHECK_EQ(p->node[2].edges, 0);
    CHECK_EQ(p->longest, 3);
    kit_free(&r);
}

static void reservoir(void) {
    kit_copy("reservoir");
    kit_read_well(&r);
    const cb_builder_node *n = &r.builder->node[0];
    CHECK_EQ(n->randoms, 2);
    CHECK_EQ(n->outcomes, 3);
    kit_near(outcome(0, 0, 1), 7.5);
    kit_near(noise_on(0, COBRE_SDDP_NOISE_ROW, "load[main]")->factor, 1);
    kit_near(n->probability[2], 1.0 / 3);
    CHECK_EQ(n->edges, 1);
    CHECK_EQ(n->edge[0].to, 0);
    kit_near(n->edge[0].probability, 0.9);
    CHECK(isinf(kit_column(&r, 0, "generation[gas]")->upper));
    kit_near(kit_column(&r, 0, "spill[lake]")->cost, 10);
    kit_near(kit_column(&r, 0, "storage[lake]")->lower, 5);
    kit_free(&r);
}

/* February: 672 hours, so 1 m3/s is 0.0036 * 672 hm3. */
static void cascade(void) {
    kit_copy("cascade");
    kit_read_well(&r);
    const cobre_sddp_builder *p = r.builder;
    const double volume = 0.0036 * 672;
    CHECK_EQ(p->nodes, 12);
    CHECK_EQ(p->states, 2 + 2 + 1 + 2); /* reservoirs; lags of head, gorge, mouth */
    CHECK_TEXT(p->node[1].name, "feb");
    CHECK_TEXT(p->state[2].name, "inflow[head,1]");
    kit_near(p->state[2].initial, 590);
    kit_near(p->state[3].initial, 450);
    /* per plant: turbined and hydro in 3 blocks, spill, inflow, lack; 2 x storage, lags; and one penalty */
    CHECK_EQ(p->node[1].columns, 3 * (6 + 3) + 2 * 2 + (3 + 1 + 3) + 1 + 3 * (4 + 2 * 3 + 2));
    CHECK_EQ(p->node[1].rows, 3 * 2 + 3 + 3 * 3 + 1 + 3 + 2); /* load, water, production, outflow, inflow, lags */
    kit_near(kit_row(&r, 1, "load[north,peak]")->lower, 672 * 0.15 * 835);
    kit_near(kit_entry(&r, 1, "load[south,low]", "generation[coal,low]"), 672 * 0.35);
    kit_near(kit_column(&r, 1, "generation[coal,low]")->cost, 32 * 672 * 0.35);
    kit_near(kit_column(&r, 1, "generation[coal,low]")->lower, 100);
    kit_near(kit_entry(&r, 1, "load[north,middle]", "exchange[north,south,middle]"), -672 * 0.5);
    kit_near(kit_entry(&r, 1, "load[south,middle]", "exchange[north,south,middle]"), 672 * 0.5 * 0.97);
    kit_near(kit_column(&r, 1, "deficit[north,second,peak]")->upper, 0.1 * 835);
    kit_near(kit_entry(&r, 1, "water[head]", "turbined[head,peak]"), volume * 0.15);
    kit_near(kit_entry(&r, 1, "water[gorge]", "turbined[head,peak]"), -volume * 0.15);
    kit_near(kit_entry(&r, 1, "water[mouth]", "spill[gorge]"), -volume);
    kit_near(kit_entry(&r, 1, "production[head,peak]", "turbined[head,peak]"), 0.85);
    kit_near(kit_entry(&r, 1, "production[head,peak]", "hydro[head,peak]"), -1);
    kit_near(kit_entry(&r, 1, "load[north,peak]", "hydro[head,peak]"), 672 * 0.15);
    kit_near(kit_entry(&r, 1, "outflow[mouth]", "turbined[mouth,peak]"), 0.15);
    kit_near(kit_row(&r, 1, "outflow[mouth]")->lower, 250);
    kit_near(kit_column(&r, 1, "outflow_lack[mouth]")->cost, 20 * volume);
    kit_near(p->node[1].edge[0].discount, pow(1.1, -672.0 / 8760));
    kit_near(kit_column(&r, 6, "generation[coal,peak]")->upper, 175);
    kit_near(kit_column(&r, 5, "generation[coal,peak]")->upper, 350);
    kit_near(kit_column(&r, 11, "storage[head]")->lower, 1500);
    kit_near(kit_column(&r, 11, "storage_in[head]")->lower, 400);
    kit_free(&r);
}

/* The normal model: m + s (phi1 (a1 - m1) / s1 + phi2 (a2 - m2) / s2 + w z), February of head. */
static void normal_model(void) {
    kit_copy("cascade");
    kit_read_well(&r);
    kit_near(kit_entry(&r, 1, "inflow[head]", "inflow[head]"), 1);
    size_t size;
    char *text = kit_get("par.csv", &size);
    double mean[12], scale[12], noise[12], phi1[12], phi2[12] = {0};
    char *line = strchr(text, '\n') + 1;
    for (size_t i = 0; i < 12; i++, line = strchr(line, '\n') + 1)
        CHECK(sscanf(line, "head,%*d,%lf,%lf,%lf,%lf,%lf", &mean[i], &scale[i], &noise[i], &phi1[i], &phi2[i]) >= 4);
    free(text);
    kit_near(mean[1], 680);
    kit_near(scale[1], 217.6);
    double first = scale[1] * phi1[1] / scale[0], second = scale[1] * phi2[1] / scale[11];
    kit_near(kit_entry(&r, 1, "inflow[head]", "inflow_in[head,1]"), -first);
    kit_near(kit_entry(&r, 1, "inflow[head]", "inflow_in[head,2]"), -second);
    kit_near(kit_row(&r, 1, "inflow[head]")->lower, mean[1] - first * mean[0] - second * mean[11]);
    kit_near(kit_entry(&r, 1, "lag[head,2]", "inflow_lag[head,2]"), 1);
    kit_near(kit_entry(&r, 1, "lag[head,2]", "inflow_in[head,1]"), -1);
    kit_near(kit_entry(&r, 1, "water[head]", "inflow[head]"), -0.0036 * 672);
    kit_near(noise_on(1, COBRE_SDDP_NOISE_ROW, "inflow[head]")->factor, 1);
    CHECK_EQ(r.builder->node[1].outcomes, 20);
    kit_free(&r);
}

/* A scale of 0: the inflow of February is its mean, and March does not look back to it. */
static void still_river(void) {
    kit_copy("cascade");
    kit_edit("par.csv", "head,2,680.0,217.6", "head,2,680.0,0");
    kit_read_well(&r);
    kit_near(kit_row(&r, 1, "inflow[head]")->lower, 680);
    kit_near(r.builder->node[1].deviation[0], 0);
    kit_near(kit_entry(&r, 1, "inflow[head]", "inflow_in[head,1]"), 0);
    kit_near(kit_entry(&r, 2, "inflow[head]", "inflow_in[head,1]"), 0);
    CHECK(kit_entry(&r, 3, "inflow[head]", "inflow_in[head,1]") < 0 && r.builder->node[2].deviation[0] > 0);
    kit_free(&r);
    kit_edit("case.json", "\"source\": \"par\"", "\"source\": \"par\", \"noise\": \"lognormal\"");
    kit_read(&r);
    CHECK_EQ(r.count, 1);
    CHECK_EQ(r.issue[0].line, 3);
    CHECK_HOLDS(r.issue[0].message, "hydro head: the scale is 0 -- give one above 0, and a \"noise\" of 0");
    kit_free(&r);
}

/* The inflows of these coefficients: error and warning are what must be said, NULL: nothing. */
static void expect_growth(const char *par, const char *error, const char *warning) {
    kit_put("par.csv", par);
    kit_read(&r);
    CHECK_EQ(r.count, error ? 1 : 0);
    CHECK_EQ(r.builder->warnings, warning ? 1 : 0);
    const cobre_sddp_issue *issue = error ? r.builder->issue : r.builder->warning;
    if (error || warning) {
        CHECK_HOLDS(issue->file, "par.csv");
        CHECK_EQ(issue->warning, !error);
        CHECK_HOLDS(issue->message, error ? error : warning);
    }
    kit_free(&r);
}

/* Radii that are known: of one coefficient, of a swing (the roots of z^2 = -1.21), of seasons that make up for each
 * other. */
static void inflows_that_run_away(void) {
    kit_copy("toy");
    kit_remove("inflows.csv");
    kit_put("case.json", "{\"units\": \"energy\", \"stages\": 3, \"subsystems\": [\"main\"], "
                         "\"inflow\": {\"source\": \"par\", \"openings\": 2}}");
    kit_put("past_inflows.csv", "lag,lake\n1,50\n2,50\n");
#define HEAD "hydro,mean,scale,noise,phi1,phi2\nlake,50,10,"
    expect_growth(HEAD "0.5,0.9,0\n", NULL, NULL);
    expect_growth(HEAD "0.5,1,0\n", NULL, NULL);
    expect_growth(HEAD "0.5,0.5,0.5\n", NULL, NULL);
    expect_growth(HEAD "0.5,1.1,0\n", NULL,
                  "hydro lake: its inflows diverge: their deviation from the mean grows "
                  "1.1-fold in 1 stage, and 1.33-fold in the 3 of the case");
    expect_growth(HEAD "0.5,0,-1.21\n", NULL, "grows 1.1-fold in 1 stage");
    expect_growth(HEAD "0.5,0,-0.99\n", NULL, NULL);
    expect_growth(HEAD "0.5,0.7,0.5\n", NULL, "grows 1.14-fold");
    expect_growth(HEAD "0.5,-11,0\n", "11-fold in 1 stage, and 1.33e+03-fold in the 3", NULL);
#undef HEAD
    kit_edit("case.json", "\"stages\": 3", "\"stages\": 4, \"seasons\": 2");
#define HEAD "hydro,season,mean,scale,noise,phi1\n"
    expect_growth(HEAD "lake,1,50,10,0.5,2\nlake,2,30,20,0.5,0.4\n", NULL, NULL);
    expect_growth(HEAD "lake,1,50,10,0.5,2\nlake,2,30,20,0.5,0.6\n", NULL,
                  "grows 1.2-fold in 2 stages, and 1.44-fold in the 4");
    expect_growth(HEAD "lake,1,50,10,0.5,2\nlake,2,30,0,0.5,0.6\n", NULL, NULL);
    kit_edit("case.json", "\"source\": \"par\"", "\"source\": \"par\", \"noise\": \"lognormal\"");
    expect_growth(HEAD "lake,1,50,10,1,0.9\nlake,2,30,20,0,0.9\n", NULL, "grows 1.34-fold in 2 stages");
    expect_growth(HEAD "lake,1,50,10,0.5,0.9\nlake,2,30,20,0,0.9\n", NULL, NULL);
#undef HEAD
}

/* Over many draws the noise has the deviations and correlations that the tables say. */
static void drawn_noise(void) {
    enum { DRAWS = 100000 };
    kit_copy("cascade");
    kit_read_well(&r);
    const cb_builder_node *n = &r.builder->node[1];
    cb_model model = {n->deviation, r.builder->factor[n->factor].value, n->lognormal};
    double sum[3] = {0}, product[3][3] = {{0}};
    for (uint32_t k = 0; k < DRAWS; k++) {
        cb_rng rng;
        double values[3];
        cb_rng_start(&rng, 1, CB_RNG_OPENING, 0, k, 1);
        cb_draw(&model, 3, &rng, values);
        for (size_t i = 0; i < 3; i++) {
            sum[i] += values[i] / DRAWS;
            for (size_t j = 0; j < 3; j++)
                product[i][j] += values[i] * values[j] / DRAWS;
        }
    }
    const double correlation[3][3] = {{1, 0.8, 0.6}, {0.8, 1, 0.7}, {0.6, 0.7, 1}};
    for (size_t i = 0; i < 3; i++) {
        CHECK(fabs(sum[i]) < 0.02 * sqrt(product[i][i]));
        for (size_t j = 0; j < 3; j++)
            CHECK(fabs(product[i][j] / sqrt(product[i][i] * product[j][j]) - correlation[i][j]) < 0.01);
    }
    kit_free(&r);
}

/* The lognormal model: the noise multiplies the constant and the lags. January follows December. */
static void lognormal_model(void) {
    kit_copy("brazil_ar");
    kit_read_well(&r);
    CHECK_EQ(r.builder->states, 8);
    CHECK_EQ(r.builder->node[0].randoms, 0); /* its inflow is known */
    kit_near(kit_row(&r, 0, "inflow[SE]")->lower, 39717.564);
    const double mean = 54330.00355710471, before = 39890.077283479965, gamma = 0.6453084819160032;
    kit_near(kit_row(&r, 12, "inflow[SE]")->lower, 0);
    kit_near(kit_entry(&r, 12, "inflow[SE]", "inflow_in[SE,1]"), 0);
    kit_near(noise_on(12, COBRE_SDDP_NOISE_ENTRY, "inflow[SE]")->factor, -gamma * mean / before);
    kit_near(noise_on(12, COBRE_SDDP_NOISE_ROW, "inflow[SE]")->factor, mean - gamma * mean);
    CHECK_EQ(noises(12, COBRE_SDDP_NOISE_ENTRY), 4);
    kit_free(&r);
}

static void brazil(void) {
    kit_copy("brazil60");
    kit_read_well(&r);
    const cobre_sddp_builder *p = r.builder;
    CHECK_EQ(p->nodes, 60);
    CHECK_EQ(p->states, 4);
    CHECK_EQ(p->node[59].columns, 4 * 4 + 95 + 16 + 10);
    CHECK_EQ(p->node[59].rows, 9);
    CHECK_EQ(p->node[0].outcomes, 1);
    CHECK_EQ(p->node[1].outcomes, 82);
    CHECK_EQ(p->scenarios, 82);
    kit_near(outcome(0, 0, 3), 2525.938);
    kit_near(outcome(1, 0, 0), 56896.8);   /* stage 2: January of 1931 */
    kit_near(outcome(12, 0, 0), 38566.5);  /* stage 13: December */
    kit_near(outcome(1, 51, 0), 84213.88); /* 1982, then 1984: three subsystems have no 1983 */
    kit_near(outcome(1, 52, 0), 64555.38);
    kit_near(kit_row(&r, 0, "load[SE]")->lower, 45515);
    kit_near(kit_row(&r, 1, "load[SE]")->lower, 46611);
    kit_near(kit_row(&r, 12, "load[SE]")->lower, 45515);
    kit_near(kit_column(&r, 0, "generation[SE-01]")->cost, 0.5 * 0.1 / 60 * 21.49);
    kit_near(kit_column(&r, 0, "deficit[N,1]")->cost, 0.5 * 0.01 / 60 * 5845.54);
    kit_near(kit_column(&r, 0, "deficit[S,4]")->cost, 0.5 * 0.01 / 60 * 2465.4);
    kit_near(kit_column(&r, 0, "deficit[S,4]")->upper, 0.8 * 11692);
    kit_near(kit_column(&r, 0, "exchange[N,IMP]")->upper, 99999);
    kit_near(kit_entry(&r, 0, "transfer[IMP]", "exchange[N,IMP]"), 1);
    kit_near(p->scenario[0].values[1][0], 56451.95); /* it begins in December of 1931 */
    kit_near(p->scenario[0].values[13][0], 65408.16);
    kit_near(p->scenario[81].values[1][0], 56896.8); /* after the last year comes the first */
    kit_free(&r);
    kit_copy("brazil3");
    kit_edit("case.json", "\"stages\": 3", "\"stages\": 120");
    kit_read_well(&r);
    CHECK_EQ(r.builder->nodes, 120);
    kit_near(r.builder->node[0].edge[0].discount, 0.9906);
    kit_near(outcome(1, 0, 0), 86488.31); /* stage 2: February */
    kit_near(kit_column(&r, 0, "deficit[S,4]")->cost, 5845.54);
    kit_near(kit_column(&r, 0, "spill[S]")->cost, 0.001);
    kit_free(&r);
}

/* Cuts of a table are rows of the last stage. A state without a column is a warning. */
static void terminal(void) {
    kit_copy("cascade");
    kit_edit("case.json", "\"stages\": 12", "\"stages\": 12, \"cost_scale\": 0.5, \"terminal\": \"cuts.csv\"");
    kit_put("cuts.csv", "node,outcome,iteration,intercept,storage[head],\"inflow[head,2]\",storage[mouth]\n"
                        "dec,,1,5e6,-900,-2.5,0\n\ndec,,2,7e6,-1100,0,-800\ndec,,3,5e6,-900,-2.5,0\n");
    kit_read_well(&r);
    const cb_builder_node *last = &r.builder->node[11];
    CHECK_TEXT(last->column[last->columns - 1].name, "terminal");
    CHECK_TEXT(last->row[last->rows - 1].name, "terminal[2]"); /* the third is a copy of the first */
    CHECK_EQ(last->columns, r.builder->node[10].columns + 1);
    CHECK_EQ(last->rows, r.builder->node[10].rows + 2);
    kit_near(kit_column(&r, 11, "terminal")->cost, 1);
    CHECK(isinf(kit_column(&r, 11, "terminal")->lower) && isinf(kit_row(&r, 11, "terminal[1]")->upper));
    kit_near(kit_row(&r, 11, "terminal[1]")->lower, 5e6);
    kit_near(kit_entry(&r, 11, "terminal[1]", "terminal"), 1);
    kit_near(kit_entry(&r, 11, "terminal[1]", "storage[head]"), 900);
    kit_near(kit_entry(&r, 11, "terminal[1]", "inflow_lag[head,2]"), 2.5);
    kit_near(kit_entry(&r, 11, "terminal[1]", "storage[mouth]"), 0);
    kit_near(kit_entry(&r, 11, "terminal[2]", "storage[mouth]"), 800);
    CHECK_EQ(r.builder->warnings, 2);
    CHECK_HOLDS(r.builder->warning[0].message, "taken as costs after cost_scale 0.5");
    CHECK_HOLDS(r.builder->warning[1].message, "cuts.csv has no slopes of state inflow[head,1] and 3 more: its value");
    CHECK_HOLDS(r.builder->warning[1].file, "cuts.csv");
    CHECK_EQ(r.builder->warning[1].line, 1);
    kit_free(&r);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(toy),
        CHECK_CASE(reservoir),
        CHECK_CASE(cascade),
        CHECK_CASE(normal_model),
        CHECK_CASE(drawn_noise),
        CHECK_CASE(still_river),
        CHECK_CASE(inflows_that_run_away),
        CHECK_CASE(lognormal_model),
        CHECK_CASE(brazil),
        CHECK_CASE(terminal),
        CHECK_END,
    };
    return kit_main(argc, argv, tests);
}
