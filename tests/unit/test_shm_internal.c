/* SPDX-License-Identifier: Apache-2.0 */
/* test_shm_internal.c: what cannot be seen from outside the shm backend: the wrap of round numbers, lost wake-ups, and copies
 * between cores that are far apart. Ranks are threads of this process. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
        ((struct cb_shm_comm *)comm)->to_stream = UINT32_MAX;
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
        CHECK_CASE(streams_exactly),
        CHECK_CASE(streamed_copies_arrive),
        CHECK_END,
    };
    return check_main(argc, argv, tests);
}
#endif
