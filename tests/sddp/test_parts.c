/* test_parts.c: the parts of the trainer, one at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "sddp/lp/lp.h"
#include "sddp/problem/path.h"
#include "sddp/read/reader.h"
#include "sddp/stage/pool.h"
#include "sddp/stage/stage.h"
#include "sddp/train/risk.h"

static cobre_comm *comm;

static void rng_is_philox(void **state) {
    (void)state;
    cb_rng rng;
    /* Counter and key 0 but for the purpose, which is counter word 0: the value is a function of its name only. */
    cb_rng_start(&rng, 42, CB_RNG_FORWARD, 1, 2, 3);
    uint64_t first = cb_rng_bits(&rng), second = cb_rng_bits(&rng), third = cb_rng_bits(&rng);
    cb_rng_start(&rng, 42, CB_RNG_FORWARD, 1, 2, 3);
    assert_true(first == cb_rng_bits(&rng) && second == cb_rng_bits(&rng) && third == cb_rng_bits(&rng));
    cb_rng_start(&rng, 42, CB_RNG_FORWARD, 1, 2, 4);
    assert_true(first != cb_rng_bits(&rng));
    cb_rng_start(&rng, 42, CB_RNG_RULE, 1, 2, 3);
    assert_true(first != cb_rng_bits(&rng));
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        cb_rng_start(&rng, 7, CB_RNG_CASE, i, 0, 0);
        double normal = cb_rng_normal(&rng);
        sum += normal;
        squares += normal * normal;
    }
    assert_true(fabs(sum / 20000) < 0.03 && fabs(squares / 20000 - 1) < 0.05);
}

/* The second variable counts a thousand times the first, and its range takes that out again; the third never varies. */
static void tours_go_to_the_nearest(void **state) {
    (void)state;
    const double outcome[] = {0, 0, 7, 1, 1000, 7, .1, 0, 7, .9, 1000, 7, 0, 300, 7};
    uint32_t tour[1000];
    cb_node node = {.outcome = outcome, .outcomes = 5, .randoms = 3};
    assert_true(cb_find_tour(&node, tour));
    const uint32_t expected[] = {0, 2, 4, 3, 1};
    assert_memory_equal(tour, expected, sizeof expected);
    node = (cb_node){.outcomes = 3};
    assert_true(cb_find_tour(&node, tour));
    assert_true(tour[0] == 0 && tour[1] == 1 && tour[2] == 2);
    double many[1000];
    bool seen[1000] = {false};
    for (size_t k = 0; k < 1000; k++)
        many[k] = (double)(k * 7919 % 1000);
    node = (cb_node){.outcome = many, .outcomes = 1000, .randoms = 1};
    assert_true(cb_find_tour(&node, tour));
    for (size_t k = 0; k < 1000; k++)
        seen[tour[k]] = true;
    for (size_t k = 0; k < 1000; k++)
        assert_true(seen[k]);
}

static void risk_weights_have_their_floor(void **state) {
    (void)state;
    const double p[4] = {.25, .25, .25, .25}, cost[4] = {1, 4, 4, 2};
    double w[4];
    const double *worst[4];
    cb_risk_weights((cb_risk){.beta = .5, .alpha = .5}, p, cost, 4, worst, w);
    assert_true(w[0] == .125 && w[1] == .375 && w[2] == .375 && w[3] == .125);
    cb_risk_weights((cb_risk){.beta = 0, .alpha = .3}, p, cost, 4, worst, w);
    assert_true(w[0] == 0 && fabs(w[1] - .25 / .3) < 1e-15 && fabs(w[2] - .05 / .3) < 1e-15 && w[3] == 0);
    cb_risk_weights((cb_risk){.beta = 1, .alpha = 1}, p, cost, 4, worst, w);
    assert_true(w[0] == .25 && w[3] == .25);
}

static void pool_finds_the_worst_cuts(void **state) {
    (void)state;
    enum { STATES = 7, CUTS = 300 };
    cb_pool pool;
    double record[CUTS][CB_CUT_SLOPES + STATES], x[STATES] = {1, 2, 3, 4, 5, 6, 7};
    size_t count = CUTS;
    assert_int_equal(cb_pool_init(&pool, comm, STATES, 2), 0);
    for (size_t i = 0; i < CUTS; i++) {
        record[i][CB_CUT_FUNCTION] = (double)(i % 2);
        record[i][CB_CUT_ITERATION] = 1;
        record[i][CB_CUT_INTERCEPT] = (double)(i * 37 % 150); /* each value at x twice for each function */
        for (size_t s = 0; s < STATES; s++)
            record[i][CB_CUT_SLOPES + s] = i < CUTS / 2 || s > 1 ? 0.5 : s == 0 ? 1 : 0.25;
    }
    for (size_t times = 1; times < 3; times++) { /* the second time all are there already */
        assert_int_equal(cb_pool_add(&pool, *record, &count, COBRE_SDDP_OK), 0);
        assert_int_equal(pool.cuts, times * CUTS);
        assert_int_equal(pool.list[0].count + pool.list[1].count, CUTS);
    }
    cb_violation worst[3];
    assert_int_equal(cb_pool_violated(&pool, 0, x, 14 + 147, 0.5, worst, 3), 2);
    assert_true(worst[0].value == 14 + 148 && worst[0].id < worst[1].id);
    assert_int_equal(cb_pool_violated(&pool, 1, x, 0, 0, worst, 3), 3);
    assert_true(worst[0].value == 14 + 149 && worst[2].value == 14 + 147);
    record[0][CB_CUT_INTERCEPT] = NAN;
    count = 1;
    assert_int_equal(cb_pool_add(&pool, *record, &count, cb_sddp_memory("this", 1)), COBRE_SDDP_OUT_OF_MEMORY);
    assert_non_null(strstr(cobre_sddp_last_error()->message, "no memory for this"));
    cb_pool_free(&pool);
}

/* A used LP and a fresh one, given the same start, go the same way bit by bit: the promise behind lp.h. */
static void start_forgets(const char *name) {
    const cb_lp_solver *solver = cb_lp_solver_by_name(name);
    if (!solver)
        skip();
    cobre_sddp_problem *problem = find_case("mccardle_farm")->build();
    assert_int_equal(cb_problem_finish(comm, problem, name), 0);
    cb_stage_kind kind = {.problem = problem, .solver = solver};
    cb_stage *used, *fresh;
    cb_start start = {0};
    assert_int_equal(cb_stage_create(&kind, &problem->node[4], &used), 0);
    cb_rng rng;
    for (uint32_t round = 0; round < 50; round++) {
        double x[4], slopes[2][4];
        cb_rng_start(&rng, 1, CB_RNG_CASE, round, 0, 0);
        for (size_t s = 0; s < 4; s++)
            x[s] = (s == 0 ? 60 : 900) * cb_rng_uniform(&rng);
        assert_int_equal(cb_stage_create(&kind, &problem->node[4], &fresh), 0);
        cb_stage *both[2] = {used, fresh};
        for (size_t i = 0; i < 2; i++) {
            cb_stage_start(both[i], &start);
            cb_stage_set_state(both[i], x);
            assert_int_equal(cb_stage_solve(both[i], 0, NULL), 0);
            cb_stage_slopes(both[i], slopes[i]);
        }
        assert_memory_equal(&used->objective, &fresh->objective, sizeof(double));
        assert_memory_equal(slopes[0], slopes[1], sizeof slopes[0]);
        cb_stage_save(fresh, &start);
        cb_stage_free(fresh);
    }
    cb_start_free(&start);
    cb_stage_free(used);
    cobre_sddp_problem_free(&problem);
}

static void glpk_start_forgets(void **state) {
    (void)state;
    start_forgets("glpk");
}

static void clp_start_forgets(void **state) {
    (void)state;
    start_forgets("clp");
}

static void solver_by_size(void **state) {
    (void)state;
    const cb_lp_solver *solver;
    if (!cb_lp_solver_by_name("glpk") || !cb_lp_solver_by_name("clp"))
        skip();
    assert_int_equal(cb_lp_choose(NULL, 9, &solver), 0);
    assert_string_equal(solver->name, "glpk");
    assert_int_equal(cb_lp_choose(NULL, 1000, &solver), 0);
    assert_string_equal(solver->name, "clp");
    assert_int_equal(cb_lp_choose("glpk", 1000, &solver), 0);
    assert_string_equal(solver->name, "glpk");
    assert_int_equal(cb_lp_choose("pencil", 9, &solver), COBRE_SDDP_SOLVER_NOT_AVAILABLE);
}

/* GLPK that has no memory jumps back instead of ending the program. What it had is lost, new objects work. In a process of
 * its own, because of the limit. */
static void glpk_gives_up(void **state) {
    (void)state;
    const cb_lp_solver *solver = cb_lp_solver_by_name("glpk");
    if (!solver)
        skip();
    pid_t child = fork();
    if (child == 0) {
        double cost[2] = {1, 1}, low[2] = {0, 0}, high[2] = {5, 5}, value[2] = {1, 1};
        int start[3] = {0, 1, 2}, index[2] = {0, 0};
        cb_lp_model model = {2, 1, cost, low, high, (double[]){1}, (double[]){9}, start, index, value};
        cb_lp *lp = solver->create(&model);
        if (!lp)
            _exit(1);
        solver->start(lp, NULL, 0, NULL);
        if (cb_lp_solve(solver, lp) != CB_LP_OPTIMAL)
            _exit(2);
        void (*limit)(int) = (void (*)(int))(uintptr_t)dlsym(RTLD_DEFAULT, "glp_mem_limit");
        if (!limit)
            _exit(3);
        limit(1);
        cb_lp_outcome outcome = CB_LP_OPTIMAL;
        for (int i = 0; i < 1000000 && outcome != CB_LP_GAVE_UP; i++) {
            solver->add_row(lp, &(cb_lp_row){.count = 2, .index = (int[]){0, 1}, .value = value, .lower = 1});
            if (i % 10000 == 0)
                outcome = cb_lp_solve(solver, lp);
        }
        bool good = outcome == CB_LP_GAVE_UP && strstr(solver->trouble(), "memory");
        cb_lp *next = solver->create(&model);
        if (!next)
            _exit(5);
        solver->start(next, NULL, 0, NULL);
        solver->set_column(lp, 0, 0, 1);
        good = good && cb_lp_solve(solver, lp) == CB_LP_GAVE_UP && strstr(solver->trouble(), "memory");
        good = good && cb_lp_solve(solver, next) == CB_LP_OPTIMAL && solver->objective(next) == 1;
        solver->destroy(lp);
        solver->destroy(next);
        _exit(good ? 0 : 4);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A stage without a way out is reported with its node, its noise and a written LP. */
static void infeasible_stage(void **state) {
    (void)state;
    cobre_sddp_problem *p = cb_problem_new("infeasible", false);
    size_t x = cb_add_state(p, "x", 1), n = cb_add_node(p, "only", 1);
    size_t in = cb_add_column(p, n, "x_in", -INFINITY, INFINITY, 0), out = cb_add_column(p, n, "x_out", 0, 1, 1);
    size_t row = cb_add_row(p, n, "balance", 0, 0), w = cb_add_random(p, n, "w");
    cb_set_state(p, n, x, in, out);
    cb_add_entry(p, n, row, out, 1);
    cb_add_entry(p, n, row, in, -1);
    cb_add_noise(p, n, (cb_noise){.target = CB_NOISE_ROW, .index = row, .random = w, .factor = 1});
    cb_add_outcome(p, n, 1, (double[]){5});
    cb_add_edge(p, CB_ROOT, n, 1, 1);
    cobre_sddp_policy *policy;
    cobre_sddp_options options = {.struct_size = sizeof options, .lp_folder = "/tmp"};
    assert_int_equal(cb_problem_finish(comm, p, NULL), 0);
    assert_int_equal(cobre_sddp_train(comm, p, &options, &policy, NULL), COBRE_SDDP_LP_FAILED);
    const cobre_sddp_error *error = cobre_sddp_last_error();
    assert_non_null(strstr(error->message, "node only, outcome 1: w = 5: the LP is infeasible"));
    assert_int_equal(access(error->file, R_OK), 0);
    unlink(error->file);
    cobre_sddp_problem_free(&p);
}

/* JuMP names random variables inflow[1]: only tables of hydrothermal cases leave out what is around the brackets. */
static void scenarios_know_brackets(void **state) {
    (void)state;
    char path[] = "/tmp/cobre-scenarios-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char table[] = "scenario,node,inflow[1],noise[1]\na,only,3,4\n";
    assert_int_equal(write(fd, table, sizeof table - 1), sizeof table - 1);
    close(fd);
    cobre_sddp_problem *p = cb_problem_new("brackets", false);
    size_t n = cb_add_node(p, "only", 1);
    cb_add_random(p, n, "noise[1]");
    cb_add_random(p, n, "inflow[1]");
    cb_add_edge(p, CB_ROOT, n, 1, 1);
    cb_read_scenarios(p, path, false);
    unlink(path);
    assert_int_equal(p->errors, 0);
    assert_int_equal(p->scenarios, 1);
    assert_true(p->scenario[0].values[0][0] == 4 && p->scenario[0].values[0][1] == 3);
    cobre_sddp_problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng_is_philox),
        cmocka_unit_test(tours_go_to_the_nearest),
        cmocka_unit_test(risk_weights_have_their_floor),
        cmocka_unit_test(pool_finds_the_worst_cuts),
        cmocka_unit_test(glpk_start_forgets),
        cmocka_unit_test(clp_start_forgets),
        cmocka_unit_test(solver_by_size),
        cmocka_unit_test(glpk_gives_up),
        cmocka_unit_test(infeasible_stage),
        cmocka_unit_test(scenarios_know_brackets),
    };
    if (cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &comm) !=
        COBRE_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cobre_comm_free(&comm);
    return failed;
}
