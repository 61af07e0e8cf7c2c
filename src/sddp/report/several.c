/* SPDX-License-Identifier: Apache-2.0 */
/* several.c: runs side by side: a table of figures with their differences from the first run, and pictures with a line for
 * each run. */
#include "sddp/report/parts.h"
#include "sddp/run/compare.h"
#include "sddp/run/sampling.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_value(struct report *report, const cobre_sddp_compared *row, double value) {
    char text[CB_WORDS];
    cb_html_write(report->to, !isfinite(value)            ? "-"
                              : cb_compared_is_share(row) ? cb_percent_text(value, text)
                                                          : cb_amount_text(value, text));
}

/* "+56.8 million ± 4.1 million, larger than the error" */
static void write_difference(struct report *report, const cobre_sddp_compared *row, const cobre_sddp_difference *cell) {
    if (!isfinite(cell->difference))
        return;
    fprintf(report->to, "<small class=\"%s\">%s", cell->significant ? "real" : "chance",
            cell->difference < 0 ? "−" : "+");
    write_value(report, row, fabs(cell->difference));
    if (isfinite(cell->error)) {
        fputs(" ± ", report->to);
        write_value(report, row, cell->error);
        fputs(cell->significant ? "<br>larger than the error" : "<br>within the error", report->to);
    }
    fputs("</small>", report->to);
}

static void write_row(struct report *report, const cobre_sddp_comparison *comparison, size_t index) {
    const cobre_sddp_compared *row = &comparison->row[index];
    char words[256], name[512];
    cb_compared_words(row, words);
    bool unit = *row->unit && !cb_compared_is_share(row);
    snprintf(name, sizeof name, "%s%s%s", words, unit ? ", " : "", unit ? row->unit : "");
    name[0] = (char)toupper((unsigned char)name[0]);
    cb_row_begin(report->to, name);
    for (size_t i = 0; i < report->runs; i++) {
        const cobre_sddp_difference *cell = &comparison->cell[index * comparison->runs + i];
        fputs("<td>", report->to);
        write_value(report, row, cell->value);
        if (i > 0)
            write_difference(report, row, cell);
        fputs("</td>", report->to);
    }
    cb_row_end(report->to);
}

static void write_table(struct report *report, const cobre_sddp_comparison *comparison) {
    const char *names[CB_MOST_RUNS + 2] = {""};
    for (size_t i = 0; i < report->runs; i++)
        names[1 + i] = report->run[i].name;
    cb_card_begin(
        report->to, "Figures",
        "Below each figure is its difference from the first run, with the error of 95 % that the samples leave. Of "
        "costs it is the error of the difference by trajectory, where the runs have equally many; of means over the "
        "stages it is an upper limit.");
    cb_table_begin(report->to, "Figures", names);
    for (size_t i = 0; i < comparison->rows; i++)
        write_row(report, comparison, i);
    cb_table_end(report->to);
    cb_card_end(report->to);
}

static const char *unit_of(const struct run *run) {
    return cb_fact(&run->results->simulation, "unit");
}

static bool same_unit(const struct report *report, size_t i) {
    return strcmp(unit_of(&report->run[0]), unit_of(&report->run[i])) == 0;
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
    return cb_results_find(report->run[run].results, overlay->kind, overlay->level, overlay->element);
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

/* How many of the trajectories cost at most so much: a curve of at most 200 points. */
static void fill_curve(struct report *report, struct grid *grid, const struct cb_results *results) {
    enum { MOST_POINTS = 200 };
    size_t count = results->costs, points = count < MOST_POINTS ? count : MOST_POINTS;
    double *sorted = count ? malloc(count * sizeof *sorted) : NULL, *row;
    report->no_memory |= count && !sorted;
    if (!sorted)
        return;
    memcpy(sorted, results->cost, count * sizeof *sorted);
    cb_sort(sorted, count);
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
            fill_curve(report, &grid[i], report->run[i].results);
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
        series = cb_next_series(report->run->results, series, "marginal_cost", "element");
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
    for (size_t i = 1; i < report->runs; i++)
        cb_paragraph(report->to, report->comparison->run[i].words);
    write_table(report, report->comparison);
    for (size_t i = 0; i < report->comparison->notes; i++)
        cb_paragraph(report->to, report->comparison->note[i]);
    fputs("</section>\n", report->to);
    draw_pictures(report);
}
