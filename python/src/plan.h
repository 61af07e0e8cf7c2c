/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: the planner in the extension module: sddp.h, and the runs that the command line makes.
 *
 * A Problem and a Policy belong to a communicator of one rank, which is their own user's. What several ranks do happens in one call:
 * the problem is shared with them, and what they made is freed again at its end. */
#ifndef COBRE_PYTHON_PLAN_H
#define COBRE_PYTHON_PLAN_H

#include "python.h"

#include "cobre/sddp.h"

typedef struct {
    PyObject_HEAD comm_object *comm;
    cobre_sddp_problem *problem; /* never NULL */
} problem_object;

typedef struct {
    PyObject_HEAD problem_object *problem; /* NULL: read without its problem */
    cobre_sddp_policy *policy;             /* never NULL */
} policy_object;

extern PyType_Spec problem_spec, policy_spec, builder_spec, block_spec;
extern PyMethodDef plan_functions[], run_functions[]; /* of the module; NULL after the last */

/* Takes the problem, also when it fails. */
PyObject *new_problem(struct state *state, comm_object *comm, cobre_sddp_problem *problem);
PyObject *new_policy(struct state *state, problem_object *problem, cobre_sddp_policy *policy);

/* The object that an argument is, or NULL with an exception; None gives NULL without one, if it may be None. */
comm_object *take_comm(struct state *state, PyObject *object);
problem_object *take_problem(struct state *state, PyObject *object, bool may_be_none);
policy_object *take_policy(struct state *state, PyObject *object, bool may_be_none);

/* Entering a call on a case; leave_call ends it. Calls that take a moment wait for each other. So does one that takes long, which
 * others cannot wait for: while it runs they fail. False: an exception is set. */
bool enter_case(const problem_object *problem);
bool is_case_busy(const problem_object *problem); /* then an exception is set */

/* A str. Texts of a file need not be UTF-8. */
PyObject *text_of(const char *text);

/* A text, or NULL for None. False: an exception is set. It lives as long as the object. */
bool take_text(PyObject *object, const char *name, const char **text);

/* What a call without the GIL hears of a case: issues, kept for Python. */
struct issues {
    PyObject *list; /* of tuples (file, line, place, message, suggestion, warning, more) */
};
void keep_issue(void *issues, const cobre_sddp_issue *issue); /* for cobre_sddp_load_options.issue; takes the GIL */

/* Options of the command line, by its tables: (name, text or None) each. */
struct option_table {
    const struct cb_option *rows;
    void *fields;
};
bool set_options(const struct option_table *tables, PyObject *pairs); /* false: an exception is set */

#endif
