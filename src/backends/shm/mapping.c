/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.c: pages of the job's file: mapped, reserved before use, given back. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "backends/shm/shm.h"

/* Reserve in steps: others take memory meanwhile, and a signal undoes what fallocate did in one call. */
enum { STEP = 64 << 20, SMALLEST_STEP = 1 << 20 };

void *cb_shm_map(int fd, off_t offset, size_t bytes) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return base == MAP_FAILED ? NULL : base;
}

void cb_shm_unmap(void *base, size_t bytes) {
    munmap(base, bytes);
}

/* Growing a file beyond this limit (ulimit -f) is a deadly signal, not an error. */
static bool beyond_file_limit(off_t end) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)end > limit.rlim_cur;
}

int cb_shm_reserve(int fd, off_t offset, size_t bytes) {
    size_t step = STEP;
    if (beyond_file_limit(offset + (off_t)bytes))
        return EFBIG;
    while (bytes) {
        size_t now = bytes < step ? bytes : step;
        if (bytes > cb_memory_free(fd))
            return ENOSPC;
        int error = posix_fallocate(fd, offset, (off_t)now);
        if (error == EINTR) { /* a program with a fast timer: try less at a time */
            step = step > SMALLEST_STEP ? step / 2 : step;
            continue;
        }
        if (error)
            return error;
        offset += (off_t)now;
        bytes -= now;
    }
    return 0;
}

void cb_shm_punch(int fd, off_t offset, size_t bytes) {
#ifdef FALLOC_FL_PUNCH_HOLE
    while (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, (off_t)bytes) != 0 && errno == EINTR)
        ;
#else
    (void)fd, (void)offset, (void)bytes; /* the pages go with the file */
#endif
}

void cb_shm_empty(void *base, size_t bytes) {
#ifdef MADV_REMOVE
    if (mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0)
        madvise(base, bytes, MADV_REMOVE);
#else
    (void)base, (void)bytes;             /* the pages go with the file */
#endif
}
