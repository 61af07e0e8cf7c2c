/* simulation.c: what the policy does: costs, generation, storage, prices. */
#include "sddp/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FANS = 8 };

static void tip_of_step(char *tip, size_t size, const char *element, size_t step, const double *p) {
    char text[CB_PERCENTILES][32];
    for (size_t i = 0; i < CB_PERCENTILES; i++)
        cb_short_text(p[i], 5, text[i]);
    snprintf(tip, size, "%s, step %zu\nMedian %s\nHalf of them %s to %s\n90 %% of them %s to %s", element, step + 1,
             text[2], text[1], text[3], text[0], text[4]);
}

/* A fan: median, and the bands that hold half and 90 % of the trajectories. `p` has a row for each percentile. */
static void draw_fan(FILE *to, const struct series *series, const char *name, const char *y_name,
                     const struct scale *shared) {
    size_t steps = series->steps;
    double *x = calloc(steps * (1 + CB_PERCENTILES), sizeof *x), *p[CB_PERCENTILES];
    if (!x)
        return;
    for (size_t i = 0; i < CB_PERCENTILES; i++)
        p[i] = x + steps * (i + 1);
    struct chart chart = {.y = *shared};
    cb_chart_begin(&chart, to, CB_CHART_HEIGHT - 40, name, "Median and percentiles of all trajectories, by step");
    chart.x.from = 1;
    chart.x.to = steps > 1 ? (double)steps : 2;
    for (size_t step = 0; step < steps; step++) {
        double all[CB_PERCENTILES];
        cb_percentiles(&series->step[step], all);
        x[step] = (double)step + 1;
        for (size_t i = 0; i < CB_PERCENTILES; i++)
            p[i][step] = all[i];
        if (shared->to == shared->from) { /* a scale of its own */
            chart.y.from = step ? fmin(chart.y.from, all[0]) : fmin(0, all[0]);
            chart.y.to = step ? fmax(chart.y.to, all[CB_PERCENTILES - 1]) : all[CB_PERCENTILES - 1];
        }
    }
    cb_scale_fit(&chart.y, 5);
    cb_chart_axes(&chart, "step", y_name, cb_whole_ticks(&chart.x, 8));
    cb_chart_band(&chart, 1, "outer", x, p[0], p[4], steps);
    cb_chart_band(&chart, 1, "inner", x, p[1], p[3], steps);
    cb_chart_line(&chart, 1, "median", x, p[2], steps);
    double width = (chart.x.end - chart.x.start) / (double)(steps > 1 ? steps - 1 : 1);
    for (size_t step = 0; step < steps; step++) {
        char tip[512];
        tip_of_step(tip, sizeof tip, name, step,
                    (double[]){p[0][step], p[1][step], p[2][step], p[3][step], p[4][step]});
        cb_chart_strip(&chart, x[step], width, tip);
    }
    cb_chart_end(&chart);
    const char *const columns[] = {"Step", "5 %", "25 %", "median", "75 %", "95 %"};
    cb_data_begin(to, columns, 6);
    for (size_t step = 0; step < steps; step++) {
        char row[32];
        snprintf(row, sizeof row, "%zu", step + 1);
        cb_data_row(to, row, (double[]){p[0][step], p[1][step], p[2][step], p[3][step], p[4][step]}, CB_PERCENTILES);
    }
    cb_data_end(to);
    free(x);
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

static void draw_fans(FILE *to, struct samples *samples, const char *title, const char *text, const char *y_name,
                      bool same_scale) {
    static const struct legend legend[] = {
        {"median", 1, "line"}, {"half of the trajectories", 1, "band inner"}, {"90 % of them", 1, "band"}};
    bool *chosen = calloc(samples->count + 1, sizeof *chosen);
    if (!chosen)
        return;
    size_t shown = choose(samples, chosen);
    char note[512];
    snprintf(note, sizeof note, "%s%s", text, shown < samples->count ? " The largest are shown." : "");
    struct scale scale = {.from = 0, .to = 0};
    if (same_scale)
        scale = common_scale(samples, chosen);
    cb_section_begin(to, title, note, legend, sizeof legend / sizeof *legend);
    for (size_t i = 0; i < samples->count; i++) {
        if (!chosen[i])
            continue;
        cb_card_begin(to, samples->series[i].element, NULL);
        draw_fan(to, &samples->series[i], samples->series[i].element, y_name, &scale);
        cb_card_end(to);
    }
    cb_section_end(to);
    free(chosen);
}

static bool is_storage(const char *kind) {
    return strcmp(kind, "storage") == 0;
}

static bool is_load(const char *kind) {
    return strcmp(kind, "load") == 0;
}

static bool is_water(const char *kind) {
    return strcmp(kind, "water") == 0;
}

/* A hydrothermal case has storage; any other case has states, and all of them may be of interest. */
static bool draw_states(FILE *to, const char *folder) {
    struct samples samples = {.count = 0};
    bool storage = cb_samples_read(&samples, folder, "states.csv", "out", is_storage);
    if (storage && samples.count > 1)
        cb_samples_add_total(&samples, "storage", "All reservoirs");
    bool any = storage || cb_samples_read(&samples, folder, "states.csv", "out", NULL);
    if (any)
        draw_fans(to, &samples, storage ? "Storage" : "States",
                  storage ? "At the end of each step. Each picture has a scale of its own."
                          : "What each step leaves to the next one. Each picture has a scale of its own.",
                  storage ? "storage" : "value", false);
    cb_samples_free(&samples);
    return any;
}

static bool draw_marginal_costs(FILE *to, const char *folder) {
    struct samples samples = {.count = 0};
    bool any = cb_samples_read(&samples, folder, "duals.csv", "value", is_load);
    if (any)
        draw_fans(to, &samples, "Marginal cost",
                  "Of one more unit of load. All pictures have the same scale, to be compared.", "marginal cost", true);
    cb_samples_free(&samples);
    return any;
}

/* More water lowers the cost: its value is minus the dual. */
static bool draw_water_values(FILE *to, const char *folder) {
    struct samples samples = {.count = 0};
    bool any = cb_samples_read(&samples, folder, "duals.csv", "value", is_water);
    cb_samples_negate(&samples);
    if (any)
        draw_fans(to, &samples, "Water values", "What one more unit of stored water saves.", "water value", false);
    cb_samples_free(&samples);
    return any;
}

bool cb_report_simulation(FILE *to, const char *folder, const struct fact_list *summary,
                          const struct fact_list *simulation) {
    bool costs = cb_report_costs(to, folder, summary, simulation);
    bool states = draw_states(to, folder);
    bool marginal = draw_marginal_costs(to, folder);
    return draw_water_values(to, folder) || costs || states || marginal;
}
