/* SPDX-License-Identifier: Apache-2.0 */
/* sof.c: writes a problem as a StochOptFormat 1.0 file, from which the reader makes the same problem. Each node has a
 * subproblem of its own.
 *
 *   - A noise term in a right-hand side is a term with the random variable; in a cost or an entry, a product with it.
 *   - Noise in the bound of a column is a row, because sets of StochOptFormat have no random bounds; the column keeps
 *     bounds that hold for all outcomes. A row with noise in one of two sides becomes two.
 *   - Bounds of incoming columns mean nothing here and are left out; so are rows without bounds and given value bounds.
 *   - There is no discount: an edge gets probability times discount, and the process ends with the missing probability. The
 *     optimum is the same. Outcomes of a noise model are written as they were drawn.
 *   - There are no risk measures: a node with one is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/draft.h"
#include "sddp/problem/problem.h"
#include "sddp/read/json_file.h"
#include "sddp/usual_floats.h"

/* A node on its way. Names of random variables are new where a column has the same. */
typedef struct {
    const cobre_sddp_problem *problem;
    const cb_node *node;
    json_t *row_names;   /* an object: its keys are taken */
    json_t *random_name; /* an array */
    json_t *constraints;
    bool failed; /* no memory */
} writer;

static void append(writer *w, json_t *array, json_t *item) {
    w->failed |= json_array_append_new(array, item) != 0;
}

static void set(writer *w, json_t *object, const char *key, json_t *value) {
    w->failed |= json_object_set_new(object, key, value) != 0;
}

/* A name that is no key of `taken`, and is one then: the one wanted, if need be longer. */
static json_t *new_name(writer *w, json_t *taken, const char *wanted, const char *more) {
    json_t *name = json_sprintf("%s%s", wanted, more);
    while (name && json_object_get(taken, json_string_value(name))) {
        json_t *longer = json_sprintf("%s_", json_string_value(name));
        json_decref(name);
        name = longer;
    }
    set(w, taken, name ? json_string_value(name) : "", json_true());
    return name;
}

static const char *random_name(const writer *w, size_t random) {
    return json_string_value(json_array_get(w->random_name, random));
}

/* A sum of terms and of products with random variables. */
typedef struct {
    json_t *terms, *products;
} function;

static function new_function(void) {
    return (function){.terms = json_array(), .products = json_array()};
}

static void free_function(function *f) {
    json_decref(f->terms);
    json_decref(f->products);
}

static function copy_function(const function *f) {
    return (function){.terms = json_copy(f->terms), .products = json_copy(f->products)};
}

static void add_term(writer *w, const function *f, const char *variable, double value) {
    append(w, f->terms, json_pack("{sssf}", "variable", variable, "coefficient", value));
}

static void add_product(writer *w, const function *f, size_t column, size_t random, double value) {
    append(w, f->products,
           json_pack("{sssssf}", "variable_1", cb_column_name(w->node, column), "variable_2", random_name(w, random),
                     "coefficient", value));
}

/* Takes the function over. */
static json_t *function_json(function *f, double constant) {
    if (json_array_size(f->products) > 0)
        return json_pack("{sssososf}", "type", "ScalarQuadraticFunction", "affine_terms", f->terms, "quadratic_terms",
                         f->products, "constant", constant);
    json_decref(f->products);
    return json_pack("{sssosf}", "type", "ScalarAffineFunction", "terms", f->terms, "constant", constant);
}

static json_t *set_json(double lower, double upper) {
    if (lower == upper)
        return json_pack("{sssf}", "type", "EqualTo", "value", lower);
    if (isinf(lower))
        return json_pack("{sssf}", "type", "LessThan", "upper", upper);
    if (isinf(upper))
        return json_pack("{sssf}", "type", "GreaterThan", "lower", lower);
    return json_pack("{sssfsf}", "type", "Interval", "lower", lower, "upper", upper);
}

/* Takes name and function over. name NULL: none. */
static void add_constraint(writer *w, json_t *name, json_t *of, double lower, double upper) {
    json_t *constraint = json_object();
    if (name)
        set(w, constraint, "name", name);
    set(w, constraint, "function", of);
    set(w, constraint, "set", set_json(lower, upper));
    append(w, w->constraints, constraint);
}

static bool has_noise(const cb_node *node, size_t index, cb_noise_target target) {
    for (size_t i = 0; i < node->noises; i++)
        if (node->noise[i].target == target && node->noise[i].index == index)
            return true;
    return false;
}

/* The noise of one side of a row or column stands on the left, so with the other sign. */
static void add_noise(writer *w, const function *f, size_t index, cb_noise_target side) {
    for (size_t i = 0; i < w->node->noises; i++) {
        const cb_noise *noise = &w->node->noise[i];
        bool both = noise->target == COBRE_SDDP_NOISE_ROW && side <= COBRE_SDDP_NOISE_ROW_UPPER;
        if (noise->index == index && (noise->target == side || both))
            add_term(w, f, random_name(w, noise->random), -noise->factor);
    }
}

/* The entries of all rows. */
static void add_entries(writer *w, const function *row) {
    const cb_node *node = w->node;
    for (size_t j = 0; j < node->columns; j++)
        for (int e = node->start[j]; e < node->start[j + 1]; e++)
            add_term(w, &row[node->index[e]], cb_column_name(node, j), node->value[e]);
    for (size_t i = 0; i < node->noises; i++)
        if (node->noise[i].target == COBRE_SDDP_NOISE_ENTRY)
            add_product(w, &row[node->noise[i].index], node->noise[i].column, node->noise[i].random,
                        node->noise[i].factor);
}

/* Takes the function of its entries over. */
static void add_row(writer *w, size_t i, function *f) {
    const cb_range *row = &w->node->row[i];
    bool lower = isfinite(row->lower), upper = isfinite(row->upper), apart = false;
    if (lower && upper)
        apart = has_noise(w->node, i, COBRE_SDDP_NOISE_ROW_LOWER) || has_noise(w->node, i, COBRE_SDDP_NOISE_ROW_UPPER);
    if (!lower && !upper) {
        free_function(f);
        return;
    }
    if (apart) {
        function below = copy_function(f);
        add_noise(w, &below, i, COBRE_SDDP_NOISE_ROW_LOWER);
        add_constraint(w, new_name(w, w->row_names, cb_row_name(w->node, i), "_lower"), function_json(&below, 0),
                       row->lower, INFINITY);
    }
    add_noise(w, f, i, lower && !apart ? COBRE_SDDP_NOISE_ROW_LOWER : COBRE_SDDP_NOISE_ROW_UPPER);
    add_constraint(w, json_string(cb_row_name(w->node, i)), function_json(f, 0), apart ? -INFINITY : row->lower,
                   row->upper);
}

static void add_rows(writer *w) {
    size_t rows = w->node->rows;
    function *row = malloc((rows + 1) * sizeof *row);
    w->failed |= !row;
    for (size_t i = 0; row && i < rows; i++) {
        row[i] = new_function();
        set(w, w->row_names, cb_row_name(w->node, i), json_true());
    }
    if (row)
        add_entries(w, row);
    for (size_t i = 0; row && i < rows; i++)
        add_row(w, i, &row[i]);
    free(row);
}

/* A bound with noise becomes a row. */
static void add_bound_row(writer *w, size_t column, cb_noise_target side) {
    const char *name = cb_column_name(w->node, column);
    bool lower = side == COBRE_SDDP_NOISE_COLUMN_LOWER;
    if (!has_noise(w->node, column, side))
        return;
    function f = new_function();
    add_term(w, &f, name, 1);
    add_noise(w, &f, column, side);
    add_constraint(w, new_name(w, w->row_names, name, lower ? "_lower" : "_upper"), function_json(&f, 0),
                   lower ? w->node->column[column].lower : -INFINITY, lower ? INFINITY : w->node->column[column].upper);
}

static void add_bounds(writer *w, size_t j) {
    cb_range range = cb_bounds_of(w->node, j);
    add_bound_row(w, j, COBRE_SDDP_NOISE_COLUMN_LOWER);
    add_bound_row(w, j, COBRE_SDDP_NOISE_COLUMN_UPPER);
    if (cb_incoming_state(w->node, j) != CB_NONE || (isinf(range.lower) && isinf(range.upper)))
        return;
    add_constraint(w, NULL, json_pack("{ssss}", "type", "Variable", "name", cb_column_name(w->node, j)), range.lower,
                   range.upper);
}

static json_t *objective_json(writer *w) {
    const cb_node *node = w->node;
    double sign = w->problem->maximise ? -1 : 1;
    function f = new_function();
    for (size_t j = 0; j < node->columns; j++)
        if (node->column[j].cost != 0)
            add_term(w, &f, cb_column_name(node, j), sign * node->column[j].cost);
    for (size_t i = 0; i < node->noises; i++) {
        const cb_noise *noise = &node->noise[i];
        if (noise->target == COBRE_SDDP_NOISE_COST)
            add_product(w, &f, noise->index, noise->random, sign * noise->factor);
        else if (noise->target == COBRE_SDDP_NOISE_CONSTANT)
            add_term(w, &f, random_name(w, noise->random), sign * noise->factor);
    }
    return json_pack("{ssso}", "sense", w->problem->maximise ? "max" : "min", "function",
                     function_json(&f, sign * node->constant));
}

static json_t *variables_json(writer *w) {
    json_t *list = json_array();
    for (size_t j = 0; j < w->node->columns; j++)
        append(w, list, json_pack("{ss}", "name", cb_column_name(w->node, j)));
    for (size_t i = 0; i < w->node->randoms; i++)
        append(w, list, json_pack("{ss}", "name", random_name(w, i)));
    return list;
}

static json_t *states_json(writer *w) {
    json_t *states = json_object();
    for (size_t s = 0; s < w->problem->states; s++)
        set(w, states, w->problem->state[s].name,
            json_pack("{ssss}", "in", cb_column_name(w->node, w->node->state_in[s]), "out",
                      cb_column_name(w->node, w->node->state_out[s])));
    return states;
}

static json_t *subproblem_json(writer *w) {
    json_t *objective = objective_json(w);
    add_rows(w);
    for (size_t j = 0; j < w->node->columns; j++)
        add_bounds(w, j);
    json_t *mof = json_pack("{s{sisi}sososO}", "version", "major", 1, "minor", 2, "variables", variables_json(w),
                            "objective", objective, "constraints", w->constraints);
    return json_pack("{sosOso}", "state_variables", states_json(w), "random_variables", w->random_name, "subproblem",
                     mof);
}

static json_t *support_json(writer *w, const double *values) {
    json_t *support = json_object();
    for (size_t i = 0; i < w->node->randoms; i++)
        set(w, support, random_name(w, i), json_real(values[i]));
    return support;
}

static json_t *edges_json(writer *w, const cb_edge *edge, size_t count) {
    json_t *edges = json_object();
    for (size_t e = 0; e < count; e++)
        set(w, edges, w->problem->node[edge[e].to].name, json_real(edge[e].probability * edge[e].discount));
    return edges;
}

static json_t *node_json(writer *w) {
    const cb_node *node = w->node;
    json_t *realizations = json_array();
    for (size_t k = 0; k < node->outcomes; k++)
        append(w, realizations,
               json_pack("{sfso}", "probability", node->probability[k], "support",
                         support_json(w, node->outcome + k * node->randoms)));
    return json_pack("{sssoso}", "subproblem", node->name, "realizations", realizations, "successors",
                     edges_json(w, node->edge, node->all_edges));
}

/* Names of random variables, which share those of the columns. */
static json_t *random_names(writer *w) {
    json_t *taken = json_object(), *names = json_array();
    for (size_t j = 0; j < w->node->columns; j++)
        set(w, taken, cb_column_name(w->node, j), json_true());
    for (size_t i = 0; i < w->node->randoms; i++)
        append(w, names, new_name(w, taken, cb_random_name(w->node, i), ""));
    json_decref(taken);
    return names;
}

static void open_node(writer *w, size_t node) {
    w->node = &w->problem->node[node];
    w->row_names = json_object();
    w->constraints = json_array();
    w->random_name = random_names(w);
}

static void close_node(writer *w) {
    json_decref(w->row_names);
    json_decref(w->constraints);
    json_decref(w->random_name);
}

/* A value, taken over. When the file fails, it remembers that itself. */
static void dump(writer *w, FILE *file, json_t *value, size_t flags) {
    w->failed |= !value || (json_dumpf(value, file, flags | JSON_ENCODE_ANY) != 0 && !ferror(file));
    json_decref(value);
}

static void dump_key(writer *w, FILE *file, bool first, const char *key) {
    fputs(first ? "\n" : ",\n", file);
    dump(w, file, json_string(key), 0);
    fputs(": ", file);
}

/* An object with a member for each node. */
static void dump_nodes(writer *w, FILE *file, const char *key, size_t flags, json_t *member(writer *)) {
    dump_key(w, file, false, key);
    fputc('{', file);
    for (size_t n = 0; n < w->problem->nodes; n++) {
        dump_key(w, file, n == 0, w->problem->node[n].name);
        open_node(w, n);
        dump(w, file, member(w), flags);
        close_node(w);
    }
    fputc('}', file);
}

static json_t *scenario_json(writer *w, size_t scenario) {
    json_t *steps = json_array();
    for (size_t k = 0; k < cb_scenario_steps(w->problem, scenario); k++) {
        open_node(w, cb_scenario_node(w->problem, scenario, k));
        append(w, steps,
               json_pack("{ssso}", "node", w->node->name, "support",
                         support_json(w, cb_scenario_values(w->problem, scenario, k))));
        close_node(w);
    }
    return steps;
}

static json_t *root_json(writer *w) {
    json_t *states = json_object();
    for (size_t s = 0; s < w->problem->states; s++)
        set(w, states, w->problem->state[s].name, json_real(w->problem->state[s].initial));
    return json_pack("{soso}", "state_variables", states, "successors",
                     edges_json(w, w->problem->root_edge, w->problem->all_root_edges));
}

static void dump_all(writer *w, FILE *file) {
    fputc('{', file);
    dump_key(w, file, true, "version");
    dump(w, file, json_pack("{sisi}", "major", 1, "minor", 0), 0);
    dump_key(w, file, false, "name");
    dump(w, file, json_string(w->problem->name), 0);
    dump_key(w, file, false, "root");
    dump(w, file, root_json(w), 0);
    dump_nodes(w, file, "nodes", 0, node_json);
    dump_nodes(w, file, "subproblems", JSON_INDENT(1), subproblem_json);
    dump_key(w, file, false, "validation_scenarios");
    fputc('[', file);
    for (size_t s = 0; s < w->problem->scenarios; s++) {
        fputs(s == 0 ? "\n" : ",\n", file);
        dump(w, file, scenario_json(w, s), 0);
    }
    fputs("]\n}\n", file);
}

static bool names_are_utf8(const cobre_sddp_problem *problem, const cb_node *node) {
    bool good = cb_is_utf8(node->name);
    for (size_t j = 0; j < node->columns; j++)
        good = good && cb_is_utf8(cb_column_name(node, j));
    for (size_t i = 0; i < node->rows; i++)
        good = good && cb_is_utf8(cb_row_name(node, i));
    for (size_t i = 0; i < node->randoms; i++)
        good = good && cb_is_utf8(cb_random_name(node, i));
    for (size_t s = 0; s < problem->states; s++)
        good = good && cb_is_utf8(problem->state[s].name);
    return good;
}

static cobre_status check(const cobre_sddp_problem *problem) {
    for (size_t n = 0; n < problem->nodes; n++) {
        if (problem->node[n].risk.beta < 1)
            return cb_refuse("problem", "leave it out here, and train with one (--cvar)",
                             "node %s has a risk measure, which StochOptFormat cannot express", problem->node[n].name);
        if (!cb_is_utf8(problem->name) || !names_are_utf8(problem, &problem->node[n]))
            return cb_refuse("problem", "write names in UTF-8", "node %s: a name in it is not UTF-8",
                             problem->node[n].name);
    }
    for (size_t n = 0; n < problem->nodes && problem->scenarios > 0; n++)
        if (problem->node[n].shown)
            return cb_refuse(
                "problem", "write the case without a table of scenarios",
                "node %s: its scenarios are inflows that a model makes, which StochOptFormat cannot express",
                problem->node[n].name);
    for (size_t e = 0; e < problem->root_edges; e++)
        if (problem->root_edge[e].discount < 1)
            return cb_refuse("problem", "discount what follows the first nodes",
                             "the edge from the root to node %s has a discount, which StochOptFormat cannot express",
                             problem->node[problem->root_edge[e].to].name);
    return COBRE_OK;
}

cobre_status cobre_sddp_problem_write(const cobre_sddp_problem *problem, const char *path) {
    CB_USUAL_FLOATS();
    if (!problem || !path)
        return cb_refuse_null(problem ? "path" : "problem");
    if (strlen(path) >= 3 && strcmp(path + strlen(path) - 3, ".gz") == 0)
        return cb_refuse("path", "leave .gz out, and compress the file with gzip",
                         "%s: compressed files are read, but not written", path);
    CB_TRY(check(problem));
    struct cb_draft draft;
    writer w = {.problem = problem};
    CB_TRY(cb_draft_open(&draft, path));
    dump_all(&w, draft.file);
    return cb_draft_close(&draft, w.failed ? cb_no_memory("the file of the problem", 0) : COBRE_OK);
}
