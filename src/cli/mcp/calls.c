/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c: calls of tools: their arguments, their answers, and the calls that wait. */
#include "cli/mcp/server.h"
#include "cli/mcp/words.h"
#include "comm/utf8.h"
#include "sddp/clock.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_SECONDS 1.0 /* there is no more than one in this time */

/* The list of tools. */

static json_t *annotations_of(const struct cb_mcp_tool *tool) {
    json_t *hints = json_object();
    cb_json_set(hints, "readOnlyHint", json_boolean(!tool->writes));
    cb_json_set(hints, "destructiveHint", json_boolean(tool->destructive));
    cb_json_set(hints, "idempotentHint", json_boolean(tool->repeatable));
    cb_json_set(hints, "openWorldHint", json_false());
    return hints;
}

static json_t *tool_json(struct cb_mcp_request *request, size_t index) {
    const struct cb_mcp_tool *tool = cb_mcp_tools[index];
    json_t *json = json_object();
    cb_json_set(json, "name", cb_json_text(tool->name));
    if (request->revision >= CB_MCP_2025_06_18)
        cb_json_set(json, "title", cb_json_text(tool->title));
    cb_json_set(json, "description", cb_json_text(tool->description));
    cb_json_set(json, "inputSchema", json_incref(cb_mcp_input_schema(request->server, index)));
    if (request->revision >= CB_MCP_2025_06_18 && tool->output)
        cb_json_set(json, "outputSchema", json_incref(cb_mcp_output_schema(request->server, index)));
    if (request->revision >= CB_MCP_2025_03_26)
        cb_json_set(json, "annotations", annotations_of(tool));
    return json;
}

void cb_mcp_list_tools(struct cb_mcp_request *request) {
    json_t *result = json_object(), *list = json_array();
    for (size_t i = 0; cb_mcp_tools[i]; i++)
        cb_json_append(list, tool_json(request, i));
    cb_json_set(result, "tools", list);
    cb_mcp_reply_cached(request, result, true);
}

/* Arguments. */

const char *cb_mcp_text(const struct cb_mcp_call *call, const char *name) {
    return json_string_value(json_object_get(call->arguments, name));
}

double cb_mcp_number(const struct cb_mcp_call *call, const char *name, double fallback) {
    const json_t *value = json_object_get(call->arguments, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

bool cb_mcp_yes(const struct cb_mcp_call *call, const char *name) {
    return json_is_true(json_object_get(call->arguments, name));
}

json_t *cb_mcp_page(const struct cb_mcp_call *call, const json_t *list, size_t usual, size_t room) {
    size_t first = (size_t)cb_mcp_number(call, "offset", 0), length = 0;
    size_t count = (size_t)cb_mcp_number(call, "limit", (double)usual);
    json_t *page = json_array();
    for (size_t i = first; i < json_array_size(list) && i - first < count; i++) {
        json_t *row = json_array_get(list, i);
        length += json_dumpb(row, NULL, 0, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) + 1;
        if (length > room && i > first)
            break;
        cb_json_append(page, json_incref(row));
    }
    return page;
}

void cb_mcp_put_page(const struct cb_mcp_call *call, json_t *facts, const char *key, const json_t *list, size_t usual,
                     size_t room) {
    json_t *page = cb_mcp_page(call, list, usual, room);
    size_t next = (size_t)cb_mcp_number(call, "offset", 0) + json_array_size(page);
    cb_json_set(facts, key, page);
    cb_json_set(facts, "next_offset", next < json_array_size(list) ? cb_json_count(next) : json_null());
}

bool cb_mcp_place_at(struct cb_mcp_call *call, const char *name, const char *path, enum cb_place_kind wanted,
                     struct cb_place *place) {
    char why[CB_PLACE_WHY];
    if (cb_place_find(&call->server->places, path, wanted, place, why))
        return true;
    const char *kind = strcmp(name, "case") == 0 ? "case" : strncmp(name, "run", 3) == 0 ? "run" : NULL;
    json_t *near = errno == ENOENT ? cb_mcp_near_study(&call->server->places, kind, path) : NULL;
    cb_mcp_mistake(call,
                   &(struct cb_mcp_mistake){.field = name,
                                            .received = path,
                                            .problem = why,
                                            .nearest = json_string_value(near),
                                            .next = "list_studies names the cases, runs and policies that are there"});
    json_decref(near);
    return false;
}

bool cb_mcp_place(struct cb_mcp_call *call, const char *name, enum cb_place_kind wanted, struct cb_place *place) {
    const char *path = cb_mcp_text(call, name);
    return cb_mcp_place_at(call, name, path ? path : "", wanted, place);
}

/* Answers. */

/* Characters, not bytes: others have limits in those. */
static size_t characters(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static json_t *text_block(const char *text) {
    json_t *block = json_object();
    cb_json_set(block, "type", cb_json_text("text"));
    cb_json_set(block, "text", cb_json_text(text));
    return block;
}

/* Clients of older revisions do not know links. */
static json_t *block_for(const struct cb_mcp_request *request, json_t *block) {
    const char *type = json_string_value(json_object_get(block, "type"));
    const char *uri = json_string_value(json_object_get(block, "uri"));
    if (request->revision < CB_MCP_2025_06_18 && type && strcmp(type, "resource_link") == 0 && uri)
        return text_block(uri);
    return json_incref(block);
}

static json_t *content_of(struct cb_mcp_call *call, const char *text) {
    json_t *content = json_array(), *block;
    size_t i;
    cb_json_append(content, text_block(text));
    json_array_foreach(call->blocks, i, block) cb_json_append(content, block_for(call->request, block));
    return content;
}

static void free_call(struct cb_mcp_call *call) {
    json_decref((json_t *)call->arguments);
    json_decref(call->blocks);
    free(call);
}

static void reply(struct cb_mcp_call *call, const char *text, json_t *facts, bool error) {
    json_t *result = json_object();
    cb_json_set(result, "content", content_of(call, text));
    if (facts && call->request->revision >= CB_MCP_2025_06_18)
        cb_json_set(result, "structuredContent", facts);
    else
        json_decref(facts);
    if (error)
        cb_json_set(result, "isError", json_true());
    cb_mcp_reply(call->request, result);
    call->request = NULL;
    call->answered = true;
}

/* Cut where a character begins. */
static void reply_error(struct cb_mcp_call *call, char *text) {
    char *end = text;
    for (size_t left = CB_MCP_MOST_TEXT; *end && left > 0; left--) {
        size_t length = cb_utf8_length((const unsigned char *)end);
        end += length ? length : 1;
    }
    *end = 0;
    json_decref(call->blocks);
    call->blocks = NULL;
    reply(call, text, NULL, true);
}

void cb_mcp_answer(struct cb_mcp_call *call, json_t *facts, const char *format, ...) {
    char *text = NULL, *sentence = NULL, *json = json_dumps(facts, JSON_COMPACT | JSON_REAL_PRECISION(15));
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&sentence, format, arguments);
    va_end(arguments);
    if (length >= 0 && json)
        length = asprintf(&text, "%s\n\n%s", sentence, json);
    if (length < 0 || !json || !text) {
        cb_mcp_refuse(call, "try again", "there is no memory for the answer");
        json_decref(facts);
    } else if (characters(text) > CB_MCP_MOST_TEXT) {
        cb_mcp_refuse(call, "ask for less: by limit and offset, a filter, or one element",
                      "the answer would have %zu characters; at most %d are sent", characters(text), CB_MCP_MOST_TEXT);
        json_decref(facts);
    } else {
        reply(call, text, facts, false);
    }
    free(json);
    if (length >= 0)
        free(sentence);
    free(text);
}

void cb_mcp_add_block(struct cb_mcp_call *call, json_t *block) {
    if (!call->blocks)
        call->blocks = json_array();
    cb_json_append(call->blocks, block);
}

static void put_exactly(FILE *file, const char *name, const char *text) {
    fprintf(file, "%s: %s\n", name, text);
}

static void put_plain(FILE *file, const char *name, const char *text) {
    char *plain = strdup(text);
    if (plain)
        cb_mcp_plain(plain);
    put_exactly(file, name, plain ? plain : text);
    free(plain);
}

void cb_mcp_mistake(struct cb_mcp_call *call, const struct cb_mcp_mistake *mistake) {
    const struct {
        const char *name, *text;
    } line[] = {{"field", mistake->field},
                {"received", mistake->received},
                {"allowed", mistake->allowed},
                {"nearest match", mistake->nearest},
                {"next step", mistake->next}};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return;
    put_plain(file, call->tool->name, mistake->problem ? mistake->problem : "this cannot be done");
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        if (line[i].text && *line[i].text)
            (line[i].text == mistake->received ? put_exactly : put_plain)(file, line[i].name, line[i].text);
    fclose(file);
    text[size - 1] = 0;
    reply_error(call, text);
    free(text);
}

void cb_mcp_refuse(struct cb_mcp_call *call, const char *next, const char *format, ...) {
    char *problem = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&problem, format, arguments);
    va_end(arguments);
    cb_mcp_mistake(call,
                   &(struct cb_mcp_mistake){.problem = length < 0 ? "there is no memory" : problem, .next = next});
    if (length >= 0)
        free(problem);
}

void cb_mcp_failed(struct cb_mcp_call *call) {
    const cobre_error *error = cobre_last_error();
    bool named = strstr(error->message, error->file);
    cb_mcp_refuse(call, error->suggestion, "%s%s%s", named ? "" : error->file, named ? "" : ": ", error->message);
}

/* Calls that wait. */

void cb_mcp_wait(struct cb_mcp_call *call, double seconds, void (*look)(struct cb_mcp_call *call, bool late),
                 void (*cancelled)(struct cb_mcp_call *call)) {
    call->looked_at = cb_clock();
    call->deadline = call->looked_at + seconds;
    call->look = look;
    call->cancelled = cancelled;
}

void cb_mcp_progress(struct cb_mcp_call *call, double progress, double total, const char *message) {
    struct cb_mcp_request *request = call->request;
    double now = cb_clock();
    if (!request || !request->token || !(progress > request->progress) ||
        (request->progress >= 0 && now < request->progress_at + PROGRESS_SECONDS))
        return;
    request->progress = progress;
    request->progress_at = now;
    json_t *params = json_object();
    cb_json_set(params, "progressToken", json_incref(request->token));
    cb_json_set(params, "progress", cb_json_real(progress));
    if (isfinite(total))
        cb_json_set(params, "total", cb_json_real(total));
    if (request->revision >= CB_MCP_2025_03_26 && message)
        cb_json_set(params, "message", cb_json_text(message));
    cb_mcp_notify(request, "notifications/progress", params);
}

/* Those that have been answered go. */
static void sweep(struct cb_mcp *server) {
    for (struct cb_mcp_call **at = &server->waiting, *call; (call = *at);)
        if (call->answered) {
            *at = call->next;
            free_call(call);
        } else {
            at = &call->next;
        }
}

/* When a call is looked at next, whatever news there are. */
static double due_of(const struct cb_mcp_call *call) {
    bool tells = call->request && call->request->token;
    return tells ? fmin(call->deadline, call->looked_at + PROGRESS_SECONDS) : call->deadline;
}

static void look(struct cb_mcp *server, bool news) {
    double now = cb_clock();
    for (struct cb_mcp_call *call = server->waiting; call; call = call->next) {
        if (call->answered || !(news || now >= due_of(call)))
            continue;
        call->looked_at = now;
        call->look(call, now >= call->deadline);
    }
    sweep(server);
}

void cb_mcp_look(struct cb_mcp *server) {
    look(server, true);
}

static struct cb_mcp_call *find_waiting(const struct cb_mcp *server, const json_t *id) {
    struct cb_mcp_call *call = server->waiting;
    while (call && !(call->request && json_equal(call->request->id, id)))
        call = call->next;
    return call;
}

bool cb_mcp_is_waiting(const struct cb_mcp *server, const json_t *id) {
    return find_waiting(server, id) != NULL;
}

bool cb_mcp_cancel(struct cb_mcp *server, const json_t *id) {
    struct cb_mcp_call *call = find_waiting(server, id);
    if (!call)
        return false;
    if (call->cancelled)
        call->cancelled(call);
    if (call->request)
        cb_mcp_drop(call->request);
    call->request = NULL;
    call->answered = true;
    sweep(server);
    return true;
}

void cb_mcp_calls_free(struct cb_mcp *server) {
    for (struct cb_mcp_call *call = server->waiting; call; call = call->next) {
        call->answered = true;
        if (call->request)
            cb_mcp_drop(call->request);
    }
    sweep(server);
}

double cb_mcp_calls_due(const struct cb_mcp *server) {
    double due = INFINITY;
    for (const struct cb_mcp_call *call = server->waiting; call; call = call->next)
        due = fmin(due, due_of(call));
    return due;
}

void cb_mcp_calls_tick(struct cb_mcp *server) {
    look(server, false);
}

/* A new call. */

static size_t find_tool(const char *name) {
    size_t i = 0;
    while (cb_mcp_tools[i] && strcmp(cb_mcp_tools[i]->name, name) != 0)
        i++;
    return i;
}

static void unknown_tool(struct cb_mcp_request *request, const char *name) {
    json_t *names = json_object();
    for (size_t i = 0; cb_mcp_tools[i]; i++)
        cb_json_set(names, cb_mcp_tools[i]->name, json_true());
    const char *nearest = cb_mcp_nearest(name, names);
    cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "Unknown tool: %.200s%s%s%s", name,
                       nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    json_decref(names);
}

static bool refuse_zeros(struct cb_mcp_call *call) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)call->arguments, name, value) if (cb_mcp_has_zero(value)) {
        cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = name,
                                                      .received = json_string_value(value),
                                                      .problem = "a text in it has a zero byte",
                                                      .allowed = "texts without zero bytes",
                                                      .next = "call the tool again with this argument corrected"});
        return true;
    }
    return false;
}

static void run_call(struct cb_mcp_call *call, const json_t *schema) {
    struct cb_mcp_mistake mistake;
    struct cb_mcp_room room;
    if (refuse_zeros(call))
        return;
    if (!cb_mcp_check((json_t *)call->arguments, schema, &mistake, &room)) {
        mistake.next = "call the tool again with this argument corrected";
        cb_mcp_mistake(call, &mistake);
        return;
    }
    call->tool->call(call);
    if (!call->answered && !call->look) {
        cb_mcp_reply_error(call->request, CB_MCP_INTERNAL, NULL, "%s has given no answer", call->tool->name);
        call->answered = true;
    }
}

void cb_mcp_call_tool(struct cb_mcp_request *request) {
    struct cb_mcp *server = request->server;
    const char *name = json_string_value(json_object_get(request->params, "name"));
    json_t *arguments = json_object_get(request->params, "arguments");
    size_t tool = name ? find_tool(name) : 0;
    if (!name || (arguments && !json_is_object(arguments) && !json_is_null(arguments))) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL,
                           "params.name must be a text, and params.arguments an object");
        return;
    }
    if (!cb_mcp_tools[tool]) {
        unknown_tool(request, name);
        return;
    }
    struct cb_mcp_call *call = calloc(1, sizeof *call);
    if (!call) {
        cb_mcp_reply_error(request, CB_MCP_INTERNAL, NULL, "no memory");
        return;
    }
    *call = (struct cb_mcp_call){.server = server,
                                 .tool = cb_mcp_tools[tool],
                                 .arguments = json_is_object(arguments) ? json_deep_copy(arguments) : json_object(),
                                 .request = request,
                                 .next = server->waiting};
    server->waiting = call;
    run_call(call, cb_mcp_input_schema(server, tool));
    sweep(server);
}
