/* SPDX-License-Identifier: Apache-2.0 */
/* region.c: memory that the ranks of a node share: checks, the claims of ranks to parts of it, and calls of the backend. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "comm/dispatch.h"
#include "comm/select.h"

static cobre_status check_region(const cobre_region *region, const char *operation) {
    if (!region || region->magic != CB_REGION_MAGIC)
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_ARGUMENT,
                        &(struct cb_details){.operation = operation,
                                             .subject = "region",
                                             .suggestion = "use a region between its create and its free"},
                        "%s: this is not an open region", operation);
    return cb_check_handle(region->comm, operation);
}

static cobre_status check_create(const cobre_comm *comm, size_t count, cobre_type type, unsigned flags,
                                 cobre_region *const *region) {
    size_t size = cb_type_size(type);
    if (!region)
        return CB_INVALID(comm, "region_create", "region", "pass &region",
                          "region_create: the place for the result is NULL");
    if (!size)
        return CB_INVALID(comm, "region_create", "type", "use one of COBRE_U8 ... COBRE_F64",
                          "region_create: %d is not an element type", (int)type);
    if (flags & ~(unsigned)COBRE_REGION_INTERLEAVE)
        return CB_INVALID(comm, "region_create", "flags", "use 0 or COBRE_REGION_INTERLEAVE",
                          "region_create: flags %#x are not known", flags);
    if (count > PTRDIFF_MAX / size)
        return cb_error(comm, cb_backend_of(comm), COBRE_INVALID_BUFFER_SIZE,
                        &(struct cb_details){.operation = "region_create",
                                             .expected = PTRDIFF_MAX / size,
                                             .actual = count,
                                             .suggestion = "make the region smaller"},
                        "region_create: %zu elements are more than memory can hold", count);
    return COBRE_OK;
}

cobre_status cobre_region_create(cobre_comm *comm, size_t count, cobre_type type, unsigned flags,
                                 cobre_region **region) {
    if (region)
        *region = NULL;
    cobre_status status = cb_check_handle(comm, "region_create");
    if (!status)
        status = check_create(comm, count, type, flags, region);
    if (status)
        return status;
    CB_ENTER(comm, "region_create");
    cobre_region none = {0}, *handle = calloc(1, sizeof *handle), *made = handle ? handle : &none;
    *made = (cobre_region){
        .magic = CB_REGION_MAGIC,
        .comm = comm,
        .type = type,
        .count = count,
        .bytes = count * cb_type_size(type),
        .number = atomic_load_explicit(&comm->regions_made, memory_order_relaxed) + 1,
    };
    cb_call call = {
        .print = {.operation = CB_REGION_CREATE, .type = (uint8_t)type, .flags = (uint8_t)flags, .count = count},
        .type = type,
        .count = count,
        .region = made,
        .unable = !handle,
    };
    status = cb_region_create(comm, &call);
    if (status) {
        free(handle);
        return status;
    }
    atomic_fetch_add_explicit(&comm->regions, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&comm->regions_made, 1, memory_order_relaxed);
    *region = handle; /* not NULL, as no rank gets a region where one is unable */
    return COBRE_OK;
}

const void *cobre_region_data(const cobre_region *region) {
    return region ? region->data : NULL;
}

size_t cobre_region_count(const cobre_region *region) {
    return region ? region->count : 0;
}

void *cobre_region_data_mut(cobre_region *region) {
    return region && !region->sealed && cobre_is_leader(region->comm) ? region->data : NULL;
}

void *cobre_region_claim(cobre_region *region, size_t first, size_t count) {
    if (check_region(region, "region_claim"))
        return NULL;
    if (region->sealed) {
        CB_INVALID(region->comm, "region_claim", "region", "write before the seal, or do not seal",
                   "region_claim: the region is sealed");
        return NULL;
    }
    if (count > region->count || first > region->count - count) {
        CB_INVALID(region->comm, "region_claim", "first", "claim within the region's count",
                   "region_claim: [%zu, %zu + %zu) is outside the region, which has %zu elements", first, first, count,
                   region->count);
        return NULL;
    }
    return (char *)region->data + first * cb_type_size(region->type);
}

/* A call that the ranks make on a region together. */
static cb_call region_call(cobre_region *region, cb_operation operation) {
    return (cb_call){.print = {.operation = (uint8_t)operation, .detail = region->number}, .region = region};
}

cobre_status cobre_region_fence(cobre_region *region) {
    CB_TRY(check_region(region, "region_fence"));
    CB_ENTER(region->comm, "region_fence");
    cb_call call = region_call(region, CB_REGION_FENCE);
    return cb_region_fence(region->comm, &call);
}

/* Only the pages of the data: what a backend keeps beside them stays writable. A region whose pages cannot be protected
 * is sealed all the same, so that every rank refuses the same calls. */
cobre_status cobre_region_seal(cobre_region *region) {
    CB_TRY(check_region(region, "region_seal"));
    CB_ENTER(region->comm, "region_seal");
    cb_call call = region_call(region, CB_REGION_SEAL);
    CB_TRY(cb_region_fence(region->comm, &call));
    region->sealed = true;
    size_t bytes = cb_round_up(region->bytes ? region->bytes : 1, cb_page_size());
    if (mprotect(region->data, bytes, PROT_READ) == 0)
        return COBRE_OK;
    int error = errno;
    return cb_error(region->comm, cb_backend_of(region->comm), COBRE_ALLOCATION_FAILED,
                    &(struct cb_details){.operation = "region_seal",
                                         .expected = bytes,
                                         .os_error = error,
                                         .suggestion = "allow more mappings per process (sysctl vm.max_map_count)"},
                    "region_seal: the system cannot make the region read-only: %s", strerror(error));
}

cobre_status cobre_region_detach(cobre_region *region, cobre_memory **memory) {
    if (memory)
        *memory = NULL;
    CB_TRY(check_region(region, "region_detach"));
    if (!memory)
        return CB_INVALID(region->comm, "region_detach", "memory", "pass &memory",
                          "region_detach: the place for the result is NULL");
    if (region->memory)
        return CB_INVALID(region->comm, "region_detach", "region", "detach a region once",
                          "region_detach: the memory of this region was detached before");
    region->memory = malloc(sizeof *region->memory);
    if (!region->memory)
        return cb_error(region->comm, cb_backend_of(region->comm), COBRE_ALLOCATION_FAILED,
                        &(struct cb_details){.operation = "region_detach",
                                             .expected = sizeof *region->memory,
                                             .suggestion = "free memory"},
                        "region_detach: no memory for a handle");
    *region->memory = (cobre_memory){.fork_generation = cb_fork_generation,
                                     .free = cb_backend_at(region->comm->backend)->memory_free,
                                     .data = region->data,
                                     .mapped = region->mapped};
    atomic_init(&region->memory->owners, 2);
    *memory = region->memory;
    return COBRE_OK;
}

/* The last owner frees it. In the child of a fork it is the parent's, and stays. */
static void release_memory(cobre_memory *memory) {
    if (atomic_fetch_sub_explicit(&memory->owners, 1, memory_order_acq_rel) != 1)
        return;
    if (memory->free && memory->fork_generation == cb_fork_generation)
        memory->free(memory->data, memory->mapped);
    free(memory);
}

void cobre_memory_free(cobre_memory **memory) {
    if (!memory || !*memory)
        return;
    release_memory(*memory);
    *memory = NULL;
}

static void free_region(cobre_region *region) {
    const cb_backend *backend = cb_backend_at(region->comm->backend);
    if (backend->region_free)
        backend->region_free(region);
    if (region->memory)
        release_memory(region->memory);
    else if (backend->memory_free)
        backend->memory_free(region->data, region->mapped);
}

cobre_status cobre_region_free(cobre_region **region) {
    if (!region || !*region)
        return COBRE_OK;
    CB_TRY(check_region(*region, "region_free"));
    CB_ENTER((*region)->comm, "region_free");
    atomic_fetch_sub_explicit(&(*region)->comm->regions, 1, memory_order_relaxed);
    (*region)->magic = 0;
    free_region(*region);
    free(*region);
    *region = NULL;
    return COBRE_OK;
}

cobre_status cobre_allgatherv_region(cobre_comm *comm, const void *send, size_t send_count, cobre_region *region,
                                     const size_t *counts, const size_t *displs) {
    cobre_status status = cb_check_handle(comm, "allgatherv_region");
    if (!status)
        status = check_region(region, "allgatherv_region");
    if (status)
        return status;
    CB_ENTER(comm, "allgatherv_region");
    if (region->comm != comm)
        return CB_INVALID(comm, "allgatherv_region", "region", "create the region on the communicator of the call",
                          "allgatherv_region: the region belongs to another communicator");
    if (region->sealed)
        return CB_INVALID(comm, "allgatherv_region", "region", "gather before the seal, or do not seal",
                          "allgatherv_region: the region is sealed");
    cb_call call = {.type = region->type,
                    .count = send_count,
                    .send = send,
                    .recv = region->data,
                    .counts = counts,
                    .displs = displs,
                    .region = region};
    size_t total;
    CB_TRY(cb_check_gather(comm, "allgatherv_region", &call, region->count, &total));
    call.print = (cb_fingerprint){.operation = CB_ALLGATHERV_REGION, .type = (uint8_t)region->type, .count = total};
    if (cb_size_of(comm) > 1)
        call.print.detail = cb_hash_counts(cb_hash_counts(region->number, counts, comm->size), displs, comm->size);
    return cb_allgatherv_region(comm, &call);
}
