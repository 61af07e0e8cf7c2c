/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c: resources/list, resources/templates/list and resources/read, over the table in resource_table.c. */
#include "cli/mcp/server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VARIABLES = 2 };

static bool is_template(const struct cb_mcp_resource *resource) {
    return strchr(resource->uri, '{') != NULL;
}

static json_t *resource_json(const struct cb_mcp_request *request, const struct cb_mcp_resource *resource) {
    json_t *json = json_object();
    cb_json_set(json, is_template(resource) ? "uriTemplate" : "uri", cb_json_text(resource->uri));
    cb_json_set(json, "name", cb_json_text(resource->name));
    if (request->revision >= CB_MCP_2025_06_18)
        cb_json_set(json, "title", cb_json_text(resource->title));
    cb_json_set(json, "description", cb_json_text(resource->description));
    cb_json_set(json, "mimeType", cb_json_text(resource->mime));
    return json;
}

static void list(struct cb_mcp_request *request, const char *key, bool templates) {
    json_t *result = json_object(), *rows = json_array();
    for (const struct cb_mcp_resource *resource = cb_mcp_resources; resource->uri; resource++)
        if (is_template(resource) == templates)
            cb_json_append(rows, resource_json(request, resource));
    cb_json_set(result, key, rows);
    cb_mcp_reply_cached(request, result, true);
}

void cb_mcp_list_resources(struct cb_mcp_request *request) {
    list(request, "resources", false);
}

void cb_mcp_list_templates(struct cb_mcp_request *request) {
    list(request, "resourceTemplates", true);
}

static int hex(char digit) {
    return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

/* A part of a URI, with %20 as a blank. NULL: no memory, or a zero byte. */
static char *decode(const char *from, size_t length) {
    char *text = malloc(length + 1), *to = text;
    for (size_t i = 0; text && i < length; i++) {
        bool coded = from[i] == '%' && i + 2 < length && isxdigit((unsigned char)from[i + 1]) &&
                     isxdigit((unsigned char)from[i + 2]);
        *to++ = coded ? (char)(16 * hex(from[i + 1]) + hex(from[i + 2])) : from[i];
        i += coded ? 2 : 0;
    }
    if (text)
        *to = 0;
    if (text && strlen(text) == (size_t)(to - text))
        return text;
    free(text);
    return NULL;
}

/* Matches a URI and the template: {x} is all up to the next '/', {+x} the rest. The values are to be freed. */
static bool match(const char *template, const char *uri, char *value[MOST_VARIABLES]) {
    size_t count = 0;
    while (*template) {
        if (*template != '{') {
            if (*template ++ != *uri++)
                return false;
            continue;
        }
        bool rest = template[1] == '+';
        size_t length = rest ? strlen(uri) : strcspn(uri, "/");
        if (length == 0 || count == MOST_VARIABLES || !(value[count++] = decode(uri, length)))
            return false;
        uri += length;
        template = strchr(template, '}') + 1;
    }
    return *uri == 0;
}

static void free_values(char *value[MOST_VARIABLES]) {
    for (size_t i = 0; i < MOST_VARIABLES; i++) {
        free(value[i]);
        value[i] = NULL;
    }
}

static void not_found(struct cb_mcp_request *request, const char *uri, const char *why) {
    json_t *data = json_object();
    cb_json_set(data, "uri", cb_json_text(uri));
    cb_mcp_reply_error(request, request->revision == CB_MCP_MODERN ? CB_MCP_INVALID_PARAMS : CB_MCP_NO_RESOURCE, data,
                       "Resource not found: %s", why);
}

static void reply(struct cb_mcp_request *request, const struct cb_mcp_resource *resource, const char *uri,
                  const char *text) {
    json_t *result = json_object(), *contents = json_array(), *content = json_object();
    cb_json_set(content, "uri", cb_json_text(uri));
    cb_json_set(content, "mimeType", cb_json_text(resource->mime));
    cb_json_set(content, "text", cb_json_text(text));
    cb_json_append(contents, content);
    cb_json_set(result, "contents", contents);
    cb_mcp_reply_cached(request, result, resource->steady);
}

void cb_mcp_read_resource(struct cb_mcp_request *request) {
    const char *uri = json_string_value(json_object_get(request->params, "uri"));
    char *value[MOST_VARIABLES] = {NULL}, why[CB_MCP_WHY] = "there is no such resource";
    const struct cb_mcp_resource *resource = cb_mcp_resources;
    if (!uri) {
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "params.uri must be a text");
        return;
    }
    for (; resource->uri && !match(resource->uri, uri, value); resource++)
        free_values(value);
    char *text = resource->uri ? resource->read(request->server, (const char *const *)value, why) : NULL;
    if (text)
        reply(request, resource, uri, text);
    else
        not_found(request, uri, why);
    free(text);
    free_values(value);
}
