/* SPDX-License-Identifier: Apache-2.0 */
/* waiting.c: what may end a wait and what may not: a frozen rank, the stall limit, the hook, an abort; and what it
 * costs. */
#include "fault/operations.h"
#include "kit/sentinel.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef COBRE_SHM_PORTABLE
enum { TIMED_NAPS = 1 };
#else
enum { TIMED_NAPS = 0 };
#endif

static struct {
    size_t away; /* the rank that stays away, freezes, or aborts */
    double stall_secs;
    int (*hook)(void *);
    bool armed;     /* the hook may stop the call */
    bool computing; /* the others are not in a call when it happens */
    bool beside;    /* who aborts has a thread in a call */
} plan;

static cobre_comm *open_as_planned(void) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    config.stall_secs = plan.stall_secs;
    if (plan.hook)
        config.interrupted = plan.hook;
    CHECK_OK(cobre_comm_open(&config, &comm));
    return comm;
}

static cobre_status sum_ranks(cobre_comm *comm) {
    uint64_t mine = self.rank + 1, sum = 0;
    cobre_status status = cobre_allreduce(comm, &mine, 1, &sum, 1, COBRE_U64, COBRE_SUM);
    CHECK(status || sum == self.size * (self.size + 1) / 2);
    return status;
}

/* Everybody but one goes on at once. */
static void wait_for_one(void) {
    cobre_comm *comm = open_as_planned();
    CHECK_OK(cobre_barrier(comm));
    say("ready", 0);
    if (self.rank == plan.away)
        await_order();
    report_inside();
    say("entered", 0);
    tell("returned", sum_ranks(comm));
    tell("again", sum_ranks(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

static void await_waiters(job *j) {
    for (size_t r = 0; r < j->size; r++)
        if (r != plan.away)
            await(j, r, "inside");
}

static void must_succeed(job *j) {
    for (size_t r = 0; r < j->size; r++) {
        CHECK(await(j, r, "returned")->status == COBRE_OK);
        CHECK(await(j, r, "again")->status == COBRE_OK);
    }
    end_job(j);
}

static void nobody_returns_for(job *j, double seconds) {
    double end = kit_seconds() + seconds;
    do {
        set_aside(0.05);
        for (size_t r = 0; r < j->size; r++)
            CHECK_SAY(!has_reported(j, r, "returned"), "rank %zu goes on waiting", r);
    } while (kit_seconds() < end);
}

/* Frozen outside of a call, in a sleep inside of one, and as rank 0. */
static void frozen_rank(void) {
    for (size_t away = 0; away < 3; away += 2) {
        job j;
        plan.away = away;
        start_job(&j, 3, wait_for_one);
        await_all(&j, "ready");
        await_waiters(&j);
        CHECK(kill(j.rank[away].pid, SIGSTOP) == 0);
        nobody_returns_for(&j, 1.5);
        order(&j, away, 'g');
        CHECK(kill(j.rank[away].pid, SIGCONT) == 0);
        must_succeed(&j);

        size_t sleeper = away ? 0 : 1; /* this one waits inside */
        if (backend == COBRE_TCP && sleeper == 0)
            continue; /* there everything goes through rank 0 */
        start_job(&j, 3, wait_for_one);
        await_all(&j, "ready");
        await_waiters(&j);
        CHECK(kill(j.rank[sleeper].pid, SIGSTOP) == 0);
        order(&j, away, 'g');
        size_t third = 3 - away - sleeper; /* its "again" needs the frozen one */
        CHECK(await(&j, third, "returned")->status == COBRE_OK);
        set_aside(1.0);
        CHECK(!has_reported(&j, third, "again"));
        CHECK(kill(j.rank[sleeper].pid, SIGCONT) == 0);
        j.rank[third].seen = 0;
        must_succeed(&j);
    }
}

/* False if the machine was so slow that another rank may have come after the limit, too. */
static bool stall(size_t away, double limit) {
    job j;
    plan.away = away;
    plan.stall_secs = limit;
    start_job(&j, 3, wait_for_one);
    double first = INFINITY, last = 0; /* who enters first is the first to find the limit over, and tells the others */
    for (size_t r = 0; r < 3; r++)
        if (r != away) {
            double entered = await(&j, r, "entered")->time;
            first = fmin(first, entered);
            last = fmax(last, entered);
        }
    const report *returned[3];
    for (size_t i = 1; i <= 3; i++) {
        size_t r = (away + i) % 3;
        if (r == away)
            order(&j, away, 'g'); /* who comes too late hears the same */
        returned[r] = await(&j, r, "returned");
    }
    bool in_time = last - first < limit / 2 && sentinel_lost(first, last + limit) < limit / 4;
    for (size_t r = 0; r < 3 && in_time; r++) {
        must_have_failed(&j, returned[r], COBRE_CAUSE_STALLED, away, returned[r]->time);
        CHECK_SAY(returned[r]->time - first >= limit, "rank %zu waits for %g s, not %.6f s", r, limit,
                  returned[r]->time - first);
        if (r != away) /* on tcp rank 0 decides, and the others only if it does not, a second later */
            must_come_within(&j, returned[r], first, limit + (backend == COBRE_TCP && away == 0) + PROMISE);
    }
    end_job(&j);
    return in_time;
}

static void stall_limit(void) {
    for (size_t away = 0; away < 3; away++)
        for (double limit = 0.3; !stall(away, limit);)
            limit *= 2;
}

static void no_stall_limit(void) {
    job j;
    plan.away = 1;
    start_job(&j, 3, wait_for_one);
    await_all(&j, "ready");
    await_waiters(&j);
    nobody_returns_for(&j, 2);
    order(&j, 1, 'g');
    must_succeed(&j);
}

/* ---- The hook ---- */

static volatile sig_atomic_t asked, signalled;

static int stop_rank_1(void *argument) {
    (void)argument;
    asked += plan.armed;
    return self.rank == 1 && asked > 4;
}

static void wait_until_stopped(void) {
    plan.armed = false;
    cobre_comm *comm = open_as_planned();
    CHECK_OK(cobre_barrier(comm));
    plan.armed = true; /* from here on it waits for rank 0, which does not come */
    say("ready", 0);
    if (self.rank == plan.away)
        await_order();
    tell("returned", sum_ranks(comm));
    tell("again", sum_ranks(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

static void interrupted(void) {
    job j;
    plan.hook = stop_rank_1;
    plan.away = 0;
    start_job(&j, 3, wait_until_stopped);
    await_all(&j, "ready");
    const report *first = await(&j, 1, "returned");
    must_have_failed(&j, first, COBRE_CAUSE_INTERRUPTED, 1, first->time);
    const report *other = await(&j, 2, "returned");
    must_have_failed(&j, other, COBRE_CAUSE_INTERRUPTED, 1, other->time);
    must_come_within(&j, other, first->time, PROMISE);
    order(&j, 0, 'g');
    const report *late = await(&j, 0, "returned");
    must_have_failed(&j, late, COBRE_CAUSE_INTERRUPTED, 1, late->time);
    for (size_t r = 0; r < 3; r++) {
        const report *again = await(&j, r, "again");
        must_have_failed(&j, again, COBRE_CAUSE_INTERRUPTED, 1, again->time);
    }
    end_job(&j);
}

static cobre_comm *waited_on; /* NULL: the hook makes no call */

static int make_a_call(void *argument) {
    (void)argument;
    if (waited_on && !asked++)
        tell("refused", cobre_barrier(waited_on));
    return 0;
}

static void wait_with_a_calling_hook(void) {
    cobre_comm *comm = open_as_planned();
    CHECK_OK(cobre_barrier(comm));
    waited_on = comm;
    if (self.rank == plan.away)
        await_order();
    tell("returned", sum_ranks(comm));
    tell("again", sum_ranks(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

/* A hook must not call: its call is refused, and the one that asks it goes on. */
static void hook_makes_a_call(void) {
    job j;
    plan.hook = make_a_call;
    plan.away = 0;
    plan.stall_secs = 0;
    start_job(&j, 3, wait_with_a_calling_hook);
    for (size_t r = 1; r < 3; r++) {
        const report *refused = await(&j, r, "refused");
        CHECK(refused->status == COBRE_INVALID_COMMUNICATOR && strstr(refused->message, "interrupted hook"));
    }
    order(&j, 0, 'g');
    must_succeed(&j);
}

static int stop_at_once(void *argument) {
    (void)argument;
    return ++asked > 3;
}

static void join_until_stopped(void) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    config.interrupted = stop_at_once;
    tell("opened", cobre_comm_open(&config, &comm));
    CHECK(comm == NULL);
}

static void interrupted_join(void) {
    for (size_t rank = 0; rank < 2; rank++) {
        job j;
        make_job(&j, 2);
        start_rank(&j, rank, join_until_stopped);
        const report *opened = await(&j, rank, "opened");
        CHECK(opened->status == COBRE_INITIALIZATION_FAILED && strstr(opened->message, "interrupted"));
        end_job(&j);
    }
}

static int count_questions(void *argument) {
    asked++;
    return rank_config().interrupted(argument);
}

static void ask_and_count(void) {
    cobre_comm *comm = open_as_planned();
    CHECK_OK(cobre_barrier(comm));
    say("ready", 0);
    if (self.rank == 1)
        await_order();
    asked = 0;
    report_inside();
    say("entered", 0);
    CHECK_OK(cobre_barrier(comm));
    say("asked", (uint64_t)asked);
    CHECK_OK(cobre_comm_free(&comm));
}

static void hook_is_asked_often(void) {
    job j;
    plan.hook = count_questions;
    start_job(&j, 2, ask_and_count);
    double entered = await(&j, 0, "entered")->time;
    await(&j, 0, "inside");
    set_aside(1);
    order(&j, 1, 'g');
    const report *r = await(&j, 0, "asked");
    CHECK(r->time - entered >= 1);
    CHECK_SAY((double)(r->number + 1) >= 10 * time_given(&j, 0, entered, r->time),
              "the hook is asked every 100 ms, not %d times in %.3f s, of which the rank could run in %.3f s",
              (int)r->number, r->time - entered, time_given(&j, 0, entered, r->time));
    end_job(&j);
}

static void on_signal(int number) {
    (void)number;
    signalled = 1;
}

/* A signal comes, the next question must come soon after it, so that a program can stop on it. */
static int answer_signals(void *argument) {
    (void)argument;
    if (signalled) {
        signalled = 0;
        say("asked", 0);
    }
    return 0;
}

static void wait_with_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    wait_for_one();
}

static void signal_asks_hook(void) {
    job j;
    enum { TIMES = 21 };
    size_t soon = 0;
    plan.hook = answer_signals;
    plan.away = 1;
    start_job(&j, 2, wait_with_signals);
    await_all(&j, "ready");
    await(&j, 0, "entered");
    set_aside(0.05); /* let it fall asleep; if it has not yet, the first question comes even sooner */
    for (int i = 0; i < TIMES; i++) {
        set_aside(0.001 + 1e-6 * (double)kit_below(chance(), 20000));
        double sent = mark_time(&j);
        CHECK(kill(j.rank[0].pid, SIGUSR1) == 0);
        const report *r = await(&j, 0, "asked");
        must_come_within(&j, r, sent, SLOWNESS * 0.1);
        soon += time_given(&j, 0, sent, r->time) < 0.01;
    }
    CHECK_SAY(TIMED_NAPS || soon > TIMES / 2, "a signal ends the sleep: only %zu of %d questions came soon", soon,
              TIMES);
    order(&j, 1, 'g');
    must_succeed(&j);
}

/* ---- Abort ---- */

static void *wait_inside(void *comm) {
    report_inside();
    return sum_ranks(comm) ? comm : NULL;
}

static void abort_or_wait(void) {
    cobre_comm *comm = open_as_planned();
    pthread_t thread;
    CHECK_OK(cobre_barrier(comm));
    say("ready", 0);
    if (self.rank == plan.away) {
        if (plan.beside)
            CHECK(pthread_create(&thread, NULL, wait_inside, comm) == 0);
        await_order();
        say("leaves", 0);
        cobre_abort(comm, 7, "the reservoir \"A\" is empty");
    }
    if (plan.computing)
        await_order();
    report_inside();
    tell("returned", sum_ranks(comm));
    tell("again", cobre_barrier(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

static void abort_run(size_t size, size_t away, bool computing) {
    job j;
    plan.away = away;
    plan.computing = computing;
    start_job(&j, size, abort_or_wait);
    await_all(&j, "ready");
    if (!computing)
        await_waiters(&j);
    if (plan.beside)
        await(&j, away, "inside");
    mark_time(&j);
    order(&j, away, 'a');
    double since = await(&j, away, "leaves")->time;
    int status = await_end(&j, away);
    CHECK_SAY(WIFEXITED(status) && WEXITSTATUS(status) == 7, "exit code 7, not wait status %#x", (unsigned)status);
    j.rank[away].killed = true; /* its end is checked */
    for (size_t r = 0; r < size; r++) {
        if (r == away)
            continue;
        if (computing) {
            since = mark_time(&j);
            order(&j, r, 'g');
        }
        const report *returned = await(&j, r, "returned");
        must_have_failed(&j, returned, COBRE_CAUSE_ABORTED, away, since);
        CHECK_SAY(strstr(returned->message, "the reservoir \"A\" is empty"), "the text is there: %s",
                  returned->message);
        CHECK(strstr(returned->message, "7"));
        const report *again = await(&j, r, "again");
        must_have_failed(&j, again, COBRE_CAUSE_ABORTED, away, again->time);
    }
    end_job(&j);
}

static void abort_with_text(void) {
    for (size_t size = 2; size <= 4; size++) {
        abort_run(size, 0, false);
        abort_run(size, size - 1, false);
        abort_run(size, size - 1, true);
        abort_run(size, 0, true);
    }
}

static void abort_beside_a_call(void) {
    plan.beside = true;
    for (size_t away = 0; away < 3; away += 2)
        abort_run(3, away, true);
    plan.beside = false;
}

/* ---- Cost ---- */

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void wait_and_measure(void) {
    cobre_comm *comm = open_as_planned();
    CHECK_OK(cobre_barrier(comm));
    say("ready", 0);
    if (self.rank == 1)
        await_order();
    double before = cpu_seconds();
    CHECK_OK(cobre_barrier(comm));
    say("used", (uint64_t)(1e6 * (cpu_seconds() - before)));
    CHECK_OK(cobre_comm_free(&comm));
}

static void idle_wait(void) {
    job j;
    start_job(&j, 2, wait_and_measure);
    await_all(&j, "ready");
    set_aside(5);
    order(&j, 1, 'g');
    double used = 1e-6 * (double)await(&j, 0, "used")->number;
    printf("waiting for 5 s took %.1f ms of CPU time\n", 1e3 * used);
    CHECK_SAY(used < (KIT_SANITIZED ? 0.15 : 0.05), "less than 1 %% of the time, not %.3f s", used);
    end_job(&j);
}

static void work_a_while(void) {
    uint64_t state = 42;
    tools t = equip();
    for (size_t i = 0; i < kit_times(60); i++)
        CHECK_OK(mixed_collectives(&t, &state));
    put_away(&t);
}

static void sixteen_ranks(void) {
    job j;
    start_job(&j, 16, work_a_while);
    end_job(&j);
}

const check_case waiting_cases[] = {
    {.name = "frozen_rank", .run = frozen_rank},
    {.name = "stall_limit", .run = stall_limit},
    {.name = "no_stall_limit", .run = no_stall_limit},
    {.name = "interrupted", .run = interrupted},
    {.name = "hook_makes_a_call", .run = hook_makes_a_call},
    {.name = "interrupted_join", .run = interrupted_join},
    {.name = "hook_is_asked_often", .run = hook_is_asked_often},
    {.name = "signal_asks_hook", .run = signal_asks_hook, .timed = true},
    {.name = "abort_with_text", .run = abort_with_text},
    {.name = "abort_beside_a_call", .run = abort_beside_a_call},
    {.name = "idle_wait", .run = idle_wait, .timed = TIMED_NAPS},
    {.name = "sixteen_ranks", .run = sixteen_ranks, .busy = true},
    CHECK_END,
};
