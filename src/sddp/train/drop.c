/* SPDX-License-Identifier: Apache-2.0 */
/* drop.c: the cuts that a training stops looking for, if it is asked to drop some.
 *
 * A dropped cut leaves the lists of the pool, so that LPs no longer get it. It stays in the pool and in the policy. The
 * lists follow from the policy alone, so that a resumed training has the same ones, and so does any number of ranks:
 *   - level-one: each record holds the state where its cut was made. A cut is listed if it is the highest at any of the states
 *     of its function; of equal ones the oldest is. After an iteration the new cuts are compared at the old states, and all
 *     cuts at the new states, so that a dropped cut may return. Cuts of a warm start have no state, and stay.
 *   - last-active: each record holds the last iteration in which its cut was active in an LP. Ranks note that in pool.used;
 *     after an iteration they take the maximum, and leaders write it to the records, which only a file needs.
 *
 * Cost of level-one: M * V products per iteration and function, for M new cuts and V states, on every rank. */
#include "sddp/train/trainer.h"

#include "sddp/grow.h"

static bool is_dropping(const cb_trainer *trainer) {
    return trainer->policy->drop != COBRE_SDDP_DROP_NEVER;
}

bool cb_drop_init(cb_trainer *trainer) {
    if (trainer->policy->drop == COBRE_SDDP_DROP_LEVEL_ONE)
        trainer->visits = cb_arena_alloc(&trainer->memory, trainer->policy->pool.functions, sizeof *trainer->visits);
    return !trainer->memory.failed;
}

void cb_drop_free(cb_trainer *trainer) {
    for (size_t f = 0; trainer->visits && f < trainer->policy->pool.functions; f++)
        free(trainer->visits[f].at);
}

/* Cuts come in the order of their ids, so that of equal ones the oldest stays. */
static void compare(const cb_pool *pool, cb_visit *at, uint32_t cut) {
    const double *state = cb_pool_cut(pool, at->cut) + CB_CUT_SLOPES + pool->states;
    double value = cb_cut_value(cb_pool_cut(pool, cut), state, pool->states);
    if (!at->compared || value > at->value) {
        at->highest = cut;
        at->value = value;
        at->compared = true;
    }
}

static bool has_state(const cb_pool *pool, uint32_t cut) {
    return cb_pool_cut(pool, cut)[CB_CUT_ITERATION] > 0;
}

/* The states of cuts that are not yet there. */
static bool add_states(cb_trainer *trainer) {
    const cb_pool *pool = &trainer->policy->pool;
    for (; trainer->visited < pool->cuts; trainer->visited++) {
        cb_visits *visits = &trainer->visits[(size_t)cb_pool_cut(pool, trainer->visited)[CB_CUT_FUNCTION]];
        if (!cb_grow(&visits->at, sizeof *visits->at, visits->count, &visits->room))
            return false;
        visits->at[visits->count++] = (cb_visit){.cut = (uint32_t)trainer->visited};
    }
    return true;
}

static void choose_highest(const cb_pool *pool, cb_visits *visits, bool *stays) {
    for (size_t v = 0; v < visits->count; v++) {
        cb_visit *at = &visits->at[v];
        bool visited = has_state(pool, at->cut);
        for (size_t c = at->compared ? visits->compared : 0; visited && c < visits->count; c++)
            compare(pool, at, visits->at[c].cut);
        stays[visited ? at->highest : at->cut] = true;
    }
    visits->compared = visits->count;
}

static void choose(cb_trainer *trainer, bool *stays) {
    const cobre_sddp_policy *policy = trainer->policy;
    const cb_pool *pool = &policy->pool;
    for (size_t f = 0; trainer->visits && f < pool->functions; f++)
        choose_highest(pool, &trainer->visits[f], stays);
    for (uint64_t id = 0; pool->notes_use && id < pool->cuts; id++)
        stays[id] = policy->iterations - pool->used[id] <= policy->drop_after;
}

static cobre_status drop(cb_trainer *trainer) {
    cb_pool *pool = &trainer->policy->pool;
    bool *stays = calloc((size_t)pool->cuts, sizeof *stays);
    bool room = stays && (!trainer->visits || add_states(trainer));
    if (room)
        choose(trainer, stays);
    cobre_status status = room ? cb_pool_relist(pool, stays) : cb_no_memory("lists of cuts", (size_t)pool->cuts);
    free(stays);
    return status;
}

/* Which cuts any rank had use for. Only leaders write records. */
static cobre_status exchange_use(cb_trainer *trainer) {
    cb_pool *pool = &trainer->policy->pool;
    double begin = cb_clock();
    CB_TRY(cobre_allreduce_t(trainer->comm, pool->used, pool->used, (size_t)pool->cuts, COBRE_MAX));
    cb_tally_operation(trainer, COBRE_SDDP_OPERATION_ALLREDUCE, 1, (size_t)pool->cuts * sizeof *pool->used, begin);
    for (size_t c = 0, chunk = (size_t)1 << pool->chunk_bits; c < pool->chunks; c++) {
        double *record = cobre_region_data_mut(pool->chunk[c].region);
        for (size_t i = 0; record && i < chunk && c * chunk + i < pool->cuts; i++)
            record[i * pool->stride + CB_CUT_SLOPES + pool->states] = pool->used[c * chunk + i];
    }
    return COBRE_OK;
}

cobre_status cb_drop_cuts(cb_trainer *trainer) {
    if (!is_dropping(trainer) || trainer->policy->pool.cuts == 0)
        return COBRE_OK;
    if (trainer->policy->pool.notes_use)
        CB_TRY(exchange_use(trainer));
    return cb_trainer_agree(trainer, drop(trainer));
}

cobre_status cb_drop_end(cb_trainer *trainer) {
    trainer->policy->pool.now = 0;
    return is_dropping(trainer) ? cb_agree(trainer->comm, cb_pool_relist(&trainer->policy->pool, NULL)) : COBRE_OK;
}
