/* SPDX-License-Identifier: Apache-2.0 */
/* module.c: cobre._cobre. */
#include "python.h"
#ifdef COBRE_PYTHON_PLAN
#include "plan.h"
#endif

static PyObject *version(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyUnicode_FromString(cobre_version());
}

/* _use(make_error, make_result): what is easier in Python. */
static PyObject *use(PyObject *module, PyObject *arguments) {
    struct state *state = PyModule_GetState(module);
    PyObject *make_error, *make_result;
    if (!PyArg_ParseTuple(arguments, "OO", &make_error, &make_result))
        return NULL;
    Py_CLEAR(state->make_error);
    Py_CLEAR(state->make_result);
    state->make_error = Py_NewRef(make_error);
    state->make_result = Py_NewRef(make_result);
    return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"watch", watch_processes, METH_O, NULL},
    {"version", version, METH_NOARGS, "The version of the library."},
    {"_use", use, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

void free_object(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type) {
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? PyModule_AddType(module, *type) : -1;
}

static int fill(PyObject *module) {
    struct state *state = PyModule_GetState(module);
    if (add_type(module, &comm_spec, &state->comm_type) || add_type(module, &region_spec, &state->region_type) ||
        add_type(module, &claim_spec, &state->claim_type))
        return -1;
#ifdef COBRE_PYTHON_PLAN
    if (add_type(module, &problem_spec, &state->problem_type) || add_type(module, &policy_spec, &state->policy_type) ||
        add_type(module, &builder_spec, &state->builder_type) || add_type(module, &block_spec, &state->block_type) ||
        PyModule_AddFunctions(module, plan_functions) || PyModule_AddFunctions(module, run_functions))
        return -1;
#endif
    return 0;
}

static int visit_all(PyObject *module, visitproc visit, void *arg) {
    struct state *state = PyModule_GetState(module);
    Py_VISIT(state->comm_type);
    Py_VISIT(state->region_type);
    Py_VISIT(state->claim_type);
    Py_VISIT(state->problem_type);
    Py_VISIT(state->policy_type);
    Py_VISIT(state->builder_type);
    Py_VISIT(state->block_type);
    Py_VISIT(state->make_error);
    Py_VISIT(state->make_result);
    return 0;
}

/* Breaks cycles. The types stay: objects that go later in the same collection may still need them. */
static int clear_functions(PyObject *module) {
    struct state *state = PyModule_GetState(module);
    Py_CLEAR(state->make_error);
    Py_CLEAR(state->make_result);
    return 0;
}

static void free_all(void *module) {
    struct state *state = PyModule_GetState(module);
    clear_functions(module);
    Py_CLEAR(state->comm_type);
    Py_CLEAR(state->region_type);
    Py_CLEAR(state->claim_type);
    Py_CLEAR(state->problem_type);
    Py_CLEAR(state->policy_type);
    Py_CLEAR(state->builder_type);
    Py_CLEAR(state->block_type);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_cobre",
    .m_doc = "The C part of cobre.",
    .m_size = sizeof(struct state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = visit_all,
    .m_clear = clear_functions,
    .m_free = free_all,
};

PyMODINIT_FUNC PyInit__cobre(void);
PyMODINIT_FUNC PyInit__cobre(void) {
    return PyModuleDef_Init(&definition);
}
