/* wire.c: packing and parsing, byte by byte; nothing here touches a socket. */
#include "backends/tcp/wire.h"

#include <sodium.h>
#include <string.h>

_Static_assert(CB_PROOF == crypto_auth_hmacsha256_BYTES, "a proof is one HMAC");
_Static_assert(CB_PROOF == CB_NONCE, "a reply has one place for both");

static const unsigned char magic[8] = {'c', 'o', 'b', 'r', 'e', 't', 'c', 'p'};

/* A place in a message; put and get move on. */
typedef struct {
    unsigned char *at;
} writer;

typedef struct {
    const unsigned char *at;
} reader;

static void put(writer *to, uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0; value >>= 8)
        to->at[i] = (unsigned char)value;
    to->at += bytes;
}

static void put_bytes(writer *to, const void *from, size_t bytes) {
    memcpy(to->at, from, bytes);
    to->at += bytes;
}

static uint64_t get(reader *from, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | from->at[i];
    from->at += bytes;
    return value;
}

static void get_bytes(reader *from, void *to, size_t bytes) {
    memcpy(to, from->at, bytes);
    from->at += bytes;
}

static bool get_magic(reader *from) {
    unsigned char found[sizeof magic];
    get_bytes(from, found, sizeof found);
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

void cb_pack_hello(const cb_hello *hello, unsigned char bytes[CB_HELLO_BYTES]) {
    writer to = {bytes};
    put_bytes(&to, magic, sizeof magic);
    put(&to, hello->version, 2);
    put(&to, hello->byte_order, 1);
    put(&to, hello->size_bytes, 1);
    put(&to, hello->kind, 1);
    put(&to, 0, 3);
    put(&to, hello->rank, 4);
    put(&to, hello->size, 4);
    put(&to, hello->port, 2);
    put(&to, 0, 2);
    put(&to, hello->pid, 4);
    put_bytes(&to, hello->nonce, CB_NONCE);
    put_bytes(&to, hello->job, CB_JOB_ID);
}

int cb_parse_hello(const unsigned char bytes[CB_HELLO_BYTES], cb_hello *hello) {
    reader from = {bytes};
    if (!get_magic(&from))
        return -1;
    hello->version = (uint16_t)get(&from, 2);
    hello->byte_order = (uint8_t)get(&from, 1);
    hello->size_bytes = (uint8_t)get(&from, 1);
    hello->kind = (uint8_t)get(&from, 1);
    get(&from, 3);
    hello->rank = (uint32_t)get(&from, 4);
    hello->size = (uint32_t)get(&from, 4);
    hello->port = (uint16_t)get(&from, 2);
    get(&from, 2);
    hello->pid = (uint32_t)get(&from, 4);
    get_bytes(&from, hello->nonce, CB_NONCE);
    get_bytes(&from, hello->job, CB_JOB_ID);
    if (hello->version != CB_WIRE_VERSION)
        return CB_REFUSED_VERSION;
    if (hello->byte_order != cb_native_byte_order())
        return CB_REFUSED_BYTE_ORDER;
    return hello->size_bytes == sizeof(size_t) ? CB_NOT_REFUSED : CB_REFUSED_TYPE_SIZES;
}

bool cb_may_be_ours(const unsigned char *bytes, size_t count) {
    return memcmp(bytes, magic, count < sizeof magic ? count : sizeof magic) == 0;
}

void cb_pack_reply(const cb_reply *reply, unsigned char bytes[CB_REPLY_BYTES]) {
    writer to = {bytes};
    put_bytes(&to, magic, sizeof magic);
    put(&to, reply->type, 1);
    put(&to, reply->reason, 1);
    put(&to, reply->version, 2);
    put(&to, reply->number, 4);
    put_bytes(&to, reply->secret, CB_PROOF);
    put_bytes(&to, reply->job, CB_JOB_ID);
}

bool cb_parse_reply(const unsigned char bytes[CB_REPLY_BYTES], cb_reply *reply) {
    reader from = {bytes};
    if (!get_magic(&from))
        return false;
    reply->type = (uint8_t)get(&from, 1);
    reply->reason = (uint8_t)get(&from, 1);
    reply->version = (uint16_t)get(&from, 2);
    reply->number = (uint32_t)get(&from, 4);
    get_bytes(&from, reply->secret, CB_PROOF);
    get_bytes(&from, reply->job, CB_JOB_ID);
    return reply->type >= CB_CHALLENGE && reply->type <= CB_REFUSAL;
}

static void put_print(writer *to, const cb_fingerprint *print) {
    put(to, print->operation, 1);
    put(to, print->type, 1);
    put(to, print->op, 1);
    put(to, print->flags, 1);
    put(to, print->root, 4);
    put(to, print->count, 8);
    put(to, print->detail, 8);
}

static void get_print(reader *from, cb_fingerprint *print) {
    print->operation = (uint8_t)get(from, 1);
    print->type = (uint8_t)get(from, 1);
    print->op = (uint8_t)get(from, 1);
    print->flags = (uint8_t)get(from, 1);
    print->root = (uint32_t)get(from, 4);
    print->count = get(from, 8);
    print->detail = get(from, 8);
}

void cb_pack_header(const cb_header *header, unsigned char bytes[CB_HEADER_BYTES]) {
    writer to = {bytes};
    put(&to, header->length, 8);
    put(&to, header->tag, 1);
    put(&to, 0, 7);
    put(&to, header->sequence, 8);
    put_print(&to, &header->print);
}

bool cb_parse_header(const unsigned char bytes[CB_HEADER_BYTES], cb_header *header) {
    reader from = {bytes};
    header->length = get(&from, 8);
    header->tag = (uint8_t)get(&from, 1);
    bool clean = get(&from, 7) == 0;
    header->sequence = get(&from, 8);
    get_print(&from, &header->print);
    return clean && header->tag >= CB_TAG_CALL && header->tag <= CB_TAG_FAILED;
}

void cb_pack_failure(const cb_failure *failure, unsigned char bytes[CB_FAILURE_BYTES]) {
    writer to = {bytes};
    put(&to, (uint64_t)failure->cause, 4);
    put(&to, failure->culprit, 4);
    put(&to, (uint32_t)failure->code, 4);
    put(&to, 0, 4);
    put(&to, (uint64_t)failure->pid, 8);
    put(&to, failure->rank_a, 4);
    put(&to, failure->rank_b, 4);
    put_print(&to, &failure->call_a);
    put_print(&to, &failure->call_b);
    put(&to, 0, 8);
    put_bytes(&to, failure->text, sizeof failure->text);
}

bool cb_parse_failure(const unsigned char bytes[CB_FAILURE_BYTES], size_t ranks, cb_failure *failure) {
    reader from = {bytes};
    uint64_t cause = get(&from, 4);
    failure->cause = (cobre_cause)cause;
    failure->culprit = (uint32_t)get(&from, 4);
    failure->code = (int32_t)get(&from, 4);
    get(&from, 4);
    failure->pid = (int64_t)get(&from, 8);
    failure->rank_a = (uint32_t)get(&from, 4);
    failure->rank_b = (uint32_t)get(&from, 4);
    get_print(&from, &failure->call_a);
    get_print(&from, &failure->call_b);
    get(&from, 8);
    get_bytes(&from, failure->text, sizeof failure->text);
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

void cb_pack_table(const cb_address *successor, const int64_t *pids, size_t ranks, unsigned char *bytes) {
    writer to = {bytes};
    put(&to, successor->family, 1);
    put(&to, 0, 1);
    put(&to, successor->port, 2);
    put_bytes(&to, successor->bytes, sizeof successor->bytes);
    for (size_t r = 0; r < ranks; r++)
        put(&to, (uint64_t)pids[r], 8);
}

void cb_parse_table(const unsigned char *bytes, size_t ranks, cb_address *successor, int64_t *pids) {
    reader from = {bytes};
    successor->family = (uint8_t)get(&from, 1);
    get(&from, 1);
    successor->port = (uint16_t)get(&from, 2);
    get_bytes(&from, successor->bytes, sizeof successor->bytes);
    for (size_t r = 0; r < ranks; r++)
        pids[r] = (int64_t)get(&from, 8);
}
