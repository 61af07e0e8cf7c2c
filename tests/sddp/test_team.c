/* SPDX-License-Identifier: Apache-2.0 */
/* test_team.c: ranks of a node share the work of a training while it runs. On several ranks, over shm. */
#include <math.h>
#include <time.h>

#include "kit/check.h"
#include "sddp/policy/policy.h"

enum { ITERATIONS = 4, MOST_RANKS = 16, STATES = 400, OUTCOMES = 64 };

static cobre_comm *comm;
static size_t slow_rank; /* it rests before each LP */

static double solves[MOST_RANKS]; /* of each rank, in the last training */

static int rest(void *arg) {
    (void)arg;
    const struct timespec nap = {.tv_nsec = 1000000};
    if (cobre_rank(comm) == slow_rank)
        nanosleep(&nap, NULL);
    return 0;
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    (void)arg;
    for (size_t r = 0; r < progress->ranks; r++)
        solves[r] += progress->effort[COBRE_SDDP_EFFORT_SOLVES * progress->ranks + r];
}

static cobre_status load_brazil(cobre_comm *on, cobre_sddp_problem **problem) {
    return cobre_sddp_load(on, COBRE_SOURCE "/cases/brazil3", NULL, problem);
}

/* What the outcomes of one trajectory prove takes 200 KB: there is room for some 80 trajectories. */
static cobre_status build_wide(cobre_comm *on, cobre_sddp_problem **problem) {
    cobre_sddp_builder *builder = NULL;
    if (cobre_rank(on) > 0)
        return cobre_sddp_finish(on, &builder, NULL, problem);
    CHECK_OK(cobre_sddp_builder_new("wide", false, &builder));
    for (size_t s = 0; s < STATES; s++)
        cobre_sddp_add_state(builder, NULL, (double)(s % 7));
    for (size_t n = 0; n < 2; n++) {
        size_t node = cobre_sddp_add_node(builder, NULL, n + 1);
        size_t row = cobre_sddp_add_row(builder, node, NULL, 0, INFINITY);
        size_t left = cobre_sddp_add_row(builder, node, NULL, 0, 0); /* the noise says what is left */
        cobre_sddp_add_entry(builder, node, row, cobre_sddp_add_column(builder, node, NULL, 0, INFINITY, 9), 1);
        for (size_t s = 0; s < STATES; s++) {
            size_t in = cobre_sddp_add_column(builder, node, NULL, -INFINITY, INFINITY, 0.001 * (double)(s % 5));
            size_t out = cobre_sddp_add_column(builder, node, NULL, 0, (double)(s % 3), 0.01 * (double)(s % 11));
            cobre_sddp_add_entry(builder, node, row, in, s < 8 ? 5 : 0.001 * (double)(s % 13));
            cobre_sddp_add_entry(builder, node, left, out, s < 8 ? 1 : 0);
            cobre_sddp_set_state(builder, node, s, in, out);
        }
        size_t random = cobre_sddp_add_random(builder, node, NULL);
        cobre_sddp_add_noise(builder, node, random, 1, COBRE_SDDP_NOISE_ROW, row, 0);
        cobre_sddp_add_noise(builder, node, random, 0.1, COBRE_SDDP_NOISE_ROW, left, 0);
        for (size_t k = 0; k < OUTCOMES; k++)
            cobre_sddp_add_outcome(builder, node, 1.0 / OUTCOMES, &(double){(double)k});
        cobre_sddp_add_edge(builder, n > 0 ? n - 1 : COBRE_SDDP_ROOT, node, 1, 1);
    }
    return cobre_sddp_finish(on, &builder, NULL, problem);
}

static cobre_status (*load)(cobre_comm *on, cobre_sddp_problem **problem) = load_brazil;
static uint64_t iterations = ITERATIONS;

static cobre_sddp_policy *train(cobre_comm *on, size_t passes, cobre_sddp_problem **problem) {
    cobre_sddp_policy *policy;
    cobre_sddp_train_options options = {.struct_size = sizeof options,
                                        .iterations = iterations,
                                        .forward_passes = passes,
                                        .progress = on_progress,
                                        .stop = rest};
    for (size_t r = 0; r < MOST_RANKS; r++)
        solves[r] = 0;
    CHECK_OK(load(on, problem));
    CHECK_OK(cobre_sddp_train(*problem, &options, &policy, NULL));
    return policy;
}

static void free_all(cobre_sddp_policy **policy, cobre_sddp_problem **problem) {
    cobre_sddp_policy_free(policy);
    cobre_sddp_problem_free(problem);
}

/* The same bits, whoever has done the work, as from one rank alone. */
static void check_bits(const cobre_sddp_policy *policy, size_t passes) {
    cobre_comm *alone;
    cobre_sddp_problem *problem;
    size_t slow = slow_rank;
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &alone));
    slow_rank = COBRE_NO_RANK;
    cobre_sddp_policy *other = train(alone, passes, &problem);
    slow_rank = slow;
    CHECK_EQ(policy->pool.cuts, other->pool.cuts);
    for (uint64_t i = 0; i < policy->iterations; i++) {
        CHECK(policy->trace[i].bound == other->trace[i].bound);
        CHECK(policy->trace[i].mean == other->trace[i].mean);
        CHECK(policy->trace[i].deviation == other->trace[i].deviation);
    }
    for (uint64_t c = 0; c < policy->pool.cuts; c++)
        CHECK(memcmp(cb_pool_cut(&policy->pool, c), cb_pool_cut(&other->pool, c),
                     policy->pool.stride * sizeof(double)) == 0);
    free_all(&other, &problem);
    CHECK_OK(cobre_comm_free(&alone));
}

/* What the slow rank does not do, others do: with fixed shares all would have solved about as many LPs. */
static void a_slow_rank_does_less(void) {
    size_t passes = 2 * cobre_size(comm);
    for (slow_rank = 0; slow_rank < cobre_size(comm); slow_rank++) {
        cobre_sddp_problem *problem;
        cobre_sddp_policy *policy = train(comm, passes, &problem);
        double own = solves[slow_rank], all = 0;
        for (size_t r = 0; r < cobre_size(comm); r++)
            all += solves[r];
        CHECK_SAY(own < all / (double)cobre_size(comm) * 0.75, "rank %zu has solved %g of %g LPs", slow_rank, own, all);
        check_bits(policy, passes);
        free_all(&policy, &problem);
    }
}

/* One trajectory: others solve a part of its outcomes. */
static void ranks_help_with_one_pass(void) {
    cobre_sddp_problem *problem;
    slow_rank = 0;
    cobre_sddp_policy *policy = train(comm, 1, &problem);
    double others = 0;
    for (size_t r = 1; r < cobre_size(comm); r++)
        others += solves[r];
    CHECK_SAY(others > 0, "ranks besides the first have solved no LP of %g", solves[0]);
    check_bits(policy, 1);
    free_all(&policy, &problem);
}

/* More trajectories than there is room for at once. */
static void trajectories_come_in_batches(void) {
    cobre_sddp_problem *problem;
    slow_rank = COBRE_NO_RANK;
    load = build_wide;
    iterations = 1;
    cobre_sddp_policy *policy = train(comm, 90, &problem);
    CHECK_SAY(policy->pool.list[0].count > 10, "%zu cuts are not the same", policy->pool.list[0].count);
    check_bits(policy, 90);
    free_all(&policy, &problem);
}

static int fail_late(void *arg) {
    size_t *asked = arg;
    return cobre_rank(comm) == 1 && ++*asked > 5 ? 2 : 0;
}

/* The others do not do its work. */
static void a_rank_that_stops_ends_the_phase(void) {
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
    size_t asked = 0;
    cobre_sddp_training result = {.struct_size = sizeof result};
    cobre_sddp_train_options options = {
        .struct_size = sizeof options, .iterations = 1, .forward_passes = 100000, .stop = fail_late, .arg = &asked};
    CHECK_OK(load_brazil(comm, &problem));
    CHECK_OK(cobre_sddp_train(problem, &options, &policy, &result));
    CHECK(result.unfinished && result.iterations == 0);
    CHECK_SAY(result.effort[COBRE_SDDP_EFFORT_SOLVES] < 50000, "%g LPs", result.effort[COBRE_SDDP_EFFORT_SOLVES]);
    free_all(&policy, &problem);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(a_slow_rank_does_less),
        CHECK_CASE(ranks_help_with_one_pass),
        CHECK_CASE(a_rank_that_stops_ends_the_phase),
        CHECK_CASE(trajectories_come_in_batches),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(NULL, &comm));
    int failed = check_main(argc, argv, cases);
    cobre_comm_free(&comm);
    return failed;
}
