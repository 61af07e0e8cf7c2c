/* options.c: the command line of `cobre run`. */
#include "job.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char cb_run_help[] =
    "usage: cobre run [-n N] [--backend NAME] [--label] [--log-dir DIR] [--] program [argument ...]\n"
    "\n"
    "Starts N ranks of a program on this machine and stops them all when one fails.\n"
    "\n"
    "  -n N             number of ranks, 1 to 4096 (default: the cores that this process may use)\n"
    "  --backend NAME   shm (default): one job over shared memory; local: N jobs of one rank\n"
    "  --label          write the number of its rank before each line of output\n"
    "  --log-dir DIR    keep each rank's output in DIR/rank-N.out and DIR/rank-N.err\n"
    "  -h, --help       show this\n"
    "\n"
    "Standard input goes to rank 0. The exit code is that of the rank that failed first (128 + signal if a signal\n"
    "killed it), 0 when all ended well. See cobre-run(1).\n";

enum { OPTION_BACKEND = 256, OPTION_LABEL, OPTION_LOG_DIR };

static const struct option long_options[] = {
    {.name = "backend", .has_arg = required_argument, .val = OPTION_BACKEND},
    {.name = "label", .has_arg = no_argument, .val = OPTION_LABEL},
    {.name = "log-dir", .has_arg = required_argument, .val = OPTION_LOG_DIR},
    {.name = "help", .has_arg = no_argument, .val = 'h'},
    {.name = NULL},
};

/* 0, or the exit code. */
static int parse_size(const char *text, size_t *size) {
    if (strcmp(text, "p") == 0)
        return cb_usage_error("run", "there is no -np here: write -n N");
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
        return cb_usage_error("run", "-n %s: not a number of ranks", text);
    if (value < 1 || value > CB_MAX_RANKS)
        return cb_usage_error("run", "-n %s: the number of ranks must be from 1 to %d", text, CB_MAX_RANKS);
    *size = (size_t)value;
    return 0;
}

static int parse_backend(const char *name, cobre_backend *backend) {
    for (*backend = COBRE_LOCAL; *backend <= COBRE_MPI; (*backend)++)
        if (strcmp(name, cobre_backend_name(*backend)) == 0)
            break;
    if (*backend > COBRE_MPI)
        return cb_usage_error("run", "--backend %s: no backend has this name; 'cobre info' shows which there are",
                              name);
    if (*backend == COBRE_MPI)
        return cb_usage_error("run", "--backend mpi: the ranks of an MPI job are started by that MPI's mpiexec");
    if (!cb_built_in(*backend) || !cb_environment_has(*backend))
        return cb_usage_error("run", "--backend %s: not in this build, which has: %s", name, cb_built_in_list());
    return 0;
}

static int parse_option(int found, char **argv, struct run_options *options) {
    switch (found) {
    case 'n': return parse_size(optarg, &options->size);
    case OPTION_BACKEND: return parse_backend(optarg, &options->backend);
    case OPTION_LABEL: options->label = true; return 0;
    case OPTION_LOG_DIR:
        options->log_dir = optarg;
        return *optarg ? 0 : cb_usage_error("run", "--log-dir: the name of a directory is missing");
    default: return cb_option_error("run", found, argv);
    }
}

static size_t default_size(void) {
    size_t cores = cb_usable_cores();
    return cores < CB_MAX_RANKS ? cores : CB_MAX_RANKS;
}

int cb_run_options(int argc, char **argv, struct run_options *options) {
    *options = (struct run_options){.backend = COBRE_AUTO};
    opterr = 0;
    int found;
    /* '+': what comes after the program's name is the program's. */
    while ((found = getopt_long(argc, argv, "+:n:h", long_options, NULL)) != -1) {
        if (found == 'h') {
            fputs(cb_run_help, stdout);
            return 0;
        }
        int code = parse_option(found, argv, options);
        if (code)
            return code;
    }
    if (optind == argc)
        return cb_usage_error("run", "which program?");
    if (!*argv[optind])
        return cb_usage_error("run", "the program's name is empty");
    options->program = argv + optind;
    if (options->size == 0)
        options->size = default_size();
    return options->backend == COBRE_AUTO && parse_backend("shm", &options->backend) ? CB_EXIT_USAGE : -1;
}
