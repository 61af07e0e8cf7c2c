/* SPDX-License-Identifier: Apache-2.0 */
/* training.c: the progress of the bound, and the use of time. */
#include "sddp/report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a row for each iteration. */
enum { ITERATION, BOUND, MEAN, LOW, HIGH, TRACE_COLUMNS };

static void fill_trace(struct report *report, struct grid *trace) {
    const struct cb_results *results = report->run->results;
    double *row;
    for (size_t i = 0; i < results->iterations && (row = cb_grid_add(report, trace)); i++) {
        const struct cb_iteration *from = &results->trace[i];
        row[ITERATION] = from->iteration;
        row[BOUND] = from->bound;
        row[MEAN] = report->run->averse ? NAN : from->mean; /* it bounds nothing then */
        row[LOW] = row[MEAN] - from->half;
        row[HIGH] = row[MEAN] + from->half;
    }
}

static const double *at(const struct grid *trace, size_t row) {
    return trace->at + row * TRACE_COLUMNS;
}

/* So few points that the page stays small: the last one always, the others evenly. */
static void thin(struct grid *trace, size_t most) {
    if (trace->rows <= most)
        return;
    for (size_t k = 0; k < most; k++) {
        size_t from = (size_t)llround((double)k * (double)(trace->rows - 1) / (double)(most - 1));
        memmove(trace->at + k * TRACE_COLUMNS, at(trace, from), TRACE_COLUMNS * sizeof *trace->at);
    }
    trace->rows = most;
}

/* The least and the most that the bound and the interval reach from `first` on. */
static void range_from(const struct grid *trace, size_t first, double *least, double *most) {
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t i = first; i < trace->rows; i++) {
        const double *row = at(trace, i), values[] = {row[BOUND], row[LOW], row[HIGH]};
        for (size_t k = 0; k < 3; k++)
            if (isfinite(values[k])) {
                *least = fmin(*least, values[k]);
                *most = fmax(*most, values[k]);
            }
    }
}

/* The first iterations are far off and would press all others into a line: what the last half reaches is shown with as
 * much again on each side, unless there is nothing. */
static void fit(struct chart *chart, const struct grid *trace) {
    double least, most, late_least, late_most;
    range_from(trace, trace->rows / 20, &least, &most);
    range_from(trace, trace->rows / 2, &late_least, &late_most);
    double room = fmax(late_most - late_least, 0.02 * fabs(late_most));
    chart->x.from = at(trace, 0)[ITERATION];
    chart->x.to = trace->rows > 1 ? at(trace, trace->rows - 1)[ITERATION] : chart->x.from + 1;
    chart->y.from = fmax(least, late_least - room);
    chart->y.to = fmin(most, late_most + room);
    cb_scale_fit(&chart->y, 5);
}

static void draw_tips(const struct chart *chart, const struct grid *trace, const char *bound_name) {
    enum { STRIPS = 120 };
    size_t every = (trace->rows + STRIPS - 1) / STRIPS;
    double width = (chart->x.end - chart->x.start) * (double)every / (double)trace->rows;
    for (size_t i = 0; i < trace->rows; i += every) {
        char bound[32], mean[32], half[32], tip[256];
        const double *row = at(trace, i);
        int length = snprintf(tip, sizeof tip, "Iteration %.0f\n%s %s", row[ITERATION], bound_name,
                              cb_short_text(row[BOUND], 7, bound));
        if (isfinite(row[MEAN]))
            snprintf(tip + length, sizeof tip - (size_t)length, "\nSimulated %s ± %s",
                     cb_short_text(row[MEAN], 7, mean), cb_short_text(row[HIGH] - row[MEAN], 4, half));
        cb_chart_strip(chart, row[ITERATION], width, tip);
    }
}

static const char *bound_name(const struct run *run) {
    return run->averse ? "Bound of the risk-averse cost" : run->maximises ? "Upper bound" : "Lower bound";
}

static const char *explain(const struct run *run) {
    return run->averse
               ? "The bound should settle. It is one of the risk-averse cost; the mean of the trajectories is another "
                 "quantity."
               : "The bound and the mean of the last forward passes should meet. What the first iterations reach "
                 "may lie outside.";
}

static void draw_convergence(struct report *report, struct grid *trace) {
    enum { MOST_POINTS = 400 };
    struct chart chart;
    FILE *to = report->to;
    const struct run *run = report->run;
    const struct legend legend[] = {{bound_name(run), 1, "line"},
                                    {run->maximises ? "simulated value" : "simulated cost", 2, "line"},
                                    {"its 95 % interval", 2, "band"}};
    const struct cb_series *costs = cb_next_series(run->results, NULL, "cost", "system");
    char y_name[CB_WORDS];
    cb_card_begin(to, "Convergence", explain(run));
    cb_legend(to, legend, run->averse ? 1 : 3);
    thin(trace, MOST_POINTS);
    cb_chart_begin(&chart, to, ++report->pictures, CB_CHART_HEIGHT, "Convergence", "The bound by iteration");
    fit(&chart, trace);
    cb_axis_name(run->maximises ? "value" : "cost", costs ? costs->unit : "", y_name);
    cb_chart_axes(&chart, "iteration", y_name, cb_whole_ticks(&chart.x, 6));
    if (!run->averse) {
        cb_chart_band(&chart, 2, "interval", trace, LOW, HIGH);
        cb_chart_line(&chart, 2, "simulated", trace, MEAN);
    }
    cb_chart_line(&chart, 1, "bound", trace, BOUND);
    draw_tips(&chart, trace, bound_name(run));
    cb_chart_end(&chart);
    cb_data_table(to, (const char *[]){"Iteration", bound_name(run), "Simulated", "95 % from", "to"}, trace, 0, NULL);
    cb_card_end(to);
}

#define PHASE_NAME(code, name, title) name,
#define PHASE_TITLE(code, name, title) title,
static const char *const phases[CB_PHASES] = {CB_PHASE_MAP(PHASE_NAME)};
static const char *const columns[] = {"Rank", CB_PHASE_MAP(PHASE_TITLE)}; /* of a row for each rank */
static const unsigned colours[CB_PHASES] = {
    [CB_PHASE_FORWARD] = 3, [CB_PHASE_BACKWARD] = 1,   [CB_PHASE_BOUND] = 4, [CB_PHASE_COMMUNICATION] = 2,
    [CB_PHASE_WAITING] = 5, [CB_PHASE_SIMULATION] = 6, [CB_PHASE_OTHER] = 8,
};
enum { MOST_RANKS = 4096, MOST_BARS = 32 };

/* The seconds of a rank. */
static double *times_of(const struct grid *times, size_t rank) {
    return times->at + rank * times->columns + 1;
}

static void read_times(struct report *report, struct grid *times) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, report->run->folder, CB_FILE_TIMES, (const char *[]){"rank", "phase", "seconds", NULL}))
        return;
    while (!report->no_memory && cb_sheet_next(&sheet)) {
        unsigned long rank = strtoul(sheet.field[0], NULL, 10);
        size_t phase = 0;
        while (phase < CB_PHASES && strcmp(sheet.field[1], phases[phase]) != 0)
            phase++;
        if (rank >= MOST_RANKS || phase == CB_PHASES)
            continue;
        double *row;
        while (times->rows <= rank && (row = cb_grid_add(report, times)))
            row[0] = (double)(times->rows - 1);
        if (!report->no_memory)
            times_of(times, rank)[phase] += strtod(sheet.field[2], NULL);
    }
    cb_sheet_close(&sheet);
}

static double total(const double *times) {
    double sum = 0;
    for (size_t phase = 0; phase < CB_PHASES; phase++)
        sum += times[phase];
    return sum;
}

static void draw_bars(const struct chart *chart, size_t rank, const double *times, double pitch) {
    struct chart row = *chart;
    double sum = total(times), at = 0, middle = chart->y.end + pitch * ((double)rank + 0.5);
    row.y = (struct scale){.from = 0, .to = 1, .start = middle + pitch * 0.36, .end = middle - pitch * 0.36};
    for (size_t phase = 0; phase < CB_PHASES; phase++) {
        char tip[128];
        snprintf(tip, sizeof tip, "Rank %zu, %s: %.3g s (%.1f %%)", rank, phases[phase], times[phase],
                 sum > 0 ? 100 * times[phase] / sum : 0);
        if (times[phase] > 0)
            cb_chart_bar(&row, colours[phase], at, at + times[phase], 0, 1, tip);
        at += times[phase];
    }
    if (pitch >= 16)
        fprintf(chart->to,
                "<text class=\"tick\" x=\"%g\" y=\"%.1f\" dy=\".32em\" text-anchor=\"end\">rank %zu</text>\n",
                chart->x.start - 8, middle, rank);
}

static void draw_time_axis(const struct chart *chart) {
    double step = cb_nice_step(chart->x.to, 5);
    for (double value = 0; value <= chart->x.to * 1.000001; value += step) {
        double at = cb_scale_at(&chart->x, value);
        fprintf(chart->to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>", at, at, chart->y.end,
                chart->y.start);
        cb_chart_tick(chart, value, step, chart->x.to);
    }
    fprintf(chart->to, "<text class=\"name\" x=\"%g\" y=\"%g\" text-anchor=\"end\">seconds</text>\n", chart->x.end,
            chart->y.start + 48);
}

static void draw_times(struct report *report, const struct grid *times) {
    struct chart chart;
    struct legend legend[CB_PHASES];
    FILE *to = report->to;
    size_t ranks = times->rows, shown = ranks < MOST_BARS ? ranks : MOST_BARS, kinds = 0;
    double pitch = shown <= 4 ? 36 : shown <= 10 ? 22 : 16, longest = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        longest = fmax(longest, total(times_of(times, rank)));
    for (size_t phase = 0; phase < CB_PHASES; phase++)
        for (size_t rank = 0; rank < ranks; rank++)
            if (times_of(times, rank)[phase] > 0) {
                legend[kinds++] = (struct legend){columns[phase + 1], colours[phase], "bar"};
                break;
            }
    char text[128] = "Seconds that each rank spent.";
    if (shown < ranks)
        snprintf(text, sizeof text, "Seconds that each rank spent; the first %zu of %zu ranks.", shown, ranks);
    cb_card_begin(to, "Time by phase and rank", text);
    cb_legend(to, legend, kinds);
    cb_chart_begin(&chart, to, ++report->pictures, 78 + pitch * (double)shown, "Time by phase and rank",
                   "A bar for each rank, made of the seconds it spent in each phase");
    chart.x.from = 0;
    chart.x.to = longest;
    cb_scale_fit(&chart.x, 5);
    draw_time_axis(&chart);
    for (size_t rank = 0; rank < shown; rank++)
        draw_bars(&chart, rank, times_of(times, rank), pitch);
    cb_chart_end(&chart);
    cb_data_table(to, columns, times, 0, NULL);
    cb_card_end(to);
}

bool cb_report_convergence(struct report *report) {
    struct grid trace = {.columns = TRACE_COLUMNS};
    fill_trace(report, &trace);
    bool any = trace.rows > 0;
    if (any)
        draw_convergence(report, &trace);
    free(trace.at);
    return any;
}

bool cb_report_times(struct report *report) {
    struct grid times = {.columns = CB_PHASES + 1};
    read_times(report, &times);
    bool any = times.rows > 0;
    if (any)
        draw_times(report, &times);
    free(times.at);
    return any;
}
