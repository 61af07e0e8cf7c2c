/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_corpus.c: the messages that the fuzzer begins with.
 *
 *     fuzz_mcp_corpus FOUND [DIRECTORY]    gives each input to the target and, for libFuzzer, writes it into DIRECTORY
 *
 * The seeds are messages of both eras, and each of them cut off, and with a byte changed. FOUND holds what the fuzzer found beyond
 * that: a line is the bytes of an input in hex. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"
#include "fuzz/hex.h"
#include "kit/check.h"

enum { MOST = 1 << 16 };

#define CALL(id, method, params)                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}\n"
#define META                                                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"                 \
    "clientCapabilities\":{}}"
#define TOOL(name, arguments) CALL("7", "tools/call", "\"name\":\"" name "\",\"arguments\":{" arguments "}")
#define INITIALIZE(revision) CALL("0", "initialize", "\"protocolVersion\":\"" revision "\",\"capabilities\":{}")

static const char *const seeds[] = {
    INITIALIZE("2025-11-25") "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
    INITIALIZE("2024-11-05") CALL("1", "tools/list", ""),
    INITIALIZE("2025-03-26") "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,"
                             "\"method\":\"x\"}]\n",
    CALL("\"a\"", "ping", "") "\r\n  \n" CALL("2", "tools/list", "\"cursor\":\"x\""),
    CALL("1", "server/discover", META) CALL("2", "tools/list", META) CALL("3", "ping", META),
    CALL("1", "subscriptions/listen", META ",\"notifications\":{}") "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                                                    "cancelled\",\"params\":{\"requestId\":1}}\n",
    CALL("1", "resources/list", "") CALL("2", "resources/templates/list", ""),
    CALL("1", "resources/read", "\"uri\":\"cobre://case-format\""),
    CALL("1", "resources/read", "\"uri\":\"cobre://table/hydros.csv/a%20b/%2e%2e/c\""),
    CALL("1", "prompts/list", "") CALL("2", "prompts/get", "\"name\":\"set_up_study\",\"arguments\":{\"case\":\"x\"}"),
    TOOL("list_studies", "\"kind\":\"case\",\"limit\":\"5\",\"offset\":null"),
    TOOL("validate_case", "\"case\":\"../x\",\"limit\":5"),
    TOOL("train",
         "\"case\":\"x\",\"iterations\":5,\"forward_passes\":\"2\",\"gap\":true,\"cvar\":\"0.1,0.5\",\"time\":\"5m\""),
    TOOL("simulate", "\"case\":\"x\",\"policy\":\"y\",\"sampling\":\"given\",\"state\":\"a=1\",\"num_workers\":1.0"),
    TOOL("job_status", "\"job_id\":\"job-1\",\"wait\":0.5") TOOL("job_cancel", "\"at_once\":true"),
    TOOL("query_convergence", "\"run\":\"/etc\",\"points\":1e3,\"pionts\":3"),
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n[]\n{}\n7\n\"\\u0000\"\n",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
};

static const char *directory; /* NULL: nothing is written */
static uint8_t input[MOST];
static size_t size, count;

static void add(bool keep) {
    char path[1024];
    LLVMFuzzerTestOneInput(input, size);
    count++;
    if (!directory || !keep)
        return;
    snprintf(path, sizeof path, "%s/%zu", directory, count);
    FILE *file = fopen(path, "wb");
    CHECK_SAY(file && fwrite(input, 1, size, file) == size && fclose(file) == 0, "%s can be written", path);
}

/* The seed, cut off anywhere, and with each byte another one. */
static void add_family(const char *seed) {
    static const char strange[] = "\"{[,:0-.e\\\xff\n";
    size_t length = strlen(seed);
    CHECK(length < MOST);
    memcpy(input, seed, length);
    size = length;
    add(true);
    for (size = 0; size < length; size++)
        add(false);
    for (size_t at = 0; at < length; at++) {
        input[at] = (uint8_t)strange[at % (sizeof strange - 1)];
        add(false);
        input[at] = (uint8_t)seed[at];
    }
}

static void found(const char *path) {
    static char hex[2 * MOST + 1];
    FILE *file = fopen(path, "r");
    CHECK_SAY(file, "%s can be read", path);
    while (fscanf(file, "%131072s", hex) == 1) {
        size = fuzz_unhex(hex, input);
        add(true);
    }
    CHECK_SAY(feof(file), "%s can be read to its end", path);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3)
        return 2;
    directory = argv[2];
    if (directory)
        mkdir(directory, 0777);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        add_family(seeds[i]);
    printf("%zu seeds\n", count);
    found(argv[1]);
    printf("%zu inputs\n", count);
    return 0;
}
