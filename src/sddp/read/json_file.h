/* SPDX-License-Identifier: Apache-2.0 */
/* json_file.h: reads JSON files, and reports errors with their lines. jansson knows the lines of syntax errors only. */
#ifndef COBRE_SDDP_READ_JSON_FILE_H
#define COBRE_SDDP_READ_JSON_FILE_H

#include <jansson.h>

#include "sddp/problem/builder.h"

/* Reads a file that holds an object; NULL: reported. Errors at places in this file (CB_MEMBER, CB_ITEM; or a text that
 * is a JSON pointer) are reported with the line. */
json_t *cb_json_load(cobre_sddp_builder *builder, const char *path);

/* The same for a large text. Values in these members of the object (NULL ends the list) are parts, which are parsed
 * when they are asked for, one at a time. The result holds placeholders for them, to be passed to cb_json_part only. */
json_t *cb_json_load_parts(cobre_sddp_builder *builder, const char *path, const char *const *sections);

/* Parses the part that `value` is the placeholder of; to be freed by json_decref. NULL: it is not JSON, which is
 * reported. */
json_t *cb_json_part(cobre_sddp_builder *builder, json_t *value);

/* Reports the members of an object that are not in `keys`, which NULL ends; false: there are some. */
bool cb_json_known(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *const *keys);

/* Does a member have nearly this name? cb_json_known reports it, so nothing is missing. */
bool cb_json_misspelt(const json_t *object, const char *key);

bool cb_is_utf8(const char *text);

#endif
