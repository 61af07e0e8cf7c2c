/* SPDX-License-Identifier: Apache-2.0 */
/* prompts.c: prompts/list and prompts/get, over the table in prompt_table.c. */
#include "cli/mcp/server.h"

#include <stdlib.h>
#include <string.h>

static json_t *argument_json(const struct cb_mcp_prompt_argument *argument) {
    json_t *json = json_object();
    cb_json_set(json, "name", cb_json_text(argument->name));
    cb_json_set(json, "description", cb_json_text(argument->help));
    cb_json_set(json, "required", json_boolean(argument->required));
    return json;
}

static json_t *prompt_json(const struct cb_mcp_request *request, const struct cb_mcp_prompt *prompt) {
    json_t *json = json_object(), *arguments = json_array();
    for (size_t i = 0; i < CB_MCP_PROMPT_ARGUMENTS && prompt->argument[i].name; i++)
        cb_json_append(arguments, argument_json(&prompt->argument[i]));
    cb_json_set(json, "name", cb_json_text(prompt->name));
    if (request->revision >= CB_MCP_2025_06_18)
        cb_json_set(json, "title", cb_json_text(prompt->title));
    cb_json_set(json, "description", cb_json_text(prompt->description));
    cb_json_set(json, "arguments", arguments);
    return json;
}

void cb_mcp_list_prompts(struct cb_mcp_request *request) {
    json_t *result = json_object(), *list = json_array();
    for (const struct cb_mcp_prompt *prompt = cb_mcp_prompts; prompt->name; prompt++)
        cb_json_append(list, prompt_json(request, prompt));
    cb_json_set(result, "prompts", list);
    cb_mcp_reply_cached(request, result, true);
}

static const struct cb_mcp_prompt *find(const char *name) {
    const struct cb_mcp_prompt *prompt = cb_mcp_prompts;
    while (prompt->name && strcmp(prompt->name, name) != 0)
        prompt++;
    return prompt->name ? prompt : NULL;
}

/* What is given for the argument whose name begins here; NULL: none has that name. */
static const char *value_of(const struct cb_mcp_prompt *prompt, const json_t *arguments, const char *name,
                            size_t length) {
    for (size_t i = 0; i < CB_MCP_PROMPT_ARGUMENTS && prompt->argument[i].name; i++) {
        const struct cb_mcp_prompt_argument *argument = &prompt->argument[i];
        const char *value = json_string_value(json_object_get(arguments, argument->name));
        if (strlen(argument->name) == length && strncmp(argument->name, name, length) == 0)
            return value && *value ? value : argument->otherwise ? argument->otherwise : "";
    }
    return NULL;
}

/* The text with its arguments; to be freed. */
static char *fill(const struct cb_mcp_prompt *prompt, const json_t *arguments) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    for (const char *at = prompt->text; file && *at;) {
        size_t length = *at == '{' ? strcspn(at, "}") : 0;
        const char *value = length ? value_of(prompt, arguments, at + 1, length - 1) : NULL;
        if (value)
            fputs(value, file);
        else
            putc(*at, file);
        at += value ? length + 1 : 1;
    }
    if (file)
        fclose(file);
    return text;
}

/* What is wrong with the arguments, in `why`; false: all is well. */
static bool is_wrong(const struct cb_mcp_prompt *prompt, const json_t *arguments, char why[256]) {
    const char *key;
    json_t *value;
    for (size_t i = 0; i < CB_MCP_PROMPT_ARGUMENTS && prompt->argument[i].name; i++)
        if (prompt->argument[i].required && !json_object_get(arguments, prompt->argument[i].name)) {
            snprintf(why, 256, "the prompt %s needs the argument \"%s\": %s", prompt->name, prompt->argument[i].name,
                     prompt->argument[i].help);
            return true;
        }
    json_object_foreach((json_t *)arguments, key, value) {
        bool known = value_of(prompt, arguments, key, strlen(key));
        if (known && json_is_string(value))
            continue;
        snprintf(why, 256,
                 known ? "the argument \"%.100s\" of the prompt %s must be a text"
                       : "there is no argument \"%.100s\" of the prompt %s",
                 key, prompt->name);
        return true;
    }
    return false;
}

void cb_mcp_get_prompt(struct cb_mcp_request *request) {
    const char *name = json_string_value(json_object_get(request->params, "name"));
    const json_t *arguments = json_object_get(request->params, "arguments");
    const struct cb_mcp_prompt *prompt = name ? find(name) : NULL;
    char why[256];
    if (!prompt || is_wrong(prompt, arguments, why)) {
        if (!prompt)
            snprintf(why, sizeof why, "Unknown prompt: %.100s", name ? name : "none was named");
        cb_mcp_reply_error(request, CB_MCP_INVALID_PARAMS, NULL, "%s", why);
        return;
    }
    char *text = fill(prompt, arguments);
    json_t *result = json_object(), *messages = json_array(), *message = json_object(), *content = json_object();
    cb_json_set(content, "type", cb_json_text("text"));
    cb_json_set(content, "text", cb_json_text(text ? text : ""));
    cb_json_set(message, "role", cb_json_text("user"));
    cb_json_set(message, "content", content);
    cb_json_append(messages, message);
    cb_json_set(result, "description", cb_json_text(prompt->description));
    cb_json_set(result, "messages", messages);
    cb_mcp_reply(request, result);
    free(text);
}
