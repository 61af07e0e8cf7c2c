/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads over 4 GiB and more than 2^31 elements, in little memory.
 *
 * A buffer is one small file mapped again and again, one mapping behind the other: 4 GiB of addresses, a few MiB of
 * pages. What is sent repeats with that period, so a receiver that writes each copy over the last one ends up with one
 * period of it, if every byte came to its place. The period divides no power of two, so a length or an offset cut to 32
 * bits puts other bytes there, or none. */
#include "conformance/checked.h"
#include "conformance/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PERIOD = 4097 * 4096 };
#define FOUR_GIB ((size_t)1 << 32)

static uint8_t *map_periodic(size_t bytes) {
    int fd = memfd_create("cobre-test-huge", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, PERIOD) == 0);
    size_t room = (bytes + PERIOD - 1) / PERIOD * PERIOD;
    uint8_t *data = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(data != MAP_FAILED);
    for (size_t at = 0; at < room; at += PERIOD)
        CHECK(mmap(data + at, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) !=
              MAP_FAILED);
    close(fd);
    return data;
}

static void unmap_periodic(void *data, size_t bytes) {
    munmap(data, (bytes + PERIOD - 1) / PERIOD * PERIOD);
}

/* With sanitizers always. Over TCP sockets instead of Unix ones, which the other tcp jobs use, only in `make soak`. */
static bool takes_too_long(void) {
    return KIT_SANITIZED || (getenv("COBRE_TEST_TCP_ONLY") && !getenv("COBRE_TEST_LONG"));
}

static void broadcast_over_4gib(kit *k) {
    if (takes_too_long())
        SKIP(k, "takes too long here");
    size_t bytes = FOUR_GIB + 12345;
    uint8_t *buf = map_periodic(bytes), *expected = kit_alloc(PERIOD);
    reference_fill(expected, COBRE_U8, 0, PERIOD, k->seed);
    if (k->rank == 0)
        memcpy(buf, expected, PERIOD);
    CHECK_OK(cobre_broadcast(k->comm, buf, bytes, COBRE_U8, 0));
    CHECK(memcmp(buf, expected, PERIOD) == 0);
    unmap_periodic(buf, bytes);
    free(expected);
}

/* One rank has nearly all of it; each part starts at a place of its own in the period. */
static void allgatherv_over_4gib(kit *k) {
    if (takes_too_long())
        SKIP(k, "takes too long here");
    layout l = {.extent = 0};
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = r + 1 == k->size ? FOUR_GIB + 777 : 1000003;
    layout_place(k, &l, 0, 0);
    size_t mine = l.counts[k->rank];
    uint8_t *recv = map_periodic(l.extent), *send = map_periodic(mine), *expected = kit_alloc(PERIOD);
    reference_fill(expected, COBRE_U8, 0, PERIOD, k->seed);
    size_t shift = l.displs[k->rank] % PERIOD; /* send[i] is expected[(displs + i) % PERIOD] */
    memcpy(send, expected + shift, PERIOD - shift);
    memcpy(send + PERIOD - shift, expected, shift);
    CHECK_OK(cobre_allgatherv(k->comm, send, mine, recv, l.extent, l.counts, l.displs, COBRE_U8));
    CHECK(memcmp(recv, expected, PERIOD) == 0);
    unmap_periodic(send, mine);
    unmap_periodic(recv, l.extent);
    free(expected);
}

/* Small parts at places that an int cannot hold, counted in elements or in bytes; of a part once in its place already. */
static void gather_apart(kit *k, cobre_type type, size_t gap, bool in_place) {
    enum { COUNT = 1000 };
    layout l = {.extent = 0};
    uint64_t send[COUNT], expected[COUNT];
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = COUNT;
    layout_place(k, &l, 3, gap);
    size_t size = reference_size(type), bytes = l.extent * size;
    uint8_t *recv = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(recv != MAP_FAILED);
    void *mine = in_place ? recv + l.displs[k->rank] * size : (void *)send;
    reference_fill(mine, type, 0, COUNT, reference_sequence(k->seed, k->rank));
    CHECK_OK(cobre_allgatherv(k->comm, mine, COUNT, recv, l.extent, l.counts, l.displs, type));
    for (size_t r = 0; r < k->size; r++) {
        reference_fill(expected, type, 0, COUNT, reference_sequence(k->seed, r));
        CHECK_BYTES(recv + l.displs[r] * size, expected, COUNT * size);
    }
    munmap(recv, bytes);
}

static void allgatherv_far_apart(kit *k) {
    for (int in_place = 0; in_place < 2; in_place++) {
        gather_apart(k, COBRE_U8, (size_t)1 << 31, in_place);
        gather_apart(k, COBRE_F64, (size_t)1 << 29, in_place);
    }
}

static void allreduce_over_2g_elements(kit *k) {
    if (takes_too_long())
        SKIP(k, "takes too long here");
    size_t count = ((size_t)1 << 31) + 54321;
    uint8_t *send = map_periodic(count), *recv = map_periodic(count);
    uint8_t *expected = kit_alloc(PERIOD), *work = kit_alloc(PERIOD);
    reference_fill(send, COBRE_U8, 0, PERIOD, reference_sequence(k->seed, k->rank));
    reference_reduce(expected, work, COBRE_U8, COBRE_SUM, 0, PERIOD, k->seed, k->size);
    CHECK_OK(cobre_allreduce(k->comm, send, count, recv, count, COBRE_U8, COBRE_SUM));
    CHECK(memcmp(recv, expected, PERIOD) == 0);
    unmap_periodic(send, count);
    unmap_periodic(recv, count);
    free(expected);
    free(work);
}

/* local has nothing to send: it copies. */
const kit_case huge_cases[] = {
    KIT_CASE_WITH(broadcast_over_4gib, .ranks = "2"),
    KIT_CASE_WITH(allgatherv_over_4gib, .ranks = "2"),
    KIT_CASE_WITH(allgatherv_far_apart, .ranks = "2,3"),
    KIT_CASE_WITH(allreduce_over_2g_elements, .ranks = "2"),
    KIT_END,
};
