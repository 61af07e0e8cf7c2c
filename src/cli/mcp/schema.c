/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c: makes JSON schemas from fields. Not all clients can read everything, so there are no arrays of types, and
 * each array gives the type of its items. */
#include "cli/mcp/mcp.h"

static const char *const type_name[] = {"string", "number", "integer", "boolean", "object", "array"};

static json_t *schema_of_kind(enum cb_mcp_kind kind, const struct cb_mcp_field *fields, bool strict) {
    json_t *schema = kind == CB_MCP_OBJECT && fields ? cb_mcp_schema(fields, strict) : json_object();
    if (!json_object_get(schema, "type"))
        cb_json_set(schema, "type", cb_json_text(type_name[kind]));
    return schema;
}

static void set_limits(json_t *schema, const struct cb_mcp_field *field) {
    if (field->limited && field->kind == CB_MCP_WHOLE) {
        cb_json_set(schema, "minimum", json_integer((json_int_t)field->least));
        cb_json_set(schema, "maximum", json_integer((json_int_t)field->most));
    } else if (field->limited) {
        cb_json_set(schema, "minimum", cb_json_real(field->least));
        cb_json_set(schema, "maximum", cb_json_real(field->most));
    }
    if (field->longest)
        cb_json_set(schema, "maxItems", json_integer((json_int_t)field->longest));
    if (!field->choices)
        return;
    json_t *words = json_array();
    for (const char *const *choice = field->choices; *choice; choice++)
        cb_json_append(words, cb_json_text(*choice));
    cb_json_set(schema, "enum", words);
}

/* What may be null is one thing or another. */
static json_t *or_null(json_t *schema) {
    json_t *either = json_object(), *both = json_array(), *null = json_object();
    cb_json_set(null, "type", cb_json_text("null"));
    cb_json_append(both, schema);
    cb_json_append(both, null);
    cb_json_set(either, "anyOf", both);
    return either;
}

static json_t *schema_of(const struct cb_mcp_field *field, bool strict) {
    json_t *schema = schema_of_kind(field->kind, field->fields, strict);
    if (field->kind == CB_MCP_LIST)
        cb_json_set(schema, "items", schema_of_kind(field->items, field->fields, strict));
    set_limits(schema, field);
    if (field->nullable)
        schema = or_null(schema);
    cb_json_set(schema, "description", cb_json_text(field->help));
    if (field->fallback)
        cb_json_set(schema, "default", json_loads(field->fallback, JSON_DECODE_ANY, NULL));
    return schema;
}

json_t *cb_mcp_schema(const struct cb_mcp_field *fields, bool strict) {
    json_t *schema = json_object(), *properties = json_object(), *required = json_array();
    cb_json_set(schema, "type", cb_json_text("object"));
    for (; fields && fields->name; fields++) {
        cb_json_set(properties, fields->name, schema_of(fields, strict));
        if (fields->required)
            cb_json_append(required, cb_json_text(fields->name));
    }
    cb_json_set(schema, "properties", properties);
    if (json_array_size(required) > 0)
        cb_json_set(schema, "required", required);
    else
        json_decref(required);
    if (strict)
        cb_json_set(schema, "additionalProperties", json_false());
    return schema;
}
