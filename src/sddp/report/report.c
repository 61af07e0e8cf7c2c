/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: the page of a report: answers first, then pictures, and the origin of the results at the bottom. */
#include "sddp/draft.h"
#include "sddp/error.h"
#include "sddp/report/parts.h"
#include "sddp/run/compare.h"
#include "sddp/run/record.h"
#include "sddp/usual_floats.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char *bound_name(const struct run *run) {
    return run->averse ? "Bound" : run->maximises ? "Upper bound" : "Lower bound";
}

static void tile_of_bound(const struct report *report) {
    const struct run *run = report->run;
    char number[32], text[CB_WORDS];
    bool unproven = strcmp(cb_fact(&run->results->summary, "proven"), "no") == 0;
    cb_tile(report->to, bound_name(run),
            cb_grouped_text(cb_short_text(cb_fact_number(&run->results->summary, "bound"), 6, number), text),
            run->averse ? unproven ? "of the risk-averse cost, unproven" : "of the risk-averse cost"
            : unproven  ? "of the training, unproven"
                        : "of the training");
}

static void tile_of_mean(const struct report *report, double mean, double half) {
    const struct run *run = report->run;
    char number[32], text[CB_WORDS], note[2 * CB_WORDS];
    const struct cb_facts *simulation = &run->results->simulation;
    const char *by = !simulation->count                   ? "last forward passes"
                     : *cb_fact(simulation, "difference") ? "simulation of another case"
                                                          : "simulation";
    snprintf(note, sizeof note, isfinite(half) ? "± %s (95 %%), %s" : "%.0s%s",
             cb_grouped_text(cb_short_text(half, 4, number), text), by);
    cb_tile(report->to, run->maximises ? "Simulated value" : "Simulated cost",
            cb_grouped_text(cb_short_text(mean, 6, number), text), note);
}

static void tile_of_gap(const struct report *report, double mean, double half) {
    const struct run *run = report->run;
    const struct cb_facts *simulation = &run->results->simulation;
    char value[CB_WORDS];
    double bound = cb_fact_number(&run->results->summary, "bound");
    double gap = 100 * (run->maximises ? bound - mean : mean - bound) / fabs(mean);
    if (run->averse || (simulation->count ? strcmp(cb_fact(simulation, "gap"), "none") == 0 : !isfinite(half)))
        gap = NAN; /* a risk measure, scenarios that are no sample, or another case */
    snprintf(value, sizeof value, "%.2f %%", fabs(gap) < 0.005 ? 0 : gap);
    cb_tile(report->to, "Gap", isfinite(gap) ? value : "-",
            run->verdict.beyond && gap < 0 ? "the mean is beyond the bound, further than its interval"
            : isfinite(gap)                ? "of the simulated value"
                                           : "not known");
}

static void write_tiles(const struct report *report) {
    const struct cb_facts *summary = &report->run->results->summary, *simulation = &report->run->results->simulation;
    FILE *to = report->to;
    char text[CB_WORDS], note[2 * CB_WORDS], number[32];
    double seconds = cb_fact_number(summary, "seconds");
    double mean = cb_fact_number(simulation->count ? simulation : summary, simulation->count ? "mean" : "window_mean");
    double half = cb_fact_number(simulation->count ? simulation : summary, simulation->count ? "half" : "window_half");
    fputs("<dl class=\"tiles\">\n", to);
    tile_of_bound(report);
    tile_of_mean(report, mean, half);
    tile_of_gap(report, mean, half);
    cb_tile(to, "Iterations", cb_grouped_text(cb_fact(summary, "iterations"), text), cb_fact(summary, "stop"));
    cb_tile(to, "Cuts", cb_grouped_text(cb_fact(summary, "cuts"), text), "in the policy");
    snprintf(number, sizeof number, "%.0f", cb_fact_number(summary, "solves") / seconds);
    snprintf(note, sizeof note, "%s LPs a second", cb_grouped_text(number, text));
    snprintf(number, sizeof number, seconds < 1 ? "%.3f s" : seconds < 100 ? "%.1f s" : "%.0f s", seconds);
    cb_tile(to, "Training time", seconds < 600 ? number : cb_clock_text(seconds, text), note);
    fputs("</dl>\n", to);
}

static void write_lead(FILE *to, const char *lead) {
    fputs("<p class=\"lead\">", to);
    cb_html_write(to, lead);
    fputs("</p>\n", to);
}

/* "Jun 2027 to May 2029, 24 stages." */
static void write_horizon(const struct report *report) {
    const struct cb_series *costs = cb_next_series(report->run->results, NULL, "cost", "system");
    char lead[512], from[CB_WORDS], to[CB_WORDS];
    if (!costs)
        return;
    size_t steps = cb_steps_of(costs);
    const struct cb_point *first = costs->point, *last = &costs->point[steps - 1];
    if (*first->date)
        snprintf(lead, sizeof lead, "%s to %s, %zu stages.", cb_date_text(first->date, from),
                 cb_date_text(last->date, to), steps);
    else
        snprintf(lead, sizeof lead, "%zu stages.", steps);
    write_lead(report->to, lead);
}

static void write_origin(const struct report *report) {
    const struct cb_facts *summary = &report->run->results->summary, *simulation = &report->run->results->simulation;
    char lead[768], day[11];
    int length = 0;
    if (summary->count) {
        snprintf(day, sizeof day, "%s", cb_fact(summary, "date"));
        length = snprintf(lead, sizeof lead,
                          "Trained on %s with %.40s, %.20s forward pass%s an iteration, on %.20s rank%s "
                          "(%.20s).",
                          day, cb_fact(summary, "solver"), cb_fact(summary, "forward_passes"),
                          strcmp(cb_fact(summary, "forward_passes"), "1") == 0 ? "" : "es", cb_fact(summary, "ranks"),
                          strcmp(cb_fact(summary, "ranks"), "1") == 0 ? "" : "s", cb_fact(summary, "backend"));
    }
    if (simulation->count)
        length += snprintf(lead + length, sizeof lead - (size_t)length, " Simulated with %.20s trajectories, %.40s.",
                           cb_fact(simulation, "trajectories"), cb_fact(simulation, "sampling"));
    if (length)
        write_lead(report->to, lead);
}

/* A simulation may have a folder of its own. */
static const char *name_of(const struct run *run) {
    const char *name = cb_fact(&run->results->summary, "name");
    return *name ? name : cb_fact(&run->results->simulation, "name");
}

static const char *title_of(const struct report *report) {
    const char *name = name_of(report->run);
    return report->runs > 1 ? "Runs side by side" : *name ? name : "Results";
}

static void write_unchecked(const struct report *report) {
    for (size_t i = 0; i < report->runs; i++) {
        char text[PATH_MAX + 128];
        snprintf(text, sizeof text,
                 "%s has no record of its training: whether its files belong together cannot be checked.",
                 report->run[i].folder);
        if (report->run[i].unchecked)
            write_lead(report->to, text);
    }
}

static void write_header(const struct report *report) {
    FILE *to = report->to;
    fputs("<header>\n<p class=\"eyebrow\">cobre report</p>\n<h1>", to);
    cb_html_write(to, title_of(report));
    fputs("</h1>\n", to);
    if (report->runs == 1)
        write_horizon(report);
    write_unchecked(report);
    fputs("</header>\n<main>\n", to);
}

static void write_footer(const struct report *report) {
    FILE *to = report->to;
    fprintf(to, "</main>\n<footer><p>Made by cobre %s from the tables in ", cobre_version());
    for (size_t i = 0; i < report->runs; i++) {
        const struct run *run = &report->run[i];
        const char *path = cb_fact(&run->results->summary, "case"), *slash = strrchr(path, '/');
        fputs(i ? "; <code>" : "<code>", to);
        cb_html_write(to, run->folder);
        fputs("</code>", to);
        if (!*path)
            continue;
        fputs(", case <code>",
              to); /* by its name: a page that is passed on should not tell where its maker's files are */
        cb_html_write(to, slash && slash[1] ? slash + 1 : path);
        fputs("</code>, seed ", to);
        cb_html_write(to, cb_fact(&run->results->summary, "seed"));
    }
    fputs(".</p></footer>\n", to);
}

/* Is it a problem whose figures are known by name? */
static bool has_names(const struct cb_results *results) {
    return cb_next_series(results, NULL, "marginal_cost", "element") ||
           cb_next_series(results, NULL, "storage", "element");
}

/* False: there is nothing to show. */
static bool write_training(struct report *report) {
    const struct run *run = report->run;
    if (!run->results->iterations && !run->results->costs)
        return false;
    cb_section_begin(report->to, run->results->costs ? "Convergence and cost" : "Convergence", NULL, NULL, 0);
    cb_report_convergence(report);
    cb_report_costs(report);
    cb_section_end(report->to);
    return true;
}

static bool write_details(struct report *report) {
    fputs("<section>\n<h2>Training</h2>\n", report->to);
    write_origin(report);
    if (report->run->results->summary.count)
        write_tiles(report);
    fputs("<div class=\"cards\">\n", report->to);
    bool any = cb_report_times(report);
    cb_section_end(report->to);
    return any;
}

static bool write_run(struct report *report) {
    const struct cb_results *results = report->run->results;
    cb_report_answers(report);
    bool any = write_training(report);
    any |= has_names(results) ? cb_report_system(report) : cb_report_unnamed(report);
    any |= write_details(report);
    if (!results->simulation.count)
        fputs("<section><h2>Simulation</h2><p>There is none here yet: <code>cobre simulate</code> makes one.</p>"
              "</section>\n",
              report->to);
    return any;
}

static cobre_status write_page(struct report *report) {
    const char *name = name_of(report->run);
    bool any = true;
    cb_page_begin(report->to, report->runs > 1 ? "Runs side by side" : *name ? name : report->run->folder);
    write_header(report);
    if (report->runs > 1)
        cb_report_several(report);
    else
        any = write_run(report);
    write_footer(report);
    cb_page_end(report->to);
    if (report->no_memory)
        return cb_no_memory("a report", 0);
    if (any)
        return COBRE_OK;
    return cb_fail(COBRE_FILE_FAILED, "give a folder of results; that of the case CASE is CASE-out by default",
                   "%s: no " CB_FILE_TRAINING ", " CB_FILE_TIMES " or tables of a simulation are there",
                   report->run->folder);
}

static cobre_status look(const char *folder) {
    struct stat status;
    bool there = stat(folder, &status) == 0;
    if (there && S_ISDIR(status.st_mode))
        return COBRE_OK;
    return cb_fail(COBRE_FILE_FAILED, NULL, "%s: %s", folder, there ? "is not a folder of results" : strerror(errno));
}

static cobre_status look_at_run(struct run *run, const char *folder, const struct cb_results *results) {
    bool known = false;
    CB_TRY(cb_record_known(folder, &known));
    run->folder = run->name = folder;
    run->results = results;
    run->unchecked = !known;
    run->maximises = strcmp(cb_fact(&results->summary, "sense"), "max") == 0 ||
                     strcmp(cb_fact(&results->simulation, "sense"), "max") == 0;
    run->averse = strcmp(cb_fact(&results->summary, "averse"), "yes") == 0;
    cb_results_judge(results, &run->verdict);
    return COBRE_OK;
}

/* A run without a simulation or a training has nothing to compare. */
static cobre_status check_run(const char *folder) {
    struct cb_results facts;
    CB_TRY(look(folder));
    cobre_status status = cb_results_facts(&facts, folder);
    bool any = facts.summary.count || facts.simulation.count;
    cb_results_free(&facts);
    if (status || any)
        return status;
    return cb_fail(COBRE_FILE_FAILED, NULL, "%s: no " CB_FILE_SUMMARY " and no " CB_FILE_SIMULATION " are there",
                   folder);
}

static cobre_status read_one(struct report *report, const char *folder) {
    CB_TRY(look(folder));
    CB_TRY(cb_record_check(folder));
    CB_TRY(cb_results_read(&report->own, folder));
    return look_at_run(report->run, folder, &report->own);
}

static cobre_status read_several(struct report *report, const char *const *folders, size_t count) {
    for (size_t i = 0; i < count; i++)
        CB_TRY(check_run(folders[i]));
    CB_TRY(cobre_sddp_compare(folders, count, NULL, &report->comparison));
    for (size_t i = 0; i < count; i++) {
        const struct cb_run *its = &report->comparison->run[i];
        CB_TRY(look_at_run(&report->run[i], folders[i], &its->results));
        report->run[i].name = its->name;
    }
    return COBRE_OK;
}

static void close_report(struct report *report) {
    cb_results_free(&report->own);
    cobre_sddp_comparison_free(&report->comparison);
    free(report);
}

/* Reads all that the page is made of. */
static cobre_status open_report(const char *const *folders, size_t count, struct report **result) {
    struct report *report = calloc(1, sizeof *report);
    if (!report)
        return cb_no_memory("a report", sizeof *report);
    cobre_status status = count > 1 ? read_several(report, folders, count) : read_one(report, folders[0]);
    report->runs = count;
    *result = report;
    if (status)
        close_report(report);
    return status;
}

cobre_status cb_report_write(const char *const *folders, size_t count, FILE *to) {
    struct report *report;
    CB_TRY(open_report(folders, count, &report));
    report->to = to;
    cobre_status status = write_page(report);
    close_report(report);
    return status;
}

static cobre_status write_file(struct report *report, const char *path) {
    struct cb_draft draft;
    CB_TRY(cb_draft_open(&draft, path));
    report->to = draft.file;
    return cb_draft_close(&draft, write_page(report));
}

cobre_status cobre_sddp_report(const char *const *folders, size_t count, const char *path) {
    CB_USUAL_FLOATS();
    struct report *report;
    if (!folders)
        return cb_refuse_null("folders");
    if (!path)
        return cb_refuse_null("path");
    if (count < 1 || count > CB_MOST_RUNS)
        return cb_refuse("count", CB_TEXT("pass 1 to %d folders", CB_MOST_RUNS), "a report of %zu folders", count);
    for (size_t i = 0; i < count; i++)
        if (!folders[i])
            return cb_refuse_null("folders");
    CB_TRY(open_report(folders, count, &report));
    cobre_status status = write_file(report, path);
    close_report(report);
    return status;
}
