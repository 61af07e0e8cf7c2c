/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict.c: what is said of a run's convergence, and of the difference between two runs. */
#include "kit/check.h"
#include "sddp/run/verdict.h"

#include <math.h>

enum { ITERATIONS = 100 };

/* A bound that rises to `last`, and by `step` in each of the last 20 iterations. */
static const struct cb_iteration *trace_to(double last, double step) {
    static struct cb_iteration trace[ITERATIONS];
    for (int i = 0; i < ITERATIONS; i++)
        trace[i].bound = last - step * (ITERATIONS - 1 - i);
    return trace;
}

/* Simulated, with a bound of 1000 that has settled. */
static struct cb_evidence usual(double mean, double half) {
    return (struct cb_evidence){.unfinished = "",
                                .trained = true,
                                .simulated = true,
                                .sampled = true,
                                .start = "",
                                .bound = 1000,
                                .mean = mean,
                                .half = half,
                                .trajectories = 1000,
                                .trace = trace_to(1000, 0),
                                .iterations = ITERATIONS};
}

static void expect(const struct cb_evidence *evidence, enum cb_convergence word, const char *part) {
    struct cb_run_verdict verdict;
    cb_judge(evidence, &verdict);
    CHECK_TEXT(cb_convergence_name(verdict.word), cb_convergence_name(word));
    CHECK_HOLDS(verdict.sentence, part);
}

static void narrow_interval(void) {
    struct cb_evidence evidence = usual(1005, 8);
    expect(&evidence, CB_CONVERGED, "within the 95 % interval of the simulated mean, which is ± 0.80 %");
    evidence = usual(1005, 2); /* a gap that is real, but small */
    expect(&evidence, CB_CONVERGED, "is 0.50 %, less than 1 %");
    evidence = usual(1000, 0);
    expect(&evidence, CB_CONVERGED, "± 0.00 %");
}

static void wide_interval(void) {
    struct cb_evidence evidence = usual(1020, 40.8);
    expect(&evidence, CB_UNKNOWN,
           "± 4.00 %, is wider than the gap of 1.96 %: simulate more trajectories, about 16000 for");
    evidence = usual(990, 40);
    expect(&evidence, CB_UNKNOWN, "but that is ± 4.00 %: simulate more trajectories");
    evidence = usual(1005, 2);
    evidence.trajectories = 10;
    expect(&evidence, CB_UNKNOWN, "too few");
    evidence = usual(1005, NAN);
    expect(&evidence, CB_UNKNOWN, "too few");
}

static void gap(void) {
    struct cb_evidence evidence = usual(1100, 20);
    expect(&evidence, CB_NOT_YET,
           "The gap is 9.09 %, but the bound hardly moved in the last 20 iterations: train with more");
    evidence.without_cut = 7;
    expect(&evidence, CB_NOT_YET, "give limits to the columns");
    evidence.other_noise = true;
    expect(&evidence, CB_NOT_YET, "train with more of them");
    evidence.trace = trace_to(1000, 2); /* 4 % in 20 iterations */
    expect(&evidence, CB_NOT_YET, "the bound still moves: train more");
    evidence.iterations = 5;
    expect(&evidence, CB_NOT_YET, "the bound still moves: train more");
}

/* The upper bound of a problem that maximises is the larger one. */
static void maximises(void) {
    struct cb_evidence evidence = usual(900, 20);
    evidence.maximises = true;
    expect(&evidence, CB_NOT_YET, "The gap is 10 %");
    evidence = usual(995, 8);
    evidence.maximises = true;
    expect(&evidence, CB_CONVERGED, "within");
    evidence = usual(1100, 8);
    evidence.maximises = true;
    expect(&evidence, CB_UNKNOWN, "above the bound, more than its interval");
}

static void beyond_the_bound(void) {
    struct cb_evidence evidence = usual(900, 8);
    expect(&evidence, CB_UNKNOWN, "Here the mean of 1000 trajectories is 11 % below the bound, more than its interval");
    expect(&evidence, CB_UNKNOWN, "simulate more of them.");
    evidence.other_noise = true;
    expect(&evidence, CB_UNKNOWN, "kinder: train with more of them.");
}

/* Words about a gap, or of the mean and the bound as two sides of one thing, are wrong with a risk measure. */
static void averse(void) {
    struct cb_evidence evidence = usual(500, 8);
    evidence.averse = true;
    expect(&evidence, CB_AVERSE, "in the last 20 iterations that moved by 0.00 %, so that it has settled.");
    evidence.trace = trace_to(1000, 2);
    expect(&evidence, CB_AVERSE, "moved by 4.00 %, so that it has not settled yet: train more.");
    evidence.iterations = 5;
    expect(&evidence, CB_AVERSE, "too few iterations");
    evidence.simulated = false;
    expect(&evidence, CB_AVERSE, "risk measure");
}

static void incomparable(void) {
    struct cb_evidence evidence = usual(1005, 8);
    evidence.other_case = true;
    expect(&evidence, CB_UNKNOWN, "another case");
    evidence = usual(1005, 8);
    evidence.unproven = true;
    expect(&evidence, CB_UNKNOWN, "unproven");
    evidence = usual(1005, 8);
    evidence.start = "from stage 13, in the initial state";
    expect(&evidence, CB_UNKNOWN, "begins elsewhere than the training (from stage 13, in the initial state)");
    evidence = usual(1005, 8);
    evidence.sampled = false;
    expect(&evidence, CB_UNKNOWN, "no sample");
    evidence.trained = false; /* it may be averse to risk */
    expect(&evidence, CB_UNKNOWN, "look at the folder of the training");
}

static void not_simulated(void) {
    struct cb_evidence evidence = usual(NAN, NAN);
    evidence.simulated = false;
    expect(&evidence, CB_UNKNOWN, "has not been simulated, so that there is no gap to judge by: simulate it.");
    evidence.trace = trace_to(1000, 2);
    expect(&evidence, CB_NOT_YET, "moved by 4.00 %, and the policy has not been simulated: train more");
}

static void unfinished(void) {
    struct cb_evidence evidence = usual(1000, 8);
    evidence.unfinished = "This training has failed: node 3 is infeasible.";
    expect(&evidence, CB_NOT_YET, "This training has failed: node 3 is infeasible. Train it again");
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(narrow_interval),
        CHECK_CASE(wide_interval),
        CHECK_CASE(gap),
        CHECK_CASE(maximises),
        CHECK_CASE(beyond_the_bound),
        CHECK_CASE(averse),
        CHECK_CASE(incomparable),
        CHECK_CASE(not_simulated),
        CHECK_CASE(unfinished),
        CHECK_END,
    };
    return check_main(argc, argv, cases);
}
