/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/error_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "kit/check.h"

/* As snprintf: the length is that of the whole, and what is there is always terminated. */
static void check_cut(const cobre_error *error, const char *whole, size_t length) {
    for (size_t room = 0; room < length; room += 1 + length / 16) {
        char *part = malloc(room ? room : 1); /* so that a sanitizer sees a byte too many */
        CHECK(part);
        CHECK_EQ(cobre_error_json(error, part, room), length);
        CHECK(room == 0 || (strlen(part) == room - 1 && strncmp(part, whole, room - 1) == 0));
        free(part);
    }
}

void check_error_json(const cobre_error *error) {
    char text[8192];
    size_t length = cobre_error_json(error, text, sizeof text);
    CHECK(length < sizeof text);
    CHECK_EQ(strlen(text), length);
    json_error_t wrong;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    CHECK_SAY(json_is_object(object), "a JSON object: %s: %s", wrong.text, text);
    CHECK_TEXT(json_string_value(json_object_get(object, "kind")), cobre_status_name(error->status));
    CHECK_SAY(json_is_string(json_object_get(object, "message")), "it has a message: %s", text);
    CHECK_SAY(json_is_object(json_object_get(object, "context")), "it has a context: %s", text);
    CHECK_SAY(json_is_string(json_object_get(object, "suggestion")), "it has a suggestion: %s", text);
    json_decref(object);
    check_cut(error, text, length);
}
