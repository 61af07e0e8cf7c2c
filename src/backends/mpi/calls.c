/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c: calls MPI's collectives with counts of any size, and so that a wait can be ended.
 *
 * Counts: MPI's are ints, and libraries compute bytes in an int as well, so payloads of more than 2^27 elements go in
 * pieces. The _c calls of MPI 4 do not help: MPI_Allgatherv_c of MPICH 4.0.2 silently delivers the length of a part
 * modulo 2^32. The choice depends only on data that all ranks agree on, except for gather_packed, which is the same
 * call to MPI.
 *
 * Ending: a blocking collective of MPI cannot be left. When the program has an interrupted hook or a stall limit, we
 * start the non-blocking one and test it, with naps, between calls of the hook. That costs latency, so we do it only
 * then. An abandoned request cannot be cancelled: MPI may touch its buffers as long as MPI runs. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/mpi/plugin.h"

enum { MOST = 1 << 27 }; /* elements of one call: 1 GiB of the largest type */

MPI_Datatype cb_plugin_type(cobre_type type) {
    switch (type) {
    case COBRE_U8: return MPI_UINT8_T;
    case COBRE_I32: return MPI_INT32_T;
    case COBRE_U32: return MPI_UINT32_T;
    case COBRE_I64: return MPI_INT64_T;
    case COBRE_U64: return MPI_UINT64_T;
    case COBRE_F32: return MPI_FLOAT;
    case COBRE_F64: return MPI_DOUBLE;
    }
    return MPI_DATATYPE_NULL;
}

static bool must_look(const struct cb_mpi_comm *comm) {
    return comm->base.interrupted || comm->base.stall_secs > 0;
}

static int give_up(struct cb_mpi_comm *comm, cobre_cause cause) {
    bool us = cause == COBRE_CAUSE_INTERRUPTED;
    comm->failure =
        (cb_failure){.cause = cause, .culprit = us ? (uint32_t)comm->base.rank : UINT32_MAX, .pid = us ? getpid() : 0};
    return MPI_ERR_OTHER;
}

/* Tests without a pause for a millisecond, then with naps of a tenth of what has been waited. */
static int finish(struct cb_mpi_comm *comm, int code, MPI_Request *request) {
    double start = cb_now(), asked = start;
    for (int done = 0; code == MPI_SUCCESS;) {
        code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done)
            break;
        double now = cb_now(), waited = now - start;
        if (now - asked > 0.02) {
            asked = now;
            if (comm->base.interrupted && comm->base.interrupted(comm->base.interrupted_arg))
                return give_up(comm, COBRE_CAUSE_INTERRUPTED);
            if (comm->base.stall_secs > 0 && waited > comm->base.stall_secs)
                return give_up(comm, COBRE_CAUSE_STALLED);
        }
        if (waited > 1e-3)
            cb_nap(waited < 0.05 ? waited / 10 : 5e-3);
    }
    return code;
}

int cb_plugin_wait_barrier(struct cb_mpi_comm *comm, MPI_Comm on) {
    MPI_Request request;
    if (!must_look(comm))
        return MPI_Barrier(on);
    return finish(comm, MPI_Ibarrier(on, &request), &request);
}

static int send_piece(struct cb_mpi_comm *comm, void *buffer, int count, MPI_Datatype type, int root, MPI_Comm on) {
    MPI_Request request;
    if (!must_look(comm))
        return MPI_Bcast(buffer, count, type, root, on);
    return finish(comm, MPI_Ibcast(buffer, count, type, root, on, &request), &request);
}

int cb_plugin_send_all(struct cb_mpi_comm *comm, void *buffer, size_t count, cobre_type type, size_t root,
                       MPI_Comm on) {
    for (char *at = buffer;; at += MOST * cb_type_size(type), count -= MOST) {
        int code = send_piece(comm, at, count < MOST ? (int)count : MOST, cb_plugin_type(type), (int)root, on);
        if (code != MPI_SUCCESS || count <= MOST)
            return code;
    }
}

int cb_plugin_gather_equal(struct cb_mpi_comm *comm, const void *send, size_t bytes, void *recv, MPI_Comm on) {
    MPI_Request request;
    int count = (int)bytes; /* scratch_bytes bounds it */
    if (!must_look(comm))
        return MPI_Allgather(send, count, MPI_BYTE, recv, count, MPI_BYTE, on);
    return finish(comm, MPI_Iallgather(send, count, MPI_BYTE, recv, count, MPI_BYTE, on, &request), &request);
}

/* Everybody to everybody, by comm->counts and displs: those of the sends, and behind them those of the receives. */
int cb_plugin_exchange(struct cb_mpi_comm *comm, const void *send, void *recv, MPI_Datatype type) {
    MPI_Request request;
    const int *counts = comm->counts, *recv_counts = counts + comm->base.size;
    const int *displs = comm->displs, *recv_displs = displs + comm->base.size;
    if (!must_look(comm))
        return MPI_Alltoallv(send, counts, displs, type, recv, recv_counts, recv_displs, type, comm->world);
    return finish(
        comm, MPI_Ialltoallv(send, counts, displs, type, recv, recv_counts, recv_displs, type, comm->world, &request),
        &request);
}

static int gather_now(struct cb_mpi_comm *comm, const void *send, int count, void *recv, MPI_Datatype type,
                      MPI_Comm on) {
    MPI_Request request;
    if (!must_look(comm))
        return MPI_Allgatherv(send, count, type, recv, comm->counts, comm->displs, type, on);
    return finish(comm, MPI_Iallgatherv(send, count, type, recv, comm->counts, comm->displs, type, on, &request),
                  &request);
}

/* Too much for one call: one part after the other, each from its rank to all. */
static int gather_in_turn(struct cb_mpi_comm *comm, const void *send, void *recv, const size_t *counts,
                          const size_t *displs, cobre_type type, MPI_Comm on, size_t members, size_t me) {
    size_t size = cb_type_size(type);
    char *parts = recv;
    int code = MPI_SUCCESS;
    if (send)
        memcpy(parts + displs[me] * size, send, counts[me] * size);
    for (size_t r = 0; r < members && code == MPI_SUCCESS; r++)
        if (counts[r])
            code = cb_plugin_send_all(comm, parts + displs[r] * size, counts[r], type, r, on);
    return code;
}

/* The parts are small, but places on this rank are beyond an int: gathered side by side, then put there. */
static int gather_packed(struct cb_mpi_comm *comm, const void *send, void *recv, const size_t *counts,
                         const size_t *displs, cobre_type type, MPI_Comm on, size_t members, size_t me) {
    size_t size = cb_type_size(type), total = 0;
    for (size_t r = 0; r < members; total += counts[r++])
        comm->displs[r] = (int)total;
    char *parts = recv, *packed = malloc(total * size + 1);
    if (!packed)
        return MPI_ERR_NO_MEM;
    int code =
        gather_now(comm, send ? send : parts + displs[me] * size, (int)counts[me], packed, cb_plugin_type(type), on);
    for (size_t r = 0; r < members && code == MPI_SUCCESS; r++)
        if (counts[r])
            memcpy(parts + displs[r] * size, packed + (size_t)comm->displs[r] * size, counts[r] * size);
    free(packed);
    return code;
}

int cb_plugin_gather_parts(struct cb_mpi_comm *comm, const void *send, void *recv, const size_t *counts,
                           const size_t *displs, cobre_type type, MPI_Comm on) {
    bool all = on == comm->world; /* else the leaders */
    size_t n = all ? comm->base.size : comm->nodes, me = all ? comm->base.rank : comm->node_of[comm->base.rank];
    size_t total = 0, end = 0;
    for (size_t r = 0; r < n; r++) {
        total += counts[r];
        end = counts[r] && displs[r] > end ? displs[r] : end;
        comm->counts[r] = (int)counts[r];
        comm->displs[r] = counts[r] ? (int)displs[r] : 0;
    }
    if (n == 1) { /* MPICH 4.0.2 overlooks the place of an only part */
        if (send && total)
            memmove((char *)recv + displs[0] * cb_type_size(type), send, total * cb_type_size(type));
        return MPI_SUCCESS;
    }
    if (total > MOST)
        return gather_in_turn(comm, send, recv, counts, displs, type, on, n, me);
    if (end > INT_MAX)
        return gather_packed(comm, send, recv, counts, displs, type, on, n, me);
    return gather_now(comm, send ? send : MPI_IN_PLACE, (int)counts[me], recv, cb_plugin_type(type), on);
}
