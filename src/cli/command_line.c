/* SPDX-License-Identifier: Apache-2.0 */
/* command_line.c: parses the command line (getopt_long) and prints the help, both from tables of options. */
#include "cli/command_line.h"

#include "cli/cli.h"
#include "options/distance.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

enum { FIRST_LONG = 256, HELP_WIDTH = 79 /* of a terminal with 80 columns */ };

static const char help_name[] = "-h, --help";

int cb_usage_error(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "cobre%s%s: ", *command ? " " : "", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n'cobre %s%s--help' shows how it is used\n", command, *command ? " " : "");
    va_end(arguments);
    return CB_EXIT_USAGE;
}

static const char *dashes(const struct cb_option *row) {
    return row->name[1] ? "--" : "-";
}

/* "--stall N[,TOLERANCE]"; returns its length. */
static size_t row_name(const struct cb_option *row, char text[128]) {
    char values[64];
    cb_option_values(row, values);
    return (size_t)snprintf(text, 128, "%s%s%s%s", dashes(row), row->name, *values ? " " : "", values);
}

/* The rows of all tables one after the other, and as getopt_long wants them. */
struct view {
    struct option option[CB_LINE_OPTIONS + 2]; /* the last one is empty */
    char letters[2 * CB_LINE_OPTIONS + 4];
    struct {
        const struct cb_option *row;
        size_t offset;
    } place[CB_LINE_OPTIONS]; /* of each option; found by its `val` or its letter */
    size_t count, longs;
};

static void add_row(struct view *view, const struct cb_option *row, size_t offset) {
    bool has_value = row->value[0].kind != CB_VALUE_NONE;
    size_t at = view->count++, length = strlen(view->letters);
    view->place[at].row = row;
    view->place[at].offset = offset;
    if (row->name[1])
        view->option[view->longs++] = (struct option){
            .name = row->name, .has_arg = has_value ? required_argument : no_argument, .val = FIRST_LONG + (int)at};
    else
        snprintf(view->letters + length, sizeof view->letters - length, "%s%s", row->name, has_value ? ":" : "");
}

/* '+': what comes after a program's name is the program's. */
static void make_view(struct view *view, const struct command_line *line) {
    *view = (struct view){.option = {{.name = "help", .has_arg = no_argument, .val = 'h'}}, .longs = 1};
    strcpy(view->letters, line->words == CB_LINE_PROGRAM ? "+:h" : ":h");
    for (size_t t = 0; t < CB_LINE_TABLES && line->table[t].rows; t++)
        for (const struct cb_option *row = line->table[t].rows; row->name && view->count < CB_LINE_OPTIONS; row++)
            add_row(view, row, line->table[t].offset);
}

/* The words up to `end`. */
static void print_wrapped(const char *text, const char *end, size_t indent) {
    size_t column = indent;
    while (text < end) {
        size_t length = strcspn(text, " \n");
        if (column > indent && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        }
        column += (size_t)printf("%s%.*s", column > indent ? " " : "", (int)length, text);
        text += length + strspn(text + length, " \n");
    }
    putchar('\n');
}

/* Paragraphs; an empty line ends one. Those that begin with "usage" stay as they are. */
static void print_paragraphs(const char *text) {
    while (*text) {
        if (*text == '\n') {
            putchar(*text++);
            continue;
        }
        const char *end = strstr(text, "\n\n");
        end = end ? end : text + strlen(text) - 1; /* its last character ends the line */
        if (strncmp(text, "usage", 5) == 0)
            printf("%.*s\n", (int)(end - text), text);
        else
            print_wrapped(text, end, 0);
        text = end + 1;
    }
}

static void print_row(const struct cb_option *row, size_t width) {
    char name[128], text[512];
    size_t length = (size_t)snprintf(text, sizeof text, "%s", row->help);
    for (size_t i = 0; i < CB_OPTION_VALUES; i++)
        if (row->value[i].fallback && length < sizeof text)
            length += (size_t)snprintf(text + length, sizeof text - length, " (default: %s)", row->value[i].fallback);
    row_name(row, name);
    printf("  %-*s  ", (int)width, name);
    print_wrapped(text, text + strlen(text), width + 4);
}

static bool is_same_group(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void print_group(const struct view *view, const char *group, size_t width) {
    for (size_t i = 0; i < view->count; i++)
        if (view->place[i].row->help && is_same_group(view->place[i].row->group, group))
            print_row(view->place[i].row, width);
}

static size_t widest_name(const struct view *view) {
    char name[128];
    size_t widest = sizeof help_name - 1;
    for (size_t i = 0; i < view->count; i++) {
        size_t width = view->place[i].row->help ? row_name(view->place[i].row, name) : 0;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static bool is_first_of_group(const struct view *view, size_t at) {
    size_t i = 0;
    while (i < at && !is_same_group(view->place[i].row->group, view->place[at].row->group))
        i++;
    return i == at;
}

/* Rows without a group come first, with --help; then each group, which may have rows of several tables. */
void cb_line_help(const struct command_line *line) {
    struct view view;
    make_view(&view, line);
    size_t width = widest_name(&view);
    print_paragraphs(line->intro);
    print_group(&view, NULL, width);
    printf("  %-*s  show this\n", (int)width, help_name);
    for (size_t i = 0; i < view.count; i++) {
        const char *group = view.place[i].row->group;
        if (!group || !is_first_of_group(&view, i))
            continue;
        printf("\n%s%s", group, *group ? "\n" : "");
        print_group(&view, group, width);
    }
    if (line->end)
        print_paragraphs(line->end);
}

/* `count` when it is none of the options. */
static size_t find_place(const struct view *view, int found) {
    size_t at = 0;
    while (at < view->count && found != FIRST_LONG + (int)at &&
           (view->place[at].row->name[1] || found != view->place[at].row->name[0]))
        at++;
    return at;
}

/* The name of the option that `word`, "tme=5", was probably meant to be; NULL: none is close. */
static const char *find_closest(const struct view *view, const char *word) {
    char name[CB_DISTANCE_ROOM];
    const char *closest = NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; i < view->count; i++) {
        const struct cb_option *row = view->place[i].row;
        if (row->help && row->name[1] && cb_is_close(name, row->name) &&
            (!closest || cb_distance(name, row->name) < cb_distance(name, closest)))
            closest = row->name;
    }
    return closest;
}

/* For the '?' and ':' of getopt_long: says which option is wrong. Of a letter, getopt may not have passed the word yet: it
 * is known by optopt, which is 0 for a long option that is not there, and the `val` of one that is. */
static int refuse_option(const struct view *view, const char *command, int found, char **argv) {
    const char *word = argv[optind - 1];
    bool is_long = optopt == 0 || optopt == 'h' || optopt >= FIRST_LONG;
    if (found == ':' && is_long)
        return cb_usage_error(command, "%s needs a value", word);
    if (found == ':')
        return cb_usage_error(command, "-%c needs a value", optopt);
    if (optopt && is_long)
        return cb_usage_error(command, "%s takes no value", word);
    char letter[] = {'-', (char)optopt, '\0'};
    if (optopt) /* "-json" is the letters j, s, o, n to getopt, which stands at the first one */
        word = argv[optind] && strncmp(argv[optind], letter, 2) == 0 ? argv[optind] : letter;
    const char *closest = find_closest(view, word + strspn(word, "-"));
    return cb_usage_error(command, closest ? "there is no option %s; did you mean --%s?" : "there is no option %s",
                          word, closest);
}

/* "-np 4" is "-n p" to getopt. */
static int refuse_text(const char *command, const struct cb_option *row, const char *error, char **argv) {
    char name[128];
    bool joined = !row->name[1] && optarg == argv[optind - 1] + 2 && isalpha((unsigned char)*optarg);
    row_name(row, name);
    if (joined)
        return cb_usage_error(command, "there is no %s here: write %s", argv[optind - 1], name);
    return cb_usage_error(command, "%s%s%s%s", dashes(row), row->name, *error == ':' ? "" : " ", error);
}

/* False: it was there before, and may be there only once. */
static bool note(struct cb_given *given, const struct cb_option *row, const char *text) {
    size_t at = row->many && given->count < CB_LINE_OPTIONS ? given->count : 0;
    while (at < given->count && given->option[at].row != row)
        at++;
    bool before = at < given->count;
    given->option[at].row = row;
    given->option[at].text = text;
    given->count += !before;
    return !before || !row->once;
}

const char *cb_given_text(const struct cb_given *given, const char *name) {
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->option[i].row->name, name) == 0)
            return given->option[i].text;
    return NULL;
}

/* After the options. */
static int take_words(const struct command_line *line, int argc, char **argv, struct cb_given *given) {
    given->words = argv + optind;
    if (line->needs && optind == argc)
        return cb_usage_error(line->command, "no %s given", line->needs);
    if (line->words != CB_LINE_PROGRAM && optind + line->words < argc)
        return cb_usage_error(line->command, "unexpected argument '%s'", argv[optind + line->words]);
    return CB_GO_ON;
}

int cb_line_read(const struct command_line *line, int argc, char **argv, void *fields, struct cb_given *given) {
    struct view view;
    make_view(&view, line);
    given->count = 0;
    opterr = 0;
    optind = 0; /* a new command line: another one may have been read before */
    int found;
    while ((found = getopt_long(argc, argv, view.letters, view.option, NULL)) != -1) {
        if (found == 'h') {
            cb_line_help(line);
            return 0;
        }
        size_t at = find_place(&view, found);
        if (at == view.count)
            return refuse_option(&view, line->command, found, argv);
        const struct cb_option *row = view.place[at].row;
        char error[CB_OPTION_ERROR];
        if (!cb_option_set(row, row->name, optarg, (char *)fields + view.place[at].offset, error))
            return refuse_text(line->command, row, error, argv);
        if (!note(given, row, optarg))
            return cb_usage_error(line->command, "%s%s: give it once", dashes(row), row->name);
    }
    return take_words(line, argc, argv, given);
}
