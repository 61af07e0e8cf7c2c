/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c: tables of a run, read back for the report. */
#include "sddp/report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double *cb_grid_add(struct report *report, struct grid *grid) {
    size_t size = grid->columns * sizeof *grid->at;
    if (!cb_grow(&grid->at, size, grid->rows, &grid->room)) {
        report->no_memory = true;
        return NULL;
    }
    return memset(grid->at + grid->columns * grid->rows++, 0, size);
}

/* Rows of one element come in the order of the others: the next series is nearly always the one after the last. */
static struct series *find_series(struct report *report, struct samples *samples, size_t *near, const char *kind,
                                  const char *element) {
    for (size_t tried = 0; tried < samples->count; tried++) {
        struct series *series = &samples->series[(*near)++ % samples->count];
        if (strcmp(series->element, element) == 0 && strcmp(series->kind, kind) == 0)
            return series;
    }
    if (!CB_GROW(report, samples->series, samples->count, samples->room))
        return NULL;
    struct series new = {.kind = strdup(kind), .element = strdup(element)};
    if (!new.kind || !new.element) {
        free(new.kind);
        free(new.element);
        report->no_memory = true;
        return NULL;
    }
    samples->series[samples->count++] = new;
    *near = samples->count;
    return &samples->series[samples->count - 1];
}

static void add_value(struct report *report, struct series *series, size_t step, double value) {
    while (series->steps <= step) {
        if (!CB_GROW(report, series->step, series->steps, series->room))
            return;
        series->step[series->steps++] = (struct values){.count = 0};
    }
    struct values *values = &series->step[step];
    if (CB_GROW(report, values->at, values->count, values->room))
        values->at[values->count++] = value;
}

/* On a graph with cycles trajectories end one by one: percentiles of the last few say nothing. */
static void cut_tail(struct series *series) {
    enum { LEAST = 20 };
    while (series->steps > 1 && LEAST * series->step[series->steps - 1].count < series->step[0].count)
        free(series->step[--series->steps].at);
}

static bool is_one_of(const char *kind, const char *const *kinds) {
    while (*kinds && strcmp(kind, *kinds) != 0)
        kinds++;
    return *kinds != NULL;
}

bool cb_samples_read(struct report *report, struct samples *samples, const char *table, const char *column,
                     const char *const *kinds) {
    struct sheet sheet;
    size_t near = 0;
    if (!cb_sheet_open(&sheet, report->folder, table, (const char *[]){"step", "kind", "element", column, NULL}))
        return false;
    while (!report->no_memory && cb_sheet_next(&sheet)) {
        enum { STEPS = 1 << 20 };
        unsigned long step = strtoul(sheet.field[0], NULL, 10);
        if (step == 0 || step > STEPS || (*kinds && !is_one_of(sheet.field[1], kinds)))
            continue;
        struct series *series = find_series(report, samples, &near, sheet.field[1], sheet.field[2]);
        if (series)
            add_value(report, series, step - 1, strtod(sheet.field[3], NULL));
    }
    cb_sheet_close(&sheet);
    for (size_t i = 0; i < samples->count; i++)
        cut_tail(&samples->series[i]);
    return samples->count > 0;
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
}

void cb_samples_add_total(struct report *report, struct samples *samples, const char *element) {
    size_t parts = samples->count, near = 0;
    struct series *total = find_series(report, samples, &near, "total", element);
    for (size_t i = 0; total && i < parts; i++) {
        const struct series *part = &samples->series[i];
        for (size_t step = 0; step < part->steps; step++)
            for (size_t k = 0; k < part->step[step].count; k++) {
                bool there = step < total->steps && k < total->step[step].count;
                if (there)
                    total->step[step].at[k] += part->step[step].at[k];
                else
                    add_value(report, total, step, part->step[step].at[k]);
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
    static const int percent[CB_PERCENTILES] = {5, 25, 50, 75, 95};
    if (values->count)
        qsort(values->at, values->count, sizeof *values->at, compare);
    for (size_t i = 0; i < CB_PERCENTILES; i++) {
        if (!values->count) {
            result[i] = 0;
            continue;
        }
        double at = percent[i] / 100.0 * (double)(values->count - 1);
        size_t low = (size_t)at, high = low + 1 < values->count ? low + 1 : low;
        result[i] = values->at[low] + (at - (double)low) * (values->at[high] - values->at[low]);
    }
}
