/* SPDX-License-Identifier: Apache-2.0 */
/* json_file.c: JSON texts, whole or in parts, and the lines of their values.
 *
 * Before the text is parsed, one walk notes the positions of the values of the two outer levels. A part is such a value. The
 * line of a value further inside is found when it is needed, from the noted value around it. The walk only follows strings
 * and brackets; jansson decides whether the text is JSON. A hash of its pointer identifies a value. The line of a member of
 * an object is that of its key. */
#include "sddp/read/json_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/distance.h"
#include "sddp/grow.h"
#include "sddp/hash.h"
#include "sddp/read/text.h"

enum { NOTED_LEVELS = 2 };
static const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;

typedef struct {
    const char *at;
    size_t line;
} cursor;

typedef struct {
    uint64_t pointer; /* its hash */
    size_t line;
    cursor value;
    const char *end; /* of a part; else NULL */
} spot;

struct cb_json_lines {
    char *file, *text;
    spot *spot; /* in the order of the text, then of their hashes */
    size_t spots, room;
    bool in_parts, no_memory;
};

static void skip_space(cursor *c) {
    for (; *c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n'; c->at++)
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

static void skip_string(cursor *c) {
    for (c->at++; *c->at && *c->at != '"'; c->at++)
        c->at += *c->at == '\\' && c->at[1];
    c->at += *c->at != 0;
}

/* Adds the letters of the string to *hash as in a pointer. Escapes are not resolved: a name with one is not found, and its
 * error gets the line of the object around it. */
static void skip_key(cursor *c, uint64_t *hash) {
    const char *end;
    cursor behind = *c;
    skip_string(&behind);
    end = behind.at > c->at + 1 && behind.at[-1] == '"' ? behind.at - 1 : behind.at;
    for (const char *letter = c->at + 1; letter < end; letter++)
        extend_escaped(hash, *letter);
    *c = behind;
}

static bool is_container(const cursor *c) {
    return *c->at == '{' || *c->at == '[';
}

static void skip_container(cursor *c) {
    size_t depth = 0;
    do {
        char letter = *c->at;
        if (letter == '"') {
            skip_string(c);
            continue;
        }
        depth += letter == '{' || letter == '[';
        depth -= letter == '}' || letter == ']';
        c->line += letter == '\n';
        c->at++;
    } while (depth > 0 && *c->at);
}

static void skip_value(cursor *c) {
    if (is_container(c))
        skip_container(c);
    else if (*c->at == '"')
        skip_string(c);
    else
        c->at += strcspn(c->at, ",]} \t\r\n");
}

/* Moves from one child of a container, or from its bracket, to the value of the next. *pointer becomes that of the
 * child; *line is that of its key. false: there is none. */
static bool next_child(cursor *c, bool object, size_t index, uint64_t *pointer, size_t *line) {
    skip_space(c);
    c->at += index > 0 && *c->at == ',';
    skip_space(c);
    if (!*c->at || *c->at == '}' || *c->at == ']' || (object && *c->at != '"'))
        return false;
    *line = c->line;
    extend(pointer, '/');
    if (object) {
        skip_key(c, pointer);
        skip_space(c);
        c->at += *c->at == ':';
        skip_space(c);
    } else {
        char digits[24];
        snprintf(digits, sizeof digits, "%zu", index);
        for (const char *d = digits; *d; d++)
            extend(pointer, *d);
    }
    return true;
}

static uint64_t hash_of(const char *section) {
    uint64_t hash = CB_HASH_START;
    extend(&hash, '/');
    while (*section)
        extend_escaped(&hash, *section++);
    return hash;
}

static bool is_section(const char *const *sections, uint64_t pointer) {
    while (sections && *sections && hash_of(*sections) != pointer)
        sections++;
    return sections && *sections;
}

/* Notes the values in a container, down to so many levels. pointer: that of the container. section: values in it are
 * parts. */
static void note_children(cb_json_lines *lines, const char *const *sections, cursor *c, uint64_t pointer, int levels) {
    bool object = *c->at == '{', section = is_section(sections, pointer);
    c->at++;
    for (size_t index = 0;; index++) {
        uint64_t child = pointer;
        size_t line, here = lines->spots;
        if (!next_child(c, object, index, &child, &line))
            break;
        bool container = is_container(c);
        if (!CB_GROW(lines, lines->spot, lines->spots, lines->room))
            return;
        lines->spot[lines->spots++] = (spot){.pointer = child, .line = line, .value = *c};
        if (container && levels > 1)
            note_children(lines, sections, c, child, levels - 1);
        else
            skip_value(c);
        if (container && section)
            lines->spot[here].end = c->at;
    }
    c->at += *c->at != 0;
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

/* Moves from a value to the child that the next token of a pointer names, and behind the token. false: there is none. */
static bool descend(cursor *c, const char **pointer, size_t *line) {
    uint64_t wanted = 0, child;
    bool object = *c->at == '{';
    do
        extend(&wanted, *(*pointer)++);
    while (**pointer && **pointer != '/');
    if (!is_container(c))
        return false;
    c->at++;
    for (size_t index = 0, its; child = 0, next_child(c, object, index, &child, &its); index++) {
        if (child == wanted) {
            *line = its;
            return true;
        }
        skip_value(c);
    }
    return false;
}

size_t cb_json_line(cb_json_lines *lines, const char *file, const char *pointer) {
    if (!lines || !lines->text || strcmp(lines->file, file) != 0 || (*pointer && *pointer != '/'))
        return 0;
    cursor c = {.at = lines->text, .line = 1};
    skip_space(&c);
    spot wanted = {.pointer = CB_HASH_START};
    size_t line = c.line;
    while (*pointer) { /* as far as values were noted */
        const char *rest = pointer;
        do
            extend(&wanted.pointer, *rest++);
        while (*rest && *rest != '/');
        const spot *found =
            lines->spots == 0 ? NULL : bsearch(&wanted, lines->spot, lines->spots, sizeof wanted, by_pointer);
        if (!found)
            break;
        c = found->value;
        line = found->line;
        pointer = rest;
    }
    while (*pointer && descend(&c, &pointer, &line))
        continue;
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

/* Reads the text, and notes its outer values. false: reported. */
static bool open_text(cobre_sddp_builder *builder, const char *path, const char *const *sections) {
    size_t size;
    cb_json_lines *lines = builder->json = calloc(1, sizeof *lines);
    if (!lines || !(lines->file = strdup(path))) {
        builder->no_memory = true;
        return false;
    }
    char *text = lines->text = cb_read_text(builder, path, false, &size);
    if (!text)
        return false;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* some editors begin with a byte order mark, which JSON does not know */
        memmove(text, text + 3, strlen(text + 3) + 1);
    cursor c = {.at = text, .line = 1};
    skip_space(&c);
    if (is_container(&c))
        note_children(lines, sections, &c, CB_HASH_START, NOTED_LEVELS);
    builder->no_memory |= lines->no_memory;
    return !lines->no_memory;
}

static void sort_spots(cb_json_lines *lines) {
    if (lines->spots > 0)
        qsort(lines->spot, lines->spots, sizeof *lines->spot, by_pointer);
}

/* The whole text; NULL: reported. */
static json_t *parse_whole(cobre_sddp_builder *builder) {
    const cb_json_lines *lines = builder->json;
    json_error_t error;
    json_t *top = json_loads(lines->text, flags, &error);
    if (!top && !error.text[0]) { /* which is all that jansson says of it */
        builder->no_memory = true;
    } else if (!top) {
        cb_place at = {.file = lines->file,
                       .line = error.line > 0 ? (size_t)error.line : 0,
                       .text = CB_TEXT("column %d", error.column)};
        cb_error_at(builder, &at, "correct the syntax", "is not JSON: %s", error.text);
    }
    return top;
}

static json_t *need_object(cobre_sddp_builder *builder, json_t *top) {
    if (!top || json_is_object(top))
        return top;
    cb_error_at(builder, &(cb_place){.file = builder->json->file}, "it must begin with {", "is not a JSON object");
    json_decref(top);
    return NULL;
}

json_t *cb_json_load(cobre_sddp_builder *builder, const char *path) {
    if (!open_text(builder, path, NULL))
        return NULL;
    sort_spots(builder->json);
    return need_object(builder, parse_whole(builder));
}

/* The text with an array in each part's place, whose item says where the part begins. NULL: no memory. */
static char *leave_out_parts(const cb_json_lines *lines) {
    char *left = NULL;
    size_t size;
    const char *at = lines->text;
    FILE *file = open_memstream(&left, &size);
    if (!file)
        return NULL;
    for (const spot *part = lines->spot; part < lines->spot + lines->spots; part++)
        if (part->end) {
            fwrite(at, 1, (size_t)(part->value.at - at), file);
            fprintf(file, "[%td]", part->value.at - lines->text);
            at = part->end;
        }
    fputs(at, file);
    bool good = !ferror(file);
    if (fclose(file) == 0 && good)
        return left;
    free(left);
    return NULL;
}

/* A name that is written with escapes is not seen by the walk. */
static bool are_found(const cb_json_lines *lines, const json_t *top, const char *const *sections) {
    for (; *sections; sections++) {
        const spot wanted = {.pointer = hash_of(*sections)};
        if (json_object_get(top, *sections) && !bsearch(&wanted, lines->spot, lines->spots, sizeof wanted, by_pointer))
            return false;
    }
    return true;
}

json_t *cb_json_load_parts(cobre_sddp_builder *builder, const char *path, const char *const *sections) {
    if (!open_text(builder, path, sections))
        return NULL;
    cb_json_lines *lines = builder->json;
    char *left = leave_out_parts(lines);
    json_t *top = left ? json_loads(left, flags, NULL) : NULL;
    free(left);
    sort_spots(lines);
    lines->in_parts = top && are_found(lines, top, sections);
    if (!lines->in_parts) { /* for the message */
        json_decref(top);
        top = parse_whole(builder);
    }
    return need_object(builder, top);
}

json_t *cb_json_part(cobre_sddp_builder *builder, json_t *value) {
    const cb_json_lines *lines = builder->json;
    if (!lines->in_parts || !json_is_array(value))
        return json_incref(value);
    const char *text = lines->text + (size_t)json_number_value(json_array_get(value, 0));
    json_t *part = json_loads(text, flags | JSON_DISABLE_EOF_CHECK, NULL), *whole = NULL;
    if (!part && (whole = parse_whole(builder))) /* for the message; there is none */
        builder->no_memory = true;
    json_decref(whole);
    return part;
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

static void blame_unknown(cobre_sddp_builder *builder, const cb_place *at, const char *key, const char *const *keys) {
    char all[512] = "";
    const char *closest = find_closest(keys, key);
    for (size_t i = 0; keys[i]; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", keys[i]);
    cb_error_at(builder, CB_MEMBER(at, key), CB_TEXT("remove it, or correct it to one of: %s", all),
                "unknown key \"%s\"%s%s", key, closest ? "; closest name: " : "", closest ? closest : "");
}

bool cb_json_known(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *const *keys) {
    const char *key;
    json_t *value;
    bool good = true;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!is_among(keys, key)) {
            blame_unknown(builder, at, key, keys);
            good = false;
        }
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
