/* samples.c: tables of a run, read back for the report. */
#include "sddp/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int cb_percentile[CB_PERCENTILES] = {5, 25, 50, 75, 95};

/* Rows of one element come in the order of the others: the next series is nearly always the one after the last. */
static struct series *find_series(struct samples *samples, size_t *near, const char *kind, const char *element) {
    for (size_t tried = 0; tried < samples->count; tried++) {
        struct series *series = &samples->series[(*near)++ % samples->count];
        if (strcmp(series->element, element) == 0 && strcmp(series->kind, kind) == 0)
            return series;
    }
    if (samples->count == samples->room) {
        size_t room = samples->room ? 2 * samples->room : 16;
        struct series *more = realloc(samples->series, room * sizeof *more);
        if (!more)
            return NULL;
        samples->series = more;
        samples->room = room;
    }
    struct series *series = &samples->series[samples->count++];
    *series = (struct series){.kind = strdup(kind), .element = strdup(element)};
    *near = samples->count;
    return series->kind && series->element ? series : NULL;
}

static bool add_value(struct series *series, size_t step, double value) {
    if (step >= series->room) {
        size_t room = step < 64 ? 64 : 2 * step;
        struct values *more = realloc(series->step, room * sizeof *more);
        if (!more)
            return false;
        memset(more + series->room, 0, (room - series->room) * sizeof *more);
        series->step = more;
        series->room = room;
    }
    if (step >= series->steps)
        series->steps = step + 1;
    struct values *values = &series->step[step];
    if (values->count == values->room) {
        size_t room = values->room ? 2 * values->room : 64;
        double *more = realloc(values->at, room * sizeof *more);
        if (!more)
            return false;
        values->at = more;
        values->room = room;
    }
    values->at[values->count++] = value;
    return true;
}

/* On a graph with cycles trajectories end one by one: percentiles of the last few say nothing. */
static void cut_tail(struct series *series) {
    enum { LEAST = 20 };
    while (series->steps > 1 && LEAST * series->step[series->steps - 1].count < series->step[0].count)
        free(series->step[--series->steps].at);
}

bool cb_samples_read(struct samples *samples, const char *folder, const char *name, const char *column,
                     bool (*wants)(const char *kind)) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, folder, name))
        return false;
    size_t step = cb_sheet_column(&sheet, "step"), kind = cb_sheet_column(&sheet, "kind");
    size_t element = cb_sheet_column(&sheet, "element"), value = cb_sheet_column(&sheet, column), near = 0;
    bool good =
        step < CB_SHEET_FIELDS && kind < CB_SHEET_FIELDS && element < CB_SHEET_FIELDS && value < CB_SHEET_FIELDS;
    while (good && !samples->no_memory && cb_sheet_next(&sheet)) {
        enum { STEPS = 1 << 20 };
        unsigned long at = strtoul(sheet.field[step], NULL, 10);
        if (at == 0 || at > STEPS || (wants && !wants(sheet.field[kind])))
            continue;
        struct series *series = find_series(samples, &near, sheet.field[kind], sheet.field[element]);
        samples->no_memory = !series || !add_value(series, at - 1, strtod(sheet.field[value], NULL));
    }
    cb_sheet_close(&sheet);
    for (size_t i = 0; i < samples->count; i++)
        cut_tail(&samples->series[i]);
    return good && samples->count > 0;
}

void cb_samples_free(struct samples *samples) {
    for (size_t i = 0; i < samples->count; i++) {
        struct series *series = &samples->series[i];
        for (size_t step = 0; step < series->steps; step++)
            free(series->step[step].at);
        free(series->step);
        free(series->kind);
        free(series->element);
    }
    free(samples->series);
    *samples = (struct samples){.count = 0};
}

void cb_samples_add_total(struct samples *samples, const char *kind, const char *element) {
    size_t parts = samples->count, near = 0;
    struct series *total = find_series(samples, &near, kind, element);
    for (size_t i = 0; total && i < parts; i++) {
        const struct series *part = &samples->series[i];
        if (strcmp(part->kind, kind) != 0)
            continue;
        for (size_t step = 0; step < part->steps; step++)
            for (size_t k = 0; k < part->step[step].count; k++) {
                bool there = step < total->steps && k < total->step[step].count;
                if (there)
                    total->step[step].at[k] += part->step[step].at[k];
                else if (!add_value(total, step, part->step[step].at[k]))
                    samples->no_memory = true;
            }
    }
    if (total) {
        struct series first = *total;
        memmove(samples->series + 1, samples->series, parts * sizeof first);
        samples->series[0] = first;
    }
}

void cb_samples_negate(struct samples *samples) {
    for (size_t i = 0; i < samples->count; i++)
        for (size_t step = 0; step < samples->series[i].steps; step++)
            for (size_t k = 0; k < samples->series[i].step[step].count; k++)
                samples->series[i].step[step].at[k] = 0 - samples->series[i].step[step].at[k];
}

double cb_mean(const struct values *values) {
    double sum = 0;
    for (size_t i = 0; i < values->count; i++)
        sum += values->at[i];
    return values->count ? sum / (double)values->count : 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cb_percentiles(const struct values *values, double result[CB_PERCENTILES]) {
    if (values->count)
        qsort(values->at, values->count, sizeof *values->at, compare);
    for (size_t i = 0; i < CB_PERCENTILES; i++) {
        if (!values->count) {
            result[i] = 0;
            continue;
        }
        double at = cb_percentile[i] / 100.0 * (double)(values->count - 1);
        size_t low = (size_t)at, high = low + 1 < values->count ? low + 1 : low;
        result[i] = values->at[low] + (at - (double)low) * (values->at[high] - values->at[low]);
    }
}

void cb_facts_read(struct fact_list *facts, const char *folder, const char *name) {
    struct sheet sheet;
    *facts = (struct fact_list){.count = 0};
    if (!cb_sheet_open(&sheet, folder, name))
        return;
    while (cb_sheet_next(&sheet)) {
        struct facts_row *more = realloc(facts->rows, (facts->count + 1) * sizeof *more);
        if (!more)
            break;
        facts->rows = more;
        more[facts->count++] = (struct facts_row){.key = strdup(sheet.field[0]), .value = strdup(sheet.field[1])};
    }
    cb_sheet_close(&sheet);
}

const char *cb_fact(const struct fact_list *facts, const char *key) {
    for (size_t i = 0; i < facts->count; i++)
        if (facts->rows[i].key && facts->rows[i].value && strcmp(facts->rows[i].key, key) == 0)
            return facts->rows[i].value;
    return "";
}

double cb_fact_number(const struct fact_list *facts, const char *key) {
    const char *text = cb_fact(facts, key);
    return *text ? strtod(text, NULL) : NAN;
}

void cb_facts_free(struct fact_list *facts) {
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->rows[i].key);
        free(facts->rows[i].value);
    }
    free(facts->rows);
}
