/* SPDX-License-Identifier: Apache-2.0 */
/* mcp.h: the interface for tools, resources and prompts of `cobre mcp`.
 *
 * A new tool is a file and a row:
 *
 *   1. The file (validate_case.c is the model) has two tables of fields, for the arguments and for the result, a function,
 *      and the row: const struct cb_mcp_tool cb_mcp_validate_case = {...}.
 *   2. A line of CB_MCP_TOOL_MAP below, and the file in CMakeLists.txt.
 *
 * The function gets arguments that have been checked against its fields: required ones are given, types and limits are
 * right, names are known. It answers its call exactly once:
 *
 *     cb_mcp_answer(call, facts, "The case is valid.")            the result: facts by the output fields, and a sentence
 *     cb_mcp_refuse(call, "validate the case", "it has errors")   an error that the caller can correct: remedy, and error
 *     cb_mcp_mistake(call, &(struct cb_mcp_mistake){...})         the same of one argument
 *     cb_mcp_failed(call)                                         the same of cobre_last_error()
 *     cb_mcp_wait(call, 30, look, cancelled)                      later: see below
 *
 * Paths of arguments go through cb_mcp_place, which refuses paths outside of the allowed folders. Tools that compute or
 * read use the communicator server->comm, which has one rank. JSON is made with cli/json.h; cb_json_real makes null of
 * NaN and infinities. Texts of the planner are written for a command line: cb_mcp_plain_json (words.h) makes them fit
 * for tools; refusals are made so by themselves. A result has at most CB_MCP_MOST_TEXT characters, or it is refused:
 * tools with long lists take CB_MCP_PAGE_FIELDS, give CB_MCP_NEXT_FIELD, and fill both by cb_mcp_put_page. */
#ifndef COBRE_CLI_MCP_MCP_H
#define COBRE_CLI_MCP_MCP_H

#include "cli/json.h"
#include "cli/mcp/places.h"
#include "cobre/sddp.h"

#include <stdbool.h>

enum { CB_MCP_MOST_TEXT = 20000, CB_MCP_MOST_LINE = 10 << 20, CB_MCP_MOST_REPLY = 8 << 20 };

/* Fields describe arguments and results. JSON schemas are made of them (schema.c). */

enum cb_mcp_kind { CB_MCP_TEXT, CB_MCP_NUMBER, CB_MCP_WHOLE, CB_MCP_YES_NO, CB_MCP_OBJECT, CB_MCP_LIST };

struct cb_mcp_field {
    const char *name; /* NULL after the last */
    enum cb_mcp_kind kind;
    const char *help;
    bool required;                     /* of an argument: it must be given; of a result: it is always there */
    bool nullable;                     /* of a result: it may be null; numbers that may be unknown are */
    bool limited;                      /* least and most count, of a number */
    double least, most;                /* both included */
    const char *const *choices;        /* of a text; NULL after the last. NULL: any */
    const char *fallback;              /* the default of an argument, as JSON; NULL: none */
    enum cb_mcp_kind items;            /* of a list: the kind of its items */
    const struct cb_mcp_field *fields; /* of an object, and of the objects in a list; NULL: of any */
    size_t longest;                    /* of a list of arguments: so many items at most; 0: any number */
};

/* Makes the schema of an object with these fields. strict: other names are refused, as in arguments. */
json_t *cb_mcp_schema(const struct cb_mcp_field *fields, bool strict);

/* The arguments of a page of a list, and the members of the answer. */
#define CB_MCP_PAGE_FIELDS(usual)                                                                                      \
    {.name = "limit",                                                                                                  \
     .kind = CB_MCP_WHOLE,                                                                                             \
     .help = "so many rows at most",                                                                                   \
     .limited = true,                                                                                                  \
     .least = 1,                                                                                                       \
     .most = 1000,                                                                                                     \
     .fallback = usual},                                                                                               \
    {                                                                                                                  \
        .name = "offset", .kind = CB_MCP_WHOLE, .help = "rows to leave out at the beginning", .limited = true,         \
        .most = 1e9, .fallback = "0"                                                                                   \
    }

#define CB_MCP_NEXT_FIELD                                                                                              \
    {                                                                                                                  \
        .name = "next_offset", .kind = CB_MCP_WHOLE, .nullable = true, .required = true,                               \
        .help = "offset of the next page; null: there is none"                                                         \
    }

/* Tools */

struct cb_mcp_call;
struct cb_mcp;

struct cb_mcp_tool {
    const char *name, *title, *description;
    const struct cb_mcp_field *input, *output;
    json_t *(*make_input)(
        const struct cb_mcp *server); /* instead of `input`, for a schema that is made of other tables */
    bool writes;      /* it changes something: a file, a job. The annotation readOnlyHint is the opposite */
    bool destructive; /* it may replace or end something */
    bool repeatable;  /* the same call again changes nothing more: idempotentHint */
    void (*call)(struct cb_mcp_call *call);
};

/* X(name): the tools, in the order in which they are listed. */
#define CB_MCP_TOOL_MAP(X)                                                                                             \
    X(list_studies)                                                                                                    \
    X(inspect_case)                                                                                                    \
    X(validate_case)                                                                                                   \
    X(edit_case)                                                                                                       \
    X(train)                                                                                                           \
    X(simulate)                                                                                                        \
    X(job_status)                                                                                                      \
    X(job_cancel)                                                                                                      \
    X(query_convergence)                                                                                               \
    X(query_results)                                                                                                   \
    X(inspect_policy)                                                                                                  \
    X(compare_runs)                                                                                                    \
    X(decide)                                                                                                          \
    X(render_chart)                                                                                                    \
    X(export_results)

#define CB_MCP_DECLARE_TOOL(name) extern const struct cb_mcp_tool cb_mcp_##name;
CB_MCP_TOOL_MAP(CB_MCP_DECLARE_TOOL)
#undef CB_MCP_DECLARE_TOOL

/* One call of a tool, from its request to its answer. */
struct cb_mcp_call {
    struct cb_mcp *server;
    const struct cb_mcp_tool *tool;
    const json_t *arguments;        /* checked. They last as long as the call */
    void *data;                     /* of a tool that waits; not freed here */
    struct cb_mcp_request *request; /* the rest is for calls.c */
    json_t *blocks;                 /* of content, after the text; NULL: none */
    double deadline, looked_at;     /* by cb_clock */
    void (*look)(struct cb_mcp_call *call, bool late);
    void (*cancelled)(struct cb_mcp_call *call);
    struct cb_mcp_call *next;
    bool answered;
};

/* Arguments. */
const char *cb_mcp_text(const struct cb_mcp_call *call, const char *name);               /* NULL: not given */
double cb_mcp_number(const struct cb_mcp_call *call, const char *name, double fallback); /* also of whole ones */
bool cb_mcp_yes(const struct cb_mcp_call *call, const char *name);                       /* false: not given */

/* Sets facts[key] to the rows of `list` that limit and offset ask for, and next_offset. usual: limit when it is not
 * given. The page has fewer rows when they would have more than `room` characters; they are in the answer twice, as
 * text and as data, but only the text counts. */
void cb_mcp_put_page(const struct cb_mcp_call *call, json_t *facts, const char *key, const json_t *list, size_t usual,
                     size_t room);

/* The page alone, for an answer with several lists. */
json_t *cb_mcp_page(const struct cb_mcp_call *call, const json_t *list, size_t usual, size_t room);

/* The place that a path argument names, or false: the call has been refused, and says why. The caller closes it by
 * cb_place_close. wanted: what it must be. place.path is for readers that take a path, place.fd for those that take a
 * descriptor. */
bool cb_mcp_place(struct cb_mcp_call *call, const char *name, enum cb_place_kind wanted, struct cb_place *place);

/* The same of a path that is only a part of an argument, such as one of a list. */
bool cb_mcp_place_at(struct cb_mcp_call *call, const char *name, const char *path, enum cb_place_kind wanted,
                     struct cb_place *place);

/* The answer: takes `facts`, which are as the output fields say. The sentence, then the facts, are the text. */
void cb_mcp_answer(struct cb_mcp_call *call, json_t *facts, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* A further block of content, before the answer: image, resource_link. Takes it. */
void cb_mcp_add_block(struct cb_mcp_call *call, json_t *block);

/* A result with isError. Every text but the first may be NULL. */
struct cb_mcp_mistake {
    const char *field;    /* of the arguments */
    const char *received; /* as text */
    const char *problem;  /* a sentence */
    const char *allowed;  /* "a whole number from 1 to 8" */
    const char *nearest;  /* the name that was probably meant */
    const char *next;     /* a sentence: what to do */
};
void cb_mcp_mistake(struct cb_mcp_call *call, const struct cb_mcp_mistake *mistake);
void cb_mcp_refuse(struct cb_mcp_call *call, const char *next, const char *problem, ...)
    __attribute__((format(printf, 3, 4)));
void cb_mcp_failed(struct cb_mcp_call *call); /* the same, of cobre_last_error() */

/* Answers later: `look` is called when a job has news, each second if progress is wanted, and once when so many seconds
 * have passed (late); it may answer. When the request is cancelled, `cancelled` is called, if there is one, and the
 * call ends without an answer. */
void cb_mcp_wait(struct cb_mcp_call *call, double seconds, void (*look)(struct cb_mcp_call *call, bool late),
                 void (*cancelled)(struct cb_mcp_call *call));

/* Sends the progress of a call, if the client asked for it. Too frequent or unchanged values are left out. total NaN:
 * not known. */
void cb_mcp_progress(struct cb_mcp_call *call, double progress, double total, const char *message);

/* Resources */

enum { CB_MCP_WHY = 1024 };

struct cb_mcp_resource {
    const char
        *uri; /* "cobre://run/{+run}/summary": {x} is all up to the next '/', {+x} may have some; NULL after the last */
    const char *name, *title, *description, *mime;
    /* The text of it, to be freed; NULL: `why` says what is wrong. value[i]: of the i-th variable, decoded. */
    char *(*read)(struct cb_mcp *server, const char *const *value, char why[CB_MCP_WHY]);
    bool steady; /* it never changes while the server runs */
};
extern const struct cb_mcp_resource cb_mcp_resources[];

/* Prompts */

enum { CB_MCP_PROMPT_ARGUMENTS = 3 };
struct cb_mcp_prompt {
    const char *name, *title, *description; /* name NULL: after the last */
    struct cb_mcp_prompt_argument {
        const char *name, *help;
        bool required;
        const char *otherwise; /* stands in the text when it is not given */
    } argument[CB_MCP_PROMPT_ARGUMENTS];
    const char *text; /* "{case}" is replaced by the argument */
};
extern const struct cb_mcp_prompt cb_mcp_prompts[];

/* The server. handle() knows no transport: it takes one message and sends its output, now or later. */

struct cb_mcp_emit {
    void (*send)(void *arg, const char *message, size_t length); /* one message, without an end of line */
    void *arg;
};

struct cb_mcp_limits {
    double seconds;      /* of a job */
    uint64_t iterations; /* of a training */
    size_t workers;
    uint64_t memory; /* bytes, of all workers; 0: no limit */
};

struct cb_mcp_options {
    const char *const *roots; /* NULL after the last; none: the current folder */
    const char *output;       /* NULL: cobre-output in the first root */
    const char *program;      /* that jobs run; NULL: this one */
    struct cb_mcp_limits limits;
};

struct cb_mcp {
    cobre_comm *comm;
    struct cb_places places;
    struct cb_mcp_limits limits;
    struct cb_jobs *jobs;
    int revision;                /* that `initialize` has agreed on; for messages that do not name theirs */
    struct cb_mcp_call *waiting; /* calls.c */
    json_t *listening;           /* ids of subscriptions/listen; protocol.c */
    json_t **schemas;            /* of the input of each tool, then of the output of each; tools.c */
};

/* NULL: cobre_last_error() says why. */
struct cb_mcp *cb_mcp_new(const struct cb_mcp_options *options);
void cb_mcp_free(struct cb_mcp *server);

/* One message: the text of a JSON value. */
void cb_mcp_handle(struct cb_mcp *server, const char *message, size_t length, const struct cb_mcp_emit *emit);

/* A message that was too long to be read. */
void cb_mcp_handle_too_long(struct cb_mcp *server, const struct cb_mcp_emit *emit);

/* The time of the next task, by cb_clock; INFINITY: there is none. And: runs the tasks that are due. */
double cb_mcp_due(const struct cb_mcp *server);
void cb_mcp_tick(struct cb_mcp *server);

#endif
