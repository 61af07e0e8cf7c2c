/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: options as rows of tables, set by name from text.
 *
 * A row has an option's name, its possible values, the fields of a struct that it sets, and its help. Nothing here
 * knows where the text comes from: a command line (cli/command_line.h) or another front end. */
#ifndef COBRE_OPTIONS_OPTIONS_H
#define COBRE_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { CB_OPTION_VALUES = 2, CB_OPTION_ERROR = 512, CB_OPTION_TEXT = 80 };

/* Where a value goes in the struct that a table is for. A size of 0: nowhere. */
struct cb_field {
    size_t offset, size;
};
#define CB_FIELD(type, member)                                                                                         \
    { .offset = offsetof(type, member), .size = sizeof(((type *)0)->member) }

enum cb_value_kind {
    CB_VALUE_NONE,
    CB_VALUE_COUNT,   /* a whole number: uint64_t or size_t */
    CB_VALUE_REAL,    /* double */
    CB_VALUE_SECONDS, /* double; as in 90, 90s, 15m, 2h, 1d */
    CB_VALUE_EVERY,   /* a whole number, or a time with its unit, which goes to `time`; the other one becomes 0 */
    CB_VALUE_TEXT,    /* const char *; the text must live as long as the struct */
    CB_VALUE_CHOICE   /* one of some words: an enum or a bool */
};

struct cb_choice {
    const char *word; /* NULL after the last */
    unsigned value;
};

struct cb_value {
    const char *name; /* "N" */
    enum cb_value_kind kind;
    struct cb_field field, time;
    double least, most;   /* of a number; most 0: no limit */
    bool above;           /* it must be more than `least` */
    bool optional;        /* a second value that can be left out */
    const char *missing;  /* names the value in the error about a blank text; NULL: it may be blank */
    const char *fallback; /* the default as text; NULL: there is none, or the help tells it */
    const struct cb_choice *choices;
};

struct cb_option {
    const char *name;                        /* "forward-passes"; NULL after the last row of a table */
    const char *help;                        /* NULL: not for users */
    const char *group;                       /* the text before all rows of a group; NULL: none */
    struct cb_field given;                   /* a bool that becomes true */
    struct cb_value value[CB_OPTION_VALUES]; /* "first,second", or with their names; none: a flag */
    bool again;                              /* a resumed training needs it again */
    bool once;                               /* to give it twice is a mistake */
    bool many;                               /* to give it several times is not: a command line keeps all texts */
};

/* NULL: there is no such row. */
const struct cb_option *cb_option_find(const struct cb_option *rows, const char *name);

/* Sets what the row `name` says in the struct that the rows are for. A flag has no text. False: nothing is set, and
 * `error` says what is wrong with the text: "x: not a whole number". */
bool cb_option_set(const struct cb_option *rows, const char *name, const char *text, void *fields,
                   char error[CB_OPTION_ERROR]);

/* The inverse: the text that sets the value in the struct, "on" for a flag. Not for values of a kind that need
 * more than a number or a word. False: it is not set, which is zero. */
bool cb_option_text(const struct cb_option *row, const void *fields, char text[CB_OPTION_TEXT]);
void cb_option_unset(const struct cb_option *row, void *fields);

/* "N[,TOLERANCE]", as users write the values of an option; empty for a flag. Returns `text`. */
const char *cb_option_values(const struct cb_option *row, char text[64]);

#endif
