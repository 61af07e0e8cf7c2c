/* SPDX-License-Identifier: Apache-2.0 */
/* train_command.c: the commands that `cobre train` proposes. They can be copied as they are. */
#include "cli/plan/train.h"

#include <jansson.h>
#include <string.h>
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
    json_t *rules = cb_rules_json(options), *text;
    const char *name;
    json_object_foreach(rules, name, text) {
        fprintf(to, " --%s", name);
        if (cb_option_find(cb_rule_rows, name)->value[0].kind)
            fprintf(to, " %s", json_string_value(text));
    }
    json_decref(rules);
}

void cb_train_write_command(FILE *to, const struct train *train, bool resume, const char *out, bool force) {
    fputs("cobre train ", to);
    cb_shell_write(to, train->base.case_path);
    write_given(to, &train->base.given, resume, train->run.files.steered);
    if (train->run.files.steered)
        write_rules(to, &train->run.options);
    if (resume) {
        fputs(" --resume ", to);
        cb_shell_write(to, train->run.policy);
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

/* A name that is free: NAME-2, NAME-3, ... */
static void find_free(const struct train *train, char path[PATH_MAX + 16]) {
    size_t length = strlen(train->folder);
    while (length > 1 && train->folder[length - 1] == '/')
        length--;
    for (unsigned i = 2; i == 2 || access(path, F_OK) == 0; i++)
        snprintf(path, PATH_MAX + 16, "%.*s-%u", (int)length, train->folder, i);
}

int cb_train_refuse(struct train *train) {
    char other[PATH_MAX + 16];
    bool goes_on = train->run.found.same && !train->run.options.resume;
    cobre_error error = *cobre_last_error();
    snprintf(error.suggestion, sizeof error.suggestion, "%s",
             goes_on ? "give another folder (--out), go on with it (--resume) or replace it (--force):"
                     : "give another folder (--out) or replace it (--force):");
    cobre_set_error(&error);
    int code = cb_session_failed(&train->base);
    find_free(train, other);
    cb_train_say_command(train, false, other, false);
    if (goes_on)
        cb_train_say_command(train, true, train->out, false);
    cb_train_say_command(train, false, train->out, true);
    return code;
}
