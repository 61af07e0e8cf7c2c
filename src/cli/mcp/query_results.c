/* SPDX-License-Identifier: Apache-2.0 */
/* query_results.c: the tool query_results: figures of a simulation, chosen and aggregated. */
#include "cli/mcp/query_blocks.h"
#include "cli/mcp/study.h"

#include <math.h>
#include <string.h>

static const char *const levels[] = {"system", "subsystem", "element", "component", NULL};
static const char *const groups[] = {"stage", "block", "element", "total", NULL};
static const struct cb_mcp_field stage_fields[] = {
    {.name = "from", .kind = CB_MCP_WHOLE, .limited = true, .least = 1, .most = 1e6, .help = "the first one, from 1"},
    {.name = "to", .kind = CB_MCP_WHOLE, .limited = true, .least = 1, .most = 1e6, .help = "the last one"},
    {.name = NULL},
};

static const struct cb_mcp_field input[] = {
    CB_MCP_RUN_FIELD(true),
    {.name = "kind",
     .kind = CB_MCP_TEXT,
     .help = "of figures: storage, storage_minimum, storage_at_minimum, hydro_generation, thermal_generation, "
             "marginal_cost, water_value, deficit, unserved_energy, spill, stored_energy, cost, ...; without it: all"},
    {.name = "element", .kind = CB_MCP_TEXT, .help = "a plant, a subsystem, a line \"A->B\"; without it: all"},
    {.name = "level",
     .kind = CB_MCP_TEXT,
     .choices = levels,
     .help =
         "system: sums over all; subsystem: sums over its elements; element: each by itself; component: parts of the "
         "cost; without it: all"},
    {.name = "by",
     .kind = CB_MCP_TEXT,
     .choices = groups,
     .fallback = "\"stage\"",
     .help = "a row for each stage; for each load block (needs kind); for each element, over the stages; or for whole "
             "trajectories"},
    {.name = "statistic",
     .kind = CB_MCP_TEXT,
     .choices = cb_query_statistics,
     .fallback = "\"mean\"",
     .help = "over the trajectories: mean, deviation, min, max, percentiles, or positive, the share that is above 0"},
    {.name = "stages", .kind = CB_MCP_OBJECT, .fields = stage_fields, .help = "only these"},
    CB_MCP_PAGE_FIELDS("100"),
    {.name = NULL},
};

static const struct cb_mcp_field row_fields[] = {
    {.name = "kind", .kind = CB_MCP_TEXT, .required = true, .help = "of the figure"},
    {.name = "level", .kind = CB_MCP_TEXT, .required = true, .help = "system, subsystem, element, component or block"},
    {.name = "element", .kind = CB_MCP_TEXT, .required = true, .help = "that it is of; empty: of the system"},
    {.name = "block", .kind = CB_MCP_TEXT, .help = "load block"},
    {.name = "stage", .kind = CB_MCP_WHOLE, .help = "of the value; of a min or max over the stages, where it is"},
    {.name = "date", .kind = CB_MCP_TEXT, .help = "when the stage begins"},
    {.name = "value", .kind = CB_MCP_NUMBER, .required = true, .nullable = true, .help = "the statistic"},
    {.name = "half",
     .kind = CB_MCP_NUMBER,
     .nullable = true,
     .help = "of a mean: half its 95 % interval, over several stages an upper limit of that; null: scenarios that were "
             "given are no sample"},
    {.name = "unit", .kind = CB_MCP_TEXT, .required = true, .help = "of the value; of a share: of a part of 1"},
    {.name = NULL},
};

static const struct cb_mcp_field output[] = {
    {.name = "run", .kind = CB_MCP_TEXT, .required = true, .help = "the path, without symbolic links"},
    {.name = "trajectories", .kind = CB_MCP_WHOLE, .required = true, .nullable = true, .help = "of the simulation"},
    {.name = "sampling", .kind = CB_MCP_TEXT, .required = true, .help = "of the trajectories"},
    {.name = "start",
     .kind = CB_MCP_TEXT,
     .required = true,
     .nullable = true,
     .help = "where the simulation begins; null: where the case does"},
    {.name = "statistic", .kind = CB_MCP_TEXT, .required = true, .help = "that was asked for"},
    {.name = "over", .kind = CB_MCP_TEXT, .required = true, .help = "what each value is taken over"},
    {.name = "rows",
     .kind = CB_MCP_LIST,
     .items = CB_MCP_OBJECT,
     .fields = row_fields,
     .required = true,
     .help = "the values"},
    {.name = "row_count", .kind = CB_MCP_WHOLE, .required = true, .help = "rows on all pages"},
    {.name = "note", .kind = CB_MCP_TEXT, .required = true, .nullable = true, .help = "what is missing, and why"},
    CB_MCP_NEXT_FIELD,
    {.name = NULL},
};

/* Of a mean over the trajectories. */
static double half_of(const struct cb_query *query, const struct cb_point *point) {
    return query->sample && point->count > 1 ? 1.96 * point->deviation / sqrt(point->count) : NAN;
}

static json_t *row_of(const struct cb_series *series, const char *statistic, const struct cb_point *point,
                      double value) {
    bool share = strcmp(statistic, "positive") == 0;
    json_t *row = json_object();
    cb_json_set(row, "kind", cb_json_text(series->kind));
    cb_json_set(row, "level", cb_json_text(series->level));
    cb_json_set(row, "element", cb_json_text(series->element));
    if (point && point->stage)
        cb_json_set(row, "stage", cb_json_count(point->stage));
    if (point && *point->date)
        cb_json_set(row, "date", cb_json_text(point->date));
    cb_json_set(row, "value", cb_json_real(value));
    cb_json_set(row, "unit", cb_json_text(share ? "share" : series->unit));
    return row;
}

/* The stage of a point; where none is known, its step. */
static size_t stage_of(const struct cb_point *point) {
    return point->stage ? point->stage : point->step;
}

static bool is_asked(const struct cb_query *query, const struct cb_point *point) {
    size_t stage = stage_of(point);
    return stage >= query->from && stage <= query->to;
}

/* Takes the row. */
static void add_row(json_t *rows, const struct cb_query *query, json_t *row, double half) {
    if (strcmp(query->statistic, "mean") == 0)
        cb_json_set(row, "half", cb_json_real(half));
    cb_json_append(rows, row);
}

static void add_stages(json_t *rows, const struct cb_query *query, const struct cb_series *series) {
    for (size_t i = 0; i < series->points; i++) {
        const struct cb_point *point = &series->point[i];
        if (is_asked(query, point))
            add_row(rows, query, row_of(series, query->statistic, point, cb_query_pick(query->statistic, point)),
                    half_of(query, point));
    }
}

/* The least or the greatest of the stages, else their mean. */
static void add_over_stages(json_t *rows, const struct cb_query *query, const struct cb_series *series) {
    bool least = strcmp(query->statistic, "min") == 0, most = strcmp(query->statistic, "max") == 0;
    const struct cb_point *best = NULL;
    double sum = 0, halves = 0, count = 0;
    for (size_t i = 0; i < series->points; i++) {
        const struct cb_point *point = &series->point[i];
        double value = cb_query_pick(query->statistic, point);
        if (!is_asked(query, point))
            continue;
        sum += value;
        halves += half_of(query, point);
        count++;
        if ((least || most) && (!best || (least ? value < cb_query_pick(query->statistic, best)
                                                : value > cb_query_pick(query->statistic, best))))
            best = point;
    }
    if (count > 0)
        add_row(rows, query,
                row_of(series, query->statistic, best, best ? cb_query_pick(query->statistic, best) : sum / count),
                halves / count);
}

static void add_total(json_t *rows, const struct cb_query *query, const struct cb_series *series) {
    const struct cb_point *total = &series->total;
    if (total->count > 0)
        add_row(rows, query, row_of(series, query->statistic, NULL, cb_query_pick(query->statistic, total)),
                half_of(query, total));
}

static bool matches(const struct cb_query *query, const struct cb_series *series) {
    return (!query->kind || strcmp(series->kind, query->kind) == 0) &&
           (!query->element || strcmp(series->element, query->element) == 0) &&
           (!query->level || strcmp(series->level, query->level) == 0);
}

static json_t *rows_of(const struct cb_query *query, const struct cb_results *results) {
    json_t *rows = json_array();
    for (size_t i = 0; i < results->count; i++) {
        const struct cb_series *series = &results->series[i];
        if (!matches(query, series))
            continue;
        if (strcmp(query->by, "stage") == 0)
            add_stages(rows, query, series);
        else if (strcmp(query->by, "element") == 0)
            add_over_stages(rows, query, series);
        else
            add_total(rows, query, series);
    }
    return rows;
}

static const char *over_of(const struct cb_query *query) {
    if (strcmp(query->by, "stage") == 0)
        return "the trajectories, at each stage";
    if (strcmp(query->by, "total") == 0)
        return "the trajectories, each as a whole";
    return strcmp(query->statistic, "min") == 0   ? "the trajectories, and the least of the stages"
           : strcmp(query->statistic, "max") == 0 ? "the trajectories, and the greatest of the stages"
                                                  : "the trajectories, and the mean of the stages";
}

/* What one of the filters can be, given the others. */
enum filter { KIND, ELEMENT, LEVEL };
static json_t *known_of(const struct cb_results *results, const struct cb_query *query, enum filter filter) {
    json_t *known = json_object();
    struct cb_query others = *query;
    *(filter == KIND ? &others.kind : filter == ELEMENT ? &others.element : &others.level) = NULL;
    for (size_t i = 0; i < results->count; i++) {
        const struct cb_series *series = &results->series[i];
        const char *name = filter == KIND ? series->kind : filter == ELEMENT ? series->element : series->level;
        if (matches(&others, series) && *name)
            cb_json_set(known, name, json_true());
    }
    return known;
}

/* No series is left: which filter is to blame? */
static void explain(struct cb_mcp_call *call, const struct cb_results *results, const struct cb_query *query) {
    static const char *const field[] = {"kind", "element", "level"};
    const char *const value[] = {query->kind, query->element, query->level};
    struct cb_query alone = {.by = query->by};
    for (int f = KIND; f <= LEVEL; f++) {
        *(f == KIND ? &alone.kind : f == ELEMENT ? &alone.element : &alone.level) = value[f];
        json_t *known = known_of(results, &alone, (enum filter)f);
        bool wrong = value[f] && !json_object_get(known, value[f]);
        if (wrong)
            cb_study_unknown(call, field[f], value[f], field[f], known, "give one of these, or leave it out");
        json_decref(known);
        if (wrong)
            return;
    }
}

static bool has_any(const struct cb_results *results, const struct cb_query *query) {
    for (size_t i = 0; i < results->count; i++)
        if (matches(query, &results->series[i]))
            return true;
    return false;
}

/* What is missing, and why; NULL: nothing is. */
static const char *note_of(const struct cb_mcp_call *call, const struct cb_query *query, size_t count) {
    if (count > 0)
        return cb_mcp_number(call, "offset", 0) < (double)count ? NULL : "The offset is beyond the last of the rows.";
    if (strcmp(query->by, "total") == 0)
        return query->kind && strcmp(query->kind, "deficit") == 0
                   ? "Power does not add up over the stages: ask for unserved_energy, or by element."
                   : "These figures do not add up over the stages: ask by element.";
    return strcmp(query->by, "block") == 0 ? "There are no load blocks, or none of these stages."
                                           : "The run has none of these stages.";
}

static const char *statistic_words(const char *statistic) {
    return strcmp(statistic, "positive") == 0 ? "share above 0" : statistic;
}

static void answer(struct cb_mcp_call *call, const struct cb_results *results, const struct cb_query *query,
                   json_t *rows, const char *over) {
    json_t *facts = json_object();
    size_t count = json_array_size(rows);
    const char *note = note_of(call, query, count), *start = cb_fact(&results->simulation, "start");
    double trajectories = cb_fact_number(&results->simulation, "trajectories");
    cb_json_set(facts, "run", cb_json_text(results->folder));
    cb_json_set(facts, "trajectories", trajectories >= 0 ? cb_json_count((uint64_t)trajectories) : json_null());
    cb_json_set(facts, "sampling", cb_json_text(cb_fact(&results->simulation, "sampling")));
    cb_json_set(facts, "start", *start ? cb_json_text(start) : json_null());
    cb_json_set(facts, "statistic", cb_json_text(query->statistic));
    cb_json_set(facts, "over", cb_json_text(over));
    cb_mcp_put_page(call, facts, "rows", rows, 100, 17000);
    cb_json_set(facts, "row_count", cb_json_count(count));
    cb_json_set(facts, "note", note ? cb_json_text(note) : json_null());
    cb_mcp_answer(call, facts, "%zu of %zu value%s, %s over %s%s%s.%s%s",
                  json_array_size(json_object_get(facts, "rows")), count, count == 1 ? "" : "s",
                  statistic_words(query->statistic), over, *start ? "; beginning: " : "", start, note ? " " : "",
                  note ? note : "");
    json_decref(rows);
}

/* The last stage that the run has. */
static size_t last_stage(const struct cb_results *results) {
    size_t last = 0;
    for (size_t i = 0; i < results->count; i++)
        for (size_t k = 0; k < results->series[i].points; k++) {
            size_t stage = stage_of(&results->series[i].point[k]);
            last = stage > last ? stage : last;
        }
    return last;
}

/* False: the call has been refused. */
static bool check_stages(struct cb_mcp_call *call, const struct cb_results *results, const struct cb_query *query) {
    size_t last = last_stage(results);
    char received[96], allowed[64];
    if (query->from <= query->to && query->from <= last)
        return true;
    if (query->to == SIZE_MAX)
        snprintf(received, sizeof received, "from %zu", query->from);
    else
        snprintf(received, sizeof received, "from %zu to %zu", query->from, query->to);
    snprintf(allowed, sizeof allowed, "stages from 1 to %zu, from no larger than to", last);
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = "stages",
                                                  .received = received,
                                                  .problem = "the run has none of these stages",
                                                  .allowed = allowed,
                                                  .next = "correct from and to, or leave stages out"});
    return false;
}

static void look(struct cb_mcp_call *call, const struct cb_results *results, const struct cb_query *query) {
    if (results->count == 0)
        cb_mcp_mistake(call,
                       &(struct cb_mcp_mistake){.field = "run",
                                                .received = results->folder,
                                                .problem = "this run was not simulated: it has no statistics.csv",
                                                .next = "call simulate with the case and the policy of this run"});
    else if (!has_any(results, query))
        explain(call, results, query);
    else if (!check_stages(call, results, query))
        return;
    else if (strcmp(query->by, "block") == 0) {
        json_t *rows = cb_query_blocks(call, results, query);
        if (rows)
            answer(call, results, query, rows, "trajectories and stages together");
    } else
        answer(call, results, query, rows_of(query, results), over_of(query));
}

static void call(struct cb_mcp_call *call) {
    struct cb_place place;
    struct cb_results results;
    const json_t *stages = json_object_get(call->arguments, "stages"), *from = json_object_get(stages, "from"),
                 *to = json_object_get(stages, "to");
    const char *by = cb_mcp_text(call, "by"), *statistic = cb_mcp_text(call, "statistic");
    struct cb_query query = {.kind = cb_mcp_text(call, "kind"),
                             .element = cb_mcp_text(call, "element"),
                             .level = cb_mcp_text(call, "level"),
                             .by = by ? by : "stage",
                             .statistic = statistic ? statistic : "mean",
                             .from = from ? (size_t)json_integer_value(from) : 1,
                             .to = to ? (size_t)json_integer_value(to) : SIZE_MAX};
    if (!cb_study_run(call, &place, &results))
        return;
    query.sample = strstr(cb_fact(&results.simulation, "sampling"), "-sample") != NULL;
    look(call, &results, &query);
    cb_results_free(&results);
    cb_place_close(&place);
}

const struct cb_mcp_tool cb_mcp_query_results = {
    .name = "query_results",
    .title = "Query results",
    .description =
        "Figures of a simulation: of each stage, over the stages, or of whole trajectories; of elements, "
        "subsystems and the system; means, percentiles, extremes, or the share of the trajectories above 0. "
        "\"Which reservoirs run dry?\" is kind storage_at_minimum, by total, statistic positive: the share of the "
        "trajectories in which each is at its least level at some stage; by stage, statistic mean: how likely that is "
        "then. \"How likely is a deficit?\" is kind unserved_energy, by total, statistic positive. Figures by load "
        "block need the detailed tables: simulate with tables \"variables,duals\".",
    .input = input,
    .output = output,
    .repeatable = true,
    .call = call,
};
