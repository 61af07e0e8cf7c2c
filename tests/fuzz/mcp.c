/* SPDX-License-Identifier: Apache-2.0 */
/* mcp.c: the fuzz target for the messages of `cobre mcp`.
 *
 * An input is lines, as a client would send them. Each message that the server emits must be one line of JSON with the envelope of
 * JSON-RPC; a line that is one request is answered once at most; and after all of them a ping has its answer. The root is an empty
 * folder, and the program that jobs would run does not exist. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/mcp/server.h"
#include "fuzz/fuzz.h"
#include "kit/check.h"

enum { MOST = 1 << 16 };

static size_t replies; /* to the line that is being handled */
static bool ponged;

static void check_envelope(const json_t *message) {
    const char *jsonrpc = json_string_value(json_object_get(message, "jsonrpc"));
    const json_t *id = json_object_get(message, "id"), *error = json_object_get(message, "error");
    CHECK(jsonrpc && strcmp(jsonrpc, "2.0") == 0);
    CHECK(!id || json_is_string(id) || json_is_integer(id));
    if (json_object_get(message, "method")) {
        CHECK(!id && json_object_size(message) == 3 && json_object_get(message, "params"));
        return;
    }
    CHECK(json_object_size(message) == (id ? 3 : 2));
    CHECK(error ? json_is_integer(json_object_get(error, "code")) && json_is_string(json_object_get(error, "message"))
                : json_is_object(json_object_get(message, "result")) && id);
    replies++;
    ponged |= json_is_string(id) && strcmp(json_string_value(id), "the last ping") == 0 && !error;
}

static void on_message(void *arg, const char *text, size_t length) {
    (void)arg;
    CHECK(!memchr(text, '\n', length) && !memchr(text, 0, length));
    json_t *message = json_loadb(text, length, JSON_ALLOW_NUL, NULL), *reply;
    size_t i;
    CHECK(message);
    if (json_is_array(message))
        json_array_foreach(message, i, reply) check_envelope(reply);
    else
        check_envelope(message);
    json_decref(message);
}

static struct cb_mcp *open_server(void) {
    char folder[] = "/tmp/cobre-fuzz-XXXXXX";
    CHECK(mkdtemp(folder));
    struct cb_mcp *server =
        cb_mcp_new(&(struct cb_mcp_options){.roots = (const char *const[]){folder, NULL},
                                            .program = "/dev/null/none",
                                            .limits = {.seconds = 1, .iterations = 1, .workers = 1}});
    CHECK(server && rmdir(folder) == 0); /* its descriptor is enough */
    return server;
}

/* A copy with nothing behind it, so that ASan sees a read of one byte too many. */
static void handle(struct cb_mcp *server, const uint8_t *line, size_t length) {
    const struct cb_mcp_emit emit = {.send = on_message};
    char *copy = malloc(length ? length : 1);
    CHECK(copy);
    memcpy(copy, line, length);
    replies = 0;
    cb_mcp_handle(server, copy, length, &emit);
    CHECK(replies <= 1 || memchr(copy, '[', length));
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct cb_mcp *server;
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":\"the last ping\",\"method\":\"ping\"}";
    check_at_failure = abort; /* which the fuzzer notices */
    if (!server)
        server = open_server();
    cb_mcp_calls_free(server);
    json_array_clear(server->listening);
    server->revision = CB_MCP_LEGACY;
    for (const uint8_t *end = data + (size < MOST ? size : MOST); data < end;) {
        const uint8_t *stop = memchr(data, '\n', (size_t)(end - data));
        handle(server, data, (size_t)((stop ? stop : end) - data));
        data = stop ? stop + 1 : end;
    }
    cb_mcp_calls_free(server);
    json_array_clear(server->listening);
    ponged = false;
    handle(server, (const uint8_t *)ping, sizeof ping - 1);
    CHECK(ponged);
    return 0;
}
