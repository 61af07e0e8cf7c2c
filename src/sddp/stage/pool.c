/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: adds cuts to the pool. */
#include "sddp/stage/pool.h"

#include <stdlib.h>
#include <string.h>

#include "sddp/grow.h"
#include "sddp/hash.h"

#define CHUNK_BYTES ((size_t)1 << 20) /* a region is about this large, and holds at least 64 cuts */

cobre_status cb_pool_init(cb_pool *pool, cobre_comm *comm, size_t states, size_t functions, size_t more) {
    *pool = (cb_pool){
        .comm = comm, .states = states, .stride = CB_CUT_SLOPES + states + more, .more = more, .chunk_bits = 6};
    while ((pool->stride * sizeof(double)) << (pool->chunk_bits + 1) <= CHUNK_BYTES)
        pool->chunk_bits++;
    size_t ranks = cobre_size(comm);
    pool->list = calloc(functions + 1, sizeof *pool->list);
    pool->functions = functions;
    pool->part = malloc(2 * ranks * sizeof *pool->part);
    pool->place = pool->part ? pool->part + ranks : NULL;
    pool->width = cb_sketch_width(states);
    pool->rounded = malloc((pool->width + 1) * sizeof *pool->rounded);
    return pool->list && pool->part && pool->rounded ? COBRE_OK
                                                     : cb_no_memory("lists of cuts", functions * sizeof *pool->list);
}

void cb_pool_free(cb_pool *pool) {
    for (size_t c = 0; c < pool->chunks; c++)
        cobre_region_free(&pool->chunk[c].region);
    for (size_t f = 0; pool->list && f < pool->functions; f++) {
        free(pool->list[f].cut);
        free(pool->list[f].sketch);
        free(pool->list[f].slope);
    }
    free(pool->chunk);
    free(pool->list);
    free(pool->part);
    free(pool->rounded);
    free(pool->used);
    *pool = (cb_pool){0};
}

void cb_pool_cut_off(cb_pool *pool, uint64_t cuts) {
    while (pool->chunks > 0 && (uint64_t)(pool->chunks - 1) << pool->chunk_bits >= cuts)
        cobre_region_free(&pool->chunk[--pool->chunks].region);
    for (size_t f = 0; f < pool->functions; f++)
        while (pool->list[f].count > 0 && pool->list[f].cut[pool->list[f].count - 1].id >= cuts)
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

/* Of what makes cuts equal. 0 and -0 are. */
static uint32_t hash_of(const double *record, size_t states) {
    uint64_t hash = CB_HASH_START;
    cb_hash_double(&hash, record[CB_CUT_INTERCEPT] + 0.0);
    cb_hash_words(&hash, record + CB_CUT_SLOPES, states);
    return (uint32_t)(hash ^ hash >> 32);
}

/* Trajectories that meet make the same cut again, most of them once a policy is good. One is enough to look through. */
static bool is_listed(const cb_pool *pool, const cb_cut_list *list, const double *record, uint32_t hash) {
    for (size_t i = list->count; i-- > 0;) {
        if (list->cut[i].hash != hash)
            continue;
        const double *old = cb_pool_cut(pool, list->cut[i].id);
        if (old[CB_CUT_INTERCEPT] == record[CB_CUT_INTERCEPT] &&
            memcmp(old + CB_CUT_SLOPES, record + CB_CUT_SLOPES, pool->states * sizeof *old) == 0)
            return true;
    }
    return false;
}

static bool has_room(const cb_pool *pool, cb_cut_list *list) {
    size_t count = list->count, bytes = pool->width * sizeof *list->slope;
    return cb_grow(&list->cut, sizeof *list->cut, count, &list->cut_room) &&
           (bytes == 0 || (cb_grow(&list->sketch, sizeof *list->sketch, count, &list->sketch_room) &&
                           cb_grow(&list->slope, bytes, count, &list->slope_room)));
}

/* Lists a cut, unless an equal one is listed. */
static cobre_status list_cut(cb_pool *pool, uint32_t id) {
    const double *record = cb_pool_cut(pool, id);
    cb_cut_list *list = &pool->list[(size_t)record[CB_CUT_FUNCTION]];
    uint32_t hash = hash_of(record, pool->states);
    if (is_listed(pool, list, record, hash))
        return COBRE_OK;
    if (!has_room(pool, list))
        return cb_no_memory("lists of cuts", list->count * (sizeof *list->cut + 2 * pool->width));
    list->cut[list->count] = (cb_listed){.id = id, .hash = hash};
    if (pool->width > 0)
        list->sketch[list->count] =
            cb_sketch_of(record, pool->states, pool->width, list->slope + list->count * pool->width);
    list->count++;
    return COBRE_OK;
}

static cobre_status list_new(cb_pool *pool, uint64_t first) {
    for (; first < pool->cuts; first++) {
        CB_TRY(list_cut(pool, (uint32_t)first));
        if (!pool->notes_use)
            continue;
        if (!cb_grow(&pool->used, sizeof *pool->used, first, &pool->used_room))
            return cb_no_memory("lists of cuts", first * sizeof *pool->used);
        pool->used[first] = (uint32_t)cb_pool_cut(pool, first)[CB_CUT_SLOPES + pool->states];
    }
    return COBRE_OK;
}

cobre_status cb_pool_relist(cb_pool *pool, const bool *stays) {
    for (size_t f = 0; f < pool->functions; f++)
        pool->list[f].count = 0;
    for (uint64_t id = 0; id < pool->cuts; id++)
        if (!stays || stays[id])
            CB_TRY(list_cut(pool, (uint32_t)id));
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
