/* train_options.c: the command line of `cobre train`. */
#include "cli/plan/train.h"

#include <getopt.h>
#include <string.h>

static const char help[] =
    "usage: cobre train CASE [-n N] [option ...]\n"
    "\n"
    "Trains a policy for a case: a StochOptFormat file (*.sof.json) or the folder of a hydrothermal case.\n"
    "\n"
    "  -n N                    start N ranks on this machine (default: one, or the job that this is a rank of)\n"
    "  --backend NAME          how they talk: shm (default) or tcp\n"
    "  --out DIR               where results go (default: NAME-out, by the name of the case)\n"
    "  --json                  a JSON object a line on standard output, for programs\n"
    "  -h, --help              show this\n"
    "\n"
    "It stops when one of these holds (without any: after 100 iterations):\n"
    "  --iterations N          so many iterations have been made\n"
    "  --time T                so much time has passed: 90, 90s, 15m, 2h, 1d\n"
    "  --stall N[,TOLERANCE]   over N iterations the bound moved by no more than TOLERANCE, relative (1e-6)\n"
    "  --gap                   the bound lies within the 95 % interval of the simulated cost\n"
    "  --window N              forward passes that this interval is made of (100)\n"
    "  --simulation N[,PASSES] a simulation of PASSES (500) passes, every N iterations, has the bound in its interval\n"
    "  --stop any|all          stop when any of the rules holds (default), or when all do\n"
    "\n"
    "These change the result:\n"
    "  --forward-passes M      forward passes an iteration (1)\n"
    "  --seed S                of the random numbers (0)\n"
    "  --solver NAME           LP solver: glpk or clp (default: by the size of the problem)\n"
    "  --multi-cut             a cut for each outcome instead of one for their mean\n"
    "  --cvar ALPHA,BETA       risk: BETA * mean + (1 - BETA) * mean of the worst share ALPHA\n"
    "  --value-bound X         bounds the future cost of every node (default: found from the case)\n"
    "\n"
    "  --checkpoint-every N    save the policy every N iterations, too, and not only at the end\n"
    "  --resume FILE           go on from a policy, to the same result as without the break\n"
    "  --warm-start FILE       start with the cuts of a policy\n"
    "\n"
    "SIGINT, SIGTERM and SIGUSR1, to any rank, end it after the iteration, with everything saved. See "
    "cobre-train(1).\n";

enum {
    OPTION_ITERATIONS = CB_OPTION_OWN,
    OPTION_TIME,
    OPTION_STALL,
    OPTION_GAP,
    OPTION_WINDOW,
    OPTION_SIMULATION,
    OPTION_STOP,
    OPTION_PASSES,
    OPTION_MULTI_CUT,
    OPTION_CVAR,
    OPTION_CHECKPOINT,
    OPTION_RESUME,
    OPTION_WARM_START
};

static const struct option long_options[] = {
    {.name = "backend", .has_arg = required_argument, .val = CB_OPTION_BACKEND},
    {.name = "rank", .has_arg = no_argument, .val = CB_OPTION_RANK},
    {.name = "json", .has_arg = no_argument, .val = CB_OPTION_JSON},
    {.name = "out", .has_arg = required_argument, .val = CB_OPTION_OUT},
    {.name = "iterations", .has_arg = required_argument, .val = OPTION_ITERATIONS},
    {.name = "time", .has_arg = required_argument, .val = OPTION_TIME},
    {.name = "stall", .has_arg = required_argument, .val = OPTION_STALL},
    {.name = "gap", .has_arg = no_argument, .val = OPTION_GAP},
    {.name = "window", .has_arg = required_argument, .val = OPTION_WINDOW},
    {.name = "simulation", .has_arg = required_argument, .val = OPTION_SIMULATION},
    {.name = "stop", .has_arg = required_argument, .val = OPTION_STOP},
    {.name = "forward-passes", .has_arg = required_argument, .val = OPTION_PASSES},
    {.name = "seed", .has_arg = required_argument, .val = CB_OPTION_SEED},
    {.name = "solver", .has_arg = required_argument, .val = CB_OPTION_SOLVER},
    {.name = "multi-cut", .has_arg = no_argument, .val = OPTION_MULTI_CUT},
    {.name = "cvar", .has_arg = required_argument, .val = OPTION_CVAR},
    {.name = "value-bound", .has_arg = required_argument, .val = CB_OPTION_VALUE_BOUND},
    {.name = "checkpoint-every", .has_arg = required_argument, .val = OPTION_CHECKPOINT},
    {.name = "resume", .has_arg = required_argument, .val = OPTION_RESUME},
    {.name = "warm-start", .has_arg = required_argument, .val = OPTION_WARM_START},
    {.name = "help", .has_arg = no_argument, .val = 'h'},
    {.name = NULL},
};

static int parse_stall(cobre_sddp_options *options) {
    char window[64];
    const char *tolerance;
    int code = cb_parse_pair("train", "--stall", optarg, window, &tolerance);
    if (!code)
        code = cb_parse_count("train", "--stall", window, 1, &options->stall_window);
    if (!code && tolerance)
        code = cb_parse_real("train", "--stall", tolerance, &options->stall_tolerance);
    if (!code && tolerance && !(options->stall_tolerance > 0))
        code = cb_usage_error("train", "--stall %s: the tolerance must be above 0", optarg);
    return code;
}

static int parse_simulation(cobre_sddp_options *options) {
    char every[64];
    const char *passes;
    uint64_t count = 0;
    int code = cb_parse_pair("train", "--simulation", optarg, every, &passes);
    if (!code)
        code = cb_parse_count("train", "--simulation", every, 1, &options->simulate_every);
    if (!code && passes)
        code = cb_parse_count("train", "--simulation", passes, 2, &count);
    options->simulate_passes = (size_t)count;
    return code;
}

static int parse_cvar(cobre_sddp_options *options) {
    char alpha[64];
    const char *beta;
    int code = cb_parse_pair("train", "--cvar", optarg, alpha, &beta);
    if (!code && !beta)
        code = cb_usage_error("train", "--cvar %s: needs two numbers, as in 0.1,0.5", optarg);
    if (!code)
        code = cb_parse_real("train", "--cvar", alpha, &options->risk_alpha);
    if (!code)
        code = cb_parse_real("train", "--cvar", beta, &options->risk_beta);
    if (!code && !(options->risk_alpha > 0 && options->risk_alpha <= 1))
        code = cb_usage_error("train", "--cvar %s: ALPHA must be above 0 and at most 1", optarg);
    if (!code && !(options->risk_beta >= 0 && options->risk_beta <= 1))
        code = cb_usage_error("train", "--cvar %s: BETA must be from 0 to 1", optarg);
    options->has_risk = true;
    return code;
}

static int parse_stop(cobre_sddp_options *options) {
    options->stop_when_all = strcmp(optarg, "all") == 0;
    if (options->stop_when_all || strcmp(optarg, "any") == 0)
        return 0;
    return cb_usage_error("train", "--stop %s: any or all", optarg);
}

static int parse_size(const char *option, size_t *size) {
    uint64_t count = 0;
    int code = cb_parse_count("train", option, optarg, 1, &count);
    *size = (size_t)count;
    return code;
}

/* Notes an option for the command that goes on from this run. */
static void note(struct train *train, int found, int index) {
    char *end = train->again + strlen(train->again);
    size_t room = sizeof train->again - strlen(train->again);
    if (found == CB_OPTION_RANK || found == CB_OPTION_OUT || found == CB_OPTION_JSON || found == OPTION_RESUME ||
        found == OPTION_WARM_START)
        return;
    const char *name = found == 'n' ? "-n" : long_options[index].name;
    snprintf(end, room, " %s%s%s%s", found == 'n' ? "" : "--", name, optarg ? " " : "", optarg ? optarg : "");
}

static int parse_option(int found, char **argv, struct train *train) {
    cobre_sddp_options *options = &train->options;
    switch (found) {
    case CB_OPTION_OUT: train->out = optarg; return 0;
    case OPTION_ITERATIONS: return cb_parse_count("train", "--iterations", optarg, 1, &options->iterations);
    case OPTION_TIME: return cb_parse_seconds("train", "--time", optarg, &options->seconds);
    case OPTION_STALL: return parse_stall(options);
    case OPTION_GAP: options->gap_rule = true; return 0;
    case OPTION_WINDOW: return cb_parse_count("train", "--window", optarg, 2, &options->window);
    case OPTION_SIMULATION: return parse_simulation(options);
    case OPTION_STOP: return parse_stop(options);
    case OPTION_PASSES: return parse_size("--forward-passes", &options->forward_passes);
    case CB_OPTION_SEED: return cb_parse_count("train", "--seed", optarg, 0, &options->seed);
    case OPTION_MULTI_CUT: options->multi_cut = true; return 0;
    case OPTION_CVAR: return parse_cvar(options);
    case OPTION_CHECKPOINT: return cb_parse_count("train", "--checkpoint-every", optarg, 1, &options->checkpoint_every);
    case OPTION_RESUME: options->resume = optarg; return 0;
    case OPTION_WARM_START: options->warm_start = optarg; return 0;
    default: return cb_session_option(&train->base, found, argv);
    }
}

static int settle(struct train *train) {
    cobre_sddp_options *options = &train->options;
    if (options->resume && options->warm_start)
        return cb_usage_error("train", "--resume and --warm-start: give one of them");
    if (train->out && !*train->out)
        return cb_usage_error("train", "--out: the name of a directory is missing");
    if (!train->out && !cb_default_folder("train", train->base.case_path, train->folder))
        return CB_EXIT_USAGE;
    if (train->out)
        snprintf(train->folder, sizeof train->folder, "%s", train->out);
    if (!cb_join_path("train", train->policy, train->folder, "policy.cobre"))
        return CB_EXIT_USAGE;
    options->solver = train->base.solver;
    options->checkpoint = train->policy;
    options->lp_folder = train->folder;
    return -1;
}

int cb_train_options(int argc, char **argv, struct train *train) {
    *train = (struct train){.base.command = "train", .options.struct_size = sizeof train->options};
    opterr = 0;
    int found, index = 0;
    while ((found = getopt_long(argc, argv, ":n:h", long_options, &index)) != -1) {
        if (found == 'h') {
            fputs(help, stdout);
            return 0;
        }
        int code = parse_option(found, argv, train);
        if (code)
            return code;
        note(train, found, index);
    }
    if (optind == argc)
        return cb_usage_error("train", "which case?");
    if (optind + 1 < argc)
        return cb_usage_error("train", "'%s' is one word too many", argv[optind + 1]);
    train->base.case_path = argv[optind];
    return settle(train);
}
