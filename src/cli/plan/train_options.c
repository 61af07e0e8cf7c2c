/* SPDX-License-Identifier: Apache-2.0 */
/* train_options.c: the command line of `cobre train`. */
#include "cli/plan/train.h"

#include "sddp/run/files.h"

static const char intro[] = "usage: cobre train CASE [-n N] [option ...]\n"
                            "\n"
                            "Trains a policy for a case: a StochOptFormat file (*.sof.json, *.sof.json.gz) or the "
                            "folder of a hydrothermal case.\n"
                            "\n";

static const char end[] =
    "\n"
    "SIGINT, SIGTERM and SIGUSR1, to any rank, end it after the iteration, or after --grace without it; what is\n"
    "finished is saved. A second signal saves it at once. See cobre-train(1).\n";

static const struct cb_option own_rows[] = {
    {.name = "out",
     .help = "where results go (default: NAME-out, by the name of the case)",
     .value = {{.name = "DIR",
                .kind = CB_VALUE_TEXT,
                .field = CB_FIELD(struct train, out),
                .missing = "the name of a directory"}}},
    {.name = "force", .help = "replace the run that is in this directory", .given = CB_FIELD(struct train, run.force)},
    {.name = "quiet", .help = "print errors and warnings only", .given = CB_FIELD(struct train, print.quiet)},
    {.name = "watch",
     .help = "show the dashboard of `cobre watch` at once; quitting it leaves the training running",
     .given = CB_FIELD(struct train, watch),
     .again = true},
    {.name = "log",
     .help = "append what it prints to this file, in plain lines, whatever --quiet and --json say",
     .value = {{.name = "FILE",
                .kind = CB_VALUE_TEXT,
                .field = CB_FIELD(struct train, log),
                .missing = "the name of a file"}},
     .again = true},
    {.name = "require",
     .help = "exit with 4 unless a rule for convergence ended the training: --stall, --gap or --simulation",
     .value = {{.name = "converged",
                .kind = CB_VALUE_CHOICE,
                .field = CB_FIELD(struct train, converged),
                .choices = (const struct cb_choice[]){{"converged", true}, {NULL, 0}}}},
     .again = true},
    {.name = "grace",
     .help = "after a signal, finish the iteration if that takes less than this time, else leave it out",
     .value = {{.name = "SECS", .kind = CB_VALUE_SECONDS, .field = CB_FIELD(struct train, grace), .fallback = "25"}},
     .again = true},
    {.name = NULL},
};

const struct command_line cb_line_train = {.command = "train",
                                           .intro = intro,
                                           .end = end,
                                           .table = {{cb_self_rows, offsetof(struct train, base.self)},
                                                     {cb_json_rows, offsetof(struct train, base)},
                                                     {own_rows, 0},
                                                     {cb_rule_rows, offsetof(struct train, run.options)},
                                                     {cb_train_rows, offsetof(struct train, run.options)}},
                                           .needs = "case",
                                           .words = 1};

static int settle(struct train *train) {
    cobre_sddp_train_options *options = &train->run.options;
    train->base.case_path = train->base.given.words[0];
    if (options->resume && options->warm_start)
        return cb_usage_error("train", "--resume and --warm-start: give one of them");
    if (options->accept_other_case && !options->warm_start)
        return cb_usage_error("train", "--accept-other-case: it says which cuts --warm-start may take");
    if (train->print.quiet && train->base.json)
        return cb_usage_error("train", "--quiet and --json: give one of them");
    if (train->watch && (train->print.quiet || train->base.json))
        return cb_usage_error("train", "--watch and --%s: give one of them", train->base.json ? "json" : "quiet");
    if (train->converged && !cb_rules_can_converge(options))
        return cb_usage_error("train", "--require converged: give a rule that finds it, too: --stall, --gap or "
                                       "--simulation");
    if (train->out)
        snprintf(train->folder, sizeof train->folder, "%s", train->out);
    else if (cb_folder_default(train->base.case_path, train->folder) != COBRE_OK)
        return cb_session_refused(&train->base);
    if (cb_folder_join(train->folder, CB_FILE_POLICY, train->run.policy) != COBRE_OK)
        return cb_session_refused(&train->base);
    train->run.folder = train->folder;
    return CB_GO_ON;
}

int cb_train_read_line(int argc, char **argv, struct train *train) {
    *train = (struct train){.base.self.command = "train",
                            .grace = 25,
                            .run.options.struct_size = sizeof train->run.options,
                            .run.options.checkpoint_seconds = 300};
    int code = cb_line_read(&cb_line_train, argc, argv, train, &train->base.given);
    return code == CB_GO_ON ? settle(train) : code;
}
