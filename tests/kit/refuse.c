/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.c: a rank that lacks memory at a moment of its choice: the system's functions, also for libraries that are loaded
 * later, and one that does not work once (rank_memory.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kit/rank.h"

extern void *__libc_calloc(size_t count, size_t size);

static bool refuse_now(const char *function) {
    if (!refuse || strcmp(refuse, function) != 0)
        return false;
    refuse = NULL;
    errno = ENOMEM;
    return true;
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size_of_one) {
    return refuse_now("calloc") ? NULL : __libc_calloc(count, size_of_one);
}

__attribute__((visibility("default"))) int mprotect(void *address, size_t bytes, int protection) {
    return refuse_now("mprotect") ? -1 : (int)syscall(SYS_mprotect, address, bytes, protection);
}
