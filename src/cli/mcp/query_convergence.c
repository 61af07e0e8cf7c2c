/* SPDX-License-Identifier: Apache-2.0 */
/* query_convergence.c: the tool query_convergence: bounds, gap, times, and a verdict with its reason. */
#include "cli/mcp/jobs.h"
#include "cli/mcp/study.h"
#include "cli/mcp/words.h"
#include "sddp/run/files.h"
#include "sddp/run/record.h"
#include "sddp/run/results.h"
#include "sddp/run/table.h"
#include "sddp/run/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cb_mcp_field input[] = {
    {.name = "run",
     .kind = CB_MCP_TEXT,
     .required = true,
     .help = "the folder of a run, of train or simulate; absolute or below a root. The training may still run"},
    {.name = "points",
     .kind = CB_MCP_WHOLE,
     .limited = true,
     .least = 2,
     .most = 200,
     .fallback = "20",
     .help = "iterations of the trace that are told: the first, the last, and others evenly between them"},
    {.name = NULL},
};

#define NUMBER(key, text)                                                                                              \
    { .name = key, .kind = CB_MCP_NUMBER, .nullable = true, .help = text }
#define COUNT(key, text)                                                                                               \
    { .name = key, .kind = CB_MCP_WHOLE, .nullable = true, .help = text }
#define TEXT(key, text)                                                                                                \
    { .name = key, .kind = CB_MCP_TEXT, .nullable = true, .help = text }

static const struct cb_mcp_field point_fields[] = {
    {.name = "iteration", .kind = CB_MCP_WHOLE, .required = true, .help = "from 1"},
    NUMBER("bound", "of the optimal cost"),
    NUMBER("mean", "cost of the last forward passes, on average"),
    NUMBER("half", "half the 95 % interval of that mean"),
    {.name = NULL},
};

static const struct cb_mcp_field training_fields[] = {
    COUNT("iterations", "that were made"),
    NUMBER("bound", "of the optimal cost, the last one"),
    NUMBER("bound_moved", "by how much the bound moved in its last iterations, as a share of itself"),
    COUNT("moved_over", "in so many iterations"),
    NUMBER("seconds", "that it took"),
    COUNT("cuts", "in the policy"),
    COUNT("lps_without_cut", "LPs from which no cut could be proven"),
    TEXT("stop", "why it has ended"),
    TEXT("sense", "min or max"),
    TEXT("averse", "yes: with a risk measure, and then there is no gap"),
    TEXT("proven", "no: the bound may be wrong, because of cuts of another case"),
    TEXT("cost_unit", "of bounds and costs"),
    {.name = NULL},
};

static const struct cb_mcp_field simulation_fields[] = {
    TEXT("sampling", "of the trajectories"),
    TEXT("start", "where it begins; without it: where the case does"),
    COUNT("trajectories", "how many"),
    NUMBER("mean", "of their costs"),
    NUMBER("half", "half the 95 % interval of the mean"),
    NUMBER("bound", "that it is compared with"),
    NUMBER("gap", "between bound and mean, as a share of the mean"),
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "run", .kind = CB_MCP_TEXT, .required = true, .help = "the path, without symbolic links"},
    {.name = "verdict",
     .kind = CB_MCP_TEXT,
     .required = true,
     .choices = (const char *const[]){"converged", "not yet", "unknown", "risk-averse", NULL},
     .help = "converged, not yet, unknown, or risk-averse: then there is no gap to judge by"},
    {.name = "reason", .kind = CB_MCP_TEXT, .required = true, .help = "why, and what to do"},
    {.name = "training",
     .kind = CB_MCP_OBJECT,
     .fields = training_fields,
     .required = true,
     .help = "what it has come to"},
    {.name = "simulation",
     .kind = CB_MCP_OBJECT,
     .fields = simulation_fields,
     .nullable = true,
     .required = true,
     .help = "null: there was none"},
    {.name = "times",
     .kind = CB_MCP_OBJECT,
     .required = true,
     .help = "seconds of all ranks, by phase: forward, backward, ...; empty until the training has ended"},
    {.name = "trace",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = point_fields,
     .required = true,
     .help = "some of its iterations"},
    {.name = NULL},
};

static json_t *fact_json(const struct cb_facts *facts, const struct cb_mcp_field *field) {
    double number = cb_fact_number(facts, field->name);
    if (field->kind == CB_MCP_TEXT)
        return cb_json_text(cb_fact(facts, field->name));
    return field->kind == CB_MCP_WHOLE && number >= 0 && number < 0x1p53 ? cb_json_count((uint64_t)number)
                                                                         : cb_json_real(number);
}

/* Those that the fields name, and that are there. */
static void put_facts(json_t *object, const struct cb_facts *facts, const struct cb_mcp_field *fields) {
    for (; fields->name; fields++)
        if (*cb_fact(facts, fields->name))
            cb_json_set(object, fields->name, fact_json(facts, fields));
}

static json_t *training_json(const struct cb_results *results) {
    json_t *training = json_object();
    size_t over;
    double moved = cb_bound_moved(results->trace, results->iterations, &over);
    put_facts(training, &results->summary, training_fields);
    if (results->iterations > 0 && !json_object_get(training, "bound")) { /* it is still running */
        const struct cb_iteration *last = &results->trace[results->iterations - 1];
        cb_json_set(training, "iterations", cb_json_count((uint64_t)last->iteration));
        cb_json_set(training, "bound", cb_json_real(last->bound));
    }
    cb_json_set(training, "bound_moved", cb_json_real(moved));
    if (isfinite(moved))
        cb_json_set(training, "moved_over", cb_json_count(over));
    return training;
}

static json_t *simulation_json(const struct cb_results *results) {
    json_t *simulation = json_object();
    if (results->simulation.count == 0) {
        json_decref(simulation);
        return json_null();
    }
    put_facts(simulation, &results->simulation, simulation_fields);
    return simulation;
}

static json_t *trace_json(const struct cb_results *results, size_t points) {
    json_t *trace = json_array();
    size_t count = results->iterations < points ? results->iterations : points;
    for (size_t i = 0; i < count; i++) {
        const struct cb_iteration *at = &results->trace[count == 1 ? 0 : i * (results->iterations - 1) / (count - 1)];
        json_t *point = json_object();
        cb_json_set(point, "iteration", cb_json_count((uint64_t)at->iteration));
        cb_json_set(point, "bound", cb_json_real(at->bound));
        cb_json_set(point, "mean", cb_json_real(at->mean));
        cb_json_set(point, "half", cb_json_real(at->half));
        cb_json_append(trace, point);
    }
    return trace;
}

static json_t *times_json(const char *folder) {
    struct sheet sheet;
    json_t *times = json_object();
    if (!cb_sheet_open(&sheet, folder, CB_FILE_TIMES, (const char *[]){"phase", "seconds", NULL}))
        return times;
    while (cb_sheet_next(&sheet)) {
        double so_far = json_number_value(json_object_get(times, sheet.field[0]));
        json_t *key = cb_json_text(sheet.field[0]);
        cb_json_set(times, json_string_value(key), cb_json_real(so_far + strtod(sheet.field[1], NULL)));
        json_decref(key);
    }
    cb_sheet_close(&sheet);
    return times;
}

/* A training that this server runs is not unfinished: it is under way. */
static void judge(const struct cb_mcp_call *call, const struct cb_results *results, struct cb_run_verdict *verdict) {
    const struct cb_job *job = call->server->jobs->running;
    cb_results_judge(results, verdict);
    if (job && strcmp(job->command, "train") == 0 && strcmp(job->out, results->folder) == 0) {
        verdict->word = CB_NOT_YET;
        snprintf(verdict->sentence, sizeof verdict->sentence, "%s is still training: ask job_status.", job->id);
    }
    cb_mcp_plain(verdict->sentence);
}

static void answer(struct cb_mcp_call *call, const struct cb_results *results) {
    struct cb_run_verdict verdict;
    json_t *facts = json_object();
    judge(call, results, &verdict);
    cb_json_set(facts, "run", cb_json_text(results->folder));
    cb_json_set(facts, "verdict", cb_json_text(cb_convergence_name(verdict.word)));
    cb_json_set(facts, "reason", cb_json_text(verdict.sentence));
    cb_json_set(facts, "training", training_json(results));
    cb_json_set(facts, "simulation", simulation_json(results));
    cb_json_set(facts, "times", times_json(results->folder));
    cb_json_set(facts, "trace", trace_json(results, (size_t)cb_mcp_number(call, "points", 20)));
    cb_mcp_answer(call, facts, "Converged? %s. %s",
                  verdict.word == CB_CONVERGED ? "yes" : cb_convergence_name(verdict.word), verdict.sentence);
}

static void call(struct cb_mcp_call *call) {
    struct cb_place place;
    struct cb_results results;
    if (!cb_mcp_place(call, "run", CB_PLACE_FOLDER, &place))
        return;
    if (cb_record_check(place.path) != COBRE_OK) {
        cb_study_unfit(call, "run", place.path);
        cb_place_close(&place);
        return;
    }
    if (cb_results_read(&results, place.path) != COBRE_OK)
        cb_mcp_failed(call);
    else if (results.iterations == 0 && results.summary.count == 0 && results.simulation.count == 0)
        cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "run",
                                                      .received = place.path,
                                                      .problem = "this folder holds no results of a run",
                                                      .next = "list_studies with kind \"run\" names those that do"});
    else
        answer(call, &results);
    cb_results_free(&results);
    cb_place_close(&place);
}

const struct cb_mcp_tool cb_mcp_query_convergence = {
    .name = "query_convergence",
    .title = "Has a run converged?",
    .description = "Tells bounds, gap and times of a run, and a verdict with its reason: whether more training would "
                   "help, and what to "
                   "do next. Without a simulation there is no gap: call simulate first.",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
