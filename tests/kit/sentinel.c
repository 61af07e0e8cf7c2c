/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/sentinel.h"

#include "kit/check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SPANS = 1 << 16, STEPS = 4 };
static const double nap = 0.002, grace = 0.002; /* seconds; within the grace a nap is not too long */

/* Written by the sentinel only. `last` is released after the spans that ended before it, so that who reads it sees them. */
typedef struct {
    _Atomic double last; /* when the sentinel ran last */
    _Atomic size_t count;
    struct {
        _Atomic double from, to; /* it should have run, it ran */
    } span[SPANS];               /* span[i % SPANS] for i < count */
} record;

static record *own;
static pid_t watcher;

static double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static record *map_record(int fd) {
    record *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    CHECK(r != MAP_FAILED);
    return r;
}

static _Noreturn void watch(record *r) {
    atomic_store_explicit(&r->last, clock_seconds(), memory_order_release);
    for (size_t count = 0;;) {
        double due = atomic_load_explicit(&r->last, memory_order_relaxed) + nap;
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * nap)}, NULL);
        double now = clock_seconds();
        if (now - due > grace) {
            atomic_store_explicit(&r->span[count % SPANS].from, due, memory_order_relaxed);
            atomic_store_explicit(&r->span[count % SPANS].to, now, memory_order_relaxed);
            atomic_store_explicit(&r->count, ++count, memory_order_release);
        }
        atomic_store_explicit(&r->last, now, memory_order_release);
    }
}

static void die_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
}

static double overlap(double from, double to, double span_from, double span_to) {
    double first = from > span_from ? from : span_from, last = to < span_to ? to : span_to;
    return last > first ? last - first : 0;
}

static double lost(const record *r, double from, double to) {
    double last = atomic_load_explicit(&r->last, memory_order_acquire), sum = 0, longest = 0;
    size_t count = atomic_load_explicit(&r->count, memory_order_acquire);
    for (size_t i = count > SPANS ? count - SPANS : 0; i <= count; i++) {
        double overslept = 0;
        if (i < count)
            overslept = overlap(from, to, atomic_load_explicit(&r->span[i % SPANS].from, memory_order_relaxed),
                                atomic_load_explicit(&r->span[i % SPANS].to, memory_order_relaxed));
        else if (to - last > nap + grace) /* it still does */
            overslept = overlap(from, to, last + nap, to);
        sum += overslept;
        longest = overslept > longest ? overslept : longest;
    }
    return sum < STEPS * longest ? sum : STEPS * longest;
}

/* The sentinel closes all that its parent has open, or the reader of a pipe would wait for the sentinel, too. */
void sentinel_start(void) {
    if (own)
        return;
    own = map_record(-1);
    pid_t parent = getpid();
    watcher = fork();
    CHECK(watcher >= 0);
    if (watcher > 0)
        return;
    setpgid(0, 0);
    die_with(parent);
    closefrom(0);
    watch(own);
}

void sentinel_stop(void) {
    CHECK(kill(watcher, SIGKILL) == 0 && waitpid(watcher, NULL, 0) == watcher);
}

double sentinel_lost(double from, double to) {
    return own ? lost(own, from, to) : 0;
}

double sentinel_waited(pid_t thread) {
    char path[64] = "/proc/thread-self/schedstat";
    unsigned long long ran, waited;
    if (thread)
        snprintf(path, sizeof path, "/proc/%d/schedstat", (int)thread);
    FILE *file = fopen(path, "r");
    bool counted = file && fscanf(file, "%llu %llu", &ran, &waited) == 2;
    if (file)
        fclose(file);
    return counted ? 1e-9 * (double)waited : 0;
}

#ifdef SENTINEL_PROGRAM

static record *open_record(const char *path, int flags) {
    int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    CHECK_SAY(fd >= 0, "%s can be opened", path);
    if (flags & O_CREAT)
        CHECK(ftruncate(fd, sizeof(record)) == 0);
    return map_record(fd);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "watch") == 0) {
        die_with(getppid());
        watch(open_record(argv[2], O_CREAT | O_TRUNC));
    }
    if (argc == 2 && strcmp(argv[1], "now") == 0)
        printf("%.0f\n", 1e6 * clock_seconds());
    else if (argc == 5 && strcmp(argv[1], "lost") == 0)
        printf("%.0f\n",
               1e6 * lost(open_record(argv[2], 0), 1e-6 * strtod(argv[3], NULL), 1e-6 * strtod(argv[4], NULL)));
    else
        CHECK_NEVER("usage: sentinel watch FILE | sentinel now | sentinel lost FILE FROM TO");
    return 0;
}

#endif
