/* sof_lp.c: a subproblem of StochOptFormat, which is MathOptFormat with states and random variables, as the LP of a node.
 *
 * Taken: variables; objectives and constraints that are a Variable, a ScalarAffineFunction, or a ScalarQuadraticFunction
 * whose products have exactly one random factor; sets LessThan, GreaterThan, EqualTo, Interval. Random variables are not
 * columns: a term c d of an objective is noise in its constant, of a constraint it is noise in the right-hand side; a
 * product c d x is noise in the cost, or in the coefficient, of x. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sof.h"

/* Names of one subproblem. A number k >= 0 is column k, a number k < 0 is random variable -1 - k. */
typedef struct {
    cb_sof *sof;
    size_t node;
    json_t *name;
    char base[256]; /* place of the MathOptFormat object */
} subproblem;

static bool is_random(json_int_t k) {
    return k < 0;
}

/* What a name stands for; *k is set. Place: where the name was used. */
static bool lookup(subproblem *lp, const json_t *object, const char *key, json_int_t *k) {
    const json_t *name = cb_sof_member(lp->sof, object, key, JSON_STRING, true);
    if (!name)
        return false;
    const json_t *found = json_object_get(lp->name, json_string_value(name));
    if (!found)
        cb_problem_error(lp->sof->problem, "there is no variable \"%s\" in this subproblem", json_string_value(name));
    else
        *k = json_integer_value(found);
    return found != NULL;
}

/* Where the terms of a function go: to the objective, or to a row. */
typedef struct {
    size_t row; /* CB_NONE: the objective */
    double constant;
} target;

static void add_linear(subproblem *lp, const target *to, json_int_t k, double value) {
    cobre_sddp_problem *problem = lp->sof->problem;
    if (is_random(k)) {
        cb_noise noise = {.target = to->row == CB_NONE ? CB_NOISE_CONSTANT : CB_NOISE_ROW,
                          .index = to->row,
                          .random = (size_t)(-1 - k),
                          .factor = to->row == CB_NONE ? value : -value};
        cb_add_noise(problem, lp->node, noise);
    } else if (to->row == CB_NONE) {
        cb_add_cost(problem, lp->node, (size_t)k, value);
    } else {
        cb_add_entry(problem, lp->node, to->row, (size_t)k, value);
    }
}

static void add_product(subproblem *lp, const target *to, json_int_t a, json_int_t b, double value) {
    if (is_random(a) == is_random(b)) {
        cb_problem_error(lp->sof->problem, "a product of two %s: one factor must be a random variable, and only one",
                         is_random(a) ? "random variables" : "decisions");
        return;
    }
    json_int_t random = is_random(a) ? a : b, column = is_random(a) ? b : a;
    cb_noise noise = {.target = to->row == CB_NONE ? CB_NOISE_COST : CB_NOISE_ENTRY,
                      .index = to->row == CB_NONE ? (size_t)column : to->row,
                      .column = (size_t)column,
                      .random = (size_t)(-1 - random),
                      .factor = value};
    cb_add_noise(lp->sof->problem, lp->node, noise);
}

static void add_terms(subproblem *lp, const target *to, const json_t *function, const char *key, const char *place) {
    size_t i;
    const json_t *term, *terms = cb_sof_member(lp->sof, function, key, JSON_ARRAY, true);
    json_array_foreach(terms, i, term) {
        json_int_t k;
        cb_sof_at(lp->sof, "%s.%s[%zu]", place, key, i);
        double value = cb_sof_number(lp->sof, term, "coefficient", NAN);
        if (lookup(lp, term, "variable", &k))
            add_linear(lp, to, k, value);
    }
    cb_sof_at(lp->sof, "%s", place);
}

static void add_products(subproblem *lp, const target *to, const json_t *function, const char *place) {
    size_t i;
    const json_t *term, *terms = cb_sof_member(lp->sof, function, "quadratic_terms", JSON_ARRAY, true);
    json_array_foreach(terms, i, term) {
        json_int_t a, b;
        cb_sof_at(lp->sof, "%s.quadratic_terms[%zu]", place, i);
        double value = cb_sof_number(lp->sof, term, "coefficient", NAN);
        if (lookup(lp, term, "variable_1", &a) && lookup(lp, term, "variable_2", &b))
            add_product(lp, to, a, b, value);
    }
    cb_sof_at(lp->sof, "%s", place);
}

/* The whole function; its constant goes to to->constant. */
static void add_function(subproblem *lp, target *to, const json_t *function, const char *place) {
    cb_sof_at(lp->sof, "%s", place);
    const json_t *type = cb_sof_member(lp->sof, function, "type", JSON_STRING, true);
    const char *name = type ? json_string_value(type) : "";
    json_int_t k;
    if (strcmp(name, "Variable") == 0) {
        if (lookup(lp, function, "name", &k))
            add_linear(lp, to, k, 1);
    } else if (strcmp(name, "ScalarAffineFunction") == 0) {
        add_terms(lp, to, function, "terms", place);
        to->constant = cb_sof_number(lp->sof, function, "constant", 0);
    } else if (strcmp(name, "ScalarQuadraticFunction") == 0) {
        add_terms(lp, to, function, "affine_terms", place);
        add_products(lp, to, function, place);
        to->constant = cb_sof_number(lp->sof, function, "constant", 0);
    } else if (type) {
        cb_problem_error(lp->sof->problem,
                         "function \"%s\" is not linear: cobre takes Variable, ScalarAffineFunction, and "
                         "ScalarQuadraticFunction with a random factor in each product",
                         name);
    }
}

static bool read_set(cb_sof *sof, const json_t *set, double *lower, double *upper) {
    const json_t *type = cb_sof_member(sof, set, "type", JSON_STRING, true);
    const char *name = type ? json_string_value(type) : "";
    *lower = -INFINITY;
    *upper = INFINITY;
    if (strcmp(name, "GreaterThan") == 0 || strcmp(name, "Interval") == 0)
        *lower = cb_sof_number(sof, set, "lower", NAN);
    if (strcmp(name, "LessThan") == 0 || strcmp(name, "Interval") == 0)
        *upper = cb_sof_number(sof, set, "upper", NAN);
    if (strcmp(name, "EqualTo") == 0)
        *lower = *upper = cb_sof_number(sof, set, "value", NAN);
    if (type && isinf(*lower) && isinf(*upper)) {
        bool integer = strcmp(name, "Integer") == 0 || strcmp(name, "ZeroOne") == 0;
        cb_problem_error(sof->problem,
                         integer ? "set \"%s\": integer variables are not supported"
                                 : "set \"%s\" is not supported: cobre takes LessThan, GreaterThan, EqualTo, Interval",
                         name);
        return false;
    }
    return type != NULL;
}

static void add_constraint(subproblem *lp, const json_t *constraint, size_t index) {
    cb_sof *sof = lp->sof;
    char place[400];
    double lower, upper;
    json_int_t k;
    snprintf(place, sizeof place, "%s.constraints[%zu]", lp->base, index);
    cb_sof_at(sof, "%s", place);
    const json_t *function = cb_sof_member(sof, constraint, "function", JSON_OBJECT, true);
    const json_t *set = cb_sof_member(sof, constraint, "set", JSON_OBJECT, true);
    const json_t *name = cb_sof_member(sof, constraint, "name", JSON_STRING, false);
    if (!function || !set)
        return;
    cb_sof_at(sof, "%s.set", place);
    if (!read_set(sof, set, &lower, &upper))
        return;
    snprintf(place, sizeof place, "%s.constraints[%zu].function", lp->base, index);
    cb_sof_at(sof, "%s", place);
    const json_t *type = json_object_get(function, "type");
    if (json_is_string(type) && strcmp(json_string_value(type), "Variable") == 0) {
        if (!lookup(lp, function, "name", &k))
            return;
        if (is_random(k))
            cb_problem_error(sof->problem, "a constraint on the random variable \"%s\" alone",
                             json_string_value(json_object_get(function, "name")));
        else
            cb_narrow_column(sof->problem, lp->node, (size_t)k, lower, upper);
        return;
    }
    target to = {.row = cb_add_row(sof->problem, lp->node, name ? json_string_value(name) : NULL, lower, upper)};
    add_function(lp, &to, function, place);
    cb_shift_row(sof->problem, lp->node, to.row, -to.constant);
}

static void add_objective(subproblem *lp, const json_t *mof) {
    char place[300];
    const json_t *objective = cb_sof_member(lp->sof, mof, "objective", JSON_OBJECT, true);
    if (!objective)
        return;
    snprintf(place, sizeof place, "%s.objective", lp->base);
    cb_sof_at(lp->sof, "%s", place);
    const json_t *sense = cb_sof_member(lp->sof, objective, "sense", JSON_STRING, true);
    const char *word = sense ? json_string_value(sense) : "";
    if (strcmp(word, "feasibility") == 0 || !sense)
        return;
    if (strcmp(word, lp->sof->problem->maximise ? "max" : "min") != 0)
        cb_problem_error(lp->sof->problem, "sense is \"%s\": it must be min or max, and the same in all subproblems",
                         word);
    const json_t *function = cb_sof_member(lp->sof, objective, "function", JSON_OBJECT, true);
    if (!function)
        return;
    target to = {.row = CB_NONE};
    snprintf(place, sizeof place, "%s.objective.function", lp->base);
    add_function(lp, &to, function, place);
    cb_add_constant(lp->sof->problem, lp->node, to.constant);
}

/* Random variables first: what they leave are columns. */
static void add_variables(subproblem *lp, const json_t *entry, const json_t *mof, const char *name) {
    size_t i;
    const json_t *item, *randoms = cb_sof_member(lp->sof, entry, "random_variables", JSON_ARRAY, false);
    json_array_foreach(randoms, i, item) {
        cb_sof_at(lp->sof, "subproblems.%s.random_variables[%zu]", name, i);
        if (!json_is_string(item)) {
            cb_problem_error(lp->sof->problem, "the name of a random variable must be a string");
            continue;
        }
        size_t random = cb_add_random(lp->sof->problem, lp->node, json_string_value(item));
        json_object_set_new(lp->name, json_string_value(item), json_integer(-1 - (json_int_t)random));
    }
    cb_sof_at(lp->sof, "%s", lp->base);
    const json_t *variables = cb_sof_member(lp->sof, mof, "variables", JSON_ARRAY, true);
    json_array_foreach(variables, i, item) {
        cb_sof_at(lp->sof, "%s.variables[%zu]", lp->base, i);
        const json_t *text = cb_sof_member(lp->sof, item, "name", JSON_STRING, true);
        if (!text)
            continue;
        const json_t *known = json_object_get(lp->name, json_string_value(text));
        if (known && is_random(json_integer_value(known)))
            continue;
        size_t column = cb_add_column(lp->sof->problem, lp->node, json_string_value(text), -INFINITY, INFINITY, 0);
        json_object_set_new(lp->name, json_string_value(text), json_integer((json_int_t)column));
    }
}

static void add_states(subproblem *lp, const json_t *entry, const char *name) {
    cb_sof *sof = lp->sof;
    const char *state;
    const json_t *pair, *states = cb_sof_member(sof, entry, "state_variables", JSON_OBJECT, true);
    json_object_foreach((json_t *)(uintptr_t)states, state, pair) {
        json_int_t in, out;
        cb_sof_at(sof, "subproblems.%s.state_variables.%s", name, state);
        size_t index = cb_find_state(sof->problem, state);
        if (index == CB_NONE) {
            cb_problem_error(sof->problem, "the root has no state variable \"%s\"", state);
            continue;
        }
        if (!lookup(lp, pair, "in", &in) || !lookup(lp, pair, "out", &out))
            continue;
        if (is_random(in) || is_random(out))
            cb_problem_error(sof->problem, "a random variable cannot be a state");
        else
            cb_set_state(sof->problem, lp->node, index, (size_t)in, (size_t)out);
    }
}

void cb_sof_subproblem(cb_sof *sof, size_t node, const char *name, const json_t *entry) {
    static const char *const keys[] = {"state_variables", "random_variables", "subproblem", NULL};
    subproblem lp = {.sof = sof, .node = node, .name = json_object()};
    cb_sof_at(sof, "subproblems.%s", name);
    cb_sof_known(sof, entry, keys);
    const json_t *mof = cb_sof_member(sof, entry, "subproblem", JSON_OBJECT, true);
    snprintf(lp.base, sizeof lp.base, "subproblems.%s.subproblem", name);
    if (mof && lp.name) {
        size_t i;
        const json_t *constraint, *constraints;
        cb_sof_at(sof, "subproblems.%s", name);
        add_variables(&lp, entry, mof, name);
        cb_sof_at(sof, "subproblems.%s", name);
        add_states(&lp, entry, name);
        cb_sof_at(sof, "%s", lp.base);
        add_objective(&lp, mof);
        cb_sof_at(sof, "%s", lp.base);
        constraints = cb_sof_member(sof, mof, "constraints", JSON_ARRAY, true);
        json_array_foreach(constraints, i, constraint) add_constraint(&lp, constraint, i);
    }
    json_decref(lp.name);
}
