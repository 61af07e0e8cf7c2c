/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: the core's side of the mpi backend: chooses, finds and loads a plugin.
 *
 * It chooses COBRE_MPI_PLUGIN (a name or a path); else the plugin of the MPI that the program itself is linked with; else
 * that of the launcher, by its variables; else the first that is found. It looks beside libcobre (or the program it is
 * linked into), then in the folders of the system's loader. RTLD_LOCAL keeps the symbols of different MPIs apart.
 *
 * A plugin of the wrong MPI starts without complaint, as a job of one rank: so the number of ranks is compared with
 * that of the launcher. Open MPI ends the process if a Slurm step offers no PMIx, so that is checked before. */
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/mpi/config.h"
#include "comm/plugin_folders.h"
#include "comm/select.h"

/* MPIs that have a plugin, if the build found them. */
static const struct maker {
    const char *plugin, *title;
    const char *symbol;            /* only this MPI defines it */
    const char *size;              /* launcher's variable: how many ranks */
    const char *signs[5];          /* any of these: it is the launcher */
    const char *pmi, *srun;        /* how Slurm's tasks find each other with this MPI, and the option for it */
    bool needs_pmi_alone;          /* also in a step of one task */
    const char *runtime, *headers; /* Debian packages */
} makers[] = {
    {.plugin = "openmpi",
     .title = "Open MPI",
     .symbol = "ompi_mpi_comm_world",
     .size = "OMPI_COMM_WORLD_SIZE",
     .signs = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"},
     .pmi = "PMIx",
     .srun = "--mpi=pmix",
     .needs_pmi_alone = true,
     .runtime = "libopenmpi3",
     .headers = "libopenmpi-dev"},
    {.plugin = "mpich",
     .title = "MPICH",
     .symbol = "MPII_Version_string",
     .size = "PMI_SIZE",
     .signs = {"PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "PMI_CONTROL_PORT"},
     .pmi = "PMI",
     .srun = "--mpi=pmi2",
     .runtime = "libmpich12",
     .headers = "libmpich-dev"},
};
enum { MAKERS = sizeof makers / sizeof *makers };

/* One process uses one MPI. Set once, under the lock, and then only read. */
static const cb_mpi_plugin *plugin;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { PROBLEM = 1200 }; /* bytes of the text that says why a plugin cannot be loaded */

static const char *sign_of(const struct maker *maker) {
    for (const char *const *sign = maker->signs; *sign; sign++)
        if (cb_variable(*sign))
            return *sign;
    return NULL;
}

/* Of the MPI that the program itself is linked with. */
static const struct maker *linked_maker(void) {
    for (size_t i = 0; i < MAKERS; i++)
        if (dlsym(RTLD_DEFAULT, makers[i].symbol))
            return &makers[i];
    return NULL;
}

/* Whose plugin, and in `why` the reason, for error texts; NULL: nothing speaks for one of them. */
static const struct maker *find_maker(char *why, size_t len) {
    const struct maker *linked = linked_maker();
    if (linked) {
        snprintf(why, len, "this program is linked with %s", linked->title);
        return linked;
    }
    for (size_t i = 0; i < MAKERS; i++)
        if (sign_of(&makers[i])) {
            snprintf(why, len, "%s is set, as for ranks of %s", sign_of(&makers[i]), makers[i].title);
            return &makers[i];
        }
    snprintf(why, len, "no variable of an MPI launcher is set");
    return NULL;
}

static const struct maker *maker_named(const char *name) {
    for (size_t i = 0; i < MAKERS; i++)
        if (strcmp(makers[i].plugin, name) == 0)
            return &makers[i];
    return NULL;
}

static cobre_status refuse_step(const struct maker *maker, const char *tasks) {
    const char *task = cb_variable("SLURM_PROCID");
    char advice[512], lack[64] = "neither PMI nor PMIx";
    if (maker)
        snprintf(lack, sizeof lack, "no %s, which %s needs", maker->pmi, maker->title);
    snprintf(
        advice, sizeof advice,
        "start it with srun %s; or let one task start all ranks, by `cobre run -n N program` or `cobre train -n N`; "
        "or use the tcp backend (docs/slurm.md has a script); for one rank on purpose set COBRE_COMM_BACKEND=local",
        maker ? maker->srun : "--mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)");
    return CB_REFUSE(
        COBRE_MPI, "SLURM_PROCID", advice,
        "SLURM_PROCID=%s and SLURM_STEP_NUM_TASKS=%s make this a rank of an MPI job that srun started, but "
        "the step offers %s",
        task ? task : "", tasks, lack);
}

/* A step offers PMI (--mpi=pmi2), PMIx (--mpi=pmix) or neither (--mpi=none, which may be the default). Which of them the
 * MPI of a plugin given by its path can use is not known here, and the MPI that a program is linked with may run already. */
cobre_status cb_mpi_check_step(const char *asked) {
    const char *tasks = cb_variable(CB_ENV_STEP_TASKS);
    const struct maker *maker = asked ? maker_named(asked) : NULL;
    if (!tasks || linked_maker())
        return COBRE_OK;
    for (size_t i = 0; i < MAKERS; i++)
        if ((!maker || maker == &makers[i]) && sign_of(&makers[i]))
            return COBRE_OK;
    if (strcmp(tasks, "1") == 0 && maker && !maker->needs_pmi_alone)
        return COBRE_OK;
    return refuse_step(maker, tasks);
}

struct search {
    char name[128];         /* the file */
    char file[PATH_MAX];    /* its path; empty: it was not found */
    char folders[PATH_MAX]; /* where it was looked for, for error texts */
};

static void look_in(const char *folder, void *arg) {
    struct search *search = arg;
    char real[PATH_MAX];
    const char *name = search->file[0] ? NULL : cb_folder_add(search->folders, sizeof search->folders, folder, real);
    if (!name)
        return;
    int length = snprintf(search->file, sizeof search->file, "%s/%s", name, search->name);
    if (length >= (int)sizeof search->file || access(search->file, F_OK) != 0)
        search->file[0] = 0;
}

/* NULL, with the reason in `problem`. By its name alone it may still be in the loader's cache (ldconfig). With the lock
 * held. */
static void *load_by_name(const char *name, char *problem, size_t len) {
    static union cb_loader_folders list;
    static struct search search;
    search = (struct search){.file = ""};
    snprintf(search.name, sizeof search.name, "libcobre-mpi-%s.so", name);
    cb_visit_plugin_folders((const void *)(uintptr_t)load_by_name, &list, look_in, &search);
    void *library = dlopen(search.file[0] ? search.file : search.name, RTLD_NOW | RTLD_LOCAL);
    if (!library && search.file[0])
        snprintf(problem, len, "%s", dlerror());
    else if (!library)
        snprintf(problem, len, "there is no %s in %.900s or in the loader's cache", search.name, search.folders);
    return library;
}

static void *load_path(const char *path, char *problem, size_t len) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(problem, len, "%s", dlerror());
    return library;
}

/* NULL, with the reason in `problem`. With the lock held. */
static const cb_mpi_plugin *load(const char *name_or_path, char *problem, size_t len) {
    void *library =
        strchr(name_or_path, '/') ? load_path(name_or_path, problem, len) : load_by_name(name_or_path, problem, len);
    const cb_mpi_plugin *found = library ? dlsym(library, "cobre_mpi_plugin") : NULL;
    if (found && strcmp(found->abi, CB_MPI_ABI) == 0)
        return found;
    if (found)
        snprintf(problem, len, "it belongs to cobre %.32s, this is %s", found->abi, CB_MPI_ABI);
    else if (library)
        snprintf(problem, len, "%s", dlerror());
    return NULL;
}

static cobre_status refuse(const char *name, const struct maker *maker, const char *why, const char *problem) {
    char advice[512];
    if (maker)
        snprintf(advice, sizeof advice,
                 "install %s (Debian: %s); if cobre was built without it: install %s and build cobre again with "
                 "-DCOBRE_MPI=ON; or name a plugin in COBRE_MPI_PLUGIN",
                 maker->title, maker->runtime, maker->headers);
    else
        snprintf(
            advice, sizeof advice,
            "set COBRE_MPI_PLUGIN to openmpi, mpich, or the path of a plugin; plugins are built when cobre's build "
            "finds an MPI (Debian: libopenmpi-dev, libmpich-dev)");
    return cb_error(NULL, COBRE_MPI, COBRE_INITIALIZATION_FAILED,
                    &(struct cb_details){.operation = "open", .subject = name, .suggestion = advice},
                    "the mpi plugin %s cannot be loaded (%s): %s", name, why, problem);
}

/* The plugin of this process: loads it if this is the first time. */
static cobre_status choose(const char *asked, const cb_mpi_plugin **chosen) {
    char why[128], problem[PROBLEM] = "";
    const struct maker *maker = asked ? maker_named(asked) : find_maker(why, sizeof why);
    const char *name = asked ? asked : maker ? maker->plugin : NULL;
    if (asked)
        snprintf(why, sizeof why, "COBRE_MPI_PLUGIN or the config asks for it");
    *chosen = name ? load(name, problem, sizeof problem) : NULL;
    for (size_t i = 0; !name && !*chosen && i < MAKERS; i++)
        *chosen = load(makers[i].plugin, problem, sizeof problem);
    return *chosen ? COBRE_OK : refuse(name ? name : "of Open MPI or MPICH", maker, why, problem);
}

static cobre_status find_plugin(const cb_options *options) {
    const cb_mpi_plugin *chosen;
    pthread_mutex_lock(&lock);
    cobre_status status = choose(cb_mpi_own(options)->plugin, &chosen);
    if (!status && plugin && plugin != chosen) {
        char library[128];
        plugin->library(library, sizeof library);
        status = cb_error(NULL, COBRE_MPI, COBRE_INITIALIZATION_FAILED,
                          &(struct cb_details){.operation = "open", .suggestion = "ask for the same plugin each time"},
                          "this process uses the plugin of %s already, and one process uses one MPI", library);
    } else if (!status && !plugin) {
        plugin = chosen;
        plugin->start(cb_error);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* How many ranks the launcher has started, by its own word; a Slurm step may be part of a larger job. */
static const char *launcher_size(bool *exact) {
    *exact = true;
    for (size_t i = 0; i < MAKERS; i++)
        if (cb_variable(makers[i].size))
            return makers[i].size;
    *exact = false;
    return cb_variable(CB_ENV_STEP_TASKS) ? CB_ENV_STEP_TASKS : NULL;
}

static cobre_status check_size(const cobre_comm *comm) {
    bool exact;
    char library[128];
    const char *name = launcher_size(&exact);
    uint64_t said = name ? strtoull(cb_variable(name), NULL, 10) : comm->size;
    if (said == comm->size || (!exact && comm->size > 1))
        return COBRE_OK;
    plugin->library(library, sizeof library);
    return cb_error(NULL, COBRE_MPI, COBRE_INITIALIZATION_FAILED,
                    &(struct cb_details){.operation = "open",
                                         .subject = name,
                                         .suggestion =
                                             "start the program with the launcher of that MPI, or choose the "
                                             "launcher's plugin with COBRE_MPI_PLUGIN=openmpi or mpich; for one "
                                             "rank on purpose set COBRE_COMM_BACKEND=local"},
                    "%s=%s indicates %" PRIu64 " ranks, but %s finds %zu: it is not the MPI that started this process",
                    name, cb_variable(name), said, library, comm->size);
}

cobre_status cb_mpi_open(const cb_options *options, cobre_comm **comm) {
    cobre_status status = find_plugin(options);
    if (!status)
        status = plugin->open(options, comm);
    if (status)
        return status;
    status = check_size(*comm);
    if (status) {
        plugin->free(*comm);
        *comm = NULL;
    }
    return status;
}

/* "openmpi (Open MPI v4.1.4, /usr/lib/libcobre-mpi-openmpi.so)" */
static void describe(const cb_mpi_plugin *found, const char *name, char *text, size_t len) {
    char library[128];
    Dl_info info;
    found->library(library, sizeof library);
    snprintf(text, len, "%s (%s, %s)", name, library,
             dladdr((const void *)found, &info) && info.dli_fname ? info.dli_fname : "?");
}

static void explain(char *text, size_t len) {
    char why[128], problem[PROBLEM], each[PATH_MAX + 256];
    const struct maker *maker = find_maker(why, sizeof why);
    const char *asked = cb_variable(CB_ENV_MPI_PLUGIN), *name = asked ? asked : maker ? maker->plugin : NULL;
    if (asked)
        snprintf(why, sizeof why, "COBRE_MPI_PLUGIN is set");
    const cb_mpi_plugin *found = name ? load(name, problem, sizeof problem) : NULL;
    if (found)
        describe(found, name, each, sizeof each);
    if (name) {
        snprintf(text, len, "%s; plugin %s", why, found ? each : problem);
        return;
    }
    size_t used = (size_t)snprintf(text, len, "%s; plugins here:", why);
    size_t none = used;
    for (size_t i = 0; i < MAKERS && used < len; i++) {
        found = load(makers[i].plugin, problem, sizeof problem);
        if (!found)
            continue;
        describe(found, makers[i].plugin, each, sizeof each);
        used += (size_t)snprintf(text + used, len - used, "%s %s", used == none ? "" : ",", each);
    }
    if (used == none)
        snprintf(text + used, len - used, " none");
}

void cb_mpi_explain(char *text, size_t len) {
    pthread_mutex_lock(&lock);
    explain(text, len);
    pthread_mutex_unlock(&lock);
}

void cb_mpi_free(cobre_comm *comm) {
    plugin->free(comm);
}

void cb_mpi_abort(cobre_comm *comm, int code, const char *text) {
    plugin->abort(comm, code, text);
}

void cb_mpi_region_free(cobre_region *region) {
    plugin->region_free(region);
}

#define FORWARD(CODE, operation)                                                                                       \
    cobre_status cb_mpi_##operation(cobre_comm *comm, const cb_call *call) {                                           \
        return plugin->operation(comm, call);                                                                          \
    }
CB_OPERATION_MAP(FORWARD)
#undef FORWARD
