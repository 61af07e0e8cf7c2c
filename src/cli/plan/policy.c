/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c: `cobre policy`. */
#include "cli/json.h"
#include "cli/plan/session.h"
#include "sddp/error.h"
#include "sddp/run/policy_json.h"

#include <inttypes.h>
#include <stdlib.h>

static const char intro[] = "usage: cobre policy FILE [--export csv|json] [--out FILE] [--json]\n"
                            "\n"
                            "Shows what a policy file holds, or exports its cuts. It needs nothing but the file.\n"
                            "\n";

static const char end[] =
    "\nA cut says: the cost from the node on is at least intercept + sum of slope * state. See cobre-policy(1).\n";

enum format { SUMMARY, CSV, JSON };

struct request {
    struct session base;
    const char *file, *out;
    enum format format;
};

static const struct cb_option own_rows[] = {
    {.name = "export",
     .help = "write all cuts: node, outcome, iteration, intercept, and a slope for each state",
     .value = {{.name = "csv|json",
                .kind = CB_VALUE_CHOICE,
                .field = CB_FIELD(struct request, format),
                .choices = (const struct cb_choice[]){{"csv", CSV}, {"json", JSON}, {NULL, 0}}}}},
    {.name = "out",
     .help = "file to write (default: standard output)",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct request, out)}}},
    {.name = NULL},
};

const struct command_line cb_line_policy = {.command = "policy",
                                            .intro = intro,
                                            .end = end,
                                            .table = {{own_rows, 0}, {cb_json_rows, offsetof(struct request, base)}},
                                            .needs = "policy file",
                                            .words = 1};

static void write_cut(FILE *to, const cobre_sddp_policy *policy, uint64_t index, double *slopes) {
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    char text[32];
    cobre_sddp_policy_cut(policy, index, &cut, slopes);
    cb_field_write(to, cobre_sddp_policy_node_name(policy, cut.node));
    if (cut.outcome == COBRE_SDDP_NONE)
        fprintf(to, ",,%" PRIu64, cut.iteration);
    else
        fprintf(to, ",%zu,%" PRIu64, cut.outcome + 1, cut.iteration);
    fprintf(to, ",%s", cb_exact_text(cut.intercept, text));
    for (size_t s = 0; s < cobre_sddp_policy_states(policy); s++)
        fprintf(to, ",%s", cb_exact_text(slopes[s], text));
    putc('\n', to);
}

static void export_csv(FILE *to, const cobre_sddp_policy *policy, double *slopes) {
    fputs("node,outcome,iteration,intercept", to);
    for (size_t s = 0; s < cobre_sddp_policy_states(policy); s++) {
        putc(',', to);
        cb_field_write(to, cobre_sddp_policy_state_name(policy, s));
    }
    putc('\n', to);
    for (uint64_t c = 0; c < cobre_sddp_policy_cuts(policy); c++)
        write_cut(to, policy, c, slopes);
}

/* The summary with the cuts as one more member. There can be millions: each is written before the next is made. */
static void export_json(FILE *to, const struct request *request, const cobre_sddp_policy *policy, double *slopes) {
    putc('{', to);
    cb_json_write(to, cb_policy_json(request->file, policy), JSON_EMBED);
    fputs(", \"cuts\": [", to);
    for (uint64_t c = 0; c < cobre_sddp_policy_cuts(policy); c++) {
        fputs(c ? ",\n  " : "\n  ", to);
        cb_json_write(to, cb_policy_cut_json(policy, c, slopes), 0);
    }
    fputs("\n]}\n", to);
}

static void print_cut_counts(const cobre_sddp_policy *policy) {
    size_t nodes = cobre_sddp_policy_nodes(policy);
    uint64_t total = cobre_sddp_policy_cuts(policy), most = 0, with = 0, warm = 0;
    uint64_t *count = calloc(nodes + 1, sizeof *count);
    for (uint64_t c = 0; count && c < total; c++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        cobre_sddp_policy_cut(policy, c, &cut, NULL);
        count[cut.node]++;
        warm += cut.iteration == 0;
    }
    for (size_t i = 0; count && i < nodes; i++) {
        with += count[i] > 0;
        most = count[i] > most ? count[i] : most;
    }
    free(count);
    printf("cuts      %" PRIu64 " at %" PRIu64 " of %zu nodes, up to %" PRIu64 " per node", total, with, nodes, most);
    if (warm)
        printf("; %" PRIu64 " of them from a warm start", warm);
    printf("\n");
}

static void print_summary(const struct request *request, const cobre_sddp_policy *policy) {
    size_t nodes = cobre_sddp_policy_nodes(policy), stages = 0;
    char bound[32];
    for (size_t n = 0; n < nodes; n++)
        if (cobre_sddp_policy_node_stage(policy, n) > stages)
            stages = cobre_sddp_policy_node_stage(policy, n);
    printf("policy    %s\ncase      %s: ", request->file, cobre_sddp_policy_name(policy));
    cb_write_size(stdout, stages, nodes, cobre_sddp_policy_states(policy));
    printf("\ntrained   %" PRIu64 " iteration%s, seed %" PRIu64 "\n", cobre_sddp_policy_iterations(policy),
           cobre_sddp_policy_iterations(policy) == 1 ? "" : "s", cobre_sddp_policy_seed(policy));
    printf("solver    %s %s", cobre_sddp_policy_solver(policy), cobre_sddp_policy_solver_version(policy));
    if (cobre_sddp_policy_fallback(policy)[0])
        printf(", and where it finds no optimum %s %s", cobre_sddp_policy_fallback(policy),
               cobre_sddp_policy_fallback_version(policy));
    printf("\n");
    printf("bound     %s (%s%s)\n", cb_short_text(cobre_sddp_policy_bound(policy), 10, bound),
           cobre_sddp_policy_maximises(policy) ? "upper" : "lower",
           cobre_sddp_policy_proven(policy) ? "" : ", unproven: with cuts of another case");
    print_cut_counts(policy);
}

static void write_answer(const struct request *request, const cobre_sddp_policy *policy, FILE *to, double *slopes) {
    if (request->format == CSV)
        export_csv(to, policy, slopes);
    else if (request->format == JSON)
        export_json(to, request, policy, slopes);
    else if (request->base.json)
        cb_json_print(cb_policy_json(request->file, policy), 0);
    else
        print_summary(request, policy);
}

static int answer(const struct request *request, const cobre_sddp_policy *policy) {
    struct cb_draft draft = {.file = stdout};
    double *slopes = malloc((cobre_sddp_policy_states(policy) + 1) * sizeof *slopes);
    cobre_status status = slopes ? COBRE_OK : cb_no_memory("a cut", 0);
    if (!status && request->out)
        status = cb_draft_open(&draft, request->out);
    if (!status)
        write_answer(request, policy, draft.file, slopes);
    if (!status && request->out)
        status = cb_draft_close(&draft, COBRE_OK);
    free(slopes);
    return status ? cb_session_failed(&request->base) : 0;
}

static int read_options(int argc, char **argv, struct request *request) {
    int code = cb_line_read(&cb_line_policy, argc, argv, request, &request->base.given);
    if (code != CB_GO_ON)
        return code;
    if (request->out && request->format == SUMMARY)
        return cb_usage_error("policy", "--out needs --export");
    request->file = request->base.given.words[0];
    return CB_GO_ON;
}

int cb_command_policy(int argc, char **argv) {
    struct request request = {.base.self.command = "policy"};
    cobre_sddp_policy *policy = NULL;
    int code = read_options(argc, argv, &request);
    if (code != CB_GO_ON)
        return code;
    if (cobre_sddp_policy_read(request.file, &policy) != COBRE_OK)
        return cb_session_failed(&request.base);
    code = answer(&request, policy);
    cobre_sddp_policy_free(&policy);
    return code;
}
