/* SPDX-License-Identifier: Apache-2.0 */
/* secrets.c: tokens, the files that hold them, and who may connect where there is none. */
#include "fault/tcp/peers.h"
#include "kit/variables.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rank 1 has another token than rank 0: it is told; rank 0 tells why nobody came. join() looks for the secrets. */
static void differing_tokens(const char *coordinators, const char *workers) {
    job j;
    make_plan(2, coordinators);
    set_timeouts(1);
    plan.config[1].tcp_token = workers;
    start_all(&j, 2);
    CHECK(strstr(must_refuse(&j, 1, "tokens differ", "")->suggestion, ENV_TCP_TOKEN));
    const report *r = must_refuse(&j, 0, "rank 1 of 2 did not come", "tokens differ");
    CHECK_SAY(strstr(r->message, "from this host") || strstr(r->message, "from 127.0.0.1"),
              "it says who was refused: %s", r->message);
    end_job(&j);
}

static void wrong_token(void) {
    differing_tokens("the-right-secret", "the-wrong-secret");
    differing_tokens("the-right-secret", "the-right-secret-and-more");
    differing_tokens("the-right-secret", "the-right-secre");
}

static void token_on_one_side(void) {
    differing_tokens("the-right-secret", NULL);
    differing_tokens(NULL, "the-right-secret");
}

/* The others do not suffer: the true rank comes later. */
static void right_token_after_wrong(void) {
    job j;
    make_plan(2, "the-right-secret");
    plan.config[2].rank = 1;
    plan.config[2].tcp_token = "the-wrong-secret";
    start_coordinator(&j, 3);
    start_rank(&j, 2, join);
    must_refuse(&j, 2, "tokens differ", "");
    start_rank(&j, 1, join);
    must_form(&j, 0);
    must_form(&j, 1);
    end_job(&j);
}

static void longest_token(void) {
    static char token[513];
    job j;
    memset(token, 't', 511);
    make_plan(2, token);
    start_all(&j, 2);
    must_form_all(&j);
    token[511] = 't';
    make_plan(2, token);
    start_all(&j, 1);
    CHECK(await(&j, 0, "opened")->status != COBRE_OK);
    end_job(&j);
}

/* An address of this machine that is not loopback. */
static bool own_address(char text[INET_ADDRSTRLEN]) {
    struct ifaddrs *all, *at;
    bool found = false;
    CHECK(getifaddrs(&all) == 0);
    for (at = all; at && !found; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
            continue;
        const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)at->ifa_addr;
        found = (ntohl(address->sin_addr.s_addr) >> 24) != 127;
        if (found)
            inet_ntop(AF_INET, &address->sin_addr, text, INET_ADDRSTRLEN);
    }
    freeifaddrs(all);
    return found;
}

static void beyond_loopback_refused(void) {
    static const char *const binds[] = {"0.0.0.0", "::", "192.0.2.77", "some-host", "127.example.com"};
    for (size_t i = 0; i < sizeof binds / sizeof *binds; i++) {
        job j;
        make_plan(2, NULL);
        set_everywhere("127.0.0.1", binds[i]);
        start_all(&j, 1);
        const report *r = must_refuse(&j, 0, binds[i], "no token");
        CHECK(strstr(r->suggestion, ENV_TCP_TOKEN) && strstr(r->suggestion, ENV_TCP_OPEN "=1"));
        end_job(&j);
    }
}

/* Without a token a coordinator elsewhere is a mistake on every rank: all say so at once, and what to do. */
static void coordinator_elsewhere(void) {
    static const char *const hosts[] = {"192.0.2.77", "2001:db8::77"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        job j;
        make_plan(3, NULL);
        set_everywhere(hosts[i], NULL);
        double since = kit_seconds();
        start_all(&j, 3);
        for (size_t r = 0; r < 3; r++) {
            const report *said = must_refuse(&j, r, hosts[i], "without a token");
            CHECK(strstr(said->suggestion, ENV_TCP_TOKEN) && strstr(said->suggestion, ENV_TCP_OPEN "=1"));
            must_come_within(&j, said, since, PROMISE);
        }
        end_job(&j);
    }
}

static void beyond_loopback_open(void) {
    job j;
    char address[INET_ADDRSTRLEN] = "127.0.0.1";
    own_address(address);
    make_plan(3, NULL);
    set_everywhere(address, NULL);
    plan.config[0].tcp_open = true;
    start_all(&j, 3);
    must_form_all(&j);

    char port[32], coordinator[64];
    uint16_t number = free_port();
    plan = (struct plan){0};
    snprintf(port, sizeof port, ENV_TCP_PORT "=%u", number);
    snprintf(coordinator, sizeof coordinator, ENV_TCP_COORDINATOR "=%s", address);
    for (size_t r = 0; r < 2; r++) {
        const char *lines[] = {ENV_BACKEND "=tcp",
                               r ? ENV_TCP_RANK "=1" : ENV_TCP_RANK "=0",
                               ENV_TCP_SIZE "=2",
                               coordinator,
                               port,
                               ENV_TCP_OPEN "=1",
                               ENV_TCP_BIND "=0.0.0.0"};
        memcpy(plan.environment[r], lines, sizeof lines);
    }
    start_all(&j, 2);
    must_form_all(&j);
}

/* Where it can be reached: without a token not even by another address of this machine, with one by all. */
static void where_it_listens(void) {
    char address[INET_ADDRSTRLEN] = "127.0.0.2";
    own_address(address);
    for (size_t with_token = 0; with_token < 2; with_token++) {
        job j;
        make_plan(2, with_token ? "secret" : NULL);
        start_coordinator(&j, 2);
        int there = try_dial(address, plan.config[0].tcp_port), here = try_dial("127.0.0.1", plan.config[0].tcp_port);
        CHECK_SAY((there >= 0) == with_token && (here >= 0) == with_token, "there is a port if there is a token");
        if (with_token) {
            close(here);
            close(there);
        }
        set_everywhere(address, NULL); /* any address of this machine leads to rank 0 */
        start_rank(&j, 1, join);
        must_form_all(&j);
    }
}

static char token_path[64];

/* Rank 0 of 1, with its token in a file. */
static const report *open_with_file(job *j, const char *bytes, size_t count, mode_t mode, const char *extra) {
    static char line[128];
    snprintf(token_path, sizeof token_path, "/tmp/cobre-token-%d", (int)getpid());
    unlink(token_path);
    int fd = open(token_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, count) == (ssize_t)count && fchmod(fd, mode) == 0 && close(fd) == 0);
    snprintf(line, sizeof line, ENV_TCP_TOKEN_FILE "=%s", token_path);
    make_plan(1, NULL);
    static char port[32];
    snprintf(port, sizeof port, ENV_TCP_PORT "=%u", plan.config[0].tcp_port);
    const char *lines[] = {ENV_BACKEND "=tcp", ENV_TCP_RANK "=0", ENV_TCP_SIZE "=1", port, line, extra};
    memcpy(plan.environment[0], lines, sizeof lines);
    start_all(j, 1);
    const report *r = await(j, 0, "opened");
    unlink(token_path);
    return r;
}

static void token_files(void) {
    static char long_token[600];
    memset(long_token, 'l', sizeof long_token);
    static const struct {
        const char *bytes;
        size_t count;
        mode_t mode;
        const char *extra, *word; /* word of the error, NULL: accepted */
    } files[] = {
        {"secret\n", 7, 0600, NULL, NULL},
        {"secret", 6, 0400, NULL, NULL},
        {"secret\r\n", 8, 0600, NULL, NULL},
        {long_token, 511, 0600, NULL, NULL},
        {"secret\n", 7, 0644, NULL, "others"},
        {"secret\n", 7, 0640, NULL, "others"},
        {"secret\n", 7, 0620, NULL, "others"},
        {"secret\n", 7, 0604, NULL, "others"},
        {"", 0, 0600, NULL, "no token"},
        {"\n\n", 2, 0600, NULL, "no token"},
        {long_token, 512, 0600, NULL, "511"},
        {long_token, 600, 0600, NULL, "511"},
        {"\0secret\n", 8, 0600, NULL, "token"}, /* would be no token at all */
        {"sec\0ret\n", 8, 0600, NULL, "token"}, /* would be a shorter one */
        {"secret\n", 7, 0600, ENV_TCP_TOKEN "=another-secret", "both"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        job j;
        const report *r = open_with_file(&j, files[i].bytes, files[i].count, files[i].mode, files[i].extra);
        if (files[i].word)
            CHECK_SAY(r->status != COBRE_OK && strstr(r->message, files[i].word) && !strstr(r->message, "secret"),
                      "file %zu is refused, \"%s\": %s", i, files[i].word, r->message);
        else
            CHECK_SAY(r->status == COBRE_OK, "file %zu is accepted: %s", i, r->message);
        end_job(&j);
    }
}

/* The file's line is the variable's value: one rank has it this way, the other that way. */
static void file_and_variable_agree(void) {
    job j;
    char file[128], port[32];
    snprintf(token_path, sizeof token_path, "/tmp/cobre-token-%d", (int)getpid());
    FILE *out = fopen(token_path, "w");
    CHECK(out && fchmod(fileno(out), 0600) == 0 && fputs("the-right-secret\n", out) >= 0 && fclose(out) == 0);
    make_plan(2, NULL);
    snprintf(port, sizeof port, ENV_TCP_PORT "=%u", plan.config[0].tcp_port);
    snprintf(file, sizeof file, ENV_TCP_TOKEN_FILE "=%s", token_path);
    for (size_t r = 0; r < 2; r++) {
        const char *lines[] = {ENV_BACKEND "=tcp",
                               r ? ENV_TCP_RANK "=1" : ENV_TCP_RANK "=0",
                               ENV_TCP_SIZE "=2",
                               ENV_TCP_COORDINATOR "=127.0.0.1",
                               port,
                               r ? file : ENV_TCP_TOKEN "=the-right-secret"};
        memcpy(plan.environment[r], lines, sizeof lines);
    }
    start_all(&j, 2);
    must_form_all(&j);
    unlink(token_path);
}

const check_case secret_cases[] = {
    {.name = "join_wrong_token", .run = wrong_token, .only = COBRE_TCP},
    {.name = "join_token_on_one_side", .run = token_on_one_side, .only = COBRE_TCP},
    {.name = "join_right_token_after_wrong", .run = right_token_after_wrong, .only = COBRE_TCP},
    {.name = "join_longest_token", .run = longest_token, .only = COBRE_TCP},
    {.name = "join_beyond_loopback_refused", .run = beyond_loopback_refused, .only = COBRE_TCP},
    {.name = "join_coordinator_elsewhere", .run = coordinator_elsewhere, .only = COBRE_TCP, .timed = true},
    {.name = "join_beyond_loopback_open", .run = beyond_loopback_open, .only = COBRE_TCP},
    {.name = "join_where_it_listens", .run = where_it_listens, .only = COBRE_TCP},
    {.name = "join_token_files", .run = token_files, .only = COBRE_TCP},
    {.name = "join_file_and_variable_agree", .run = file_and_variable_agree, .only = COBRE_TCP},
    CHECK_END,
};
