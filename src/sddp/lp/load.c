/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: finds the plugins of LP solvers, libcobre-lp-NAME.so.
 *
 * Where: in COBRE_LP_PATH and nowhere else, if it is set. Otherwise beside libcobre-sddp (or the program that it is linked
 * into), then in the folders where the system's loader looks for the libraries of that file (rpath, LD_LIBRARY_PATH, the
 * system's own). Of two files of one name the first counts. RTLD_LOCAL, so that the symbols of one solver never meet
 * another's. The folders are read once, a file is loaded when it is first asked for, and nothing is ever unloaded. */
#include <dirent.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/lp/plugins.h"
#include "sddp/usual_floats.h"

#define PREFIX "libcobre-lp-"
#define SUFFIX ".so"

enum { MOST = 32 };

/* All under the lock. A plugin that was tried does not change any more. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool scanned;
static cb_lp_plugin plugins[MOST]; /* sorted by name */
static size_t count;
static char folders[1024]; /* where it looked, for error texts */

/* "libcobre-lp-NAME.so" to NAME; false: it is something else. */
static bool name_of(const char *file, char name[CB_LP_NAME]) {
    size_t length = strlen(file), around = strlen(PREFIX) + strlen(SUFFIX);
    if (length <= around || length - around >= CB_LP_NAME || strncmp(file, PREFIX, strlen(PREFIX)) != 0 ||
        strcmp(file + length - strlen(SUFFIX), SUFFIX) != 0)
        return false;
    snprintf(name, CB_LP_NAME, "%.*s", (int)(length - around), file + strlen(PREFIX));
    return true;
}

static void add(const char *folder, const char *file) {
    cb_lp_plugin plugin = {.tried = false};
    size_t at = 0;
    if (count == MOST || !name_of(file, plugin.name))
        return;
    while (at < count && strcmp(plugins[at].name, plugin.name) < 0)
        at++;
    if (at < count && strcmp(plugins[at].name, plugin.name) == 0)
        return;
    if ((size_t)snprintf(plugin.file, sizeof plugin.file, "%s/%s", folder, file) >= sizeof plugin.file)
        return;
    memmove(&plugins[at + 1], &plugins[at], (count - at) * sizeof *plugins);
    plugins[at] = plugin;
    count++;
}

static bool is_listed(const char *folder) {
    size_t length = strlen(folder);
    for (const char *at = folders; (at = strstr(at, folder)); at++)
        if ((at == folders || at[-1] == ' ') && (at[length] == ',' || at[length] == 0))
            return true;
    return false;
}

static void scan(const char *folder) {
    char real[PATH_MAX];
    size_t length = strlen(folders);
    folder = realpath(folder, real) ? real : folder;
    if (is_listed(folder))
        return;
    snprintf(folders + length, sizeof folders - length, "%s%.900s", length ? ", " : "", folder);
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
        add(folder, entry->d_name);
    closedir(directory);
}

/* Where the system's loader looks on behalf of the object that holds this function. */
static void scan_loader_folders(const char *object) {
    void *handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD); /* NULL: the program itself */
    static union {
        Dl_serinfo info;
        char room[65536];
    } list; /* not on the heap: a rank that is short of memory would miss its solvers */
    Dl_serinfo *info = &list.info;
    if (!handle)
        handle = dlopen(NULL, RTLD_LAZY);
    if (!handle)
        return;
    if (dlinfo(handle, RTLD_DI_SERINFOSIZE, info) == 0 && info->dls_size <= sizeof list &&
        dlinfo(handle, RTLD_DI_SERINFO, info) == 0)
        for (unsigned i = 0; i < info->dls_cnt; i++)
            if (info->dls_serpath[i].dls_name[0] == '/') /* never the current folder, whoever may write there */
                scan(info->dls_serpath[i].dls_name);
    dlclose(handle);
}

static void scan_all(void) {
    const char *only = getenv("COBRE_LP_PATH");
    char real[PATH_MAX];
    Dl_info own;
    if (only && *only) {
        scan(only);
    } else if (dladdr((void *)(uintptr_t)scan_all, &own)) {
        /* A program that was found by PATH is known by its name alone. */
        if (realpath(strchr(own.dli_fname, '/') ? own.dli_fname : "/proc/self/exe", real))
            scan(dirname(real));
        scan_loader_folders(own.dli_fname);
    }
    scanned = true;
}

static const cb_lp_solver *check(cb_lp_plugin *plugin, const cb_lp_solver *solver) {
    size_t room = sizeof plugin->problem;
    if (strcmp(solver->abi, CB_LP_ABI) != 0)
        snprintf(plugin->problem, room, "it belongs to cobre %.32s, this is %s", solver->abi, CB_LP_ABI);
    else if (strcmp(solver->name, plugin->name) != 0)
        snprintf(plugin->problem, room, "it calls itself %.32s", solver->name);
    else if (strlen(solver->version()) >= CB_LP_VERSION)
        snprintf(plugin->problem, room, "its version is too long: %.64s", solver->version());
    return plugin->problem[0] ? NULL : solver;
}

/* A library that was built with -Ofast changes the floating-point settings when it is loaded. */
static void load(cb_lp_plugin *plugin) {
    CB_USUAL_FLOATS();
    void *library = dlopen(plugin->file, RTLD_NOW | RTLD_LOCAL);
    const cb_lp_solver *solver = library ? dlsym(library, "cobre_lp_plugin") : NULL;
    if (solver)
        plugin->solver = check(plugin, solver);
    else
        snprintf(plugin->problem, sizeof plugin->problem, "%s", dlerror());
    plugin->tried = true;
}

/* NULL: past the end. With the lock held. */
static const cb_lp_plugin *loaded(size_t index) {
    if (!scanned)
        scan_all();
    if (index >= count)
        return NULL;
    if (!plugins[index].tried)
        load(&plugins[index]);
    return &plugins[index];
}

const cb_lp_plugin *cb_lp_plugin_at(size_t index) {
    pthread_mutex_lock(&lock);
    const cb_lp_plugin *plugin = loaded(index);
    pthread_mutex_unlock(&lock);
    return plugin;
}

static const cb_lp_plugin *plugin_named(const char *name) {
    const cb_lp_plugin *plugin = NULL;
    pthread_mutex_lock(&lock);
    if (!scanned)
        scan_all();
    for (size_t i = 0; i < count && !plugin; i++)
        if (strcmp(plugins[i].name, name) == 0)
            plugin = loaded(i);
    pthread_mutex_unlock(&lock);
    return plugin;
}

const cb_lp_solver *cb_lp_solver_by_name(const char *name) {
    const cb_lp_plugin *plugin = plugin_named(name);
    return plugin ? plugin->solver : NULL;
}

const char *cb_lp_why_not(char why[CB_LP_WHY], const char *name) {
    const cb_lp_plugin *plugin = name ? plugin_named(name) : cb_lp_plugin_at(0);
    if (plugin)
        snprintf(why, CB_LP_WHY, "%s%s%.500s", name ? "" : plugin->name, name ? "" : ": ", plugin->problem);
    else
        snprintf(why, CB_LP_WHY, "there is no " PREFIX "%s" SUFFIX " in %.700s", name ? name : "*", folders);
    return why;
}

size_t cobre_sddp_solvers(void) {
    size_t number = 0;
    while (cb_lp_plugin_at(number))
        number++;
    return number;
}

cobre_status cobre_sddp_solver_at(size_t index, cobre_sddp_solver *solver) {
    if (!solver)
        return cb_refuse_null("solver");
    CB_TRY(CB_CHECK_RESULT(solver, cobre_sddp_solver, problem));
    const cb_lp_plugin *plugin = cb_lp_plugin_at(index);
    if (!plugin)
        return cb_refuse("index", "use an index below cobre_sddp_solvers()", "there is no LP solver of index %zu",
                         index);
    cobre_sddp_solver all = {.name = plugin->name, .file = plugin->file};
    if (plugin->solver) {
        all.version = plugin->solver->version();
        all.license = plugin->solver->license;
    } else {
        all.problem = plugin->problem;
    }
    cb_versioned_give(solver, CB_THROUGH(cobre_sddp_solver, problem), &all, sizeof all);
    return COBRE_OK;
}
