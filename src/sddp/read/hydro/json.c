/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: case.json. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"
#include "sddp/read/json_file.h"

/* An object of case.json and where it is. */
typedef struct {
    cb_hydro_case *c;
    json_t *json;
    const cb_place *at;
} section;

/* The member, if it is there and of the right kind; `required` ones are reported when they are not there. */
static json_t *member(const section *s, const char *key, bool right(const json_t *), const char *kind, bool required) {
    json_t *value = json_object_get(s->json, key);
    if (value && !right(value)) {
        cb_error_at(s->c->builder, CB_MEMBER(s->at, key), "see docs/case-format.md", "is not %s", kind);
        s->c->unsure = true;
        return NULL;
    }
    if (!value && required && !cb_json_misspelt(s->json, key)) {
        cb_error_at(s->c->builder, CB_MEMBER(s->at, key), CB_TEXT("add it: %s", kind), "\"%s\" is missing", key);
    }
    return value;
}

static bool is_number(const json_t *value) {
    return json_is_number(value);
}

static bool is_text(const json_t *value) {
    return json_is_string(value);
}

static bool is_list(const json_t *value) {
    return json_is_array(value);
}

static bool is_object(const json_t *value) {
    return json_is_object(value);
}

static bool is_text_or_object(const json_t *value) {
    return json_is_string(value) || json_is_object(value);
}

/* In [low, high]; a fallback of NaN means that it must be given. */
static double number(const section *s, const char *key, double fallback, double low, double high, const char *unit) {
    json_t *value = member(s, key, is_number, unit, isnan(fallback));
    if (!value)
        return fallback;
    double found = json_number_value(value);
    if (found >= low && found <= high)
        return found;
    cb_error_at(s->c->builder, CB_MEMBER(s->at, key), CB_TEXT("give %s", unit), "%g is out of range", found);
    return fallback;
}

static size_t whole(const section *s, const char *key, double fallback, double low, double high, const char *unit) {
    double value = number(s, key, fallback, low, high, unit);
    if (isnan(value) || floor(value) == value)
        return isnan(value) ? 0 : (size_t)value;
    cb_error_at(s->c->builder, CB_MEMBER(s->at, key), CB_TEXT("give %s", unit), "%g is not a whole number", value);
    return 0;
}

/* Which of the words (ended by NULL) the text is; the first is the default. */
static size_t word(const section *s, const char *key, const char *const *words) {
    json_t *value = member(s, key, is_text, "a word in quotes", false);
    if (!value)
        return 0;
    char known[128] = "";
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(json_string_value(value), words[i]) == 0)
            return i;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s\"%s\"", i ? ", " : "", words[i]);
    }
    cb_error_at(s->c->builder, CB_MEMBER(s->at, key), CB_TEXT("use one of %s", known), "\"%s\" is not allowed here",
                json_string_value(value));
    s->c->unsure = true;
    return 0;
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The member at `at`, if it is an object; else its json is NULL. */
static section inside(const section *s, const cb_place *at, const char *const *known) {
    section inner = {.c = s->c, .at = at, .json = member(s, at->json->key, is_object, "an object", false)};
    if (inner.json)
        s->c->unsure |= !cb_json_known(s->c->builder, at, inner.json, known);
    return inner;
}

static void add_subsystem(cb_hydro_case *c, const cb_place *at, const json_t *value, bool transshipment) {
    const char *name = json_string_value(value);
    if (!name) {
        cb_error_at(c->builder, at, NULL, "is not a name in quotes");
    } else if (cb_hydro_find(cb_hydro_node_names(c), name) != CB_NONE) {
        cb_error_at(c->builder, at, "keep one", "\"%s\" is there twice", name);
    } else if (cb_hydro_good_name(c, at, name)) {
        c->subsystem[c->subsystems++] =
            (cb_hydro_subsystem){.name = cb_hydro_text(c, "%s", name), .transshipment = transshipment};
    }
}

static void read_subsystems(const section *s, const char *key, bool transshipment) {
    json_t *list = member(s, key, is_list, "a list of names", !transshipment), *value;
    size_t index;
    json_array_foreach(list, index, value) {
        if (s->c->subsystem)
            add_subsystem(s->c, CB_ITEM(CB_MEMBER(s->at, key), index), value, transshipment);
    }
    if (list && !transshipment && json_array_size(list) == 0) {
        cb_error_at(s->c->builder, CB_MEMBER(s->at, key), "name at least one", "there are no subsystems");
    }
}

static void read_time(const section *s) {
    static const char *const units[] = {"hour", "month", NULL};
    cb_hydro_case *c = s->c;
    c->stages = whole(s, "stages", NAN, 1, 1e5, "the number of stages, from 1 to 100000");
    c->months = word(s, "time_unit", units) == 1;
    c->duration = number(s, "duration", c->months ? 1 : 730, 1e-3, c->months ? 120 : 87600,
                         c->months ? "the months of a stage, at most 120" : "the hours of a stage, at most 87600");
    c->seasons = whole(s, "seasons", 0, 1, 1e4, "the number of seasons in a cycle, from 1 to 10000");
    c->first_season = whole(s, "first_season", 1, 1, c->seasons ? (double)c->seasons : 1,
                            c->seasons ? "a season" : "no first season in a case without \"seasons\"");
    c->discount =
        number(s, "discount", 1, 1e-9, 1, "a factor above 0, at most 1, by which costs shrink from stage to stage");
    c->annual_rate = number(s, "annual_rate", 0, 0, 1, "a share, like 0.12 for 12 % a year");
    if (json_object_get(s->json, "annual_rate") && json_object_get(s->json, "discount")) {
        cb_error_at(c->builder, CB_MEMBER(s->at, "annual_rate"), "keep one",
                    "there are a \"discount\" and an \"annual_rate\"");
    }
}

/* What is only for tables and reports. */
static void read_labels(const section *s) {
    cb_hydro_case *c = s->c;
    json_t *start = member(s, "start", is_text, "a date in quotes, like \"2027-03\"", false);
    json_t *currency = member(s, "currency", is_text, "a text", false);
    c->start = cb_hydro_text(c, "%s", start ? json_string_value(start) : "");
    c->currency = cb_hydro_text(c, "%s", currency ? json_string_value(currency) : "$");
    if (start && !cb_hydro_is_date(c->start)) {
        cb_error_at(c->builder, CB_MEMBER(s->at, "start"), "write it like \"2027-03\" or \"2027-03-15\"",
                    "\"%s\" is no date", c->start);
    }
    if (strlen(c->currency) > 16 || strpbrk(c->currency, ",\"\t\n\r")) {
        cb_error_at(c->builder, CB_MEMBER(s->at, "currency"), "use a short one, like \"R$\"",
                    "is longer than 16 bytes, or has a comma or a quote in it");
    }
}

static void read_risk_and_cycle(const section *s) {
    cb_hydro_case *c = s->c;
    c->beta = c->alpha = 1;
    section risk = inside(s, CB_MEMBER(s->at, "risk"), KEYS("beta", "alpha"));
    if (risk.json) {
        c->beta = number(&risk, "beta", NAN, 0, 1, "the weight of the expectation, from 0 to 1");
        c->alpha = number(&risk, "alpha", NAN, 1e-9, 1, "the share of worst outcomes, above 0, at most 1");
    }
    section cycle = inside(s, CB_MEMBER(s->at, "cycle"), KEYS("to", "probability"));
    if (cycle.json) {
        c->has_cycle = true;
        c->cycle_to = whole(&cycle, "to", 1, 1, c->stages ? (double)c->stages : 1e5, "a stage to go back to");
        c->cycle_probability =
            number(&cycle, "probability", NAN, 1e-9, 0.9999, "the probability to go on, above 0 and at most 0.9999");
    }
}

/* A path in case.json begins in its folder. */
static const char *path_of(cb_hydro_case *c, const char *file) {
    return *file == '/' ? cb_hydro_text(c, "%s", file) : cb_hydro_text(c, "%s/%s", c->folder, file);
}

static void read_terminal_object(const section *s) {
    cb_hydro_case *c = s->c;
    cb_json_known(c->builder, s->at, s->json, KEYS("file", "node", "stage"));
    json_t *file = member(s, "file", is_text, "the path of a policy file, or of a table (.csv)", true);
    json_t *node = member(s, "node", is_text, "the name of a node", false);
    if (file)
        c->terminal.file = path_of(c, json_string_value(file));
    if (node)
        c->terminal.node = cb_hydro_text(c, "%s", json_string_value(node));
    c->terminal.stage = whole(s, "stage", 0, 1, 1e5, "a stage of the other case");
    if (node && json_object_get(s->json, "stage")) {
        cb_error_at(c->builder, CB_MEMBER(s->at, "stage"), "keep one", "there are a \"node\" and a \"stage\"");
    }
}

static void read_terminal(const section *s) {
    cb_hydro_case *c = s->c;
    json_t *terminal = member(s, "terminal", is_text_or_object, "a path, or an object with one", false);
    if (json_is_object(terminal)) {
        read_terminal_object(&(section){.c = c, .json = terminal, .at = CB_MEMBER(s->at, "terminal")});
    } else if (terminal) {
        c->terminal.file = path_of(c, json_string_value(terminal));
    }
    if (terminal && json_object_get(s->json, "cycle")) {
        cb_error_at(c->builder, CB_MEMBER(s->at, "terminal"), "keep one",
                    "there are a \"terminal\" and a \"cycle\": two things come after the last stage");
    }
}

static void read_years(const section *s) {
    cb_hydro_case *c = s->c;
    json_t *years = member(s, "years", is_list, "a list of two years", false);
    c->first_year = -INFINITY;
    c->last_year = INFINITY;
    if (!years)
        return;
    json_t *first = json_array_get(years, 0), *last = json_array_get(years, 1);
    c->first_year = json_number_value(first);
    c->last_year = json_number_value(last);
    if (json_array_size(years) != 2 || !json_is_number(first) || !json_is_number(last) ||
        c->first_year > c->last_year) {
        cb_error_at(c->builder, CB_MEMBER(s->at, "years"), "write it like [1931, 2012]",
                    "is not a first and a last year");
    }
}

static void read_inflow(const section *s) {
    static const char *const sources[] = {"table", "history", "par", NULL}, *const noises[] = {"normal", "lognormal",
                                                                                               NULL};
    cb_hydro_case *c = s->c;
    section inner =
        inside(s, CB_MEMBER(s->at, "inflow"), KEYS("source", "openings", "seed", "noise", "years", "lack_cost"));
    c->openings = 20;
    c->lack_cost = -1;
    if (!inner.json)
        return;
    c->source = (cb_hydro_source)word(&inner, "source", sources);
    c->openings = whole(&inner, "openings", 20, 1, 1e6, "the number of outcomes to draw for each stage");
    c->seed = whole(&inner, "seed", 0, 0, 9007199254740992.0, "a whole number from 0 to 2^53");
    c->lognormal = word(&inner, "noise", noises) == 1;
    c->lack_cost =
        number(&inner, "lack_cost", -1, 0, CB_MOST, "the cost of a unit of water that is not there, from 0 on");
    read_years(&inner);
    static const char *const only[] = {"openings", "seed", "noise", "years"};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (json_object_get(inner.json, only[i]) && c->source != (i < 3 ? CB_HYDRO_PAR : CB_HYDRO_HISTORY)) {
            cb_error_at(c->builder, CB_MEMBER(inner.at, only[i]), "remove it, or change the source",
                        "goes with the source \"%s\" only", i < 3 ? "par" : "history");
        }
}

static void read_case(const section *s) {
    static const char *const units[] = {"water", "energy", NULL};
    cb_hydro_case *c = s->c;
    c->unsure |= !cb_json_known(c->builder, s->at, s->json,
                                KEYS("name", "units", "time_unit", "stages", "duration", "seasons", "first_season",
                                     "subsystems", "transshipment", "discount", "annual_rate", "cost_scale", "risk",
                                     "cycle", "terminal", "inflow", "value_bound", "start", "currency", "$schema"));
    json_t *name = member(s, "name", is_text, "a text", false);
    c->name = cb_hydro_text(c, "%s", name ? json_string_value(name) : "");
    c->water = word(s, "units", units) == 0;
    read_time(s);
    if (c->months && c->water) {
        cb_error_at(c->builder, CB_MEMBER(s->at, "time_unit"), "write \"hour\", or \"units\": \"energy\"",
                    "months go with energy units only: m3/s and hm3 need hours");
    }
    c->subsystem = cb_hydro_array(c,
                                  json_array_size(json_object_get(s->json, "subsystems")) +
                                      json_array_size(json_object_get(s->json, "transshipment")),
                                  sizeof *c->subsystem);
    read_subsystems(s, "subsystems", false);
    read_subsystems(s, "transshipment", true);
    c->cost_scale = number(s, "cost_scale", 1, 1e-12, 1e12, "a factor above 0 for all costs");
    c->has_value_bound = json_object_get(s->json, "value_bound");
    c->value_bound = number(s, "value_bound", 0, -CB_MOST, CB_MOST, "a bound of all future cost");
    read_labels(s);
    read_risk_and_cycle(s);
    read_inflow(s);
}

void cb_hydro_read_json(cb_hydro_case *c) {
    section top = {.c = c, .json = cb_json_load(c->builder, c->json_path), .at = &(cb_place){.file = c->json_path}};
    if (top.json) {
        read_terminal(&top); /* its file may be in the folder */
        cb_hydro_check_files(c);
        read_case(&top);
    }
    json_decref(top.json);
}
