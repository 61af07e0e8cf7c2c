/* SPDX-License-Identifier: Apache-2.0 */
/* region.c: extents of the job's file: shared regions, and the arenas of further communicators.
 *
 * To make one:
 *   1. Rank 0 finds a place: it looks whether there is room, takes the first gap between extents that is large enough, else
 *      the end of the file, makes the header and tells (round 1). If there was no room it looks again (one round more): the
 *      others may have freed an extent only just before they entered.
 *   2. Each rank maps the extent and reserves its slice of it, so that on a machine with several memory nodes the pages
 *      lie near the rank that claims that slice.
 *   3. All report success or failure (last round). If one failed, all unmap the extent, and rank 0 punches it out of the
 *      file; otherwise the last rank to free it does.
 *
 * Each rank frees an extent on its own, maybe after the job. The last one punches out the data, then the header's page. Rank
 * 0 reads the headers' places in the file when it needs a place. So it sees an extent as free only when all of it is gone,
 * and a new one there has zeros. The extent of a rank that has died stays taken. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/shm/shm.h"

/* How a rank's part in making an extent went. */
struct outcome {
    int32_t error;  /* errno, 0: well */
    uint64_t there; /* bytes free, when error is set */
};

/* What rank 0 tells about the place. */
struct place {
    struct outcome outcome;
    uint64_t offset; /* if it went well */
};
_Static_assert(sizeof(struct place) <= CB_SMALL, "it fits a slot");

/* One round, in which this rank tells `mine`. If the communicator breaks in it, this rank frees the extent for itself:
 * the others may have it already, or still be reserving. */
static cobre_status tell(struct cb_shm_comm *comm, const cb_call *call, struct cb_extent *extent, const void *mine,
                         size_t bytes) {
    memcpy(cb_shm_payload(comm, comm->base.rank, comm->round + 1, bytes), mine, bytes);
    cb_shm_publish(comm, call);
    cobre_status status = cb_shm_await_all(comm, call);
    if (status)
        cb_shm_extent_free(extent);
    return status;
}

/* What that rank told in the last round. */
static void hear(const struct cb_shm_comm *comm, size_t rank, void *told, size_t bytes) {
    memcpy(told, cb_shm_payload(comm, rank, comm->round, bytes), bytes);
}

static cobre_status refuse(const struct cb_shm_comm *comm, const cb_call *call, const struct cb_extent *extent,
                           const struct outcome *outcome) {
    return cb_no_room(&comm->base, COBRE_SHM,
                      &(struct cb_shortage){.operation = cb_operation_name(call->print.operation),
                                            .shared = true,
                                            .asked = extent->bytes,
                                            .there = outcome->there,
                                            .os_error = outcome->error});
}

/* Maps the extent and makes its header, before the others know of it. 0 or errno. */
static int make_header(struct cb_shm_comm *comm, struct cb_extent *extent) {
    int fd = comm->job->fd;
    struct cb_extent_header *header = cb_shm_map(fd, extent->offset, extent->bytes);
    if (!header)
        return errno;
    int error = cb_shm_reserve(fd, extent->offset, cb_page_size());
    if (error) {
        cb_shm_unmap(header, extent->bytes);
        return error;
    }
    atomic_store_explicit(&header->attached, (uint32_t)comm->base.size, memory_order_relaxed);
    atomic_store_explicit(&header->taken, 1, memory_order_relaxed);
    extent->base = header;
    return 0;
}

static bool is_free(const struct cb_job *job, const struct cb_place *place) {
    struct cb_extent_header header;
    ssize_t got = pread(job->fd, &header, sizeof header, place->offset);
    return got == (ssize_t)sizeof header && !atomic_load_explicit(&header.taken, memory_order_relaxed);
}

/* The link to the extent behind the first gap of so many bytes; the list loses those that are free. */
static struct cb_place **find_gap(struct cb_job *job, size_t bytes, off_t *offset) {
    struct cb_place **link = &job->places;
    *offset = (off_t)cb_round_up(job->header->fixed_bytes, cb_page_size());
    while (*link) {
        struct cb_place *place = *link;
        if (is_free(job, place)) {
            *link = place->next;
            free(place);
        } else if ((size_t)(place->offset - *offset) >= bytes)
            break;
        else {
            *offset = place->offset + (off_t)place->bytes;
            link = &place->next;
        }
    }
    return link;
}

/* Finds the extent's place and makes its header there. 0 or errno. */
static int place_extent(struct cb_shm_comm *comm, struct cb_extent *extent) {
    struct cb_job *job = comm->job;
    struct cb_place *place = malloc(sizeof *place);
    if (!place)
        return ENOMEM;
    pthread_mutex_lock(&job->placing);
    struct cb_place **link = find_gap(job, extent->bytes, &extent->offset);
    int error = cb_shm_lengthen(job->fd, extent->offset + (off_t)extent->bytes);
    if (!error)
        error = make_header(comm, extent);
    if (error)
        free(place);
    else {
        *place = (struct cb_place){.next = *link, .offset = extent->offset, .bytes = extent->bytes};
        *link = place;
    }
    pthread_mutex_unlock(&job->placing);
    return error;
}

void cb_shm_forget_places(struct cb_job *job) {
    while (job->places) {
        struct cb_place *place = job->places;
        job->places = place->next;
        free(place);
    }
}

/* Nobody needs the extent any more: first its data goes, then its header, so that its place becomes free. */
static void give_back(const struct cb_extent *extent) {
    size_t page = cb_page_size();
    if (cb_shm_empty((char *)extent->base + page, extent->bytes - page))
        cb_shm_empty(extent->base, page);
}

/* Rank 0, step 1. */
static struct place take_place(struct cb_shm_comm *comm, const cb_call *call, struct cb_extent *extent) {
    if (!cb_shm_has_file(comm->job))
        return (struct place){.outcome = {.error = EBADF}};
    uint64_t there = cb_memory_free(comm->job->fd);
    if (extent->bytes > there)
        return (struct place){.outcome = {.error = ENOSPC, .there = there}};
    int error = place_extent(comm, extent);
    if (!error && call->print.flags & COBRE_REGION_INTERLEAVE)
        cb_interleave(extent->base, extent->bytes);
    return (struct place){.outcome = {.error = error, .there = there}, .offset = (uint64_t)extent->offset};
}

/* Step 1. */
static cobre_status find_place(struct cb_shm_comm *comm, const cb_call *call, struct cb_extent *extent) {
    struct place place = {.outcome.error = ENOSPC};
    for (int look = 0; look < 2 && (place.outcome.error == ENOSPC || place.outcome.error == EFBIG); look++) {
        if (comm->base.rank == 0)
            place = take_place(comm, call, extent);
        CB_TRY(tell(comm, call, extent, &place, sizeof place));
        hear(comm, 0, &place, sizeof place);
    }
    if (place.outcome.error)
        return refuse(comm, call, extent, &place.outcome);
    extent->offset = (off_t)place.offset;
    return COBRE_OK;
}

/* Step 2. The header's page is there already. */
static struct outcome reserve_slice(struct cb_shm_comm *comm, const cb_call *call, struct cb_extent *extent) {
    size_t page = cb_page_size(), pages = extent->bytes / page - 1, size = comm->base.size, rank = comm->base.rank;
    size_t first = page + pages * rank / size * page, last = page + pages * (rank + 1) / size * page;
    int fd = comm->job->fd, error = call->unable ? ENOMEM : cb_shm_has_file(comm->job) ? 0 : EBADF;
    if (!error && rank != 0 && !(extent->base = cb_shm_map(fd, extent->offset, extent->bytes)))
        error = errno;
    if (!error)
        error = cb_shm_reserve(fd, extent->offset + (off_t)first, last - first);
    return (struct outcome){.error = error, .there = error ? cb_memory_free(fd) : 0};
}

/* What the first rank told that failed, or that it went well. */
static struct outcome first_failure(const struct cb_shm_comm *comm) {
    struct outcome outcome = {0};
    for (size_t r = 0; r < comm->base.size && !outcome.error; r++)
        hear(comm, r, &outcome, sizeof outcome);
    return outcome;
}

/* Steps 2 and 3. */
static cobre_status reserve_together(struct cb_shm_comm *comm, const cb_call *call, struct cb_extent *extent) {
    struct outcome mine = reserve_slice(comm, call, extent);
    CB_TRY(tell(comm, call, extent, &mine, sizeof mine));
    struct outcome all = first_failure(comm);
    if (!all.error)
        return COBRE_OK;
    if (comm->base.rank == 0) {
        cb_end_interleave(extent->base, extent->bytes);
        give_back(extent);
    }
    if (extent->base)
        cb_shm_unmap(extent->base, extent->bytes);
    return refuse(comm, call, extent, &all);
}

static cobre_status create_extent(struct cb_shm_comm *comm, const cb_call *call, size_t bytes,
                                  struct cb_extent *extent) {
    size_t page = cb_page_size();
    *extent = (struct cb_extent){.bytes = page + cb_round_up(bytes ? bytes : 1, page)};
    cobre_status status = cb_shm_enter(comm, call);
    if (!status)
        status = find_place(comm, call, extent);
    if (!status)
        status = reserve_together(comm, call, extent);
    return status;
}

/* Without the job, which may be gone. */
void cb_shm_extent_free(struct cb_extent *extent) {
    if (!extent->base)
        return;
    struct cb_extent_header *header = extent->base;
    cb_end_interleave(extent->base, extent->bytes); /* before the place can be another's */
    if (atomic_fetch_sub_explicit(&header->attached, 1, memory_order_acq_rel) == 1)
        give_back(extent);
    cb_shm_unmap(extent->base, extent->bytes);
    extent->base = NULL;
}

cobre_status cb_shm_region_create(cobre_comm *base, const cb_call *call) {
    cobre_region *region = call->region;
    struct cb_extent extent;
    CB_TRY(create_extent((struct cb_shm_comm *)base, call, region->bytes, &extent));
    region->data = (char *)extent.base + cb_page_size();
    region->mapped = extent.bytes;
    return COBRE_OK;
}

void cb_shm_memory_free(void *data, size_t mapped) {
    cb_shm_extent_free(&(struct cb_extent){.base = (char *)data - cb_page_size(), .bytes = mapped});
}

cobre_status cb_shm_split_local(cobre_comm *base, const cb_call *call) {
    struct cb_shm_comm *comm = (struct cb_shm_comm *)base;
    struct cb_shm_comm *made = calloc(1, sizeof *made);
    struct cb_extent arena;
    cb_call here = *call;
    here.unable = !made;
    cobre_status status = create_extent(comm, &here, cb_shm_arena_bytes(base->size, comm->bulk_bytes), &arena);
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
    made->arena = arena;
    made->bulk_bytes = comm->bulk_bytes;
    atomic_fetch_add_explicit(&comm->job->users, 1, memory_order_relaxed);
    cb_shm_attach_arena(made, (char *)made->arena.base + cb_page_size());
    *call->made = &made->base;
    return COBRE_OK;
}
