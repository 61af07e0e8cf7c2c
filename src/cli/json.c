/* json.c: the little JSON that the command writes, and reads back from the ranks' error lines. */
#include "cli/cli.h"
#include "comm/backend.h"

#include <stdlib.h>
#include <string.h>

void cb_json_write(FILE *file, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    putc('"', file);
    while (*at) {
        size_t length = cb_utf8_length(at);
        if (length == 0)
            fputs("\\ufffd", file);
        else if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            fprintf(file, "\\u%04x", *at);
        else
            fwrite(at, 1, length, file);
        at += length ? length : 1;
    }
    putc('"', file);
}

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* From the opening quote to behind the closing one; NULL when there is none. */
static const char *skip_string(const char *at) {
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && *++at == '\0')
            return NULL;
    return *at ? at + 1 : NULL;
}

static const char *find_value(const char *at, int wanted_depth, const char *key) {
    size_t length = strlen(key);
    int depth = 0;
    while (*at) {
        if (*at == '"') {
            const char *end = skip_string(at);
            if (!end)
                return NULL;
            const char *next = skip_blanks(end);
            if (*next == ':' && depth == wanted_depth && (size_t)(end - at) == length + 2 &&
                memcmp(at + 1, key, length) == 0)
                return skip_blanks(next + 1);
            at = end;
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
    }
    return NULL;
}

static unsigned long hex4(const char **at) {
    char digits[5] = {0};
    for (size_t i = 0; i < 4 && (*at)[i] && (*at)[i] != '"'; i++)
        digits[i] = (*at)[i];
    *at += strlen(digits);
    return strtoul(digits, NULL, 16);
}

static size_t put_utf8(unsigned long code, char *text) {
    if (code < 0x80) {
        text[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)((0xf0u << (4 - length)) | code);
    return length;
}

/* Reads what follows a backslash; writes at most 4 bytes. */
static size_t unescape(const char **at, char *text) {
    char c = *(*at)++;
    if (c != 'u') {
        text[0] = strchr("bfnrt", c) ? ' ' : c;
        return 1;
    }
    unsigned long code = hex4(at);
    if (code >= 0xd800 && code < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        *at += 2;
        code = 0x10000 + ((code & 0x3ff) << 10) + (hex4(at) & 0x3ff);
    }
    return put_utf8(code, text);
}

bool cb_json_string(const char *json, int depth, const char *key, char *text, size_t len) {
    const char *at = find_value(json, depth, key);
    if (!at || *at != '"' || !skip_string(at))
        return false;
    size_t used = 0;
    for (at++; *at != '"' && used + 5 <= len;) {
        size_t count = 1;
        if (*at == '\\') {
            at++;
            count = unescape(&at, text + used);
        } else {
            text[used] = *at++;
        }
        if ((unsigned char)text[used] < 0x20 || text[used] == 0x7f)
            text[used] = ' ';
        used += count;
    }
    text[used] = '\0';
    return true;
}

bool cb_json_number(const char *json, int depth, const char *key, uint64_t *number) {
    const char *at = find_value(json, depth, key);
    if (!at || *at < '0' || *at > '9')
        return false;
    *number = strtoull(at, NULL, 10);
    return true;
}
