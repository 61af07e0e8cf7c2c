/* SPDX-License-Identifier: Apache-2.0 */
/* os.c: small functions around the operating system that several backends need. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "comm/backend.h"
#include "comm/file_limit.h"
#include "comm/same_file.h"

const char *cb_variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void cb_set_number(const char *variable, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    setenv(variable, text, 1);
}

static bool describe(int fd, char text[80]) {
    struct cb_identity id;
    if (!cb_identify(fd, &id))
        return false;
    snprintf(text, 80, "%d:%ju:%ju", fd, (uintmax_t)id.device, (uintmax_t)id.inode);
    return true;
}

bool cb_set_descriptor(const char *variable, int fd) {
    char text[80];
    return describe(fd, text) && fcntl(fd, F_SETFD, 0) == 0 && setenv(variable, text, 1) == 0;
}

int cb_take_descriptor(const char *variable) {
    char text[80];
    const char *value = cb_variable(variable);
    long fd = value ? strtol(value, NULL, 10) : -1;
    if (fd < 3 || fd > INT_MAX || !describe((int)fd, text) || strcmp(text, value) != 0)
        return -1;
    fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    return (int)fd;
}

double cb_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct timespec cb_timespec(double seconds) {
    time_t whole = (time_t)seconds;
    return (struct timespec){.tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9)};
}

void cb_nap(double seconds) {
    struct timespec time = cb_timespec(seconds);
    nanosleep(&time, NULL);
}

/* Signals are for the program's threads, so ours start with all of them blocked. */
int cb_start_thread(pthread_t *thread, void *(*run)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

size_t cb_page_size(void) {
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

size_t cb_round_up(size_t value, size_t to) {
    return (value + to - 1) / to * to;
}

const char *cb_bytes_text(uint64_t bytes, char text[32]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* Another thread may hold the stream for ever, waiting for input or output. */
static void flush_if_free(FILE *stream) {
    if (ftrylockfile(stream) == 0) {
        fflush_unlocked(stream);
        funlockfile(stream);
    }
}

void cb_flush_output(void) {
    struct cb_file_limit hold;
    cb_file_limit_hold(&hold);
    flush_if_free(stdout);
    flush_if_free(stderr);
    cb_file_limit_release(&hold);
}

#ifdef SYS_mbind
/* The set of memory nodes, "0-1,4", as a mask. */
static unsigned long memory_nodes(void) {
    unsigned long mask = 0;
    char text[256] = "";
    FILE *file = fopen("/sys/devices/system/node/has_memory", "re");
    if (!file)
        return 0;
    if (!fgets(text, sizeof text, file))
        text[0] = '\0';
    fclose(file);
    for (char *at = text; *at >= '0' && *at <= '9'; at += *at == ',') {
        unsigned long first = strtoul(at, &at, 10), last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
        for (unsigned long node = first; node <= last && node < 8 * sizeof mask; node++)
            mask |= 1ul << node;
    }
    return mask;
}
#endif

enum { MPOL_DEFAULT_POLICY = 0, MPOL_INTERLEAVE_POLICY = 3 };

/* A wish, not a need: kernels and containers without NUMA refuse it, and the pages then lie as the slices. */
void cb_interleave(void *base, size_t bytes) {
#ifdef SYS_mbind
    unsigned long nodes = memory_nodes();
    if (nodes)
        syscall(SYS_mbind, base, bytes, MPOL_INTERLEAVE_POLICY, &nodes, 8 * sizeof nodes, 0);
#else
    (void)base, (void)bytes;
#endif
}

void cb_end_interleave(void *base, size_t bytes) {
#ifdef SYS_mbind
    syscall(SYS_mbind, base, bytes, MPOL_DEFAULT_POLICY, NULL, 0, 0);
#else
    (void)base, (void)bytes;
#endif
}
