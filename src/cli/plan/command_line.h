/* command_line.h: a command line that is read by tables of options (sddp/run/options.h), and its help. */
#ifndef COBRE_CLI_PLAN_COMMAND_LINE_H
#define COBRE_CLI_PLAN_COMMAND_LINE_H

#include "sddp/run/options.h"

enum { CB_LINE_TABLES = 4, CB_LINE_GO_ON = -1 };

struct command_line {
    const char *command;     /* "train" */
    const char *intro, *end; /* of the help: what goes before and after the options */
    struct {
        const struct cb_option *rows; /* an option whose name is one letter is written as -n */
        void *fields;
    } table[CB_LINE_TABLES]; /* no rows: there are no more */
    const char *missing;     /* what to ask when there is no word besides the options */
    const char *word;        /* that word */
    char again[2048];        /* the options that a resume needs, too: " --seed 7 --gap" */
};

/* Sets the fields. CB_LINE_GO_ON, or the exit code after help or a message. */
int cb_line_read(struct command_line *line, int argc, char **argv);

/* One option of a command that reads its line by itself: 0, or the exit code after a message. */
int cb_line_set(const char *command, const struct cb_option *rows, const char *name, const char *text, void *fields);

#endif
