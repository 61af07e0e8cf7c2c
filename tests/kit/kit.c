/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/kit.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Thread_local const kit *kit_of_thread;

void kit_say_who(void) {
    const kit *k = kit_of_thread;
    if (k)
        fprintf(stderr, "    rank %zu of %zu, seed %llu, doing: %s\n", k->rank, k->size, (unsigned long long)k->seed,
                k->note[0] ? k->note : "-");
}

void kit_be(const kit *k) {
    kit_of_thread = k;
}

void kit_note(const kit *k, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(k->note, sizeof k->board->note[0], format, args);
    va_end(args);
}

void *kit_alloc(size_t bytes) {
    if (bytes == 0)
        return NULL;
    void *memory = malloc(bytes);
    CHECK(memory != NULL);
    return memory;
}

/* SplitMix64. */
uint64_t kit_random(uint64_t *state) {
    uint64_t x = (*state += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

size_t kit_below(uint64_t *state, size_t below) {
    return (size_t)(kit_random(state) % below);
}

static size_t times_divisor = 1;

size_t kit_times(size_t n) {
    size_t divisor = times_divisor * (KIT_SANITIZED ? 10 : getenv("COBRE_TEST_LONG") ? 1 : 4);
    return (n + divisor - 1) / divisor;
}

void kit_cut_times(size_t divisor) {
    times_divisor *= divisor;
}

double kit_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

kit kit_on(const kit *k, cobre_comm *comm) {
    kit other = *k;
    other.comm = comm;
    other.rank = cobre_rank(comm);
    other.size = cobre_size(comm);
    return other;
}

void kit_reopen(kit *k) {
    CHECK_OK(cobre_comm_free(&k->comm));
    CHECK_OK(cobre_comm_open(k->config, &k->comm));
    CHECK_EQ(cobre_rank(k->comm), k->rank);
    CHECK_EQ(cobre_size(k->comm), k->size);
}

int kit_in_child(kit *k, void (*body)(kit *k, void *argument), void *argument) {
    fflush(NULL); /* or the child writes our buffered text again */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = 0, .rlim_max = 0});
        body(k, argument);
        _exit(0);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        CHECK(errno == EINTR);
    return status;
}

static size_t count_lines(const char *path) {
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t lines = 0;
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

kit_usage kit_count_usage(void) {
    kit_usage usage = {.mappings = count_lines("/proc/self/maps")};
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        char target[64] = "";
        struct stat status;
        usage.descriptors++;
        if (readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1) > 0 &&
            strncmp(target, "/dev/shm/", 9) == 0 && fstat(atoi(entry->d_name), &status) == 0)
            usage.shm_blocks += (size_t)status.st_blocks;
    }
    closedir(dir);
    return usage;
}

uint64_t kit_memory_total(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    CHECK(file != NULL);
    unsigned long long kilobytes;
    CHECK(fscanf(file, "MemTotal: %llu", &kilobytes) == 1);
    fclose(file);
    return 1024 * (uint64_t)kilobytes;
}
