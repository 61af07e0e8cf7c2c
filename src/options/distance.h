/* SPDX-License-Identifier: Apache-2.0 */
/* distance.h: finds the name that was probably meant. */
#ifndef COBRE_OPTIONS_DISTANCE_H
#define COBRE_OPTIONS_DISTANCE_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { CB_DISTANCE_ROOM = 128 };

/* How many letters to add, drop or change (Levenshtein), one row at a time, to get from `word` to `name`, whatever the
 * case of both. Of a long name only the beginning counts. */
static inline size_t cb_distance(const char *word, const char *name) {
    size_t row[CB_DISTANCE_ROOM], length = strnlen(name, CB_DISTANCE_ROOM - 1);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; word[i]; i++) {
        size_t diagonal = row[0]++;
        for (size_t j = 0; j < length; j++) {
            size_t change = diagonal + (tolower((unsigned char)word[i]) != tolower((unsigned char)name[j]));
            diagonal = row[j + 1];
            size_t step = 1 + (row[j] < diagonal ? row[j] : diagonal);
            row[j + 1] = change < step ? change : step;
        }
    }
    return row[length];
}

/* So few letters differ that the one was probably meant to be the other: 1 of 2 or 3, 2 of 4 to 6. */
static inline bool cb_is_close(const char *word, const char *name) {
    size_t length = strlen(name);
    if (strlen(word) >= CB_DISTANCE_ROOM || length >= CB_DISTANCE_ROOM)
        return false;
    size_t distance = cb_distance(word, name);
    return distance < length && 3 * distance <= length + 2;
}

#endif
