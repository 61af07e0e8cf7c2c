/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c: the form of results, errors and notifications in each revision. */
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

/* 15 digits: what more there is of a double would only make texts longer. Takes the message. */
static char *dump(json_t *message) {
    char *text = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(message);
    return text;
}

/* Takes the text. */
static void emit(const struct cb_mcp_emit *to, char *text) {
    if (text)
        to->send(to->arg, text, strlen(text));
    free(text);
}

struct cb_mcp_batch *cb_mcp_batch_new(const struct cb_mcp_emit *to) {
    struct cb_mcp_batch *batch = calloc(1, sizeof *batch);
    if (batch)
        *batch = (struct cb_mcp_batch){.open = 1, .emit = *to};
    return batch;
}

/* Takes the text of a reply. */
static void add_to_batch(struct cb_mcp_batch *batch, char *text) {
    cb_text_append(&batch->replies, batch->replies.length ? "," : "[", 1);
    cb_text_append(&batch->replies, text ? text : "", text ? strlen(text) : 0);
    free(text);
}

/* Notifications alone have no reply. */
void cb_mcp_batch_done(struct cb_mcp_batch *batch) {
    if (--batch->open > 0)
        return;
    if (batch->replies.length > 0) {
        cb_text_append(&batch->replies, "]", 1);
        batch->emit.send(batch->emit.arg, batch->replies.data, batch->replies.length);
    }
    free(batch->replies.data);
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

static json_t *error_json(int code, const char *text) {
    json_t *error = json_object();
    cb_json_set(error, "code", json_integer(code));
    cb_json_set(error, "message", cb_json_text(text));
    return error;
}

static char *reply_text(const struct cb_mcp_request *request, const char *key, json_t *value) {
    json_t *message = envelope();
    if (request->id)
        cb_json_set(message, "id", json_incref(request->id));
    cb_json_set(message, key, value);
    return dump(message);
}

/* One that is too long, or cannot be made, becomes an error: clients end the connection at a line of 10 MiB. */
static void send_reply(struct cb_mcp_request *request, const char *key, json_t *value) {
    char *text = reply_text(request, key, value);
    size_t before = request->batch ? request->batch->replies.length : 0;
    if (!text || (strlen(text) + before > CB_MCP_MOST_REPLY && strcmp(key, "error") != 0)) {
        const char *why =
            text ? "the reply has more than 8 MiB, and is not sent: ask for less" : "there is no memory for the reply";
        free(text);
        text = reply_text(request, "error", error_json(CB_MCP_INTERNAL, why));
        if (request->batch)
            request->batch->full = true;
    }
    if (request->batch)
        add_to_batch(request->batch, text);
    else
        emit(&request->emit, text);
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
    json_t *error = error_json(code, text);
    if (data)
        cb_json_set(error, "data", data);
    send_reply(request, "error", error);
}

void cb_mcp_notify(const struct cb_mcp_request *request, const char *method, json_t *params) {
    json_t *message = envelope();
    cb_json_set(message, "method", cb_json_text(method));
    cb_json_set(message, "params", params);
    emit(&request->emit, dump(message));
}
