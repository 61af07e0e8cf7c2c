/* SPDX-License-Identifier: Apache-2.0 */
/* steer.c: commands to the training. The answer comes later: the screen does not wait for it. */
#include "cli/watch/dashboard.h"

#include "sddp/clock.h"

#include <poll.h>
#include <unistd.h>

#define PATIENCE 60.0 /* seconds */

const char *cb_steer_folder(const struct cb_dashboard *dashboard) {
    return dashboard->how->folder ? dashboard->how->folder : dashboard->history.out;
}

static void hang_up(struct cb_dashboard *dashboard) {
    if (dashboard->answer >= 0)
        close(dashboard->answer);
    dashboard->answer = -1;
}

void cb_steer_send(struct cb_dashboard *dashboard, const char *words) {
    char why[CB_STEERING_LINE];
    hang_up(dashboard);
    if (!*cb_steer_folder(dashboard)) {
        cb_say_line(dashboard, "the events do not say where the training writes to: it cannot be reached");
        return;
    }
    dashboard->answer = cb_steering_send(cb_steer_folder(dashboard), words, why);
    dashboard->sent = cb_clock();
    if (dashboard->answer < 0)
        cb_say_line(dashboard, "%s", why);
    else
        cb_say_line(dashboard, "%s: sent, waiting for the training to answer", words);
}

void cb_steer_hear(struct cb_dashboard *dashboard) {
    struct pollfd polled = {.fd = dashboard->answer, .events = POLLIN};
    char answer[CB_STEERING_LINE];
    if (dashboard->answer < 0)
        return;
    if (poll(&polled, 1, 0) > 0) {
        if (cb_steering_answer(dashboard->answer, answer))
            cb_say_line(dashboard, "the training says: %s", answer);
        else
            cb_say_line(dashboard, "the training has ended without an answer");
        hang_up(dashboard);
    } else if (cb_clock() - dashboard->sent > PATIENCE) {
        cb_say_line(dashboard, "no answer in %.0f s: the training is busy or stuck", PATIENCE);
        hang_up(dashboard);
    }
}
