/* SPDX-License-Identifier: Apache-2.0 */
/* test_shm_internal.c: what cannot be seen from outside the shm backend: the wrap of round numbers, lost wake-ups, waits of
 * ranks on one core, and copies between cores that are far apart. Ranks are threads of this process. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comm/backend.h"
#include "kit/check.h"

#if !COBRE_HAVE_SHM
int main(void) {
    return 77; /* nothing to look into */
}
#else
#include "backends/shm/shm.h"

enum { RANKS = 3, LARGE = 200 * 1000 };

static void (*body)(cobre_comm *);

static void *be_rank(void *argument) {
    char name[64];
    cobre_comm *comm;
    snprintf(name, sizeof name, "/cobre-unit-%d", (int)getpid());
    cobre_config config = {.struct_size = sizeof config,
                           .backend = COBRE_SHM,
                           .rank = (size_t)(uintptr_t)argument,
                           .size = RANKS,
                           .shm_name = name};
    CHECK_OK(cobre_comm_open(&config, &comm));
    body(comm);
    CHECK_OK(cobre_comm_free(&comm));
    return NULL;
}

static void run_ranks(void (*rank_body)(cobre_comm *)) {
    pthread_t threads[RANKS];
    body = rank_body;
    for (size_t r = 0; r < RANKS; r++)
        CHECK_EQ(pthread_create(&threads[r], NULL, be_rank, (void *)(uintptr_t)r), 0);
    for (size_t r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* One collective, chosen by `kind`, whose result depends on `number`, so that old data would be seen. */
static void collective(cobre_comm *comm, unsigned kind, uint64_t number) {
    static _Thread_local uint64_t mine[LARGE], all[RANKS * LARGE];
    size_t rank = cobre_rank(comm), count = kind % 2 ? LARGE : 3;
    size_t counts[RANKS] = {count, count, count}, displs[RANKS] = {0, count, 2 * count};
    for (size_t i = 0; i < count; i++)
        mine[i] = number + rank + i;
    switch (kind / 2 % 4) {
    case 0:
        CHECK_OK(cobre_allreduce(comm, mine, count, all, count, COBRE_U64, COBRE_SUM));
        for (size_t i = 0; i < count; i++)
            CHECK(all[i] == RANKS * (number + i) + RANKS * (RANKS - 1) / 2);
        break;
    case 1:
        CHECK_OK(cobre_allgatherv(comm, mine, count, all, RANKS * count, counts, displs, COBRE_U64));
        for (size_t r = 0; r < RANKS; r++)
            CHECK(all[r * count] == number + r && all[r * count + count - 1] == number + r + count - 1);
        break;
    case 2:
        CHECK_OK(cobre_broadcast(comm, mine, count, COBRE_U64, number % RANKS));
        CHECK(mine[0] == number + number % RANKS && mine[count - 1] == number + number % RANKS + count - 1);
        break;
    default: CHECK_OK(cobre_barrier(comm));
    }
}

/* The protocol counts rounds in 32 bits. All ranks jump near the end together, between two operations. */
static void jump(cobre_comm *comm, uint32_t round) {
    struct cb_shm_comm *shm = (struct cb_shm_comm *)comm;
    CHECK_OK(cobre_barrier(comm)); /* two, so that no slot is as new */
    CHECK_OK(cobre_barrier(comm));
    /* Another rank may still wait for our last slot. It stays as it is: with the parity kept, the next round uses the
     * other one, which all have read. */
    shm->round = round - ((shm->round ^ round) & 1);
    CHECK_OK(cobre_barrier(comm));
}

static void cross_the_wrap(cobre_comm *comm) {
    for (uint32_t before = 1; before < 40; before += 3) {
        jump(comm, 0u - before);
        for (unsigned i = 0; i < 60; i++)
            collective(comm, i, 1000 * before + i);
        struct cb_shm_comm *shm = (struct cb_shm_comm *)comm;
        CHECK(shm->round < 10000); /* it is on the other side */
    }
}

static void round_numbers_wrap(void) {
    run_ranks(cross_the_wrap);
}

/* A sleeper that nobody wakes sleeps for its whole slice: with slices without end one lost wake-up is a hang. */
static void pause_at_random(cobre_comm *comm) {
    enum { PAUSES = 40 }; /* one round in so many is late */
    uint64_t random = 77 + cobre_rank(comm), rounds = getenv("COBRE_TEST_LONG") ? 20000 : 5000;
    for (uint64_t i = 0; i < rounds; i++) {
        if (next_random(&random) % PAUSES == 0)
            usleep((useconds_t)(next_random(&random) % 3000));
        if (i % 100 == 0)
            collective(comm, (unsigned)(i / 100), i);
        else
            CHECK_OK(cobre_barrier(comm));
    }
}

static bool slices_end = true;

/* wait.c has the time that it sleeps from here. */
struct timespec __real_cb_timespec(double seconds);
struct timespec __wrap_cb_timespec(double seconds);
struct timespec __wrap_cb_timespec(double seconds) {
    return __real_cb_timespec(slices_end ? seconds : 1e6);
}

static void no_wake_up_is_lost(void) {
#ifdef COBRE_SHM_PORTABLE
    puts("skipped: nobody is woken in this build");
    return;
#endif
    slices_end = false;
    run_ranks(pause_at_random);
    slices_end = true;
}

static atomic_long slept; /* times */

static void wait_on_one_core(cobre_comm *comm) {
    cpu_set_t all, one;
    struct rusage before, after;
    /* As if there were a core for each, which the system does not use. */
    ((struct cb_shm_comm *)comm)->job->crowded = false;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (size_t core = 0; CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET(core, &all))
            CPU_SET(core, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK_OK(cobre_barrier(comm));
    CHECK(getrusage(RUSAGE_THREAD, &before) == 0);
    for (int i = 0; i < 1000; i++)
        CHECK_OK(cobre_barrier(comm));
    CHECK(getrusage(RUSAGE_THREAD, &after) == 0);
    slept += after.ru_nvcsw - before.ru_nvcsw; /* sched_yield does not count as one */
}

/* Ranks that share a core sleep, so that they are woken on another, instead of yielding to each other for ever. */
static void ranks_on_one_core_sleep(void) {
#ifdef COBRE_SHM_PORTABLE
    puts("skipped: nobody is woken in this build");
    return;
#endif
    slices_end = false;
    run_ranks(wait_on_one_core);
    slices_end = true;
    CHECK_SAY(slept > 500, "of 1000 rounds on one core some rank sleeps in most, not %ld", (long)slept);
}

/* Time that passes only when a copy is judged: each look at the clock takes `tick`, if that is set. */
static double tick, faked;
static unsigned looks;
double __real_cb_now(void);
double __wrap_cb_now(void);
double __wrap_cb_now(void) {
    if (tick == 0)
        return __real_cb_now();
    looks++;
    return faked += tick;
}

/* How often the clock was looked at: before, and after each piece that was not streamed. */
static unsigned put(struct cb_shm_comm *comm, size_t bytes, double seconds_per_look) {
    static unsigned char from[160 << 10], to[sizeof from];
    for (size_t i = 0; i < bytes; i++)
        from[i] = (unsigned char)(i * 31 + looks);
    tick = seconds_per_look;
    looks = 0;
    cb_shm_put(comm, to, from, bytes);
    tick = 0;
    CHECK_BYTES(to, from, bytes);
    return looks;
}

/* Five pieces of 32 KiB: usual ones take 3 us each, between far cores 15. */
static void slow_copies_stream(void) {
    enum { FIVE = 160 << 10, ONE = 32 << 10 };
    const double usual = 3e-6, far = 15e-6;
    struct cb_shm_comm comm = {0};
    CHECK_EQ(put(&comm, FIVE, usual), 6);
    CHECK_EQ(put(&comm, ONE, far), 2);
    CHECK_EQ(put(&comm, FIVE, usual), 6); /* a single slow one, as by an interrupt, changes nothing */
    CHECK_EQ(put(&comm, FIVE, far), 3);   /* two, and the rest streams */
    for (int i = 0; i < 100; i++)
        CHECK_EQ(put(&comm, FIVE, far), 1);
    faked += 10e-3;
    CHECK_EQ(put(&comm, FIVE, far), 2); /* one is tried, which is slow again */
    faked += 10e-3;
    CHECK_EQ(put(&comm, FIVE, usual), 6); /* the cores are near again */
    CHECK_EQ(put(&comm, 0, usual), 0);
}

/* At every place in a line, of every length: what is asked for is copied, and nothing beside it is touched. */
static void streams_exactly(void) {
    enum { MOST = 3 * CB_LINE + 5, SIDE = CB_LINE };
    static alignas(CB_LINE) unsigned char from[MOST + CB_LINE], to[SIDE + CB_LINE + MOST + SIDE], expected[sizeof to];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i + 1);
    for (size_t place = 0; place < CB_LINE; place++)
        for (size_t bytes = 0; bytes <= MOST; bytes++) {
            memset(to, 0, sizeof to);
            memset(expected, 0, sizeof expected);
            memcpy(expected + SIDE + place, from + bytes % CB_LINE, bytes);
            cb_stream(to + SIDE + place, from + bytes % CB_LINE, bytes);
            CHECK_BYTES(to, expected, sizeof to);
        }
}

static void stream_all(cobre_comm *comm) {
    for (unsigned i = 0; i < 60; i++) {
        ((struct cb_shm_comm *)comm)->stream_until = INFINITY;
        collective(comm, i, 1000 * i);
    }
}

static void streamed_copies_arrive(void) {
    run_ranks(stream_all);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(round_numbers_wrap),
        CHECK_CASE(no_wake_up_is_lost),
        CHECK_CASE(ranks_on_one_core_sleep),
        CHECK_CASE(slow_copies_stream),
        CHECK_CASE(streams_exactly),
        CHECK_CASE(streamed_copies_arrive),
        CHECK_END,
    };
    return check_main(argc, argv, tests);
}
#endif
