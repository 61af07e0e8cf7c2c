/* SPDX-License-Identifier: Apache-2.0 */
/* file_limit.c: the limit of file sizes (ulimit -f): it is an error, not a signal, and regions that come and go stay below
 * it, because freed places of the job's file are used again. */
#include "kit/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static void limit_files(size_t bytes) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* ---- An error, and no signal ---- */

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals++;
}

/* The program's own file outgrows the limit, which is its own affair: it gets its signal. */
static void outgrow(void) {
    FILE *own = tmpfile();
    CHECK(own);
    sig_atomic_t before = signals;
    CHECK(ftruncate(fileno(own), (off_t)1 << 40) != 0 && errno == EFBIG);
    CHECK_EQ(signals, before + 1);
    fclose(own);
}

/* The handler, the mask and what is pending are the program's, and stay. */
static void nothing_of_the_program_has_changed(bool blocked) {
    struct sigaction now;
    sigset_t mask, pending;
    CHECK(sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == count_signal);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0 && sigismember(&mask, SIGXFSZ) == blocked);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == blocked);
    CHECK_EQ(signals, 0);
}

static void open_below_a_limit(void) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    CHECK(signal(SIGXFSZ, count_signal) != SIG_ERR);
    config.join_timeout_secs = 0.5;
    if (self.rank == 0)
        limit_files(64 << 10);
    tell("opened", cobre_comm_open(&config, &comm));
    CHECK(comm == NULL);
    nothing_of_the_program_has_changed(false);
    if (self.rank == 0)
        outgrow();
}

static void must_name_the_limit(const report *r) {
    CHECK_SAY(r->status == COBRE_ALLOCATION_FAILED, "rank %zu: AllocationFailed, not %s: %s", r->rank,
              cobre_status_name(r->status), r->message);
    CHECK_HOLDS(r->message, "ulimit -f");
    CHECK_HOLDS(r->suggestion, "ulimit -f unlimited");
}

static void file_limit_at_open(void) {
    job j;
    start_job(&j, 2, open_below_a_limit);
    must_name_the_limit(await(&j, 0, "opened"));
    CHECK(await(&j, 1, "opened")->status == COBRE_INITIALIZATION_FAILED);
    end_job(&j);
}

/* Whose limit it is: that of rank 0, who makes the file longer. */
static void create_below_a_limit(void) {
    cobre_region *region;
    sigset_t limit;
    cobre_comm *comm = open_rank();
    CHECK(signal(SIGXFSZ, count_signal) != SIG_ERR);
    limit_files(64 * MIB);
    tell("made", cobre_region_create(comm, 100 * MIB, COBRE_U8, 0, &region));
    CHECK(region == NULL);
    nothing_of_the_program_has_changed(false);
    CHECK_OK(cobre_region_create(comm, 10 * MIB, COBRE_U8, 0, &region));
    CHECK_OK(cobre_region_free(&region));
    outgrow();

    signals = 0; /* one that waits goes on waiting */
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    CHECK(pthread_sigmask(SIG_BLOCK, &limit, NULL) == 0 && raise(SIGXFSZ) == 0);
    CHECK_STATUS(cobre_region_create(comm, 100 * MIB, COBRE_U8, 0, &region), COBRE_ALLOCATION_FAILED);
    nothing_of_the_program_has_changed(true);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &limit, NULL) == 0);
    CHECK_EQ(signals, 1);

    CHECK(signal(SIGXFSZ, SIG_DFL) != SIG_ERR); /* the deadly one */
    CHECK_STATUS(cobre_region_create(comm, 100 * MIB, COBRE_U8, 0, &region), COBRE_ALLOCATION_FAILED);
    CHECK_OK(cobre_barrier(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

static void file_limit_of_a_region(void) {
    job j;
    start_job(&j, 3, create_below_a_limit);
    const report *first = await(&j, 0, "made");
    must_name_the_limit(first);
    for (size_t r = 1; r < j.size; r++) {
        const report *made = await(&j, r, "made");
        must_name_the_limit(made);
        CHECK_TEXT(made->message, first->message);
    }
    end_job(&j);
}

/* ---- Places are used again ---- */

static bool is_all(const unsigned char *data, size_t bytes, unsigned char value) {
    return bytes == 0 || (data[0] == value && memcmp(data, data + 1, bytes - 1) == 0);
}

static void one_after_another(void) {
    enum { PART = 50 * 1000 };
    size_t times = kit_times(1000); /* the limit has room for less than ten at once */
    cobre_comm *comm = open_rank();
    limit_files(100 * 1000 * 1000);
    for (size_t i = 0; i < times; i++) {
        cobre_region *region;
        CHECK_OK(cobre_region_create(comm, 10 * 1000 * 1000, COBRE_U8, 0, &region));
        unsigned char *mine = cobre_region_claim(region, self.rank * 3000 * 1000, PART);
        CHECK(is_all(mine, PART, 0));
        memset(mine, 255, PART);
        CHECK_OK(i % 3 ? cobre_region_fence(region) : cobre_region_seal(region));
        CHECK_OK(cobre_region_free(&region));
    }
    CHECK_OK(cobre_comm_free(&comm));
}

static void regions_one_after_another(void) {
    job j;
    start_job(&j, 3, one_after_another);
    end_job(&j);
}

/* A slow rank still holds the last region when rank 0 looks for a place for the next: it looks again. */
static void replace_at_the_limit(void) {
    cobre_region *region;
    cobre_comm *comm = open_rank();
    limit_files(24 * MIB);
    CHECK_OK(cobre_region_create(comm, 12 * MIB, COBRE_U8, 0, &region));
    if (self.rank == 1)
        await_order();
    CHECK_OK(cobre_region_free(&region));
    if (self.rank == 0)
        report_inside();
    CHECK_OK(cobre_region_create(comm, 12 * MIB, COBRE_U8, 0, &region));
    CHECK_OK(cobre_region_free(&region));
    CHECK_OK(cobre_comm_free(&comm));
}

static void place_of_a_region_not_yet_freed(void) {
    job j;
    start_job(&j, 3, replace_at_the_limit);
    await(&j, 0, "inside"); /* it has looked, and waits for the others */
    order(&j, 1, 'f');
    end_job(&j);
}

/* A program that locks its memory gives it back all the same. */
static void lock_all(void) {
    cobre_region *region;
    cobre_comm *comm = open_rank();
    limit_files(100 * MIB);
    if (mlockall(MCL_FUTURE) != 0) {
        puts("skipped: memory cannot be locked here");
        return;
    }
    for (size_t i = 0; i < 30; i++) {
        CHECK_OK(cobre_region_create(comm, 10 * MIB, COBRE_U8, 0, &region));
        CHECK_OK(i % 3 ? cobre_region_fence(region) : cobre_region_seal(region));
        CHECK_OK(cobre_region_free(&region));
    }
    CHECK_OK(cobre_comm_free(&comm));
}

static void regions_of_locked_memory(void) {
    job j;
    start_job(&j, 2, lock_all);
    end_job(&j);
}

/* Regions, memory that outlives them and communicators come and go in an order of chance, the same on all ranks; detached
 * memory goes when each rank likes. Nobody's bytes are another's, and new ones are zeros. */
enum { ALIVE = 12 };

struct held {
    cobre_region *region;
    cobre_memory *memory;
    const unsigned char *data;
    size_t bytes;
    unsigned char value;
};

static void hold(cobre_comm *comm, struct held *held, uint64_t *common, unsigned char value) {
    uint64_t random = kit_random(common);
    size_t bytes = random % 8 ? random / 8 % (64 << 10) : random / 8 % (4 * MIB);
    *held = (struct held){.bytes = bytes, .value = value};
    CHECK_OK(cobre_region_create(comm, bytes, COBRE_U8, value % 2 ? COBRE_REGION_INTERLEAVE : 0, &held->region));
    held->data = cobre_region_data(held->region);
    CHECK(is_all(held->data, bytes, 0));
    CHECK_OK(cobre_region_fence(held->region));
    size_t first = bytes * self.rank / self.size, last = bytes * (self.rank + 1) / self.size;
    memset(cobre_region_claim(held->region, first, last - first), value, last - first);
    CHECK_OK(value % 3 ? cobre_region_fence(held->region) : cobre_region_seal(held->region));
    if (random >> 60 < 4)
        CHECK_OK(cobre_region_detach(held->region, &held->memory));
}

static void let_go(cobre_comm *comm, struct held *held, uint64_t *own) {
    CHECK_SAY(is_all(held->data, held->bytes, held->value), "a region of %zu bytes holds what was written",
              held->bytes);
    if (held->region) {
        CHECK_OK(cobre_barrier(comm)); /* all have looked: the memory may be another rank's to free */
        CHECK_OK(cobre_region_free(&held->region));
    }
    if (held->memory && kit_random(own) % 2)
        cobre_memory_free(&held->memory);
    held->value = held->memory ? held->value : 0;
}

static void come_and_go(cobre_comm *comm, uint64_t seed, size_t times) {
    struct held held[ALIVE] = {{.value = 0}};
    uint64_t common = seed, own = seed + 1 + self.rank;
    for (size_t i = 0; i < times; i++) {
        struct held *chosen = &held[kit_random(&common) % ALIVE];
        if (chosen->value)
            let_go(comm, chosen, &own);
        while (chosen->memory)
            let_go(comm, chosen, &own);
        hold(comm, chosen, &common, (unsigned char)(1 + i % 255));
    }
    for (size_t i = 0; i < ALIVE; i++)
        while (held[i].value)
            let_go(comm, &held[i], &own);
}

static uint64_t *seed;

static void mix(void) {
    cobre_comm *comm = open_rank(), *local;
    limit_files(64 * MIB);
    for (size_t i = 0; i < 10; i++) {
        CHECK_OK(cobre_split_local(comm, &local)); /* its arena is an extent, too */
        come_and_go(i % 2 ? local : comm, *seed + 100 * i, kit_times(500));
        CHECK_OK(cobre_comm_free(&local));
    }
    CHECK_OK(cobre_comm_free(&comm));
}

static void share_seed(void) {
    seed = mmap(NULL, sizeof *seed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(seed != MAP_FAILED);
    *seed = kit_random(chance());
}

static void regions_of_mixed_sizes(void) {
    job j;
    share_seed();
    start_job(&j, 3, mix);
    end_job(&j);
}

static void *be_thread(void *argument) {
    come_and_go(argument, *seed, KIT_SANITIZED ? 50 : 500);
    return NULL;
}

static void mix_by_threads(void) {
    cobre_comm *comm = open_rank(), *local;
    pthread_t thread;
    CHECK_OK(cobre_split_local(comm, &local));
    limit_files(96 * MIB);
    CHECK(pthread_create(&thread, NULL, be_thread, local) == 0);
    come_and_go(comm, *seed + 1000, KIT_SANITIZED ? 50 : 500);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(cobre_comm_free(&local));
    CHECK_OK(cobre_comm_free(&comm));
}

static void regions_of_two_threads(void) {
    job j;
    share_seed();
    start_job(&j, 2, mix_by_threads);
    end_job(&j);
}

/* How the system spreads the pages of a file belongs to their place in it, and must not stay there for the next one. */
static void spread_then_not(void) {
#ifdef SYS_get_mempolicy
    enum { OF_ADDRESS = 2, INTERLEAVED = 3 };
    cobre_comm *comm = open_rank();
    limit_files(32 * MIB);
    for (unsigned flags = COBRE_REGION_INTERLEAVE;; flags = 0) {
        cobre_region *region;
        int policy = -1;
        CHECK_OK(cobre_region_create(comm, 20 * MIB, COBRE_U8, flags, &region));
        if (syscall(SYS_get_mempolicy, &policy, NULL, 0, cobre_region_data(region), OF_ADDRESS) != 0)
            puts("skipped: the system does not tell");
        else
            CHECK_EQ(policy, flags ? INTERLEAVED : 0);
        CHECK_OK(cobre_region_fence(region)); /* all have asked */
        CHECK_OK(cobre_region_free(&region));
        if (!flags)
            break;
    }
    CHECK_OK(cobre_comm_free(&comm));
#endif
}

static void interleaving_goes_with_its_region(void) {
    job j;
    start_job(&j, 2, spread_then_not);
    end_job(&j);
}

const check_case file_limit_cases[] = {
    {.name = "file_limit_at_open", .run = file_limit_at_open, .only = COBRE_SHM},
    {.name = "file_limit_of_a_region", .run = file_limit_of_a_region, .only = COBRE_SHM},
    {.name = "regions_one_after_another", .run = regions_one_after_another, .busy = true, .only = COBRE_SHM},
    {.name = "place_of_a_region_not_yet_freed", .run = place_of_a_region_not_yet_freed, .only = COBRE_SHM},
    {.name = "regions_of_locked_memory", .run = regions_of_locked_memory, .busy = true, .only = COBRE_SHM},
    {.name = "regions_of_mixed_sizes", .run = regions_of_mixed_sizes, .busy = true, .only = COBRE_SHM},
    {.name = "regions_of_two_threads", .run = regions_of_two_threads, .busy = true, .only = COBRE_SHM},
    {.name = "interleaving_goes_with_its_region", .run = interleaving_goes_with_its_region, .only = COBRE_SHM},
    CHECK_END,
};
