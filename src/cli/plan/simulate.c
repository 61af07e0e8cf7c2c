/* simulate.c: `cobre simulate`. */
#include "cli/json.h"
#include "cli/plan/command_line.h"
#include "cli/plan/session.h"
#include "sddp/run/simulation.h"

#include <getopt.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: cobre simulate CASE [--policy FILE] [-n N] [option ...]\n"
    "\n"
    "Simulates a trained policy and writes tables of what it does, as CSV.\n"
    "\n"
    "  --policy FILE        the policy (default: NAME-out/policy.cobre, where `cobre train CASE` leaves it)\n"
    "  -n N                 start N ranks on this machine (default: one, or the job that this is a rank of)\n"
    "  --backend NAME       how they talk: shm (default) or tcp\n"
    "  --sampling WHAT      in-sample (default): from the outcomes that the policy was trained with;\n"
    "                       out-of-sample: drawn anew where the case has a model of its noise;\n"
    "                       given: the case's own scenarios, each once\n"
    "  --scenarios FILE     scenarios from a table of yours instead, each once\n"
    "  --trajectories K     how many (1000)\n"
    "  --seed S             of the random numbers (0)\n"
    "  --max-steps N        cut trajectories on a graph with cycles\n"
    "  --tables LIST        which, besides costs.csv: stages,states,variables,duals,noise (default: all), or none\n"
    "  --solver NAME        LP solver (default: the one of the training)\n"
    "  --value-bound X      as in the training, if it was given there\n"
    "  --out DIR            where the tables go (default: where the policy is)\n"
    "  --json               the summary as one JSON object\n"
    "  -h, --help           show this\n"
    "\n"
    "The tables are described in cobre-simulate(1); `cobre report DIR` draws them.\n";

enum { OPTION_SAMPLING = CB_OPTION_OWN, OPTION_TRAJECTORIES, OPTION_MAX_STEPS, OPTION_TABLES };

static const struct option long_options[] = {
    {.name = "policy", .has_arg = required_argument, .val = CB_OPTION_POLICY},
    {.name = "backend", .has_arg = required_argument, .val = CB_OPTION_BACKEND},
    {.name = "rank", .has_arg = no_argument, .val = CB_OPTION_RANK},
    {.name = "json", .has_arg = no_argument, .val = CB_OPTION_JSON},
    {.name = "out", .has_arg = required_argument, .val = CB_OPTION_OUT},
    {.name = "sampling", .has_arg = required_argument, .val = OPTION_SAMPLING},
    {.name = "scenarios", .has_arg = required_argument, .val = CB_OPTION_SCENARIOS},
    {.name = "trajectories", .has_arg = required_argument, .val = OPTION_TRAJECTORIES},
    {.name = "seed", .has_arg = required_argument, .val = CB_OPTION_SEED},
    {.name = "max-steps", .has_arg = required_argument, .val = OPTION_MAX_STEPS},
    {.name = "tables", .has_arg = required_argument, .val = OPTION_TABLES},
    {.name = "solver", .has_arg = required_argument, .val = CB_OPTION_SOLVER},
    {.name = "value-bound", .has_arg = required_argument, .val = CB_OPTION_VALUE_BOUND},
    {.name = "help", .has_arg = no_argument, .val = 'h'},
    {.name = NULL},
};

struct simulate {
    struct session base;
    cobre_sddp_simulate_options options;
    const char *sampling; /* its name */
    bool wanted[CB_TABLES];
    const char *policy_path, *out;
    char policy[PATH_MAX], folder[PATH_MAX];
    struct cb_spool spool;
};

static int set_option(struct simulate *simulate, const char *name) {
    return cb_line_set("simulate", cb_simulate_rows, name, optarg, &simulate->options);
}

static int parse_option(int found, char **argv, struct simulate *simulate) {
    switch (found) {
    case CB_OPTION_POLICY: simulate->policy_path = optarg; return 0;
    case CB_OPTION_OUT: simulate->out = optarg; return 0;
    case OPTION_SAMPLING: simulate->sampling = optarg; return set_option(simulate, "sampling");
    case OPTION_TRAJECTORIES: return set_option(simulate, "trajectories");
    case OPTION_MAX_STEPS: return set_option(simulate, "max-steps");
    case CB_OPTION_SEED: return set_option(simulate, "seed");
    case OPTION_TABLES:
        if (cb_tables_choose(simulate->wanted, optarg))
            return 0;
        return cb_usage_error("simulate", "--tables %s: there are stages, states, variables, duals and noise", optarg);
    default: return cb_session_option(&simulate->base, found, argv);
    }
}

static int settle(struct simulate *simulate) {
    if (simulate->base.load.scenarios && simulate->sampling)
        return cb_usage_error("simulate", "--scenarios and --sampling: give one of them");
    if (simulate->base.load.scenarios)
        simulate->options.sampling = COBRE_SDDP_GIVEN;
    if (!simulate->sampling)
        simulate->sampling = simulate->base.load.scenarios ? "own scenarios" : "in-sample";
    if (simulate->options.sampling == COBRE_SDDP_GIVEN && simulate->options.trajectories)
        return cb_usage_error("simulate", "--trajectories: each scenario is simulated once");
    if (simulate->out && !*simulate->out)
        return cb_usage_error("simulate", "--out: the name of a directory is missing");
    if (cb_folder_policy(simulate->base.case_path, simulate->policy_path, simulate->policy) != COBRE_SDDP_OK)
        return cb_session_refused(&simulate->base);
    if (simulate->out)
        snprintf(simulate->folder, sizeof simulate->folder, "%s", simulate->out);
    else
        cb_folder_of(simulate->policy, simulate->folder);
    simulate->options.solver = simulate->base.load.solver;
    simulate->options.lp_folder = simulate->folder;
    return -1;
}

static int read_options(int argc, char **argv, struct simulate *simulate) {
    *simulate = (struct simulate){.base.command = "simulate",
                                  .options = {.struct_size = sizeof simulate->options, .trajectories = 0}};
    for (size_t table = 0; table < CB_TABLES; table++)
        simulate->wanted[table] = true;
    opterr = 0;
    int found;
    while ((found = getopt_long(argc, argv, ":n:h", long_options, NULL)) != -1) {
        if (found == 'h') {
            fputs(help, stdout);
            return 0;
        }
        int code = parse_option(found, argv, simulate);
        if (code)
            return code;
    }
    if (optind == argc)
        return cb_usage_error("simulate", "which case?");
    if (optind + 1 < argc)
        return cb_usage_error("simulate", "'%s' is one word too many", argv[optind + 1]);
    simulate->base.case_path = argv[optind];
    return settle(simulate);
}

static void print_json(const struct simulate *simulate, const cobre_sddp_policy *policy,
                       const cobre_sddp_simulation *result) {
    bool is_sample = cb_simulation_is_sample(&simulate->options);
    json_t *summary = json_object();
    cb_json_set(summary, "sampling", cb_json_text(simulate->sampling));
    cb_json_set(summary, "trajectories", cb_json_count(result->trajectories));
    cb_json_set(summary, "mean", cb_json_real(result->mean));
    cb_json_set(summary, "half", is_sample ? cb_json_real(result->half) : json_null());
    cb_json_set(summary, "deviation", cb_json_real(result->deviation));
    cb_json_set(summary, "minimum", cb_json_real(result->minimum));
    cb_json_set(summary, "maximum", cb_json_real(result->maximum));
    cb_json_set(summary, "bound", cb_json_real(cobre_sddp_bound(policy)));
    cb_json_set(summary, "out", cb_json_text(simulate->folder));
    cb_json_print(summary, 0);
}

/* "out/{costs,stages}.csv", or only "out/costs.csv". */
static void print_tables(const struct simulate *simulate) {
    bool several = false;
    for (size_t table = 1; table < CB_TABLES; table++)
        several |= simulate->wanted[table];
    printf("%-10s%s/%scosts", several ? "tables" : "table", simulate->folder, several ? "{" : "");
    for (size_t table = 1; table < CB_TABLES; table++)
        if (simulate->wanted[table])
            printf(",%s", cb_table_name[table]);
    printf("%s.csv\n", several ? "}" : "");
}

static void print_summary(const struct simulate *simulate, const cobre_sddp_policy *policy,
                          const cobre_sddp_simulation *result) {
    bool maximises = cobre_sddp_maximises(simulate->base.problem);
    char mean[32], half[32], least[32], most[32], limit[32];
    printf("%s: %zu trajector%s, %s\n\n", cobre_sddp_problem_name(simulate->base.problem), result->trajectories,
           result->trajectories == 1 ? "y" : "ies", simulate->sampling);
    printf("%-10s%s", maximises ? "value" : "cost", cb_short_text(result->mean, 8, mean));
    if (result->trajectories > 1 && cb_simulation_is_sample(&simulate->options))
        printf(" +- %s (95 %%)", cb_short_text(result->half, 5, half));
    printf(", from %s to %s\n", cb_short_text(result->minimum, 8, least), cb_short_text(result->maximum, 8, most));
    printf("%-10s%s", "bound", cb_short_text(cobre_sddp_bound(policy), 8, limit));
    double gap = cb_simulation_gap(&simulate->options, policy, result);
    if (isfinite(gap))
        printf(", gap %.3g %%", gap);
    else if (cobre_sddp_policy_averse(policy))
        printf(", no gap: with a risk measure");
    else if (!cb_simulation_is_sample(&simulate->options))
        printf(", no gap: the scenarios are no sample");
    else if (simulate->options.max_steps)
        printf(", no gap: with --max-steps");
    printf("\n\n");
    print_tables(simulate);
    printf("%-10scobre report ", "next");
    cb_shell_write(stdout, simulate->folder);
    printf("\n");
}

static int simulate_policy(struct simulate *simulate, cobre_sddp_policy *policy) {
    struct session *base = &simulate->base;
    cobre_sddp_simulation result;
    if (simulate->options.sampling == COBRE_SDDP_OUT_OF_SAMPLE && !cobre_sddp_has_noise_model(base->problem) &&
        cb_session_speaks(base))
        fprintf(stderr,
                "cobre simulate: this case has no model of its noise: out-of-sample is the same as in-sample\n");
    cb_spool_open(&simulate->spool, simulate->wanted, base->problem);
    cb_stop_catch(base, "the trajectories that are under way are finished");
    simulate->options.stop = cb_stop_asked;
    simulate->options.stage = cb_spool_stage;
    simulate->options.arg = &simulate->spool;
    if (cobre_sddp_simulate(base->comm, policy, &simulate->options, &result) != COBRE_SDDP_OK)
        return cb_session_failed(base);
    if (cb_spool_write(&simulate->spool, base->comm, simulate->folder) != COBRE_SDDP_OK)
        return cb_session_failed(base);
    if (!cb_session_speaks(base))
        return 0;
    if (base->json)
        print_json(simulate, policy, &result);
    else
        print_summary(simulate, policy, &result);
    if (cb_simulation_summary(simulate->folder, simulate->sampling, &simulate->options, policy, &result) !=
        COBRE_SDDP_OK)
        return cb_session_failed(base);
    return 0;
}

static void say_train_first(const char *case_path) {
    fprintf(stderr, "cobre simulate:   train first: cobre train ");
    cb_shell_write(stderr, case_path);
    fprintf(stderr, "\n");
}

int cb_command_simulate(int argc, char **argv) {
    static struct simulate simulate;
    int code = read_options(argc, argv, &simulate);
    if (code < 0)
        code = cb_session_open(&simulate.base, argc, argv);
    if (code >= 0)
        return code;
    struct session *base = &simulate.base;
    cobre_sddp_policy *policy = NULL;
    code = cb_session_load(base);
    if (code == 0 && !cb_session_folder(base, simulate.folder, false))
        code = CB_EXIT_FAILED;
    if (code == 0 && cobre_sddp_policy_load(base->comm, base->problem, simulate.policy, &policy) != COBRE_SDDP_OK) {
        code = cb_session_failed(base);
        if (cb_session_speaks(base) && access(simulate.policy, F_OK) != 0)
            say_train_first(base->case_path);
    }
    if (code == 0)
        code = simulate_policy(&simulate, policy);
    cobre_sddp_policy_free(&policy);
    cb_spool_close(&simulate.spool);
    cb_session_close(base);
    return code;
}
