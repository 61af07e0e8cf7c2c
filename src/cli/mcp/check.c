/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: do the arguments of a call fit the schema of the tool? It knows the keywords of JSON schema that schema.c and
 * job_options.c write: type, properties, required, additionalProperties, items, maxItems, enum, minimum, maximum and
 * exclusiveMinimum. */
#include "cli/mcp/server.h"
#include "comm/parse.h"
#include "options/distance.h"
#include "sddp/run/numbers.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct check {
    struct cb_mcp_mistake *mistake;
    struct cb_mcp_room *room;
};

static const char *text_in(const json_t *schema, const char *key) {
    const char *text = json_string_value(json_object_get(schema, key));
    return text ? text : "";
}

static bool is_type(const json_t *schema, const char *type) {
    return strcmp(text_in(schema, "type"), type) == 0;
}

/* A value as a message shows it. */
static const char *show(const json_t *value, char text[256]) {
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    snprintf(text, 256, "%.200s%s", dump ? dump : "?", dump && strlen(dump) > 200 ? "..." : "");
    free(dump);
    return text;
}

static void list_words(char *text, size_t size, const json_t *words) {
    size_t i, length = 0;
    json_t *word;
    *text = 0;
    json_array_foreach(words, i, word) if (length < size) length +=
        (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", json_string_value(word));
}

/* "a whole number from 1 to 8" */
static void describe(const json_t *schema, char text[1024]) {
    const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum"),
                 *above = json_object_get(schema, "exclusiveMinimum"), *words = json_object_get(schema, "enum");
    const char *type = text_in(schema, "type");
    if (words) {
        list_words(text, 1024, words);
        return;
    }
    const char *what = strcmp(type, "integer") == 0   ? "a whole number"
                       : strcmp(type, "number") == 0  ? "a number"
                       : strcmp(type, "boolean") == 0 ? "true or false"
                       : strcmp(type, "object") == 0  ? "an object"
                       : strcmp(type, "array") == 0   ? "a list"
                                                      : "a text";
    size_t length = (size_t)snprintf(text, 1024, "%s", what);
    if (least && most)
        snprintf(text + length, 1024 - length, " from %.15g to %.15g", json_number_value(least),
                 json_number_value(most));
    else if (least)
        snprintf(text + length, 1024 - length, " of at least %.15g", json_number_value(least));
    else if (above && most)
        snprintf(text + length, 1024 - length, " above %.15g and at most %.15g", json_number_value(above),
                 json_number_value(most));
    else if (above)
        snprintf(text + length, 1024 - length, " above %.15g", json_number_value(above));
}

/* Of an argument that is not what it must be. */
static json_t *fail(struct check *check, const char *name, const json_t *value, const json_t *schema,
                    const char *problem) {
    struct cb_mcp_room *room = check->room;
    snprintf(room->field, sizeof room->field, "%.200s", name);
    snprintf(room->problem, sizeof room->problem, "\"%.100s\" %.300s", name, problem);
    describe(schema, room->allowed);
    *check->mistake = (struct cb_mcp_mistake){.field = room->field,
                                              .received = value ? show(value, room->received) : "nothing",
                                              .problem = room->problem,
                                              .allowed = room->allowed};
    return NULL;
}

const char *cb_mcp_typo(const char *word, const json_t *names) {
    const char *nearest = NULL, *name;
    json_t *value;
    json_object_foreach((json_t *)names, name, value) {
        if (cb_is_close(word, name) && (!nearest || cb_distance(word, name) < cb_distance(word, nearest)))
            nearest = name;
    }
    return nearest;
}

/* How many letters both begin with, whatever their case. */
static size_t common(const char *one, const char *other) {
    size_t count = 0;
    while (one[count] && tolower((unsigned char)one[count]) == tolower((unsigned char)other[count]))
        count++;
    return count;
}

/* Most for a name that has the word in it, less for one that is a part of the word; else the letters that both begin
 * with, if they are most of the word. */
static size_t likeness(const char *word, const char *name) {
    size_t length = strlen(word), same = common(word, name);
    if (length >= 3 && strcasestr(name, word))
        return 2000 + same;
    if (strlen(name) >= 4 && strcasestr(word, name))
        return 1000 + strlen(name);
    return same >= 4 && 2 * same > length ? same : 0;
}

const char *cb_mcp_nearest(const char *word, const json_t *names) {
    const char *nearest = cb_mcp_typo(word, names), *name;
    size_t most = 0;
    json_t *value;
    if (nearest)
        return nearest;
    json_object_foreach((json_t *)names, name, value) {
        size_t its = likeness(word, name);
        nearest = its > most ? name : nearest;
        most = its > most ? its : most;
    }
    return nearest;
}

/* No number is meant by another one: p50 is not what p10 should have been. */
static const char *nearest_word(const char *given, const json_t *words) {
    if (strpbrk(given, "0123456789"))
        return NULL;
    json_t *names = json_object(), *word;
    const char *nearest;
    size_t i;
    json_array_foreach(words, i, word) cb_json_set(names, json_string_value(word), json_true());
    nearest = cb_mcp_nearest(given, names);
    json_array_foreach(words, i, word) if (nearest && strcmp(nearest, json_string_value(word)) == 0) nearest =
        json_string_value(word);
    json_decref(names);
    return nearest;
}

/* A text that is a number becomes one. NULL: it is none. */
static json_t *number_of(const char *text, bool whole) {
    char *end;
    uint64_t count;
    double real = strtod(text, &end);
    if (whole && cb_parse_whole(text, &count))
        return count <= INT64_MAX ? json_integer((json_int_t)count) : json_string(text);
    if (end == text || *end || !isfinite(real) || (whole && (real != floor(real) || fabs(real) > 1e15)))
        return NULL;
    return whole ? json_integer((json_int_t)real) : json_real(real);
}

/* The value as the type wants it: a new reference. NULL: it cannot be that. */
static json_t *of_type(json_t *value, const json_t *schema) {
    const char *text = json_string_value(value);
    double real = json_number_value(value);
    char digits[32];
    if (is_type(schema, "string") && json_is_integer(value))
        return cb_json_text(
            (snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value)), digits));
    if (is_type(schema, "string") && json_is_number(value))
        return cb_json_text(cb_exact_text(real, digits));
    if (is_type(schema, "integer") && json_is_real(value) && real == floor(real) && fabs(real) < 1e15)
        return json_integer((json_int_t)real);
    if (text && (is_type(schema, "integer") || is_type(schema, "number")))
        return number_of(text, is_type(schema, "integer"));
    if (text && is_type(schema, "boolean") && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return json_boolean(*text == 't');
    bool good = is_type(schema, "string")    ? json_is_string(value)
                : is_type(schema, "integer") ? json_is_integer(value)
                : is_type(schema, "number")  ? json_is_number(value)
                : is_type(schema, "boolean") ? json_is_boolean(value)
                : is_type(schema, "object")  ? json_is_object(value)
                : is_type(schema, "array")   ? json_is_array(value)
                                             : true;
    return good ? json_incref(value) : NULL;
}

static bool is_in_range(const json_t *value, const json_t *schema) {
    const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum"),
                 *above = json_object_get(schema, "exclusiveMinimum");
    double number = json_number_value(value);
    return !json_is_number(value) ||
           ((!least || number >= json_number_value(least)) && (!most || number <= json_number_value(most)) &&
            (!above || number > json_number_value(above)));
}

static bool is_word(const json_t *value, const json_t *words) {
    size_t i;
    json_t *word;
    json_array_foreach(words, i, word) if (json_equal(word, value)) return true;
    return !words;
}

static json_t *check_value(struct check *check, const char *name, json_t *value, const json_t *schema);

static bool check_items(struct check *check, const char *name, json_t *list, const json_t *schema) {
    const json_t *items = json_object_get(schema, "items"), *most = json_object_get(schema, "maxItems");
    char at[256], problem[64];
    if (most && (json_int_t)json_array_size(list) > json_integer_value(most)) {
        snprintf(problem, sizeof problem, "has more than %d items", (int)json_integer_value(most));
        fail(check, name, list, schema, problem);
        return false;
    }
    for (size_t i = 0; items && i < json_array_size(list); i++) {
        snprintf(at, sizeof at, "%.200s[%zu]", name, i);
        json_t *item = check_value(check, at, json_array_get(list, i), items);
        if (!item || json_array_set_new(list, i, item) != 0)
            return false;
    }
    return true;
}

/* The name as the schema has it: '-' and '_' are the same. NULL: there is none. */
static const char *known_name(const char *name, const json_t *properties) {
    const char *known;
    json_t *value;
    json_object_foreach((json_t *)properties, known, value) {
        size_t i = 0;
        while (name[i] && (name[i] == known[i] || (strchr("-_", name[i]) && known[i] && strchr("-_", known[i]))))
            i++;
        if (!name[i] && !known[i])
            return known;
    }
    return NULL;
}

static bool unknown_name(struct check *check, const char *at, const char *name, const json_t *value,
                         const json_t *properties) {
    struct cb_mcp_room *room = check->room;
    const char *nearest = cb_mcp_nearest(name, properties), *known;
    size_t length = 0;
    json_t *schema;
    snprintf(room->field, sizeof room->field, "%.200s", at);
    snprintf(room->problem, sizeof room->problem, "there is no argument \"%.200s\"", name);
    room->allowed[0] = 0;
    json_object_foreach((json_t *)properties, known, schema) if (length < sizeof room->allowed) length +=
        (size_t)snprintf(room->allowed + length, sizeof room->allowed - length, "%s%s", length ? ", " : "", known);
    *check->mistake = (struct cb_mcp_mistake){.field = room->field,
                                              .received = show(value, room->received),
                                              .problem = room->problem,
                                              .allowed = length ? room->allowed : "no arguments",
                                              .nearest = nearest};
    return false;
}

static bool check_member(struct check *check, const char *before, const char *name, json_t *object,
                         const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties");
    json_t *value = json_object_get(object, name);
    const char *known = known_name(name, properties);
    char at[256];
    snprintf(at, sizeof at, "%.120s%s%.120s", before, *before ? "." : "", name);
    if (!known)
        return json_is_false(json_object_get(schema, "additionalProperties"))
                   ? unknown_name(check, at, name, value, properties)
                   : true;
    json_t *good =
        json_is_null(value) ? json_null() : check_value(check, at, value, json_object_get(properties, known));
    if (!good)
        return false;
    if (strcmp(known, name) != 0)
        json_object_del(object, name);
    if (json_is_null(good)) /* as if it were not given */
        json_object_del(object, known);
    else
        cb_json_set(object, known, good);
    return true;
}

static bool check_members(struct check *check, const char *before, json_t *object, const json_t *schema) {
    json_t *names = json_array(), *name, *value;
    const char *key;
    size_t i;
    bool good = true;
    json_object_foreach(object, key, value) cb_json_append(names, cb_json_text(key));
    json_array_foreach(names, i, name) if (good) good =
        check_member(check, before, json_string_value(name), object, schema);
    json_decref(names);
    json_array_foreach(json_object_get(schema, "required"), i, name) {
        const char *wanted = json_string_value(name);
        if (good && !json_object_get(object, wanted)) {
            char at[256];
            snprintf(at, sizeof at, "%.120s%s%.120s", before, *before ? "." : "", wanted);
            fail(check, at, NULL, json_object_get(json_object_get(schema, "properties"), wanted), "is missing");
            good = false;
        }
    }
    return good;
}

/* A new reference to the value, as it should be; NULL: there is a mistake. */
static json_t *check_value(struct check *check, const char *name, json_t *value, const json_t *schema) {
    const json_t *words = json_object_get(schema, "enum");
    json_t *good = of_type(value, schema);
    if (!good)
        return fail(check, name, value, schema,
                    is_type(schema, "integer") && fabs(json_real_value(value)) >= 1e15
                        ? "is too large to be exact: write it as a text"
                        : "is of the wrong type");
    bool right = is_in_range(good, schema);
    if (!right)
        fail(check, name, value, schema, "is out of range");
    if (right && !is_word(good, words)) {
        fail(check, name, value, schema, "is not one of the allowed words");
        check->mistake->nearest = json_is_string(good) ? nearest_word(json_string_value(good), words) : NULL;
        right = false;
    }
    if (right && json_is_object(good))
        right = check_members(check, name, good, schema);
    if (right && json_is_array(good))
        right = check_items(check, name, good, schema);
    if (right)
        return good;
    json_decref(good);
    return NULL;
}

bool cb_mcp_check(json_t *value, const json_t *schema, struct cb_mcp_mistake *mistake, struct cb_mcp_room *room) {
    struct check check = {.mistake = mistake, .room = room};
    return check_members(&check, "", value, schema);
}
