/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/run/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/error.h"
#include "sddp/grow.h"
#include "sddp/run/files.h"
#include "sddp/run/table.h"

static void read_facts(struct cb_results *results, struct cb_facts *facts, const char *table) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, results->folder, table, (const char *[]){"key", "value", NULL}))
        return;
    while (cb_sheet_next(&sheet) && CB_GROW(results, facts->at, facts->count, facts->room))
        facts->at[facts->count++] = (struct cb_fact){.key = cb_arena_keep(&results->memory, sheet.field[0]),
                                                     .value = cb_arena_keep(&results->memory, sheet.field[1])};
    cb_sheet_close(&sheet);
}

const char *cb_fact(const struct cb_facts *facts, const char *key) {
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->at[i].key, key) == 0)
            return facts->at[i].value;
    return "";
}

double cb_fact_number(const struct cb_facts *facts, const char *key) {
    const char *text = cb_fact(facts, key);
    return *text ? strtod(text, NULL) : NAN;
}

static void read_trace(struct cb_results *results) {
    struct sheet sheet;
    const char *const columns[] = {"iteration", "bound", "window_mean", "window_half", "window_passes", NULL};
    if (!cb_sheet_open(&sheet, results->folder, CB_FILE_TRAINING, columns))
        return;
    while (cb_sheet_next(&sheet) && CB_GROW(results, results->trace, results->iterations, results->trace_room)) {
        bool known = strtod(sheet.field[4], NULL) > 1;
        results->trace[results->iterations++] = (struct cb_iteration){
            .iteration = strtod(sheet.field[0], NULL),
            .bound = strtod(sheet.field[1], NULL),
            .mean = known ? strtod(sheet.field[2], NULL) : NAN,
            .half = known ? strtod(sheet.field[3], NULL) : NAN,
        };
    }
    cb_sheet_close(&sheet);
}

static void read_costs(struct cb_results *results) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, results->folder, "costs.csv", (const char *[]){"cost", NULL}))
        return;
    while (cb_sheet_next(&sheet) && CB_GROW(results, results->cost, results->costs, results->costs_room))
        results->cost[results->costs++] = strtod(sheet.field[0], NULL);
    cb_sheet_close(&sheet);
}

/* The columns of statistics.csv that are asked for. */
enum { TABLE, KIND, LEVEL, ELEMENT, UNIT, STEP, STAGE, DATE, COUNT, MEAN, DEVIATION, MINIMUM, PERCENTILE };
enum { MAXIMUM = PERCENTILE + CB_PERCENTILES, POSITIVE };
static const char *const columns[] = {"table", "kind",  "level", "element",   "unit",     "step", "stage",
                                      "date",  "count", "mean",  "deviation", "minimum",  "p5",   "p25",
                                      "p50",   "p75",   "p95",   "maximum",   "positive", NULL};

static struct cb_point point_of(struct cb_results *results, char *const *field, const struct cb_point *before) {
    struct cb_point point = {.step = strtoul(field[STEP], NULL, 10),
                             .stage = strtoul(field[STAGE], NULL, 10),
                             .count = strtod(field[COUNT], NULL),
                             .mean = strtod(field[MEAN], NULL),
                             .deviation = strtod(field[DEVIATION], NULL),
                             .minimum = strtod(field[MINIMUM], NULL),
                             .maximum = strtod(field[MAXIMUM], NULL),
                             .positive = strtod(field[POSITIVE], NULL)};
    for (size_t i = 0; i < CB_PERCENTILES; i++)
        point.percentile[i] = strtod(field[PERCENTILE + i], NULL);
    bool same = before && strcmp(before->date, field[DATE]) == 0;
    point.date = same ? before->date : cb_arena_keep(&results->memory, field[DATE]);
    return point;
}

/* The rows of a figure follow each other. */
static bool is_same(const struct cb_series *series, char *const *field) {
    return strcmp(series->element, field[ELEMENT]) == 0 && strcmp(series->kind, field[KIND]) == 0 &&
           strcmp(series->level, field[LEVEL]) == 0 && strcmp(series->table, field[TABLE]) == 0;
}

static struct cb_series *series_of(struct cb_results *results, char *const *field) {
    if (results->count > 0 && is_same(&results->series[results->count - 1], field))
        return &results->series[results->count - 1];
    if (!CB_GROW(results, results->series, results->count, results->room))
        return NULL;
    struct cb_series *new = &results->series[results->count++];
    *new = (struct cb_series){.table = cb_arena_keep(&results->memory, field[TABLE]),
                              .kind = cb_arena_keep(&results->memory, field[KIND]),
                              .level = cb_arena_keep(&results->memory, field[LEVEL]),
                              .element = cb_arena_keep(&results->memory, field[ELEMENT]),
                              .unit = cb_arena_keep(&results->memory, field[UNIT]),
                              .total.date = ""};
    return new;
}

/* The dates are the same in every series: those of the first one serve all. */
static const struct cb_point *same_step(const struct cb_results *results, size_t at) {
    const struct cb_series *first = results->series;
    return at < first->points ? &first->point[at] : NULL;
}

static void read_statistics(struct cb_results *results) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, results->folder, CB_FILE_STATISTICS, columns))
        return;
    while (!results->no_memory && !results->memory.failed && cb_sheet_next(&sheet)) {
        struct cb_series *series = series_of(results, sheet.field);
        if (series && !*sheet.field[STEP])
            series->total = point_of(results, sheet.field, &series->total);
        else if (series && CB_GROW(results, series->point, series->points, series->room)) {
            series->point[series->points] = point_of(results, sheet.field, same_step(results, series->points));
            series->points++;
        }
    }
    cb_sheet_close(&sheet);
}

static cobre_status status_of(const struct cb_results *results) {
    return results->no_memory || results->memory.failed ? cb_no_memory("the tables of a run", 0) : COBRE_OK;
}

cobre_status cb_results_facts(struct cb_results *results, const char *folder) {
    *results = (struct cb_results){.folder = folder};
    read_facts(results, &results->summary, CB_FILE_SUMMARY);
    read_facts(results, &results->simulation, CB_FILE_SIMULATION);
    return status_of(results);
}

cobre_status cb_results_read(struct cb_results *results, const char *folder) {
    CB_TRY(cb_results_facts(results, folder));
    read_trace(results);
    read_costs(results);
    read_statistics(results);
    return status_of(results);
}

void cb_results_free(struct cb_results *results) {
    for (size_t i = 0; i < results->count; i++)
        free(results->series[i].point);
    free(results->series);
    free(results->trace);
    free(results->cost);
    free(results->summary.at);
    free(results->simulation.at);
    cb_arena_free(&results->memory);
}

const struct cb_series *cb_results_find(const struct cb_results *results, const char *kind, const char *level,
                                        const char *element) {
    for (size_t i = 0; i < results->count; i++) {
        const struct cb_series *series = &results->series[i];
        if (strcmp(series->kind, kind) == 0 && strcmp(series->level, level) == 0 &&
            (!element || strcmp(series->element, element) == 0))
            return series;
    }
    return NULL;
}
