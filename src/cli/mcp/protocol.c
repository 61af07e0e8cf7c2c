/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.c: from the text of a message to the method that it asks for.
 *
 * A message that names its revision in params._meta is of 2026-07-28 or later, and stands for itself. Any other one is of the
 * revision that the last `initialize` has agreed on. Both may come in turns. */
#include "cli/mcp/jobs.h"
#include "cli/mcp/server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define META "io.modelcontextprotocol/"

enum { MOST_LISTENING = 100, MOST_IN_BATCH = 1000 };

static const char instructions[] =
    "cobre plans hydrothermal systems: it trains a policy for a case by SDDP, and simulates it. Usual steps: "
    "list_studies "
    "finds cases and runs; validate_case checks a case; train makes a policy, and simulate says what it does; "
    "query_convergence says whether it can be trusted. train and simulate are jobs, one at a time: when they take "
    "longer than "
    "45 s they return a job_id, and job_status waits for the end. Paths are absolute or below the allowed folders, "
    "which "
    "list_studies names.";

static json_t *capabilities(void) {
    json_t *all = json_object();
    cb_json_set(all, "tools", json_object());
    cb_json_set(all, "resources", json_object());
    cb_json_set(all, "prompts", json_object());
    return all;
}

/* A revision that is not known, or of the other era, is answered by ours: the client decides. */
static void initialize(struct cb_mcp_request *request) {
    const char *wanted = json_string_value(json_object_get(request->params, "protocolVersion"));
    int revision = CB_MCP_LEGACY;
    for (int r = 0; wanted && r <= CB_MCP_LEGACY; r++)
        if (strcmp(wanted, cb_mcp_revision_name[r]) == 0)
            revision = r;
    if (!wanted) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "params.protocolVersion must be a text such as %s",
                           cb_mcp_revision_name[CB_MCP_LEGACY]);
        return;
    }
    request->server->revision = revision;
    json_t *result = json_object();
    cb_json_set(result, "protocolVersion", cb_json_text(cb_mcp_revision_name[revision]));
    cb_json_set(result, "capabilities", capabilities());
    cb_json_set(result, "serverInfo", cb_mcp_server_info());
    cb_json_set(result, "instructions", cb_json_text(instructions));
    cb_mcp_reply(request, result);
}

static json_t *modern_revisions(void) {
    json_t *list = json_array();
    cb_json_append(list, cb_json_text(cb_mcp_revision_name[CB_MCP_MODERN]));
    return list;
}

static void discover(struct cb_mcp_request *request) {
    json_t *result = json_object();
    cb_json_set(result, "supportedVersions", modern_revisions());
    cb_json_set(result, "capabilities", capabilities());
    cb_json_set(result, "instructions", cb_json_text(instructions));
    cb_mcp_reply_cached(request, result, true);
}

static void ping(struct cb_mcp_request *request) {
    cb_mcp_reply(request, json_object());
}

/* Nothing that could be listened to ever changes, so this only says that. There is no reply until it is cancelled. */
static void listen(struct cb_mcp_request *request) {
    json_t *params = json_object(), *meta = json_object();
    if (!json_is_object(json_object_get(request->params, "notifications"))) {
        json_decref(params);
        json_decref(meta);
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "params.notifications must be an object");
        return;
    }
    cb_json_set(meta, META "subscriptionId", json_incref(request->id));
    cb_json_set(params, "_meta", meta);
    cb_json_set(params, "notifications", json_object());
    cb_mcp_notify(request, "notifications/subscriptions/acknowledged", params);
    if (json_array_size(request->server->listening) >= MOST_LISTENING)
        json_array_remove(request->server->listening, 0);
    cb_json_append(request->server->listening, json_incref(request->id));
    cb_mcp_drop(request);
}

static const struct method {
    const char *name;
    bool legacy, modern;
    void (*run)(struct cb_mcp_request *request);
} methods[] = {
    {"initialize", true, false, initialize},
    {"ping", true, false, ping},
    {"server/discover", false, true, discover},
    {"subscriptions/listen", false, true, listen},
    {"tools/list", true, true, cb_mcp_list_tools},
    {"tools/call", true, true, cb_mcp_call_tool},
    {"resources/list", true, true, cb_mcp_list_resources},
    {"resources/templates/list", true, true, cb_mcp_list_templates},
    {"resources/read", true, true, cb_mcp_read_resource},
    {"prompts/list", true, true, cb_mcp_list_prompts},
    {"prompts/get", true, true, cb_mcp_get_prompt},
};

static size_t find_listening(const struct cb_mcp *server, const json_t *id) {
    size_t i = 0;
    while (i < json_array_size(server->listening) && !json_equal(json_array_get(server->listening, i), id))
        i++;
    return i;
}

static bool is_id(const json_t *id) {
    return json_is_string(id) || json_is_integer(id);
}

/* All other notifications are for servers that have more features. */
static void handle_notification(struct cb_mcp *server, const char *method, const json_t *params) {
    const json_t *id = json_object_get(params, "requestId");
    if (strcmp(method, "notifications/cancelled") != 0 || !is_id(id))
        return;
    if (!cb_mcp_cancel(server, id))
        json_array_remove(server->listening, find_listening(server, id));
}

/* False: it has been answered by an error. */
static bool check_meta(struct cb_mcp_request *request, const json_t *meta) {
    const json_t *revision = json_object_get(meta, META "protocolVersion");
    if (!revision)
        return true;
    request->revision = CB_MCP_MODERN;
    if (!json_is_string(revision)) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "_meta[\"%s\"] must be a text",
                           META "protocolVersion");
        return false;
    }
    if (strcmp(json_string_value(revision), cb_mcp_revision_name[CB_MCP_MODERN]) != 0) {
        json_t *data = json_object();
        cb_json_set(data, "supported", modern_revisions());
        cb_json_set(data, "requested", json_copy((json_t *)revision));
        cb_mcp_reply_error(request, CB_MCP_NO_REVISION, data, "Unsupported protocol version");
        return false;
    }
    if (!json_is_object(json_object_get(meta, META "clientCapabilities"))) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "_meta[\"%s\"] must be an object",
                           META "clientCapabilities");
        return false;
    }
    return true;
}

/* All lists have one page, so that no cursor can be one of ours. */
static bool has_cursor(const struct cb_mcp_request *request, const char *method) {
    const char *slash = strrchr(method, '/');
    const json_t *cursor = json_object_get(request->params, "cursor");
    return slash && strcmp(slash, "/list") == 0 && cursor && !json_is_null(cursor);
}

static void run_method(struct cb_mcp_request *request, const char *name) {
    if (has_cursor(request, name)) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "Invalid cursor: the list has one page");
        return;
    }
    bool modern = request->revision == CB_MCP_MODERN;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0 && (modern ? methods[i].modern : methods[i].legacy)) {
            methods[i].run(request);
            return;
        }
    cb_mcp_reply_error(request, CB_MCP_NO_METHOD, NULL, "Method not found: %.200s", name);
}

static struct cb_mcp_request *new_request(struct cb_mcp *server, const struct cb_mcp_emit *emit,
                                          struct cb_mcp_batch *batch) {
    struct cb_mcp_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    *request = (struct cb_mcp_request){.server = server,
                                       .emit = *emit,
                                       .batch = batch,
                                       .revision = (enum cb_mcp_revision)server->revision,
                                       .params = json_object(),
                                       .progress = -1};
    if (batch)
        batch->open++;
    return request;
}

static void take_params(struct cb_mcp_request *request, json_t *params) {
    if (!params)
        return;
    json_decref(request->params);
    request->params = json_incref(params);
}

bool cb_mcp_has_zero(const json_t *value) {
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_string(value))
        return strlen(json_string_value(value)) != json_string_length(value);
    json_array_foreach(value, i, member) if (cb_mcp_has_zero(member)) return true;
    json_object_foreach((json_t *)value, key, member) if (cb_mcp_has_zero(member)) return true;
    return false;
}

/* But for arguments of a tool: its call says which one it is. */
static bool has_zero(const json_t *params, const char *method) {
    bool call = strcmp(method, "tools/call") == 0;
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)params, key,
                        member) if (!(call && strcmp(key, "arguments") == 0) && cb_mcp_has_zero(member)) return true;
    return false;
}

static void handle_request(struct cb_mcp_request *request, const char *method, json_t *params) {
    const json_t *meta = json_object_get(params, "_meta"), *token = json_object_get(meta, "progressToken");
    if (params && !json_is_object(params)) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "params must be an object");
        return;
    }
    take_params(request, params);
    if (!check_meta(request, meta))
        return;
    if (has_zero(params, method)) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "texts must have no zero bytes");
        return;
    }
    if (cb_mcp_is_waiting(request->server, request->id) ||
        find_listening(request->server, request->id) < json_array_size(request->server->listening)) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_REQUEST, NULL, "a request with this id is still under way");
        return;
    }
    if (is_id(token))
        request->token = json_incref((json_t *)token);
    run_method(request, method);
}

/* One message of its own, or of a batch. */
static void handle_value(struct cb_mcp *server, json_t *value, const struct cb_mcp_emit *emit,
                         struct cb_mcp_batch *batch) {
    const char *method = json_string_value(json_object_get(value, "method"));
    const char *jsonrpc = json_string_value(json_object_get(value, "jsonrpc"));
    json_t *id = json_object_get(value, "id"), *params = json_object_get(value, "params");
    bool good = jsonrpc && strcmp(jsonrpc, "2.0") == 0 && method;
    bool is_reply = !json_object_get(value, "method") && id &&
                    (json_object_get(value, "result") || json_object_get(value, "error"));
    if (is_reply) /* we ask for nothing, so it is not for us */
        return;
    if (good && !id) {
        handle_notification(server, method, params);
        return;
    }
    struct cb_mcp_request *request = new_request(server, emit, batch);
    if (!request)
        return;
    if (is_id(id) && !cb_mcp_has_zero(id))
        request->id = json_incref(id);
    if (batch && batch->full)
        cb_mcp_reply_error(request, CB_MCP_INTERNAL, NULL,
                           "not done: the replies to this array would have more than 8 MiB");
    else if (good && request->id)
        handle_request(request, method, params);
    else
        cb_mcp_reply_error(
            request, CB_MCP_INVALID_REQUEST, NULL,
            "a message is an object with jsonrpc \"2.0\", a method, and, if it is a request, an id: a text "
            "or a whole number");
}

static void refuse_message(struct cb_mcp *server, const struct cb_mcp_emit *emit, int code, const char *why) {
    struct cb_mcp_request *request = new_request(server, emit, NULL);
    if (request)
        cb_mcp_reply_error(request, code, NULL, "%s", why);
}

static void handle_batch(struct cb_mcp *server, json_t *array, const struct cb_mcp_emit *emit) {
    struct cb_mcp_batch *batch;
    json_t *value;
    size_t i;
    if (server->revision != CB_MCP_2025_03_26 || json_array_size(array) == 0 ||
        json_array_size(array) > MOST_IN_BATCH) {
        refuse_message(server, emit, CB_MCP_INVALID_REQUEST,
                       "an array of messages is known to revision 2025-03-26 only, and has 1 to 1000 of them");
        return;
    }
    if (!(batch = cb_mcp_batch_new(emit)))
        return;
    json_array_foreach(array, i, value) handle_value(server, value, emit, batch);
    cb_mcp_batch_done(batch);
}

static bool is_blank(const char *message, size_t length) {
    size_t i = 0;
    while (i < length && strchr(" \t\r\n", message[i]) && message[i])
        i++;
    return i == length;
}

/* JavaScript writes half of a pair of surrogates as it is. That is no character: U+FFFD stands for it, as elsewhere. */
static void mend_surrogates(char *text, size_t length) {
    for (size_t i = 0; i + 6 <= length; i++) {
        if (text[i] != '\\')
            continue;
        bool high = strncasecmp(text + i, "\\ud", 3) == 0 && strchr("89abAB", text[i + 3]),
             low = strncasecmp(text + i, "\\ud", 3) == 0 && strchr("cdefCDEF", text[i + 3]);
        bool pair =
            high && i + 12 <= length && strncasecmp(text + i + 6, "\\ud", 3) == 0 && strchr("cdefCDEF", text[i + 9]);
        if ((high && !pair) || low)
            memcpy(text + i + 2, "fffd", 4);
        i += pair ? 11 : 1;
    }
}

/* Whole numbers that are exact as such. */
static json_t *make_whole(json_t *value) {
    json_t *member;
    size_t i;
    double real = json_real_value(value);
    if (json_is_real(value) && real == floor(real) && fabs(real) < 0x1p53) {
        json_decref(value);
        return json_integer((json_int_t)real);
    }
    json_array_foreach(value, i, member) json_array_set_new(value, i, make_whole(json_incref(member)));
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at))
        json_object_iter_set_new(value, at, make_whole(json_incref(json_object_iter_value(at))));
    return value;
}

/* Of what is valid JSON, but more than the library takes, as much as can be kept: so the answer finds its request. */
static json_t *parse(const char *message, size_t length, json_error_t *error) {
    enum { FLAGS = JSON_DECODE_ANY | JSON_ALLOW_NUL };
    json_t *value = json_loadb(message, length, FLAGS, error);
    char *copy = value ? NULL : malloc(length);
    if (!copy)
        return value;
    memcpy(copy, message, length);
    mend_surrogates(copy, length);
    value = json_loadb(copy, length, FLAGS, error);
    if (!value && json_error_code(error) == json_error_numeric_overflow) {
        value = json_loadb(copy, length, FLAGS | JSON_DECODE_INT_AS_REAL, error);
        value = value ? make_whole(value) : NULL;
    }
    free(copy);
    return value;
}

void cb_mcp_handle(struct cb_mcp *server, const char *message, size_t length, const struct cb_mcp_emit *emit) {
    json_error_t error;
    char why[256];
    if (is_blank(message, length))
        return;
    json_t *value = parse(message, length, &error);
    snprintf(why, sizeof why, "Parse error: %.160s", error.text);
    if (!value)
        refuse_message(server, emit, CB_MCP_PARSE_ERROR, why);
    else if (json_is_array(value))
        handle_batch(server, value, emit);
    else
        handle_value(server, value, emit, NULL);
    json_decref(value);
}

void cb_mcp_handle_too_long(struct cb_mcp *server, const struct cb_mcp_emit *emit) {
    refuse_message(server, emit, CB_MCP_INVALID_REQUEST, "the message is longer than 10 MiB");
}
