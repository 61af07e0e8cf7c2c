/* SPDX-License-Identifier: Apache-2.0 */
/* name.c: the one name that a forming job has: given, found, removed.
 *
 * On Linux the file is built without a name (O_TMPFILE) and linked when it is complete, so that it is complete or
 * absent. The portable path creates it under its name and stores the magic last.
 *
 * There are two locks on the file, each on one byte. An open file owns them, so the kernel drops them at death:
 *   ALIVE     rank 0 holds it while the job forms. Others only test it, which disturbs nobody: free means stale.
 *   REMOVING  a process holds it briefly while it removes a stale name. It checks that ALIVE is free and that the name
 *             still leads to this file, so a new job's name is never removed by mistake. A process that knows rank 0 to be
 *             dead need not test ALIVE, which the kernel drops only after it has freed all memory of rank 0. */
#include "backends/shm/name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

cobre_status cb_shm_system_error(const char *what, const char *name) {
    int error = errno;
    return CB_JOIN_ERROR(error, "see that " CB_SHARED_MEMORY " is mounted and can be written by this user",
                         "shm: cannot %s %s%s: %s", what, CB_SHARED_MEMORY, name, strerror(error));
}

void cb_shm_path(const char *name, char path[256]) {
    snprintf(path, 256, CB_SHARED_MEMORY "%s", name);
}

/* Does the name lead to the file behind fd? */
static bool leads_to(const char *path, int fd) {
    struct stat by_name, by_fd;
    return lstat(path, &by_name) == 0 && fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
           by_name.st_dev == by_fd.st_dev;
}

enum { ALIVE, REMOVING };

static bool lock_byte(int fd, off_t which, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = which, .l_len = 1};
    int failed;
    while ((failed = fcntl(fd, F_OFD_SETLK, &lock)) != 0 && errno == EINTR)
        ;
    return !failed;
}

/* REMOVING is held for microseconds, but its holder can be stopped: no wait is for ever. */
static bool begin_removing(int fd) {
    for (double end = cb_now() + 1; !lock_byte(fd, REMOVING, F_WRLCK); cb_nap(1e-4))
        if (cb_now() > end)
            return false;
    return true;
}

bool cb_shm_is_alive(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = ALIVE, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static enum cb_finding look_at(int fd, struct cb_job_header *header) {
    struct stat file;
    if (fstat(fd, &file) != 0)
        return CB_NOTHING;
    if (file.st_uid != geteuid())
        return CB_FOREIGN;
    ssize_t got = S_ISREG(file.st_mode) ? pread(fd, header, sizeof *header, 0) : -1;
    bool whole = got == (ssize_t)sizeof *header && header->magic == CB_SHM_MAGIC;
#ifdef COBRE_SHM_PORTABLE
    bool unfinished = got == 0 || (got == (ssize_t)sizeof *header && header->magic == 0);
#else
    bool unfinished = false;
#endif
    if (!whole && !unfinished)
        return CB_STRANGE;
    if (!cb_shm_is_alive(fd))
        return CB_STALE;
    if (!whole)
        return CB_UNREADY;
    return header->layout == CB_SHM_LAYOUT ? CB_LIVE : CB_OTHER_LAYOUT;
}

/* A name that went while we looked, because its job has formed, is nothing. */
enum cb_finding cb_shm_find(const char *path, int *fd, struct cb_job_header *header) {
    *fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (*fd < 0)
        return errno == ENOENT                     ? CB_NOTHING
               : errno == EACCES || errno == EPERM ? CB_FOREIGN
               : errno == ELOOP || errno == EISDIR ? CB_STRANGE
                                                   : CB_NOT_OPENED;
    enum cb_finding finding = look_at(*fd, header);
    return leads_to(path, *fd) ? finding : CB_NOTHING;
}

void cb_shm_drop_name(const char *path, int fd) {
    if (leads_to(path, fd))
        unlink(path);
}

static int remove_name(const char *path, int fd, bool is_dead) {
    int removed = 0;
    if (!begin_removing(fd))
        return 0;
    if ((is_dead || !cb_shm_is_alive(fd)) && leads_to(path, fd))
        removed = unlink(path) == 0 ? 1 : -1;
    int error = errno;
    lock_byte(fd, REMOVING, F_UNLCK);
    errno = error;
    return removed;
}

int cb_shm_remove_stale(const char *path, int fd) {
    return remove_name(path, fd, false);
}

void cb_shm_remove_dead(const char *path, int fd) {
    remove_name(path, fd, true);
}

/* A name of ours can be removed by whoever may write the directory. */
static int would_remove(void) {
    return faccessat(AT_FDCWD, CB_SHARED_MEMORY, W_OK | X_OK, AT_EACCESS) == 0 ? 1 : -1;
}

int cb_shm_clean(const char *name, bool remove) {
    char path[256];
    struct cb_job_header header;
    int fd, removed = 0;
    cb_shm_path(name, path);
    if (cb_shm_find(path, &fd, &header) == CB_STALE)
        removed = remove ? cb_shm_remove_stale(path, fd) : would_remove();
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return removed;
}

cobre_status cb_shm_refuse_name(enum cb_finding finding, const char *path, const struct cb_job_header *header) {
    switch (finding) {
    case CB_LIVE:
        return CB_JOIN_ERROR(EEXIST, "choose another COBRE_SHM_NAME, or wait until that job has formed",
                             "shm: %s belongs to a live job that is forming (pid %" PRId64 ")", path, header->creator);
    case CB_NOT_OPENED: return cb_shm_system_error("open", strrchr(path, '/'));
    case CB_FOREIGN:
        return CB_JOIN_ERROR(EACCES, "choose another COBRE_SHM_NAME",
                             "shm: %s belongs to another user; a segment must be the caller's own", path);
    case CB_OTHER_LAYOUT:
        return CB_JOIN_ERROR(EPROTO, "run all ranks with the same version of cobre",
                             "shm: %s has layout %" PRIu32 ", this build uses %d", path, header->layout, CB_SHM_LAYOUT);
    default:
        return CB_JOIN_ERROR(EEXIST, "choose another COBRE_SHM_NAME, or remove that file if nobody needs it",
                             "shm: %s exists, but is not a cobre segment", path);
    }
}

/* The name is taken: removes a stale one, so that the caller can try again, or says why it cannot be had. */
static cobre_status resolve_clash(const char *path, const char *name) {
    struct cb_job_header header = {0};
    int fd;
    enum cb_finding finding = cb_shm_find(path, &fd, &header);
    cobre_status status = COBRE_OK;
    if (finding == CB_STALE) {
        errno = EBUSY; /* somebody else removes it, and has been stopped */
        if (cb_shm_remove_stale(path, fd) <= 0 && leads_to(path, fd))
            status = cb_shm_system_error("remove the stale", name);
    } else if (finding != CB_NOTHING)
        status = cb_shm_refuse_name(finding == CB_UNREADY ? CB_LIVE : finding, path, &header);
    if (fd >= 0)
        close(fd);
    return status;
}

#ifdef COBRE_SHM_PORTABLE
cobre_status cb_shm_create_file(const char *name, int *fd) {
    char path[256];
    cb_shm_path(name, path);
    for (;;) {
        *fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (*fd >= 0) {
            bool ours = begin_removing(*fd) && lock_byte(*fd, ALIVE, F_WRLCK) && leads_to(path, *fd);
            lock_byte(*fd, REMOVING, F_UNLCK);
            if (ours)
                return COBRE_OK;
            close(*fd); /* somebody took it for stale before it was locked */
            continue;
        }
        if (errno != EEXIST)
            return cb_shm_system_error("create", name);
        CB_TRY(resolve_clash(path, name));
    }
}

cobre_status cb_shm_name_file(const char *name, int fd) {
    (void)name, (void)fd;
    return COBRE_OK;
}
#else
cobre_status cb_shm_create_file(const char *name, int *fd) {
    (void)name;
    *fd = open(CB_SHARED_MEMORY, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0)
        return cb_shm_system_error("create a file in", "");
    return lock_byte(*fd, ALIVE, F_WRLCK) ? COBRE_OK : cb_shm_system_error("lock a file in", "");
}

cobre_status cb_shm_name_file(const char *name, int fd) {
    char path[256], link[64];
    cb_shm_path(name, path);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    while (linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0) {
        if (errno != EEXIST)
            return cb_shm_system_error("link (through /proc)", name);
        CB_TRY(resolve_clash(path, name));
    }
    return COBRE_OK;
}
#endif
