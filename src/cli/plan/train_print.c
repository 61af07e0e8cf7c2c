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

#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

static unsigned screen_lines(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 8 ? size.ws_row - 3u : 20u;
}

static void keep_row(struct train_print *print) {
    cb_live_clear();
    if (print->terminal && print->rows >= screen_lines()) {
        cb_train_text_header(stdout, &print->text);
        print->rows = 0;
    }
    cb_train_text_row(stdout, &print->text, &print->last_kept, &print->newest);
    print->kept = print->newest.seconds;
    print->last_kept = print->newest;
    print->rows++;
}

static void draw_progress(struct train_print *print) {
    char number[32], bound[48] = "", share[32], gap[48] = "";
    double distance = cb_train_text_gap(&print->text, &print->newest);
    if (print->newest.iteration > 0)
        snprintf(bound, sizeof bound, "bound %s", cb_short_text(print->newest.bound, 8, number));
    if (isfinite(distance))
        snprintf(gap, sizeof gap, "gap %s", cb_train_text_share(distance, share));
    if (print->paused)
        snprintf(gap, sizeof gap, "paused");
    cb_progress_draw(&print->progress, bound, gap);
}

static void write_start(FILE *to, const struct train *train) {
    cb_train_text_start(to, &train->run);
    if (!train->print.brief || to != stdout)
        cb_train_text_header(to, &train->print.text);
}

void cb_train_print_start(struct train *train) {
    struct train_print *print = &train->print;
    const struct session *base = &train->base;
    print->quiet |= base->json; /* its lines are the events */
    print->brief = train->watch;
    print->text = cb_train_text_of(&train->run);
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
        cb_train_text_row(cb_log(), &print->text, last, &print->newest);
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
    cb_train_text_end(to, &train->run, result, policy);
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
