/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c: the number of cores and the memory that this process may use.
 *
 * A container or a batch job gets less than the machine has: the affinity mask and the cgroup's quota say how many
 * ranks can run at once, the cgroup's limit and the size of /dev/shm how much memory can be reserved. A cgroup is
 * limited by every cgroup above it, so we walk up. Both versions are read: 2 ("0::/path"), and 1 (a hierarchy for each
 * controller). */
#include "comm/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#include "comm/backend.h"

enum { PATH_SIZE = 4096 };

/* Reads a small file into text; false if that fails. */
static bool read_file(const char *directory, const char *name, char *text, size_t size) {
    char path[PATH_SIZE];
    int length_of_path = snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = length_of_path < PATH_SIZE ? fopen(path, "re") : NULL;
    if (!file)
        return false;
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    return length > 0;
}

static uint64_t read_number(const char *directory, const char *name, uint64_t otherwise) {
    char text[64];
    char *end;
    if (!read_file(directory, name, text, sizeof text))
        return otherwise;
    uint64_t value = strtoull(text, &end, 10);
    return end == text ? otherwise : value;
}

/* The number behind "key" at the start of a line, 0 if there is none. */
static uint64_t find_number(const char *text, const char *key) {
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0)
            return strtoull(line + length, NULL, 10);
    }
    return 0;
}

static uint64_t cores_v2(const char *directory) {
    char text[64];
    double quota, period;
    if (!read_file(directory, "cpu.max", text, sizeof text) || sscanf(text, "%lf %lf", &quota, &period) != 2 ||
        !(quota > 0 && quota < 1e15) || !(period > 0))
        return UINT64_MAX;
    return (uint64_t)((quota + period - 1) / period);
}

static uint64_t cores_v1(const char *directory) {
    uint64_t quota = read_number(directory, "cpu.cfs_quota_us", UINT64_MAX); /* none is -1, which wraps */
    uint64_t period = read_number(directory, "cpu.cfs_period_us", 0);
    return quota > INT64_MAX || period == 0 || period > INT64_MAX ? UINT64_MAX : (quota + period - 1) / period;
}

/* limit - used, where file cache that nobody needs does not count as used. */
static uint64_t memory_left(const char *directory, uint64_t limit, uint64_t used, const char *cache_key) {
    char text[8192];
    if (limit >= INT64_MAX / 2)
        return UINT64_MAX;
    uint64_t cache = read_file(directory, "memory.stat", text, sizeof text) ? find_number(text, cache_key) : 0;
    used -= cache < used ? cache : used;
    return used < limit ? limit - used : 0;
}

static uint64_t memory_v2(const char *directory) {
    uint64_t limit = read_number(directory, "memory.max", UINT64_MAX); /* "max" is not a number: none */
    return memory_left(directory, limit, read_number(directory, "memory.current", 0), "inactive_file ");
}

static uint64_t memory_v1(const char *directory) {
    uint64_t limit = read_number(directory, "memory.limit_in_bytes", UINT64_MAX);
    return memory_left(directory, limit, read_number(directory, "memory.usage_in_bytes", 0), "total_inactive_file ");
}

/* The least of what the cgroup at mount/path and those above it answer. Inside a container the path may lead out of
 * what is mounted; directories that are not there answer "no limit", and the mount itself is always asked. */
static uint64_t least_upwards(const char *mount, const char *path, uint64_t (*ask)(const char *)) {
    char directory[PATH_SIZE];
    size_t top = strlen(mount);
    uint64_t least = UINT64_MAX;
    if (snprintf(directory, sizeof directory, "%s%s", mount, path) >= PATH_SIZE)
        return least;
    for (;;) {
        uint64_t answer = ask(directory);
        least = answer < least ? answer : least;
        char *slash = strrchr(directory, '/');
        if (strlen(directory) <= top || !slash)
            return least;
        size_t parent = (size_t)(slash - directory);
        directory[parent > top ? parent : top] = '\0';
    }
}

/* Is `name` one of the comma-separated controllers? */
static bool has_controller(const char *controllers, const char *name) {
    size_t length = strlen(name);
    for (const char *at = controllers; (at = strstr(at, name)); at += length)
        if ((at == controllers || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Goes through /proc/self/cgroup, whose lines are "number:controllers:path". */
static uint64_t least_of_cgroups(const char *root, const char *controller, uint64_t (*ask_v1)(const char *),
                                 uint64_t (*ask_v2)(const char *)) {
    char text[8192], proc[PATH_SIZE], mount[PATH_SIZE];
    uint64_t least = UINT64_MAX;
    snprintf(proc, sizeof proc, "%s/proc/self", root);
    if (!read_file(proc, "cgroup", text, sizeof text))
        return least;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        controllers++;
        bool v2 = *controllers == '\0';
        if (!v2 && !has_controller(controllers, controller))
            continue;
        if (snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, v2 ? "" : "/", controllers) >= PATH_SIZE)
            continue;
        uint64_t answer = least_upwards(mount, path, v2 ? ask_v2 : ask_v1);
        least = answer < least ? answer : least;
    }
    return least;
}

size_t cb_cgroup_cores(const char *root) {
    return (size_t)least_of_cgroups(root, "cpu", cores_v1, cores_v2);
}

uint64_t cb_cgroup_memory(const char *root) {
    return least_of_cgroups(root, "memory", memory_v1, memory_v2);
}

static size_t affinity_cores(void) {
#ifdef __linux__
    /* The mask of a large machine may not fit the fixed set: ask with a larger one until it does. */
    for (int cpus = CPU_SETSIZE; cpus <= 1 << 16; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        if (!set)
            break;
        int failed = sched_getaffinity(0, size, set);
        int count = failed ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0)
            return (size_t)count;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

size_t cb_usable_cores(void) {
    size_t cores = affinity_cores();
    size_t quota = cb_cgroup_cores("");
    return quota < cores ? (quota ? quota : 1) : cores;
}

uint64_t cb_memory_free(int fd) {
    char text[4096];
    uint64_t available = UINT64_MAX;
    if (read_file("/proc", "meminfo", text, sizeof text) && find_number(text, "MemAvailable:"))
        available = find_number(text, "MemAvailable:") * 1024;
    uint64_t cgroup = cb_cgroup_memory("");
    available = cgroup < available ? cgroup : available;
    struct statvfs fs;
    if (fd >= 0 && fstatvfs(fd, &fs) == 0 && fs.f_blocks > 0) { /* 0 blocks: a tmpfs without a limit */
        uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
        available = room < available ? room : available;
    }
    return available;
}
