/* test_shm_internal.c: what cannot be seen from outside the shm backend: the wrap of round numbers, lost wake-ups, and copies
 * between cores that are far apart. Ranks are threads of this process. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "comm/backend.h"

#ifndef COBRE_HAVE_SHM
int main(void) {
    return 77; /* nothing to look into */
}
#else
#include "backends/shm/shm.h"

enum { RANKS = 3, LARGE = 200 * 1000 };

/* cmocka's checks jump, which a thread must not: ranks end the process instead. */
#define MUST(condition)                                                                                                \
    ((condition)                                                                                                       \
         ? (void)0                                                                                                     \
         : (fprintf(stderr, "%s:%d: not so: %s: %s\n", __FILE__, __LINE__, #condition, cobre_last_error()->message),   \
            abort()))

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
    MUST(cobre_comm_open(&config, &comm) == COBRE_OK);
    body(comm);
    MUST(cobre_comm_free(&comm) == COBRE_OK);
    return NULL;
}

static void run_ranks(void (*rank_body)(cobre_comm *)) {
    pthread_t threads[RANKS];
    body = rank_body;
    for (size_t r = 0; r < RANKS; r++)
        assert_int_equal(pthread_create(&threads[r], NULL, be_rank, (void *)(uintptr_t)r), 0);
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
        MUST(cobre_allreduce(comm, mine, count, all, count, COBRE_U64, COBRE_SUM) == COBRE_OK);
        for (size_t i = 0; i < count; i++)
            MUST(all[i] == RANKS * (number + i) + RANKS * (RANKS - 1) / 2);
        break;
    case 1:
        MUST(cobre_allgatherv(comm, mine, count, all, RANKS * count, counts, displs, COBRE_U64) == COBRE_OK);
        for (size_t r = 0; r < RANKS; r++)
            MUST(all[r * count] == number + r && all[r * count + count - 1] == number + r + count - 1);
        break;
    case 2:
        MUST(cobre_broadcast(comm, mine, count, COBRE_U64, number % RANKS) == COBRE_OK);
        MUST(mine[0] == number + number % RANKS && mine[count - 1] == number + number % RANKS + count - 1);
        break;
    default: MUST(cobre_barrier(comm) == COBRE_OK);
    }
}

/* The protocol counts rounds in 32 bits. All ranks jump near the end together, between two operations. */
static void jump(cobre_comm *comm, uint32_t round) {
    struct cb_shm_comm *shm = (struct cb_shm_comm *)comm;
    MUST(cobre_barrier(comm) == COBRE_OK); /* two, so that no slot is as new */
    MUST(cobre_barrier(comm) == COBRE_OK);
    /* Another rank may still wait for our last slot. It stays as it is: with the parity kept, the next round uses the
     * other one, which all have read. */
    shm->round = round - ((shm->round ^ round) & 1);
    MUST(cobre_barrier(comm) == COBRE_OK);
}

static void cross_the_wrap(cobre_comm *comm) {
    for (uint32_t before = 1; before < 40; before += 3) {
        jump(comm, 0u - before);
        for (unsigned i = 0; i < 60; i++)
            collective(comm, i, 1000 * before + i);
        struct cb_shm_comm *shm = (struct cb_shm_comm *)comm;
        MUST(shm->round < 10000); /* it is on the other side */
    }
}

static void round_numbers_wrap(void **state) {
    (void)state;
    run_ranks(cross_the_wrap);
}

/* A sleeper that nobody wakes sleeps for its whole slice: with slices without end one lost wake-up is a hang. */
static void pause_at_random(cobre_comm *comm) {
    enum { ROUNDS = 20000, PAUSES = 40 }; /* one round in so many is late */
    uint64_t random = 77 + cobre_rank(comm);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (next_random(&random) % PAUSES == 0)
            usleep((useconds_t)(next_random(&random) % 3000));
        if (i % 100 == 0)
            collective(comm, (unsigned)(i / 100), i);
        else
            MUST(cobre_barrier(comm) == COBRE_OK);
    }
}

static void no_wake_up_is_lost(void **state) {
    (void)state;
#ifdef COBRE_SHM_PORTABLE
    skip(); /* nobody is woken there */
#endif
    double slice = cb_shm_sleep_slice;
    cb_shm_sleep_slice = 1e6;
    run_ranks(pause_at_random);
    cb_shm_sleep_slice = slice;
}

/* At every place in a line, of every length: what is asked for is copied, and nothing beside it is touched. */
static void streams_exactly(void **state) {
    (void)state;
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
            assert_memory_equal(to, expected, sizeof to);
        }
}

static void stream_all(cobre_comm *comm) {
    for (unsigned i = 0; i < 60; i++) {
        ((struct cb_shm_comm *)comm)->to_stream = UINT32_MAX;
        collective(comm, i, 1000 * i);
    }
}

static void streamed_copies_arrive(void **state) {
    (void)state;
    run_ranks(stream_all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_numbers_wrap),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(streams_exactly),
        cmocka_unit_test(streamed_copies_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
