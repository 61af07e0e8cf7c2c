/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: recognises UTF-8. It is inline for libcobre-sddp, which calls only public functions. */
#ifndef COBRE_COMM_UTF8_H
#define COBRE_COMM_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at text, 0 if it is not one: a name from the environment can hold anything, and JSON must
 * stay JSON. */
static inline size_t cb_utf8_length(const unsigned char *text) {
    size_t length = text[0] < 0x80 ? 1 : (text[0] & 0xe0) == 0xc0 ? 2 : (text[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (text[0] >= 0x80 && (text[0] < 0xc2 || text[0] > 0xf4))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool surrogate_or_overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
                                 (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f);
    return surrogate_or_overlong ? 0 : length;
}

#endif
