/* json_check.h: is a text one well-formed JSON value (RFC 8259: objects, strings, whole numbers) in UTF-8? Written
 * apart from what it checks. Each function returns what follows, NULL if it is wrong. */
#ifndef COBRE_TEST_JSON_CHECK_H
#define COBRE_TEST_JSON_CHECK_H

#include <stdbool.h>
#include <string.h>

static const char *json_value(const char *at);

static const char *skip_space(const char *at) {
    return at ? at + strspn(at, " \t\r\n") : NULL;
}

static const char *utf8(const char *at) {
    const unsigned char *c = (const unsigned char *)at;
    size_t more = c[0] < 0x80 ? 0 : c[0] >= 0xc2 && c[0] < 0xe0 ? 1 : c[0] >= 0xe0 && c[0] < 0xf0 ? 2 : 3;
    if ((c[0] >= 0x80 && c[0] < 0xc2) || c[0] > 0xf4)
        return NULL;
    for (size_t i = 1; i <= more; i++)
        if ((c[i] & 0xc0) != 0x80)
            return NULL;
    bool bad = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
               (c[0] == 0xf4 && c[1] > 0x8f);
    return bad ? NULL : at + more + 1;
}

static const char *json_string(const char *at) {
    if (!at || *at++ != '"')
        return NULL;
    while (at && *at != '"') {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            at = utf8(at);
        else if (at[1] == 'u')
            at = strspn(at + 2, "0123456789abcdefABCDEF") >= 4 ? at + 6 : NULL;
        else
            at = at[1] && strchr("\"\\/bfnrt", at[1]) ? at + 2 : NULL;
    }
    return at ? at + 1 : NULL;
}

static const char *json_object(const char *at) {
    at = skip_space(at + 1);
    for (bool first = true; at && *at != '}'; first = false) {
        if (!first && *at++ != ',')
            return NULL;
        at = skip_space(json_string(skip_space(at)));
        if (!at || *at != ':')
            return NULL;
        at = skip_space(json_value(skip_space(at + 1)));
    }
    return at ? at + 1 : NULL;
}

static const char *json_value(const char *at) {
    if (*at == '{')
        return json_object(at);
    if (*at == '"')
        return json_string(at);
    size_t digits = strspn(at + (*at == '-'), "0123456789");
    return digits ? at + (*at == '-') + digits : NULL;
}

#endif
