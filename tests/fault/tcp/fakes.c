/* SPDX-License-Identifier: Apache-2.0 */
/* fakes.c: what a worker meets where it looks for rank 0. The parent plays it. */
#include "fault/tcp/peers.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;

static void join_without_listener(void) {
    close(listener);
    join();
}

/* Rank 1 of 2 alone, with the parent listening where rank 0 should. */
static void start_worker(job *j, const char *token, double timeout) {
    make_plan(2, token);
    set_timeouts(timeout);
    listener = listen_at("127.0.0.1", plan.config[0].tcp_port);
    make_job(j, 2);
    start_rank(j, 1, join_without_listener);
}

static void end_worker(job *j) {
    end_job(j);
    close(listener);
}

static int take_hello(unsigned char hello[CB_HELLO_BYTES]) {
    int fd = answer(listener);
    CHECK(get(fd, hello, CB_HELLO_BYTES));
    return fd;
}

static void put_reply(int fd, const cb_reply *reply) {
    unsigned char bytes[CB_REPLY_BYTES];
    cb_pack_reply(reply, bytes);
    put(fd, bytes, sizeof bytes);
}

/* Every refusal is an error at once, in its own words. */
static void fake_refusals(void) {
    static const char *const words[] = {
        NULL,    "version", "byte order",  "type sizes", "tokens differ", "number of ranks",
        "range", "taken",   "another job", "kind"};
    for (unsigned reason = 0; reason <= 10; reason++) {
        job j;
        unsigned char hello[CB_HELLO_BYTES];
        start_worker(&j, "secret", DEADLINE);
        int fd = take_hello(hello);
        put_reply(fd, &(cb_reply){
                          .type = CB_REFUSAL, .reason = (uint8_t)reason, .version = CB_WIRE_VERSION + 1, .number = 7});
        must_refuse(&j, 1, "refused", reason >= 1 && reason <= 9 ? words[reason] : "");
        close(fd);
        end_worker(&j);
    }
}

/* Of another version, the rest of the reply may mean anything: what counts is that it fails, soon and with a reason. */
static void fake_version(void) {
    job j;
    unsigned char hello[CB_HELLO_BYTES];
    start_worker(&j, "secret", DEADLINE);
    int fd = take_hello(hello);
    put_reply(fd, &(cb_reply){.type = CB_CHALLENGE, .version = CB_WIRE_VERSION + 1});
    must_refuse(&j, 1, "version", "");
    close(fd);
    end_worker(&j);
}

static void answer_with(const char *bytes, size_t count, bool close_it, const char *word) {
    job j;
    unsigned char hello[CB_HELLO_BYTES];
    start_worker(&j, "secret", DEADLINE);
    int fd = take_hello(hello);
    double since = mark_time(&j);
    put(fd, bytes, count);
    if (close_it)
        shutdown(fd, SHUT_WR);
    must_come_within(&j, must_refuse(&j, 1, "not a cobre coordinator", word), since, PROMISE);
    close(fd);
    end_worker(&j);
}

static void fake_http(void) {
    static const char page[] =
        "HTTP/1.1 400 Bad Request\r\nServer: something/1.0\r\nConnection: close\r\n\r\n<html></html>";
    answer_with(page, sizeof page - 1, true, "");
    answer_with(page, sizeof page - 1, false, "");
}

/* Shorter than a reply: an SSH or SMTP banner. What it has sent already cannot become a reply. */
static void fake_banner(void) {
    static const char banner[] = "SSH-2.0-OpenSSH_9.2\r\n";
    answer_with(banner, sizeof banner - 1, false, "");
    answer_with(banner, sizeof banner - 1, true, "");
}

static void fake_garbage(void) {
    char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)kit_random(chance());
    bytes[0] = 'x';
    answer_with(bytes, sizeof bytes, false, "");
}

/* The first byte of the proofs differs, the last, all: it does not know the token. */
static void impostor(void) {
    for (size_t kind = 0; kind < 3; kind++) {
        job j;
        unsigned char hello[CB_HELLO_BYTES], proof[CB_PROOF];
        start_worker(&j, "secret", DEADLINE);
        int fd = take_hello(hello);
        cb_reply reply = {.type = CB_CHALLENGE, .version = CB_WIRE_VERSION};
        put_reply(fd, &reply);
        CHECK(get(fd, proof, sizeof proof));
        reply.type = CB_WELCOME;
        if (kind == 2)
            memcpy(reply.secret, proof, sizeof proof); /* reflected */
        else
            cb_make_proof("secret", "accepts", hello, (unsigned char[CB_NONCE]){0}, reply.secret);
        if (kind < 2)
            reply.secret[kind ? CB_PROOF - 1 : 0] ^= 1;
        put_reply(fd, &reply);
        must_refuse(&j, 1, "does not know this job's token", "");
        CHECK(is_over(fd)); /* nothing more of the job goes there */
        close(fd);
        end_worker(&j);
    }
}

/* A reply of the wrong kind at each step. */
static void wrong_step(void) {
    for (size_t step = 0; step < 2; step++) {
        job j;
        unsigned char hello[CB_HELLO_BYTES], proof[CB_PROOF];
        start_worker(&j, "secret", DEADLINE);
        int fd = take_hello(hello);
        if (step) {
            put_reply(fd, &(cb_reply){.type = CB_CHALLENGE, .version = CB_WIRE_VERSION});
            CHECK(get(fd, proof, sizeof proof));
        }
        put_reply(fd, &(cb_reply){.type = step ? CB_CHALLENGE : CB_WELCOME, .version = CB_WIRE_VERSION});
        must_refuse(&j, 1, "not a cobre coordinator", "");
        close(fd);
        end_worker(&j);
    }
}

/* It takes the connection and says nothing: the worker's own timeout ends it, and the text does not speak of a reset.
 */
static void silent_coordinator(void) {
    job j;
    unsigned char hello[CB_HELLO_BYTES];
    start_worker(&j, "secret", 1);
    double since = kit_seconds();
    int fd = take_hello(hello);
    const report *r = must_refuse(&j, 1, "127.0.0.1", "within 1 s");
    must_come_within(&j, r, since, 1 + PROMISE);
    CHECK_SAY(!strstr(r->message, "reset"), "nobody reset anything: %s", r->message);
    close(fd);
    end_worker(&j);
}

/* It closes at each step, several times: the worker takes that for a door that was too full, and comes again. */
static void closing_coordinator(void) {
    job j;
    unsigned char hello[CB_HELLO_BYTES], proof[CB_PROOF];
    start_worker(&j, "secret", DEADLINE);
    for (size_t step = 0; step < 9; step++) {
        int fd = answer(listener);
        if (step % 3 > 0)
            CHECK(get(fd, hello, sizeof hello));
        if (step % 3 > 1) {
            put_reply(fd, &(cb_reply){.type = CB_CHALLENGE, .version = CB_WIRE_VERSION});
            CHECK(get(fd, proof, sizeof proof));
        }
        close(fd);
    }
    close(listener);
    start_rank(&j, 0, join); /* now the true one */
    must_form_all(&j);
}

/* Where the system gives out the port that the worker looks for, TCP can connect the worker to itself. */
static void connected_to_itself(void) {
    job j;
    if (unshare(CLONE_NEWNET) != 0)
        check_skip("no network namespaces here");
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(ioctl(fd, SIOCSIFFLAGS, &loopback) == 0);
    close(fd);
    make_plan(2, "secret");
    uint16_t port = plan.config[0].tcp_port;
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    if (!range || fprintf(range, "%u %u\n", port, port + 1u) < 0 || fclose(range) != 0)
        check_skip("the range of ports cannot be set");
    make_job(&j, 2);
    start_rank(&j, 1, join);
    await(&j, 1, "inside");
    set_aside(1);
    range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    CHECK(range && fprintf(range, "32768 60999\n") > 0 && fclose(range) == 0);
    start_rank(&j, 0, join);
    must_form_all(&j);
}

const check_case fake_cases[] = {
    {.name = "join_fake_refusals", .run = fake_refusals, .only = COBRE_TCP},
    {.name = "join_fake_version", .run = fake_version, .only = COBRE_TCP},
    {.name = "join_fake_http", .run = fake_http, .only = COBRE_TCP},
    {.name = "join_fake_banner", .run = fake_banner, .only = COBRE_TCP},
    {.name = "join_fake_garbage", .run = fake_garbage, .only = COBRE_TCP},
    {.name = "join_impostor", .run = impostor, .only = COBRE_TCP},
    {.name = "join_wrong_step", .run = wrong_step, .only = COBRE_TCP},
    {.name = "join_silent_coordinator", .run = silent_coordinator, .only = COBRE_TCP, .timed = true},
    {.name = "join_closing_coordinator", .run = closing_coordinator, .only = COBRE_TCP},
    {.name = "join_connected_to_itself", .run = connected_to_itself, .only = COBRE_TCP},
    CHECK_END,
};
