/* validate.c: `cobre validate`. */
#include "cli/plan/session.h"

#include <getopt.h>

static const char help[] =
    "usage: cobre validate CASE [--scenarios FILE] [--json] [--value-bound X] [--solver NAME]\n"
    "\n"
    "Reads a case as `cobre train` would, and shows every error in it: the file, the line, and what is wrong.\n"
    "\n"
    "  --scenarios FILE  checks a table of scenarios for `cobre simulate`, too\n"
    "  --json            one JSON object, for programs\n"
    "  --value-bound X   bounds the future cost of every node, as in `cobre train`\n"
    "  --solver NAME     LP solver that finds these bounds\n"
    "  -h, --help        show this\n"
    "\n"
    "The exit code is 0 when the case is valid and 1 when it is not. See cobre-validate(1).\n";

static const struct option long_options[] = {
    {.name = "json", .has_arg = no_argument, .val = CB_OPTION_JSON},
    {.name = "value-bound", .has_arg = required_argument, .val = CB_OPTION_VALUE_BOUND},
    {.name = "scenarios", .has_arg = required_argument, .val = CB_OPTION_SCENARIOS},
    {.name = "solver", .has_arg = required_argument, .val = CB_OPTION_SOLVER},
    {.name = "help", .has_arg = no_argument, .val = 'h'},
    {.name = NULL},
};

struct count {
    bool json;
    size_t errors;
};

static void print_json_issue(size_t before, const char *file, size_t line, const char *place, const char *message) {
    printf("%s\n  {\"file\": ", before ? "," : "");
    cb_json_write(stdout, file ? file : "");
    if (line)
        printf(", \"line\": %zu", line);
    else
        printf(", \"line\": null");
    printf(", \"place\": ");
    cb_json_write(stdout, place ? place : "");
    printf(", \"message\": ");
    cb_json_write(stdout, message);
    printf("}");
}

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    struct count *count = arg;
    if (count->json)
        print_json_issue(count->errors, issue->file, issue->line, issue->place, issue->message);
    else
        cb_write_issue(stdout, issue);
    count->errors++;
}

/* An error that is none of the case's lines: there is no such file, or a stage problem has no solution. */
static void print_other(struct count *count) {
    const cobre_sddp_error *error = cobre_sddp_last_error();
    if (count->errors)
        return;
    if (count->json) {
        print_json_issue(0, error->file, error->line, "", error->message);
    } else {
        fprintf(stderr, "cobre validate: %s\n", error->message);
        if (error->suggestion[0])
            fprintf(stderr, "cobre validate:   %s\n", error->suggestion);
    }
}

static void print_end(const struct session *session, const struct count *count, bool valid) {
    if (session->json) {
        printf("%s],\n \"valid\": %s}\n", valid ? "" : "\n ", valid ? "true" : "false");
    } else if (valid) {
        printf("%s: valid: ", cobre_sddp_problem_name(session->problem));
        cb_print_size(session->problem);
        const char *contents = cobre_sddp_problem_contents(session->problem);
        printf("%s%s", *contents ? "; " : "", contents);
        printf("\n");
    } else if (count->errors) {
        printf("%zu error%s\n", count->errors, count->errors == 1 ? "" : "s");
    }
}

static int validate(struct session *session) {
    struct count count = {.json = session->json};
    int code = cb_session_alone(session);
    if (code)
        return code;
    if (session->json) {
        printf("{\"case\": ");
        cb_json_write(stdout, session->case_path);
        printf(",\n \"errors\": [");
    }
    bool valid = cb_session_read(session, on_issue, &count);
    if (!valid)
        print_other(&count);
    print_end(session, &count, valid);
    cb_session_close(session);
    return valid ? 0 : CB_EXIT_FAILED;
}

int cb_command_validate(int argc, char **argv) {
    struct session session = {.command = "validate"};
    opterr = 0;
    int found;
    while ((found = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (found == 'h') {
            fputs(help, stdout);
            return 0;
        }
        int code = cb_session_option(&session, found, argv);
        if (code)
            return code;
    }
    if (optind == argc)
        return cb_usage_error("validate", "which case?");
    if (optind + 1 < argc)
        return cb_usage_error("validate", "'%s' is one word too many", argv[optind + 1]);
    session.case_path = argv[optind];
    return validate(&session);
}
