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
