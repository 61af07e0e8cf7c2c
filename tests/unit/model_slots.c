/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model checker for the slot protocol of the shm backend (src/backends/shm/wait.c): it visits every state that a small
 * job can reach and inspects each. It needs nothing but C11 and takes a few seconds. With any argument it prints the trace
 * of each flaw.
 *
 * The protocol, for each rank in its round n:
 *   1. write the payload of its slot n & 1 (plain stores);
 *   2. store n in the slot's word, load its own count of sleepers (both sequentially consistent) and, if that is not zero,
 *      wake all who sleep on the word;
 *   3. for each peer look at the word of its slot n & 1 until it is n. To sleep, add 1 to the peer's count and read the
 *      word again (both sequentially consistent); unless it is n by now, call futex_wait with the value just read;
 *      subtract 1 (relaxed) and look again;
 *   4. read the peers' payloads. A pipelined rank may write its payload of n + 1 at any time from here on.
 *
 * The machine. A rank's stores go to a buffer of its own and reach memory later, at any time: in order (TSO, which is
 * x86), or in any order that keeps the order of each location, where only the store of a word, which is also a release,
 * waits for all earlier ones (PSO). A sequentially consistent load waits until the buffer is empty. Additions to a count
 * and subtractions lie in the buffer like stores (x86 is stricter; ARM is not). futex_wait compares and falls asleep in
 * one step and is no barrier: Linux has one there, but does not promise it, and the model in which the word is read too
 * early shows that it would be needed. A sleeper may wake for no reason at any time: a signal, or the look for dead ranks.
 *
 * What is abstracted. A payload is one value, its round; a mixture of two shows as the wrong one in another
 * interleaving. A rank reads only what others wrote, so no load is served by its own buffer. Spinning is one look.
 * Loads, and stores after loads, keep program order: the acquire of step 3 is taken for granted, and its loss would not
 * be noticed here. All ranks see one memory (x86, ARMv8, RISC-V; not POWER). Words count modulo 4, so they wrap all
 * the time. Rounds and payloads count modulo 8: exact as long as ranks are at most two rounds apart, which is checked.
 * Models that run for ever come back to states they know, so that what they show holds for any number of rounds.
 *
 * What it shows. No payload is read but that of the reader's round. Nobody sleeps on a word that has its value when the
 * publisher is past its wake-up. No state but the end is without a step, not counting the wake-ups for no reason, and
 * at the end all counts are zero. As only a changed word sends a rank back to its look, ranks cannot go round in
 * circles either: the job gets on, and no time-out has a part in it. Each flaw must end in the violation that its line
 * names, or the test fails: this shows that the model can see.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_RANKS = 3, MAX_STORES = 4, ROUNDS_WRAP = 8, NEVER_WRITTEN = 0xff };

enum step {
    COPY_IN,
    PUBLISH,
    CHECK,
    WAKE,
    LOOK,
    COUNT,
    READ_AGAIN,
    SLEEP,
    UNCOUNT,
    READ,
    COPY_AHEAD,
    DRAIN,
    STIR,
    ASLEEP,
    DONE
};
static const char *const step_names[] = {
    [COPY_IN] = "writes its payload",
    [PUBLISH] = "stores its word",
    [CHECK] = "loads its count",
    [WAKE] = "wakes sleepers",
    [LOOK] = "looks at the word",
    [COUNT] = "adds to the count",
    [READ_AGAIN] = "reads the word again",
    [SLEEP] = "calls futex_wait",
    [UNCOUNT] = "subtracts from the count",
    [READ] = "reads the payload",
    [COPY_AHEAD] = "writes its next payload",
    [DRAIN] = "has a store reach memory",
    [STIR] = "wakes for no reason",
    [DONE] = "starts the job",
};

/* Where a buffered store goes: + slot for the first two, which are the rank's own, + peer for the third. */
enum place { PAYLOAD, WORD = PAYLOAD + 2, SLEEPERS = WORD + 2 };

/* Bytes only: no padding, so that a state is hashed and compared as memory. `next` is the step to come. */
struct rank {
    uint8_t next, round, peer, seen, copied, stores;
    uint8_t place[MAX_STORES], value[MAX_STORES]; /* the store buffer, oldest first, zeros behind the last */
};
struct state {
    struct rank rank[MAX_RANKS];
    uint8_t word[MAX_RANKS][2], payload[MAX_RANKS][2], sleepers[MAX_RANKS], unused[7];
};
_Static_assert(sizeof(struct state) == 8 * sizeof(uint64_t), "the hash takes a state as eight numbers");

enum violation { NONE, WRONG_PAYLOAD, LOST_WAKE, DEADLOCK, DRIFT, COUNT_LEFT, STEP_UNUSED };
static const char *const violation_names[] = {
    [NONE] = "ok",
    [WRONG_PAYLOAD] = "wrong payload",
    [LOST_WAKE] = "lost wake-up",
    [DEADLOCK] = "deadlock",
    [DRIFT] = "ranks too far apart",
    [COUNT_LEFT] = "count not zero at the end",
    [STEP_UNUSED] = "a step never happened",
};

enum change {
    ONE_SLOT = 1,
    EARLY_CHECK = 2,
    EARLY_READ = 4,
    NO_RELEASE = 8,
    SKIP_PEER = 16,
    EARLY_COPY = 32,
    ONE_BIT_WORD = 64,
    START_AT_ZERO = 128,
    WAIT_IS_BARRIER = 256,
    NO_COMPARISON = 512
};
enum memory { TSO, PSO };

struct model {
    const char *name;
    unsigned changes, ranks, rounds; /* 0 rounds: for ever */
    bool pipelined;
    enum memory memory;
    enum violation expected[2]; /* by memory */
};

struct node {
    struct state state;
    uint32_t parent;
    uint8_t actor, step; /* what led here from the parent */
};

/* nodes is also the queue of the breadth-first search; table holds index + 1, and 0 where it is free. */
struct search {
    struct model model;
    struct node *nodes;
    uint32_t *table;
    size_t count, capacity, current, culprit;
    unsigned steps_used; /* one bit a step */
    enum violation found;
};

static bool with(const struct model *model, enum change change) {
    return (model->changes & change) != 0;
}

static unsigned slot_of(const struct model *model, unsigned round) {
    return with(model, ONE_SLOT) ? 0 : round % 2;
}

static uint8_t word_of(const struct model *model, unsigned round) {
    return (uint8_t)(round % (with(model, ONE_BIT_WORD) ? 2 : 4));
}

static uint8_t after(unsigned round) {
    return (uint8_t)((round + 1) % ROUNDS_WRAP);
}

static bool buffer_store(struct rank *rank, unsigned place, uint8_t value) {
    if (rank->stores == MAX_STORES)
        return false;
    rank->place[rank->stores] = (uint8_t)place;
    rank->value[rank->stores++] = value;
    return true;
}

static void write_memory(struct state *state, unsigned me, unsigned place, uint8_t value) {
    if (place >= SLEEPERS)
        state->sleepers[place - SLEEPERS] = (uint8_t)(state->sleepers[place - SLEEPERS] + value); /* 0xff is -1 */
    else if (place >= WORD)
        state->word[me][place - WORD] = value;
    else
        state->payload[me][place - PAYLOAD] = value;
}

static bool may_drain(const struct model *model, const struct rank *rank, unsigned which) {
    unsigned place = rank->place[which];
    bool release = place >= WORD && place < SLEEPERS && !with(model, NO_RELEASE);
    for (unsigned older = 0; older < which; older++)
        if (model->memory == TSO || release || rank->place[older] == place)
            return false;
    return true;
}

static void drain(struct state *state, unsigned me, unsigned which) {
    struct rank *rank = &state->rank[me];
    write_memory(state, me, rank->place[which], rank->value[which]);
    rank->stores--;
    for (unsigned i = which; i < rank->stores; i++) {
        rank->place[i] = rank->place[i + 1];
        rank->value[i] = rank->value[i + 1];
    }
    rank->place[rank->stores] = rank->value[rank->stores] = 0;
}

static void next_round(const struct model *model, struct rank *rank) {
    bool last = model->rounds != 0 && rank->round == model->rounds;
    rank->next = last ? DONE : rank->copied ? PUBLISH : COPY_IN;
    rank->round = after(rank->round);
    rank->peer = rank->copied = 0;
}

/* Begins steps 3 and 4 with the first peer from `peer` on, or ends them after the last. */
static void go_to_peer(const struct model *model, struct rank *rank, unsigned me, enum step step, unsigned peer) {
    while (peer == me || (with(model, SKIP_PEER) && me == 0 && peer == model->ranks - 1))
        peer++;
    rank->next = (uint8_t)step;
    rank->peer = (uint8_t)peer;
    if (peer < model->ranks)
        return;
    if (step == LOOK)
        go_to_peer(model, rank, me, READ, 0);
    else
        next_round(model, rank);
}

static bool check_sleepers(const struct model *model, struct state *state, unsigned me) {
    struct rank *rank = &state->rank[me];
    if (rank->stores != 0 && !with(model, EARLY_CHECK))
        return false;
    if (state->sleepers[me] != 0)
        rank->next = WAKE;
    else
        go_to_peer(model, rank, me, LOOK, 0);
    return true;
}

static bool wake_all(const struct model *model, struct state *state, unsigned me) {
    for (unsigned r = 0; r < model->ranks; r++) {
        struct rank *other = &state->rank[r];
        bool same_slot = slot_of(model, other->round) == slot_of(model, state->rank[me].round);
        if (other->next == ASLEEP && other->peer == me && same_slot)
            other->next = UNCOUNT;
    }
    go_to_peer(model, &state->rank[me], me, LOOK, 0);
    return true;
}

static uint8_t word_of_peer(const struct model *model, const struct state *state, const struct rank *rank) {
    return state->word[rank->peer][slot_of(model, rank->round)];
}

static bool look(const struct model *model, struct state *state, unsigned me) {
    struct rank *rank = &state->rank[me];
    if (word_of_peer(model, state, rank) == word_of(model, rank->round))
        go_to_peer(model, rank, me, LOOK, rank->peer + 1u);
    else
        rank->next = COUNT;
    return true;
}

static bool read_again(const struct model *model, struct state *state, unsigned me) {
    struct rank *rank = &state->rank[me];
    uint8_t word = word_of_peer(model, state, rank);
    bool reached = word == word_of(model, rank->round);
    rank->next = reached ? UNCOUNT : SLEEP;
    rank->seen = reached ? 0 : word;
    return rank->stores == 0 || with(model, EARLY_READ);
}

static bool futex_wait(const struct model *model, struct state *state, unsigned me) {
    struct rank *rank = &state->rank[me];
    bool equal = word_of_peer(model, state, rank) == rank->seen;
    rank->next = equal || with(model, NO_COMPARISON) ? ASLEEP : UNCOUNT;
    rank->seen = 0;
    return rank->stores == 0 || !with(model, WAIT_IS_BARRIER);
}

/* The next instruction of `me`. False: it cannot be done yet, and `state` is void. */
static bool execute(struct search *search, struct state *state, unsigned me) {
    const struct model *model = &search->model;
    struct rank *rank = &state->rank[me];
    unsigned slot = slot_of(model, rank->round);
    switch (rank->next) {
    case COPY_IN: rank->next = PUBLISH; return buffer_store(rank, PAYLOAD + slot, rank->round);
    case PUBLISH: rank->next = CHECK; return buffer_store(rank, WORD + slot, word_of(model, rank->round));
    case CHECK: return check_sleepers(model, state, me);
    case WAKE: return wake_all(model, state, me);
    case LOOK: return look(model, state, me);
    case COUNT: rank->next = READ_AGAIN; return buffer_store(rank, SLEEPERS + rank->peer, 1);
    case READ_AGAIN: return read_again(model, state, me);
    case SLEEP: return futex_wait(model, state, me);
    case UNCOUNT: rank->next = LOOK; return buffer_store(rank, SLEEPERS + rank->peer, 0xff);
    case READ:
        if (state->payload[rank->peer][slot] != rank->round)
            search->found = WRONG_PAYLOAD;
        go_to_peer(model, rank, me, READ, rank->peer + 1u);
        return true;
    default: return false;
    }
}

/* A pipelined rank writes its next payload while it reads; the flaw is to do so while it still waits. */
static bool copy_ahead(const struct model *model, struct rank *rank) {
    bool in_time = rank->next == READ || (with(model, EARLY_COPY) && rank->next == LOOK);
    bool last = model->rounds != 0 && rank->round == model->rounds;
    if (!model->pipelined || !in_time || rank->copied || last)
        return false;
    rank->copied = 1;
    return buffer_store(rank, PAYLOAD + slot_of(model, after(rank->round)), after(rank->round));
}

static bool too_far_apart(const struct rank *a, const struct rank *b) {
    unsigned ahead = (unsigned)(a->round - b->round) % ROUNDS_WRAP;
    return ahead > 2 && ahead < ROUNDS_WRAP - 2;
}

static bool sleeps_in_vain(const struct model *model, const struct state *state, const struct rank *rank) {
    const struct rank *publisher = &state->rank[rank->peer];
    bool published = state->word[rank->peer][slot_of(model, rank->round)] == word_of(model, rank->round);
    bool wake_to_come = publisher->round == rank->round && (publisher->next == CHECK || publisher->next == WAKE);
    return rank->next == ASLEEP && published && !wake_to_come;
}

static enum violation inspect(const struct model *model, const struct state *state) {
    for (unsigned a = 0; a < model->ranks; a++) {
        if (sleeps_in_vain(model, state, &state->rank[a]))
            return LOST_WAKE;
        for (unsigned b = 0; b < a; b++)
            if (too_far_apart(&state->rank[a], &state->rank[b]))
                return DRIFT;
    }
    return NONE;
}

/* A state without a step must be the end of the job. */
static enum violation inspect_end(const struct model *model, const struct state *state) {
    for (unsigned r = 0; r < model->ranks; r++)
        if (state->rank[r].next != DONE)
            return DEADLOCK;
    for (unsigned r = 0; r < model->ranks; r++)
        if (state->sleepers[r] != 0)
            return COUNT_LEFT;
    return NONE;
}

static size_t hash(const struct state *state) {
    uint64_t part[8], sum = 0;
    memcpy(part, state, sizeof part);
    for (size_t i = 0; i < 8; i++) {
        sum = (sum ^ part[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return (size_t)sum;
}

/* The table's entry of `state`, or the free one where it belongs. */
static uint32_t *look_up(const struct search *search, const struct state *state) {
    size_t mask = 2 * search->capacity - 1, at = hash(state) & mask;
    while (search->table[at] != 0 && memcmp(&search->nodes[search->table[at] - 1].state, state, sizeof *state) != 0)
        at = (at + 1) & mask;
    return &search->table[at];
}

static void grow(struct search *search) {
    search->capacity = search->capacity != 0 ? 2 * search->capacity : 1 << 12;
    free(search->table);
    search->table = calloc(2 * search->capacity, sizeof *search->table);
    struct node *nodes = realloc(search->nodes, search->capacity * sizeof *nodes);
    if (search->table == NULL || nodes == NULL) {
        fprintf(stderr, "model_slots: no memory for %zu states\n", search->capacity);
        exit(EXIT_FAILURE);
    }
    search->nodes = nodes;
    for (size_t i = 0; i < search->count; i++)
        *look_up(search, &nodes[i].state) = (uint32_t)i + 1;
}

/* A state that a step led to. One that is known is of no interest, unless the step itself was wrong. */
static void arrive(struct search *search, const struct state *state, unsigned actor, enum step step) {
    if (search->count == search->capacity)
        grow(search);
    uint32_t *entry = look_up(search, state);
    search->steps_used |= 1u << step;
    if (*entry != 0 && search->found == NONE)
        return;
    search->culprit = search->count;
    search->nodes[search->count++] = (struct node){
        .state = *state, .parent = (uint32_t)search->current, .actor = (uint8_t)actor, .step = (uint8_t)step};
    *entry = (uint32_t)search->count;
    if (search->found == NONE)
        search->found = inspect(&search->model, state);
}

/* All that can happen to `me`. False: nothing, or nothing but waking for no reason. */
static bool expand_rank(struct search *search, const struct state *from, unsigned me) {
    const struct rank *rank = &from->rank[me];
    struct state to = *from;
    bool stepped = execute(search, &to, me);
    if (stepped)
        arrive(search, &to, me, rank->next);
    to = *from;
    if (search->found == NONE && copy_ahead(&search->model, &to.rank[me]))
        arrive(search, &to, me, COPY_AHEAD);
    for (unsigned i = 0; i < rank->stores && search->found == NONE; i++) {
        if (!may_drain(&search->model, rank, i))
            continue;
        to = *from;
        drain(&to, me, i);
        arrive(search, &to, me, DRAIN);
    }
    to = *from;
    to.rank[me].next = UNCOUNT;
    if (search->found == NONE && rank->next == ASLEEP)
        arrive(search, &to, me, STIR);
    return stepped || rank->stores != 0;
}

static void expand(struct search *search) {
    const struct state from = search->nodes[search->current].state;
    bool stepped = false;
    for (unsigned me = 0; me < search->model.ranks && search->found == NONE; me++)
        stepped |= expand_rank(search, &from, me);
    if (stepped)
        return;
    search->culprit = search->current;
    search->found = inspect_end(&search->model, &from);
}

static void explore(struct search *search) {
    struct state first;
    memset(&first, 0, sizeof first);
    memset(first.payload, NEVER_WRITTEN, sizeof first.payload);
    for (unsigned r = 0; r < search->model.ranks; r++)
        first.rank[r].round = with(&search->model, START_AT_ZERO) ? 0 : 1;
    arrive(search, &first, 0, DONE);
    for (; search->found == NONE && search->current < search->count; search->current++)
        expand(search);
    unsigned all_steps = ((1u << ASLEEP) - 1) & ~(search->model.pipelined ? 0 : 1u << COPY_AHEAD);
    if (search->found == NONE && (search->steps_used & all_steps) != all_steps)
        search->found = STEP_UNUSED;
}

static void print_trace(const struct search *search, size_t index) {
    const struct node *node = &search->nodes[index];
    if (index != 0)
        print_trace(search, node->parent);
    const struct rank *before = &search->nodes[node->parent].state.rank[node->actor];
    printf("    rank %u, round %u, peer %u: %-26s", node->actor, before->round, before->peer, step_names[node->step]);
    for (unsigned r = 0; r < search->model.ranks; r++) {
        const struct state *s = &node->state;
        printf(" | words %u %u payloads %2x %2x sleepers %u", s->word[r][0], s->word[r][1], s->payload[r][0],
               s->payload[r][1], s->sleepers[r]);
    }
    printf("\n");
}

/* Explores one model; true if it ends as expected. */
static bool run(struct model model, bool all_traces) {
    struct search search = {.model = model};
    clock_t start = clock();
    explore(&search);
    bool as_expected = search.found == model.expected[model.memory];
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("%s, %u ranks, %s, %-9s %-33s", model.memory == TSO ? "TSO" : "PSO", model.ranks,
           model.rounds == 0 ? "for ever" : "5 rounds", model.pipelined ? "pipelined" : "plain", model.name);
    printf("%8zu states %5.2f s  %s%s\n", search.count, seconds, violation_names[search.found],
           as_expected ? "" : "  UNEXPECTED");
    if (search.found != NONE && search.found != STEP_UNUSED && (all_traces || !as_expected))
        print_trace(&search, search.culprit);
    free(search.nodes);
    free(search.table);
    return as_expected;
}

int main(int argc, char **argv) {
    (void)argv;
    static const struct model changed[] = {
        {.name = "one slot", .changes = ONE_SLOT, .expected = {WRONG_PAYLOAD, WRONG_PAYLOAD}},
        {.name = "words of one bit", .changes = ONE_BIT_WORD, .expected = {WRONG_PAYLOAD, WRONG_PAYLOAD}},
        {.name = "first round is 0", .changes = START_AT_ZERO, .expected = {WRONG_PAYLOAD, WRONG_PAYLOAD}},
        {.name = "count checked too early", .changes = EARLY_CHECK, .expected = {LOST_WAKE, LOST_WAKE}},
        {.name = "word read too early", .changes = EARLY_READ, .expected = {LOST_WAKE, LOST_WAKE}},
        {.name = "early, futex_wait a barrier", .changes = EARLY_READ | WAIT_IS_BARRIER},
        {.name = "sleep without a comparison", .changes = NO_COMPARISON, .expected = {LOST_WAKE, LOST_WAKE}},
        {.name = "no release", .changes = NO_RELEASE, .expected = {[PSO] = WRONG_PAYLOAD}},
        {.name = "rank 0 skips rank 2", .ranks = 3, .changes = SKIP_PEER, .expected = {WRONG_PAYLOAD, WRONG_PAYLOAD}},
        {.name = "next payload before the wait",
         .pipelined = true,
         .changes = EARLY_COPY,
         .expected = {WRONG_PAYLOAD, WRONG_PAYLOAD}},
    };
    bool passed = true, all_traces = argc > 1;
    for (unsigned i = 0; i < 16; i++) {
        struct model model = {.name = "as designed", .ranks = 2 + i / 8, .rounds = i & 4 ? 5 : 0};
        model.pipelined = (i & 2) != 0;
        model.memory = i & 1 ? PSO : TSO;
        passed &= run(model, all_traces);
    }
    for (unsigned i = 0; i < 2 * sizeof changed / sizeof changed[0]; i++) {
        struct model model = changed[i / 2];
        model.memory = i & 1 ? PSO : TSO;
        model.ranks = model.ranks != 0 ? model.ranks : 2;
        passed &= run(model, all_traces);
    }
    printf("%s\n", passed ? "ok" : "FAILED");
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
