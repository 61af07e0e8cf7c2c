/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: from the text of an option to the fields that it sets. */
#include "options/options.h"

#include "comm/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A text in a message: cut, so that what is wrong with it has room. */
#define SHOWN "%.256s"

struct parsed {
    uint64_t count; /* or the value of a choice */
    double real;
    const char *text;
};

const struct cb_option *cb_option_find(const struct cb_option *rows, const char *name) {
    while (rows->name && strcmp(rows->name, name) != 0)
        rows++;
    return rows->name ? rows : NULL;
}

const char *cb_option_values(const struct cb_option *row, char text[64]) {
    const struct cb_value *first = &row->value[0], *second = &row->value[1];
    snprintf(text, 64,
             second->kind && second->optional ? "%s[,%s]"
             : second->kind                   ? "%s,%s"
                                              : "%s",
             first->kind ? first->name : "", second->kind ? second->name : "");
    return text;
}

static bool is_blank(const char *text) {
    return !text[strspn(text, " \t")];
}

/* NULL, or what is wrong. */
static const char *parse_real(const char *text, double *real) {
    char *end;
    *real = strtod(text, &end);
    return end == text || *end || !isfinite(*real) ? "not a number" : NULL;
}

static const char *parse_seconds(const char *text, double *seconds) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    *seconds = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && isfinite(*seconds)) {
            *seconds *= units[i].seconds;
            return NULL;
        }
    return "not a time; write seconds, or 90s, 15m, 2h, 1d";
}

/* Without a unit it is no time. */
static const char *parse_every(const char *text, uint64_t *count, double *seconds) {
    *count = 0;
    *seconds = 0;
    if (cb_parse_whole(text, count))
        return NULL;
    bool has_unit = *text && strchr("smhdn", text[strlen(text) - 1]);
    return has_unit && !parse_seconds(text, seconds) && *seconds > 0
               ? NULL
               : "not a number of iterations or a time; write 50, 300s or 5min";
}

static const char *parse_choice(const char *text, const struct cb_choice *choices, uint64_t *value, char words[128]) {
    size_t length = 0;
    for (const struct cb_choice *choice = choices; choice->word; choice++) {
        if (strcmp(text, choice->word) == 0) {
            *value = choice->value;
            return NULL;
        }
        const char *before = choice == choices ? "must be " : choice[1].word ? ", " : " or ";
        int more = snprintf(words + length, 128 - length, "%s%s", before, choice->word);
        length = more > 0 && length + (size_t)more < 128 ? length + (size_t)more : 127;
    }
    return words;
}

static const char *check_range(const struct cb_value *value, double number, char text[128]) {
    bool high = value->most != 0 && number > value->most;
    if (!high && (value->above ? number > value->least : number >= value->least))
        return NULL;
    if (value->most != 0)
        snprintf(text, 128, value->above ? "must be above %g and at most %g" : "must be from %g to %g", value->least,
                 value->most);
    else
        snprintf(text, 128, value->above ? "must be above %g" : "must be at least %g", value->least);
    return text;
}

static bool are_digits(const char *text) {
    return *text && text[strspn(text, "0123456789")] == 0;
}

/* NULL, or what is wrong; `room` is for the words of that. */
static const char *parse(const struct cb_value *value, const char *text, struct parsed *parsed, char room[128]) {
    const char *wrong = NULL;
    switch (value->kind) {
    case CB_VALUE_NONE: return NULL;
    case CB_VALUE_TEXT:
        parsed->text = text;
        if (!value->missing || !is_blank(text))
            return NULL;
        snprintf(room, 128, "%s is missing", value->missing);
        return room;
    case CB_VALUE_CHOICE: return parse_choice(text, value->choices, &parsed->count, room);
    case CB_VALUE_SECONDS: wrong = parse_seconds(text, &parsed->real); break;
    case CB_VALUE_EVERY: return parse_every(text, &parsed->count, &parsed->real);
    case CB_VALUE_REAL: wrong = parse_real(text, &parsed->real); break;
    case CB_VALUE_COUNT:
        if (!cb_parse_whole(text, &parsed->count) ||
            (value->field.size < sizeof parsed->count && parsed->count >> 8 * value->field.size))
            wrong = are_digits(text)                    ? "too large"
                    : are_digits(text + (*text == '-')) ? "negative"
                                                        : "not a whole number";
        parsed->real = (double)parsed->count;
        break;
    }
    return wrong ? wrong : check_range(value, parsed->real, room);
}

static void store(const struct cb_value *value, const struct parsed *parsed, void *fields) {
    unsigned char *place = (unsigned char *)fields + value->field.offset;
    uint32_t half = (uint32_t)parsed->count;
    bool yes = parsed->count != 0;
    if (value->kind == CB_VALUE_TEXT)
        memcpy(place, &parsed->text, sizeof parsed->text);
    else if (value->kind == CB_VALUE_REAL || value->kind == CB_VALUE_SECONDS)
        memcpy(place, &parsed->real, sizeof parsed->real);
    else if (value->field.size == sizeof parsed->count)
        memcpy(place, &parsed->count, sizeof parsed->count);
    else if (value->field.size == sizeof half)
        memcpy(place, &half, sizeof half);
    else
        memcpy(place, &yes, sizeof yes);
    if (value->kind == CB_VALUE_EVERY)
        memcpy((unsigned char *)fields + value->time.offset, &parsed->real, sizeof parsed->real);
}

static bool fail(char error[CB_OPTION_ERROR], const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(char error[CB_OPTION_ERROR], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, CB_OPTION_ERROR, format, arguments);
    va_end(arguments);
    return false;
}

/* Of two values the wrong one is named. */
static bool fail_value(const struct cb_option *row, const struct cb_value *value, const char *text, const char *wrong,
                       char error[CB_OPTION_ERROR]) {
    if (!row->value[1].kind)
        return fail(error, SHOWN ": %s", is_blank(text) ? "" : text, wrong);
    const char *is = strncmp(wrong, "not ", 4) == 0 ? "is " : "";
    return fail(error, SHOWN ": %s %s%s", text, value->name, is, wrong);
}

/* What follows "name=", in either case; NULL: it is not there. */
static const char *after_name(const char *part, const char *name) {
    size_t length = strlen(name);
    return strncasecmp(part, name, length) == 0 && part[length] == '=' ? part + length + 1 : NULL;
}

/* Two values may have their names before them, and then come in any order. False: only one has, or another name. */
static bool take_names(const struct cb_option *row, const char *part[CB_OPTION_VALUES]) {
    if (!part[1] || (!strchr(part[0], '=') && !strchr(part[1], '=')))
        return true;
    for (size_t swapped = 0; swapped < 2; swapped++) {
        const char *first = after_name(part[swapped], row->value[0].name);
        const char *second = after_name(part[!swapped], row->value[1].name);
        if (first && second) {
            part[0] = first;
            part[1] = second;
            return true;
        }
    }
    return false;
}

static bool parse_all(const struct cb_option *row, const char *text, struct parsed parsed[CB_OPTION_VALUES],
                      size_t *count, char error[CB_OPTION_ERROR]) {
    char first[64], room[128];
    const char *part[CB_OPTION_VALUES] = {text, NULL};
    if (row->value[1].kind) {
        size_t length = strcspn(text, ",");
        part[1] = text[length] ? text + length + 1 : NULL;
        part[0] = first;
        if (!part[1] && !row->value[1].optional)
            return fail(error, SHOWN ": needs two values: %s", text, cb_option_values(row, room));
        if (snprintf(first, sizeof first, "%.*s", (int)length, text) >= (int)sizeof first)
            return fail(error, SHOWN ": not a number", text);
        if (!take_names(row, part))
            return fail(error, SHOWN ": write %s, or both with their names: %s=..,%s=..", text,
                        cb_option_values(row, room), row->value[0].name, row->value[1].name);
    }
    for (*count = 0; *count < CB_OPTION_VALUES && part[*count]; ++*count) {
        const struct cb_value *value = &row->value[*count];
        const char *wrong = parse(value, part[*count], &parsed[*count], room);
        if (wrong)
            return fail_value(row, value, text, wrong, error);
    }
    return true;
}

bool cb_option_set(const struct cb_option *rows, const char *name, const char *text, void *fields,
                   char error[CB_OPTION_ERROR]) {
    const struct cb_option *row = cb_option_find(rows, name);
    char values[64];
    struct parsed parsed[CB_OPTION_VALUES];
    size_t count = 0;
    if (!row)
        return fail(error, "there is no option %s", name);
    bool flag = !row->value[0].kind;
    if (flag && text)
        return fail(error, SHOWN ": takes no value", text);
    if (!flag && !text)
        return fail(error, "needs a value: %s", cb_option_values(row, values));
    if (!flag && !parse_all(row, text, parsed, &count, error))
        return false;
    for (size_t i = 0; i < count; i++)
        store(&row->value[i], &parsed[i], fields);
    if (row->given.size)
        memcpy((unsigned char *)fields + row->given.offset, &(bool){true}, sizeof(bool));
    return true;
}

static uint64_t load_count(struct cb_field field, const void *fields) {
    const unsigned char *place = (const unsigned char *)fields + field.offset;
    uint64_t count = 0;
    uint32_t half;
    bool yes;
    if (field.size == sizeof count)
        memcpy(&count, place, sizeof count);
    else if (field.size == sizeof half)
        count = (memcpy(&half, place, sizeof half), half);
    else if (field.size == sizeof yes)
        count = (memcpy(&yes, place, sizeof yes), yes);
    return count;
}

/* False: it is 0. */
static bool value_text(const struct cb_value *value, const void *fields, char text[32]) {
    uint64_t count = load_count(value->field, fields);
    double real;
    if (value->kind == CB_VALUE_REAL || value->kind == CB_VALUE_SECONDS) {
        memcpy(&real, (const unsigned char *)fields + value->field.offset, sizeof real);
        for (int digits = 6; digits <= 17; digits++)
            if (snprintf(text, 32, "%.*g", digits, real) > 0 && strtod(text, NULL) == real)
                break;
        return real != 0;
    }
    if (value->kind == CB_VALUE_COUNT)
        snprintf(text, 32, "%" PRIu64, count);
    for (const struct cb_choice *choice = value->choices; choice && choice->word; choice++)
        if (choice->value == count)
            snprintf(text, 32, "%s", choice->word);
    return count != 0;
}

bool cb_option_text(const struct cb_option *row, const void *fields, char text[CB_OPTION_TEXT]) {
    char first[32] = "", second[32] = "";
    snprintf(text, CB_OPTION_TEXT, "on");
    if (!row->value[0].kind)
        return load_count(row->given, fields) != 0;
    bool set = value_text(&row->value[0], fields, first);
    bool both = row->value[1].kind && value_text(&row->value[1], fields, second);
    snprintf(text, CB_OPTION_TEXT, both ? "%s,%s" : "%s", first, second);
    return set;
}

void cb_option_unset(const struct cb_option *row, void *fields) {
    const struct cb_field field[] = {row->given, row->value[0].field, row->value[1].field};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        memset((unsigned char *)fields + field[i].offset, 0, field[i].size);
}
