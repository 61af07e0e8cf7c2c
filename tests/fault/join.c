/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: deaths while a job forms. The survivors must say who is missing, and the name must not stay. */
#include "kit/harness.h"
#include "kit/sentinel.h"

#include "backends/shm/config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    double timeout[KIT_MAX_RANKS]; /* 0: the harness's */
    bool large_rank_0;
} plan;

/* Joins; "inside" is reported while it waits. If it gets in, a collective must work or name who died. */
static void join(void) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    if (plan.timeout[self.rank] > 0)
        config.join_timeout_secs = plan.timeout[self.rank];
    if (self.rank == 0 && plan.large_rank_0)
        map_gib(4);
    report_inside();
    if (tell("opened", cobre_comm_open(&config, &comm)) == COBRE_OK) {
        tell("barrier", cobre_barrier(comm));
        CHECK_OK(cobre_comm_free(&comm));
    }
    CHECK(comm == NULL);
}

/* Rank 0's segment is complete once it waits; a rank that is started later and waits has joined. */
static void start_and_join(job *j, size_t rank) {
    start_rank(j, rank, join);
    await(j, rank, "inside");
}

static void must_name(const report *r, size_t rank) {
    char text[32];
    snprintf(text, sizeof text, "rank %zu ", rank);
    CHECK_SAY(r->status == COBRE_INITIALIZATION_FAILED, "InitializationFailed on rank %zu, not %s", r->rank,
              cobre_status_name(r->status));
    CHECK_SAY(strstr(r->message, text) != NULL, "rank %zu's error names rank %zu: %s", r->rank, rank, r->message);
}

static void set_timeouts(double seconds) {
    for (size_t r = 0; r < KIT_MAX_RANKS; r++)
        plan.timeout[r] = seconds;
}

/* Ranks 0 and 1 of 3 come, one after the other, and rank 2 never does. False if the machine was so slow that they may not
 * have met: then neither can know who is absent. */
static bool miss_rank_2(size_t first, double timeout, double patience) {
    job j;
    size_t second = 1 - first;
    set_timeouts(timeout);
    plan.timeout[second] = patience;
    make_job(&j, 3);
    double began = kit_seconds();
    start_and_join(&j, first);
    start_rank(&j, second, join);
    double met = await(&j, second, "inside")->time;
    const report *opened[2] = {await(&j, 0, "opened"), await(&j, 1, "opened")};
    bool have_met = met - began < timeout / 2 && sentinel_lost(began, opened[first]->time) < timeout / 4;
    if (have_met) {
        must_name(opened[first], 2);
        CHECK_SAY(strlen(opened[first]->suggestion) > 0, "there is a suggestion");
        CHECK(opened[second]->status == COBRE_INITIALIZATION_FAILED);
        if (patience <= timeout)
            must_name(opened[second], 2);
    }
    end_job(&j);
    return have_met;
}

/* Who comes first, and who waits longer, must not matter. */
static void join_absent(void) {
    for (size_t first = 0; first < 2; first++)
        for (double timeout = 0.4; !miss_rank_2(first, timeout, 3 * timeout);)
            timeout *= 2;
}

/* That the others gave up before rank 0 is not the reason. */
static void join_absent_seen_first_by_others(void) {
    for (double timeout = 0.4; !miss_rank_2(1, timeout, timeout);)
        timeout *= 2;
}

/* Rank 0 never comes: the others say so. */
static void join_without_rank_0(void) {
    job j;
    set_timeouts(0.3);
    make_job(&j, 3);
    start_rank(&j, 1, join);
    start_rank(&j, 2, join);
    for (size_t r = 1; r < 3; r++)
        must_name(await(&j, r, "opened"), 0);
    end_job(&j);
}

/* One of those that have come dies while the last has not come yet: nobody waits for the timeout. */
static void kill_joined(size_t size, size_t victim, size_t absent) {
    job j;
    make_job(&j, size);
    for (size_t r = 0; r < size; r++)
        if (r != absent)
            start_and_join(&j, r);
    CHECK(name_exists(j.name));
    double since = kill_rank(&j, victim);
    for (size_t r = 0; r < size; r++)
        if (r != victim && r != absent) {
            const report *opened = await(&j, r, "opened");
            must_name(opened, victim);
            must_come_within(&j, opened, since, PROMISE);
        }
    end_job(&j);
}

static void join_kill_of_joined(void) {
    set_timeouts(0);
    kill_joined(3, 1, 2);
    kill_joined(4, 2, 3);
}

static void join_kill_behind_an_absent_rank(void) {
    set_timeouts(30);
    kill_joined(3, 2, 1);
}

static void join_kill_of_rank_0(void) {
    set_timeouts(0);
    kill_joined(3, 0, 2);
    kill_joined(4, 0, 1);
    for (size_t i = 0; i < 20; i++)
        kill_joined(3, 0, 1 + i % 2);
}

/* It takes the kernel long to free so much, and until then the lock of the segment is held. */
static void join_kill_of_large_rank_0(void) {
    set_timeouts(0);
    plan.large_rank_0 = true;
    kill_joined(3, 0, 2);
    kill_joined(3, 0, 1);
}

/* Leaves the name of a job that is dead. */
static void leave_name(job *j) {
    make_job(j, 3);
    start_and_join(j, 0);
    start_and_join(j, 1);
    for (size_t r = 0; r < 2; r++) /* frozen first: neither may see the other's death and clean up */
        CHECK(kill(j->rank[r].pid, SIGSTOP) == 0);
    for (size_t r = 0; r < 2; r++)
        kill_rank(j, r);
    for (size_t r = 0; r < 2; r++)
        await_end(j, r);
    CHECK(name_exists(j->name));
}

static void join_after_all_were_killed(void) {
    set_timeouts(0);
    for (size_t i = 0; i < 10; i++) {
        job dead, next;
        leave_name(&dead);
        make_job(&next, 2);
        snprintf(next.name, sizeof next.name, "%s", dead.name);
        size_t first = i % 2; /* creator or joiner finds it first */
        start_rank(&next, first, join);
        start_rank(&next, 1 - first, join);
        for (size_t r = 0; r < 2; r++) {
            CHECK(await(&next, r, "opened")->status == COBRE_OK);
            CHECK(await(&next, r, "barrier")->status == COBRE_OK);
        }
        end_job(&next);
        end_job(&dead);
    }
}

static void join_clean(void) {
    set_timeouts(0);
    job dead, live;
    leave_name(&dead);
    CHECK(cb_shm_clean(dead.name, false) == 1 && name_exists(dead.name));
    CHECK(cb_shm_clean(dead.name, true) == 1 && !name_exists(dead.name));
    CHECK(cb_shm_clean(dead.name, false) == 0);
    CHECK(cb_shm_clean(dead.name, true) == 0);
    end_job(&dead);

    make_job(&live, 2);
    start_and_join(&live, 0);
    CHECK(cb_shm_clean(live.name, false) == 0);
    CHECK(cb_shm_clean(live.name, true) == 0 && name_exists(live.name));
    start_rank(&live, 1, join);
    for (size_t r = 0; r < 2; r++)
        CHECK(await(&live, r, "barrier")->status == COBRE_OK);
    end_job(&live);
}

/* A name must be gone when at least one joiner lived on; who gets in although the victim died must see it there. */
static void join_random_kill(size_t i) {
    job j;
    size_t victim = i % 3;
    start_job(&j, 3, join);
    set_aside(1e-6 * (double)kit_below(chance(), i % 2 || KIT_SANITIZED ? 12000 : 3000));
    double since = kill_rank(&j, victim);
    for (size_t r = 0; r < 3; r++) {
        if (r == victim)
            continue;
        const report *opened = await(&j, r, "opened");
        CHECK(opened->status == COBRE_OK || opened->status == COBRE_INITIALIZATION_FAILED);
        if (opened->status)
            continue;
        const report *barrier = await(&j, r, "barrier");
        if (barrier->status) /* else the victim had been through the barrier as well */
            must_have_failed(&j, barrier,
                             has_reported(&j, victim, "barrier") ? COBRE_CAUSE_PEER_LEFT : COBRE_CAUSE_PEER_DIED,
                             victim, since > opened->time ? since : opened->time);
    }
    end_job(&j);
}

static void join_random_kills(void) {
    set_timeouts(KIT_SANITIZED ? 0.5 : 0.15);
    side_by_side(8, KIT_SANITIZED ? 40 : 100, join_random_kill);
}

const check_case join_cases[] = {
    {.name = "join_absent", .run = join_absent, .only = COBRE_SHM},
    {.name = "join_absent_seen_first_by_others", .run = join_absent_seen_first_by_others, .only = COBRE_SHM},
    {.name = "join_without_rank_0", .run = join_without_rank_0, .only = COBRE_SHM},
    {.name = "join_kill_of_joined", .run = join_kill_of_joined, .only = COBRE_SHM},
    {.name = "join_kill_behind_an_absent_rank", .run = join_kill_behind_an_absent_rank, .only = COBRE_SHM},
    {.name = "join_kill_of_rank_0", .run = join_kill_of_rank_0, .only = COBRE_SHM},
    {.name = "join_kill_of_large_rank_0", .run = join_kill_of_large_rank_0, .busy = true, .only = COBRE_SHM},
    {.name = "join_after_all_were_killed", .run = join_after_all_were_killed, .only = COBRE_SHM},
    {.name = "join_clean", .run = join_clean, .only = COBRE_SHM},
    {.name = "join_random_kills", .run = join_random_kills, .timed = true, .only = COBRE_SHM},
    CHECK_END,
};
