/* region.c: extents of the job's file: shared regions, and the arenas of further communicators.
 *
 * To make one: rank 0 looks whether there is room, takes an offset, and tells (round 1). If there was none it looks again
 * (one round more): the others may have freed an extent only just before they entered. Each rank maps the extent and
 * reserves its slice of it, so that on a machine with several memory nodes the pages lie near the rank that claims that
 * slice; then all tell how it went (last round). If one of them failed, all let go, and rank 0 punches the extent out of
 * the file; otherwise the last to free it does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/shm/shm.h"

/* What ranks tell each other while they make an extent. */
struct notice {
    uint64_t offset;
    uint64_t there; /* bytes free, when error is set */
    int32_t error;  /* errno, 0: done */
};
_Static_assert(sizeof(struct notice) <= CB_SMALL, "a notice fits a slot");

static cobre_status exchange(struct cb_shm_comm *comm, const cb_call *call, const struct notice *mine) {
    memcpy(cb_shm_payload(comm, comm->base.rank, comm->round + 1, sizeof *mine), mine, sizeof *mine);
    cb_shm_publish(comm, call);
    return cb_shm_await_all(comm, call);
}

static struct notice notice_of(const struct cb_shm_comm *comm, size_t rank) {
    struct notice notice;
    memcpy(&notice, cb_shm_payload(comm, rank, comm->round, sizeof notice), sizeof notice);
    return notice;
}

/* The first rank's notice that tells of an error, or one that does not. */
static struct notice worst_notice(const struct cb_shm_comm *comm) {
    struct notice notice = {0};
    for (size_t r = 0; r < comm->base.size && !notice.error; r++)
        notice = notice_of(comm, r);
    return notice;
}

/* Rank 0's part: room, an offset, and the header's page. */
static struct notice place_extent(struct cb_shm_comm *comm, struct cb_extent *extent, bool interleaved) {
    struct cb_job *job = comm->job;
    struct notice notice = {.there = cb_memory_free(job->fd)};
    if (extent->bytes > notice.there) {
        notice.error = ENOSPC;
        return notice;
    }
    notice.offset = atomic_fetch_add_explicit(&job->header->next_extent, extent->bytes, memory_order_relaxed);
    extent->offset = (off_t)notice.offset;
    notice.error = cb_shm_reserve(job->fd, extent->offset, cb_page_size());
    if (notice.error)
        return notice;
    struct cb_extent_header *header = cb_shm_map(job->fd, extent->offset, extent->bytes);
    if (!header) {
        notice.error = errno;
        return notice;
    }
    atomic_store_explicit(&header->attached, (uint32_t)comm->base.size, memory_order_relaxed);
    extent->base = header;
    if (interleaved)
        cb_interleave(header, extent->bytes);
    return notice;
}

/* Every rank's part: the mapping, and the pages of its slice of the data; the header's page is there already. */
static struct notice reserve_slice(struct cb_shm_comm *comm, struct cb_extent *extent) {
    size_t page = cb_page_size(), pages = extent->bytes / page - 1, size = comm->base.size, rank = comm->base.rank;
    size_t first = page + pages * rank / size * page, last = page + pages * (rank + 1) / size * page;
    int fd = comm->job->fd;
    struct notice notice = {0};
    if (!extent->base)
        extent->base = cb_shm_map(fd, extent->offset, extent->bytes);
    if (!extent->base)
        notice.error = errno;
    else
        notice.error = cb_shm_reserve(fd, extent->offset + (off_t)first, last - first);
    if (notice.error)
        notice.there = cb_memory_free(fd);
    return notice;
}

static cobre_status refuse(const struct cb_shm_comm *comm, const cb_call *call, const struct cb_extent *extent,
                           const struct notice *notice) {
    return cb_shm_no_room(&comm->base, cb_operation_name(call->print.operation), extent->bytes, notice->there,
                          notice->error);
}

cobre_status cb_shm_extent_create(struct cb_shm_comm *comm, const cb_call *call, size_t bytes,
                                  struct cb_extent *extent) {
    size_t page = cb_page_size();
    *extent = (struct cb_extent){.bytes = page + cb_round_up(bytes ? bytes : 1, page)};
    struct notice notice = {0};
    cobre_status status = cb_shm_enter(comm, call);
    if (status)
        return status;
    for (int look = 0; look < 2; look++) {
        if (comm->base.rank == 0)
            notice = place_extent(comm, extent, call->print.flags & COBRE_REGION_INTERLEAVE);
        status = exchange(comm, call, &notice);
        if (status)
            goto let_go;
        notice = notice_of(comm, 0);
        if (!notice.error || notice.offset)
            break;
    }
    extent->offset = (off_t)notice.offset;
    if (notice.error) {
        status = refuse(comm, call, extent, &notice);
        goto let_go;
    }
    notice = reserve_slice(comm, extent);
    status = exchange(comm, call, &notice);
    if (status)
        goto let_go;
    notice = worst_notice(comm);
    if (!notice.error)
        return COBRE_OK;
    status = refuse(comm, call, extent, &notice);
let_go:
    if (status != COBRE_ALLOCATION_FAILED) { /* the others may have it already, or still be reserving */
        cb_shm_extent_free(comm, extent);
        return status;
    }
    if (extent->base)
        cb_shm_unmap(extent->base);
    if (comm->base.rank == 0 && extent->offset)
        cb_shm_punch(comm->job->fd, extent->offset, extent->bytes);
    return status;
}

void cb_shm_extent_free(struct cb_shm_comm *comm, struct cb_extent *extent) {
    if (!extent->base)
        return;
    struct cb_extent_header *header = extent->base;
    bool last = atomic_fetch_sub_explicit(&header->attached, 1, memory_order_acq_rel) == 1;
    cb_shm_unmap(extent->base);
    if (last)
        cb_shm_punch(comm->job->fd, extent->offset, extent->bytes);
    extent->base = NULL;
}

static struct cb_extent extent_of(const cobre_region *region) {
    size_t page = cb_page_size();
    return (struct cb_extent){.base = (char *)region->data - page, .bytes = region->mapped, .offset = region->offset};
}

cobre_status cb_shm_region_create(cobre_comm *base, const cb_call *call) {
    cobre_region *region = call->region;
    struct cb_extent extent;
    cobre_status status = cb_shm_extent_create((struct cb_shm_comm *)base, call, region->bytes, &extent);
    if (status)
        return status;
    region->data = (char *)extent.base + cb_page_size();
    region->mapped = extent.bytes;
    region->offset = extent.offset;
    return COBRE_OK;
}

void cb_shm_region_free(cobre_region *region) {
    struct cb_extent extent = extent_of(region);
    cb_shm_extent_free((struct cb_shm_comm *)region->comm, &extent);
}

cobre_status cb_shm_split_local(cobre_comm *base, const cb_call *call) {
    struct cb_shm_comm *comm = (struct cb_shm_comm *)base;
    struct cb_shm_comm *made = calloc(1, sizeof *made);
    if (!made)
        return cb_shm_no_room(base, "split_local", sizeof *made, 0, ENOMEM);
    cobre_status status =
        cb_shm_extent_create(comm, call, cb_shm_arena_bytes(base->size, comm->bulk_bytes), &made->arena);
    if (status) {
        free(made);
        return status;
    }
    made->base = (cobre_comm){
        .backend = COBRE_SHM,
        .rank = base->rank,
        .size = base->size,
        .node_rank = base->node_rank,
        .node_size = base->node_size,
    };
    made->job = comm->job;
    made->bulk_bytes = comm->bulk_bytes;
    atomic_fetch_add_explicit(&comm->job->users, 1, memory_order_relaxed);
    cb_shm_attach_arena(made, (char *)made->arena.base + cb_page_size());
    *call->made = &made->base;
    return COBRE_OK;
}
