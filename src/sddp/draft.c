/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c: writes FILE.part and renames it. A descriptor, or a file that is not regular, is written directly. */
#include "sddp/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sddp/error.h"
#include "sddp/open.h"

cobre_status cb_write_failed(const char *path) {
    struct rlimit limit;
    if (errno == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return cb_fail_at(COBRE_FILE_FAILED, path, 0, "raise the limit of file sizes: ulimit -f unlimited",
                          "%s: cannot write: no file may be larger than %ju bytes (ulimit -f)", path,
                          (uintmax_t)limit.rlim_cur);
    return cb_fail_at(COBRE_FILE_FAILED, path, 0, "check that the folder exists, may be written and has room",
                      "%s: cannot write: %s", path, cb_open_why(errno));
}

/* A descriptor has no place that another file could take. */
static bool is_descriptor(const char *path) {
    static const char folder[] = "/proc/self/fd/";
    return strncmp(path, folder, strlen(folder)) == 0 && !strchr(path + strlen(folder), '/');
}

cobre_status cb_draft_open(struct cb_draft *draft, const char *path) {
    struct stat status;
    bool direct = is_descriptor(path) || (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
    draft->file = NULL;
    if ((size_t)snprintf(draft->path, sizeof draft->path, "%s", path) >= sizeof draft->path ||
        (size_t)snprintf(draft->part, sizeof draft->part, "%s%s", path, direct ? "" : CB_DRAFT_ENDING) >=
            sizeof draft->part)
        errno = ENAMETOOLONG;
    else
        draft->file = cb_open_stream(draft->part, "w");
    if (!draft->file)
        return cb_write_failed(path);
    cb_file_limit_hold(&draft->limit);
    return COBRE_OK;
}

/* The directory entry, too, must reach the disk. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    int fd = cb_open_path(dirname(folder), O_RDONLY);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* Closes the file. False: not all of it is written. */
static bool finish(FILE *file, bool sync) {
    bool whole = fflush(file) == 0 && !ferror(file) && (!sync || fsync(fileno(file)) == 0);
    int cause = errno;
    if (fclose(file) == 0 || !whole) /* a quota or a network may tell only when it is closed */
        errno = cause;
    else
        whole = false;
    return whole;
}

cobre_status cb_draft_close(struct cb_draft *draft, cobre_status status) {
    bool direct = strcmp(draft->path, draft->part) == 0;
    bool whole = finish(draft->file, !status && !direct);
    draft->file = NULL;
    cb_file_limit_release(&draft->limit);
    if (!status && (!whole || (!direct && cb_rename(draft->part, draft->path) != 0)))
        status = cb_write_failed(draft->path);
    if (!status && !direct)
        sync_folder(draft->path);
    else if (!direct)
        cb_remove(draft->part);
    return status;
}
