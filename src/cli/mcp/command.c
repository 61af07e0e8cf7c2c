/* SPDX-License-Identifier: Apache-2.0 */
/* command.c: `cobre mcp`. */
#include "cli/cli.h"
#include "cli/mcp/jobs.h"
#include "cli/mcp/stdio.h"
#include "sddp/read/text.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static const char intro[] = "usage: cobre mcp [--root DIR ...] [--output DIR] [option ...]\n"
                            "\n"
                            "Serves the Model Context Protocol on standard input and output, so that an assistant can "
                            "run and question studies.\n"
                            "\n";

static const char end[] =
    "\nClients start it themselves, by their configuration. It ends with its input. See cobre-mcp(1).\n";

struct options {
    const char *root, *output;
    double seconds, memory;
    uint64_t iterations;
    size_t workers;
};

#define FIELD(member) CB_FIELD(struct options, member)

static const struct cb_option rows[] = {
    {.name = "root",
     .help = "a folder that may be read; it can be given several times (default: the current one)",
     .value = {{.name = "DIR", .kind = CB_VALUE_TEXT, .field = FIELD(root), .missing = "the name of a directory"}},
     .many = true},
    {.name = "output",
     .help = "the folder that may be written to, and read (default: cobre-output in the first root)",
     .value = {{.name = "DIR", .kind = CB_VALUE_TEXT, .field = FIELD(output), .missing = "the name of a directory"}}},
    {.name = "max-workers",
     .help = "at most N ranks per job (default: the cores that it may use)",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(workers), .least = 1, .most = 4096}}},
    {.name = "max-time",
     .help = "at most so long per job; then it is stopped and saved",
     .value = {{.name = "T", .kind = CB_VALUE_SECONDS, .field = FIELD(seconds), .above = true, .fallback = "24h"}}},
    {.name = "max-iterations",
     .help = "at most N iterations per training",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = FIELD(iterations), .least = 1, .fallback = "100000"}}},
    {.name = "max-memory",
     .help =
         "at most G GiB of memory per job, all its ranks together, and for the server (default: three quarters of this "
         "machine's)",
     .value = {{.name = "G", .kind = CB_VALUE_REAL, .field = FIELD(memory), .above = true}}},
    {.name = NULL},
};

const struct command_line cb_line_mcp = {.command = "mcp", .intro = intro, .end = end, .table = {{rows, 0}}};

static size_t cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

static double three_quarters(void) {
    return 0.75 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* What the server itself may take; and the largest file that it reads, for which others wait some seconds. */
static void limit_server(uint64_t memory) {
    const uint64_t least = 64 << 20, most_text = 64 << 20;
    if (memory)
        cb_jobs_limit_memory(memory > least ? memory : least);
    cb_text_most = memory && memory / 4 < most_text ? memory / 4 : most_text;
}

/* Those that were given, in their order. */
static void collect_roots(const struct cb_given *given, const char *roots[CB_LINE_OPTIONS + 1]) {
    size_t count = 0;
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->option[i].row->name, "root") == 0)
            roots[count++] = given->option[i].text;
    roots[count] = NULL;
}

int cb_command_mcp(int argc, char **argv) {
    struct options options = {.seconds = 86400, .iterations = 100000, .workers = cores()};
    struct cb_given given;
    const char *roots[CB_LINE_OPTIONS + 1];
    int code = cb_line_read(&cb_line_mcp, argc, argv, &options, &given);
    if (code != CB_GO_ON)
        return code;
    collect_roots(&given, roots);
    double memory = options.memory > 0 ? options.memory * 0x1p30 : three_quarters();
    struct cb_mcp *server = cb_mcp_new(&(struct cb_mcp_options){
        .roots = roots,
        .output = options.output,
        .limits = {.seconds = options.seconds,
                   .iterations = options.iterations,
                   .workers = options.workers,
                   .memory = memory < 0x1p62 ? (uint64_t)memory : 0},
    });
    if (!server) {
        const cobre_error *error = cobre_last_error();
        fprintf(stderr, "cobre mcp: %s\ncobre mcp:   %s\n", error->message, error->suggestion);
        return CB_EXIT_USAGE;
    }
    limit_server(server->limits.memory);
    bool good = cb_mcp_stdio(server);
    if (!good)
        fprintf(stderr, "cobre mcp: %s\n", strerror(errno));
    cb_mcp_free(server);
    return good ? 0 : CB_EXIT_FAILED;
}
