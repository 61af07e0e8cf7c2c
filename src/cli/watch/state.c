/* SPDX-License-Identifier: Apache-2.0 */
/* state.c: the state of the training, in words. */
#include "cli/watch/dashboard.h"

#include "sddp/clock.h"
#include "sddp/run/numbers.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { LOOKED_AT = 20 };          /* iterations that tell how long one takes */
#define LATE_FROM 5.0             /* seconds */
#define LATE_TIMES 3.0            /* so many times the longest of them */
#define LATE_FIRST 60.0           /* seconds, before the first iteration */
enum { ENOUGH = 100, EARLY = 4 }; /* passes that tell a mean; the first quarter of the iterations is early */

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
    return fmax(0, cb_clock() - dashboard->source.changed);
}

void cb_state_find(struct cb_dashboard *dashboard) {
    const struct cb_history *history = &dashboard->history;
    double silent = silent_for(dashboard);
    double patience = history->count ? fmax(LATE_FROM, LATE_TIMES * longest_of_last(history)) : LATE_FIRST;
    bool late = silent > patience;
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
    return dashboard->history.seconds + (cb_state_is_over(dashboard) ? 0 : silent_for(dashboard));
}

static double last_iteration(const struct cb_history *history) {
    return history->count ? history->trace[history->count - 1].iteration : 0;
}

void cb_state_text(const struct cb_dashboard *dashboard, char text[CB_LONG]) {
    const struct cb_history *history = &dashboard->history;
    char clock[32];
    cb_clock_text(cb_state_elapsed(dashboard), clock);
    switch (dashboard->state) {
    case CB_STARTING: snprintf(text, CB_LONG, "starting: no event yet"); break;
    case CB_RUNNING:
        if (history->count)
            snprintf(text, CB_LONG, "running");
        else
            snprintf(text, CB_LONG, "running for %s, no iteration yet", clock);
        break;
    case CB_PAUSED: snprintf(text, CB_LONG, "paused"); break;
    case CB_LAGGING: snprintf(text, CB_LONG, "lagging: no event for %.0f s", silent_for(dashboard)); break;
    case CB_ENDED: snprintf(text, CB_LONG, "finished: %.900s", history->reason); break;
    case CB_BROKEN: snprintf(text, CB_LONG, "failed: %.900s", history->reason); break;
    case CB_DIED:
        if (history->count)
            snprintf(text, CB_LONG, "died at iteration %.0f", last_iteration(history));
        else
            snprintf(text, CB_LONG, "died before an iteration");
        break;
    }
}

/* After a death: what is left of it, and what to do. */
static void say_what_is_left(const struct cb_dashboard *dashboard, char *text, size_t room) {
    const struct cb_history *history = &dashboard->history;
    const char *how = dashboard->how->folder ? "It was killed" : "The events have ended";
    int length = history->count ? snprintf(text, room, "%s at iteration %.0f; ", how, last_iteration(history))
                                : snprintf(text, room, "%s; ", how);
    text += length;
    room -= (size_t)length;
    if (history->saved > 0 && *history->policy && *history->problem)
        snprintf(text, room,
                 "the last checkpoint is of iteration %.0f: cobre train %.300s --resume %.300s goes on from it.",
                 history->saved, history->problem, history->policy);
    else if (history->saved > 0)
        snprintf(text, room, "the last checkpoint is of iteration %.0f: go on from it by --resume.", history->saved);
    else
        snprintf(text, room, "no policy was saved: train it again.");
}

/* The mean still holds passes of the first policies, which were worse. */
static bool is_early(const struct cb_history *history, size_t at) {
    const struct cb_record *record = &history->record[at];
    double enough = history->rules.window > 0 ? fmin(ENOUGH, (double)history->rules.window) : ENOUGH;
    double iteration = history->trace[at].iteration, oldest = iteration - record->passes / history->forward_passes;
    return record->passes < enough || oldest < iteration / EARLY;
}

static bool is_newest(const struct cb_dashboard *dashboard, size_t at) {
    return at + 1 == dashboard->history.count;
}

/* What a report would advise, as to simulate more, helps nobody while it trains. */
static void judge_early(const struct cb_record *record, struct cb_run_verdict *verdict) {
    verdict->word = CB_NOT_YET;
    verdict->beyond = false;
    if (record->passes > 1)
        snprintf(
            verdict->sentence, sizeof verdict->sentence,
            "The mean of the last %.0f passes still holds early passes, of worse policies, so that the gap comes down "
            "with delay.",
            record->passes);
    else
        snprintf(verdict->sentence, sizeof verdict->sentence, "There are too few passes yet for a gap that tells.");
}

void cb_state_judge(const struct cb_dashboard *dashboard, struct cb_run_verdict *verdict) {
    const struct cb_history *history = &dashboard->history;
    size_t at = dashboard->cursor;
    const struct cb_record *record = &history->record[at];
    bool newest = is_newest(dashboard, at), over = newest && cb_state_is_over(dashboard);
    bool broken = newest && (dashboard->state == CB_BROKEN || dashboard->state == CB_DIED);
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
    if (broken && dashboard->state == CB_DIED)
        say_what_is_left(dashboard, verdict->sentence, sizeof verdict->sentence);
    else if (!over && !history->averse && history->proven && is_early(history, at))
        judge_early(record, verdict);
}
