/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: the page: figures at the top, the sections, where it comes from at the bottom. */
#include "sddp/report/report.h"

#include "sddp/error.h"
#include "sddp/report/parts.h"
#include "sddp/run/gap.h"
#include "sddp/run/record.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* 71,603.4 */
static const char *grouped_text(const char *number, char text[64]) {
    size_t digits = strspn(number, "0123456789"), used = 0;
    bool plain = digits > 3 && !strpbrk(number, "eE");
    for (size_t i = 0; number[i] && used < 60; i++) {
        if (plain && i && i < digits && (digits - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = number[i];
    }
    text[used] = '\0';
    return text;
}

static bool has_odd_gap(const struct report *report, double bound) {
    double count = cb_fact_number(&report->results.simulation, "trajectories");
    return cb_gap_is_odd(&(cb_gap){.maximises = report->maximises,
                                   .bound = bound,
                                   .mean = cb_fact_number(&report->results.simulation, "mean"),
                                   .half = cb_fact_number(&report->results.simulation, "half"),
                                   .count = count > 0 && count < 1e15 ? (uint64_t)count : 0});
}

static void write_tiles(const struct report *report) {
    FILE *to = report->to;
    const struct cb_facts *summary = &report->results.summary, *simulation = &report->results.simulation;
    char value[64], note[128], text[32], half[32], grouped[64];
    bool maximises = report->maximises, simulated = simulation->count > 0;
    double bound = cb_fact_number(summary, "bound"), seconds = cb_fact_number(summary, "seconds");
    double mean = simulated ? cb_fact_number(simulation, "mean") : cb_fact_number(summary, "window_mean");
    double interval = simulated ? cb_fact_number(simulation, "half") : cb_fact_number(summary, "window_half");
    fputs("<dl class=\"tiles\">\n", to);
    cb_tile(to, maximises ? "Upper bound" : "Lower bound", grouped_text(cb_short_text(bound, 6, text), grouped),
            strcmp(cb_fact(summary, "proven"), "no") == 0 ? "of the training, unproven" : "of the training");
    const char *by = !simulated                           ? "last forward passes"
                     : *cb_fact(simulation, "difference") ? "simulation of another case"
                                                          : "simulation";
    snprintf(note, sizeof note, isfinite(interval) ? "± %s (95 %%), %s" : "%.0s%s",
             grouped_text(cb_short_text(interval, 4, half), grouped), by);
    cb_tile(to, maximises ? "Simulated value" : "Simulated cost", grouped_text(cb_short_text(mean, 6, text), grouped),
            note);
    double gap = 100 * (maximises ? bound - mean : mean - bound) / fabs(mean);
    if (simulated ? strcmp(cb_fact(simulation, "gap"), "none") == 0 : !isfinite(interval))
        gap = NAN; /* a risk measure, scenarios that are no sample, or another case */
    snprintf(value, sizeof value, "%.2f %%", fabs(gap) < 0.005 ? 0 : gap);
    bool odd = simulated && isfinite(gap) && has_odd_gap(report, bound);
    cb_tile(to, "Gap", isfinite(gap) ? value : "-",
            odd ? "the mean is beyond the bound, further than its interval" : "of the simulated value");
    cb_tile(to, "Iterations", grouped_text(cb_fact(summary, "iterations"), grouped), cb_fact(summary, "stop"));
    cb_tile(to, "Cuts", grouped_text(cb_fact(summary, "cuts"), grouped), "in the policy");
    snprintf(value, sizeof value, seconds < 1 ? "%.3f s" : seconds < 100 ? "%.1f s" : "%.0f s", seconds);
    snprintf(half, sizeof half, "%.0f", cb_fact_number(summary, "solves") / seconds);
    snprintf(note, sizeof note, "%s LPs a second", grouped_text(half, grouped));
    cb_tile(to, "Training time", seconds < 600 ? value : cb_clock_text(seconds, text), note);
    fputs("</dl>\n", to);
}

static void write_lead(FILE *to, const char *lead) {
    fputs("<p class=\"lead\">", to);
    cb_html_write(to, lead);
    fputs("</p>\n", to);
}

static void write_header(const struct report *report) {
    FILE *to = report->to;
    const struct cb_facts *summary = &report->results.summary;
    char unfinished[CB_RECORD_SENTENCE];
    cb_record_unfinished(report->folder, unfinished);
    fputs("<header>\n<p class=\"eyebrow\">cobre report</p>\n<h1>", to);
    cb_html_write(to, *cb_fact(summary, "name") ? cb_fact(summary, "name") : "Results");
    fputs("</h1>\n", to);
    if (summary->count) {
        char lead[512], day[11];
        snprintf(day, sizeof day, "%s", cb_fact(summary, "date"));
        snprintf(lead, sizeof lead, "Trained on %s with %s, %s forward pass%s an iteration, on %s rank%s (%s).", day,
                 cb_fact(summary, "solver"), cb_fact(summary, "forward_passes"),
                 strcmp(cb_fact(summary, "forward_passes"), "1") == 0 ? "" : "es", cb_fact(summary, "ranks"),
                 strcmp(cb_fact(summary, "ranks"), "1") == 0 ? "" : "s", cb_fact(summary, "backend"));
        write_lead(to, lead);
        write_tiles(report);
    }
    if (*unfinished)
        write_lead(to, unfinished);
    fputs("</header>\n<main>\n", to);
}

static void write_footer(const struct report *report, bool simulated) {
    FILE *to = report->to;
    if (!simulated)
        fputs("<section><h2>Simulation</h2><p>There is none here yet: <code>cobre simulate</code> makes one.</p>"
              "</section>\n",
              to);
    fprintf(to, "</main>\n<footer><p>Made by cobre %s from the tables in <code>", cobre_version());
    cb_html_write(to, report->folder);
    fputs("</code>", to);
    const char *path = cb_fact(&report->results.summary, "case"), *slash = strrchr(path, '/');
    if (*path) { /* by its name: a page that is passed on should not tell where its maker's files are */
        fputs(", case <code>", to);
        cb_html_write(to, slash && slash[1] ? slash + 1 : path);
        fputs("</code>, seed ", to);
        cb_html_write(to, cb_fact(&report->results.summary, "seed"));
    }
    fputs(".</p></footer>\n", to);
}

/* False: there is nothing to show. */
static bool write_page(struct report *report) {
    const char *name = cb_fact(&report->results.summary, "name");
    cb_page_begin(report->to, *name ? name : report->folder);
    write_header(report);
    bool trained = cb_report_training(report), simulated = cb_report_simulation(report);
    write_footer(report, simulated);
    cb_page_end(report->to);
    return trained || simulated;
}

cobre_status cb_report_look(const char *folder) {
    struct stat status;
    bool there = stat(folder, &status) == 0;
    if (there && S_ISDIR(status.st_mode))
        return COBRE_OK;
    return cb_fail(COBRE_FILE_FAILED, NULL, "%s: %s", folder, there ? "is not a folder of results" : strerror(errno));
}

cobre_status cb_report_write(FILE *to, const char *folder) {
    struct report report = {.to = to, .folder = folder};
    CB_TRY(cb_results_read(&report.results, folder));
    report.maximises = strcmp(cb_fact(&report.results.summary, "sense"), "max") == 0;
    bool any = write_page(&report);
    cb_results_free(&report.results);
    if (report.no_memory)
        return cb_fail(COBRE_ALLOCATION_FAILED, NULL, "%s: no memory for its tables", folder);
    if (!any)
        return cb_fail(COBRE_FILE_FAILED, NULL,
                       "%s: no " CB_FILE_TRAINING ", " CB_FILE_TIMES " or tables of a simulation are there", folder);
    return COBRE_OK;
}
