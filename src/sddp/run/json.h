/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: JSON values in the files of a run. Each is NULL without memory, which cb_put reports. */
#ifndef COBRE_SDDP_RUN_JSON_H
#define COBRE_SDDP_RUN_JSON_H

#include "options/json_text.h"

#include <stdbool.h>
#include <stdint.h>

bool cb_put(json_t *object, const char *key, json_t *value); /* false: no memory */
bool cb_push(json_t *list, json_t *value);                   /* the same at the end of a list */
json_t *cb_json_whole(json_t *value, bool good);             /* value if good; else frees it and returns NULL */
json_t *cb_json_of_count(uint64_t count);                    /* a text, if it is too large for readers of JSON */
json_t *cb_json_of_number(uint64_t count);                   /* the same, but a rounded real if it is too large */
json_t *cb_json_of_real(double value);                       /* null if it is not finite */

double cb_json_real_in(const json_t *object, const char *key);      /* NaN: it is not there, or null */
uint64_t cb_json_count_in(const json_t *object, const char *key);   /* 0: it is not there */
const char *cb_json_text_in(const json_t *object, const char *key); /* "": it is not there */

#endif
