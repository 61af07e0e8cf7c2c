/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c: where the results of a run go. */
#include "sddp/run/folder.h"

#include "sddp/error.h"
#include "sddp/run/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

cobre_status cb_file_failed(const char *path) {
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, NULL, "%s: %s", path, strerror(errno));
}

static cobre_status too_long(const char *path) {
    return cb_fail(COBRE_INVALID_ARGUMENT, NULL, "%.60s...: the path is too long", path);
}

cobre_status cb_folder_join(const char *folder, const char *name, char path[PATH_MAX]) {
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX ? COBRE_OK : too_long(folder);
}

void cb_folder_of(const char *path, char folder[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(folder, PATH_MAX, "%.*s", length ? (int)length : 1, length ? path : ".");
}

/* The case's own name, without folder and ending: two cases trained in one place must not share their results. */
cobre_status cb_folder_default(const char *case_path, char folder[PATH_MAX]) {
    size_t end = strlen(case_path);
    while (end > 1 && case_path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && case_path[start - 1] != '/')
        start--;
    static const char *const endings[] = {".gz", ".json", ".sof"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (end - start > length && memcmp(case_path + end - length, endings[i], length) == 0)
            end -= length;
    }
    bool dots = end - start <= 2 && strspn(case_path + start, "./") >= end - start;
    int length = dots ? snprintf(folder, PATH_MAX, "case-out")
                      : snprintf(folder, PATH_MAX, "%.*s-out", (int)(end - start), case_path + start);
    return length > 0 && length < PATH_MAX ? COBRE_OK : too_long(case_path);
}

cobre_status cb_folder_policy(const char *case_path, const char *given, char policy[PATH_MAX]) {
    char folder[PATH_MAX];
    if (given)
        return snprintf(policy, PATH_MAX, "%s", given) < PATH_MAX ? COBRE_OK : too_long(given);
    CB_TRY(cb_folder_default(case_path, folder));
    return cb_folder_join(folder, CB_FILE_POLICY, policy);
}

/* As mkdir -p. */
static bool make(const char *path) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST && errno != EISDIR)
            return false;
    }
    struct stat status;
    if (stat(path, &status) < 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode);
}

cobre_status cb_folder_open(struct cb_folder *folder, const char *path) {
    *folder = (struct cb_folder){.path = path, .made = access(path, F_OK) != 0, .lock = -1};
    if (make(path) && access(path, W_OK | X_OK) == 0)
        return COBRE_OK;
    return cb_file_failed(path);
}

/* The lock ends with the process, however that ends, but one that was killed may take a moment. */
cobre_status cb_folder_lock(struct cb_folder *folder) {
    enum { TRIES = 40, PAUSE_US = 50000 };
    folder->lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; folder->lock >= 0 && flock(folder->lock, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK) /* a file system without locks */
            return COBRE_OK;
        if (i == TRIES) {
            folder->made = false; /* it is the other's */
            return cb_fail_at(COBRE_FILE_FAILED, folder->path, 0, NULL,
                              "%s: another training writes there; wait for its end, or give another folder",
                              folder->path);
        }
        usleep(PAUSE_US);
    }
    return COBRE_OK;
}

void cb_folder_close(struct cb_folder *folder) {
    if (!folder->path)
        return;
    if (folder->made)
        rmdir(folder->path); /* which fails if there is something in it */
    if (folder->lock >= 0)
        close(folder->lock);
    folder->path = NULL;
}
