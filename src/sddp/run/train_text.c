/* SPDX-License-Identifier: Apache-2.0 */
/* train_text.c: the output of a training as lines of text. */
#include "sddp/run/train_text.h"

#include "sddp/problem/problem.h"
#include "sddp/run/files.h"
#include "sddp/run/numbers.h"
#include "sddp/train/rules.h"

#include <inttypes.h>
#include <math.h>

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

void cb_write_size(FILE *to, size_t stages, size_t nodes, size_t states) {
    fprintf(to, "%zu stage%s, %zu node%s, %zu state%s", stages, plural(stages), nodes, plural(nodes), states,
            plural(states));
}

void cb_write_problem_size(FILE *to, const cobre_sddp_problem *problem) {
    size_t last = 0, nodes = cobre_sddp_problem_nodes(problem);
    for (size_t i = 0; i < nodes; i++)
        if (cobre_sddp_problem_node_stage(problem, i) > last)
            last = cobre_sddp_problem_node_stage(problem, i);
    cb_write_size(to, last, nodes, cobre_sddp_problem_states(problem));
}

struct cb_train_text cb_train_text_of(const struct cb_train_run *run) {
    return (struct cb_train_text){.maximises = cobre_sddp_problem_maximises(run->problem),
                                  .averse = cb_options_averse(run->problem, &run->options)};
}

double cb_train_text_gap(const struct cb_train_text *text, const cobre_sddp_progress *now) {
    return cb_window_gap(text->maximises, text->averse, now);
}

const char *cb_train_text_share(double gap, char share[32]) {
    snprintf(share, 32, "-");
    if (isfinite(gap))
        snprintf(share, 32, fabs(gap) < 1 ? "%.2f %%" : fabs(gap) < 100 ? "%.0f %%" : "%.0e %%", 100 * gap);
    return share;
}

void cb_train_text_start(FILE *to, const struct cb_train_run *run) {
    cobre_comm *comm = run->problem->comm;
    size_t ranks = cobre_size(comm);
    fprintf(to, "%s: ", cobre_sddp_problem_name(run->problem));
    cb_write_problem_size(to, run->problem);
    fprintf(to, "; %zu rank%s (%s)\n\n", ranks, plural(ranks), cobre_backend_name(cobre_comm_backend(comm)));
}

void cb_train_text_header(FILE *to, const struct cb_train_text *text) {
    const char *other = text->averse ? "simulated" : text->maximises ? "lower bound" : "upper bound";
    fprintf(to, "%6s %12s %12s %10s %8s %8s %7s %8s\n", "iter", text->maximises ? "upper bound" : "lower bound", other,
            "+- 95 %", "gap", "cuts", "LP/s", "time");
}

static double solve_rate(const cobre_sddp_progress *from, const cobre_sddp_progress *to) {
    double seconds = to->seconds - from->seconds;
    bool known =
        from->iteration > 0 || to->iteration == 1; /* of a resumed training the first row counts LPs from before */
    return known && seconds > 0 && to->solves >= from->solves ? (double)(to->solves - from->solves) / seconds : NAN;
}

void cb_train_text_row(FILE *to, const struct cb_train_text *text, const cobre_sddp_progress *last,
                       const cobre_sddp_progress *now) {
    char bound[32], mean[32], half[32] = "-", gap[32], rate[32], clock[32];
    if (now->window_passes > 1)
        cb_short_text(now->window_half, 5, half);
    double solves = solve_rate(last, now);
    snprintf(rate, sizeof rate, isfinite(solves) ? "%.0f" : "-", solves);
    fprintf(to, "%6" PRIu64 " %12s %12s %10s %8s %8" PRIu64 " %7s %8s\n", now->iteration,
            cb_short_text(now->bound, 8, bound), cb_short_text(now->window_mean, 8, mean), half,
            cb_train_text_share(cb_train_text_gap(text, now), gap), now->cuts, rate,
            cb_clock_text(now->seconds, clock));
}

static void write_bounds(FILE *to, const struct cb_train_text *text, const cobre_sddp_progress *last, bool proven) {
    char bound[32], mean[32], half[32];
    double gap = cb_train_text_gap(text, last);
    fprintf(to, "bound     %s (%s%s)", cb_short_text(last->bound, 9, bound), text->maximises ? "upper" : "lower",
            proven ? "" : ", unproven: with cuts of another case");
    if (isfinite(gap))
        fprintf(to, ", gap %.3g %%", 100 * gap);
    if (text->averse)
        fprintf(to, ", no gap: with a risk measure");
    if (last->window_passes > 1)
        fprintf(to, "\nsimulated %s +- %s (95 %%, last %" PRIu64 " passes)", cb_short_text(last->window_mean, 8, mean),
                cb_short_text(last->window_half, 5, half), last->window_passes);
    fprintf(to, "\n");
}

static cobre_sddp_progress last_of(const cobre_sddp_training *result, const cobre_sddp_policy *policy) {
    return (cobre_sddp_progress){.bound = cobre_sddp_policy_bound(policy),
                                 .window_mean = result->window_mean,
                                 .window_half = result->window_half,
                                 .window_passes = result->window_passes};
}

void cb_train_text_end(FILE *to, const struct cb_train_run *run, const cobre_sddp_training *result,
                       const cobre_sddp_policy *policy) {
    fprintf(to, "\nstopped: %s, after %" PRIu64 " iteration%s and %.1f s\n", cobre_sddp_stop_name(result->stop),
            result->iterations, plural(result->iterations), result->seconds);
    const struct cb_train_text text = cb_train_text_of(run);
    const cobre_sddp_progress last = last_of(result, policy);
    char note[CB_TRAIN_NOTE];
    write_bounds(to, &text, &last, cobre_sddp_policy_proven(policy));
    for (size_t i = 0; cb_train_note(run, result, policy, i, note); i++)
        if (*note)
            fprintf(to, "note      %s\n", note);
    fprintf(to, "\npolicy    %s (%" PRIu64 " cuts)\n", run->folder ? run->policy : "in memory",
            cobre_sddp_policy_cuts(policy));
    if (run->folder)
        fprintf(to, "trace     %s/" CB_FILE_TRAINING "\ntimes     %s/" CB_FILE_TIMES "\n", run->folder, run->folder);
}
