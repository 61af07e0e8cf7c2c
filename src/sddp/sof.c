/* sof.c: reads StochOptFormat 1.0 (https://odow.github.io/StochOptFormat): the graph, the realizations, the scenarios;
 * sof_lp.c reads the subproblems. Errors have a JSON path; a syntax error has a line. */
#include "sof.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

void cb_sof_at(cb_sof *sof, const char *place, ...) {
    va_list arguments;
    va_start(arguments, place);
    vsnprintf(sof->place, sizeof sof->place, place, arguments);
    va_end(arguments);
    cb_problem_at(sof->problem, sof->file, 0, "%s", sof->place);
}

static const char *type_name(json_type type) {
    static const char *const names[] = {"an object", "an array",      "a string",      "a number",
                                        "a number",  "true or false", "true or false", "null"};
    return names[type];
}

json_t *cb_sof_member(cb_sof *sof, const json_t *object, const char *key, json_type type, bool needed) {
    json_t *member = json_object_get(object, key);
    if (member && json_typeof(member) == type)
        return member;
    if (member)
        cb_problem_error(sof->problem, "\"%s\" must be %s, not %s", key, type_name(type),
                         type_name(json_typeof(member)));
    else if (needed && json_is_object(object))
        cb_problem_error(sof->problem, "\"%s\" is missing (%s)", key, type_name(type));
    else if (needed)
        cb_problem_error(sof->problem, "this must be an object with \"%s\"", key);
    return NULL;
}

double cb_sof_number(cb_sof *sof, const json_t *object, const char *key, double otherwise) {
    const json_t *member = json_object_get(object, key);
    if (json_is_number(member))
        return json_number_value(member);
    if (member || isnan(otherwise))
        cb_problem_error(sof->problem, member ? "\"%s\" must be a number" : "\"%s\" is missing (a number)", key);
    return isnan(otherwise) ? 0 : otherwise;
}

void cb_sof_known(cb_sof *sof, const json_t *object, const char *const *keys) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            cb_problem_error(sof->problem, "\"%s\" is not known here", key);
    }
}

static void read_root(cb_sof *sof, const json_t *top) {
    static const char *const keys[] = {"state_variables", "successors", NULL};
    const char *name;
    json_t *value;
    cb_sof_at(sof, "%s", "");
    const json_t *root = cb_sof_member(sof, top, "root", JSON_OBJECT, true);
    if (!root)
        return;
    cb_sof_at(sof, "root");
    cb_sof_known(sof, root, keys);
    json_t *states = cb_sof_member(sof, root, "state_variables", JSON_OBJECT, true);
    json_object_foreach(states, name, value) {
        cb_sof_at(sof, "root.state_variables.%s", name);
        if (!json_is_number(value))
            cb_problem_error(sof->problem, "the initial state must be a number");
        cb_add_state(sof->problem, name, json_number_value(value));
    }
}

/* One value for each random variable of the node, from an object of names. */
static void read_support(cb_sof *sof, size_t node, const json_t *support, double *values) {
    const cb_node *its = &sof->problem->node[node];
    const char *name;
    json_t *value;
    for (size_t i = 0; i < its->randoms; i++) {
        const json_t *number = json_object_get(support, its->random_name[i]);
        if (!json_is_number(number))
            cb_problem_error(sof->problem, "the support needs a number for random variable \"%s\"",
                             its->random_name[i]);
        values[i] = json_number_value(number);
    }
    json_object_foreach((json_t *)(uintptr_t)support, name,
                        value) if (cb_find_random(sof->problem, node, name) == CB_NONE)
        cb_problem_error(sof->problem, "\"%s\" is not a random variable of node %s", name, its->name);
}

static void read_realizations(cb_sof *sof, size_t node, const json_t *list) {
    static const char *const keys[] = {"probability", "support", NULL};
    const char *name = sof->problem->node[node].name;
    double *values = malloc((sof->problem->node[node].randoms + 1) * sizeof *values);
    size_t k;
    json_t *one;
    json_array_foreach(list, k, one) {
        cb_sof_at(sof, "nodes.%s.realizations[%zu]", name, k);
        cb_sof_known(sof, one, keys);
        double probability = cb_sof_number(sof, one, "probability", NAN);
        const json_t *support = cb_sof_member(sof, one, "support", JSON_OBJECT, true);
        if (!values)
            continue;
        read_support(sof, node, support, values);
        cb_add_outcome(sof->problem, node, probability, values);
    }
    free(values);
}

/* used: names of subproblems that have been read before; their errors are known. */
static void read_node(cb_sof *sof, const json_t *top, const char *name, const json_t *value, json_t *used) {
    static const char *const keys[] = {"subproblem", "realizations", "successors", NULL};
    cb_sof_at(sof, "nodes.%s", name);
    size_t node = cb_add_node(sof->problem, name, 1);
    cb_sof_known(sof, value, keys);
    const json_t *subproblem = cb_sof_member(sof, value, "subproblem", JSON_STRING, true);
    if (!subproblem || node == CB_NONE)
        return;
    const char *which = json_string_value(subproblem);
    const json_t *entry = json_object_get(json_object_get(top, "subproblems"), which);
    if (!json_is_object(entry)) {
        cb_problem_error(sof->problem, "there is no subproblem \"%s\"", which);
        return;
    }
    size_t before = sof->problem->errors;
    void (*issue)(void *, const cobre_sddp_issue *) = sof->problem->issue;
    bool known = json_object_get(used, which) != NULL;
    if (known)
        sof->problem->issue = NULL;
    cb_sof_subproblem(sof, node, which, entry);
    sof->problem->issue = issue;
    if (known)
        sof->problem->errors = before;
    json_object_set_new(used, which, json_true());
    cb_sof_at(sof, "nodes.%s", name);
    read_realizations(sof, node, cb_sof_member(sof, value, "realizations", JSON_ARRAY, false));
}

static void read_edges(cb_sof *sof, size_t from, const json_t *successors, const char *place) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)successors, name, value) {
        cb_sof_at(sof, "%s.successors.%s", place, name);
        size_t to = cb_find_node(sof->problem, name);
        if (to == CB_NONE)
            cb_problem_error(sof->problem, "there is no node \"%s\"", name);
        else if (!json_is_number(value))
            cb_problem_error(sof->problem, "the probability must be a number");
        else
            cb_add_edge(sof->problem, from, to, json_number_value(value), 1);
    }
}

static void read_nodes(cb_sof *sof, const json_t *top) {
    const char *name;
    json_t *value, *used = json_object();
    cb_sof_at(sof, "%s", "");
    cb_sof_member(sof, top, "subproblems", JSON_OBJECT, true);
    json_t *nodes = cb_sof_member(sof, top, "nodes", JSON_OBJECT, true);
    json_object_foreach(nodes, name, value) read_node(sof, top, name, value, used);
    json_decref(used);
    size_t index = 0;
    json_object_foreach(nodes, name, value) {
        char place[300];
        snprintf(place, sizeof place, "nodes.%s", name);
        cb_sof_at(sof, "%s", place);
        read_edges(sof, index++, cb_sof_member(sof, value, "successors", JSON_OBJECT, false), place);
    }
    const json_t *root = json_object_get(top, "root");
    cb_sof_at(sof, "root");
    if (json_is_object(root))
        read_edges(sof, CB_ROOT, cb_sof_member(sof, root, "successors", JSON_OBJECT, true), "root");
}

/* The stage of a node is its distance from the root. */
static void number_stages(cobre_sddp_problem *problem) {
    for (size_t n = 0; n < problem->nodes; n++)
        problem->node[n].stage = SIZE_MAX;
    for (size_t e = 0; e < problem->root_edges; e++)
        problem->node[problem->root_edge[e].to].stage = 1;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t n = 0; n < problem->nodes; n++)
            for (size_t e = 0; problem->node[n].stage != SIZE_MAX && e < problem->node[n].edges; e++) {
                cb_node *to = &problem->node[problem->node[n].edge[e].to];
                if (to->stage == SIZE_MAX) {
                    to->stage = problem->node[n].stage + 1;
                    moved = true;
                }
            }
    }
}

static void read_step(cb_sof *sof, size_t scenario, const json_t *step) {
    static const char *const keys[] = {"node", "support", NULL};
    cb_sof_known(sof, step, keys);
    const json_t *name = cb_sof_member(sof, step, "node", JSON_STRING, true);
    size_t node = name ? cb_find_node(sof->problem, json_string_value(name)) : CB_NONE;
    if (node == CB_NONE) {
        if (name)
            cb_problem_error(sof->problem, "there is no node \"%s\"", json_string_value(name));
        return;
    }
    double *values = malloc((sof->problem->node[node].randoms + 1) * sizeof *values);
    if (values) {
        read_support(sof, node, cb_sof_member(sof, step, "support", JSON_OBJECT, sof->problem->node[node].randoms > 0),
                     values);
        cb_add_step(sof->problem, scenario, node, values);
    }
    free(values);
}

static void read_scenarios(cb_sof *sof, const json_t *top) {
    size_t i, k;
    json_t *scenario, *step;
    cb_sof_at(sof, "%s", "");
    json_t *all = cb_sof_member(sof, top, "validation_scenarios", JSON_ARRAY, false);
    json_array_foreach(all, i, scenario) {
        size_t index = cb_add_scenario(sof->problem);
        json_array_foreach(scenario, k, step) {
            cb_sof_at(sof, "validation_scenarios[%zu][%zu]", i, k);
            read_step(sof, index, step);
        }
    }
}

static void check_version(cb_sof *sof, const json_t *top) {
    static const char *const keys[] = {
        "version", "name", "author", "date", "description", "root", "nodes", "subproblems", "validation_scenarios",
        NULL};
    cb_sof_at(sof, "%s", "");
    cb_sof_known(sof, top, keys);
    const json_t *version = cb_sof_member(sof, top, "version", JSON_OBJECT, true);
    cb_sof_at(sof, "version");
    if (version && (cb_sof_number(sof, version, "major", NAN) != 1 || cb_sof_number(sof, version, "minor", NAN) != 0))
        cb_problem_error(sof->problem, "cobre reads StochOptFormat 1.0");
}

/* The sense of the first subproblem that has one. */
static bool maximises(const json_t *top) {
    const char *name;
    json_t *entry;
    json_object_foreach(json_object_get(top, "subproblems"), name, entry) {
        const json_t *objective = json_object_get(json_object_get(entry, "subproblem"), "objective");
        const char *sense = json_string_value(json_object_get(objective, "sense"));
        if (sense && (strcmp(sense, "min") == 0 || strcmp(sense, "max") == 0))
            return strcmp(sense, "max") == 0;
    }
    return false;
}

cobre_sddp_problem *cb_read_sof(const char *path, const cobre_sddp_load_options *options) {
    json_error_t error;
    json_t *top = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const char *name = json_string_value(json_object_get(top, "name"));
    cobre_sddp_problem *problem = cb_problem_new(name ? name : path, maximises(top));
    cb_sof sof = {.problem = problem, .file = path};
    if (problem && options)
        cb_problem_on_issue(problem, options->issue, options->issue_arg);
    if (problem && !json_is_object(top)) {
        cb_problem_at(problem, path, error.line > 0 ? (size_t)error.line : 0, "%s", "");
        cb_problem_error(problem, "%s", top ? "this is not an object" : error.text);
    } else if (problem) {
        check_version(&sof, top);
        read_root(&sof, top);
        read_nodes(&sof, top);
        read_scenarios(&sof, top);
        number_stages(problem);
    }
    json_decref(top);
    return problem;
}
