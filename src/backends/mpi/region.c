/* SPDX-License-Identifier: Apache-2.0 */
/* region.c: memory that the ranks of a node share: windows of MPI_Win_allocate_shared.
 *
 * A full /dev/shm is a SIGBUS under one MPI and a hang under another, and a file beyond its limit (ulimit -f) a deadly
 * signal. So each node's leader checks the free memory before it calls MPI, and all ranks agree to go on. The leader's
 * share of the window holds everything, with room to begin at a page boundary. Each rank zeroes its slice, and so places
 * its pages. The window stays locked for everyone until it is freed: loads and stores then need only MPI_Win_sync and a
 * barrier between them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backends/mpi/plugin.h"

enum { SLACK = 1 << 20 }; /* what MPI may take beside the data */

static MPI_Win window_of(const cobre_region *region) {
    MPI_Win window;
    _Static_assert(sizeof window <= sizeof region->own, "a window fits its place");
    memcpy(&window, &region->own, sizeof window);
    return window;
}

static uint64_t shared_memory_free(void) {
    int fd = open(CB_SHARED_MEMORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t there = cb_memory_free(fd);
    if (fd >= 0)
        close(fd);
    return there;
}

static bool beyond_file_limit(uint64_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/* What a rank tells of its part. */
struct room {
    uint64_t there; /* bytes free */
    int64_t error;  /* errno, 0: it can go on */
};
_Static_assert(sizeof(struct room) <= CB_MPI_SMALLEST, "one of each rank fits the scratch");

static struct room look_for_room(const struct cb_mpi_comm *comm, const cb_call *call, uint64_t bytes) {
    bool leads = comm->base.node_rank == 0;
    struct room room = {.there = leads || call->unable ? shared_memory_free() : 0};
    room.error = call->unable                        ? ENOMEM
                 : leads && room.there < bytes       ? ENOSPC
                 : leads && beyond_file_limit(bytes) ? EFBIG
                                                     : 0;
    return room;
}

/* Is there room on every node, and a handle on every rank? All ranks come to the same answer. */
static cobre_status agree_on_room(struct cb_mpi_comm *comm, const cb_call *call, uint64_t bytes) {
    struct room mine = look_for_room(comm, call, bytes);
    int code = cb_plugin_gather_equal(comm, &mine, sizeof mine, comm->scratch, comm->world);
    if (code != MPI_SUCCESS)
        return cb_plugin_fail(comm, call, "MPI_Allgather", code);
    const struct room *rooms = (const struct room *)(void *)comm->scratch;
    size_t r = 0;
    while (r < comm->base.size && !rooms[r].error)
        r++;
    if (r == comm->base.size)
        return COBRE_OK;
    char where[64];
    snprintf(where, sizeof where, " on the node of rank %zu", r);
    return cb_no_room(&comm->base, COBRE_MPI,
                      &(struct cb_shortage){.operation = "region_create",
                                            .shared = true,
                                            .where = where,
                                            .asked = bytes,
                                            .there = rooms[r].there,
                                            .os_error = (int)rooms[r].error});
}

static cobre_status fence(struct cb_mpi_comm *comm, const cb_call *call, const cobre_region *region) {
    MPI_Win window = window_of(region);
    int code = MPI_Win_sync(window);
    if (code == MPI_SUCCESS)
        code = cb_plugin_wait_barrier(comm, comm->node);
    if (code == MPI_SUCCESS)
        code = MPI_Win_sync(window);
    return code == MPI_SUCCESS ? COBRE_OK : cb_plugin_fail(comm, call, "MPI_Win_sync, MPI_Barrier", code);
}

static int make_window(struct cb_mpi_comm *comm, size_t bytes, cobre_region *region) {
    MPI_Win window;
    MPI_Aint size;
    int unit;
    char *base;
    int code = MPI_Win_allocate_shared(comm->base.node_rank == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, comm->node,
                                       &base, &window);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    memcpy(&region->own, &window, sizeof window);
    code = MPI_Win_shared_query(window, 0, &size, &unit, &base);
    if (code == MPI_SUCCESS)
        code = MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    if (code == MPI_SUCCESS)
        region->data = base + (-(uintptr_t)base & (cb_page_size() - 1));
    return code;
}

static void zero_own_slice(const struct cb_mpi_comm *comm, const cobre_region *region) {
    size_t page = cb_page_size(), pages = region->mapped / page;
    size_t first = pages * comm->base.node_rank / comm->base.node_size * page;
    size_t last = pages * (comm->base.node_rank + 1) / comm->base.node_size * page;
    memset((char *)region->data + first, 0, last - first);
}

cobre_status cb_plugin_region_create(cobre_comm *base, const cb_call *call) {
    cobre_region *region = call->region;
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    size_t page = cb_page_size();
    region->mapped = (region->bytes / page + 1) * page;
    cobre_status status = cb_plugin_enter(comm, call, comm->world);
    if (!status)
        status = agree_on_room(comm, call, region->mapped + page + SLACK);
    if (status)
        return status;
    int code = make_window(comm, region->mapped + page, region);
    if (code != MPI_SUCCESS)
        return cb_plugin_fail(comm, call, "MPI_Win_allocate_shared", code);
    if (call->print.flags & COBRE_REGION_INTERLEAVE && base->node_rank == 0)
        cb_interleave(region->data, region->mapped);
    if (call->print.flags & COBRE_REGION_INTERLEAVE)
        status = fence(comm, call, region);
    zero_own_slice(comm, region);
    return status ? status : fence(comm, call, region);
}

cobre_status cb_plugin_region_fence(cobre_comm *base, const cb_call *call) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    cobre_status status = cb_plugin_enter(comm, call, comm->node);
    return status ? status : fence(comm, call, call->region);
}

static bool is_detached(const cobre_region *region) {
    return region->memory && atomic_load_explicit(&region->memory->owners, memory_order_acquire) > 1;
}

/* On a broken communicator the window stays, because freeing it is collective. It also stays when a rank of the node has
 * detached the memory, or cannot make a sealed one writable again, because MPI may write into it. */
void cb_plugin_region_free(cobre_region *region) {
    const struct cb_mpi_comm *comm = (const struct cb_mpi_comm *)region->comm;
    MPI_Win window = window_of(region);
    if (comm->failure.cause || cb_plugin_finalised())
        return;
    int mine = is_detached(region) || mprotect(region->data, region->mapped, PROT_READ | PROT_WRITE) != 0, keep = 1;
    if (MPI_Allreduce(&mine, &keep, 1, MPI_INT, MPI_MAX, comm->node) != MPI_SUCCESS || keep)
        return;
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

/* The parts of a node's ranks as one part, if they lie side by side. */
static bool join_parts(const struct cb_mpi_comm *comm, const cb_call *call) {
    memset(comm->part_counts, 0, comm->nodes * sizeof *comm->part_counts);
    for (size_t r = 0; r < comm->base.size; r++) {
        size_t *count = &comm->part_counts[comm->node_of[r]], *displ = &comm->part_displs[comm->node_of[r]];
        if (!call->counts[r])
            continue;
        if (!*count)
            *displ = call->displs[r];
        if (call->displs[r] != *displ + *count)
            return false;
        *count += call->counts[r];
    }
    return true;
}

/* Between the leaders: each node's part once. One gather when parts lie side by side, as they do when a node's ranks
 * follow each other; otherwise a broadcast for each rank's part. */
static int exchange_nodes(struct cb_mpi_comm *comm, const cb_call *call) {
    if (join_parts(comm, call))
        return cb_plugin_gather_parts(comm, NULL, call->recv, comm->part_counts, comm->part_displs, call->type,
                                      comm->leaders);
    size_t size = cb_type_size(call->type);
    int code = MPI_SUCCESS;
    for (size_t r = 0; r < comm->base.size && code == MPI_SUCCESS; r++)
        if (call->counts[r])
            code = cb_plugin_send_all(comm, (char *)call->recv + call->displs[r] * size, call->counts[r], call->type,
                                      comm->node_of[r], comm->leaders);
    return code;
}

cobre_status cb_plugin_allgatherv_region(cobre_comm *base, const cb_call *call) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    size_t size = cb_type_size(call->type);
    CB_TRY(cb_plugin_enter(comm, call, comm->world));
    int code = cb_plugin_wait_barrier(comm, comm->world); /* others may still read what was there */
    if (code != MPI_SUCCESS)
        return cb_plugin_fail(comm, call, "MPI_Barrier", code);
    char *own = (char *)call->recv + call->displs[base->rank] * size;
    if (call->count && own != call->send)
        memcpy(own, call->send, call->count * size);
    cobre_status status = fence(comm, call, call->region);
    if (status || comm->nodes == 1)
        return status;
    if (base->node_rank == 0)
        code = exchange_nodes(comm, call);
    if (code != MPI_SUCCESS)
        return cb_plugin_fail(comm, call, "MPI_Allgatherv, MPI_Bcast", code);
    return fence(comm, call, call->region);
}
