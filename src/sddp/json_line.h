/* json_line.h: where a value stands in a JSON text; jansson keeps lines for syntax errors only. */
#ifndef CB_JSON_LINE_H
#define CB_JSON_LINE_H

#include <stddef.h>

/* The line, from 1, of the value that `pointer` (RFC 6901: "/nodes/0/name", "" for the whole) names in a text that a
 * JSON parser accepted; for a member of an object the line of its key. When the pointer leads nowhere, the line of the
 * innermost value that it does lead to. */
size_t cb_json_line(const char *text, const char *pointer);

#endif
