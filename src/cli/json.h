/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: writes the JSON of commands. Without memory the process prints an error and exits. */
#ifndef COBRE_CLI_JSON_H
#define COBRE_CLI_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

json_t *cb_json_text(const char *text); /* bytes that are not UTF-8 become U+FFFD */
json_t *cb_json_real(double value);     /* null when it is not finite */
json_t *cb_json_count(uint64_t count);  /* a real from 2^63 on, because jansson's integers end there */

/* These take the value over. */
void cb_json_set(json_t *object, const char *key, json_t *value);
void cb_json_append(json_t *list, json_t *value);
void cb_json_write(FILE *file, json_t *value, size_t flags); /* flags: of json_dumpf */
void cb_json_print(json_t *value, size_t flags);             /* and an end of line, to standard output */

json_t *cb_solvers_json(void); /* `cobre info`: the LP solvers; null without the planner */

#endif
