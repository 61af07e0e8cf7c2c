/* region.c: the type _cobre.Region: shared memory with the buffer protocol.
 *
 * A view keeps the Region, and the Region keeps the mapping: what is mapped stays so until the last view is gone, whoever has
 * freed the region in the meantime. A view that can write must be gone before seal(), because afterwards a write is a
 * segmentation fault. */
#include "python.h"

#include <stdlib.h>

static PyObject *none(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *new_region(struct state *state, struct handle *handle, size_t count, cobre_type type) {
    struct record *record = calloc(1, sizeof *record);
    if (!record)
        return PyErr_NoMemory();
    region_object *made = (region_object *)PyType_GenericAlloc(state->region_type, 0);
    if (!made || !enter_call(handle)) {
        free(record);
        Py_XDECREF((PyObject *)made);
        return NULL;
    }
    cobre_status status = cobre_region_create(handle->comm, count, type, 0, &record->region);
    if (status == COBRE_OK) {
        status = cobre_region_detach(record->region, &made->memory);
        if (status != COBRE_OK)
            cobre_region_free(&record->region);
    }
    bool good = leave_call(state, handle, status);
    if (status != COBRE_OK) {
        free(record);
        Py_DECREF(made);
        return NULL;
    }
    handle->users++;
    made->handle = handle;
    made->record = record;
    made->data = (char *)(uintptr_t)cobre_region_data(record->region);
    made->count = (Py_ssize_t)count;
    made->type = type;
    made->leads = cobre_is_leader(handle->comm);
    record->object = made;
    struct record **link = &handle->records;
    while (*link)
        link = &(*link)->next;
    *link = record;
    if (!good) /* a signal came as it was made */
        Py_CLEAR(made);
    return (PyObject *)made;
}

void region_freed(region_object *region) {
    struct handle *handle = region->handle;
    region->record = NULL;
    region->handle = NULL;
    if (handle)
        release_handle(handle);
}

static void dealloc(PyObject *self) {
    region_object *region = (region_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (region->record)
        region->record->object = NULL; /* its communicator frees it */
    if (region->handle)
        release_handle(region->handle);
    cobre_memory_free(&region->memory);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static bool is_freed(const region_object *region) {
    if (!region->record)
        PyErr_SetString(PyExc_ValueError, "this region was freed");
    return !region->record;
}

/* ---- Calls ---- */

#define METHOD(function)                                                                                               \
    static PyObject *function(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t given,        \
                              PyObject *keywords)
#define TAKE(function, needed, ...)                                                                                    \
    static const char *const names[] = {__VA_ARGS__ NULL};                                                             \
    PyObject *found[sizeof names / sizeof *names];                                                                     \
    struct state *state = PyType_GetModuleState(type);                                                                 \
    region_object *region = (region_object *)self;                                                                     \
    if (!state || !take_arguments(function, names, needed, arguments, given, keywords, found))                         \
        return NULL;

METHOD(fence) {
    TAKE("fence", 0)
    if (is_freed(region) || !enter_call(region->handle))
        return NULL;
    return leave_call(state, region->handle, cobre_region_fence(region->record->region)) ? none() : NULL;
}

METHOD(seal) {
    TAKE("seal", 0)
    if (is_freed(region))
        return NULL;
    if (region->writable) {
        PyErr_Format(
            PyExc_BufferError,
            "seal: %zd views of this region can write, and a write after the seal would end the process; delete "
            "them first",
            region->writable);
        return NULL;
    }
    if (is_busy(region->handle))
        return NULL;
    bool was = region->sealed;
    region->sealed = true; /* already while it waits: no new view can write */
    enter_call(region->handle);
    cobre_status status = cobre_region_seal(region->record->region);
    if (leave_call(state, region->handle, status))
        return none();
    region->sealed = was || status == COBRE_ALLOCATION_FAILED; /* which is sealed all the same */
    return NULL;
}

METHOD(free_region) {
    TAKE("free", 0)
    if (!region->record)
        return none();
    struct handle *handle = region->handle;
    struct record *record = region->record;
    if (!enter_call(handle))
        return NULL;
    if (!leave_call(state, handle, cobre_region_free(&record->region)))
        return NULL;
    forget_record(handle, record);
    region_freed(region);
    return none();
}

METHOD(claim) {
    TAKE("claim", 2, "first", "count", )
    size_t first, count;
    if (!take_size(found[0], "first", &first) || !take_size(found[1], "count", &count) || is_freed(region))
        return NULL;
    if (is_busy(region->handle)) /* perhaps with its free */
        return NULL;
    if (!cobre_region_claim(region->record->region, first, count))
        return raise_error(state);
    claim_object *made = (claim_object *)PyType_GenericAlloc(state->claim_type, 0);
    if (!made)
        return NULL;
    Py_INCREF(self);
    made->region = region;
    made->first = (Py_ssize_t)first;
    made->count = (Py_ssize_t)count;
    PyObject *view = PyMemoryView_FromObject((PyObject *)made);
    Py_DECREF(made);
    return view;
}

METHOD(enter) {
    TAKE("__enter__", 0)
    (void)state;
    if (is_freed(region))
        return NULL;
    Py_INCREF(self);
    return self;
}

/* After an exception the others may be elsewhere: the communicator frees the region. */
METHOD(leave) {
    if (given > 0 && arguments[0] != Py_None)
        return none();
    (void)keywords;
    return free_region(self, type, NULL, 0, NULL);
}

/* NumPy comes here when it has got no buffer, and would go on to make an array of one object. */
METHOD(refuse_array) {
    (void)type, (void)arguments, (void)given, (void)keywords;
    if (!is_freed((region_object *)self))
        PyErr_SetString(PyExc_BufferError, "this region gave no buffer");
    return NULL;
}

/* ---- Views ---- */

static int fill_view(PyObject *exporter, region_object *region, Py_ssize_t first, Py_ssize_t count, bool may_write,
                     Py_buffer *view, int flags) {
    static char nothing;
    Py_ssize_t size = (Py_ssize_t)cobre_type_size(region->type);
    *view = (Py_buffer){.obj = NULL};
    if (!region->record) {
        is_freed(region);
        return -1;
    }
    if ((flags & PyBUF_WRITABLE) && (!may_write || region->sealed)) {
        PyErr_SetString(PyExc_BufferError, region->sealed
                                               ? "this region is sealed"
                                               : "a follower reads the region; claim() gives a part to write");
        return -1;
    }
    /* One dimension: the arrays live as long as the view, in one block. */
    Py_ssize_t *shape = malloc(2 * sizeof *shape);
    if (!shape) {
        PyErr_NoMemory();
        return -1;
    }
    shape[0] = count;
    shape[1] = size;
    *view = (Py_buffer){
        .buf = count ? region->data + first * size : &nothing,
        .obj = exporter,
        .len = count * size,
        .itemsize = size,
        .readonly = !may_write || region->sealed,
        .ndim = 1,
        .format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)format_of(region->type) : NULL,
        .shape = (flags & PyBUF_ND) ? &shape[0] : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &shape[1] : NULL,
        .internal = shape,
    };
    Py_INCREF(exporter);
    region->writable += !view->readonly;
    return 0;
}

static void release(region_object *region, Py_buffer *view) {
    region->writable -= !view->readonly;
    free(view->internal);
}

static int region_view(PyObject *self, Py_buffer *view, int flags) {
    region_object *region = (region_object *)self;
    return fill_view(self, region, 0, region->count, region->leads, view, flags);
}

static void region_release(PyObject *self, Py_buffer *view) {
    release((region_object *)self, view);
}

static int claim_view(PyObject *self, Py_buffer *view, int flags) {
    claim_object *part = (claim_object *)self;
    return fill_view(self, part->region, part->first, part->count, true, view, flags);
}

static void claim_release(PyObject *self, Py_buffer *view) {
    release(((claim_object *)self)->region, view);
}

static void claim_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF((PyObject *)((claim_object *)self)->region);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static Py_ssize_t length(PyObject *self) {
    return ((region_object *)self)->count;
}

static PyObject *get_format(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(format_of(((region_object *)self)->type));
}

static PyObject *get_sealed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((region_object *)self)->sealed);
}

static PyGetSetDef getters[] = {
    {"format", get_format, NULL, "The format of an element, as in struct and array: 'd' for float64.", NULL},
    {"sealed", get_sealed, NULL, "Is it read-only for everyone?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define ROW(name, function, text)                                                                                      \
    { name, (PyCFunction)(void (*)(void))function, METH_METHOD | METH_FASTCALL | METH_KEYWORDS, text }
static PyMethodDef methods[] = {
    ROW("fence", fence,
        "fence()\n--\n\nWhat any rank of the node wrote before it, every rank reads after it. Collective."),
    ROW("seal", seal, "seal()\n--\n\nA fence; then the region is read-only for everyone. Collective."),
    ROW("claim", claim,
        "claim(first, count)\n--\n\nA memoryview of that part, for writing, on any rank. Who claims what is for the "
        "program "
        "to keep apart."),
    ROW("free", free_region,
        "free()\n--\n\nGive the region back, in the same order on all ranks. Collective. Views that are left keep "
        "their memory."),
    ROW("__array__", refuse_array, NULL),
    ROW("__enter__", enter, NULL),
    ROW("__exit__", leave, NULL),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Memory that the ranks of a node share; comm.region() makes it. A buffer: numpy.asarray(region) is a view of it, "
     "for\nwriting on the leader of the node until seal(), else for reading. Views keep the memory, whoever frees the "
     "region.\n"
     "\n`with comm.region(...) as region:` frees it at the end, as free() does: on all ranks. After an exception its\n"
     "communicator frees it."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_sq_length, length},
    {Py_bf_getbuffer, region_view},
    {Py_bf_releasebuffer, region_release},
    {0, NULL},
};
PyType_Spec region_spec = {
    .name = "cobre.Region",
    .basicsize = sizeof(region_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

static PyType_Slot claim_slots[] = {
    {Py_tp_dealloc, claim_dealloc},
    {Py_bf_getbuffer, claim_view},
    {Py_bf_releasebuffer, claim_release},
    {0, NULL},
};
PyType_Spec claim_spec = {
    .name = "cobre._cobre.Claim",
    .basicsize = sizeof(claim_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = claim_slots,
};
