/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: who comes when, from where, and with what in mind. Each mistake has its own error, on both sides. */
#include "fault/tcp/peers.h"
#include "kit/variables.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint16_t port(void) {
    return plan.config[0].tcp_port;
}

static void coordinator_first(void) {
    job j;
    make_plan(3, NULL);
    start_coordinator(&j, 3);
    start_rank(&j, 1, join);
    start_rank(&j, 2, join);
    must_form_all(&j);
}

/* They try until it is there. */
static void workers_first(void) {
    job j;
    make_plan(3, "secret");
    make_job(&j, 3);
    start_rank(&j, 1, join);
    start_rank(&j, 2, join);
    await(&j, 1, "inside");
    await(&j, 2, "inside");
    start_rank(&j, 0, join);
    must_form_all(&j);
}

static void random_order(void) {
    for (size_t round = 0; round < kit_times(80); round++) {
        job j;
        size_t size = 2 + kit_below(chance(), 7), order_of[KIT_MAX_RANKS] = {0};
        make_plan(size, round % 2 ? "secret" : NULL);
        make_job(&j, size);
        for (size_t r = 0; r < size; r++) {
            size_t at = kit_below(chance(), r + 1);
            order_of[r] = order_of[at];
            order_of[at] = r;
        }
        for (size_t r = 0; r < size; r++) {
            start_rank(&j, order_of[r], join);
            set_aside((double)kit_below(chance(), 20) * 1e-3);
        }
        must_form_all(&j);
    }
}

static void one_rank(void) {
    job j;
    make_plan(1, NULL);
    start_all(&j, 1);
    must_form_all(&j);
}

static void join_by(const char *coordinator, const char *bind, const char *token) {
    job j;
    make_plan(4, token);
    set_everywhere(coordinator, bind);
    start_all(&j, 4);
    must_form_all(&j);
}

static void ipv4(void) {
    join_by("127.0.0.1", NULL, NULL);
    join_by("127.0.0.1", "127.0.0.1", "secret");
    join_by("127.0.0.2", "127.0.0.2", NULL);
}

static void ipv6(void) {
    int fd = listen_at("::1", free_port());
    close(fd);
    join_by("::1", NULL, NULL);
    join_by("::1", "::1", "secret");
    join_by("::1", NULL, "secret");
}

static void host_name(void) {
    join_by("localhost", NULL, NULL);
    join_by("localhost", "localhost", NULL);
    join_by("localhost", NULL, "secret");
}

/* Rank 0 cannot listen: it says where and what to do, at once. Without a token it is its Unix name that is taken. */
static void port_in_use(void) {
    static const char *const binds[] = {NULL, "127.0.0.1", "localhost"};
    for (size_t i = 0; i < 2 * sizeof binds / sizeof *binds; i++) {
        job j;
        char number[16];
        make_plan(2, i % 2 ? "secret" : NULL);
        set_everywhere("127.0.0.1", binds[i / 2]);
        int taken = i % 2 ? listen_at("127.0.0.1", port()) : take_name(port());
        snprintf(number, sizeof number, "port %u", port());
        start_all(&j, 1);
        const report *r = must_refuse(&j, 0, number, "in use");
        CHECK(strstr(r->suggestion, ENV_TCP_PORT));
        close(taken);
        end_job(&j);
    }
}

/* All addresses are meant: one of them is not enough, because the ranks would come to the other. */
static void port_in_use_on_one_address(void) {
    static const char *const taken_at[] = {"127.0.0.1", "0.0.0.0", "::1"};
    for (size_t i = 0; i < sizeof taken_at / sizeof *taken_at; i++) {
        job j;
        make_plan(2, "secret");
        set_timeouts(2);
        int taken = listen_at(taken_at[i], port());
        start_all(&j, 1);
        must_refuse(&j, 0, "port", "in use");
        close(taken);
        end_job(&j);
    }
}

/* Nobody listens: the worker tries until its timeout, no longer, and says where. */
static void nobody_listens(void) {
    job j;
    char number[16];
    make_plan(2, NULL);
    set_timeouts(0.5);
    snprintf(number, sizeof number, "port %u", port());
    make_job(&j, 2);
    double since = kit_seconds();
    start_rank(&j, 1, join);
    const report *r = must_refuse(&j, 1, "127.0.0.1", number);
    CHECK(r->time - since >= 0.5);
    must_come_within(&j, r, since, 0.5 + PROMISE);
    CHECK(strstr(r->message, "refused"));
    CHECK(strstr(r->suggestion, ENV_TCP_COORDINATOR));
    end_job(&j);
}

/* Its queue is full, so that packets are dropped: as behind a firewall, nothing comes back. */
static void unreachable(void) {
    enum { FILLERS = 8 };
    int fillers[FILLERS];
    job j;
    make_plan(2, "secret");
    set_timeouts(1);
    int full = listen_at("127.0.0.1", port());
    CHECK(listen(full, 0) == 0);
    for (size_t i = 0; i < FILLERS; i++)
        fillers[i] = dial_without_waiting("127.0.0.1", port());
    make_job(&j, 2);
    double since = kit_seconds();
    start_rank(&j, 1, join);
    must_come_within(&j, must_refuse(&j, 1, "127.0.0.1", "could not reach"), since, 1 + PROMISE);
    end_job(&j);
    for (size_t i = 0; i < FILLERS; i++)
        close(fillers[i]);
    close(full);
}

static void unknown_host(void) {
    job j;
    make_plan(2, NULL);
    set_everywhere("no-such-host.invalid", "no-such-host.invalid");
    set_timeouts(1);
    make_job(&j, 2);
    start_rank(&j, 1, join);
    must_refuse(&j, 1, "no-such-host.invalid", "cannot find");
    plan.config[0].tcp_token = "secret";
    start_rank(&j, 0, join);
    CHECK(strstr(must_refuse(&j, 0, "no-such-host.invalid", "cannot listen")->suggestion, ENV_TCP_BIND));
    end_job(&j);
}

/* Both sides learn that they disagree. Rank 0 need not wait: it was one of its own, unless anyone may join. */
static void wrong_size(void) {
    static const char *const tokens[] = {NULL, "secret"};
    for (size_t i = 0; i < 3; i++) {
        job j;
        make_plan(2, tokens[i / 2]);
        set_timeouts(i == 1 ? 1 : DEADLINE);
        plan.config[0].tcp_open = i == 1;
        plan.config[1].size = 3;
        start_all(&j, 2);
        must_refuse(&j, 1, "number of ranks", "expects 2");
        must_refuse(&j, 0, "rank 1 of", "number of ranks");
        end_job(&j);
    }
}

/* A rank that rank 0 does not know of is not taken for rank 0 itself. */
static void wrong_size_of_a_high_rank(void) {
    job j;
    make_plan(2, "secret");
    plan.config[1].rank = 5;
    plan.config[1].size = 6;
    start_all(&j, 2);
    must_refuse(&j, 1, "number of ranks", "");
    const report *r = must_refuse(&j, 0, "number of ranks", "");
    CHECK_SAY(strstr(r->message, "rank 5") && !strstr(r->message, "rank 0 of 2"), "rank 5 is named: %s", r->message);
    end_job(&j);
}

/* The second of the two is turned away, the job forms with the first. */
static void rank_taken(void) {
    job j;
    make_plan(3, "secret");
    plan.config[3].rank = 1;
    start_coordinator(&j, 4);
    start_rank(&j, 1, join);
    await(&j, 1, "joined");
    start_rank(&j, 3, join);
    must_refuse(&j, 3, "taken", "rank 1");
    start_rank(&j, 2, join);
    for (size_t r = 0; r < 3; r++)
        must_form(&j, r);
    end_job(&j);
}

static void rank_out_of_range(void) {
    job j;
    make_plan(2, NULL);
    plan.config[1].rank = 2;
    make_job(&j, 2);
    start_rank(&j, 1, join);
    const report *r = await(&j, 1, "opened"); /* before anything is sent */
    CHECK(r->status != COBRE_OK && strstr(r->message, "2"));
    end_job(&j);
}

/* What only a client of another build, or a false one, sends; then the job forms nevertheless. */
static void refusals(void) {
    static const char *const tokens[] = {"", "secret"};
    for (size_t i = 0; i < 2; i++) {
        job j;
        make_plan(3, tokens[i]);
        plan.config[0].tcp_open = true;
        start_coordinator(&j, 3);
        cb_hello hello = make_hello(CB_DATA, 1, 3);
        hello.version = CB_WIRE_VERSION + 1;
        must_be_refused(port(), &hello, tokens[i], CB_REFUSED_VERSION);
        hello = make_hello(CB_DATA, 1, 3);
        hello.byte_order = hello.byte_order == 1 ? 2 : 1;
        must_be_refused(port(), &hello, tokens[i], CB_REFUSED_BYTE_ORDER);
        hello = make_hello(CB_DATA, 1, 3);
        hello.size_bytes = 4;
        must_be_refused(port(), &hello, tokens[i], CB_REFUSED_TYPE_SIZES);
        hello = make_hello(CB_DATA, 1, 3);
        must_be_refused(port(), &hello, "another", CB_REFUSED_TOKEN);
        static const size_t beyond[] = {0, 3, UINT32_MAX};
        for (size_t b = 0; b < 3; b++) {
            hello = make_hello(CB_DATA, beyond[b], 3);
            must_be_refused(port(), &hello, tokens[i], CB_REFUSED_RANK_RANGE);
        }
        static const uint8_t kinds[] = {0, CB_RING, 4, 255};
        for (size_t k = 0; k < sizeof kinds; k++) {
            hello = make_hello(kinds[k], 1, 3);
            must_be_refused(port(), &hello, tokens[i], CB_REFUSED_KIND);
        }
        hello = make_hello(CB_CONTROL, 1, 3); /* without the job's id, and before its data connection */
        must_be_refused(port(), &hello, tokens[i], CB_REFUSED_JOB);
        start_rank(&j, 1, join);
        start_rank(&j, 2, join);
        must_form_all(&j);
    }
}

/* What rank 0 turned away is in its own error, if the rank never comes in a better shape. */
static void refusal_is_noted(void) {
    job j;
    make_plan(2, "secret");
    set_timeouts(1);
    start_coordinator(&j, 1);
    cb_hello hello = make_hello(CB_DATA, 1, 2);
    hello.version = CB_WIRE_VERSION + 1;
    must_be_refused(port(), &hello, "secret", CB_REFUSED_VERSION);
    must_refuse(&j, 0, "rank 1 of 2 did not come", "another version");
    end_job(&j);
}

/* The launcher's socket, already listening, as descriptor; whether it blocks must not matter. */
static void given_listener(void) {
    for (int blocks = 0; blocks < 2; blocks++) {
        job j;
        char given[80], variable[128], ports[32];
        make_plan(3, "secret");
        make_job(&j, 3);
        start_rank(&j, 1, join);
        int fd = listen_at("127.0.0.1", port());
        CHECK(blocks || fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
        snprintf(variable, sizeof variable, ENV_RUN_LISTEN_FD "=%s", descriptor_text(fd, given));
        snprintf(ports, sizeof ports, ENV_TCP_PORT "=%u", port());
        const char *lines[] = {ENV_BACKEND "=tcp",
                               ENV_TCP_RANK "=0",
                               ENV_TCP_SIZE "=3",
                               ENV_RUN_SIZE "=3",
                               ENV_TCP_TOKEN "=secret",
                               variable,
                               ports};
        memcpy(plan.environment[0], lines, sizeof lines);
        start_rank(&j, 0, join);
        close(fd);
        start_rank(&j, 2, join);
        must_form_all(&j);
    }
}

const check_case tcp_join_cases[] = {
    {.name = "join_coordinator_first", .run = coordinator_first, .only = COBRE_TCP},
    {.name = "join_workers_first", .run = workers_first, .only = COBRE_TCP},
    {.name = "join_random_order", .run = random_order, .only = COBRE_TCP},
    {.name = "join_one_rank", .run = one_rank, .only = COBRE_TCP},
    {.name = "join_ipv4", .run = ipv4, .only = COBRE_TCP},
    {.name = "join_ipv6", .run = ipv6, .only = COBRE_TCP},
    {.name = "join_host_name", .run = host_name, .only = COBRE_TCP},
    {.name = "join_port_in_use", .run = port_in_use, .only = COBRE_TCP},
    {.name = "join_port_in_use_on_one_address", .run = port_in_use_on_one_address, .only = COBRE_TCP},
    {.name = "join_nobody_listens", .run = nobody_listens, .only = COBRE_TCP, .timed = true},
    {.name = "join_unreachable", .run = unreachable, .only = COBRE_TCP, .timed = true},
    {.name = "join_unknown_host", .run = unknown_host, .only = COBRE_TCP},
    {.name = "join_wrong_size", .run = wrong_size, .only = COBRE_TCP},
    {.name = "join_wrong_size_of_a_high_rank", .run = wrong_size_of_a_high_rank, .only = COBRE_TCP},
    {.name = "join_rank_taken", .run = rank_taken, .only = COBRE_TCP},
    {.name = "join_rank_out_of_range", .run = rank_out_of_range, .only = COBRE_TCP},
    {.name = "join_given_listener", .run = given_listener, .only = COBRE_TCP},
    {.name = "join_refusals", .run = refusals, .only = COBRE_TCP},
    {.name = "join_refusal_is_noted", .run = refusal_is_noted, .only = COBRE_TCP},
    CHECK_END,
};
