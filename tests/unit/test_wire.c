/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire.c: every message of docs/wire.md, byte for byte.
 *
 * The bytes are written by hand from the document, not taken from the code: where a test fails, one of the two is
 * wrong. The proofs were computed with Python's hmac and hashlib from the same bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/tcp/wire.h"
#include "kit/check.h"

/* Hex digits, blanks ignored, 'text' for characters; returns how many bytes there are. */
static size_t bytes_of(const char *hex, unsigned char *bytes) {
    size_t count = 0;
    while (*hex) {
        if (*hex == ' ') {
            hex++;
        } else if (*hex == '\'') {
            for (hex++; *hex != '\''; hex++)
                bytes[count++] = (unsigned char)*hex;
            hex++;
        } else {
            char pair[3] = {hex[0], hex[1], '\0'};
            bytes[count++] = (unsigned char)strtoul(pair, NULL, 16);
            hex += 2;
        }
    }
    return count;
}

#define CHECK_HEX(actual, length, hex)                                                                                 \
    do {                                                                                                               \
        unsigned char expected_[1024];                                                                                 \
        CHECK_EQ(bytes_of(hex, expected_), (length));                                                                  \
        CHECK_BYTES(actual, expected_, (length));                                                                      \
    } while (0)

#define NONCE "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
#define CHALLENGE "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
#define JOB "e0e1e2e3e4e5e6e7e8e9eaebecedeeef"

/* Offsets as in the document:   0 magic  8 ver 10 11 12 13     16 rank  20 size  24   26   28 pid */
#define HELLO "'cobretcp' 0003 01 08 02 000000 00010203 00040506 9c41 0000 0000beef " NONCE JOB

static cb_hello some_hello(void) {
    cb_hello hello = {.version = CB_WIRE_VERSION,
                      .byte_order = 1,
                      .size_bytes = 8,
                      .kind = CB_CONTROL,
                      .rank = 0x10203,
                      .size = 0x40506,
                      .port = 40001,
                      .pid = 0xbeef};
    bytes_of(NONCE, hello.nonce);
    bytes_of(JOB, hello.job);
    return hello;
}

static void hello_bytes(void) {
    unsigned char bytes[CB_HELLO_BYTES];
    cb_hello hello = some_hello();
    CHECK_EQ(CB_HELLO_BYTES, 80);
    cb_pack_hello(&hello, bytes);
    CHECK_HEX(bytes, 80, HELLO);
}

static void hello_fields(void) {
    unsigned char bytes[CB_HELLO_BYTES];
    cb_hello hello, expected = some_hello();
    bytes_of(HELLO, bytes);
    cb_parse_hello(bytes, &hello);
    CHECK_EQ(hello.version, 3);
    CHECK_EQ(hello.byte_order, 1);
    CHECK_EQ(hello.size_bytes, 8);
    CHECK_EQ(hello.kind, 2);
    CHECK_EQ(hello.rank, 0x10203);
    CHECK_EQ(hello.size, 0x40506);
    CHECK_EQ(hello.port, 40001);
    CHECK_EQ(hello.pid, 0xbeef);
    CHECK_BYTES(hello.nonce, expected.nonce, sizeof hello.nonce);
    CHECK_BYTES(hello.job, expected.job, sizeof hello.job);
}

/* A hello with this byte at this place; the rest fits this machine. */
static int verdict_with(size_t at, unsigned char byte) {
    unsigned char bytes[CB_HELLO_BYTES];
    cb_hello hello;
    bytes_of(HELLO, bytes);
    bytes[10] = cb_native_byte_order();
    bytes[11] = sizeof(size_t);
    bytes[at] = byte;
    return cb_parse_hello(bytes, &hello);
}

static void hello_refusals(void) {
    unsigned char other_order = cb_native_byte_order() == 1 ? 2 : 1;
    CHECK_EQ(verdict_with(0, 'c'), 0);
    for (size_t at = 0; at < 8; at++)
        CHECK_EQ(verdict_with(at, 'X'), -1);
    CHECK_EQ(verdict_with(8, 1), 1);  /* version 259 */
    CHECK_EQ(verdict_with(9, 1), 1);  /* version 1 */
    CHECK_EQ(verdict_with(9, 0), 1);  /* version 0 */
    CHECK_EQ(verdict_with(10, 0), 2); /* byte order */
    CHECK_EQ(verdict_with(10, other_order), 2);
    CHECK_EQ(verdict_with(10, 3), 2);
    CHECK_EQ(verdict_with(11, sizeof(size_t) == 8 ? 4 : 8), 3); /* type sizes */
    CHECK_EQ(verdict_with(11, 0), 3);
    for (unsigned kind = 0; kind < 256; kind += 15) /* read, not judged */
        CHECK_EQ(verdict_with(12, (unsigned char)kind), 0);
}

/* The version comes first: what another version means by the other bytes is not known. */
static void version_is_judged_first(void) {
    unsigned char bytes[CB_HELLO_BYTES] = "cobretcp";
    cb_hello hello;
    memset(bytes + 8, 0xff, sizeof bytes - 8);
    CHECK_EQ(cb_parse_hello(bytes, &hello), 1);
    CHECK_EQ(hello.version, 0xffff);
}

static void hello_beginnings(void) {
    unsigned char bytes[CB_HELLO_BYTES];
    bytes_of(HELLO, bytes);
    for (size_t count = 0; count <= sizeof bytes; count++)
        CHECK(cb_may_be_ours(bytes, count));
    for (size_t at = 0; at < 8; at++) {
        bytes[at] ^= 0x20;
        CHECK(cb_may_be_ours(bytes, at));
        for (size_t count = at + 1; count <= sizeof bytes; count++)
            CHECK(!cb_may_be_ours(bytes, count));
        bytes[at] ^= 0x20;
    }
    CHECK(!cb_may_be_ours((const unsigned char *)"GET / HTTP/1.1", 3));
}

/* The byte order of this machine as the document numbers it, found another way. */
static void native_byte_order(void) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    CHECK_EQ(cb_native_byte_order(), 1);
#else
    CHECK_EQ(cb_native_byte_order(), 2);
#endif
}

#define NO_JOB "00000000000000000000000000000000"
#define NO_SECRET NO_JOB NO_JOB

static void reply_bytes(void) {
    unsigned char bytes[CB_REPLY_BYTES];
    cb_reply challenge = {.type = CB_CHALLENGE, .version = CB_WIRE_VERSION},
             welcome = {.type = CB_WELCOME, .version = CB_WIRE_VERSION, .number = 16},
             refusal = {.type = CB_REFUSAL, .reason = CB_REFUSED_SIZE, .version = 0x102, .number = 0xa0b0c0d};
    CHECK_EQ(CB_REPLY_BYTES, 64);
    bytes_of(CHALLENGE, challenge.secret);
    cb_pack_reply(&challenge, bytes);
    CHECK_HEX(bytes, 64, "'cobretcp' 01 00 0003 00000000 " CHALLENGE NO_JOB);
    bytes_of(NONCE, welcome.secret);
    bytes_of(JOB, welcome.job);
    cb_pack_reply(&welcome, bytes);
    CHECK_HEX(bytes, 64, "'cobretcp' 02 00 0003 00000010 " NONCE JOB);
    cb_pack_reply(&refusal, bytes);
    CHECK_HEX(bytes, 64, "'cobretcp' 03 05 0102 0a0b0c0d " NO_SECRET NO_JOB);
}

static void reply_fields(void) {
    unsigned char bytes[CB_REPLY_BYTES], secret[CB_PROOF], job[CB_JOB_ID];
    cb_reply reply;
    bytes_of("'cobretcp' 02 09 0102 0a0b0c0d " NONCE JOB, bytes);
    bytes_of(NONCE, secret);
    bytes_of(JOB, job);
    CHECK(cb_parse_reply(bytes, &reply));
    CHECK_EQ(reply.type, 2);
    CHECK_EQ(reply.reason, 9);
    CHECK_EQ(reply.version, 0x102);
    CHECK_EQ(reply.number, 0xa0b0c0d);
    CHECK_BYTES(reply.secret, secret, sizeof secret);
    CHECK_BYTES(reply.job, job, sizeof job);
    for (unsigned type = 0; type < 256; type++) {
        bytes[8] = (unsigned char)type;
        CHECK_EQ(cb_parse_reply(bytes, &reply), type >= 1 && type <= 3);
    }
    bytes[8] = 1;
    bytes[7] = 'P';
    CHECK(!cb_parse_reply(bytes, &reply));
}

/* The numbers of the document's list. */
static void refusal_reasons(void) {
    static const char *const words[] = {NULL,    "version", "byte order",  "type sizes", "token", "number of ranks",
                                        "range", "taken",   "another job", "kind"};
    for (unsigned reason = 1; reason < sizeof words / sizeof *words; reason++)
        CHECK_HOLDS(cb_refusal_text(reason), words[reason]);
    CHECK_TEXT(cb_refusal_text(0), cb_refusal_text(10));
    CHECK(cb_refusal_text(255)[0]);
}

#define PRINT "04 07 02 01 01020304 1112131415161718 2122232425262728"

static const cb_fingerprint print = {.operation = CB_ALLGATHERV,
                                     .type = COBRE_F64,
                                     .op = COBRE_MIN,
                                     .flags = 1,
                                     .root = 0x1020304,
                                     .count = UINT64_C(0x1112131415161718),
                                     .detail = UINT64_C(0x2122232425262728)};

static void header_bytes(void) {
    unsigned char bytes[CB_HEADER_BYTES];
    cb_header header = {.length = UINT64_C(0x100000002),
                        .tag = CB_TAG_RESULT,
                        .sequence = UINT64_C(0x3132333435363738),
                        .print = print};
    CHECK_EQ(CB_HEADER_BYTES, 48);
    cb_pack_header(&header, bytes);
    CHECK_HEX(bytes, 48, "0000000100000002 02 00000000000000 3132333435363738 " PRINT);
}

static void header_fields(void) {
    unsigned char bytes[CB_HEADER_BYTES];
    cb_header header;
    bytes_of("0000000100000002 02 00000000000000 3132333435363738 " PRINT, bytes);
    CHECK(cb_parse_header(bytes, &header));
    CHECK_EQ(header.length, UINT64_C(0x100000002));
    CHECK_EQ(header.sequence, UINT64_C(0x3132333435363738));
    CHECK_BYTES(&header.print, &print, sizeof print);
    for (unsigned tag = 0; tag < 256; tag++) {
        bytes[8] = (unsigned char)tag;
        CHECK_EQ(cb_parse_header(bytes, &header), tag >= 1 && tag <= 5);
    }
    bytes[8] = 1;
    for (size_t at = 9; at < 16; at++) {
        bytes[at] = 1;
        CHECK(!cb_parse_header(bytes, &header));
        bytes[at] = 0;
    }
    CHECK(cb_parse_header(bytes, &header));
}

/* The numbers of the document, by name. */
static void numbers(void) {
    static const char *const operations[] = {"barrier",      "broadcast",         "allreduce",
                                             "allgatherv",   "allgatherv_region", "region_create",
                                             "region_fence", "region_seal",       "split_local"};
    static const char *const types[] = {"u8", "i32", "u32", "i64", "u64", "f32", "f64"};
    for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++)
        CHECK_TEXT(cb_operation_name(i + 1), operations[i]);
    CHECK_TEXT(cb_operation_name(sizeof operations / sizeof *operations + 1), "?"); /* the list is complete */
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        CHECK_TEXT(cobre_type_name((cobre_type)(i + 1)), types[i]);
    CHECK_EQ(COBRE_SUM, 1);
    CHECK_EQ(COBRE_MIN, 2);
    CHECK_EQ(COBRE_MAX, 3);
    static const int tags[] = {CB_TAG_CALL, CB_TAG_RESULT, CB_TAG_TABLE, CB_TAG_LEFT, CB_TAG_FAILED};
    static const int kinds[] = {CB_DATA, CB_CONTROL, CB_RING};
    for (int i = 0; i < 5; i++)
        CHECK_EQ(tags[i], i + 1);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(kinds[i], i + 1);
    static const cobre_cause causes[] = {COBRE_CAUSE_PEER_DIED, COBRE_CAUSE_PEER_LEFT,   COBRE_CAUSE_MISMATCH,
                                         COBRE_CAUSE_STALLED,   COBRE_CAUSE_INTERRUPTED, COBRE_CAUSE_ABORTED,
                                         COBRE_CAUSE_TRANSPORT};
    for (int i = 0; i < 7; i++)
        CHECK_EQ(causes[i], i + 1);
}

#define OTHER "03 01 03 00 00000000 0000000000000001 0000000000000000"
#define FAILED_HEAD                                                                                                    \
    "00000003 00000002 ffffffff 00000000 0000000000001267 00000000 00000002 " PRINT OTHER " 0000000000000000"

static cb_failure some_failure(void) {
    return (cb_failure){.cause = COBRE_CAUSE_MISMATCH,
                        .culprit = 2,
                        .code = -1,
                        .pid = 4711,
                        .rank_b = 2,
                        .call_a = print,
                        .call_b = {.operation = CB_ALLREDUCE, .type = COBRE_U8, .op = COBRE_MAX, .count = 1},
                        .text = "why"};
}

static void failure_bytes(void) {
    unsigned char bytes[CB_FAILURE_BYTES], zeros[256] = {0};
    cb_failure failure = some_failure();
    CHECK_EQ(CB_FAILURE_BYTES, 344);
    cb_pack_failure(&failure, bytes);
    CHECK_HEX(bytes, 88, FAILED_HEAD);
    CHECK_BYTES(bytes + 88, "why", 3);
    CHECK_BYTES(bytes + 91, zeros, 253);
}

static void failure_fields(void) {
    unsigned char bytes[CB_FAILURE_BYTES];
    cb_failure failure, expected = some_failure();
    CHECK_EQ(bytes_of(FAILED_HEAD, bytes), 88);
    memset(bytes + 88, 'x', 256); /* a text without an end gets one */
    CHECK(cb_parse_failure(bytes, 3, &failure));
    CHECK_EQ(failure.cause, COBRE_CAUSE_MISMATCH);
    CHECK_EQ(failure.culprit, 2);
    CHECK_EQ(failure.code, -1);
    CHECK_EQ(failure.pid, 4711);
    CHECK_EQ(failure.rank_a, 0);
    CHECK_EQ(failure.rank_b, 2);
    CHECK_BYTES(&failure.call_a, &expected.call_a, sizeof print);
    CHECK_BYTES(&failure.call_b, &expected.call_b, sizeof print);
    CHECK_EQ(strlen(failure.text), 255);
}

static bool failure_with(size_t at, unsigned char byte, size_t ranks) {
    unsigned char bytes[CB_FAILURE_BYTES] = {0};
    cb_failure failure;
    bytes_of(FAILED_HEAD, bytes);
    bytes[at] = byte;
    return cb_parse_failure(bytes, ranks, &failure);
}

static void failure_refusals(void) {
    for (unsigned cause = 0; cause < 256; cause++)
        CHECK_EQ(failure_with(3, (unsigned char)cause, 3), cause >= 1 && cause <= 7);
    CHECK(!failure_with(0, 1, 3));  /* cause 2^24 + 3 */
    CHECK(!failure_with(7, 3, 3));  /* culprit */
    CHECK(!failure_with(4, 1, 3));  /* culprit, high byte */
    CHECK(!failure_with(27, 3, 3)); /* first rank */
    CHECK(!failure_with(31, 3, 3)); /* second rank */
    CHECK(!failure_with(31, 2, 2));
    CHECK(failure_with(31, 3, 4));
}

#define TABLE "06 00 9c41 000102030405060708090a0b0c0d0e0f 0000000000001267 ffffffffffffffff 0000000100000000"

static void table_bytes(void) {
    unsigned char bytes[44], expected[44];
    static const int64_t pids[] = {4711, -1, INT64_C(1) << 32};
    cb_address successor = {.family = 6, .port = 40001}, parsed;
    int64_t back[3];
    for (unsigned char i = 0; i < 16; i++)
        successor.bytes[i] = i;
    CHECK_EQ(cb_table_bytes(3), 44);
    cb_pack_table(&successor, pids, 3, bytes);
    CHECK_HEX(bytes, 44, TABLE);
    bytes_of(TABLE, expected);
    cb_parse_table(expected, 3, &parsed, back);
    CHECK_EQ(parsed.family, 6);
    CHECK_EQ(parsed.port, 40001);
    CHECK_BYTES(parsed.bytes, successor.bytes, 16);
    CHECK_BYTES(back, pids, sizeof pids);
}

static void proofs(void) {
    static const struct {
        const char *token, *role, *proof;
    } known[] = {
        {"", "connects", "1a8b8f4ab723c2c670db7ed20359b7756f91063ef4dc1ac4b0d371c021b0f4c7"},
        {"", "accepts", "916f9ea9aff13ad547e86752d137600e7fe33dd8ff6319b02948798410bd72bd"},
        {"correct horse battery staple", "connects",
         "7ee1df0c7c09b162ead7bf5c2cab224eafc790c69e49e42f70c5835cdd35e3fb"},
        {"correct horse battery staple", "accepts", "9310c3e508c7842256f764c7ddbdf7d34cfb6065ad2ec4507f4dadc945676262"},
    };
    unsigned char hello[CB_HELLO_BYTES], nonce[CB_NONCE], proof[CB_PROOF], other[CB_PROOF];
    bytes_of(HELLO, hello);
    bytes_of(CHALLENGE, nonce);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cb_make_proof(known[i].token, known[i].role, hello, nonce, proof);
        CHECK_HEX(proof, 32, known[i].proof);
    }
    /* Every byte of the hello and of the challenge counts. */
    for (size_t at = 0; at < sizeof hello + sizeof nonce; at++) {
        unsigned char *byte = at < sizeof hello ? &hello[at] : &nonce[at - sizeof hello];
        *byte ^= 1;
        cb_make_proof(known[3].token, "accepts", hello, nonce, other);
        CHECK(memcmp(other, proof, sizeof proof) != 0);
        *byte ^= 1;
    }
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(hello_bytes),      CHECK_CASE(hello_fields),
        CHECK_CASE(hello_refusals),   CHECK_CASE(version_is_judged_first),
        CHECK_CASE(hello_beginnings), CHECK_CASE(native_byte_order),
        CHECK_CASE(reply_bytes),      CHECK_CASE(reply_fields),
        CHECK_CASE(refusal_reasons),  CHECK_CASE(header_bytes),
        CHECK_CASE(header_fields),    CHECK_CASE(numbers),
        CHECK_CASE(failure_bytes),    CHECK_CASE(failure_fields),
        CHECK_CASE(failure_refusals), CHECK_CASE(table_bytes),
        CHECK_CASE(proofs),           CHECK_END,
    };
    return check_main(argc, argv, tests);
}
