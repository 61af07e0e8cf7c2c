/* SPDX-License-Identifier: Apache-2.0 */
/* build.c: the builder of sddp.h, for cobre.Problem. A node comes in few calls, its numbers in arrays: so the time goes into
 * building, not into calling. What is wrong with the numbers is found by finish. */
#include "plan.h"

typedef struct {
    PyObject_HEAD cobre_sddp_builder *builder; /* NULL: finished */
    size_t states, nodes;
} builder_object;

static PyObject *new_builder(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"name", "maximise", NULL};
    const char *name;
    int maximise;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "sp", names, &name, &maximise))
        return NULL;
    builder_object *made = (builder_object *)PyType_GenericAlloc(type, 0);
    if (made && cobre_sddp_builder_new(name, maximise, &made->builder)) {
        Py_DECREF((PyObject *)made);
        return PyErr_NoMemory();
    }
    return (PyObject *)made;
}

static void dealloc(PyObject *self) {
    cobre_sddp_builder_free(&((builder_object *)self)->builder);
    free_object(self);
}

/* ---- Arguments ---- */

/* A buffer of `count` elements of a type; SIZE_MAX: of any number. False: an exception is set. */
static bool take_array(PyObject *object, const char *name, cobre_type type, size_t count, struct operand *array) {
    if (!take_operand(object, name, false, array))
        return false;
    if (array->count == 0 ? count == 0 || count == SIZE_MAX
                          : array->type == type && (count == SIZE_MAX || array->count == count))
        return true;
    PyErr_Format(PyExc_ValueError, "%s: it has not the right type or size", name);
    drop_operand(array);
    return false;
}

/* The next of an iterator of texts and None. False: there is none, or an exception is set. The text lives as long as *item. */
static bool next_name(PyObject *iterator, PyObject **item, const char **name) {
    *item = PyIter_Next(iterator);
    if (!*item || take_text(*item, "name", name))
        return *item;
    Py_CLEAR(*item);
    return false;
}

/* Calls add(of, i, name) for each name. */
static bool each_name(PyObject *names, void add(void *of, size_t i, const char *name), void *of, size_t most) {
    PyObject *item, *iterator = PyObject_GetIter(names);
    const char *name;
    for (size_t i = 0; iterator && next_name(iterator, &item, &name); i++) {
        if (i < most)
            add(of, i, name);
        else
            PyErr_SetString(PyExc_ValueError, "there are more names than numbers");
        Py_DECREF(item);
        if (i >= most)
            break;
    }
    Py_XDECREF(iterator);
    return !PyErr_Occurred();
}

/* ---- Nodes ---- */

/* state(name, initial) */
static PyObject *add_state(PyObject *self, PyObject *arguments) {
    builder_object *its = (builder_object *)self;
    const char *name;
    double initial;
    if (!PyArg_ParseTuple(arguments, "sd", &name, &initial))
        return NULL;
    cobre_sddp_add_state(its->builder, name, initial);
    its->states++;
    return Py_NewRef(Py_None);
}

enum { LOWER, UPPER, COST, ROW_LOWER, ROW_UPPER, COUNTS, COLUMNS, VALUES, ARRAYS };

/* The LP of a node, as its arrays say. */
struct program {
    cobre_sddp_builder *builder;
    size_t node, entry; /* entry: the next one */
    struct operand array[ARRAYS];
};

static double number(const struct program *program, int which, size_t i) {
    return ((const double *)program->array[which].view.buf)[i];
}

static int32_t whole(const struct program *program, int which, size_t i) {
    return ((const int32_t *)program->array[which].view.buf)[i];
}

static void add_column(void *of, size_t i, const char *name) {
    const struct program *p = of;
    cobre_sddp_add_column(p->builder, p->node, name, number(p, LOWER, i), number(p, UPPER, i), number(p, COST, i));
}

/* A row, and the entries that come next. */
static void add_row(void *of, size_t i, const char *name) {
    struct program *p = of;
    size_t row = cobre_sddp_add_row(p->builder, p->node, name, number(p, ROW_LOWER, i), number(p, ROW_UPPER, i));
    size_t end = p->entry + (size_t)whole(p, COUNTS, i);
    for (; p->entry < end && p->entry < p->array[VALUES].count; p->entry++)
        cobre_sddp_add_entry(p->builder, p->node, row, (size_t)whole(p, COLUMNS, p->entry),
                             number(p, VALUES, p->entry));
}

static size_t size_of_array(const struct program *program, int which) {
    switch (which) {
    case UPPER:
    case COST: return program->array[LOWER].count;
    case ROW_UPPER:
    case COUNTS: return program->array[ROW_LOWER].count;
    case VALUES: return program->array[COLUMNS].count;
    default: return SIZE_MAX;
    }
}

/* node(name, stage, constant, columns, rows, lower, upper, cost, row_lower, row_upper, counts, entry_column, entry_value): a node
 * with its LP. Columns and rows: their names. The first columns are the states': of each the incoming and the outgoing one.
 * Row i has the next counts[i] entries. */
static PyObject *add_node(PyObject *self, PyObject *arguments) {
    static const char *const names[ARRAYS] = {"lower",     "upper",  "cost",         "row_lower",
                                              "row_upper", "counts", "entry_column", "entry_value"};
    builder_object *its = (builder_object *)self;
    struct program program = {.builder = its->builder, .node = its->nodes};
    const char *name;
    Py_ssize_t stage;
    double constant;
    PyObject *columns, *rows, *array[ARRAYS];
    if (!PyArg_ParseTuple(arguments, "sndOOOOOOOOOO", &name, &stage, &constant, &columns, &rows, &array[0], &array[1],
                          &array[2], &array[3], &array[4], &array[5], &array[6], &array[7]))
        return NULL;
    int taken = 0;
    while (taken < ARRAYS &&
           take_array(array[taken], names[taken], taken == COUNTS || taken == COLUMNS ? COBRE_I32 : COBRE_F64,
                      size_of_array(&program, taken), &program.array[taken]))
        taken++;
    if (taken == ARRAYS) {
        cobre_sddp_add_node(its->builder, name, (size_t)stage);
        its->nodes++;
        bool good = each_name(columns, add_column, &program, program.array[LOWER].count) &&
                    each_name(rows, add_row, &program, program.array[ROW_LOWER].count);
        for (size_t s = 0; good && s < its->states; s++)
            cobre_sddp_set_state(its->builder, program.node, s, 2 * s, 2 * s + 1);
        cobre_sddp_add_constant(its->builder, program.node, constant);
    }
    while (taken > 0)
        drop_operand(&program.array[--taken]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static void add_random(void *of, size_t i, const char *name) {
    const struct program *p = of;
    (void)i;
    cobre_sddp_add_random(p->builder, p->node, name);
}

static bool add_terms(const struct program *p, PyObject *terms) {
    Py_ssize_t count = PySequence_Size(terms);
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++) {
        PyObject *term = PySequence_GetItem(terms, i);
        int target;
        Py_ssize_t random, index, column;
        double factor;
        if (term && PyArg_ParseTuple(term, "inndn", &target, &index, &column, &factor, &random))
            cobre_sddp_add_noise(p->builder, p->node, (size_t)random, factor, (cobre_sddp_noise_target)target,
                                 (size_t)index, (size_t)column);
        Py_XDECREF(term);
    }
    return !PyErr_Occurred();
}

/* noise(node, randoms, terms, probabilities, values): the names of its random variables; (target, index, column, factor, random)
 * each; and of each outcome the values of all. */
static PyObject *add_noise(PyObject *self, PyObject *arguments) {
    struct program program = {.builder = ((builder_object *)self)->builder};
    struct operand probabilities, values;
    Py_ssize_t node;
    PyObject *names, *terms, *given[2];
    if (!PyArg_ParseTuple(arguments, "nOOOO", &node, &names, &terms, &given[0], &given[1]))
        return NULL;
    program.node = (size_t)node;
    Py_ssize_t randoms = PyObject_Size(names);
    if (randoms < 0 || !take_array(given[0], "probabilities", COBRE_F64, SIZE_MAX, &probabilities))
        return NULL;
    size_t outcomes = probabilities.count;
    if (take_array(given[1], "values", COBRE_F64, outcomes * (size_t)randoms, &values)) {
        if (each_name(names, add_random, &program, SIZE_MAX) && add_terms(&program, terms))
            for (size_t k = 0; k < outcomes; k++)
                cobre_sddp_add_outcome(program.builder, program.node, ((const double *)probabilities.view.buf)[k],
                                       (const double *)values.view.buf + k * (size_t)randoms);
        drop_operand(&values);
    }
    drop_operand(&probabilities);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* model(node, openings, lognormal, deviations, factor): of the random variables that the node has by now; the factor is square, by
 * rows. */
static PyObject *set_model(PyObject *self, PyObject *arguments) {
    cobre_sddp_builder *builder = ((builder_object *)self)->builder;
    Py_ssize_t node, openings;
    int lognormal;
    PyObject *given[2];
    struct operand deviations, factor;
    if (!PyArg_ParseTuple(arguments, "nnpOO", &node, &openings, &lognormal, &given[0], &given[1]) ||
        !take_array(given[0], "deviations", COBRE_F64, SIZE_MAX, &deviations))
        return NULL;
    size_t order = deviations.count;
    if (take_array(given[1], "factor", COBRE_F64, order * order, &factor)) {
        cobre_sddp_set_model(builder, (size_t)node, (size_t)openings, lognormal, deviations.view.buf,
                             cobre_sddp_add_factor(builder, order, factor.view.buf));
        drop_operand(&factor);
    }
    drop_operand(&deviations);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* opening_seed(seed) */
static PyObject *set_opening_seed(PyObject *self, PyObject *arguments) {
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "K", &seed))
        return NULL;
    cobre_sddp_set_opening_seed(((builder_object *)self)->builder, seed);
    return Py_NewRef(Py_None);
}

static void add_block(void *of, size_t i, const char *name) {
    (void)i;
    cobre_sddp_add_block(of, name);
}

/* units(time, cost, blocks): and the names of the load blocks. */
static PyObject *set_units(PyObject *self, PyObject *arguments) {
    cobre_sddp_builder *builder = ((builder_object *)self)->builder;
    const char *time, *cost;
    PyObject *blocks;
    if (!PyArg_ParseTuple(arguments, "ssO", &time, &cost, &blocks) || !each_name(blocks, add_block, builder, SIZE_MAX))
        return NULL;
    cobre_sddp_set_units(builder, time, cost);
    return Py_NewRef(Py_None);
}

/* duration(node, duration, shares): shares of the load blocks, all of them, or none. */
static PyObject *set_duration(PyObject *self, PyObject *arguments) {
    Py_ssize_t node;
    double duration;
    PyObject *given;
    struct operand shares;
    if (!PyArg_ParseTuple(arguments, "ndO", &node, &duration, &given) ||
        !take_array(given, "shares", COBRE_F64, SIZE_MAX, &shares))
        return NULL;
    cobre_sddp_set_duration(((builder_object *)self)->builder, (size_t)node, duration,
                            shares.count ? shares.view.buf : NULL);
    drop_operand(&shares);
    return Py_NewRef(Py_None);
}

/* label(part, name, kind, element, block, unit, type, subsystem, factor, energy, detail) */
static PyObject *add_label(PyObject *self, PyObject *arguments) {
    int part, detail;
    const char *name;
    cobre_sddp_label label = {.struct_size = sizeof label};
    if (!PyArg_ParseTuple(arguments, "isssssssddp", &part, &name, &label.kind, &label.element, &label.block,
                          &label.unit, &label.type, &label.subsystem, &label.factor, &label.energy, &detail))
        return NULL;
    label.detail = detail;
    cobre_sddp_add_label(((builder_object *)self)->builder, (cobre_sddp_part)part, name, &label);
    return Py_NewRef(Py_None);
}

/* edge(from, to, probability, discount): from -1 is the root. */
static PyObject *add_edge(PyObject *self, PyObject *arguments) {
    Py_ssize_t from, to;
    double probability, discount;
    if (!PyArg_ParseTuple(arguments, "nndd", &from, &to, &probability, &discount))
        return NULL;
    cobre_sddp_add_edge(((builder_object *)self)->builder, from < 0 ? COBRE_SDDP_ROOT : (size_t)from, (size_t)to,
                        probability, discount);
    return Py_NewRef(Py_None);
}

/* risk(node, beta, alpha) */
static PyObject *set_risk(PyObject *self, PyObject *arguments) {
    Py_ssize_t node;
    double beta, alpha;
    if (!PyArg_ParseTuple(arguments, "ndd", &node, &beta, &alpha))
        return NULL;
    cobre_sddp_set_risk(((builder_object *)self)->builder, (size_t)node, beta, alpha);
    return Py_NewRef(Py_None);
}

/* value_bound(node, bound) */
static PyObject *set_value_bound(PyObject *self, PyObject *arguments) {
    Py_ssize_t node;
    double bound;
    if (!PyArg_ParseTuple(arguments, "nd", &node, &bound))
        return NULL;
    cobre_sddp_set_value_bound(((builder_object *)self)->builder, (size_t)node, bound);
    return Py_NewRef(Py_None);
}

/* date(node, text) */
static PyObject *set_date(PyObject *self, PyObject *arguments) {
    Py_ssize_t node;
    const char *date;
    if (!PyArg_ParseTuple(arguments, "ns", &node, &date))
        return NULL;
    cobre_sddp_set_date(((builder_object *)self)->builder, (size_t)node, date);
    return Py_NewRef(Py_None);
}

/* terminal_cut(node, intercept, slopes): of each state. */
static PyObject *add_terminal_cut(PyObject *self, PyObject *arguments) {
    builder_object *its = (builder_object *)self;
    Py_ssize_t node;
    double intercept;
    PyObject *given;
    struct operand slopes;
    if (!PyArg_ParseTuple(arguments, "ndO", &node, &intercept, &given) ||
        !take_array(given, "slopes", COBRE_F64, its->states, &slopes))
        return NULL;
    cobre_sddp_add_terminal_cut(its->builder, (size_t)node, intercept, slopes.view.buf);
    drop_operand(&slopes);
    return Py_NewRef(Py_None);
}

/* scenario(steps): (node, randoms, values) each: how many random variables the node has, and their values. */
static PyObject *add_scenario(PyObject *self, PyObject *steps) {
    cobre_sddp_builder *builder = ((builder_object *)self)->builder;
    size_t scenario = cobre_sddp_add_scenario(builder);
    Py_ssize_t count = PySequence_Size(steps);
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++) {
        PyObject *values, *step = PySequence_GetItem(steps, i);
        Py_ssize_t node, randoms;
        struct operand array;
        if (step && PyArg_ParseTuple(step, "nnO", &node, &randoms, &values) &&
            take_array(values, "values", COBRE_F64, (size_t)randoms, &array)) {
            cobre_sddp_add_step(builder, scenario, (size_t)node, array.view.buf);
            drop_operand(&array);
        }
        Py_XDECREF(step);
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* finish(comm, issues): as load() in plan.c. The builder is empty then. */
METHOD(finish) {
    TAKE("finish", 2, "comm", "issues", )
    builder_object *its = (builder_object *)self;
    comm_object *comm = take_comm(state, found[0]);
    struct issues issues = {.list = found[1]};
    cobre_sddp_load_options options = {.struct_size = sizeof options, .arg = &issues, .issue = keep_issue};
    cobre_sddp_problem *problem = NULL;
    if (comm && !its->builder)
        PyErr_SetString(PyExc_ValueError, "this builder has finished");
    if (!comm || !its->builder || !enter_call(comm->handle))
        return NULL;
    cobre_sddp_builder *builder = its->builder;
    its->builder = NULL;
    cobre_status status = cobre_sddp_finish(comm->handle->comm, &builder, &options, &problem);
    bool invalid = status == COBRE_INVALID_CASE;
    if (!leave_call(state, comm->handle, invalid ? COBRE_OK : status)) {
        cobre_sddp_problem_free(&problem);
        return NULL;
    }
    return invalid ? Py_NewRef(Py_None) : new_problem(state, comm, problem);
}

static PyMethodDef methods[] = {
    {"state", add_state, METH_VARARGS, NULL},
    {"node", add_node, METH_VARARGS, NULL},
    {"noise", add_noise, METH_VARARGS, NULL},
    {"model", set_model, METH_VARARGS, NULL},
    {"opening_seed", set_opening_seed, METH_VARARGS, NULL},
    {"units", set_units, METH_VARARGS, NULL},
    {"duration", set_duration, METH_VARARGS, NULL},
    {"label", add_label, METH_VARARGS, NULL},
    {"edge", add_edge, METH_VARARGS, NULL},
    {"risk", set_risk, METH_VARARGS, NULL},
    {"value_bound", set_value_bound, METH_VARARGS, NULL},
    {"date", set_date, METH_VARARGS, NULL},
    {"terminal_cut", add_terminal_cut, METH_VARARGS, NULL},
    {"scenario", add_scenario, METH_O, NULL},
    ROW("finish", finish, NULL),
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {{Py_tp_new, new_builder}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec builder_spec = {
    .name = "cobre._cobre.Builder",
    .basicsize = sizeof(builder_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
