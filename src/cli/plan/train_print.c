/* SPDX-License-Identifier: Apache-2.0 */
/* train_print.c: training as it is seen: a table, or lines; and as it is logged, in lines. With --json the events are printed instead
 * (sddp/run/training.h).
 *
 * On a terminal a row stays when a second has passed since the last one that stayed, and the header comes again once a
 * screen; under it a line of progress is drawn, up to ten times a second. Elsewhere, under MPI, and in the log every iteration
 * is a line. */
#include "cli/plan/train.h"

#include "cli/live.h"
#include "comm/select.h"
#include "sddp/run/files.h"
#include "sddp/run/gap.h"

#include <inttypes.h>
#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

static double gap_of(const struct train_print *print, const cobre_sddp_progress *now) {
    return cb_window_gap(print->maximises, print->averse, now);
}

static unsigned screen_lines(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 8 ? size.ws_row - 3u : 20u;
}

static void write_header(FILE *to, const struct train_print *print) {
    const char *other = print->averse ? "simulated" : print->maximises ? "lower bound" : "upper bound";
    fprintf(to, "%6s %12s %12s %10s %8s %8s %7s %8s\n", "iter", print->maximises ? "upper bound" : "lower bound", other,
            "+- 95 %", "gap", "cuts", "LP/s", "time");
}

static double solve_rate(const cobre_sddp_progress *from, const cobre_sddp_progress *to) {
    double seconds = to->seconds - from->seconds;
    bool known =
        from->iteration > 0 || to->iteration == 1; /* of a resumed training the first row counts LPs from before */
    return known && seconds > 0 && to->solves >= from->solves ? (double)(to->solves - from->solves) / seconds : NAN;
}

static void gap_text(const struct train_print *print, char text[32]) {
    double share = gap_of(print, &print->newest);
    snprintf(text, 32, "-");
    if (isfinite(share))
        snprintf(text, 32, fabs(share) < 1 ? "%.2f %%" : fabs(share) < 100 ? "%.0f %%" : "%.0e %%", 100 * share);
}

/* last: the row before this one. */
static void write_row(FILE *to, const struct train_print *print, const cobre_sddp_progress *last) {
    const cobre_sddp_progress *now = &print->newest;
    char bound[32], mean[32], half[32] = "-", gap[32], rate[32], clock[32];
    if (now->window_passes > 1)
        cb_short_text(now->window_half, 5, half);
    gap_text(print, gap);
    double solves = solve_rate(last, now);
    snprintf(rate, sizeof rate, isfinite(solves) ? "%.0f" : "-", solves);
    fprintf(to, "%6" PRIu64 " %12s %12s %10s %8s %8" PRIu64 " %7s %8s\n", now->iteration,
            cb_short_text(now->bound, 8, bound), cb_short_text(now->window_mean, 8, mean), half, gap, now->cuts, rate,
            cb_clock_text(now->seconds, clock));
}

static void keep_row(struct train_print *print) {
    cb_live_clear();
    if (print->terminal && print->rows >= screen_lines()) {
        write_header(stdout, print);
        print->rows = 0;
    }
    write_row(stdout, print, &print->last_kept);
    print->kept = print->newest.seconds;
    print->last_kept = print->newest;
    print->rows++;
}

static void draw_progress(struct train_print *print) {
    char number[32], bound[48] = "", share[32], gap[48] = "";
    gap_text(print, share);
    if (print->newest.iteration > 0)
        snprintf(bound, sizeof bound, "bound %s", cb_short_text(print->newest.bound, 8, number));
    if (isfinite(gap_of(print, &print->newest)))
        snprintf(gap, sizeof gap, "gap %s", share);
    if (print->paused)
        snprintf(gap, sizeof gap, "paused");
    cb_progress_draw(&print->progress, bound, gap);
}

static const char *plural(size_t count) {
    return count == 1 ? "" : "s";
}

static void write_start(FILE *to, const struct train *train) {
    const struct session *base = &train->base;
    size_t ranks = cobre_size(base->comm);
    fprintf(to, "%s: ", cobre_sddp_problem_name(base->problem));
    cb_write_problem_size(to, base->problem);
    fprintf(to, "; %zu rank%s (%s)\n\n", ranks, plural(ranks), cobre_backend_name(cobre_comm_backend(base->comm)));
    if (!train->print.brief || to != stdout)
        write_header(to, &train->print);
}

void cb_train_print_start(struct train *train) {
    struct train_print *print = &train->print;
    const struct session *base = &train->base;
    print->quiet |= base->json; /* its lines are the events */
    print->brief = train->watch;
    print->maximises = cobre_sddp_problem_maximises(base->problem);
    print->averse = cb_options_averse(base->problem, &train->run.options);
    /* A launcher of its own may give each rank a terminal, wherever its output goes to: Open MPI's does. */
    print->terminal = !print->quiet && cb_live_possible() && !cb_backend_at(cobre_comm_backend(base->comm))->launcher;
    if (cb_log())
        write_start(cb_log(), train);
    cb_log();
    if (!print->quiet)
        write_start(stdout, train);
    fflush(stdout);
}

/* What the row before it was is known from `newest` alone: in the log each one stays. */
static void log_row(const struct train_print *print, const cobre_sddp_progress *last) {
    if (cb_log())
        write_row(cb_log(), print, last);
    cb_log();
}

void cb_train_print_row(struct train_print *print, const cobre_sddp_progress *progress) {
    cobre_sddp_progress last = print->newest;
    print->newest = *progress;
    cb_progress_note(&print->progress, progress);
    log_row(print, &last);
    bool stays = !print->terminal || print->last_kept.iteration == 0 || progress->seconds - print->kept >= 1;
    if (stays && !print->quiet && !print->brief)
        keep_row(print);
    if (print->terminal && (stays || cb_progress_is_old(&print->progress, 0.1)))
        draw_progress(print);
    fflush(stdout);
}

void cb_train_print_tick(struct train_print *print) {
    if (print->terminal && cb_progress_is_old(&print->progress, 1))
        draw_progress(print);
}

void cb_train_print_break(struct train_print *print) {
    if (print->terminal && print->newest.iteration > print->last_kept.iteration)
        keep_row(print);
    cb_live_clear();
    print->terminal = false;
    fflush(stdout);
}

static void write_bounds(FILE *to, const struct train_print *print, const cobre_sddp_progress *last, bool proven) {
    char bound[32], mean[32], half[32];
    double gap = gap_of(print, last);
    fprintf(to, "bound     %s (%s%s)", cb_short_text(last->bound, 9, bound), print->maximises ? "upper" : "lower",
            proven ? "" : ", unproven: with cuts of another case");
    if (isfinite(gap))
        fprintf(to, ", gap %.3g %%", 100 * gap);
    if (print->averse)
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

/* A program that reads the lines wants no hint; a person does. */
static void write_next(FILE *to, const struct train *train, const cobre_sddp_training *result) {
    const char *path = train->base.case_path;
    if (result->stop == COBRE_SDDP_STOP_ASKED) {
        fprintf(to, "go on     ");
        cb_train_write_command(to, train, true, train->out, false);
    }
    fprintf(to, "next      cobre simulate ");
    cb_shell_write(to, path);
    fprintf(to, " --policy ");
    cb_shell_write(to, train->run.policy);
    fprintf(to, "\n");
}

static void write_end(FILE *to, const struct train *train, const cobre_sddp_training *result,
                      const cobre_sddp_policy *policy) {
    fprintf(to, "\nstopped: %s, after %" PRIu64 " iteration%s and %.1f s\n", cobre_sddp_stop_name(result->stop),
            result->iterations, plural((size_t)result->iterations), result->seconds);
    const cobre_sddp_progress last = last_of(result, policy);
    char note[CB_TRAIN_NOTE];
    write_bounds(to, &train->print, &last, cobre_sddp_policy_proven(policy));
    for (size_t i = 0; cb_train_note(&train->run, result, policy, i, note); i++)
        if (*note)
            fprintf(to, "note      %s\n", note);
    fprintf(to, "\npolicy    %s (%" PRIu64 " cuts)\n", train->run.policy, cobre_sddp_policy_cuts(policy));
    fprintf(to, "trace     %s/" CB_FILE_TRAINING "\n", train->folder);
    fprintf(to, "times     %s/" CB_FILE_TIMES "\n", train->folder);
    write_next(to, train, result);
}

void cb_train_print_end(struct train *train, const cobre_sddp_training *result, const cobre_sddp_policy *policy) {
    struct train_print *print = &train->print;
    cb_train_print_break(print);
    if (cb_log())
        write_end(cb_log(), train, result, policy);
    cb_log();
    if (!print->quiet)
        write_end(stdout, train, result, policy);
}
