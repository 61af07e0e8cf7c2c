/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: `cobre report`: one HTML page of what `cobre train` and `cobre simulate` left in a folder. */
#include "sddp/report/report.h"
#include "cli/plan/session.h"
#include "sddp/run/record.h"

static const char intro[] =
    "usage: cobre report DIR [--out FILE]\n"
    "\n"
    "Draws what `cobre train` and `cobre simulate` left in DIR as one HTML page that needs nothing else: convergence,\n"
    "time by phase and rank, costs, generation mix, storage and marginal cost.\n"
    "\n";

struct options {
    const char *out;
};

static const struct cb_option rows[] = {
    {.name = "out",
     .help = "where to write it (default: DIR/report.html)",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct options, out)}}},
    {.name = NULL},
};

const struct command_line cb_line_report = {.command = "report",
                                            .intro = intro,
                                            .end = "\nSee cobre-report(1).\n",
                                            .table = {{rows, 0}},
                                            .needs = "folder",
                                            .words = 1};

static int report(const char *folder, const char *path) {
    struct cb_draft draft;
    bool known = true;
    cobre_status status = cb_report_look(folder);
    if (!status)
        status = cb_record_check(folder, &known);
    if (!status)
        status = cb_draft_open(&draft, path);
    if (!status)
        status = cb_draft_close(&draft, cb_report_write(draft.file, folder));
    if (!status)
        printf("%s\n", path);
    const cobre_error *error = cobre_last_error();
    if (status)
        fprintf(stderr, "cobre report: %s\n", error->message);
    if (status && error->suggestion[0])
        fprintf(stderr, "cobre report:   %s\n", error->suggestion);
    if (!status && !known)
        fprintf(stderr,
                "cobre report: %s has no record of its training (" CB_FILE_RUN "): whether its files belong "
                "together cannot be checked\n",
                folder);
    return status ? CB_EXIT_FAILED : 0;
}

int cb_command_report(int argc, char **argv) {
    struct options options = {.out = NULL};
    struct cb_given given;
    int code = cb_line_read(&cb_line_report, argc, argv, &options, &given);
    if (code != CB_GO_ON)
        return code;
    const char *folder = given.words[0];
    char path[PATH_MAX];
    int length = options.out ? snprintf(path, sizeof path, "%s", options.out)
                             : snprintf(path, sizeof path, "%s/" CB_FILE_REPORT, folder);
    if (length >= (int)sizeof path)
        return cb_usage_error("report", "the path is too long");
    return report(folder, path);
}
