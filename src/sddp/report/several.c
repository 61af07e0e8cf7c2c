/* SPDX-License-Identifier: Apache-2.0 */
/* several.c: runs side by side: a table of figures with their differences from the first run, and pictures with a line for
 * each run. */
#include "sddp/report/difference.h"
#include "sddp/report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A figure of each run. */
struct row {
    const char *name, *unit;
    struct sample sample[CB_MOST_RUNS]; /* a mean that is NaN: this run has none */
    struct difference difference[CB_MOST_RUNS];
    bool share; /* it is one of all trajectories */
};

static void write_value(struct report *report, const struct row *row, double value) {
    char text[CB_WORDS];
    cb_html_write(report->to, !isfinite(value) ? "-"
                              : row->share     ? cb_percent_text(value, text)
                                               : cb_amount_text(value, text));
}

/* "+56.8 million ± 4.1 million, larger than the error" */
static void write_difference(struct report *report, const struct row *row, const struct difference *difference) {
    if (!isfinite(difference->value))
        return;
    bool known = isfinite(difference->error), real = known && cb_is_real(difference);
    fprintf(report->to, "<small class=\"%s\">%s", real ? "real" : "chance", difference->value < 0 ? "−" : "+");
    write_value(report, row, fabs(difference->value));
    if (known) {
        fputs(" ± ", report->to);
        write_value(report, row, difference->error);
        fputs(real ? "<br>larger than the error" : "<br>within the error", report->to);
    }
    fputs("</small>", report->to);
}

static void write_row(struct report *report, const struct row *row) {
    char name[2 * CB_WORDS];
    snprintf(name, sizeof name, "%s%s%s", row->name, *row->unit ? ", " : "", row->unit);
    cb_row_begin(report->to, name);
    for (size_t i = 0; i < report->runs; i++) {
        fputs("<td>", report->to);
        write_value(report, row, row->sample[i].mean);
        if (i > 0)
            write_difference(report, row, &row->difference[i]);
        fputs("</td>", report->to);
    }
    cb_row_end(report->to);
}

static const struct sample none = {.mean = NAN};

/* Each run beside the first. */
static void compare(const struct report *report, struct row *row) {
    for (size_t i = 1; i < report->runs; i++)
        row->difference[i] = cb_difference(&row->sample[0], &row->sample[i]);
}

static struct sample sample_of(const struct cb_point *point) {
    return (struct sample){point->mean, point->deviation, point->count};
}

static struct sample whole(const struct cb_series *series) {
    return series && series->total.count > 0 ? sample_of(&series->total) : none;
}

static struct sample at_end(const struct cb_series *series) {
    return series && series->points ? sample_of(&series->point[cb_steps_of(series) - 1]) : none;
}

static struct sample probability(const struct cb_series *series) {
    if (!series || series->total.count == 0)
        return none;
    double share = series->total.positive;
    return (struct sample){share, sqrt(share * (1 - share)), series->total.count};
}

/* The mean over the steps varies at most as much as the steps do on average: the error may be too large, never too small. */
static struct sample over_steps(const struct cb_series *series) {
    if (!series || !series->points)
        return none;
    double deviation = 0;
    size_t steps = cb_steps_of(series);
    for (size_t i = 0; i < steps; i++)
        deviation += series->point[i].deviation / (double)steps;
    return (struct sample){cb_mean_over_steps(series), deviation, series->point[0].count};
}

/* A row of one figure. Runs that measure it in another unit have none to compare. */
static void write_figure(struct report *report, const char *name, const char *kind, const char *level,
                         const char *element, struct sample pick(const struct cb_series *), bool share) {
    struct row row = {.name = name, .unit = NULL, .share = share};
    for (size_t i = 0; i < report->runs; i++) {
        const struct cb_series *series = cb_results_find(&report->run[i].results, kind, level, element);
        bool same = series && (!row.unit || strcmp(row.unit, series->unit) == 0);
        row.unit = row.unit || !series ? row.unit : series->unit;
        row.sample[i] = same ? pick(series) : none;
    }
    if (!row.unit)
        return;
    row.unit = share ? "" : row.unit;
    compare(report, &row);
    write_row(report, &row);
}

static const char *unit_of(const struct run *run) {
    return cb_fact(&run->results.simulation, "unit");
}

static bool same_unit(const struct report *report, size_t i) {
    return strcmp(unit_of(&report->run[0]), unit_of(&report->run[i])) == 0;
}

static void write_cost(struct report *report) {
    struct row row = {.name = report->run->maximises ? "Expected value" : "Expected cost",
                      .unit = unit_of(report->run)};
    const struct cb_results *first = &report->run->results;
    for (size_t i = 0; i < report->runs; i++) {
        const struct cb_facts *facts = &report->run[i].results.simulation;
        row.sample[i] = (struct sample){cb_fact_number(facts, "mean"), cb_fact_number(facts, "deviation"),
                                        cb_fact_number(facts, "trajectories")};
        if (!same_unit(report, i) || !facts->count)
            row.sample[i] = none;
    }
    compare(report, &row);
    for (size_t i = 1; i < report->runs; i++) {
        const struct cb_results *other = &report->run[i].results;
        if (isfinite(row.difference[i].value) && other->costs == first->costs)
            row.difference[i] = cb_paired_difference(first->cost, other->cost, first->costs);
    }
    write_row(report, &row);
}

static void write_tails(struct report *report) {
    struct row row = {.name = report->run->maximises ? "Mean of the lowest 5 %" : "Mean of the dearest 5 %",
                      .unit = unit_of(report->run)};
    struct tail tail;
    for (size_t i = 0; i < report->runs; i++) {
        bool known = same_unit(report, i) && cb_tail_of(report, &report->run[i], &tail);
        row.sample[i] = known ? (struct sample){.mean = tail.mean} : none;
    }
    compare(report, &row);
    write_row(report, &row);
}

/* Bounds of different quantities, as with and without a risk measure, have no difference. */
static void write_bounds(struct report *report) {
    struct row row = {.name = "Bound", .unit = unit_of(report->run)};
    for (size_t i = 0; i < report->runs; i++)
        row.sample[i] = same_unit(report, i)
                            ? (struct sample){.mean = cb_fact_number(&report->run[i].results.summary, "bound")}
                            : none;
    compare(report, &row);
    for (size_t i = 1; i < report->runs; i++)
        if (report->run[i].averse != report->run[0].averse)
            row.difference[i].value = NAN;
    write_row(report, &row);
}

/* The elements of a kind in the first run, a row each. */
static void write_each(struct report *report, const char *prefix, const char *kind, const char *level,
                       struct sample pick(const struct cb_series *)) {
    enum { MOST = 12 };
    const struct cb_series *series = NULL, *all = cb_next_series(&report->run->results, NULL, "cost", "system");
    double least = all ? 1e-6 * fabs(all->total.mean) : 0;
    for (size_t i = 0; i < MOST && (series = cb_next_series(&report->run->results, series, kind, level)); i++) {
        char name[2 * CB_WORDS], element[CB_WORDS];
        snprintf(name, sizeof name, "%s%s", prefix,
                 strcmp(kind, "cost") == 0 ? cb_kind_text(series->element, element) : series->element);
        if (strcmp(kind, "cost") != 0 || fabs(series->total.mean) > least)
            write_figure(report, name, kind, level, series->element, pick, false);
    }
}

static void write_table(struct report *report) {
    const char *names[CB_MOST_RUNS + 2] = {""};
    for (size_t i = 0; i < report->runs; i++)
        names[1 + i] = report->run[i].name;
    cb_card_begin(
        report->to, "Figures",
        "Below each figure is its difference from the first run, with the error of 95 % that the samples leave. Of "
        "costs it is the error of the difference by trajectory, where the runs have equally many.");
    cb_table_begin(report->to, "Figures", names);
    write_cost(report);
    write_tails(report);
    write_bounds(report);
    write_each(report, "Cost of ", "cost", "component", whole);
    write_figure(report, "Probability of a deficit", "unserved_energy", "system", NULL, probability, true);
    write_figure(report, "Energy not served", "unserved_energy", "system", NULL, whole, false);
    write_each(report, "Marginal cost, ", "marginal_cost", "element", over_steps);
    write_figure(report, "Stored energy at the end", "stored_energy", "system", NULL, at_end, false);
    write_figure(report, "Spill", "spill", "system", NULL, over_steps, false);
    cb_table_end(report->to);
    cb_card_end(report->to);
}

static double median(const struct cb_point *point) {
    return point->percentile[CB_PERCENTILES / 2];
}

static double mean(const struct cb_point *point) {
    return point->mean;
}

static double percent(const struct cb_point *point) {
    return 100 * point->positive;
}

/* The lines of a picture: one for each run. */
struct overlay {
    const char *title, *text, *y_name, *kind, *level, *element;
    double (*pick)(const struct cb_point *point);
};

static const struct cb_series *find(const struct report *report, const struct overlay *overlay, size_t run) {
    return cb_results_find(&report->run[run].results, overlay->kind, overlay->level, overlay->element);
}

/* NULL: the run has none, or measures it in another unit than the first that has one. */
static const struct cb_series *series_of(const struct report *report, const struct overlay *overlay, size_t run) {
    const struct cb_series *series = find(report, overlay, run), *first = NULL;
    for (size_t i = 0; i <= run && !first; i++)
        first = find(report, overlay, i);
    return series && series->points && strcmp(series->unit, first->unit) == 0 ? series : NULL;
}

/* The series with the most steps has the axis. */
static const struct cb_series *find_longest(const struct report *report, const struct overlay *overlay) {
    const struct cb_series *longest = NULL;
    for (size_t i = 0; i < report->runs; i++) {
        const struct cb_series *series = series_of(report, overlay, i);
        if (series && (!longest || cb_steps_of(series) > cb_steps_of(longest)))
            longest = series;
    }
    return longest;
}

static void fill_line(struct report *report, struct grid *grid, const struct overlay *overlay,
                      const struct cb_series *series) {
    size_t steps = cb_steps_of(series), every = (steps + CB_MOST_STEPS - 1) / CB_MOST_STEPS;
    double *row;
    for (size_t i = 0; i < steps && (row = cb_grid_add(report, grid)); i += every) {
        row[0] = (double)i + 1;
        row[1] = overlay->pick(&series->point[i]);
    }
}

static void fit_overlay(const struct report *report, const struct overlay *overlay, struct scale *y) {
    y->from = y->to = 0;
    for (size_t run = 0; run < report->runs; run++) {
        const struct cb_series *series = series_of(report, overlay, run);
        for (size_t i = 0; series && i < cb_steps_of(series); i++) {
            y->from = fmin(y->from, overlay->pick(&series->point[i]));
            y->to = fmax(y->to, overlay->pick(&series->point[i]));
        }
    }
    cb_scale_fit(y, 5);
}

static void draw_overlay(struct report *report, const struct overlay *overlay) {
    const struct cb_series *longest = find_longest(report, overlay);
    struct chart chart;
    char y_name[CB_WORDS];
    if (!longest)
        return;
    size_t steps = cb_steps_of(longest);
    cb_card_begin(report->to, overlay->title, overlay->text);
    cb_chart_begin(&chart, report->to, ++report->pictures, CB_CHART_HEIGHT - 40, overlay->title, "A line for each run");
    chart.x.from = 1;
    chart.x.to = steps > 1 ? (double)steps : 2;
    fit_overlay(report, overlay, &chart.y);
    cb_axis_name(overlay->y_name, overlay->pick == percent ? "%" : longest->unit, y_name);
    cb_chart_steps(&chart, longest->point, steps, y_name);
    for (size_t i = 0; i < report->runs; i++) {
        struct grid grid = {.columns = 2};
        const struct cb_series *series = series_of(report, overlay, i);
        if (series)
            fill_line(report, &grid, overlay, series);
        if (grid.rows)
            cb_chart_line(&chart, (unsigned)i + 1, "run", &grid, 1);
        free(grid.at);
    }
    cb_chart_end(&chart);
    cb_card_end(report->to);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of the trajectories cost at most so much: a curve of at most 200 points. */
static void fill_curve(struct report *report, struct grid *grid, const struct cb_results *results) {
    enum { MOST_POINTS = 200 };
    size_t count = results->costs, points = count < MOST_POINTS ? count : MOST_POINTS;
    double *sorted = count ? malloc(count * sizeof *sorted) : NULL, *row;
    report->no_memory |= count && !sorted;
    if (!sorted)
        return;
    memcpy(sorted, results->cost, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    for (size_t k = 0; k < points && (row = cb_grid_add(report, grid)); k++) {
        size_t i = points > 1 ? (size_t)llround((double)k * (double)(count - 1) / (double)(points - 1)) : 0;
        row[0] = sorted[i];
        row[1] = 100 * (double)(i + 1) / (double)count;
    }
    free(sorted);
}

static void draw_curves(struct report *report, struct grid *grid) {
    struct chart chart;
    char x_name[CB_WORDS];
    const char *title = report->run->maximises ? "Value of the trajectories" : "Cost of the trajectories";
    cb_card_begin(report->to, title, "The share of the trajectories that have at most so much.");
    cb_chart_begin(&chart, report->to, ++report->pictures, CB_CHART_HEIGHT - 40, title, "A curve for each run");
    chart.x.from = INFINITY;
    chart.x.to = -INFINITY;
    for (size_t i = 0; i < report->runs; i++)
        if (grid[i].rows) {
            chart.x.from = fmin(chart.x.from, grid[i].at[0]);
            chart.x.to = fmax(chart.x.to, grid[i].at[2 * (grid[i].rows - 1)]);
        }
    chart.y.from = 0;
    chart.y.to = 100;
    cb_scale_fit(&chart.x, 5);
    cb_chart_axes(&chart, cb_axis_name("total", unit_of(report->run), x_name), "trajectories, %", 5);
    for (size_t i = 0; i < report->runs; i++)
        if (grid[i].rows)
            cb_chart_line(&chart, (unsigned)i + 1, "run", &grid[i], 1);
    cb_chart_end(&chart);
    cb_card_end(report->to);
}

static void draw_costs(struct report *report) {
    struct grid grid[CB_MOST_RUNS] = {{.columns = 0}};
    bool any = false;
    for (size_t i = 0; i < report->runs; i++) {
        grid[i].columns = 2;
        if (same_unit(report, i))
            fill_curve(report, &grid[i], &report->run[i].results);
        any |= grid[i].rows > 0;
    }
    if (any)
        draw_curves(report, grid);
    for (size_t i = 0; i < report->runs; i++)
        free(grid[i].at);
}

static void draw_prices(struct report *report) {
    const struct cb_series *series = NULL;
    for (size_t i = 0; i < CB_MOST_FANS; i++) {
        char title[CB_WORDS], name[CB_WORDS];
        series = cb_next_series(&report->run->results, series, "marginal_cost", "element");
        if (!series)
            return;
        snprintf(title, sizeof title, "Marginal cost, %.100s", cb_element_text(series->element, name));
        draw_overlay(report, &(struct overlay){title, "Mean over the trajectories.", "marginal cost", "marginal_cost",
                                               "element", series->element, mean});
    }
}

static void draw_pictures(struct report *report) {
    struct legend legend[CB_MOST_RUNS];
    for (size_t i = 0; i < report->runs; i++)
        legend[i] = (struct legend){report->run[i].name, (unsigned)i + 1, "line"};
    cb_section_begin(report->to, "Pictures", NULL, legend, report->runs);
    draw_costs(report);
    draw_overlay(report, &(struct overlay){"Stored energy", "Median, of all subsystems together.", "stored energy",
                                           "stored_energy", "system", NULL, median});
    draw_prices(report);
    draw_overlay(report, &(struct overlay){"Probability of a deficit", NULL, "probability", "unserved_energy", "system",
                                           NULL, percent});
    draw_overlay(report, &(struct overlay){"Energy not served", "Mean over the trajectories.", "energy",
                                           "unserved_energy", "system", NULL, mean});
    cb_section_end(report->to);
}

void cb_report_several(struct report *report) {
    fputs("<section class=\"answers\" aria-label=\"Convergence\">\n", report->to);
    for (size_t i = 0; i < report->runs; i++) {
        cb_answer_verdict(report->to, report->run[i].name, &report->run[i].verdict, "");
    }
    fputs("</section>\n<section class=\"wide\">\n", report->to);
    write_table(report);
    fputs("</section>\n", report->to);
    draw_pictures(report);
}
