/* SPDX-License-Identifier: Apache-2.0 */
/* compare_table.c: the output of `cobre compare` for people, in lines of at most 100 characters.
 *
 * Two runs and their difference are three columns. With more runs each is a column, with its difference from the first one
 * below its value. Runs that do not fit follow in further tables, each again with the first run. */
#include "cli/plan/compare.h"

#include "cli/cli.h"
#include "sddp/run/compare.h"
#include "sddp/run/files.h"
#include "sddp/run/numbers.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 100, LABEL = 30, UNIT = 9, COLUMN = 10, ABREAST = 5, NOTES = 26 };

/* How errors were found, for those who read them. */
static const char *const methods[][2] = {
    {"pairs", "Errors of the total cost and of the worst 5 % are those of pairs: trajectories of the same number."},
    {"independent",
     "Other errors are as if the runs were independent, which is too large where runs share their noise."},
    {"shares", "The error of a probability is that of Agresti and Caffo, which holds for rare deficits, too."},
    {"stages", "Errors of means over the stages are upper limits: the means of the errors of the stages."}};
enum { METHODS = sizeof methods / sizeof *methods };

struct printer {
    const cobre_sddp_comparison *comparison;
    const char *note[NOTES]; /* those that letters stand for */
    size_t notes;
    bool marked, method[METHODS];
    cobre_sddp_compared last; /* the row before */
};

/* Letters, not bytes. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

static const char *skip(const char *text, size_t letters) {
    while (*text && letters > 0)
        for (text++, letters--; (*text & 0xc0) == 0x80;)
            text++;
    return text;
}

/* Names that differ mostly do so at their ends: what is too long loses its middle. */
static void put_fit(const char *text, size_t width, bool right) {
    size_t length = width_of(text), head = (width - 2) / 2;
    if (length > width) {
        const char *tail = skip(text, length - (width - 2 - head));
        printf("%.*s..%s", (int)(skip(text, head) - text), text, tail);
        return;
    }
    int blanks = (int)(width - length);
    printf("%*s%s%*s", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

static void put_wrapped(const char *text) {
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        char word[512];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (column > 0 && column + 1 + width_of(word) > LINE) {
            putchar('\n');
            column = 0;
        }
        printf("%s%s", column ? " " : "", word);
        column += width_of(word) + (column > 0);
        text += length + strspn(text + length, " ");
    }
    putchar('\n');
}

static double shown(const cobre_sddp_compared *row, double value) {
    return cb_compared_is_share(row) ? 100 * value : value;
}

static void put_number(double value, int digits, const char *before, size_t width) {
    char text[32], all[40];
    if (value == floor(value) && fabs(value) < 1e6)
        snprintf(text, sizeof text, "%.0f", value + 0.0);
    else
        cb_brief_text(value, digits, text);
    snprintf(all, sizeof all, "%s%s", isnan(value) ? "" : before, text);
    put_fit(all, width, true);
}

/* Each is a blank and COLUMN letters wide. */
static void put_value(const cobre_sddp_compared *row, double value) {
    putchar(' ');
    put_number(shown(row, value), 5, "", COLUMN);
}

static void put_difference(const cobre_sddp_compared *row, const cobre_sddp_difference *cell) {
    putchar(' ');
    put_number(shown(row, cell->difference), 4, cell->difference > 0 ? "+" : "", COLUMN);
}

static void put_error(const cobre_sddp_compared *row, const cobre_sddp_difference *cell) {
    putchar(' ');
    if (isnan(cell->error))
        put_fit("", COLUMN, true);
    else
        put_number(shown(row, cell->error), 3, "+-", COLUMN);
}

/* A star, or the letter of a note. */
static char mark_of(struct printer *to, const cobre_sddp_difference *cell) {
    size_t i = 0;
    for (size_t m = 0; m < METHODS; m++)
        to->method[m] |= strcmp(cell->method, methods[m][0]) == 0;
    if (!*cell->note) {
        to->marked |= cell->significant;
        return cell->significant ? '*' : ' ';
    }
    while (i < to->notes && strcmp(to->note[i], cell->note) != 0)
        i++;
    if (i == NOTES)
        return ' ';
    if (i == to->notes)
        to->note[to->notes++] = cell->note;
    return (char)('a' + i);
}

static void put_heading(struct printer *to, const cobre_sddp_compared *row) {
    char text[256];
    const cobre_sddp_compared *last = &to->last;
    bool stage = strcmp(row->over, "stage") == 0;
    bool new = !last->over || strcmp(last->over, row->over) != 0 ||
               (stage && (strcmp(last->kind, row->kind) != 0 || strcmp(last->level, row->level) != 0 ||
                          strcmp(last->element, row->element) != 0));
    to->last = *row;
    if (!new)
        return;
    cb_compared_words(row, text);
    printf("%s\n", stage                                ? text
                   : strcmp(row->over, "training") == 0 ? "training"
                   : strcmp(row->over, "stages") == 0   ? "means over the stages"
                                                        : "whole horizon");
}

static void put_label(const cobre_sddp_compared *row) {
    char text[256];
    cb_compared_words(row, text);
    if (strcmp(row->over, "stage") == 0 && *row->date)
        snprintf(text, sizeof text, "%s", row->date);
    else if (strcmp(row->over, "stage") == 0)
        snprintf(text, sizeof text, "step %zu", row->step);
    printf("  ");
    put_fit(text, LABEL - 2, false);
    putchar(' ');
    put_fit(cb_compared_is_share(row) ? "%" : row->unit, UNIT - 1, false);
}

static cobre_sddp_difference cell_of(const struct printer *to, size_t row, size_t run) {
    cobre_sddp_difference cell = {.struct_size = sizeof cell};
    cobre_sddp_comparison_difference(to->comparison, row, run, &cell);
    return cell;
}

static void print_pair(struct printer *to, const cobre_sddp_compared *row, size_t index) {
    cobre_sddp_difference first = cell_of(to, index, 0), second = cell_of(to, index, 1);
    put_label(row);
    put_value(row, first.value);
    put_value(row, second.value);
    put_difference(row, &second);
    put_error(row, &second);
    char mark = mark_of(to, &second);
    printf(mark == ' ' ? "\n" : " %c\n", mark);
}

/* The first run, and those from `from` on: values, differences with their marks, errors. */
static void print_several(struct printer *to, const cobre_sddp_compared *row, size_t index, size_t from, size_t end) {
    cobre_sddp_difference cell = cell_of(to, index, 0);
    put_label(row);
    put_value(row, cell.value);
    for (size_t r = from; r < end; r++) {
        cell = cell_of(to, index, r);
        put_value(row, cell.value);
        putchar(' ');
    }
    printf("\n%*s", LABEL + UNIT + 1 + COLUMN, "");
    for (size_t r = from; r < end; r++) {
        cell = cell_of(to, index, r);
        put_difference(row, &cell);
        putchar(mark_of(to, &cell));
    }
    printf("\n%*s", LABEL + UNIT + 1 + COLUMN, "");
    for (size_t r = from; r < end; r++) {
        cell = cell_of(to, index, r);
        put_error(row, &cell);
        putchar(' ');
    }
    putchar('\n');
}

static void put_name(const struct printer *to, size_t index) {
    cobre_sddp_compared_run run = {.struct_size = sizeof run};
    cobre_sddp_comparison_run(to->comparison, index, &run);
    putchar(' ');
    put_fit(run.name, COLUMN, true);
}

static void print_rows(struct printer *to, size_t from, size_t end) {
    bool pair = cobre_sddp_comparison_runs(to->comparison) == 2;
    to->last = (cobre_sddp_compared){.over = NULL};
    printf("\n%*s", LABEL + UNIT, "");
    put_name(to, 0);
    for (size_t r = from; r < end; r++) {
        put_name(to, r);
        printf("%s", pair ? "" : " ");
    }
    printf("%s\n", pair ? " difference   +- 95 %" : "");
    for (size_t i = 0; i < cobre_sddp_comparison_rows(to->comparison); i++) {
        cobre_sddp_compared row = {.struct_size = sizeof row};
        cobre_sddp_comparison_row(to->comparison, i, &row);
        put_heading(to, &row);
        if (pair)
            print_pair(to, &row, i);
        else
            print_several(to, &row, i, from, end);
    }
}

static void print_words(const cobre_sddp_comparison *comparison) {
    for (size_t i = 1; i < cobre_sddp_comparison_runs(comparison); i++) {
        cobre_sddp_compared_run run = {.struct_size = sizeof run};
        cobre_sddp_comparison_run(comparison, i, &run);
        if (*run.words)
            put_wrapped(run.words);
    }
}

static void print_legend(const struct printer *to) {
    putchar('\n');
    if (to->marked)
        puts("*  larger than the sampling error (95 %); of 20 figures that do not differ one is marked by chance");
    for (size_t i = 0; i < to->notes; i++)
        printf("%c  %s\n", (char)('a' + i), to->note[i]);
    for (size_t m = 0; m < METHODS; m++)
        if (to->method[m])
            put_wrapped(methods[m][1]);
    for (size_t i = 0; cobre_sddp_comparison_note(to->comparison, i); i++)
        put_wrapped(cobre_sddp_comparison_note(to->comparison, i));
}

/* The commands that make what is missing. They can be copied as they are. */
static void print_commands(const cobre_sddp_comparison *comparison) {
    for (size_t i = 0; i < comparison->runs; i++) {
        const struct cb_run *run = &comparison->run[i];
        const char *name = cb_fact(&run->results.summary, "case");
        char policy[PATH_MAX + 32];
        if (run->simulated && run->results.count > 0)
            continue;
        snprintf(policy, sizeof policy, "%s%s", run->path, run->results.folder ? "/" CB_FILE_POLICY : "");
        printf("  cobre simulate ");
        cb_shell_write(stdout, *name ? name : "CASE");
        printf(" --policy ");
        cb_shell_write(stdout, policy);
        putchar('\n');
    }
}

void cb_compare_print(const cobre_sddp_comparison *comparison) {
    struct printer to = {.comparison = comparison};
    size_t runs = cobre_sddp_comparison_runs(comparison);
    print_words(comparison);
    for (size_t from = 1; from < runs; from += ABREAST - 1)
        print_rows(&to, from, from + ABREAST - 1 < runs ? from + ABREAST - 1 : runs);
    print_legend(&to);
    print_commands(comparison);
}
