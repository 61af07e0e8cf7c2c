/* SPDX-License-Identifier: Apache-2.0 */
/* validate.c: `cobre validate`. */
#include "cli/json.h"
#include "cli/plan/session.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char intro[] =
    "usage: cobre validate CASE [--table NAME] [--write FILE] [--scenarios FILE]\n"
    "                           [--json] [--value-bound X] [--solver NAME]\n"
    "\n"
    "Reads a case as `cobre train` would, and shows every error in it: the file, the line, and what is wrong.\n"
    "\n";

static const char end[] = "\nThe exit code is 0 when the case is valid and 1 when it is not. See cobre-validate(1).\n";

struct validate {
    struct session base;
    cobre_sddp_validate_options options;
    const char *write, *table;
};

static const struct cb_option write_rows[] = {
    {.name = "table",
     .help = "report errors of this table (hydros.csv) and of case.json only, while other tables are not ready yet",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct validate, table)}}},
    {.name = "write",
     .help = "write the case as a StochOptFormat file, if it is valid",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct validate, write)}}},
    {.name = NULL},
};

const struct command_line cb_line_validate = {.command = "validate",
                                              .intro = intro,
                                              .end = end,
                                              .table = {{write_rows, 0},
                                                        {cb_json_rows, offsetof(struct validate, base)},
                                                        {cb_load_rows, offsetof(struct validate, base.load)},
                                                        {cb_validate_rows, offsetof(struct validate, options)}},
                                              .needs = "case",
                                              .words = 1};

struct count {
    json_t *list, *warnings; /* of the errors, and of the warnings; NULL: they are printed as text */
    const char *table;       /* the file that counts, besides case.json; NULL: all do */
    size_t errors, elsewhere;
};

static json_t *error_json(const cobre_sddp_issue *issue) {
    json_t *error = json_object();
    cb_json_set(error, "file", cb_json_text(issue->file ? issue->file : ""));
    cb_json_set(error, "line", issue->line ? cb_json_count(issue->line) : json_null());
    cb_json_set(error, "place", cb_json_text(issue->place));
    cb_json_set(error, "message", cb_json_text(issue->message));
    cb_json_set(error, "suggestion", cb_json_text(issue->suggestion));
    cb_json_set(error, "more", cb_json_count(issue->more));
    return error;
}

static bool is_about(const char *file, const char *table) {
    const char *slash = strrchr(file, '/');
    return strcmp(slash ? slash + 1 : file, table) == 0;
}

/* Errors of case.json keep tables from being read. */
static bool is_asked_for(const struct count *count, const cobre_sddp_issue *issue) {
    return !count->table || is_about(issue->file, count->table) ||
           (!issue->warning && is_about(issue->file, "case.json"));
}

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    struct count *count = arg;
    if (!is_asked_for(count, issue)) {
        count->elsewhere += issue->warning ? 0 : 1 + issue->more;
        return;
    }
    if (count->list)
        cb_json_append(issue->warning ? count->warnings : count->list, error_json(issue));
    else
        cb_write_issue(stdout, issue);
    count->errors += issue->warning ? 0 : 1 + issue->more;
}

/* An error that is none of the case's lines: there is no such file, or a stage problem has no solution. */
static void print_other(struct count *count) {
    const cobre_error *error = cobre_last_error();
    if (count->errors)
        return;
    if (count->list) {
        cb_json_append(count->list, error_json(&(cobre_sddp_issue){.file = error->file,
                                                                   .line = error->line,
                                                                   .place = "",
                                                                   .message = error->message,
                                                                   .suggestion = error->suggestion}));
    } else {
        fprintf(stderr, "cobre validate: %s\n", error->message);
        if (error->suggestion[0])
            fprintf(stderr, "cobre validate:   %s\n", error->suggestion);
    }
}

/* Calls found() with each name of columns for which no bounds are known, once; how many. */
static size_t find_unbounded(const cobre_sddp_problem *problem, void found(void *arg, const char *name), void *arg) {
    json_t *seen = json_object();
    for (size_t n = 0; n < cobre_sddp_problem_nodes(problem); n++)
        for (size_t j = 0; j < cobre_sddp_problem_columns(problem, n); j++) {
            double lower, upper;
            const char *name = cobre_sddp_problem_column_name(problem, n, j);
            cobre_sddp_problem_column_range(problem, n, j, &lower, &upper);
            bool terminal = strcmp(name, "terminal") == 0; /* its cuts are its limit */
            if ((isinf(lower) || isinf(upper)) && !terminal && !json_object_get(seen, name)) {
                cb_json_set(seen, name, json_true());
                found(arg, name);
            }
        }
    size_t count = json_object_size(seen);
    json_decref(seen);
    return count;
}

static void list_name(void *arg, const char *name) {
    cb_json_append(arg, cb_json_text(name));
}

static void print_name(void *arg, const char *name) {
    enum { MOST = 6 };
    size_t *printed = arg;
    if (++*printed <= MOST)
        printf("%s%s", *printed == 1 ? "columns without a known limit, which is no error: " : ", ", name);
    else if (*printed == MOST + 1)
        printf(", ...");
}

/* Cuts that depend on such columns are mended, or not made. */
static void print_unbounded(const cobre_sddp_problem *problem) {
    size_t printed = 0;
    if (find_unbounded(problem, print_name, &printed) > 0)
        printf(" (%zu in all)\n", printed);
}

static void print_json(const struct session *session, const struct count *count, bool whole, bool valid) {
    json_t *verdict = json_object();
    cb_json_set(verdict, "case", cb_json_text(session->case_path));
    cb_json_set(verdict, "errors", count->list);
    cb_json_set(verdict, "warnings", count->warnings);
    json_t *unbounded = json_array();
    if (whole)
        find_unbounded(session->problem, list_name, unbounded);
    cb_json_set(verdict, "unbounded", unbounded);
    cb_json_set(verdict, "elsewhere", cb_json_count(count->elsewhere));
    cb_json_set(verdict, "valid", json_boolean(valid));
    cb_json_print(verdict, JSON_INDENT(2));
}

/* whole: all of the case is valid; valid: what was asked about is. */
static void print_end(const struct session *session, const struct count *count, bool whole, bool valid) {
    if (count->list) {
        print_json(session, count, whole, valid);
    } else if (whole) {
        printf("%s: valid: ", cobre_sddp_problem_name(session->problem));
        cb_write_problem_size(stdout, session->problem);
        const char *contents = cobre_sddp_problem_contents(session->problem);
        printf("%s%s", *contents ? "; " : "", contents);
        printf("\n");
        print_unbounded(session->problem);
    } else if (valid) {
        printf("%s: no error found; %zu in other files of the case, which may hide some\n", count->table,
               count->elsewhere);
    } else if (count->errors) {
        printf("%zu error%s\n", count->errors, count->errors == 1 ? "" : "s");
    }
}

static int write_case(const struct validate *validate) {
    if (!validate->write || cobre_sddp_problem_write(validate->base.problem, validate->write) == COBRE_OK)
        return 0;
    return cb_session_failed(&validate->base);
}

/* As a training would: reads the case, and looks for bounds of its nodes. */
static bool is_valid(struct validate *validate, struct count *count) {
    validate->options.struct_size = sizeof validate->options;
    validate->options.arg = count;
    validate->options.issue = on_issue;
    return cb_session_read(&validate->base, on_issue, count) &&
           cobre_sddp_validate(validate->base.problem, &validate->options) == COBRE_OK;
}

static int answer(struct validate *validate) {
    struct session *session = &validate->base;
    struct count count = {.table = validate->table,
                          .list = session->json ? json_array() : NULL,
                          .warnings = session->json ? json_array() : NULL};
    bool whole = is_valid(validate, &count), valid = whole || (count.errors == 0 && count.elsewhere > 0);
    if (!valid)
        print_other(&count);
    print_end(session, &count, whole, valid);
    int code = whole ? write_case(validate) : valid && !validate->write ? 0 : CB_EXIT_FAILED;
    cb_session_close(session);
    return code;
}

/* The table must be there: nothing is wrong with one that is not. */
static int check_table(const struct validate *validate) {
    char path[PATH_MAX];
    if (!validate->table)
        return CB_GO_ON;
    if (strchr(validate->table, '/'))
        return cb_usage_error("validate", "--table %s: give the name of a table of the case, as hydros.csv",
                              validate->table);
    if (cb_folder_join(validate->base.case_path, validate->table, path) != COBRE_OK)
        return cb_session_refused(&validate->base);
    if (access(path, R_OK) == 0)
        return CB_GO_ON;
    cb_file_failed(path);
    return cb_session_refused(&validate->base);
}

int cb_command_validate(int argc, char **argv) {
    struct validate validate = {.base.self.command = "validate"};
    int code = cb_line_read(&cb_line_validate, argc, argv, &validate, &validate.base.given);
    if (code != CB_GO_ON)
        return code;
    validate.base.case_path = validate.base.given.words[0];
    code = check_table(&validate);
    if (code == CB_GO_ON)
        code = cb_session_alone(&validate.base);
    return code == CB_GO_ON ? answer(&validate) : code;
}
