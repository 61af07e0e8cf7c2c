/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: memory that its owner frees all at once. */
#ifndef COBRE_SDDP_ARENA_H
#define COBRE_SDDP_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* All zero is an arena without memory. */
typedef struct {
    struct cb_arena_block *last;
    bool failed; /* an allocation failed; it stays set, so that many can be checked at once */
} cb_arena;

void *cb_arena_alloc(cb_arena *arena, size_t count, size_t size); /* zeroed, also when count is 0; NULL: no memory */
char *cb_arena_text(cb_arena *arena, const char *format, va_list arguments); /* NULL: no memory */
const char *cb_arena_keep(cb_arena *arena, const char *text);                /* a copy; "": no memory */
void cb_arena_free(cb_arena *arena); /* the arena is empty then, and can be used again */

#endif
