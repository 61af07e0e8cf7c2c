/* SPDX-License-Identifier: Apache-2.0 */
/* python.h: the extension module cobre._cobre: CPython's stable ABI over comm.h.
 *
 * A communicator of C lives in a `struct handle`, which the Python objects share: the Comm, its Regions, and whatever shall
 * leave the job later. The GIL guards all of this; it is released only inside calls that may block. */
#ifndef COBRE_PYTHON_PYTHON_H
#define COBRE_PYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000 /* 3.11: the first with the buffer protocol */
#include <Python.h>

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cobre/comm.h"

/* One region of a communicator, from its creation to its collective free. */
struct record {
    cobre_region *region;
    struct region_object *object; /* NULL: gone without free() */
    struct record *next;          /* created later */
};

struct handle {
    size_t users;
    cobre_comm *comm;     /* NULL: not open, freed, or left */
    bool busy;            /* a thread is inside a call; others must not touch the rest */
    bool in_turn;         /* and it holds `turn` until the call is over */
    pid_t process;        /* that `busy` and `turn` belong to */
    pthread_mutex_t turn; /* who has it may begin a call, of those that wait for each other */
    bool gone;            /* for its users it is not open: it is being freed, or left */
    struct record *records;
};

typedef struct {
    PyObject_HEAD struct handle *handle; /* never NULL, and always the same */
} comm_object;

/* The shared memory, and the object of all its views. */
typedef struct region_object {
    PyObject_HEAD struct handle *handle; /* NULL: freed */
    struct record *record;               /* NULL: freed */
    cobre_memory *memory;                /* stays until this object and all views are gone */
    char *data;
    Py_ssize_t count, size; /* elements, and the bytes of one */
    cobre_type type;
    bool leads, sealed;
    Py_ssize_t writable; /* views that can write */
} region_object;

/* A part of a region that this rank may write; the object of a memoryview. */
typedef struct {
    PyObject_HEAD region_object *region;
    Py_ssize_t first, count;
} claim_object;

/* Of the module. */
struct state {
    PyTypeObject *comm_type, *region_type, *claim_type;
    PyTypeObject *problem_type, *policy_type, *builder_type, *block_type; /* of the planner, if it is built in */
    PyObject *make_error;                                                 /* make_error(json), of _errors.py */
    PyObject *make_result; /* make_result(like, format, count), of _comm.py */
};

/* What the arguments of a call give: bytes with a type. */
struct operand {
    Py_buffer view;
    const char *full_format; /* of one element */
    const char *format;      /* the same without the mark of the byte order, if it is this machine's */
    cobre_type type;         /* COBRE_U8 for elements that no reduction knows: `count` is then in bytes */
    size_t count;
    bool reducible;
};

/* call.c: entering and leaving the library. False: an exception is set. */
cobre_comm *open_comm_of(const struct handle *handle); /* NULL: there is none */
bool is_open(struct state *state, const struct handle *handle);
bool is_busy(const struct handle *handle);                                        /* then an exception is set */
void take_turn(struct handle *handle);                                            /* waits; the GIL guards the rest */
void end_turn(struct handle *handle);                                             /* before the GIL is released */
bool enter_call(struct handle *handle);                                           /* releases the GIL */
bool leave_call(struct state *state, struct handle *handle, cobre_status status); /* and takes it again */
int ask_signals(void *unused);                                                    /* cobre_config.interrupted */
void take_gil(void); /* in a callback, between enter_call and leave_call */
void give_gil(void);
PyObject *watch_processes(PyObject *module, PyObject *descriptors); /* of the module: watch(descriptors) */
extern _Thread_local int (*signals_of_call)(
    void);                                  /* what ask_signals asks instead, in calls that end in their own way */
PyObject *raise_error(struct state *state); /* the thread's last error of the library */

/* call.c: handles. */
struct handle *new_handle(void);
void leave_job(struct handle *handle); /* as a process that exits: it does not wait for the others */
void release_handle(struct handle *handle);
void forget_record(struct handle *handle, struct record *record); /* whose region is freed */

/* operand.c: false: an exception is set. `name` is the argument's. */
bool take_operand(PyObject *object, const char *name, bool writable, struct operand *operand);
void drop_operand(struct operand *operand);
bool same_elements(const struct operand *send, const struct operand *out);
bool take_size(PyObject *object, const char *name, size_t *number); /* 0 or more; NULL gives 0 */
const char *format_of(cobre_type type);
bool type_of_format(const char *format, cobre_type *type);

/* operand.c: arguments by position or name. `found` has a place for each of `names`, NULL at the end. */
bool take_arguments(const char *function, const char *const *names, size_t needed, PyObject *const *arguments,
                    Py_ssize_t given, PyObject *keywords, PyObject **found);

/* A method, and its row in the table of its type. */
#define METHOD(function)                                                                                               \
    static PyObject *function(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t given,        \
                              PyObject *keywords)
#define ROW(name, function, text)                                                                                      \
    { name, (PyCFunction)(void (*)(void))function, METH_METHOD | METH_FASTCALL | METH_KEYWORDS, text }
/* In a method: the state, and the arguments by their names in found[]. */
#define TAKE(function, needed, ...)                                                                                    \
    static const char *const names[] = {__VA_ARGS__ NULL};                                                             \
    PyObject *found[sizeof names / sizeof *names];                                                                     \
    struct state *state = PyType_GetModuleState(type);                                                                 \
    if (!state || !take_arguments(function, names, needed, arguments, given, keywords, found))                         \
        return NULL;

void free_object(PyObject *self); /* the last step of a dealloc */
extern PyType_Spec comm_spec, region_spec, claim_spec;
PyObject *new_region(struct state *state, struct handle *handle, size_t count, cobre_type type);
void region_freed(region_object *region); /* by itself, or by its communicator */

#endif
