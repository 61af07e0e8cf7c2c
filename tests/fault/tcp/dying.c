/* SPDX-License-Identifier: Apache-2.0 */
/* dying.c: a rank that dies, or is interrupted, while the job forms: everyone who waits is told at once. */
#include "fault/tcp/peers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint16_t port(void) {
    return plan.config[0].tcp_port;
}

/* Of 4 ranks: rank 0, and those from `first` to 2, which have joined and wait for the table. Rank 3 never comes. */
static void gather_some(job *j, size_t first) {
    make_plan(4, "secret");
    start_coordinator(j, 4);
    for (size_t r = first; r < 3; r++) {
        start_rank(j, r, join);
        await(j, r, "joined");
    }
}

static void must_be_of(job *j, const report *r, size_t dead, double since) {
    CHECK_SAY(r->cause == COBRE_CAUSE_PEER_DIED && r->culprit == dead, "rank %zu died, not %s of %zu: %s", dead,
              cobre_cause_name(r->cause), r->culprit, r->message);
    must_come_within(j, r, since, PROMISE);
}

/* It is told at once, in the words of shm. */
static void must_blame(job *j, size_t rank, size_t size, size_t dead, double since) {
    char text[64];
    snprintf(text, sizeof text, "rank %zu of %zu died while the job formed", dead, size);
    must_be_of(j, must_refuse(j, rank, text, ""), dead, since);
}

/* The rank that is left of 0 and 1, and rank 2, are told. */
static void must_hear_of(job *j, size_t left, size_t dead, double since) {
    must_blame(j, left, 4, dead, since);
    must_blame(j, 2, 4, dead, since);
}

static void killed_worker(void) {
    job j;
    gather_some(&j, 1);
    double since = kill_rank(&j, 1);
    must_hear_of(&j, 0, 1, since);
    end_job(&j);
}

/* The parent is rank 1 of 4, with a data connection and no other yet. */
static int connect_data(void) {
    int fd = dial("127.0.0.1", port());
    cb_hello hello = make_hello(CB_DATA, 1, 4);
    cb_reply reply;
    CHECK(shake_hands(fd, &hello, "secret", &reply) && reply.type == CB_WELCOME);
    return fd;
}

/* After its data connection, and before the control connection. */
static void gone_after_data(void) {
    job j;
    gather_some(&j, 2);
    int fd = connect_data();
    double since = mark_time(&j);
    close(fd);
    must_hear_of(&j, 0, 1, since);
    end_job(&j);
}

/* One of its two connections ends, while the other stays. */
static void gone_after_control(void) {
    for (size_t which = 0; which < 2; which++) {
        job j;
        gather_some(&j, 2);
        struct member member = sneak_in(port(), 1, 4, "secret", 0);
        double since = mark_time(&j);
        close(which ? member.control : member.data);
        must_hear_of(&j, 0, 1, since);
        close(which ? member.data : member.control);
        end_job(&j);
    }
}

/* All are in, the tables are out, and rank `victim` dies before it has made its links of the ring. */
static void die_before_ring(size_t victim, size_t size) {
    job j;
    make_plan(size, "secret");
    start_coordinator(&j, size);
    for (size_t r = 1; r < size; r++)
        if (r != victim)
            start_rank(&j, r, join);
    uint16_t ring_port = free_port();
    int listener = listen_at("127.0.0.1", ring_port);
    struct member member = sneak_in(port(), victim, size, "secret", ring_port);
    must_get_table(&member, size);
    double since = mark_time(&j);
    close(listener);
    close(member.data);
    close(member.control);
    for (size_t r = 0; r < size; r++)
        if (r != victim)
            must_blame(&j, r, size, victim, since);
    end_job(&j);
}

static void gone_before_ring_first(void) {
    die_before_ring(1, 4);
}

static void gone_before_ring_middle(void) {
    die_before_ring(2, 4);
}

static void gone_before_ring_last(void) {
    die_before_ring(3, 4);
}

/* A rank that has no control connection yet is told, too, and one whose first word comes while another is dead. */
static void gone_while_another_comes(void) {
    job j;
    gather_some(&j, 2);
    int fd = connect_data();
    double since = kill_rank(&j, 2);
    must_blame(&j, 0, 4, 2, since);
    unsigned char head[CB_HEADER_BYTES], body[CB_FAILURE_BYTES];
    cb_header header;
    cb_failure failure;
    CHECK(get(fd, head, sizeof head) && cb_parse_header(head, &header) && header.tag == CB_TAG_FAILED);
    CHECK(get(fd, body, sizeof body) && cb_parse_failure(body, 4, &failure));
    CHECK(failure.cause == COBRE_CAUSE_PEER_DIED && failure.culprit == 2);
    close(fd);
    end_job(&j);
}

/* The parent plays a rank 0 that has let rank 1 in, and gives up before its control connection is there: with a word, or
 * with none. */
static void told_before_control(void) {
    for (size_t with_word = 0; with_word < 2; with_word++) {
        job j;
        make_plan(3, "secret");
        int listener = listen_at("127.0.0.1", port());
        make_job(&j, 3);
        start_rank(&j, 1, join);
        int fd = answer(listener);
        welcome(fd, "secret");
        close(answer(listener)); /* its control connection comes, and is closed */
        close(listener);
        double since = mark_time(&j);
        if (with_word) {
            unsigned char frame[CB_HEADER_BYTES + CB_FAILURE_BYTES];
            cb_failure failure = {.cause = COBRE_CAUSE_PEER_DIED, .culprit = 2};
            snprintf(failure.text, sizeof failure.text, "rank 2 of 3 died while the job formed");
            cb_pack_header(&(cb_header){.length = CB_FAILURE_BYTES, .tag = CB_TAG_FAILED}, frame);
            cb_pack_failure(&failure, frame + CB_HEADER_BYTES);
            put(fd, frame, sizeof frame);
        }
        close(fd);
        must_blame(&j, 1, 3, with_word ? 2 : 0, since);
        end_job(&j);
    }
}

static void killed_coordinator(void) {
    job j;
    gather_some(&j, 1);
    double since = kill_rank(&j, 0);
    must_hear_of(&j, 1, 0, since);
    end_job(&j);
}

static void join_or_fail(void) {
    cobre_config config = plan.config[self.rank];
    cobre_comm *comm;
    cobre_status status = cobre_comm_open(&config, &comm);
    CHECK(status == COBRE_OK || status == COBRE_INITIALIZATION_FAILED);
    if (!tell("opened", status)) {
        tell("barrier", cobre_barrier(comm));
        CHECK_OK(cobre_comm_free(&comm));
    }
}

/* Any rank at any moment of the join. Who gets in may work on, or names the victim. Who does not: the victim died in the
 * job, which all say that are in, at once; or it had not come, and the time is over. */
static void random_kill(size_t index) {
    job j;
    size_t size = 2 + kit_below(chance(), 4), victim = index % size;
    double timeout = KIT_SANITIZED ? 2 : 0.5;
    make_plan(size, index % 3 ? "secret" : NULL);
    set_timeouts(timeout);
    start_job(&j, size, join_or_fail);
    set_aside((double)kit_below(chance(), index % 2 ? 12000 : 4000) * 1e-6);
    double since = kill_rank(&j, victim);
    for (size_t r = 0; r < size; r++) {
        if (r == victim)
            continue;
        const report *opened = await(&j, r, "opened");
        if (opened->status && strstr(opened->message, "died"))
            must_be_of(&j, opened, victim, since);
        else if (opened->status) /* the last to come may be a little late itself */
            must_come_within(&j, opened, since, timeout + PROMISE);
    }
    end_job(&j);
}

static void random_kills(void) {
    side_by_side(4, kit_times(160), random_kill);
}

/* The program's hook ends the wait of rank 0: those who are in are told. */
static void interrupted_coordinator(void) {
    job j;
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    start_rank(&j, 1, join);
    await(&j, 1, "joined");
    interrupt_rank(0);
    double since = await(&j, 0, "interrupts")->time;
    must_come_within(&j, must_refuse(&j, 0, "interrupted", ""), since, PROMISE);
    must_come_within(&j, must_refuse(&j, 1, "interrupted", ""), since, PROMISE);
    end_job(&j);
}

/* Its hook is asked at least every 100 ms of waiting. */
static void must_stop(job *j, size_t rank) {
    double since = mark_time(j);
    interrupt_rank(rank);
    must_come_within(j, must_refuse(j, rank, "interrupted", ""), since, PROMISE);
}

/* While nobody listens. */
static void interrupted_search(void) {
    job j;
    make_plan(2, NULL);
    make_job(&j, 2);
    start_rank(&j, 1, join);
    await(&j, 1, "inside");
    must_stop(&j, 1);
    end_job(&j);
}

/* While it has connected, but gets no answer: rank 0 is stopped, or it is not rank 0. */
static void interrupted_handshake(void) {
    job j;
    unsigned char hello[CB_HELLO_BYTES];
    make_plan(2, "secret");
    int listener = listen_at("127.0.0.1", port());
    make_job(&j, 2);
    start_rank(&j, 1, join);
    int fd = answer(listener);
    CHECK(get(fd, hello, sizeof hello));
    must_stop(&j, 1);
    end_job(&j);
    close(fd);
    close(listener);
}

/* While it waits for the others: rank 0 sees it go. */
static void interrupted_wait(void) {
    job j;
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    start_rank(&j, 1, join);
    await(&j, 1, "joined");
    double since = mark_time(&j);
    must_stop(&j, 1);
    const report *r = must_refuse(&j, 0, "rank 1 of 3 gave up while the job formed", "");
    CHECK(r->cause == COBRE_CAUSE_PEER_LEFT && r->culprit == 1);
    must_come_within(&j, r, since, PROMISE);
    end_job(&j);
}

/* Rank 3 of 4 is in and lives, but does not answer at its end of the ring: ranks 1 and 2 wait for their links. */
static struct member stop_the_ring(job *j, int *listener) {
    make_plan(4, "secret");
    start_coordinator(j, 4);
    start_rank(j, 1, join);
    start_rank(j, 2, join);
    uint16_t ring_port = free_port();
    *listener = listen_at("127.0.0.1", ring_port);
    struct member member = sneak_in(port(), 3, 4, "secret", ring_port);
    must_get_table(&member, 4);
    unsigned char hello[CB_HELLO_BYTES];
    int link = answer(*listener); /* that of rank 2 */
    CHECK(get(link, hello, sizeof hello));
    return member;
}

static void interrupted_ring(void) {
    job j;
    int listener;
    struct member member = stop_the_ring(&j, &listener);
    double since = mark_time(&j);
    must_stop(&j, 2);
    for (size_t r = 0; r < 2; r++) {
        const report *opened = await(&j, r, "opened");
        CHECK(opened->status == COBRE_INITIALIZATION_FAILED);
        must_come_within(&j, opened, since, PROMISE);
    }
    close(listener);
    close(member.data);
    close(member.control);
    end_job(&j);
}

static void killed_coordinator_before_ring(void) {
    job j;
    int listener;
    struct member member = stop_the_ring(&j, &listener);
    double since = kill_rank(&j, 0);
    for (size_t r = 1; r < 3; r++) {
        const report *opened = await(&j, r, "opened");
        CHECK(opened->status == COBRE_INITIALIZATION_FAILED && strstr(opened->message, "rank 0"));
        must_come_within(&j, opened, since, PROMISE);
    }
    close(listener);
    close(member.data);
    close(member.control);
    end_job(&j);
}

const check_case dying_cases[] = {
    {.name = "join_killed_worker", .run = killed_worker, .only = COBRE_TCP, .timed = true},
    {.name = "join_gone_after_data", .run = gone_after_data, .only = COBRE_TCP, .timed = true},
    {.name = "join_gone_after_control", .run = gone_after_control, .only = COBRE_TCP, .timed = true},
    {.name = "join_gone_while_another_comes", .run = gone_while_another_comes, .only = COBRE_TCP, .timed = true},
    {.name = "join_told_before_control", .run = told_before_control, .only = COBRE_TCP, .timed = true},
    {.name = "join_gone_before_ring_first", .run = gone_before_ring_first, .only = COBRE_TCP, .timed = true},
    {.name = "join_gone_before_ring_middle", .run = gone_before_ring_middle, .only = COBRE_TCP, .timed = true},
    {.name = "join_gone_before_ring_last", .run = gone_before_ring_last, .only = COBRE_TCP, .timed = true},
    {.name = "join_killed_coordinator", .run = killed_coordinator, .only = COBRE_TCP, .timed = true},
    {.name = "join_killed_coordinator_before_ring",
     .run = killed_coordinator_before_ring,
     .only = COBRE_TCP,
     .timed = true},
    {.name = "join_interrupted_coordinator", .run = interrupted_coordinator, .only = COBRE_TCP, .timed = true},
    {.name = "join_interrupted_search", .run = interrupted_search, .only = COBRE_TCP, .timed = true},
    {.name = "join_interrupted_handshake", .run = interrupted_handshake, .only = COBRE_TCP, .timed = true},
    {.name = "join_interrupted_ring", .run = interrupted_ring, .only = COBRE_TCP, .timed = true},
    {.name = "join_interrupted_wait", .run = interrupted_wait, .only = COBRE_TCP, .timed = true},
    {.name = "join_random_kills", .run = random_kills, .only = COBRE_TCP, .timed = true},
    CHECK_END,
};
