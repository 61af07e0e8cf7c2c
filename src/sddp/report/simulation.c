/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.c: what the policy does, as fans: storage, marginal cost, water values. */
#include "sddp/report/parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_FANS = 8 };

/* What is drawn: values of one kind, with a picture for each element. */
struct fans {
    const char *table, *column, *kind; /* no kind: all */
    const char *title, *text, *y_name;
    const char *total; /* the name of a picture of their sum */
    bool instead;      /* only when the one before has nothing */
    bool negative, same_scale;
};

static const struct fans all_fans[] = {
    {.table = "states.csv",
     .column = "out",
     .kind = "storage",
     .title = "Storage",
     .text = "At the end of each step. Each picture has a scale of its own.",
     .y_name = "storage",
     .total = "All reservoirs"},
    /* A hydrothermal case has storage; any other case has states, and all of them may be of interest. */
    {.table = "states.csv",
     .column = "out",
     .title = "States",
     .text = "What each step leaves to the next one. Each picture has a scale of its own.",
     .y_name = "value",
     .instead = true},
    {.table = "duals.csv",
     .column = "value",
     .kind = "load",
     .title = "Marginal cost",
     .text = "Of one more unit of load. All pictures have the same scale, to be compared.",
     .y_name = "marginal cost",
     .same_scale = true},
    /* More water lowers the cost: its value is minus the dual. */
    {.table = "duals.csv",
     .column = "value",
     .kind = "water",
     .title = "Water values",
     .text = "What one more unit of stored water saves.",
     .y_name = "water value",
     .negative = true},
};

/* `p` has the percentiles of a step. */
static void draw_tip(const struct chart *chart, const char *element, double step, double width, const double *p) {
    char text[CB_PERCENTILES][32], tip[512];
    for (size_t i = 0; i < CB_PERCENTILES; i++)
        cb_short_text(p[i], 5, text[i]);
    snprintf(tip, sizeof tip, "%s, step %.0f\nMedian %s\nHalf of them %s to %s\n90 %% of them %s to %s", element, step,
             text[2], text[1], text[3], text[0], text[4]);
    cb_chart_strip(chart, step, width, tip);
}

/* A fan: median, and the bands that hold half and 90 % of the trajectories. */
static void draw_fan(struct report *report, const struct series *series, const char *y_name,
                     const struct scale *shared) {
    struct grid grid = {.columns = 1 + CB_PERCENTILES};
    struct chart chart = {.y = *shared};
    size_t steps = series->steps;
    cb_chart_begin(&chart, report->to, ++report->pictures, CB_CHART_HEIGHT - 40, series->element,
                   "Median and percentiles of all trajectories, by step");
    chart.x.from = 1;
    chart.x.to = steps > 1 ? (double)steps : 2;
    for (size_t step = 0; step < steps; step++) {
        double *row = cb_grid_add(report, &grid);
        if (!row)
            break;
        double *p = row + 1;
        row[0] = (double)step + 1;
        cb_percentiles(&series->step[step], p);
        if (shared->to == shared->from) { /* a scale of its own */
            chart.y.from = step ? fmin(chart.y.from, p[0]) : fmin(0, p[0]);
            chart.y.to = step ? fmax(chart.y.to, p[CB_PERCENTILES - 1]) : p[CB_PERCENTILES - 1];
        }
    }
    cb_scale_fit(&chart.y, 5);
    cb_chart_axes(&chart, "step", y_name, cb_whole_ticks(&chart.x, 8));
    cb_chart_band(&chart, 1, "outer", &grid, 1, 5);
    cb_chart_band(&chart, 1, "inner", &grid, 2, 4);
    cb_chart_line(&chart, 1, "median", &grid, 3);
    double width = (chart.x.end - chart.x.start) / (double)(steps > 1 ? steps - 1 : 1);
    for (size_t step = 0; step < grid.rows; step++) {
        const double *row = grid.at + step * grid.columns;
        draw_tip(&chart, series->element, row[0], width, row + 1);
    }
    cb_chart_end(&chart);
    cb_data_table(report->to, (const char *[]){"Step", "5 %", "25 %", "median", "75 %", "95 %"}, &grid, 0, 1);
    free(grid.at);
}

static double size_of(const struct series *series) {
    double sum = 0;
    for (size_t step = 0; step < series->steps; step++)
        sum += fabs(cb_mean(&series->step[step]));
    return series->steps ? sum / (double)series->steps : 0;
}

/* Marks the MOST_FANS largest; the others are in the tables. */
static size_t choose(const struct samples *samples, bool *chosen) {
    size_t count = 0;
    for (; count < samples->count && count < MOST_FANS; count++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < samples->count; i++)
            if (!chosen[i] && (best == SIZE_MAX || size_of(&samples->series[i]) > size_of(&samples->series[best])))
                best = i;
        chosen[best] = true;
    }
    return count;
}

/* From 0 or below to the highest band of all: pictures of prices are meant to be compared. */
static struct scale common_scale(const struct samples *samples, const bool *chosen) {
    struct scale scale = {.from = 0, .to = 0};
    for (size_t i = 0; i < samples->count; i++)
        for (size_t step = 0; chosen[i] && step < samples->series[i].steps; step++) {
            double p[CB_PERCENTILES];
            cb_percentiles(&samples->series[i].step[step], p);
            scale.from = fmin(scale.from, p[0]);
            scale.to = fmax(scale.to, p[CB_PERCENTILES - 1]);
        }
    return scale;
}

static void draw_samples(struct report *report, const struct fans *fans, const struct samples *samples) {
    static const struct legend legend[] = {
        {"median", 1, "line"}, {"half of the trajectories", 1, "band inner"}, {"90 % of them", 1, "band"}};
    bool *chosen = calloc(samples->count, sizeof *chosen);
    if (!chosen) {
        report->no_memory = true;
        return;
    }
    size_t shown = choose(samples, chosen);
    char note[512];
    snprintf(note, sizeof note, "%s%s", fans->text, shown < samples->count ? " The largest are shown." : "");
    struct scale scale = {.from = 0, .to = 0};
    if (fans->same_scale)
        scale = common_scale(samples, chosen);
    cb_section_begin(report->to, fans->title, note, legend, sizeof legend / sizeof *legend);
    for (size_t i = 0; i < samples->count; i++) {
        if (!chosen[i])
            continue;
        cb_card_begin(report->to, samples->series[i].element, NULL);
        draw_fan(report, &samples->series[i], fans->y_name, &scale);
        cb_card_end(report->to);
    }
    cb_section_end(report->to);
    free(chosen);
}

static bool draw_fans(struct report *report, const struct fans *fans) {
    struct samples samples = {.count = 0};
    bool any = cb_samples_read(report, &samples, fans->table, fans->column, (const char *[]){fans->kind, NULL});
    if (fans->total && samples.count > 1)
        cb_samples_add_total(report, &samples, fans->total);
    if (fans->negative)
        cb_samples_negate(&samples);
    if (any)
        draw_samples(report, fans, &samples);
    cb_samples_free(&samples);
    return any;
}

bool cb_report_simulation(struct report *report) {
    bool any = cb_report_costs(report), before = false;
    for (size_t i = 0; i < sizeof all_fans / sizeof *all_fans; i++) {
        before = !(all_fans[i].instead && before) && draw_fans(report, &all_fans[i]);
        any = any || before;
    }
    return any;
}
