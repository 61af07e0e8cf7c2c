/* SPDX-License-Identifier: Apache-2.0 */
/* json_file.h: JSON files whose errors have a line; jansson keeps lines for syntax errors only. */
#ifndef COBRE_SDDP_READ_JSON_FILE_H
#define COBRE_SDDP_READ_JSON_FILE_H

#include <jansson.h>

#include "sddp/problem/builder.h"

/* Reads a file that holds an object; NULL: reported. Errors at places in this file (CB_MEMBER, CB_ITEM; or a text that
 * is a JSON pointer) are reported with the line. */
json_t *cb_json_load(cobre_sddp_builder *builder, const char *path);

/* Reports the members of an object that are none of these; false: there are such. keys: NULL ends them. */
bool cb_json_known(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *const *keys);

/* A member has nearly this name. It is reported by cb_json_known; nothing is missing. */
bool cb_json_misspelt(const json_t *object, const char *key);

bool cb_is_utf8(const char *text);

#endif
