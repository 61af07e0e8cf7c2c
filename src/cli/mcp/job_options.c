/* SPDX-License-Identifier: Apache-2.0 */
/* job_options.c: the options of `cobre train` and `cobre simulate` as arguments of tools, and back to the words of a command line.
 *
 * Schemas are made of the tables of options: a new option of the planner is a new argument by itself. An option with one number
 * has that type; one with two values, or with a unit, is a text, as on the command line. */
#include "cli/mcp/jobs.h"
#include "cli/mcp/server.h"
#include "cli/mcp/study.h"
#include "sddp/run/option_tables.h"
#include "sddp/run/simulation.h"

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

static bool is_policy(const struct cb_option *row) {
    return strcmp(row->name, "resume") == 0 || strcmp(row->name, "warm-start") == 0;
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
        snprintf(text + length, sizeof text - length, "; a path, absolute or below a root%s",
                 is_policy(row) ? ", or the folder of the run that has it" : "");
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

/* The names of those that can be used. */
static void set_solvers(json_t *schema) {
    json_t *words = json_array();
    for (size_t i = 0; i < cobre_sddp_solvers(); i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        if (cobre_sddp_solver_at(i, &solver) == COBRE_OK && !solver.problem)
            cb_json_append(words, cb_json_text(solver.name));
    }
    if (json_array_size(words) > 0)
        cb_json_set(schema, "enum", json_incref(words));
    json_decref(words);
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
    set_solvers(json_object_get(properties, "solver"));
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

/* A file must be in an allowed folder, too. A policy can be named by the folder of its run. */
static bool settle_file(struct cb_mcp_call *call, const struct cb_option *row, char **text) {
    struct cb_place place;
    if (!is_file(row) && !names_table(row, *text))
        return true;
    bool found = is_policy(row) ? cb_study_policy_of(call, row->name, &place)
                                : cb_mcp_place(call, row->name, CB_PLACE_FILE, &place);
    if (!found)
        return false;
    free(*text);
    *text = strdup(place.path);
    cb_place_close(&place);
    return *text != NULL;
}

/* "a number above 0 and at most 1" */
static void describe(const struct cb_value *value, char text[128]) {
    size_t length = (size_t)snprintf(text, 128, "%s",
                                     value->kind == CB_VALUE_COUNT     ? "a whole number"
                                     : value->kind == CB_VALUE_REAL    ? "a number"
                                     : value->kind == CB_VALUE_SECONDS ? "a time such as 90s, 15m or 2h"
                                     : value->kind == CB_VALUE_EVERY ? "a number of iterations, or a time such as 5min"
                                                                     : "a text");
    bool number = value->kind == CB_VALUE_COUNT || value->kind == CB_VALUE_REAL;
    if (number && isfinite(value->least))
        length +=
            (size_t)snprintf(text + length, 128 - length, value->above ? " above %g" : " of at least %g", value->least);
    if (number && value->most != 0)
        snprintf(text + length, 128 - length, "%s at most %g", isfinite(value->least) ? " and" : " of", value->most);
}

/* "TAIL,MEAN: TAIL is a number above 0 and at most 1, MEAN is ..." */
static void describe_all(const struct cb_option *row, char text[512]) {
    char values[64], one[128];
    describe(&row->value[0], one);
    if (!row->value[1].kind) {
        snprintf(text, 512, "%s", one);
        return;
    }
    size_t length = (size_t)snprintf(text, 512, "%s: %s is %s", cb_option_values(row, values), row->value[0].name, one);
    describe(&row->value[1], one);
    snprintf(text + length, 512 - length, ", %s is %s", row->value[1].name, one);
}

/* most: a limit of the server; NULL: it is not about that. */
static bool refuse(struct cb_mcp_call *call, const struct cb_option *row, const char *text, const char *error,
                   const char *most) {
    char problem[CB_OPTION_ERROR + 64], allowed[1024];
    snprintf(problem, sizeof problem, "\"%s\" %s", row->name, error);
    describe_all(row, allowed);
    if (most)
        snprintf(allowed + strlen(allowed), sizeof allowed - strlen(allowed), ", at most %s", most);
    cb_mcp_mistake(call, &(struct cb_mcp_mistake){.field = row->name,
                                                  .received = text,
                                                  .problem = problem,
                                                  .allowed = allowed,
                                                  .next = "call the tool again with this argument corrected"});
    return false;
}

/* The name of a table that the first unknown one of the list was probably meant to be. */
static const char *nearest_table(const char *list) {
    json_t *names = json_object();
    const char *nearest = NULL;
    char word[64];
    for (size_t i = CB_TABLE_COSTS + 1; i < CB_TABLES; i++)
        cb_json_set(names, cb_table_name[i], json_true());
    for (; *list && !nearest; list += strcspn(list, ","), list += *list == ',') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(list, ","), list);
        nearest = json_object_get(names, word) ? NULL : cb_mcp_nearest(word, names);
    }
    for (size_t i = CB_TABLE_COSTS + 1; nearest && i < CB_TABLES; i++)
        if (strcmp(nearest, cb_table_name[i]) == 0) {
            nearest = cb_table_name[i];
            break;
        }
    json_decref(names);
    return nearest;
}

static bool check_tables(struct cb_mcp_call *call, const struct cb_option *row, const char *text) {
    cobre_sddp_simulate_options options = {
        .struct_size = sizeof options, .tables = text, .netcdf = cb_mcp_yes(call, "netcdf")};
    struct cb_tables tables;
    if (strcmp(row->name, "tables") != 0 || cb_tables_choose(&options, &tables) == COBRE_OK)
        return true;
    const cobre_error *error = cobre_last_error();
    cb_mcp_mistake(call,
                   &(struct cb_mcp_mistake){.field = row->name,
                                            .received = text,
                                            .problem = error->message,
                                            .allowed = "all, none, or some of stages,states,variables,duals,noise",
                                            .nearest = nearest_table(text),
                                            .next = error->suggestion});
    return false;
}

/* The limit of time of a job is also that of its rule. */
static bool check_time(struct cb_mcp_call *call, const struct cb_option *row, const char *text,
                       const union fields *fields) {
    double most = call->server->limits.seconds;
    char limit[32];
    if (strcmp(row->name, "time") != 0 || most <= 0 || fields->train.seconds <= most)
        return true;
    snprintf(limit, sizeof limit, "%gs", most);
    return refuse(call, row, text, "is more than this server allows (--max-time)", limit);
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
        good = refuse(call, row, text, error, NULL);
    good = good && check_time(call, row, text, &fields) && check_tables(call, row, text);
    if (good)
        cb_job_word(words, "--%s=%s", row->name, text);
    free(text);
    return good;
}

static bool has_rule(const struct cb_mcp_call *call) {
    for (const struct cb_option *row = cb_rule_rows; row->name; row++)
        if (strcmp(row->name, "stop") != 0 && strcmp(row->name, "window") != 0 &&
            json_object_get(call->arguments, row->name))
            return true;
    return false;
}

/* The server's limit of iterations as a rule of the training. Where all rules must hold it would not be one: then the job is stopped
 * when it has come so far. */
static void limit_iterations(const struct cb_mcp_call *call, struct cb_job_words *words) {
    enum { WITHOUT_RULES = 100 };
    uint64_t most = call->server->limits.iterations;
    const char *stop = cb_mcp_text(call, "stop");
    if (!most || (stop && strcmp(stop, "all") == 0))
        return;
    words->ruled = true;
    words->ruled_by_us = !json_object_get(call->arguments, "iterations") && (has_rule(call) || most < WITHOUT_RULES);
    if (words->ruled_by_us)
        cb_job_word(words, "--iterations=%llu", (unsigned long long)most);
}

bool cb_job_words(struct cb_mcp_call *call, struct cb_job_words *words) {
    bool train = strcmp(call->tool->name, "train") == 0;
    for (const struct cb_option *const *table = train ? train_tables : simulate_tables; *table; table++)
        for (const struct cb_option *row = *table; row->name; row++) {
            const json_t *value = row->help ? json_object_get(call->arguments, row->name) : NULL;
            if (value && !add_option(call, *table, row, value, words))
                return false;
        }
    if (train)
        limit_iterations(call, words);
    return true;
}
