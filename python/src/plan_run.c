/* SPDX-License-Identifier: Apache-2.0 */
/* plan_run.c: training and simulating, on one rank or on several.
 *
 * Such a call may take long. It runs without the GIL, and calls back for events and signals. Ctrl-C, an exception of a callback and
 * a callback that asks to stop end it as a signal ends the command: after the iteration, or, a second time and when its grace is
 * over, at once. What is complete by then is kept. */
#include "plan.h"

#include "sddp/clock.h"
#include "sddp/run/option_tables.h"
#include "sddp/run/simulate_run.h"
#include "sddp/run/train_text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOWHERE "/dev/null" /* as a folder: LPs without a solution are not written */

/* One call, while it runs. */
struct run {
    PyObject *callback;             /* gets each event, or each note, as str; true: stop. None: nobody listens */
    PyObject *type, *value, *trace; /* the first exception of a handler or a callback; NULL: none */
    bool broken;                    /* who asked twice breaks the job */
    int wish;                       /* as cobre_sddp_train_options.stop returns it */
    double grace, asked_at, looked_at;
    const struct cb_train_run *train; /* of a training that is logged */
    FILE *log;                        /* NULL: none, or not on this rank */
    cobre_sddp_progress last;         /* the row before, in the log */
};

static _Thread_local struct run *running;

/* An exception, or a wish, asks to stop; the next one, at once. */
static void ask_to_stop(struct run *run) {
    if (run->wish == 0)
        run->asked_at = cb_clock();
    run->wish = run->wish < 2 ? run->wish + 1 : 2;
}

/* With the GIL. */
static void keep_exception(struct run *run) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    ask_to_stop(run);
    if (run->type) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        return;
    }
    run->type = type;
    run->value = value;
    run->trace = trace;
}

static void look_for_signals(struct run *run) {
    double now = cb_clock();
    if (gettid() != getpid() || now < run->looked_at + 0.05)
        return;
    run->looked_at = now;
    take_gil();
    if (PyErr_CheckSignals() != 0) {
        run->broken |= run->wish > 0;
        keep_exception(run);
    }
    give_gil();
}

/* While it waits for other ranks. Only who asks twice breaks the job. */
static int signals_of_run(void) {
    look_for_signals(running);
    return running->broken ? -1 : 0;
}

static int asked(void *arg) {
    struct run *run = arg;
    look_for_signals(run);
    if (run->wish == 1 && cb_clock() > run->asked_at + run->grace)
        run->wish = 2;
    return run->wish;
}

static void tell(struct run *run, const char *text, size_t length) {
    if (run->callback == Py_None)
        return;
    take_gil();
    PyObject *answer = PyObject_CallFunction(run->callback, "s#", text, (Py_ssize_t)length);
    int stop = answer ? PyObject_IsTrue(answer) : -1;
    if (stop < 0)
        keep_exception(run);
    if (stop != 0)
        run->wish = 2; /* the iteration that is told of is complete: the next one, if it has begun, is left out */
    Py_XDECREF(answer);
    give_gil();
}

static void on_event(void *arg, const char *line, size_t length) {
    tell(arg, line, length);
}

static void log_start(void *arg, uint64_t iterations) {
    const struct run *run = arg;
    (void)iterations;
    if (!run->log)
        return;
    const struct cb_train_text text = cb_train_text_of(run->train);
    cb_train_text_start(run->log, run->train);
    cb_train_text_header(run->log, &text);
}

static void log_row(void *arg, const cobre_sddp_progress *now) {
    struct run *run = arg;
    if (!run->log)
        return;
    const struct cb_train_text text = cb_train_text_of(run->train);
    cb_train_text_row(run->log, &text, &run->last, now);
    run->last = *now;
}

/* A stream of lines to a descriptor that stays open; -1: none. False: an exception is set. */
static bool open_log(struct run *run, int fd) {
    int own = fd < 0 ? -1 : dup(fd);
    run->log = own < 0 ? NULL : fdopen(own, "a");
    if (fd >= 0 && !run->log) {
        PyErr_SetFromErrno(PyExc_OSError);
        if (own >= 0)
            close(own);
        return false;
    }
    if (run->log)
        setvbuf(run->log, NULL, _IOLBF, BUFSIZ); /* who reads it sees each line */
    return true;
}

/* False: an exception is set: a warning is one where warnings are errors. */
static bool close_log(struct run *run) {
    if (!run->log)
        return true;
    bool lost = ferror(run->log);
    lost |= fclose(run->log) != 0;
    return !lost || PyErr_Occurred() ||
           PyErr_WarnEx(PyExc_RuntimeWarning, "log: the file could not be written; a part is missing", 1) == 0;
}

/* Both communicators are busy meanwhile: that of the problem, and that of the ranks, which may be the same. */
static bool enter(struct run *run, comm_object *comm, problem_object *problem) {
    struct handle *own = problem ? problem->comm->handle : NULL;
    if (own)
        take_turn(own);
    bool busy = (own && is_case_busy(problem)) || is_busy(comm->handle);
    if (own)
        end_turn(own);
    if (busy)
        return false;
    if (own && own != comm->handle)
        own->busy = true;
    running = run;
    signals_of_call = signals_of_run;
    return enter_call(comm->handle);
}

/* False: the library has failed, which is raised. */
static bool leave(struct state *state, comm_object *comm, problem_object *problem, cobre_status status) {
    bool good = leave_call(state, comm->handle, status);
    signals_of_call = NULL;
    running = NULL;
    if (problem)
        problem->comm->handle->busy = false;
    return good;
}

/* The exception that was kept, or None: what is made by then is not lost for it. */
static PyObject *kept_exception(struct run *run) {
    if (!run->type)
        return Py_NewRef(Py_None);
    PyErr_NormalizeException(&run->type, &run->value, &run->trace);
    if (run->trace)
        PyException_SetTraceback(run->value, run->trace);
    Py_XDECREF(run->type);
    Py_XDECREF(run->trace);
    return run->value;
}

static bool has_option(PyObject *pairs, const char *name) {
    bool has = false;
    for (Py_ssize_t i = 0; i < PySequence_Size(pairs) && !has; i++) {
        PyObject *pair = PySequence_GetItem(pairs, i);
        PyObject *first = pair ? PySequence_GetItem(pair, 0) : NULL;
        has = first && PyUnicode_CompareWithASCIIString(first, name) == 0;
        Py_XDECREF(first);
        Py_XDECREF(pair);
    }
    return has;
}

/* The problem on the communicator of the ranks: the same one, or a copy that they share. */
static cobre_status share(comm_object *comm, const problem_object *problem, cobre_sddp_problem **shared) {
    *shared = NULL;
    if (problem && problem->comm == comm) {
        *shared = problem->problem;
        return COBRE_OK;
    }
    return cobre_sddp_problem_share(comm->handle->comm, problem ? problem->problem : NULL, shared);
}

static json_t *warnings_of(PyObject *list) {
    json_t *warnings = json_array();
    for (Py_ssize_t i = 0; i < PySequence_Size(list); i++) {
        PyObject *pair = PySequence_GetItem(list, i);
        const char *message, *suggestion;
        if (pair && PyArg_ParseTuple(pair, "ss", &message, &suggestion))
            json_array_append_new(warnings, json_pack("[ss]", message, suggestion));
        Py_XDECREF(pair);
    }
    return warnings;
}

/* (policy, exception), both of which may be None. */
static PyObject *answer(struct state *state, problem_object *problem, cobre_sddp_policy *policy, struct run *run) {
    PyObject *its = policy ? new_policy(state, problem, policy) : Py_NewRef(Py_None);
    return its ? Py_BuildValue("(NN)", its, kept_exception(run)) : NULL;
}

/* How it ends: the policy if the communicator is that of the problem, else None. False: the library has failed, which is raised, or
 * else what made it fail: an exception of a callback, or of a signal. */
static bool train_all(struct run *run, struct cb_train_run *its, struct state *state, comm_object *comm,
                      problem_object *problem, cobre_sddp_policy **policy) {
    bool own = problem && problem->comm == comm;
    cobre_sddp_training result = {.struct_size = sizeof result};
    if (!enter(run, comm, problem))
        return false;
    cobre_status status = share(comm, problem, &its->problem);
    if (!status)
        status = cb_train_run(its, policy, &result);
    if (!status && run->log)
        cb_train_text_end(run->log, its, &result, *policy);
    if (!own) {
        cobre_sddp_policy_free(policy);
        cobre_sddp_problem_free(&its->problem);
    }
    if (leave(state, comm, problem, status))
        return true;
    if (run->type) { /* there was nothing to keep */
        PyErr_Clear();
        PyErr_Restore(run->type, run->value, run->trace);
    }
    return false;
}

/* train(comm, problem, case, options, folder, force, required, checkpoint, grace, log, warnings, on_event): collective. Rank 0 has the
 * problem, others None. required: it shall converge, so a rule must be there that finds that. What is trained is in the folder, or else
 * in the checkpoint. log: a descriptor, or -1. Returns (policy, exception): the policy if the communicator is that of the problem; the
 * exception of a callback, or of a signal, that has ended it. */
static PyObject *train(PyObject *module, PyObject *arguments) {
    struct state *state = PyModule_GetState(module);
    PyObject *comm_given, *problem_given, *pairs, *warnings, *callback;
    struct cb_train_run its = {.options = {.struct_size = sizeof its.options, .checkpoint_seconds = 300}};
    struct run run = {.wish = 0, .train = &its};
    const char *checkpoint;
    int force, required, log;
    if (!PyArg_ParseTuple(arguments, "OOsOzppzdiOO", &comm_given, &problem_given, &its.case_path, &pairs, &its.folder,
                          &force, &required, &checkpoint, &run.grace, &log, &warnings, &callback))
        return NULL;
    comm_object *comm = take_comm(state, comm_given);
    problem_object *problem = comm ? take_problem(state, problem_given, true) : NULL;
    const struct option_table tables[] = {{cb_rule_rows, &its.options}, {cb_train_rows, &its.options}, {NULL, NULL}};
    if (PyErr_Occurred() || !set_options(tables, pairs))
        return NULL;
    if (required && !cb_rules_can_converge(&its.options))
        return PyErr_Format(PyExc_ValueError, "require: give a rule that finds it, too: stall, gap or simulation");
    if (its.options.accept_other_case && !its.options.warm_start)
        return PyErr_Format(PyExc_ValueError, "accept_other_case: it says which cuts warm_start may take");
    its.force = force;
    its.arg = &run;
    its.stop = asked;
    its.start = log_start;
    its.progress = log_row;
    its.event = on_event;
    run.callback = callback;
    its.options.rescue = checkpoint;
    if (!its.folder) {
        its.options.checkpoint = checkpoint; /* it is written at the end, and when a rank dies */
        its.options.checkpoint_seconds = 0;
        its.options.lp_folder = NOWHERE;
    }
    cobre_sddp_policy *policy = NULL;
    its.warnings = warnings_of(warnings);
    bool good = !PyErr_Occurred() && open_log(&run, log) && train_all(&run, &its, state, comm, problem, &policy);
    json_decref(its.warnings);
    PyObject *made = good ? answer(state, problem, policy, &run) : NULL;
    if (!close_log(&run))
        Py_CLEAR(made);
    return made;
}

/* write_training(folder, lines): the tables of a training, made of its events. */
static PyObject *write_training(PyObject *module, PyObject *arguments) {
    struct state *state = PyModule_GetState(module);
    PyObject *list;
    const char *folder;
    if (!PyArg_ParseTuple(arguments, "sO", &folder, &list))
        return NULL;
    json_t *events = json_array();
    for (Py_ssize_t i = 0; i < PySequence_Size(list); i++) {
        PyObject *line = PySequence_GetItem(list, i);
        const char *text;
        if (line && take_text(line, "line", &text) && text)
            json_array_append_new(events, json_loads(text, 0, NULL));
        Py_XDECREF(line);
    }
    cobre_status status = PyErr_Occurred() ? COBRE_OK : cb_tables_of_events(folder, events);
    json_decref(events);
    if (status)
        raise_error(state);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- Simulating ---- */

/* The numbers of all trajectories, in the memory that the library has put them into. */
typedef struct {
    PyObject_HEAD float *value;
    Py_ssize_t count;
} block_object;

static void dealloc_block(PyObject *self) {
    free(((block_object *)self)->value);
    free_object(self);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    static char format[] = "f";
    block_object *its = (block_object *)self;
    if (PyBuffer_FillInfo(view, self, its->value, its->count * (Py_ssize_t)sizeof *its->value, 1, flags) != 0)
        return -1;
    view->itemsize = sizeof *its->value;
    if (view->format)
        view->format = format;
    if (view->shape)
        view->shape = &its->count;
    return 0;
}

static PyType_Slot block_slots[] = {{Py_tp_dealloc, dealloc_block}, {Py_bf_getbuffer, get_buffer}, {0, NULL}};
PyType_Spec block_spec = {
    .name = "cobre._cobre.Block",
    .basicsize = sizeof(block_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = block_slots,
};

/* [name(0), ...]; takes what `name` returns. */
static PyObject *list_of(size_t count, PyObject *name(const void *from, size_t i), const void *from) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = name(from, i);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *element_name(const void *axis, size_t i) {
    return text_of(((const struct cb_axis *)axis)->element[i]);
}

static PyObject *block_name(const void *problem, size_t i) {
    return text_of(cobre_sddp_problem_block_name(problem, i));
}

struct steps {
    const cobre_sddp_problem *problem;
    const struct cb_cells *cells;
};

/* The stage of a step, or its number where trajectories are in several. */
static PyObject *step_stage(const void *arg, size_t i) {
    const struct steps *steps = arg;
    size_t node = steps->cells->node[i];
    return PyLong_FromSize_t(node == COBRE_SDDP_NONE ? i + 1 : cobre_sddp_problem_node_stage(steps->problem, node));
}

/* (name, unit, description, axis, elements, by block, first cell) */
static PyObject *variable_part(const void *grid_given, size_t i) {
    const struct cb_grid *grid = grid_given;
    const struct cb_variable *its = &grid->variable[i];
    const struct cb_axis *axis = its->axis < grid->axes ? &grid->axis[its->axis] : NULL;
    return Py_BuildValue("(NNNNNOn)", text_of(its->name), text_of(its->unit ? its->unit : ""),
                         text_of(its->description ? its->description : ""), text_of(axis ? axis->name : ""),
                         list_of(axis ? axis->count : 0, element_name, axis), its->by_block ? Py_True : Py_False,
                         (Py_ssize_t)its->first);
}

/* (block, trajectories, steps, cells, stages, load blocks, variables); None: there are none. Takes the numbers. */
static PyObject *cells_of(struct state *state, const cobre_sddp_problem *problem, struct cb_cells *cells) {
    if (!cells->value)
        return Py_NewRef(Py_None);
    block_object *block = (block_object *)PyType_GenericAlloc(state->block_type, 0);
    if (!block)
        return NULL;
    block->value = cells->value;
    block->count = (Py_ssize_t)(cells->trajectories * cells->steps * cells->grid.cells);
    cells->value = NULL;
    struct steps steps = {.problem = problem, .cells = cells};
    return Py_BuildValue("(NnnnNNN)", (PyObject *)block, (Py_ssize_t)cells->trajectories, (Py_ssize_t)cells->steps,
                         (Py_ssize_t)cells->grid.cells, list_of(cells->steps, step_stage, &steps),
                         list_of(cobre_sddp_problem_blocks(problem), block_name, problem),
                         list_of(cells->grid.variables, variable_part, &cells->grid));
}

static PyObject *summary_of(const struct cb_simulate_run *its, const cobre_sddp_simulation *result) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return PyErr_NoMemory();
    cb_simulation_write(file, its->sampling, its->beginning.text, &its->options, its->policy, result);
    fclose(file);
    PyObject *made = text_of(text);
    free(text);
    return made;
}

/* What rank 0 knows, while the problem of the ranks is there. */
static PyObject *facts_of(struct state *state, struct cb_simulate_run *its, const cobre_sddp_problem *problem,
                          const cobre_sddp_simulation *result) {
    double half = cb_simulation_is_sample(&its->options) ? result->half : NAN;
    return Py_BuildValue("{s:n,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:s,s:N,s:N,s:{s:N,s:N,s:N}}", "trajectories",
                         (Py_ssize_t)result->trajectories, "mean", result->mean, "deviation", result->deviation, "half",
                         half, "minimum", result->minimum, "maximum", result->maximum, "bound", its->bound, "gap",
                         its->gap, "sampling", its->sampling, "gap_note", text_of(its->why), "cells",
                         cells_of(state, problem, &its->kept.cells), "texts", "costs.csv", text_of(its->kept.costs),
                         "statistics.csv", text_of(its->kept.statistics), "simulation.csv", summary_of(its, result));
}

static void on_note(void *arg, const char *text) {
    tell(arg, text, strlen(text));
}

/* simulate(comm, problem, policy, file, path, options, folder, on_note): collective. Rank 0 has the problem and the policy, others None. file:
 * where rank 0 finds the policy for ranks that do not have it; path: of its own, for the record. Returns (facts, exception, seconds,
 * LPs): the last two of this rank. */
static PyObject *simulate(PyObject *module, PyObject *arguments) {
    struct state *state = PyModule_GetState(module);
    PyObject *comm_given, *problem_given, *policy_given, *pairs;
    struct run run = {.grace = INFINITY};
    const char *file;
    struct cb_simulate_run its = {.options = {.struct_size = sizeof its.options}, .chosen = true, .keep = true};
    cobre_sddp_load_options load = {.scenarios = NULL};
    if (!PyArg_ParseTuple(arguments, "OOOzzOzO", &comm_given, &problem_given, &policy_given, &file, &its.policy_path,
                          &pairs, &its.folder, &run.callback))
        return NULL;
    comm_object *comm = take_comm(state, comm_given);
    problem_object *problem = comm ? take_problem(state, problem_given, true) : NULL;
    policy_object *policy = PyErr_Occurred() ? NULL : take_policy(state, policy_given, true);
    const struct option_table tables[] = {
        {cb_simulate_rows, &its.options}, {cb_begin_rows, &its.begin}, {cb_scenario_rows, &load}, {NULL, NULL}};
    if (PyErr_Occurred() || !set_options(tables, pairs))
        return NULL;
    its.has_sampling = has_option(pairs, "sampling");
    if (!its.folder)
        its.options.lp_folder = NOWHERE;
    its.scenarios = load.scenarios;
    its.arg = &run;
    its.stop = asked;
    its.note = on_note;
    bool own = problem && problem->comm == comm;
    cobre_sddp_problem *shared = NULL;
    cobre_sddp_policy *loaded = NULL;
    cobre_sddp_simulation result = {.struct_size = sizeof result};
    if (!enter(&run, comm, problem))
        return NULL;
    cobre_status status = share(comm, problem, &shared);
    if (!status && !own)
        status = cobre_sddp_policy_load(shared, file ? file : "", &loaded);
    its.policy = own && policy ? policy->policy : loaded;
    if (!status)
        status = cb_simulate_run(&its, &result);
    PyObject *facts = NULL;
    if (!status && problem) {
        take_gil();
        facts = facts_of(state, &its, shared, &result);
        give_gil();
    }
    cb_simulate_run_free(&its);
    cobre_sddp_policy_free(&loaded);
    if (!own)
        cobre_sddp_problem_free(&shared);
    if (!leave(state, comm, problem, status) || PyErr_Occurred()) {
        Py_XDECREF(facts);
        return NULL;
    }
    return Py_BuildValue("(NNdd)", facts ? facts : Py_NewRef(Py_None), kept_exception(&run), result.seconds,
                         (double)result.solves);
}

PyMethodDef run_functions[] = {
    {"train", train, METH_VARARGS, NULL},
    {"simulate", simulate, METH_VARARGS, NULL},
    {"write_training", write_training, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
