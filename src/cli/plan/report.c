/* report.c: `cobre report`: one HTML page of what `cobre train` and `cobre simulate` left in a folder. */
#include "sddp/report/report.h"
#include "cli/plan/session.h"
#include "sddp/run/table.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

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

static int report(const char *folder, const char *path) {
    struct draft draft;
    if (!cb_draft_open(&draft, path)) {
        fprintf(stderr, "cobre report: %s: %s\n", path, strerror(errno));
        return CB_EXIT_FAILED;
    }
    bool shown = cb_report_write(draft.file, folder) == COBRE_SDDP_OK;
    bool good = cb_draft_close(&draft, shown);
    if (!shown)
        fprintf(stderr, "cobre report: %s\n", cobre_sddp_last_error()->message);
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
