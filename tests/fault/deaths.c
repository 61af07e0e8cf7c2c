/* SPDX-License-Identifier: Apache-2.0 */
/* deaths.c: a rank ends before, inside and between all operations, by SIGKILL, by _exit, by exit and by leaving in
 * order. Every survivor must name it, at once and from then on, and must be able to clean up. */
#include "fault/operations.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum moment {
    BEFORE,   /* it is gone before the others enter */
    AWAITED,  /* between two operations, while the others wait for it */
    INSIDE,   /* it waits inside itself, because another rank has not come, which then comes */
    DESERTED, /* the same, but that rank does not come before the others know */
};

enum way { KILL, QUIET_EXIT, EXIT, FREE };

static bool victim_waits(enum moment moment) {
    return moment == INSIDE || moment == DESERTED;
}

static struct {
    const operation *operation;
    enum moment moment;
    enum way way;
    size_t victim;
} plan;

static tools bag;

static void *end_when_told(void *argument) {
    (void)argument;
    await_order();
    say(plan.way == QUIET_EXIT ? "ends" : "leaves", 0);
    if (plan.way == QUIET_EXIT)
        _exit(0);
    if (plan.way == EXIT)
        exit(0);                       /* what a return from main does */
    CHECK(!victim_waits(plan.moment)); /* one call at a time */
    put_away(&bag);
    say("left", 0);
    await_order(); /* it has left, but lives on */
    exit(0);
}

static void be_victim(void) {
    pthread_t thread;
    if (!victim_waits(plan.moment))
        end_when_told(NULL);
    CHECK(pthread_create(&thread, NULL, end_when_told, NULL) == 0);
    report_inside();
    plan.operation->call(&bag);
    /* exit() takes its time, above all under a sanitizer: the call may end, well or not, before the process does. */
    CHECK_SAY(plan.way == EXIT, "the victim returned");
    for (;;)
        pause();
}

static cobre_status try_once(void) {
    say("entered", 0);
    report_inside();
    return tell("returned", plan.operation->call(&bag));
}

static void body(void) {
    bag = equip();
    CHECK_OK(cobre_barrier(bag.comm));
    if (plan.moment == AWAITED)
        CHECK_OK(plan.operation->call(&bag));
    say("ready", 0);
    if (self.rank == plan.victim)
        be_victim();
    await_order();
    if (try_once() == COBRE_OK)
        try_once();
    tell("again", plan.operation->call(&bag));
    tell("barrier", cobre_barrier(bag.comm));
    put_away(&bag);
    say("free", 0);
}

static double end_victim(job *j) {
    if (plan.way == KILL)
        return kill_rank(j, plan.victim);
    mark_time(j);
    order(j, plan.victim, 'e');
    return await(j, plan.victim, plan.way == QUIET_EXIT ? "ends" : "leaves")->time;
}

static void await_victims_end(job *j) {
    if (plan.way == FREE)
        await(j, plan.victim, "left");
    else
        await_end(j, plan.victim);
}

/* Inside, the survivor that has not come is the last one. */
static size_t latecomer(const job *j) {
    return plan.victim == j->size - 1 ? j->size - 2 : j->size - 1;
}

static double send_survivors(job *j) {
    double deed = 0;
    if (plan.moment == BEFORE) {
        deed = end_victim(j);
        await_victims_end(j);
    }
    for (size_t r = 0; r < j->size; r++)
        if (r != plan.victim && !(victim_waits(plan.moment) && r == latecomer(j)))
            order(j, r, 'g');
    if (plan.moment == BEFORE)
        return deed;
    for (size_t r = 0; r < j->size; r++)
        if (victim_waits(plan.moment) ? r != latecomer(j) : r != plan.victim)
            await(j, r, "inside");
    deed = end_victim(j);
    if (plan.moment == INSIDE) {
        await_victims_end(j);
        order(j, latecomer(j), 'g');
    }
    return deed;
}

static void check_survivor(job *j, size_t r, double since) {
    cobre_cause cause = plan.way == KILL || plan.way == QUIET_EXIT ? COBRE_CAUSE_PEER_DIED : COBRE_CAUSE_PEER_LEFT;
    const report *returned = await(j, r, "returned");
    if (returned->status == COBRE_OK) {
        /* The victim had published its part: the others may finish, once. So they may while it is busy with its exit(). */
        CHECK(plan.moment == INSIDE || plan.way == EXIT);
        since = fmax(since, await(j, r, "entered")->time);
        returned = await(j, r, "returned");
    }
    must_have_failed(j, returned, cause, plan.victim, since);
    double before = returned->time;
    const char *further[] = {"again", "barrier"};
    for (size_t i = 0; i < 2; i++) {
        const report *failed = await(j, r, further[i]);
        must_have_failed(j, failed, cause, plan.victim, before);
        before = failed->time;
    }
    must_come_within(j, await(j, r, "free"), before, 10); /* no promise, but it waits for no other rank */
}

static double time_entered(job *j, size_t r) {
    j->rank[r].seen = 0; /* it may lie before "inside", which was looked at */
    return await(j, r, "entered")->time;
}

static void run_one(size_t size) {
    job j;
    start_job(&j, size, body);
    await_all(&j, "ready");
    double deed = send_survivors(&j);
    size_t late = plan.moment == DESERTED ? latecomer(&j) : plan.victim;
    for (size_t r = 0; r < size; r++)
        if (r != plan.victim && r != late)
            check_survivor(&j, r, fmax(deed, time_entered(&j, r)));
    if (plan.moment == DESERTED) {
        order(&j, late, 'g');
        check_survivor(&j, late, time_entered(&j, late));
    }
    if (plan.way == FREE)
        order(&j, plan.victim, 'e');
    end_job(&j);
}

static const size_t sizes[][2] = {{2, 0}, {2, 1}, {3, 1}, {4, 0}, {4, 3}}; /* ranks, victim */
enum { SIZES = sizeof sizes / sizeof *sizes };

static void one_operation(size_t index) {
    size_t o = index / SIZES, s = index % SIZES;
    if ((KIT_SANITIZED && (o + s) % 2) || (plan.moment == DESERTED && sizes[s][0] == 2))
        return;
    plan.operation = &operations[o];
    plan.victim = sizes[s][1];
    run_one(sizes[s][0]);
}

static void each_operation(enum way way, enum moment moment) {
    plan.way = way;
    plan.moment = moment;
    side_by_side(backend == COBRE_TCP ? 4 : 2, operation_count() * SIZES, one_operation);
}

#define CASE(name, way, moment)                                                                                        \
    static void name(void) {                                                                                           \
        each_operation(way, moment);                                                                                   \
    }
CASE(kill_before, KILL, BEFORE)
CASE(kill_between, KILL, AWAITED)
CASE(kill_inside, KILL, INSIDE)
CASE(kill_inside_one_away, KILL, DESERTED)
CASE(quiet_exit_before, QUIET_EXIT, BEFORE)
CASE(quiet_exit_between, QUIET_EXIT, AWAITED)
CASE(quiet_exit_inside, QUIET_EXIT, INSIDE)
CASE(exit_before, EXIT, BEFORE)
CASE(exit_between, EXIT, AWAITED)
CASE(exit_inside, EXIT, INSIDE)
CASE(exit_inside_one_away, EXIT, DESERTED)
CASE(free_before, FREE, BEFORE)
CASE(free_between, FREE, AWAITED)

const check_case death_cases[] = {
    {.name = "kill_before", .run = kill_before, .timed = true, .busy = true},
    {.name = "kill_between", .run = kill_between, .timed = true, .busy = true},
    {.name = "kill_inside", .run = kill_inside, .timed = true, .busy = true},
    {.name = "kill_inside_one_away", .run = kill_inside_one_away, .timed = true, .busy = true},
    {.name = "quiet_exit_before", .run = quiet_exit_before, .timed = true, .busy = true},
    {.name = "quiet_exit_between", .run = quiet_exit_between, .timed = true, .busy = true},
    {.name = "quiet_exit_inside", .run = quiet_exit_inside, .timed = true, .busy = true},
    {.name = "exit_before", .run = exit_before, .timed = true, .busy = true},
    {.name = "exit_between", .run = exit_between, .timed = true, .busy = true},
    {.name = "exit_inside", .run = exit_inside, .timed = true, .busy = true},
    {.name = "exit_inside_one_away", .run = exit_inside_one_away, .timed = true, .busy = true},
    {.name = "free_before", .run = free_before, .timed = true, .busy = true},
    {.name = "free_between", .run = free_between, .timed = true, .busy = true},
    CHECK_END,
};
