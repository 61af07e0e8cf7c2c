/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c: the measuring loop.
 *
 *  1. Fill the buffers, so that all their pages exist; call once and compare every element of the result.
 *  2. Calibrate: double the number of calls until they take long enough. That also warms up. The slowest rank's time
 *     gives the batch (calls per repetition, so that reading the clock costs nothing) and the number of repetitions.
 *  3. Time the repetitions, each rank for itself, with nothing between them. A rank cannot run ahead in an operation that
 *     needs data of every other rank. In a broadcast the root could, so each call has the next rank as root.
 *  4. Compare the result again, then take the maximum over the ranks of each repetition's time.
 *
 * Cold buffers: a set twice as large as the last-level cache, visited in an order that no prefetcher follows.
 */
#include "cli/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, LINE_DOUBLES = LINE / sizeof(double) };

static const double shortest_repetition = 100e-6; /* seconds */

struct run {
    struct peer *peer;
    const struct bench_work *work;
    size_t count, part;       /* doubles: of the result; that this rank sends */
    size_t slots;             /* buffers to rotate over, a power of two */
    size_t send_step, stride; /* doubles from a slot to the next: of send, of recv */
    double *send, *recv;      /* recv: NULL when the result goes to a region */
    const double *region;
    size_t *counts, *displs, *places; /* places: displs in the slot at hand */
    size_t turn, root;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static _Noreturn void no_memory(size_t bytes) {
    fprintf(stderr,
            "cobre bench: no memory for a buffer of %zu bytes on each rank: take a smaller size or fewer ranks\n",
            bytes);
    exit(1);
}

/* Mapped, not malloc'ed: starts at a page and goes back to the system at once. */
static double *take(size_t count) {
    void *memory = mmap(NULL, count * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        no_memory(count * sizeof(double));
    return memory;
}

static void give_back(double *memory, size_t count) {
    if (memory)
        munmap(memory, count * sizeof(double));
}

static size_t last_level_cache(void) {
    size_t largest = 0;
    for (int index = 0; index < 8; index++) {
        char path[64];
        unsigned long kilobytes = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "r");
        if (!file)
            break;
        if (fscanf(file, "%luK", &kilobytes) == 1 && kilobytes * 1024 > largest)
            largest = kilobytes * 1024;
        fclose(file);
    }
    return largest ? largest : (size_t)64 << 20;
}

static size_t whole_lines(size_t count) {
    return (count + LINE_DOUBLES - 1) / LINE_DOUBLES * LINE_DOUBLES;
}

/* Small whole numbers: every order of adding them gives the same sum. */
static double value(size_t rank, size_t index) {
    return (double)(rank + 1 + (index & 1023));
}

static double sum_of_ranks(size_t size, size_t index) {
    return (double)(size * (size + 1) / 2 + size * (index & 1023));
}

static void share_out(struct run *run) {
    size_t size = run->peer->size, displ = 0;
    run->counts = calloc(3 * size, sizeof *run->counts);
    if (!run->counts)
        no_memory(3 * size * sizeof *run->counts);
    run->displs = run->counts + size;
    run->places = run->displs + size;
    for (size_t r = 0; r < size; r++) {
        run->counts[r] = run->count / size + (r < run->count % size);
        run->displs[r] = displ;
        displ += run->counts[r];
    }
}

/* So that each page of a region is in this process's page table too. */
static void look_at(const double *region, size_t count) {
    enum { PAGE_DOUBLES = 4096 / sizeof(double) };
    for (size_t i = 0; i < count; i += PAGE_DOUBLES)
        (void)*(volatile const double *)&region[i];
}

static void fill(struct run *run) {
    enum bench_operation operation = run->work->operation;
    if (run->send)
        for (size_t slot = 0; slot < run->slots; slot++)
            for (size_t i = 0; i < run->part; i++)
                run->send[slot * run->send_step + i] = value(run->peer->rank, i);
    if (run->recv && operation == BENCH_BROADCAST) /* any rank may be the root of any slot */
        for (size_t slot = 0; slot < run->slots; slot++)
            for (size_t i = 0; i < run->count; i++)
                run->recv[slot * run->stride + i] = value(0, i);
    else if (run->recv)
        memset(run->recv, 0, run->slots * run->stride * sizeof(double));
    else if (run->region)
        look_at(run->region, run->slots * run->stride);
}

static void prepare(struct run *run) {
    enum bench_operation operation = run->work->operation;
    bool gathers = operation == BENCH_ALLGATHERV || operation == BENCH_ALLGATHERV_REGION;
    run->count = run->work->bytes / sizeof(double);
    run->slots = 1;
    share_out(run);
    run->part = operation == BENCH_BROADCAST ? 0 : gathers ? run->counts[run->peer->rank] : run->count;
    run->stride = whole_lines(run->count);
    run->send_step = whole_lines(gathers ? run->counts[0] : run->part); /* the same on all ranks, as slots must be */
    size_t both = (run->stride + run->send_step) * sizeof(double), enough = 2 * last_level_cache();
    while (run->work->cold && both && run->slots * both < enough)
        run->slots *= 2;
    if (run->send_step)
        run->send = take(run->slots * run->send_step);
    if (operation == BENCH_ALLGATHERV_REGION)
        run->region = run->peer->region_create(run->peer, run->slots * run->stride);
    else if (run->stride)
        run->recv = take(run->slots * run->stride);
    fill(run);
}

static void release(struct run *run) {
    give_back(run->send, run->slots * run->send_step);
    give_back(run->recv, run->slots * run->stride);
    if (run->region)
        run->peer->region_free(run->peer);
    free(run->counts);
}

static void gather_into_region(struct run *run, const double *send, size_t slot) {
    for (size_t r = 0; r < run->peer->size; r++)
        run->places[r] = run->displs[r] + slot * run->stride;
    run->peer->region_gather(run->peer, send, run->counts, run->places);
}

static void call(struct run *run) {
    static const size_t hop = 0x9e3779b1; /* odd: visits every slot of a power of two; large: jumps */
    struct peer *peer = run->peer;
    size_t slot = run->turn++ * hop & (run->slots - 1), root = run->root;
    const double *send = run->send ? run->send + slot * run->send_step : NULL;
    double *recv = run->recv ? run->recv + slot * run->stride : NULL;
    run->root = root + 1 == peer->size ? 0 : root + 1;
    switch (run->work->operation) {
    case BENCH_BARRIER: peer->barrier(peer); break;
    case BENCH_ALLREDUCE: peer->allreduce(peer, send, recv, run->count); break;
    case BENCH_BROADCAST: peer->broadcast(peer, recv, run->count, root); break;
    case BENCH_ALLGATHERV: peer->allgatherv(peer, send, recv, run->counts, run->displs); break;
    case BENCH_ALLGATHERV_REGION: gather_into_region(run, send, slot); break;
    case BENCH_OPERATION_COUNT: break;
    }
}

static bool gathered(const struct run *run, const double *result) {
    for (size_t r = 0; r < run->peer->size; r++)
        for (size_t i = 0; i < run->counts[r]; i++)
            if (result[run->displs[r] + i] != value(r, i))
                return false;
    return true;
}

static bool reduced(const struct run *run) {
    for (size_t i = 0; i < run->count; i++)
        if (run->recv[i] != sum_of_ranks(run->peer->size, i))
            return false;
    return true;
}

static bool received(const struct run *run) {
    for (size_t i = 0; i < run->count; i++)
        if (run->recv[i] != value(0, i))
            return false;
    return true;
}

/* One call on the first slot, with rank 0 as root, into a buffer that held something else. */
static bool check(struct run *run) {
    enum bench_operation operation = run->work->operation;
    run->turn = run->root = 0;
    if (run->recv && !(operation == BENCH_BROADCAST && run->peer->rank == 0))
        memset(run->recv, 0xff, run->count * sizeof(double));
    call(run);
    switch (operation) {
    case BENCH_ALLREDUCE: return reduced(run);
    case BENCH_BROADCAST: return received(run);
    case BENCH_ALLGATHERV: return gathered(run, run->recv);
    case BENCH_ALLGATHERV_REGION: return gathered(run, run->region);
    default: return true;
    }
}

static double time_calls(struct run *run, size_t calls) {
    double start = now();
    for (size_t i = 0; i < calls; i++)
        call(run);
    return now() - start;
}

/* Seconds of a call. */
static double calibrate(struct run *run) {
    for (size_t calls = 1;; calls *= 2) {
        double slowest = time_calls(run, calls);
        run->peer->maximum(run->peer, &slowest, 1);
        if (slowest > run->work->seconds / 4 || calls >= 1 << 24)
            return slowest / (double)calls;
    }
}

/* A few at least, unless a call takes for ever. */
static size_t repetitions(double wanted, double once) {
    size_t fewest = once < 0.1 ? 3 : 1;
    size_t count = wanted < BENCH_MOST_REPETITIONS ? (size_t)wanted : BENCH_MOST_REPETITIONS;
    return count < fewest ? fewest : count;
}

void bench_measure(struct peer *peer, const struct bench_work *work, struct bench_samples *samples) {
    struct run run = {.peer = peer, .work = work};
    prepare(&run);
    bool right = check(&run);
    double once = calibrate(&run);
    samples->batch = 1 + (size_t)(shortest_repetition / once);
    /* over a second the calibration has to do */
    samples->count = once < 1 ? repetitions(work->seconds / (once * (double)samples->batch), once) : 1;
    peer->barrier(peer);
    samples->seconds[0] = once;
    for (size_t i = 0; i < samples->count && once < 1; i++)
        samples->seconds[i] = time_calls(&run, samples->batch) / (double)samples->batch;
    right = check(&run) && right;
    samples->seconds[samples->count] = !right;
    peer->maximum(peer, samples->seconds, samples->count + 1);
    samples->right = samples->seconds[samples->count] == 0;
    release(&run);
}

const char *bench_operation_name(enum bench_operation operation) {
    static const char *const names[] = {
#define BENCH_NAME(code, name) name,
        BENCH_OPERATIONS(BENCH_NAME)
#undef BENCH_NAME
    };
    return names[operation];
}

bool bench_operation_find(const char *name, enum bench_operation *operation) {
    for (*operation = 0; *operation < BENCH_OPERATION_COUNT; (*operation)++)
        if (strcmp(name, bench_operation_name(*operation)) == 0)
            return true;
    return false;
}
