/* SPDX-License-Identifier: Apache-2.0 */
/* system.c: the results of a hydrothermal system: storage, prices, generation, deficits, exchanges, spill, inflow. */
#include "sddp/report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct fans stored = {.kind = "stored_energy",
                                   .level = "subsystem",
                                   .title = "Stored energy",
                                   .text = "At the end of each step.",
                                   .y_name = "stored energy",
                                   .capacity = "stored_energy_capacity",
                                   .system = "All subsystems"};
static const struct fans prices = {.kind = "marginal_cost",
                                   .level = "element",
                                   .title = "Marginal cost",
                                   .text = "Of one more unit of load, over the load blocks by their shares. All "
                                           "pictures have the same scale.",
                                   .y_name = "marginal cost",
                                   .same_scale = true};
static const struct fans after_mix[] = {
    {.kind = "exchange",
     .level = "element",
     .title = "Exchanges",
     .text = "Between subsystems, in each direction.",
     .y_name = "exchange"},
    {.kind = "spill",
     .level = "element",
     .title = "Spill",
     .text = "Water that passes the turbines by.",
     .y_name = "spill",
     .system = "All subsystems"},
    {.kind = "inflow",
     .level = "element",
     .title = "Inflow",
     .text = "What comes to each reservoir.",
     .y_name = "inflow",
     .system = "All subsystems"},
    {.kind = "water_value",
     .level = "element",
     .title = "Water values",
     .text = "What one more unit of stored water saves.",
     .y_name = "water value"},
};
static const struct fans storage = {.kind = "storage",
                                    .level = "element",
                                    .title = "Reservoirs",
                                    .text = "What each holds at the end of each step.",
                                    .y_name = "storage",
                                    .capacity = "storage_capacity",
                                    .least = "storage_minimum"};

/* What load is served with, from below. Other kinds of generation come between thermal ones and deficits. */
enum { MOST_SOURCES = 6 };
struct source {
    const char *kind;
    unsigned colour;
};

static bool is_generation(const char *kind) {
    const char *end = strstr(kind, "generation");
    return end && strcmp(end, "generation") == 0;
}

static size_t find_sources(const struct cb_results *results, struct source *source) {
    static const unsigned others[] = {3, 5, 6};
    size_t count = 0;
    source[count++] = (struct source){"hydro_generation", 1};
    source[count++] = (struct source){"thermal_generation", 4};
    for (size_t i = 0; i < results->count && count + 1 < MOST_SOURCES; i++) {
        const char *kind = results->series[i].kind;
        bool known = strcmp(results->series[i].level, "subsystem") != 0 || !is_generation(kind);
        for (size_t k = 0; k < count; k++)
            known |= strcmp(source[k].kind, kind) == 0;
        if (!known) {
            source[count] = (struct source){kind, others[count - 2]};
            count++;
        }
    }
    source[count++] = (struct source){"deficit", 7};
    return count;
}

static void fill_mean(double *row, const struct cb_point *point) {
    row[1] = point->mean;
}

/* Columns: place, then the running sums, then the means. Returns a series that has the steps; NULL: there is nothing. */
static const struct cb_series *fill_mix(struct report *report, struct grid *mix, const char *level, const char *element,
                                        const struct source *source, size_t count) {
    const struct cb_series *any = NULL;
    for (size_t s = 0; s < count; s++) {
        const struct cb_series *series = cb_results_find(report->run->results, source[s].kind, level, element);
        struct grid means = {.columns = 2};
        double *row;
        if (series && series->points)
            cb_grid_steps(report, &means, series, fill_mean);
        while (mix->rows < means.rows && (row = cb_grid_add(report, mix)))
            row[0] = means.at[(mix->rows - 1) * 2];
        for (size_t i = 0; i < mix->rows; i++) {
            row = mix->at + i * mix->columns;
            row[1 + count + s] = i < means.rows ? means.at[2 * i + 1] : 0;
            row[1 + s] = (s ? row[s] : 0) + row[1 + count + s];
        }
        any = any ? any : series;
        free(means.at);
    }
    return mix->rows ? any : NULL;
}

static void draw_mix_tips(const struct chart *chart, const struct grid *mix, const struct cb_series *series,
                          const struct source *source, size_t count) {
    enum { STRIPS = 60 };
    size_t every = (mix->rows + STRIPS - 1) / STRIPS;
    double width = (chart->x.end - chart->x.start) * (double)every / (double)mix->rows;
    for (size_t i = 0; i < mix->rows; i += every) {
        const double *row = mix->at + i * mix->columns;
        char tip[512], name[CB_WORDS], text[CB_WORDS];
        int length = snprintf(tip, sizeof tip, "%s", cb_step_text(&series->point[(size_t)row[0] - 1], text));
        for (size_t s = 0; s < count && length < 400; s++)
            length += snprintf(tip + length, sizeof tip - (size_t)length, "\n%.40s %.30s",
                               cb_kind_text(source[s].kind, name), cb_amount_text(row[1 + count + s], text));
        cb_chart_strip(chart, row[0], width, tip);
    }
}

/* The table has the means only. */
static void write_mix_table(struct report *report, const struct grid *mix, const struct cb_series *series,
                            const struct source *source, size_t count) {
    struct grid means = {.columns = 1 + count};
    char name[MOST_SOURCES][CB_WORDS];
    const char *names[1 + MOST_SOURCES] = {""};
    double *row;
    for (size_t s = 0; s < count; s++)
        names[1 + s] = cb_kind_text(source[s].kind, name[s]);
    for (size_t i = 0; i < mix->rows && (row = cb_grid_add(report, &means)); i++) {
        row[0] = mix->at[i * mix->columns];
        memcpy(row + 1, mix->at + i * mix->columns + 1 + count, count * sizeof *row);
    }
    if (!report->no_memory)
        cb_data_table(report->to, names, &means, 0, series->point);
    free(means.at);
}

static double highest(const struct grid *mix, size_t column) {
    double most = 0;
    for (size_t i = 0; i < mix->rows; i++)
        most = fmax(most, mix->at[i * mix->columns + column]);
    return most;
}

static void draw_mix(struct report *report, const char *title, const char *level, const char *element,
                     const struct source *source, size_t count) {
    struct grid mix = {.columns = 1 + 2 * count};
    struct chart chart;
    char y_name[CB_WORDS];
    const struct cb_series *series = fill_mix(report, &mix, level, element, source, count);
    if (series) {
        size_t steps = cb_steps_of(series);
        cb_card_begin(report->to, title, NULL);
        cb_chart_begin(&chart, report->to, ++report->pictures, CB_CHART_HEIGHT - 40, title,
                       "The mean of each source at each step, one upon the other");
        chart.x.from = 0.5;
        chart.x.to = (double)steps + 0.5;
        chart.y.from = 0;
        chart.y.to = highest(&mix, count);
        cb_scale_fit(&chart.y, 5);
        cb_chart_steps(&chart, series->point, steps, cb_axis_name("mean power", series->unit, y_name));
        for (size_t s = count; s-- > 0;) /* each from 0 to its running sum: the lower ones cover it */
            cb_chart_stairs(&chart, source[s].colour, source[s].kind, &mix, 1 + s);
        draw_mix_tips(&chart, &mix, series, source, count);
        cb_chart_end(&chart);
        write_mix_table(report, &mix, series, source, count);
        cb_card_end(report->to);
    }
    free(mix.at);
}

static void draw_mixes(struct report *report) {
    const struct cb_results *results = report->run->results;
    struct source source[MOST_SOURCES];
    struct legend legend[MOST_SOURCES];
    char name[MOST_SOURCES][CB_WORDS], title[CB_WORDS];
    size_t count = find_sources(results, source),
           subsystems = cb_count_series(results, "hydro_generation", "subsystem");
    const struct cb_series *series = cb_next_series(results, NULL, "thermal_generation", "subsystem");
    if (!cb_next_series(results, NULL, "hydro_generation", "system") &&
        !cb_next_series(results, NULL, "thermal_generation", "system"))
        return;
    for (size_t s = 0; s < count; s++)
        legend[s] = (struct legend){cb_kind_text(source[s].kind, name[s]), source[s].colour, "bar"};
    cb_section_begin(report->to, "Generation mix", "Mean over the trajectories and the load blocks.", legend, count);
    draw_mix(report, "All subsystems", "system", "", source, count);
    for (size_t drawn = 0; series && subsystems != 1 && drawn < CB_MOST_FANS; drawn++) {
        draw_mix(report, cb_element_text(series->element, title), "subsystem", series->element, source, count);
        series = cb_next_series(results, series, "thermal_generation", "subsystem");
    }
    cb_section_end(report->to);
}

static void fill_probability(double *row, const struct cb_point *point) {
    row[1] = 100 * point->positive;
}

static void fill_energy(double *row, const struct cb_point *point) {
    row[1] = point->mean;
    row[2] = point->percentile[CB_PERCENTILES - 1];
}

/* A picture of stairs from 0, and of a line if there is a third column. */
static void draw_stairs(struct report *report, const struct cb_series *series, const char *title, const char *y_name,
                        const char *const *names, size_t numbers, void fill(double *row, const struct cb_point *)) {
    struct grid grid = {.columns = 1 + numbers};
    struct chart chart;
    size_t steps = cb_steps_of(series);
    cb_grid_steps(report, &grid, series, fill);
    if (report->no_memory || !grid.rows) {
        free(grid.at);
        return;
    }
    cb_chart_begin(&chart, report->to, ++report->pictures, CB_CHART_HEIGHT - 40, title, names[1]);
    chart.x.from = 0.5;
    chart.x.to = (double)steps + 0.5;
    chart.y.from = 0;
    chart.y.to = fmax(highest(&grid, 1), highest(&grid, numbers));
    cb_scale_fit(&chart.y, 5);
    cb_chart_steps(&chart, series->point, steps, y_name);
    cb_chart_stairs(&chart, 7, "deficit", &grid, 1);
    if (numbers > 1)
        cb_chart_line(&chart, 8, "p95", &grid, 2);
    cb_chart_end(&chart);
    cb_data_table(report->to, names, &grid, 0, series->point);
    free(grid.at);
}

static void draw_deficits(struct report *report) {
    const struct cb_series *energy = cb_next_series(report->run->results, NULL, "unserved_energy", "system");
    static const struct legend legend[] = {{"mean", 7, "bar"}, {"95 % of the trajectories have less", 8, "line"}};
    char y_name[CB_WORDS];
    if (!energy || energy->total.positive == 0)
        return;
    cb_section_begin(report->to, "Deficits", "Load that is not served, of all subsystems together.", NULL, 0);
    cb_card_begin(report->to, "Probability", "The share of the trajectories with a deficit at each step.");
    draw_stairs(report, energy, "Probability of a deficit", "probability, %", (const char *[]){"", "probability, %"}, 1,
                fill_probability);
    cb_card_end(report->to);
    cb_card_begin(report->to, "Energy not served", NULL);
    cb_legend(report->to, legend, 2);
    draw_stairs(report, energy, "Energy not served", cb_axis_name("energy", energy->unit, y_name),
                (const char *[]){"", "mean", "95 %"}, 2, fill_energy);
    cb_card_end(report->to);
    cb_section_end(report->to);
}

/* Where each subsystem has one reservoir, and that is measured as energy, its storage has been shown. */
static bool is_shown(const struct cb_results *results) {
    const struct cb_series *one = cb_next_series(results, NULL, "storage", "element");
    const struct cb_series *energy = cb_next_series(results, NULL, "stored_energy", "subsystem");
    return one && energy && strcmp(one->unit, energy->unit) == 0 &&
           cb_count_series(results, "storage", "element") == cb_count_series(results, "stored_energy", "subsystem");
}

bool cb_report_system(struct report *report) {
    const struct cb_results *results = report->run->results;
    bool any = cb_report_fans(report, &stored);
    any |= cb_report_fans(report, &prices);
    draw_mixes(report);
    draw_deficits(report);
    for (size_t i = 0; i < sizeof after_mix / sizeof *after_mix; i++)
        any |= cb_report_fans(report, &after_mix[i]);
    if (!is_shown(results))
        any |= cb_report_fans(report, &storage);
    return any;
}
