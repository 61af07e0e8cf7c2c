/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c: the early end of a job. Its stage changes here and nowhere else.
 *
 * A signal that asks for the end is passed on to the ranks, which then end by themselves. After a second one they get a
 * moment (HURRYING), then SIGKILL (KILLING); after a third one SIGKILL at once. Ranks that are the command itself get
 * both one signal later.
 *
 * When a rank fails, the others get a moment to notice it and to report (FAILING), then SIGTERM (TERMINATING), then
 * SIGKILL (KILLING). A host that cannot be reached any more does not react to that: finally the connection to the ranks
 * is cut, and all count as ended (CUTTING). The events:
 *   RANK_FAILED       a rank that had become its program ended badly.
 *   RANK_NOT_STARTED  a rank could not become its program: the others cannot form a job, and have nothing to report.
 *   ASKED_TWICE       a second signal asks for the end (a third one, see above).
 *   INTERRUPTED       one more does, or one that came while ranks were still starting: not all of them can be told.
 *   TIME_OVER         the stage has lasted as long as it may.
 * An event without a transition in the table changes nothing. */
#include "cli/run/job.h"

static const struct {
    enum event event;
    enum stage from, to;
} transitions[] = {
    {.event = RANK_FAILED, .from = RUNNING, .to = FAILING},
    {.event = RANK_NOT_STARTED, .from = RUNNING, .to = KILLING},
    {.event = ASKED_TWICE, .from = RUNNING, .to = HURRYING},
    {.event = ASKED_TWICE, .from = FAILING, .to = HURRYING},
    {.event = INTERRUPTED, .from = RUNNING, .to = KILLING},
    {.event = INTERRUPTED, .from = HURRYING, .to = KILLING},
    {.event = INTERRUPTED, .from = FAILING, .to = KILLING},
    {.event = INTERRUPTED, .from = TERMINATING, .to = KILLING},
    {.event = INTERRUPTED, .from = KILLING, .to = CUTTING},
    {.event = TIME_OVER, .from = HURRYING, .to = KILLING},
    {.event = TIME_OVER, .from = FAILING, .to = TERMINATING},
    {.event = TIME_OVER, .from = TERMINATING, .to = KILLING},
    {.event = TIME_OVER, .from = KILLING, .to = CUTTING},
};

/* What a stage begins with, and how long it lasts. A rank inside a cobre call needs 100 ms to notice a death; the rest
 * of FAILING is for its own words. */
static const struct {
    int64_t lasts_ms; /* 0: until all ranks have ended */
    int signal;       /* to the ranks; 0: none */
    bool cuts;
} stages[] = {
    [HURRYING] = {.lasts_ms = 2000},
    [FAILING] = {.lasts_ms = 500},
    [TERMINATING] = {.lasts_ms = 2000, .signal = SIGTERM},
    [KILLING] = {.lasts_ms = 2000, .signal = SIGKILL},
    [CUTTING] = {.cuts = true},
};

bool cb_is_stopping(enum stage stage) {
    return stage == TERMINATING || cb_is_killing(stage);
}

bool cb_is_killing(enum stage stage) {
    return stage == KILLING || stage == CUTTING;
}

/* To all groups, those of ended leaders too: their children may live. */
void cb_signal_ranks(const struct job *job, int signal) {
    for (size_t i = 0; i < job->started; i++)
        job->place->signal(&job->ranks[i], signal);
}

static void enter(struct job *job, enum stage stage) {
    job->stage = stage;
    job->deadline = stages[stage].lasts_ms ? cb_now_ms() + stages[stage].lasts_ms : INT64_MAX;
    if (stages[stage].signal)
        cb_signal_ranks(job, stages[stage].signal);
    if (stages[stage].cuts && job->place->cut)
        job->place->cut(job);
}

void cb_job_event(struct job *job, enum event event) {
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++)
        if (transitions[i].event == event && transitions[i].from == job->stage) {
            enter(job, transitions[i].to);
            return;
        }
}
