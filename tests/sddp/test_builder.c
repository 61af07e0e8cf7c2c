/* SPDX-License-Identifier: Apache-2.0 */
/* test_builder.c: the builder of sddp.h: what it refuses, and what it makes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/cases.h"
#include "sddp/hydro_kit.h"

static cobre_comm *comm;
static kit_result told;

/* The states and nodes of a problem that is good so far. */
typedef struct {
    cobre_sddp_builder *b;
    size_t x, n, in, out, row, w;
} start;

static start new_start(void) {
    start s;
    CHECK_EQ(cobre_sddp_builder_new("test", false, &s.b), 0);
    s.x = cobre_sddp_add_state(s.b, "x", 1);
    s.n = cobre_sddp_add_node(s.b, "one -- first", 1);
    s.in = cobre_sddp_add_column(s.b, s.n, "in", -INFINITY, INFINITY, 0);
    s.out = cobre_sddp_add_column(s.b, s.n, "out", 0, 2, 1);
    s.row = cobre_sddp_add_row(s.b, s.n, "balance", 0, 0);
    s.w = cobre_sddp_add_random(s.b, s.n, "w");
    cobre_sddp_set_state(s.b, s.n, s.x, s.in, s.out);
    cobre_sddp_add_entry(s.b, s.n, s.row, s.out, 1);
    cobre_sddp_add_entry(s.b, s.n, s.row, s.in, -1);
    cobre_sddp_add_edge(s.b, COBRE_SDDP_ROOT, s.n, 1, 1);
    return s;
}

static cobre_status finish(start *s) {
    cobre_sddp_problem *problem;
    cobre_sddp_load_options options = {.struct_size = sizeof options, .issue = kit_on_issue, .arg = &told};
    told.count = 0;
    cobre_status status = cobre_sddp_finish(comm, &s->b, &options, &problem);
    CHECK(!s->b);
    CHECK_EQ(!problem, status != COBRE_OK);
    cobre_sddp_problem_free(&problem);
    return status;
}

/* One mistake is told, once, with the names involved. */
static void expect(start *s, const char *place, const char *message) {
    CHECK_EQ(finish(s), COBRE_INVALID_CASE);
    if (told.count != 1)
        kit_show(&told);
    CHECK_EQ(told.count, 1);
    CHECK_TEXT(told.issue[0].file, "");
    CHECK_EQ(told.issue[0].line, 0);
    CHECK_TEXT(told.issue[0].place, place);
    CHECK_HOLDS(told.issue[0].message, message);
}

#define MISTAKE(call, place, message)                                                                                  \
    do {                                                                                                               \
        start s = new_start();                                                                                         \
        cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});                                                            \
        call;                                                                                                          \
        expect(&s, place, message);                                                                                    \
    } while (0)

/* A good problem of which so much is said. */
static void expect_warning(start *s, const char *message) {
    cobre_sddp_add_outcome(s->b, s->n, 1, (double[]){1});
    CHECK_EQ(finish(s), COBRE_OK);
    kit_show(&told);
    CHECK_EQ(told.count, message ? 1 : 0);
    if (message)
        CHECK_HOLDS(told.issue[0].message, message);
}

/* Numbers of one kind that lie too far apart. Infinite ones, zeros and what rounding leaves of a zero do not count. */
static void ranges(void) {
    start s = new_start();
    cobre_sddp_add_column(s.b, s.n, "penalty", 0, 1e11, 0.9e11);
    cobre_sddp_add_row(s.b, s.n, "rounded", -1e-14, INFINITY);
    expect_warning(&s, NULL);
    s = new_start();
    cobre_sddp_add_column(s.b, s.n, "penalty", 0, 1, -1e12);
    expect_warning(
        &s, "the costs go from 1 (node one -- first, column out) to 1e+12 (node one -- first, column penalty): a "
            "ratio of 1e+12, beyond 1e+11, costs accuracy -- a penalty need only");
    s = new_start();
    cobre_sddp_add_noise(s.b, s.n, s.w, 1e12, COBRE_SDDP_NOISE_COST, s.out, 0);
    expect_warning(&s, "the costs go from 1 (");
    s = new_start();
    cobre_sddp_add_row(s.b, s.n, "small", -INFINITY, 1e-6);
    cobre_sddp_add_noise(s.b, s.n, s.w, 1e9, COBRE_SDDP_NOISE_ROW, s.row, 0);
    expect_warning(&s,
                   "the bounds go from 1e-06 (node one -- first, row small) to 1e+09 (node one -- first, row balance)");
    s = new_start();
    cobre_sddp_add_entry(s.b, s.n, cobre_sddp_add_row(s.b, s.n, "other", 0, 1), s.in, 1e-11);
    expect_warning(&s,
                   "the coefficients go from 1e-11 (node one -- first, column in) to 1 (node one -- first, column in)");
}

static void wrong_indices(void) {
    MISTAKE(cobre_sddp_add_column(s.b, 7, "y", 0, 1, 0), "", "there is no node 7: 1 of them exists");
    MISTAKE(cobre_sddp_add_row(s.b, 1, "y", 0, 1), "", "there is no node 1");
    MISTAKE(cobre_sddp_add_entry(s.b, s.n, 3, s.in, 1), "node one -- first", "there is no row 3");
    MISTAKE(cobre_sddp_add_entry(s.b, s.n, s.row, 9, 1), "node one -- first", "there is no column 9: 2 of them exist");
    MISTAKE(cobre_sddp_set_state(s.b, s.n, 1, s.in, s.out), "node one -- first", "there is no state 1");
    MISTAKE(cobre_sddp_add_noise(s.b, s.n, 1, 1, COBRE_SDDP_NOISE_ROW, s.row, 0), "node one -- first",
            "there is no random variable 1");
    MISTAKE(cobre_sddp_add_noise(s.b, s.n, s.w, 1, COBRE_SDDP_NOISE_COST, 2, 0), "node one -- first",
            "there is no column 2");
    MISTAKE(cobre_sddp_add_noise(s.b, s.n, s.w, 1, (cobre_sddp_noise_target)77, 0, 0), "node one -- first",
            "77 is no target of noise");
    MISTAKE(cobre_sddp_add_edge(s.b, 3, s.n, 1, 1), "", "there is no node 3");
    MISTAKE(cobre_sddp_add_edge(s.b, s.n, COBRE_SDDP_ROOT, 1, 1), "", "there is no node");
    MISTAKE(cobre_sddp_add_step(s.b, 0, s.n, (double[]){1}), "", "there is no scenario 0");
    MISTAKE(cobre_sddp_set_risk(s.b, 5, 1, 1), "", "there is no node 5");
    MISTAKE(cobre_sddp_set_value_bound(s.b, 5, 1), "", "there is no node 5");
    MISTAKE(cobre_sddp_add_constant(s.b, 5, 1), "", "there is no node 5");
    MISTAKE(cobre_sddp_add_terminal_cut(s.b, 5, 1, (double[]){1}), "", "there is no node 5");
    MISTAKE(cobre_sddp_add_terminal(s.b, 5, NULL, NULL), "", "there is no node 5");
}

static void wrong_numbers(void) {
    MISTAKE(cobre_sddp_add_column(s.b, s.n, "y", 3, 1, 0), "node one -- first, column y",
            "lower bound 3 and upper bound 1 leave no value -- change one of them");
    MISTAKE(cobre_sddp_add_column(s.b, s.n, "y", NAN, 1, 0), "node one -- first, column y", "leave no value");
    MISTAKE(cobre_sddp_add_column(s.b, s.n, "y", 0, 1, NAN), "node one -- first, column y", "the cost is nan");
    MISTAKE(cobre_sddp_add_row(s.b, s.n, "y", INFINITY, INFINITY), "node one -- first, row y", "leave no value");
    MISTAKE(cobre_sddp_add_entry(s.b, s.n, s.row, s.in, INFINITY), "node one -- first, column in",
            "the coefficient is inf, which is out of range");
    MISTAKE(cobre_sddp_add_constant(s.b, s.n, 1e300), "node one -- first", "the constant of the objective is 1e+300");
    MISTAKE(cobre_sddp_add_noise(s.b, s.n, s.w, NAN, COBRE_SDDP_NOISE_ROW, s.row, 0), "node one -- first",
            "the factor of the noise is nan");
    MISTAKE(cobre_sddp_add_edge(s.b, s.n, s.n, -0.5, 1), "node one -- first, successor one -- first",
            "probability -0.5 is not between 0 and 1");
    MISTAKE(cobre_sddp_set_risk(s.b, s.n, 0.5, 0), "node one -- first", "alpha 0 in (0, 1]");
    MISTAKE(cobre_sddp_set_value_bound(s.b, s.n, NAN), "node one -- first", "the value bound is nan");
    MISTAKE(cobre_sddp_set_state(s.b, s.n, s.x, s.in, s.in), "node one -- first, state x", "are the same");
    MISTAKE(cobre_sddp_add_terminal_cut(s.b, s.n, INFINITY, (double[]){1}), "node one -- first",
            "the intercept of a terminal cut is inf");
    MISTAKE(cobre_sddp_add_terminal_cut(s.b, s.n, 1, (double[]){NAN}), "node one -- first",
            "a slope of a terminal cut is nan");
    MISTAKE(cobre_sddp_add_terminal_cut(s.b, s.n, 1, NULL), "node one -- first", "the values are missing");
    MISTAKE(cobre_sddp_add_terminal(s.b, s.n, NULL, NULL), "", "node one -- first: the file is missing");
}

static void wrong_outcomes(void) {
    start s = new_start();
    cobre_sddp_add_outcome(s.b, s.n, 1, NULL);
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    expect(&s, "node one -- first", "the values are missing");
    s = new_start();
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){NAN});
    expect(&s, "node one -- first, random variable w", "w is nan");
    s = new_start();
    expect(&s, "", "node one -- first has random variables but no outcomes -- add some");
    s = new_start();
    cobre_sddp_add_outcome(s.b, s.n, 0.5, (double[]){1});
    expect(&s, "", "node one -- first: the probabilities of its outcomes add up to 0.5");
    s = new_start();
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    CHECK_EQ(cobre_sddp_add_random(s.b, s.n, "late"), COBRE_SDDP_NONE);
    expect(&s, "node one -- first, random variable late", "comes after the first outcome");
}

static void good_model(void) {
    start s = new_start();
    size_t factor = cobre_sddp_add_factor(s.b, 1, (double[]){1});
    cobre_sddp_set_model(s.b, s.n, 10, false, (double[]){2}, factor);
    CHECK_EQ(finish(&s), COBRE_OK);
}

static void model_out_of_range(void) {
    start s = new_start();
    cobre_sddp_set_model(s.b, s.n, 10, true, (double[]){1e9}, cobre_sddp_add_factor(s.b, 1, (double[]){1}));
    CHECK_EQ(finish(&s), COBRE_INVALID_CASE);
    CHECK_HOLDS(cobre_last_error()->message, "node one -- first: its noise model draws inf, which is out of range");
    CHECK_EQ(told.count, 1);
}

/* Noise is a product, which no reader and no solver may meet when it is out of range. */
static void products_out_of_range(void) {
    start s = new_start();
    cobre_sddp_add_noise(s.b, s.n, s.w, 1e20, COBRE_SDDP_NOISE_COST, s.out, 0);
    cobre_sddp_set_model(s.b, s.n, 10, false, (double[]){1e3}, cobre_sddp_add_factor(s.b, 1, (double[]){1}));
    expect(&s, "", "1e+20 times that is out of range");
    s = new_start();
    cobre_sddp_add_noise(s.b, s.n, s.w, 1e20, COBRE_SDDP_NOISE_COST, s.out, 0);
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){0});
    cobre_sddp_add_step(s.b, cobre_sddp_add_scenario(s.b), s.n, (double[]){1e20});
    expect(&s, "", "node one -- first: 1e+20 times random variable w is out of range in scenario 1");
}

/* Openings in range promise nothing about draws of their own. */
static void simulation_out_of_range(void) {
    start s = new_start();
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
    cobre_sddp_add_noise(s.b, s.n, s.w, 1, COBRE_SDDP_NOISE_COST, s.out, 0);
    cobre_sddp_set_model(s.b, s.n, 3, true, (double[]){20}, cobre_sddp_add_factor(s.b, 1, (double[]){1}));
    CHECK_OK(cobre_sddp_finish(comm, &s.b, NULL, &problem));
    CHECK_OK(cobre_sddp_train(problem, &(cobre_sddp_train_options){.iterations = 1}, &policy, NULL));
    cobre_sddp_simulate_options options = {.sampling = COBRE_SDDP_OUT_OF_SAMPLE, .trajectories = 2000};
    CHECK_EQ(cobre_sddp_simulate(policy, &options, NULL), COBRE_INVALID_CASE);
    CHECK_HOLDS(cobre_last_error()->message, "node one -- first: its noise model draws ");
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
}

static void late_random_variable(void) {
    start s = new_start();
    cobre_sddp_add_step(s.b, cobre_sddp_add_scenario(s.b), s.n, (double[]){1});
    CHECK_EQ(cobre_sddp_add_random(s.b, s.n, "late"), COBRE_SDDP_NONE);
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    expect(&s, "node one -- first, random variable late", "comes after the first step");
}

static void empty_scenario(void) {
    MISTAKE(cobre_sddp_add_scenario(s.b), "", "scenario 1 has no steps");
}

/* An LP that has no solution is written, whatever its columns and rows are called. */
static void names_of_any_length(void) {
    char name[2000];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    for (size_t i = 0; i < cobre_sddp_solvers(); i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        cobre_sddp_problem *problem;
        cobre_sddp_policy *policy;
        start s = new_start();
        CHECK_OK(cobre_sddp_solver_at(i, &solver));
        cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
        size_t column = cobre_sddp_add_column(s.b, s.n, name, 0, 1, 0), row = cobre_sddp_add_row(s.b, s.n, name, 2, 3);
        cobre_sddp_add_entry(s.b, s.n, row, column, 1);
        CHECK_OK(cobre_sddp_finish(comm, &s.b, NULL, &problem));
        cobre_sddp_train_options options = {.solver = solver.name, .lp_folder = kit_folder};
        CHECK_EQ(cobre_sddp_train(problem, &options, &policy, NULL), COBRE_LP_FAILED);
        CHECK_HOLDS(cobre_last_error()->message, "written to ");
        cobre_sddp_problem_free(&problem);
    }
}

static void finish_always_frees(void) {
    cobre_sddp_problem *problem;
    start s = new_start();
    CHECK_EQ(cobre_sddp_finish(NULL, &s.b, NULL, &problem), COBRE_INVALID_ARGUMENT);
    CHECK(!s.b && !problem);
    s = new_start();
    CHECK_EQ(cobre_sddp_finish(comm, &s.b, NULL, NULL), COBRE_INVALID_ARGUMENT);
    CHECK(!s.b);
    s = new_start();
    CHECK_EQ(cobre_sddp_finish(comm, &s.b, &(cobre_sddp_load_options){.struct_size = 1}, &problem),
             COBRE_INVALID_ARGUMENT);
    CHECK(!s.b && !problem);
}

static void table_beside_model(void) {
    start s = new_start();
    cobre_sddp_set_model(s.b, s.n, 10, false, (double[]){2}, cobre_sddp_add_factor(s.b, 1, (double[]){1}));
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    expect(&s, "node one -- first", "an outcome beside a noise model");
}

static void wrong_models(void) {
    MISTAKE(cobre_sddp_set_model(s.b, s.n, 10, false, (double[]){2}, 0), "node one -- first", "there is no factor 0");
    MISTAKE(cobre_sddp_set_model(s.b, s.n, 10, false, (double[]){2}, cobre_sddp_add_factor(s.b, 1, (double[]){1})),
            "node one -- first", "no table beside it");
    MISTAKE(CHECK_EQ(cobre_sddp_add_factor(s.b, 2, NULL), COBRE_SDDP_NONE), "", "the values are missing");
}

/* Trains a problem that was built; frees it. */
static double bound_of(start *s, size_t rows) {
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
    cobre_sddp_add_outcome(s->b, s->n, 1, (double[]){1});
    CHECK_OK(cobre_sddp_finish(comm, &s->b, NULL, &problem));
    CHECK_EQ(cobre_sddp_problem_rows(problem, 0), rows);
    CHECK_OK(cobre_sddp_train(problem, &(cobre_sddp_train_options){.iterations = 1}, &policy, NULL));
    double bound = cobre_sddp_policy_bound(policy);
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
    return bound;
}

static void add_cut(const start *s, double intercept, double slope) {
    cobre_sddp_add_terminal_cut(s->b, s->n, intercept, &slope);
}

/* The state, from 0 to 2, will be 2: it comes in as 1, and the noise adds 1. It costs 1 a unit. */
static void terminal_cuts(void) {
    start s = new_start();
    cobre_sddp_add_noise(s.b, s.n, s.w, 1, COBRE_SDDP_NOISE_ROW, s.row, 0);
    add_cut(&s, 10, -3);
    add_cut(&s, 9.5, -3);
    add_cut(&s, 10, -3);
    add_cut(&s, 5, 0);
    add_cut(&s, 4, 0.5);
    CHECK_NEAR(bound_of(&s, 1 + 2), 2 + 5, 1e-9);
    s = new_start(); /* a limit that noise moves counts as none: beyond 2 the second cut is higher */
    cobre_sddp_add_noise(s.b, s.n, s.w, 1, COBRE_SDDP_NOISE_ROW, s.row, 0);
    cobre_sddp_add_noise(s.b, s.n, s.w, 1, COBRE_SDDP_NOISE_COLUMN_UPPER, s.out, 0);
    cobre_sddp_add_noise(s.b, s.n, s.w, 1, COBRE_SDDP_NOISE_ROW, s.row, 0);
    add_cut(&s, 10, -3);
    add_cut(&s, 3, 0.4);
    CHECK_NEAR(bound_of(&s, 1 + 2), 3 + 4.2, 1e-9);
    s = new_start();
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    add_cut(&s, 1, 1);
    cobre_sddp_add_edge(s.b, s.n, s.n, 0.5, 1);
    expect(&s, "", "node one -- first has successors and terminal cuts: two things come after it -- remove");
    s = new_start();
    add_cut(&s, 1, 1);
    cobre_sddp_add_column(s.b, s.n, "terminal", 0, 1, 0);
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    expect(&s, "", "two columns are called \"terminal\"");
}

/* Cuts are money: thousands of them must not decide how large a volume is in an LP. 100 is there, a unit more costs 1e11, and
 * at the end 1e8 (1000 - x)^2 is to be paid: x = 500 is best. */
static void terminal_of_another_size(void) {
    enum { CUTS = 1001 };
    cobre_sddp_builder *b;
    CHECK_OK(cobre_sddp_builder_new("large", false, &b));
    start s = {.b = b, .x = cobre_sddp_add_state(b, "x", 100), .n = cobre_sddp_add_node(b, "one", 1)};
    for (double x = 0; x < CUTS; x++)
        add_cut(&s, 1e8 * (1e6 - x * x), -2e8 * (1000 - x));
    s.in = cobre_sddp_add_column(b, s.n, "in", -INFINITY, INFINITY, 0);
    s.out = cobre_sddp_add_column(b, s.n, "out", 0, 1000, 0);
    size_t buy = cobre_sddp_add_column(b, s.n, "buy", 0, 1000, 1e11);
    s.row = cobre_sddp_add_row(b, s.n, "balance", 0, 0);
    cobre_sddp_set_state(b, s.n, s.x, s.in, s.out);
    cobre_sddp_add_entry(b, s.n, s.row, s.out, 1);
    cobre_sddp_add_entry(b, s.n, s.row, s.in, -1);
    cobre_sddp_add_entry(b, s.n, s.row, buy, -1);
    cobre_sddp_add_edge(b, COBRE_SDDP_ROOT, s.n, 1, 1);
    CHECK_NEAR(bound_of(&s, 1 + CUTS), 400 * 1e11 + 2.5e13, 1e-9 * 6.5e13);
}

/* A store, from 0 to 10: things are bought at a random price, and sold for a little less, now or later. */
static cobre_sddp_builder *new_store(bool maximise, size_t stages) {
    double sign = maximise ? -1 : 1;
    cobre_sddp_builder *b;
    CHECK_OK(cobre_sddp_builder_new("store", maximise, &b));
    size_t x = cobre_sddp_add_state(b, "store", 2);
    for (size_t t = 0; t < stages; t++) {
        size_t n = cobre_sddp_add_node(b, NULL, t + 1), in = cobre_sddp_add_column(b, n, "in", 0, 10, 0),
               out = cobre_sddp_add_column(b, n, "out", 0, 10, 0),
               buy = cobre_sddp_add_column(b, n, "buy", 0, 4, sign * 0.3),
               sell = cobre_sddp_add_column(b, n, "sell", 0, 3, 0), row = cobre_sddp_add_row(b, n, "balance", 0, 0),
               price = cobre_sddp_add_random(b, n, "price");
        cobre_sddp_set_state(b, n, x, in, out);
        cobre_sddp_add_entry(b, n, row, out, 1);
        cobre_sddp_add_entry(b, n, row, in, -1);
        cobre_sddp_add_entry(b, n, row, buy, -1);
        cobre_sddp_add_entry(b, n, row, sell, 1);
        cobre_sddp_add_noise(b, n, price, sign, COBRE_SDDP_NOISE_COST, buy, 0);
        cobre_sddp_add_noise(b, n, price, -sign, COBRE_SDDP_NOISE_COST, sell, 0);
        for (size_t k = 0; k < 3; k++)
            cobre_sddp_add_outcome(b, n, k ? 0.3 : 0.4, (double[]){1 + (double)((k + t) % 3)});
        cobre_sddp_add_edge(b, t ? n - 1 : COBRE_SDDP_ROOT, n, 1, t ? 0.9 : 1);
    }
    return b;
}

static double train_store(cobre_sddp_builder *b, cobre_sddp_policy **policy, cobre_sddp_problem **problem) {
    CHECK_OK(cobre_sddp_finish(comm, &b, NULL, problem));
    CHECK_OK(cobre_sddp_train(*problem, &(cobre_sddp_train_options){.iterations = 60}, policy, NULL));
    return cobre_sddp_policy_bound(*policy);
}

/* Three stages and the cuts of the third are worth as much as all five, in either sense; the discount counts once. */
static void terminal_of_a_policy(void) {
    for (int maximise = 0; maximise < 2; maximise++) {
        cobre_sddp_problem *problem, *shorter;
        cobre_sddp_policy *policy, *other;
        char path[512];
        snprintf(path, sizeof path, "%s/policy.cobre", kit_folder);
        double whole = train_store(new_store(maximise, 5), &policy, &problem);
        CHECK_EQ(whole > 0, maximise);
        CHECK_OK(cobre_sddp_policy_save(policy, path));
        for (int by_file = 0; by_file < 2; by_file++) {
            cobre_sddp_builder *b = new_store(maximise, 3);
            for (uint64_t i = 0; !by_file && i < cobre_sddp_policy_cuts(policy); i++) {
                cobre_sddp_cut cut = {.struct_size = sizeof cut};
                double slope;
                CHECK_OK(cobre_sddp_policy_cut(policy, i, &cut, &slope));
                if (cut.node == 2)
                    cobre_sddp_add_terminal_cut(b, 2, cut.intercept, &slope);
            }
            if (by_file)
                cobre_sddp_add_terminal(b, 2, path, "n3");
            double bound = train_store(b, &other, &shorter);
            CHECK_SAY(fabs(bound - whole) <= 1e-9 * fabs(whole), "%.17g is %.17g", bound, whole);
            CHECK_TEXT(cobre_sddp_problem_column_name(shorter, 2, 4), "terminal");
            CHECK_TEXT(cobre_sddp_problem_row_name(shorter, 2, 1), "terminal[1]");
            cobre_sddp_policy_free(&other);
            cobre_sddp_problem_free(&shorter);
        }
        cobre_sddp_policy_free(&policy);
        cobre_sddp_problem_free(&problem);
        cobre_sddp_builder *b = new_store(!maximise, 3);
        cobre_sddp_add_terminal(b, 2, path, "n3");
        CHECK_EQ(cobre_sddp_finish(comm, &b, NULL, &problem), COBRE_INVALID_CASE);
        CHECK_HOLDS(cobre_last_error()->message, maximise ? "maximises, and this one" : "minimises, and this one");
        b = new_store(maximise, 3);
        cobre_sddp_add_terminal(b, 2, path, NULL);
        CHECK_EQ(cobre_sddp_finish(comm, &b, NULL, &problem), COBRE_INVALID_CASE);
        CHECK_HOLDS(cobre_last_error()->message, "has cuts of 4 nodes, n1, n2, n3, n4, and it is not clear whose");
    }
}

/* Where a state has no limit, nothing bounds the end. */
static void terminal_without_bound(void) {
    cobre_sddp_problem *problem;
    cobre_sddp_builder *b = new_store(false, 2);
    size_t free = cobre_sddp_add_column(b, 1, "free", -INFINITY, INFINITY, 0);
    cobre_sddp_set_state(b, 1, 0, 0, free);
    cobre_sddp_add_terminal_cut(b, 1, 0, (double[]){-1});
    CHECK_OK(cobre_sddp_finish(comm, &b, NULL, &problem));
    CHECK_EQ(cobre_sddp_validate(problem, NULL), COBRE_INVALID_CASE);
    CHECK_HOLDS(cobre_last_error()->message, "node n2, outcome 1: its own LP is unbounded");
    CHECK_HOLDS(cobre_last_error()->suggestion, "bound the states");
    cobre_sddp_problem_free(&problem);
}

/* What a figure of one level and kind is; NaN: it is not told. */
typedef struct {
    const char *kind, *level, *block;
    double value;
    size_t count;
} wanted_figure;

static void on_figure(void *arg, const cobre_sddp_figure *figure) {
    wanted_figure *wanted = arg;
    if (strcmp(figure->kind, wanted->kind) != 0 || strcmp(figure->level, wanted->level) != 0 ||
        strcmp(figure->block, wanted->block) != 0)
        return;
    wanted->value = figure->value;
    wanted->count++;
}

static void figure_is(const cobre_sddp_problem *problem, const char *kind, const char *level, const char *block,
                      double value) {
    const cobre_sddp_stage stage = {.struct_size = sizeof stage,
                                    .stage_cost = 8,
                                    .future_cost = 5,
                                    .noise = (double[]){1},
                                    .state_in = (double[]){1},
                                    .state_out = (double[]){1.5},
                                    .columns = (double[]){1, 1.5, 4, 8},
                                    .row_duals = (double[]){3}};
    wanted_figure wanted = {.kind = kind, .level = level, .block = block, .value = NAN};
    CHECK_EQ(cobre_sddp_figures(problem, &stage, &wanted, on_figure), COBRE_OK);
    CHECK_SAY(wanted.count == 1 && fabs(wanted.value - value) < 1e-12, "%s %s %s: %zu times, %g, not %g", kind, level,
              block, wanted.count, wanted.value, value);
}

static void label(cobre_sddp_builder *b, cobre_sddp_part part, const char *name, const char *kind, const char *block,
                  double factor, double energy) {
    const cobre_sddp_label its = {.struct_size = sizeof its,
                                  .kind = kind,
                                  .element = "lake",
                                  .block = block,
                                  .unit = part == COBRE_SDDP_COLUMN ? "MW" : NULL,
                                  .type = "hydro",
                                  .subsystem = "main",
                                  .factor = factor,
                                  .energy = energy};
    cobre_sddp_add_label(b, part, name, &its);
}

static cobre_sddp_problem *labelled_problem(void) {
    start s = new_start();
    cobre_sddp_problem *problem;
    cobre_sddp_add_column(s.b, s.n, "turbined[peak]", 0, 9, 0.5);
    cobre_sddp_add_column(s.b, s.n, "turbined[low]", 0, 9, 0.25);
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    cobre_sddp_set_units(s.b, "h", "k$");
    CHECK_EQ(cobre_sddp_add_block(s.b, "peak"), 0);
    CHECK_EQ(cobre_sddp_add_block(s.b, "low"), 1);
    cobre_sddp_set_date(s.b, s.n, "2027-03-01");
    cobre_sddp_set_duration(s.b, s.n, 730, (double[]){0.25, 0.75});
    CHECK_EQ(cobre_sddp_add_block(s.b, "late"), 2); /* the node has no share of it */
    label(s.b, COBRE_SDDP_STATE, "x", "storage", NULL, 0, 10);
    label(s.b, COBRE_SDDP_STATE, "x", "another", NULL, 0, 0); /* the first one counts */
    label(s.b, COBRE_SDDP_COLUMN, "turbined[peak]", "turbined", "peak", 2, 0);
    label(s.b, COBRE_SDDP_COLUMN, "turbined[low]", "turbined", "low", 2, 0);
    label(s.b, COBRE_SDDP_ROW, "balance", "price", NULL, -1, 0);
    CHECK_EQ(cobre_sddp_finish(comm, &s.b, NULL, &problem), COBRE_OK);
    return problem;
}

static void labels(void) {
    cobre_sddp_problem *problem = labelled_problem();
    cobre_sddp_label its = {.struct_size = sizeof its};
    CHECK_EQ(cobre_sddp_problem_blocks(problem), 3);
    CHECK_TEXT(cobre_sddp_problem_block_name(problem, 1), "low");
    CHECK_EQ(cobre_sddp_problem_block_share(problem, 0, 1), 0.75);
    CHECK_EQ(cobre_sddp_problem_block_share(problem, 0, 2), 0);
    CHECK(isnan(cobre_sddp_problem_block_share(problem, 1, 0)));
    CHECK_TEXT(cobre_sddp_problem_cost_unit(problem), "k$");
    CHECK_TEXT(cobre_sddp_problem_time_unit(problem), "h");
    CHECK_EQ(cobre_sddp_problem_node_duration(problem, 0), 730);
    CHECK_EQ(cobre_sddp_problem_node_at(problem, "2027-03"), 0);
    CHECK_EQ(cobre_sddp_problem_node_at(problem, "2027-03-20"), 0);
    CHECK_EQ(cobre_sddp_problem_node_at(problem, "2027-05"), COBRE_SDDP_NONE);
    CHECK_EQ(cobre_sddp_problem_node_at(problem, "spring"), COBRE_SDDP_NONE);
    CHECK_EQ(cobre_sddp_problem_label(problem, COBRE_SDDP_STATE, "x", &its), COBRE_OK);
    CHECK_TEXT(its.kind, "storage");
    CHECK_TEXT(its.block, "");
    CHECK(its.factor == 1 && its.energy == 10 && !its.detail);
    CHECK_EQ(cobre_sddp_problem_label(problem, COBRE_SDDP_ROW, "flow[a,b]", &its), COBRE_OK); /* none: by its name */
    CHECK_TEXT(its.kind, "flow");
    CHECK_TEXT(its.element, "a,b");
    CHECK_EQ(cobre_sddp_problem_label(problem, COBRE_SDDP_ROW, "plain", &its), COBRE_OK);
    CHECK_TEXT(its.kind, "");
    CHECK_TEXT(its.element, "plain");
    CHECK_EQ(cobre_sddp_problem_label(problem, COBRE_SDDP_ROW, NULL, &its), COBRE_INVALID_ARGUMENT);
    cobre_sddp_problem_free(&problem);
}

static void figures(void) {
    cobre_sddp_problem *problem = labelled_problem();
    figure_is(problem, "storage", "before", "", 1);
    figure_is(problem, "storage", "element", "", 1.5);
    figure_is(problem, "storage_capacity", "element", "", 2);
    figure_is(problem, "storage_minimum", "element", "", 0);
    figure_is(problem, "storage_at_minimum", "element", "", 0);
    figure_is(problem, "turbined", "block", "peak", 8);
    figure_is(problem, "turbined", "block", "low", 16);
    figure_is(problem, "turbined", "element", "", 0.25 * 8 + 0.75 * 16);
    figure_is(problem, "turbined", "subsystem", "", 0.25 * 8 + 0.75 * 16);
    figure_is(problem, "turbined", "system", "", 0.25 * 8 + 0.75 * 16);
    figure_is(problem, "price", "element", "", -3);
    figure_is(problem, "cost", "system", "", 8);
    figure_is(problem, "future_cost", "system", "", 5);
    const cobre_sddp_stage nowhere = {.struct_size = sizeof nowhere, .node = 7};
    CHECK_EQ(cobre_sddp_figures(problem, &nowhere, NULL, on_figure), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_figures(problem, NULL, NULL, on_figure), COBRE_INVALID_ARGUMENT);
    cobre_sddp_problem_free(&problem);
}

static void wrong_names(void) {
    MISTAKE(cobre_sddp_add_column(s.b, s.n, "in", 0, 1, 0), "",
            "node one -- first: two columns are called \"in\" -- rename one");
    MISTAKE(cobre_sddp_add_row(s.b, s.n, "balance", 0, 1), "", "node one -- first: two rows are called \"balance\"");
    MISTAKE(CHECK_EQ(cobre_sddp_add_state(s.b, "late", 0), COBRE_SDDP_NONE), "state late",
            "comes after the first node");
}

/* COBRE_SDDP_NONE says that an error was reported before. */
static void one_error_leads_to_no_other(void) {
    start s = new_start();
    cobre_sddp_add_outcome(s.b, s.n, 1, (double[]){1});
    size_t node = COBRE_SDDP_NONE, column = cobre_sddp_add_column(s.b, 9, "y", 0, 1, 0);
    CHECK_EQ(column, COBRE_SDDP_NONE);
    CHECK_EQ(cobre_sddp_add_column(s.b, node, "z", 0, 1, 0), COBRE_SDDP_NONE);
    CHECK_EQ(cobre_sddp_add_row(s.b, node, "z", 0, 1), COBRE_SDDP_NONE);
    CHECK_EQ(cobre_sddp_add_random(s.b, node, "z"), COBRE_SDDP_NONE);
    cobre_sddp_add_entry(s.b, s.n, s.row, column, 1);
    cobre_sddp_add_entry(s.b, s.n, COBRE_SDDP_NONE, s.in, 1);
    cobre_sddp_add_noise(s.b, s.n, COBRE_SDDP_NONE, 1, COBRE_SDDP_NOISE_ROW, s.row, 0);
    cobre_sddp_add_noise(s.b, s.n, s.w, 1, COBRE_SDDP_NOISE_COST, column, 0);
    cobre_sddp_add_edge(s.b, node, s.n, 1, 1);
    cobre_sddp_add_edge(s.b, s.n, node, 1, 1);
    cobre_sddp_set_model(s.b, s.n, 5, false, (double[]){1}, COBRE_SDDP_NONE);
    cobre_sddp_add_step(s.b, COBRE_SDDP_NONE, s.n, NULL);
    expect(&s, "", "there is no node 9");
    CHECK_TEXT(cobre_last_error()->message, "there is no node 9: 1 of them exists"); /* one error is not counted */
}

/* All of them are told, and the last error counts them and quotes the first, whatever a node is called. */
static void all_are_told(void) {
    start s = new_start();
    cobre_sddp_add_column(s.b, s.n, "y", 3, 1, 0);
    cobre_sddp_add_row(s.b, s.n, "z", 3, 1);
    CHECK_EQ(finish(&s), COBRE_INVALID_CASE);
    CHECK_EQ(told.count, 3);
    CHECK_TEXT(cobre_last_error()->message, "3 errors in the case; the first: node one -- first, column y: y: lower "
                                            "bound 3 and upper bound 1 leave no value");
    CHECK_TEXT(cobre_last_error()->suggestion, "change one of them");
    CHECK_TEXT(cobre_last_error()->file, "");
}

static void nothing_at_all(void) {
    cobre_sddp_problem *problem;
    cobre_sddp_builder *none = NULL;
    CHECK_EQ(cobre_sddp_builder_new("x", false, NULL), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_add_state(NULL, "x", 0), COBRE_SDDP_NONE);
    CHECK_EQ(cobre_sddp_add_node(NULL, "x", 0), COBRE_SDDP_NONE);
    CHECK_EQ(cobre_sddp_add_scenario(NULL), COBRE_SDDP_NONE);
    cobre_sddp_add_entry(NULL, 0, 0, 0, 0);
    cobre_sddp_add_terminal_cut(NULL, 0, 0, NULL);
    cobre_sddp_add_terminal(NULL, 0, NULL, NULL);
    cobre_sddp_builder_free(NULL);
    cobre_sddp_builder_free(&none);
    CHECK_EQ(cobre_sddp_finish(comm, NULL, NULL, &problem), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_finish(comm, &none, NULL, &problem), COBRE_INVALID_ARGUMENT);
    CHECK_HOLDS(cobre_last_error()->message, "rank 0 has no builder");
    CHECK_EQ(cobre_sddp_finish(NULL, &none, NULL, &problem), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_finish(comm, &none, NULL, NULL), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_load(comm, NULL, NULL, &problem), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_load(comm, "x", NULL, NULL), COBRE_INVALID_ARGUMENT);
    start s = {.b = NULL};
    CHECK_EQ(cobre_sddp_builder_new(NULL, false, &s.b), 0);
    expect(&s, "", "the problem has no nodes");
}

/* Policies know their problem by its fingerprint, and its nodes by their sums: they must not move. */
static void fingerprints(void) {
    static const struct {
        const char *name;
        uint64_t fingerprint, sum; /* of the last node */
    } known[] = {{"mccardle_farm", 0xed4f7d39d84b2bb4u, 0x42506ac88d3810a1u},
                 {"all_noise", 0x4a485a96bbe0cc92u, 0x357a74393617cd31u},
                 {"cvar_1d_10", 0xbf6301aa3369ed26u, 0x049c7f7f79734d75u},
                 {"toy", 0x44f1fde29865ae0fu, 0xd11f043e6bb3ef59u}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cobre_sddp_builder *builder = find_case(known[i].name)->build();
        cobre_sddp_problem *problem;
        CHECK_EQ(cobre_sddp_finish(comm, &builder, NULL, &problem), 0);
        CHECK_EQ(problem->fingerprint, known[i].fingerprint);
        CHECK_EQ(cb_node_sum(problem, problem->nodes - 1), known[i].sum);
        cobre_sddp_problem_free(&problem);
    }
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(ranges),
        CHECK_CASE(wrong_indices),
        CHECK_CASE(wrong_numbers),
        CHECK_CASE(wrong_outcomes),
        CHECK_CASE(good_model),
        CHECK_CASE(model_out_of_range),
        CHECK_CASE(products_out_of_range),
        CHECK_CASE(simulation_out_of_range),
        CHECK_CASE(late_random_variable),
        CHECK_CASE(empty_scenario),
        CHECK_CASE(names_of_any_length),
        CHECK_CASE(finish_always_frees),
        CHECK_CASE(table_beside_model),
        CHECK_CASE(wrong_models),
        CHECK_CASE(labels),
        CHECK_CASE(figures),
        CHECK_CASE(wrong_names),
        CHECK_CASE(terminal_cuts),
        CHECK_CASE(terminal_of_another_size),
        CHECK_CASE(terminal_of_a_policy),
        CHECK_CASE(terminal_without_bound),
        CHECK_CASE(one_error_leads_to_no_other),
        CHECK_CASE(all_are_told),
        CHECK_CASE(nothing_at_all),
        CHECK_CASE(fingerprints),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &comm));
    int failed = kit_main(argc, argv, tests);
    cobre_comm_free(&comm);
    return failed;
}
