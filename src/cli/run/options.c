/* options.c: the command line of `cobre run`. */
#include "cli/run/job.h"

static const char intro[] =
    "usage: cobre run [-n N] [--backend NAME] [--hosts LIST | --hostfile FILE] [--label] [--log-dir DIR]\n"
    "                 [--] program [argument ...]\n"
    "\n"
    "Starts N ranks of a program, on this machine or on several, and stops them all when one fails.\n"
    "\n";

static const char end[] =
    "\n"
    "Standard input goes to rank 0. The exit code is that of the rank that failed first (128 + signal if a signal\n"
    "killed it), 0 when all ended well. See cobre-run(1).\n";

struct line {
    struct run_options options;
    const char *backend, *hosts, *hostfile;
};

#define FIELD(member) CB_FIELD(struct line, member)
static const struct cb_option rows[] = {
    {.name = "n",
     .help = "number of ranks, up to 4096 (default: the cores that this process may use, or all slots of the hosts)",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(options.size), .least = 1, .most = CB_MAX_RANKS}}},
    {.name = "backend",
     .help = "shm (default): one job over shared memory; tcp: one job over sockets (default with hosts); local: N jobs "
             "of one rank",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = FIELD(backend)}}},
    {.name = "hosts",
     .help = "start the ranks on these hosts, as in a:2,b:2 (host:slots), through ssh",
     .value = {{.name = "LIST", .kind = CB_VALUE_TEXT, .field = FIELD(hosts)}},
     .once = true},
    {.name = "hostfile",
     .help = "the same from a file, a host a line",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = FIELD(hostfile)}},
     .once = true},
    {.name = "remote-shell",
     .help = "a command to use instead of ssh; it gets the host and a command line as arguments",
     .value = {{.name = "CMD", .kind = CB_VALUE_TEXT, .field = FIELD(options.remote_shell), .missing = "the command"}}},
    {.name = "remote-cobre",
     .help = "where this command is on the hosts (default: where it is here)",
     .value = {{.name = "PATH", .kind = CB_VALUE_TEXT, .field = FIELD(options.remote_cobre), .missing = "the path"}}},
    {.name = "label", .help = "write the number of its rank before each line of output", .given = FIELD(options.label)},
    {.name = "log-dir",
     .help = "keep each rank's output in DIR/rank-N.out and DIR/rank-N.err",
     .value = {{.name = "DIR",
                .kind = CB_VALUE_TEXT,
                .field = FIELD(options.log_dir),
                .missing = "the name of a directory"}}},
    {.name = NULL},
};

const struct command_line cb_line_run = {.command = "run",
                                         .intro = intro,
                                         .end = end,
                                         .table = {{rows, 0}},
                                         .question = "which program?",
                                         .words = CB_LINE_PROGRAM};

/* 0, or the exit code. */
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

static int parse_hosts(const struct line *line, struct host_list *list) {
    if (line->hosts && line->hostfile)
        return cb_usage_error("run", "--hosts and --hostfile: give one of them");
    bool good = line->hosts      ? cb_hosts_parse(line->hosts, list)
                : line->hostfile ? cb_hosts_read(line->hostfile, list)
                                 : true;
    return good ? 0 : CB_EXIT_USAGE;
}

static size_t default_size(void) {
    size_t cores = cb_usable_cores();
    return cores < CB_MAX_RANKS ? cores : CB_MAX_RANKS;
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
static int settle(const struct line *line, struct run_options *options) {
    int code = line->backend ? parse_backend(line->backend, &options->backend) : 0;
    if (code == 0)
        code = parse_hosts(line, &options->hosts);
    if (code)
        return code;
    if (!*options->program[0])
        return cb_usage_error("run", "the program's name is empty");
    if (options->hosts.count)
        return settle_hosts(options);
    if (options->remote_shell || options->remote_cobre)
        return cb_usage_error("run", "--remote-%s needs --hosts or --hostfile",
                              options->remote_shell ? "shell" : "cobre");
    if (options->size == 0)
        options->size = default_size();
    return options->backend == COBRE_AUTO ? parse_backend("shm", &options->backend) : 0;
}

int cb_run_options(int argc, char **argv, struct run_options *options) {
    struct line line = {.options.backend = COBRE_AUTO};
    struct cb_given given;
    int code = cb_line_read(&cb_line_run, argc, argv, &line, &given);
    *options = line.options;
    if (code != CB_LINE_GO_ON)
        return code;
    options->program = given.words;
    code = settle(&line, options);
    return code ? code : CB_LINE_GO_ON;
}
