/* SPDX-License-Identifier: Apache-2.0 */
/* time_left.h: estimates the time until the next rule stops a training, for its own progress line and for `cobre watch`. */
#ifndef COBRE_CLI_PLAN_TIME_LEFT_H
#define COBRE_CLI_PLAN_TIME_LEFT_H

#include "cobre/sddp.h"

struct time_mark {
    double iteration, seconds;
};

struct time_left {
    uint64_t iterations; /* rules; 0: not set */
    double seconds;
    bool all, unpredictable;                     /* --stop all; some rules cannot be predicted */
    struct time_mark first, early, late, newest; /* of this run; all 0 before the first iteration */
};

/* Takes the rules; the marks stay. */
void cb_time_left_rules(struct time_left *left, const cobre_sddp_train_options *options);

/* An iteration has ended so many seconds after the start of the training. */
void cb_time_left_note(struct time_left *left, double iteration, double seconds);

/* A pause begins or ends. Earlier times then say nothing about the time that is left. Until there are new marks, only a
 * time limit gives an estimate. */
void cb_time_left_pause(struct time_left *left);

/* "12 s to 100 iterations"; empty: there is no estimate. elapsed: seconds since the start. */
enum { CB_TIME_LEFT = 96 };
void cb_time_left_text(const struct time_left *left, double elapsed, char text[CB_TIME_LEFT]);

#endif
