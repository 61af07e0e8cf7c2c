/* seeds.c: makes the first corpus: seeds <directory> writes <directory>/<target>/<name>.
 *
 * Valid messages by our own packers, and each of them with what a test thinks of first: other bytes in one field, cut
 * off, longer, all zeros, all ones. The files of the corpus that are named by a hash are what the fuzzer found beyond
 * that: fuzz_<target> -merge=1 tests/fuzz/corpus/<target> build/fuzz/found/<target> adds such. */
#include "fuzz.h"

#include <sys/stat.h>

static const char *root, *target;

static void save(const char *name, const unsigned char *bytes, size_t size) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", root, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
    FILE *file = fopen(path, "wb");
    HOLDS(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* The message, and what can become of it. */
static void save_family(const char *name, const unsigned char *bytes, size_t size) {
    static unsigned char changed[1024];
    char text[128];
    save(name, bytes, size);
    for (size_t part = 0; part <= 4; part++) {
        snprintf(text, sizeof text, "%s-cut%zu", name, part);
        save(text, bytes, part < 4 ? size * part / 4 : size - 1);
    }
    for (size_t at = 0; at < size; at += 1 + at / 4) {
        memcpy(changed, bytes, size);
        changed[at] ^= 0x81;
        snprintf(text, sizeof text, "%s-changed%zu", name, at);
        save(text, changed, size);
    }
    memcpy(changed, bytes, size);
    changed[size] = 2;
    snprintf(text, sizeof text, "%s-longer", name);
    save(text, changed, size + 1);
}

static void save_extremes(size_t size) {
    static unsigned char bytes[1024];
    memset(bytes, 0, size);
    save("zeros", bytes, size);
    memset(bytes, 0xff, size);
    save("ones", bytes, size);
}

static void hellos(void) {
    unsigned char bytes[CB_HELLO_BYTES];
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
    target = "hello";
    memset(hello.nonce, 0xa5, sizeof hello.nonce);
    cb_pack_hello(&hello, bytes);
    save_family("data", bytes, sizeof bytes);
    hello.kind = CB_CONTROL;
    hello.byte_order = 2;
    memset(hello.job, 0x5a, sizeof hello.job);
    cb_pack_hello(&hello, bytes);
    save("control-big-endian", bytes, sizeof bytes);
    hello.version = 2;
    cb_pack_hello(&hello, bytes);
    save("version2", bytes, sizeof bytes);
    save("http", (const unsigned char *)http, sizeof http - 1);
    save_extremes(sizeof bytes);
}

static void replies(void) {
    unsigned char bytes[CB_REPLY_BYTES];
    cb_reply reply = {.type = CB_CHALLENGE, .version = CB_WIRE_VERSION};
    target = "reply";
    memset(reply.secret, 0xa5, sizeof reply.secret);
    cb_pack_reply(&reply, bytes);
    save_family("challenge", bytes, sizeof bytes);
    reply = (cb_reply){.type = CB_WELCOME, .version = CB_WIRE_VERSION, .number = 4};
    memset(reply.job, 0x5a, sizeof reply.job);
    cb_pack_reply(&reply, bytes);
    save("welcome", bytes, sizeof bytes);
    for (unsigned reason = 0; reason <= CB_REFUSED_KIND + 1; reason++) {
        char name[32];
        reply =
            (cb_reply){.type = CB_REFUSAL, .reason = (uint8_t)reason, .version = CB_WIRE_VERSION, .number = UINT32_MAX};
        cb_pack_reply(&reply, bytes);
        snprintf(name, sizeof name, "refusal%u", reason);
        save(name, bytes, sizeof bytes);
    }
    save_extremes(sizeof bytes);
}

static void headers(void) {
    unsigned char bytes[CB_HEADER_BYTES];
    target = "header";
    for (uint8_t operation = 0; operation <= CB_SPLIT_LOCAL + 1; operation++) {
        char name[32];
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
        snprintf(name, sizeof name, "operation%u", operation);
        save(name, bytes, sizeof bytes);
    }
    cb_pack_header(&(cb_header){.length = 8, .tag = CB_TAG_CALL, .sequence = 1}, bytes);
    save_family("call", bytes, sizeof bytes);
    save_extremes(sizeof bytes);
}

static void failures(void) {
    unsigned char bytes[CB_FAILURE_BYTES];
    cb_failure failure = {.culprit = 3,
                          .code = -1,
                          .pid = 4711,
                          .rank_b = 3,
                          .call_a = {.operation = CB_ALLGATHERV, .type = COBRE_F64, .count = 7, .detail = 1},
                          .call_b = {.operation = CB_ALLGATHERV, .type = COBRE_F64, .count = 7, .detail = 2}};
    target = "failure";
    for (unsigned cause = 0; cause <= COBRE_CAUSE_TRANSPORT + 1; cause++) {
        char name[32];
        failure.cause = (cobre_cause)cause;
        snprintf(failure.text, sizeof failure.text, "\"%u\": \xc3\xa9, \x01, \\", cause);
        cb_pack_failure(&failure, bytes);
        snprintf(name, sizeof name, "cause%u", cause);
        save(name, bytes, sizeof bytes);
    }
    failure.cause = COBRE_CAUSE_ABORTED;
    memset(failure.text, '"', sizeof failure.text); /* and no end */
    cb_pack_failure(&failure, bytes);
    save_family("text-without-end", bytes, sizeof bytes);
    save_extremes(sizeof bytes);
}

static void tables(void) {
    static unsigned char bytes[1024];
    static const int64_t pids[] = {1, -1, INT64_MAX, INT64_MIN, 4711};
    target = "table";
    for (size_t ranks = 0; ranks <= 5; ranks++) {
        char name[32];
        cb_address successor = {.family = ranks % 2 ? 4 : 6, .port = 40001, .bytes = {127, 0, 0, 1}};
        cb_pack_table(&successor, pids, ranks, bytes);
        snprintf(name, sizeof name, "ranks%zu", ranks);
        save(name, bytes, cb_table_bytes(ranks));
    }
    save_family("five", bytes, cb_table_bytes(5));
    save_extremes(cb_table_bytes(3));
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    root = argv[1];
    mkdir(root, 0777);
    hellos();
    replies();
    headers();
    failures();
    tables();
    return 0;
}
