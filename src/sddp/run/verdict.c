/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c: has a run converged?
 *
 * Without a risk measure, the policy can gain at most the distance between the bound and the simulated mean. If the
 * bound lies within the interval of the mean, the sample does not show a gap: the policy is good if that interval is
 * narrow; otherwise the answer is unknown. If the sample does show a gap, it may be small enough. If it is not, it
 * matters whether the bound still moves. Reasons that make the two numbers incomparable are checked first. */
#include "sddp/run/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sddp/run/gap.h"
#include "sddp/run/record.h"

#define SMALL 0.01   /* a gap, or half an interval, that is good enough: a share of the mean */
#define STILL 0.001  /* a bound that moves by less has settled: a share of itself */
#define FEWEST 10    /* iterations in which a bound that has settled shows it */
#define LAST_SHARE 5 /* a fifth of the iterations is "the last" of them */

static void say(struct cb_run_verdict *verdict, enum cb_convergence word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct cb_run_verdict *verdict, enum cb_convergence word, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    verdict->word = word;
    vsnprintf(verdict->sentence, sizeof verdict->sentence, format, arguments);
    va_end(arguments);
}

const char *cb_convergence_name(enum cb_convergence word) {
    static const char *const names[] = {"converged", "not yet", "unknown", "risk-averse"};
    return names[word];
}

double cb_bound_moved(const struct cb_iteration *trace, size_t iterations, size_t *over) {
    *over = iterations / LAST_SHARE > FEWEST ? iterations / LAST_SHARE : FEWEST;
    if (iterations <= *over)
        return NAN;
    double last = trace[iterations - 1].bound, before = trace[iterations - 1 - *over].bound;
    return last == before ? 0 : fabs(last - before) / fmax(fabs(last), fabs(before));
}

/* Of a share: "0.57", "12". */
static const char *percent(double share, char text[32]) {
    snprintf(text, 32, "%.*f", 100 * share < 9.95 ? 2 : 0, 100 * share);
    return text;
}

static void judge_averse(const struct cb_evidence *evidence, struct cb_run_verdict *verdict) {
    size_t over;
    char moved[32];
    double share = cb_bound_moved(evidence->trace, evidence->iterations, &over);
    const char *start = "With a risk measure there is no gap to judge by, only the bound of the risk-averse cost";
    if (isnan(share))
        say(verdict, CB_AVERSE, "%s, and there are too few iterations to see whether that has settled: train more.",
            start);
    else
        say(verdict, CB_AVERSE, "%s: in the last %zu iterations that moved by %s %%, so that %s.", start, over,
            percent(share, moved), share < STILL ? "it has settled" : "it has not settled yet: train more");
}

/* Still on the way: what it moves by closes the gap in a few times as many iterations. */
static bool is_moving(const struct cb_evidence *evidence, double gap, size_t *over) {
    double moved = cb_bound_moved(evidence->trace, evidence->iterations, over);
    return isnan(moved) || (moved > 0 && LAST_SHARE * moved >= gap);
}

static void judge_unsimulated(const struct cb_evidence *evidence, struct cb_run_verdict *verdict) {
    size_t over;
    char text[32];
    double moved = cb_bound_moved(evidence->trace, evidence->iterations, &over);
    if (moved >= STILL)
        say(verdict, CB_NOT_YET,
            "In the last %zu iterations the bound moved by %s %%, and the policy has not been simulated: train more, "
            "then simulate it.",
            over, percent(moved, text));
    else
        say(verdict, CB_UNKNOWN,
            "The policy has not been simulated, so that there is no gap to judge by: simulate it.");
}

/* The bound lies within the interval. */
static void judge_interval(const struct cb_evidence *evidence, double gap, double half,
                           struct cb_run_verdict *verdict) {
    char of_gap[32], of_half[32];
    percent(fmax(gap, 0), of_gap);
    percent(half, of_half);
    double wanted = ceil((double)evidence->trajectories * pow(half / SMALL, 2) / 100) * 100;
    if (half <= SMALL)
        say(verdict, CB_CONVERGED,
            "The bound lies within the 95 %% interval of the simulated mean, which is ± %s %%: what training could "
            "still gain is less than that.",
            of_half);
    else if (gap > half / 100)
        say(verdict, CB_UNKNOWN,
            "The interval of the simulated mean, ± %s %%, is wider than the gap of %s %%: simulate more trajectories, "
            "about %.0f for ± %g %%.",
            of_half, of_gap, wanted, 100 * SMALL);
    else
        say(verdict, CB_UNKNOWN,
            "The bound lies within the interval of the simulated mean, but that is ± %s %%: simulate more "
            "trajectories, "
            "about %.0f for ± %g %%.",
            of_half, wanted, 100 * SMALL);
}

/* The sample shows a gap. */
static void judge_gap(const struct cb_evidence *evidence, double gap, struct cb_run_verdict *verdict) {
    char text[32];
    size_t over;
    percent(gap, text);
    if (gap <= SMALL)
        say(verdict, CB_CONVERGED, "The gap between the bound and the simulated mean is %s %%, less than %g %%.", text,
            100 * SMALL);
    else if (is_moving(evidence, gap, &over))
        say(verdict, CB_NOT_YET,
            "The gap is %s %%, more than chance can explain, and the bound still moves: train "
            "more.",
            text);
    else if (evidence->other_noise)
        say(verdict, CB_NOT_YET,
            "The gap is %s %%, but the bound has settled, for the outcomes of the training: train with more of them.",
            text);
    else
        say(verdict, CB_NOT_YET, "The gap is %s %%, but the bound hardly moved in the last %zu iterations: %s.", text,
            over,
            evidence->without_cut > 0 ? "many LPs gave no cut, so give limits to the columns that have none"
                                      : "train with more forward passes, or much longer");
}

static void judge_sample(const struct cb_evidence *evidence, struct cb_run_verdict *verdict) {
    double size = fmax(fabs(evidence->mean), fabs(evidence->bound));
    double distance = evidence->maximises ? evidence->bound - evidence->mean : evidence->mean - evidence->bound;
    double gap = size > 0 ? distance / size : 0, half = size > 0 ? evidence->half / size : 0;
    char note[CB_GAP_NOTE];
    const cb_gap beside = {.maximises = evidence->maximises,
                           .bound = evidence->bound,
                           .mean = evidence->mean,
                           .half = evidence->half,
                           .count = evidence->trajectories,
                           .other_noise = evidence->other_noise};
    if (!isfinite(gap) || !isfinite(half) || evidence->trajectories < CB_GAP_ENOUGH)
        say(verdict, CB_UNKNOWN, "%" PRIu64 " trajector%s too few for an interval that tells: simulate more.",
            evidence->trajectories, evidence->trajectories == 1 ? "y is" : "ies are");
    else if ((verdict->beyond = cb_gap_note(&beside, note)))
        say(verdict, CB_UNKNOWN, "Here %s.", note);
    else if (gap <= half)
        judge_interval(evidence, gap, half, verdict);
    else
        judge_gap(evidence, gap, verdict);
}

void cb_judge(const struct cb_evidence *evidence, struct cb_run_verdict *verdict) {
    verdict->beyond = false;
    if (*evidence->unfinished)
        say(verdict, CB_NOT_YET, "%s Train it again, or go on from its policy (--resume).", evidence->unfinished);
    else if (evidence->averse)
        judge_averse(evidence, verdict);
    else if (evidence->other_case)
        say(verdict, CB_UNKNOWN,
            "The policy was trained for another case, so that its bound says nothing about this one: train this case.");
    else if (evidence->unproven)
        say(verdict, CB_UNKNOWN,
            "The bound is unproven, because cuts of another case may be wrong here: train without them.");
    else if (!evidence->simulated)
        judge_unsimulated(evidence, verdict);
    else if (*evidence->start)
        say(verdict, CB_UNKNOWN,
            "The simulation begins elsewhere than the training (%s), which has no bound from there on: simulate from "
            "its "
            "beginning, too.",
            evidence->start);
    else if (!evidence->sampled && !evidence->trained)
        say(verdict, CB_UNKNOWN,
            "This simulation has no gap, and its training, which may say why, is not here: look at the folder of the "
            "training.");
    else if (!evidence->sampled)
        say(verdict, CB_UNKNOWN,
            "The trajectories are no sample of the whole, as with given scenarios and with trajectories that are cut "
            "(--max-steps), so that there "
            "is "
            "no gap: simulate sampled ones to their end, too.");
    else
        judge_sample(evidence, verdict);
}

static bool is_fact(const struct cb_facts *facts, const char *key, const char *value) {
    return strcmp(cb_fact(facts, key), value) == 0;
}

/* Where the mean is 0 there is no gap as a share of it, but still one to judge by. */
static bool is_sample(const struct cb_facts *simulation) {
    return !is_fact(simulation, "gap", "none") ||
           (cb_fact_number(simulation, "mean") == 0 && strstr(cb_fact(simulation, "sampling"), "-sample"));
}

void cb_results_judge(const struct cb_results *results, struct cb_run_verdict *verdict) {
    const struct cb_facts *summary = &results->summary, *simulation = &results->simulation;
    char unfinished[CB_RECORD_SENTENCE];
    double trajectories = cb_fact_number(simulation, "trajectories");
    cb_record_unfinished(results->folder, unfinished);
    const struct cb_evidence evidence = {
        .unfinished = unfinished,
        .trained = summary->count > 0,
        .maximises = is_fact(summary, "sense", "max"),
        .averse = is_fact(summary, "averse", "yes"),
        .unproven = is_fact(summary, "proven", "no"),
        .simulated = simulation->count > 0,
        .sampled = is_sample(simulation),
        .other_noise = is_fact(simulation, "sampling", "out-of-sample"),
        .other_case = *cb_fact(simulation, "difference"),
        .start = isnan(cb_fact_number(&results->simulation, "bound")) ? cb_fact(&results->simulation, "start") : "",
        .bound = cb_fact_number(simulation, "bound"),
        .mean = cb_fact_number(simulation, "mean"),
        .half = cb_fact_number(simulation, "half"),
        .trajectories = trajectories > 0 && trajectories < 1e15 ? (uint64_t)trajectories : 0,
        .trace = results->trace,
        .iterations = results->iterations,
        .without_cut = cb_fact_number(summary, "lps_without_cut"),
    };
    cb_judge(&evidence, verdict);
}
