/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_folders.h: the folders in which plugins are searched. It is inline for libcobre-sddp. */
#ifndef COBRE_COMM_PLUGIN_FOLDERS_H
#define COBRE_COMM_PLUGIN_FOLDERS_H

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the loader's answer. Not on the heap: a rank that is short of memory would miss its plugins. */
union cb_loader_folders {
    Dl_serinfo info;
    char room[65536];
};

/* Where the system's loader looks on behalf of this object: rpath, LD_LIBRARY_PATH, the system's own folders. */
static inline void cb_visit_loader_folders(const char *object, union cb_loader_folders *list,
                                           void (*visit)(const char *folder, void *arg), void *arg) {
    void *handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD); /* NULL: the program itself */
    Dl_serinfo *info = &list->info;
    if (!handle)
        handle = dlopen(NULL, RTLD_LAZY);
    if (!handle)
        return;
    if (dlinfo(handle, RTLD_DI_SERINFOSIZE, info) == 0 && info->dls_size <= sizeof *list &&
        dlinfo(handle, RTLD_DI_SERINFO, info) == 0)
        for (unsigned i = 0; i < info->dls_cnt; i++)
            if (info->dls_serpath[i].dls_name[0] == '/') /* never the current folder, whoever may write there */
                visit(info->dls_serpath[i].dls_name, arg);
    dlclose(handle);
}

/* The folder of the library or program that holds the address `inside`, then those of the loader. A program that is linked
 * with -static has no loader: its own folder is all there is. */
static inline void cb_visit_plugin_folders(const void *inside, union cb_loader_folders *list,
                                           void (*visit)(const char *folder, void *arg), void *arg) {
    char real[PATH_MAX];
    Dl_info own;
    bool known = dladdr(inside, &own) != 0;
    /* A program that was found by PATH is known by its name alone. */
    if (realpath(known && strchr(own.dli_fname, '/') ? own.dli_fname : "/proc/self/exe", real))
        visit(dirname(real), arg);
    if (known)
        cb_visit_loader_folders(own.dli_fname, list, visit, arg);
}

/* Is the folder in the list "a, b"? */
static inline bool cb_folder_listed(const char *folders, const char *folder) {
    size_t length = strlen(folder);
    for (const char *at = folders; (at = strstr(at, folder)); at++)
        if ((at == folders || at[-1] == ' ') && (at[length] == ',' || at[length] == 0))
            return true;
    return false;
}

/* Adds a folder to the list, by its real name, which is returned. NULL: it is there already. */
static inline const char *cb_folder_add(char *folders, size_t size, const char *folder, char real[PATH_MAX]) {
    size_t length = strlen(folders);
    const char *name = realpath(folder, real) ? real : folder;
    if (cb_folder_listed(folders, name))
        return NULL;
    return snprintf(folders + length, size - length, "%s%s", length ? ", " : "", name) > 0 ? name : NULL;
}

#endif
