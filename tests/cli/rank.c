/* rank.c: a cobre program for the tests of the launcher.
 *
 *   rank hello           joins, says who it is
 *   rank die RANK HOW    after some barriers, RANK ends as HOW says: kill, big (kill, with much memory to free), segv,
 *                        abort, left (exit code 0), or an exit code; the others report their error and exit with 1
 *   rank mismatch        rank 0 calls barrier, the others allreduce
 *   rank wrong RANK      RANK makes a call with a wrong argument and exits with 5
 */
#include "cobre/comm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cobre_comm *comm;

static int report(void) {
    fprintf(stderr, "rank: %s\n", cobre_last_error()->message);
    return 1;
}

static void end(const char *how) {
    if (strcmp(how, "big") == 0) {
        size_t bytes = (size_t)512 << 20;
        static char *memory;
        memory = malloc(bytes);
        if (memory)
            memset(memory, 1, bytes);
        how = "kill";
    }
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit instead */
        raise(SIGSEGV);
    }
    if (strcmp(how, "abort") == 0)
        cobre_abort(comm, 7, "the test wants it");
    exit(strcmp(how, "left") == 0 ? 0 : atoi(how));
}

static int die(size_t rank, const char *how) {
    enum { BEFORE = 3, AFTER = 1000 };
    for (int i = 0; i < BEFORE + AFTER; i++) {
        if (i == BEFORE && cobre_rank(comm) == rank)
            end(how);
        if (cobre_barrier(comm) != COBRE_OK)
            return report();
    }
    return 0;
}

static int mismatch(void) {
    double one = 1;
    cobre_status status;
    if (cobre_rank(comm) == 0)
        status = cobre_barrier(comm);
    else
        status = cobre_allreduce(comm, &one, 1, &one, 1, COBRE_F64, COBRE_SUM);
    return status == COBRE_OK ? 0 : report();
}

static int wrong(size_t rank) {
    double one = 1;
    if (cobre_barrier(comm) != COBRE_OK) /* all are in */
        return report();
    if (cobre_rank(comm) == rank && cobre_broadcast(comm, &one, 1, COBRE_F64, 99) != COBRE_OK)
        return 5;
    return cobre_broadcast(comm, &one, 1, COBRE_F64, 0) == COBRE_OK ? 0 : report();
}

static int hello(void) {
    printf("rank %zu of %zu\n", cobre_rank(comm), cobre_size(comm));
    return cobre_barrier(comm) == COBRE_OK ? 0 : report();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "hello";
    size_t rank = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK)
        return report();
    int code;
    if (strcmp(what, "die") == 0 && argc > 3)
        code = die(rank, argv[3]);
    else if (strcmp(what, "mismatch") == 0)
        code = mismatch();
    else if (strcmp(what, "wrong") == 0)
        code = wrong(rank);
    else
        code = hello();
    cobre_comm_free(&comm);
    return code;
}
