/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c: the folder of a run (folder.h). */
#include "sddp/run/folder.h"

#include "sddp/draft.h"
#include "sddp/error.h"
#include "sddp/open.h"
#include "sddp/run/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

cobre_status cb_file_failed(const char *path) {
    if (errno == EFBIG)
        return cb_write_failed(path);
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, NULL, "%s: %s", path, cb_open_why(errno));
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

/* The last part of a path that does not end with a slash. */
static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* How many levels the working directory must be left upwards to be beside the case, if it is in it; else 0. */
static size_t levels_up(const char *case_path) {
    char here[PATH_MAX];
    size_t length = strlen(case_path), levels = 1;
    if (!getcwd(here, sizeof here) || length < 2 || strncmp(here, case_path, length) != 0 ||
        (here[length] != '/' && here[length] != '\0'))
        return 0;
    for (const char *at = here + length; *at; at++)
        levels += *at == '/';
    return levels;
}

/* The case's own name, without folder and ending: two cases trained in one place must not share their results. */
static void name_of(const char *path, const char *real, char name[PATH_MAX]) {
    snprintf(name, PATH_MAX, "%s", path);
    for (size_t end = strlen(name); end > 1 && name[end - 1] == '/'; end--)
        name[end - 1] = '\0';
    const char *last = last_part(name);
    bool dots = strspn(last, ".") == strlen(last) && strlen(last) <= 2;
    memmove(name, last, strlen(last) + 1);
    if (dots)
        snprintf(name, PATH_MAX, "%s", last_part(real));
    for (size_t i = 0; i < 3; i++) {
        static const char *const endings[] = {".gz", ".json", ".sof"};
        size_t length = strlen(endings[i]), end = strlen(name);
        if (end > length && strcmp(name + end - length, endings[i]) == 0)
            name[end - length] = '\0';
    }
    if (!*name)
        snprintf(name, PATH_MAX, "case");
}

cobre_status cb_folder_default(const char *case_path, char folder[PATH_MAX]) {
    char real[PATH_MAX], name[PATH_MAX];
    if (strlen(case_path) >= PATH_MAX)
        return too_long(case_path);
    if (!realpath(case_path, real))
        real[0] = '\0';
    name_of(case_path, real, name);
    size_t up = 3 * levels_up(real);
    for (size_t i = 0; i < up && i + 3 < PATH_MAX; i += 3)
        memcpy(folder + i, "../", 3);
    bool fits = up < PATH_MAX && snprintf(folder + up, PATH_MAX - up, "%s-out", name) < (int)(PATH_MAX - up);
    return fits ? COBRE_OK : too_long(case_path);
}

cobre_status cb_folder_policy(const char *case_path, const char *given, char policy[PATH_MAX]) {
    char folder[PATH_MAX];
    if (given)
        return snprintf(policy, PATH_MAX, "%s", given) < PATH_MAX ? COBRE_OK : too_long(given);
    CB_TRY(cb_folder_default(case_path, folder));
    return cb_folder_join(folder, CB_FILE_POLICY, policy);
}

/* As mkdir -p. *made: from which length on the path is new; it was 0 before. */
static bool make(const char *path, size_t *made) {
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
        bool done = cb_make_folder(part) == 0;
        if (!done && errno != EEXIST && errno != EISDIR && errno != EXDEV) /* EXDEV: not ours to make */
            return false;
        *made = done && !*made ? i : *made;
    }
    struct stat status;
    if (stat(path, &status) < 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode);
}

/* A full disk, a quota or a limit (ulimit -f) is better told before the work than after it. */
static cobre_status probe(const char *folder) {
    static const char room[4096];
    size_t done = 0;
    ssize_t count;
    char path[PATH_MAX];
    CB_TRY(cb_folder_join(folder, CB_TEXT(".cobre-%d", (int)getpid()), path));
    int file = cb_open_path(path, O_WRONLY | O_CREAT | O_EXCL);
    if (file < 0)
        return cb_file_failed(folder);
    cb_remove(path);
    do { /* a part may fit, and only the rest be an error */
        count = write(file, room, sizeof room - done);
        done += count > 0 ? (size_t)count : 0;
    } while (count > 0 && done < sizeof room);
    bool good = count > 0 && fsync(file) == 0;
    cobre_status status = good ? COBRE_OK : cb_file_failed(folder);
    close(file);
    return status;
}

/* A table of results may have the name of one of a case. */
static cobre_status refuse_case(const char *path) {
    char file[PATH_MAX];
    if (cb_folder_join(path, "case.json", file) != COBRE_OK || access(file, F_OK) != 0)
        return COBRE_OK;
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, "give another folder by --out",
                      "%s is a case: results would come between its tables", path);
}

cobre_status cb_folder_open(struct cb_folder *folder, const char *path) {
    *folder = (struct cb_folder){.path = path, .lock = -1};
    CB_TRY(refuse_case(path));
    if (!make(path, &folder->made) || access(path, W_OK | X_OK) != 0)
        return cb_file_failed(path);
    return probe(path);
}

/* The lock ends with the process, however that ends, but one that was killed may take a moment. */
cobre_status cb_folder_lock(struct cb_folder *folder) {
    enum { TRIES = 40, PAUSE_US = 50000 };
    folder->lock = cb_open_path(folder->path, O_RDONLY | O_DIRECTORY);
    for (int i = 0; folder->lock >= 0 && flock(folder->lock, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK) /* a file system without locks */
            return COBRE_OK;
        if (i == TRIES) {
            folder->made = 0; /* it is the other's */
            return cb_fail_at(COBRE_FILE_FAILED, folder->path, 0, NULL,
                              "%s: another training writes there; wait for its end, or give another folder",
                              folder->path);
        }
        usleep(PAUSE_US);
    }
    return COBRE_OK;
}

/* The lock is held for a moment only: a training that starts just then tries again (folder.c). */
bool cb_folder_is_locked(const char *folder, bool *known) {
    int fd = cb_open_path(folder, O_RDONLY | O_DIRECTORY);
    bool free = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
    *known = free || (fd >= 0 && errno == EWOULDBLOCK);
    if (fd >= 0)
        close(fd);
    return *known && !free;
}

void cb_folder_remove_drafts(const char *folder) {
#define TABLE_FILE(code, name, columns) name ".csv",
    static const char *const names[] = {CB_FILE_POLICY,  CB_FILE_TIMES,
                                        CB_FILE_SUMMARY, CB_TABLE_MAP(TABLE_FILE) CB_FILE_SIMULATION,
                                        CB_FILE_RUN,     CB_FILE_REPORT};
#undef TABLE_FILE
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        if (strlen(folder) + strlen(names[i]) + sizeof "/" CB_DRAFT_ENDING > sizeof path)
            return;
        stpcpy(stpcpy(stpcpy(stpcpy(path, folder), "/"), names[i]), CB_DRAFT_ENDING);
        cb_remove(path);
    }
}

void cb_folder_close(struct cb_folder *folder) {
    if (!folder->path)
        return;
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", folder->path);
    for (size_t end = strlen(part); folder->made && end >= folder->made; end--)
        if (part[end] == '/' || part[end] == '\0') {
            part[end] = '\0';
            cb_remove(part); /* which fails if there is something in it */
        }
    if (folder->lock >= 0)
        close(folder->lock);
    folder->path = NULL;
}
