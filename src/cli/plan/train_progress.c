/* SPDX-License-Identifier: Apache-2.0 */
/* train_progress.c: the line under the table on a terminal: how far the training is, and how long until the next rule stops
 * it. */
#include "cli/live.h"
#include "cli/plan/train.h"
#include "sddp/clock.h"

#include <string.h>

void cb_progress_begin(struct train_progress *progress, const cobre_sddp_train_options *options) {
    *progress = (struct train_progress){.begin = cb_clock()};
    cb_time_left_rules(&progress->left, options);
}

void cb_progress_note(struct train_progress *progress, const cobre_sddp_progress *newest) {
    cb_time_left_note(&progress->left, (double)newest->iteration, newest->seconds);
}

/* Adds ", text" where that leaves room for what must come after it. */
static void add(char line[CB_LIVE_COLUMNS], const char *text, size_t room) {
    size_t length = strlen(line);
    if (*text && length + 2 + strlen(text) <= room)
        snprintf(line + length, CB_LIVE_COLUMNS - length, ", %s", text);
}

void cb_progress_draw(struct train_progress *progress, const char *bound, const char *gap) {
    char line[CB_LIVE_COLUMNS], clock[32], left[CB_TIME_LEFT];
    double elapsed = cb_clock() - progress->begin, count = progress->left.newest.iteration;
    cb_time_left_text(&progress->left, elapsed, left);
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
    return cb_clock() - progress->begin - progress->drawn >= seconds;
}
