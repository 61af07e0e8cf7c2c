/* SPDX-License-Identifier: Apache-2.0 */
/* train_command.c: the commands that `cobre train` proposes. They can be copied as they are. */
#include "cli/plan/train.h"

#include "sddp/error.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is not repeated is written below. */
static bool is_repeated(const struct cb_option *row, bool resume) {
    return row->help && strcmp(row->name, "out") != 0 && strcmp(row->name, "force") != 0 && (!resume || row->again);
}

/* steered: rules are not those that were given. */
static void write_given(FILE *to, const struct cb_given *given, bool resume, bool steered) {
    for (size_t i = 0; i < given->count; i++) {
        const struct cb_option *row = given->option[i].row;
        if (!is_repeated(row, resume) || (steered && cb_option_find(cb_rule_rows, row->name)))
            continue;
        fprintf(to, " %s%s", row->name[1] ? "--" : "-", row->name);
        if (given->option[i].text) {
            putc(' ', to);
            cb_shell_write(to, given->option[i].text);
        }
    }
}

static void write_rules(FILE *to, const cobre_sddp_train_options *options) {
    char text[CB_OPTION_TEXT];
    for (const struct cb_option *row = cb_rule_rows; row->name; row++) {
        bool shown = cb_option_text(row, options, text) && (strcmp(row->name, "window") != 0 || options->gap_rule);
        if (shown)
            fprintf(to, " --%s%s%s", row->name, row->value[0].kind ? " " : "", row->value[0].kind ? text : "");
    }
}

void cb_train_write_command(FILE *to, const struct train *train, bool resume, const char *out, bool force) {
    fputs("cobre train ", to);
    cb_shell_write(to, train->base.case_path);
    write_given(to, &train->base.given, resume, train->files.steered);
    if (train->files.steered)
        write_rules(to, &train->options);
    if (resume) {
        fputs(" --resume ", to);
        cb_shell_write(to, train->policy);
    }
    if (out) {
        fputs(" --out ", to);
        cb_shell_write(to, out);
    }
    fputs(force ? " --force\n" : "\n", to);
}

void cb_train_say_command(const struct train *train, bool resume, const char *out, bool force) {
    FILE *to;
    for (size_t i = 0; (to = cb_say_to(i)); i++) {
        fputs("  ", to);
        cb_train_write_command(to, train, resume, out, force);
    }
}

static bool is_same_file(const char *one, const char *other) {
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

/* A name that is free: NAME-2, NAME-3, ... */
static void find_free(const struct train *train, char path[PATH_MAX + 16]) {
    size_t length = strlen(train->folder);
    while (length > 1 && train->folder[length - 1] == '/')
        length--;
    for (unsigned i = 2; i == 2 || access(path, F_OK) == 0; i++)
        snprintf(path, PATH_MAX + 16, "%.*s-%u", (int)length, train->folder, i);
}

static int refuse(const struct train *train, const struct cb_record *record) {
    char other[PATH_MAX + 16];
    const char *what = record->finished  ? "holds a finished run"
                       : !record->policy ? "holds a simulation"
                       : record->known   ? "holds the policy of a run that has not come to its end"
                                         : "holds a policy";
    bool goes_on = record->same && !train->options.resume;
    cb_fail_at(COBRE_FILE_FAILED, train->folder, 0,
               goes_on ? "give another folder (--out), go on with it (--resume) or replace it (--force):"
                       : "give another folder (--out) or replace it (--force):",
               "%s %s", train->folder, what);
    int code = cb_session_failed(&train->base);
    find_free(train, other);
    cb_train_say_command(train, false, other, false);
    if (goes_on)
        cb_train_say_command(train, true, train->out, false);
    cb_train_say_command(train, false, train->out, true);
    return code;
}

/* A run that left no policy has nothing to lose. */
static int claim(struct train *train) {
    struct cb_record record;
    const char *resume = train->options.resume;
    train->in_place = resume && is_same_file(resume, train->policy);
    if (train->force || train->in_place)
        return CB_GO_ON;
    if (cb_record_look(train->folder, train->base.problem, &train->options, &record) != COBRE_OK)
        return cb_session_failed(&train->base);
    return record.finished || record.policy || record.simulated ? refuse(train, &record) : CB_GO_ON;
}

int cb_train_claim(struct train *train) {
    return cb_session_agree(&train->base, cb_session_speaks(&train->base) ? claim(train) : CB_GO_ON);
}
