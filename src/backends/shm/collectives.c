/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: the operations, as rounds of the slot protocol (shm.h).
 *
 * Let B be the bytes of a rank's part, C those of a bulk area, R the ranks. Costs are per rank.
 *
 *   barrier             1 round, no payload.
 *   broadcast           max(1, B/S) rounds, S about 256 KiB or C if that is less; the root copies chunk k + 1 in while the
 *                       others copy chunk k out.
 *   allgatherv          max(1, B/G) rounds, B of the largest part, G about 512 KiB or C if that is less; copies its part
 *                       in, and R parts to recv.
 *   allreduce, small    1 round: everyone folds all R operands in rank order. R*B read.
 *   allreduce, large    by blocks of up to R slices, one round per block and one more: rank l folds slice l of all R operands, in
 *                       rank order, and everyone reads the slices. B copied in, B read to fold, B copied out.
 *   allgatherv_region   2 rounds: nobody writes before all have entered, nobody returns before all have written. Each
 *                       rank copies its own part, once.
 *
 * All ways to reduce give the same bits: each element is folded as x0 op x1 op ..., on whichever rank. */
#include <string.h>

#include "backends/shm/shm.h"

/* FOLD_ALL, GATHERED and SENT decide how many rounds a call takes, so that all ranks of a job must have the same: whoever
 * changes one raises CB_SHM_LAYOUT. */
enum {
    FOLD_ALL = 32 << 10,  /* while the operands of all ranks together are no larger, everyone folds everything */
    FOLD_BLOCK = 8 << 10, /* the part of a fold that should stay in the first-level cache */
    GATHERED = 512 << 10, /* of a part, in a round: still in a cache when others take what one core has put */
    SENT = 256 << 10,     /* of a broadcast, in a round: the less it is, the sooner the others begin */
};

static struct cb_shm_comm *shm(cobre_comm *comm) {
    return (struct cb_shm_comm *)comm;
}

static size_t chunks_of(size_t bytes, size_t chunk) {
    return bytes / chunk + (bytes % chunk != 0);
}

static void copy(void *to, const void *from, size_t bytes) {
    if (bytes && to != from)
        memcpy(to, from, bytes);
}

/* A byte of a buffer; an empty one may be NULL, which no offset may be added to. */
static unsigned char *byte_of(const void *buffer, size_t at) {
    return buffer ? (unsigned char *)(uintptr_t)buffer + at : NULL;
}

/* One round without a payload of its own: what was written into the next slot before is published with it. */
static cobre_status round_trip(struct cb_shm_comm *comm, const cb_call *call) {
    cb_shm_publish(comm, call);
    return cb_shm_await_all(comm, call);
}

static cobre_status meet(struct cb_shm_comm *comm, const cb_call *call) {
    cobre_status status = cb_shm_enter(comm, call);
    return status ? status : round_trip(comm, call);
}

cobre_status cb_shm_barrier(cobre_comm *comm, const cb_call *call) {
    return meet(shm(comm), call);
}

cobre_status cb_shm_region_fence(cobre_comm *comm, const cb_call *call) {
    return meet(shm(comm), call);
}

/* How a payload is cut: rounds, and the most that a rank puts in one of them. */
struct pieces {
    size_t rounds, chunk;
};

static struct pieces cut_evenly(const struct cb_shm_comm *comm, size_t bytes, size_t about) {
    size_t rounds = (bytes + about / 2) / about, needed = chunks_of(bytes, comm->bulk_bytes);
    rounds = rounds > needed ? rounds : needed;
    rounds = rounds ? rounds : 1;
    return (struct pieces){.rounds = rounds, .chunk = cb_round_up(chunks_of(bytes, rounds), CB_LINE)};
}

/* Of chunk k. Chunks are whole lines, so that of very many the last ones may be empty. */
static size_t chunk_bytes(const struct pieces *cut, size_t bytes, size_t k) {
    size_t from = k * cut->chunk;
    return from < bytes ? cb_least(bytes - from, cut->chunk) : 0;
}

cobre_status cb_shm_broadcast(cobre_comm *base, const cb_call *call) {
    struct cb_shm_comm *comm = shm(base);
    size_t bytes = call->count * cb_type_size(call->type);
    struct pieces cut = cut_evenly(comm, bytes, SENT);
    CB_TRY(cb_shm_enter(comm, call));
    for (size_t k = 0; k < cut.rounds; k++) {
        size_t now = chunk_bytes(&cut, bytes, k);
        unsigned char *at = byte_of(call->recv, cb_least(k * cut.chunk, bytes));
        if (base->rank == call->root)
            cb_shm_put(comm, cb_shm_payload(comm, base->rank, comm->round + 1, now), at, now);
        CB_TRY(round_trip(comm, call));
        if (base->rank != call->root)
            copy(at, cb_shm_payload(comm, call->root, comm->round, now), now);
    }
    return COBRE_OK;
}

static struct pieces gather_of(const struct cb_shm_comm *comm, const cb_call *call) {
    size_t largest = 0;
    for (size_t r = 0; r < comm->base.size; r++)
        largest = call->counts[r] > largest ? call->counts[r] : largest;
    return cut_evenly(comm, largest * cb_type_size(call->type), GATHERED);
}

/* Chunk k of rank's part: its bytes, and where in recv it belongs. */
static size_t chunk_of_part(const cb_call *call, const struct pieces *cut, size_t rank, size_t k, size_t *at) {
    size_t size = cb_type_size(call->type);
    *at = call->displs[rank] * size + k * cut->chunk;
    return chunk_bytes(cut, call->counts[rank] * size, k);
}

/* Own chunk k into the next round's slot. */
static void put_chunk(struct cb_shm_comm *comm, const cb_call *call, const struct pieces *cut, size_t k) {
    size_t at, me = comm->base.rank, bytes = chunk_of_part(call, cut, me, k, &at);
    if (bytes)
        cb_shm_put(comm, cb_shm_payload(comm, me, comm->round + 1, bytes), byte_of(call->send, k * cut->chunk), bytes);
}

/* The same into its place in recv. */
static void keep_chunk(const struct cb_shm_comm *comm, const cb_call *call, const struct pieces *cut, size_t k) {
    size_t at, bytes = chunk_of_part(call, cut, comm->base.rank, k, &at);
    if (bytes)
        cb_copy_result(call, byte_of(call->recv, at), byte_of(call->send, k * cut->chunk), bytes);
}

static void take_chunks(const struct cb_shm_comm *comm, const cb_call *call, const struct pieces *cut, size_t k) {
    for (size_t r = 0; r < comm->base.size; r++) {
        size_t at, bytes = r == comm->base.rank ? 0 : chunk_of_part(call, cut, r, k, &at);
        if (bytes)
            cb_copy_result(call, byte_of(call->recv, at), cb_shm_payload(comm, r, comm->round, bytes), bytes);
    }
}

cobre_status cb_shm_allgatherv(cobre_comm *base, const cb_call *call) {
    struct cb_shm_comm *comm = shm(base);
    struct pieces cut = gather_of(comm, call);
    CB_TRY(cb_shm_enter(comm, call));
    put_chunk(comm, call, &cut, 0);
    for (size_t k = 0; k < cut.rounds; k++) {
        cb_shm_publish(comm, call);
        keep_chunk(comm, call, &cut, k); /* while the others put theirs, and send is still in the cache */
        CB_TRY(cb_shm_await_all(comm, call));
        put_chunk(comm, call, &cut, k + 1);
        take_chunks(comm, call, &cut, k);
    }
    return COBRE_OK;
}

/* to = the fold of the payloads' bytes [from, from + bytes) in rank order. `total` tells where the payloads lie. The own
 * one is read from `own`, unless that is where the result goes: lines of the own area may have gone to a reader. */
static void fold_payloads(const struct cb_shm_comm *comm, const cb_call *call, size_t total, size_t from, size_t bytes,
                          const unsigned char *own, unsigned char *to) {
    size_t size = cb_type_size(call->type);
    for (size_t done = 0; done < bytes; done += FOLD_BLOCK) {
        size_t now = cb_least(bytes - done, FOLD_BLOCK);
        for (size_t r = 0; r < comm->base.size; r++) {
            const unsigned char *x = r == comm->base.rank && own != to
                                         ? own + done
                                         : cb_shm_payload(comm, r, comm->round, total) + from + done;
            if (r == 0)
                memcpy(to + done, x, now);
            else
                cb_fold(call->type, call->op, to + done, x, now / size);
        }
    }
}

/* The same for payloads that lie in the slots. */
static void fold_slots(const struct cb_shm_comm *comm, const cb_call *call, size_t bytes) {
    alignas(uint64_t) unsigned char sum[CB_SMALL];
    const unsigned char *first = comm->base.rank == 0 ? call->send : cb_shm_slot(comm, 0, comm->round)->small;
    memcpy(sum, first, bytes);
    for (size_t r = 1; r < comm->base.size; r++)
        cb_fold(call->type, call->op, sum, r == comm->base.rank ? call->send : cb_shm_slot(comm, r, comm->round)->small,
                call->count);
    memcpy(call->recv, sum, bytes);
}

static cobre_status reduce_at_once(struct cb_shm_comm *comm, const cb_call *call, size_t bytes) {
    cb_shm_put(comm, cb_shm_payload(comm, comm->base.rank, comm->round + 1, bytes), call->send, bytes);
    cobre_status status = round_trip(comm, call);
    if (!status && bytes <= CB_SMALL)
        fold_slots(comm, call, bytes);
    else if (!status)
        fold_payloads(comm, call, bytes, 0, bytes, call->send, call->recv);
    return status;
}

/* How a large reduction is cut: a bulk area holds a block of operands and one of its R slices, for the results. */
struct cut {
    size_t bytes, block, blocks;
};

static struct cut cut_of(const struct cb_shm_comm *comm, size_t bytes) {
    /* The Rth part of the block, rounded up to a line, is then no larger than the slice. */
    size_t slice = cb_round_up(chunks_of(comm->bulk_bytes, comm->base.size + 1), CB_LINE);
    size_t block = comm->bulk_bytes - slice;
    return (struct cut){.bytes = bytes, .block = block, .blocks = chunks_of(bytes, block)};
}

static size_t block_bytes(const struct cut *cut, size_t k) {
    return k < cut->blocks ? cb_least(cut->bytes - k * cut->block, cut->block) : 0;
}

/* Slice l of block k: its bytes, and where in the block it starts. A last, short block is shared out evenly as well. Where a
 * block has fewer lines than there are ranks, the last ranks have nothing to fold. */
static size_t slice_of(const struct cut *cut, size_t ranks, size_t k, size_t l, size_t *from) {
    size_t block = block_bytes(cut, k);
    size_t slice = cb_round_up(chunks_of(block, ranks), CB_LINE);
    *from = cb_least(l * slice, block);
    return cb_least(block - *from, slice);
}

static unsigned char *result_area(const struct cb_shm_comm *comm, const struct cut *cut, size_t rank, uint32_t round) {
    return cb_shm_payload(comm, rank, round, SIZE_MAX) + cut->block;
}

static void put_operands(struct cb_shm_comm *comm, const cb_call *call, const struct cut *cut, size_t k) {
    size_t bytes = block_bytes(cut, k);
    if (bytes)
        cb_shm_put(comm, cb_shm_payload(comm, comm->base.rank, comm->round + 1, SIZE_MAX),
                   (const unsigned char *)call->send + k * cut->block, bytes);
}

static void fold_own_slice(struct cb_shm_comm *comm, const cb_call *call, const struct cut *cut, size_t k) {
    size_t from, me = comm->base.rank;
    size_t bytes = slice_of(cut, comm->base.size, k, me, &from);
    unsigned char *result = byte_of(call->recv, k * cut->block + from);
    fold_payloads(comm, call, SIZE_MAX, from, bytes, byte_of(call->send, k * cut->block + from), result);
    cb_shm_put(comm, result_area(comm, cut, me, comm->round + 1), result, bytes);
}

static void take_slices(const struct cb_shm_comm *comm, const cb_call *call, const struct cut *cut, size_t k) {
    for (size_t r = 0; r < comm->base.size; r++) {
        size_t from, bytes = slice_of(cut, comm->base.size, k, r, &from);
        if (r != comm->base.rank)
            copy((unsigned char *)call->recv + k * cut->block + from, result_area(comm, cut, r, comm->round), bytes);
    }
}

/* Round k publishes operands k and results k - 1. In place is safe: recv is written only where all operands of that
 * block have already been copied in. */
static cobre_status reduce_by_slices(struct cb_shm_comm *comm, const cb_call *call, size_t bytes) {
    struct cut cut = cut_of(comm, bytes);
    put_operands(comm, call, &cut, 0);
    for (size_t k = 0; k <= cut.blocks; k++) {
        CB_TRY(round_trip(comm, call));
        if (k < cut.blocks)
            fold_own_slice(comm, call, &cut, k);
        put_operands(comm, call, &cut, k + 1);
        if (k > 0)
            take_slices(comm, call, &cut, k - 1);
    }
    return COBRE_OK;
}

cobre_status cb_shm_allreduce(cobre_comm *base, const cb_call *call) {
    struct cb_shm_comm *comm = shm(base);
    size_t bytes = call->count * cb_type_size(call->type);
    CB_TRY(cb_shm_enter(comm, call));
    if (bytes <= FOLD_ALL / base->size)
        return reduce_at_once(comm, call, bytes);
    return reduce_by_slices(comm, call, bytes);
}

cobre_status cb_shm_allgatherv_region(cobre_comm *base, const cb_call *call) {
    struct cb_shm_comm *comm = shm(base);
    size_t size = cb_type_size(call->type);
    CB_TRY(meet(comm, call));
    if (call->count)
        copy((unsigned char *)call->region->data + call->displs[base->rank] * size, call->send, call->count * size);
    return round_trip(comm, call);
}
