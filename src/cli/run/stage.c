/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c: how a job ends before its time. The stage of a job changes here and nowhere else.
 *
 * When a rank fails, the others get a moment to notice it and to report (FAILING), then SIGTERM (TERMINATING), then
 * SIGKILL (KILLING). A host that cannot be reached any more does not answer to that: at last the contact with the ranks
 * is cut, and all count as ended (CUTTING). The events:
 *   RANK_FAILED       a rank that had become its program ended badly.
 *   RANK_NOT_STARTED  a rank could not become its program: the others cannot form a job, and have nothing to report.
 *   INTERRUPTED       a signal that ends the job came while ranks were still starting: not all of them can be told.
 *   TIME_OVER         the stage has lasted as long as it may.
 * What is not in the table of transitions changes nothing. */
#include "cli/run/job.h"

static const struct {
    enum event event;
    enum stage from, to;
} transitions[] = {
    {.event = RANK_FAILED, .from = RUNNING, .to = FAILING},
    {.event = RANK_NOT_STARTED, .from = RUNNING, .to = KILLING},
    {.event = INTERRUPTED, .from = RUNNING, .to = KILLING},
    {.event = INTERRUPTED, .from = FAILING, .to = KILLING},
    {.event = INTERRUPTED, .from = TERMINATING, .to = KILLING},
    {.event = INTERRUPTED, .from = KILLING, .to = CUTTING},
    {.event = TIME_OVER, .from = FAILING, .to = TERMINATING},
    {.event = TIME_OVER, .from = TERMINATING, .to = KILLING},
    {.event = TIME_OVER, .from = KILLING, .to = CUTTING},
};

/* What a stage begins with, and how long it lasts. A rank inside a cobre call needs 100 ms to notice a death; the rest
 * of FAILING is for its own words. */
static const struct {
    int64_t lasts_ms; /* 0: until all ranks have ended */
    int signals[2];   /* to the ranks, in this order */
    bool cuts;
} stages[] = {
    [FAILING] = {.lasts_ms = 500},
    [TERMINATING] = {.lasts_ms = 2000, .signals = {SIGTERM, SIGCONT}}, /* a stopped rank would not see SIGTERM */
    [KILLING] = {.lasts_ms = 2000, .signals = {SIGKILL}},
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
    for (size_t i = 0; i < 2 && stages[stage].signals[i]; i++)
        cb_signal_ranks(job, stages[stage].signals[i]);
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
