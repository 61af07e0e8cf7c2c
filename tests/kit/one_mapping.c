/* SPDX-License-Identifier: Apache-2.0 */
/* one_mapping.c: ranks that are threads of one process share a mapping of each part of their job's file. A race detector
 * knows memory by its address: with a mapping for each rank it would see no meeting at all, and pass every test for nothing.
 * Linked over the shm backend's functions by -Wl,--wrap. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "backends/shm/shm.h"
#include "kit/check.h"

void *__real_cb_shm_map(int fd, off_t offset, size_t bytes);
void __real_cb_shm_unmap(void *base, size_t bytes);
void *__wrap_cb_shm_map(int fd, off_t offset, size_t bytes);
void __wrap_cb_shm_unmap(void *base, size_t bytes);

struct mapping {
    struct mapping *next;
    ino_t inode;
    off_t offset;
    size_t bytes, users;
    void *base;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

static struct mapping *add(int fd, ino_t inode, off_t offset, size_t bytes) {
    void *base = __real_cb_shm_map(fd, offset, bytes);
    if (!base)
        return NULL;
    struct mapping *mapping = malloc(sizeof *mapping);
    CHECK(mapping);
    *mapping = (struct mapping){.next = mappings, .inode = inode, .offset = offset, .bytes = bytes, .base = base};
    return mappings = mapping;
}

void *__wrap_cb_shm_map(int fd, off_t offset, size_t bytes) {
    struct stat file;
    CHECK(fstat(fd, &file) == 0);
    pthread_mutex_lock(&guard);
    struct mapping *mapping = mappings;
    while (mapping && !(mapping->inode == file.st_ino && mapping->offset == offset && mapping->bytes == bytes))
        mapping = mapping->next;
    if (!mapping)
        mapping = add(fd, file.st_ino, offset, bytes);
    if (mapping)
        mapping->users++;
    pthread_mutex_unlock(&guard);
    return mapping ? mapping->base : NULL;
}

void __wrap_cb_shm_unmap(void *base, size_t bytes) {
    pthread_mutex_lock(&guard);
    struct mapping **link = &mappings;
    while ((*link)->base != base)
        link = &(*link)->next;
    struct mapping *mapping = *link;
    if (--mapping->users == 0) {
        *link = mapping->next;
        __real_cb_shm_unmap(base, bytes);
        free(mapping);
    }
    pthread_mutex_unlock(&guard);
}
