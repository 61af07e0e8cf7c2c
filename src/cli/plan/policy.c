/* policy.c: `cobre policy`. */
#include "cli/plan/session.h"

#include "sddp/run/files.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: cobre policy FILE [CASE] [--export csv|json] [--out FILE] [--json] [--value-bound X]\n"
    "\n"
    "Shows what a policy file holds, or exports its cuts.\n"
    "\n"
    "  CASE               the case that it was trained for (default: as summary.csv beside FILE says)\n"
    "  --export csv|json  write all cuts: node, outcome, iteration, intercept, and a slope for each state\n"
    "  --out FILE         where to (default: standard output)\n"
    "  --json             the summary as one JSON object\n"
    "  --value-bound X    as in the training, if it was given there\n"
    "  -h, --help         show this\n"
    "\n"
    "A cut says: the cost from the node on is at least intercept + sum of slope * state. See cobre-policy(1).\n";

enum { OPTION_EXPORT = CB_OPTION_OWN };

static const struct option long_options[] = {
    {.name = "export", .has_arg = required_argument, .val = OPTION_EXPORT},
    {.name = "out", .has_arg = required_argument, .val = CB_OPTION_OUT},
    {.name = "json", .has_arg = no_argument, .val = CB_OPTION_JSON},
    {.name = "value-bound", .has_arg = required_argument, .val = CB_OPTION_VALUE_BOUND},
    {.name = "help", .has_arg = no_argument, .val = 'h'},
    {.name = NULL},
};

enum format { SUMMARY, CSV, JSON };

struct request {
    struct session base;
    const char *file, *out;
    enum format format;
    char case_path[PATH_MAX];
};

static void export_csv(FILE *to, const cobre_sddp_problem *problem, const cobre_sddp_policy *policy) {
    char text[32];
    size_t states = cobre_sddp_states(problem);
    fputs("node,outcome,iteration,intercept", to);
    for (size_t s = 0; s < states; s++) {
        putc(',', to);
        cb_field_write(to, cobre_sddp_state_name(problem, s));
    }
    putc('\n', to);
    for (uint64_t c = 0; c < cobre_sddp_cuts(policy); c++) {
        cobre_sddp_cut cut = cobre_sddp_get_cut(policy, c);
        cb_field_write(to, cobre_sddp_node_name(problem, cut.node));
        if (cut.outcome == SIZE_MAX)
            fprintf(to, ",,%" PRIu64, cut.iteration);
        else
            fprintf(to, ",%zu,%" PRIu64, cut.outcome + 1, cut.iteration);
        fprintf(to, ",%s", cb_exact_text(cut.intercept, text));
        for (size_t s = 0; s < states; s++)
            fprintf(to, ",%s", cb_exact_text(cut.slopes[s], text));
        putc('\n', to);
    }
}

static void write_json_cut(FILE *to, const cobre_sddp_problem *problem, cobre_sddp_cut cut) {
    char text[32];
    fputs("{\"node\": ", to);
    cb_json_write(to, cobre_sddp_node_name(problem, cut.node));
    if (cut.outcome == SIZE_MAX)
        fputs(", \"outcome\": null", to);
    else
        fprintf(to, ", \"outcome\": %zu", cut.outcome + 1);
    fprintf(to, ", \"iteration\": %" PRIu64 ", \"intercept\": %s, \"slopes\": [", cut.iteration,
            cb_json_real(cut.intercept, text));
    for (size_t s = 0; s < cobre_sddp_states(problem); s++)
        fprintf(to, "%s%s", s ? ", " : "", cb_json_real(cut.slopes[s], text));
    fputs("]}", to);
}

/* The members that the summary and the export have in common; the object stays open. */
static void write_json_head(FILE *to, const struct request *request, const cobre_sddp_policy *policy) {
    const cobre_sddp_problem *problem = request->base.problem;
    char bound[32];
    fputs("{\"policy\": ", to);
    cb_json_write(to, request->file);
    fputs(", \"name\": ", to);
    cb_json_write(to, cobre_sddp_problem_name(problem));
    fprintf(to, ", \"sense\": \"%s\", \"solver\": ", cobre_sddp_maximises(problem) ? "max" : "min");
    cb_json_write(to, cobre_sddp_policy_solver(policy));
    fprintf(to, ", \"seed\": %" PRIu64 ", \"iterations\": %" PRIu64 ", \"bound\": %s, \"cut_count\": %" PRIu64,
            cobre_sddp_policy_seed(policy), cobre_sddp_iterations(policy),
            cb_json_real(cobre_sddp_bound(policy), bound), cobre_sddp_cuts(policy));
    fputs(", \"states\": [", to);
    for (size_t s = 0; s < cobre_sddp_states(problem); s++) {
        fputs(s ? ", " : "", to);
        cb_json_write(to, cobre_sddp_state_name(problem, s));
    }
    fputs("]", to);
}

static void export_json(FILE *to, const struct request *request, const cobre_sddp_policy *policy) {
    write_json_head(to, request, policy);
    fputs(", \"cuts\": [", to);
    for (uint64_t c = 0; c < cobre_sddp_cuts(policy); c++) {
        fputs(c ? ",\n  " : "\n  ", to);
        write_json_cut(to, request->base.problem, cobre_sddp_get_cut(policy, c));
    }
    fputs("\n]}\n", to);
}

static void print_cut_counts(const cobre_sddp_problem *problem, const cobre_sddp_policy *policy) {
    size_t nodes = cobre_sddp_nodes(problem);
    uint64_t total = cobre_sddp_cuts(policy), most = 0, with = 0, warm = 0;
    uint64_t *count = calloc(nodes + 1, sizeof *count);
    for (uint64_t c = 0; count && c < total; c++) {
        cobre_sddp_cut cut = cobre_sddp_get_cut(policy, c);
        count[cut.node]++;
        warm += cut.iteration == 0;
    }
    for (size_t i = 0; count && i < nodes; i++) {
        with += count[i] > 0;
        most = count[i] > most ? count[i] : most;
    }
    free(count);
    printf("cuts      %" PRIu64 " at %" PRIu64 " of %zu nodes, up to %" PRIu64 " a node", total, with, nodes, most);
    if (warm)
        printf("; %" PRIu64 " of them from a warm start", warm);
    printf("\n");
}

static void print_summary(const struct request *request, const cobre_sddp_policy *policy) {
    const cobre_sddp_problem *problem = request->base.problem;
    char bound[32];
    printf("policy    %s\ncase      %s: ", request->file, cobre_sddp_problem_name(problem));
    cb_print_size(problem);
    printf("\ntrained   %" PRIu64 " iteration%s, solver %s, seed %" PRIu64 "\n", cobre_sddp_iterations(policy),
           cobre_sddp_iterations(policy) == 1 ? "" : "s", cobre_sddp_policy_solver(policy),
           cobre_sddp_policy_seed(policy));
    printf("bound     %s (%s)\n", cb_short_text(cobre_sddp_bound(policy), 10, bound),
           cobre_sddp_maximises(problem) ? "upper" : "lower");
    print_cut_counts(problem, policy);
}

static int answer(const struct request *request, const cobre_sddp_policy *policy) {
    struct draft draft;
    if (request->out && !cb_draft_open(&draft, request->out)) {
        fprintf(stderr, "cobre policy: --out %s: %s\n", request->out, strerror(errno));
        return CB_EXIT_FAILED;
    }
    FILE *to = request->out ? draft.file : stdout;
    if (request->format == CSV)
        export_csv(to, request->base.problem, policy);
    else if (request->format == JSON)
        export_json(to, request, policy);
    else if (request->base.json)
        write_json_head(to, request, policy), fputs("}\n", to);
    else
        print_summary(request, policy);
    if (!request->out || cb_draft_close(&draft, true))
        return 0;
    fprintf(stderr, "cobre policy: --out %s: %s\n", request->out, strerror(errno));
    return CB_EXIT_FAILED;
}

/* Training leaves the path of its case beside the policy. */
static bool find_case(struct request *request) {
    char folder[PATH_MAX];
    struct sheet sheet;
    cb_folder_of(request->file, folder);
    if (!cb_sheet_open(&sheet, folder, CB_FILE_SUMMARY, (const char *[]){"key", "value", NULL}))
        return false;
    bool found = false;
    while (!found && cb_sheet_next(&sheet)) {
        found = strcmp(sheet.field[0], "case") == 0;
        if (found)
            snprintf(request->case_path, sizeof request->case_path, "%s", sheet.field[1]);
    }
    cb_sheet_close(&sheet);
    request->base.case_path = request->case_path;
    return found;
}

static int parse_option(int found, char **argv, struct request *request) {
    if (found == CB_OPTION_OUT) {
        request->out = optarg;
        return 0;
    }
    if (found != OPTION_EXPORT)
        return cb_session_option(&request->base, found, argv);
    request->format = strcmp(optarg, "csv") == 0 ? CSV : strcmp(optarg, "json") == 0 ? JSON : SUMMARY;
    return request->format == SUMMARY ? cb_usage_error("policy", "--export %s: csv or json", optarg) : 0;
}

static int read_options(int argc, char **argv, struct request *request) {
    opterr = 0;
    int found;
    while ((found = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (found == 'h') {
            fputs(help, stdout);
            return 0;
        }
        int code = parse_option(found, argv, request);
        if (code)
            return code;
    }
    if (optind == argc)
        return cb_usage_error("policy", "which policy file?");
    if (optind + 2 < argc)
        return cb_usage_error("policy", "'%s' is one word too many", argv[optind + 2]);
    if (request->out && request->format == SUMMARY)
        return cb_usage_error("policy", "--out needs --export");
    request->file = argv[optind];
    request->base.case_path = argv[optind + 1];
    if (access(request->file, R_OK) != 0) {
        fprintf(stderr, "cobre policy: %s: %s\n", request->file, strerror(errno));
        return CB_EXIT_FAILED;
    }
    if (!request->base.case_path && !find_case(request))
        return cb_usage_error("policy", "%s: no summary.csv beside it says which case it belongs to; name the case",
                              request->file);
    return -1;
}

int cb_command_policy(int argc, char **argv) {
    static struct request request = {.base.command = "policy"};
    int code = read_options(argc, argv, &request);
    if (code >= 0)
        return code;
    struct session *base = &request.base;
    cobre_sddp_policy *policy = NULL;
    code = cb_session_alone(base);
    if (code == 0)
        code = cb_session_load(base);
    if (code == 0 && cobre_sddp_policy_load(base->comm, base->problem, request.file, &policy) != COBRE_SDDP_OK)
        code = cb_session_failed(base);
    if (code == 0)
        code = answer(&request, policy);
    cobre_sddp_policy_free(&policy);
    cb_session_close(base);
    return code;
}
