/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c: the rank of every test in shell. `rank STEP...` joins the job, does the steps in order, and leaves the job.
 *
 * `2:STEP` is for rank 2 only, `!2:STEP` for all ranks but that one.
 *
 *   hello                prints "rank R of N by BACKEND"
 *   say=TEXT             prints TEXT without a line end, so that it stays in the buffer
 *   barrier, barrier=N   one barrier, or N
 *   gather=BYTES, broadcast=BYTES, reduce=BYTES    a collective, and a check of every word of its result. The root of the
 *                        broadcast is rank 1, or rank 0 where it is alone
 *   forever=BYTES        gathers one after the other, until one fails; after the second it makes the file streaming.RANK
 *   truncate             a broadcast of 1000 words from rank 0, of which the others ask for 10
 *   usurp=NAME           closes all descriptors from 3 to 63 and opens the file NAME.RANK of $COBRE_TEST_DIR by all these
 *                        numbers
 *   misuse               a broadcast from rank 99, which must fail at once; it is the rank's last error
 *   mark=NAME            makes the file NAME.RANK: process, time and text
 *   await=NAME           waits outside of the library for the file NAME, as a rank that computes
 *   inside=NAME          makes the file NAME.RANK when the hook is asked next, in the call that follows
 *   fill=BYTES           takes memory and writes it
 *   die=kill, die=segv   ends by that signal
 *   exit=CODE            exits without leaving the job
 *   abort=CODE           cobre_abort with the text "the test wants it"
 *   measure=OPERATION,BYTES,ROUNDS,STAR_ROUNDS,PERCENT    the ring against the link: see rank_link.c
 *   cycles=WHAT,N        region, split or open, N times; then nothing may have grown
 *   overfill             a region that does not fit /dev/shm, then one that does
 *   region=BYTES         makes a region, writes it and frees it
 *   refused=WHAT         region, split or seal, while one rank after the other lacks the memory for it; with refuse.c only
 *
 * Options, wherever they stand among the steps:
 *
 *   hook                 joins with an interrupted hook, which says yes when the file interrupt.RANK is there
 *   linger=NAME          after an error of the library makes the file failed.RANK, checks that all further calls fail with
 *                        the same cause, frees the communicator, and waits for the file NAME before it exits. Without a
 *                        rank, because it could not join, it makes the file failed.PID
 *
 * The files are in the folder $COBRE_TEST_DIR, or here. COBRE_TEST_LATE="RANK=SECONDS" makes that rank late for each of its
 * steps: no test may depend on who comes first.
 *
 * Exit code 0: all steps are done. 1: a check failed. 3: the library returned an error, which is on stderr as "rank R: failed
 * at TIME after S s, CAUSE, culprit C: STATUS: MESSAGE; SUGGESTION". 4: the ring was too slow. */
#include "kit/rank.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 3, PATIENCE_SECS = 600 };

cobre_comm *comm;
size_t rank, size;
static double began;       /* the step */
static const char *inside; /* what the hook marks when it is asked next */
static const char *linger; /* the file to wait for after an error */

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void nap(double seconds) {
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, NULL);
}

static void path_of(const char *name, char *path, size_t len) {
    const char *folder = getenv("COBRE_TEST_DIR");
    snprintf(path, len, "%s/%s", folder ? folder : ".", name);
}

static bool is_there(const char *name) {
    char path[4096];
    path_of(name, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void await(const char *name) {
    for (double end = now() + PATIENCE_SECS; !is_there(name); nap(0.005))
        CHECK_SAY(now() < end, "the file %s came", name);
}

/* The file has its name only when it is complete. */
static void mark_as(size_t number, const char *name, const char *text) {
    char own[256], path[4096], early[sizeof path + 8];
    snprintf(own, sizeof own, "%s.%zu", name, number);
    path_of(own, path, sizeof path);
    snprintf(early, sizeof early, "%s.early", path);
    FILE *file = fopen(early, "w");
    CHECK_SAY(file, "%s can be made", early);
    fprintf(file, "%ld %.6f %s\n", (long)getpid(), now(), text);
    CHECK(fclose(file) == 0 && rename(early, path) == 0);
}

static void mark(const char *name, const char *text) {
    mark_as(rank, name, text);
}

static int asked(void *unused) {
    char own[64];
    (void)unused;
    if (inside)
        mark(inside, "");
    inside = NULL;
    snprintf(own, sizeof own, "interrupt.%zu", rank);
    return is_there(own);
}

/* After the first failure all that follows fails with the same cause. */
static void check_broken(void) {
    double x = 0;
    char since[64];
    cobre_region *region;
    cobre_cause cause = cobre_last_error()->cause;
    int code = cobre_last_error()->mpi_error;
    snprintf(since, sizeof since, "is broken since %.*s", (int)strcspn(cobre_last_error()->message, ":"),
             cobre_last_error()->message);
    CHECK((code != 0) == (cause == COBRE_CAUSE_TRANSPORT && cobre_comm_backend(comm) == COBRE_MPI));
    CHECK_STATUS(cobre_barrier(comm), COBRE_COLLECTIVE_FAILED);
    CHECK(cobre_last_error()->cause == cause && cobre_last_error()->mpi_error == code);
    CHECK_HOLDS(cobre_last_error()->message, since);
    CHECK_STATUS(cobre_allreduce(comm, &x, 1, &x, 1, COBRE_F64, COBRE_SUM), COBRE_COLLECTIVE_FAILED);
    CHECK_STATUS(cobre_region_create(comm, 1, COBRE_F64, 0, &region), COBRE_COLLECTIVE_FAILED);
    CHECK(!region);
}

static _Noreturn void failed(void) {
    char text[4096];
    double at = now();
    const cobre_error *error = cobre_last_error();
    snprintf(text, sizeof text, "after %.3f s, %s, culprit %zd: %s: %s; %s", at - began, cobre_cause_name(error->cause),
             (ssize_t)error->culprit, cobre_status_name(error->status), error->message, error->suggestion);
    if (comm)
        fprintf(stderr, "rank %zu: failed at %.6f %s\n", rank, at, text);
    else
        fprintf(stderr, "rank: failed at %.6f %s\n", at, text);
    if (linger) {
        mark_as(comm ? rank : (size_t)getpid(), "failed", text);
        if (error->status == COBRE_COLLECTIVE_FAILED)
            check_broken();
    }
    CHECK_OK(cobre_comm_free(&comm));
    if (linger)
        await(linger);
    exit(FAILED);
}

void must(cobre_status status) {
    if (status != COBRE_OK)
        failed();
}

static void hello(void) {
    printf("rank %zu of %zu by %s\n", rank, size, cobre_backend_name(cobre_comm_backend(comm)));
}

/* The buffers are large enough: Open MPI can write all that comes before it finds that it is too much. */
static void truncate_broadcast(void) {
    static double words[1000];
    must(cobre_broadcast(comm, words, rank == 0 ? 1000 : 10, COBRE_F64, 0));
}

static void misuse(void) {
    double one = 1;
    CHECK_STATUS(cobre_broadcast(comm, &one, 1, COBRE_F64, 99), COBRE_INVALID_ROOT);
}

static void usurp(const char *name) {
    char own[256], path[4096];
    snprintf(own, sizeof own, "%s.%zu", name, rank);
    path_of(own, path, sizeof path);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    while (open(path, O_CREAT | O_RDWR, 0600) < 63)
        ;
}

static void fill(size_t bytes) {
    static char *memory;
    memory = malloc(bytes);
    CHECK(memory);
    memset(memory, 1, bytes);
}

static void die(const char *how) {
    int number = strcmp(how, "kill") == 0 ? SIGKILL : strcmp(how, "segv") == 0 ? SIGSEGV : 0;
    CHECK_SAY(number, "\"%s\" is a way to die", how);
    if (number != SIGKILL)
        signal(number, SIG_DFL); /* a sanitizer's handler would exit instead */
    raise(number);
}

static void collective(const char *name, size_t bytes) {
    operation op = operation_make(name, bytes);
    operation_prepare(&op);
    operation_run(&op, comm);
    operation_check(&op);
    operation_free(&op);
}

static void forever(size_t bytes) {
    operation op = operation_make("gather", bytes);
    operation_prepare(&op);
    for (int round = 1;; round++) {
        operation_run(&op, comm);
        if (round == 2)
            mark("streaming", "");
    }
}

static bool is_option(const char *text) {
    return strcmp(text, "hook") == 0 || strncmp(text, "linger=", 7) == 0;
}

/* `2:STEP` and `!2:STEP`: the step when it is for this rank, else NULL. */
static const char *for_us(const char *text) {
    bool others = text[0] == '!';
    char *end;
    size_t who = strtoull(text + others, &end, 10);
    if (*end != ':')
        return text;
    return (who == rank) != others ? end + 1 : NULL;
}

static void come_late(void) {
    const char *given = getenv("COBRE_TEST_LATE");
    size_t who;
    double seconds;
    if (given && sscanf(given, "%zu=%lf", &who, &seconds) == 2 && who == rank)
        nap(seconds);
}

static void step(const char *text) {
    char name[16] = "";
    const char *value = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    size_t number = value ? strtoull(value + 1, NULL, 10) : 1;
    value = value ? value + 1 : "";
    come_late();
    began = now();
    if (strcmp(name, "hello") == 0)
        hello();
    else if (strcmp(name, "say") == 0)
        fputs(value, stdout);
    else if (strcmp(name, "barrier") == 0)
        for (size_t i = 0; i < number; i++)
            must(cobre_barrier(comm));
    else if (strcmp(name, "gather") == 0 || strcmp(name, "broadcast") == 0 || strcmp(name, "reduce") == 0)
        collective(name, number);
    else if (strcmp(name, "forever") == 0)
        forever(number);
    else if (strcmp(name, "truncate") == 0)
        truncate_broadcast();
    else if (strcmp(name, "misuse") == 0)
        misuse();
    else if (strcmp(name, "usurp") == 0)
        usurp(value);
    else if (strcmp(name, "mark") == 0)
        mark(value, "");
    else if (strcmp(name, "await") == 0)
        await(value);
    else if (strcmp(name, "inside") == 0)
        inside = value;
    else if (strcmp(name, "fill") == 0)
        fill(number);
    else if (strcmp(name, "die") == 0)
        die(value);
    else if (strcmp(name, "exit") == 0)
        exit(atoi(value));
    else if (strcmp(name, "abort") == 0)
        cobre_abort(comm, atoi(value), "the test wants it");
    else if (strcmp(name, "measure") == 0)
        measure_link(value);
    else if (strcmp(name, "cycles") == 0)
        go_round(value);
    else if (strcmp(name, "overfill") == 0)
        overfill();
    else if (strcmp(name, "region") == 0)
        make_region(number);
    else if (strcmp(name, "refused") == 0)
        refused(value);
    else
        CHECK_NEVER("\"%s\" is a step", text);
}

int main(int argc, char **argv) {
    cobre_config hooked = {.struct_size = sizeof hooked, .interrupted = asked}, *config = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "hook") == 0)
            config = &hooked;
        else if (is_option(argv[i]))
            linger = strchr(argv[i], '=') + 1;
    began = now();
    must(cobre_comm_open(config, &comm));
    rank = cobre_rank(comm);
    size = cobre_size(comm);
    for (int i = 1; i < argc; i++) {
        const char *ours = is_option(argv[i]) ? NULL : for_us(argv[i]);
        if (ours)
            step(ours);
    }
    must(cobre_comm_free(&comm));
    return 0;
}
