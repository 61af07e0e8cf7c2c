/* SPDX-License-Identifier: Apache-2.0 */
/* starve.c: see starve.h. The linker sends the program's own calls here (--wrap). */
#include "sddp/starve.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static atomic_long left = LONG_MAX;

void starve_after(long times) {
    left = times;
}

static bool fed(void) {
    return left == LONG_MAX || left-- > 0;
}

void *__wrap_malloc(size_t bytes) {
    return fed() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fed() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *old, size_t bytes) {
    return fed() ? __real_realloc(old, bytes) : NULL;
}
