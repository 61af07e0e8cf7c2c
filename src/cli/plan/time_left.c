/* SPDX-License-Identifier: Apache-2.0 */
/* time_left.c: estimates the time until the next rule stops a training.
 *
 * For --time it is known. For --iterations the time T(k) of the first k iterations is taken as c k^p, because each
 * iteration has more cuts than the one before. p comes from T at k and at an earlier k. It is limited to 1 to 2, so
 * that the noise of a few iterations is not mistaken for growth. For the other rules there is no estimate. */
#include "cli/plan/time_left.h"

#include "sddp/train/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void cb_time_left_rules(struct time_left *left, const cobre_sddp_train_options *options) {
    cobre_sddp_train_options rules = *options;
    cb_rules_default(&rules);
    left->iterations = rules.iterations;
    left->seconds = rules.seconds;
    left->all = rules.stop_when_all;
    left->unpredictable = cb_rules_can_converge(&rules);
}

/* The early mark is a quarter to a half of the way behind: when the late one is, it becomes the early one. */
void cb_time_left_note(struct time_left *left, double iteration, double seconds) {
    struct time_mark mark = {.iteration = iteration, .seconds = seconds};
    if (left->first.iteration == 0)
        left->first = left->early = left->late = mark;
    double made = mark.iteration - left->first.iteration;
    if (made >= 2 * (left->late.iteration - left->first.iteration)) {
        left->early = left->late;
        left->late = mark;
    }
    left->newest = mark;
}

void cb_time_left_pause(struct time_left *left) {
    left->first = (struct time_mark){.iteration = 0};
}

/* Until the last iteration; NaN: too little is known, or there is no last one. */
static double time_to_last(const struct time_left *left, double elapsed) {
    enum { FEW = 4 };
    const struct time_mark *first = &left->first;
    double k = left->newest.iteration - first->iteration, n = (double)left->iterations - first->iteration;
    double early = left->early.iteration - first->iteration;
    double time = left->newest.seconds - first->seconds, early_time = left->early.seconds - first->seconds;
    if (first->iteration == 0 || left->iterations == 0 || k < FEW || early_time <= 0 || time <= early_time)
        return NAN;
    double p = fmin(2, fmax(1, log(time / early_time) / log(k / early)));
    double rest = (time - early_time) * (pow(n, p) - pow(k, p)) / (pow(k, p) - pow(early, p));
    return fmax(0, rest - (elapsed - left->newest.seconds)); /* part of the next iteration is over */
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

/* Of several rules the first one counts, or with --stop all the last. */
void cb_time_left_text(const struct time_left *left, double elapsed, char text[CB_TIME_LEFT]) {
    bool counts = left->iterations > 0, timed = left->seconds > 0;
    double by_count = time_to_last(left, elapsed), by_time = fmax(0, left->seconds - elapsed);
    bool unknown = left->all && (left->unpredictable || (counts && isnan(by_count)));
    bool first = timed && (isnan(by_count) || (left->all ? by_time >= by_count : by_time <= by_count));
    char duration[32];
    text[0] = 0;
    if (!unknown && first)
        snprintf(text, CB_TIME_LEFT, "%s to the time limit", duration_text(by_time, duration));
    else if (!unknown && !isnan(by_count))
        snprintf(text, CB_TIME_LEFT, "%s to %" PRIu64 " iterations", duration_text(by_count, duration),
                 left->iterations);
}
