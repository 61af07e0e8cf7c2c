/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.c: `cobre simulate`. */
#include "cli/json.h"
#include "cli/plan/session.h"
#include "sddp/run/simulate_run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char intro[] = "usage: cobre simulate CASE [--policy FILE] [-n N] [option ...]\n"
                            "\n"
                            "Simulates a trained policy and writes tables of what it does, as CSV.\n"
                            "\n";

static const char end[] = "\nThe tables are described in cobre-simulate(1); `cobre report DIR` draws them.\n";

struct simulate {
    struct session base;
    struct cb_simulate_run run;
    const char *policy_path, *out;
    char policy[PATH_MAX], folder[PATH_MAX];
};

static const struct cb_option policy_rows[] = {
    {.name = "policy",
     .help = "the policy (default: NAME-out/policy.cobre, where `cobre train CASE` leaves it)",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct simulate, policy_path)}}},
    {.name = NULL},
};

static const struct cb_option table_rows[] = {
    {.name = "out",
     .help = "where the tables go (default: where the policy is)",
     .value = {{.name = "DIR",
                .kind = CB_VALUE_TEXT,
                .field = CB_FIELD(struct simulate, out),
                .missing = "the name of a directory"}}},
    {.name = NULL},
};

const struct command_line cb_line_simulate = {.command = "simulate",
                                              .intro = intro,
                                              .end = end,
                                              .table = {{policy_rows, 0},
                                                        {cb_self_rows, offsetof(struct simulate, base.self)},
                                                        {cb_simulate_rows, offsetof(struct simulate, run.options)},
                                                        {cb_begin_rows, offsetof(struct simulate, run.begin)},
                                                        {cb_scenario_rows, offsetof(struct simulate, base.load)},
                                                        {table_rows, 0},
                                                        {cb_json_rows, offsetof(struct simulate, base)}},
                                              .needs = "case",
                                              .words = 1};

static int settle(struct simulate *simulate) {
    struct cb_simulate_run *run = &simulate->run;
    simulate->base.case_path = simulate->base.given.words[0];
    run->scenarios = simulate->base.load.scenarios;
    run->has_sampling = cb_given_text(&simulate->base.given, "sampling") != NULL;
    if (cb_simulate_run_check(run) != COBRE_OK) {
        const cobre_error *error = cobre_last_error();
        return cb_usage_error("simulate", "%s%s%s", error->message, *error->suggestion ? " -- " : "",
                              error->suggestion);
    }
    if (cb_folder_policy(simulate->base.case_path, simulate->policy_path, simulate->policy) != COBRE_OK)
        return cb_session_refused(&simulate->base);
    if (simulate->out)
        snprintf(simulate->folder, sizeof simulate->folder, "%s", simulate->out);
    else
        cb_folder_of(simulate->policy, simulate->folder);
    run->policy_path = simulate->policy;
    run->folder = simulate->folder;
    run->chosen = simulate->out != NULL;
    return CB_GO_ON;
}

static int read_options(int argc, char **argv, struct simulate *simulate) {
    *simulate =
        (struct simulate){.base.self.command = "simulate", .run.options.struct_size = sizeof simulate->run.options};
    int code = cb_line_read(&cb_line_simulate, argc, argv, simulate, &simulate->base.given);
    return code == CB_GO_ON ? settle(simulate) : code;
}

/* {"node", "stage", "state"} */
static json_t *start_json(const struct simulate *simulate) {
    const cobre_sddp_problem *problem = simulate->base.problem;
    const cobre_sddp_simulate_options *options = &simulate->run.options;
    if (!*simulate->run.beginning.text)
        return json_null();
    json_t *start = json_object(), *state = json_object();
    for (size_t s = 0; s < cobre_sddp_problem_states(problem); s++)
        cb_json_set(state, cobre_sddp_problem_state_name(problem, s),
                    cb_json_real(options->state ? options->state[s] : cobre_sddp_problem_state_initial(problem, s)));
    cb_json_set(start, "stage",
                options->has_node ? cb_json_count(cobre_sddp_problem_node_stage(problem, options->node)) : json_null());
    cb_json_set(start, "node",
                options->has_node ? cb_json_text(cobre_sddp_problem_node_name(problem, options->node)) : json_null());
    cb_json_set(start, "state", state);
    return start;
}

/* ["message; suggestion", ...] */
static json_t *warnings_json(const struct session *base) {
    json_t *texts = json_array(), *warning;
    size_t i;
    json_array_foreach(base->warnings, i, warning) {
        const char *suggestion = json_string_value(json_array_get(warning, 1));
        char text[8192];
        snprintf(text, sizeof text, "%s%s%s", json_string_value(json_array_get(warning, 0)), *suggestion ? "; " : "",
                 suggestion);
        cb_json_append(texts, cb_json_text(text));
    }
    return texts;
}

static void print_json(const struct simulate *simulate, const cobre_sddp_policy *policy,
                       const cobre_sddp_simulation *result) {
    bool is_sample = cb_simulation_is_sample(&simulate->run.options);
    json_t *summary = json_object();
    cb_json_set(summary, "sampling", cb_json_text(simulate->run.sampling));
    cb_json_set(summary, "start", start_json(simulate));
    cb_json_set(summary, "trajectories", cb_json_count(result->trajectories));
    cb_json_set(summary, "cost_unit", cb_json_text(cobre_sddp_problem_cost_unit(simulate->base.problem)));
    cb_json_set(summary, "mean", cb_json_real(result->mean));
    cb_json_set(summary, "half", is_sample ? cb_json_real(result->half) : json_null());
    cb_json_set(summary, "deviation", cb_json_real(result->deviation));
    cb_json_set(summary, "minimum", cb_json_real(result->minimum));
    cb_json_set(summary, "maximum", cb_json_real(result->maximum));
    cb_json_set(summary, "bound", cb_json_real(simulate->run.bound));
    cb_json_set(summary, "gap", cb_json_real(simulate->run.gap));
    cb_json_set(summary, "proven", json_boolean(cobre_sddp_policy_proven(policy)));
    const char *difference = cobre_sddp_policy_difference(policy);
    cb_json_set(summary, "difference", difference ? cb_json_text(difference) : json_null());
    cb_json_set(summary, "note", *simulate->run.why ? cb_json_text(simulate->run.why) : json_null());
    cb_json_set(summary, "warnings", warnings_json(&simulate->base));
    cb_json_set(summary, "out", cb_json_text(simulate->folder));
    cb_json_print(summary, 0);
}

/* "out/{statistics,costs,stages}.csv" */
static void print_tables(const struct simulate *simulate) {
    struct cb_tables wanted;
    cb_tables_choose(&simulate->run.options, &wanted);
    printf("%-10s%s/{statistics,costs", "tables", simulate->folder);
    for (size_t table = 1; table < CB_TABLES; table++)
        if (wanted.wanted[table])
            printf(",%s", cb_table_name[table]);
    printf("}.csv\n");
    if (wanted.netcdf)
        printf("%-10s%s/" CB_FILE_NETCDF "\n", "netcdf", simulate->folder);
}

static void print_gap(const struct simulate *simulate, const cobre_sddp_policy *policy, double gap) {
    if (!cobre_sddp_policy_proven(policy))
        printf(" (unproven)");
    if (isfinite(gap))
        printf(", gap %.3g %%", 100 * gap);
    else if (cobre_sddp_policy_averse(policy))
        printf(", no gap: with a risk measure");
    else if (!cb_simulation_is_sample(&simulate->run.options))
        printf(", no gap: the scenarios are no sample");
    else if (simulate->run.options.max_steps)
        printf(", no gap: with --max-steps");
}

static void print_summary(const struct simulate *simulate, const cobre_sddp_policy *policy,
                          const cobre_sddp_simulation *result) {
    bool maximises = cobre_sddp_problem_maximises(simulate->base.problem);
    char mean[32], half[32], least[32], most[32], limit[32];
    printf("%s: %zu trajector%s, %s%s%s\n\n", cobre_sddp_problem_name(simulate->base.problem), result->trajectories,
           result->trajectories == 1 ? "y" : "ies", simulate->run.sampling, *simulate->run.beginning.text ? ", " : "",
           simulate->run.beginning.text);
    printf("%-10s%s", maximises ? "value" : "cost", cb_short_text(result->mean, 8, mean));
    if (result->trajectories > 1 && cb_simulation_is_sample(&simulate->run.options))
        printf(" +- %s (95 %%)", cb_short_text(result->half, 5, half));
    printf(", from %s to %s\n", cb_short_text(result->minimum, 8, least), cb_short_text(result->maximum, 8, most));
    printf("%-10s%s", "bound", cb_short_text(simulate->run.bound, 8, limit));
    if (cobre_sddp_policy_difference(policy))
        printf(", no gap: trained for another case");
    else if (cb_begins_elsewhere(simulate->base.problem, &simulate->run.options))
        printf(", no gap: it begins elsewhere than the training");
    else
        print_gap(simulate, policy, simulate->run.gap);
    printf("\n");
    if (*simulate->run.why)
        printf("%-10s%s\n", "note", simulate->run.why);
    printf("\n");
    print_tables(simulate);
    printf("%-10scobre report ", "next");
    cb_shell_write(stdout, simulate->folder);
    printf("\n");
}

/* Tells people now, and programs at the end. */
static void on_note(void *arg, const char *text) {
    struct simulate *simulate = arg;
    fprintf(stderr, "cobre simulate: %s\n", text);
    cb_session_keep_warning(&simulate->base, text, "");
}

static int simulate_policy(struct simulate *simulate, cobre_sddp_policy *policy) {
    struct session *base = &simulate->base;
    cobre_sddp_simulation result;
    const char *note =
        "asked to stop: the trajectories that are under way are finished; a second signal ends it at once";
    cb_stop_catch(base, &(struct cb_stop){.grace = INFINITY,
                                          .deadly = 2,
                                          .folder = base->folder.path,
                                          .note = {[CB_STOP_FIRST] = note, [CB_STOP_FIRST_OF_ALL] = note}});
    simulate->run.policy = policy;
    simulate->run.held = true;
    simulate->run.stop = cb_stop_asked;
    simulate->run.arg = simulate;
    simulate->run.note = on_note;
    if (cb_simulate_run(&simulate->run, &result) != COBRE_OK)
        return cb_session_failed(base);
    if (!cb_session_speaks(base))
        return 0;
    if (base->json)
        print_json(simulate, policy, &result);
    else
        print_summary(simulate, policy, &result);
    return 0;
}

/* Its tables must not come beside another policy. A policy that is not there is told when it is loaded. */
static int claim(struct simulate *simulate) {
    int code = CB_GO_ON;
    if (cb_session_speaks(&simulate->base) && access(simulate->policy, F_OK) == 0 &&
        cb_simulate_run_claim(&simulate->run) != COBRE_OK)
        code = cb_session_failed(&simulate->base);
    return cb_session_agree(&simulate->base, code);
}

int cb_command_simulate(int argc, char **argv) {
    struct simulate simulate;
    int code = read_options(argc, argv, &simulate);
    if (code == CB_GO_ON)
        code = cb_session_open(&simulate.base, argc, argv);
    if (code != CB_GO_ON)
        return code;
    struct session *base = &simulate.base;
    cobre_sddp_policy *policy = NULL;
    base->warnings = json_array();
    code = cb_session_folder(base, simulate.folder, false);
    if (code == CB_GO_ON)
        code = claim(&simulate);
    if (code == CB_GO_ON)
        code = cb_session_load(base);
    if (code == CB_GO_ON)
        code = cb_session_policy(base, simulate.policy, simulate.policy_path, &policy);
    if (code == CB_GO_ON)
        code = simulate_policy(&simulate, policy);
    cb_simulate_run_free(&simulate.run);
    cobre_sddp_policy_free(&policy);
    json_decref(base->warnings);
    cb_session_close(base);
    return code;
}
