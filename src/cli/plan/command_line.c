/* command_line.c: getopt_long and the help, made of tables of options. */
#include "cli/plan/command_line.h"

#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPTIONS = 64, FIRST_LONG = 256, HELP_COLUMN = 24 };

static bool is_short(const struct cb_option *row) {
    return !row->name[1];
}

static const char *dashes(const struct cb_option *row) {
    return is_short(row) ? "-" : "--";
}

int cb_line_set(const char *command, const struct cb_option *rows, const char *name, const char *text, void *fields) {
    char error[CB_OPTION_ERROR];
    if (cb_option_set(rows, name, text, fields, error))
        return 0;
    return cb_usage_error(command, "%s%s %s", name[1] ? "--" : "-", name, error);
}

static void print_row(const struct cb_option *row) {
    char values[64], left[128];
    if (!row->help)
        return;
    cb_option_values(row, values);
    snprintf(left, sizeof left, "%s%s%s%s", dashes(row), row->name, *values ? " " : "", values);
    printf("  %-*s%s", HELP_COLUMN, left, row->help);
    for (size_t i = 0; i < CB_OPTION_VALUES; i++)
        if (row->value[i].fallback)
            printf(" (%s)", row->value[i].fallback);
    putchar('\n');
}

static bool is_same_group(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The rows of one group, which may come from several tables. */
static void print_group(const struct command_line *line, const char *group) {
    for (size_t t = 0; t < CB_LINE_TABLES && line->table[t].rows; t++)
        for (const struct cb_option *row = line->table[t].rows; row->name; row++)
            if (is_same_group(row->group, group))
                print_row(row);
}

/* Each group where its first row comes. Rows without a group come first, with --help. */
static void print_help(const struct command_line *line) {
    const char *shown[MOST_OPTIONS] = {NULL};
    size_t groups = 1;
    fputs(line->intro, stdout);
    print_group(line, NULL);
    printf("  %-*s%s\n", HELP_COLUMN, "-h, --help", "show this");
    for (size_t t = 0; t < CB_LINE_TABLES && line->table[t].rows; t++)
        for (const struct cb_option *row = line->table[t].rows; row->name; row++) {
            size_t known = 0;
            while (known < groups && !is_same_group(shown[known], row->group))
                known++;
            if (known < groups)
                continue;
            shown[groups++] = row->group;
            printf("\n%s%s", row->group, *row->group ? "\n" : "");
            print_group(line, row->group);
        }
    fputs(line->end, stdout);
}

/* The tables as getopt_long wants them. */
struct view {
    struct option option[MOST_OPTIONS + 2]; /* the last one is empty */
    char letters[2 * MOST_OPTIONS + 4];
    struct {
        const struct cb_option *rows, *row;
        void *fields;
    } place[MOST_OPTIONS]; /* of each option; found by its `val` or its letter */
    size_t count, longs;
};

static void add_row(struct view *view, const struct cb_option *rows, const struct cb_option *row, void *fields) {
    bool has_value = row->value[0].kind != CB_VALUE_NONE;
    size_t at = view->count++, length = strlen(view->letters);
    view->place[at].rows = rows;
    view->place[at].row = row;
    view->place[at].fields = fields;
    if (is_short(row))
        snprintf(view->letters + length, sizeof view->letters - length, "%s%s", row->name, has_value ? ":" : "");
    else
        view->option[view->longs++] = (struct option){
            .name = row->name, .has_arg = has_value ? required_argument : no_argument, .val = FIRST_LONG + (int)at};
}

static void make_view(struct view *view, const struct command_line *line) {
    *view =
        (struct view){.letters = ":h", .option = {{.name = "help", .has_arg = no_argument, .val = 'h'}}, .longs = 1};
    for (size_t t = 0; t < CB_LINE_TABLES && line->table[t].rows; t++)
        for (const struct cb_option *row = line->table[t].rows; row->name && view->count < MOST_OPTIONS; row++)
            add_row(view, line->table[t].rows, row, line->table[t].fields);
}

/* `count` when it is none of the options. */
static size_t find_place(const struct view *view, int found) {
    size_t at = 0;
    while (at < view->count && found != FIRST_LONG + (int)at &&
           !(is_short(view->place[at].row) && found == view->place[at].row->name[0]))
        at++;
    return at;
}

static void note(struct command_line *line, const struct cb_option *row, const char *text) {
    size_t length = strlen(line->again);
    if (row->again)
        snprintf(line->again + length, sizeof line->again - length, " %s%s%s%s", dashes(row), row->name,
                 text ? " " : "", text ? text : "");
}

int cb_line_read(struct command_line *line, int argc, char **argv) {
    struct view view;
    make_view(&view, line);
    opterr = 0;
    int found;
    while ((found = getopt_long(argc, argv, view.letters, view.option, NULL)) != -1) {
        if (found == 'h') {
            print_help(line);
            return 0;
        }
        size_t at = find_place(&view, found);
        if (at == view.count)
            return cb_option_error(line->command, found, argv);
        const struct cb_option *row = view.place[at].row;
        int code = cb_line_set(line->command, view.place[at].rows, row->name, optarg, view.place[at].fields);
        if (code)
            return code;
        note(line, row, optarg);
    }
    if (optind == argc)
        return cb_usage_error(line->command, "%s", line->missing);
    if (optind + 1 < argc)
        return cb_usage_error(line->command, "'%s' is one word too many", argv[optind + 1]);
    line->word = argv[optind];
    return CB_LINE_GO_ON;
}
