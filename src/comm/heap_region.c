/* SPDX-License-Identifier: Apache-2.0 */
/* heap_region.c: regions of backends without shared memory: each rank has a block of its own.
 *
 * The kernel promises anonymous pages freely, and kills a process later if they are missing. So we check the free memory
 * first, and then touch the pages while an error can still be returned. */
#include <errno.h>
#include <sys/mman.h>

#include "comm/backend.h"

enum { STEP = 64 << 20 }; /* look again after so many bytes: others take memory, too */

static void touch(char *data, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(data, bytes, MADV_POPULATE_WRITE) == 0)
        return;
#endif
    for (size_t at = 0; at < bytes; at += cb_page_size())
        *(volatile char *)(data + at) = 0;
}

cobre_status cb_heap_refuse(const cobre_comm *comm, const cb_call *call, uint64_t asked, uint64_t there, int os_error) {
    return cb_no_room(comm, comm->backend,
                      &(struct cb_shortage){.operation = cb_operation_name(call->print.operation),
                                            .asked = asked,
                                            .there = there,
                                            .os_error = os_error});
}

cobre_status cb_heap_region_create(cobre_comm *comm, const cb_call *call) {
    cobre_region *region = call->region;
    size_t page = cb_page_size();
    uint64_t there = cb_memory_free(-1);
    if (region->bytes > there || call->unable)
        return cb_heap_refuse(comm, call, region->bytes, there, ENOMEM);
    region->mapped = cb_round_up(region->bytes ? region->bytes : 1, page);
    char *data = mmap(NULL, region->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return cb_heap_refuse(comm, call, region->bytes, there, errno);
    for (size_t done = 0; done < region->mapped; done += STEP) {
        size_t left = region->mapped - done;
        there = cb_memory_free(-1);
        if (left > there) {
            munmap(data, region->mapped);
            return cb_heap_refuse(comm, call, region->bytes, done + there, ENOMEM);
        }
        touch(data + done, left < STEP ? left : STEP);
    }
    region->data = data;
    return COBRE_OK;
}

void cb_heap_memory_free(void *data, size_t mapped) {
    munmap(data, mapped);
}
