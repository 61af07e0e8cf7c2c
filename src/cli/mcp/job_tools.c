/* SPDX-License-Identifier: Apache-2.0 */
/* job_tools.c: the tools train, simulate, job_status and job_cancel. */
#include "cli/mcp/jobs.h"
#include "cli/mcp/study.h"
#include "sddp/clock.h"
#include "sddp/run/files.h"
#include "sddp/run/json.h"
#include "sddp/run/record.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* What a job has to say, now. */
static void answer(struct cb_mcp_call *call, const struct cb_job *job) {
    char text[1024];
    cb_job_sentence(job, text);
    cb_mcp_answer(call, cb_job_facts(job), "%s", text);
}

/* A job that was just asked for, and has failed: whoever asked can put it right. */
void cb_job_refuse(struct cb_mcp_call *call, const struct cb_job *job) {
    const char *message = cb_json_text_in(job->error, "message"), *advice = cb_json_text_in(job->error, "suggestion");
    bool of_case = strcmp(cb_json_text_in(job->error, "kind"), "InvalidCase") == 0;
    char next[1024];
    snprintf(next, sizeof next, "%.512s%s%s", *advice || of_case ? advice : "correct the arguments, and call it again",
             *advice && of_case ? "; " : "", of_case ? "validate_case tells every error of a case" : "");
    cb_mcp_refuse(call, next, "%s has failed with exit code %d%s%s%s%s", job->id, job->code, *message ? ": " : "",
                  message, job->said[0] ? "\nit said: " : "", job->said);
}

/* Of a training: iterations; of a simulation, which says nothing until its end: seconds. */
void cb_job_tell_progress(struct cb_mcp_call *call, const struct cb_job *job) {
    char text[256];
    const char *limit = cb_json_text_in(json_object_get(job->started, "rules"), "iterations");
    double iteration = cb_json_real_in(job->iteration, "iteration"), seconds = floor(cb_clock() - job->begin);
    if (strcmp(job->command, "train") != 0) {
        snprintf(text, sizeof text, "it simulates for %.0f s", seconds);
        cb_mcp_progress(call, seconds, NAN, text);
    } else if (!isnan(iteration)) {
        cb_job_brief(job, text);
        cb_mcp_progress(call, iteration, *limit ? strtod(limit, NULL) : NAN, text);
    }
}

static bool has_ended(const struct cb_job *job) {
    return job->state == CB_JOB_FINISHED || job->state == CB_JOB_FAILED;
}

static void look_at_started(struct cb_mcp_call *call, bool late) {
    const struct cb_job *job = call->data;
    if (job->state == CB_JOB_FAILED)
        cb_job_refuse(call, job);
    else if (has_ended(job) || late)
        answer(call, job);
    else
        cb_job_tell_progress(call, job);
}

static void look_at_any(struct cb_mcp_call *call, bool late) {
    const struct cb_job *job = call->data;
    if (has_ended(job) || late)
        answer(call, job);
    else
        cb_job_tell_progress(call, job);
}

void cb_job_stop(struct cb_mcp_call *call) {
    if (call->server->jobs->running == call->data)
        cb_jobs_stop(call->server->jobs, false);
}

/* Starting. */

/* "brazil3", of /cases/brazil3 or /cases/brazil3.sof.json.gz */
static void name_of_case(const char *path, char name[64]) {
    const char *slash = strrchr(path, '/');
    snprintf(name, 64, "%.48s", slash ? slash + 1 : path);
    char *end = strstr(name, ".sof.json");
    if (end)
        *end = 0;
    if (!*name)
        snprintf(name, 64, "case");
}

static bool make_folder(struct cb_mcp_call *call, const char *case_path, struct cb_place *out) {
    const char *given = cb_mcp_text(call, "out");
    char why[CB_PLACE_WHY], name[64], numbered[96];
    bool good = given && cb_place_make(&call->server->places, given, false, out, why);
    name_of_case(case_path, name);
    for (unsigned i = 1; !given && !good && (i == 1 || errno == EEXIST) && i < 1000000; i++) {
        snprintf(numbered, sizeof numbered, "%s-%u", name, i);
        good = cb_place_make(&call->server->places, numbered, true, out, why);
    }
    if (!good)
        cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "out",
                                                      .received = given ? given : "nothing",
                                                      .problem = why,
                                                      .next = "give another name, or leave it out"});
    return good;
}

bool cb_job_is_busy(struct cb_mcp_call *call) {
    const struct cb_job *job = call->server->jobs->running;
    if (!job)
        return false;
    cb_mcp_refuse(call, "wait for it with job_status, or end it with job_cancel, then try again",
                  "one job runs at a time, and %s (%s of %s) is %s", job->id, job->command, job->case_path,
                  cb_job_state_name(job->state));
    return true;
}

/* Takes the words: the command, the case, what `words` has, and where it goes to. */
static struct cb_job *start(struct cb_mcp_call *call, struct cb_job_words *words, const char *case_path,
                            const struct cb_place *out) {
    size_t workers = (size_t)cb_mcp_number(call, "num_workers", 1);
    cb_job_word(words, "--json");
    cb_job_word(words, "--out=%s", out->path);
    if (workers > 1)
        cb_job_word(words, "-n%zu", workers);
    struct cb_job *job = cb_jobs_start(call->server->jobs, words, case_path, out, workers);
    if (!job) {
        cb_mcp_refuse(call, "try again later", "a process cannot be started: %s", strerror(errno));
        return NULL;
    }
    call->data = job;
    cb_mcp_wait(call, cb_mcp_number(call, "wait", 45), look_at_started, cb_job_stop);
    return job;
}

static bool refuse_out(struct cb_mcp_call *call, const struct cb_place *out, const char *what, bool goes_on) {
    char problem[PATH_MAX + 128];
    snprintf(problem, sizeof problem, "%s %s", out->path, what);
    cb_mcp_mistake(
        call, &(struct cb_mcp_mistake){.field = "out",
                                       .received = cb_mcp_text(call, "out"),
                                       .problem = problem,
                                       .allowed = "a folder that is new, or has no results in it",
                                       .next = goes_on ? "give another out; to go on with the policy that is there, "
                                                         "give this folder as resume, too"
                                                       : "give another out"});
    return false;
}

/* May a training write there? Also where the policy is that it goes on from (in_place), if that was said so. *record: what is there. */
static bool check_out(struct cb_mcp_call *call, const struct cb_place *out, bool in_place, struct cb_record *record) {
    char path[PATH_MAX + 16];
    struct stat status;
    snprintf(path, sizeof path, "%s/case.json", out->path);
    if (stat(path, &status) == 0)
        return refuse_out(call, out, "is a case: results would come between its tables", false);
    if (cb_record_look(out->path, NULL, NULL, record) != COBRE_OK) {
        cb_mcp_failed(call);
        return false;
    }
    if (in_place || !(record->finished || record->policy || record->simulated))
        return true;
    return refuse_out(call, out,
                      record->finished ? "holds a finished run"
                      : record->policy ? "holds a policy"
                                       : "holds a simulation",
                      record->policy);
}

/* Is it the policy in that folder that the training goes on from? */
static bool is_in_place(const struct cb_job_words *words, const struct cb_place *out) {
    char word[PATH_MAX + 32];
    snprintf(word, sizeof word, "--resume=%s/" CB_FILE_POLICY, out->path);
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->word[i], word) == 0)
            return true;
    return false;
}

static void start_training(struct cb_mcp_call *call, struct cb_job_words *words, const char *case_path,
                           const struct cb_place *out) {
    struct cb_record record;
    if (!check_out(call, out, is_in_place(words, out), &record))
        return;
    struct cb_job *job = start(call, words, case_path, out);
    if (job && record.simulated)
        cb_json_append(job->warnings, cb_json_text("the simulation in this folder is of the policy that was there "
                                                   "before: simulate again"));
}

static void call_train(struct cb_mcp_call *call) {
    struct cb_place place, out = {.fd = -1};
    struct cb_job_words words = {.count = 0};
    if (cb_job_is_busy(call) || !cb_mcp_place(call, "case", CB_PLACE_ANY, &place))
        return;
    cb_job_word(&words, "train");
    cb_job_word(&words, "%s", place.path);
    if (cb_job_words(call, &words) && make_folder(call, place.path, &out))
        start_training(call, &words, place.path, &out);
    cb_job_words_free(&words);
    cb_place_close(&place);
    cb_place_close(&out);
}

/* Beside its policy, as on the command line, if that is below the output. */
static bool simulation_folder(struct cb_mcp_call *call, const char *case_path, const struct cb_place *policy,
                              struct cb_place *out) {
    char folder[PATH_MAX], why[CB_PLACE_WHY];
    snprintf(folder, sizeof folder, "%s", policy->path);
    *strrchr(folder, '/') = 0;
    if (!cb_mcp_text(call, "out") && cb_place_is_output(&call->server->places, policy) &&
        cb_place_find(&call->server->places, folder, CB_PLACE_FOLDER, out, why))
        return true;
    return make_folder(call, case_path, out);
}

static void call_simulate(struct cb_mcp_call *call) {
    struct cb_place place, policy = {.fd = -1}, out = {.fd = -1};
    struct cb_job_words words = {.count = 0};
    if (cb_job_is_busy(call) || !cb_mcp_place(call, "case", CB_PLACE_ANY, &place))
        return;
    cb_job_word(&words, "simulate");
    cb_job_word(&words, "%s", place.path);
    if (cb_study_policy_file(call, &policy) && cb_job_words(call, &words) &&
        simulation_folder(call, place.path, &policy, &out)) {
        cb_job_word(&words, "--policy=%s", policy.path);
        start(call, &words, place.path, &out);
    }
    cb_job_words_free(&words);
    cb_place_close(&place);
    cb_place_close(&policy);
    cb_place_close(&out);
}

/* Asking. */

/* The job that is asked for; without a name the last one. NULL: the call has been refused. */
static struct cb_job *find_job(struct cb_mcp_call *call) {
    struct cb_jobs *jobs = call->server->jobs;
    const char *id = cb_mcp_text(call, "job_id");
    struct cb_job *job = id            ? cb_jobs_find(jobs, id)
                         : jobs->count ? &jobs->job[(jobs->count - 1) % CB_JOBS_KEPT]
                                       : NULL;
    char known[256];
    if (job)
        return job;
    unsigned long long last = jobs->count, first = last > CB_JOBS_KEPT ? last - CB_JOBS_KEPT + 1 : 1;
    snprintf(known, sizeof known, last ? "job-%llu to job-%llu" : "there was no job since this server was started",
             first, last);
    cb_mcp_mistake(call,
                   &(struct cb_mcp_mistake){.field = "job_id",
                                            .received = id ? id : "nothing",
                                            .problem = "there is no such job: this server keeps its last 100 jobs",
                                            .allowed = known,
                                            .next = "list_studies names the runs that older jobs have left"});
    return NULL;
}

static void call_job_status(struct cb_mcp_call *call) {
    struct cb_job *job = find_job(call);
    if (!job)
        return;
    call->data = job;
    double wait = cb_mcp_number(call, "wait", 30);
    if (has_ended(job) || wait <= 0)
        answer(call, job);
    else
        cb_mcp_wait(call, wait, look_at_any, NULL);
}

static void call_job_cancel(struct cb_mcp_call *call) {
    struct cb_job *job = find_job(call);
    if (!job)
        return;
    call->data = job;
    if (has_ended(job)) {
        answer(call, job);
        return;
    }
    cb_jobs_stop(call->server->jobs, cb_mcp_yes(call, "at_once"));
    cb_mcp_wait(call, 30, look_at_any, NULL);
}

#define JOB_ID                                                                                                         \
    { .name = "job_id", .kind = CB_MCP_TEXT, .help = "as train or simulate has returned it (default: the last job)" }

static const struct cb_mcp_field status_input[] = {
    JOB_ID,
    {.name = "wait",
     .kind = CB_MCP_NUMBER,
     .limited = true,
     .most = 30,
     .fallback = "30",
     .help = "seconds to wait for the end of the job; 0: tells the state at once"},
    {.name = NULL},
};

static const struct cb_mcp_field cancel_input[] = {
    JOB_ID,
    {.name = "at_once",
     .kind = CB_MCP_YES_NO,
     .fallback = "false",
     .help = "leaves out the iteration under way instead of finishing it"},
    {.name = NULL},
};

const struct cb_mcp_tool cb_mcp_train = {
    .name = "train",
    .title = "Train a policy",
    .description =
        "Trains a policy for a case by SDDP, as `cobre train` does, into a new folder; a training that goes "
        "on (resume) in the folder of its policy (out) replaces that policy. Without a stopping rule it "
        "makes 100 iterations. Waits up to 45 s for the end; if that is not enough, it returns a job_id and the state "
        "so far, and the "
        "training goes on: ask job_status. One job runs at a time; the last 100 can be asked for until the "
        "server ends. "
        "Cancelling the request stops the training and saves it.",
    .make_input = cb_job_train_schema,
    .output = cb_job_fields,
    .writes = true,
    .destructive = true, /* resumed in place, the policy is replaced */
    .call = call_train,
};

const struct cb_mcp_tool cb_mcp_simulate = {
    .name = "simulate",
    .title = "Simulate a policy",
    .description = "Simulates a trained policy, as `cobre simulate` does, and writes tables of costs, storage, "
                   "generation and marginal "
                   "costs, which the run's folder holds then. Waits up to 45 s; then it returns a job_id: ask "
                   "job_status. One job runs at a "
                   "time.",
    .make_input = cb_job_simulate_schema,
    .output = cb_job_fields,
    .writes = true,
    .destructive = true, /* an older simulation beside the policy is replaced */
    .call = call_simulate,
};

const struct cb_mcp_tool cb_mcp_job_status = {
    .name = "job_status",
    .title = "State of a job",
    .description =
        "Waits up to 30 s for a training or simulation to end, and tells its state: iterations, bound, gap; of a "
        "finished one its results, as often as they are asked for.",
    .input = status_input,
    .output = cb_job_fields,
    .repeatable = true,
    .call = call_job_status,
};

const struct cb_mcp_tool cb_mcp_job_cancel = {
    .name = "job_cancel",
    .title = "Stop a job",
    .description =
        "Stops a training after the iteration under way and saves its policy, from which another one can go on "
        "(resume). A simulation keeps the trajectories that are finished.",
    .input = cancel_input,
    .output = cb_job_fields,
    .writes = true,
    .destructive = true,
    .repeatable = true,
    .call = call_job_cancel,
};
