/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c: one block for each allocation, in a list. */
#include "sddp/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cb_arena_block {
    struct cb_arena_block *before;
    max_align_t bytes[];
};

void *cb_arena_alloc(cb_arena *arena, size_t count, size_t size) {
    size_t bytes;
    struct cb_arena_block *block;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX - sizeof *block - 1 ||
        !(block = calloc(1, sizeof *block + bytes + 1))) {
        arena->failed = true;
        return NULL;
    }
    block->before = arena->last;
    arena->last = block;
    return block->bytes;
}

char *cb_arena_text(cb_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length < 0 ? NULL : cb_arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

const char *cb_arena_keep(cb_arena *arena, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = *text ? cb_arena_alloc(arena, bytes, 1) : NULL;
    return copy ? memcpy(copy, text, bytes) : "";
}

void cb_arena_free(cb_arena *arena) {
    for (struct cb_arena_block *block = arena->last, *before; block; block = before) {
        before = block->before;
        free(block);
    }
    *arena = (cb_arena){0};
}
