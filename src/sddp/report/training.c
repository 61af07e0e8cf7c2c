/* training.c: how the bounds came together, and where the time went. */
#include "sddp/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trace {
    size_t count, room;
    double *iteration, *bound, *mean, *low, *high;
};

static bool add_point(struct trace *trace, double iteration, double bound, double mean, double half) {
    double **columns[] = {&trace->iteration, &trace->bound, &trace->mean, &trace->low, &trace->high};
    if (trace->count == trace->room) {
        trace->room = trace->room ? 2 * trace->room : 256;
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            double *more = realloc(*columns[i], trace->room * sizeof *more);
            if (!more)
                return false;
            *columns[i] = more;
        }
    }
    size_t at = trace->count++;
    trace->iteration[at] = iteration;
    trace->bound[at] = bound;
    trace->mean[at] = mean;
    trace->low[at] = mean - half;
    trace->high[at] = mean + half;
    return true;
}

static void free_trace(struct trace *trace) {
    free(trace->iteration);
    free(trace->bound);
    free(trace->mean);
    free(trace->low);
    free(trace->high);
}

static bool read_trace(const char *folder, struct trace *trace) {
    struct sheet sheet;
    if (!cb_sheet_open(&sheet, folder, "training.csv"))
        return false;
    size_t iteration = cb_sheet_column(&sheet, "iteration"), bound = cb_sheet_column(&sheet, "bound");
    size_t mean = cb_sheet_column(&sheet, "window_mean"), half = cb_sheet_column(&sheet, "window_half");
    size_t passes = cb_sheet_column(&sheet, "window_passes");
    bool good = iteration < CB_SHEET_FIELDS && bound < CB_SHEET_FIELDS && mean < CB_SHEET_FIELDS &&
                half < CB_SHEET_FIELDS && passes < CB_SHEET_FIELDS;
    while (good && cb_sheet_next(&sheet)) {
        bool known = strtod(sheet.field[passes], NULL) > 1; /* one pass has no interval */
        good = add_point(trace, strtod(sheet.field[iteration], NULL), strtod(sheet.field[bound], NULL),
                         known ? strtod(sheet.field[mean], NULL) : NAN, strtod(sheet.field[half], NULL));
    }
    cb_sheet_close(&sheet);
    return good && trace->count > 0;
}

/* So few points that the page stays small: the last one always, the others evenly. */
static void thin(struct trace *trace, size_t most) {
    if (trace->count <= most)
        return;
    double **columns[] = {&trace->iteration, &trace->bound, &trace->mean, &trace->low, &trace->high};
    for (size_t k = 0; k < most; k++) {
        size_t from = (size_t)llround((double)k * (double)(trace->count - 1) / (double)(most - 1));
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            (*columns[i])[k] = (*columns[i])[from];
    }
    trace->count = most;
}

/* The least and the most that the bound and the interval reach from `first` on. */
static void range_from(const struct trace *trace, size_t first, double *least, double *most) {
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t i = first; i < trace->count; i++) {
        const double values[] = {trace->bound[i], trace->low[i], trace->high[i]};
        for (size_t k = 0; k < 3; k++)
            if (isfinite(values[k])) {
                *least = fmin(*least, values[k]);
                *most = fmax(*most, values[k]);
            }
    }
}

/* The first iterations are far off and would press all others into a line: what the last half reaches is shown with as
 * much again on each side, unless there is nothing. */
static void fit(struct chart *chart, const struct trace *trace) {
    double least, most, late_least, late_most;
    range_from(trace, trace->count / 20, &least, &most);
    range_from(trace, trace->count / 2, &late_least, &late_most);
    double room = fmax(late_most - late_least, 0.02 * fabs(late_most));
    chart->x.from = trace->iteration[0];
    chart->x.to = trace->count > 1 ? trace->iteration[trace->count - 1] : trace->iteration[0] + 1;
    chart->y.from = fmax(least, late_least - room);
    chart->y.to = fmin(most, late_most + room);
    cb_scale_fit(&chart->y, 5);
}

static void draw_tips(const struct chart *chart, const struct trace *trace, const char *bound_name) {
    enum { STRIPS = 120 };
    size_t every = (trace->count + STRIPS - 1) / STRIPS;
    double width = (chart->x.end - chart->x.start) * (double)every / (double)trace->count;
    for (size_t i = 0; i < trace->count; i += every) {
        char bound[32], mean[32], half[32], tip[256];
        int length = snprintf(tip, sizeof tip, "Iteration %.0f\n%s %s", trace->iteration[i], bound_name,
                              cb_short_text(trace->bound[i], 7, bound));
        if (isfinite(trace->mean[i]))
            snprintf(tip + length, sizeof tip - (size_t)length, "\nSimulated %s ± %s",
                     cb_short_text(trace->mean[i], 7, mean), cb_short_text(trace->high[i] - trace->mean[i], 4, half));
        cb_chart_strip(chart, trace->iteration[i], width, tip);
    }
}

static void write_numbers(FILE *to, const struct trace *trace, const char *bound_name) {
    enum { ROWS = 40 };
    const char *const columns[] = {"Iteration", bound_name, "Simulated", "95 % from", "to"};
    size_t every = (trace->count + ROWS - 1) / ROWS;
    cb_data_begin(to, columns, 5);
    for (size_t i = (trace->count - 1) % every; i < trace->count; i += every) {
        char name[32];
        snprintf(name, sizeof name, "%.0f", trace->iteration[i]);
        cb_data_row(to, name, (double[]){trace->bound[i], trace->mean[i], trace->low[i], trace->high[i]}, 4);
    }
    cb_data_end(to);
}

static void draw_convergence(FILE *to, struct trace *trace, bool maximises) {
    struct chart chart;
    const char *bound_name = maximises ? "Upper bound" : "Lower bound";
    const struct legend legend[] = {{bound_name, 1, "line"},
                                    {maximises ? "Simulated value" : "Simulated cost", 2, "line"},
                                    {"its 95 % interval", 2, "band"}};
    cb_card_begin(to, "Convergence",
                  "The bound and the mean of the last forward passes should meet, unless there is a risk measure. "
                  "What the first iterations reach may lie outside.");
    cb_legend(to, legend, 3);
    thin(trace, 400);
    cb_chart_begin(&chart, to, CB_CHART_HEIGHT, "Convergence",
                   "Bound and simulated cost with its 95 % interval, by iteration");
    fit(&chart, trace);
    cb_chart_axes(&chart, "iteration", maximises ? "value" : "cost", cb_whole_ticks(&chart.x, 6));
    cb_chart_band(&chart, 2, "interval", trace->iteration, trace->low, trace->high, trace->count);
    cb_chart_line(&chart, 2, "simulated", trace->iteration, trace->mean, trace->count);
    cb_chart_line(&chart, 1, "bound", trace->iteration, trace->bound, trace->count);
    draw_tips(&chart, trace, bound_name);
    cb_chart_end(&chart);
    write_numbers(to, trace, bound_name);
    cb_card_end(to);
}

enum { PHASES = 6, MOST_RANKS = 4096, MOST_BARS = 32 };
static const char *const phases[PHASES] = {"forward", "backward", "bound", "communication", "simulation", "other"};
static const char *const phase_names[PHASES] = {"Forward", "Backward", "Bound", "Communication", "Simulation", "Other"};
static const unsigned phase_colours[PHASES] = {3, 1, 4, 2, 6, 8};

static size_t read_times(const char *folder, double (**times)[PHASES]) {
    struct sheet sheet;
    size_t ranks = 0;
    if (!cb_sheet_open(&sheet, folder, "times.csv"))
        return 0;
    *times = calloc(MOST_RANKS, sizeof **times);
    while (*times && cb_sheet_next(&sheet)) {
        unsigned long rank = strtoul(sheet.field[0], NULL, 10);
        for (size_t phase = 0; rank < MOST_RANKS && phase < PHASES; phase++)
            if (strcmp(sheet.field[1], phases[phase]) == 0) {
                (*times)[rank][phase] += strtod(sheet.field[2], NULL);
                ranks = rank + 1 > ranks ? rank + 1 : ranks;
            }
    }
    cb_sheet_close(&sheet);
    return ranks;
}

static double total(const double *times) {
    double sum = 0;
    for (size_t phase = 0; phase < PHASES; phase++)
        sum += times[phase];
    return sum;
}

static void draw_bars(const struct chart *chart, size_t rank, const double *times, double pitch) {
    struct chart row = *chart;
    double sum = total(times), at = 0, middle = chart->y.end + pitch * ((double)rank + 0.5);
    row.y = (struct scale){.from = 0, .to = 1, .start = middle + pitch * 0.36, .end = middle - pitch * 0.36};
    for (size_t phase = 0; phase < PHASES; phase++) {
        char tip[128];
        snprintf(tip, sizeof tip, "Rank %zu, %s: %.3g s (%.1f %%)", rank, phases[phase], times[phase],
                 sum > 0 ? 100 * times[phase] / sum : 0);
        if (times[phase] > 0)
            cb_chart_bar(&row, phase_colours[phase], at, at + times[phase], 0, 1, tip);
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
            chart->y.start + 40);
}

static void write_time_numbers(FILE *to, double (*times)[PHASES], size_t ranks) {
    const char *columns[PHASES + 1] = {"Rank"};
    memcpy(columns + 1, phase_names, sizeof phase_names);
    cb_data_begin(to, columns, PHASES + 1);
    for (size_t rank = 0; rank < ranks; rank++) {
        char name[32];
        snprintf(name, sizeof name, "%zu", rank);
        cb_data_row(to, name, times[rank], PHASES);
    }
    cb_data_end(to);
}

static void draw_times(FILE *to, double (*times)[PHASES], size_t ranks) {
    struct chart chart;
    struct legend legend[PHASES];
    size_t shown = ranks < MOST_BARS ? ranks : MOST_BARS, kinds = 0;
    double pitch = shown <= 4 ? 36 : shown <= 10 ? 22 : 16, longest = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        longest = fmax(longest, total(times[rank]));
    for (size_t phase = 0; phase < PHASES; phase++)
        for (size_t rank = 0; rank < ranks; rank++)
            if (times[rank][phase] > 0) {
                legend[kinds++] = (struct legend){phase_names[phase], phase_colours[phase], "bar"};
                break;
            }
    char text[128] = "Seconds that each rank spent.";
    if (shown < ranks)
        snprintf(text, sizeof text, "Seconds that each rank spent; the first %zu of %zu ranks.", shown, ranks);
    cb_card_begin(to, "Time by phase and rank", text);
    cb_legend(to, legend, kinds);
    cb_chart_begin(&chart, to, 72 + pitch * (double)shown, "Time by phase and rank",
                   "A bar for each rank, made of the seconds it spent in each phase");
    chart.x.from = 0;
    chart.x.to = longest;
    cb_scale_fit(&chart.x, 5);
    draw_time_axis(&chart);
    for (size_t rank = 0; rank < shown; rank++)
        draw_bars(&chart, rank, times[rank], pitch);
    cb_chart_end(&chart);
    write_time_numbers(to, times, ranks);
    cb_card_end(to);
}

bool cb_report_training(FILE *to, const char *folder, const struct fact_list *summary) {
    struct trace trace = {.count = 0};
    double(*times)[PHASES] = NULL;
    bool has_trace = read_trace(folder, &trace);
    size_t ranks = read_times(folder, &times);
    if (has_trace || ranks) {
        cb_section_begin(to, "Training", NULL, NULL, 0);
        if (has_trace)
            draw_convergence(to, &trace, strcmp(cb_fact(summary, "sense"), "max") == 0);
        if (ranks)
            draw_times(to, times, ranks);
        cb_section_end(to);
    }
    free_trace(&trace);
    free(times);
    return has_trace || ranks;
}
