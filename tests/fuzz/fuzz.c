/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "backends/tcp/wire.h"
#include "kit/check.h"

/* A copy with nothing behind it, so that ASan sees a read of one byte too many. */
static unsigned char *exact_copy(const uint8_t *data, size_t size) {
    unsigned char *copy = malloc(size ? size : 1);
    CHECK(copy);
    memcpy(copy, data, size);
    return copy;
}

/* A beginning of a connection is judged alike however much of it has come. */
static void check_beginning(const uint8_t *bytes, size_t size) {
    static const char magic[8] = {'c', 'o', 'b', 'r', 'e', 't', 'c', 'p'};
    bool may_be = true;
    for (size_t count = 0; count <= size && count <= CB_HELLO_BYTES; count++) {
        if (count && count <= sizeof magic)
            may_be = may_be && bytes[count - 1] == (unsigned char)magic[count - 1];
        unsigned char *beginning = exact_copy(bytes, count);
        CHECK(cb_may_be_ours(beginning, count) == may_be);
        free(beginning);
    }
}

/* The first bytes of a connection, which anybody can send. */
static void hello(const uint8_t *data, size_t size) {
    check_beginning(data, size < 12 ? size : 12);
    if (size < CB_HELLO_BYTES)
        return;
    unsigned char *bytes = exact_copy(data, CB_HELLO_BYTES), again[CB_HELLO_BYTES];
    cb_hello parsed, second;
    int verdict = cb_parse_hello(bytes, &parsed);
    CHECK((verdict >= 0) == cb_may_be_ours(bytes, CB_HELLO_BYTES));
    if (verdict >= 0) {
        CHECK(verdict == CB_NOT_REFUSED || verdict == CB_REFUSED_VERSION || verdict == CB_REFUSED_BYTE_ORDER ||
              verdict == CB_REFUSED_TYPE_SIZES);
        cb_pack_hello(&parsed, again);
        memset(bytes + 13, 0, 3);
        memset(bytes + 26, 0, 2);
        CHECK_BYTES(bytes, again, sizeof again);
        CHECK(cb_parse_hello(again, &second) == verdict && second.rank == parsed.rank && second.pid == parsed.pid);
    }
    free(bytes);
}

/* What the one who accepts answers; an impostor can send anything. */
static void reply(const uint8_t *data, size_t size) {
    if (size < CB_REPLY_BYTES)
        return;
    unsigned char *bytes = exact_copy(data, CB_REPLY_BYTES), again[CB_REPLY_BYTES];
    cb_reply parsed;
    if (cb_parse_reply(bytes, &parsed)) {
        CHECK(parsed.type == CB_CHALLENGE || parsed.type == CB_WELCOME || parsed.type == CB_REFUSAL);
        CHECK(cb_refusal_text(parsed.reason)[0]); /* also for a reason that there is not */
        cb_pack_reply(&parsed, again);
        CHECK_BYTES(bytes, again, sizeof again);
    }
    free(bytes);
}

/* The head of a frame. */
static void header(const uint8_t *data, size_t size) {
    if (size < CB_HEADER_BYTES)
        return;
    unsigned char *bytes = exact_copy(data, CB_HEADER_BYTES), again[CB_HEADER_BYTES];
    cb_header parsed;
    if (cb_parse_header(bytes, &parsed)) {
        char text[128];
        CHECK(parsed.tag >= CB_TAG_CALL && parsed.tag <= CB_TAG_FAILED);
        cb_pack_header(&parsed, again);
        CHECK_BYTES(bytes, again, sizeof again);
        cb_describe(&parsed.print, text, sizeof text); /* as a mismatch prints it, whatever it says */
        CHECK(memchr(text, '\0', sizeof text));
    }
    free(bytes);
}

static void check_error(const cb_failure *parsed, size_t ranks) {
    struct cobre_comm comm = {.backend = COBRE_TCP, .size = ranks};
    char json[8192];
    CHECK(cb_report_failure(&comm, CB_ALLREDUCE, 1, parsed) == COBRE_COLLECTIVE_FAILED);
    const cobre_error *error = cobre_last_error();
    CHECK(error->culprit < ranks && memchr(error->message, '\0', sizeof error->message));
    size_t length = cobre_error_json(error, json, sizeof json);
    CHECK(length < sizeof json && json[length - 1] == '}' && strlen(json) == length);
}

/* "It failed" of a control connection, and the error that is made of it. The byte behind the message is the number of
 * ranks less 1. */
static void failure(const uint8_t *data, size_t size) {
    if (size < CB_FAILURE_BYTES)
        return;
    size_t ranks = size > CB_FAILURE_BYTES ? (size_t)data[CB_FAILURE_BYTES] + 1 : 4;
    unsigned char *bytes = exact_copy(data, CB_FAILURE_BYTES), again[CB_FAILURE_BYTES];
    cb_failure parsed;
    if (cb_parse_failure(bytes, ranks, &parsed)) {
        CHECK(parsed.cause > COBRE_CAUSE_NONE && parsed.cause <= COBRE_CAUSE_TRANSPORT);
        CHECK(parsed.culprit < ranks && parsed.rank_a < ranks && parsed.rank_b < ranks);
        CHECK(memchr(parsed.text, '\0', sizeof parsed.text));
        cb_pack_failure(&parsed, again);
        memset(bytes + 12, 0, 4);
        memset(bytes + 80, 0, 8);
        bytes[CB_FAILURE_BYTES - 1] = 0;
        CHECK_BYTES(bytes, again, sizeof again);
        check_error(&parsed, ranks);
    }
    free(bytes);
}

/* What rank 0 tells when all are in. The number of ranks is what the bytes have room for. */
static void table(const uint8_t *data, size_t size) {
    if (size < cb_table_bytes(0))
        return;
    size_t ranks = (size - cb_table_bytes(0)) / 8, used = cb_table_bytes(ranks);
    CHECK(used <= size);
    unsigned char *bytes = exact_copy(data, used), *again = malloc(used);
    int64_t *pids = malloc(ranks ? ranks * sizeof *pids : 1);
    cb_address successor;
    CHECK(again && pids);
    cb_parse_table(bytes, ranks, &successor, pids);
    cb_pack_table(&successor, pids, ranks, again);
    bytes[1] = 0;
    CHECK_BYTES(bytes, again, used);
    free(pids);
    free(again);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const check[FUZZ_KINDS])(const uint8_t *, size_t) = {[FUZZ_HELLO] = hello,
                                                                       [FUZZ_REPLY] = reply,
                                                                       [FUZZ_HEADER] = header,
                                                                       [FUZZ_FAILURE] = failure,
                                                                       [FUZZ_TABLE] = table};
    check_at_failure = abort; /* which the fuzzer notices */
    if (size > 0)
        check[data[0] % FUZZ_KINDS](data + 1, size - 1);
    return 0;
}
