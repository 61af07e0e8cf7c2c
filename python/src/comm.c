/* SPDX-License-Identifier: Apache-2.0 */
/* comm.c: the type _cobre.Comm, base of cobre.Comm. */
#include "python.h"

#include <stdlib.h>
#include <string.h>

/* The arguments and the handle. */
#define TAKE_HANDLE(...)                                                                                               \
    TAKE(__VA_ARGS__)                                                                                                  \
    struct handle *handle = ((comm_object *)self)->handle;
/* The same of a communicator that is open. */
#define TAKE_OPEN(...)                                                                                                 \
    TAKE_HANDLE(__VA_ARGS__)                                                                                           \
    if (!is_open(state, handle))                                                                                       \
        return NULL;

static PyObject *done(struct state *state, struct handle *handle, cobre_status status) {
    return leave_call(state, handle, status) ? Py_NewRef(Py_None) : NULL;
}

/* ---- Opening and freeing ---- */

static PyObject *new_comm(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)arguments, (void)keywords; /* __init__ has them */
    struct handle *handle = new_handle();
    comm_object *made = handle ? (comm_object *)PyType_GenericAlloc(type, 0) : NULL;
    if (made)
        made->handle = handle;
    else
        free(handle);
    return (PyObject *)made;
}

static bool take_backend(const char *name, cobre_backend *backend) {
    for (int b = COBRE_AUTO; cobre_backend_name((cobre_backend)b)[0] != '?'; b++)
        if (strcmp(cobre_backend_name((cobre_backend)b), name) == 0) {
            *backend = (cobre_backend)b;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "backend: there is no '%s'; there are auto, local, shm, tcp and mpi", name);
    return false;
}

/* _open((environment, backend, rank, size, name, coordinator, bind, token, port, open, check, plugin, join_timeout, stall)) */
METHOD(open_comm) {
    TAKE_HANDLE("_open", 1, "options", )
    cobre_config config = {.struct_size = sizeof config, .interrupted = ask_signals};
    int environment, open, check;
    const char *backend;
    if (!PyTuple_Check(found[0])) {
        PyErr_SetString(PyExc_TypeError, "options: not a tuple");
        return NULL;
    }
    if (!PyArg_ParseTuple(found[0], "psnnzzzzHppzdd", &environment, &backend, &config.rank, &config.size,
                          &config.shm_name, &config.tcp_coordinator, &config.tcp_bind, &config.tcp_token,
                          &config.tcp_port, &open, &check, &config.mpi_plugin, &config.join_timeout_secs,
                          &config.stall_secs) ||
        !take_backend(backend, &config.backend))
        return NULL;
    if (handle->comm) {
        PyErr_SetString(PyExc_RuntimeError, "this communicator is open already");
        return NULL;
    }
    config.environment = environment;
    config.tcp_open = open;
    config.check = check;
    if (!enter_call(handle))
        return NULL;
    cobre_comm *comm;
    PyObject *result = done(state, handle, cobre_comm_open(&config, &comm));
    if (comm) {
        handle->comm = comm;
        handle->gone = false;
    }
    return result;
}

static void dealloc(PyObject *self) {
    struct handle *handle = ((comm_object *)self)->handle;
    if (handle)
        release_handle(handle);
    free_object(self);
}

/* The regions first, in the order of their creation. */
METHOD(free_comm) {
    TAKE_HANDLE("free", 0)
    cobre_comm *comm = open_comm_of(handle);
    if (!comm)
        return Py_NewRef(Py_None);
    if (is_busy(handle))
        return NULL;
    handle->gone = true; /* nobody else looks at it meanwhile */
    enter_call(handle);
    cobre_status status = COBRE_OK;
    for (struct record *record = handle->records; record && status == COBRE_OK; record = record->next)
        status = cobre_region_free(&record->region);
    if (status == COBRE_OK)
        status = cobre_comm_free(&comm);
    PyObject *result = done(state, handle, status);
    handle->comm = comm;
    handle->gone = false;
    for (struct record *record = handle->records; record && !record->region; record = handle->records) {
        if (record->object)
            region_freed(record->object);
        forget_record(handle, record);
    }
    return result;
}

static void leave_later(PyObject *capsule) {
    struct handle *handle = PyCapsule_GetPointer(capsule, NULL);
    leave_job(handle);
    release_handle(handle);
}

/* _give_up(): an object that leaves the job when it goes. From now on the communicator is as one that was freed. */
METHOD(give_up) {
    TAKE_HANDLE("_give_up", 0)
    PyObject *capsule = PyCapsule_New(handle, NULL, leave_later);
    if (capsule) {
        handle->users++;
        handle->gone = true;
    }
    return capsule;
}

/* _check(): raises if the communicator is not open. */
METHOD(check_open) {
    TAKE_OPEN("_check", 0)
    return Py_NewRef(Py_None);
}

METHOD(split_local) {
    TAKE_OPEN("split_local", 0)
    PyObject *made = new_comm(Py_TYPE(self), NULL, NULL);
    if (!made)
        return NULL;
    if (enter_call(handle)) {
        cobre_comm *local;
        cobre_status status = cobre_split_local(handle->comm, &local);
        ((comm_object *)made)->handle->comm = local;
        if (leave_call(state, handle, status))
            return made;
    }
    Py_DECREF(made);
    return NULL;
}

METHOD(abort_comm) {
    TAKE_HANDLE("_abort", 2, "code", "text", )
    (void)state;
    int overflow; /* then the code is -1 */
    long code = PyLong_AsLongAndOverflow(found[0], &overflow);
    const char *text = PyErr_Occurred() ? NULL : PyUnicode_AsUTF8AndSize(found[1], NULL);
    if (!text)
        return NULL;
    if (code < 1 || code > 255) {
        PyErr_Format(PyExc_ValueError, "code: %R is not from 1 to 255", found[0]);
        return NULL;
    }
    cobre_abort(handle->busy ? NULL : open_comm_of(handle), (int)code, text);
}

/* ---- Collectives ---- */

METHOD(barrier) {
    TAKE_OPEN("barrier", 0)
    return enter_call(handle) ? done(state, handle, cobre_barrier(handle->comm)) : NULL;
}

METHOD(broadcast) {
    TAKE_OPEN("broadcast", 1, "buf", "root", )
    size_t root;
    struct operand buf;
    if (!take_size(found[1], "root", &root) || !take_operand(found[0], "buf", cobre_rank(handle->comm) != root, &buf))
        return NULL;
    bool good = enter_call(handle) &&
                leave_call(state, handle, cobre_broadcast(handle->comm, buf.view.buf, buf.count, buf.type, root));
    drop_operand(&buf);
    return good ? Py_NewRef(found[0]) : NULL;
}

static bool take_op(PyObject *word, cobre_op *op) {
    static const char *const words[] = {"sum", "min", "max"};
    *op = COBRE_SUM;
    if (!word)
        return true;
    for (int i = 0; PyUnicode_Check(word) && i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(word, words[i]) == 0) {
            *op = (cobre_op)(COBRE_SUM + i);
            return true;
        }
    PyErr_Format(PyExc_ValueError, "op: %R is none of 'sum', 'min', 'max'", word);
    return false;
}

/* A plain number, which becomes int64 or float64. */
static PyObject *reduce_number(struct state *state, struct handle *handle, PyObject *number, cobre_op op) {
    bool real = PyFloat_Check(number);
    double x = 0;
    long long n = 0;
    if (real)
        x = PyFloat_AsDouble(number);
    else
        n = PyLong_AsLongLong(number);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_SetString(PyExc_OverflowError, "send: this int does not fit into 64 bits; pass a float");
    if (PyErr_Occurred() || !enter_call(handle))
        return NULL;
    cobre_status status = real ? cobre_allreduce(handle->comm, &x, 1, &x, 1, COBRE_F64, op)
                               : cobre_allreduce(handle->comm, &n, 1, &n, 1, COBRE_I64, op);
    if (!leave_call(state, handle, status))
        return NULL;
    return real ? PyFloat_FromDouble(x) : PyLong_FromLongLong(n);
}

static PyObject *reduce(struct state *state, struct handle *handle, const struct operand *send, PyObject *to,
                        cobre_op op) {
    struct operand out;
    if (!take_operand(to, "out", true, &out))
        return NULL;
    bool good = false;
    if (same_elements(send, &out) && enter_call(handle)) {
        cobre_status status =
            cobre_allreduce(handle->comm, send->view.buf, send->count, out.view.buf, out.count, send->type, op);
        good = leave_call(state, handle, status);
    }
    drop_operand(&out);
    return good ? Py_NewRef(to) : NULL;
}

/* A new buffer of the kind of `like`: of its shape, or with `count` elements. */
static PyObject *make_result(struct state *state, PyObject *like, const struct operand *operand, Py_ssize_t count) {
    return PyObject_CallFunction(state->make_result, "Osn", like, operand->format, count);
}

/* The number in an array of no dimension, such as a NumPy scalar gives. */
static PyObject *take_number(PyObject *array) {
    PyObject *nowhere = PyTuple_New(0), *number = nowhere ? PyObject_GetItem(array, nowhere) : NULL;
    Py_XDECREF(nowhere);
    Py_DECREF(array);
    return number;
}

METHOD(allreduce) {
    TAKE_OPEN("allreduce", 1, "send", "op", "out", )
    cobre_op op;
    struct operand send;
    PyObject *out = found[2] == Py_None ? NULL : found[2];
    if (!take_op(found[1], &op))
        return NULL;
    if (!out && (PyFloat_Check(found[0]) || PyLong_Check(found[0])))
        return reduce_number(state, handle, found[0], op);
    if (!take_operand(found[0], "send", false, &send))
        return NULL;
    PyObject *result = NULL;
    if (!send.reducible) {
        PyErr_Format(
            PyExc_TypeError,
            "send: cannot reduce elements of the format '%s'; convert them to u1, i4, u4, i8, u8, f4 or f8, in "
            "the byte order of this machine",
            send.full_format);
    } else {
        PyObject *made = out ? NULL : make_result(state, found[0], &send, -1);
        if (out || made)
            result = reduce(state, handle, &send, out ? out : made, op);
        Py_XDECREF(made);
    }
    if (result && !out && send.view.ndim == 0)
        result = take_number(result);
    drop_operand(&send);
    return result;
}

/* ---- Gathers ---- */

/* The parts of a gather, in elements of C: counts[size], then displs[size]. */
struct parts {
    size_t *counts, *displs, size, total;
};

/* Elements of C in one of the buffer's. */
static size_t unit_of(const struct operand *operand) {
    return operand->reducible || operand->view.itemsize == 0 ? 1 : (size_t)operand->view.itemsize;
}

static bool read_counts(PyObject *list, size_t unit, struct parts *parts) {
    PyObject *items = PySequence_Tuple(list);
    if (!items)
        return false;
    size_t given = (size_t)PyTuple_Size(items);
    if (given != parts->size)
        PyErr_Format(PyExc_ValueError, "counts: has %zu numbers for %zu ranks", given, parts->size);
    for (size_t r = 0; r < parts->size && !PyErr_Occurred(); r++) {
        size_t count;
        if (take_size(PyTuple_GetItem(items, (Py_ssize_t)r), "counts", &count) && count > PY_SSIZE_T_MAX / unit)
            PyErr_SetString(PyExc_ValueError, "counts: more than memory can hold");
        parts->counts[r] = count * unit;
    }
    Py_DECREF(items);
    return !PyErr_Occurred();
}

/* Every rank tells the others its own count. */
static bool exchange_counts(struct state *state, struct handle *handle, uint64_t own, struct parts *parts) {
    uint64_t *all = malloc(parts->size * sizeof *all);
    if (!all) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t r = 0; r < parts->size; r++) {
        parts->counts[r] = 1;
        parts->displs[r] = r;
    }
    bool good = enter_call(handle) && leave_call(state, handle,
                                                 cobre_allgatherv(handle->comm, &own, 1, all, parts->size,
                                                                  parts->counts, parts->displs, COBRE_U64));
    for (size_t r = 0; good && r < parts->size; r++)
        parts->counts[r] = all[r];
    free(all);
    return good;
}

/* counts NULL or None: the ranks exchange them. The caller frees parts->counts, also after an error. False: an exception is
 * set. */
static bool make_parts(struct state *state, struct handle *handle, PyObject *counts, const struct operand *send,
                       struct parts *parts) {
    size_t size = cobre_size(handle->comm);
    *parts = (struct parts){.counts = malloc(2 * size * sizeof(size_t)), .size = size};
    if (!parts->counts) {
        PyErr_NoMemory();
        return false;
    }
    parts->displs = parts->counts + size;
    if (!(counts && counts != Py_None ? read_counts(counts, unit_of(send), parts)
                                      : exchange_counts(state, handle, send->count, parts)))
        return false;
    for (size_t r = 0; r < size; r++) {
        parts->displs[r] = parts->total;
        if (parts->counts[r] > PY_SSIZE_T_MAX - parts->total) {
            PyErr_SetString(PyExc_ValueError, "counts: more than memory can hold");
            return false;
        }
        parts->total += parts->counts[r];
    }
    return true;
}

static PyObject *gather(struct state *state, struct handle *handle, const struct operand *send,
                        const struct parts *parts, PyObject *to) {
    struct operand out;
    if (!take_operand(to, "out", true, &out))
        return NULL;
    bool good = false;
    if (same_elements(send, &out) && enter_call(handle)) {
        cobre_status status = cobre_allgatherv(handle->comm, send->view.buf, send->count, out.view.buf, out.count,
                                               parts->counts, parts->displs, send->type);
        good = leave_call(state, handle, status);
    }
    drop_operand(&out);
    return good ? Py_NewRef(to) : NULL;
}

METHOD(allgatherv) {
    TAKE_OPEN("allgatherv", 1, "send", "counts", "out", )
    struct operand send;
    struct parts parts;
    PyObject *result = NULL, *out = found[2] == Py_None ? NULL : found[2], *made = NULL;
    if (!take_operand(found[0], "send", false, &send))
        return NULL;
    if (make_parts(state, handle, found[1], &send, &parts)) {
        if (!out)
            made = make_result(state, found[0], &send, (Py_ssize_t)(parts.total / unit_of(&send)));
        if (out || made)
            result = gather(state, handle, &send, &parts, out ? out : made);
        Py_XDECREF(made);
    }
    free(parts.counts);
    drop_operand(&send);
    return result;
}

METHOD(gather_into) {
    TAKE_OPEN("gather_into", 2, "region", "send", "counts", )
    struct operand send;
    struct parts parts = {.counts = NULL};
    bool good = false;
    region_object *region = (region_object *)found[0];
    if (!PyObject_TypeCheck(found[0], state->region_type)) {
        PyErr_SetString(PyExc_TypeError, "region: not a Region; comm.region() makes one");
        return NULL;
    }
    if (region->handle != handle) {
        PyErr_SetString(PyExc_ValueError,
                        region->handle ? "region: it belongs to another communicator" : "region: it was freed");
        return NULL;
    }
    if (!take_operand(found[1], "send", false, &send))
        return NULL;
    if (send.type != region->type || !send.reducible)
        PyErr_Format(PyExc_TypeError, "send: its elements have the format '%s', those of the region '%s'",
                     send.full_format, format_of(region->type));
    else if (make_parts(state, handle, found[2], &send, &parts) && enter_call(handle)) {
        cobre_status status =
            cobre_allgatherv_region(handle->comm, send.view.buf, send.count,
                                    region->record ? region->record->region : NULL, parts.counts, parts.displs);
        good = leave_call(state, handle, status);
    }
    free(parts.counts);
    drop_operand(&send);
    return good ? Py_NewRef(Py_None) : NULL;
}

METHOD(exact_sum) {
    TAKE_OPEN("exact_sum", 1, "values", )
    struct operand values;
    if (!take_operand(found[0], "values", false, &values))
        return NULL;
    cobre_exact sum;
    bool good = false;
    cobre_exact_init(&sum);
    if (values.type != COBRE_F64)
        PyErr_Format(PyExc_TypeError, "values: must be float64, not '%s'", values.full_format);
    else if (enter_call(handle)) {
        cobre_exact_add_n(&sum, values.view.buf, values.count);
        good = leave_call(state, handle, cobre_exact_allreduce(handle->comm, &sum));
    }
    drop_operand(&values);
    return good ? PyFloat_FromDouble(cobre_exact_round(&sum)) : NULL;
}

METHOD(make_region) {
    TAKE_OPEN("_region", 2, "count", "format", )
    size_t count;
    cobre_type element;
    const char *name = take_size(found[0], "count", &count) ? PyUnicode_AsUTF8AndSize(found[1], NULL) : NULL;
    if (!name || !type_of_format(name, &element))
        return NULL;
    return new_region(state, handle, count, element);
}

/* ---- Who this is ---- */

enum { RANK, SIZE, NODE_RANK, NODE_SIZE };

/* A getter has no way to the module's state; a method has. */
static PyObject *refuse(PyObject *self) {
    PyObject *result = PyObject_CallMethod(self, "_check", NULL);
    Py_XDECREF(result);
    if (result)
        PyErr_SetString(PyExc_RuntimeError, "this communicator is not open");
    return NULL;
}

static PyObject *get_number(PyObject *self, void *which) {
    const cobre_comm *comm = open_comm_of(((comm_object *)self)->handle);
    static size_t (*const numbers[])(const cobre_comm *) = {cobre_rank, cobre_size, cobre_node_rank, cobre_node_size};
    return comm ? PyLong_FromSize_t(numbers[(uintptr_t)which](comm)) : refuse(self);
}

static PyObject *get_backend(PyObject *self, void *unused) {
    (void)unused;
    const cobre_comm *comm = open_comm_of(((comm_object *)self)->handle);
    return comm ? PyUnicode_FromString(cobre_backend_name(cobre_comm_backend(comm))) : refuse(self);
}

static PyObject *get_leader(PyObject *self, void *unused) {
    (void)unused;
    const cobre_comm *comm = open_comm_of(((comm_object *)self)->handle);
    return comm ? PyBool_FromLong(cobre_is_leader(comm)) : refuse(self);
}

static PyObject *get_open(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(open_comm_of(((comm_object *)self)->handle) != NULL);
}

static PyGetSetDef getters[] = {
    {"rank", get_number, NULL, "This rank, from 0.", (void *)RANK},
    {"size", get_number, NULL, "How many ranks there are.", (void *)SIZE},
    {"node_rank", get_number, NULL, "This rank among those that share its memory.", (void *)NODE_RANK},
    {"node_size", get_number, NULL, "How many ranks share this rank's memory.", (void *)NODE_SIZE},
    {"is_leader", get_leader, NULL, "Is this rank 0 of its node?", NULL},
    {"backend", get_backend, NULL, "'local', 'shm', 'tcp' or 'mpi'.", NULL},
    {"is_open", get_open, NULL, "Can it be used? Not any more after free().", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    ROW("_open", open_comm, NULL),
    ROW("_abort", abort_comm, NULL),
    ROW("_give_up", give_up, NULL),
    ROW("_check", check_open, NULL),
    ROW("_region", make_region, NULL),
    ROW("_exact_sum", exact_sum, NULL),
    ROW("free", free_comm,
        "free($self, /)\n--\n\n"
        "Leave the job, as the last call of every rank. Regions that are left are freed first, in the order of\n"
        "their creation. A second call does nothing."),
    ROW("barrier", barrier,
        "barrier($self, /)\n--\n\n"
        "Return when every rank has come here."),
    ROW("broadcast", broadcast,
        "broadcast($self, /, buf, root=0)\n--\n\n"
        "Make buf on every rank what it is on root. Returns buf."),
    ROW("allreduce", allreduce,
        "allreduce($self, /, send, op='sum', out=None)\n--\n\n"
        "Combine the ranks' elements one by one, in rank order: 'sum', 'min' or 'max'. A number gives a number; a\n"
        "buffer gives a new one of its kind, or goes to out, which may be send."),
    ROW("allgatherv", allgatherv,
        "allgatherv($self, /, send, counts=None, out=None)\n--\n\n"
        "Put the ranks' buffers one after the other, in rank order. counts: the number of elements of each rank;\n"
        "without it the ranks tell each other first."),
    ROW("gather_into", gather_into,
        "gather_into($self, /, region, send, counts=None)\n--\n\n"
        "As allgatherv, into a region: where memory is shared each rank copies only its own part."),
    ROW("split_local", split_local,
        "split_local($self, /)\n--\n\n"
        "A communicator of the ranks that share this rank's memory."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_comm},   {Py_tp_dealloc, dealloc},           {Py_tp_methods, methods},
    {Py_tp_getset, getters}, {Py_tp_doc, "Base of cobre.Comm."}, {0, NULL},
};

PyType_Spec comm_spec = {
    .name = "cobre._cobre.Comm",
    .basicsize = sizeof(comm_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
