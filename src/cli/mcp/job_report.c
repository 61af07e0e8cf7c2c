/* SPDX-License-Identifier: Apache-2.0 */
/* job_report.c: reports about a job: its state so far, and its results. */
#include "cli/mcp/jobs.h"
#include "cli/mcp/words.h"
#include "sddp/clock.h"
#include "sddp/run/files.h"
#include "sddp/run/json.h"
#include "sddp/run/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NUMBER(key, text)                                                                                              \
    { .name = key, .kind = CB_MCP_NUMBER, .nullable = true, .help = text }
#define COUNT(key, text)                                                                                               \
    { .name = key, .kind = CB_MCP_WHOLE, .nullable = true, .help = text }
#define TEXT(key, text)                                                                                                \
    { .name = key, .kind = CB_MCP_TEXT, .nullable = true, .help = text }
#define YES_NO(key, text)                                                                                              \
    { .name = key, .kind = CB_MCP_YES_NO, .nullable = true, .help = text }

const struct cb_mcp_field cb_job_fields[] = {
    {.name = "job_id", .kind = CB_MCP_TEXT, .required = true, .help = "for job_status and job_cancel"},
    {.name = "tool", .kind = CB_MCP_TEXT, .required = true, .help = "train or simulate"},
    {.name = "status",
     .kind = CB_MCP_TEXT,
     .required = true,
     .choices = (const char *const[]){"running", "stopping", "finished", "failed", NULL},
     .help = "running, stopping (it saves), finished or failed"},
    {.name = "case", .kind = CB_MCP_TEXT, .required = true, .help = "path of the case"},
    {.name = "run", .kind = CB_MCP_TEXT, .required = true, .help = "the folder of the results"},
    {.name = "seconds", .kind = CB_MCP_NUMBER, .required = true, .help = "since it was started, or that it took"},
    TEXT("policy", "file of the policy, once one is saved"),
    COUNT("iteration", "iterations of the training that are finished"),
    NUMBER("bound", "of the optimal cost"),
    NUMBER("window_mean", "cost of the last forward passes, on average"),
    NUMBER("window_half", "half the 95 % interval of that mean"),
    NUMBER("gap", "between bound and mean, as a share of the mean"),
    COUNT("cuts", "in the policy"),
    TEXT("cost_unit", "of bounds and costs"),
    TEXT("stop", "why the training has ended"),
    YES_NO("converged", "a rule has found that it converged"),
    TEXT("sampling", "of a simulation"),
    COUNT("trajectories", "of a simulation"),
    NUMBER("mean", "cost of the trajectories of a simulation"),
    NUMBER("half", "half the 95 % interval of that mean"),
    NUMBER("deviation", "standard deviation of the costs"),
    NUMBER("minimum", "of the costs"),
    NUMBER("maximum", "of the costs"),
    TEXT("note", "what is odd about a simulation"),
    YES_NO("stopped", "it was asked to stop before its own end"),
    TEXT("limit", "of the server that has ended it: time or iterations"),
    {.name = "warnings",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_TEXT,
     .help = "what the result depends on, and what is odd"},
    TEXT("error", "why it has failed"),
    TEXT("suggestion", "what to do about that"),
    {.name = NULL},
};

static void copy(json_t *facts, const json_t *from, const char *const *keys) {
    for (; *keys; keys++) {
        json_t *value = json_object_get(from, *keys);
        if (value)
            cb_json_set(facts, *keys, json_incref(value));
    }
}

/* An older policy may be there, too: it counts once this job has saved. */
static void put_policy(json_t *facts, const struct cb_job *job) {
    json_t *policy = json_object_get(job->finished, "policy");
    if (json_is_string(policy))
        cb_json_set(facts, "policy", json_incref(policy));
}

static void put_training(json_t *facts, const struct cb_job *job) {
    copy(facts, job->started, (const char *const[]){"cost_unit", NULL});
    copy(facts, job->iteration,
         (const char *const[]){"iteration", "bound", "window_mean", "window_half", "gap", "cuts", NULL});
    copy(facts, job->finished,
         (const char *const[]){"bound", "window_mean", "window_half", "cuts", "stop", "converged", NULL});
    json_t *made = json_object_get(job->finished, "iterations");
    if (made)
        cb_json_set(facts, "iteration", json_incref(made));
    put_policy(facts, job);
}

/* A simulation tells them at its end, a training one by one. */
static void put_warnings(json_t *facts, const struct cb_job *job) {
    const json_t *told = json_object_get(job->finished, "warnings");
    const json_t *warnings = json_array_size(told) > 0 ? told : job->warnings;
    if (json_array_size(warnings) > 0)
        cb_json_set(facts, "warnings", cb_mcp_plain_list(warnings));
}

static void put_error(json_t *facts, const struct cb_job *job) {
    const char *message = cb_json_text_in(job->error, "message");
    if (job->state != CB_JOB_FAILED)
        return;
    cb_json_set(facts, "error",
                cb_mcp_plain_json(*message       ? message
                                  : job->said[0] ? job->said
                                                 : "it ended without a word"));
    if (job->error)
        cb_json_set(facts, "suggestion", cb_mcp_plain_json(cb_json_text_in(job->error, "suggestion")));
}

json_t *cb_job_facts(const struct cb_job *job) {
    json_t *facts = json_object();
    double seconds = (job->end > 0 ? job->end : cb_clock()) - job->begin;
    cb_json_set(facts, "job_id", cb_json_text(job->id));
    cb_json_set(facts, "tool", cb_json_text(job->command));
    cb_json_set(facts, "status", cb_json_text(cb_job_state_name(job->state)));
    cb_json_set(facts, "case", cb_json_text(job->case_path));
    cb_json_set(facts, "run", cb_json_text(job->out));
    cb_json_set(facts, "seconds", json_real(round(1e3 * seconds) / 1e3));
    if (strcmp(job->command, "train") == 0)
        put_training(facts, job);
    else
        copy(facts, job->finished,
             (const char *const[]){"sampling", "trajectories", "cost_unit", "mean", "half", "deviation", "minimum",
                                   "maximum", "bound", "gap", "note", NULL});
    if (job->stopped)
        cb_json_set(facts, "stopped", json_true());
    if (job->limit)
        cb_json_set(facts, "limit", cb_json_text(job->limit));
    put_warnings(facts, job);
    put_error(facts, job);
    return facts;
}

static void training_words(const json_t *facts, char text[256]) {
    char bound[32], gap[96] = "";
    const char *unit = cb_json_text_in(facts, "cost_unit");
    double share = cb_json_real_in(facts, "gap"), mean = cb_json_real_in(facts, "window_mean");
    bool chance = share < 0 && -share * fabs(mean) <= cb_json_real_in(facts, "window_half");
    uint64_t iterations = cb_json_count_in(facts, "iteration");
    if (!json_object_get(facts, "iteration")) {
        snprintf(text, 256, "no iteration is finished yet");
        return;
    }
    if (isfinite(share))
        snprintf(gap, sizeof gap, ", gap %.3g %%%s", 100 * share, chance ? " (within the sampling error)" : "");
    snprintf(text, 256, "%" PRIu64 " iteration%s, bound %s%s%.60s%s", iterations, iterations == 1 ? "" : "s",
             cb_short_text(cb_json_real_in(facts, "bound"), 8, bound), cb_unit_blank(unit), unit, gap);
}

static void simulation_words(const json_t *facts, char text[256]) {
    char mean[32], half[32];
    const char *unit = cb_json_text_in(facts, "cost_unit");
    if (!json_object_get(facts, "mean"))
        snprintf(text, 256, "it has no results yet");
    else
        snprintf(text, 256, "%" PRIu64 " trajectories, mean cost %s +- %s%s%.60s",
                 cb_json_count_in(facts, "trajectories"), cb_short_text(cb_json_real_in(facts, "mean"), 8, mean),
                 cb_short_text(cb_json_real_in(facts, "half"), 5, half), cb_unit_blank(unit), unit);
}

void cb_job_brief(const struct cb_job *job, char text[256]) {
    json_t *facts = cb_job_facts(job);
    if (strcmp(job->command, "train") == 0)
        training_words(facts, text);
    else
        simulation_words(facts, text);
    json_decref(facts);
}

/* " Mind: the policy had 500 iterations before." The last warning, or else what is odd about the gap. */
static void odd_words(const json_t *facts, char text[512]) {
    const json_t *warnings = json_object_get(facts, "warnings");
    size_t count = json_array_size(warnings);
    const char *note = cb_json_text_in(facts, "note");
    const char *warning = count ? json_string_value(json_array_get(warnings, count - 1)) : "";
    *text = 0;
    if (*warning)
        snprintf(text, 512, " Mind: %.440s%s.", warning, count > 1 ? "; there are more warnings" : "");
    else if (*note)
        snprintf(text, 512, " Mind: %.480s.", note);
}

void cb_job_sentence(const struct cb_job *job, char text[1024]) {
    char words[256], odd[512];
    bool train = strcmp(job->command, "train") == 0;
    json_t *facts = cb_job_facts(job);
    cb_job_brief(job, words);
    odd_words(facts, odd);
    const char *stop = cb_json_text_in(facts, "stop");
    if (job->state == CB_JOB_FAILED)
        snprintf(text, 1024, "%s has failed: %.800s", job->id, cb_json_text_in(facts, "error"));
    else if (job->state == CB_JOB_FINISHED)
        snprintf(text, 1024, "%s is finished%s%s: %s.%s%s", job->id, *stop ? ", " : "", stop, words, odd,
                 train ? " Next: simulate it, then ask query_convergence." : " Next: query_convergence.");
    else
        snprintf(text, 1024,
                 "%s is %s: %s. job_status with job_id %s waits for its end; job_cancel stops and saves it.", job->id,
                 cb_job_state_name(job->state), words, job->id);
    json_decref(facts);
}
