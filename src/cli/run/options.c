/* options.c: the command line of `cobre run`. */
#include "cli/run/job.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: cobre run [-n N] [--backend NAME] [--hosts LIST | --hostfile FILE] [--label] [--log-dir DIR]\n"
    "                 [--] program [argument ...]\n"
    "\n"
    "Starts N ranks of a program, on this machine or on several, and stops them all when one fails.\n"
    "\n"
    "  -n N                  number of ranks, 1 to 4096, shm at most 1024 (default: the cores that this process may\n"
    "                        use; with hosts, all their slots)\n"
    "  --backend NAME        shm (default): one job over shared memory; tcp: one job over sockets (default with\n"
    "                        hosts); local: N jobs of one rank\n"
    "  --hosts LIST          start the ranks on these hosts, as in a:2,b:2 (host:slots), through ssh\n"
    "  --hostfile FILE       the same from a file, a host a line\n"
    "  --remote-shell CMD    a command to use instead of ssh; it gets the host and a command line as arguments\n"
    "  --remote-cobre PATH   where this command is on the hosts (default: where it is here)\n"
    "  --label               write the number of its rank before each line of output\n"
    "  --log-dir DIR         keep each rank's output in DIR/rank-N.out and DIR/rank-N.err\n"
    "  -h, --help            show this\n"
    "\n"
    "Standard input goes to rank 0. The exit code is that of the rank that failed first (128 + signal if a signal\n"
    "killed it), 0 when all ended well. See cobre-run(1).\n";

enum {
    OPTION_BACKEND = 256,
    OPTION_HOSTS,
    OPTION_HOSTFILE,
    OPTION_REMOTE_SHELL,
    OPTION_REMOTE_COBRE,
    OPTION_LABEL,
    OPTION_LOG_DIR
};

static const struct option long_options[] = {
    {.name = "backend", .has_arg = required_argument, .val = OPTION_BACKEND},
    {.name = "hosts", .has_arg = required_argument, .val = OPTION_HOSTS},
    {.name = "hostfile", .has_arg = required_argument, .val = OPTION_HOSTFILE},
    {.name = "remote-shell", .has_arg = required_argument, .val = OPTION_REMOTE_SHELL},
    {.name = "remote-cobre", .has_arg = required_argument, .val = OPTION_REMOTE_COBRE},
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
    *backend = cb_backend_named(name);
    if (!*backend)
        return cb_usage_error("run", "--backend %s: no backend has this name; 'cobre info' shows which there are",
                              name);
    if (cb_backend_at(*backend)->own_size)
        return cb_usage_error("run", "--backend %s: the ranks of such a job are started by its own launcher (mpiexec)",
                              name);
    if (!cb_built_in(*backend))
        return cb_usage_error("run", "--backend %s: not in this build, which has: %s", name, cb_built_in_list());
    return 0;
}

static int parse_hosts(int found, struct host_list *list) {
    if (list->count)
        return cb_usage_error("run", "--hosts and --hostfile: give one of them, once");
    bool good = found == OPTION_HOSTS ? cb_hosts_parse(optarg, list) : cb_hosts_read(optarg, list);
    return good ? 0 : CB_EXIT_USAGE;
}

static int parse_text(const char *name, const char *what, const char **value) {
    *value = optarg;
    return optarg[strspn(optarg, " \t")] ? 0 : cb_usage_error("run", "%s: %s is missing", name, what);
}

static int parse_option(int found, char **argv, struct run_options *options) {
    switch (found) {
    case 'n': return parse_size(optarg, &options->size);
    case OPTION_BACKEND: return parse_backend(optarg, &options->backend);
    case OPTION_HOSTS:
    case OPTION_HOSTFILE: return parse_hosts(found, &options->hosts);
    case OPTION_REMOTE_SHELL: return parse_text("--remote-shell", "the command", &options->remote_shell);
    case OPTION_REMOTE_COBRE: return parse_text("--remote-cobre", "the path", &options->remote_cobre);
    case OPTION_LABEL: options->label = true; return 0;
    case OPTION_LOG_DIR: return parse_text("--log-dir", "the name of a directory", &options->log_dir);
    default: return cb_option_error("run", found, argv);
    }
}

/* Of a job on this machine. */
static int settle_size(struct run_options *options) {
    size_t own_limit = cb_backend_at(options->backend)->most_ranks, most = own_limit ? own_limit : CB_MAX_RANKS;
    if (options->size > most)
        return cb_usage_error("run", "-n %zu: a job of %s has at most %zu ranks", options->size,
                              cobre_backend_name(options->backend), most);
    if (options->size == 0)
        options->size = cb_least(cb_usable_cores(), most);
    return 0;
}

static int settle_hosts(struct run_options *options) {
    if (options->backend != COBRE_AUTO && !cb_backend_at(options->backend)->over_hosts)
        return cb_usage_error("run", "--backend %s: ranks on several hosts need tcp",
                              cobre_backend_name(options->backend));
    if (options->size == 0)
        options->size = options->hosts.slots;
    if (options->size > options->hosts.slots)
        return cb_usage_error("run", "-n %zu: the hosts have %zu slot%s", options->size, options->hosts.slots,
                              options->hosts.slots == 1 ? "" : "s");
    if (options->size > CB_MAX_RANKS)
        return cb_usage_error("run", "the hosts have %zu slots, and a job has up to %d ranks: add -n",
                              options->hosts.slots, CB_MAX_RANKS);
    return parse_backend("tcp", &options->backend);
}

/* What the options mean together. */
static int settle(struct run_options *options) {
    if (options->hosts.count)
        return settle_hosts(options);
    if (options->remote_shell || options->remote_cobre)
        return cb_usage_error("run", "--remote-%s needs --hosts or --hostfile",
                              options->remote_shell ? "shell" : "cobre");
    int code = options->backend == COBRE_AUTO ? parse_backend("shm", &options->backend) : 0;
    return code ? code : settle_size(options);
}

int cb_run_options(int argc, char **argv, struct run_options *options) {
    *options = (struct run_options){.backend = COBRE_AUTO};
    opterr = 0;
    int found;
    /* '+': what comes after the program's name is the program's. */
    while ((found = getopt_long(argc, argv, "+:n:h", long_options, NULL)) != -1) {
        if (found == 'h') {
            fputs(help, stdout);
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
    int code = settle(options);
    return code ? code : -1;
}
