/* SPDX-License-Identifier: Apache-2.0 */
/* call.c: how Python threads enter the library, and how they come back.
 *
 * A call that may block runs without the GIL. While it waits the library asks ask_signals at least every 100 ms; that takes
 * the GIL for a moment and lets Python run its signal handlers, so that Ctrl-C ends the wait. */
#include "python.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static _Thread_local PyThreadState *waiting; /* this thread's, while it is inside a call */
_Thread_local int (*signals_of_call)(void);

static _Thread_local struct pollfd *watched;
static _Thread_local nfds_t watching;

/* watch(descriptors): while this thread waits for others to join, its call ends when one of these becomes readable: a process that
 * has ended. An empty tuple ends the watch. */
PyObject *watch_processes(PyObject *module, PyObject *descriptors) {
    (void)module;
    Py_ssize_t count = PyTuple_Size(descriptors);
    struct pollfd *list = count > 0 ? calloc((size_t)count, sizeof *list) : NULL;
    if (count > 0 && !list)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++)
        list[i] = (struct pollfd){.fd = (int)PyLong_AsLong(PyTuple_GetItem(descriptors, i)), .events = POLLIN};
    free(watched);
    watched = list;
    watching = count > 0 ? (nfds_t)count : 0;
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

void take_gil(void) {
    PyEval_RestoreThread(waiting);
}

void give_gil(void) {
    waiting = PyEval_SaveThread();
}

static void set_error(struct state *state, const char *json) {
    PyObject *error = PyObject_CallFunction(state->make_error, "s", json);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
}

cobre_comm *open_comm_of(const struct handle *handle) {
    return handle->gone ? NULL : handle->comm;
}

bool is_open(struct state *state, const struct handle *handle) {
    static const char closed[] = "{\"kind\": \"InvalidCommunicator\", \"message\": \"this communicator is not open\", "
                                 "\"context\": {}, \"suggestion\": \"use it before it is freed, or open another\"}";
    if (open_comm_of(handle))
        return true;
    set_error(state, closed);
    return false;
}

bool is_busy(const struct handle *handle) {
    if (handle->busy)
        PyErr_SetString(PyExc_RuntimeError, "another call on this communicator is not over: one thread at a time");
    return handle->busy;
}

void take_turn(struct handle *handle) {
    if (handle->process != getpid()) { /* the child of a fork: it has no other threads that could end their calls */
        pthread_mutex_init(&handle->turn, NULL);
        handle->busy = handle->in_turn = false;
        handle->process = getpid();
    }
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&handle->turn);
    PyEval_RestoreThread(thread);
}

void end_turn(struct handle *handle) {
    handle->in_turn = false;
    pthread_mutex_unlock(&handle->turn);
}

bool enter_call(struct handle *handle) {
    if (is_busy(handle))
        return false;
    handle->users++;
    handle->busy = true;
    waiting = PyEval_SaveThread();
    return true;
}

bool leave_call(struct state *state, struct handle *handle, cobre_status status) {
    PyEval_RestoreThread(waiting);
    waiting = NULL;
    handle->busy = false;
    if (handle->in_turn)
        end_turn(handle);
    if (status != COBRE_OK && !PyErr_Occurred())
        raise_error(state);
    release_handle(handle);
    return status == COBRE_OK && !PyErr_Occurred();
}

/* Only the main thread handles signals. Another must not ask for the GIL here: when the interpreter ends, that would end
 * the thread in the middle of the library. */
int ask_signals(void *unused) {
    (void)unused;
    if (watching > 0 && poll(watched, watching, 0) > 0)
        return -1;
    if (signals_of_call)
        return signals_of_call();
    if (gettid() != getpid())
        return 0;
    take_gil();
    int stop = PyErr_Occurred() ? -1 : PyErr_CheckSignals();
    give_gil();
    return stop;
}

PyObject *raise_error(struct state *state) {
    char text[16384];
    cobre_error_json(cobre_last_error(), text, sizeof text);
    set_error(state, text);
    return NULL;
}

struct handle *new_handle(void) {
    struct handle *handle = calloc(1, sizeof *handle);
    if (!handle) {
        PyErr_NoMemory();
        return NULL;
    }
    handle->users = 1;
    handle->process = getpid();
    pthread_mutex_init(&handle->turn, NULL);
    return handle;
}

/* On mpi a free waits for the others: there the communicator stays open, as in a process that exits without it. In the
 * child of a fork the library refuses, which is right: it is the parent's. */
void leave_job(struct handle *handle) {
    if (!handle->comm || handle->busy)
        return;
    bool waits = cobre_comm_backend(handle->comm) == COBRE_MPI;
    for (struct record *record = handle->records, *next; record; record = next) {
        next = record->next;
        if (record->object)
            region_freed(record->object);
        if (!waits)
            cobre_region_free(&record->region);
        free(record);
    }
    handle->records = NULL;
    if (!waits)
        cobre_comm_free(&handle->comm);
    handle->comm = NULL;
}

void release_handle(struct handle *handle) {
    if (--handle->users > 0)
        return;
    leave_job(handle);
    free(handle);
}

void forget_record(struct handle *handle, struct record *record) {
    struct record **link = &handle->records;
    while (*link != record)
        link = &(*link)->next;
    *link = record->next;
    free(record);
}
