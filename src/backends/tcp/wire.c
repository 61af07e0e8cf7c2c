/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: packing and parsing, byte by byte; nothing here touches a socket.
 *
 * Each message is described once, by a function that walks over its fields. A codec goes along, and either writes each
 * field into the bytes or reads it from there. So packing and parsing cannot differ. */
#include "backends/tcp/wire.h"

#include <sodium.h>
#include <string.h>

_Static_assert(CB_PROOF == crypto_auth_hmacsha256_BYTES, "a proof is one HMAC");
_Static_assert(CB_PROOF == CB_NONCE, "a reply has one place for both");

static const unsigned char magic[8] = {'c', 'o', 'b', 'r', 'e', 't', 'c', 'p'};

/* A place in a message, and the direction. Every step moves on. */
typedef struct {
    unsigned char *at;
    bool reads;
} codec;

static inline codec writes_to(unsigned char *bytes) {
    return (codec){.at = bytes};
}

/* A codec that reads never writes to the bytes. */
static inline codec reads_from(const unsigned char *bytes) {
    return (codec){.at = (unsigned char *)(uintptr_t)bytes, .reads = true};
}

static inline uint64_t take(codec *c, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | c->at[i];
    c->at += bytes;
    return value;
}

static inline void put(codec *c, uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0; value >>= 8)
        c->at[i] = (unsigned char)value;
    c->at += bytes;
}

/* u8(c, &field), ...: a codec that writes leaves the field alone. */
#define WALK_NUMBER(name, type)                                                                                        \
    static inline void name(codec *c, type *field) {                                                                   \
        if (c->reads)                                                                                                  \
            *field = (type)take(c, sizeof *field);                                                                     \
        else                                                                                                           \
            put(c, *field, sizeof *field);                                                                             \
    }
WALK_NUMBER(u8, uint8_t)
WALK_NUMBER(u16, uint16_t)
WALK_NUMBER(u32, uint32_t)
WALK_NUMBER(u64, uint64_t)

static inline void raw(codec *c, void *field, size_t bytes) {
    if (c->reads)
        memcpy(field, c->at, bytes);
    else
        memcpy(c->at, field, bytes);
    c->at += bytes;
}

/* Bytes without a meaning: written as 0. True if they are. */
static inline bool nothing(codec *c, size_t bytes) {
    if (c->reads)
        return take(c, bytes) == 0;
    put(c, 0, bytes);
    return true;
}

static inline bool walk_magic(codec *c) {
    unsigned char found[sizeof magic];
    memcpy(found, magic, sizeof found);
    raw(c, found, sizeof found);
    return memcmp(found, magic, sizeof magic) == 0;
}

const char *cb_refusal_text(unsigned reason) {
    switch (reason) {
#define REFUSAL_TEXT(code, text)                                                                                       \
    case CB_REFUSED_##code: return text;
        CB_REFUSAL_MAP(REFUSAL_TEXT)
#undef REFUSAL_TEXT
    default: return "no reason given";
    }
}

uint8_t cb_native_byte_order(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first ? 1 : 2;
}

static bool walk_hello(codec c, cb_hello *hello) {
    bool ours = walk_magic(&c);
    u16(&c, &hello->version);
    u8(&c, &hello->byte_order);
    u8(&c, &hello->size_bytes);
    u8(&c, &hello->kind);
    nothing(&c, 3);
    u32(&c, &hello->rank);
    u32(&c, &hello->size);
    u16(&c, &hello->port);
    nothing(&c, 2);
    u32(&c, &hello->pid);
    raw(&c, hello->nonce, CB_NONCE);
    raw(&c, hello->job, CB_JOB_ID);
    return ours;
}

void cb_pack_hello(const cb_hello *hello, unsigned char bytes[CB_HELLO_BYTES]) {
    walk_hello(writes_to(bytes), (cb_hello *)(uintptr_t)hello);
}

int cb_parse_hello(const unsigned char bytes[CB_HELLO_BYTES], cb_hello *hello) {
    if (!walk_hello(reads_from(bytes), hello))
        return -1;
    if (hello->version != CB_WIRE_VERSION)
        return CB_REFUSED_VERSION;
    if (hello->byte_order != cb_native_byte_order())
        return CB_REFUSED_BYTE_ORDER;
    return hello->size_bytes == sizeof(size_t) ? CB_NOT_REFUSED : CB_REFUSED_TYPE_SIZES;
}

bool cb_may_be_ours(const unsigned char *bytes, size_t count) {
    return memcmp(bytes, magic, count < sizeof magic ? count : sizeof magic) == 0;
}

static bool walk_reply(codec c, cb_reply *reply) {
    bool ours = walk_magic(&c);
    u8(&c, &reply->type);
    u8(&c, &reply->reason);
    u16(&c, &reply->version);
    u32(&c, &reply->number);
    raw(&c, reply->secret, CB_PROOF);
    raw(&c, reply->job, CB_JOB_ID);
    return ours;
}

void cb_pack_reply(const cb_reply *reply, unsigned char bytes[CB_REPLY_BYTES]) {
    walk_reply(writes_to(bytes), (cb_reply *)(uintptr_t)reply);
}

bool cb_parse_reply(const unsigned char bytes[CB_REPLY_BYTES], cb_reply *reply) {
    return walk_reply(reads_from(bytes), reply) && reply->type >= CB_CHALLENGE && reply->type <= CB_REFUSAL;
}

static inline void walk_print(codec *c, cb_fingerprint *print) {
    u8(c, &print->operation);
    u8(c, &print->type);
    u8(c, &print->op);
    u8(c, &print->flags);
    u32(c, &print->root);
    u64(c, &print->count);
    u64(c, &print->detail);
}

/* inline: on the way of every small operation, where the direction should be known when it is compiled. */
static inline bool walk_header(codec c, cb_header *header) {
    u64(&c, &header->length);
    u8(&c, &header->tag);
    bool clean = nothing(&c, 7);
    u64(&c, &header->sequence);
    walk_print(&c, &header->print);
    return clean;
}

void cb_pack_header(const cb_header *header, unsigned char bytes[CB_HEADER_BYTES]) {
    walk_header(writes_to(bytes), (cb_header *)(uintptr_t)header);
}

bool cb_parse_header(const unsigned char bytes[CB_HEADER_BYTES], cb_header *header) {
    return walk_header(reads_from(bytes), header) && header->tag >= CB_TAG_CALL && header->tag <= CB_TAG_FAILED;
}

static void walk_failure(codec c, uint32_t *cause, cb_failure *failure) {
    u32(&c, cause);
    u32(&c, &failure->culprit);
    u32(&c, (uint32_t *)&failure->code);
    nothing(&c, 4);
    u64(&c, (uint64_t *)&failure->pid);
    u32(&c, &failure->rank_a);
    u32(&c, &failure->rank_b);
    walk_print(&c, &failure->call_a);
    walk_print(&c, &failure->call_b);
    nothing(&c, 8);
    raw(&c, failure->text, sizeof failure->text);
}

void cb_pack_failure(const cb_failure *failure, unsigned char bytes[CB_FAILURE_BYTES]) {
    uint32_t cause = (uint32_t)failure->cause;
    walk_failure(writes_to(bytes), &cause, (cb_failure *)(uintptr_t)failure);
}

bool cb_parse_failure(const unsigned char bytes[CB_FAILURE_BYTES], size_t ranks, cb_failure *failure) {
    uint32_t cause;
    *failure = (cb_failure){.cause = COBRE_CAUSE_NONE};
    walk_failure(reads_from(bytes), &cause, failure);
    failure->cause = (cobre_cause)cause;
    failure->text[sizeof failure->text - 1] = '\0';
    return cause > COBRE_CAUSE_NONE && cause <= COBRE_CAUSE_TRANSPORT && failure->culprit < ranks &&
           failure->rank_a < ranks && failure->rank_b < ranks;
}

void cb_make_proof(const char *token, const char *role, const unsigned char hello[CB_HELLO_BYTES],
                   const unsigned char nonce[CB_NONCE], unsigned char proof[CB_PROOF]) {
    unsigned char key[crypto_auth_hmacsha256_KEYBYTES];
    crypto_auth_hmacsha256_state state;
    crypto_hash_sha256(key, (const unsigned char *)token, strlen(token));
    crypto_auth_hmacsha256_init(&state, key, sizeof key);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)role, strlen(role) + 1);
    crypto_auth_hmacsha256_update(&state, hello, CB_HELLO_BYTES);
    crypto_auth_hmacsha256_update(&state, nonce, CB_NONCE);
    crypto_auth_hmacsha256_final(&state, proof);
    sodium_memzero(key, sizeof key);
    sodium_memzero(&state, sizeof state);
}

size_t cb_table_bytes(size_t ranks) {
    return 8 * ranks + 20;
}

static void walk_table(codec c, cb_address *successor, int64_t *pids, size_t ranks) {
    u8(&c, &successor->family);
    nothing(&c, 1);
    u16(&c, &successor->port);
    raw(&c, successor->bytes, sizeof successor->bytes);
    for (size_t r = 0; r < ranks; r++)
        u64(&c, (uint64_t *)&pids[r]);
}

void cb_pack_table(const cb_address *successor, const int64_t *pids, size_t ranks, unsigned char *bytes) {
    walk_table(writes_to(bytes), (cb_address *)(uintptr_t)successor, (int64_t *)(uintptr_t)pids, ranks);
}

void cb_parse_table(const unsigned char *bytes, size_t ranks, cb_address *successor, int64_t *pids) {
    walk_table(reads_from(bytes), successor, pids, ranks);
}
