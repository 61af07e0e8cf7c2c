/* sof.c: reads StochOptFormat 1.0 (https://odow.github.io/StochOptFormat): the graph, the realizations, the scenarios;
 * lp.c reads the subproblems. */
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

json_t *cb_sof_member(cobre_sddp_problem *problem, const json_t *object, const char *key, json_type type, bool needed) {
    json_t *member = json_object_get(object, key);
    if (member && json_typeof(member) == type)
        return member;
    if (member) {
        size_t from = cb_json_down(problem, key);
        cb_problem_error(problem, "this is %s -- it must be %s", type_name(json_typeof(member)), type_name(type));
        cb_json_up(problem, from);
    } else if (needed && json_is_object(object)) {
        cb_problem_error(problem, "\"%s\" is missing -- add it: %s", key, type_name(type));
    } else if (needed) {
        cb_problem_error(problem, "this is %s -- it must be an object with \"%s\"", type_name(json_typeof(object)),
                         key);
    }
    return NULL;
}

const char *cb_sof_text(cobre_sddp_problem *problem, const json_t *object, const char *key) {
    return json_string_value(cb_sof_member(problem, object, key, JSON_STRING, true));
}

bool cb_sof_number(cobre_sddp_problem *problem, const json_t *object, const char *key, double *value) {
    const json_t *member = cb_sof_member(problem, object, key, JSON_REAL, true); /* as all numbers are read */
    *value = member ? json_number_value(member) : NAN;
    return member != NULL;
}

void cb_sof_known(cobre_sddp_problem *problem, const json_t *object, const char *const *keys) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        char all[256] = "";
        size_t i = 0;
        for (; keys[i] && strcmp(keys[i], key) != 0; i++)
            snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", keys[i]);
        if (keys[i])
            continue;
        size_t from = cb_json_down(problem, key);
        cb_problem_error(problem, "\"%s\" is not known here -- remove it, or correct it to one of: %s", key, all);
        cb_json_up(problem, from);
    }
}

static void read_root(cobre_sddp_problem *problem, const json_t *top) {
    static const char *const keys[] = {"state_variables", "successors", NULL};
    const char *name;
    json_t *value;
    const json_t *root = cb_sof_member(problem, top, "root", JSON_OBJECT, true);
    if (!root)
        return;
    cb_json_down(problem, "root");
    cb_sof_known(problem, root, keys);
    json_t *states = cb_sof_member(problem, root, "state_variables", JSON_OBJECT, true);
    cb_json_down(problem, "state_variables");
    json_object_foreach(states, name, value) {
        double initial = 0;
        cb_sof_number(problem, states, name, &initial);
        size_t from = cb_json_down(problem, name);
        cb_add_state(problem, name, isnan(initial) ? 0 : initial);
        cb_json_up(problem, from);
    }
    cb_json_up(problem, 0);
}

/* One value for each random variable of the node, from member "support" of an object. */
static void read_support(cobre_sddp_problem *problem, size_t node, const json_t *object, double *values) {
    const cb_node *its = &problem->node[node];
    const char *name;
    json_t *value;
    json_t *support = cb_sof_member(problem, object, "support", JSON_OBJECT, its->randoms > 0);
    size_t from = cb_json_down(problem, "support");
    for (size_t i = 0; i < its->randoms; i++) {
        if (!support || !cb_sof_number(problem, support, its->random_name[i], &values[i]))
            values[i] = 0;
    }
    json_object_foreach(support, name, value) {
        if (cb_find_random(problem, node, name) != CB_NONE)
            continue;
        size_t member = cb_json_down(problem, name);
        cb_problem_error(problem,
                         "\"%s\" is not a random variable of node %s -- remove it, or add it to the "
                         "\"random_variables\" of the subproblem",
                         name, its->name);
        cb_json_up(problem, member);
    }
    cb_json_up(problem, from);
}

static void read_realizations(cobre_sddp_problem *problem, size_t node, const json_t *list) {
    static const char *const keys[] = {"probability", "support", NULL};
    double *values = malloc((problem->node[node].randoms + 1) * sizeof *values);
    size_t k, from = cb_json_down(problem, "realizations");
    json_t *one;
    json_array_foreach(list, k, one) {
        double probability;
        size_t item = cb_json_down_item(problem, k);
        cb_sof_known(problem, one, keys);
        cb_sof_number(problem, one, "probability", &probability);
        if (values && json_is_object(one)) {
            read_support(problem, node, one, values);
            cb_add_outcome(problem, node, probability, values);
        }
        cb_json_up(problem, item);
    }
    cb_json_up(problem, from);
    problem->no_memory |= !values;
    free(values);
}

/* The LP of a node. used: names of subproblems that have been read before; their errors are known. */
static void read_subproblem(cobre_sddp_problem *problem, size_t node, const json_t *top, const char *name,
                            json_t *used) {
    char place[sizeof problem->at_place];
    memcpy(place, problem->at_place, sizeof place);
    const json_t *entry = json_object_get(json_object_get(top, "subproblems"), name);
    if (!json_is_object(entry)) {
        cb_json_down(problem, "subproblem");
        cb_problem_error(problem, "there is no subproblem \"%s\" -- correct the name, or add it to \"subproblems\"",
                         name);
    } else {
        size_t before = problem->errors;
        void (*issue)(void *, const cobre_sddp_issue *) = problem->issue;
        bool known = json_object_get(used, name) != NULL;
        if (known)
            problem->issue = NULL;
        cb_json_up(problem, 0);
        cb_json_down(problem, "subproblems");
        cb_json_down(problem, name);
        cb_sof_subproblem(problem, node, entry);
        problem->issue = issue;
        if (known)
            problem->errors = before;
        json_object_set_new(used, name, json_true());
    }
    memcpy(problem->at_place, place, sizeof place);
}

static void read_node(cobre_sddp_problem *problem, const json_t *top, const char *name, const json_t *value,
                      json_t *used) {
    static const char *const keys[] = {"subproblem", "realizations", "successors", NULL};
    size_t node = cb_add_node(problem, name, 0);
    cb_sof_known(problem, value, keys);
    const char *subproblem = cb_sof_text(problem, value, "subproblem");
    if (node == CB_NONE)
        return;
    if (subproblem)
        read_subproblem(problem, node, top, subproblem, used);
    const json_t *realizations = cb_sof_member(problem, value, "realizations", JSON_ARRAY, false);
    if (subproblem) /* else its random variables are not known */
        read_realizations(problem, node, realizations);
}

/* From member "successors" of an object. numbers: of the nodes, by name. */
static void read_edges(cobre_sddp_problem *problem, size_t node, const json_t *object, const json_t *numbers,
                       bool needed) {
    const char *name;
    json_t *value;
    json_t *successors = cb_sof_member(problem, object, "successors", JSON_OBJECT, needed);
    size_t from = cb_json_down(problem, "successors");
    json_object_foreach(successors, name, value) {
        double probability;
        bool good = cb_sof_number(problem, successors, name, &probability);
        const json_t *to = json_object_get(numbers, name);
        size_t member = cb_json_down(problem, name);
        if (!to)
            cb_problem_error(problem, "there is no node \"%s\" -- correct the name, or add it to \"nodes\"", name);
        else
            cb_add_edge(problem, node, (size_t)json_integer_value(to), good ? probability : NAN, 1);
        cb_json_up(problem, member);
    }
    cb_json_up(problem, from);
}

static void read_nodes(cobre_sddp_problem *problem, const json_t *top) {
    const char *name;
    json_t *value, *used = json_object(), *numbers = json_object();
    cb_sof_member(problem, top, "subproblems", JSON_OBJECT, true);
    json_t *nodes = cb_sof_member(problem, top, "nodes", JSON_OBJECT, true);
    size_t from = cb_json_down(problem, "nodes"), index = 0;
    json_object_foreach(nodes, name, value) {
        size_t member = cb_json_down(problem, name);
        if (json_object_set_new(numbers, name, json_integer((json_int_t)problem->nodes)) < 0)
            problem->no_memory = true;
        read_node(problem, top, name, value, used);
        cb_json_up(problem, member);
    }
    json_decref(used);
    json_object_foreach(nodes, name, value) {
        size_t member = cb_json_down(problem, name);
        read_edges(problem, index++, value, numbers, false);
        cb_json_up(problem, member);
    }
    cb_json_up(problem, from);
    const json_t *root = json_object_get(top, "root");
    from = cb_json_down(problem, "root");
    if (json_is_object(root))
        read_edges(problem, CB_ROOT, root, numbers, true);
    cb_json_up(problem, from);
    json_decref(numbers);
}

/* An incoming state is fixed at what comes in, whatever the bounds of its column: so they are bounds of what may be left
 * at the nodes before, and of the initial state. */
static void bound_initial(cobre_sddp_problem *problem, const cb_edge *edge, size_t state) {
    const cb_node *node = &problem->node[edge->to];
    const cb_column *in = &node->column[node->state_in[state]];
    const cb_state *its = &problem->state[state];
    if (edge->probability > 0 && !(in->lower <= its->initial && its->initial <= in->upper))
        cb_problem_error(problem, "state %s begins with %g, but node %s bounds %s to %g .. %g -- change one of them",
                         its->name, its->initial, node->name, in->name, in->lower, in->upper);
}

static void bound_left(cobre_sddp_problem *problem, size_t from, const cb_edge *edge, size_t state) {
    const cb_node *node = &problem->node[edge->to];
    const cb_column *in = &node->column[node->state_in[state]];
    if (edge->probability > 0)
        cb_narrow_column(problem, from, problem->node[from].state_out[state], in->lower, in->upper);
}

static void bound_incoming(cobre_sddp_problem *problem) {
    for (size_t s = 0; s < problem->states; s++) {
        cb_problem_at(problem, problem->at_file, 0, "/root");
        for (size_t e = 0; e < problem->root_edges; e++)
            bound_initial(problem, &problem->root_edge[e], s);
        for (size_t n = 0; n < problem->nodes; n++) {
            cb_problem_at_node(problem, &problem->node[n]);
            for (size_t e = 0; e < problem->node[n].edges; e++)
                bound_left(problem, n, &problem->node[n].edge[e], s);
        }
    }
}

static void read_step(cobre_sddp_problem *problem, size_t scenario, const json_t *step) {
    static const char *const keys[] = {"node", "support", NULL};
    cb_sof_known(problem, step, keys);
    const char *name = cb_sof_text(problem, step, "node");
    size_t node = name ? cb_find_node(problem, name) : CB_NONE;
    if (node == CB_NONE) {
        size_t from = cb_json_down(problem, "node");
        if (name)
            cb_problem_error(problem, "there is no node \"%s\" -- correct the name", name);
        cb_json_up(problem, from);
        return;
    }
    double *values = malloc((problem->node[node].randoms + 1) * sizeof *values);
    if (values) {
        read_support(problem, node, step, values);
        cb_add_step(problem, scenario, node, values);
    }
    problem->no_memory |= !values;
    free(values);
}

static void read_scenarios(cobre_sddp_problem *problem, const json_t *top) {
    size_t i, k;
    json_t *scenario, *step;
    json_t *all = cb_sof_member(problem, top, "validation_scenarios", JSON_ARRAY, false);
    size_t from = cb_json_down(problem, "validation_scenarios");
    json_array_foreach(all, i, scenario) {
        size_t item = cb_json_down_item(problem, i), index = cb_add_scenario(problem);
        if (!json_is_array(scenario) || json_array_size(scenario) == 0)
            cb_problem_error(problem, "this is %s -- it must be an array of steps",
                             json_is_array(scenario) ? "empty" : type_name(json_typeof(scenario)));
        json_array_foreach(scenario, k, step) {
            size_t at = cb_json_down_item(problem, k);
            read_step(problem, index, step);
            cb_json_up(problem, at);
        }
        cb_json_up(problem, item);
    }
    cb_json_up(problem, from);
}

static void check_version(cobre_sddp_problem *problem, const json_t *top) {
    static const char *const keys[] = {
        "version", "name", "author", "date", "description", "root", "nodes", "subproblems", "validation_scenarios",
        NULL};
    cb_sof_known(problem, top, keys);
    cb_sof_member(problem, top, "name", JSON_STRING, false);
    const json_t *version = cb_sof_member(problem, top, "version", JSON_OBJECT, true);
    size_t from = cb_json_down(problem, "version");
    double major, minor;
    if (version && cb_sof_number(problem, version, "major", &major) &&
        cb_sof_number(problem, version, "minor", &minor) && (major != 1 || minor != 0))
        cb_problem_error(problem, "this is StochOptFormat %g.%g, and cobre reads 1.0 -- write the file in that version",
                         major, minor);
    cb_json_up(problem, from);
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
    cobre_sddp_problem *problem = cb_problem_new(path, false);
    if (!problem)
        return NULL;
    if (options)
        cb_problem_on_issue(problem, options->issue, options->issue_arg);
    json_t *top = cb_json_load(problem, path);
    if (!top)
        return problem;
    const char *name = json_string_value(json_object_get(top, "name"));
    if (name && *name)
        cb_problem_rename(problem, name);
    problem->maximise = maximises(top);
    cb_problem_at(problem, path, 0, "%s", "");
    check_version(problem, top);
    read_root(problem, top);
    read_nodes(problem, top);
    if (problem->errors == 0 && !problem->no_memory)
        bound_incoming(problem);
    cb_problem_at(problem, path, 0, "%s", "");
    read_scenarios(problem, top);
    if (options && options->scenarios)
        cb_read_scenarios(problem, options->scenarios, false);
    cb_problem_at(problem, path, 0, "/root"); /* what concerns the whole is reported there */
    json_decref(top);
    return problem;
}
