/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h: a whole number from text, strictly. It is inline for src/options, which cannot call into libcobre. */
#ifndef COBRE_COMM_PARSE_H
#define COBRE_COMM_PARSE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* False: it has anything but digits, or is too large. */
static inline bool cb_parse_whole(const char *text, uint64_t *value) {
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

#endif
