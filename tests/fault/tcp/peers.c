/* SPDX-License-Identifier: Apache-2.0 */
#include "fault/tcp/peers.h"
#include "kit/variables.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct plan plan;
static _Atomic bool *wishes; /* by rank: interrupt; memory that parent and ranks share */

/* ---- Ranks ---- */

static socklen_t fill_address(const char *text, uint16_t port, struct sockaddr_storage *address) {
    *address = (struct sockaddr_storage){0};
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return sizeof *four;
    }
    CHECK(inet_pton(AF_INET6, text, &six->sin6_addr) == 1);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    return sizeof *six;
}

static int try_listen(const char *text, uint16_t port) {
    struct sockaddr_storage address;
    socklen_t length = fill_address(text, port, &address);
    int on = 1, fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 16) == 0)
        return fd;
    close(fd);
    return -1;
}

uint16_t free_port(void) {
    for (int tries = 0; tries < 1000; tries++) {
        uint16_t port = random_port();
        int fd = try_listen("0.0.0.0", port);
        if (fd < 0)
            continue;
        close(fd);
        return port;
    }
    CHECK_NEVER("there is a free port");
}

void make_plan(size_t size, const char *token) {
    CHECK(sodium_init() >= 0);
    uint16_t port = free_port();
    if (!wishes)
        wishes = mmap(NULL, KIT_MAX_RANKS * sizeof *wishes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(wishes != MAP_FAILED);
    for (size_t r = 0; r < KIT_MAX_RANKS; r++)
        wishes[r] = false;
    plan = (struct plan){0};
    for (size_t r = 0; r < KIT_MAX_RANKS; r++)
        plan.config[r] = (cobre_config){.struct_size = sizeof(cobre_config),
                                        .backend = COBRE_TCP,
                                        .rank = r,
                                        .size = size,
                                        .tcp_coordinator = "127.0.0.1",
                                        .tcp_port = port,
                                        .tcp_token = token,
                                        .join_timeout_secs = DEADLINE};
}

void set_everywhere(const char *coordinator, const char *bind) {
    for (size_t r = 0; r < KIT_MAX_RANKS; r++) {
        plan.config[r].tcp_coordinator = coordinator;
        plan.config[r].tcp_bind = bind;
    }
}

void set_timeouts(double seconds) {
    for (size_t r = 0; r < KIT_MAX_RANKS; r++)
        plan.config[r].join_timeout_secs = seconds;
}

static void must_not_hold_secrets(const char *text) {
    for (size_t r = 0; r < KIT_MAX_RANKS; r++) {
        const char *token = plan.config[r].tcp_token;
        CHECK_SAY(!token || !*token || !strstr(text, token), "no secret in: %s", text);
        for (size_t i = 0; i < 8 && plan.environment[r][i]; i++)
            if (strncmp(plan.environment[r][i], ENV_TCP_TOKEN "=", 16) == 0 && plan.environment[r][i][16])
                CHECK_SAY(!strstr(text, plan.environment[r][i] + 16), "no secret in: %s", text);
    }
}

static void check_error_texts(void) {
    const cobre_error *error = cobre_last_error();
    char json[8192];
    CHECK(cobre_error_json(error, json, sizeof json) < sizeof json);
    must_not_hold_secrets(json);
    must_not_hold_secrets(error->message);
    must_not_hold_secrets(error->suggestion);
    must_not_hold_secrets(error->subject);
    must_not_hold_secrets(error->list);
}

void interrupt_rank(size_t rank) {
    wishes[rank] = true;
}

/* Sockets of this process that are connected. */
static size_t connections(void) {
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++) {
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        count += getpeername(fd, (struct sockaddr *)&address, &length) == 0;
    }
    return count;
}

static size_t inherited; /* connections that the parent had */

/* The second connection needs what rank 0 said on the first one. */
static void notice_joined(void) {
    static bool said;
    if (!said && self.rank > 0 && connections() >= inherited + 2) {
        said = true;
        say("joined", 0);
    }
}

static int interrupt_on_wish(void *argument) {
    static bool said;
    notice_joined();
    if (!wishes[self.rank])
        return rank_config().interrupted(argument);
    if (!said)
        say("interrupts", 0);
    said = true;
    return 1;
}

static void set_environment(void) {
    char name[64];
    const char **lines = plan.environment[self.rank];
    for (size_t i = 0; i < 8 && lines[i]; i++) {
        const char *equals = strchr(lines[i], '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - lines[i]), lines[i]);
        CHECK(setenv(name, equals + 1, 1) == 0);
    }
}

/* Small: over the star; large: over every link of the ring. */
static void work(cobre_comm *comm) {
    size_t size = cobre_size(comm), rank = cobre_rank(comm), each = 30000;
    uint64_t mine = rank + 1, sum = 0;
    CHECK_OK(cobre_allreduce(comm, &mine, 1, &sum, 1, COBRE_U64, COBRE_SUM));
    CHECK(sum == size * (size + 1) / 2);
    uint64_t *all = calloc(size * each, sizeof *all);
    size_t counts[KIT_MAX_RANKS], displs[KIT_MAX_RANKS];
    CHECK(all != NULL);
    for (size_t r = 0; r < size; r++) {
        counts[r] = each;
        displs[r] = r * each;
    }
    for (size_t i = 0; i < each; i++)
        all[rank * each + i] = rank * each + i;
    CHECK_OK(cobre_allgatherv(comm, all + rank * each, each, all, size * each, counts, displs, COBRE_U64));
    for (size_t i = 0; i < size * each; i++)
        CHECK(all[i] == i);
    free(all);
}

void join(void) {
    cobre_config config = plan.config[self.rank];
    cobre_comm *comm;
    bool from_environment = plan.environment[self.rank][0];
    set_environment();
    inherited = connections();
    config.interrupted = interrupt_on_wish;
    report_inside();
    cobre_status status = cobre_comm_open(from_environment ? NULL : &config, &comm);
    if (status)
        check_error_texts();
    if (tell("opened", status) == COBRE_OK) {
        work(comm);
        say("worked", 0);
        if (plan.hold[self.rank])
            await_order();
        CHECK_OK(cobre_comm_free(&comm));
    }
    CHECK(comm == NULL);
}

void join_by_tcp(void) {
    setenv("COBRE_TEST_TCP_ONLY", "1", 1);
    join();
}

void start_all(job *j, size_t slots) {
    make_job(j, slots);
    for (size_t r = 0; r < slots; r++)
        start_rank(j, r, join);
}

void start_coordinator(job *j, size_t slots) {
    make_job(j, slots);
    start_rank(j, 0, join);
    await(j, 0, "inside");
}

void must_form(job *j, size_t rank) {
    const report *r = await(j, rank, "opened");
    CHECK_SAY(r->status == COBRE_OK, "rank %zu gets in: %s", rank, r->message);
    await(j, rank, "worked");
}

void must_form_all(job *j) {
    for (size_t r = 0; r < j->size; r++)
        must_form(j, r);
    end_job(j);
}

const report *must_refuse(job *j, size_t rank, const char *one, const char *two) {
    const report *r = await(j, rank, "opened");
    CHECK_SAY(r->status == COBRE_INITIALIZATION_FAILED, "InitializationFailed on %zu, not %s", rank,
              cobre_status_name(r->status));
    CHECK_SAY(strstr(r->message, one) && strstr(r->message, two), "\"%s\" and \"%s\" are in %zu's message: %s", one,
              two, rank, r->message);
    CHECK(strlen(r->suggestion) > 0);
    return r;
}

/* ---- Raw connections ---- */

int try_dial(const char *text, uint16_t port) {
    struct sockaddr_storage address;
    socklen_t length = fill_address(text, port, &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    close(fd);
    return -1;
}

int dial_without_waiting(const char *text, uint16_t port) {
    struct sockaddr_storage address;
    socklen_t length = fill_address(text, port, &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(fd >= 0 && (connect(fd, (struct sockaddr *)&address, length) == 0 || errno == EINPROGRESS));
    return fd;
}

int dial(const char *address, uint16_t port) {
    int fd = try_dial(address, port);
    CHECK_SAY(fd >= 0, "%s port %u takes a connection: %s", address, port, strerror(errno));
    return fd;
}

int listen_at(const char *address, uint16_t port) {
    int fd = try_listen(address, port);
    CHECK_SAY(fd >= 0, "%s port %u can be listened at: %s", address, port, strerror(errno));
    return fd;
}

static socklen_t name_of(uint16_t port, struct sockaddr_un *name) {
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "cobre-tcp/%u", port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int take_name(uint16_t port) {
    struct sockaddr_un name;
    socklen_t length = name_of(port, &name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (struct sockaddr *)&name, length) == 0 && listen(fd, 8) == 0);
    return fd;
}

int dial_name(uint16_t port) {
    struct sockaddr_un name;
    socklen_t length = name_of(port, &name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&name, length) == 0)
        return fd;
    close(fd);
    return -1;
}

static void await_event(int fd, short events, double until) {
    struct pollfd polled = {.fd = fd, .events = events};
    while (poll(&polled, 1, 100) <= 0)
        CHECK_SAY(kit_seconds() < until, "something happens on a connection within the deadline");
}

int answer(int listener) {
    await_event(listener, POLLIN, kit_seconds() + DEADLINE);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}

void put(int fd, const void *bytes, size_t count) {
    CHECK(send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count);
}

bool get(int fd, void *bytes, size_t count) {
    double until = kit_seconds() + DEADLINE;
    for (size_t got = 0; got < count;) {
        await_event(fd, POLLIN, until);
        ssize_t more = recv(fd, (char *)bytes + got, count - got, 0);
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

bool is_over(int fd) {
    char rest[512];
    double until = kit_seconds() + DEADLINE;
    for (;;) {
        await_event(fd, POLLIN, until);
        if (recv(fd, rest, sizeof rest, 0) <= 0)
            return true;
    }
}

cb_hello make_hello(uint8_t kind, size_t rank, size_t size) {
    cb_hello hello = {.version = CB_WIRE_VERSION,
                      .byte_order = cb_native_byte_order(),
                      .size_bytes = sizeof(size_t),
                      .kind = kind,
                      .rank = (uint32_t)rank,
                      .size = (uint32_t)size,
                      .pid = (uint32_t)getpid()};
    randombytes_buf(hello.nonce, sizeof hello.nonce);
    return hello;
}

void put_hello(int fd, const cb_hello *hello) {
    unsigned char bytes[CB_HELLO_BYTES];
    cb_pack_hello(hello, bytes);
    put(fd, bytes, sizeof bytes);
}

static bool get_reply(int fd, cb_reply *reply) {
    unsigned char bytes[CB_REPLY_BYTES];
    if (!get(fd, bytes, sizeof bytes))
        return false;
    CHECK(cb_parse_reply(bytes, reply));
    return true;
}

bool shake_hands(int fd, const cb_hello *hello, const char *token, cb_reply *reply) {
    unsigned char bytes[CB_HELLO_BYTES], proof[CB_PROOF], nonce[CB_NONCE];
    cb_pack_hello(hello, bytes);
    put(fd, bytes, sizeof bytes);
    if (!get_reply(fd, reply))
        return false;
    if (reply->type != CB_CHALLENGE)
        return true;
    memcpy(nonce, reply->secret, sizeof nonce);
    cb_make_proof(token, "connects", bytes, nonce, proof);
    put(fd, proof, sizeof proof);
    if (!get_reply(fd, reply))
        return false;
    if (reply->type == CB_WELCOME) {
        cb_make_proof(token, "accepts", bytes, nonce, proof);
        CHECK(memcmp(proof, reply->secret, sizeof proof) == 0);
    }
    return true;
}

void welcome(int fd, const char *token) {
    unsigned char hello[CB_HELLO_BYTES], proof[CB_PROOF], bytes[CB_REPLY_BYTES];
    cb_reply reply = {.type = CB_CHALLENGE, .version = CB_WIRE_VERSION};
    unsigned char nonce[CB_NONCE] = {0};
    CHECK(get(fd, hello, sizeof hello));
    cb_pack_reply(&reply, bytes);
    put(fd, bytes, sizeof bytes);
    CHECK(get(fd, proof, sizeof proof));
    reply.type = CB_WELCOME;
    cb_make_proof(token, "accepts", hello, nonce, reply.secret);
    cb_pack_reply(&reply, bytes);
    put(fd, bytes, sizeof bytes);
}

void must_be_refused(uint16_t port, const cb_hello *hello, const char *token, unsigned reason) {
    int fd = dial("127.0.0.1", port);
    cb_reply reply;
    CHECK(shake_hands(fd, hello, token, &reply));
    CHECK_SAY(reply.type == CB_REFUSAL && reply.reason == reason, "a refusal for reason %u, not type %u, reason %u",
              reason, reply.type, reply.reason);
    CHECK(reply.version == CB_WIRE_VERSION && is_over(fd));
    close(fd);
}

struct member sneak_in(uint16_t port, size_t rank, size_t size, const char *token, uint16_t ring_port) {
    struct member member = {.data = dial("127.0.0.1", port)};
    cb_hello hello = make_hello(CB_DATA, rank, size);
    cb_reply reply;
    hello.port = ring_port;
    CHECK(shake_hands(member.data, &hello, token, &reply) && reply.type == CB_WELCOME);
    member.control = dial("127.0.0.1", port);
    hello = make_hello(CB_CONTROL, rank, size);
    memcpy(hello.job, reply.job, CB_JOB_ID);
    CHECK(shake_hands(member.control, &hello, token, &reply) && reply.type == CB_WELCOME);
    return member;
}

void must_get_table(const struct member *member, size_t size) {
    unsigned char head[CB_HEADER_BYTES], *body = malloc(cb_table_bytes(size));
    cb_header header;
    CHECK(body && get(member->data, head, sizeof head) && cb_parse_header(head, &header));
    CHECK(header.tag == CB_TAG_TABLE && header.length == cb_table_bytes(size));
    CHECK(get(member->data, body, cb_table_bytes(size)));
    free(body);
}
