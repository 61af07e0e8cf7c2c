/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: the rows of a comparison.
 *
 * First come figures of the trainings and of whole trajectories, then means over the stages that all runs have, or these
 * stages one by one. Runs are matched by what statistics.csv calls a figure, and stages by their dates: a run of this month
 * and one of the last month have most of them in common. Errors are those of sampling.h. The error of a mean over stages
 * depends on the correlation of stages, which no table has; but it is at most the mean of their errors. */
#include "sddp/run/compare.h"

#include "sddp/error.h"
#include "sddp/grow.h"
#include "sddp/run/sampling.h"
#include "sddp/usual_floats.h"

#include <math.h>
#include <stdio.h>

#define ACCURACY 1e-6 /* relative: what LPs are solved to */
#define REACHED 0.05  /* a stage that a smaller share of the trajectories reaches is no part of means */

/* The cells of a new row, all of them unknown. NULL: it is not asked for, or there is no memory. */
static cobre_sddp_difference *add_row(cobre_sddp_comparison *c, cobre_sddp_compared row) {
    if (c->options.kind && strcmp(c->options.kind, row.kind) != 0)
        return NULL;
    size_t used = c->rows * c->runs;
    bool room = CB_GROW(c, c->row, c->rows, c->rows_room);
    while (room && used + c->runs > c->cells_room)
        room = CB_GROW(c, c->cell, c->cells_room, c->cells_room);
    if (!room)
        return NULL;
    row.struct_size = sizeof row;
    c->row[c->rows++] = row;
    for (size_t i = 0; i < c->runs; i++)
        c->cell[used + i] = (cobre_sddp_difference){.struct_size = sizeof *c->cell,
                                                    .value = NAN,
                                                    .deviation = NAN,
                                                    .count = NAN,
                                                    .difference = NAN,
                                                    .error = NAN,
                                                    .method = "",
                                                    .note = ""};
    return &c->cell[used];
}

/* False: they cannot be compared, and the cell says why. */
static bool subtract(cobre_sddp_difference *cell, const cobre_sddp_difference *first, const char *unit,
                     const char *first_unit) {
    if (isnan(cell->value) || isnan(first->value))
        cell->note = isnan(cell->value) ? "this run does not have it" : "the first run does not have it";
    else if (strcmp(unit, first_unit) != 0)
        cell->note = "the units differ";
    else
        cell->difference = cell->value - first->value;
    return !*cell->note;
}

static void judge(cobre_sddp_difference *cell, const cobre_sddp_difference *first, double error, const char *method) {
    double accuracy = ACCURACY * fmax(fabs(cell->value), fabs(first->value));
    cell->error = error;
    cell->method = isnan(error) ? "" : method;
    cell->significant = fabs(cell->difference) > error + accuracy;
    if (isnan(error))
        cell->note = "too few trajectories for an error";
}

/* Scenarios that somebody chose are no sample. */
static bool has_error(const cobre_sddp_comparison *c, size_t run, cobre_sddp_difference *cell) {
    bool sample = c->run[0].sample && c->run[run].sample;
    if (!sample)
        cell->note = "scenarios that were given are no sample";
    return sample;
}

static const char *cost_unit(const cobre_sddp_comparison *c) {
    size_t i = 0;
    while (i + 1 < c->runs && !*c->run[i].unit)
        i++;
    return c->run[i].unit;
}

/* What the trainings are. None of it is an estimate. NULL: no run knows it. */
static cobre_sddp_difference *add_fact(cobre_sddp_comparison *c, const char *kind, const char *unit,
                                       double fact(const struct cb_run *run)) {
    bool any = false;
    for (size_t i = 0; i < c->runs; i++)
        any |= !isnan(fact(&c->run[i]));
    cobre_sddp_compared row = {.over = "training", .kind = kind, .level = "", .element = "", .unit = unit, .date = ""};
    cobre_sddp_difference *cell = any ? add_row(c, row) : NULL;
    for (size_t i = 0; cell && i < c->runs; i++) {
        cell[i].value = fact(&c->run[i]);
        if (i > 0 && subtract(&cell[i], &cell[0], "", ""))
            cell[i].note = "no estimate: it has no sampling error";
    }
    return cell;
}

static double bound_of(const struct cb_run *run) {
    return run->bound;
}

static double iterations_of(const struct cb_run *run) {
    return run->iterations;
}

static double cuts_of(const struct cb_run *run) {
    return run->cuts;
}

bool cb_compare_same_aim(const struct cb_run *a, const struct cb_run *b) {
    if (!a->has_policy || !b->has_policy) /* nobody knows */
        return true;
    return a->averse == b->averse && a->risk.alpha == b->risk.alpha && a->risk.beta == b->risk.beta &&
           a->maximises == b->maximises;
}

static void add_training(cobre_sddp_comparison *c) {
    cobre_sddp_difference *cell = add_fact(c, "bound", cost_unit(c), bound_of);
    for (size_t i = 1; cell && i < c->runs; i++) {
        bool units = c->run[0].simulated && c->run[i].simulated && strcmp(c->run[0].unit, c->run[i].unit) != 0;
        if (!units && cb_compare_same_aim(&c->run[0], &c->run[i]))
            continue;
        cell[i].difference = NAN;
        cell[i].note = units ? "the units differ" : "bounds of different risk measures";
    }
    add_fact(c, "iterations", "", iterations_of);
    add_fact(c, "cuts", "", cuts_of);
}

static cobre_sddp_difference *add_whole(cobre_sddp_comparison *c, const char *kind, const char *unit) {
    return add_row(c, (cobre_sddp_compared){
                          .over = "horizon", .kind = kind, .level = "system", .element = "", .unit = unit, .date = ""});
}

static bool is_simulated(const cobre_sddp_comparison *c) {
    bool any = false;
    for (size_t i = 0; i < c->runs; i++)
        any |= c->run[i].simulated;
    return any;
}

/* As many trajectories in both: they can be paired. */
static bool has_pairs(const struct cb_run *a, const struct cb_run *b) {
    return a->results.costs == b->results.costs && a->results.costs > 0;
}

static bool subtract_cost(const cobre_sddp_comparison *c, cobre_sddp_difference *cell, size_t run) {
    bool opposite = c->run[0].maximises != c->run[run].maximises;
    if (opposite)
        cell[run].note = "one maximises, the other one minimises";
    return !opposite && subtract(&cell[run], &cell[0], c->run[run].unit, c->run[0].unit);
}

static void add_cost(cobre_sddp_comparison *c) {
    cobre_sddp_difference *cell = add_whole(c, "cost", cost_unit(c));
    const struct cb_run *first = &c->run[0];
    for (size_t i = 0; cell && i < c->runs; i++) {
        const struct cb_run *run = &c->run[i];
        cell[i].value = cb_fact_number(&run->results.simulation, "mean");
        cell[i].deviation = cb_fact_number(&run->results.simulation, "deviation");
        cell[i].count = cb_fact_number(&run->results.simulation, "trajectories");
        if (i == 0 || !subtract_cost(c, cell, i) || !has_error(c, i, &cell[i]))
            continue;
        if (has_pairs(first, run))
            judge(&cell[i], &cell[0], cb_error_of_pairs(first->results.cost, run->results.cost, run->results.costs),
                  "pairs");
        else
            judge(&cell[i], &cell[0],
                  cb_error_of_means(cell[0].deviation, cell[0].count, cell[i].deviation, cell[i].count), "independent");
    }
}

static double deviation_of(const double *values, size_t count, double mean) {
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

static bool is_long_enough(const struct cb_run *run) {
    return CB_WORST_SHARE * (double)run->results.costs + 1e-9 >= CB_WORST_LEAST;
}

static void add_worst(cobre_sddp_comparison *c) {
    cobre_sddp_difference *cell = add_whole(c, "cost_cvar5", cost_unit(c));
    const struct cb_run *first = &c->run[0];
    for (size_t i = 0; cell && i < c->runs; i++) {
        const struct cb_run *run = &c->run[i];
        size_t costs = run->results.costs;
        cell[i].value = run->worst_mean;
        cell[i].count = (double)costs;
        cell[i].deviation = run->worst ? deviation_of(run->worst, costs, run->worst_mean) : NAN;
        if (i == 0 || !subtract_cost(c, cell, i) || !has_error(c, i, &cell[i]))
            continue;
        if (!is_long_enough(first) || !is_long_enough(run))
            judge(&cell[i], &cell[0], NAN, "");
        else if (has_pairs(first, run))
            judge(&cell[i], &cell[0], cb_error_of_pairs(first->worst, run->worst, costs), "pairs");
        else
            judge(&cell[i], &cell[0],
                  cb_error_of_means(cell[0].deviation, cell[0].count, cell[i].deviation, cell[i].count), "independent");
    }
}

/* A mean beyond the bound is chance, or it is not. NULL: it is not beyond. */
static const char *beyond_note(const struct cb_facts *simulation, double gap) {
    double error = cb_fact_number(simulation, "half") / fabs(cb_fact_number(simulation, "mean"));
    return !(gap < 0)      ? NULL
           : -gap <= error ? "negative, but the bound lies within the sampling error of the mean"
                           : "negative: the mean is beyond the bound by more than its sampling error";
}

static void add_gap(cobre_sddp_comparison *c) {
    cobre_sddp_difference *cell = add_whole(c, "gap", "");
    for (size_t i = 0; cell && i < c->runs; i++) {
        const char *gap = cb_fact(&c->run[i].results.simulation, "gap");
        cell[i].value = *gap && strcmp(gap, "none") != 0 ? strtod(gap, NULL) : NAN;
        if (i > 0 && subtract(&cell[i], &cell[0], "", ""))
            cell[i].note = "its sampling error is not known";
        const char *beyond = beyond_note(&c->run[i].results.simulation, cell[i].value);
        cell[i].note = beyond ? beyond : cell[i].note;
    }
}

static void add_deficit(cobre_sddp_comparison *c, const struct cb_series *const *series) {
    cobre_sddp_difference *cell = add_whole(c, "deficit_probability", "");
    for (size_t i = 0; cell && i < c->runs; i++) {
        if (series[i]) {
            double share = series[i]->total.positive;
            cell[i].value = share;
            cell[i].deviation = sqrt(share * (1 - share));
            cell[i].count = series[i]->total.count;
        }
        if (i > 0 && subtract(&cell[i], &cell[0], "", "") && has_error(c, i, &cell[i]))
            judge(&cell[i], &cell[0], cb_error_of_shares(cell[0].value, cell[0].count, cell[i].value, cell[i].count),
                  "shares");
    }
}

static bool is_same(const struct cb_series *a, const struct cb_series *b) {
    return strcmp(a->element, b->element) == 0 && strcmp(a->kind, b->kind) == 0 && strcmp(a->level, b->level) == 0 &&
           strcmp(a->table, b->table) == 0;
}

/* Mostly it is at the same place, or a little further on. */
static const struct cb_series *find_series(const struct cb_results *results, const struct cb_series *key, size_t near) {
    for (size_t i = 0; i < results->count; i++) {
        const struct cb_series *series = &results->series[(near + i) % results->count];
        if (is_same(series, key))
            return series;
    }
    return NULL;
}

/* The series of all runs that a series of run `r` stands for. False: an earlier run has it, too. */
static bool match(const cobre_sddp_comparison *c, size_t r, size_t at,
                  const struct cb_series *series[CB_COMPARE_MOST]) {
    const struct cb_series *key = &c->run[r].results.series[at];
    for (size_t i = 0; i < c->runs; i++) {
        series[i] = i == r ? key : find_series(&c->run[i].results, key, at);
        if (i < r && series[i])
            return false;
    }
    return true;
}

static const struct cb_series *any_of(const cobre_sddp_comparison *c, const struct cb_series *const *series) {
    size_t i = 0;
    while (i < c->runs && !series[i])
        i++;
    return series[i];
}

static const char *unit_of(const struct cb_series *series) {
    return series ? series->unit : "";
}

static cobre_sddp_compared row_of(const struct cb_series *series, const char *over) {
    return (cobre_sddp_compared){.over = over,
                                 .kind = series->kind,
                                 .level = series->level,
                                 .element = series->element,
                                 .unit = series->unit,
                                 .date = ""};
}

/* A number with its deviation over the trajectories: a total, or a figure of one stage. */
static void add_points(cobre_sddp_comparison *c, cobre_sddp_compared row, const struct cb_series *const *series,
                       const struct cb_point *const *point) {
    cobre_sddp_difference *cell = add_row(c, row);
    for (size_t i = 0; cell && i < c->runs; i++) {
        if (point[i]) {
            cell[i].value = point[i]->mean;
            cell[i].deviation = point[i]->deviation;
            cell[i].count = point[i]->count;
        }
        if (i > 0 && subtract(&cell[i], &cell[0], unit_of(series[i]), unit_of(series[0])) && has_error(c, i, &cell[i]))
            judge(&cell[i], &cell[0],
                  cb_error_of_means(cell[0].deviation, cell[0].count, cell[i].deviation, cell[i].count), "independent");
    }
}

static void add_total(cobre_sddp_comparison *c, const struct cb_series *const *series) {
    const struct cb_point *total[CB_COMPARE_MOST];
    for (size_t i = 0; i < c->runs; i++)
        total[i] = series[i] && series[i]->total.count > 0 ? &series[i]->total : NULL;
    add_points(c, row_of(any_of(c, series), "horizon"), series, total);
}

static const struct cb_point *point_at(const struct cb_series *series, size_t step) {
    if (!series || step == 0)
        return NULL;
    if (step <= series->points && series->point[step - 1].step == step)
        return &series->point[step - 1];
    for (size_t i = 0; i < series->points; i++)
        if (series->point[i].step == step)
            return &series->point[i];
    return NULL;
}

/* The points of a moment. False: a run that has the figure does not have it then. */
static bool points_at(const cobre_sddp_comparison *c, const struct cb_moment *moment,
                      const struct cb_series *const *series, const struct cb_point *point[CB_COMPARE_MOST]) {
    bool all = true;
    for (size_t i = 0; i < c->runs; i++) {
        point[i] = point_at(series[i], moment->step[i]);
        all &= point[i] || !series[i];
    }
    return all;
}

struct sums {
    double value, count, error; /* count: the smallest */
};

static void add_up(const cobre_sddp_comparison *c, const struct cb_point *const *point, struct sums *sums) {
    for (size_t i = 0; i < c->runs; i++) {
        if (!point[i])
            continue;
        sums[i].value += point[i]->mean;
        sums[i].count = fmin(sums[i].count, point[i]->count);
        if (i > 0 && point[0])
            sums[i].error +=
                cb_error_of_means(point[0]->deviation, point[0]->count, point[i]->deviation, point[i]->count);
    }
}

static void add_mean(cobre_sddp_comparison *c, const struct cb_series *const *series) {
    const struct cb_point *point[CB_COMPARE_MOST];
    struct sums sums[CB_COMPARE_MOST];
    double stages = 0;
    for (size_t i = 0; i < c->runs; i++)
        sums[i] = (struct sums){.count = INFINITY};
    for (size_t m = 0; m < c->moments; m++)
        if (c->moment[m].common && points_at(c, &c->moment[m], series, point)) {
            add_up(c, point, sums);
            stages++;
        }
    cobre_sddp_difference *cell = stages > 0 ? add_row(c, row_of(any_of(c, series), "stages")) : NULL;
    for (size_t i = 0; cell && i < c->runs; i++) {
        if (series[i]) {
            cell[i].value = sums[i].value / stages;
            cell[i].count = sums[i].count;
        }
        if (i > 0 && subtract(&cell[i], &cell[0], unit_of(series[i]), unit_of(series[0])) && has_error(c, i, &cell[i]))
            judge(&cell[i], &cell[0], sums[i].error / stages, "stages");
    }
}

static void add_stages(cobre_sddp_comparison *c, const struct cb_series *const *series) {
    const struct cb_point *point[CB_COMPARE_MOST];
    for (size_t m = 0; m < c->moments; m++) {
        const struct cb_moment *moment = &c->moment[m];
        cobre_sddp_compared row = row_of(any_of(c, series), "stage");
        bool any = false;
        points_at(c, moment, series, point);
        for (size_t i = c->runs; i-- > 0;)
            if (point[i]) {
                row.step = point[i]->step;
                row.stage = moment->stage;
                row.date = moment->date;
                any = true;
            }
        if (any)
            add_points(c, row, series, point);
    }
}

static bool has_level(const struct cb_results *results, const char *kind, const char *level, const char *element) {
    return cb_results_find(results, kind, level, element) != NULL;
}

static bool is_subsystem(const struct cb_results *results, const char *element) {
    for (size_t i = 0; i < results->count; i++)
        if (strcmp(results->series[i].level, "subsystem") == 0 && strcmp(results->series[i].element, element) == 0)
            return true;
    return false;
}

/* What a case gives is no result, and what a policy expects depends on its risk measure. */
static bool is_no_result(const struct cb_series *series) {
    const char *end = strstr(series->kind, "_capacity");
    return (end && !end[strlen("_capacity")]) || strcmp(series->kind, "storage_minimum") == 0 ||
           strcmp(series->table, "noise") == 0 || strcmp(series->kind, "future_cost") == 0;
}

/* Prices and exchanges are of elements by their names, and of subsystems for those who read them. */
static bool is_of_subsystem(const struct cb_results *results, const struct cb_series *series) {
    return strcmp(series->level, "element") != 0 || strcmp(series->kind, "exchange") == 0 ||
           (strcmp(series->table, "duals") == 0 && is_subsystem(results, series->element));
}

static bool is_wanted(const cobre_sddp_comparison *c, const struct cb_results *results,
                      const struct cb_series *series) {
    const char *kind = c->options.kind;
    if (kind && strcmp(kind, series->kind) != 0)
        return false;
    if (c->options.by == COBRE_SDDP_BY_ELEMENT)
        return true;
    if (c->options.by == COBRE_SDDP_BY_STAGE && kind)
        return strcmp(series->level, "element") != 0 || !has_level(results, kind, "system", NULL);
    return kind || (!is_no_result(series) && is_of_subsystem(results, series));
}

/* Costs, and energy that is not served, are figures of whole trajectories. */
static bool is_whole(const struct cb_series *series) {
    return series->total.count > 0;
}

static void add_wholes(cobre_sddp_comparison *c) {
    const struct cb_series *series[CB_COMPARE_MOST];
    if (!is_simulated(c))
        return;
    add_cost(c);
    add_worst(c);
    for (size_t r = 0; r < c->runs; r++)
        for (size_t i = 0; i < c->run[r].results.count; i++) {
            const struct cb_series *key = &c->run[r].results.series[i];
            bool total = strcmp(key->kind, "cost") == 0 && strcmp(key->level, "system") == 0;
            if (!is_whole(key) || total || !match(c, r, i, series))
                continue;
            add_total(c, series);
            if (strcmp(key->kind, "unserved_energy") == 0 && strcmp(key->level, "system") == 0)
                add_deficit(c, series);
        }
    add_gap(c);
}

static void add_series(cobre_sddp_comparison *c) {
    const struct cb_series *series[CB_COMPARE_MOST];
    bool by_stage = c->options.by == COBRE_SDDP_BY_STAGE;
    for (size_t r = 0; r < c->runs; r++)
        for (size_t i = 0; i < c->run[r].results.count; i++) {
            const struct cb_series *key = &c->run[r].results.series[i];
            if (!is_wanted(c, &c->run[r].results, key) || (!by_stage && is_whole(key)) || !match(c, r, i, series))
                continue;
            if (by_stage)
                add_stages(c, series);
            else
                add_mean(c, series);
        }
}

static int compare_dates(const void *a, const void *b) {
    return strcmp(((const struct cb_moment *)a)->date, ((const struct cb_moment *)b)->date);
}

static const struct cb_series *steps_of(const struct cb_run *run) {
    return cb_results_find(&run->results, "cost", "system", NULL);
}

static struct cb_moment *moment_of(cobre_sddp_comparison *c, const struct cb_point *point, size_t run, bool by_date) {
    for (size_t m = 0; m < c->moments; m++) {
        struct cb_moment *moment = &c->moment[m];
        bool same = by_date ? strcmp(moment->date, point->date) == 0 : m + 1 == point->step;
        if (same && moment->step[run] == 0)
            return moment;
    }
    if (!CB_GROW(c, c->moment, c->moments, c->moments_room))
        return NULL;
    c->moment[c->moments] = (struct cb_moment){.date = point->date, .stage = point->stage, .common = true};
    return &c->moment[c->moments++];
}

static bool is_reached(const struct cb_series *steps, size_t step) {
    const struct cb_point *point = point_at(steps, step);
    return point && point->count >= REACHED * steps->point[0].count;
}

/* Returns how many moments all runs have. */
static size_t align(cobre_sddp_comparison *c, bool by_date) {
    size_t common = 0;
    c->moments = 0;
    for (size_t i = 0; i < c->runs; i++) {
        const struct cb_series *steps = steps_of(&c->run[i]);
        for (size_t p = 0; steps && p < steps->points; p++) {
            struct cb_moment *moment = moment_of(c, &steps->point[p], i, by_date);
            if (moment)
                moment->step[i] = steps->point[p].step;
        }
    }
    for (size_t m = 0; m < c->moments; m++) {
        for (size_t i = 0; i < c->runs; i++) {
            const struct cb_series *steps = steps_of(&c->run[i]);
            c->moment[m].common &= !steps || is_reached(steps, c->moment[m].step[i]);
        }
        common += c->moment[m].common;
    }
    return common;
}

/* On a graph with cycles a date comes again: it says nothing. */
static bool has_dates(const struct cb_run *run) {
    const struct cb_series *steps = steps_of(run);
    bool good = true;
    for (size_t p = 0; steps && p < steps->points; p++)
        good &= *steps->point[p].date && (p == 0 || strcmp(steps->point[p - 1].date, steps->point[p].date) < 0);
    return good;
}

static void find_moments(cobre_sddp_comparison *c) {
    bool dates = true;
    for (size_t i = 0; i < c->runs; i++)
        dates &= has_dates(&c->run[i]);
    if (dates && align(c, true) > 0) {
        qsort(c->moment, c->moments, sizeof *c->moment, compare_dates);
        return;
    }
    align(c, false);
    if (dates && c->moments > 0)
        cb_compare_note(c, "The runs have no date in common: stages are compared by their number.");
}

static void add_rows(cobre_sddp_comparison *c) {
    bool by_stage = c->options.by == COBRE_SDDP_BY_STAGE;
    find_moments(c);
    if (!by_stage) {
        add_wholes(c);
        add_training(c);
    }
    add_series(c);
}

const cobre_sddp_difference *cb_compare_find(const cobre_sddp_comparison *c, const char *kind, size_t run) {
    for (size_t i = 0; i < c->rows; i++)
        if (strcmp(c->row[i].over, "horizon") == 0 && strcmp(c->row[i].level, "system") == 0 &&
            strcmp(c->row[i].kind, kind) == 0)
            return &c->cell[i * c->runs + run];
    return NULL;
}

/* Words are about whole trajectories, whatever rows are asked for. */
static void find_words(cobre_sddp_comparison *c) {
    cobre_sddp_compare_options asked = c->options;
    c->options = (cobre_sddp_compare_options){.by = COBRE_SDDP_BY_SUBSYSTEM};
    add_wholes(c);
    cb_compare_words(c);
    c->rows = 0;
    c->options = asked;
}

/* The kinds that could have been asked for. */
static cobre_status no_such_kind(cobre_sddp_comparison *c) {
    char kinds[sizeof((cobre_error *)0)->suggestion] = "";
    size_t used = 0;
    const char *before = "";
    for (size_t i = 0; i < c->run[0].results.count && used < sizeof kinds - 64; i++) {
        const char *kind = c->run[0].results.series[i].kind;
        if (strcmp(kind, before) != 0)
            used += (size_t)snprintf(kinds + used, sizeof kinds - used, "%s%.60s", used ? ", " : "give one of ", kind);
        before = kind;
    }
    return cb_refuse("options.kind", used ? kinds : "simulate the runs first: `cobre simulate`",
                     "no run has figures of the kind %s", c->options.kind);
}

static cobre_status compare(cobre_sddp_comparison *c, const char *const *paths) {
    CB_TRY(cb_compare_read(c, paths));
    find_words(c);
    add_rows(c);
    cb_compare_notes(c);
    if (c->no_memory || c->memory.failed)
        return cb_no_memory("a comparison", 0);
    return c->options.kind && c->rows == 0 ? no_such_kind(c) : COBRE_OK;
}

static cobre_status check(const char *const *paths, size_t count, cobre_sddp_comparison **comparison) {
    if (!comparison)
        return cb_refuse_null("comparison");
    *comparison = NULL;
    if (!paths)
        return cb_refuse_null("paths");
    if (count < 2 || count > CB_COMPARE_MOST)
        return cb_refuse("count", "give two runs or more", "%zu runs: 2 to %d can be compared", count, CB_COMPARE_MOST);
    for (size_t i = 0; i < count; i++)
        if (!paths[i])
            return cb_refuse_null("paths");
    return COBRE_OK;
}

cobre_status cobre_sddp_compare(const char *const *paths, size_t count, const cobre_sddp_compare_options *options,
                                cobre_sddp_comparison **comparison) {
    CB_USUAL_FLOATS();
    cobre_sddp_compare_options own = {.kind = NULL};
    CB_TRY(check(paths, count, comparison));
    CB_TRY(CB_TAKE_OPTIONS(&own, options, cobre_sddp_compare_options, kind));
    if (own.by > COBRE_SDDP_BY_STAGE)
        return cb_refuse("options.by", "take one of cobre_sddp_detail", "there is no detail %d", (int)own.by);
    cobre_sddp_comparison *c = calloc(1, sizeof *c);
    if (!c)
        return cb_no_memory("a comparison", sizeof *c);
    c->options = own;
    c->runs = count;
    cobre_status status = compare(c, paths);
    if (status)
        cobre_sddp_comparison_free(&c);
    *comparison = c;
    return status;
}
