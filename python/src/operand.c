/* SPDX-License-Identifier: Apache-2.0 */
/* operand.c: from Python's arguments to what the library takes. */
#include "python.h"

#include <string.h>

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

/* The exporter has raised what it likes. If its buffer is of another kind than we need, ours is a TypeError that says what
 * to do; if there is none at all, the exporter's says why. */
static bool refuse(PyObject *object, const char *name) {
    Py_buffer view;
    bool exports = PyObject_CheckBuffer(object);
    PyErr_Clear();
    if (exports && PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) != 0)
        return false;
    PyObject *type = PyType_GetName(Py_TYPE(object));
    if (!exports)
        PyErr_Format(PyExc_TypeError,
                     "%s: '%V' has no buffer; pass a NumPy array, an array.array or a memoryview (objects of any "
                     "kind: broadcast_object, allgather_object)",
                     name, type, "?");
    else if (PyBuffer_IsContiguous(&view, 'C'))
        PyErr_Format(PyExc_TypeError, "%s: this '%V' is read-only, but the result goes there", name, type, "?");
    else
        PyErr_Format(PyExc_TypeError,
                     "%s: the elements of this '%V' do not lie side by side (C-contiguous); pass a copy, such as "
                     "numpy.ascontiguousarray(x)",
                     name, type, "?");
    if (exports)
        PyBuffer_Release(&view);
    Py_XDECREF(type);
    return false;
}

bool take_size(PyObject *object, const char *name, size_t *number) {
    *number = 0;
    if (!object)
        return true;
    PyObject *whole = PyNumber_Index(object);
    if (whole) {
        *number = PyLong_AsSize_t(whole);
        Py_DECREF(whole);
    } else if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Format(PyExc_TypeError, "%s: %R is not an integer", name, object);
    }
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_Format(PyExc_ValueError, "%s: %R is negative or too large", name, object);
    return !PyErr_Occurred();
}

/* Does the format speak of Python objects or of pointers? Names of fields stand between colons. 'Z' is a pointer, unless a
 * complex number follows. */
static bool has_pointers(const char *format) {
    bool in_name = false;
    for (const char *at = format; *at; at++) {
        if (*at == ':')
            in_name = !in_name;
        else if (!in_name && (strchr("O&PXz", *at) || (*at == 'Z' && !(at[1] && strchr("fdg", at[1])))))
            return true;
    }
    return false;
}

/* What a reduction makes of an element; 0: nothing. */
static cobre_type type_of(char kind, Py_ssize_t size) {
    if (strchr("bhilqn", kind))
        return size == 4 ? COBRE_I32 : size == 8 ? COBRE_I64 : (cobre_type)0;
    if (kind == 'B') /* ctypes calls a union so, whatever its size */
        return size == 1 ? COBRE_U8 : (cobre_type)0;
    if (strchr("HILQN", kind))
        return size == 4 ? COBRE_U32 : size == 8 ? COBRE_U64 : (cobre_type)0;
    if (strchr("fdg", kind))
        return size == 4 ? COBRE_F32 : size == 8 ? COBRE_F64 : (cobre_type)0;
    return (cobre_type)0;
}

bool take_operand(PyObject *object, const char *name, bool writable, struct operand *operand) {
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &operand->view, flags) != 0)
        return refuse(object, name);
    const Py_buffer *view = &operand->view;
    const char *format = operand->full_format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    cobre_type type = *format && !format[1] ? type_of(*format, view->itemsize) : (cobre_type)0;
    operand->format = format;
    operand->reducible = type != 0;
    operand->type = type ? type : COBRE_U8;
    operand->count = (size_t)(type ? view->len / view->itemsize : view->len);
    bool pointers = has_pointers(format);
    if (!pointers && (!type || view->len == 0 || ((uintptr_t)view->buf & (uintptr_t)(view->itemsize - 1)) == 0))
        return true;
    PyErr_Format(PyExc_TypeError,
                 pointers ? "%s: its elements are Python objects or pointers; use broadcast_object or allgather_object"
                          : "%s: its elements do not lie at multiples of their size; pass a copy",
                 name);
    PyBuffer_Release(&operand->view);
    return false;
}

void drop_operand(struct operand *operand) {
    PyBuffer_Release(&operand->view);
}

/* Types of which the library knows nothing go as bytes: out may say what they are, or have bytes. */
bool same_elements(const struct operand *send, const struct operand *out) {
    bool same = send->reducible ? out->reducible && send->type == out->type
                                : !strcmp(send->format, out->format) || !strcmp(out->format, "B");
    if (same)
        return true;
    PyErr_Format(PyExc_TypeError, "out: its elements have the format '%s', those of send '%s'", out->full_format,
                 send->full_format);
    return false;
}

static const char *const formats[] = {[COBRE_U8] = "B",  [COBRE_I32] = "i", [COBRE_U32] = "I", [COBRE_I64] = "q",
                                      [COBRE_U64] = "Q", [COBRE_F32] = "f", [COBRE_F64] = "d"};

const char *format_of(cobre_type type) {
    return formats[type];
}

bool type_of_format(const char *format, cobre_type *type) {
    for (size_t t = COBRE_U8; t < sizeof formats / sizeof *formats; t++)
        if (strcmp(formats[t], format) == 0) {
            *type = (cobre_type)t;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "format: '%s' is none of B, i, I, q, Q, f, d", format);
    return false;
}
