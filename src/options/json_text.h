/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h: any bytes as a text of JSON. It is inline for the command, which may be built without the trainer. */
#ifndef COBRE_OPTIONS_JSON_TEXT_H
#define COBRE_OPTIONS_JSON_TEXT_H

#include "comm/utf8.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are no text become U+FFFD. NULL: no memory. */
static inline json_t *cb_json_of_text(const char *text) {
    char *clean = malloc(3 * strlen(text) + 1), *end = clean;
    while (clean && *text) {
        size_t length = cb_utf8_length((const unsigned char *)text);
        end = mempcpy(end, length ? text : "\xef\xbf\xbd", length ? length : 3);
        text += length ? length : 1;
    }
    json_t *json = clean ? json_stringn(clean, (size_t)(end - clean)) : NULL;
    free(clean);
    return json;
}

#endif
