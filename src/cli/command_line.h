/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.h: the command line of a command and its help, by tables of options (options/options.h). */
#ifndef COBRE_CLI_COMMAND_LINE_H
#define COBRE_CLI_COMMAND_LINE_H

#include "options/options.h"

enum { CB_LINE_TABLES = 8, CB_LINE_OPTIONS = 64, CB_LINE_PROGRAM = -1 };

/* The result of a step of a command (reading options, opening, loading, starting) if the command goes on. Any other
 * value is the exit code: the command ends, and has printed its messages. */
enum { CB_GO_ON = -1 };

/* Texts that several commands share. */
#define CB_JSON_HELP "JSON on standard output, for programs"

/* The possible options and arguments. */
struct command_line {
    const char *command;     /* "train" */
    const char *intro, *end; /* of the help: the texts before and after the options */
    struct {
        const struct cb_option *rows; /* an option whose name is one letter is written as -n */
        size_t offset;                /* of the rows' struct in the command's struct */
    } table[CB_LINE_TABLES];          /* no rows: there are no more */
    const char *needs;                /* the argument that must be given besides the options: "case"; NULL: none */
    int words;                        /* the most arguments; CB_LINE_PROGRAM: a program and its arguments */
};

/* The given options and arguments. */
struct cb_given {
    char **words; /* NULL after the last */
    struct {
        const struct cb_option *row;
        const char *text; /* NULL: a flag */
    } option[CB_LINE_OPTIONS];
    size_t count; /* of options. Each appears once, with its last text, unless it may be given several times */
};

/* Sets the fields of the command's struct. CB_GO_ON, or the exit code. */
int cb_line_read(const struct command_line *line, int argc, char **argv, void *fields, struct cb_given *given);
void cb_line_help(const struct command_line *line);

/* The text of an option; NULL: it was not given. */
const char *cb_given_text(const struct cb_given *given, const char *name);

/* Prints "cobre COMMAND: text" and where to find help; returns CB_EXIT_USAGE. */
int cb_usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
