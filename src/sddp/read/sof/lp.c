/* SPDX-License-Identifier: Apache-2.0 */
/* lp.c: a subproblem of StochOptFormat, which is MathOptFormat with states and random variables, as the LP of a node.
 *
 * It accepts variables; objectives and constraints that are a Variable, a ScalarAffineFunction, or a ScalarQuadraticFunction
 * whose products have exactly one random factor; sets LessThan, GreaterThan, EqualTo, Interval. Random variables are not
 * columns: a term c d of an objective is noise in its constant, of a constraint it is noise in the right-hand side; a
 * product c d x is noise in the cost, or in the coefficient, of x. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/read/sof/sof.h"

/* Names of one subproblem. A number k >= 0 is column k, a number k < 0 is random variable -1 - k. */
typedef struct {
    cobre_sddp_builder *builder;
    size_t node;
    json_t *name;
    json_t *row_name; /* those that the file gives */
} subproblem;

static bool is_random(json_int_t k) {
    return k < 0;
}

/* What the name in a member stands for; *k is set. */
static bool lookup(subproblem *lp, const cb_place *at, const json_t *object, const char *key, json_int_t *k) {
    const char *name = cb_sof_text(lp->builder, at, object, key);
    if (!name)
        return false;
    const json_t *found = json_object_get(lp->name, name);
    if (!found)
        cb_error_at(lp->builder, CB_MEMBER(at, key), "correct the name, or add it to \"variables\"",
                    "there is no variable \"%s\" in this subproblem", name);
    else
        *k = json_integer_value(found);
    return found != NULL;
}

/* Where the terms of a function go: to the objective, or to a row. */
typedef struct {
    size_t row; /* CB_NONE: the objective */
    double constant;
} target;

static void add_linear(subproblem *lp, const cb_place *at, const target *to, json_int_t k, double value) {
    cobre_sddp_builder *builder = lp->builder;
    if (is_random(k)) {
        cb_noise noise = {.target = to->row == CB_NONE ? COBRE_SDDP_NOISE_CONSTANT : COBRE_SDDP_NOISE_ROW,
                          .index = to->row,
                          .random = (size_t)(-1 - k),
                          .factor = to->row == CB_NONE ? value : -value};
        cb_add_noise(builder, at, lp->node, noise);
    } else if (to->row == CB_NONE) {
        cb_add_cost(builder, at, lp->node, (size_t)k, value);
    } else {
        cb_add_entry(builder, at, lp->node, to->row, (size_t)k, value);
    }
}

static void add_product(subproblem *lp, const cb_place *at, const target *to, json_int_t a, json_int_t b,
                        double value) {
    if (is_random(a) == is_random(b)) {
        cb_error_at(lp->builder, at, "one factor must be a random variable, and only one", "a product of two %s",
                    is_random(a) ? "random variables" : "decisions");
        return;
    }
    json_int_t random = is_random(a) ? a : b, column = is_random(a) ? b : a;
    cb_noise noise = {.target = to->row == CB_NONE ? COBRE_SDDP_NOISE_COST : COBRE_SDDP_NOISE_ENTRY,
                      .index = to->row == CB_NONE ? (size_t)column : to->row,
                      .column = (size_t)column,
                      .random = (size_t)(-1 - random),
                      .factor = value};
    cb_add_noise(lp->builder, at, lp->node, noise);
}

static void add_term(subproblem *lp, const cb_place *at, const target *to, const json_t *term, bool product) {
    static const char *const linear[] = {"coefficient", "variable", NULL}, *const quadratic[] = {"coefficient",
                                                                                                 "variable_1",
                                                                                                 "variable_2", NULL};
    json_int_t a, b;
    double value;
    cb_json_known(lp->builder, at, term, product ? quadratic : linear);
    bool good = cb_sof_number(lp->builder, at, term, "coefficient", &value);
    if (!lookup(lp, at, term, product ? "variable_1" : "variable", &a) ||
        (product && !lookup(lp, at, term, "variable_2", &b)))
        return;
    if (product && good)
        add_product(lp, at, to, a, b, value);
    else if (good)
        add_linear(lp, at, to, a, value);
}

static void add_terms(subproblem *lp, const cb_place *at, const target *to, const json_t *function, const char *key,
                      bool products) {
    size_t i;
    const json_t *term, *terms = cb_sof_member(lp->builder, at, function, key, JSON_ARRAY, true);
    const cb_place *list = CB_MEMBER(at, key);
    json_array_foreach(terms, i, term) add_term(lp, CB_ITEM(list, i), to, term, products);
}

/* The whole function; its constant goes to to->constant. */
static void add_function(subproblem *lp, const cb_place *at, target *to, const json_t *function) {
    const char *type = cb_sof_text(lp->builder, at, function, "type");
    json_int_t k;
    if (!type)
        return;
    bool affine = strcmp(type, "ScalarAffineFunction") == 0, quadratic = strcmp(type, "ScalarQuadraticFunction") == 0;
    if (strcmp(type, "Variable") == 0) {
        if (lookup(lp, at, function, "name", &k))
            add_linear(lp, at, to, k, 1);
    } else if (affine || quadratic) {
        add_terms(lp, at, to, function, affine ? "terms" : "affine_terms", false);
        if (quadratic)
            add_terms(lp, at, to, function, "quadratic_terms", true);
        if (!json_object_get(function, "constant") ||
            !cb_sof_number(lp->builder, at, function, "constant", &to->constant))
            to->constant = 0;
    } else {
        cb_error_at(
            lp->builder, at,
            "use Variable, ScalarAffineFunction, or ScalarQuadraticFunction with a random factor in each product",
            "function \"%s\" is not linear", type);
    }
}

/* Programs that have no infinity write it as 1e30. */
#define INFINITE 1e30

static bool read_set(cobre_sddp_builder *builder, const cb_place *at, const json_t *set, double *lower, double *upper) {
    const char *type = cb_sof_text(builder, at, set, "type");
    *lower = -INFINITY;
    *upper = INFINITY;
    if (!type)
        return false;
    bool interval = strcmp(type, "Interval") == 0, greater = strcmp(type, "GreaterThan") == 0,
         less = strcmp(type, "LessThan") == 0, good = true;
    if (strcmp(type, "EqualTo") == 0) {
        good = cb_sof_number(builder, at, set, "value", lower);
        *upper = *lower;
    } else if (interval || greater || less) {
        if (!less)
            good = cb_sof_number(builder, at, set, "lower", lower);
        if (!greater)
            good = cb_sof_number(builder, at, set, "upper", upper) && good;
        *lower = *lower <= -INFINITE ? -INFINITY : *lower;
        *upper = *upper >= INFINITE ? INFINITY : *upper;
    } else {
        bool integer = strcmp(type, "Integer") == 0 || strcmp(type, "ZeroOne") == 0;
        cb_error_at(builder, at,
                    integer ? "remove this constraint, and the variable may have any value"
                            : "use LessThan, GreaterThan, EqualTo or Interval",
                    integer ? "set \"%s\": cobre has no integer variables" : "set \"%s\" is not known", type);
        good = false;
    }
    return good;
}

/* A set on a variable alone narrows its bounds; any other function is a row. */
static void add_in_set(subproblem *lp, const cb_place *at, const json_t *function, const char *name, double lower,
                       double upper) {
    const char *type = json_string_value(json_object_get(function, "type"));
    json_int_t k;
    if (!type || strcmp(type, "Variable") != 0) {
        target to = {.row = cb_add_row(lp->builder, at, lp->node, name, lower, upper)};
        add_function(lp, at, &to, function);
        cb_shift_row(lp->builder, at, lp->node, to.row, -to.constant);
    } else if (lookup(lp, at, function, "name", &k)) {
        if (is_random(k))
            cb_error_at(lp->builder, at, "remove it", "a constraint on random variable \"%s\" alone",
                        json_string_value(json_object_get(function, "name")));
        else
            cb_narrow_column(lp->builder, at, lp->node, (size_t)k, lower, upper);
    }
}

/* MathOptFormat leaves names out, or empty; what a row without one is called must not be the name of another. */
static const char *row_name(const json_t *constraint) {
    const char *name = json_string_value(json_object_get(constraint, "name"));
    return name && *name ? name : NULL;
}

static void note_row_name(subproblem *lp, const json_t *constraint) {
    if (row_name(constraint))
        json_object_set_new(lp->row_name, row_name(constraint), json_true());
}

static void make_row_name(const subproblem *lp, char name[32]) {
    size_t number = lp->builder->node[lp->node].rows + 1;
    int length = snprintf(name, 32, "r%zu", number);
    while (json_object_get(lp->row_name, name) && length < 31)
        length += snprintf(name + length, 32 - (size_t)length, "_");
}

static void add_constraint(subproblem *lp, const cb_place *at, const json_t *constraint) {
    char made[32];
    double lower = 0, upper = 0;
    const json_t *function = cb_sof_member(lp->builder, at, constraint, "function", JSON_OBJECT, true);
    const json_t *set = cb_sof_member(lp->builder, at, constraint, "set", JSON_OBJECT, true);
    cb_sof_member(lp->builder, at, constraint, "name", JSON_STRING, false);
    make_row_name(lp, made);
    if (!set || !read_set(lp->builder, CB_MEMBER(at, "set"), set, &lower, &upper)) {
        lower = -INFINITY; /* the function may have errors, too */
        upper = INFINITY;
    }
    if (function)
        add_in_set(lp, CB_MEMBER(at, "function"), function, row_name(constraint) ? row_name(constraint) : made, lower,
                   upper);
}

static void add_objective(subproblem *lp, const cb_place *mof_at, const json_t *mof) {
    const json_t *objective = cb_sof_member(lp->builder, mof_at, mof, "objective", JSON_OBJECT, true);
    if (!objective)
        return;
    const cb_place *at = CB_MEMBER(mof_at, "objective");
    const char *sense = cb_sof_text(lp->builder, at, objective, "sense");
    bool none = sense && strcmp(sense, "feasibility") == 0;
    const json_t *function = cb_sof_member(lp->builder, at, objective, "function", JSON_OBJECT, !none);
    if (sense && !none && strcmp(sense, lp->builder->maximise ? "max" : "min") != 0)
        cb_error_at(lp->builder, CB_MEMBER(at, "sense"), "it must be min or max, and the same in all subproblems",
                    "\"%s\"", sense);
    if (function && !none) {
        target to = {.row = CB_NONE};
        const cb_place *here = CB_MEMBER(at, "function");
        add_function(lp, here, &to, function);
        cb_add_constant(lp->builder, here, lp->node, to.constant);
    }
}

/* What random variables leave are columns. */
static void add_variable(subproblem *lp, const cb_place *at, const json_t *item) {
    const char *name = cb_sof_text(lp->builder, at, item, "name");
    const json_t *known = name ? json_object_get(lp->name, name) : NULL;
    if (!name || (known && is_random(json_integer_value(known))))
        return;
    if (known) {
        cb_error_at(lp->builder, at, "keep one", "variable \"%s\" is there twice", name);
        return;
    }
    size_t column = cb_add_column(lp->builder, at, lp->node, name, -INFINITY, INFINITY, 0);
    json_object_set_new(lp->name, name, json_integer((json_int_t)column));
}

static void add_random(subproblem *lp, const cb_place *at, const json_t *item) {
    const char *name = json_string_value(item);
    if (!name) {
        cb_error_at(lp->builder, at, "write it in quotes", "this is not a name");
    } else if (json_object_get(lp->name, name)) {
        cb_error_at(lp->builder, at, "keep one", "random variable \"%s\" is there twice", name);
    } else {
        size_t random = cb_add_random(lp->builder, at, lp->node, name);
        json_object_set_new(lp->name, name, json_integer(-1 - (json_int_t)random));
    }
}

/* Does `add` for every item of the array in a member. */
static void each_item(subproblem *lp, const cb_place *at, const json_t *object, const char *key, bool needed,
                      void add(subproblem *, const cb_place *, const json_t *)) {
    size_t i;
    const json_t *item, *list = cb_sof_member(lp->builder, at, object, key, JSON_ARRAY, needed);
    const cb_place *here = CB_MEMBER(at, key);
    json_array_foreach(list, i, item) add(lp, CB_ITEM(here, i), item);
}

static void add_state(subproblem *lp, const cb_place *at, const char *name, const json_t *pair) {
    static const char *const keys[] = {"in", "out", NULL};
    json_int_t in, out;
    size_t state = cb_find_state(lp->builder, name);
    cb_json_known(lp->builder, at, pair, keys);
    bool has_in = lookup(lp, at, pair, "in", &in), has_out = lookup(lp, at, pair, "out", &out);
    if (state == CB_NONE)
        cb_error_at(lp->builder, at, "correct the name, or add it to the root", "the root has no state variable \"%s\"",
                    name);
    else if (has_in && has_out && (is_random(in) || is_random(out)))
        cb_error_at(lp->builder, at, "use a variable", "a random variable cannot be a state");
    else if (has_in && has_out)
        cb_set_state(lp->builder, at, lp->node, state, (size_t)in, (size_t)out);
}

static void add_states(subproblem *lp, const cb_place *at, const json_t *entry) {
    const char *name;
    json_t *pair;
    json_t *states = cb_sof_member(lp->builder, at, entry, "state_variables", JSON_OBJECT, true);
    const cb_place *here = CB_MEMBER(at, "state_variables");
    json_object_foreach(states, name, pair) add_state(lp, CB_MEMBER(here, name), name, pair);
    for (size_t s = 0; states && s < lp->builder->states; s++)
        if (!json_object_get(states, lp->builder->state[s].name))
            cb_error_at(lp->builder, here, "add it, with its \"in\" and \"out\"",
                        "state variable \"%s\" of the root is missing", lp->builder->state[s].name);
}

void cb_sof_subproblem(cobre_sddp_builder *builder, const cb_place *at, size_t node, const json_t *entry) {
    static const char *const keys[] = {"state_variables", "random_variables", "subproblem", NULL};
    subproblem lp = {.builder = builder, .node = node, .name = json_object(), .row_name = json_object()};
    builder->no_memory |= !lp.name || !lp.row_name;
    cb_json_known(builder, at, entry, keys);
    const json_t *mof = cb_sof_member(builder, at, entry, "subproblem", JSON_OBJECT, true);
    if (mof && lp.name && lp.row_name) {
        size_t i;
        const json_t *constraint;
        const cb_place *here = CB_MEMBER(at, "subproblem");
        json_array_foreach(json_object_get(mof, "constraints"), i, constraint) note_row_name(&lp, constraint);
        each_item(&lp, at, entry, "random_variables", false, add_random);
        each_item(&lp, here, mof, "variables", true, add_variable);
        add_states(&lp, at, entry);
        add_objective(&lp, here, mof);
        each_item(&lp, here, mof, "constraints", true, add_constraint);
    }
    json_decref(lp.name);
    json_decref(lp.row_name);
}
