/* SPDX-License-Identifier: Apache-2.0 */
/* train_progress.c: the line under the table on a terminal: how far the training is, and how long until the next rule stops
 * it.
 *
 * --time says that itself. For --iterations the time T(k) of the first k iterations is taken as c k^p: each iteration has
 * more cuts than the one before. p comes from T at k and at an earlier k; it is at least 1, and at most 2, so that noise of a
 * few iterations is not taken for growth. Nothing is claimed for the other rules. */
#include "cli/live.h"
#include "cli/plan/train.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void cb_progress_rules(struct train_progress *progress, const cobre_sddp_train_options *options) {
    cobre_sddp_train_options rules = *options;
    cb_rules_default(&rules);
    progress->iterations = rules.iterations;
    progress->seconds = rules.seconds;
    progress->all = rules.stop_when_all;
    progress->unpredictable = cb_rules_can_converge(&rules);
}

void cb_progress_begin(struct train_progress *progress, const cobre_sddp_train_options *options) {
    *progress = (struct train_progress){.begin = now()};
    cb_progress_rules(progress, options);
}

/* The early mark is a quarter to a half of the way behind: when the late one is, it becomes the early one. */
void cb_progress_note(struct train_progress *progress, const cobre_sddp_progress *newest) {
    struct train_mark mark = {.iteration = (double)newest->iteration, .seconds = newest->seconds};
    if (progress->first.iteration == 0)
        progress->first = progress->early = progress->late = mark;
    double made = mark.iteration - progress->first.iteration;
    if (made >= 2 * (progress->late.iteration - progress->first.iteration)) {
        progress->early = progress->late;
        progress->late = mark;
    }
    progress->newest = mark;
}

/* Until the last iteration; NaN: too little is known, or there is no last one. */
static double time_to_last(const struct train_progress *progress, double elapsed) {
    enum { FEW = 4 };
    const struct train_mark *first = &progress->first;
    double k = progress->newest.iteration - first->iteration, n = (double)progress->iterations - first->iteration;
    double early = progress->early.iteration - first->iteration;
    double time = progress->newest.seconds - first->seconds, early_time = progress->early.seconds - first->seconds;
    if (progress->iterations == 0 || k < FEW || early_time <= 0 || time <= early_time)
        return NAN;
    double p = fmin(2, fmax(1, log(time / early_time) / log(k / early)));
    double left = (time - early_time) * (pow(n, p) - pow(k, p)) / (pow(k, p) - pow(early, p));
    return fmax(0, left - (elapsed - progress->newest.seconds)); /* part of the next iteration is over */
}

/* "12 s", "3 min", "1.5 h" */
static const char *duration_text(double seconds, char text[32]) {
    if (seconds < 99.5)
        snprintf(text, 32, "%.0f s", seconds);
    else if (seconds < 5970)
        snprintf(text, 32, "%.0f min", seconds / 60);
    else
        snprintf(text, 32, seconds < 172800 ? "%.1f h" : "%.0f h", seconds / 3600);
    return text;
}

/* "12 s to 100 iterations"; empty: it cannot be said. Of several rules the first one counts, or with --stop all the last. */
static void left_text(const struct train_progress *progress, double elapsed, char text[96]) {
    bool counts = progress->iterations > 0, timed = progress->seconds > 0;
    double by_count = time_to_last(progress, elapsed), by_time = fmax(0, progress->seconds - elapsed);
    bool unknown = progress->all && (progress->unpredictable || (counts && isnan(by_count)));
    bool first = timed && (isnan(by_count) || (progress->all ? by_time >= by_count : by_time <= by_count));
    char duration[32];
    text[0] = 0;
    if (!unknown && first)
        snprintf(text, 96, "%s to the time limit", duration_text(by_time, duration));
    else if (!unknown && !isnan(by_count))
        snprintf(text, 96, "%s to %" PRIu64 " iterations", duration_text(by_count, duration), progress->iterations);
}

/* Adds ", text" where that leaves room for what must come after it. */
static void add(char line[CB_LIVE_COLUMNS], const char *text, size_t room) {
    size_t length = strlen(line);
    if (*text && length + 2 + strlen(text) <= room)
        snprintf(line + length, CB_LIVE_COLUMNS - length, ", %s", text);
}

void cb_progress_draw(struct train_progress *progress, const char *bound, const char *gap) {
    char line[CB_LIVE_COLUMNS], clock[32], left[96];
    double elapsed = now() - progress->begin, count = progress->newest.iteration;
    left_text(progress, elapsed, left);
    size_t all = cb_live_room(), last = *left ? strlen(left) + 2 : 0, room = all > last ? all - last : 0;
    if (count > 0)
        snprintf(line, sizeof line, "%.0f iteration%s", count, count == 1 ? "" : "s");
    else
        snprintf(line, sizeof line, "no iteration yet");
    add(line, cb_clock_text(elapsed, clock), room);
    add(line, bound, room);
    add(line, gap, room);
    add(line, left, all);
    cb_live_draw(line);
    progress->drawn = elapsed;
}

bool cb_progress_is_old(const struct train_progress *progress, double seconds) {
    return now() - progress->begin - progress->drawn >= seconds;
}
