/* cli.h: the parts of the `cobre` command. Each command gets its own name as argv[0] and returns the exit code. */
#ifndef COBRE_CLI_CLI_H
#define COBRE_CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CB_EXIT_USAGE = 2 };

int cb_command_run(int argc, char **argv);
int cb_command_info(int argc, char **argv);
int cb_command_clean(int argc, char **argv);
int cb_command_bench(int argc, char **argv);
int cb_command_train(int argc, char **argv);
int cb_command_simulate(int argc, char **argv);
int cb_command_policy(int argc, char **argv);
int cb_command_validate(int argc, char **argv);
int cb_command_report(int argc, char **argv);
int cb_command_agent(int argc, char **argv); /* not listed: `cobre run` starts it on other hosts */

/* Prints "cobre COMMAND: text" and where to find help; returns CB_EXIT_USAGE. */
int cb_usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For the '?' and ':' of getopt_long (opterr 0, optstring "+:..."): says which option is wrong. */
int cb_option_error(const char *command, int found, char **argv);

/* Writes a word of a command, in quotes where a POSIX shell needs them. */
void cb_shell_write(FILE *file, const char *word);

/* Writes text as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD. */
void cb_json_write(FILE *file, const char *text);

/* One line of error JSON, read back. `depth` is 1 for the members of the object itself, 2 for those of "context". False
 * when there is no such member of that type. Control characters come out as blanks: the text goes to a terminal. */
bool cb_json_string(const char *json, int depth, const char *key, char *text, size_t len);
bool cb_json_number(const char *json, int depth, const char *key, uint64_t *number);

#endif
