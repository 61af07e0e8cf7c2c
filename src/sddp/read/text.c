/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: see text.h. The first bytes of a file tell whether it is compressed, as in gzread. */
#include "sddp/read/text.h"
#include "sddp/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define PIECE 65536
#define MOST_INFLATED ((size_t)1 << 30) /* bytes: a few kilobytes can be made to become any number of them */

size_t cb_text_most = SIZE_MAX;

const char *const cb_workbook_kinds[] = {".xlsx", ".xls", ".ods", NULL};

/* Room for another piece and a zero byte. */
static bool grow(char **text, size_t size, size_t *room) {
    if (*room >= size + PIECE + 1)
        return true;
    *room = 2 * (size + PIECE);
    char *more = realloc(*text, *room);
    *text = more ? more : *text;
    return more;
}

/* Was that all? If not, it is reported. */
static bool is_whole(cobre_sddp_builder *builder, const cb_place *at, gzFile file) {
    int code;
    const char *text = gzerror(file, &code);
    if (code == Z_ERRNO)
        cb_error_at(builder, at, NULL, "cannot be read: %s", strerror(errno));
    else if (code == Z_MEM_ERROR)
        builder->no_memory = true;
    else if (code == Z_BUF_ERROR)
        cb_error_at(builder, at, "copy it again", "its compressed data is cut off");
    else if (code != Z_OK)
        cb_error_at(builder, at, "copy it again", "its compressed data is damaged: %s", text);
    return code == Z_OK;
}

/* Reads until the end; false: reported. */
static bool read_all(cobre_sddp_builder *builder, const cb_place *at, gzFile file, char **text, size_t *size) {
    size_t room = 0;
    for (int got = 1; got > 0; *size += (size_t)(got > 0 ? got : 0)) {
        if (!grow(text, *size, &room)) {
            builder->no_memory = true;
            return false;
        }
        if (*size > MOST_INFLATED && !gzdirect(file)) {
            cb_error_at(builder, at, "unpack it (gunzip), if that is what it should be",
                        "its compressed data becomes more than %zu bytes", MOST_INFLATED);
            return false;
        }
        if (*size > cb_text_most) {
            cb_error_at(builder, at, "start a job with it, such as train, or use cobre on the command line",
                        "has more than %zu MiB, which is too large to be read here", cb_text_most >> 20);
            return false;
        }
        got = gzread(file, *text + *size, PIECE);
    }
    (*text)[*size] = 0;
    if (!is_whole(builder, at, file))
        return false;
    if (strlen(*text) == *size)
        return true;
    bool utf16 = *size > 1 && (memcmp(*text, "\xFF\xFE", 2) == 0 || memcmp(*text, "\xFE\xFF", 2) == 0);
    cb_error_at(builder, at, "save it as plain text, UTF-8", "%s", utf16 ? "is UTF-16 text" : "has a zero byte in it");
    return false;
}

/* A table that was saved as a workbook, under the same name; NULL: there is none. */
static const char *find_workbook(const char *path) {
    size_t length = strlen(path);
    bool is_table = length > 4 && strcmp(path + length - 4, ".csv") == 0;
    for (size_t i = 0; is_table && cb_workbook_kinds[i]; i++) {
        struct stat is;
        char workbook[PATH_MAX];
        snprintf(workbook, PATH_MAX, "%.*s%s", (int)(length - 4), path, cb_workbook_kinds[i]);
        if (stat(workbook, &is) == 0)
            return cb_workbook_kinds[i];
    }
    return NULL;
}

/* A link to nothing is not missing: it was meant to be read. */
static bool is_missing(const char *path) {
    struct stat is;
    return lstat(path, &is) != 0 && errno == ENOENT;
}

static void blame_missing(cobre_sddp_builder *builder, const cb_place *at, bool optional, int why) {
    const char *kind = why == ENOENT ? find_workbook(at->file) : NULL;
    if (kind)
        cb_error_at(builder, at, "save its sheet as CSV (UTF-8, separated by commas)",
                    "is not there, but as a workbook (%s), which is not read", kind);
    else if (!optional || why != ENOENT || !is_missing(at->file))
        cb_error_at(builder, at, "see docs/case-format.md for the files of a case", "cannot be read: %s",
                    cb_open_why(why));
}

/* Anything else may never end, or never begin. A pipe that the shell has made, as /dev/stdin or /dev/fd/63, has a writer. */
static bool is_file(cobre_sddp_builder *builder, const cb_place *at, int fd) {
    struct stat is;
    if (fstat(fd, &is) != 0 || S_ISREG(is.st_mode) || (S_ISFIFO(is.st_mode) && strncmp(at->file, "/dev/", 5) == 0))
        return true;
    cb_error_at(builder, at, "put a file there", "is %s, not a file",
                S_ISDIR(is.st_mode)    ? "a directory"
                : S_ISFIFO(is.st_mode) ? "a pipe (FIFO)"
                                       : "a device or socket");
    return false;
}

/* -1: reported, or not there and optional. It does not wait for a writer of a pipe. */
static int open_file(cobre_sddp_builder *builder, const cb_place *at, bool optional) {
    int fd = cb_open_path(at->file, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        blame_missing(builder, at, optional, errno);
    } else if (!is_file(builder, at, fd)) {
        close(fd);
        return -1;
    } else {
        fcntl(fd, F_SETFL, 0);
    }
    return fd;
}

static gzFile open_text(cobre_sddp_builder *builder, const cb_place *at, bool optional) {
    int fd = open_file(builder, at, optional);
    gzFile file = fd < 0 ? NULL : gzdopen(fd, "rb");
    if (fd >= 0 && !file) {
        close(fd);
        builder->no_memory = true;
    }
    return file;
}

char *cb_read_text(cobre_sddp_builder *builder, const char *path, bool optional, size_t *size) {
    const cb_place at = {.file = path};
    gzFile file = open_text(builder, &at, optional);
    char *text = NULL;
    *size = 0;
    if (!file)
        return NULL;
    bool good = read_all(builder, &at, file, &text, size);
    gzclose(file);
    if (good)
        return text;
    free(text);
    return NULL;
}
