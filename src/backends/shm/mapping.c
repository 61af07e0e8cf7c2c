/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.c: pages of the job's file: mapped, reserved before use, given back. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/shm/shm.h"
#include "comm/file_limit.h"

/* Reserve in steps: others take memory meanwhile, and a signal undoes what fallocate did in one call. */
enum { STEP = 64 << 20, SMALLEST_STEP = 1 << 20 };

void *cb_shm_map(int fd, off_t offset, size_t bytes) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return base == MAP_FAILED ? NULL : base;
}

void cb_shm_unmap(void *base, size_t bytes) {
    munmap(base, bytes);
}

bool cb_shm_has_file(const struct cb_job *job) {
    return cb_is_still(job->fd, &job->file);
}

int cb_shm_lengthen(int fd, off_t end) {
    struct cb_file_limit hold;
    struct stat file;
    int failed;
    if (fstat(fd, &file) == 0 && file.st_size >= end)
        return 0;
    cb_file_limit_hold(&hold);
    while ((failed = ftruncate(fd, end)) != 0 && errno == EINTR)
        ;
    cb_file_limit_release(&hold);
    return failed ? errno : 0;
}

static int reserve_step(int fd, off_t offset, size_t bytes) {
    struct cb_file_limit hold;
    cb_file_limit_hold(&hold);
    int error = posix_fallocate(fd, offset, (off_t)bytes);
    cb_file_limit_release(&hold);
    return error;
}

int cb_shm_reserve(int fd, off_t offset, size_t bytes) {
    size_t step = STEP;
    while (bytes) {
        size_t now = bytes < step ? bytes : step;
        if (bytes > cb_memory_free(fd))
            return ENOSPC;
        int error = reserve_step(fd, offset, now);
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

bool cb_shm_empty(void *base, size_t bytes) {
#ifdef MADV_REMOVE
    munlock(base, bytes); /* the program may have locked all its pages */
    return mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0 && madvise(base, bytes, MADV_REMOVE) == 0;
#else
    (void)base, (void)bytes;
    return false; /* the pages go with the file */
#endif
}
