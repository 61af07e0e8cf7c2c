/* SPDX-License-Identifier: Apache-2.0 */
/* sof.c: reads StochOptFormat 1.0 (https://odow.github.io/StochOptFormat): the graph, the realizations, the scenarios;
 * lp.c reads the subproblems. Subproblems, nodes and scenarios are parsed one at a time, because a parsed text takes six
 * times its memory. They are parsed twice: before anything is built, all must be JSON, and the sense must be known. */
#include "sddp/read/sof/sof.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/read/reader.h"

static const char *type_name(json_type type) {
    static const char *const names[] = {"an object", "an array",      "a string",      "a number",
                                        "a number",  "true or false", "true or false", "null"};
    return names[type];
}

json_t *cb_sof_member(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *key,
                      json_type type, bool needed) {
    json_t *member = json_object_get(object, key);
    if (member && json_typeof(member) == type)
        return member;
    if (member)
        cb_error_at(builder, CB_MEMBER(at, key), CB_TEXT("it must be %s", type_name(type)), "this is %s",
                    type_name(json_typeof(member)));
    else if (needed && json_is_object(object))
        cb_error_at(builder, at, CB_TEXT("add it: %s", type_name(type)), "\"%s\" is missing", key);
    else if (needed)
        cb_error_at(builder, at, CB_TEXT("it must be an object with \"%s\"", key), "this is %s",
                    type_name(json_typeof(object)));
    return NULL;
}

const char *cb_sof_text(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *key) {
    return json_string_value(cb_sof_member(builder, at, object, key, JSON_STRING, true));
}

bool cb_sof_number(cobre_sddp_builder *builder, const cb_place *at, const json_t *object, const char *key,
                   double *value) {
    const json_t *member = cb_sof_member(builder, at, object, key, JSON_REAL, true); /* as all numbers are read */
    *value = member ? json_number_value(member) : NAN;
    return member != NULL;
}

static void read_root(cobre_sddp_builder *builder, const cb_place *at, const json_t *top) {
    static const char *const keys[] = {"name", "state_variables", "successors", NULL}; /* SDDP.jl gives it a name */
    const char *name;
    json_t *value;
    const json_t *root = cb_sof_member(builder, at, top, "root", JSON_OBJECT, true);
    if (!root)
        return;
    const cb_place *here = CB_MEMBER(at, "root"), *list = CB_MEMBER(here, "state_variables");
    cb_json_known(builder, here, root, keys);
    json_t *states = cb_sof_member(builder, here, root, "state_variables", JSON_OBJECT, true);
    json_object_foreach(states, name, value) {
        double initial = 0;
        cb_sof_number(builder, list, states, name, &initial);
        cb_add_state(builder, CB_MEMBER(list, name), name, isnan(initial) ? 0 : initial);
    }
}

/* One value for each random variable of the node, from member "support" of an object. */
static void read_support(cobre_sddp_builder *builder, const cb_place *at, size_t node, const json_t *object,
                         double *values) {
    const cb_builder_node *its = &builder->node[node];
    const char *name;
    json_t *value;
    json_t *support = cb_sof_member(builder, at, object, "support", JSON_OBJECT, its->randoms > 0);
    const cb_place *here = CB_MEMBER(at, "support");
    for (size_t i = 0; i < its->randoms; i++) {
        if (!support || !cb_sof_number(builder, here, support, its->random_name[i], &values[i]))
            values[i] = 0;
    }
    json_object_foreach(support, name, value) {
        if (cb_find_random(builder, node, name) == CB_NONE)
            cb_error_at(builder, CB_MEMBER(here, name),
                        "remove it, or add it to the \"random_variables\" of the subproblem",
                        "\"%s\" is not a random variable of node %s", name, its->name);
    }
}

static void read_realizations(cobre_sddp_builder *builder, const cb_place *at, size_t node, const json_t *list) {
    static const char *const keys[] = {"probability", "support", NULL};
    double *values = malloc((builder->node[node].randoms + 1) * sizeof *values);
    size_t k;
    json_t *one;
    json_array_foreach(list, k, one) {
        double probability;
        const cb_place *item = CB_ITEM(at, k);
        cb_json_known(builder, item, one, keys);
        cb_sof_number(builder, item, one, "probability", &probability);
        if (values && json_is_object(one)) {
            read_support(builder, item, node, one, values);
            cb_add_outcome(builder, item, node, probability, values);
        }
    }
    builder->no_memory |= !values;
    free(values);
}

/* Subproblems that have been read before: their errors have been told. One that other nodes need as well stays parsed. */
typedef struct {
    json_t *left;   /* by name: how many nodes still need it */
    json_t *parsed; /* by name: the entry, or true */
} subproblems;

static json_t *take_entry(cobre_sddp_builder *builder, const json_t *top, const char *name, const subproblems *known) {
    json_t *parsed = json_object_get(known->parsed, name);
    if (json_is_object(parsed))
        return json_incref(parsed);
    return cb_json_part(builder, json_object_get(json_object_get(top, "subproblems"), name));
}

static void keep_entry(cobre_sddp_builder *builder, const char *name, json_t *entry, const subproblems *known) {
    json_t *left = json_object_get(known->left, name);
    json_integer_set(left, json_integer_value(left) - 1);
    json_t *kept = json_integer_value(left) > 0 ? json_incref(entry) : json_true();
    builder->no_memory |= json_object_set_new(known->parsed, name, kept) < 0;
}

/* The LP of the node at `at`. */
static void read_subproblem(cobre_sddp_builder *builder, const cb_place *at, size_t node, const json_t *top,
                            const char *name, const subproblems *known) {
    json_t *entry = take_entry(builder, top, name, known);
    const cb_place file = {.file = at->file}, *all = CB_MEMBER(&file, "subproblems");
    builder->quiet = json_object_get(known->parsed, name) != NULL;
    if (json_is_object(entry))
        cb_sof_subproblem(builder, CB_MEMBER(all, name), node, entry);
    builder->quiet = false;
    if (json_is_object(entry))
        keep_entry(builder, name, entry, known);
    else if (!builder->no_memory)
        cb_error_at(builder, CB_MEMBER(at, "subproblem"), "correct the name, or add it to \"subproblems\"",
                    "there is no subproblem \"%s\"", name);
    json_decref(entry);
}

static void read_node(cobre_sddp_builder *builder, const cb_place *at, const json_t *top, const char *name,
                      const json_t *value, const subproblems *known) {
    static const char *const keys[] = {"subproblem", "realizations", "successors", NULL};
    size_t node = cb_add_node(builder, at, name, 0);
    cb_json_known(builder, at, value, keys);
    const char *subproblem = cb_sof_text(builder, at, value, "subproblem");
    if (node == CB_NONE)
        return;
    if (subproblem)
        read_subproblem(builder, at, node, top, subproblem, known);
    const json_t *realizations = cb_sof_member(builder, at, value, "realizations", JSON_ARRAY, false);
    if (subproblem) /* else its random variables are not known */
        read_realizations(builder, CB_MEMBER(at, "realizations"), node, realizations);
}

/* From member "successors" of an object. numbers: of the nodes, by name. */
static void read_edges(cobre_sddp_builder *builder, const cb_place *at, size_t node, const json_t *object,
                       const json_t *numbers, bool needed) {
    const char *name;
    json_t *value;
    json_t *successors = cb_sof_member(builder, at, object, "successors", JSON_OBJECT, needed);
    const cb_place *here = CB_MEMBER(at, "successors");
    json_object_foreach(successors, name, value) {
        double probability;
        bool good = cb_sof_number(builder, here, successors, name, &probability);
        const json_t *to = json_object_get(numbers, name);
        const cb_place *member = CB_MEMBER(here, name);
        if (!to)
            cb_error_at(builder, member, "correct the name, or add it to \"nodes\"", "there is no node \"%s\"", name);
        else
            cb_add_edge(builder, member, node, (size_t)json_integer_value(to), good ? probability : NAN, 1);
    }
}

/* left: by name, how many nodes need each subproblem. */
static void read_nodes(cobre_sddp_builder *builder, const cb_place *at, const json_t *top, json_t *left) {
    const char *name;
    json_t *value, *numbers = json_object();
    const subproblems known = {.left = left, .parsed = json_object()};
    cb_sof_member(builder, at, top, "subproblems", JSON_OBJECT, true);
    json_t *nodes = cb_sof_member(builder, at, top, "nodes", JSON_OBJECT, true);
    const cb_place *here = CB_MEMBER(at, "nodes");
    size_t index = 0;
    json_object_foreach(nodes, name, value) {
        if (json_object_set_new(numbers, name, json_integer((json_int_t)builder->nodes)) < 0)
            builder->no_memory = true;
        json_t *node = cb_json_part(builder, value);
        if (node)
            read_node(builder, CB_MEMBER(here, name), top, name, node, &known);
        json_object_del(node, "realizations"); /* the rest, of which edges are made, is small */
        json_object_iter_set_new(nodes, json_object_key_to_iter(name), node ? node : json_null());
    }
    json_decref(known.parsed);
    json_object_foreach(nodes, name, value) read_edges(builder, CB_MEMBER(here, name), index++, value, numbers, false);
    const json_t *root = json_object_get(top, "root");
    if (json_is_object(root))
        read_edges(builder, CB_MEMBER(at, "root"), CB_ROOT, root, numbers, true);
    json_decref(numbers);
}

/* An incoming state is fixed at what comes in, whatever the bounds of its column: so they are bounds of what may be left
 * at the nodes before, and of the initial state. */
static void bound_initial(cobre_sddp_builder *builder, const cb_place *at, const cb_edge *edge, size_t state) {
    const cb_builder_node *node = &builder->node[edge->to];
    const cb_builder_column *in = &node->column[node->state_in[state]];
    const cb_state *its = &builder->state[state];
    if (edge->probability > 0 && !(in->lower <= its->initial && its->initial <= in->upper))
        cb_error_at(builder, at, "change one of them", "state %s begins with %g, but node %s bounds %s to %g .. %g",
                    its->name, its->initial, node->name, in->name, in->lower, in->upper);
}

static void bound_left(cobre_sddp_builder *builder, size_t from, const cb_edge *edge, size_t state) {
    const cb_builder_node *node = &builder->node[edge->to];
    const cb_builder_column *in = &node->column[node->state_in[state]];
    if (edge->probability > 0)
        cb_narrow_column(builder, &builder->node[from].at, from, builder->node[from].state_out[state], in->lower,
                         in->upper);
}

static void bound_incoming(cobre_sddp_builder *builder, const cb_place *at) {
    for (size_t s = 0; s < builder->states; s++) {
        for (size_t e = 0; e < builder->root_edges; e++)
            bound_initial(builder, CB_MEMBER(at, "root"), &builder->root_edge[e], s);
        for (size_t n = 0; n < builder->nodes; n++)
            for (size_t e = 0; e < builder->node[n].edges; e++)
                bound_left(builder, n, &builder->node[n].edge[e], s);
    }
}

static void read_step(cobre_sddp_builder *builder, const cb_place *at, size_t scenario, const json_t *step) {
    static const char *const keys[] = {"node", "support", NULL};
    cb_json_known(builder, at, step, keys);
    const char *name = cb_sof_text(builder, at, step, "node");
    size_t node = name ? cb_find_node(builder, name) : CB_NONE;
    if (node == CB_NONE) {
        if (name)
            cb_error_at(builder, CB_MEMBER(at, "node"), "correct the name", "there is no node \"%s\"", name);
        return;
    }
    double *values = malloc((builder->node[node].randoms + 1) * sizeof *values);
    if (values) {
        read_support(builder, at, node, step, values);
        cb_add_step(builder, at, scenario, node, values);
    }
    builder->no_memory |= !values;
    free(values);
}

static void read_scenarios(cobre_sddp_builder *builder, const cb_place *at, const json_t *top) {
    size_t i, k;
    json_t *value, *step;
    json_t *all = cb_sof_member(builder, at, top, "validation_scenarios", JSON_ARRAY, false);
    const cb_place *here = CB_MEMBER(at, "validation_scenarios");
    json_array_foreach(all, i, value) {
        const cb_place *item = CB_ITEM(here, i);
        size_t index = cobre_sddp_add_scenario(builder);
        json_t *scenario = cb_json_part(builder, value);
        if (!scenario)
            return;
        if (!json_is_array(scenario) || json_array_size(scenario) == 0)
            cb_error_at(builder, item, "it must be an array of steps", "this is %s",
                        json_is_array(scenario) ? "empty" : type_name(json_typeof(scenario)));
        json_array_foreach(scenario, k, step) read_step(builder, CB_ITEM(item, k), index, step);
        json_decref(scenario);
    }
}

/* False: it is a file of another version, in which nothing stands where it should. */
static bool check_version(cobre_sddp_builder *builder, const cb_place *at, const json_t *top) {
    const json_t *version = cb_sof_member(builder, at, top, "version", JSON_OBJECT, true);
    const cb_place *here = CB_MEMBER(at, "version");
    double major, minor;
    if (!version || !cb_sof_number(builder, here, version, "major", &major) ||
        !cb_sof_number(builder, here, version, "minor", &minor) || (major == 1 && minor == 0))
        return true;
    cb_error_at(builder, here, "write the file in that version", "this is StochOptFormat %g.%g, and cobre reads 1.0",
                major, minor);
    return false;
}

/* What is known of the subproblems before any is read. */
typedef struct {
    bool has_sense, maximises; /* of the first subproblem that has one */
    const char *vector;        /* the first function of vectors; NULL: there is none */
    const char *name;          /* of its subproblem */
    size_t row;
    json_t *left; /* by name of a subproblem: how many nodes need it */
} survey;

static void find_vector(cobre_sddp_builder *builder, survey *known, const char *name, const json_t *mof) {
    size_t i;
    json_t *constraint;
    json_array_foreach(json_object_get(mof, "constraints"), i, constraint) {
        const char *type = json_string_value(json_object_get(json_object_get(constraint, "function"), "type"));
        if (type && strncmp(type, "Vector", 6) == 0 && !known->vector) {
            known->vector = cb_builder_keep(builder, type);
            known->name = name;
            known->row = i;
        }
    }
}

static void find_sense(survey *known, const json_t *mof) {
    const char *sense = json_string_value(json_object_get(json_object_get(mof, "objective"), "sense"));
    if (!sense || known->has_sense)
        return;
    known->maximises = strcmp(sense, "max") == 0;
    known->has_sense = known->maximises || strcmp(sense, "min") == 0;
}

/* false: it is not JSON, which is reported. */
static bool look_at_subproblem(cobre_sddp_builder *builder, survey *known, const char *name, json_t *value) {
    json_t *part = cb_json_part(builder, value);
    const json_t *mof = json_object_get(part, "subproblem");
    find_sense(known, mof);
    find_vector(builder, known, name, mof);
    json_decref(part);
    return part;
}

static bool look_at_node(cobre_sddp_builder *builder, survey *known, json_t *value) {
    json_t *part = cb_json_part(builder, value);
    const char *name = json_string_value(json_object_get(part, "subproblem"));
    if (name && !json_object_get(known->left, name))
        builder->no_memory |= json_object_set_new(known->left, name, json_integer(0)) < 0;
    json_t *left = json_object_get(known->left, name);
    json_integer_set(left, json_integer_value(left) + 1);
    json_decref(part);
    return part;
}

static bool look_at_scenario(cobre_sddp_builder *builder, json_t *value) {
    json_t *part = cb_json_part(builder, value);
    json_decref(part);
    return part;
}

/* Parses each part once. */
static bool look_through(cobre_sddp_builder *builder, const json_t *top, survey *known) {
    const char *name;
    json_t *value;
    size_t i;
    bool good = true;
    json_object_foreach(json_object_get(top, "subproblems"), name, value) {
        good = good && look_at_subproblem(builder, known, name, value);
    }
    json_object_foreach(json_object_get(top, "nodes"), name, value) {
        good = good && look_at_node(builder, known, value);
    }
    json_array_foreach(json_object_get(top, "validation_scenarios"), i, value) {
        good = good && look_at_scenario(builder, value);
    }
    return good;
}

/* Functions and sets of vectors, which solvers for cones write. The first is enough to say that they are not read. */
static bool check_vectors(cobre_sddp_builder *builder, const cb_place *at, const survey *known) {
    if (!known->vector)
        return true;
    const cb_place *list = CB_MEMBER(at, "subproblems");
    const cb_place *rows = CB_MEMBER(CB_MEMBER(CB_MEMBER(list, known->name), "subproblem"), "constraints");
    cb_error_at(builder, CB_ITEM(rows, known->row), "write each row as a constraint of its own, with a scalar function",
                "\"%s\": cobre reads no functions of vectors, and the file has at least this one", known->vector);
    return false;
}

static void read_all(cobre_sddp_builder *builder, const cb_place *at, const json_t *top, json_t *left,
                     const cobre_sddp_load_options *options) {
    static const char *const keys[] = {
        "version", "name", "author", "date", "description", "root", "nodes", "subproblems", "validation_scenarios",
        NULL};
    cb_json_known(builder, at, top, keys);
    cb_sof_member(builder, at, top, "name", JSON_STRING, false);
    read_root(builder, at, top);
    read_nodes(builder, at, top, left);
    if (builder->errors == 0 && !builder->no_memory)
        bound_incoming(builder, at);
    read_scenarios(builder, at, top);
    if (options && options->scenarios)
        cb_read_scenarios(builder, options->scenarios, false);
}

cobre_sddp_builder *cb_read_sof(const char *path, const cobre_sddp_load_options *options) {
    cobre_sddp_builder *builder;
    if (cobre_sddp_builder_new(path, false, &builder))
        return NULL;
    static const char *const sections[] = {"subproblems", "nodes", "validation_scenarios", NULL};
    survey known = {.left = json_object()};
    json_t *top = cb_json_load_parts(builder, path, sections);
    builder->no_memory |= !known.left;
    if (!top || !known.left || !look_through(builder, top, &known)) {
        json_decref(known.left);
        json_decref(top);
        return builder;
    }
    const char *name = json_string_value(json_object_get(top, "name"));
    if (name && *name)
        cb_builder_rename(builder, name);
    builder->maximise = known.maximises;
    const cb_place at = {.file = path};
    cb_builder_place(builder, CB_MEMBER(&at, "root"));
    if (check_version(builder, &at, top) && check_vectors(builder, &at, &known))
        read_all(builder, &at, top, known.left, options);
    json_decref(known.left);
    json_decref(top);
    return builder;
}
