/* SPDX-License-Identifier: Apache-2.0 */
/* team.c: the board, the heap and the counters of a node. */
#include "sddp/train/team.h"

#include <stdlib.h>
#include <string.h>

/* The rank that leads this rank's node: it writes its number into a region. */
static cobre_status find_leader(cobre_comm *comm, uint64_t *leader) {
    cobre_region *region;
    CB_TRY(cobre_region_create(comm, 1, COBRE_U64, 0, &region));
    if (cobre_is_leader(comm))
        *(uint64_t *)cobre_region_data_mut(region) = cobre_rank(comm);
    cobre_status status = cobre_region_fence(region);
    *leader = *(const uint64_t *)cobre_region_data(region);
    cobre_region_free(&region);
    return status;
}

#define PROOFS ((size_t)16 << 20) /* bytes for them on a node, if that is enough for two trajectories per rank */

/* The same on all ranks, as the size of a region must be. */
static size_t find_batch(const cb_team *team, size_t ranks) {
    size_t each = team->outcomes * (team->states + 2) * sizeof(double), room = PROOFS / each;
    room = room > 2 * ranks ? room : 2 * ranks;
    return room < team->most ? room : team->most;
}

/* Of `passes` trajectories, those that `before` of all ranks have. Rounded up: trajectory 0 is rank 0's node's. */
static size_t share(size_t passes, size_t before, size_t ranks) {
    return passes / ranks * before + (passes % ranks * before + ranks - 1) / ranks;
}

/* Nodes come in the order of their leaders. */
static void deal(cb_team *team, const uint64_t *leader, size_t ranks, size_t passes) {
    for (size_t r = 0, before = 0; r < ranks; r++) {
        size_t members = 0;
        for (size_t other = r; leader[r] == r && other < ranks; other++)
            members += leader[other] == r;
        team->node_first[r] = share(passes, before, ranks);
        before += members;
        team->node_last[r] = share(passes, before, ranks);
        size_t count = team->node_last[r] - team->node_first[r];
        team->most = count > team->most ? count : team->most;
    }
}

cobre_status cb_team_open(cb_team *team, cobre_comm *comm, cb_arena *memory, size_t passes) {
    size_t ranks = cobre_size(comm);
    uint64_t own, *leader = cb_arena_alloc(memory, ranks, sizeof *leader);
    size_t *one = cb_arena_alloc(memory, ranks, sizeof *one), *place = cb_arena_alloc(memory, ranks, sizeof *place);
    team->members = cobre_node_size(comm);
    team->node_first = cb_arena_alloc(memory, ranks, sizeof *team->node_first);
    team->node_last = cb_arena_alloc(memory, ranks, sizeof *team->node_last);
    team->expected = cb_arena_alloc(memory, passes, sizeof *team->expected);
    CB_TRY(cb_agree(comm, memory->failed ? cb_no_memory("training", passes * sizeof(uint64_t)) : COBRE_OK));
    for (size_t r = 0; r < ranks; r++) {
        one[r] = 1;
        place[r] = r;
    }
    CB_TRY(find_leader(comm, &own));
    CB_TRY(cobre_allgatherv_t(comm, &own, 1, leader, ranks, one, place));
    deal(team, leader, ranks, passes);
    team->first = team->node_first[own];
    team->last = team->node_last[own];
    team->batch = find_batch(team, ranks);
    return COBRE_OK;
}

static void forget_missed(cb_team *team) {
    while (team->missed) {
        cb_missed *missed = team->missed;
        team->missed = missed->next;
        free(missed);
    }
}

void cb_team_close(cb_team *team) {
    cobre_region_free(&team->heap);
    cobre_region_free(&team->board);
    forget_missed(team);
}

/* Lays the board out: without memory it only measures, in units of 8 bytes. */
typedef struct {
    uint64_t *base;
    size_t at;
    bool too_large;
} layout;

static void *reserve(layout *l, size_t count, size_t each) {
    uint64_t *place = l->base ? l->base + l->at : NULL;
    size_t units;
    l->too_large |= __builtin_mul_overflow(count, each, &units) || __builtin_add_overflow(l->at, units, &l->at);
    return place;
}

static void lay_out(cb_team *team, layout *l, size_t steps) {
    size_t most = team->most, batch = team->batch;
    team->steps = steps;
    team->counters = reserve(l, 1, sizeof *team->counters / sizeof *l->base);
    team->finished = reserve(l, most, 1);
    team->cost = reserve(l, most, 1);
    team->state = reserve(l, most, (steps + 1) * team->states);
    team->value = reserve(l, batch, team->outcomes);
    team->intercept = reserve(l, batch, team->outcomes);
    team->slope = reserve(l, batch, team->outcomes * team->states);
    team->record = reserve(l, most, team->records);
    team->start = reserve(l, most, steps + 1);
    team->end = reserve(l, steps + 1, team->pieces);
}

/* The counters of a new board are zero. */
cobre_status cb_team_steps(cb_team *team, cobre_comm *comm, size_t steps) {
    if (team->board && steps <= team->steps)
        return COBRE_OK;
    layout l = {0};
    steps = team->board ? 2 * steps : steps;
    lay_out(team, &l, steps);
    if (l.too_large)
        return cb_no_memory("the trajectories of an iteration", SIZE_MAX);
    cobre_region_free(&team->board);
    CB_TRY(cobre_region_create(comm, l.at, COBRE_U64, COBRE_REGION_INTERLEAVE, &team->board));
    l = (layout){.base = cobre_region_claim(team->board, 0, l.at)};
    lay_out(team, &l, steps);
    team->taken = team->used = 0;
    memset(team->expected, 0, (team->last - team->first) * sizeof *team->expected);
    return COBRE_OK;
}

size_t cb_team_take(cb_team *team, size_t count) {
    uint64_t number = atomic_fetch_add_explicit(&team->counters->taken, 1, memory_order_relaxed) - team->taken;
    if (number < count)
        return number;
    team->taken += count + team->members;
    return CB_NONE;
}

void cb_team_give_up(cb_team *team) {
    atomic_fetch_or_explicit(&team->counters->taken, (uint64_t)1 << 63, memory_order_relaxed);
}

cobre_status cb_team_fence(cb_team *team) {
    return cobre_region_fence(team->board);
}

bool cb_team_finish(cb_team *team, size_t i) {
    return atomic_fetch_add_explicit(&team->finished[i], 1, memory_order_acq_rel) + 1 == team->expected[i];
}

/* A start whose place the heap does not have yet. */
static cobre_status keep(cb_team *team, const cb_start *start, size_t place, size_t bytes) {
    cb_missed *missed = malloc(sizeof *missed + bytes);
    if (!missed)
        return cb_no_memory("a basis", bytes);
    *missed = (cb_missed){.next = team->missed, .place = place, .bytes = bytes};
    cb_start_pack(start, missed->packed);
    team->missed = missed;
    return COBRE_OK;
}

cobre_status cb_team_put(cb_team *team, const cb_start *start, uint64_t *place) {
    size_t bytes = cb_start_bytes(start);
    *place = atomic_fetch_add_explicit(&team->counters->used, bytes, memory_order_relaxed) - team->used;
    if (*place + bytes > team->room)
        return keep(team, start, *place, bytes);
    cb_start_pack(start, team->bytes + *place);
    return COBRE_OK;
}

cobre_status cb_team_get(const cb_team *team, uint64_t place, cb_start *start) {
    const unsigned char *at = team->bytes + place;
    size_t left = team->room - place;
    return cb_start_unpack(start, &at, &left);
}

/* A larger heap, with what is in the old one, and then with what the old one had no room for: that may begin in it. */
static cobre_status enlarge(cb_team *team, cobre_comm *comm, size_t room) {
    cobre_region *heap;
    CB_TRY(cobre_region_create(comm, room, COBRE_U8, COBRE_REGION_INTERLEAVE, &heap));
    unsigned char *bytes = cobre_region_claim(heap, 0, room);
    if (cobre_is_leader(comm) && team->room > 0)
        memcpy(bytes, team->bytes, team->room);
    cobre_status status = cobre_region_fence(heap);
    for (const cb_missed *missed = team->missed; missed; missed = missed->next)
        memcpy(bytes + missed->place, missed->packed, missed->bytes);
    forget_missed(team);
    cobre_region_free(&team->heap);
    team->heap = heap;
    team->bytes = bytes;
    team->room = room;
    return status;
}

/* Nobody puts anything into the heap between the meeting before and the fence. Nodes of a job have heaps of one size. */
cobre_status cb_team_settle(cb_team *team, cobre_comm *comm) {
    uint64_t need = atomic_load_explicit(&team->counters->used, memory_order_relaxed) - team->used;
    if (team->members < cobre_size(comm))
        CB_TRY(cobre_allreduce_t(comm, &need, &need, 1, COBRE_MAX));
    if (need > team->room)
        CB_TRY(enlarge(team, comm, 2 * need));
    if (team->heap)
        CB_TRY(cobre_region_fence(team->heap));
    return cb_team_fence(team);
}

void cb_team_clear(cb_team *team) {
    team->used = atomic_load_explicit(&team->counters->used, memory_order_relaxed);
}
