/* SPDX-License-Identifier: Apache-2.0 */
/* costs.c: the distribution of the costs of trajectories, and the worst of them. */
#include "sddp/report/parts.h"
#include "sddp/run/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cb_tail_of(struct report *report, const struct run *run, struct tail *tail) {
    size_t count = run->results->costs;
    double sign = run->maximises ? -1 : 1; /* the worst come last */
    double *sorted = count ? malloc(2 * count * sizeof *sorted) : NULL;
    report->no_memory |= count && !sorted;
    if (!sorted)
        return false;
    double mean = cb_worst_mean(run->results->cost, count, CB_WORST_SHARE, run->maximises, sorted + count, sorted);
    *tail = (struct tail){.p95 = sign * cb_percentile(sorted, count, 0.95),
                          .p99 = sign * cb_percentile(sorted, count, 0.99),
                          .worst = sign * sorted[count - 1],
                          .mean = mean};
    free(sorted);
    return true;
}

enum { FROM, UNTIL, COUNT, BIN_COLUMNS, MOST_BINS = 41 };

struct histogram {
    double from, width, highest;
    size_t bins;
    double bin[MOST_BINS][BIN_COLUMNS];
};

static void find_range(const struct cb_results *results, double *least, double *most) {
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t i = 0; i < results->costs; i++) {
        *least = fmin(*least, results->cost[i]);
        *most = fmax(*most, results->cost[i]);
    }
}

static void count_costs(const struct cb_results *results, struct histogram *histogram) {
    for (size_t i = 0; i < results->costs; i++) {
        double at = (results->cost[i] - histogram->from) / histogram->width;
        size_t bin = at > 0 ? (size_t)at : 0;
        bin = bin < MOST_BINS ? bin : MOST_BINS - 1;
        histogram->bins = bin + 1 > histogram->bins ? bin + 1 : histogram->bins;
        histogram->highest = fmax(histogram->highest, ++histogram->bin[bin][COUNT]);
    }
}

/* Bins of a round width, so that their borders read well. */
static void fill_bins(const struct cb_results *results, struct histogram *histogram) {
    double least, most;
    find_range(results, &least, &most);
    if (!isfinite(most - least)) /* no picture shows that */
        least = most = 0;
    bool differ = most - least > 1e-9 * fabs(most);
    double width = cb_nice_step(differ ? most - least : fabs(most) + 1, results->costs < 100 ? 10 : 24);
    *histogram = (struct histogram){.width = width, .from = floor(least / width) * width};
    if (!differ) { /* one bar, with room on both sides */
        histogram->from = least - 5.5 * width;
        histogram->bins = 11;
    }
    count_costs(results, histogram);
    for (size_t bin = 0; bin < histogram->bins; bin++) {
        histogram->bin[bin][FROM] = histogram->from + (double)bin * width;
        histogram->bin[bin][UNTIL] = histogram->bin[bin][FROM] + width;
    }
}

static void draw_bins(const struct chart *chart, const struct histogram *histogram) {
    for (size_t i = 0; i < histogram->bins; i++) {
        char from[CB_WORDS], until[CB_WORDS], tip[2 * CB_WORDS + 64];
        const double *bin = histogram->bin[i];
        snprintf(tip, sizeof tip, "%s to %s\n%.0f trajectories", cb_amount_text(bin[FROM], from),
                 cb_amount_text(bin[UNTIL], until), bin[COUNT]);
        if (bin[COUNT] > 0)
            cb_chart_bar(chart, 1, bin[FROM], bin[UNTIL], 0, bin[COUNT], tip);
    }
}

/* Without a gap, as with a risk measure, it is none of these costs. */
static double bound_of(const struct run *run) {
    bool other = strcmp(cb_fact(&run->results->simulation, "gap"), "none") == 0;
    return other ? NAN : cb_fact_number(&run->results->simulation, "bound");
}

/* Their order, from the top, is the one from the left, so that no line crosses a text. */
static void draw_marks(const struct chart *chart, const struct run *run, const struct tail *tail) {
    double mean = cb_fact_number(&run->results->simulation, "mean");
    cb_chart_mark(chart, bound_of(run), 0, "bound");
    cb_chart_mark(chart, mean, 1, "mean");
    cb_chart_mark(chart, tail->mean, 2, run->maximises ? "lowest 5 %" : "dearest 5 %");
}

static void write_tail(struct report *report, const struct tail *tail) {
    const struct run *run = report->run;
    const char *unit = cb_fact(&run->results->simulation, "unit");
    const struct {
        const char *name;
        double value;
    } rows[] = {{"Mean", cb_fact_number(&run->results->simulation, "mean")},
                {run->maximises ? "95 % have more than" : "95 % cost less than", tail->p95},
                {run->maximises ? "99 % have more than" : "99 % cost less than", tail->p99},
                {run->maximises ? "Mean of the lowest 5 %" : "Mean of the dearest 5 %", tail->mean},
                {run->maximises ? "Lowest" : "Dearest", tail->worst}};
    const char *scale_name;
    char head[CB_WORDS];
    double scale = cb_amount_scale(rows[0].value, &scale_name);
    snprintf(head, sizeof head, "%s%.100s", scale_name, unit);
    cb_table_begin(report->to, "Tail of the costs", (const char *[]){"", head, NULL});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[CB_WORDS];
        cb_row_begin(report->to, rows[i].name);
        cb_cell(report->to, cb_amount_text(rows[i].value / scale, text));
        cb_row_end(report->to);
    }
    cb_table_end(report->to);
}

static void draw_histogram(struct report *report, const char *title, const struct tail *tail) {
    const struct run *run = report->run;
    struct histogram histogram;
    struct chart chart;
    char x_name[CB_WORDS];
    double bound = bound_of(run);
    fill_bins(run->results, &histogram);
    cb_chart_begin(&chart, report->to, ++report->pictures, CB_CHART_HEIGHT, title, "Histogram of the totals");
    chart.x.from = histogram.from;
    chart.x.to = histogram.from + (double)histogram.bins * histogram.width;
    if (isfinite(bound) && fabs(bound - chart.x.from) < 2 * (chart.x.to - chart.x.from)) {
        chart.x.from = fmin(chart.x.from, floor(bound / histogram.width) * histogram.width);
        chart.x.to = fmax(chart.x.to, ceil(bound / histogram.width) * histogram.width);
    }
    chart.y.from = 0;
    chart.y.to =
        fmax(5, 1.3 * histogram.highest); /* room for the marks; at least 5, so that the axis has whole numbers */
    cb_scale_fit(&chart.y, 5);
    cb_chart_axes(
        &chart,
        cb_axis_name(run->maximises ? "total value" : "total cost", cb_fact(&run->results->simulation, "unit"), x_name),
        "trajectories", 6);
    draw_bins(&chart, &histogram);
    draw_marks(&chart, run, tail);
    cb_chart_end(&chart);
    write_tail(report, tail);
    const struct grid bins = {.at = histogram.bin[0], .rows = histogram.bins, .columns = BIN_COLUMNS};
    cb_data_table(report->to, (const char *[]){"From", "To", "Trajectories"}, &bins, 6, NULL);
}

bool cb_report_costs(struct report *report) {
    struct tail tail;
    const struct run *run = report->run;
    const char *title = run->maximises ? "Value of the trajectories" : "Cost of the trajectories";
    if (!cb_tail_of(report, run, &tail))
        return false;
    cb_card_begin(report->to, title, "How many have a total in each range.");
    draw_histogram(report, title, &tail);
    cb_card_end(report->to);
    return true;
}
