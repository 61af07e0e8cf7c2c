/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: the command line of `cobre run`. */
#include "cli/run/job.h"

static const char intro[] =
    "usage: cobre run [-n N] [--backend NAME] [--hosts LIST | --hostfile FILE]\n"
    "                 [--label] [--log-dir DIR] [--] program [argument ...]\n"
    "\n"
    "Starts N ranks of a program, on this machine or on several, and stops them all when one fails.\n"
    "\n";

static const char end[] =
    "\n"
    "Standard input goes to rank 0. SIGINT, SIGTERM, SIGHUP and SIGQUIT go to all ranks; 2 s after a second one those\n"
    "that are left are killed, after a third one at once. The exit code is that of the rank that failed first (128 +\n"
    "signal if a signal killed it), 0 when all ended well. See cobre-run(1).\n";

struct line {
    struct run_options options;
    const char *hosts, *hostfile;
};

#define FIELD(member) CB_FIELD(struct line, member)
static const struct cb_option rows[] = {
    {.name = "n",
     .help = "number of ranks, up to 4096, of shm up to 1024 (default: the cores that this process may use, or all "
             "slots of the hosts)",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(options.size), .least = 1, .most = CB_MAX_RANKS}}},
    {.name = "backend",
     .help = "shm (default): one job over shared memory; tcp: one job over sockets (default with hosts); local: N jobs "
             "of one rank",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = FIELD(options.backend)}}},
    {.name = "hosts",
     .help = "start the ranks on these hosts, as in a:2,b:2 (host:slots), through ssh",
     .value = {{.name = "LIST", .kind = CB_VALUE_TEXT, .field = FIELD(hosts)}},
     .once = true},
    {.name = "hostfile",
     .help = "read the hosts from a file, one per line",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = FIELD(hostfile)}},
     .once = true},
    {.name = "remote-shell",
     .help = "a command to use instead of ssh; it gets the host and a command line as arguments",
     .value = {{.name = "CMD", .kind = CB_VALUE_TEXT, .field = FIELD(options.remote_shell), .missing = "the command"}}},
    {.name = "remote-cobre",
     .help = "where this command is on the hosts (default: where it is here)",
     .value = {{.name = "PATH", .kind = CB_VALUE_TEXT, .field = FIELD(options.remote_cobre), .missing = "the path"}}},
    {.name = "label", .help = "put the rank's number before each line of output", .given = FIELD(options.label)},
    {.name = "log-dir",
     .help = "keep each rank's output in DIR/rank-N.out and DIR/rank-N.err",
     .value = {{.name = "DIR",
                .kind = CB_VALUE_TEXT,
                .field = FIELD(options.log_dir),
                .missing = "the name of a directory"}}},
    {.name = NULL},
};

const struct command_line cb_line_run = {
    .command = "run", .intro = intro, .end = end, .table = {{rows, 0}}, .needs = "program", .words = CB_LINE_PROGRAM};

static bool read_hosts(const struct line *line, struct host_list *list) {
    if (line->hosts)
        return cb_hosts_parse(line->hosts, list);
    return !line->hostfile || cb_hosts_read(line->hostfile, list);
}

int cb_command_run(int argc, char **argv) {
    struct line line = {.options.command = "run"};
    struct cb_given given;
    int code = cb_line_read(&cb_line_run, argc, argv, &line, &given);
    if (code != CB_GO_ON)
        return code;
    line.options.program = given.words;
    if (line.hosts && line.hostfile)
        return cb_usage_error("run", "--hosts and --hostfile: give one of them");
    if (!*given.words[0])
        return cb_usage_error("run", "the program's name is empty");
    code = read_hosts(&line, &line.options.hosts) ? cb_run(&line.options) : CB_EXIT_USAGE;
    cb_hosts_free(&line.options.hosts);
    return code;
}
