/* SPDX-License-Identifier: Apache-2.0 */
/* effort.c: the work of each rank in an iteration, gathered on all ranks at its end; and the number of cuts of each
 * stage.
 *
 * Waiting is the time in cb_agree, where the ranks meet before data moves: the first rank there waits for the last. In
 * the collective that follows all ranks are ready, so its time is communication. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sddp/train/trainer.h"

const char *cobre_sddp_effort_name(cobre_sddp_effort effort) {
#define EFFORT_NAME(code, name, unit) name,
    static const char *const names[] = {COBRE_SDDP_EFFORT_MAP(EFFORT_NAME)};
#undef EFFORT_NAME
    return (unsigned)effort < COBRE_SDDP_EFFORTS ? names[effort] : "?";
}

const char *cobre_sddp_effort_unit(cobre_sddp_effort effort) {
#define EFFORT_UNIT(code, name, unit) unit,
    static const char *const units[] = {COBRE_SDDP_EFFORT_MAP(EFFORT_UNIT)};
#undef EFFORT_UNIT
    return (unsigned)effort < COBRE_SDDP_EFFORTS ? units[effort] : "?";
}

const char *cobre_sddp_operation_name(cobre_sddp_operation operation) {
#define OPERATION_NAME(code, name) name,
    static const char *const names[] = {COBRE_SDDP_OPERATION_MAP(OPERATION_NAME)};
#undef OPERATION_NAME
    return (unsigned)operation < COBRE_SDDP_OPERATIONS ? names[operation] : "?";
}

void cb_tally_add(cb_trainer *trainer, cobre_sddp_effort effort, double begin) {
    trainer->tally.spent[effort] += cb_clock() - begin;
}

void cb_tally_operation(cb_trainer *trainer, cobre_sddp_operation operation, size_t calls, size_t bytes, double begin) {
    cb_tally *tally = &trainer->tally;
    double seconds = cb_clock() - begin;
    tally->spent[COBRE_SDDP_EFFORT_COMMUNICATION] += seconds;
    tally->spent[COBRE_SDDP_EFFORTS + operation] += seconds;
    tally->since[operation].calls += calls;
    tally->since[operation].bytes += bytes;
}

static int compare_stages(const void *one, const void *other) {
    size_t first = *(const size_t *)one, second = *(const size_t *)other;
    return first < second ? -1 : first > second;
}

/* Numbers of stages may have gaps. */
static bool place_nodes(cb_trainer *trainer) {
    cb_tally *tally = &trainer->tally;
    const cobre_sddp_problem *problem = trainer->problem;
    size_t *stage = malloc((problem->nodes + 1) * sizeof *stage), count = 0;
    if (!stage)
        return false;
    for (size_t n = 0; n < problem->nodes; n++)
        stage[n] = problem->node[n].stage;
    qsort(stage, problem->nodes, sizeof *stage, compare_stages);
    for (size_t n = 0; n < problem->nodes; n++)
        if (n == 0 || stage[n] != stage[count - 1])
            stage[count++] = stage[n];
    for (size_t n = 0; n < problem->nodes; n++) {
        const size_t *place = bsearch(&(size_t){problem->node[n].stage}, stage, count, sizeof *stage, compare_stages);
        tally->node_place[n] = place ? (size_t)(place - stage) : 0;
    }
    tally->stages = count;
    free(stage);
    return true;
}

/* A cut belongs to the stage whose future cost it bounds: that of its node, or, of multi-cuts, that of the first node that
 * leads to the node of its outcome. */
static void place_functions(cb_trainer *trainer) {
    const cobre_sddp_policy *policy = trainer->policy;
    const cobre_sddp_problem *problem = trainer->problem;
    for (size_t n = problem->nodes; n-- > 0;) {
        const cb_node *node = &problem->node[n];
        size_t place = trainer->tally.node_place[n];
        if (!policy->kind.multi_cut)
            trainer->tally.function_place[policy->function[n]] = place;
        for (size_t e = 0; e < node->edges && policy->kind.multi_cut; e++)
            for (size_t o = 0; o < problem->node[node->edge[e].to].outcomes; o++)
                trainer->tally.function_place[policy->function[node->edge[e].to] + o] = place;
    }
}

static double cpu_seconds(void) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
}

bool cb_tally_init(cb_trainer *trainer) {
    cb_tally *tally = &trainer->tally;
    cb_arena *memory = &trainer->memory;
    size_t nodes = trainer->problem->nodes;
    tally->all = cb_arena_alloc(memory, trainer->ranks, CB_TALLIES * sizeof *tally->all);
    tally->effort = cb_arena_alloc(memory, trainer->ranks, COBRE_SDDP_EFFORTS * sizeof *tally->effort);
    tally->counts = cb_arena_alloc(memory, trainer->ranks, sizeof *tally->counts);
    tally->displs = cb_arena_alloc(memory, trainer->ranks, sizeof *tally->displs);
    tally->node_place = cb_arena_alloc(memory, nodes, sizeof *tally->node_place);
    tally->function_place = cb_arena_alloc(memory, trainer->policy->pool.functions, sizeof *tally->function_place);
    tally->made = cb_arena_alloc(memory, nodes, sizeof *tally->made);
    tally->kept = cb_arena_alloc(memory, nodes, sizeof *tally->kept);
    tally->active = cb_arena_alloc(memory, nodes, sizeof *tally->active);
    if (memory->failed || !place_nodes(trainer))
        return false;
    place_functions(trainer);
    for (size_t r = 0; r < trainer->ranks; r++) {
        tally->counts[r] = CB_TALLIES;
        tally->displs[r] = r * CB_TALLIES;
    }
    tally->told_time = cb_clock();
    tally->cpu_before = cpu_seconds();
    return true;
}

/* RssShmem is what the ranks share: pages of files, such as those of libraries, are not counted. */
static void look_at_memory(cb_tally *tally) {
    char text[4096];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    const char *all = strstr(text, "VmRSS:"), *shared = strstr(text, "RssShmem:");
    tally->spent[COBRE_SDDP_EFFORT_MEMORY] = all ? 1024 * strtod(all + strlen("VmRSS:"), NULL) : 0;
    tally->spent[COBRE_SDDP_EFFORT_SHARED] = shared ? 1024 * strtod(shared + strlen("RssShmem:"), NULL) : 0;
}

/* What the clocks say; memory at most ten times a second. */
static void look(cb_tally *tally, double now) {
    double known = 0, before = 0;
    tally->spent[COBRE_SDDP_EFFORT_CPU] = cpu_seconds() - tally->cpu_before;
    if (tally->memory_time == 0 || now - tally->memory_time > 0.1) {
        look_at_memory(tally);
        tally->memory_time = now;
    }
    for (size_t e = 0; e < COBRE_SDDP_EFFORT_OTHER; e++) {
        known += tally->spent[e];
        before += tally->told[e];
    }
    double other = now - tally->told_time - (known - before);
    tally->spent[COBRE_SDDP_EFFORT_OTHER] += other > 0 ? other : 0;
    tally->told_time = now;
}

static bool is_level(size_t effort) {
    return effort == COBRE_SDDP_EFFORT_MEMORY || effort == COBRE_SDDP_EFFORT_SHARED;
}

static void sort_by_kind(cb_trainer *trainer) {
    cb_tally *tally = &trainer->tally;
    size_t ranks = trainer->ranks;
    for (size_t r = 0; r < ranks; r++)
        for (size_t e = 0; e < COBRE_SDDP_EFFORTS; e++)
            tally->effort[e * ranks + r] = tally->all[r * CB_TALLIES + e];
    for (size_t o = 0; o < COBRE_SDDP_OPERATIONS; o++) {
        double seconds = 0;
        for (size_t r = 0; r < ranks; r++)
            seconds += tally->all[r * CB_TALLIES + COBRE_SDDP_EFFORTS + o];
        tally->traffic[o] = tally->since[o];
        tally->traffic[o].seconds = seconds / (double)ranks;
        tally->since[o] = (cobre_sddp_traffic){0};
    }
}

/* made goes on from where it was: all cuts that have come since. */
static void count_cuts(cb_trainer *trainer) {
    cb_tally *tally = &trainer->tally;
    const cobre_sddp_policy *policy = trainer->policy;
    for (; tally->counted < policy->pool.cuts; tally->counted++) {
        size_t function = (size_t)cb_pool_cut(&policy->pool, tally->counted)[CB_CUT_FUNCTION];
        tally->made[tally->function_place[function]]++;
    }
    memset(tally->kept, 0, tally->stages * sizeof *tally->kept);
    memset(tally->active, 0, tally->stages * sizeof *tally->active);
    for (size_t f = 0; f < policy->pool.functions; f++)
        tally->kept[tally->function_place[f]] += policy->pool.list[f].count;
    for (size_t n = 0; n < trainer->problem->nodes; n++)
        tally->active[tally->node_place[n]] += policy->start[n].cuts;
}

cobre_status cb_tally_tell(cb_trainer *trainer) {
    cb_tally *tally = &trainer->tally;
    double own[CB_TALLIES];
    look(tally, cb_clock());
    for (size_t i = 0; i < CB_TALLIES; i++) {
        own[i] = tally->spent[i] - (is_level(i) ? 0 : tally->told[i]);
        tally->told[i] = tally->spent[i];
    }
    double begin = cb_clock();
    CB_TRY(cobre_allgatherv_t(trainer->comm, own, CB_TALLIES, tally->all, trainer->ranks * CB_TALLIES, tally->counts,
                              tally->displs));
    sort_by_kind(trainer);
    cb_tally_operation(trainer, COBRE_SDDP_OPERATION_ALLGATHERV, 1, trainer->ranks * CB_TALLIES * sizeof *tally->all,
                       begin);
    if (trainer->rank == 0)
        count_cuts(trainer);
    return COBRE_OK;
}

void cb_tally_leave_out(cb_trainer *trainer, const cb_tally *before, double seconds) {
    cb_tally *tally = &trainer->tally;
    memcpy(tally->spent, before->spent, sizeof tally->spent);
    memcpy(tally->since, before->since, sizeof tally->since);
    tally->told_time += seconds;
}

void cb_tally_close(cb_trainer *trainer) {
    look(&trainer->tally, cb_clock());
}

void cb_tally_show(const cb_trainer *trainer, cobre_sddp_progress *progress) {
    const cb_tally *tally = &trainer->tally;
    progress->ranks = trainer->ranks;
    progress->effort = tally->effort;
    progress->traffic = tally->traffic;
    if (trainer->rank > 0)
        return;
    progress->stages = tally->stages;
    progress->cuts_made = tally->made;
    progress->cuts_kept = tally->kept;
    progress->cuts_active = tally->active;
}
