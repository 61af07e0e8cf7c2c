/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c: completes a command line for the shells. Their scripts (folder completion) call `cobre completion
 * WORD...`, where the last word is incomplete. Each answer is a line: the word, a tab, and its meaning. No answer means
 * a file, or a value that the tables do not know. */
#include "cli/cli.h"
#include "cli/json.h"
#include "comm/select.h"

#include <string.h>

void cb_completion_offer(const char *begun, const char *before, const char *word, const char *meaning) {
    size_t first = strlen(before), length = strlen(begun);
    if (strncmp(begun, before, length < first ? length : first) != 0)
        return;
    if (length > first && strncmp(begun + first, word, length - first) != 0)
        return;
    printf("%s%s\t%s\n", before, word, meaning);
}

static const struct cb_option *find_row(const struct command_line *line, const char *name, size_t length) {
    for (size_t t = 0; t < CB_LINE_TABLES && line->table[t].rows; t++)
        for (const struct cb_option *row = line->table[t].rows; row->name; row++)
            if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
                return row;
    return NULL;
}

/* The option that the word is, "--seed" or "-n" or "--seed=5"; NULL: it is none. */
static const struct cb_option *option_of(const struct command_line *line, const char *word) {
    size_t dashes = strspn(word, "-"), length = strcspn(word + dashes, "=");
    return dashes == 1 + (length > 1) ? find_row(line, word + dashes, length) : NULL;
}

static bool takes_value(const struct cb_option *row) {
    return row && row->value[0].kind != CB_VALUE_NONE;
}

static void offer_options(const struct command_line *line, const char *begun) {
    for (size_t t = 0; t < CB_LINE_TABLES && line->table[t].rows; t++)
        for (const struct cb_option *row = line->table[t].rows; row->name; row++)
            if (row->help)
                cb_completion_offer(begun, row->name[1] ? "--" : "-", row->name, row->help);
    cb_completion_offer(begun, "--", "help", "show how the command is used");
}

/* Those whose ranks `cobre run` starts, and that find each other. */
static void offer_backends(const char *begun, const char *before) {
    for (cobre_backend b = cb_first_backend(); b; b = cb_next_backend(b))
        if (cb_built_in(b) && cb_backend_at(b)->launch && !cb_backend_at(b)->alone)
            cb_completion_offer(begun, before, cobre_backend_name(b), "");
}

static void offer_solvers(const char *begun, const char *before) {
    json_t *solvers = cb_solvers_json();
    for (size_t i = 0; i < json_array_size(solvers); i++) {
        const json_t *solver = json_array_get(solvers, i);
        if (json_is_null(json_object_get(solver, "problem")))
            cb_completion_offer(begun, before, json_string_value(json_object_get(solver, "name")),
                                json_string_value(json_object_get(solver, "version")));
    }
    json_decref(solvers);
}

/* Options whose values are known when the command runs only. */
static const struct {
    const char *name;
    void (*offer)(const char *begun, const char *before);
} known[] = {{"backend", offer_backends}, {"solver", offer_solvers}};

static void offer_values(const struct cb_option *row, const char *begun, const char *before) {
    for (const struct cb_choice *choice = row->value[0].choices; choice && choice->word; choice++)
        cb_completion_offer(begun, before, choice->word, "");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(row->name, known[i].name) == 0)
            known[i].offer(begun, before);
}

/* Have the options ended before the last word: by "--", or by the program of `cobre run`? */
static bool have_options_ended(const struct command_line *line, size_t count, char **words) {
    for (size_t i = 0; i + 1 < count; i++) {
        if (strcmp(words[i], "--") == 0 || (line->words == CB_LINE_PROGRAM && words[i][0] != '-'))
            return true;
        i += takes_value(option_of(line, words[i])) && !strchr(words[i], '=');
    }
    return false;
}

/* Bash makes three words of --seed=5. */
static const struct cb_option *waiting_option(const struct command_line *line, size_t count, char **words,
                                              const char **begun) {
    size_t last = count - 1;
    if (strcmp(words[last], "=") == 0)
        *begun = "";
    if (last > 0 && (strcmp(words[last], "=") == 0 || strcmp(words[last - 1], "=") != 0))
        return option_of(line, words[last - 1]);
    return last > 1 ? option_of(line, words[last - 2]) : NULL;
}

void cb_completion(const struct command_line *line, size_t count, char **words) {
    if (count == 0 || have_options_ended(line, count, words))
        return;
    const char *begun = words[count - 1], *equals = strchr(begun, '=');
    const struct cb_option *row = waiting_option(line, count, words, &begun), *own = option_of(line, words[count - 1]);
    if (takes_value(row)) {
        offer_values(row, begun, "");
    } else if (begun[0] == '-' && equals && takes_value(own)) {
        char before[64];
        snprintf(before, sizeof before, "%.*s", (int)(equals - begun) + 1, begun);
        offer_values(own, begun, before);
    } else if (begun[0] == '-') {
        offer_options(line, begun);
    }
}
