/* SPDX-License-Identifier: Apache-2.0 */
/* export_simulate.c: makes tables that a run does not have. A job simulates its policy again, with the options in
 * run.json. Results do not depend on the number of ranks, so they are those of the run. */
#include "cli/mcp/export_results.h"

#include "sddp/run/json.h"
#include "sddp/run/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(struct cb_export *export, const char *field, const char *problem, const char *next) {
    cb_export_drop(export);
    cb_mcp_mistake(export->call,
                   &(struct cb_mcp_mistake){
                       .field = field, .received = cb_mcp_text(export->call, field), .problem = problem, .next = next});
    return false;
}

static const json_t *simulation_of(const struct cb_export *export) {
    return json_object_get(export->record, "simulation");
}

static json_t *option(const struct cb_export *export, const char *name) {
    return json_object_get(json_object_get(simulation_of(export), "options"), name);
}

/* The policy: the argument, or that of the run's folder. It must be the one that was simulated. */
static bool find_policy(struct cb_export *export, struct cb_place *policy) {
    char path[PATH_MAX + 32], why[CB_PLACE_WHY], hash[CB_SHA256_TEXT];
    const char *its = json_string_value(json_object_get(simulation_of(export), "policy"));
    snprintf(path, sizeof path, "%s/" CB_FILE_POLICY, export->run.path);
    if (cb_mcp_text(export->call, "policy")) {
        if (!cb_study_policy_file(export->call, policy))
            return false;
    } else if (!cb_place_find(&export->call->server->places, path, CB_PLACE_FILE, policy, why)) {
        return refuse(export, "policy", "the run has no policy in its folder, and tables of it must be simulated",
                      "give policy, too");
    }
    if (cb_record_policy(export->run.path, policy->path, hash) != COBRE_OK) {
        cb_mcp_failed(export->call);
        return false;
    }
    return !its || strcmp(its, hash) == 0 ||
           refuse(export, "policy", "the run was simulated with another policy", "give the policy of that simulation");
}

/* Where it begins, as the command line has it: NAME=VALUE,... */
static bool add_state(struct cb_export *export, struct cb_job_words *words) {
    const char *name;
    json_t *value, *state = option(export, "state");
    char *text = NULL;
    size_t size;
    FILE *file = state ? open_memstream(&text, &size) : NULL;
    bool good = file || !state;
    json_object_foreach(state, name, value) {
        good = good && !strpbrk(name, ",=");
        if (file)
            fprintf(file, "%s%s=%.17g", ftell(file) > 0 ? "," : "", name, json_number_value(value));
    }
    if (file)
        good = fclose(file) == 0 && good;
    if (good && text)
        cb_job_word(words, "--state=%s", text);
    free(text);
    return good || refuse(export, "run", "the state that this run begins with cannot be written as a text",
                          "call simulate with the state and the tables that you want");
}

static bool add_options(struct cb_export *export, struct cb_job_words *words) {
    static const char *const counts[][2] = {
        {"seed", "seed"}, {"max_steps", "max-steps"}, {"trajectories", "trajectories"}};
    const char *sampling = json_string_value(option(export, "sampling")),
               *node = json_string_value(option(export, "node"));
    bool given = sampling && strcmp(sampling, "given") == 0; /* then the case has the trajectories */
    if (sampling)
        cb_job_word(words, "--sampling=%s", sampling);
    for (size_t i = 0; i < (given ? 2 : 3); i++)
        if (option(export, counts[i][0]))
            cb_job_word(words, "--%s=%" JSON_INTEGER_FORMAT, counts[i][1],
                        json_integer_value(option(export, counts[i][0])));
    if (node)
        cb_job_word(words, "--node=%s", node);
    if (export->netcdf)
        cb_job_word(words, "--netcdf");
    else
        cb_job_word(words, "--tables=%s", export->tables ? export->tables : "all");
    return add_state(export, words);
}

/* The end of the job. The run and the folder are opened again: it may have taken long. */
static void finish(struct cb_mcp_call *call, const struct cb_job *job) {
    struct cb_export export = {.call = call, .folder.fd = -1};
    char why[CB_PLACE_WHY];
    if (!cb_study_run(call, &export.run, &export.results))
        return;
    if (!cb_place_find(&call->server->places, job->out, CB_PLACE_FOLDER, &export.folder, why)) {
        cb_mcp_refuse(call, "try again", "%s", why);
    } else {
        double mean = cb_fact_number(&export.results.simulation, "mean"), now = cb_json_real_in(job->finished, "mean");
        if (job->stopped)
            refuse(&export, "tables", "the simulation was stopped before its end", "call export_results again");
        else if (!(fabs(now - mean) <= 1e-9 * fabs(mean)))
            refuse(&export, "case", "simulated again, the costs are not those of the run: the case is another one",
                   "give the case that the run was simulated with");
        else
            cb_export_answer(&export, true);
    }
    cb_place_close(&export.folder);
    cb_place_close(&export.run);
    cb_results_free(&export.results);
}

static void look(struct cb_mcp_call *call, bool late) {
    const struct cb_job *job = call->data;
    if (job->state == CB_JOB_FAILED)
        cb_job_refuse(call, job);
    else if (job->state == CB_JOB_FINISHED)
        finish(call, job);
    else if (late)
        cb_export_later(call, job);
    else
        cb_job_tell_progress(call, job);
}

static void start(struct cb_export *export, struct cb_job_words *words, const char *case_path) {
    cb_job_word(words, "--json");
    cb_job_word(words, "--out=%s", export->folder.path);
    struct cb_job *job = cb_jobs_start(export->call->server->jobs, words, case_path, &export->folder, 1);
    if (!job) {
        cb_mcp_refuse(export->call, "try again later", "a process cannot be started: %s", strerror(errno));
        cb_export_drop(export);
        return;
    }
    export->call->data = job;
    cb_mcp_wait(export->call, 45, look, cb_job_stop);
}

static bool can_simulate(struct cb_export *export) {
    if (!simulation_of(export))
        return refuse(export, "run", "how this run was simulated is not recorded: it has no run.json, or no simulation",
                      "call simulate with the tables that you want");
    if (option(export, "scenarios"))
        return refuse(export, "run", "this run was simulated with a table of scenarios, which is not recorded",
                      "call simulate with scenarios and the tables that you want");
    return !cb_job_is_busy(export->call);
}

/* The case: the argument, or where it was when the run was trained. */
static bool find_case(struct cb_export *export, struct cb_place *place) {
    const char *recorded = cb_fact(&export->results.summary, "case");
    char why[CB_PLACE_WHY], problem[CB_PLACE_WHY + 128];
    if (cb_mcp_text(export->call, "case"))
        return cb_mcp_place(export->call, "case", CB_PLACE_ANY, place);
    if (*recorded && cb_place_find(&export->call->server->places, recorded, CB_PLACE_ANY, place, why))
        return true;
    snprintf(problem, sizeof problem,
             "these tables must be simulated again, for which the case is needed, and where it is %s%s",
             *recorded ? "cannot be read any more: " : "is not recorded in this run", *recorded ? why : "");
    return refuse(export, "case", problem, "give case, too; or call simulate with the tables that you want");
}

void cb_export_simulate(struct cb_export *export) {
    struct cb_place place, policy = {.fd = -1};
    struct cb_job_words words = {.count = 0};
    if (!can_simulate(export) || !find_case(export, &place))
        return;
    cb_job_word(&words, "simulate");
    cb_job_word(&words, "%s", place.path);
    if (find_policy(export, &policy) && add_options(export, &words) && cb_export_open(export)) {
        cb_job_word(&words, "--policy=%s", policy.path);
        start(export, &words, place.path);
    }
    cb_job_words_free(&words);
    cb_place_close(&place);
    cb_place_close(&policy);
}
