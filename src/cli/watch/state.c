/* SPDX-License-Identifier: Apache-2.0 */
/* state.c: how the training is, in words. */
#include "cli/watch/dashboard.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { LOOKED_AT = 20 }; /* iterations that tell how long one takes */
#define LATE_FROM 5.0    /* seconds */
#define LATE_TIMES 3.0   /* so many times the longest of them */

/* A lock of another host may not be seen here. */
static bool is_here(const struct cb_history *history) {
    char host[CB_SHORT] = "";
    gethostname(host, sizeof host - 1);
    return !*history->host || strcmp(history->host, host) == 0;
}

static bool has_died(const struct cb_dashboard *dashboard) {
    const struct cb_watch *how = dashboard->how;
    if (!how->folder)
        return dashboard->source.ended;
    return dashboard->unlocked && (how->alive || is_here(&dashboard->history));
}

static double longest_of_last(const struct cb_history *history) {
    double longest = 0;
    for (size_t i = 0; i < LOOKED_AT && i < history->count; i++)
        longest = fmax(longest, history->record[history->count - 1 - i].took); /* a NaN does not count */
    return longest;
}

static double silent_for(const struct cb_dashboard *dashboard) {
    return fmax(0, cb_source_clock() - dashboard->source.changed);
}

void cb_state_find(struct cb_dashboard *dashboard) {
    const struct cb_history *history = &dashboard->history;
    double silent = silent_for(dashboard);
    bool late = history->count > 0 && silent > LATE_FROM && silent > LATE_TIMES * longest_of_last(history);
    dashboard->state = history->end == CB_FINISHED ? CB_ENDED
                       : history->end == CB_FAILED ? CB_BROKEN
                       : has_died(dashboard)       ? CB_DIED
                       : !history->events          ? CB_STARTING
                       : history->paused           ? CB_PAUSED
                       : late                      ? CB_LAGGING
                                                   : CB_RUNNING;
}

bool cb_state_is_over(const struct cb_dashboard *dashboard) {
    return dashboard->state == CB_ENDED || dashboard->state == CB_BROKEN || dashboard->state == CB_DIED;
}

double cb_state_elapsed(const struct cb_dashboard *dashboard) {
    bool stands =
        cb_state_is_over(dashboard) || (dashboard->state == CB_PAUSED && dashboard->history.left.seconds <= 0);
    return dashboard->history.seconds + (stands ? 0 : silent_for(dashboard));
}

void cb_state_text(const struct cb_dashboard *dashboard, char text[CB_LONG]) {
    const struct cb_history *history = &dashboard->history;
    switch (dashboard->state) {
    case CB_STARTING: snprintf(text, CB_LONG, "starting: no event yet"); break;
    case CB_RUNNING: snprintf(text, CB_LONG, "running"); break;
    case CB_PAUSED: snprintf(text, CB_LONG, "paused"); break;
    case CB_LAGGING: snprintf(text, CB_LONG, "lagging: no event for %.0f s", silent_for(dashboard)); break;
    case CB_ENDED: snprintf(text, CB_LONG, "finished: %.900s", history->reason); break;
    case CB_BROKEN: snprintf(text, CB_LONG, "failed: %.900s", history->reason); break;
    case CB_DIED: snprintf(text, CB_LONG, "died: it has ended without a word"); break;
    }
}

void cb_state_judge(const struct cb_dashboard *dashboard, struct cb_run_verdict *verdict) {
    const struct cb_history *history = &dashboard->history;
    size_t at = dashboard->cursor;
    const struct cb_record *record = &history->record[at];
    bool broken = dashboard->follows && (dashboard->state == CB_BROKEN || dashboard->state == CB_DIED);
    const struct cb_evidence evidence = {
        .unfinished = broken ? "The training has not ended by itself." : "",
        .trained = true,
        .maximises = history->maximises,
        .averse = history->averse,
        .unproven = !history->proven,
        .simulated = record->passes > 0,
        .sampled = true,
        .start = "",
        .bound = history->trace[at].bound,
        .mean = history->trace[at].mean,
        .half = history->trace[at].half,
        .trajectories = record->passes > 0 && record->passes < 1e15 ? (uint64_t)record->passes : 0,
        .trace = history->trace,
        .iterations = at + 1,
        .without_cut = history->without_cut,
    };
    cb_judge(&evidence, verdict);
}
