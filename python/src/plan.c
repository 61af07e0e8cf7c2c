/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: problems and policies, and what is asked of them. */
#include "plan.h"

#include "sddp/report/report.h"
#include "sddp/run/compare_json.h"
#include "sddp/run/decision.h"
#include "sddp/run/option_tables.h"

#include <stdlib.h>
#include <string.h>

/* ---- Arguments ---- */

static PyObject *take_object(PyObject *object, PyTypeObject *type, bool may_be_none) {
    if (PyObject_TypeCheck(object, type))
        return object;
    if (!may_be_none || object != Py_None)
        PyErr_Format(PyExc_TypeError, "%R is no %R", object, type);
    return NULL;
}

comm_object *take_comm(struct state *state, PyObject *object) {
    comm_object *comm = (comm_object *)take_object(object, state->comm_type, false);
    return comm && is_open(state, comm->handle) ? comm : NULL;
}

problem_object *take_problem(struct state *state, PyObject *object, bool may_be_none) {
    return (problem_object *)take_object(object, state->problem_type, may_be_none);
}

policy_object *take_policy(struct state *state, PyObject *object, bool may_be_none) {
    return (policy_object *)take_object(object, state->policy_type, may_be_none);
}

bool is_case_busy(const problem_object *problem) {
    bool busy = problem->comm->handle->busy;
    if (busy)
        PyErr_SetString(PyExc_RuntimeError,
                        "this case is being trained or simulated, by another thread or by the call that this progress "
                        "belongs to: load it once more for each");
    return busy;
}

bool enter_case(const problem_object *problem) {
    struct handle *handle = problem->comm->handle;
    take_turn(handle);
    if (is_case_busy(problem)) {
        end_turn(handle);
        return false;
    }
    handle->in_turn = true;
    return enter_call(handle);
}

bool take_text(PyObject *object, const char *name, const char **text) {
    Py_ssize_t length;
    *text = NULL;
    if (object == Py_None)
        return true;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: %R is not a str", name, object);
        return false;
    }
    *text = PyUnicode_AsUTF8AndSize(object, &length);
    if (*text && strlen(*text) != (size_t)length)
        PyErr_Format(PyExc_ValueError, "%s: it has a zero byte in it", name);
    return !PyErr_Occurred();
}

static const struct cb_option *find_row(const struct option_table *tables, const char *name, void **fields,
                                        const struct cb_option **rows) {
    for (; tables->rows; tables++) {
        const struct cb_option *row = cb_option_find(tables->rows, name);
        if (row) {
            *fields = tables->fields;
            *rows = tables->rows;
            return row;
        }
    }
    PyErr_Format(PyExc_TypeError, "there is no option %s", name);
    return NULL;
}

static bool set_option(const struct option_table *tables, PyObject *pair) {
    const char *name, *text;
    const struct cb_option *rows;
    void *fields;
    char error[CB_OPTION_ERROR];
    if (!PyArg_ParseTuple(pair, "sz", &name, &text) || !find_row(tables, name, &fields, &rows))
        return false;
    if (cb_option_set(rows, name, text, fields, error))
        return true;
    PyErr_Format(PyExc_ValueError, "%s: %s", name, error);
    return false;
}

bool set_options(const struct option_table *tables, PyObject *pairs) {
    Py_ssize_t count = PySequence_Size(pairs);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PySequence_GetItem(pairs, i);
        bool good = pair && set_option(tables, pair);
        Py_XDECREF(pair); /* the sequence has it, and its texts */
        if (!good)
            return false;
    }
    return count >= 0;
}

/* ---- Problems ---- */

PyObject *new_problem(struct state *state, comm_object *comm, cobre_sddp_problem *problem) {
    problem_object *made = (problem_object *)PyType_GenericAlloc(state->problem_type, 0);
    if (!made) {
        cobre_sddp_problem_free(&problem);
        return NULL;
    }
    made->comm = (comm_object *)Py_NewRef((PyObject *)comm);
    made->problem = problem;
    return (PyObject *)made;
}

static void dealloc_problem(PyObject *self) {
    problem_object *its = (problem_object *)self;
    cobre_sddp_problem_free(&its->problem);
    Py_XDECREF((PyObject *)its->comm);
    free_object(self);
}

void keep_issue(void *arg, const cobre_sddp_issue *issue) {
    struct issues *issues = arg;
    take_gil();
    PyObject *one = PyErr_Occurred() ? NULL
                                     : Py_BuildValue("(snsssOn)", issue->file, (Py_ssize_t)issue->line, issue->place,
                                                     issue->message, issue->suggestion,
                                                     issue->warning ? Py_True : Py_False, (Py_ssize_t)issue->more);
    if (one)
        PyList_Append(issues->list, one);
    Py_XDECREF(one);
    give_gil();
}

PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* load(comm, path, scenarios, issues): the problem; or None, if the case has errors. They come into the list, as do warnings. */
static PyObject *load(PyObject *module, PyObject *arguments) {
    struct state *state = PyModule_GetState(module);
    PyObject *comm_given, *list;
    const char *path, *scenarios;
    if (!PyArg_ParseTuple(arguments, "OszO", &comm_given, &path, &scenarios, &list))
        return NULL;
    comm_object *comm = take_comm(state, comm_given);
    struct issues issues = {.list = list};
    cobre_sddp_load_options options = {
        .struct_size = sizeof options, .scenarios = scenarios, .arg = &issues, .issue = keep_issue};
    cobre_sddp_problem *problem = NULL;
    if (!comm || !enter_call(comm->handle))
        return NULL;
    cobre_status status = cobre_sddp_load(comm->handle->comm, path, &options, &problem);
    bool invalid = status == COBRE_INVALID_CASE;
    if (!leave_call(state, comm->handle, invalid ? COBRE_OK : status))
        return NULL;
    return invalid ? Py_NewRef(Py_None) : new_problem(state, comm, problem);
}

/* validate(problem, options, issues): true if a training would start. */
static PyObject *validate(PyObject *module, PyObject *arguments) {
    struct state *state = PyModule_GetState(module);
    PyObject *given, *pairs, *list;
    if (!PyArg_ParseTuple(arguments, "OOO", &given, &pairs, &list))
        return NULL;
    problem_object *problem = take_problem(state, given, false);
    struct issues issues = {.list = list};
    cobre_sddp_validate_options options = {.struct_size = sizeof options, .arg = &issues, .issue = keep_issue};
    const struct option_table tables[] = {{cb_validate_rows, &options}, {NULL, NULL}};
    if (!problem || !set_options(tables, pairs) || !enter_case(problem))
        return NULL;
    cobre_status status = cobre_sddp_validate(problem->problem, &options);
    bool invalid = status == COBRE_INVALID_CASE;
    if (!leave_call(state, problem->comm->handle, invalid ? COBRE_OK : status))
        return NULL;
    return PyBool_FromLong(!invalid);
}

static bool put(PyObject *dict, const char *key, PyObject *value) {
    bool good = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return good;
}

static PyObject *states_of(const cobre_sddp_problem *problem) {
    size_t count = cobre_sddp_problem_states(problem);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t s = 0; list && s < count; s++) {
        PyObject *name = text_of(cobre_sddp_problem_state_name(problem, s));
        PyObject *pair = Py_BuildValue("(Nd)", name, cobre_sddp_problem_state_initial(problem, s));
        if (!pair || PyList_SetItem(list, (Py_ssize_t)s, pair) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *nodes_of(const cobre_sddp_problem *problem) {
    size_t count = cobre_sddp_problem_nodes(problem);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t n = 0; list && n < count; n++) {
        PyObject *name = text_of(cobre_sddp_problem_node_name(problem, n));
        PyObject *tuple =
            Py_BuildValue("(Nnsd)", name, (Py_ssize_t)cobre_sddp_problem_node_stage(problem, n),
                          cobre_sddp_problem_node_date(problem, n), cobre_sddp_problem_node_duration(problem, n));
        if (!tuple || PyList_SetItem(list, (Py_ssize_t)n, tuple) != 0)
            Py_CLEAR(list);
    }
    return list;
}

/* describe(): what the problem consists of, as a dict. */
METHOD(describe_problem) {
    TAKE("describe", 0)
    const cobre_sddp_problem *problem = ((problem_object *)self)->problem;
    PyObject *dict = PyDict_New();
    if (dict && put(dict, "name", text_of(cobre_sddp_problem_name(problem))) &&
        put(dict, "contents", text_of(cobre_sddp_problem_contents(problem))) &&
        put(dict, "maximises", PyBool_FromLong(cobre_sddp_problem_maximises(problem))) &&
        put(dict, "averse", PyBool_FromLong(cobre_sddp_problem_averse(problem))) &&
        put(dict, "has_noise_model", PyBool_FromLong(cobre_sddp_problem_has_noise_model(problem))) &&
        put(dict, "cost_unit", text_of(cobre_sddp_problem_cost_unit(problem))) &&
        put(dict, "time_unit", text_of(cobre_sddp_problem_time_unit(problem))) &&
        put(dict, "states", states_of(problem)) && put(dict, "nodes", nodes_of(problem)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

/* write(path): as a StochOptFormat file. */
METHOD(write_problem) {
    TAKE("write", 1, "path", )
    problem_object *its = (problem_object *)self;
    const char *path;
    if (!take_text(found[0], "path", &path) || !enter_case(its))
        return NULL;
    return leave_call(state, its->comm->handle, cobre_sddp_problem_write(its->problem, path)) ? Py_NewRef(Py_None)
                                                                                              : NULL;
}

static PyMethodDef problem_methods[] = {
    ROW("describe", describe_problem, NULL),
    ROW("write", write_problem, NULL),
    {NULL, NULL, 0, NULL},
};
static PyType_Slot problem_slots[] = {{Py_tp_dealloc, dealloc_problem}, {Py_tp_methods, problem_methods}, {0, NULL}};
PyType_Spec problem_spec = {
    .name = "cobre._cobre.Problem",
    .basicsize = sizeof(problem_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = problem_slots,
};

/* ---- Policies ---- */

PyObject *new_policy(struct state *state, problem_object *problem, cobre_sddp_policy *policy) {
    policy_object *made = (policy_object *)PyType_GenericAlloc(state->policy_type, 0);
    if (!made) {
        cobre_sddp_policy_free(&policy);
        return NULL;
    }
    made->problem = (problem_object *)Py_XNewRef((PyObject *)problem);
    made->policy = policy;
    return (PyObject *)made;
}

static void dealloc_policy(PyObject *self) {
    policy_object *its = (policy_object *)self;
    cobre_sddp_policy_free(&its->policy);
    Py_XDECREF((PyObject *)its->problem);
    free_object(self);
}

/* load_policy(problem, path): for that problem; without one (None) it can only be looked at. */
static PyObject *load_policy(PyObject *module, PyObject *arguments) {
    struct state *state = PyModule_GetState(module);
    PyObject *given;
    const char *path;
    cobre_sddp_policy *policy = NULL;
    if (!PyArg_ParseTuple(arguments, "Os", &given, &path))
        return NULL;
    problem_object *problem = take_problem(state, given, true);
    if (PyErr_Occurred())
        return NULL;
    if (!problem)
        return cobre_sddp_policy_read(path, &policy) ? raise_error(state) : new_policy(state, NULL, policy);
    if (!enter_case(problem))
        return NULL;
    bool good = leave_call(state, problem->comm->handle, cobre_sddp_policy_load(problem->problem, path, &policy));
    return good ? new_policy(state, problem, policy) : NULL;
}

METHOD(save_policy) {
    TAKE("save", 1, "path", )
    policy_object *its = (policy_object *)self;
    const char *path;
    if (!take_text(found[0], "path", &path))
        return NULL;
    if (!its->problem)
        return cobre_sddp_policy_save(its->policy, path) ? raise_error(state) : Py_NewRef(Py_None);
    if (!enter_case(its->problem))
        return NULL;
    cobre_status status = cobre_sddp_policy_save(its->policy, path);
    return leave_call(state, its->problem->comm->handle, status) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *names_of(const cobre_sddp_policy *policy, size_t count,
                          const char *name_of(const cobre_sddp_policy *, size_t)) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *name = text_of(name_of(policy, i));
        if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *stages_of(const cobre_sddp_policy *policy) {
    size_t count = cobre_sddp_policy_nodes(policy);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t n = 0; list && n < count; n++) {
        PyObject *stage = PyLong_FromSize_t(cobre_sddp_policy_node_stage(policy, n));
        if (!stage || PyList_SetItem(list, (Py_ssize_t)n, stage) != 0)
            Py_CLEAR(list);
    }
    return list;
}

METHOD(describe_policy) {
    TAKE("describe", 0)
    const cobre_sddp_policy *policy = ((policy_object *)self)->policy;
    const char *difference = cobre_sddp_policy_difference(policy);
    PyObject *dict = PyDict_New();
    if (dict && put(dict, "name", text_of(cobre_sddp_policy_name(policy))) &&
        put(dict, "maximises", PyBool_FromLong(cobre_sddp_policy_maximises(policy))) &&
        put(dict, "averse", PyBool_FromLong(cobre_sddp_policy_averse(policy))) &&
        put(dict, "proven", PyBool_FromLong(cobre_sddp_policy_proven(policy))) &&
        put(dict, "bound", PyFloat_FromDouble(cobre_sddp_policy_bound(policy))) &&
        put(dict, "iterations", PyLong_FromUnsignedLongLong(cobre_sddp_policy_iterations(policy))) &&
        put(dict, "seed", PyLong_FromUnsignedLongLong(cobre_sddp_policy_seed(policy))) &&
        put(dict, "cut_count", PyLong_FromUnsignedLongLong(cobre_sddp_policy_cuts(policy))) &&
        put(dict, "solver", text_of(cobre_sddp_policy_solver(policy))) &&
        put(dict, "solver_version", text_of(cobre_sddp_policy_solver_version(policy))) &&
        put(dict, "difference", difference ? text_of(difference) : Py_NewRef(Py_None)) &&
        put(dict, "states", names_of(policy, cobre_sddp_policy_states(policy), cobre_sddp_policy_state_name)) &&
        put(dict, "nodes", names_of(policy, cobre_sddp_policy_nodes(policy), cobre_sddp_policy_node_name)) &&
        put(dict, "stages", stages_of(policy)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

/* cuts(node, outcome, iteration, intercept, slopes): fills these buffers, of int64, int64, int64, double and double. An outcome of
 * none is -1. */
METHOD(fill_cuts) {
    TAKE("cuts", 5, "node", "outcome", "iteration", "intercept", "slopes", )
    const cobre_sddp_policy *policy = ((policy_object *)self)->policy;
    size_t count = cobre_sddp_policy_cuts(policy), states = cobre_sddp_policy_states(policy);
    struct operand to[5];
    for (size_t i = 0; i < 5; i++) {
        cobre_type element = i < 3 ? COBRE_I64 : COBRE_F64;
        bool taken = take_operand(found[i], names[i], true, &to[i]);
        if (taken && to[i].type == element && to[i].count >= (i < 4 ? count : count * states))
            continue;
        if (taken)
            PyErr_Format(PyExc_ValueError, "%s: it has not the right type or size", names[i]);
        for (size_t k = 0; k < i + taken; k++)
            drop_operand(&to[k]);
        return NULL;
    }
    int64_t *node = to[0].view.buf, *outcome = to[1].view.buf, *iteration = to[2].view.buf;
    double *intercept = to[3].view.buf, *slopes = to[4].view.buf;
    for (size_t i = 0; i < count; i++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        cobre_sddp_policy_cut(policy, i, &cut, slopes + i * states);
        node[i] = (int64_t)cut.node;
        outcome[i] = cut.outcome == COBRE_SDDP_NONE ? -1 : (int64_t)cut.outcome;
        iteration[i] = (int64_t)cut.iteration;
        intercept[i] = cut.intercept;
    }
    for (size_t i = 0; i < 5; i++)
        drop_operand(&to[i]);
    return Py_NewRef(Py_None);
}

/* A text of JSON, and the object goes. */
static PyObject *json_text(json_t *json) {
    char *text = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
    PyObject *result = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
    free(text);
    json_decref(json);
    return result;
}

/* decide(options, lp_folder): the JSON of `cobre decide --json`. */
METHOD(decide) {
    TAKE("decide", 2, "options", "lp_folder", )
    policy_object *its = (policy_object *)self;
    struct cb_decision decision = {.inflow = NULL};
    const struct option_table tables[] = {{cb_begin_rows, &decision.begin}, {cb_decide_rows, &decision}, {NULL, NULL}};
    json_t *answer = NULL;
    if (!take_text(found[1], "lp_folder", &decision.lp_folder) || !set_options(tables, found[0]))
        return NULL;
    if (!cb_begin_is_clear(&decision.begin))
        return PyErr_Format(PyExc_ValueError, "stage, date and node: give one of them");
    if (!its->problem) {
        PyErr_SetString(PyExc_ValueError, "this policy was read without its case, and cannot decide");
        return NULL;
    }
    if (!enter_case(its->problem))
        return NULL;
    cobre_status status = cb_decision_find(its->problem->problem, &decision);
    if (!status)
        status = cb_decision_make(its->problem->problem, its->policy, &decision, "", &answer);
    bool good = leave_call(state, its->problem->comm->handle, status);
    cb_decision_free(&decision);
    if (good)
        return json_text(answer);
    json_decref(answer);
    return NULL;
}

static PyMethodDef policy_methods[] = {
    ROW("describe", describe_policy, NULL),
    ROW("save", save_policy, NULL),
    ROW("cuts", fill_cuts, NULL),
    ROW("decide", decide, NULL),
    {NULL, NULL, 0, NULL},
};
static PyType_Slot policy_slots[] = {{Py_tp_dealloc, dealloc_policy}, {Py_tp_methods, policy_methods}, {0, NULL}};
PyType_Spec policy_spec = {
    .name = "cobre._cobre.Policy",
    .basicsize = sizeof(policy_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = policy_slots,
};

/* ---- What needs no problem ---- */

enum { MOST_PATHS = 8 };

/* The texts of a sequence of str; they live as long as it does. */
static bool take_paths(PyObject *list, const char *path[MOST_PATHS], size_t *count) {
    Py_ssize_t length = PySequence_Size(list);
    *count = length > 0 ? (size_t)length : 0;
    if (length > MOST_PATHS)
        PyErr_Format(PyExc_ValueError, "there can be at most %d runs", MOST_PATHS);
    for (Py_ssize_t i = 0; i < length && !PyErr_Occurred(); i++) {
        PyObject *item = PySequence_GetItem(list, i);
        if (item)
            take_text(item, "path", &path[i]);
        Py_XDECREF(item);
    }
    return !PyErr_Occurred();
}

/* compare(paths, options, csv): the JSON of `cobre compare --json`; csv: a file for the rows, or None. */
static PyObject *compare(PyObject *module, PyObject *arguments) {
    PyObject *list, *pairs;
    const char *csv, *path[MOST_PATHS];
    size_t count;
    cobre_sddp_compare_options options = {.struct_size = sizeof options};
    const struct option_table tables[] = {{cb_compare_rows, &options}, {NULL, NULL}};
    cobre_sddp_comparison *comparison = NULL;
    if (!PyArg_ParseTuple(arguments, "OOz", &list, &pairs, &csv) || !take_paths(list, path, &count) ||
        !set_options(tables, pairs))
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    cobre_status status = cobre_sddp_compare(path, count, &options, &comparison);
    if (!status && csv)
        status = cb_compare_csv(csv, comparison);
    PyEval_RestoreThread(thread);
    json_t *json = status ? NULL : cb_compare_json(comparison);
    cobre_sddp_comparison_free(&comparison);
    return status ? raise_error(PyModule_GetState(module)) : json_text(json);
}

/* report(folders, path) */
static PyObject *report(PyObject *module, PyObject *arguments) {
    PyObject *list;
    const char *to, *path[MOST_PATHS];
    size_t count;
    if (!PyArg_ParseTuple(arguments, "Os", &list, &to) || !take_paths(list, path, &count))
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    cobre_status status = cobre_sddp_report(path, count, to);
    PyEval_RestoreThread(thread);
    return status ? raise_error(PyModule_GetState(module)) : Py_NewRef(Py_None);
}

static PyObject *picture_text(const struct cb_picture *picture) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return PyErr_NoMemory();
    cb_picture_write(picture, false, file);
    fclose(file);
    PyObject *result = Py_BuildValue("(sss#)", picture->name, picture->title, text, (Py_ssize_t)size);
    free(text);
    return result;
}

/* charts(folders): [(name, title, svg)], those of the report. */
static PyObject *charts(PyObject *module, PyObject *arguments) {
    PyObject *list, *result = NULL;
    const char *path[MOST_PATHS];
    size_t count;
    struct cb_pictures pictures = {.page = NULL};
    if (!PyArg_ParseTuple(arguments, "O", &list) || !take_paths(list, path, &count))
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    cobre_status status = cb_pictures_make(&pictures, path, count);
    PyEval_RestoreThread(thread);
    if (status)
        raise_error(PyModule_GetState(module));
    else
        result = PyList_New(0);
    for (size_t i = 0; result && i < pictures.count; i++) {
        PyObject *one = picture_text(&pictures.at[i]);
        if (!one || PyList_Append(result, one) != 0)
            Py_CLEAR(result);
        Py_XDECREF(one);
    }
    cb_pictures_free(&pictures);
    return result;
}

static PyObject *rows_of(PyObject *list, const struct cb_option *rows) {
    for (; list && rows->name; rows++) {
        char values[64];
        if (!rows->help)
            continue;
        const char *fallback = rows->value[0].fallback;
        PyObject *one = Py_BuildValue("(sssz)", rows->name, cb_option_values(rows, values), rows->help, fallback);
        if (!one || PyList_Append(list, one) != 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* options(command): [(name, values, help, default)] of the tables of the command line. A flag has no values. */
static PyObject *options(PyObject *module, PyObject *command) {
    (void)module;
    const char *name;
    PyObject *list = PyList_New(0);
    if (!list || !take_text(command, "command", &name) || !name)
        return NULL;
    if (strcmp(name, "train") == 0)
        return rows_of(rows_of(list, cb_rule_rows), cb_train_rows);
    if (strcmp(name, "simulate") == 0)
        return rows_of(rows_of(rows_of(list, cb_simulate_rows), cb_begin_rows), cb_scenario_rows);
    if (strcmp(name, "validate") == 0)
        return rows_of(rows_of(list, cb_load_rows), cb_validate_rows);
    if (strcmp(name, "decide") == 0)
        return rows_of(rows_of(list, cb_begin_rows), cb_decide_rows);
    return strcmp(name, "compare") == 0 ? rows_of(list, cb_compare_rows) : list;
}

static PyObject *solvers(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < cobre_sddp_solvers(); i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        cobre_sddp_solver_at(i, &solver);
        PyObject *one = Py_BuildValue("(szzz)", solver.name, solver.version, solver.license, solver.problem);
        if (!one || PyList_Append(list, one) != 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyMethodDef plan_functions[] = {
    {"load", load, METH_VARARGS, NULL},
    {"validate", validate, METH_VARARGS, NULL},
    {"load_policy", load_policy, METH_VARARGS, NULL},
    {"compare", compare, METH_VARARGS, NULL},
    {"report", report, METH_VARARGS, NULL},
    {"charts", charts, METH_VARARGS, NULL},
    {"options", options, METH_O, NULL},
    {"solvers", solvers, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
