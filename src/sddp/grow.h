/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h: arrays that grow by doubling. */
#ifndef COBRE_SDDP_GROW_H
#define COBRE_SDDP_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline bool cb_grow(void *array, size_t size, size_t count, size_t *room) {
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 8;
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    if (more > SIZE_MAX / 2 / size || !(grown = realloc(old, more * size)))
        return false;
    memcpy(array, &grown, sizeof grown);
    *room = more;
    return true;
}

/* Makes room for one more element. Without memory it is false, and owner->no_memory is set. */
#define CB_GROW(owner, array, count, room)                                                                             \
    (cb_grow(&(array), sizeof *(array), (count), &(room)) || ((owner)->no_memory = true, false))

#endif
