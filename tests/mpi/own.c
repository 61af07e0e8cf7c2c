/* SPDX-License-Identifier: Apache-2.0 */
/* own.c: a program that uses MPI itself, beside cobre. Built with each MPI and linked with libcobre.
 *
 *   own respected    both used in turn; MPI is still the program's after the last cobre_comm_free
 *   own level NAME   initialised with that thread level: may cobre be opened?
 *   own after        MPI_Finalize with a communicator and a region open: all calls fail, none crashes
 *   own late         cobre is opened after MPI_Finalize */
#include "kit/check.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static cobre_comm *comm;

static void start(int level) {
    int provided;
    CHECK(MPI_Init_thread(NULL, NULL, level, &provided) == MPI_SUCCESS && provided >= level);
}

static int respected(void) {
    int rank, size, finalised, flag = 0, answer = 0;
    start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < 3; turn++) {
        int64_t one = rank, sum = 0;
        CHECK_OK(cobre_comm_open(NULL, &comm));
        CHECK(cobre_comm_backend(comm) == COBRE_MPI);
        CHECK((int)cobre_rank(comm) == rank && (int)cobre_size(comm) == size);
        /* A message of the program's own on the way while cobre works: nothing of ours may take it. */
        MPI_Request request;
        MPI_Irecv(&answer, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
        CHECK_OK(cobre_allreduce_t(comm, &one, &sum, 1, COBRE_SUM));
        CHECK(sum == (int64_t)size * (size - 1) / 2);
        MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        CHECK_OK(cobre_barrier(comm));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(answer == (rank + size - 1) % size);
        CHECK_OK(cobre_comm_free(&comm));
        CHECK(MPI_Finalized(&finalised) == MPI_SUCCESS && !finalised);
    }
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL); /* ours is on our duplicate only */
    CHECK(MPI_Allreduce(&rank, &flag, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS && flag == size - 1);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    printf("rank %d respected\n", rank);
    return 0;
}

static int level(const char *name) {
    int asked = strcmp(name, "single") == 0     ? MPI_THREAD_SINGLE
                : strcmp(name, "funneled") == 0 ? MPI_THREAD_FUNNELED
                                                : MPI_THREAD_SERIALIZED;
    int provided;
    if (asked == MPI_THREAD_SINGLE)
        MPI_Init(NULL, NULL);
    else
        start(asked);
    MPI_Query_thread(&provided);
    cobre_status status = cobre_comm_open(NULL, &comm);
    printf("asked %d, got %d: %s: %s; %s\n", asked, provided, cobre_status_name(status),
           status ? cobre_last_error()->message : "", status ? cobre_last_error()->suggestion : "");
    CHECK(!status == (provided >= MPI_THREAD_SERIALIZED));
    CHECK(!status || (status == COBRE_INITIALIZATION_FAILED && !comm));
    CHECK_OK(cobre_comm_free(&comm));
    MPI_Finalize();
    return 0;
}

#define CHECK_INVALID(call) CHECK_STATUS(call, COBRE_INVALID_COMMUNICATOR)

static int after(void) {
    double x[8] = {0};
    size_t counts[8], displs[8];
    cobre_comm *local, *other;
    cobre_region *region, *made;
    start(MPI_THREAD_MULTIPLE);
    CHECK_OK(cobre_comm_open(NULL, &comm));
    CHECK_OK(cobre_split_local(comm, &local));
    CHECK_OK(cobre_region_create(comm, 100, COBRE_F64, 0, &region));
    size_t size = cobre_size(comm);
    CHECK(size <= 8);
    for (size_t r = 0; r < 8; r++)
        counts[r] = 1, displs[r] = r;
    MPI_Finalize();
    CHECK_INVALID(cobre_barrier(comm));
    CHECK_HOLDS(cobre_last_error()->message, "finalised");
    CHECK_HOLDS(cobre_last_error()->suggestion, "MPI_Finalize");
    CHECK_INVALID(cobre_broadcast(comm, x, 1, COBRE_F64, 0));
    CHECK_INVALID(cobre_allreduce(comm, x, 1, x, 1, COBRE_F64, COBRE_SUM));
    CHECK_INVALID(cobre_allgatherv(comm, x + cobre_rank(comm), 1, x, 8, counts, displs, COBRE_F64));
    CHECK_INVALID(cobre_allgatherv_region(comm, x, 1, region, counts, displs));
    CHECK_INVALID(cobre_region_create(comm, 1, COBRE_F64, 0, &made));
    CHECK_INVALID(cobre_region_fence(region));
    CHECK_INVALID(cobre_region_seal(region));
    CHECK_INVALID(cobre_split_local(comm, &other));
    CHECK_INVALID(cobre_barrier(local));
    cobre_exact sum;
    cobre_exact_init(&sum);
    CHECK_INVALID(cobre_exact_allreduce(comm, &sum));
    CHECK(!made && !other && cobre_size(comm) == size);
    CHECK_OK(cobre_region_free(&region));
    CHECK(!region);
    CHECK_OK(cobre_comm_free(&local));
    CHECK(!local);
    CHECK_OK(cobre_comm_free(&comm));
    CHECK(!comm);
    CHECK_STATUS(cobre_comm_open(NULL, &comm), COBRE_INITIALIZATION_FAILED);
    CHECK(!comm);
    printf("%s\n", cobre_last_error()->message);
    return 0;
}

static int late(void) {
    start(MPI_THREAD_MULTIPLE);
    MPI_Finalize();
    CHECK_STATUS(cobre_comm_open(NULL, &comm), COBRE_INITIALIZATION_FAILED);
    CHECK(!comm);
    printf("%s\n", cobre_last_error()->message);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "respected";
    return strcmp(what, "level") == 0 && argc > 2 ? level(argv[2])
           : strcmp(what, "after") == 0           ? after()
           : strcmp(what, "late") == 0            ? late()
                                                  : respected();
}
