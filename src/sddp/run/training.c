/* SPDX-License-Identifier: Apache-2.0 */
/* training.c: the events of a training, and the files that each of them updates. */
#include "sddp/run/training.h"

#include "sddp/clock.h"
#include "sddp/error.h"
#include "sddp/run/files.h"
#include "sddp/run/folder.h"
#include "sddp/run/gap.h"
#include "sddp/run/json.h"
#include "sddp/train/rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool is_row_before(const char *line, uint64_t first) {
    return strtoull(line, NULL, 10) < first;
}

/* Only iterations count: what else was said before the last of them is kept. */
static bool is_event_before(const char *line, uint64_t first) {
    uint64_t iteration;
    return sscanf(line, "{\"event\": \"iteration\", \"iteration\": %" SCNu64, &iteration) != 1 || iteration < first;
}

static json_t *new_event(const char *name) {
    json_t *event = json_object();
    cb_put(event, "event", json_string(name));
    return event;
}

static json_t *time_json(double seconds) {
    return json_real(1e-6 * round(1e6 * seconds));
}

static void put_seconds(json_t *event, double seconds) {
    cb_put(event, "seconds", time_json(seconds));
}

static double seconds_of(const struct cb_training *training) {
    return cb_clock() - training->start_time;
}

static void put_date(json_t *event) {
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    cb_put(event, "date", json_string(date));
}

/* The line of an event. Bounds and costs have all their digits. Times are rounded to microseconds before, and few
 * digits are enough for them: so they come apart. */
static char *line_of(const json_t *event, size_t *length) {
    static const char *const rounded[] = {"seconds", "per_rank", "per_stage", "operations", "overhead"};
    json_t *exact = json_copy((json_t *)event), *rest = json_object();
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++) {
        json_t *member = json_object_get(exact, rounded[i]);
        if (member && json_object_set(rest, rounded[i], member) == 0)
            json_object_del(exact, rounded[i]);
    }
    char *line = NULL, *head = json_dumps(exact, 0), *tail = json_dumps(rest, JSON_REAL_PRECISION(15));
    size_t first = head ? strlen(head) - 1 : 0;
    *length = head && tail ? first + strlen(tail) + 2 : 0;
    if (head && tail && (line = malloc(*length + 1)))
        sprintf(line, "%.*s, %s\n", (int)first, head, tail + 1);
    free(head);
    free(tail);
    json_decref(exact);
    json_decref(rest);
    return line;
}

/* One line everywhere, and the row that belongs to it. All is tried, also after a failure; the first one is returned. */
static cobre_status write_event(struct cb_training *training, const json_t *event) {
    char row[512];
    size_t length;
    char *line = line_of(event, &length);
    if (!line)
        return cb_no_memory(CB_FILE_EVENTS, 0);
    if (training->event)
        training->event(training->arg, line, length);
    cobre_status status = COBRE_OK, other = COBRE_OK;
    if (training->folder)
        status = cb_trail_add(&training->events, line, length);
    free(line);
    if (!training->folder)
        return COBRE_OK;
    cobre_error error = *cobre_last_error();
    if (strcmp(cb_json_text_in(event, "event"), "iteration") == 0)
        other = cb_trail_add(&training->trace, row, (size_t)cb_trace_row(event, row, sizeof row));
    return status ? cobre_set_error(&error) : other;
}

/* Takes the event. Its cost is counted from `begin`. */
static cobre_status tell(struct cb_training *training, json_t *event, double begin) {
    cobre_status status = write_event(training, event);
    json_decref(event);
    training->event_seconds += cb_clock() - begin;
    return status;
}

json_t *cb_rules_json(const cobre_sddp_train_options *options) {
    cobre_sddp_train_options rules = *options;
    json_t *json = json_object();
    char text[CB_OPTION_TEXT];
    cobre_sddp_train_options usual = {0};
    cb_rules_default(&rules);
    cb_rules_default(&usual);
    rules.window =
        rules.gap_rule || rules.window != usual.window ? rules.window : 0; /* without that rule it is for tables */
    for (const struct cb_option *row = cb_rule_rows; row->name; row++)
        if (cb_option_text(row, &rules, text))
            cb_put(json, row->name, json_string(text));
    return json;
}

/* NULL: there is no such file, and it becomes null. */
static void put_absolute(json_t *event, const char *key, const char *path) {
    char absolute[PATH_MAX];
    cb_put(event, key, path ? cb_json_of_text(realpath(path, absolute) ? absolute : path) : json_null());
}

static void put_case(json_t *event, const struct cb_training *training) {
    const cobre_sddp_problem *problem = training->problem;
    const cobre_sddp_train_options *options = training->options;
    size_t stages = 0, passes = options->forward_passes;
    for (size_t n = 0; n < cobre_sddp_problem_nodes(problem); n++)
        if (cobre_sddp_problem_node_stage(problem, n) > stages)
            stages = cobre_sddp_problem_node_stage(problem, n);
    put_absolute(event, "case", training->case_path);
    cb_put(event, "name", cb_json_of_text(cobre_sddp_problem_name(problem)));
    cb_put(event, "sense", json_string(cobre_sddp_problem_maximises(problem) ? "max" : "min"));
    cb_put(event, "cost_unit", cb_json_of_text(cobre_sddp_problem_cost_unit(problem)));
    cb_put(event, "nodes", cb_json_of_count(cobre_sddp_problem_nodes(problem)));
    cb_put(event, "stages", cb_json_of_count(stages));
    cb_put(event, "states", cb_json_of_count(cobre_sddp_problem_states(problem)));
    cb_put(event, "forward_passes", cb_json_of_count(passes ? passes : 1));
    cb_put(event, "seed", cb_json_of_count(options->seed));
    cb_put(event, "averse", json_boolean(cb_options_averse(problem, options)));
    if (options->has_value_bound)
        cb_put(event, "value_bound", cb_json_of_real(options->value_bound));
}

static void open_trails(struct cb_training *training, uint64_t first) {
    const char *resume = first > 1 ? training->options->resume : NULL;
    if (resume)
        cb_folder_of(resume, training->older);
    training->events = (struct cb_trail){.folder = training->folder,
                                         .name = CB_FILE_EVENTS,
                                         .older = resume ? training->older : NULL,
                                         .is_before = is_event_before,
                                         .first = first};
    training->trace = training->events;
    training->trace.name = CB_FILE_TRAINING;
    training->trace.header = CB_COLUMNS_TRAINING "\n";
    training->trace.is_before = is_row_before;
}

cobre_status cb_training_started(struct cb_training *training, uint64_t iterations) {
    char host[256] = "";
    double begin = training->start_time = cb_clock();
    open_trails(training, iterations + 1);
    json_t *event = new_event("started");
    gethostname(host, sizeof host - 1);
    cb_put(event, "format", json_integer(1));
    put_date(event);
    cb_put(event, "version", json_string(cobre_version()));
    put_case(event, training);
    cb_put(event, "ranks", cb_json_of_count(cobre_size(training->comm)));
    cb_put(event, "backend", json_string(cobre_backend_name(cobre_comm_backend(training->comm))));
    cb_put(event, "rules", cb_rules_json(training->options));
    cb_put(event, "iterations", cb_json_of_count(iterations));
    put_absolute(event, "out", training->folder);
    cb_put(event, "host", cb_json_of_text(host));
    cb_put(event, "pid", json_integer(getpid()));
    put_seconds(event, 0);
    training->started = json_incref(event);
    cobre_status status = training->folder ? cb_trail_add(&training->trace, NULL, 0) : COBRE_OK; /* its older rows */
    cobre_status told = tell(training, event, begin);
    return told ? told : status;
}

/* {"forward": [one per rank], ...} of `count` ranks. */
static json_t *ranks_json(const double *effort, size_t ranks) {
    json_t *json = json_object();
    for (size_t e = 0; e < COBRE_SDDP_EFFORTS; e++) {
        bool whole = strcmp(cobre_sddp_effort_unit((cobre_sddp_effort)e), "s") != 0;
        json_t *list = json_array();
        for (size_t r = 0; r < ranks; r++) {
            double value = effort[e * ranks + r];
            json_array_append_new(list, whole ? json_integer((json_int_t)value) : time_json(value));
        }
        cb_put(json, cobre_sddp_effort_name((cobre_sddp_effort)e), list);
    }
    return json;
}

static void put_counts(json_t *object, const char *key, const uint64_t *count, size_t stages) {
    json_t *list = json_array();
    for (size_t i = 0; i < stages; i++)
        json_array_append_new(list, cb_json_of_count(count[i]));
    cb_put(object, key, list);
}

static json_t *operations_json(const cobre_sddp_traffic *traffic) {
    json_t *json = json_object();
    for (size_t o = 0; o < COBRE_SDDP_OPERATIONS; o++) {
        json_t *one = json_object();
        cb_put(one, "calls", cb_json_of_count(traffic[o].calls));
        cb_put(one, "bytes", cb_json_of_count(traffic[o].bytes));
        cb_put(one, "seconds", time_json(traffic[o].seconds));
        cb_put(json, cobre_sddp_operation_name((cobre_sddp_operation)o), one);
    }
    return json;
}

cobre_status cb_training_iteration(struct cb_training *training, const cobre_sddp_progress *now) {
    double begin = cb_clock();
    bool averse = cb_options_averse(training->problem, training->options);
    double gap = cb_window_gap(cobre_sddp_problem_maximises(training->problem), averse, now);
    json_t *event = new_event("iteration"), *stages = json_object();
    training->start_time = begin - now->seconds;                  /* one clock for all events */
    cb_put(event, "iteration", cb_json_of_count(now->iteration)); /* is_event_before looks for it */
    cb_put(event, "bound", cb_json_of_real(now->bound));
    cb_put(event, "mean", cb_json_of_real(now->mean));
    cb_put(event, "deviation", cb_json_of_real(now->deviation));
    cb_put(event, "window_mean", cb_json_of_real(now->window_mean));
    cb_put(event, "window_half", cb_json_of_real(now->window_half));
    cb_put(event, "window_passes", cb_json_of_count(now->window_passes));
    cb_put(event, "gap", cb_json_of_real(gap));
    cb_put(event, "cuts", cb_json_of_count(now->cuts));
    cb_put(event, "solves", cb_json_of_count(now->solves));
    put_seconds(event, now->seconds);
    cb_put(event, "per_rank", ranks_json(now->effort, now->ranks));
    put_counts(stages, "made", now->cuts_made, now->stages);
    put_counts(stages, "kept", now->cuts_kept, now->stages);
    put_counts(stages, "active", now->cuts_active, now->stages);
    cb_put(event, "per_stage", stages);
    cb_put(event, "operations", operations_json(now->traffic));
    return tell(training, event, begin);
}

cobre_status cb_training_checkpoint(struct cb_training *training, uint64_t iteration) {
    double begin = cb_clock();
    json_t *event = new_event("checkpoint");
    cb_put(event, "iteration", cb_json_of_count(iteration));
    put_absolute(event, "policy", training->policy);
    put_seconds(event, seconds_of(training));
    return tell(training, event, begin);
}

cobre_status cb_training_warning(struct cb_training *training, const char *message, const char *suggestion) {
    double begin = cb_clock();
    json_t *event = new_event("warning");
    cb_put(event, "message", cb_json_of_text(message));
    cb_put(event, "suggestion", cb_json_of_text(suggestion));
    put_seconds(event, seconds_of(training));
    return tell(training, event, begin);
}

cobre_status cb_training_steered(struct cb_training *training, uint64_t iteration, const char *words) {
    double begin = cb_clock();
    char command[16];
    snprintf(command, sizeof command, "%.*s", (int)strcspn(words, " "), words);
    json_t *event = new_event("steered");
    cb_put(event, "iteration", cb_json_of_count(iteration));
    cb_put(event, "command", cb_json_of_text(command));
    cb_put(event, "words", cb_json_of_text(words));
    cb_put(event, "rules", cb_rules_json(training->options));
    put_seconds(event, seconds_of(training));
    return tell(training, event, begin);
}

/* Keeps the first error. */
static void keep(cobre_status *first, cobre_error *error, cobre_status status) {
    if (*first || !status)
        return;
    *first = status;
    *error = *cobre_last_error();
}

/* Each file is tried, also after another one failed. */
static cobre_status end(struct cb_training *training, json_t *event) {
    cobre_status status = COBRE_OK;
    cobre_error error;
    bool finished = strcmp(cb_json_text_in(event, "event"), "finished") == 0;
    keep(&status, &error, write_event(training, event));
    if (training->folder) {
        keep(&status, &error, cb_trail_close(&training->events));
        keep(&status, &error, cb_trail_close(&training->trace));
    }
    if (training->folder && finished) {
        keep(&status, &error, cb_times_write(training->folder, event));
        keep(&status, &error, cb_summary_write(training->folder, training->started, event));
    }
    json_decref(event);
    json_decref(training->started);
    training->started = NULL;
    return status ? cobre_set_error(&error) : COBRE_OK;
}

static json_t *finished_json(struct cb_training *training, const cobre_sddp_training *result,
                             const cobre_sddp_policy *policy, const double *effort) {
    json_t *event = new_event("finished"), *overhead = json_object();
    bool averse = cobre_sddp_policy_averse(policy);
    put_date(event);
    cb_put(event, "stop", json_string(cobre_sddp_stop_name(result->stop)));
    cb_put(event, "iterations", cb_json_of_count(result->iterations));
    cb_put(event, "unfinished", json_boolean(result->unfinished));
    cb_put(event, "converged", json_boolean(cb_rules_converged(training->options, result->stop)));
    cb_put(event, "bound", cb_json_of_real(cobre_sddp_policy_bound(policy)));
    cb_put(event, "proven", json_boolean(cobre_sddp_policy_proven(policy)));
    cb_put(event, "averse", json_boolean(averse));
    cb_put(event, "window_mean", cb_json_of_real(result->window_mean));
    /* With a risk measure the mean bounds nothing: without an interval readers show no gap. */
    cb_put(event, "window_half", cb_json_of_real(averse ? NAN : result->window_half));
    cb_put(event, "window_passes", cb_json_of_count(result->window_passes));
    cb_put(event, "cuts", cb_json_of_count(cobre_sddp_policy_cuts(policy)));
    cb_put(event, "solves", cb_json_of_count(result->solves));
    cb_put(event, "lps_without_cut", cb_json_of_count(result->unproven));
    cb_put(event, "solver", cb_json_of_text(cobre_sddp_policy_solver(policy)));
    cb_put(event, "seed", cb_json_of_count(cobre_sddp_policy_seed(policy)));
    put_absolute(event, "policy", training->policy);
    put_seconds(event, result->seconds);
    cb_put(event, "per_rank", ranks_json(effort, cobre_size(training->comm)));
    cb_put(overhead, "events", time_json(training->event_seconds));
    cb_put(overhead, "steering", time_json(training->steer_seconds));
    cb_put(event, "overhead", overhead);
    return event;
}

/* effort[e * ranks + r] of all ranks. */
static cobre_status gather(cobre_comm *comm, const cobre_sddp_training *result, double *effort) {
    size_t ranks = cobre_size(comm);
    double *all = calloc(ranks * COBRE_SDDP_EFFORTS, sizeof *all);
    size_t *counts = calloc(2 * ranks, sizeof *counts);
    cobre_status status = cb_agree(comm, effort && all && counts ? COBRE_OK : cb_no_memory("times", 0));
    for (size_t r = 0; !status && r < ranks; r++) {
        counts[r] = COBRE_SDDP_EFFORTS;
        counts[ranks + r] = r * COBRE_SDDP_EFFORTS;
    }
    if (!status)
        status = cobre_allgatherv_t(comm, result->effort, COBRE_SDDP_EFFORTS, all, ranks * COBRE_SDDP_EFFORTS, counts,
                                    counts + ranks);
    for (size_t i = 0; !status && i < ranks * COBRE_SDDP_EFFORTS; i++)
        effort[i] = all[i % ranks * COBRE_SDDP_EFFORTS + i / ranks];
    free(all);
    free(counts);
    return status;
}

cobre_status cb_training_finished(struct cb_training *training, const cobre_sddp_training *result,
                                  const cobre_sddp_policy *policy) {
    double *effort = calloc(cobre_size(training->comm) * COBRE_SDDP_EFFORTS, sizeof *effort);
    cobre_status status = gather(training->comm, result, effort);
    cobre_error error = *cobre_last_error();
    if (!status && cobre_rank(training->comm) == 0) {
        status = end(training, finished_json(training, result, policy, effort));
        error = *cobre_last_error();
    } else if (status && cobre_rank(training->comm) == 0) {
        cb_training_failed(training, &error);
    }
    free(effort);
    return status ? cobre_set_error(&error) : COBRE_OK;
}

cobre_status cb_training_failed(struct cb_training *training, const cobre_error *error) {
    json_t *event = new_event("error");
    cb_put(event, "kind", json_string(cobre_status_name(error->status)));
    cb_put(event, "message", cb_json_of_text(error->message));
    cb_put(event, "suggestion", cb_json_of_text(error->suggestion));
    put_seconds(event, seconds_of(training));
    return end(training, event);
}
