/* main.c: `cobre COMMAND ...`. */
#include "cli/cli.h"
#include "cobre/comm.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {.name = "train", .summary = "train a policy for a case", .run = cb_command_train},
    {.name = "simulate", .summary = "simulate a policy, and write tables of what it does", .run = cb_command_simulate},
    {.name = "report", .summary = "draw a training and a simulation as one HTML page", .run = cb_command_report},
    {.name = "policy", .summary = "show what a policy holds, export its cuts", .run = cb_command_policy},
    {.name = "validate", .summary = "find every error of a case", .run = cb_command_validate},
    {.name = "run", .summary = "start the ranks of a program, here or on several machines", .run = cb_command_run},
    {.name = "info", .summary = "show what this build has and which backend would be used", .run = cb_command_info},
    {.name = "bench", .summary = "measure collectives on the backend that is selected", .run = cb_command_bench},
    {.name = "clean", .summary = "remove what killed jobs have left in shared memory", .run = cb_command_clean},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int cb_usage_error(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "cobre%s%s: ", *command ? " " : "", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n'cobre %s%s--help' shows how it is used\n", command, *command ? " " : "");
    va_end(arguments);
    return CB_EXIT_USAGE;
}

int cb_option_error(const char *command, int found, char **argv) {
    const char *word = argv[optind - 1];
    bool is_long = strncmp(word, "--", 2) == 0;
    if (found == ':' && is_long)
        return cb_usage_error(command, "%s needs a value", word);
    if (found == ':')
        return cb_usage_error(command, "-%c needs a value", optopt);
    if (optopt && !is_long)
        return cb_usage_error(command, "there is no option -%c", optopt);
    return cb_usage_error(command, optopt ? "%s takes no value" : "there is no option %s", word);
}

static void print_help(FILE *file) {
    fputs("usage: cobre COMMAND [argument ...]\n\n", file);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n  cobre help COMMAND    how to use it\n"
          "  cobre --version       the version\n"
          "\nThe environment variables that choose a backend are in cobre(7).\n",
          file);
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance, one row at a time. Command names are short; a longer word is far from all of them. */
static size_t distance(const char *word, const char *name) {
    enum { LONGEST = 15 };
    size_t row[LONGEST + 1], length = strlen(name);
    if (strlen(word) > LONGEST || length > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; word[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t best = smallest(row[j] + 1, row[j + 1] + 1, diagonal + (word[i] != name[j]));
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[length];
}

static int unknown_command(const char *word) {
    size_t best = 0;
    for (size_t i = 1; i < COMMANDS; i++)
        if (distance(word, commands[i].name) < distance(word, commands[best].name))
            best = i;
    if (distance(word, commands[best].name) <= 2)
        return cb_usage_error("", "there is no command '%s'; did you mean 'cobre %s'?", word, commands[best].name);
    return cb_usage_error("", "there is no command '%s'", word);
}

static int help(char *name) {
    const struct command *command = name ? find_command(name) : NULL;
    if (name && !command)
        return unknown_command(name);
    if (command) {
        char option[] = "--help", *words[] = {name, option, NULL};
        return command->run(2, words);
    }
    print_help(stdout);
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
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (errno != EPIPE) /* a reader that went, as `head` does, is no error */
            perror("cobre: standard output");
        return code ? code : 1;
    }
    return code;
}
