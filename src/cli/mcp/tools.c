/* SPDX-License-Identifier: Apache-2.0 */
/* tools.c: the table of tools, and the server that has them. */
#include "cli/mcp/jobs.h"
#include "cli/mcp/server.h"
#include "sddp/error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct cb_mcp_tool *const cb_mcp_tools[] = {
#define TOOL_ROW(name) &cb_mcp_##name,
    CB_MCP_TOOL_MAP(TOOL_ROW)
#undef TOOL_ROW
        NULL};

enum { TOOLS = sizeof cb_mcp_tools / sizeof *cb_mcp_tools - 1 };

/* Made when it is first asked for: a server starts within milliseconds. */
json_t *cb_mcp_input_schema(struct cb_mcp *server, size_t index) {
    const struct cb_mcp_tool *tool = cb_mcp_tools[index];
    if (!server->schemas[index])
        server->schemas[index] = tool->make_input ? tool->make_input(server) : cb_mcp_schema(tool->input, true);
    return server->schemas[index];
}

json_t *cb_mcp_output_schema(struct cb_mcp *server, size_t index) {
    json_t **schema = &server->schemas[TOOLS + index];
    if (!*schema)
        *schema = cb_mcp_schema(cb_mcp_tools[index]->output, false);
    return *schema;
}

static bool open_server(struct cb_mcp *server, const struct cb_mcp_options *options) {
    const char *wrong = cb_places_open(&server->places, options->roots, options->output);
    if (wrong) {
        cb_fail(COBRE_INVALID_ARGUMENT, "give folders that are there", "%s: %s", wrong, strerror(errno));
        return false;
    }
    cobre_config alone = {.struct_size = sizeof alone, .backend = COBRE_LOCAL};
    if (cobre_comm_open(&alone, &server->comm) != COBRE_OK)
        return false;
    server->schemas = calloc(2 * TOOLS, sizeof *server->schemas);
    server->listening = json_array();
    server->jobs = cb_jobs_new(server, options->program);
    if (server->schemas && server->listening && server->jobs)
        return true;
    cb_no_memory("the server", 0);
    return false;
}

struct cb_mcp *cb_mcp_new(const struct cb_mcp_options *options) {
    struct cb_mcp *server = calloc(1, sizeof *server);
    if (!server) {
        cb_no_memory("the server", 0);
        return NULL;
    }
    server->limits = options->limits;
    server->revision = CB_MCP_LEGACY;
    if (open_server(server, options))
        return server;
    cobre_error error = *cobre_last_error();
    cb_mcp_free(server);
    cobre_set_error(&error);
    return NULL;
}

void cb_mcp_free(struct cb_mcp *server) {
    cb_mcp_calls_free(server);
    if (server->jobs)
        cb_jobs_free(server->jobs);
    for (size_t i = 0; server->schemas && i < 2 * TOOLS; i++)
        json_decref(server->schemas[i]);
    free(server->schemas);
    json_decref(server->listening);
    cobre_comm_free(&server->comm);
    cb_places_close(&server->places);
    free(server);
}

double cb_mcp_due(const struct cb_mcp *server) {
    return fmin(cb_mcp_calls_due(server), cb_jobs_due(server->jobs));
}

void cb_mcp_tick(struct cb_mcp *server) {
    cb_jobs_tick(server->jobs);
    cb_mcp_calls_tick(server);
}
