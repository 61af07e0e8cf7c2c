/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c: the answers at the top of a report, each with a figure and a sentence; and tables by component and by
 * subsystem. */
#include "sddp/report/parts.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { SENTENCE = 1024 };

/* Adds to a text; what does not fit is left out. */
static void add(char text[SENTENCE], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char text[SENTENCE], const char *format, ...) {
    va_list arguments;
    size_t used = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + used, SENTENCE - used, format, arguments);
    va_end(arguments);
}

void cb_answer_verdict(FILE *to, const char *question, const struct cb_run_verdict *verdict, const char *class) {
    static const char *const colours[] = {"good", "bad", "open", "open"};
    char word[32], classes[64];
    snprintf(word, sizeof word, "%s", cb_convergence_name(verdict->word));
    word[0] = (char)(word[0] - 'a' + 'A');
    snprintf(classes, sizeof classes, "%s %s", colours[verdict->word], class);
    cb_answer(to, question, classes, word, verdict->sentence);
}

static void answer_cost(struct report *report) {
    const struct run *run = report->run;
    const struct cb_facts *facts = &run->results->simulation;
    double half = cb_fact_number(facts, "half"), mean = cb_fact_number(facts, "mean");
    const char *unit = cb_fact(facts, "unit");
    char figure[CB_WORDS], amount[CB_WORDS], text[SENTENCE] = "";
    struct tail tail;
    if (!isfinite(mean))
        return;
    bool one = strcmp(cb_fact(facts, "trajectories"), "1") == 0;
    add(text, "The mean of %s trajector%s", cb_grouped_text(cb_fact(facts, "trajectories"), amount), one ? "y" : "ies");
    if (isfinite(half) && half > 0)
        add(text, ", ± %s (95 %%)", cb_amount_text(half, amount));
    if (!one && cb_tail_of(report, run, &tail))
        add(text, "; the %s 5 %% %s %s on average", run->maximises ? "lowest" : "dearest",
            run->maximises ? "have" : "cost", cb_amount_text(tail.mean, amount));
    add(text, ".");
    if (run->averse && isfinite(cb_fact_number(facts, "bound")))
        add(text, " The bound, %s, is one of the risk-averse cost.",
            cb_amount_text(cb_fact_number(facts, "bound"), amount));
    cb_answer(report->to, run->maximises ? "What is it worth?" : "What does it cost?", "",
              cb_quantity_text(mean, unit, figure), text);
}

static const struct cb_point *most_often(const struct cb_series *series) {
    const struct cb_point *worst = series->point;
    for (size_t i = 1; i < cb_steps_of(series); i++)
        if (series->point[i].positive > worst->positive)
            worst = &series->point[i];
    return worst;
}

static void answer_deficit(const struct report *report) {
    const struct cb_series *energy = cb_next_series(report->run->results, NULL, "unserved_energy", "system");
    char figure[CB_WORDS], a[CB_WORDS], b[CB_WORDS], text[SENTENCE] = "";
    if (!energy)
        return;
    const struct cb_point *total = &energy->total, *worst = most_often(energy);
    if (total->positive == 0) {
        cb_answer(report->to, "Is there a deficit?", "good", "Never", "There is no deficit in any trajectory.");
        return;
    }
    snprintf(figure, sizeof figure, "In %s", cb_percent_text(total->positive, a));
    add(text, "So many of the trajectories have a deficit, most often in %s (%s of them).", cb_step_text(worst, a),
        cb_percent_text(worst->positive, b));
    add(text, " Over the horizon %s are not served on average;", cb_quantity_text(total->mean, energy->unit, a));
    double most = total->percentile[CB_PERCENTILES - 1];
    if (most > 0)
        add(text, " 95 %% of the trajectories lack less than %s,", cb_quantity_text(most, energy->unit, a));
    else
        add(text, " 95 %% of the trajectories lack nothing,");
    add(text, " and the worst %s.", cb_quantity_text(total->maximum, energy->unit, a));
    cb_answer(report->to, "Is there a deficit?", "", figure, text);
}

/* Over all subsystems: the lowest and highest mean over the stages, and the highest mean of a stage. */
struct prices {
    const struct cb_series *lowest, *highest, *peak;
    const struct cb_point *peak_at;
};

static struct prices find_prices(const struct cb_results *results) {
    struct prices prices = {.lowest = NULL};
    const struct cb_series *series = NULL;
    while ((series = cb_next_series(results, series, "marginal_cost", "element"))) {
        double mean = cb_mean_over_steps(series);
        if (!prices.lowest || mean < cb_mean_over_steps(prices.lowest))
            prices.lowest = series;
        if (!prices.highest || mean > cb_mean_over_steps(prices.highest))
            prices.highest = series;
        for (size_t i = 0; i < cb_steps_of(series); i++)
            if (!prices.peak_at || series->point[i].mean > prices.peak_at->mean) {
                prices.peak = series;
                prices.peak_at = &series->point[i];
            }
    }
    return prices;
}

static void answer_price(const struct report *report) {
    struct prices prices = find_prices(report->run->results);
    char figure[CB_WORDS], a[CB_WORDS], b[CB_WORDS], text[SENTENCE] = "";
    if (!prices.lowest)
        return;
    double low = cb_mean_over_steps(prices.lowest), high = cb_mean_over_steps(prices.highest);
    const char *unit = prices.lowest->unit;
    if (high - low < 0.005 * fabs(high)) {
        cb_quantity_text(high, unit, figure);
        add(text, "The mean over the horizon%s.",
            prices.lowest == prices.highest ? "" : ", the same in all subsystems");
    } else {
        snprintf(figure, sizeof figure, "%.30s to %.80s", cb_amount_text(low, a), cb_quantity_text(high, unit, b));
        add(text, "Means over the horizon, in %s and in %s.", prices.lowest->element, prices.highest->element);
    }
    add(text, " It is highest in %s%s%s:", cb_step_text(prices.peak_at, a),
        prices.lowest == prices.highest ? "" : ", in ", prices.lowest == prices.highest ? "" : prices.peak->element);
    add(text, " %s on average,", cb_amount_text(prices.peak_at->mean, a));
    add(text, " and less than %s in 95 %% of the trajectories.",
        cb_amount_text(prices.peak_at->percentile[CB_PERCENTILES - 1], a));
    cb_answer(report->to, "What is the marginal cost?", "", figure, text);
}

static void answer_storage(const struct report *report) {
    const struct cb_series *stored = cb_next_series(report->run->results, NULL, "stored_energy", "system");
    const struct cb_series *most = cb_next_series(report->run->results, NULL, "stored_energy_capacity", "system");
    char figure[CB_WORDS], a[CB_WORDS], b[CB_WORDS], text[SENTENCE] = "";
    size_t steps = stored ? cb_steps_of(stored) : 0, low = 0;
    if (!most || !steps || most->points < steps || !(most->point[steps - 1].mean > 0))
        return;
    for (size_t i = 1; i < steps; i++)
        if (stored->point[i].percentile[0] / most->point[i].mean <
            stored->point[low].percentile[0] / most->point[low].mean)
            low = i;
    const struct cb_point *last = &stored->point[steps - 1];
    snprintf(figure, sizeof figure, "%s full", cb_percent_text(last->mean / most->point[steps - 1].mean, a));
    add(text, "At the end the reservoirs hold %s on average, of %s.", cb_amount_text(last->mean, a),
        cb_quantity_text(most->point[steps - 1].mean, stored->unit, b));
    double share = stored->point[low].percentile[0] / most->point[low].mean;
    add(text, " In %s one trajectory in 20 has ", cb_step_text(&stored->point[low], a));
    if (share < 1e-3)
        add(text, "them empty.");
    else
        add(text, "less than %s of their capacity.", cb_percent_text(share, b));
    cb_answer(report->to, "How full are the reservoirs?", "", figure, text);
}

/* The series of a kind with the largest mean; sum: of all means. */
static const struct cb_series *find_largest(const struct cb_results *results, const char *kind, double *sum) {
    const struct cb_series *series = NULL, *best = NULL;
    *sum = 0;
    while ((series = cb_next_series(results, series, kind, "element"))) {
        *sum += cb_mean_over_steps(series);
        if (!best || cb_mean_over_steps(series) > cb_mean_over_steps(best))
            best = series;
    }
    return best;
}

static void answer_spill(const struct report *report) {
    double sum;
    const struct cb_series *most = find_largest(report->run->results, "spill", &sum);
    char figure[CB_WORDS], a[CB_WORDS], text[SENTENCE] = "";
    if (!most)
        return;
    add(text, "The mean over the horizon, of all reservoirs together; %s spills most: %s.", most->element,
        cb_quantity_text(cb_mean_over_steps(most), most->unit, a));
    bool none = sum < 1e-9;
    cb_answer(report->to, "Is water spilled?", "", none ? "Never" : cb_quantity_text(sum, most->unit, figure),
              none ? "No trajectory spills water." : text);
}

static void answer_exchange(const struct report *report) {
    double sum, highest = 0;
    const struct cb_series *most = find_largest(report->run->results, "exchange", &sum);
    char figure[CB_WORDS], a[CB_WORDS], text[SENTENCE] = "";
    if (!most || sum < 1e-9)
        return;
    for (size_t i = 0; i < cb_steps_of(most); i++)
        highest = fmax(highest, most->point[i].percentile[CB_PERCENTILES - 1]);
    add(text, "This exchange is used most: %s on average over the horizon,",
        cb_quantity_text(cb_mean_over_steps(most), most->unit, a));
    add(text, " and at its busiest less than %s in 95 %% of the trajectories.",
        cb_quantity_text(highest, most->unit, a));
    cb_answer(report->to, "Where does power flow?", "", cb_element_text(most->element, figure), text);
}

enum { MOST_COMPONENTS = 16 };

/* Those that are not nearly 0, the largest first. */
static size_t find_components(const struct cb_results *results, const struct cb_series *chosen[MOST_COMPONENTS]) {
    const struct cb_series *series = NULL, *all = cb_next_series(results, NULL, "cost", "system");
    double least = all ? 1e-6 * fabs(all->total.mean) : 0;
    size_t count = 0;
    while (count < MOST_COMPONENTS && (series = cb_next_series(results, series, "cost", "component"))) {
        if (series->total.count == 0 || fabs(series->total.mean) <= least)
            continue;
        size_t at = count++;
        for (; at > 0 && fabs(chosen[at - 1]->total.mean) < fabs(series->total.mean); at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = series;
    }
    return count;
}

static unsigned colour_of(const char *kind, size_t at) {
    static const unsigned others[] = {1, 3, 5, 6, 2, 8};
    return strcmp(kind, "deficit") == 0              ? 7
           : strcmp(kind, "thermal_generation") == 0 ? 4
                                                     : others[at % (sizeof others / sizeof *others)];
}

static void draw_shares(struct report *report, const struct cb_series *const *component, size_t count) {
    double sum = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        sum += fabs(component[i]->total.mean);
    fprintf(report->to, "<svg class=\"shares\" viewBox=\"0 0 520 22\" preserveAspectRatio=\"none\" role=\"img\" "
                        "aria-label=\"Shares of the cost\">\n");
    for (size_t i = 0; i < count; i++) {
        double width = 520 * fabs(component[i]->total.mean) / sum;
        fprintf(report->to, "<rect class=\"bar s%u\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"22\"/>\n",
                colour_of(component[i]->element, i), at, width);
        at += width;
    }
    fputs("</svg>\n", report->to);
}

static void write_component(struct report *report, const struct cb_series *series, unsigned colour, double all,
                            double scale) {
    char text[CB_WORDS], name[CB_WORDS];
    const struct cb_point *total = &series->total;
    fprintf(report->to, "<tr><th scope=\"row\" class=\"keyed\"><span class=\"key bar s%u\"></span>", colour);
    cb_html_write(report->to, cb_kind_text(series->element, name));
    fputs("</th>", report->to);
    cb_cell(report->to, cb_amount_text(total->mean / scale, text));
    cb_cell(report->to, cb_percent_text(all != 0 ? total->mean / all : 0, text));
    cb_cell(report->to, cb_amount_text(total->percentile[CB_PERCENTILES - 1] / scale, text));
    cb_row_end(report->to);
}

static bool has_components(const struct cb_results *results) {
    const struct cb_series *component[MOST_COMPONENTS];
    size_t count = find_components(results, component);
    return count > 1 || (count == 1 && strcmp(component[0]->element, "other") != 0);
}

static void table_of_costs(struct report *report) {
    const struct cb_results *results = report->run->results;
    const struct cb_series *component[MOST_COMPONENTS], *all = cb_next_series(results, NULL, "cost", "system");
    size_t count = find_components(results, component);
    const char *scale_name;
    char text[SENTENCE] = "";
    if (!all || !has_components(results))
        return;
    double scale = cb_amount_scale(all->total.mean, &scale_name);
    add(text, "Over the horizon, discounted, in %s%s: the mean and the 95th percentile.", scale_name,
        *all->unit ? all->unit : "units of the objective");
    cb_card_begin(report->to, "Cost by component", text);
    draw_shares(report, component, count);
    cb_table_begin(report->to, "Cost by component", (const char *[]){"", "Mean", "Share", "95 %", NULL});
    for (size_t i = 0; i < count; i++)
        write_component(report, component[i], colour_of(component[i]->element, i), all->total.mean, scale);
    cb_table_end(report->to);
    cb_card_end(report->to);
}

static void write_price(struct report *report, const struct cb_series *series) {
    double lowest = INFINITY, highest = -INFINITY, peak = -INFINITY;
    char text[CB_WORDS];
    for (size_t i = 0; i < cb_steps_of(series); i++) {
        lowest = fmin(lowest, series->point[i].mean);
        highest = fmax(highest, series->point[i].mean);
        peak = fmax(peak, series->point[i].percentile[CB_PERCENTILES - 1]);
    }
    cb_row_begin(report->to, series->element);
    cb_cell(report->to, cb_amount_text(cb_mean_over_steps(series), text));
    cb_cell(report->to, cb_amount_text(lowest, text));
    cb_cell(report->to, cb_amount_text(highest, text));
    cb_cell(report->to, cb_amount_text(peak, text));
    cb_row_end(report->to);
}

enum { MOST_ROWS = 12 };

static void table_of_prices(struct report *report) {
    const struct cb_results *results = report->run->results;
    const struct cb_series *series = cb_next_series(results, NULL, "marginal_cost", "element");
    char text[SENTENCE] = "";
    if (!series)
        return;
    add(text,
        "In %s: the mean over the horizon, the means of the cheapest and of the most expensive step, and the highest "
        "95th percentile of a step.",
        series->unit);
    cb_card_begin(report->to, "Marginal cost by subsystem", text);
    cb_table_begin(report->to, "Marginal cost by subsystem", (const char *[]){"", "Mean", "From", "To", "95 %", NULL});
    for (size_t rows = 0; series && rows < MOST_ROWS; rows++) {
        write_price(report, series);
        series = cb_next_series(results, series, "marginal_cost", "element");
    }
    cb_table_end(report->to);
    cb_card_end(report->to);
}

static void write_deficit(struct report *report, const struct cb_series *series, double scale) {
    char text[CB_WORDS];
    cb_row_begin(report->to, series->element);
    cb_cell(report->to, cb_percent_text(series->total.positive, text));
    cb_cell(report->to, cb_amount_text(series->total.mean / scale, text));
    cb_cell(report->to, cb_amount_text(series->total.percentile[CB_PERCENTILES - 1] / scale, text));
    cb_cell(report->to, cb_amount_text(series->total.maximum / scale, text));
    cb_row_end(report->to);
}

static void table_of_deficits(struct report *report) {
    const struct cb_results *results = report->run->results;
    const struct cb_series *all = cb_next_series(results, NULL, "unserved_energy", "system");
    const struct cb_series *series = cb_next_series(results, NULL, "unserved_energy", "subsystem");
    const char *scale_name;
    char text[SENTENCE] = "";
    if (!all || all->total.positive == 0)
        return;
    double scale = cb_amount_scale(all->total.mean, &scale_name);
    add(text, "The share of trajectories with a deficit, and the energy not served over the horizon, in %s%s.",
        scale_name, all->unit);
    cb_card_begin(report->to, "Energy not served by subsystem", text);
    cb_table_begin(report->to, "Energy not served by subsystem",
                   (const char *[]){"", "Deficit in", "Mean", "95 %", "Most", NULL});
    for (size_t rows = 0; series && rows < MOST_ROWS; rows++) {
        write_deficit(report, series, scale);
        series = cb_next_series(results, series, "unserved_energy", "subsystem");
    }
    cb_table_end(report->to);
    cb_card_end(report->to);
}

void cb_report_answers(struct report *report) {
    const struct cb_results *results = report->run->results;
    fputs("<section class=\"answers\" aria-label=\"Answers\">\n", report->to);
    cb_answer_verdict(report->to, "Did it converge?", &report->run->verdict, "main");
    answer_cost(report);
    answer_deficit(report);
    answer_price(report);
    answer_storage(report);
    answer_spill(report);
    answer_exchange(report);
    fputs("</section>\n", report->to);
    if (!has_components(results) && !cb_next_series(results, NULL, "marginal_cost", "element"))
        return;
    fputs("<section class=\"tables\" aria-label=\"Tables\"><div class=\"cards\">\n", report->to);
    table_of_costs(report);
    table_of_prices(report);
    table_of_deficits(report);
    fputs("</div></section>\n", report->to);
}
