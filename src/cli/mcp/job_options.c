/* SPDX-License-Identifier: Apache-2.0 */
/* job_options.c: the options of `cobre train` and `cobre simulate` as arguments of tools, and back to the words of a command line.
 *
 * Schemas are made of the tables of options: a new option of the planner is a new argument by itself. An option with one number
 * has that type; one with two values, or with a unit, is a text, as on the command line. */
#include "cli/mcp/jobs.h"
#include "cli/mcp/server.h"
#include "sddp/run/option_tables.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct cb_option *const train_tables[] = {cb_rule_rows, cb_train_rows, NULL};
static const struct cb_option *const simulate_tables[] = {cb_simulate_rows, cb_begin_rows, cb_scenario_rows, NULL};

/* What any of the tables sets. */
union fields {
    cobre_sddp_train_options train;
    cobre_sddp_simulate_options simulate;
    struct cb_begin begin;
    cobre_sddp_load_options load;
};

static bool is_file(const struct cb_option *row) {
    return row->value[0].kind == CB_VALUE_TEXT && strcmp(row->value[0].name, "FILE") == 0;
}

static const char *type_of(const struct cb_option *row) {
    if (!row->value[0].kind)
        return "boolean";
    if (row->value[1].kind)
        return "string";
    return row->value[0].kind == CB_VALUE_COUNT ? "integer" : row->value[0].kind == CB_VALUE_REAL ? "number" : "string";
}

static void set_range(json_t *schema, const struct cb_value *value) {
    bool whole = value->kind == CB_VALUE_COUNT;
    if (isfinite(value->least))
        cb_json_set(schema, value->above ? "exclusiveMinimum" : "minimum",
                    whole ? json_integer((json_int_t)value->least) : json_real(value->least));
    if (value->most != 0)
        cb_json_set(schema, "maximum", whole ? json_integer((json_int_t)value->most) : json_real(value->most));
}

static void set_words(json_t *schema, const struct cb_value *value) {
    json_t *words = json_array();
    for (const struct cb_choice *choice = value->choices; choice->word; choice++)
        cb_json_append(words, cb_json_text(choice->word));
    cb_json_set(schema, "enum", words);
}

/* The help of the option, how its values are written, and what holds without it. */
static void set_help(json_t *schema, const struct cb_option *row) {
    char text[1024], values[64];
    size_t length = (size_t)snprintf(text, sizeof text, "%s", row->help);
    if (row->value[1].kind)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "; write \"%s\"", cb_option_values(row, values));
    for (size_t i = 0; i < CB_OPTION_VALUES; i++)
        if (row->value[i].fallback)
            length += (size_t)snprintf(text + length, sizeof text - length, " (default%s%s: %s)",
                                       row->value[1].kind ? " of " : "", row->value[1].kind ? row->value[i].name : "",
                                       row->value[i].fallback);
    if (is_file(row))
        snprintf(text + length, sizeof text - length, "; a path, absolute or below a root");
    cb_json_set(schema, "description", cb_json_text(text));
}

static json_t *row_schema(const struct cb_option *row) {
    json_t *schema = json_object();
    const char *type = type_of(row);
    cb_json_set(schema, "type", cb_json_text(type));
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        set_range(schema, &row->value[0]);
    if (row->value[0].kind == CB_VALUE_CHOICE)
        set_words(schema, &row->value[0]);
    set_help(schema, row);
    return schema;
}

static json_t *schema_of(const struct cb_mcp *server, const struct cb_mcp_field *own,
                         const struct cb_option *const *tables) {
    json_t *schema = cb_mcp_schema(own, true), *properties = json_object_get(schema, "properties");
    for (; *tables; tables++)
        for (const struct cb_option *row = *tables; row->name; row++)
            if (row->help)
                cb_json_set(properties, row->name, row_schema(row));
    json_t *workers = json_object_get(properties, "num_workers"),
           *iterations = json_object_get(properties, "iterations");
    cb_json_set(workers, "maximum", cb_json_count(server->limits.workers));
    if (iterations && server->limits.iterations)
        cb_json_set(iterations, "maximum", cb_json_count(server->limits.iterations));
    return schema;
}

#define CASE_FIELD                                                                                                     \
    {                                                                                                                  \
        .name = "case", .kind = CB_MCP_TEXT, .required = true,                                                         \
        .help = "the case: a folder with case.json, or a *.sof.json file; absolute or below a root"                    \
    }
#define COMMON_FIELDS                                                                                                  \
    {.name = "num_workers",                                                                                            \
     .kind = CB_MCP_WHOLE,                                                                                             \
     .limited = true,                                                                                                  \
     .least = 1,                                                                                                       \
     .most = 1,                                                                                                        \
     .fallback = "1",                                                                                                  \
     .help = "processes that share the work; the results do not depend on it"},                                        \
    {                                                                                                                  \
        .name = "wait", .kind = CB_MCP_NUMBER, .limited = true, .most = 45, .fallback = "45",                          \
        .help = "seconds to wait for the end; then the state so far is returned, and the job goes on"                  \
    }

json_t *cb_job_train_schema(const struct cb_mcp *server) {
    static const struct cb_mcp_field own[] = {
        CASE_FIELD,
        {.name = "out",
         .kind = CB_MCP_TEXT,
         .help =
             "a folder below the output folder for the results (default: a new one, named by the case and a number)"},
        COMMON_FIELDS,
        {.name = NULL},
    };
    return schema_of(server, own, train_tables);
}

json_t *cb_job_simulate_schema(const struct cb_mcp *server) {
    static const struct cb_mcp_field own[] = {
        CASE_FIELD,
        {.name = "policy",
         .kind = CB_MCP_TEXT,
         .required = true,
         .help = "the policy: a *.cobre file, or the folder of a run that has one; absolute or below a root"},
        {.name = "out",
         .kind = CB_MCP_TEXT,
         .help = "a folder below the output folder for the tables (default: where the policy is, if that is below the "
                 "output "
                 "folder, and a simulation that is there is replaced; else a new one)"},
        COMMON_FIELDS,
        {.name = NULL},
    };
    return schema_of(server, own, simulate_tables);
}

/* Words. */

void cb_job_word(struct cb_job_words *words, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0 || words->count + 1 >= sizeof words->word / sizeof *words->word) {
        free(length < 0 ? NULL : text);
        return;
    }
    words->word[words->count++] = text;
    words->word[words->count] = NULL;
}

void cb_job_words_free(struct cb_job_words *words) {
    for (size_t i = 0; i < words->count; i++)
        free(words->word[i]);
    words->count = 0;
}

/* The value as the command line would have it. */
static char *value_text(const json_t *value) {
    char number[64];
    if (json_is_string(value))
        return strdup(json_string_value(value));
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(number, sizeof number, "%.17g", json_number_value(value));
    return strdup(number);
}

static bool names_table(const struct cb_option *row, const char *text) {
    size_t length = strlen(text);
    return strcmp(row->name, "state") == 0 && length >= 4 && strcasecmp(text + length - 4, ".csv") == 0;
}

/* A file must be in an allowed folder, too. */
static bool settle_file(struct cb_mcp_call *call, const struct cb_option *row, char **text) {
    struct cb_place place;
    if (!is_file(row) && !names_table(row, *text))
        return true;
    if (!cb_mcp_place(call, row->name, CB_PLACE_FILE, &place))
        return false;
    free(*text);
    *text = strdup(place.path);
    cb_place_close(&place);
    return *text != NULL;
}

static bool refuse(struct cb_mcp_call *call, const struct cb_option *row, const char *text, const char *error) {
    char problem[CB_OPTION_ERROR + 64], values[64];
    snprintf(problem, sizeof problem, "\"%s\" %s", row->name, error);
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = row->name,
                                                  .received = text,
                                                  .problem = problem,
                                                  .allowed = cb_option_values(row, values),
                                                  .next = "call the tool again with this argument corrected"});
    return false;
}

/* The limit of time of a job is also that of its rule. */
static bool check_time(struct cb_mcp_call *call, const struct cb_option *row, const char *text,
                       const union fields *fields) {
    double most = call->server->limits.seconds;
    char error[128];
    if (strcmp(row->name, "time") != 0 || most <= 0 || fields->train.seconds <= most)
        return true;
    snprintf(error, sizeof error, "is more than this server allows: %g s (--max-time)", most);
    return refuse(call, row, text, error);
}

static bool add_option(struct cb_mcp_call *call, const struct cb_option *rows, const struct cb_option *row,
                       const json_t *value, struct cb_job_words *words) {
    union fields fields = {.train = {.struct_size = 0}};
    char error[CB_OPTION_ERROR];
    if (!row->value[0].kind) {
        if (json_is_true(value))
            cb_job_word(words, "--%s", row->name);
        return true;
    }
    char *text = value_text(value);
    bool good = text && settle_file(call, row, &text);
    if (good && !cb_option_set(rows, row->name, text, &fields, error))
        good = refuse(call, row, text, error);
    good = good && check_time(call, row, text, &fields);
    if (good)
        cb_job_word(words, "--%s=%s", row->name, text);
    free(text);
    return good;
}

bool cb_job_words(struct cb_mcp_call *call, struct cb_job_words *words) {
    bool train = strcmp(call->tool->name, "train") == 0;
    for (const struct cb_option *const *table = train ? train_tables : simulate_tables; *table; table++)
        for (const struct cb_option *row = *table; row->name; row++) {
            const json_t *value = row->help ? json_object_get(call->arguments, row->name) : NULL;
            if (value && !add_option(call, *table, row, value, words))
                return false;
        }
    return true;
}
