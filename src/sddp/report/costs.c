/* SPDX-License-Identifier: Apache-2.0 */
/* costs.c: what the trajectories cost, and what is generated at each step. */
#include "sddp/report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_costs(struct report *report, struct values *costs) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, report->folder, "costs.csv", (const char *[]){"cost", NULL}))
        return;
    while (cb_sheet_next(&sheet) && CB_GROW(report, costs->at, costs->count, costs->room))
        costs->at[costs->count++] = strtod(sheet.field[0], NULL);
    cb_sheet_close(&sheet);
}

enum { FROM, UNTIL, COUNT, BIN_COLUMNS, MOST_BINS = 41 };

struct histogram {
    double from, width, highest;
    size_t bins;
    double bin[MOST_BINS][BIN_COLUMNS];
};

/* Bins of a round width, so that their borders read well. */
static void fill_bins(const struct values *costs, struct histogram *histogram) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < costs->count; i++) {
        least = fmin(least, costs->at[i]);
        most = fmax(most, costs->at[i]);
    }
    int wanted = costs->count < 100 ? 10 : 24;
    bool differ = most - least > 1e-9 * fabs(most);
    double width = cb_nice_step(differ ? most - least : fabs(most) + 1, wanted);
    *histogram = (struct histogram){.width = width, .from = floor(least / width) * width};
    if (!differ) { /* one bar, with room on both sides */
        histogram->from = least - 5.5 * width;
        histogram->bins = 11;
    }
    for (size_t i = 0; i < costs->count; i++) {
        double at = (costs->at[i] - histogram->from) / width;
        size_t bin = at > 0 ? (size_t)at : 0;
        bin = bin < MOST_BINS ? bin : MOST_BINS - 1;
        histogram->bins = bin + 1 > histogram->bins ? bin + 1 : histogram->bins;
        histogram->highest = fmax(histogram->highest, ++histogram->bin[bin][COUNT]);
    }
    for (size_t bin = 0; bin < histogram->bins; bin++) {
        histogram->bin[bin][FROM] = histogram->from + (double)bin * width;
        histogram->bin[bin][UNTIL] = histogram->bin[bin][FROM] + width;
    }
}

static void draw_costs(struct report *report, const struct values *costs) {
    struct histogram histogram;
    struct chart chart;
    FILE *to = report->to;
    double bound = cb_fact_number(&report->results.simulation, "bound");
    fill_bins(costs, &histogram);
    cb_card_begin(to, report->maximises ? "Value of the trajectories" : "Cost of the trajectories",
                  "How many trajectories have a total in each range, and the bound of the training.");
    cb_chart_begin(&chart, to, ++report->pictures, CB_CHART_HEIGHT, "Cost of the trajectories",
                   "Histogram of the total cost");
    chart.x.from = histogram.from;
    chart.x.to = histogram.from + (double)histogram.bins * histogram.width;
    if (isfinite(bound) && fabs(bound - chart.x.from) < 2 * (chart.x.to - chart.x.from)) {
        chart.x.from = fmin(chart.x.from, floor(bound / histogram.width) * histogram.width);
        chart.x.to = fmax(chart.x.to, ceil(bound / histogram.width) * histogram.width);
    }
    chart.y.from = 0;
    chart.y.to = fmax(5, histogram.highest); /* so that the axis has whole numbers */
    cb_scale_fit(&chart.y, 5);
    cb_chart_axes(&chart, report->maximises ? "total value" : "total cost", "trajectories", 6);
    for (size_t i = 0; i < histogram.bins; i++) {
        char from[32], until[32], tip[128];
        const double *bin = histogram.bin[i];
        snprintf(tip, sizeof tip, "%s to %s\n%.0f trajectories", cb_short_text(bin[FROM], 5, from),
                 cb_short_text(bin[UNTIL], 5, until), bin[COUNT]);
        if (bin[COUNT] > 0)
            cb_chart_bar(&chart, 1, bin[FROM], bin[UNTIL], 0, bin[COUNT], tip);
    }
    cb_chart_mark(&chart, bound, "bound");
    cb_chart_end(&chart);
    const struct grid bins = {.at = histogram.bin[0], .rows = histogram.bins, .columns = BIN_COLUMNS};
    cb_data_table(to, (const char *[]){"From", "To", "Trajectories"}, &bins, 6, 1);
    cb_card_end(to);
}

/* What load is served with; the colours are the page's. */
enum { SOURCES = 3 };
static const char *const kinds[SOURCES + 1] = {"hydro", "generation", "deficit", NULL};
static const char *const columns[SOURCES + 1] = {"Step", "Hydro", "Thermal", "Deficit"};
static const unsigned colours[SOURCES] = {1, 4, 7};

/* The load block that an element is about: "plant,block"; of a deficit "area,tier,block". "" if there are none. */
static const char *block_of(const struct series *series) {
    const char *comma = strchr(series->element, ',');
    if (comma && strcmp(series->kind, "deficit") == 0)
        comma = strchr(comma + 1, ',');
    return comma ? comma + 1 : "";
}

/* A row for each step: the means over the trajectories, for each source of all its elements together. */
static void fill_mix(struct report *report, struct grid *mix, const struct samples *samples, const char *block) {
    for (size_t i = 0; i < samples->count; i++) {
        const struct series *series = &samples->series[i];
        double *row;
        while (mix->rows < series->steps && (row = cb_grid_add(report, mix)))
            row[0] = (double)mix->rows;
        if (report->no_memory || strcmp(block_of(series), block) != 0)
            continue;
        size_t source = 0;
        while (strcmp(series->kind, kinds[source]) != 0)
            source++;
        for (size_t step = 0; step < series->steps; step++)
            mix->at[step * mix->columns + 1 + source] += cb_mean(&series->step[step]);
    }
}

static double highest(const struct grid *mix) {
    double most = 0;
    for (size_t step = 0; step < mix->rows; step++) {
        double sum = 0;
        for (size_t s = 1; s <= SOURCES; s++)
            sum += mix->at[step * mix->columns + s];
        most = fmax(most, sum);
    }
    return most;
}

static void draw_step(const struct chart *chart, const double *row, double width) {
    double below = 0, x = row[0];
    char tip[256];
    int length = snprintf(tip, sizeof tip, "Step %.0f", x);
    for (size_t s = 0; s < SOURCES; s++) {
        char text[32];
        double mean = row[1 + s];
        if (mean > 0)
            cb_chart_bar(chart, colours[s], x - 0.5, x + 0.5, below, below + mean, NULL);
        below += mean;
        length += snprintf(tip + length, sizeof tip - (size_t)length, "\n%s %s", columns[1 + s],
                           mean == 0 ? "0" : cb_short_text(mean, 5, text));
    }
    cb_chart_strip(chart, x, width, tip);
}

static void draw_mix(struct report *report, const struct grid *mix, const char *block) {
    struct chart chart;
    struct legend legend[SOURCES];
    FILE *to = report->to;
    for (size_t s = 0; s < SOURCES; s++)
        legend[s] = (struct legend){columns[1 + s], colours[s], "bar"};
    char title[128];
    snprintf(title, sizeof title, *block ? "Generation mix, block %s" : "Generation mix%s", block);
    cb_card_begin(to, title, "Mean over the trajectories, of all subsystems together.");
    cb_legend(to, legend, SOURCES);
    cb_chart_begin(&chart, to, ++report->pictures, CB_CHART_HEIGHT, title,
                   "A bar for each step, made of the mean of each source");
    chart.x.from = 0.5;
    chart.x.to = (double)mix->rows + 0.5;
    chart.y.from = 0;
    chart.y.to = highest(mix);
    cb_scale_fit(&chart.y, 5);
    cb_chart_axes(&chart, "step", "power", cb_whole_ticks(&chart.x, 8));
    double width = (chart.x.end - chart.x.start) / (double)mix->rows;
    for (size_t step = 0; step < mix->rows; step++)
        draw_step(&chart, mix->at + step * mix->columns, width);
    cb_chart_end(&chart);
    cb_data_table(to, columns, mix, 0, 1);
    cb_card_end(to);
}

/* A picture for each load block: their powers do not add up. */
static void draw_mixes(struct report *report, const struct samples *samples) {
    enum { MOST_BLOCKS = 6 };
    const char *blocks[MOST_BLOCKS];
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const char *block = block_of(&samples->series[i]);
        size_t known = 0;
        while (known < count && strcmp(blocks[known], block) != 0)
            known++;
        if (known == count && count < MOST_BLOCKS)
            blocks[count++] = block;
    }
    for (size_t i = 0; i < count; i++) {
        struct grid mix = {.columns = 1 + SOURCES};
        fill_mix(report, &mix, samples, blocks[i]);
        if (!report->no_memory)
            draw_mix(report, &mix, blocks[i]);
        free(mix.at);
    }
}

bool cb_report_costs(struct report *report) {
    struct values costs = {.count = 0};
    struct samples samples = {.count = 0};
    read_costs(report, &costs);
    bool has_mix = cb_samples_read(report, &samples, "variables.csv", "value", kinds);
    if (costs.count || has_mix) {
        char text[160];
        snprintf(text, sizeof text, "%s trajectories, %s.", cb_fact(&report->results.simulation, "trajectories"),
                 cb_fact(&report->results.simulation, "sampling"));
        cb_section_begin(report->to, "Simulation", report->results.simulation.count ? text : NULL, NULL, 0);
        if (costs.count)
            draw_costs(report, &costs);
        if (has_mix)
            draw_mixes(report, &samples);
        cb_section_end(report->to);
    }
    bool any = costs.count || has_mix;
    free(costs.at);
    cb_samples_free(&samples);
    return any;
}
