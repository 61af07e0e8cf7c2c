/* report.c: `cobre report`: one HTML page of what `cobre train` and `cobre simulate` left in a folder. */
#include "sddp/report/report.h"

#include "cli/plan/session.h"
#include "cobre/comm.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: cobre report DIR [--out FILE]\n"
    "\n"
    "Draws what `cobre train` and `cobre simulate` left in DIR as one HTML page that needs nothing else: convergence,\n"
    "time by phase and rank, costs, generation mix, storage and marginal cost.\n"
    "\n"
    "  --out FILE    where to write it (default: DIR/report.html)\n"
    "  -h, --help    show this\n"
    "\n"
    "See cobre-report(1).\n";

static void write_tiles(FILE *to, const struct fact_list *summary, const struct fact_list *simulation) {
    char value[64], note[96], text[32], half[32], grouped[64];
    bool maximises = strcmp(cb_fact(summary, "sense"), "max") == 0, simulated = simulation->count > 0;
    double bound = cb_fact_number(summary, "bound"), seconds = cb_fact_number(summary, "seconds");
    double mean = simulated ? cb_fact_number(simulation, "mean") : cb_fact_number(summary, "window_mean");
    double interval = simulated ? cb_fact_number(simulation, "half") : cb_fact_number(summary, "window_half");
    fputs("<dl class=\"tiles\">\n", to);
    cb_tile(to, maximises ? "Upper bound" : "Lower bound", cb_grouped_text(cb_short_text(bound, 6, text), grouped),
            "of the training");
    const char *by = simulated ? "simulation" : "last forward passes";
    snprintf(note, sizeof note, isfinite(interval) ? "± %s (95 %%), %s" : "%.0s%s", cb_short_text(interval, 4, half),
             by);
    cb_tile(to, maximises ? "Simulated value" : "Simulated cost",
            cb_grouped_text(cb_short_text(mean, 6, text), grouped), note);
    double gap = 100 * (maximises ? bound - mean : mean - bound) / fabs(mean);
    if (simulated ? strcmp(cb_fact(simulation, "gap"), "none") == 0 : !isfinite(interval))
        gap = NAN; /* a risk measure, or scenarios that are no sample */
    snprintf(value, sizeof value, "%.2f %%", fabs(gap) < 0.005 ? 0 : gap);
    cb_tile(to, "Gap", isfinite(gap) ? value : "-", "of the simulated value");
    cb_tile(to, "Iterations", cb_grouped_text(cb_fact(summary, "iterations"), grouped), cb_fact(summary, "stop"));
    cb_tile(to, "Cuts", cb_grouped_text(cb_fact(summary, "cuts"), grouped), "in the policy");
    snprintf(value, sizeof value, seconds < 1 ? "%.3f s" : seconds < 100 ? "%.1f s" : "%.0f s", seconds);
    snprintf(half, sizeof half, "%.0f", cb_fact_number(summary, "solves") / seconds);
    snprintf(note, sizeof note, "%s LPs a second", cb_grouped_text(half, grouped));
    cb_tile(to, "Training time", seconds < 600 ? value : cb_clock_text(seconds, text), note);
    fputs("</dl>\n", to);
}

static void write_header(FILE *to, const struct fact_list *summary, const struct fact_list *simulation) {
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
        fputs("<p class=\"lead\">", to);
        cb_html_write(to, lead);
        fputs("</p>\n", to);
        write_tiles(to, summary, simulation);
    }
    fputs("</header>\n<main>\n", to);
}

static void write_footer(FILE *to, const char *folder, const struct fact_list *summary, bool simulated) {
    if (!simulated)
        fputs("<section><h2>Simulation</h2><p>There is none here yet: <code>cobre simulate</code> makes one.</p>"
              "</section>\n",
              to);
    fprintf(to, "</main>\n<footer><p>Made by cobre %s from the tables in <code>", cobre_version());
    cb_html_write(to, folder);
    fputs("</code>", to);
    const char *path = cb_fact(summary, "case"), *slash = strrchr(path, '/');
    if (*path) { /* by its name: a page that is passed on should not tell where its maker's files are */
        fputs(", case <code>", to);
        cb_html_write(to, slash && slash[1] ? slash + 1 : path);
        fputs("</code>, seed ", to);
        cb_html_write(to, cb_fact(summary, "seed"));
    }
    fputs(".</p></footer>\n", to);
}

/* True when there was something to show. */
static bool write_page(FILE *to, const char *folder) {
    struct fact_list summary, simulation;
    cb_facts_read(&summary, folder, "summary.csv");
    cb_facts_read(&simulation, folder, "simulation.csv");
    cb_page_begin(to, *cb_fact(&summary, "name") ? cb_fact(&summary, "name") : folder);
    write_header(to, &summary, &simulation);
    bool trained = cb_report_training(to, folder, &summary);
    bool simulated = cb_report_simulation(to, folder, &summary, &simulation);
    write_footer(to, folder, &summary, simulated);
    cb_page_end(to);
    cb_facts_free(&summary);
    cb_facts_free(&simulation);
    return trained || simulated;
}

static int report(const char *folder, const char *path) {
    struct stat status;
    bool there = stat(folder, &status) == 0;
    if (!there || !S_ISDIR(status.st_mode)) {
        fprintf(stderr, "cobre report: %s: %s\n", folder, there ? "is not a folder of results" : strerror(errno));
        return CB_EXIT_FAILED;
    }
    struct draft draft;
    if (!cb_draft_open(&draft, path)) {
        fprintf(stderr, "cobre report: %s: %s\n", path, strerror(errno));
        return CB_EXIT_FAILED;
    }
    bool shown = write_page(draft.file, folder);
    bool good = cb_draft_close(&draft, shown);
    if (!shown)
        fprintf(stderr, "cobre report: %s: no training.csv, times.csv or tables of a simulation are there\n", folder);
    else if (!good)
        fprintf(stderr, "cobre report: %s: %s\n", path, strerror(errno));
    if (!good)
        return CB_EXIT_FAILED;
    printf("%s\n", path);
    return 0;
}

int cb_command_report(int argc, char **argv) {
    static const struct option long_options[] = {
        {.name = "out", .has_arg = required_argument, .val = 'o'},
        {.name = "help", .has_arg = no_argument, .val = 'h'},
        {.name = NULL},
    };
    const char *out = NULL;
    opterr = 0;
    int found;
    while ((found = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (found == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (found != 'o')
            return cb_option_error("report", found, argv);
        out = optarg;
    }
    if (optind == argc)
        return cb_usage_error("report", "which folder?");
    if (optind + 1 < argc)
        return cb_usage_error("report", "'%s' is one word too many", argv[optind + 1]);
    char path[PATH_MAX];
    int length =
        out ? snprintf(path, sizeof path, "%s", out) : snprintf(path, sizeof path, "%s/report.html", argv[optind]);
    if (length >= (int)sizeof path)
        return cb_usage_error("report", "the path is too long");
    return report(argv[optind], path);
}
