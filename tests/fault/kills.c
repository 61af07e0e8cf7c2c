/* SPDX-License-Identifier: Apache-2.0 */
/* kills.c: SIGKILL at random moments, and of ranks that make it hard to see. */
#include "fault/operations.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    uint64_t seed;
    cobre_status (*work)(tools *t, uint64_t *state);
    void (*before)(void); /* called by the victim, NULL: nothing */
    size_t victim;
} plan;

/* Works until something fails, then tries again, then cleans up. */
static void work_until_failure(void) {
    uint64_t state = plan.seed;
    tools t = equip();
    if (self.rank == plan.victim && plan.before)
        plan.before();
    CHECK_OK(cobre_barrier(t.comm));
    say("ready", (uint64_t)getpid());
    while (plan.work(&t, &state) == COBRE_OK)
        ;
    tell("failed", cobre_last_error()->status);
    tell("again", cobre_barrier(t.comm));
    put_away(&t);
}

/* Microseconds from a kill to a survivor's error; all who work side by side write it. */
static _Atomic uint64_t *worst;

static void note_worst(double seconds) {
    if (!worst)
        worst = mmap(NULL, sizeof *worst, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(worst != MAP_FAILED);
    uint64_t now = (uint64_t)(1e6 * seconds), before = *worst;
    while (before < now && !atomic_compare_exchange_weak(worst, &before, now))
        ;
}

static void check_survivors(job *j, double since) {
    for (size_t r = 0; r < j->size; r++) {
        if (r == plan.victim)
            continue;
        const report *failed = await(j, r, "failed");
        must_have_failed(j, failed, COBRE_CAUSE_PEER_DIED, plan.victim, since);
        note_worst(failed->time - since);
        must_have_failed(j, await(j, r, "again"), COBRE_CAUSE_PEER_DIED, plan.victim, failed->time);
    }
}

static void kill_after(size_t size, double seconds) {
    job j;
    start_job(&j, size, work_until_failure);
    await_all(&j, "ready");
    set_aside(seconds);
    for (size_t r = 0; r < size; r++)
        CHECK_SAY(!has_reported(&j, r, "failed"), "nobody fails before the kill");
    check_survivors(&j, kill_rank(&j, plan.victim));
    end_job(&j);
}

static double moment(double up_to) {
    return up_to * 1e-6 * (double)kit_below(chance(), 1000001);
}

static void kill_often(size_t times, void (*once)(size_t index)) {
    note_worst(0); /* before the workers are made, so that they share it */
    side_by_side(backend == COBRE_TCP ? 4 : 2, times, once);
    printf("%zu kills; the slowest survivor knew after %.1f ms\n", times, 1e-3 * (double)*worst);
}

static void random_kill(size_t i) {
    plan.seed = kit_random(chance());
    plan.victim = i % 4;
    kill_after(4, moment(0.02));
}

static void random_kills(void) {
    plan.work = mixed_collectives;
    kill_often(kit_times(200), random_kill);
}

/* Many rounds: most kills fall into the middle of the operation. */
static cobre_status long_operations(tools *t, uint64_t *state) {
    static const char *const wanted[] = {"allreduce_large", "allgatherv_large", "broadcast_large"};
    const char *name = wanted[kit_below(state, 3)];
    for (size_t o = 0; o < operation_count(); o++)
        if (strcmp(operations[o].name, name) == 0)
            return operations[o].call(t);
    CHECK_NEVER("no operation %s", name);
}

static void kill_in_large_operation(size_t i) {
    plan.seed = kit_random(chance());
    plan.victim = i % 3;
    kill_after(3, moment(0.02));
}

static void kills_in_large_operations(void) {
    plan.work = long_operations;
    kill_often(kit_times(40), kill_in_large_operation);
}

static void grow_large(void) {
    map_gib(16);
}

static void kill_of_a_large_rank(void) {
    plan.work = mixed_collectives;
    plan.before = grow_large;
    plan.victim = backend == COBRE_TCP ? 0 : 1; /* who has most to do: rank 0 on tcp; on shm all are alike */
    kill_after(2, moment(0.02));
    printf("the survivor knew after %.1f ms\n", 1e-3 * (double)*worst);
}

/* The child keeps the descriptors, the mapping and a copy of everything, and sleeps. */
static void leave_a_child(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    while (child == 0)
        pause();
    say("child", (uint64_t)child);
}

static void kill_of_a_parent(void) {
    plan.work = mixed_collectives;
    plan.before = leave_a_child;
    for (size_t i = 0; i < 6; i++) {
        job j;
        plan.seed = kit_random(chance());
        plan.victim = i % 3;
        start_job(&j, 3, work_until_failure);
        pid_t child = (pid_t)await(&j, plan.victim, "child")->number;
        await_all(&j, "ready");
        set_aside(moment(0.02));
        check_survivors(&j, kill_rank(&j, plan.victim));
        CHECK(kill(child, 0) == 0); /* it lived through all of this */
        kill(child, SIGKILL);
        end_job(&j);
    }
}

/* A launcher and its ranks, which we adopt when they are dead. */
static job inner;

static void be_launcher(void) {
    job *outer = self.j;
    self.j = NULL;
    inner = (job){.size = 3, .port = outer->port, .pipe = {outer->pipe[0], outer->pipe[1]}};
    snprintf(inner.name, sizeof inner.name, "%s", outer->name);
    for (size_t r = 0; r < inner.size; r++)
        start_rank(&inner, r, work_until_failure);
    for (;;)
        pause();
}

static void kill_of_everybody(void) {
    plan.work = mixed_collectives;
    plan.victim = KIT_MAX_RANKS;
    for (size_t i = 0; i < 10; i++) {
        job j;
        plan.seed = kit_random(chance());
        make_job(&j, 3);
        start_rank(&j, 0, be_launcher);
        pid_t ranks[3];
        for (size_t r = 0; r < 3; r++)
            ranks[r] = (pid_t)await(&j, r, "ready")->number;
        set_aside(moment(0.01));
        CHECK(!name_exists(j.name)); /* it has formed, so it has no name to leave */
        kill_rank(&j, 0);
        for (size_t r = 0; r < 3; r++)
            kill(ranks[r], SIGKILL);
        await_end(&j, 0);
        for (size_t r = 0; r < 3; r++)
            CHECK(waitpid(ranks[r], NULL, 0) == ranks[r]);
        end_job(&j);
    }
}

const check_case kill_cases[] = {
    {.name = "random_kills", .run = random_kills, .timed = true, .busy = true},
    {.name = "kills_in_large_operations", .run = kills_in_large_operations, .timed = true, .busy = true},
    {.name = "kill_of_a_large_rank", .run = kill_of_a_large_rank, .timed = true, .busy = true},
    {.name = "kill_of_a_parent", .run = kill_of_a_parent, .timed = true},
    {.name = "kill_of_everybody", .run = kill_of_everybody, .busy = true},
    CHECK_END,
};
