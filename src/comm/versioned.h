/* SPDX-License-Identifier: Apache-2.0 */
/* versioned.h: structs of callers that can grow. Such a struct begins with `size_t struct_size`, the size that the program
 * was built with; 0 stands for the first version's. New members come at the end, so an older program passes a shorter
 * struct, and a newer one a longer struct. */
#ifndef COBRE_COMM_VERSIONED_H
#define COBRE_COMM_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The size of a struct up to the member that was the last one of its first version. */
#define CB_THROUGH(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

static inline size_t cb_versioned_size(const void *given, size_t first_version) {
    size_t size;
    memcpy(&size, given, sizeof size);
    return size ? size : first_version;
}

/* Copies a caller's struct into our own, which is `size` bytes and zero. False: shorter than any version. */
static inline bool cb_versioned_take(void *own, size_t size, size_t first_version, const void *given) {
    size_t theirs = cb_versioned_size(given, first_version);
    if (theirs < first_version)
        return false;
    memcpy(own, given, theirs < size ? theirs : size);
    memcpy(own, &size, sizeof size);
    return true;
}

/* Copies our own struct into a caller's, as much as that holds; its struct_size stays. */
static inline void cb_versioned_give(void *theirs, size_t first_version, const void *own, size_t size) {
    size_t room = cb_versioned_size(theirs, first_version), from = sizeof(size_t);
    memcpy((char *)theirs + from, (const char *)own + from, (room < size ? room : size) - from);
}

#endif
