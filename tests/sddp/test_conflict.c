/* SPDX-License-Identifier: Apache-2.0 */
/* test_conflict.c: the limits that are named when a stage has no solution. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit/check.h"
#include "sddp/stage/conflict.h"

static cobre_comm *comm;

enum { STATES = 2, OTHERS = 6, COLUMNS = 2 * STATES + OTHERS, ROWS = 8, RANDOMS = 2 };

/* One node, of limits that often contradict each other. All numbers are small and whole: no LP is a close call. */
static cobre_sddp_problem *make(uint32_t seed) {
    cobre_sddp_builder *p;
    cb_rng rng;
    cb_rng_start(&rng, 7, CB_RNG_OPENING, seed, 0, 0);
#define DRAW(most) floor(((most) + 1) * cb_rng_uniform(&rng))
    CHECK_EQ(cobre_sddp_builder_new("conflict", false, &p), 0);
    for (size_t s = 0; s < STATES; s++)
        cobre_sddp_add_state(p, s ? "b" : "a", DRAW(5));
    size_t n = cobre_sddp_add_node(p, "only", 1);
    for (size_t j = 0; j < COLUMNS; j++) {
        char name[8];
        snprintf(name, sizeof name, "c%zu", j);
        double lower = DRAW(2), width = DRAW(4); /* an even column and one without width have both sides */
        cobre_sddp_add_column(p, n, name, lower, j % 2 ? INFINITY : lower + width, DRAW(3));
    }
    for (size_t s = 0; s < STATES; s++)
        cobre_sddp_set_state(p, n, s, s, STATES + s);
    for (size_t i = 0; i < ROWS; i++) {
        char name[8];
        snprintf(name, sizeof name, "r%zu", i);
        double kind = i == 1 ? 2 : DRAW(2), right = DRAW(9);
        cobre_sddp_add_row(p, n, name, kind == 1 ? -INFINITY : right, kind == 2 ? INFINITY : right);
        for (size_t j = 0; j < COLUMNS; j++)
            if (DRAW(2) == 0)
                cobre_sddp_add_entry(p, n, i, j, DRAW(6) - 3);
    }
    for (size_t r = 0; r < RANDOMS; r++)
        cobre_sddp_add_random(p, n, r ? "v" : "w");
    cobre_sddp_add_noise(p, n, 0, 1, COBRE_SDDP_NOISE_ROW, 0, 0);
    cobre_sddp_add_noise(p, n, 1, 2, COBRE_SDDP_NOISE_ROW_LOWER, 1, 0);
    cobre_sddp_add_noise(p, n, 1, 1, COBRE_SDDP_NOISE_COLUMN_LOWER, COLUMNS - 1, 0);
    cobre_sddp_add_noise(p, n, 0, 1, COBRE_SDDP_NOISE_ENTRY, 2, 0);
    cobre_sddp_add_noise(p, n, 1, 1, COBRE_SDDP_NOISE_ENTRY, 3, COLUMNS - 2);
    cobre_sddp_add_outcome(p, n, 1, (double[]){DRAW(3), DRAW(3) - 6});
#undef DRAW
    cobre_sddp_add_edge(p, COBRE_SDDP_ROOT, n, 1, 1);
    cobre_sddp_problem *problem;
    CHECK_EQ(cobre_sddp_finish(comm, &p, NULL, &problem), 0);
    return problem;
}

/* The node's matrix, with the noise of its entries. */
static void fill(const cb_node *node, double *value) {
    for (size_t e = 0; e < node->entries; e++)
        value[e] = node->value[e];
    for (size_t i = 0; i < node->noises; i++) {
        const cb_noise *noise = &node->noise[i];
        for (size_t e = 0; e < node->entries && noise->target == COBRE_SDDP_NOISE_ENTRY; e++)
            if (node->index[e] == (int)noise->index && (int)e >= node->start[noise->column] &&
                (int)e < node->start[noise->column + 1])
                value[e] += noise->factor * node->outcome[noise->random];
    }
}

/* Does the LP that has these limits only, without number `without`, have a solution? */
static bool solvable(const cb_lp_solver *solver, const cb_node *node, const cb_conflict *conflict, size_t without) {
    double cost[COLUMNS] = {0}, lower[COLUMNS + ROWS], upper[COLUMNS + ROWS], value[COLUMNS * ROWS];
    int start[COLUMNS + 1], index[COLUMNS * ROWS];
    for (size_t i = 0; i < COLUMNS + ROWS; i++) {
        lower[i] = -INFINITY;
        upper[i] = INFINITY;
    }
    for (size_t i = 0; i < conflict->members; i++) {
        const cb_limit *limit = &conflict->member[i];
        size_t at = limit->index + (limit->kind == CB_LIMIT_ROW ? COLUMNS : 0); /* state s comes in by column s */
        lower[at] = i == without ? lower[at] : fmax(lower[at], limit->lower);
        upper[at] = i == without ? upper[at] : fmin(upper[at], limit->upper);
    }
    fill(node, value);
    memcpy(start, node->start, sizeof start);
    memcpy(index, node->index, node->entries * sizeof *index);
    cb_lp *lp = solver->create(&(cb_lp_model){.columns = COLUMNS,
                                              .rows = ROWS,
                                              .cost = cost,
                                              .column_lower = lower,
                                              .column_upper = upper,
                                              .row_lower = lower + COLUMNS,
                                              .row_upper = upper + COLUMNS,
                                              .start = start,
                                              .index = index,
                                              .value = value});
    solver->start(lp, NULL, 0, NULL);
    cb_lp_outcome outcome = cb_lp_solve(solver, lp);
    solver->destroy(lp);
    CHECK(outcome == CB_LP_OPTIMAL || outcome == CB_LP_INFEASIBLE);
    return outcome == CB_LP_OPTIMAL;
}

/* What is named has no solution, and without any one of its members it has one. */
static void check_set(const cb_stage *stage, const cb_conflict *conflict) {
    CHECK(!solvable(stage->solver, stage->node, conflict, SIZE_MAX));
    for (size_t i = 0; i < conflict->members; i++)
        CHECK(solvable(stage->solver, stage->node, conflict, i));
}

static void none_can_be_left_out(void) {
    size_t found = 0, largest = 0;
    const cb_lp_plugin *plugin;
    for (size_t k = 0; (plugin = cb_lp_plugin_at(k)); k++)
        for (uint32_t seed = 0; plugin->solver && seed < 200; seed++) {
            cobre_sddp_problem *problem = make(seed);
            const cb_node *node = problem->node;
            cb_stage_kind kind = {.problem = problem, .pair = {.solver = plugin->solver}};
            cb_stage *stage;
            cb_arena memory = {0};
            double state[STATES] = {problem->state[0].initial, problem->state[1].initial};
            CHECK_EQ(cb_stage_create(&kind, node, &stage), 0);
            cb_stage_set_state(stage, state);
            cb_stage_set_noise(stage, node->outcome);
            CHECK_EQ(cb_stage_start(stage, NULL), 0);
            bool none = cb_lp_solve(stage->solver, stage->lp) != CB_LP_OPTIMAL; /* CLP is stuck once */
            cb_conflict conflict = cb_find_conflict(stage, &memory);
            CHECK_EQ(conflict.members > 0, none);
            if (none)
                check_set(stage, &conflict);
            found += none;
            largest = conflict.members > largest ? conflict.members : largest;
            cb_arena_free(&memory);
            cb_stage_free(stage);
            cobre_sddp_problem_free(&problem);
        }
    CHECK(found > 50);
    CHECK(largest > 5);
}

/* More than can be told: the message counts the rest, and the file has all. */
static void long_lists_are_cut(void) {
    cobre_sddp_builder *p;
    CHECK_EQ(cobre_sddp_builder_new("long", false, &p), 0);
    char name[16];
    for (size_t s = 0; s < 10; s++) {
        snprintf(name, sizeof name, "state%zu", s);
        cobre_sddp_add_state(p, name, (double)s);
    }
    size_t n = cobre_sddp_add_node(p, "only", 1), row = cobre_sddp_add_row(p, n, "sum", 100, 200);
    for (size_t s = 0; s < 10; s++) {
        snprintf(name, sizeof name, "in%zu", s);
        size_t in = cobre_sddp_add_column(p, n, name, -INFINITY, INFINITY, 0);
        snprintf(name, sizeof name, "out%zu", s);
        cobre_sddp_set_state(p, n, s, in, cobre_sddp_add_column(p, n, name, 0, 1, 0));
        if (s != 4)
            cobre_sddp_add_entry(p, n, row, in, 1);
    }
    cobre_sddp_add_edge(p, COBRE_SDDP_ROOT, n, 1, 1);
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
    cobre_sddp_train_options options = {.struct_size = sizeof options, .lp_folder = "/tmp"};
    CHECK_EQ(cobre_sddp_finish(comm, &p, NULL, &problem), 0);
    CHECK_EQ(cobre_sddp_train(problem, &options, &policy, NULL), COBRE_LP_FAILED);
    const cobre_error *error = cobre_last_error();
    CHECK_HOLDS(error->message,
                "; incoming state0 = 0, state1 = 1, state2 = 2, state3 = 3, state5 = 5, state6 = 6 and 4 more; no");
    CHECK_HOLDS(error->message, "node only, outcome 1: the LP is infeasible after ");
    CHECK_HOLDS(error->message, "no decision meets these at once: incoming state0 = 0, ");
    CHECK_HOLDS(error->message, "incoming state6 = 6 and 4 more");
    char text[8192];
    FILE *file = fopen(error->file, "r");
    CHECK(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    unlink(error->file);
    CHECK_HOLDS(text, "\\ No decision meets these at once:\n");
    CHECK_HOLDS(text, "\\   incoming state9 = 9\n\\   100 <= row sum <= 200\n");
    CHECK(!strstr(text, "incoming state4"));
    cobre_sddp_problem_free(&problem);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(none_can_be_left_out),
        CHECK_CASE(long_lists_are_cut),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &comm));
    int failed = check_main(argc, argv, tests);
    cobre_comm_free(&comm);
    return failed;
}
