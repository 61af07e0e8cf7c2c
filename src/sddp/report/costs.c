/* costs.c: what the trajectories cost, and what is generated at each step. */
#include "sddp/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_costs(const char *folder, struct values *costs) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, folder, "costs.csv"))
        return false;
    size_t cost = cb_sheet_column(&sheet, "cost");
    while (cost < CB_SHEET_FIELDS && cb_sheet_next(&sheet)) {
        if (costs->count == costs->room) {
            size_t room = costs->room ? 2 * costs->room : 1024;
            double *more = realloc(costs->at, room * sizeof *more);
            if (!more)
                break;
            costs->at = more;
            costs->room = room;
        }
        costs->at[costs->count++] = strtod(sheet.field[cost], NULL);
    }
    cb_sheet_close(&sheet);
    return costs->count > 0;
}

enum { MOST_BINS = 40 };

struct histogram {
    double from, width;
    size_t bins, count[MOST_BINS + 2], highest;
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
        double at = (costs->at[i] - histogram->from) / histogram->width;
        size_t bin = at > 0 ? (size_t)at : 0;
        bin = bin < MOST_BINS ? bin : MOST_BINS;
        histogram->bins = bin + 1 > histogram->bins ? bin + 1 : histogram->bins;
        if (++histogram->count[bin] > histogram->highest)
            histogram->highest = histogram->count[bin];
    }
}

static void write_bins(FILE *to, const struct histogram *histogram) {
    const char *const columns[] = {"From", "To", "Trajectories"};
    cb_data_begin(to, columns, 3);
    for (size_t bin = 0; bin < histogram->bins; bin++) {
        char name[32];
        double from = histogram->from + (double)bin * histogram->width;
        cb_short_text(from, 6, name);
        cb_data_row(to, name, (double[]){from + histogram->width, (double)histogram->count[bin]}, 2);
    }
    cb_data_end(to);
}

static void draw_costs(FILE *to, const struct values *costs, double bound, bool maximises) {
    struct histogram histogram;
    struct chart chart;
    fill_bins(costs, &histogram);
    cb_card_begin(to, maximises ? "Value of the trajectories" : "Cost of the trajectories",
                  "How many trajectories have a total in each range, and the bound of the training.");
    cb_chart_begin(&chart, to, CB_CHART_HEIGHT, "Cost of the trajectories", "Histogram of the total cost");
    chart.x.from = histogram.from;
    chart.x.to = histogram.from + (double)histogram.bins * histogram.width;
    if (isfinite(bound) && fabs(bound - chart.x.from) < 2 * (chart.x.to - chart.x.from)) {
        chart.x.from = fmin(chart.x.from, floor(bound / histogram.width) * histogram.width);
        chart.x.to = fmax(chart.x.to, ceil(bound / histogram.width) * histogram.width);
    }
    chart.y.from = 0;
    chart.y.to = fmax(5, (double)histogram.highest); /* so that the axis has whole numbers */
    cb_scale_fit(&chart.y, 5);
    cb_chart_axes(&chart, maximises ? "total value" : "total cost", "trajectories", 6);
    for (size_t bin = 0; bin < histogram.bins; bin++) {
        char from[32], until[32], tip[128];
        double at = histogram.from + (double)bin * histogram.width;
        snprintf(tip, sizeof tip, "%s to %s\n%zu trajectories", cb_short_text(at, 5, from),
                 cb_short_text(at + histogram.width, 5, until), histogram.count[bin]);
        if (histogram.count[bin])
            cb_chart_bar(&chart, 1, at, at + histogram.width, 0, (double)histogram.count[bin], tip);
    }
    cb_chart_mark(&chart, bound, "bound");
    cb_chart_end(&chart);
    write_bins(to, &histogram);
    cb_card_end(to);
}

/* What load is served with, by kind; the colours are the page's. */
static const struct source {
    const char *kind, *name;
    unsigned colour;
} sources[] = {{"hydro", "Hydro", 1}, {"generation", "Thermal", 4}, {"deficit", "Deficit", 7}};
enum { SOURCES = sizeof sources / sizeof *sources };

static bool is_source(const char *kind) {
    for (size_t i = 0; i < SOURCES; i++)
        if (strcmp(kind, sources[i].kind) == 0)
            return true;
    return false;
}

/* The load block that an element is about: "plant,block"; of a deficit "area,tier,block". "" if there are none. */
static const char *block_of(const struct series *series) {
    const char *comma = strchr(series->element, ',');
    if (comma && strcmp(series->kind, "deficit") == 0)
        comma = strchr(comma + 1, ',');
    return comma ? comma + 1 : "";
}

/* Means over the trajectories of all elements of a kind together. */
struct mix {
    size_t steps;
    double *mean[SOURCES], most;
};

static bool fill_mix(struct mix *mix, const struct samples *samples, const char *block) {
    *mix = (struct mix){.steps = 0};
    for (size_t i = 0; i < samples->count; i++)
        if (samples->series[i].steps > mix->steps)
            mix->steps = samples->series[i].steps;
    for (size_t s = 0; s < SOURCES; s++)
        mix->mean[s] = calloc(mix->steps, sizeof *mix->mean[s]);
    for (size_t i = 0; i < samples->count; i++) {
        const struct series *series = &samples->series[i];
        if (strcmp(block_of(series), block) != 0)
            continue;
        for (size_t s = 0; s < SOURCES; s++)
            for (size_t step = 0; strcmp(series->kind, sources[s].kind) == 0 && step < series->steps; step++)
                if (mix->mean[s])
                    mix->mean[s][step] += cb_mean(&series->step[step]);
    }
    bool good = true;
    for (size_t s = 0; s < SOURCES; s++)
        good = good && mix->mean[s];
    for (size_t step = 0; good && step < mix->steps; step++) {
        double sum = 0;
        for (size_t s = 0; s < SOURCES; s++)
            sum += mix->mean[s][step];
        mix->most = fmax(mix->most, sum);
    }
    return good;
}

static void draw_step(const struct chart *chart, const struct mix *mix, size_t step, double width) {
    double below = 0, x = (double)step + 1;
    char tip[256];
    int length = snprintf(tip, sizeof tip, "Step %zu", step + 1);
    for (size_t s = 0; s < SOURCES; s++) {
        char text[32];
        double mean = mix->mean[s][step];
        if (mean > 0)
            cb_chart_bar(chart, sources[s].colour, x - 0.5, x + 0.5, below, below + mean, NULL);
        below += mean;
        length += snprintf(tip + length, sizeof tip - (size_t)length, "\n%s %s", sources[s].name,
                           mean == 0 ? "0" : cb_short_text(mean, 5, text));
    }
    cb_chart_strip(chart, x, width, tip);
}

static void write_mix(FILE *to, const struct mix *mix) {
    const char *columns[SOURCES + 1] = {"Step"};
    for (size_t s = 0; s < SOURCES; s++)
        columns[s + 1] = sources[s].name;
    cb_data_begin(to, columns, SOURCES + 1);
    for (size_t step = 0; step < mix->steps; step++) {
        char name[32];
        double row[SOURCES];
        snprintf(name, sizeof name, "%zu", step + 1);
        for (size_t s = 0; s < SOURCES; s++)
            row[s] = mix->mean[s][step];
        cb_data_row(to, name, row, SOURCES);
    }
    cb_data_end(to);
}

static void draw_mix(FILE *to, const struct mix *mix, const char *block) {
    struct chart chart;
    struct legend legend[SOURCES];
    for (size_t s = 0; s < SOURCES; s++)
        legend[s] = (struct legend){sources[s].name, sources[s].colour, "bar"};
    char title[128];
    snprintf(title, sizeof title, *block ? "Generation mix, block %s" : "Generation mix%s", block);
    cb_card_begin(to, title, "Mean over the trajectories, of all subsystems together.");
    cb_legend(to, legend, SOURCES);
    cb_chart_begin(&chart, to, CB_CHART_HEIGHT, title, "A bar for each step, made of the mean of each source");
    chart.x.from = 0.5;
    chart.x.to = (double)mix->steps + 0.5;
    chart.y.from = 0;
    chart.y.to = mix->most;
    cb_scale_fit(&chart.y, 5);
    cb_chart_axes(&chart, "step", "power", cb_whole_ticks(&chart.x, 8));
    double width = (chart.x.end - chart.x.start) / (double)mix->steps;
    for (size_t step = 0; step < mix->steps; step++)
        draw_step(&chart, mix, step, width);
    cb_chart_end(&chart);
    write_mix(to, mix);
    cb_card_end(to);
}

/* A picture for each load block: their powers do not add up. */
static void draw_mixes(FILE *to, const struct samples *samples) {
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
        struct mix mix;
        if (fill_mix(&mix, samples, blocks[i]))
            draw_mix(to, &mix, blocks[i]);
        for (size_t s = 0; s < SOURCES; s++)
            free(mix.mean[s]);
    }
}

bool cb_report_costs(FILE *to, const char *folder, const struct fact_list *summary,
                     const struct fact_list *simulation) {
    struct values costs = {.count = 0};
    struct samples samples = {.count = 0};
    bool has_costs = read_costs(folder, &costs);
    bool has_mix = cb_samples_read(&samples, folder, "variables.csv", "value", is_source);
    if (has_costs || has_mix) {
        char text[160];
        snprintf(text, sizeof text, "%s trajectories, %s.", cb_fact(simulation, "trajectories"),
                 cb_fact(simulation, "sampling"));
        cb_section_begin(to, "Simulation", simulation->count ? text : NULL, NULL, 0);
        if (has_costs)
            draw_costs(to, &costs, cb_fact_number(simulation, "bound"), strcmp(cb_fact(summary, "sense"), "max") == 0);
        if (has_mix)
            draw_mixes(to, &samples);
        cb_section_end(to);
    }
    free(costs.at);
    cb_samples_free(&samples);
    return has_costs || has_mix;
}
