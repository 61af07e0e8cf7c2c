/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: see json.h. */
#include "sddp/run/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool cb_put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

bool cb_push(json_t *list, json_t *value) {
    return json_array_append_new(list, value) == 0;
}

json_t *cb_json_whole(json_t *value, bool good) {
    if (good)
        return value;
    json_decref(value);
    return NULL;
}

json_t *cb_json_of_number(uint64_t count) {
    return count <= INT64_MAX ? json_integer((json_int_t)count) : json_real((double)count);
}

json_t *cb_json_of_count(uint64_t count) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, count);
    return count <= INT64_MAX ? json_integer((json_int_t)count) : json_string(text);
}

json_t *cb_json_of_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

double cb_json_real_in(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

uint64_t cb_json_count_in(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? strtoull(json_string_value(value), NULL, 10) : (uint64_t)json_integer_value(value);
}

const char *cb_json_text_in(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
