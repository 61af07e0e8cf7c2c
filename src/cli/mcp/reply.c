/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c: how results, errors and notifications look in each revision. */
#include "cli/mcp/server.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const cb_mcp_revision_name[] = {
#define REVISION_NAME(code, text) text,
    CB_MCP_REVISION_MAP(REVISION_NAME)
#undef REVISION_NAME
};

json_t *cb_mcp_server_info(void) {
    json_t *info = json_object();
    cb_json_set(info, "name", cb_json_text("cobre"));
    cb_json_set(info, "version", cb_json_text(cobre_version()));
    return info;
}

/* 15 digits: what more there is of a double would only make texts longer. */
static void emit(const struct cb_mcp_emit *to, json_t *message) {
    char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (text)
        to->send(to->arg, text, strlen(text));
    free(text);
    json_decref(message);
}

struct cb_mcp_batch *cb_mcp_batch_new(const struct cb_mcp_emit *to) {
    struct cb_mcp_batch *batch = calloc(1, sizeof *batch);
    if (batch)
        *batch = (struct cb_mcp_batch){.replies = json_array(), .open = 1, .emit = *to};
    return batch;
}

/* Notifications alone have no reply. */
void cb_mcp_batch_done(struct cb_mcp_batch *batch) {
    if (--batch->open > 0)
        return;
    if (json_array_size(batch->replies) > 0)
        emit(&batch->emit, json_incref(batch->replies));
    json_decref(batch->replies);
    free(batch);
}

void cb_mcp_drop(struct cb_mcp_request *request) {
    if (request->batch)
        cb_mcp_batch_done(request->batch);
    json_decref(request->id);
    json_decref(request->params);
    json_decref(request->token);
    free(request);
}

static json_t *envelope(void) {
    json_t *message = json_object();
    cb_json_set(message, "jsonrpc", cb_json_text("2.0"));
    return message;
}

static void send_reply(struct cb_mcp_request *request, const char *key, json_t *value) {
    json_t *message = envelope();
    if (request->id)
        cb_json_set(message, "id", json_incref(request->id));
    cb_json_set(message, key, value);
    if (request->batch)
        cb_json_append(request->batch->replies, message);
    else
        emit(&request->emit, message);
    cb_mcp_drop(request);
}

void cb_mcp_reply(struct cb_mcp_request *request, json_t *result) {
    if (request->revision == CB_MCP_MODERN) {
        json_t *meta = json_object();
        cb_json_set(result, "resultType", cb_json_text("complete"));
        cb_json_set(meta, "io.modelcontextprotocol/serverInfo", cb_mcp_server_info());
        cb_json_set(result, "_meta", meta);
    }
    send_reply(request, "result", result);
}

void cb_mcp_reply_cached(struct cb_mcp_request *request, json_t *result, bool steady) {
    if (request->revision == CB_MCP_MODERN) {
        cb_json_set(result, "ttlMs", json_integer(steady ? 3600000 : 0));
        cb_json_set(result, "cacheScope", cb_json_text(steady ? "public" : "private"));
    }
    cb_mcp_reply(request, result);
}

void cb_mcp_reply_error(struct cb_mcp_request *request, int code, json_t *data, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_t *error = json_object();
    cb_json_set(error, "code", json_integer(code));
    cb_json_set(error, "message", cb_json_text(text));
    if (data)
        cb_json_set(error, "data", data);
    send_reply(request, "error", error);
}

void cb_mcp_notify(const struct cb_mcp_request *request, const char *method, json_t *params) {
    json_t *message = envelope();
    cb_json_set(message, "method", cb_json_text(method));
    cb_json_set(message, "params", params);
    emit(&request->emit, message);
}
