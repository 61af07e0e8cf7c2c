/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/checked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0xa5 };

void layout_place(const kit *k, layout *l, size_t start, size_t gap) {
    l->extent = gap;
    for (size_t i = 0; i < k->size; i++) {
        size_t r = (start + i) % k->size;
        l->displs[r] = l->extent;
        l->extent += l->counts[r] + gap;
    }
}

void layout_reverse(const kit *k, layout *l) {
    for (size_t r = 0; r < k->size; r++)
        l->displs[r] = l->extent - l->displs[r] - l->counts[r];
}

/* All of recv as it must be after the call. */
static uint8_t *gathered_image(const kit *k, cobre_type type, const layout *l, uint64_t seed) {
    size_t size = reference_size(type);
    uint8_t *image = kit_alloc(l->extent * size);
    if (image)
        memset(image, UNTOUCHED, l->extent * size);
    for (size_t r = 0; r < k->size; r++)
        if (l->counts[r])
            reference_fill(image + l->displs[r] * size, type, 0, l->counts[r], reference_sequence(seed, r));
    return image;
}

static void gather_into_buffer(kit *k, bool in_place, cobre_type type, const layout *l, uint64_t seed,
                               const uint8_t *image) {
    size_t size = reference_size(type), count = l->counts[k->rank];
    uint64_t sequence = reference_sequence(seed, k->rank);
    uint8_t *recv = kit_alloc(l->extent * size), *apart = NULL, *send;
    if (recv)
        memset(recv, UNTOUCHED, l->extent * size);
    if (in_place)
        send = recv ? recv + l->displs[k->rank] * size : NULL;
    else
        send = apart = kit_alloc(count * size);
    if (count)
        reference_fill(send, type, 0, count, sequence);
    CHECK_OK(cobre_allgatherv(k->comm, send, count, recv, l->extent, l->counts, l->displs, type));
    CHECK_BYTES(recv, image, l->extent * size);
    if (count && !in_place)
        CHECK_BYTES(send, image + l->displs[k->rank] * size, count * size);
    free(apart);
    free(recv);
}

static void gather_into_region(kit *k, bool in_place, cobre_type type, const layout *l, uint64_t seed,
                               const uint8_t *image) {
    size_t size = reference_size(type), count = l->counts[k->rank];
    cobre_region *region = NULL;
    CHECK_OK(cobre_region_create(k->comm, l->extent, type, 0, &region));
    if (cobre_region_data_mut(region))
        memset(cobre_region_data_mut(region), UNTOUCHED, l->extent * size);
    CHECK_OK(cobre_region_fence(region));
    void *apart = in_place ? NULL : kit_alloc(count * size);
    void *send = in_place ? cobre_region_claim(region, l->displs[k->rank], count) : apart;
    if (count)
        reference_fill(send, type, 0, count, reference_sequence(seed, k->rank));
    CHECK_OK(cobre_allgatherv_region(k->comm, send, count, region, l->counts, l->displs));
    CHECK_BYTES(cobre_region_data(region), image, l->extent * size);
    CHECK_OK(cobre_region_free(&region));
    free(apart);
}

void checked_allgatherv(kit *k, gather_target target, cobre_type type, const layout *l, uint64_t seed) {
    bool in_place = target == IN_PLACE || target == IN_PLACE_IN_REGION;
    bool region = target == INTO_REGION || target == IN_PLACE_IN_REGION;
    kit_note(k, "allgatherv%s%s: type %s, own count %zu, recv count %zu, data seed %llu",
             region ? " into a region" : "", in_place ? " in place" : "", cobre_type_name(type), l->counts[k->rank],
             l->extent, (unsigned long long)seed);
    uint8_t *image = gathered_image(k, type, l, seed);
    (region ? gather_into_region : gather_into_buffer)(k, in_place, type, l, seed, image);
    free(image);
}

/* Compares block by block: the reference needs no memory of the payload's size. */
static void check_reduced(size_t ranks, const void *result, cobre_type type, cobre_op op, size_t count, uint64_t seed) {
    enum { BLOCK = 1024 };
    uint64_t acc[BLOCK], work[BLOCK];
    size_t size = reference_size(type), per_block = sizeof acc / size;
    for (size_t first = 0; first < count; first += per_block) {
        size_t n = count - first < per_block ? count - first : per_block;
        reference_reduce(acc, work, type, op, first, n, seed, ranks);
        CHECK_BYTES((const uint8_t *)result + first * size, acc, n * size);
    }
}

void checked_allreduce(kit *k, bool in_place, cobre_type type, cobre_op op, size_t count, uint64_t seed) {
    kit_note(k, "allreduce%s: type %s, op %d, count %zu, data seed %llu", in_place ? " in place" : "",
             cobre_type_name(type), (int)op, count, (unsigned long long)seed);
    size_t bytes = count * reference_size(type);
    uint64_t sequence = reference_sequence(seed, k->rank);
    void *send = kit_alloc(bytes), *recv = in_place ? send : kit_alloc(bytes);
    reference_fill(send, type, 0, count, sequence);
    if (!in_place)
        memset(recv, UNTOUCHED, bytes);
    CHECK_OK(cobre_allreduce(k->comm, send, count, recv, count, type, op));
    check_reduced(k->size, recv, type, op, count, seed);
    if (!in_place) {
        reference_fill(recv, type, 0, count, sequence);
        CHECK_BYTES(send, recv, bytes);
        free(recv);
    }
    free(send);
}

void checked_broadcast(kit *k, cobre_type type, size_t count, size_t root, uint64_t seed) {
    kit_note(k, "broadcast: type %s, count %zu, root %zu, data seed %llu", cobre_type_name(type), count, root,
             (unsigned long long)seed);
    size_t bytes = count * reference_size(type);
    uint64_t sequence = reference_sequence(seed, root);
    void *buf = kit_alloc(bytes), *expected = kit_alloc(bytes);
    if (count) {
        reference_fill(expected, type, 0, count, sequence);
        memset(buf, UNTOUCHED, bytes);
        if (k->rank == root)
            memcpy(buf, expected, bytes);
    }
    CHECK_OK(cobre_broadcast(k->comm, buf, count, type, root));
    CHECK_BYTES(buf, expected, bytes);
    free(expected);
    free(buf);
}

/* Large values that cancel over the ranks, and small ones that only an exact sum keeps. */
void checked_exact_sum(kit *k, uint64_t seed) {
    kit_note(k, "exact sum, data seed %llu", (unsigned long long)seed);
    enum { PAIRS = 20 };
    cobre_exact sum;
    cobre_exact_init(&sum);
    for (size_t i = 0; i < PAIRS; i++) {
        uint64_t state = seed + i;
        double large = ldexp((double)(kit_random(&state) >> 12), (int)kit_below(&state, 800) - 400);
        if (i % k->size == k->rank)
            cobre_exact_add(&sum, large);
        if ((i + 1) % k->size == k->rank)
            cobre_exact_add(&sum, -large);
    }
    double small[2] = {ldexp((double)(k->rank + 1), -600), ldexp(1, -610)};
    cobre_exact_add_n(&sum, small, 2);
    CHECK_OK(cobre_exact_allreduce(k->comm, &sum));
    double n = (double)k->size;
    double expected = ldexp(n * (n + 1) / 2, -600) + ldexp(n, -610);
    double actual = cobre_exact_round(&sum);
    CHECK_BYTES(&actual, &expected, sizeof expected);
}

void checked_still_works(kit *k) {
    layout l = {.extent = 0};
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = r + 1;
    layout_place(k, &l, 0, 0);
    CHECK_OK(cobre_barrier(k->comm));
    checked_allgatherv(k, INTO_BUFFER, COBRE_I32, &l, k->seed + 90);
    checked_allreduce(k, false, COBRE_F64, COBRE_SUM, 100, k->seed + 91);
    checked_broadcast(k, COBRE_U64, 100, k->size - 1, k->seed + 92);
}

/* Between barriers, because all ranks must have freed theirs, and because threads share the counts. */
static kit_usage usage_of_all(kit *k) {
    CHECK_OK(cobre_barrier(k->comm));
    kit_usage usage = kit_count_usage();
    CHECK_OK(cobre_barrier(k->comm));
    return usage;
}

void checked_no_leak(kit *k, size_t cycles, void (*cycle)(kit *k, size_t number)) {
    for (size_t i = 0; i < cycles / 10; i++)
        cycle(k, i);
    kit_usage before = usage_of_all(k);
    for (size_t i = 0; i < cycles; i++)
        cycle(k, i);
    kit_usage after = usage_of_all(k);
    kit_note(k, "%zu cycles: descriptors %zu -> %zu, mappings %zu -> %zu, blocks %zu -> %zu", cycles,
             before.descriptors, after.descriptors, before.mappings, after.mappings, before.shm_blocks,
             after.shm_blocks);
    size_t lists = k->threads ? k->size : 0; /* of descriptors, that other threads have open to count them */
    CHECK(after.descriptors <= before.descriptors + lists);
    CHECK(after.mappings < before.mappings + cycles / 4); /* the allocator's own come and go */
    CHECK(after.shm_blocks <= before.shm_blocks);
}

/* Mostly tiny, sometimes of any size up to the limit: as the logarithm, the way sizes are in programs. */
static size_t random_bytes(uint64_t *state, size_t max_bytes) {
    double log_max = log2((double)max_bytes);
    double u = (double)(kit_random(state) >> 11) * 0x1p-53;
    return (size_t)exp2(log_max * u * u);
}

void checked_random(kit *k, uint64_t *state, size_t max_bytes) {
    cobre_type type = reference_types[kit_below(state, REFERENCE_TYPES)];
    size_t count = random_bytes(state, max_bytes) / reference_size(type), kind = kit_below(state, 16);
    uint64_t seed = kit_random(state);
    layout l = {.extent = 0};
    for (size_t r = 0; r < k->size; r++)
        l.counts[r] = kit_below(state, 5) == 0 ? 0 : kit_below(state, 2 * count / k->size + 2);
    bool in_place = kit_below(state, 2);
    size_t root = kit_below(state, k->size);
    switch (kind) {
    case 0:
    case 1:
    case 2:
        kit_note(k, "barrier");
        CHECK_OK(cobre_barrier(k->comm));
        break;
    case 3:
    case 4:
    case 5:
    case 6: checked_broadcast(k, type, count, root, seed); break;
    case 7:
    case 8:
    case 9:
    case 10: checked_allreduce(k, in_place, type, (cobre_op)(COBRE_SUM + kit_below(state, 3)), count + 1, seed); break;
    case 11: checked_exact_sum(k, seed); break;
    case 12:
        layout_place(k, &l, 0, kit_below(state, 3));
        checked_allgatherv(k, in_place ? IN_PLACE_IN_REGION : INTO_REGION, type, &l, seed);
        break;
    default:
        layout_place(k, &l, root + k->rank, kit_below(state, 3));
        checked_allgatherv(k, in_place ? IN_PLACE : INTO_BUFFER, type, &l, seed);
    }
}
