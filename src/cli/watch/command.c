/* SPDX-License-Identifier: Apache-2.0 */
/* command.c: `cobre watch`. It has no communicator: it watches a training from outside. */
#include "cli/cli.h"
#include "cli/watch/watch.h"

#include <string.h>

static const char intro[] =
    "usage: cobre watch RUN [--ascii]\n"
    "       cobre watch RUN --send 'WORDS'\n"
    "       cobre train CASE --json | cobre watch -\n"
    "\n"
    "Shows a training on the terminal while it runs, or what it has done: convergence, time, cuts, memory,\n"
    "communication. RUN is the folder of its results. Keys pause it, stop it, save its policy and change its\n"
    "stopping rules; ? lists them.\n"
    "\n";

struct options {
    bool ascii;
    const char *send;
};

static const struct cb_option rows[] = {
    {.name = "ascii", .help = "draw with the letters of ASCII only", .given = CB_FIELD(struct options, ascii)},
    {.name = "send",
     .help = "send a command, print the answer and end: pause, resume, stop, checkpoint, rule NAME VALUE",
     .value =
         {{.name = "WORDS", .kind = CB_VALUE_TEXT, .field = CB_FIELD(struct options, send), .missing = "a command"}}},
    {.name = NULL},
};

const struct command_line cb_line_watch = {.command = "watch",
                                           .intro = intro,
                                           .end = "\nSee cobre-watch(1).\n",
                                           .table = {{rows, 0}},
                                           .needs = "folder",
                                           .words = 1};

int cb_command_watch(int argc, char **argv) {
    struct options options = {.send = NULL};
    struct cb_given given;
    int code = cb_line_read(&cb_line_watch, argc, argv, &options, &given);
    if (code != CB_GO_ON)
        return code;
    bool pipe = strcmp(given.words[0], "-") == 0;
    if (pipe && options.send)
        return cb_usage_error("watch", "--send needs the folder of a training, not '-'");
    if (options.send)
        return cb_watch_send(given.words[0], options.send);
    const struct cb_watch how = {.command = "watch", .folder = pipe ? NULL : given.words[0], .ascii = options.ascii};
    return cb_watch_run(&how);
}
