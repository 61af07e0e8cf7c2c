/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h: inside a plugin: the communicator, and functions that its files share. */
#ifndef COBRE_BACKENDS_MPI_PLUGIN_H
#define COBRE_BACKENDS_MPI_PLUGIN_H

#include <mpi.h>

#include "backends/mpi/mpi.h"

struct cb_mpi_comm {
    cobre_comm base;
    MPI_Comm world;   /* our own duplicate: all ranks of this communicator */
    MPI_Comm node;    /* the ranks that share memory with this one */
    MPI_Comm leaders; /* rank 0 of each node; MPI_COMM_NULL elsewhere */
    size_t nodes;
    size_t *node_of;      /* a rank's node, numbered in the order of their leaders */
    size_t *node_members; /* the ranks of this node */
    uint64_t sequence;
    bool check;         /* compare fingerprints before each operation */
    cb_failure failure; /* cause set: broken */
    /* Memory for calls, so that no call has to allocate: */
    cb_fingerprint *prints;            /* one per rank */
    int *counts, *displs;              /* two per rank */
    size_t *part_counts, *part_displs; /* one per rank */
    char *scratch;
    size_t scratch_bytes; /* at least CB_MPI_SMALLEST per rank */
};

enum { CB_MPI_SMALLEST = 64 };

/* The start of every operation: is the communicator usable, and, when checked, do the ranks of `on` make this call? */
cobre_status cb_plugin_enter(struct cb_mpi_comm *comm, const cb_call *call, MPI_Comm on);

/* An MPI call, `what`, returned `code`: the communicator is broken from here on. */
cobre_status cb_plugin_fail(struct cb_mpi_comm *comm, const cb_call *call, const char *what, int code);

bool cb_plugin_finalised(void);

/* calls.c: collectives of MPI that take any count, and that end when the program's hook or the stall limit asks
 * for it. They return an MPI error code; when the wait was ended, comm->failure has the reason. */
int cb_plugin_wait_barrier(struct cb_mpi_comm *comm, MPI_Comm on);
int cb_plugin_send_all(struct cb_mpi_comm *comm, void *buffer, size_t count, cobre_type type, size_t root, MPI_Comm on);
int cb_plugin_gather_equal(struct cb_mpi_comm *comm, const void *send, size_t bytes, void *recv, MPI_Comm on);
int cb_plugin_exchange(struct cb_mpi_comm *comm, const void *send, void *recv, MPI_Datatype type);
/* One part from each of the ranks of `on`, which is world or leaders; send == NULL: this rank's is in its place already. */
int cb_plugin_gather_parts(struct cb_mpi_comm *comm, const void *send, void *recv, const size_t *counts,
                           const size_t *displs, cobre_type type, MPI_Comm on);
MPI_Datatype cb_plugin_type(cobre_type type);

/* collectives.c, region.c; split_local is in plugin.c */
#define CB_PLUGIN_DECLARE(CODE, operation) cobre_status cb_plugin_##operation(cobre_comm *comm, const cb_call *call);
CB_OPERATION_MAP(CB_PLUGIN_DECLARE)
#undef CB_PLUGIN_DECLARE
void cb_plugin_region_free(cobre_region *region);

#endif
