/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: finds the plugins of LP solvers, libcobre-lp-NAME.so.
 *
 * If COBRE_LP_PATH is set, it looks there and nowhere else. Otherwise it looks beside libcobre-sddp (or the program
 * that it is linked into), then in the folders where the system's loader looks for the libraries of that file (rpath,
 * LD_LIBRARY_PATH, the system's own). If two files have the same name, the first counts. They are loaded with
 * RTLD_LOCAL, so that symbols of different solvers do not clash. The folders are read once, a file is loaded when it is
 * first needed, and nothing is ever unloaded. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/plugin_folders.h"
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

static void scan(const char *folder, void *unused) {
    (void)unused;
    char real[PATH_MAX];
    const char *name = cb_folder_add(folders, sizeof folders, folder, real);
    DIR *directory = name ? opendir(name) : NULL;
    if (!directory)
        return;
    for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
        add(name, entry->d_name);
    closedir(directory);
}

static void scan_all(void) {
    static union cb_loader_folders list;
    const char *only = getenv(CB_ENV_LP_PATH);
    if (only && *only)
        scan(only, NULL);
    else
        cb_visit_plugin_folders((const void *)(uintptr_t)scan_all, &list, scan, NULL);
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
