/* SPDX-License-Identifier: Apache-2.0 */
/* netcdf.c: all tables of a simulation as one NetCDF-4 file, which xarray, R, Julia and MATLAB read.
 *
 * The library is loaded when it is first needed, and never linked: it brings HDF5 and a dozen others, which would slow
 * every command down. The file is written trajectory by trajectory as rank 0 gets them. Numbers have 24 bits, more
 * than the tolerance of LP solvers; totals and statistics are made from full precision. */
#include "sddp/run/netcdf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/date.h"
#include "sddp/error.h"
#include "sddp/usual_floats.h"

#if COBRE_HAVE_NETCDF
#include <dlfcn.h>
#include <netcdf.h>
#include <pthread.h>

#define FUNCTIONS(X)                                                                                                   \
    X(nc_create)                                                                                                       \
    X(nc_set_fill)                                                                                                     \
    X(nc_def_dim)                                                                                                      \
    X(nc_def_var)                                                                                                      \
    X(nc_def_var_chunking)                                                                                             \
    X(nc_def_var_deflate)                                                                                              \
    X(nc_put_att_text)                                                                                                 \
    X(nc_put_att_float)                                                                                                \
    X(nc_enddef)                                                                                                       \
    X(nc_put_var_string)                                                                                               \
    X(nc_put_var_double)                                                                                               \
    X(nc_put_vara_float)                                                                                               \
    X(nc_close)                                                                                                        \
    X(nc_strerror)

static struct {
#define FUNCTION_POINTER(name) __typeof__(name) *name;
    FUNCTIONS(FUNCTION_POINTER)
#undef FUNCTION_POINTER
} nc;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the library is not made for threads */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char why_not[256]; /* why it cannot be used */

/* It must not change the floating-point settings of the program. */
static void load(void) {
    CB_USUAL_FLOATS();
    void *library = dlopen(COBRE_NETCDF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why_not, sizeof why_not, "%s", dlerror());
        return;
    }
#define FIND(name)                                                                                                     \
    *(void **)&nc.name = dlsym(library, #name);                                                                        \
    if (!nc.name)                                                                                                      \
        snprintf(why_not, sizeof why_not, COBRE_NETCDF_LIBRARY " has no " #name);
    FUNCTIONS(FIND)
#undef FIND
    /* At the end of the process HDF5 closes what could not be closed for want of room, and crashes. */
    int (*no_exit_handler)(void);
    *(void **)&no_exit_handler = dlsym(library, "H5dont_atexit");
    if (no_exit_handler)
        no_exit_handler();
}

cobre_status cb_netcdf_ready(void) {
    pthread_once(&once, load);
    if (!why_not[0])
        return COBRE_OK;
    return cb_fail(COBRE_INVALID_ARGUMENT, "install it (Debian: libnetcdf19), or write CSV tables",
                   "NetCDF cannot be written: %s", why_not);
}

/* The file while it is written. */
typedef struct {
    struct cb_spool *spool;
    const char *path;
    int file, trajectory, stage, block;
    int *axis, *name, *variable; /* of the grid: axes, their coordinates, variables */
    size_t trajectories, steps;
    struct cb_cells_batch batch; /* some trajectories */
    size_t batch_room;           /* of so many */
    float *slab;                 /* one variable of a batch */
    int error;
} writer;

static void check(writer *w, int result) {
    w->error = w->error ? w->error : result;
}

static void attribute(writer *w, int variable, const char *name, const char *text) {
    if (*text)
        check(w, nc.nc_put_att_text(w->file, variable, name, strlen(text), text));
}

/* As CF and udunits write it. What is divided by comes last, and is one of these. */
static void unit_attribute(writer *w, int variable, const char *unit) {
    static const char *const known[][2] = {
        {"MWh", "MW h"},       {"MWmonth", "MW month"},       {"m3/s", "m3 s-1"},
        {"/MWh", " MW-1 h-1"}, {"/MWmonth", " MW-1 month-1"}, {"/hm3", " hm-3"},
    };
    char text[64];
    snprintf(text, sizeof text, "%s", unit);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(unit), ending = strlen(known[i][0]);
        if (length >= ending && strcmp(unit + length - ending, known[i][0]) == 0 &&
            (known[i][0][0] == '/' || length == ending))
            snprintf(text, sizeof text, "%.*s%s", (int)(length - ending), unit, known[i][1]);
    }
    attribute(w, variable, "units", text);
}

static int define(writer *w, const char *name, nc_type type, int count, const int *axes, const char *description) {
    int variable = -1;
    check(w, nc.nc_def_var(w->file, name, type, count, axes, &variable));
    attribute(w, variable, "long_name", description);
    return variable;
}

static int dimension(writer *w, const char *name, size_t length) {
    int axis = -1;
    check(w, nc.nc_def_dim(w->file, name, length, &axis));
    return axis;
}

static bool has_dates(const writer *w) {
    return w->steps > 0 && w->spool->node_at[1] != CB_NONE && *w->spool->problem->node[w->spool->node_at[1]].date;
}

/* A variable of the grid: trajectory x stage [x block] [x element]. */
static void define_variable(writer *w, size_t v) {
    const struct cb_grid *grid = &w->spool->grid;
    const struct cb_variable *its = &grid->variable[v];
    int axes[4] = {w->trajectory, w->stage}, count = 2;
    size_t chunk[4] = {1, w->steps}, size = w->steps * cb_grid_size(grid, w->spool->problem, its) * sizeof(float);
    if (its->by_block) {
        chunk[count] = w->spool->problem->blocks;
        axes[count++] = w->block;
    }
    if (its->axis != CB_NONE) {
        chunk[count] = grid->axis[its->axis].count;
        axes[count++] = w->axis[its->axis];
    }
    chunk[0] = size < (size_t)1 << 18 ? ((size_t)1 << 18) / (size ? size : 1) : 1;
    chunk[0] = chunk[0] > w->trajectories ? w->trajectories : chunk[0];
    float missing = NAN;
    w->variable[v] = define(w, its->name, NC_FLOAT, count, axes, its->description);
    unit_attribute(w, w->variable[v], its->unit);
    if (has_dates(w))
        attribute(w, w->variable[v], "coordinates", "date");
    check(w, nc.nc_def_var_chunking(w->file, w->variable[v], NC_CHUNKED, chunk));
    check(w, nc.nc_def_var_deflate(w->file, w->variable[v], 1, 1, 1));
    check(w, nc.nc_put_att_float(w->file, w->variable[v], "_FillValue", NC_FLOAT, 1, &missing));
}

/* The stages along their axis: numbers, dates, durations, shares of blocks. */
static void put_stages(writer *w, const int variable[4]) {
    const cobre_sddp_problem *problem = w->spool->problem;
    size_t blocks = problem->blocks;
    double *number = calloc(w->steps * (3 + blocks) + 1, sizeof *number);
    double *date = number + w->steps, *duration = date + w->steps, *share = duration + w->steps;
    if (!number) {
        check(w, NC_ENOMEM);
        return;
    }
    for (size_t k = 0; k < w->steps; k++) {
        size_t node = w->spool->node_at[k + 1];
        const cb_node *its = node == CB_NONE ? NULL : &problem->node[node];
        number[k] = its ? (double)its->stage : (double)k + 1;
        cb_date begin;
        date[k] = its && cb_date_parse(its->date, &begin) ? cb_date_days(&begin) : NAN;
        duration[k] = its ? its->duration : NAN;
        for (size_t b = 0; b < blocks; b++)
            share[k * blocks + b] = its ? its->share[b] : NAN;
    }
    const double *const from[4] = {number, date, duration, share};
    for (size_t i = 0; i < 4; i++)
        if (variable[i] >= 0)
            check(w, nc.nc_put_var_double(w->file, variable[i], from[i]));
    free(number);
}

static void put_names(writer *w, int variable, const char **names, size_t count) {
    if (count > 0)
        check(w, nc.nc_put_var_string(w->file, variable, names));
}

static void define_dimensions(writer *w) {
    const struct cb_grid *grid = &w->spool->grid;
    w->trajectory = dimension(w, "trajectory", w->trajectories);
    w->stage = dimension(w, "stage", w->steps);
    if (w->spool->problem->blocks)
        w->block = dimension(w, "block", w->spool->problem->blocks);
    for (size_t a = 0; a < grid->axes; a++) /* one of length 0 would be without a limit */
        if (grid->axis[a].count > 0)
            w->axis[a] = dimension(w, grid->axis[a].name, grid->axis[a].count);
}

/* Coordinates, and what else is not a result. */
static void define_and_fill(writer *w) {
    struct cb_grid *grid = &w->spool->grid;
    cobre_sddp_problem *its = (cobre_sddp_problem *)w->spool->problem; /* the names are const, their array is not */
    int stages[4] = {-1, -1, -1, -1}, both[2] = {w->stage, w->block}, block = -1;
    stages[0] = define(w, "stage", NC_INT, 1, &w->stage, "stage of the case");
    if (has_dates(w)) {
        stages[1] = define(w, "date", NC_DOUBLE, 1, &w->stage, "beginning of the stage");
        attribute(w, stages[1], "units", "days since 1970-01-01");
        attribute(w, stages[1], "calendar", "proleptic_gregorian");
        attribute(w, stages[1], "standard_name", "time");
    }
    if (*its->time) {
        stages[2] = define(w, "duration", NC_DOUBLE, 1, &w->stage, "length of the stage");
        attribute(w, stages[2], "units", its->time);
    }
    if (its->blocks) {
        stages[3] = define(w, "block_share", NC_DOUBLE, 2, both, "share of the stage's duration");
        attribute(w, stages[3], "units", "1");
        block = define(w, "block", NC_STRING, 1, &w->block, "load block");
    }
    for (size_t a = 0; a < grid->axes; a++)
        if (grid->axis[a].count > 0)
            w->name[a] = define(w, grid->axis[a].name, NC_STRING, 1, &w->axis[a], "name");
    for (size_t v = 0; v < grid->variables; v++)
        define_variable(w, v);
    check(w, nc.nc_enddef(w->file));
    put_stages(w, stages);
    if (its->blocks)
        put_names(w, block, its->block, its->blocks);
    for (size_t a = 0; a < grid->axes; a++)
        put_names(w, w->name[a], grid->axis[a].element, grid->axis[a].count);
}

static void begin(writer *w, const char *path) {
    int unused;
    check(w, nc.nc_create(path, NC_CLOBBER | NC_NETCDF4, &w->file));
    if (w->error)
        return;
    check(w, nc.nc_set_fill(w->file, NC_NOFILL, &unused));
    attribute(w, NC_GLOBAL, "Conventions", "CF-1.8");
    attribute(w, NC_GLOBAL, "title", w->spool->problem->name);
    attribute(w, NC_GLOBAL, "source", CB_TEXT("cobre %s", cobre_version()));
    attribute(w, NC_GLOBAL, "cost_unit", w->spool->problem->money);
    define_dimensions(w);
    define_and_fill(w);
}

/* One variable of the batch. */
static void put_variable(writer *w, size_t v) {
    const struct cb_variable *its = &w->spool->grid.variable[v];
    size_t size = cb_grid_size(&w->spool->grid, w->spool->problem, its), rows = w->batch.count * w->steps;
    size_t elements = its->axis == CB_NONE ? 1 : w->spool->grid.axis[its->axis].count;
    const size_t start[4] = {w->batch.first};
    size_t count[4] = {w->batch.count, w->steps, its->by_block ? w->spool->problem->blocks : elements, elements};
    for (size_t row = 0; row < rows; row++)
        memcpy(w->slab + row * size, w->batch.value + row * w->spool->grid.cells + its->first, size * sizeof *w->slab);
    if (size > 0)
        check(w, nc.nc_put_vara_float(w->file, w->variable[v], start, count, w->slab));
}

static void put_batch(writer *w) {
    pthread_mutex_lock(&lock);
    for (size_t v = 0; v < w->spool->grid.variables && w->batch.count > 0; v++)
        put_variable(w, v);
    pthread_mutex_unlock(&lock);
    w->batch.first += w->batch.count;
    w->batch.count = 0;
}

static cobre_status failed(const writer *w) {
    return cb_fail_at(COBRE_FILE_FAILED, w->path, 0, "check that the folder may be written and has room",
                      "%s: cannot write: %s", w->path, nc.nc_strerror(w->error));
}

static cobre_status take(void *arg, const void *bytes, size_t count) {
    writer *w = arg;
    const char *from = bytes;
    for (size_t some; count > 0; from += some, count -= some) {
        some = cb_cells_take(&w->batch, from, count);
        if (w->batch.count == w->batch_room)
            put_batch(w);
    }
    return w->error ? failed(w) : COBRE_OK;
}

/* Those that are in memory, without a copy. */
static cobre_status put_all(writer *w, const struct cb_cells *cells) {
    float *own = w->batch.value;
    while (w->batch.first < w->trajectories) {
        size_t left = w->trajectories - w->batch.first;
        w->batch.value = cells->value + w->batch.first * w->steps * w->spool->grid.cells;
        w->batch.count = left < w->batch_room ? left : w->batch_room;
        put_batch(w);
    }
    w->batch.value = own;
    return w->error ? failed(w) : COBRE_OK;
}

static cobre_status allocate(writer *w) {
    const struct cb_grid *grid = &w->spool->grid;
    size_t bytes = w->steps * grid->cells * sizeof(float) + 1;
    w->batch_room = ((size_t)32 << 20) / bytes;
    w->batch_room = w->batch_room < 1 ? 1 : w->batch_room > 256 ? 256 : w->batch_room;
    w->axis = calloc(grid->axes + 1, sizeof *w->axis);
    w->name = calloc(grid->axes + 1, sizeof *w->name);
    w->variable = calloc(grid->variables + 1, sizeof *w->variable);
    w->batch = (struct cb_cells_batch){.spool = w->spool, .value = malloc(w->batch_room * bytes)};
    w->slab = malloc(w->batch_room * bytes);
    return w->axis && w->name && w->variable && w->batch.value && w->slab ? COBRE_OK
                                                                          : cb_no_memory("a NetCDF file", bytes);
}

static cobre_status open_writer(writer *w, const char *path) {
    w->trajectories = w->spool->count;
    w->steps = w->spool->longest;
    w->file = -1;
    CB_TRY(allocate(w));
    pthread_mutex_lock(&lock);
    begin(w, path);
    pthread_mutex_unlock(&lock);
    return w->error ? failed(w) : COBRE_OK;
}

static cobre_status close_writer(writer *w, cobre_status status) {
    if (!status)
        put_batch(w);
    pthread_mutex_lock(&lock);
    if (w->file >= 0)
        check(w, nc.nc_close(w->file));
    pthread_mutex_unlock(&lock);
    free(w->axis);
    free(w->name);
    free(w->variable);
    free(w->batch.value);
    free(w->slab);
    return status ? status : w->error ? failed(w) : COBRE_OK;
}

/* The library opens by a path: that of the open draft, so that it can be no other file. */
cobre_status cb_netcdf_write(struct cb_spool *spool, const struct cb_draft *draft, const struct cb_cells *cells) {
    writer w = {.spool = spool, .path = draft->path};
    bool writes = cobre_rank(spool->comm) == 0;
    cobre_status status =
        cb_agree(spool->comm, writes ? open_writer(&w, CB_TEXT("/proc/self/fd/%d", fileno(draft->file))) : COBRE_OK);
    if (!status && !cells)
        status = cb_spool_gather(spool, CB_STREAM_CELLS, take, &w);
    else if (!status && writes)
        status = put_all(&w, cells);
    return cb_agree(spool->comm, writes ? close_writer(&w, status) : status);
}

#else

cobre_status cb_netcdf_ready(void) {
    return cb_fail(COBRE_INVALID_ARGUMENT, "build it where NetCDF is (Debian: libnetcdf-dev), or write CSV tables",
                   "NetCDF cannot be written: this cobre was built without it");
}

cobre_status cb_netcdf_write(struct cb_spool *spool, const struct cb_draft *draft, const struct cb_cells *cells) {
    (void)spool;
    (void)draft;
    (void)cells;
    return cb_netcdf_ready();
}

#endif
