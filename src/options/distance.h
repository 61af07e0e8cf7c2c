/* SPDX-License-Identifier: Apache-2.0 */
/* distance.h: which name was meant. */
#ifndef COBRE_OPTIONS_DISTANCE_H
#define COBRE_OPTIONS_DISTANCE_H

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { CB_DISTANCE_ROOM = 32 };

/* How many letters to add, drop or change (Levenshtein), one row at a time, to get from `word`, whatever its case, to
 * `name`, which is in lower case and shorter than CB_DISTANCE_ROOM. */
static inline size_t cb_distance(const char *word, const char *name) {
    size_t row[CB_DISTANCE_ROOM], length = strlen(name);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; word[i]; i++) {
        size_t diagonal = row[0]++;
        for (size_t j = 0; j < length; j++) {
            size_t change = diagonal + (tolower((unsigned char)word[i]) != name[j]);
            diagonal = row[j + 1];
            size_t step = 1 + (row[j] < diagonal ? row[j] : diagonal);
            row[j + 1] = change < step ? change : step;
        }
    }
    return row[length];
}

#endif
