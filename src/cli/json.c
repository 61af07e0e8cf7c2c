/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: writes the JSON of commands. */
#include "cli/json.h"

#include "options/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void no_memory(void) {
    fputs("cobre: no memory for JSON\n", stderr);
    exit(1);
}

json_t *cb_json_text(const char *text) {
    json_t *value = cb_json_of_text(text);
    if (!value)
        no_memory();
    return value;
}

json_t *cb_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cb_json_count(uint64_t count) {
    return count <= INT64_MAX ? json_integer((json_int_t)count) : json_real((double)count);
}

static bool is_utf8(const char *text) {
    for (size_t length; *text; text += length)
        if ((length = cb_utf8_length((const unsigned char *)text)) == 0)
            return false;
    return true;
}

/* A key may come from a file, as any text. */
void cb_json_set(json_t *object, const char *key, json_t *value) {
    json_t *clean = is_utf8(key) ? NULL : cb_json_text(key);
    if (json_object_set_new(object, clean ? json_string_value(clean) : key, value) != 0)
        no_memory();
    json_decref(clean);
}

void cb_json_append(json_t *list, json_t *value) {
    if (json_array_append_new(list, value) != 0)
        no_memory();
}

void cb_json_write(FILE *file, json_t *value, size_t flags) {
    if (json_dumpf(value, file, flags) != 0 && !ferror(file))
        no_memory();
    json_decref(value);
}

void cb_json_print(json_t *value, size_t flags) {
    cb_json_write(stdout, value, flags);
    putchar('\n');
}
