/* SPDX-License-Identifier: Apache-2.0 */
/* test_parts.c: the parts of the trainer, one at a time. */
#include <stddef.h>
#include <stdint.h>

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/check.h"
#include "sddp/arena.h"
#include "sddp/cases.h"
#include "sddp/lp/plugins.h"
#include "sddp/problem/path.h"
#include "sddp/read/reader.h"
#include "sddp/run/gap.h"
#include "sddp/stage/pool.h"
#include "sddp/stage/stage.h"
#include "sddp/train/risk.h"
#include "sddp/train/trainer.h"

static cobre_comm *comm;

/* Random123's own vectors of philox4x32-10 (its file kat_vectors). */
static void rng_is_philox(void) {
    static const struct {
        cb_rng rng;
        uint64_t low, high; /* words 0 and 1, 2 and 3, the first in the low half */
    } known[] = {
        {{.key = {0}}, 0xe169c58d6627e8d5, 0x9b00dbd8bc57ac4c},
        {{.key = {0xffffffff, 0xffffffff}, .counter = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
         0x41c83b0e408f276d,
         0x6d5451fda20bc7c6},
        {{.key = {0xa4093822, 0x299f31d0}, .counter = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         0x94fdccebd16cfe09,
         0x24126ea15001e420},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cb_rng rng = known[i].rng;
        CHECK_EQ(cb_rng_bits(&rng), known[i].low);
        CHECK_EQ(cb_rng_bits(&rng), known[i].high);
    }
}

/* Which key and counter a stream has: results depend on it. Computed apart, with key {0xa4093822, 0x299f31d0} and counter
 * {purpose << 24 | block, c, b, a}. */
static void rng_streams(void) {
    static const struct {
        cb_rng_purpose purpose;
        uint64_t bits[4]; /* two blocks */
    } known[] = {
        {CB_RNG_FORWARD, {0x395c7b031c4ae7e1, 0xed1398f33cdaebf4, 0x0c465c5f33d35ec4, 0x3629cf5397b88a9f}},
        {CB_RNG_RULE, {0x1ee574d526372d2d, 0xb71f2faaecf6219c, 0x90e076a59d37ae7b, 0xdcbe289e80b924f2}},
        {CB_RNG_SIMULATE, {0xa09c323dab66704f, 0xe3f2b975f432d212, 0x975102f13725c874, 0x6fb18db5674d924a}},
        {CB_RNG_OPENING, {0x52983d389f90aac5, 0xdfce8c50988e2d32, 0xcafab0bf7dd9353c, 0xce858afabfeea5eb}},
    };
    cb_rng rng;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cb_rng_start(&rng, 0x299f31d0a4093822, known[i].purpose, 1, 2, 3);
        for (size_t k = 0; k < 4; k++)
            CHECK_EQ(cb_rng_bits(&rng), known[i].bits[k]);
    }
    cb_rng_start(&rng, 0x299f31d0a4093822, CB_RNG_FORWARD, 1, 2, 3);
    CHECK(cb_rng_uniform(&rng) == 0x1.cae3d818e2570p-3);
}

static void rng_normal(void) {
    enum { DRAWS = 20000 };
    cb_rng rng;
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        cb_rng_start(&rng, 7, CB_RNG_OPENING, i, 0, 0);
        double normal = cb_rng_normal(&rng);
        sum += normal;
        squares += normal * normal;
    }
    CHECK_NEAR(sum / DRAWS, 0, 0.03);
    CHECK_NEAR(squares / DRAWS, 1, 0.05);
}

/* The second variable counts a thousand times the first, and its range takes that out again; the third never varies. */
static void tours_are_short(void) {
    const double outcome[] = {0, 0, 7, 1, 1000, 7, .1, 0, 7, .9, 1000, 7, 0, 300, 7};
    uint32_t tour[1000];
    cb_node node = {.outcome = outcome, .outcomes = 5, .randoms = 3};
    CHECK(cb_find_tour(&node, tour));
    const uint32_t expected[] = {0, 2, 4, 3, 1};
    CHECK_BYTES(tour, expected, sizeof expected);
    const double line[] = {0, -1, 2, -4}; /* to the nearest each time: 0, -1, 2, -4, which is 10 long */
    node = (cb_node){.outcome = line, .outcomes = 4, .randoms = 1};
    CHECK(cb_find_tour(&node, tour));
    const uint32_t shorter[] = {0, 2, 1, 3};
    CHECK_BYTES(tour, shorter, sizeof shorter);
    node = (cb_node){.outcomes = 3};
    CHECK(cb_find_tour(&node, tour));
    CHECK(tour[0] == 0 && tour[1] == 1 && tour[2] == 2);
    double many[1000];
    bool seen[1000] = {false};
    for (size_t k = 0; k < 1000; k++)
        many[k] = (double)(k * 7919 % 1000);
    node = (cb_node){.outcome = many, .outcomes = 1000, .randoms = 1};
    CHECK(cb_find_tour(&node, tour));
    for (size_t k = 0; k < 1000; k++)
        seen[tour[k]] = true;
    for (size_t k = 0; k < 1000; k++)
        CHECK(seen[k]);
}

static void risk_weights_have_their_floor(void) {
    const double p[4] = {.25, .25, .25, .25}, cost[4] = {1, 4, 4, 2};
    double w[4];
    const double *worst[4];
    cb_risk_weights((cb_risk){.beta = .5, .alpha = .5}, p, cost, 4, worst, w);
    CHECK(w[0] == .125 && w[1] == .375 && w[2] == .375 && w[3] == .125);
    cb_risk_weights((cb_risk){.beta = 0, .alpha = .3}, p, cost, 4, worst, w);
    CHECK(w[0] == 0 && fabs(w[1] - .25 / .3) < 1e-15 && fabs(w[2] - .05 / .3) < 1e-15 && w[3] == 0);
    cb_risk_weights((cb_risk){.beta = 1, .alpha = 1}, p, cost, 4, worst, w);
    CHECK(w[0] == .25 && w[3] == .25);
}

static void pool_finds_the_worst_cuts(void) {
    enum { STATES = 7, CUTS = 300 };
    cb_pool pool;
    double record[CUTS][CB_CUT_SLOPES + STATES], x[STATES] = {1, 2, 3, 4, 5, 6, 7};
    size_t count = CUTS;
    CHECK_EQ(cb_pool_init(&pool, comm, STATES, 2, 0), 0);
    for (size_t i = 0; i < CUTS; i++) {
        record[i][CB_CUT_FUNCTION] = (double)(i % 2);
        record[i][CB_CUT_ITERATION] = 1;
        record[i][CB_CUT_INTERCEPT] = (double)(i * 37 % 150); /* each value at x twice for each function */
        for (size_t s = 0; s < STATES; s++)
            record[i][CB_CUT_SLOPES + s] = i < CUTS / 2 || s > 1 ? 0.5 : s == 0 ? 1 : 0.25;
    }
    for (size_t times = 1; times < 3; times++) { /* the second time all are there already */
        CHECK_EQ(cb_pool_add(&pool, *record, &count), 0);
        CHECK_EQ(pool.cuts, times * CUTS);
        CHECK_EQ(pool.list[0].count + pool.list[1].count, CUTS);
    }
    cb_violation worst[3];
    CHECK_EQ(cb_pool_violated(&pool, 0, x, 14 + 147, 0.5, worst, 3), 2);
    CHECK(worst[0].value == 14 + 148 && worst[0].id < worst[1].id);
    CHECK_EQ(cb_pool_violated(&pool, 1, x, 0, 0, worst, 3), 3);
    CHECK(worst[0].value == 14 + 149 && worst[2].value == 14 + 147);
    cb_pool_free(&pool);
}

/* The next one after `before`, of all cuts above the bar; NULL: the first. Looks at every value. */
static bool next_worst(const cb_pool *pool, const double *state, double bar, const cb_violation *before,
                       cb_violation *next) {
    bool found = false;
    for (uint32_t id = 0; id < pool->cuts; id++) {
        double value = cb_cut_value(cb_pool_cut(pool, id), state, pool->states);
        bool after = !before || value < before->value || (value == before->value && id > before->id);
        if (value > bar && after && (!found || value > next->value)) {
            *next = (cb_violation){.id = id, .value = value};
            found = true;
        }
    }
    return found;
}

static void check_violated(const cb_pool *pool, const double *state, double level) {
    cb_violation worst[2], expected = {0};
    size_t found = cb_pool_violated(pool, 0, state, level, 0, worst, 2), i = 0;
    for (; i < 2 && next_worst(pool, state, level, i > 0 ? &worst[i - 1] : NULL, &expected); i++)
        CHECK(i < found && worst[i].id == expected.id && worst[i].value == expected.value);
    CHECK_EQ(found, i);
}

/* Cuts that differ in a last digit, and some whose numbers no sketch can have. */
static void add_cuts(cb_pool *pool, cb_rng *rng, size_t cuts) {
    double *record = calloc(cuts, pool->stride * sizeof *record);
    static const double odd[] = {0, 1e-120, 1e120, 1e-310};
    for (size_t i = 0; record && i < cuts; i++) {
        double *cut = record + i * pool->stride, size = i % 50 < 4 ? odd[i % 50] : i % 3 ? 1 : 1e4;
        cut[CB_CUT_INTERCEPT] = 100 * cb_rng_normal(rng);
        for (size_t s = 0; s < pool->states; s++)
            cut[CB_CUT_SLOPES + s] = size * cb_rng_normal(rng);
        if (i % 7 == 6) {
            memcpy(cut, cut - pool->stride, pool->stride * sizeof *cut);
            cut[CB_CUT_INTERCEPT] = nextafter(cut[CB_CUT_INTERCEPT], i % 2 ? INFINITY : -INFINITY);
        }
    }
    CHECK_EQ(cb_pool_add(pool, record, &cuts), 0);
    free(record);
}

/* A cut and a state that lose as much as they can when they are rounded to multiples of a step. */
static void check_rounding(size_t states, double part) {
    cb_pool pool;
    double record[CB_CUT_SLOPES + 300] = {0}, *slope = record + CB_CUT_SLOPES;
    for (size_t s = 0; s < states; s++)
        slope[s] = s == 0 ? 4095 : 10 + part;
    CHECK_EQ(cb_pool_init(&pool, comm, states, 1, 0), 0);
    CHECK_EQ(cb_pool_add(&pool, record, &(size_t){1}), 0);
    check_violated(&pool, slope, nextafter(cb_cut_value(record, slope, states), -INFINITY));
    cb_pool_free(&pool);
}

static void sketches_change_nothing(void) {
    static const size_t states[] = {5, 16, 50, 300};
    cb_rng rng;
    cb_rng_start(&rng, 1, CB_RNG_FORWARD, 0, 0, 0);
    for (size_t k = 0; k < sizeof states / sizeof *states; k++) {
        cb_pool pool;
        double x[300];
        check_rounding(states[k], 0.4999);
        check_rounding(states[k], -0.4999);
        CHECK_EQ(cb_pool_init(&pool, comm, states[k], 1, 0), 0);
        add_cuts(&pool, &rng, 200);
        for (size_t round = 0; round < 40; round++) {
            static const double size[] = {1, 1000, 0, 1e-200, 1e150};
            for (size_t s = 0; s < states[k]; s++)
                x[s] = size[round < 30 ? round % 2 : round % 5] * cb_rng_normal(&rng);
            for (uint32_t id = 0; id < pool.cuts; id += 2) {
                double value = cb_cut_value(cb_pool_cut(&pool, id), x, states[k]);
                check_violated(&pool, x, value);
                check_violated(&pool, x, nextafter(value, -INFINITY));
            }
        }
        cb_pool_free(&pool);
    }
}

enum { DIM = 3, FUNCTIONS = 2, ADDED = 40, ROUNDS = 5 };

/* The cuts of one iteration, each made somewhere; some are made twice. */
static void add_made_cuts(cb_pool *pool, cb_rng *rng, size_t iteration) {
    double record[ADDED][CB_CUT_SLOPES + 2 * DIM] = {0};
    for (size_t i = 0; i < ADDED; i++) {
        for (size_t j = CB_CUT_INTERCEPT; j < CB_CUT_SLOPES + 2 * DIM; j++)
            record[i][j] = cb_rng_normal(rng);
        if (i % 5 == 4)
            memcpy(record[i], record[i - 2], (CB_CUT_SLOPES + DIM) * sizeof **record);
        record[i][CB_CUT_FUNCTION] = (double)(i % FUNCTIONS);
        record[i][CB_CUT_ITERATION] = (double)iteration;
    }
    CHECK_EQ(cb_pool_add(pool, *record, &(size_t){ADDED}), 0);
}

/* The oldest of the cuts that are highest where cut `at` was made. */
static uint32_t highest_at(const cb_pool *pool, uint32_t at) {
    const double *made = cb_pool_cut(pool, at), *state = made + CB_CUT_SLOPES + DIM;
    uint32_t best = at % FUNCTIONS;
    for (uint32_t id = best; id < pool->cuts; id += FUNCTIONS)
        if (cb_cut_value(cb_pool_cut(pool, id), state, DIM) > cb_cut_value(cb_pool_cut(pool, best), state, DIM))
            best = id;
    return best;
}

static bool is_in_list(const cb_pool *pool, uint32_t id) {
    const cb_cut_list *list = &pool->list[id % FUNCTIONS];
    for (size_t i = 0; i < list->count; i++)
        if (list->cut[i].id == id)
            return true;
    return false;
}

/* The lists are what the definition says, after each iteration and if they are made at once. */
static void level_one_keeps_the_highest(void) {
    cobre_sddp_policy policy = {.comm = comm, .drop = COBRE_SDDP_DROP_LEVEL_ONE};
    cb_pool *pool = &policy.pool;
    cb_rng rng;
    cb_rng_start(&rng, 1, CB_RNG_FORWARD, 0, 0, 0);
    CHECK_EQ(cb_pool_init(pool, comm, DIM, FUNCTIONS, cb_drop_numbers(policy.drop, DIM)), 0);
    cb_trainer step_by_step = {.comm = comm, .policy = &policy};
    CHECK(cb_drop_init(&step_by_step));
    add_made_cuts(pool, &rng, 0); /* of a warm start */
    for (size_t round = 1; round <= ROUNDS; round++) {
        add_made_cuts(pool, &rng, round);
        cb_trainer resumed = {.comm = comm, .policy = &policy};
        CHECK(cb_drop_init(&resumed));
        for (size_t once = 0; once < 2; once++) {
            CHECK_EQ(cb_drop_cuts(once ? &resumed : &step_by_step), 0);
            bool stays[(ROUNDS + 1) * ADDED] = {false};
            size_t listed = 0, expected = 0;
            for (uint32_t id = 0; id < pool->cuts; id++)
                stays[id < ADDED ? id : highest_at(pool, id)] = true;
            for (uint32_t id = 0; id < pool->cuts; id++) {
                bool twice = id < ADDED && id % 5 == 4; /* the other one is listed */
                expected += stays[id] && !twice;
                CHECK_EQ(is_in_list(pool, id), stays[id] && !twice);
            }
            for (size_t f = 0; f < FUNCTIONS; f++)
                listed += pool->list[f].count;
            CHECK_EQ(listed, expected);
            CHECK(listed < pool->cuts * 3 / 4);
        }
        cb_drop_free(&resumed);
        cb_arena_free(&resumed.memory);
    }
    CHECK_EQ(cb_drop_end(&step_by_step), 0);
    CHECK_EQ(pool->list[0].count + pool->list[1].count, (ROUNDS + 1) * ADDED * 4 / 5);
    cb_drop_free(&step_by_step);
    cb_arena_free(&step_by_step.memory);
    cb_pool_free(pool);
}

/* A used LP and a fresh one, given the same start, go the same way bit by bit: the promise behind lp.h. */
static void start_forgets(const cb_lp_solver *solver) {
    cobre_sddp_builder *builder = find_case("mccardle_farm")->build();
    cobre_sddp_problem *problem;
    CHECK_EQ(cobre_sddp_finish(comm, &builder, NULL, &problem), 0);
    cb_stage_kind kind = {.problem = problem, .pair = {.solver = solver}};
    cb_stage *used, *fresh;
    cb_start start = {0};
    CHECK_EQ(cb_stage_create(&kind, &problem->node[4], &used), 0);
    cb_rng rng;
    for (uint32_t round = 0; round < 50; round++) {
        double x[4];
        cb_rng_start(&rng, 1, CB_RNG_OPENING, round, 0, 0);
        for (size_t s = 0; s < 4; s++)
            x[s] = (s == 0 ? 60 : 900) * cb_rng_uniform(&rng);
        CHECK_EQ(cb_stage_create(&kind, &problem->node[4], &fresh), 0);
        cb_stage *both[2] = {used, fresh};
        if (round % 2)
            cb_stage_rest(used);
        for (size_t i = 0; i < 2; i++) {
            cb_stage_start(both[i], &start);
            cb_stage_set_state(both[i], x);
            CHECK_EQ(cb_stage_solve(both[i], 0, NULL), 0);
        }
        CHECK_BYTES(&used->objective, &fresh->objective, sizeof(double));
        CHECK_BYTES(used->slope, fresh->slope, 4 * sizeof(double));
        cb_stage_save(fresh, &start);
        cb_stage_free(fresh);
    }
    cb_start_free(&start);
    cb_stage_free(used);
    cobre_sddp_problem_free(&problem);
}

static void every_start_forgets(void) {
    size_t tried = 0;
    const cb_lp_plugin *plugin;
    for (size_t i = 0; (plugin = cb_lp_plugin_at(i)); i++)
        if (plugin->solver) {
            printf("%s\n", plugin->name);
            start_forgets(plugin->solver);
            tried++;
        }
    CHECK(tried > 0);
}

static void solver_by_size(void) {
    cb_lp_pair pair;
    if (!cb_lp_solver_by_name("glpk") || !cb_lp_solver_by_name("clp")) {
        puts("skipped: one of the solvers is not here");
        return;
    }
    CHECK_EQ(cb_lp_choose(NULL, 9, &pair), 0);
    CHECK_TEXT(pair.solver->name, "glpk");
    CHECK_TEXT(pair.fallback->name, "clp");
    CHECK_EQ(cb_lp_choose(NULL, 49, &pair), 0);
    CHECK_TEXT(pair.solver->name, "glpk");
    CHECK_EQ(cb_lp_choose(NULL, 50, &pair), 0);
    CHECK_TEXT(pair.solver->name, "clp");
    CHECK_TEXT(pair.fallback->name, "glpk");
    CHECK_EQ(cb_lp_choose("glpk", 1000, &pair), 0);
    CHECK_TEXT(pair.solver->name, "glpk");
    CHECK_TEXT(pair.fallback->name, "clp");
    CHECK_EQ(cb_lp_choose("pencil", 9, &pair), COBRE_SOLVER_NOT_AVAILABLE);
    CHECK_HOLDS(cobre_last_error()->message, "there is no libcobre-lp-pencil.so in ");
    CHECK_HOLDS(cobre_last_error()->suggestion, "use clp or ");
}

/* All ranks must have the solver and the version that rank 0 uses, or that a policy names. */
static void solvers_by_name_and_version(void) {
    cb_lp_pair pair, again;
    CHECK_EQ(cb_lp_choose(NULL, 9, &pair), 0);
    cb_lp_names names = cb_lp_names_of(&pair), older = names, stranger = names;
    CHECK_EQ(cb_lp_take(comm, &names, "it needs", "", &again), 0);
    CHECK(again.solver == pair.solver && again.fallback == pair.fallback);
    snprintf(older.solver_version, sizeof older.solver_version, "0.1");
    CHECK_EQ(cb_lp_take(comm, &older, "it needs", ", or wait", &again), COBRE_SOLVER_NOT_AVAILABLE);
    CHECK_HOLDS(cobre_last_error()->message, " 0.1, but the version here is ");
    CHECK_HOLDS(cobre_last_error()->suggestion, ", or wait");
    snprintf(stranger.fallback, sizeof stranger.fallback, "pencil");
    CHECK_EQ(cb_lp_take(comm, &stranger, "it needs", "", &again), COBRE_SOLVER_NOT_AVAILABLE);
    CHECK_HOLDS(cobre_last_error()->message, "it needs the LP solver pencil ");
}

static void list_of_solvers(void) {
    size_t count = cobre_sddp_solvers();
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        CHECK_EQ(cobre_sddp_solver_at(i, &solver), 0);
        CHECK(solver.name && solver.file && (solver.problem || (*solver.version && *solver.license)));
    }
    cobre_sddp_solver first = {.struct_size = 0}, none = {.struct_size = sizeof none};
    CHECK_EQ(cobre_sddp_solver_at(0, &first), 0);
    CHECK(first.file);
    CHECK_EQ(cobre_sddp_solver_at(count, &none), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_solver_at(0, NULL), COBRE_INVALID_ARGUMENT);
}

/* A symbol of the library that the solver's plugin is linked with. */
static void *symbol_of(const cb_lp_solver *solver, const char *name) {
    Dl_info info;
    void *plugin = dladdr((const void *)solver, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return plugin ? dlsym(plugin, name) : NULL;
}

/* GLPK that has no memory jumps back instead of ending the program. What it had is lost, new objects work. In a process of
 * its own, because of the limit. */
static void glpk_gives_up(void) {
    const cb_lp_solver *solver = cb_lp_solver_by_name("glpk");
    if (!solver) {
        puts("skipped: the solver is not here");
        return;
    }
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
        void (*limit)(int) = (void (*)(int))(uintptr_t)symbol_of(solver, "glp_mem_limit");
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
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* A stage without a way out is reported with its node, its noise and a written LP. */
static void infeasible_stage(void) {
    cobre_sddp_builder *p;
    CHECK_EQ(cobre_sddp_builder_new("infeasible", false, &p), 0);
    size_t x = cobre_sddp_add_state(p, "x", 1), n = cobre_sddp_add_node(p, "only", 1);
    size_t in = cobre_sddp_add_column(p, n, "x_in", -INFINITY, INFINITY, 0),
           out = cobre_sddp_add_column(p, n, "x_out", 0, 1, 1);
    size_t row = cobre_sddp_add_row(p, n, "balance", 0, 0), w = cobre_sddp_add_random(p, n, "w");
    cobre_sddp_set_state(p, n, x, in, out);
    cobre_sddp_add_entry(p, n, row, out, 1);
    cobre_sddp_add_entry(p, n, row, in, -1);
    cobre_sddp_add_noise(p, n, w, 1, COBRE_SDDP_NOISE_ROW, row, 0);
    cobre_sddp_add_outcome(p, n, 1, (double[]){5});
    cobre_sddp_add_edge(p, COBRE_SDDP_ROOT, n, 1, 1);
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
    cobre_sddp_train_options options = {.struct_size = sizeof options, .lp_folder = "/tmp"};
    CHECK_EQ(cobre_sddp_finish(comm, &p, NULL, &problem), 0);
    CHECK_EQ(cobre_sddp_train(problem, &options, &policy, NULL), COBRE_LP_FAILED);
    const cobre_error *error = cobre_last_error();
    CHECK_HOLDS(error->message, "node only, outcome 1: the LP is infeasible after ");
    CHECK_HOLDS(
        error->message,
        "; w = 5; incoming x = 1; no decision meets these at once: incoming x = 1, x_out <= 1, row balance = 5");
    CHECK_EQ(access(error->file, R_OK), 0);
    unlink(error->file);
    cobre_sddp_problem_free(&problem);
}

/* JuMP names random variables inflow[1]: only tables of hydrothermal cases leave out what is around the brackets. */
static void scenarios_know_brackets(void) {
    char path[] = "/tmp/cobre-scenarios-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    static const char table[] = "scenario,node,inflow[1],noise[1]\na,only,3,4\n";
    CHECK_EQ(write(fd, table, sizeof table - 1), sizeof table - 1);
    close(fd);
    cobre_sddp_builder *p;
    CHECK_EQ(cobre_sddp_builder_new("brackets", false, &p), 0);
    size_t n = cobre_sddp_add_node(p, "only", 1);
    cobre_sddp_add_random(p, n, "noise[1]");
    cobre_sddp_add_random(p, n, "inflow[1]");
    cobre_sddp_add_edge(p, COBRE_SDDP_ROOT, n, 1, 1);
    cb_read_scenarios(p, path, false);
    unlink(path);
    CHECK_EQ(p->errors, 0);
    CHECK_EQ(p->scenarios, 1);
    CHECK(p->scenario[0].values[0][0] == 4 && p->scenario[0].values[0][1] == 3);
    cobre_sddp_builder_free(&p);
}

/* Changes and solves that are made again give the same bits, whether or not anybody looks at the solutions in between. */
enum { REPEATED_SOLVES = 200 };
static void change_and_solve(const cb_lp_solver *solver, bool look, double objective[REPEATED_SOLVES]) {
    enum { COLUMNS = 12, ROWS = 5 };
    double cost[COLUMNS], low[COLUMNS] = {0}, high[COLUMNS], row_low[ROWS], row_high[ROWS], value[COLUMNS * ROWS];
    int begin[COLUMNS + 1], index[COLUMNS * ROWS];
    for (int e = 0; e < COLUMNS * ROWS; e++) {
        value[e] = 1 + e * 37 % 11 / 7.0;
        index[e] = e % ROWS;
    }
    for (int j = 0; j <= COLUMNS; j++)
        begin[j] = j * ROWS;
    for (int j = 0; j < COLUMNS; j++) {
        cost[j] = 5 + j * 29 % 13 / 3.0;
        high[j] = 10;
    }
    for (int i = 0; i < ROWS; i++) {
        row_low[i] = 20 + i;
        row_high[i] = INFINITY;
    }
    cb_lp_model model = {COLUMNS, ROWS, cost, low, high, row_low, row_high, begin, index, value};
    cb_lp *lp = solver->create(&model);
    for (int k = 0, extra = 0; k < REPEATED_SOLVES; k++) {
        double some = k * 31 % 17 / 16.0;
        if (k % 20 == 0) {
            solver->start(lp, NULL, 0, NULL);
            extra = 0;
        }
        solver->set_row(lp, k % ROWS, 15 + 30 * some, INFINITY);
        solver->set_column(lp, k % COLUMNS, some, 4 + some);
        solver->set_cost(lp, k * 5 % COLUMNS, 3 + 7 * some);
        solver->set_entry(lp, k * 3 % ROWS, k * 7 % COLUMNS, 1 + some);
        if (k % 4 == 3) {
            cb_lp_row row = {3, (int[]){0, 4, 9}, (double[]){1, 1 + some, 2 - some}, 5 + 5 * some};
            solver->add_row(lp, &row);
            extra++;
        }
        CHECK_EQ(cb_lp_solve(solver, lp), CB_LP_OPTIMAL);
        unsigned char basis[COLUMNS + ROWS + REPEATED_SOLVES];
        if (look) {
            solver->basis(lp, basis);
            for (int j = 0; j < COLUMNS; j++)
                CHECK(isfinite(solver->column_value(lp, j)));
            for (int i = 0; i < ROWS; i++)
                CHECK(isfinite(solver->row_dual(lp, i)));
            for (int i = 0; i < extra; i++)
                CHECK_EQ(solver->extra_stand(lp, i), basis[COLUMNS + ROWS + i]);
        }
        objective[k] = solver->objective(lp);
    }
    solver->destroy(lp);
}

static void looking_changes_nothing(void) {
    double blind[REPEATED_SOLVES], looked_at[REPEATED_SOLVES];
    const cb_lp_plugin *plugin;
    for (size_t i = 0; (plugin = cb_lp_plugin_at(i)); i++) {
        if (!plugin->solver)
            continue;
        change_and_solve(plugin->solver, false, blind);
        change_and_solve(plugin->solver, true, looked_at);
        CHECK_BYTES(blind, looked_at, sizeof blind);
    }
}

static const char *text_in(cb_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = cb_arena_text(arena, format, arguments);
    va_end(arguments);
    return text;
}

static void arena_owns(void) {
    cb_arena arena = {0};
    for (size_t round = 0; round < 2; round++) {
        unsigned char *first = cb_arena_alloc(&arena, 1000, 3);
        const char *text = text_in(&arena, "%s->%d", "north", 7);
        double *numbers = cb_arena_alloc(&arena, 10, sizeof *numbers);
        CHECK(first && text && numbers && cb_arena_alloc(&arena, 0, 8));
        for (size_t i = 0; i < 3000; i++)
            CHECK_EQ(first[i], 0);
        CHECK_EQ((uintptr_t)numbers % _Alignof(double), 0);
        memset(first, 0xff, 3000);
        memset(numbers, 0xff, 10 * sizeof *numbers);
        CHECK_TEXT(text, "north->7");
        CHECK(!cb_arena_alloc(&arena, SIZE_MAX / 2, 3));
        CHECK(!cb_arena_alloc(&arena, SIZE_MAX, 1));
        cb_arena_free(&arena);
        CHECK(!arena.last);
    }
}

static const char *note_of(cb_gap gap) {
    static char note[CB_GAP_NOTE];
    const char *said = cb_gap_note(&gap, note);
    CHECK_EQ(said != NULL, cb_gap_is_odd(&gap));
    return said ? said : "";
}

/* A mean beyond the bound is only odd when its interval is, and when there are enough trajectories for an interval. */
static void odd_gaps(void) {
    cb_gap gap = {.bound = 100, .mean = 90, .half = 9.9, .count = 30};
    CHECK_HOLDS(note_of(gap),
                "the mean of 30 trajectories is 11 % below the bound, more than its interval: the bound holds");
    gap.other_noise = true;
    CHECK_HOLDS(note_of(gap), "those drawn here are kinder");
    gap.unproven = true;
    CHECK_HOLDS(note_of(gap), "the bound is unproven");
    gap.count = 29;
    CHECK_TEXT(note_of(gap), "");
    gap.count = 1000;
    gap.half = 10.1;
    CHECK_TEXT(note_of(gap), "");
    gap.half = 1;
    gap.maximises = true;
    CHECK_TEXT(note_of(gap), "");
    gap.mean = 110;
    CHECK_HOLDS(note_of(gap), "9.1 % above the bound");
    CHECK_TEXT(note_of((cb_gap){.bound = 100, .mean = 99.99995, .count = 1000}), "");
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(rng_is_philox),
        CHECK_CASE(rng_streams),
        CHECK_CASE(rng_normal),
        CHECK_CASE(tours_are_short),
        CHECK_CASE(risk_weights_have_their_floor),
        CHECK_CASE(pool_finds_the_worst_cuts),
        CHECK_CASE(sketches_change_nothing),
        CHECK_CASE(level_one_keeps_the_highest),
        CHECK_CASE(every_start_forgets),
        CHECK_CASE(solver_by_size),
        CHECK_CASE(solvers_by_name_and_version),
        CHECK_CASE(list_of_solvers),
        CHECK_CASE(glpk_gives_up),
        CHECK_CASE(infeasible_stage),
        CHECK_CASE(scenarios_know_brackets),
        CHECK_CASE(looking_changes_nothing),
        CHECK_CASE(arena_owns),
        CHECK_CASE(odd_gaps),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &comm));
    int failed = check_main(argc, argv, tests);
    cobre_comm_free(&comm);
    return failed;
}
