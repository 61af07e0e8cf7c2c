/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: see open.h. */
#include "sddp/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 32 };

static struct {
    char *path;
    size_t length;
    int fd;
    bool writes;
} folder[MOST];
static size_t folders;

static bool is_known(const char *path, bool writes) {
    bool known = false;
    for (size_t i = 0; i < folders; i++)
        known |= strcmp(folder[i].path, path) == 0 && folder[i].writes == writes;
    return known;
}

bool cb_confine(const char *path, bool writes) {
    if (is_known(path, writes))
        return true;
    int fd = folders < MOST ? open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    char *own = fd < 0 ? NULL : strdup(path);
    if (!own) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    folder[folders].path = own;
    folder[folders].length = strlen(own);
    folder[folders].fd = fd;
    folder[folders++].writes = writes;
    return true;
}

bool cb_is_confined(void) {
    return folders > 0;
}

char *cb_confinement_text(void) {
    char *text = NULL;
    size_t size;
    FILE *file = folders > 0 ? open_memstream(&text, &size) : NULL;
    if (!file)
        return NULL;
    for (size_t i = 0; i < folders; i++)
        fprintf(file, "%c%zu:%s", folder[i].writes ? 'w' : 'r', folder[i].length, folder[i].path);
    return fclose(file) == 0 ? text : NULL;
}

bool cb_confine_by_text(const char *text) {
    while (*text) {
        int length = 0;
        char kind, path[PATH_MAX];
        size_t size;
        if (sscanf(text, "%c%zu:%n", &kind, &size, &length) != 2 || length == 0 || size >= sizeof path ||
            strlen(text + length) < size)
            return false;
        memcpy(path, text + length, size);
        path[size] = 0;
        if (!cb_confine(path, kind == 'w'))
            return false;
        text += (size_t)length + size;
    }
    return true;
}

/* What of `path` comes after the folder; NULL: it is not below it. */
static const char *below(size_t i, const char *path) {

    if (folder[i].length == 1) /* the root of all */
        return *path == '/' ? path + 1 : NULL;
    bool inside = strncmp(path, folder[i].path, folder[i].length) == 0;
    if (!inside || (path[folder[i].length] != '/' && path[folder[i].length]))
        return NULL;
    path += folder[i].length;
    return path + strspn(path, "/");
}

int cb_open_beneath(int at, const char *path, int flags, unsigned long long resolve) {
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .mode = flags & O_CREAT ? 0666u : 0u,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve};
    long fd;
    do
        fd = syscall(SYS_openat2, at, *path ? path : ".", &how, sizeof how);
    while (fd < 0 && (errno == EAGAIN || errno == EINTR)); /* EAGAIN: something was renamed on the way */
    return (int)fd;
}

/* Nothing that waits, or does something when it is opened or read. */
static int keep_file(int fd) {
    struct stat is;
    if (fd < 0)
        return fd;
    if (fstat(fd, &is) == 0 && (S_ISREG(is.st_mode) || S_ISDIR(is.st_mode))) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return fd;
    }
    close(fd);
    errno = ESRCH;
    return -1;
}

/* Below any of the folders, as the path is written. EXDEV: it leads out of all of them. */
static int open_below(const char *path, int flags, bool writes, unsigned long long resolve) {
    int error = EXDEV;
    for (size_t i = 0; i < folders; i++) {
        const char *rest = below(i, path);
        if (!rest || (writes && !folder[i].writes))
            continue;
        int fd = cb_open_beneath(folder[i].fd, rest, flags & O_PATH ? flags : flags | O_NONBLOCK, resolve);
        if (fd >= 0)
            return flags & O_PATH ? fd : keep_file(fd);
        error = errno;
        if (error != EXDEV)
            break;
    }
    errno = error;
    return -1;
}

static bool goes_up(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
            return true;
    return false;
}

/* The path without links. Of what is not there that of its folder, and its name. */
static bool without_links(const char *path, char real[PATH_MAX]) {
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (realpath(path, real))
        return true;
    if (!slash || slash == path || (size_t)(slash - path) >= sizeof parent)
        return false;
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = 0;
    if (!realpath(parent, real) || strlen(real) + strlen(slash) >= PATH_MAX)
        return false;
    strcat(real, slash);
    return true;
}

/* The kernel refuses a symbolic link with an absolute target wherever it leads: then the path without links is tried, and no link is
 * followed any more. Not of a path with "..": the answer would tell what there is outside. */
static int open_confined(const char *path, int flags, bool writes) {
    char real[PATH_MAX];
    int fd = open_below(path, flags, writes, 0);
    if (fd >= 0 || errno != EXDEV || goes_up(path))
        return fd;
    bool known = without_links(path, real);
    fd = known ? open_below(real, flags, writes, RESOLVE_NO_SYMLINKS) : -1;
    if (fd < 0 && (!known || errno == ELOOP))
        errno = EXDEV;
    return fd;
}

int cb_open_path(const char *path, int flags) {
    if (cb_is_confined())
        return open_confined(path, flags, (flags & O_ACCMODE) != O_RDONLY);
    return open(path, flags | O_CLOEXEC, 0666);
}

FILE *cb_open_stream(const char *path, const char *mode) {
    int flags = *mode == 'r' ? O_RDONLY : *mode == 'a' ? O_WRONLY | O_CREAT | O_APPEND : O_WRONLY | O_CREAT | O_TRUNC;
    if (strchr(mode, '+'))
        flags = (flags & ~O_ACCMODE) | O_RDWR;
    int fd = cb_open_path(path, flags);
    FILE *file = fd < 0 ? NULL : fdopen(fd, mode);
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

/* The folder that `path` is in, opened, and its last part; AT_FDCWD and the path itself in a process that is not confined. */
static int open_parent(const char *path, const char **name) {
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *name = path;
    if (!cb_is_confined())
        return AT_FDCWD;
    if (!slash || (size_t)(slash - path) >= sizeof parent) {
        errno = slash ? ENAMETOOLONG : EXDEV;
        return -1;
    }
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = 0;
    *name = slash + 1;
    return open_confined(parent, O_PATH | O_DIRECTORY, true);
}

/* Returns `result`, and leaves errno as it is. */
static int close_parent(int fd, int result) {
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return result;
}

int cb_make_folder(const char *path) {
    const char *name;
    int fd = open_parent(path, &name);
    return fd == -1 ? -1 : close_parent(fd, mkdirat(fd, name, 0777));
}

int cb_remove(const char *path) {
    const char *name;
    int fd = open_parent(path, &name);
    int result = fd == -1 ? -1 : unlinkat(fd, name, 0);
    if (result != 0 && fd != -1 && errno == EISDIR)
        result = unlinkat(fd, name, AT_REMOVEDIR);
    return close_parent(fd, result);
}

int cb_rename(const char *from, const char *to) {
    const char *old, *new;
    int in = open_parent(from, &old), into = open_parent(to, &new);
    int result = in == -1 || into == -1 ? -1 : renameat(in, old, into, new);
    return close_parent(in, close_parent(into, result));
}

const char *cb_open_why(int error) {
    if (cb_is_confined() && error == EXDEV)
        return "it lies outside of the folders that may be used";
    return cb_is_confined() && error == ESRCH ? "it is no file" : strerror(error);
}
