/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.c: the inputs that the fuzzer begins with.
 *
 *     fuzz_corpus FOUND [DIRECTORY]    gives each input to the target and, for libFuzzer, writes it into DIRECTORY
 *
 * The seeds are valid messages by our own packers, and each of them with what a test thinks of first: other bytes in one
 * field, cut off, longer, all zeros, all ones. FOUND holds what the fuzzer found beyond that: a line is the kind of message
 * and its bytes in hex. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/tcp/wire.h"
#include "fuzz/fuzz.h"
#include "fuzz/hex.h"
#include "kit/check.h"

enum { MOST = 1024 };

static const char *directory; /* NULL: nothing is written */
static uint8_t kind;          /* of the messages that are added */
static size_t count;

static void write_input(const uint8_t *input, size_t size) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%zu", directory, count);
    FILE *file = fopen(path, "wb");
    CHECK_SAY(file && fwrite(input, 1, size, file) == size && fclose(file) == 0, "%s can be written", path);
}

static void add(const uint8_t *bytes, size_t size) {
    uint8_t input[1 + MOST] = {kind};
    CHECK(size <= MOST);
    memcpy(input + 1, bytes, size);
    LLVMFuzzerTestOneInput(input, 1 + size);
    count++;
    if (directory)
        write_input(input, 1 + size);
}

/* The message, and what can become of it. */
static void add_family(const uint8_t *bytes, size_t size) {
    static uint8_t changed[MOST];
    for (size_t part = 0; part <= 4; part++)
        add(bytes, size * part / 4);
    add(bytes, size - 1);
    for (size_t at = 0; at < size; at += 1 + at / 4) {
        memcpy(changed, bytes, size);
        changed[at] ^= 0x81;
        add(changed, size);
    }
    memcpy(changed, bytes, size);
    changed[size] = 2;
    add(changed, size + 1);
}

static void add_extremes(size_t size) {
    static uint8_t bytes[MOST];
    memset(bytes, 0, size);
    add(bytes, size);
    memset(bytes, 0xff, size);
    add(bytes, size);
}

static void hellos(void) {
    uint8_t bytes[CB_HELLO_BYTES];
    static const char http[] =
        "GET / HTTP/1.1\r\nHost: cobre\r\nUser-Agent: stranger/1.0\r\nAccept: */*\r\n\r\n..........";
    cb_hello hello = {.version = CB_WIRE_VERSION,
                      .byte_order = 1,
                      .size_bytes = 8,
                      .kind = CB_DATA,
                      .rank = 1,
                      .size = 4,
                      .port = 40001,
                      .pid = 4711};
    kind = FUZZ_HELLO;
    memset(hello.nonce, 0xa5, sizeof hello.nonce);
    cb_pack_hello(&hello, bytes);
    add_family(bytes, sizeof bytes);
    hello.kind = CB_CONTROL;
    hello.byte_order = 2;
    memset(hello.job, 0x5a, sizeof hello.job);
    cb_pack_hello(&hello, bytes);
    add(bytes, sizeof bytes);
    hello.version = CB_WIRE_VERSION + 1;
    cb_pack_hello(&hello, bytes);
    add(bytes, sizeof bytes);
    add((const uint8_t *)http, sizeof http - 1);
    add_extremes(sizeof bytes);
}

static void replies(void) {
    uint8_t bytes[CB_REPLY_BYTES];
    cb_reply reply = {.type = CB_CHALLENGE, .version = CB_WIRE_VERSION};
    kind = FUZZ_REPLY;
    memset(reply.secret, 0xa5, sizeof reply.secret);
    cb_pack_reply(&reply, bytes);
    add_family(bytes, sizeof bytes);
    reply = (cb_reply){.type = CB_WELCOME, .version = CB_WIRE_VERSION, .number = 4};
    memset(reply.job, 0x5a, sizeof reply.job);
    cb_pack_reply(&reply, bytes);
    add(bytes, sizeof bytes);
    for (unsigned reason = 0; reason <= CB_REFUSED_KIND + 1; reason++) {
        reply =
            (cb_reply){.type = CB_REFUSAL, .reason = (uint8_t)reason, .version = CB_WIRE_VERSION, .number = UINT32_MAX};
        cb_pack_reply(&reply, bytes);
        add(bytes, sizeof bytes);
    }
    add_extremes(sizeof bytes);
}

static void headers(void) {
    uint8_t bytes[CB_HEADER_BYTES];
    kind = FUZZ_HEADER;
    for (uint8_t operation = 0; operation <= CB_SPLIT_LOCAL + 1; operation++) {
        cb_header header = {.length = UINT64_C(1) << (6 * operation),
                            .tag = (uint8_t)(operation % 7),
                            .sequence = operation,
                            .print = {.operation = operation,
                                      .type = COBRE_F64,
                                      .op = COBRE_MAX,
                                      .flags = 1,
                                      .root = 3,
                                      .count = UINT64_MAX,
                                      .detail = UINT64_C(0x0123456789abcdef)}};
        cb_pack_header(&header, bytes);
        add(bytes, sizeof bytes);
    }
    cb_pack_header(&(cb_header){.length = 8, .tag = CB_TAG_CALL, .sequence = 1}, bytes);
    add_family(bytes, sizeof bytes);
    add_extremes(sizeof bytes);
}

static void failures(void) {
    uint8_t bytes[CB_FAILURE_BYTES];
    cb_failure failure = {.culprit = 3,
                          .code = -1,
                          .pid = 4711,
                          .rank_b = 3,
                          .call_a = {.operation = CB_ALLGATHERV, .type = COBRE_F64, .count = 7, .detail = 1},
                          .call_b = {.operation = CB_ALLGATHERV, .type = COBRE_F64, .count = 7, .detail = 2}};
    kind = FUZZ_FAILURE;
    for (unsigned cause = 0; cause <= COBRE_CAUSE_TRANSPORT + 1; cause++) {
        failure.cause = (cobre_cause)cause;
        snprintf(failure.text, sizeof failure.text, "\"%u\": \xc3\xa9, \x01, \\", cause);
        cb_pack_failure(&failure, bytes);
        add(bytes, sizeof bytes);
    }
    failure.cause = COBRE_CAUSE_ABORTED;
    memset(failure.text, '"', sizeof failure.text); /* and no end */
    cb_pack_failure(&failure, bytes);
    add_family(bytes, sizeof bytes);
    add_extremes(sizeof bytes);
}

static void tables(void) {
    static uint8_t bytes[MOST];
    static const int64_t pids[] = {1, -1, INT64_MAX, INT64_MIN, 4711};
    kind = FUZZ_TABLE;
    for (size_t ranks = 0; ranks <= 5; ranks++) {
        cb_address successor = {.family = ranks % 2 ? 4 : 6, .port = 40001, .bytes = {127, 0, 0, 1}};
        cb_pack_table(&successor, pids, ranks, bytes);
        add(bytes, cb_table_bytes(ranks));
    }
    add_family(bytes, cb_table_bytes(5));
    add_extremes(cb_table_bytes(3));
}

static void found(const char *path) {
    static const char *const names[FUZZ_KINDS] = {"hello", "reply", "header", "failure", "table"};
    static uint8_t bytes[MOST];
    static char name[16], hex[2 * MOST + 1];
    size_t before = count;
    FILE *file = fopen(path, "r");
    CHECK_SAY(file, "%s can be read", path);
    while (fscanf(file, "%15s %2048s", name, hex) == 2) {
        for (kind = 0; kind < FUZZ_KINDS && strcmp(names[kind], name) != 0;)
            kind++;
        CHECK_SAY(kind < FUZZ_KINDS, "%s is a kind of message", name);
        add(bytes, fuzz_unhex(hex, bytes));
    }
    CHECK_SAY(feof(file) && count > before, "%s can be read to its end", path);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3)
        return 2;
    directory = argv[2];
    if (directory)
        mkdir(directory, 0777);
    hellos();
    replies();
    headers();
    failures();
    tables();
    printf("%zu seeds\n", count);
    found(argv[1]);
    printf("%zu inputs\n", count);
    return 0;
}
