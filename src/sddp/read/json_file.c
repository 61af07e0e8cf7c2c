/* SPDX-License-Identifier: Apache-2.0 */
/* json_file.c: the lines of the values of a JSON text, in one walk through it when the first error is reported. A value
 * is known by a hash of its pointer; for a member of an object the line is that of its key. The text has been parsed
 * before, so that nothing here needs to fail. Cost: a sort of all values, once, and a search per error. */
#include "sddp/read/json_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/distance.h"
#include "sddp/grow.h"
#include "sddp/hash.h"
#include "sddp/read/text.h"

typedef struct {
    uint64_t pointer; /* its hash */
    size_t line;
} spot;

struct cb_json_lines {
    char *file, *text;
    spot *spot;
    size_t spots, room;
    bool no_memory;
};

typedef struct {
    const char *at;
    size_t line;
} cursor;

static void skip_space(cursor *c) {
    for (; *c->at && strchr(" \t\r\n", *c->at); c->at++)
        c->line += *c->at == '\n';
}

/* A pointer's hash grows by "/" and its next token; in a token "~1" stands for a slash, "~0" for a tilde. */
static void extend(uint64_t *hash, char letter) {
    cb_hash_word(hash, (unsigned char)letter);
}

static void extend_escaped(uint64_t *hash, char letter) {
    if (letter == '~' || letter == '/') {
        extend(hash, '~');
        letter = letter == '~' ? '0' : '1';
    }
    extend(hash, letter);
}

/* Moves behind the string; its letters are added to *hash as in a pointer. Escapes are not resolved: a name with one is
 * not found, and its error gets the line of the object around it. */
static void skip_string(cursor *c, uint64_t *hash) {
    for (c->at++; *c->at && *c->at != '"'; c->at++) {
        if (*c->at == '\\' && c->at[1])
            extend(hash, *c->at++);
        extend_escaped(hash, *c->at);
    }
    c->at += *c->at != 0;
}

static void note(cb_json_lines *lines, uint64_t pointer, size_t line) {
    if (CB_GROW(lines, lines->spot, lines->spots, lines->room))
        lines->spot[lines->spots++] = (spot){pointer, line};
}

static void walk(cb_json_lines *lines, cursor *c, uint64_t pointer) {
    uint64_t unused = 0;
    skip_space(c);
    if (*c->at == '"') {
        skip_string(c, &unused);
    } else if (*c->at != '{' && *c->at != '[') {
        c->at += strcspn(c->at, ",]} \t\r\n");
    } else {
        bool object = *c->at++ == '{';
        for (size_t index = 0;; index++) {
            skip_space(c);
            if (!*c->at || *c->at == '}' || *c->at == ']')
                break;
            uint64_t child = pointer;
            size_t line = c->line;
            extend(&child, '/');
            if (object) {
                skip_string(c, &child);
                skip_space(c);
                c->at += *c->at == ':';
            } else {
                char digits[24];
                snprintf(digits, sizeof digits, "%zu", index);
                for (const char *d = digits; *d; d++)
                    extend(&child, *d);
            }
            note(lines, child, line);
            walk(lines, c, child);
            skip_space(c);
            c->at += *c->at == ',';
        }
        c->at += *c->at != 0;
    }
}

static char *put_escaped(char *at, const char *end, const char *key) {
    for (; *key && at < end; key++) {
        bool special = *key == '~' || *key == '/';
        if (special)
            *at++ = '~';
        *at++ = !special ? *key : *key == '~' ? '0' : '1';
    }
    return at;
}

static char *put_pointer(char *at, const char *end, const cb_json_at *json) {
    if (json->up)
        at = put_pointer(at, end, json->up);
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", json->index);
    if (at < end)
        *at++ = '/';
    return put_escaped(at, end, json->key ? json->key : digits);
}

void cb_json_pointer(const cb_json_at *at, char pointer[CB_POINTER_ROOM]) {
    char *last = at ? put_pointer(pointer, pointer + CB_POINTER_ROOM - 3, at) : pointer;
    *last = 0;
}

static int by_pointer(const void *a, const void *b) {
    const spot *x = a, *y = b;
    return x->pointer < y->pointer ? -1 : x->pointer > y->pointer;
}

size_t cb_json_line(cb_json_lines *lines, const char *file, const char *pointer) {
    if (!lines || strcmp(lines->file, file) != 0 || (*pointer && *pointer != '/'))
        return 0;
    if (lines->spots == 0) {
        cursor c = {.at = lines->text, .line = 1};
        skip_space(&c);
        note(lines, CB_HASH_START, c.line);
        walk(lines, &c, CB_HASH_START);
        if (lines->spots > 0)
            qsort(lines->spot, lines->spots, sizeof *lines->spot, by_pointer);
    }
    size_t line = 0;
    spot wanted = {.pointer = CB_HASH_START};
    for (const char *at = pointer; lines->spots > 0;) {
        const spot *found = bsearch(&wanted, lines->spot, lines->spots, sizeof *lines->spot, by_pointer);
        if (!found)
            break;
        line = found->line;
        if (!*at)
            break;
        do
            extend(&wanted.pointer, *at++);
        while (*at && *at != '/');
    }
    return line;
}

void cb_json_forget(cobre_sddp_builder *builder) {
    cb_json_lines *lines = builder->json;
    builder->json = NULL;
    if (!lines)
        return;
    free(lines->file);
    free(lines->text);
    free(lines->spot);
    free(lines);
}

json_t *cb_json_load(cobre_sddp_builder *builder, const char *path) {
    size_t size;
    json_error_t error;
    char *text = cb_read_text(builder, path, false, &size);
    if (!text)
        return NULL;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* some editors begin with a byte order mark, which JSON does not know */
        memmove(text, text + 3, strlen(text + 3) + 1);
    json_t *top = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    cb_json_lines *lines = calloc(1, sizeof *lines);
    char *file = strdup(path);
    if (!top && !error.text[0]) { /* which is all that jansson says of it */
        builder->no_memory = true;
    } else if (!top) {
        cb_place at = {
            .file = path, .line = error.line > 0 ? (size_t)error.line : 0, .text = CB_TEXT("column %d", error.column)};
        cb_error_at(builder, &at, "correct the syntax", "is not JSON: %s", error.text);
    } else if (lines && file) {
        *lines = (cb_json_lines){.file = file, .text = text};
        builder->json = lines;
        if (json_is_object(top))
            return top;
        cb_error_at(builder, &(cb_place){.file = path}, "it must begin with {", "is not a JSON object");
    } else {
        builder->no_memory = true;
    }
    json_decref(top);
    if (builder->json)
        return NULL;
    free(lines);
    free(file);
    free(text);
    return NULL;
}

static bool is_among(const char *const *keys, const char *key) {
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys;
}

/* NULL: none of them is close. */
static const char *find_closest(const char *const *keys, const char *key) {
    const char *closest = NULL;
    for (; *keys; keys++)
        if (cb_is_close(key, *keys) && (!closest || cb_distance(key, *keys) < cb_distance(key, closest)))
            closest = *keys;
    return closest;
}

bool cb_json_known(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *const *keys) {
    const char *key;
    json_t *value;
    char all[512] = "";
    bool good = true;
    for (size_t i = 0; keys[i]; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", keys[i]);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        const char *closest = find_closest(keys, key);
        if (is_among(keys, key))
            continue;
        cb_error_at(builder, CB_MEMBER(at, key), CB_TEXT("remove it, or correct it to one of: %s", all),
                    "unknown key \"%s\"%s%s", key, closest ? "; closest name: " : "", closest ? closest : "");
        good = false;
    }
    return good;
}

bool cb_json_misspelt(const json_t *object, const char *key) {
    const char *other;
    json_t *value;
    bool found = false;
    json_object_foreach((json_t *)(uintptr_t)object, other, value) {
        found |= cb_is_close(other, key);
    }
    return found;
}

bool cb_is_utf8(const char *text) {
    json_t *copy = json_string(text); /* refuses anything else */
    json_decref(copy);
    return copy != NULL;
}
