/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: `cobre report`: one HTML page about the run folders of `cobre train` and `cobre simulate`. */
#include "cli/plan/session.h"
#include "sddp/run/record.h"

static const char intro[] =
    "usage: cobre report DIR [DIR ...] [--out FILE]\n"
    "\n"
    "Tells what `cobre train` and `cobre simulate` left in DIR as one HTML page that needs nothing else: whether it\n"
    "converged, costs, deficits, marginal cost, storage, generation and time. Of 2 to 6 folders it makes one page "
    "that\n"
    "puts them side by side, with the differences from the first one.\n"
    "\n";

struct options {
    const char *out;
};

static const struct cb_option rows[] = {
    {.name = "out",
     .help = "where to write it (default: DIR/report.html; of several: compare.html here)",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct options, out)}}},
    {.name = NULL},
};

enum { MOST_FOLDERS = 6 };
const struct command_line cb_line_report = {.command = "report",
                                            .intro = intro,
                                            .end = "\nSee cobre-report(1).\n",
                                            .table = {{rows, 0}},
                                            .needs = "folder",
                                            .words = MOST_FOLDERS};

static void say_unchecked(const char *folder) {
    bool known;
    if (cb_record_known(folder, &known) == COBRE_OK && !known)
        fprintf(stderr,
                "cobre report: %s has no record of its training (" CB_FILE_RUN "): whether its files belong "
                "together cannot be checked\n",
                folder);
}

static int report(const char *const *folders, size_t count, const char *path) {
    if (cobre_sddp_report(folders, count, path) != COBRE_OK) {
        const cobre_error *error = cobre_last_error();
        fprintf(stderr, "cobre report: %s\n", error->message);
        if (error->suggestion[0])
            fprintf(stderr, "cobre report:   %s\n", error->suggestion);
        return CB_EXIT_FAILED;
    }
    printf("%s\n", path);
    for (size_t i = 0; i < count; i++)
        say_unchecked(folders[i]);
    return 0;
}

int cb_command_report(int argc, char **argv) {
    struct options options = {.out = NULL};
    struct cb_given given;
    int code = cb_line_read(&cb_line_report, argc, argv, &options, &given);
    if (code != CB_GO_ON)
        return code;
    const char *const *folders = (const char *const *)given.words;
    size_t count = 1;
    while (folders[count])
        count++;
    char path[PATH_MAX];
    int length = options.out ? snprintf(path, sizeof path, "%s", options.out)
                 : count > 1 ? snprintf(path, sizeof path, CB_FILE_COMPARE)
                             : snprintf(path, sizeof path, "%s/" CB_FILE_REPORT, folders[0]);
    if (length >= (int)sizeof path)
        return cb_usage_error("report", "the path is too long");
    return report(folders, count, path);
}
