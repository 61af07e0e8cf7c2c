/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: barrier, broadcast and allgatherv are MPI's own. allreduce is not: MPI fixes no order of the operands,
 * and promises neither wrapping sums nor our NaN and zero rules.
 *
 * allreduce folds in rank order, with the core's fold. Small: every rank gathers all operands and folds them by itself
 * (R - 1 times the payload received, one collective). Large, in blocks that fit the scratch: each rank gets its slice of
 * all operands, folds it, and the slices are gathered (twice the payload, two collectives per block). Both ways do the
 * same operations on the same operands in the same order, so they give the same bits. */
#include <string.h>

#include "backends/mpi/plugin.h"

enum { FOLD_ALL = 64 << 10 }; /* bytes of all operands together */

cobre_status cb_plugin_barrier(cobre_comm *base, const cb_call *call) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    CB_TRY(cb_plugin_enter(comm, call, comm->world));
    int code = cb_plugin_wait_barrier(comm, comm->world);
    return code == MPI_SUCCESS ? COBRE_OK : cb_plugin_fail(comm, call, "MPI_Barrier", code);
}

cobre_status cb_plugin_broadcast(cobre_comm *base, const cb_call *call) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    CB_TRY(cb_plugin_enter(comm, call, comm->world));
    int code = cb_plugin_send_all(comm, call->recv ? call->recv : comm->scratch, call->count, call->type, call->root,
                                  comm->world);
    return code == MPI_SUCCESS ? COBRE_OK : cb_plugin_fail(comm, call, "MPI_Bcast", code);
}

cobre_status cb_plugin_allgatherv(cobre_comm *base, const cb_call *call) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    CB_TRY(cb_plugin_enter(comm, call, comm->world));
    char *recv = call->recv ? call->recv : comm->scratch;
    const void *send = call->count ? call->send : comm->scratch;
    if (call->count && send == recv + call->displs[base->rank] * cb_type_size(call->type))
        send = NULL;
    int code = cb_plugin_gather_parts(comm, send, recv, call->counts, call->displs, call->type, comm->world);
    return code == MPI_SUCCESS ? COBRE_OK : cb_plugin_fail(comm, call, "MPI_Allgatherv", code);
}

static int fold_all(struct cb_mpi_comm *comm, const cb_call *call, size_t bytes) {
    int code = cb_plugin_gather_equal(comm, call->send, bytes, comm->scratch, comm->world);
    if (code != MPI_SUCCESS)
        return code;
    memcpy(call->recv, comm->scratch, bytes);
    for (size_t r = 1; r < comm->base.size; r++)
        cb_fold(call->type, call->op, call->recv, comm->scratch + r * bytes, call->count);
    return code;
}

/* The slice of rank r of a block of `count` elements begins here. */
static size_t slice_start(const struct cb_mpi_comm *comm, size_t count, size_t r) {
    return count / comm->base.size * r + (r < count % comm->base.size ? r : count % comm->base.size);
}

static size_t slice_count(const struct cb_mpi_comm *comm, size_t count, size_t r) {
    return slice_start(comm, count, r + 1) - slice_start(comm, count, r);
}

static int fold_block(struct cb_mpi_comm *comm, const cb_call *call, const char *send, char *recv, size_t count) {
    size_t ranks = comm->base.size, size = cb_type_size(call->type);
    size_t mine = slice_count(comm, count, comm->base.rank);
    for (size_t r = 0; r < ranks; r++) {
        comm->part_counts[r] = slice_count(comm, count, r);
        comm->part_displs[r] = slice_start(comm, count, r);
        comm->counts[r] = (int)comm->part_counts[r];
        comm->displs[r] = (int)comm->part_displs[r];
        comm->counts[ranks + r] = (int)mine;
        comm->displs[ranks + r] = (int)(r * mine);
    }
    int code = cb_plugin_exchange(comm, send, comm->scratch, cb_plugin_type(call->type));
    if (code != MPI_SUCCESS)
        return code;
    for (size_t r = 1; r < ranks; r++)
        cb_fold(call->type, call->op, comm->scratch, comm->scratch + r * mine * size, mine);
    return cb_plugin_gather_parts(comm, comm->scratch, recv, comm->part_counts, comm->part_displs, call->type,
                                  comm->world);
}

static int fold_slices(struct cb_mpi_comm *comm, const cb_call *call) {
    size_t size = cb_type_size(call->type);
    size_t block = (comm->scratch_bytes / size - comm->base.size) / comm->base.size * comm->base.size;
    int code = MPI_SUCCESS;
    for (size_t done = 0; done < call->count && code == MPI_SUCCESS; done += block) {
        size_t count = call->count - done < block ? call->count - done : block;
        code = fold_block(comm, call, (const char *)call->send + done * size, (char *)call->recv + done * size, count);
    }
    return code;
}

cobre_status cb_plugin_allreduce(cobre_comm *base, const cb_call *call) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    size_t bytes = call->count * cb_type_size(call->type);
    CB_TRY(cb_plugin_enter(comm, call, comm->world));
    if (base->size == 1) {
        memmove(call->recv, call->send, bytes);
        return COBRE_OK;
    }
    bool small = bytes <= FOLD_ALL / base->size || bytes <= CB_MPI_SMALLEST;
    int code = small ? fold_all(comm, call, bytes) : fold_slices(comm, call);
    return code == MPI_SUCCESS ? COBRE_OK : cb_plugin_fail(comm, call, "allreduce by MPI", code);
}
