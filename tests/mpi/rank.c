/* rank.c: a cobre program for the tests of the mpi backend: no MPI in it, so the same file runs under all of them.
 *
 *   rank hello           joins, says who it is
 *   rank wait AWAY       all ranks call barrier; rank AWAY only when the file `go` is there, which says how it goes on
 *   rank truncate        a broadcast with another count on rank 0 than on the others
 *   rank cycles WHAT N   N times: region, split or open; then nothing may have grown
 *   rank full            a region that does not fit /dev/shm, then one that does
 *   rank cpu             rank 0 stays away from a barrier for a second: what do the others spend?
 *
 * COBRE_TEST_DIR is where it leaves a file EVENT.RANK for what has happened, with the process and the time, and looks
 * for orders. After an error it waits for the file `leave`, because the launcher ends the others when one has gone.
 * COBRE_TEST_HOOK=1: opened with an interrupted hook, which says yes when the file interrupt.RANK is there. */
#include "rank.h"

#include <sys/resource.h>
#include <unistd.h>

static int asked(void *unused) {
    static bool told;
    (void)unused;
    if (!told)
        happened("inside", "");
    told = true;
    return ordered("interrupt", true, NULL, 0);
}

static cobre_status open_world(void) {
    cobre_config config = {.struct_size = sizeof config, .interrupted = asked};
    return cobre_comm_open(getenv("COBRE_TEST_HOOK") ? &config : NULL, &comm);
}

/* No communicator, so no rank: the file has the process in its name. */
static int refused(void) {
    const cobre_error *error = cobre_last_error();
    fprintf(stderr, "rank: %s: %s\n  suggestion: %s\n", cobre_status_name(error->status), error->message,
            error->suggestion);
    happened_on((size_t)getpid(), "refused", "");
    await("leave", NULL, 0);
    return 1;
}

static void go_on_as_ordered(void) {
    char how[32];
    await("go", how, sizeof how);
    if (strncmp(how, "abort ", 6) == 0)
        cobre_abort(comm, atoi(how + 6), "the test wants it");
    if (strncmp(how, "exit ", 5) == 0)
        exit(atoi(how + 5));
}

/* After the first failure, which `since` names, all that follows fails at once with the same cause. */
static void check_broken(const char *since) {
    double begin = now(), x = 0;
    cobre_cause cause = cobre_last_error()->cause;
    int code = cobre_last_error()->mpi_error;
    MUST(cobre_barrier(comm) == COBRE_COLLECTIVE_FAILED);
    MUST(cobre_last_error()->cause == cause && cobre_last_error()->mpi_error == code);
    MUST(strstr(cobre_last_error()->message, "is broken since") && strstr(cobre_last_error()->message, since));
    MUST(cobre_allreduce(comm, &x, 1, &x, 1, COBRE_F64, COBRE_SUM) == COBRE_COLLECTIVE_FAILED);
    cobre_region *region;
    MUST(cobre_region_create(comm, 1, COBRE_F64, 0, &region) == COBRE_COLLECTIVE_FAILED && !region);
    MUST(now() - begin < 1);
}

static int wait_for_all(size_t away) {
    MUST_OK(cobre_barrier(comm));
    setvbuf(stdout, NULL, _IOFBF, 4096);
    if (cobre_rank(comm) == away) /* no line's end: it stays in the buffer. One rank only: launchers mix such pieces */
        printf("rank %zu before the wait", away);
    happened("ready", "");
    if (cobre_rank(comm) == away)
        go_on_as_ordered();
    double begin = now();
    cobre_status status = cobre_barrier(comm);
    happened_with_error("returned", status, now() - begin);
    if (status)
        check_broken("barrier #2");
    MUST_OK(cobre_comm_free(&comm));
    if (status)
        await("leave", NULL, 0);
    return status ? 1 : 0;
}

static int hello(void) {
    printf("rank %zu of %zu by %s\n", cobre_rank(comm), cobre_size(comm), cobre_backend_name(cobre_comm_backend(comm)));
    MUST_OK(cobre_barrier(comm));
    MUST_OK(cobre_comm_free(&comm));
    return 0;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* What the wait costs, beside its length. */
static int spend(void) {
    MUST_OK(cobre_barrier(comm));
    double begin = now(), spent = cpu_seconds();
    if (cobre_rank(comm) == 0)
        pause_for(1);
    MUST_OK(cobre_barrier(comm));
    printf("rank %zu waited %.0f ms and spent %.0f ms\n", cobre_rank(comm), (now() - begin) * 1e3,
           (cpu_seconds() - spent) * 1e3);
    MUST_OK(cobre_comm_free(&comm));
    return 0;
}

/* MPI finds that what arrives is longer than what was asked for; the ranks where nothing is wrong may not see it. */
static int truncate_a_broadcast(void) {
    static double data[1000];
    size_t count = cobre_rank(comm) == 0 ? 1000 : 10;
    cobre_status status = cobre_broadcast(comm, data, count, COBRE_F64, 0);
    const cobre_error *error = cobre_last_error();
    happened_with_error("returned", status, 0);
    if (status) {
        MUST(error->cause == COBRE_CAUSE_TRANSPORT && error->mpi_error != 0 && error->backend == COBRE_MPI);
        MUST(error->culprit == cobre_rank(comm));
        check_broken("broadcast #1");
    }
    MUST_OK(cobre_comm_free(&comm));
    /* A rank without an error would finalise MPI, while the others exit: then Open MPI's launcher may hang or crash
     * (docs/mpi.md). It waits here until the launcher ends it. */
    await(status ? "leave" : "never", NULL, 0);
    return status ? 1 : 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "hello", *argument = argc > 2 ? argv[2] : "";
    if (open_world() != COBRE_OK)
        return refused();
    if (strcmp(what, "wait") == 0)
        return wait_for_all(strtoul(argument, NULL, 10));
    if (strcmp(what, "truncate") == 0)
        return truncate_a_broadcast();
    if (strcmp(what, "cycles") == 0)
        return go_round(argument, argc > 3 ? strtoul(argv[3], NULL, 10) : 1000);
    if (strcmp(what, "full") == 0)
        return fill_up();
    if (strcmp(what, "cpu") == 0)
        return spend();
    return hello();
}
