/* SPDX-License-Identifier: Apache-2.0 */
/* kit.h: what a test case sees.
 *
 * A case is `static void name(kit *k)`, written once and run on every rank of every backend. It is listed in the table
 * at the end of its file, with its rank counts and backends where they are not the usual ones. The communicator is open
 * when the case starts and is freed, with a check, when it returns.
 *
 * A check that fails ends the whole process at once: the other ranks see a dead peer or are killed at the deadline, so
 * nobody hangs, in a job of processes and in one of threads. */
#ifndef COBRE_TEST_KIT_H
#define COBRE_TEST_KIT_H

#include "kit/check.h"

#include <stdatomic.h>

#define KIT_MAX_RANKS 64

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KIT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KIT_SANITIZED 1
#endif
#endif
#ifndef KIT_SANITIZED
#define KIT_SANITIZED 0
#endif

/* How far a rank has come with a case. */
typedef enum { KIT_NOT_BEGUN, KIT_BEGUN, KIT_PASSED, KIT_SKIPPED } kit_state;

/* Memory that all ranks of a case share without the help of cobre; zero at the start. Between processes it is a file
 * of the runner's, between threads one mapping, so that TSan sees who orders the accesses to `cell`. */
typedef struct {
    char note[KIT_MAX_RANKS][128];  /* written by its rank, read by the runner at the deadline */
    kit_state state[KIT_MAX_RANKS]; /* as note */
    double seconds;                 /* that the case took on rank 0 */
    _Atomic uint64_t entered;       /* for the case to use, as are the next two */
    _Atomic uint64_t step[KIT_MAX_RANKS];
    struct {
        uint64_t value[8]; /* a cache line each */
    } cell[KIT_MAX_RANKS];
} kit_board;

typedef struct {
    cobre_comm *comm;
    size_t rank, size;
    cobre_backend backend;
    bool threads;               /* the ranks are threads of this process */
    uint64_t seed;              /* the same on all ranks */
    const cobre_config *config; /* of comm; NULL: from the environment */
    kit_board *board;
    char *note;          /* this rank's on the board */
    const char *skipped; /* why, if the case does not apply */
} kit;

typedef struct {
    const char *name;
    void (*run)(kit *k);
    const char *ranks; /* how many, separated by commas; a backend takes those that it can have. NULL: 1,2,3,4,8 */
    const char *on;    /* the names of its backends; NULL: all */
    bool breaks; /* its communicators: the ranks end without MPI_Finalize, which a launcher may take for a failure */
} kit_case;

/* A table ends with an entry without a name. KIT_CASE_WITH(function, .ranks = "2", .on = "shm tcp"); a case has several
 * of these if its ranks differ by backend. */
#define KIT_CASE(function)                                                                                             \
    { .name = #function, .run = function }
#define KIT_CASE_WITH(function, ...)                                                                                   \
    { .name = #function, .run = function, __VA_ARGS__ }
#define KIT_END                                                                                                        \
    { .name = NULL, .run = NULL }

/* All tables, NULL at the end: each test program defines its own. */
extern const kit_case *const kit_tables[];

void kit_be(const kit *k); /* makes this thread that rank */
void kit_say_who(void);    /* for check_at_failure: rank, seed and note of this thread */

/* Leaves a case that does not apply here. All ranks must decide alike. */
#define SKIP(k, why)                                                                                                   \
    do {                                                                                                               \
        (k)->skipped = (why);                                                                                          \
        return;                                                                                                        \
    } while (0)

/* What this rank is about to do; shown when a check fails and at the deadline. */
void kit_note(const kit *k, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* malloc that fails the case, NULL for 0 bytes. Exact, so that ASan sees an overrun of one byte. */
void *kit_alloc(size_t bytes);

/* Numbers that depend on *state alone, from 0 to below - 1. */
uint64_t kit_random(uint64_t *state);
size_t kit_below(uint64_t *state, size_t below);

/* n with COBRE_TEST_LONG=1, as `make soak` has it; else a quarter of it, or less where sanitizers make everything slow, or
 * where kit_cut_times has been called with more than 1. */
size_t kit_times(size_t n);
void kit_cut_times(size_t divisor);

double kit_seconds(void); /* monotonic */

/* The kit of another communicator of the same rank: checks and notes go on as this rank's. */
kit kit_on(const kit *k, cobre_comm *comm);

/* Frees the communicator and opens another one like it. All ranks call it; none returns before all have. */
void kit_reopen(kit *k);

/* Runs body in a forked child, which ends with exit code 0 unless a check fails, and returns its wait status. */
int kit_in_child(kit *k, void (*body)(kit *k, void *argument), void *argument);

/* What this process holds now. Blocks: of 512 bytes in the unnamed files of /dev/shm that it has open. Not statvfs:
 * other jobs use /dev/shm too. */
typedef struct {
    size_t descriptors, mappings, shm_blocks;
} kit_usage;
kit_usage kit_count_usage(void);

uint64_t kit_memory_total(void); /* bytes of the machine */

#endif
