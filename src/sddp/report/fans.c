/* SPDX-License-Identifier: Apache-2.0 */
/* fans.c: a figure over the steps: the median of the trajectories, and bands that hold half and 90 % of them. */
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

static const struct cb_series *next_of(const struct cb_results *results, const struct cb_series *after,
                                       const struct fans *fans) {
    for (size_t i = after ? (size_t)(after - results->series) + 1 : 0; i < results->count; i++) {
        const struct cb_series *series = &results->series[i];
        if (series->points && strcmp(series->level, fans->level) == 0 &&
            (!fans->kind || strcmp(series->kind, fans->kind) == 0) &&
            (!fans->table || strcmp(series->table, fans->table) == 0))
            return series;
    }
    return NULL;
}

const struct cb_series *cb_next_series(const struct cb_results *results, const struct cb_series *after,
                                       const char *kind, const char *level) {
    return next_of(results, after, &(struct fans){.kind = kind, .level = level});
}

size_t cb_count_series(const struct cb_results *results, const char *kind, const char *level) {
    size_t count = 0;
    const struct cb_series *series = NULL;
    while ((series = cb_next_series(results, series, kind, level)))
        count++;
    return count;
}

/* On a graph with cycles few trajectories go on for long: their percentiles say little. */
size_t cb_steps_of(const struct cb_series *series) {
    size_t steps = series->points;
    while (steps > 1 && series->point[steps - 1].count < 0.05 * series->point[0].count)
        steps--;
    return steps;
}

double cb_mean_over_steps(const struct cb_series *series) {
    double sum = 0;
    size_t steps = cb_steps_of(series);
    for (size_t i = 0; i < steps; i++)
        sum += series->point[i].mean;
    return steps ? sum / (double)steps : 0;
}

const char *cb_axis_name(const char *name, const char *unit, char text[CB_WORDS]) {
    snprintf(text, CB_WORDS, "%.60s%s%.60s", name, *unit ? ", " : "", unit);
    return text;
}

void cb_grid_steps(struct report *report, struct grid *grid, const struct cb_series *series,
                   void fill(double *row, const struct cb_point *point)) {
    size_t steps = cb_steps_of(series), every = (steps + CB_MOST_STEPS - 1) / CB_MOST_STEPS;
    double *row;
    for (size_t i = 0; i < steps && (row = cb_grid_add(report, grid)); i += every) {
        row[0] = (double)i + 1;
        fill(row, &series->point[i]);
    }
}

enum { MEAN = 1, LOWEST, MEDIAN = LOWEST + 2, HIGHEST = LOWEST + CB_PERCENTILES - 1, COLUMNS };
static const char *const columns[] = {"", "mean", "5 %", "25 %", "median", "75 %", "95 %"};

static void fill_fan(double *row, const struct cb_point *point) {
    row[MEAN] = point->mean;
    memcpy(row + LOWEST, point->percentile, sizeof point->percentile);
}

static void fill_mean(double *row, const struct cb_point *point) {
    row[MEAN] = point->mean;
}

static void widen(struct scale *scale, const struct cb_series *series) {
    for (size_t i = 0; i < cb_steps_of(series); i++) {
        scale->from = fmin(scale->from, series->point[i].percentile[0]);
        scale->to = fmax(scale->to, series->point[i].percentile[CB_PERCENTILES - 1]);
    }
}

/* The most or the least that it can be; NULL: nobody knows. */
static const struct cb_series *limit_of(const struct run *run, const char *kind, const struct cb_series *series) {
    return kind ? cb_results_find(run->results, kind, series->level, series->element) : NULL;
}

static void draw_tip(const struct chart *chart, const struct cb_series *series, const double *row, double width) {
    char text[COLUMNS][32], tip[512], step[CB_WORDS];
    for (size_t i = 1; i < COLUMNS; i++)
        cb_short_text(row[i], 5, text[i]);
    snprintf(tip, sizeof tip, "%s, %.30s\nMean %s, median %s\nHalf of them %s to %s\n90 %% of them %s to %s",
             cb_step_text(&series->point[(size_t)row[0] - 1], step), series->unit, text[MEAN], text[MEDIAN],
             text[LOWEST + 1], text[HIGHEST - 1], text[LOWEST], text[HIGHEST]);
    cb_chart_strip(chart, row[0], width, tip);
}

static void draw_tips(const struct chart *chart, const struct cb_series *series, const struct grid *grid) {
    enum { STRIPS = 60 };
    size_t every = (grid->rows + STRIPS - 1) / STRIPS;
    double width = (chart->x.end - chart->x.start) * (double)every / (double)(grid->rows > 1 ? grid->rows - 1 : 1);
    for (size_t i = 0; i < grid->rows; i += every)
        draw_tip(chart, series, grid->at + i * grid->columns, width);
}

static void draw_limit(struct report *report, const struct chart *chart, const struct cb_series *limit) {
    struct grid grid = {.columns = 2};
    cb_grid_steps(report, &grid, limit, fill_mean);
    cb_chart_line(chart, 8, "capacity", &grid, MEAN);
    free(grid.at);
}

static void draw_fan(struct report *report, const struct fans *fans, const struct cb_series *series,
                     const struct scale *shared) {
    struct grid grid = {.columns = COLUMNS};
    struct chart chart = {.y = *shared};
    const struct cb_series *capacity = limit_of(report->run, fans->capacity, series),
                           *least = limit_of(report->run, fans->least, series);
    size_t steps = cb_steps_of(series);
    char y_name[CB_WORDS];
    cb_chart_begin(&chart, report->to, ++report->pictures, CB_CHART_HEIGHT - 40, series->element,
                   "Median and percentiles of all trajectories over time");
    chart.x.from = 1;
    chart.x.to = steps > 1 ? (double)steps : 2;
    if (!fans->same_scale)
        widen(&chart.y, series);
    if (capacity)
        widen(&chart.y, capacity);
    if (least)
        widen(&chart.y, least);
    cb_scale_fit(&chart.y, 5);
    cb_chart_steps(&chart, series->point, steps, cb_axis_name(fans->y_name, series->unit, y_name));
    cb_grid_steps(report, &grid, series, fill_fan);
    cb_chart_band(&chart, 1, "outer", &grid, LOWEST, HIGHEST);
    cb_chart_band(&chart, 1, "inner", &grid, LOWEST + 1, HIGHEST - 1);
    cb_chart_line(&chart, 1, "median", &grid, MEDIAN);
    if (capacity)
        draw_limit(report, &chart, capacity);
    if (least)
        draw_limit(report, &chart, least);
    draw_tips(&chart, series, &grid);
    cb_chart_end(&chart);
    cb_data_table(report->to, columns, &grid, 0, series->point);
    free(grid.at);
}

static double most_of(const struct cb_series *series) {
    double most = 0;
    for (size_t i = 0; i < series->points; i++)
        most = fmax(most, fmax(fabs(series->point[i].minimum), fabs(series->point[i].maximum)));
    return most;
}

/* What is less than this is 0 but for the accuracy of LPs. */
static double least_of(const struct cb_results *results, const struct fans *fans) {
    double most = 0;
    const struct cb_series *series = NULL;
    while ((series = next_of(results, series, fans)))
        most = fmax(most, most_of(series));
    return 1e-6 * most;
}

/* The largest that is not chosen yet. */
static const struct cb_series *largest(const struct cb_results *results, const struct fans *fans,
                                       const struct cb_series *const *chosen, size_t count, double least) {
    const struct cb_series *best = NULL, *series = NULL;
    while ((series = next_of(results, series, fans))) {
        bool known = most_of(series) <= least;
        for (size_t i = 0; i < count; i++)
            known |= chosen[i] == series;
        if (!known && (!best || fabs(cb_mean_over_steps(series)) > fabs(cb_mean_over_steps(best))))
            best = series;
    }
    return best;
}

/* In the order of the table. */
static size_t choose(const struct cb_results *results, const struct fans *fans,
                     const struct cb_series *chosen[CB_MOST_FANS]) {
    const struct cb_series *next;
    double least = least_of(results, fans);
    size_t count = 0;
    while (count < CB_MOST_FANS && (next = largest(results, fans, chosen, count, least))) {
        size_t at = count++;
        for (; at > 0 && chosen[at - 1] > next; at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = next;
    }
    return count;
}

static void draw_card(struct report *report, const struct fans *fans, const struct cb_series *series, const char *title,
                      const struct scale *scale) {
    char name[CB_WORDS];
    cb_card_begin(report->to, title ? title : cb_element_text(series->element, name), NULL);
    draw_fan(report, fans, series, scale);
    cb_card_end(report->to);
}

static void begin(struct report *report, const struct fans *fans, bool some) {
    const struct legend legend[] = {{"median", 1, "line"},
                                    {"half of the trajectories", 1, "band inner"},
                                    {"90 % of them", 1, "band"},
                                    {fans->least ? "capacity, and least level" : "capacity", 8, "line dash"}};
    char text[512];
    snprintf(text, sizeof text, "%s%s", fans->text, some ? " The largest are shown." : "");
    cb_section_begin(report->to, fans->title, text, legend, fans->capacity ? 4 : 3);
}

bool cb_report_fans(struct report *report, const struct fans *fans) {
    const struct cb_results *results = report->run->results;
    const struct cb_series *chosen[CB_MOST_FANS];
    const struct cb_series *system = fans->system ? cb_next_series(results, NULL, fans->kind, "system") : NULL;
    size_t count = choose(results, fans, chosen);
    struct scale scale = {.from = 0, .to = 0};
    if (!system && !count)
        return false;
    begin(report, fans, largest(results, fans, chosen, count, least_of(results, fans)) != NULL);
    for (size_t i = 0; fans->same_scale && i < count; i++)
        widen(&scale, chosen[i]);
    if (system && count != 1) /* it would be the same */
        draw_card(report, fans, system, fans->system, &scale);
    for (size_t i = 0; i < count; i++)
        draw_card(report, fans, chosen[i], NULL, &scale);
    cb_section_end(report->to);
    return true;
}

bool cb_report_unnamed(struct report *report) {
    static const struct fans all[] = {
        {.table = "states",
         .level = "element",
         .title = "States",
         .text = "What each step leaves to the next one. Each picture has a scale of its own.",
         .y_name = "value"},
        {.table = "variables",
         .level = "element",
         .title = "Variables",
         .text = "What each step decides. Each picture has a scale of its own.",
         .y_name = "value"},
    };
    bool any = cb_report_fans(report, &all[0]);
    return cb_report_fans(report, &all[1]) || any;
}
