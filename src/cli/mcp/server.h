/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: the inside of the server: requests, and how replies are encoded. Tools need mcp.h only. */
#ifndef COBRE_CLI_MCP_SERVER_H
#define COBRE_CLI_MCP_SERVER_H

#include "cli/mcp/mcp.h"
#include "cli/run/job.h" /* struct text */

/* X(code, text): the revisions of the protocol. All but the last begin with `initialize`; messages of the last are
 * independent of each other. */
#define CB_MCP_REVISION_MAP(X)                                                                                         \
    X(2024_11_05, "2024-11-05")                                                                                        \
    X(2025_03_26, "2025-03-26")                                                                                        \
    X(2025_06_18, "2025-06-18")                                                                                        \
    X(2025_11_25, "2025-11-25")                                                                                        \
    X(2026_07_28, "2026-07-28")

enum cb_mcp_revision {
#define CB_MCP_REVISION_ENUM(code, text) CB_MCP_##code,
    CB_MCP_REVISION_MAP(CB_MCP_REVISION_ENUM)
#undef CB_MCP_REVISION_ENUM
        CB_MCP_MODERN = CB_MCP_2026_07_28,
    CB_MCP_LEGACY = CB_MCP_2025_11_25 /* the newest one with `initialize` */
};

extern const char *const cb_mcp_revision_name[];

enum {
    CB_MCP_PARSE_ERROR = -32700,
    CB_MCP_INVALID_REQUEST = -32600,
    CB_MCP_NO_METHOD = -32601,
    CB_MCP_INVALID_PARAMS = -32602,
    CB_MCP_INTERNAL = -32603,
    CB_MCP_NO_RESOURCE = -32002, /* before 2026-07-28 */
    CB_MCP_NO_REVISION = -32022
};

/* An array of requests, of revision 2025-03-26: the replies are sent together. */
struct cb_mcp_batch {
    struct text replies; /* "[...,...", without its end */
    bool full;           /* a reply was too long: no more is done */
    size_t open;         /* requests that have no reply yet, and 1 while the array is being read */
    struct cb_mcp_emit emit;
};

/* A request, until its reply. */
struct cb_mcp_request {
    struct cb_mcp *server;
    struct cb_mcp_emit emit;
    struct cb_mcp_batch *batch; /* NULL: it came alone */
    enum cb_mcp_revision revision;
    json_t *id;     /* a text or a whole number; NULL: none that could be read */
    json_t *params; /* an object; never NULL */
    json_t *token;  /* for progress; NULL: none is wanted */
    double progress, progress_at;
};

/* reply.c: each of these replies and frees the request. result, data: taken; data NULL: none. */
void cb_mcp_reply(struct cb_mcp_request *request, json_t *result);
void cb_mcp_reply_cached(struct cb_mcp_request *request, json_t *result, bool steady); /* for lists and resources */
void cb_mcp_reply_error(struct cb_mcp_request *request, int code, json_t *data, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void cb_mcp_drop(struct cb_mcp_request *request); /* without a reply */
void cb_mcp_notify(const struct cb_mcp_request *request, const char *method, json_t *params);
json_t *cb_mcp_server_info(void);
struct cb_mcp_batch *cb_mcp_batch_new(const struct cb_mcp_emit *emit);
void cb_mcp_batch_done(struct cb_mcp_batch *batch); /* one of its requests, or the array */

/* protocol.c: does a text in it have a zero byte? It would be cut off where it is used. */
bool cb_mcp_has_zero(const json_t *value);

/* calls.c: the methods tools/list and tools/call. cancel: false if no call waits under this id. */
void cb_mcp_list_tools(struct cb_mcp_request *request);
void cb_mcp_call_tool(struct cb_mcp_request *request);
bool cb_mcp_cancel(struct cb_mcp *server, const json_t *id);
bool cb_mcp_is_waiting(const struct cb_mcp *server, const json_t *id);
void cb_mcp_look(struct cb_mcp *server); /* a job has news */
void cb_mcp_calls_free(struct cb_mcp *server);
double cb_mcp_calls_due(const struct cb_mcp *server);
void cb_mcp_calls_tick(struct cb_mcp *server); /* answers those whose time is over */

/* tools.c */
extern const struct cb_mcp_tool *const cb_mcp_tools[]; /* NULL after the last */
json_t *cb_mcp_input_schema(struct cb_mcp *server, size_t tool);
json_t *cb_mcp_output_schema(struct cb_mcp *server, size_t tool);

/* check.c: checks a value against a schema, and puts it right where that is harmless: a number that is given as text. False:
 * see the mistake, whose texts are in `room`. */
struct cb_mcp_room {
    char field[256], received[256], problem[512], allowed[1024], nearest[128];
};
bool cb_mcp_check(json_t *value, const json_t *schema, struct cb_mcp_mistake *mistake, struct cb_mcp_room *room);

/* The name in `names`, the keys of an object, that was probably meant; NULL: none is close. typo: so close that only a
 * few letters are wrong; nearest: also one that has the word in it, or begins like it. */
const char *cb_mcp_typo(const char *word, const json_t *names);
const char *cb_mcp_nearest(const char *word, const json_t *names);

/* list_studies.c: the path of a study whose last part is like that of `path`, as a text; NULL: there is none. kind:
 * "case", "run", "policy", or NULL for any. */
json_t *cb_mcp_near_study(struct cb_places *places, const char *kind, const char *path);

/* resources.c, prompts.c: their methods. */
void cb_mcp_list_resources(struct cb_mcp_request *request);
void cb_mcp_list_templates(struct cb_mcp_request *request);
void cb_mcp_read_resource(struct cb_mcp_request *request);
void cb_mcp_list_prompts(struct cb_mcp_request *request);
void cb_mcp_get_prompt(struct cb_mcp_request *request);

#endif
