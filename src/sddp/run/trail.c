/* SPDX-License-Identifier: Apache-2.0 */
/* trail.c: see trail.h. */
#include "sddp/run/trail.h"

#include "sddp/error.h"
#include "sddp/open.h"
#include "sddp/run/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies the lines before iteration `first` of the older run, whose file may be this very one. Nothing is lost when that is
 * interrupted: the lines are cut off in place. */
static bool copy_lines(const struct cb_trail *trail, FILE *old) {
    bool in_place = trail->file == old;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    long end = 0;
    while ((length = getline(&line, &room, old)) > 0 && line[length - 1] == '\n') {
        bool heads = end == 0 && trail->header;
        if (heads ? strcmp(line, trail->header) != 0 : !trail->is_before(line, trail->first))
            break;
        if (!in_place && !heads)
            fputs(line, trail->file);
        end = ftell(old);
    }
    free(line);
    if (in_place && (ftruncate(fileno(old), end) != 0 || fseek(old, 0, SEEK_END) != 0))
        return false;
    if (in_place && end == 0 && trail->header)
        fputs(trail->header, trail->file);
    return true;
}

static bool is_same_file(FILE *file, const char *path) {
    struct stat open, named;
    return fstat(fileno(file), &open) == 0 && stat(path, &named) == 0 && named.st_ino == open.st_ino &&
           named.st_dev == open.st_dev && open.st_size > 0;
}

static FILE *open_older(const struct cb_trail *trail) {
    char path[PATH_MAX];
    if (!trail->older)
        return NULL;
    return cb_folder_join(trail->older, trail->name, path) ? NULL
                                                           : cb_open_stream(path, "r"); /* it may be one to read only */
}

static cobre_status open_file(struct cb_trail *trail) {
    CB_TRY(cb_folder_join(trail->folder, trail->name, trail->path));
    FILE *old = open_older(trail);
    bool in_place = old && is_same_file(old, trail->path);
    trail->file = cb_open_stream(trail->path, in_place ? "r+" : "w");
    bool good = trail->file != NULL;
    if (good && !in_place && trail->header)
        fputs(trail->header, trail->file);
    if (good && old)
        good = copy_lines(trail, in_place ? trail->file : old);
    good = good && fflush(trail->file) == 0 && (trail->end = ftell(trail->file)) >= 0;
    int cause = errno;
    if (old)
        fclose(old);
    if (!good && trail->file) {
        fclose(trail->file);
        trail->file = NULL;
    }
    errno = cause;
    return good ? COBRE_OK : cb_file_failed(trail->path);
}

/* As much as can be written: the next call goes on from there, also in the middle of a line. */
static cobre_status write_lines(struct cb_trail *trail) {
    if (!trail->file)
        CB_TRY(open_file(trail));
    while (trail->length > 0) {
        ssize_t written = pwrite(fileno(trail->file), trail->lines, trail->length, trail->end);
        if (written <= 0)
            return cb_file_failed(trail->path);
        trail->end += written;
        trail->length -= (size_t)written;
        memmove(trail->lines, trail->lines + written, trail->length);
    }
    return COBRE_OK;
}

cobre_status cb_trail_add(struct cb_trail *trail, const char *text, size_t length) {
    if (trail->length + length > trail->room) {
        size_t room = 2 * (trail->room + length);
        char *more = realloc(trail->lines, room);
        if (!more)
            return cb_no_memory(trail->name, room);
        trail->lines = more;
        trail->room = room;
    }
    if (length > 0)
        memcpy(trail->lines + trail->length, text, length);
    trail->length += length;
    return write_lines(trail);
}

cobre_status cb_trail_close(struct cb_trail *trail) {
    cobre_status status = write_lines(trail);
    if (trail->file && fclose(trail->file) != 0 && !status)
        status = cb_file_failed(trail->path);
    free(trail->lines);
    trail->file = NULL;
    trail->lines = NULL;
    trail->length = trail->room = 0;
    return status;
}
