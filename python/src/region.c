/* SPDX-License-Identifier: Apache-2.0 */
/* region.c: the type _cobre.Region: shared memory with the buffer protocol.
 *
 * A view keeps the Region, and the Region keeps the mapping: what is mapped stays so until the last view is gone, whoever has
 * freed the region in the meantime. A view that can write must be gone before seal(), because afterwards a write is a
 * segmentation fault. */
#include "python.h"

#include <stdlib.h>

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
    made->size = (Py_ssize_t)cobre_type_size(type);
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
    if (region->record)
        region->record->object = NULL; /* its communicator frees it */
    if (region->handle)
        release_handle(region->handle);
    cobre_memory_free(&region->memory);
    free_object(self);
}

static bool is_freed(const region_object *region) {
    if (!region->record)
        PyErr_SetString(PyExc_ValueError, "this region was freed");
    return !region->record;
}

/* ---- Calls ---- */

#define TAKE_REGION(...)                                                                                               \
    TAKE(__VA_ARGS__)                                                                                                  \
    region_object *region = (region_object *)self;

METHOD(fence) {
    TAKE_REGION("fence", 0)
    if (is_freed(region) || !enter_call(region->handle))
        return NULL;
    return leave_call(state, region->handle, cobre_region_fence(region->record->region)) ? Py_NewRef(Py_None) : NULL;
}

METHOD(seal) {
    TAKE_REGION("seal", 0)
    if (is_freed(region))
        return NULL;
    if (region->writable) {
        PyErr_Format(PyExc_BufferError,
                     "seal: there are views of this region that can write (%zd); delete them first, because a write "
                     "after the seal would end the process",
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
        return Py_NewRef(Py_None);
    region->sealed = was || status == COBRE_ALLOCATION_FAILED; /* which is sealed all the same */
    return NULL;
}

METHOD(free_region) {
    TAKE_REGION("free", 0)
    if (!region->record)
        return Py_NewRef(Py_None);
    struct handle *handle = region->handle;
    struct record *record = region->record;
    if (!enter_call(handle))
        return NULL;
    if (!leave_call(state, handle, cobre_region_free(&record->region)))
        return NULL;
    forget_record(handle, record);
    region_freed(region);
    return Py_NewRef(Py_None);
}

METHOD(claim) {
    TAKE_REGION("claim", 2, "first", "count", )
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
    made->region = (region_object *)Py_NewRef(self);
    made->first = (Py_ssize_t)first;
    made->count = (Py_ssize_t)count;
    PyObject *view = PyMemoryView_FromObject((PyObject *)made);
    Py_DECREF(made);
    return view;
}

METHOD(enter) {
    TAKE_REGION("__enter__", 0)
    (void)state;
    return is_freed(region) ? NULL : Py_NewRef(self);
}

/* After an exception the others may be elsewhere: the communicator frees the region. */
METHOD(leave) {
    if (given > 0 && arguments[0] != Py_None)
        return Py_NewRef(Py_None);
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

/* The exporter lives as long as the view, and so do its count and the region's element size. */
static int fill_view(PyObject *exporter, region_object *region, Py_ssize_t first, Py_ssize_t *count, bool may_write,
                     Py_buffer *view, int flags) {
    static char nothing;
    *view = (Py_buffer){.obj = NULL};
    if (is_freed(region))
        return -1;
    if ((flags & PyBUF_WRITABLE) && (!may_write || region->sealed)) {
        PyErr_SetString(PyExc_BufferError, region->sealed
                                               ? "this region is sealed"
                                               : "a follower reads the region; claim() gives a part to write");
        return -1;
    }
    *view = (Py_buffer){
        .buf = *count ? region->data + first * region->size : &nothing,
        .obj = Py_NewRef(exporter),
        .len = *count * region->size,
        .itemsize = region->size,
        .readonly = !may_write || region->sealed,
        .ndim = 1,
        .format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)format_of(region->type) : NULL,
        .shape = (flags & PyBUF_ND) ? count : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &region->size : NULL,
    };
    region->writable += !view->readonly;
    return 0;
}

static int region_view(PyObject *self, Py_buffer *view, int flags) {
    region_object *region = (region_object *)self;
    return fill_view(self, region, 0, &region->count, region->leads, view, flags);
}

static void region_release(PyObject *self, Py_buffer *view) {
    ((region_object *)self)->writable -= !view->readonly;
}

static int claim_view(PyObject *self, Py_buffer *view, int flags) {
    claim_object *part = (claim_object *)self;
    return fill_view(self, part->region, part->first, &part->count, true, view, flags);
}

static void claim_release(PyObject *self, Py_buffer *view) {
    ((claim_object *)self)->region->writable -= !view->readonly;
}

static void claim_dealloc(PyObject *self) {
    Py_XDECREF((PyObject *)((claim_object *)self)->region);
    free_object(self);
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

static PyMethodDef methods[] = {
    ROW("fence", fence,
        "fence($self, /)\n--\n\n"
        "What any rank of the node wrote before it, every rank reads after it. Collective."),
    ROW("seal", seal,
        "seal($self, /)\n--\n\n"
        "A fence; then the region is read-only for everyone. Collective."),
    ROW("claim", claim,
        "claim($self, /, first, count)\n--\n\n"
        "A memoryview of that part, for writing, on any rank. Claims of several ranks must not overlap."),
    ROW("free", free_region,
        "free($self, /)\n--\n\n"
        "Give the region back, in the same order on all ranks. Collective. Views that are left keep their memory."),
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
