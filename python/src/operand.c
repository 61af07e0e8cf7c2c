/* operand.c: from Python's arguments to what the library takes. */
#include "python.h"

#include <string.h>

enum { MOST_NAMES = 8 };

bool take_arguments(const char *function, const char *const *names, size_t needed, PyObject *const *arguments,
                    Py_ssize_t given, PyObject *keywords, PyObject **found) {
    size_t most = 0, pairs = keywords ? (size_t)PyTuple_Size(keywords) : 0;
    while (names[most])
        found[most++] = NULL;
    if ((size_t)given > most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments (%zd given)", function, most, given);
        return false;
    }
    for (Py_ssize_t i = 0; i < given; i++)
        found[i] = arguments[i];
    for (size_t k = 0; k < pairs; k++) {
        PyObject *word = PyTuple_GetItem(keywords, (Py_ssize_t)k);
        size_t i = 0;
        while (i < most && PyUnicode_CompareWithASCIIString(word, names[i]) != 0)
            i++;
        if (i == most || found[i]) {
            PyErr_Format(PyExc_TypeError,
                         i == most ? "%s() has no argument '%U'" : "%s() got two values for argument '%U'", function,
                         word);
            return false;
        }
        found[i] = arguments[(size_t)given + k];
    }
    for (size_t i = 0; i < needed; i++)
        if (!found[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", function, names[i]);
            return false;
        }
    return true;
}

/* The exporter has raised what it likes. Ours are TypeErrors that say what to do. */
static bool refuse(PyObject *object, const char *name, bool writable) {
    PyErr_Clear();
    PyObject *type = PyType_GetName(Py_TYPE(object)); /* new */
    if (!type)
        return false;
    if (!PyObject_CheckBuffer(object))
        PyErr_Format(PyExc_TypeError,
                     "%s: a %U has no buffer; pass a NumPy array, an array.array or a memoryview (objects of any "
                     "kind: broadcast_object, allgather_object)",
                     name, type);
    else {
        Py_buffer view;
        bool contiguous = PyObject_GetBuffer(object, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0;
        if (contiguous)
            PyBuffer_Release(&view);
        PyErr_Clear();
        if (contiguous && writable)
            PyErr_Format(PyExc_TypeError, "%s: this %U is read-only, but the result goes there", name, type);
        else
            PyErr_Format(PyExc_TypeError,
                         "%s: the elements of this %U do not lie side by side (C-contiguous); pass a copy, such as "
                         "numpy.ascontiguousarray(x)",
                         name, type);
    }
    Py_DECREF(type);
    return false;
}

static bool is_big_endian(char mark) {
    return mark == '>' || mark == '!';
}

/* What a reduction makes of an element; 0: nothing. */
static cobre_type type_of(char kind, Py_ssize_t size) {
    if (strchr("bhilqn", kind))
        return size == 4 ? COBRE_I32 : size == 8 ? COBRE_I64 : (cobre_type)0;
    if (strchr("BHILQN", kind))
        return size == 1 ? COBRE_U8 : size == 4 ? COBRE_U32 : size == 8 ? COBRE_U64 : (cobre_type)0;
    if (strchr("fdg", kind))
        return size == 4 ? COBRE_F32 : size == 8 ? COBRE_F64 : (cobre_type)0;
    return (cobre_type)0;
}

bool take_operand(PyObject *object, const char *name, bool writable, struct operand *operand) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &operand->view, flags) != 0)
        return refuse(object, name, writable);
    const Py_buffer *view = &operand->view;
    const char *format = view->format ? view->format : "B";
    bool swapped = is_big_endian(format[0]);
    format += swapped || strchr("@=<", format[0]) != NULL;
    if (strchr(format, 'O')) {
        PyErr_Format(PyExc_TypeError, "%s: its elements are Python objects; use broadcast_object or allgather_object",
                     name);
        PyBuffer_Release(&operand->view);
        return false;
    }
    cobre_type type = format[0] && !format[1] && !swapped ? type_of(format[0], view->itemsize) : (cobre_type)0;
    operand->reducible = type != 0;
    operand->type = type ? type : COBRE_U8;
    operand->count = (size_t)(type ? view->len / view->itemsize : view->len);
    return true;
}

void drop_operand(struct operand *operand) {
    PyBuffer_Release(&operand->view);
}

bool same_elements(const struct operand *send, const struct operand *out) {
    if (send->type == out->type && send->view.itemsize == out->view.itemsize)
        return true;
    PyErr_Format(PyExc_TypeError, "out: its elements have the format '%s', those of send '%s'",
                 out->view.format ? out->view.format : "B", send->view.format ? send->view.format : "B");
    return false;
}

static const struct {
    const char *name, *format;
} types[] = {[COBRE_U8] = {"u8", "B"},  [COBRE_I32] = {"i32", "i"}, [COBRE_U32] = {"u32", "I"}, [COBRE_I64] = {"i64", "q"},
             [COBRE_U64] = {"u64", "Q"}, [COBRE_F32] = {"f32", "f"}, [COBRE_F64] = {"f64", "d"}};

const char *format_of(cobre_type type) {
    return types[type].format;
}

bool type_of_name(const char *name, cobre_type *type) {
    for (size_t t = COBRE_U8; t < sizeof types / sizeof *types; t++)
        if (strcmp(types[t].name, name) == 0) {
            *type = (cobre_type)t;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "dtype: '%s' is none of u8, i32, u32, i64, u64, f32, f64", name);
    return false;
}
