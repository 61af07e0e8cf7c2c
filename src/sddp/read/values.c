/* SPDX-License-Identifier: Apache-2.0 */
/* values.c: reads states and noise that people write: "Furnas=40%,inflow[Furnas,1]=120", or a table with one per
 * line. Names may be in quotes: "\"a, b\"=3". */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/distance.h"
#include "sddp/read/csv.h"
#include "sddp/usual_floats.h"

typedef struct {
    const cobre_sddp_problem *problem;
    size_t node;
    bool noise;          /* else states */
    const double *state; /* noise: that comes in */
    size_t count;
    double *values; /* all of them, as they are after what has been read */
    bool *given;    /* what has been read */
    const char *file;
    size_t line; /* in `file`; 0: it is a text */
} reader;

static const char *name_of(const reader *r, size_t i) {
    return r->noise ? cb_random_name(&r->problem->node[r->node], i) : r->problem->state[i].name;
}

/* The X of storage[X], or of inflow[X] and noise[X]; *length of it. NULL: it has only its name. */
static const char *short_name(const reader *r, size_t i, size_t *length) {
    static const char *const kinds[2][3] = {{"storage["}, {"inflow[", "noise["}};
    const char *name = name_of(r, i);
    for (const char *const *kind = kinds[r->noise]; *kind; kind++) {
        size_t start = strlen(*kind), all = strlen(name);
        if (all > start + 1 && strncmp(name, *kind, start) == 0 && name[all - 1] == ']') {
            *length = all - start - 1;
            return name + start;
        }
    }
    return NULL;
}

static cobre_status fail(const reader *r, const char *advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static cobre_status fail(const reader *r, const char *advice, const char *format, ...) {
    char message[sizeof((cobre_error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (r->line)
        return cb_fail_at(COBRE_INVALID_ARGUMENT, r->file, r->line, advice, "%s", message);
    return cb_refuse("text", advice, "%s", message);
}

/* inflow[X] is X, also where a model makes the inflow of noise[X]. */
static size_t find(const reader *r, const char *name) {
    char within[512];
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(name_of(r, i), name) == 0)
            return i;
    size_t all = strlen(name);
    if (r->noise && all > 8 && all < sizeof within && strncmp(name, "inflow[", 7) == 0 && name[all - 1] == ']') {
        snprintf(within, sizeof within, "%.*s", (int)all - 8, name + 7);
        name = within;
    }
    for (size_t i = 0, length; i < r->count; i++) {
        const char *its = short_name(r, i, &length);
        if (its && strlen(name) == length && memcmp(its, name, length) == 0)
            return i;
    }
    return CB_NONE;
}

/* How people call it: as short as they may. */
static const char *called(const reader *r, size_t i, char name[128]) {
    size_t length;
    const char *its = short_name(r, i, &length), *whole = name_of(r, i);
    snprintf(name, 128, "%.*s", (int)(its ? length : strlen(whole)), its ? its : whole);
    return name;
}

/* The name that was meant, if about two thirds of the word are right; else CB_NONE. */
static size_t closest(const reader *r, const char *word) {
    size_t best = CB_NONE, least = strlen(word) / 3 + 2;
    for (size_t i = 0; i < r->count; i++) {
        char name[128];
        size_t brief = cb_distance(word, called(r, i, name)), whole = cb_distance(word, name_of(r, i));
        size_t distance = brief < whole ? brief : whole;
        best = distance < least ? i : best;
        least = distance < least ? distance : least;
    }
    return best;
}

static cobre_status unknown(const reader *r, const char *word) {
    enum { MOST = 12 };
    char known[700] = "", name[128];
    const char *kind = r->noise ? "random variable" : "state", *where = r->problem->node[r->node].name;
    for (size_t i = 0; i < r->count && i < MOST; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%.40s", i ? ", " : "", called(r, i, name));
    if (r->count > MOST)
        snprintf(known + strlen(known), sizeof known - strlen(known), " and %zu more", r->count - MOST);
    if (r->count == 0)
        return fail(r, "leave it out", "\"%.100s\": node %.100s has no %ss", word, where, kind);
    size_t meant = closest(r, word);
    return fail(
        r, meant == CB_NONE ? "use one of these names" : CB_TEXT("did you mean \"%s\"?", called(r, meant, name)),
        "\"%.100s\" is no %s of node %.100s; there %s %s", word, kind, where, r->count == 1 ? "is" : "are", known);
}

/* n % of a state's limits, or of the mean. */
static cobre_status share_of(const reader *r, size_t i, double share, double *value) {
    if (r->noise) {
        cb_effect effect = cb_effect_of(r->problem, r->node, i, r->state);
        *value = share * (effect.plain + effect.slope * cb_mean_noise(&r->problem->node[r->node], i));
        return COBRE_OK;
    }
    cb_range limits = cb_state_limits(r->problem, r->node, i);
    if (isinf(limits.lower) || isinf(limits.upper))
        return fail(r, "give a number", "state %s has no limits of which there could be %.10g %%", name_of(r, i),
                    100 * share);
    *value = limits.lower + share * (limits.upper - limits.lower);
    return COBRE_OK;
}

/* "120", "40%", "40 %" */
static cobre_status read_value(const reader *r, size_t i, const char *text, double *value) {
    char number[64];
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';
    length -= percent;
    while (length > 0 && strchr(" \t", text[length - 1]))
        length--;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (length >= sizeof number || !cb_csv_number(number, value))
        return fail(r, "write a number like 12.5, or a percentage like 40%", "%s: \"%.100s\" is not a number",
                    name_of(r, i), text);
    return percent ? share_of(r, i, *value / 100, value) : COBRE_OK;
}

/* "noise[X]=0.3" is the noise itself, as tables have it. */
static bool is_noise(const char *name, const char *text) {
    return strncmp(name, "noise[", 6) == 0 && !strchr(text, '%');
}

static cobre_status set(reader *r, const char *name, const char *text) {
    size_t i = find(r, name);
    char why[CB_LIMITS_ROOM];
    double value;
    if (i == CB_NONE)
        return unknown(r, name);
    if (r->given[i])
        return fail(r, "keep one", "%s is given twice", name_of(r, i));
    CB_TRY(read_value(r, i, text, &value));
    if (!r->noise && !cb_state_fits(r->problem, r->node, i, &value))
        return fail(r, "give a number within these limits, or a percentage of them", "%s",
                    cb_limits_text(r->problem, r->node, i, value, why));
    if (r->noise && !is_noise(name, text) && !cb_noise_for(r->problem, r->node, i, r->state, value, &value, why))
        return fail(r, cb_noise_advice(&r->problem->node[r->node]), "%s", why);
    r->values[i] = value;
    r->given[i] = true;
    return COBRE_OK;
}

/* Cuts blanks off both ends. */
static char *trim(char *text) {
    text += strspn(text, " \t");
    for (size_t length = strlen(text); length > 0 && strchr(" \t", text[length - 1]);)
        text[--length] = '\0';
    return text;
}

/* What follows a name in quotes, in which "" is a quote; the text itself, if it begins without one. */
static char *skip_quotes(char *text) {
    while (*text == '"') {
        text += 1 + strcspn(text + 1, "\"");
        text += *text == '"';
    }
    return text;
}

/* Takes off the quotes around a name. */
static char *unquote(char *name) {
    const char *end = skip_quotes(name);
    char *to = name;
    if (end == name || *end || end[-1] != '"')
        return name;
    for (const char *from = name + 1; from < end - 1; from += *from == '"' ? 2 : 1)
        *to++ = *from;
    *to = '\0';
    return name;
}

static cobre_status set_item(reader *r, char *item) {
    const char *advice = "write NAME=VALUE,NAME=VALUE, or the name of a file that ends in .csv";
    item = trim(item);
    char *equals = strrchr(skip_quotes(item), '=');
    if (equals)
        *equals = '\0';
    const char *name = unquote(trim(item)), *value = equals ? trim(equals + 1) : "";
    if (*name && !*value && !name[strspn(name, "0123456789%")])
        advice = "write a decimal point, not a comma";
    if (!*name)
        return fail(r, advice, "a name and its value are missing");
    return *value ? set(r, name, value) : fail(r, advice, "\"%.100s\" has no value", name);
}

/* The end of an item: a comma that is in no brackets and no quotes. */
static char *end_of(char *text) {
    int depth = 0;
    for (text = skip_quotes(text + strspn(text, " \t")); *text && (*text != ',' || depth > 0); text++)
        depth += *text == '[' ? 1 : *text == ']' ? -1 : 0;
    return text;
}

static cobre_status read_text(reader *r, const char *text) {
    char *copy = strdup(text);
    cobre_status status = copy ? COBRE_OK : cb_no_memory("a text", strlen(text));
    bool more = copy;
    for (char *item = copy, *end; more && !status; item = end + 1) {
        end = end_of(item);
        more = *end;
        *end = '\0';
        status = set_item(r, item);
    }
    free(copy);
    return status;
}

/* The columns that a table may have: names, and values. */
typedef struct {
    const char *name, *value;
} columns;
static const columns state_columns[] = {{"state", "value"}, {"hydro", "storage"}, {NULL, NULL}};
static const columns noise_columns[] = {{"random", "value"}, {"hydro", "inflow"}, {"inflow", "value"}, {NULL, NULL}};

static bool has_column(const cb_csv *table, const char *name) {
    for (size_t c = 0; c < table->columns; c++)
        if (strcasecmp(table->header[c], name) == 0)
            return true;
    return false;
}

static cobre_status read_rows(reader *r, cobre_sddp_builder *builder, cb_csv *table) {
    const columns *its = r->noise ? noise_columns : state_columns;
    while (its->name && !(has_column(table, its->name) && has_column(table, its->value)))
        its++;
    r->line = table->header_line;
    if (!its->name)
        return fail(r,
                    r->noise ? "name them random and value, or hydro and inflow"
                             : "name them state and value, or hydro and storage",
                    "there are no columns of names and values");
    size_t name = cb_csv_find(table, its->name), value = cb_csv_find(table, its->value);
    cb_csv_check_columns(builder, table);
    if (table->rows == 0 && builder->errors == 0)
        return fail(r, "add lines", "the table has no line");
    for (size_t row = 0; row < table->rows && builder->errors == 0; row++) {
        r->line = table->line[row];
        CB_TRY(set(r, cb_csv_text(table, row, name), cb_csv_text(table, row, value)));
    }
    return COBRE_OK;
}

/* Tables tell their errors to a builder. */
static cobre_status read_table(reader *r) {
    cobre_sddp_builder *builder;
    cb_csv table;
    CB_TRY(cobre_sddp_builder_new("", false, &builder));
    cobre_status status = cb_csv_read(builder, r->file, false, &table) ? read_rows(r, builder, &table) : COBRE_OK;
    if (builder->no_memory)
        status = cb_no_memory("a table", 0);
    if (!status && builder->errors > 0) {
        const cobre_sddp_issue *first = builder->issue;
        status = cb_fail_at(COBRE_INVALID_ARGUMENT, r->file, first->line, first->suggestion, "%s%s%s", first->place,
                            *first->place ? ": " : "", first->message);
    }
    cb_csv_free(&table);
    cobre_sddp_builder_free(&builder);
    return status;
}

static cobre_status read_values(reader *r, const char *text, double *values) {
    size_t length = strlen(text);
    bool is_file = length >= 4 && strcasecmp(text + length - 4, ".csv") == 0;
    r->values = malloc((r->count + 1) * sizeof *r->values);
    r->given = calloc(r->count + 1, sizeof *r->given);
    cobre_status status = r->values && r->given ? COBRE_OK : cb_no_memory("values", r->count * sizeof *r->values);
    if (!status) {
        memcpy(r->values, values, r->count * sizeof *values);
        r->file = is_file ? text : NULL;
        status = is_file ? read_table(r) : read_text(r, text);
    }
    if (!status)
        memcpy(values, r->values, r->count * sizeof *values);
    free(r->values);
    free(r->given);
    return status;
}

cobre_status cobre_sddp_state_from_text(const cobre_sddp_problem *problem, size_t node, const char *text,
                                        double *state) {
    CB_USUAL_FLOATS();
    if (!problem || !text || !state)
        return cb_refuse_null(!problem ? "problem" : text ? "state" : "text");
    if (node >= problem->nodes)
        return cb_refuse_node("node", problem, node);
    return read_values(&(reader){.problem = problem, .node = node, .count = problem->states}, text, state);
}

cobre_status cobre_sddp_noise_from_text(const cobre_sddp_problem *problem, size_t node, const double *state,
                                        const char *text, double *noise) {
    CB_USUAL_FLOATS();
    if (!problem || !text || !noise)
        return cb_refuse_null(!problem ? "problem" : text ? "noise" : "text");
    if (node >= problem->nodes)
        return cb_refuse_node("node", problem, node);
    double *in = malloc((problem->states + 1) * sizeof *in);
    cobre_status status = in ? cb_take_state(problem, node, state, in) : cb_no_memory("a state", problem->states);
    if (!status)
        status = read_values(
            &(reader){
                .problem = problem, .node = node, .noise = true, .state = in, .count = problem->node[node].randoms},
            text, noise);
    free(in);
    return status;
}
