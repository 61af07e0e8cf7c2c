/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: the description of the problem that a policy carries, so that a policy can be shown without its case. */
#include <string.h>

#include "sddp/hash.h"
#include "sddp/policy/policy.h"

static cobre_status allocate(cb_policy_names *names) {
    cb_arena *memory = &names->memory;
    names->text = cb_arena_alloc(memory, names->bytes, 1);
    names->name = cb_arena_alloc(memory, 1 + names->states + names->nodes, sizeof *names->name);
    names->stage = cb_arena_alloc(memory, names->nodes, sizeof *names->stage);
    names->outcomes = cb_arena_alloc(memory, names->nodes, sizeof *names->outcomes);
    names->sum = cb_arena_alloc(memory, names->nodes, sizeof *names->sum);
    names->initial = cb_arena_alloc(memory, names->states, sizeof *names->initial);
    return memory->failed ? cb_no_memory("names", names->bytes) : COBRE_OK;
}

/* Finds the names in `text`; false if there are too few. */
static bool find_names(cb_policy_names *names) {
    const char *at = names->text, *end = names->text + names->bytes;
    for (size_t i = 0; i < 1 + names->states + names->nodes; i++) {
        const char *last = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (!last)
            return false;
        names->name[i] = at;
        at = last + 1;
    }
    return true;
}

static const char *name_at(const cobre_sddp_problem *problem, size_t i) {
    if (i == 0)
        return problem->name;
    return i <= problem->states ? problem->state[i - 1].name : problem->node[i - 1 - problem->states].name;
}

uint64_t cb_range_sum(const cobre_sddp_problem *problem) {
    uint64_t h = CB_HASH_START;
    for (size_t n = 0; n < problem->nodes; n++)
        for (size_t s = 0; s < problem->states && problem->node[n].edges > 0; s++) {
            cb_range range = problem->node[n].range[problem->node[n].state_out[s]];
            cb_hash_double(&h, range.lower);
            cb_hash_double(&h, range.upper);
        }
    return h;
}

cobre_status cb_names_of(const cobre_sddp_problem *problem, bool averse, cb_policy_names *names) {
    size_t count = 1 + problem->states + problem->nodes;
    *names = (cb_policy_names){.states = problem->states,
                               .nodes = problem->nodes,
                               .maximise = problem->maximise,
                               .averse = averse,
                               .fingerprint = problem->fingerprint,
                               .seasons = problem->seasons,
                               .first_season = problem->first_season,
                               .ranges = cb_range_sum(problem)};
    for (size_t i = 0; i < count; i++)
        names->bytes += strlen(name_at(problem, i)) + 1;
    names->bytes = cb_padded(names->bytes);
    CB_TRY(allocate(names));
    char *at = names->text;
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, name_at(problem, i)) + 1;
    for (size_t n = 0; n < problem->nodes; n++) {
        names->stage[n] = problem->node[n].stage;
        names->outcomes[n] = problem->node[n].outcomes;
        names->sum[n] = cb_node_sum(problem, n);
    }
    for (size_t s = 0; s < problem->states; s++)
        names->initial[s] = problem->state[s].initial;
    find_names(names);
    return COBRE_OK;
}

cobre_status cb_names_unpack(cb_policy_names *names, const unsigned char *packed) {
    CB_TRY(allocate(names));
    size_t each = names->nodes * sizeof *names->stage;
    memcpy(names->text, packed, names->bytes);
    memcpy(names->stage, packed + names->bytes, each);
    memcpy(names->outcomes, packed + names->bytes + each, each);
    memcpy(names->sum, packed + names->bytes + 2 * each, each);
    if (names->states > 0)
        memcpy(names->initial, packed + names->bytes + 3 * each, names->states * sizeof *names->initial);
    return find_names(names) ? COBRE_OK : COBRE_INVALID_POLICY;
}
