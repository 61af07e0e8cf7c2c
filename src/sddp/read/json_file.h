/* json_file.h: JSON files whose errors have a line; jansson keeps lines for syntax errors only. */
#ifndef COBRE_SDDP_READ_JSON_FILE_H
#define COBRE_SDDP_READ_JSON_FILE_H

#include <jansson.h>

#include "sddp/problem/problem.h"

/* Reads a file that holds an object; NULL: reported. Errors at places in this file that are JSON pointers (RFC 6901:
 * "/nodes/a/realizations/0") are reported with the line. */
json_t *cb_json_load(cobre_sddp_builder *builder, const char *path);

/* Moves the place of errors down to a member or an item of where it is, and back up to `from`, which down returned. */
size_t cb_json_down(cobre_sddp_builder *builder, const char *key);
size_t cb_json_down_item(cobre_sddp_builder *builder, size_t index);
void cb_json_up(cobre_sddp_builder *builder, size_t from);

#endif
