/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: `cobre COMMAND ...`. */
#include "cli/cli.h"
#include "cobre/comm.h"
#include "options/distance.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const struct command_line *line;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {.line = &cb_line_init, .run = cb_command_init, .summary = "make a small case to start from"},
    {.line = &cb_line_train, .run = cb_command_train, .summary = "train a policy for a case"},
    {.line = &cb_line_watch, .run = cb_command_watch, .summary = "show a training while it runs, and steer it"},
    {.line = &cb_line_decide, .run = cb_command_decide, .summary = "say what a policy decides in a given state"},
    {.line = &cb_line_simulate,
     .run = cb_command_simulate,
     .summary = "simulate a policy, and write tables of what it does"},
    {.line = &cb_line_report, .run = cb_command_report, .summary = "draw a training and a simulation as one HTML page"},
    {.line = &cb_line_compare,
     .run = cb_command_compare,
     .summary = "put runs side by side, and say which differences are real"},
    {.line = &cb_line_policy, .run = cb_command_policy, .summary = "show what a policy holds, export its cuts"},
    {.line = &cb_line_validate, .run = cb_command_validate, .summary = "find every error of a case"},
    {.line = &cb_line_mcp,
     .run = cb_command_mcp,
     .summary = "let an assistant run and question studies (Model Context Protocol)"},
    {.line = &cb_line_run,
     .run = cb_command_run,
     .summary = "start the ranks of a program, here or on several machines"},
    {.line = &cb_line_info,
     .run = cb_command_info,
     .summary = "show what this build has and which backend would be used"},
    {.line = &cb_line_bench, .run = cb_command_bench, .summary = "measure collectives on the backend that is selected"},
    {.line = &cb_line_clean, .run = cb_command_clean, .summary = "remove what killed jobs have left in shared memory"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* What else can be the first word. */
static const struct {
    const char *word, *meaning;
} others[] = {{"help", "how to use a command"}, {"--help", "show the commands"}, {"--version", "the version"}};

static void print_help(FILE *file) {
    fputs("usage: cobre COMMAND [argument ...]\n\n", file);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-8s  %s\n", commands[i].line->command, commands[i].summary);
    fputs("\n  cobre help COMMAND    how to use it\n"
          "  cobre --version       the version\n"
          "\nThe environment variables that choose a backend are in cobre(7).\n",
          file);
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].line->command, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *word) {
    size_t best = 0;
    for (size_t i = 1; i < COMMANDS; i++)
        if (cb_distance(word, commands[i].line->command) < cb_distance(word, commands[best].line->command))
            best = i;
    if (cb_distance(word, commands[best].line->command) <= 2)
        return cb_usage_error("", "there is no command '%s'; did you mean 'cobre %s'?", word,
                              commands[best].line->command);
    return cb_usage_error("", "there is no command '%s'", word);
}

static int help(char *name) {
    const struct command *command = name ? find_command(name) : NULL;
    if (name && !command)
        return unknown_command(name);
    if (command && !command->line->intro) /* it is not in this build */
        return command->run(1, &name);
    if (command)
        cb_line_help(command->line);
    else
        print_help(stdout);
    return 0;
}

/* `cobre completion WORD...` is asked by shells, see completion.c. */
static int complete(size_t count, char **words) {
    const struct command *command = count > 1 ? find_command(words[0]) : NULL;
    if (command && command->line->intro) /* else it is not in this build */
        cb_completion(command->line, count - 1, words + 1);
    if (count == 1 || (count == 2 && strcmp(words[0], "help") == 0))
        for (size_t i = 0; i < COMMANDS; i++)
            cb_completion_offer(words[count - 1], "", commands[i].line->command, commands[i].summary);
    if (count == 1)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            cb_completion_offer(words[0], "", others[i].word, others[i].meaning);
    return 0;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return CB_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "help") == 0)
        return help(argv[2]);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(NULL);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("cobre %s\n", cobre_version());
        return 0;
    }
    if (strcmp(word, "agent") == 0)
        return cb_command_agent(argc - 1, argv + 1);
    if (strcmp(word, "completion") == 0)
        return complete((size_t)argc - 2, argv + 2);
    const struct command *command = find_command(word);
    if (command)
        return command->run(argc - 1, argv + 1);
    return word[0] == '-' ? cb_usage_error("", "there is no option %s", word) : unknown_command(word);
}

/* A closed 0, 1 or 2 would otherwise become one of our files or pipes, and what is printed would go there. */
static void open_standard_streams(void) {
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv) {
    open_standard_streams();
    int code = dispatch(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE) { /* a reader may go, as `head` does */
        perror("cobre: standard output");
        return code ? code : 1;
    }
    return code;
}
