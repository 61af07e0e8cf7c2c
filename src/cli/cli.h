/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h: the parts of the `cobre` command. Each command gets its own name as argv[0] and returns the exit code. */
#ifndef COBRE_CLI_CLI_H
#define COBRE_CLI_CLI_H

#include "cli/command_line.h"

#include <stdio.h>

/* CB_EXIT_BROKEN: the communicator failed, and the launcher prints why. With the other codes the rank itself does. */
enum { CB_EXIT_FAILED = 1, CB_EXIT_USAGE, CB_EXIT_BROKEN, CB_EXIT_NOT_CONVERGED };

int cb_command_run(int argc, char **argv);
int cb_command_info(int argc, char **argv);
int cb_command_clean(int argc, char **argv);
int cb_command_bench(int argc, char **argv);
int cb_command_init(int argc, char **argv);
int cb_command_train(int argc, char **argv);
int cb_command_decide(int argc, char **argv);
int cb_command_simulate(int argc, char **argv);
int cb_command_policy(int argc, char **argv);
int cb_command_validate(int argc, char **argv);
int cb_command_report(int argc, char **argv);
int cb_command_compare(int argc, char **argv);
int cb_command_watch(int argc, char **argv);
int cb_command_mcp(int argc, char **argv);
int cb_command_agent(int argc, char **argv); /* not listed: `cobre run` starts it on other hosts */

extern const struct command_line cb_line_run, cb_line_info, cb_line_clean, cb_line_bench, cb_line_init, cb_line_train,
    cb_line_decide, cb_line_simulate, cb_line_policy, cb_line_validate, cb_line_report, cb_line_compare, cb_line_watch,
    cb_line_mcp;

/* `cobre info`: parts that a build may lack, or that need a library at run time, with LP solvers that are not found;
 * returns how many. And the LP solvers that are found, one per line. */
enum { CB_PARTS = 16 };
struct cb_part {
    const char *name;
    char problem[256]; /* "": it can be used */
};
size_t cb_parts(struct cb_part parts[CB_PARTS]);
void cb_solvers_print(void);

/* variables.c: tells of each variable of the environment that begins with COBRE_ and that cobre does not read. is_slip:
 * it is much like one that cobre reads, which `text` then names. */
void cb_unknown_variables(void (*tell)(void *arg, const char *text, bool is_slip), void *arg);

/* completion.c: offers completions of the words of this command, whose last word is incomplete. The second function
 * offers one word, if it begins with `before`. */
void cb_completion(const struct command_line *line, size_t count, char **words);
void cb_completion_offer(const char *begun, const char *before, const char *word, const char *meaning);

/* Writes a word of a command, in quotes where a POSIX shell needs them. */
void cb_shell_write(FILE *file, const char *word);

#endif
