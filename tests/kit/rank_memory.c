/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.c: does anything grow over many regions and communicators, and what if there is no room? */
#include "kit/rank.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum { SMALL = 2000 };

struct usage {
    size_t descriptors, mappings, shm_files, resident_kb;
};

static size_t entries_of(const char *directory) {
    size_t count = 0;
    DIR *stream = opendir(directory);
    CHECK(stream);
    while (readdir(stream))
        count++;
    closedir(stream);
    return count;
}

static struct usage measure(void) {
    struct usage usage = {.descriptors = entries_of("/proc/self/fd"), .shm_files = entries_of("/dev/shm")};
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r"), *status = fopen("/proc/self/status", "r");
    CHECK(maps && status);
    while (fgets(line, sizeof line, maps))
        usage.mappings++;
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "VmRSS:", 6) == 0)
            usage.resident_kb = strtoul(line + 6, NULL, 10);
    fclose(maps);
    fclose(status);
    return usage;
}

static void one_region(void) {
    cobre_region *region;
    must(cobre_region_create(comm, SMALL, COBRE_F64, 0, &region));
    double *data = cobre_region_data_mut(region);
    if (data)
        data[SMALL - 1] = 1;
    must(cobre_region_fence(region));
    CHECK(((const double *)cobre_region_data(region))[SMALL - 1] == 1.0);
    must(cobre_region_free(&region));
}

static void one_split(void) {
    cobre_comm *local;
    must(cobre_split_local(comm, &local));
    must(cobre_barrier(local));
    must(cobre_comm_free(&local));
}

static void one_open(void) {
    cobre_comm *other;
    must(cobre_comm_open(NULL, &other));
    must(cobre_barrier(other));
    must(cobre_comm_free(&other));
}

/* MPI keeps pools that it fills at first; from the first tenth on all has to stay as it is. */
void go_round(const char *what) {
    char name[16];
    size_t times;
    CHECK(sscanf(what, "%15[^,],%zu", name, &times) == 2);
    void (*turn)(void) = strcmp(name, "region") == 0 ? one_region : strcmp(name, "split") == 0 ? one_split : one_open;
    struct usage before = {0};
    for (size_t i = 0; i < times; i++) {
        if (i == times / 10) {
            must(cobre_barrier(comm)); /* nobody's files of the last turn are on their way out */
            before = measure();
            must(cobre_barrier(comm));
        }
        turn();
    }
    must(cobre_barrier(comm));
    struct usage after = measure();
    must(cobre_barrier(comm));
    printf("rank %zu, %zu times %s: descriptors %zu %zu, mappings %zu %zu, /dev/shm %zu %zu, resident KB %zu %zu\n",
           rank, times, name, before.descriptors, after.descriptors, before.mappings, after.mappings, before.shm_files,
           after.shm_files, before.resident_kb, after.resident_kb);
    fflush(stdout);
    CHECK(after.descriptors <= before.descriptors && after.shm_files <= before.shm_files);
    CHECK(after.mappings <= before.mappings + 4 && after.resident_kb <= before.resident_kb + 512);
}

void overfill(void) {
    struct statvfs shm;
    cobre_region *region;
    uint8_t one = 1, sum = 0;
    CHECK(statvfs("/dev/shm", &shm) == 0);
    size_t room = (size_t)shm.f_bavail * shm.f_frsize;
    for (size_t bytes = room - room / 64; bytes <= 8 * room; bytes *= 2) {
        CHECK(cobre_region_create(comm, bytes, COBRE_U8, 0, &region) == COBRE_ALLOCATION_FAILED);
        const cobre_error *error = cobre_last_error();
        CHECK(!region && error->expected >= bytes && error->actual < error->expected && error->suggestion[0]);
        if (bytes < room)
            printf("rank %zu: %s\n", rank, error->message);
        must(cobre_allreduce(comm, &one, 1, &sum, 1, COBRE_U8, COBRE_SUM));
        CHECK(sum == size);
    }
    must(cobre_region_create(comm, room / 2, COBRE_U8, 0, &region));
    CHECK(((const uint8_t *)cobre_region_data(region))[room / 2 - 1] == 0);
    must(cobre_region_free(&region));
}

void make_region(size_t bytes) {
    cobre_region *region;
    must(cobre_region_create(comm, bytes, COBRE_U8, 0, &region));
    if (cobre_region_data_mut(region))
        memset(cobre_region_data_mut(region), 1, bytes);
    must(cobre_region_fence(region));
    must(cobre_region_free(&region));
}

_Thread_local const char *refuse;

/* The call was refused this rank's memory, if it should be, and failed on all ranks, with the same words. */
static void must_be_refused(cobre_status status) {
    char mine[2048] = "", first[2048];
    CHECK_SAY(!refuse, "%s was called", refuse);
    CHECK_STATUS(status, COBRE_ALLOCATION_FAILED);
    snprintf(mine, sizeof mine, "%s", cobre_last_error()->message);
    memcpy(first, mine, sizeof first);
    must(cobre_broadcast(comm, first, sizeof first, COBRE_U8, 0));
    CHECK_TEXT(mine, first);
    CHECK_HOLDS(mine, "Cannot allocate memory");
}

static void refuse_region(bool unlucky) {
    cobre_region *region;
    refuse = unlucky ? "calloc" : NULL;
    must_be_refused(cobre_region_create(comm, SMALL, COBRE_F64, 0, &region));
    CHECK(!region);
    one_region();
}

static void refuse_split(bool unlucky) {
    cobre_comm *local;
    refuse = unlucky ? "calloc" : NULL;
    must_be_refused(cobre_split_local(comm, &local));
    CHECK(!local);
    one_split();
}

/* Only its own rank hears of pages that stay writable. To all of them the region is sealed. */
static void refuse_seal(bool unlucky) {
    cobre_region *region;
    must(cobre_region_create(comm, SMALL, COBRE_F64, 0, &region));
    refuse = unlucky ? "mprotect" : NULL;
    CHECK_STATUS(cobre_region_seal(region), unlucky ? COBRE_ALLOCATION_FAILED : COBRE_OK);
    CHECK_SAY(!refuse, "%s was called", refuse);
    if (unlucky)
        CHECK_HOLDS(cobre_last_error()->message, "cannot make the region read-only");
    CHECK(!cobre_region_claim(region, 0, 1) && !cobre_region_data_mut(region));
    must(cobre_region_seal(region)); /* again, and now it works */
    must(cobre_region_free(&region));
}

void refused(const char *what) {
    void (*turn)(bool) = strcmp(what, "region") == 0  ? refuse_region
                         : strcmp(what, "split") == 0 ? refuse_split
                                                      : refuse_seal;
    for (size_t unlucky = 0; unlucky < size; unlucky++)
        turn(rank == unlucky);
}
