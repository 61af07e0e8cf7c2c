/* SPDX-License-Identifier: Apache-2.0 */
/* compare_words.c: how a run compares with the first one, in sentences: its cost, its worst costs, its deficits. */
#include "sddp/run/compare.h"

#include "sddp/run/numbers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { ROOM = 1024 };

struct words {
    char text[ROOM];
    size_t used;
};

static void say(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct words *words, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(words->text + words->used, ROOM - words->used, format, arguments);
    va_end(arguments);
    words->used += length > 0 ? (size_t)length : 0;
    words->used = words->used < ROOM ? words->used : ROOM - 1;
}

/* " (95 %), larger than the sampling error" */
static void say_verdict(struct words *words, const cobre_sddp_difference *cell) {
    char error[32];
    if (*cell->method)
        say(words, " +- %s (95 %%), %s the sampling error", cb_brief_text(cell->error, 2, error),
            cell->significant ? "larger than" : "within");
}

/* "12 % more" */
static void say_share(struct words *words, const cobre_sddp_difference *cell) {
    double first = cell->value - cell->difference, share = 100 * fabs(cell->difference / first);
    const char *side = cell->difference > 0 ? "more" : "less";
    if (cell->difference == 0)
        say(words, "as much");
    else if (!isfinite(share) || share >= 1e4)
        say(words, "%s", side);
    else
        say(words, "%.*f %% %s", share >= 10 ? 0 : share >= 0.1 ? 1 : 3, share, side);
}

/* ": +5.7e7 $ +- 7.3e6 (95 %), larger than the sampling error." */
static void say_amount(struct words *words, const cobre_sddp_difference *cell, const char *unit) {
    char amount[32];
    if (cell->difference != 0 || *cell->method)
        say(words, ": %s%s%s%s", cell->difference > 0 ? "+" : "", cb_brief_text(cell->difference, 3, amount),
            cb_unit_blank(unit), unit);
    say_verdict(words, cell);
    say(words, ".");
}

static void say_cost(struct words *words, const cobre_sddp_comparison *c, size_t run) {
    const struct cb_run *first = &c->run[0], *its = &c->run[run];
    const cobre_sddp_difference *cell = cb_compare_find(c, "cost", run);
    const char *verb = its->maximises ? "earns" : "costs";
    if (!cell || isnan(cell->difference))
        return;
    if (cell->difference == 0 && cell->error == 0) {
        say(words, "%s %s the same as %s in every trajectory.", its->name, verb, first->name);
        return;
    }
    say(words, "%s %s ", its->name, verb);
    say_share(words, cell);
    say(words, cell->difference == 0 ? " as %s" : " than %s", first->name);
    say(words, "%s", its->sample && first->sample ? " on average" : " in its scenarios, which are no sample");
    say_amount(words, cell, its->unit);
}

static void say_worst(struct words *words, const cobre_sddp_comparison *c, size_t run) {
    const cobre_sddp_difference *cell = cb_compare_find(c, "cost_cvar5", run);
    if (!cell || !*cell->method || cell->difference == 0) /* the worst of few say nothing */
        return;
    say(words, " In the worst 5 %% of the trajectories it %s ", c->run[run].maximises ? "earns" : "costs");
    say_share(words, cell);
    say_amount(words, cell, c->run[run].unit);
}

static void say_deficit(struct words *words, const cobre_sddp_comparison *c, size_t run) {
    const cobre_sddp_difference *cell = cb_compare_find(c, "deficit_probability", run),
                                *energy = cb_compare_find(c, "unserved_energy", run);
    char now[32], then[32];
    if (!cell || isnan(cell->difference) || !energy)
        return;
    double first = cell->value - cell->difference;
    if (cell->difference == 0 && energy->difference == 0) {
        say(words, cell->value == 0 ? " Neither has a deficit." : "");
        return;
    }
    say(words, " It has deficits in %.1f %% of the trajectories, %s in %.1f %%", 100 * cell->value, c->run[0].name,
        100 * first);
    if (*cell->method)
        say(words, ": %+.1f points +- %.1f, %s the sampling error", 100 * cell->difference, 100 * cell->error,
            cell->significant ? "larger than" : "within");
    if (!isnan(energy->difference))
        say(words, "; on average %s %s are not served, instead of %s", cb_brief_text(energy->value, 3, now),
            cb_results_find(&c->run[run].results, "unserved_energy", "system", NULL)->unit,
            cb_brief_text(energy->value - energy->difference, 3, then));
    say(words, ".");
}

/* All that two policies say without simulations. */
static void say_bound(cobre_sddp_comparison *c, size_t run) {
    const struct cb_run *first = &c->run[0], *its = &c->run[run];
    struct words words = {.used = 0};
    double share = 100 * (its->bound - first->bound) / fabs(first->bound);
    if (!cb_compare_same_aim(first, its))
        say(&words, "The bounds of %s and %s are of different risk measures: they cannot be compared.", its->name,
            first->name);
    else if (share == 0)
        say(&words, "The bounds of %s and %s are the same.", its->name, first->name);
    else if (isfinite(share))
        say(&words, "The bound of %s is %.3g %% %s than that of %s.", its->name, fabs(share),
            share > 0 ? "higher" : "lower", first->name);
    c->run[run].words = cb_compare_text(c, "%s", words.text);
}

/* Stage follows stage: in a cycle the length of a trajectory is chance. */
static bool is_straight(const struct cb_series *series) {
    return series->points > 0 && series->point[0].stage > 0 &&
           series->point[series->points - 1].stage == series->point[0].stage + series->points - 1;
}

/* Sums over horizons of other lengths, or other times, say nothing about each other. */
static bool say_horizons(struct words *words, const struct cb_run *first, const struct cb_run *its) {
    const struct cb_series *a = cb_results_find(&first->results, "cost", "system", NULL),
                           *b = cb_results_find(&its->results, "cost", "system", NULL);
    if (!a || !b || !is_straight(a) || !is_straight(b))
        return false;
    const struct cb_point *one = &a->point[0], *other = &b->point[0];
    if (a->points == b->points && one->stage == other->stage && strcmp(one->date, other->date) == 0)
        return false;
    if (a->points != b->points)
        say(words, "%s has %zu stages and %s has %zu", first->name, a->points, its->name, b->points);
    else
        say(words, "%s begins at stage %zu%s%s and %s at stage %zu%s%s", first->name, one->stage,
            *one->date ? ", " : "", one->date, its->name, other->stage, *other->date ? ", " : "", other->date);
    say(words, ": sums over the horizon are of different times. Compare means over the stages, and stages "
               "(--by stage).");
    return true;
}

static void say_simulated(cobre_sddp_comparison *c, size_t run) {
    struct words words = {.used = 0};
    const struct cb_run *first = &c->run[0], *its = &c->run[run];
    if (say_horizons(&words, first, its)) {
        c->run[run].words = cb_compare_text(c, "%s", words.text);
        return;
    }
    if (strcmp(first->unit, its->unit) != 0)
        say(&words, "Costs of %s are in %s and those of %s in %s: they cannot be compared.", first->name,
            *first->unit ? first->unit : "no known unit", its->name, *its->unit ? its->unit : "no known unit");
    else if (first->maximises != its->maximises)
        say(&words, "One of %s and %s maximises and the other one minimises: they cannot be compared.", first->name,
            its->name);
    else
        say_cost(&words, c, run);
    say_worst(&words, c, run);
    say_deficit(&words, c, run);
    c->run[run].words = cb_compare_text(c, "%s", words.text);
}

void cb_compare_words(cobre_sddp_comparison *c) {
    for (size_t i = 1; i < c->runs; i++)
        if (c->run[0].simulated && c->run[i].simulated)
            say_simulated(c, i);
        else
            say_bound(c, i);
}

bool cb_compared_is_share(const cobre_sddp_compared *row) {
    return strcmp(row->kind, "deficit_probability") == 0 || strcmp(row->kind, "gap") == 0;
}

/* Kinds as planners call them; others by their names, with blanks. */
void cb_compared_words(const cobre_sddp_compared *row, char text[256]) {
    static const char *const known[][2] = {{"cost_cvar5", "cost in the worst 5 %"},
                                           {"unserved_energy", "energy not served"},
                                           {"deficit_probability", "probability of a deficit"},
                                           {"terminal", "what comes after the horizon"}};
    const char *kind = strcmp(row->level, "component") == 0 ? row->element : row->kind, *element = row->element;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(kind, known[i][0]) == 0)
            kind = known[i][1];
    if (strcmp(row->level, "component") == 0)
        snprintf(text, 256, "cost of %s", kind);
    else if (strcmp(row->level, "system") == 0 && strcmp(kind, "cost") == 0)
        snprintf(text, 256, "total cost");
    else
        snprintf(text, 256, "%s%s%s", kind, *kind && *element ? " " : "", element);
    size_t length = strcmp(row->level, "component") == 0 ? strlen(text) : strlen(kind);
    for (size_t i = 0; i < length && text[i]; i++)
        if (text[i] == '_')
            text[i] = ' ';
}
