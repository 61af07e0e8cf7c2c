/* SPDX-License-Identifier: Apache-2.0 */
/* edit_json.c: finds a value in the text of JSON. A parser has read the text before, so this only looks for the
 * beginnings and ends of values. */
#include "cli/mcp/edit_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t\r\n");
}

static const char *skip_text(const char *at) {
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : at;
}

/* Behind a value. */
static const char *skip_value(const char *at) {
    int depth = 0;
    do {
        if (*at == '"') {
            at = skip_text(at);
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
        if (depth == 0 && !strchr("{}[]", at[-1])) /* a number or a word */
            return at + strcspn(at, ",]} \t\r\n");
    } while (*at && depth > 0);
    return at;
}

/* Is the text at `at`, with its quotes, this key? */
static bool is_key(const char *at, const char *key, size_t length) {
    json_t *text = json_loadb(at, (size_t)(skip_text(at) - at), JSON_DECODE_ANY, NULL);
    const char *its = json_string_value(text);
    bool same = its && strlen(its) == length && memcmp(its, key, length) == 0;
    json_decref(text);
    return same;
}

/* The value of a member or an item; NULL: there is none, and *end is behind the last one. *first: there are none at all. */
static const char *member(const char *at, const char *key, size_t length, const char **end, bool *first) {
    bool object = *at == '{';
    size_t wanted = strtoul(key, NULL, 10), index = 0;
    *end = at + 1;
    *first = true;
    for (at = skip_blanks(at + 1); *at && *at != '}' && *at != ']'; index++) {
        bool found = object ? is_key(at, key, length) : index == wanted;
        if (object)
            at = skip_blanks(skip_blanks(skip_text(at)) + 1);
        if (found)
            return at;
        *end = at = skip_value(at);
        *first = false;
        at = skip_blanks(at);
        at = *at == ',' ? skip_blanks(at + 1) : at;
    }
    return NULL;
}

bool cb_spot_find(const char *text, const char *path, struct cb_spot *spot) {
    const char *at = skip_blanks(strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text), *end;
    for (;;) {
        size_t length = strcspn(path, ".");
        bool last = !path[length], object = *at == '{';
        if ((!object && *at != '[') || length == 0 || (!object && strspn(path, "0123456789") != length))
            return false;
        const char *value = member(at, path, length, &end, &spot->first);
        spot->key = path;
        if (last) {
            const char *from = value ? value : end;
            spot->value = (struct cb_span){(size_t)(from - text), value ? (size_t)(skip_value(value) - value) : 0};
            return value || object;
        }
        if (!value)
            return false;
        at = value;
        path += length + 1;
    }
}
