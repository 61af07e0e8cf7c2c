/* SPDX-License-Identifier: Apache-2.0 */
/* peer_mpi.c: MPI's own collectives, as a program would call them; built once for each MPI. */
#include "cli/bench/peer.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int *int_counts, *int_displs; /* MPI wants int; converting them costs nothing beside a call */

/* SERIALIZED, because cobre asks for it when it finds an MPI that the program has started (overhead). */
static void open_peer(struct peer *peer) {
    int level, rank, size;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer->rank = (size_t)rank;
    peer->size = (size_t)size;
    peer->name = "mpi";
    int_counts = calloc(peer->size, 2 * sizeof *int_counts);
    if (!int_counts) {
        fprintf(stderr, "cobre bench: no memory for %d ranks\n", size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int_displs = int_counts + size;
}

static void close_peer(struct peer *peer) {
    (void)peer;
    free(int_counts);
    MPI_Finalize();
}

static void barrier(struct peer *peer) {
    (void)peer;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(struct peer *peer, const double *send, double *recv, size_t count) {
    (void)peer;
    MPI_Allreduce(send, recv, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void maximum(struct peer *peer, double *values, size_t count) {
    (void)peer;
    MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void broadcast(struct peer *peer, double *buffer, size_t count, size_t root) {
    (void)peer;
    MPI_Bcast(buffer, (int)count, MPI_DOUBLE, (int)root, MPI_COMM_WORLD);
}

static void allgatherv(struct peer *peer, const double *send, double *recv, const size_t *counts,
                       const size_t *displs) {
    for (size_t r = 0; r < peer->size; r++) {
        int_counts[r] = (int)counts[r];
        int_displs[r] = (int)displs[r];
    }
    MPI_Allgatherv(send, int_counts[peer->rank], MPI_DOUBLE, recv, int_counts, int_displs, MPI_DOUBLE, MPI_COMM_WORLD);
}

struct peer peer_mpi = {.open = open_peer,
                        .close = close_peer,
                        .barrier = barrier,
                        .allreduce = allreduce,
                        .broadcast = broadcast,
                        .allgatherv = allgatherv,
                        .maximum = maximum};
