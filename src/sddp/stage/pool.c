/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: adding cuts to the pool. */
#include "sddp/stage/pool.h"

#include <stdlib.h>
#include <string.h>

#include "sddp/grow.h"

#define CHUNK_BYTES ((size_t)1 << 20) /* a region is about this large, and holds at least 64 cuts */

cobre_status cb_pool_init(cb_pool *pool, cobre_comm *comm, size_t states, size_t functions) {
    *pool = (cb_pool){.comm = comm, .states = states, .stride = CB_CUT_SLOPES + states, .chunk_bits = 6};
    while ((pool->stride * sizeof(double)) << (pool->chunk_bits + 1) <= CHUNK_BYTES)
        pool->chunk_bits++;
    size_t ranks = cobre_size(comm);
    pool->list = calloc(functions + 1, sizeof *pool->list);
    pool->functions = functions;
    pool->part = malloc(2 * ranks * sizeof *pool->part);
    pool->place = pool->part ? pool->part + ranks : NULL;
    return pool->list && pool->part ? COBRE_OK : cb_no_memory("lists of cuts", functions * sizeof *pool->list);
}

void cb_pool_free(cb_pool *pool) {
    for (size_t c = 0; c < pool->chunks; c++)
        cobre_region_free(&pool->chunk[c].region);
    for (size_t f = 0; pool->list && f < pool->functions; f++)
        free(pool->list[f].id);
    free(pool->chunk);
    free(pool->list);
    free(pool->part);
    *pool = (cb_pool){0};
}

void cb_pool_cut_off(cb_pool *pool, uint64_t cuts) {
    while (pool->chunks > 0 && (uint64_t)(pool->chunks - 1) << pool->chunk_bits >= cuts)
        cobre_region_free(&pool->chunk[--pool->chunks].region);
    for (size_t f = 0; f < pool->functions; f++)
        while (pool->list[f].count > 0 && pool->list[f].id[pool->list[f].count - 1] >= cuts)
            pool->list[f].count--;
    pool->cuts = cuts < pool->cuts ? cuts : pool->cuts;
}

static cobre_status add_chunk(cb_pool *pool) {
    size_t values = pool->stride << pool->chunk_bits;
    bool room = cb_grow(&pool->chunk, sizeof *pool->chunk, pool->chunks, &pool->chunks_room);
    CB_TRY(cb_agree(pool->comm, room ? COBRE_OK : cb_no_memory("the list of chunks", pool->chunks)));
    struct cb_chunk *chunk = &pool->chunk[pool->chunks];
    CB_TRY(cobre_region_create(pool->comm, values, COBRE_F64, COBRE_REGION_INTERLEAVE, &chunk->region));
    chunk->data = cobre_region_data(chunk->region);
    pool->chunks++;
    return COBRE_OK;
}

/* Part of [first, first + count) that lies within [low, high). */
static size_t overlap(size_t first, size_t count, size_t low, size_t high) {
    size_t from = first > low ? first : low, to = first + count < high ? first + count : high;
    return to > from ? to - from : 0;
}

/* Gathers records [low, high) of all that the ranks have into the last chunk, where record `low` goes to `offset`. */
static cobre_status gather(cb_pool *pool, const double *records, const size_t *counts, size_t low, size_t high,
                           size_t offset) {
    size_t ranks = cobre_size(pool->comm), rank = cobre_rank(pool->comm), first = 0, skip = 0, at = offset;
    size_t *part = pool->part, *place = pool->place;
    for (size_t r = 0; r < ranks; first += counts[r++]) {
        part[r] = overlap(first, counts[r], low, high) * pool->stride;
        place[r] = at * pool->stride;
        at += part[r] / pool->stride;
        if (r == rank)
            skip = low > first ? (low - first) * pool->stride : 0;
    }
    return cobre_allgatherv_region(pool->comm, part[rank] ? records + skip : records, part[rank],
                                   pool->chunk[pool->chunks - 1].region, part, place);
}

/* Trajectories that meet make the same cut again, most of them once a policy is good. One is enough to look through. */
static bool is_listed(const cb_pool *pool, const cb_cut_list *list, const double *record) {
    for (size_t i = list->count; i-- > 0;) {
        const double *old = cb_pool_cut(pool, list->id[i]);
        if (old[CB_CUT_INTERCEPT] == record[CB_CUT_INTERCEPT] &&
            memcmp(old + CB_CUT_SLOPES, record + CB_CUT_SLOPES, pool->states * sizeof *old) == 0)
            return true;
    }
    return false;
}

/* Lists the new cuts. */
static cobre_status list_new(cb_pool *pool, uint64_t first) {
    for (; first < pool->cuts; first++) {
        const double *record = cb_pool_cut(pool, first);
        cb_cut_list *list = &pool->list[(size_t)record[CB_CUT_FUNCTION]];
        if (is_listed(pool, list, record))
            continue;
        if (!cb_grow(&list->id, sizeof *list->id, list->count, &list->room))
            return cb_no_memory("lists of cuts", list->count * sizeof *list->id);
        list->id[list->count++] = (uint32_t)first;
    }
    return COBRE_OK;
}

cobre_status cb_pool_add(cb_pool *pool, const double *records, const size_t *counts) {
    size_t total = 0, chunk = (size_t)1 << pool->chunk_bits;
    uint64_t first = pool->cuts;
    for (size_t r = 0; r < cobre_size(pool->comm); r++)
        total += counts[r];
    if (pool->cuts + total > UINT32_MAX)
        return cb_fail(COBRE_ALLOCATION_FAILED, "use fewer forward passes", "more than 2^32 cuts");
    for (size_t low = 0, high; low < total; low = high) {
        size_t offset = (size_t)(pool->cuts & (chunk - 1));
        if (pool->cuts >> pool->chunk_bits == pool->chunks)
            CB_TRY(add_chunk(pool));
        high = total - low > chunk - offset ? low + chunk - offset : total;
        CB_TRY(gather(pool, records, counts, low, high, offset));
        pool->cuts += high - low;
    }
    return list_new(pool, first);
}
