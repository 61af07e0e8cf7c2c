/* json_line.c: walks down a JSON text along a pointer. The text has been parsed before, so that nothing here needs
 * to fail; a text that ends early just ends the walk. */
#include "json_line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at;
    size_t line;
} cursor;

static void skip_space(cursor *c) {
    for (; *c->at && strchr(" \t\r\n", *c->at); c->at++)
        c->line += *c->at == '\n';
}

static void skip_string(cursor *c) {
    for (c->at++; *c->at && *c->at != '"'; c->at++)
        if (*c->at == '\\' && c->at[1])
            c->at++;
    if (*c->at)
        c->at++;
}

static void skip_value(cursor *c) {
    size_t depth = 0;
    do {
        skip_space(c);
        if (*c->at == '"') {
            skip_string(c);
            continue;
        }
        if (*c->at == '{' || *c->at == '[')
            depth++;
        else if (*c->at == '}' || *c->at == ']')
            depth--;
        else if (*c->at && !strchr(",:", *c->at)) { /* a number or a word */
            c->at += strcspn(c->at, ",:{}[] \t\r\n");
            continue;
        }
        if (*c->at)
            c->at++;
    } while (*c->at && depth > 0);
}

/* Is the string at `text` the pointer's next token? "~1" stands for a slash, "~0" for a tilde. */
static bool same_token(const char *text, const char *token) {
    for (text++; *token && *token != '/'; text++, token++) {
        char wanted = *token;
        if (wanted == '~' && token[1])
            wanted = *++token == '1' ? '/' : '~';
        if (*text != wanted)
            return false;
    }
    return *text == '"';
}

/* Moves from an opening bracket to the child that the token names; false: there is none. *line: where it stands. */
static bool enter(cursor *c, const char *token, size_t *line) {
    bool object = *c->at == '{';
    if (!object && *c->at != '[')
        return false;
    size_t wanted = object ? 0 : strtoul(token, NULL, 10), index = 0;
    for (c->at++;; c->at++, index++) {
        skip_space(c);
        if (!*c->at || *c->at == '}' || *c->at == ']')
            return false;
        bool found = object ? same_token(c->at, token) : index == wanted;
        if (found)
            *line = c->line;
        if (object) {
            skip_string(c);
            skip_space(c);
            c->at += *c->at == ':';
            skip_space(c);
        }
        if (found)
            return true;
        skip_value(c);
        skip_space(c);
        if (*c->at != ',')
            return false;
    }
}

size_t cb_json_line(const char *text, const char *pointer) {
    cursor c = {.at = text, .line = 1};
    skip_space(&c);
    size_t line = c.line;
    while (*pointer == '/' && enter(&c, ++pointer, &line))
        pointer += strcspn(pointer, "/");
    return line;
}
