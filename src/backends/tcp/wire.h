/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h: the bytes that travel. docs/wire.md describes them for others; the parsers are pure functions over bytes.
 *
 * Numbers are big-endian. Payloads are in the senders' own byte order, which the handshake has found to be the same. */
#ifndef COBRE_BACKENDS_TCP_WIRE_H
#define COBRE_BACKENDS_TCP_WIRE_H

#include "comm/backend.h"

enum {
    CB_WIRE_VERSION = 3, /* raised when the bytes change, or how a call is cut into frames */
    CB_NONCE = 32,
    CB_PROOF = 32,
    CB_JOB_ID = 16,
    CB_HELLO_BYTES = 80,
    CB_REPLY_BYTES = 64,
    CB_HEADER_BYTES = 48,
    CB_FAILURE_BYTES = 344,
};

/* The purpose of a connection. */
enum { CB_DATA = 1, CB_CONTROL, CB_RING };

/* The first message on every connection, from the connecting side. */
typedef struct {
    uint16_t version;
    uint8_t byte_order; /* 1: little-endian, 2: big-endian */
    uint8_t size_bytes; /* of size_t */
    uint8_t kind;
    uint32_t rank, size;
    uint16_t port; /* CB_DATA: where this rank accepts its ring link by TCP; 0: nowhere */
    uint32_t pid;
    unsigned char nonce[CB_NONCE];
    unsigned char job[CB_JOB_ID]; /* 0 on CB_DATA, where it is not known yet */
} cb_hello;

/* X(code, text): why a connection is refused. From SIZE on: though it knows the token. */
#define CB_REFUSAL_MAP(X)                                                                                              \
    X(VERSION, "the other side speaks another version of the protocol")                                                \
    X(BYTE_ORDER, "the other side has another byte order")                                                             \
    X(TYPE_SIZES, "the other side has other type sizes")                                                               \
    X(TOKEN, "the tokens differ")                                                                                      \
    X(SIZE, "the sides disagree on the number of ranks")                                                               \
    X(RANK_RANGE, "the rank is out of range")                                                                          \
    X(RANK_TAKEN, "the rank is taken already")                                                                         \
    X(JOB, "the connection belongs to another job")                                                                    \
    X(KIND, "the connection is of an unknown kind")

enum {
    CB_NOT_REFUSED,
#define CB_REFUSAL_ENUM(code, text) CB_REFUSED_##code,
    CB_REFUSAL_MAP(CB_REFUSAL_ENUM)
#undef CB_REFUSAL_ENUM
};

/* The answers of the accepting side: a challenge, then, after the other's proof, a welcome; or a refusal at any time.
 */
enum { CB_CHALLENGE = 1, CB_WELCOME, CB_REFUSAL };

typedef struct {
    uint8_t type, reason;
    uint16_t version;
    uint32_t number;                /* refusal: the expected value (size); welcome: the number of ranks */
    unsigned char secret[CB_PROOF]; /* challenge: a nonce; welcome: a proof */
    unsigned char job[CB_JOB_ID];   /* welcome */
} cb_reply;

/* Tags of frames. Control connections carry the last two; FAILED has a cb_failure as payload. */
enum { CB_TAG_CALL = 1, CB_TAG_RESULT, CB_TAG_TABLE, CB_TAG_LEFT, CB_TAG_FAILED };

typedef struct {
    uint64_t length; /* of the payload that follows */
    uint8_t tag;
    uint64_t sequence;
    cb_fingerprint print;
} cb_header;

/* Where a rank accepts its ring link. CB_TAG_TABLE is what rank 0 tells each rank when all are in: its successor's, and,
 * behind that, everyone's pid. */
typedef struct {
    uint8_t family; /* 4, 6; 1: on this host, by its Unix socket; 0: nowhere */
    uint16_t port;
    unsigned char bytes[16];
} cb_address;

const char *cb_refusal_text(unsigned reason);
uint8_t cb_native_byte_order(void);

void cb_pack_hello(const cb_hello *hello, unsigned char bytes[CB_HELLO_BYTES]);
/* CB_NOT_REFUSED, why it must be refused, or -1: not a hello at all. Rank, size and kind are only read, not judged. */
int cb_parse_hello(const unsigned char bytes[CB_HELLO_BYTES], cb_hello *hello);

/* Can these first bytes be the beginning of a hello or a reply? */
bool cb_may_be_ours(const unsigned char *bytes, size_t count);

void cb_pack_reply(const cb_reply *reply, unsigned char bytes[CB_REPLY_BYTES]);
bool cb_parse_reply(const unsigned char bytes[CB_REPLY_BYTES], cb_reply *reply);

void cb_pack_header(const cb_header *header, unsigned char bytes[CB_HEADER_BYTES]);
bool cb_parse_header(const unsigned char bytes[CB_HEADER_BYTES], cb_header *header);

void cb_pack_failure(const cb_failure *failure, unsigned char bytes[CB_FAILURE_BYTES]);
bool cb_parse_failure(const unsigned char bytes[CB_FAILURE_BYTES], size_t ranks, cb_failure *failure);

size_t cb_table_bytes(size_t ranks);
void cb_pack_table(const cb_address *successor, const int64_t *pids, size_t ranks, unsigned char *bytes);
void cb_parse_table(const unsigned char *bytes, size_t ranks, cb_address *successor, int64_t *pids);

/* proof = HMAC-SHA256 of role, hello and challenge under the key that the token gives. */
void cb_make_proof(const char *token, const char *role, const unsigned char hello[CB_HELLO_BYTES],
                   const unsigned char nonce[CB_NONCE], unsigned char proof[CB_PROOF]);

#endif
