/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare.c: comparing runs: errors of known numbers, how often chance passes for a difference, and tables that were
 * made up: matching of figures and stages, units, runs that lack something. */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "sddp/hydro_kit.h"
#include "sddp/run/sampling.h"

static void known_errors(void) {
    const double a[] = {1, 2, 3, 4}, b[] = {2, 4, 6, 8};
    CHECK_NEAR(cb_error_of_means(3, 9, 4, 16), 1.96 * sqrt(2), 1e-12);
    CHECK(isnan(cb_error_of_means(3, 1, 4, 16)) && isnan(cb_error_of_means(3, 9, 4, NAN)));
    CHECK_NEAR(cb_error_of_pairs(a, b, 4), 1.96 * sqrt(5.0 / 3 / 4), 1e-12); /* differences 1, 2, 3, 4 */
    CHECK(cb_error_of_pairs(a, a, 4) == 0 && isnan(cb_error_of_pairs(a, b, 1)));
    /* 3 of 10 and 8 of 20: 4 of 12 and 9 of 22 */
    double shift = 0.1 - (9.0 / 22 - 4.0 / 12);
    CHECK_NEAR(cb_error_of_shares(0.3, 10, 0.4, 20),
               1.96 * sqrt(4.0 * 8 / 12 / 12 / 12 + 9.0 * 13 / 22 / 22 / 22) + shift, 1e-12);
    CHECK_NEAR(cb_error_of_shares(0, 1000, 0, 1000), 2.77e-3, 1e-5); /* not 0; about 3 / n */
    CHECK_NEAR(cb_error_of_shares(1, 1000, 1, 1000), 2.77e-3, 1e-5);
}

static void known_worst(void) {
    double values[40], parts[40], room[40], sum = 0;
    for (size_t i = 0; i < 40; i++)
        values[i] = (double)(i * 17 % 40); /* 0 to 39 */
    CHECK_NEAR(cb_worst_mean(values, 40, 0.05, false, parts, room), 38.5, 1e-12);
    for (size_t i = 0; i < 40; i++)
        sum += parts[i] / 40;
    CHECK_NEAR(sum, 38.5, 1e-12);
    CHECK_NEAR(cb_worst_mean(values, 40, 0.05, true, parts, room), 0.5, 1e-12);
    CHECK_NEAR(cb_worst_mean(values, 30, 1, false, parts, room), cb_worst_mean(values, 30, 1, true, parts, room),
               1e-12);
    CHECK_NEAR(cb_worst_mean((double[]){5, 9}, 2, 0.05, false, parts, room), 9, 1e-12);
    CHECK(isnan(cb_worst_mean(values, 0, 0.05, false, parts, room)));
}

static uint64_t state;
static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double cost(void) { /* skewed, as costs are */
    return exp(0.4 * sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()));
}

enum { ROUNDS = 600, SAMPLE = 400 };

/* How often two samples of the same thing are called different, by each error. */
struct called {
    double means, pairs, shares, worst;
};

static struct called count_called(double shared) {
    static double x[2][SAMPLE], worst[2][SAMPLE], room[SAMPLE];
    struct called called = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        double mean[2] = {0}, squares[2] = {0}, share[2] = {0}, tail[2];
        for (size_t i = 0; i < SAMPLE; i++) {
            double common = cost();
            for (size_t s = 0; s < 2; s++) {
                x[s][i] = shared * common + (1 - shared) * cost();
                mean[s] += x[s][i] / SAMPLE;
                share[s] += (x[s][i] > 1.9) / (double)SAMPLE;
            }
        }
        for (size_t s = 0; s < 2; s++) {
            for (size_t i = 0; i < SAMPLE; i++)
                squares[s] += (x[s][i] - mean[s]) * (x[s][i] - mean[s]);
            tail[s] = cb_worst_mean(x[s], SAMPLE, 0.05, false, worst[s], room);
        }
        double difference = fabs(mean[1] - mean[0]);
        called.means += difference > cb_error_of_means(sqrt(squares[0] / (SAMPLE - 1)), SAMPLE,
                                                       sqrt(squares[1] / (SAMPLE - 1)), SAMPLE);
        called.pairs += difference > cb_error_of_pairs(x[0], x[1], SAMPLE);
        called.shares += fabs(share[1] - share[0]) > cb_error_of_shares(share[0], SAMPLE, share[1], SAMPLE);
        called.worst += fabs(tail[1] - tail[0]) > cb_error_of_pairs(worst[0], worst[1], SAMPLE);
    }
    return (struct called){called.means / ROUNDS, called.pairs / ROUNDS, called.shares / ROUNDS, called.worst / ROUNDS};
}

/* About 5 %; where noise is shared, errors that do not know it are too large and call nothing. The numbers are always the
 * same here: the limits are five deviations wide for whoever changes the seed. */
static void chance_passes_one_time_in_twenty(void) {
    state = 1;
    struct called own = count_called(0), shared = count_called(0.8);
    CHECK_SAY(own.means > 0.01 && own.means < 0.095, "%g of means", own.means);
    CHECK_SAY(own.pairs > 0.01 && own.pairs < 0.095, "%g of pairs", own.pairs);
    CHECK_SAY(own.shares < 0.095, "%g of shares", own.shares);
    CHECK_SAY(own.worst > 0.01 && own.worst < 0.12, "%g of the worst", own.worst);
    CHECK_SAY(shared.means < 0.01, "%g of means that share their noise", shared.means);
    CHECK_SAY(shared.pairs > 0.01 && shared.pairs < 0.095, "%g of pairs that share their noise", shared.pairs);
}

/* Runs that were made up. They have no run.json, which a note says. */

static char path[4][128];
static const char *const paths[4] = {path[0], path[1], path[2], path[3]};

static void put(size_t run, const char *file, const char *text) {
    char name[256];
    snprintf(path[run], sizeof path[run], "%s/%c", kit_folder, (char)('a' + run));
    CHECK(mkdir(path[run], 0777) == 0 || errno == EEXIST);
    snprintf(name, sizeof name, "%c/%s", (char)('a' + run), file);
    kit_put(name, text);
}

#define COLUMNS                                                                                                        \
    "table,kind,level,element,unit,step,stage,date,count,mean,deviation,minimum,p5,p25,p50,p75,p95,maximum,positive\n"

static void put_run(size_t run, const char *sampling, const char *unit, const char *costs, const char *statistics) {
    char text[4096];
    snprintf(text, sizeof text,
             "key,value\nsampling,%s\nseed,1\ntrajectories,4\nbound,9\nmean,%d\ndeviation,2\ngap,none\nunit,%s\n",
             sampling, run == 0 ? 10 : 12, unit);
    put(run, "simulation.csv", text);
    snprintf(text, sizeof text, "trajectory,steps,cost\n%s", costs);
    put(run, "costs.csv", text);
    snprintf(text, sizeof text, COLUMNS "%s", statistics);
    put(run, "statistics.csv", text);
}

static cobre_sddp_comparison *compared(size_t count, const cobre_sddp_compare_options *options) {
    cobre_sddp_comparison *comparison;
    CHECK_OK(cobre_sddp_compare(paths, count, options, &comparison));
    return comparison;
}

/* The row of a figure; the test fails if there is none. */
static size_t find(const cobre_sddp_comparison *comparison, const char *kind, const char *element, size_t step) {
    cobre_sddp_compared row = {.struct_size = sizeof row};
    for (size_t i = 0; i < cobre_sddp_comparison_rows(comparison); i++) {
        CHECK_OK(cobre_sddp_comparison_row(comparison, i, &row));
        if (strcmp(row.kind, kind) == 0 && strcmp(row.element, element) == 0 && row.step == step)
            return i;
    }
    CHECK_NEVER("no row of %s %s at step %zu", kind, element, step);
}

static cobre_sddp_difference cell(const cobre_sddp_comparison *comparison, const char *kind, const char *element,
                                  size_t step, size_t run) {
    cobre_sddp_difference result = {.struct_size = sizeof result};
    CHECK_OK(cobre_sddp_comparison_difference(comparison, find(comparison, kind, element, step), run, &result));
    return result;
}

static bool has_note(const cobre_sddp_comparison *comparison, const char *part) {
    for (size_t i = 0; cobre_sddp_comparison_note(comparison, i); i++)
        if (strstr(cobre_sddp_comparison_note(comparison, i), part))
            return true;
    return false;
}

#define FOUR_COSTS "1,2,8\n2,2,9\n3,2,11\n4,2,12\n"
#define MORE_COSTS "1,2,10\n2,2,11\n3,2,13\n4,2,14\n" /* each 2 more */
#define COST_STEPS                                                                                                     \
    "costs,cost,system,,$,,,,4,10,2,0,0,0,0,0,0,0,1\ncosts,cost,system,,$,1,1,2030-01-01,4,5,2,0,0,0,0,0,0,0,1\n"      \
    "costs,cost,system,,$,2,2,2030-02-01,4,5,2,0,0,0,0,0,0,0,1\n"
#define LATER_STEPS                                                                                                    \
    "costs,cost,system,,$,1,1,2030-02-01,4,5,2,0,0,0,0,0,0,0,1\ncosts,cost,system,,$,2,2,2030-03-01,4,5,2,0,0,0,0,0,"  \
    "0,"                                                                                                               \
    "0,1\n"

static void pairs_are_sharper(void) {
    put_run(0, "in-sample", "$", FOUR_COSTS, COST_STEPS);
    put_run(1, "in-sample", "$", MORE_COSTS, COST_STEPS);
    cobre_sddp_comparison *comparison = compared(2, NULL);
    cobre_sddp_compared_run run = {.struct_size = sizeof run};
    cobre_sddp_difference its = cell(comparison, "cost", "", 0, 1);
    CHECK(its.value == 12 && its.difference == 2 && its.error == 0 && its.significant && its.count == 4);
    CHECK_TEXT(its.method, "pairs");
    its = cell(comparison, "cost_cvar5", "", 0, 1);
    CHECK(its.value == 14 && its.difference == 2 && isnan(its.error) && !its.significant); /* of one trajectory */
    CHECK_TEXT(its.note, "too few trajectories for an error");
    CHECK_OK(cobre_sddp_comparison_run(comparison, 1, &run));
    CHECK_TEXT(run.name, "b");
    CHECK_TEXT(run.words, "b costs 20 % more than a on average: +2.00 $ +- 0 (95 %), larger than the sampling error.");
    CHECK(has_note(comparison, "4 trajectories") && has_note(comparison, "run.json"));
    cobre_sddp_comparison_free(&comparison);
    CHECK(!comparison);
}

static void given_scenarios_and_units(void) {
    put_run(0, "in-sample", "$", FOUR_COSTS, COST_STEPS);
    put_run(1, "given", "$", MORE_COSTS, COST_STEPS);
    put_run(2, "in-sample", "k$", MORE_COSTS, COST_STEPS);
    cobre_sddp_comparison *comparison = compared(3, NULL);
    cobre_sddp_difference its = cell(comparison, "cost", "", 0, 1);
    CHECK(its.difference == 2 && isnan(its.error) && !its.significant);
    CHECK_TEXT(its.note, "scenarios that were given are no sample");
    CHECK(has_note(comparison, "no sample"));
    its = cell(comparison, "cost", "", 0, 2);
    CHECK(its.value == 12 && isnan(its.difference) && !its.significant);
    CHECK_TEXT(its.note, "the units differ");
    cobre_sddp_comparison_free(&comparison);
}

#define PRICE(step, date, mean, deviation)                                                                             \
    "duals,marginal_cost,element,N,$/MWh," #step "," #step "," date ",4," #mean "," #deviation ",0,0,0,0,0,0,0,1\n"
#define DEFICIT(element, positive) "variables,unserved_energy," element ",MWh,,,,4,1,2,0,0,0,0,0,0,0," #positive "\n"
#define STORED(step, date, mean)                                                                                       \
    "states,stored_energy,subsystem,N,MWh," #step "," #step "," date ",4," #mean ",2,0,0,0,0,0,0,0,1\n"

/* A month later the second stage is the first one. */
static void stages_meet_by_date(void) {
    put_run(0, "in-sample", "$", FOUR_COSTS,
            COST_STEPS STORED(1, "2030-01-01", 7) STORED(2, "2030-02-01", 9) PRICE(1, "2030-01-01", 50, 3)
                PRICE(2, "2030-02-01", 60, 3));
    put_run(1, "in-sample", "$", MORE_COSTS,
            LATER_STEPS STORED(1, "2030-02-01", 9) STORED(2, "2030-03-01", 1) PRICE(1, "2030-02-01", 66, 4)
                PRICE(2, "2030-03-01", 70, 4));
    cobre_sddp_comparison *comparison = compared(2, NULL);
    cobre_sddp_difference its = cell(comparison, "marginal_cost", "N", 0, 1); /* the price of a subsystem */
    CHECK(its.value == 66 && its.difference == 6 && its.significant);
    CHECK_NEAR(its.error, 1.96 * 2.5, 1e-12);
    CHECK_TEXT(its.method, "stages");
    its = cell(comparison, "stored_energy", "N", 0, 1);
    CHECK(its.difference == 0 && !its.significant);
    cobre_sddp_comparison_free(&comparison);

    comparison = compared(2, &(cobre_sddp_compare_options){.by = COBRE_SDDP_BY_STAGE, .kind = "marginal_cost"});
    CHECK_EQ(cobre_sddp_comparison_rows(comparison), 3);
    cobre_sddp_compared row = {.struct_size = sizeof row};
    CHECK_OK(cobre_sddp_comparison_row(comparison, 1, &row));
    CHECK_TEXT(row.date, "2030-02-01");
    CHECK_TEXT(row.over, "stage");
    its = cell(comparison, "marginal_cost", "N", 1, 1);
    CHECK(isnan(its.value)); /* January is the first run's alone */
    cobre_sddp_comparison_free(&comparison);
}

/* The error of a mean over stages is that of stages that move together. */
static void means_over_stages_are_careful(void) {
    put_run(0, "in-sample", "$", FOUR_COSTS, COST_STEPS PRICE(1, "2030-01-01", 50, 3) PRICE(2, "2030-02-01", 60, 6));
    put_run(1, "in-sample", "$", MORE_COSTS, COST_STEPS PRICE(1, "2030-01-01", 54, 4) PRICE(2, "2030-02-01", 64, 8));
    cobre_sddp_comparison *comparison = compared(2, &(cobre_sddp_compare_options){.kind = "marginal_cost"});
    cobre_sddp_difference its = cell(comparison, "marginal_cost", "N", 0, 1);
    CHECK(its.value == 59 && its.difference == 4 && isnan(its.deviation));
    CHECK_NEAR(its.error, 1.96 * (2.5 + 5) / 2, 1e-12);
    cobre_sddp_comparison_free(&comparison);
}

static void deficits_and_what_one_run_has(void) {
    put_run(0, "in-sample", "$", FOUR_COSTS, COST_STEPS DEFICIT("system,", 0.5) DEFICIT("subsystem,N", 0.5));
    put_run(1, "in-sample", "$", MORE_COSTS, COST_STEPS DEFICIT("system,", 0) DEFICIT("subsystem,S", 0));
    cobre_sddp_comparison *comparison = compared(2, NULL);
    cobre_sddp_difference its = cell(comparison, "deficit_probability", "", 0, 1);
    CHECK(its.value == 0 && its.difference == -0.5 && !its.significant);
    CHECK_NEAR(its.error, cb_error_of_shares(0.5, 4, 0, 4), 1e-12);
    CHECK_TEXT(its.method, "shares");
    its = cell(comparison, "unserved_energy", "N", 0, 1);
    CHECK(isnan(its.value) && isnan(its.difference));
    CHECK_TEXT(its.note, "this run does not have it");
    its = cell(comparison, "unserved_energy", "S", 0, 1);
    CHECK(its.value == 1 && isnan(its.difference));
    CHECK_TEXT(its.note, "the first run does not have it");
    cobre_sddp_comparison_free(&comparison);
}

static void refused(cobre_status status, const char *subject) {
    CHECK_STATUS(status, COBRE_INVALID_ARGUMENT);
    CHECK_TEXT(cobre_last_error()->subject, subject);
    CHECK(*cobre_last_error()->message && *cobre_last_error()->suggestion);
}

static void mistakes(void) {
    cobre_sddp_comparison *comparison;
    cobre_sddp_difference its = {.struct_size = sizeof its};
    put_run(0, "in-sample", "$", FOUR_COSTS, COST_STEPS);
    put_run(1, "in-sample", "$", MORE_COSTS, COST_STEPS);
    refused(cobre_sddp_compare(NULL, 2, NULL, &comparison), "paths");
    refused(cobre_sddp_compare(paths, 2, NULL, NULL), "comparison");
    refused(cobre_sddp_compare(paths, 1, NULL, &comparison), "count");
    refused(cobre_sddp_compare(paths, 9, NULL, &comparison), "count");
    refused(cobre_sddp_compare(paths, 2, &(cobre_sddp_compare_options){.by = (cobre_sddp_detail)7}, &comparison),
            "options.by");
    refused(cobre_sddp_compare(paths, 2, &(cobre_sddp_compare_options){.kind = "smell"}, &comparison), "options.kind");
    CHECK_HOLDS(cobre_last_error()->suggestion, "give one of cost");
    refused(cobre_sddp_compare(paths, 2, &(cobre_sddp_compare_options){.struct_size = 3}, &comparison),
            "options.struct_size");
    CHECK(!comparison);
    comparison = compared(2, NULL);
    refused(cobre_sddp_comparison_difference(comparison, 0, 2, &its), "run");
    refused(cobre_sddp_comparison_difference(comparison, 1000, 0, &its), "row");
    refused(cobre_sddp_comparison_difference(comparison, 0, 0, NULL), "result");
    its.struct_size = 3;
    refused(cobre_sddp_comparison_difference(comparison, 0, 0, &its), "result.struct_size");
    refused(cobre_sddp_comparison_row(NULL, 0, &(cobre_sddp_compared){.struct_size = 0}), "comparison");
    CHECK(!cobre_sddp_comparison_runs(NULL) && !cobre_sddp_comparison_rows(NULL) &&
          !cobre_sddp_comparison_note(NULL, 0));
    cobre_sddp_comparison_free(&comparison);
    cobre_sddp_comparison_free(&comparison);
    cobre_sddp_comparison_free(NULL);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(known_errors),
        CHECK_CASE(known_worst),
        CHECK_CASE(chance_passes_one_time_in_twenty),
        CHECK_CASE(pairs_are_sharper),
        CHECK_CASE(given_scenarios_and_units),
        CHECK_CASE(stages_meet_by_date),
        CHECK_CASE(means_over_stages_are_careful),
        CHECK_CASE(deficits_and_what_one_run_has),
        CHECK_CASE(mistakes),
        CHECK_END,
    };
    return kit_main(argc, argv, cases);
}
