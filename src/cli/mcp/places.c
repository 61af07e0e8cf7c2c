/* SPDX-License-Identifier: Apache-2.0 */
/* places.c: from the text of a client to a file or folder that it may name.
 *
 * The process is confined to the roots and the output (sddp/open.h): the kernel refuses each step of a path that would
 * leave them. So nothing can be changed between the check and the opening. The result is a descriptor (O_PATH), which
 * stays the same file when names are changed. */
#include "cli/mcp/places.h"

#include "sddp/open.h"
#include "sddp/run/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a descriptor is now. */
static bool path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

static bool open_root(struct cb_root *root, const char *path, int flags) {
    root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
    return root->fd >= 0 && path_of(root->fd, root->path);
}

void cb_places_look(struct cb_places *places) {
    struct cb_root *output = &places->root[places->roots];
    if (output->fd < 0 &&
        (!open_root(output, places->output, places->usual ? O_NOFOLLOW : 0) || !cb_confine(output->path, true)))
        output->fd = -1;
}

static const char *absolute(const char *given, const char *first_root, char path[PATH_MAX]) {
    char here[PATH_MAX];
    int length = !given                      ? snprintf(path, PATH_MAX, "%s/cobre-output", first_root)
                 : *given == '/'             ? snprintf(path, PATH_MAX, "%s", given)
                 : getcwd(here, sizeof here) ? snprintf(path, PATH_MAX, "%s/%s", here, given)
                                             : PATH_MAX;
    return length < PATH_MAX ? NULL : "the path of the output is too long";
}

const char *cb_places_open(struct cb_places *places, const char *const *roots, const char *output) {
    static const char *const here[] = {".", NULL};
    *places = (struct cb_places){.usual = !output};
    for (size_t i = 0; i <= CB_PLACES_MOST; i++)
        places->root[i].fd = -1;
    errno = E2BIG;
    for (roots = roots && *roots ? roots : here; *roots; roots++) {
        if (places->roots == CB_PLACES_MOST)
            return "at most 16 roots can be given";
        if (!open_root(&places->root[places->roots], *roots, 0) || !cb_confine(places->root[places->roots].path, false))
            return *roots;
        places->roots++;
    }
    const char *wrong = absolute(output, places->root[0].path, places->output);
    cb_places_look(places);
    return wrong;
}

void cb_places_close(struct cb_places *places) {
    for (size_t i = 0; i <= places->roots; i++)
        if (places->root[i].fd >= 0)
            close(places->root[i].fd);
}

void cb_place_close(struct cb_place *place) {
    if (place->fd >= 0)
        close(place->fd);
    place->fd = -1;
}

void cb_places_list(const struct cb_places *places, char *text, size_t size) {
    size_t length = 0;
    *text = 0;
    for (size_t i = 0; i <= places->roots && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "",
                                   i < places->roots ? places->root[i].path : places->output);
}

/* What follows the root in a path below it; NULL: it is not below. */
static const char *below(const char *root, const char *path) {
    size_t length = strlen(root);
    if (strcmp(root, "/") == 0)
        return path[0] == '/' ? path + 1 : NULL;
    if (strncmp(root, path, length) != 0 || (path[length] && path[length] != '/'))
        return NULL;
    path += length;
    return path + strspn(path, "/");
}

/* Tries the path in each root. `resolved`: what it was taken for first. */
static int open_any(const struct cb_places *places, const char *path, char resolved[PATH_MAX]) {
    int fd = -1, error = ENOENT;
    snprintf(resolved, PATH_MAX, "%s", path);
    if (*path == '/')
        return cb_open_path(path, O_PATH);
    for (size_t i = 0; fd < 0 && i <= places->roots; i++) {
        char full[2 * PATH_MAX];
        if (places->root[i].fd < 0)
            continue;
        snprintf(full, sizeof full, "%s/%s", places->root[i].path, path);
        fd = cb_open_path(full, O_PATH);
        if (i == 0)
            snprintf(resolved, PATH_MAX, "%.*s", PATH_MAX - 1, full);
        error = fd < 0 && error == ENOENT ? errno : error;
    }
    errno = error;
    return fd;
}

/* What there is outside is not told: neither whether it is there nor where links lead. */
static bool refuse(const struct cb_places *places, const char *path, const char *resolved, int error,
                   char why[CB_PLACE_WHY]) {
    char allowed[PATH_MAX];
    cb_places_list(places, allowed, sizeof allowed);
    if (error == EXDEV)
        snprintf(why, CB_PLACE_WHY, "%.1024s leads outside of the allowed folders: %.2048s", path, allowed);
    else
        snprintf(why, CB_PLACE_WHY, "%.1024s (resolved: %.1024s): %s. Allowed folders: %.2048s", path, resolved,
                 error == ENOENT ? "there is no such file or folder" : strerror(error), allowed);
    errno = error;
    return false;
}

static const char *kind_of(mode_t mode) {
    return S_ISFIFO(mode)                   ? "a FIFO"
           : S_ISSOCK(mode)                 ? "a socket"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
           : S_ISDIR(mode)                  ? "a folder"
           : S_ISREG(mode)                  ? "a file"
                                            : "no file";
}

/* Files and folders only; and of the kind that is wanted. */
static bool check_kind(struct cb_place *place, const char *path, enum cb_place_kind wanted, char why[CB_PLACE_WHY]) {
    struct stat status;
    mode_t mode = fstat(place->fd, &status) == 0 ? status.st_mode : 0;
    place->folder = S_ISDIR(mode);
    bool good = wanted == CB_PLACE_FOLDER ? S_ISDIR(mode)
                : wanted == CB_PLACE_FILE ? S_ISREG(mode)
                                          : S_ISREG(mode) || S_ISDIR(mode);
    if (good && path_of(place->fd, place->path))
        return true;
    snprintf(why, CB_PLACE_WHY, "%.2048s is %s, and %s is needed", path, kind_of(mode),
             wanted == CB_PLACE_FOLDER ? "a folder"
             : wanted == CB_PLACE_FILE ? "a file"
                                       : "a file or a folder");
    cb_place_close(place);
    errno = EINVAL;
    return false;
}

bool cb_place_find(struct cb_places *places, const char *path, enum cb_place_kind wanted, struct cb_place *place,
                   char why[CB_PLACE_WHY]) {
    char resolved[PATH_MAX] = "";
    *place = (struct cb_place){.fd = -1};
    cb_places_look(places);
    if (!*path || strlen(path) >= PATH_MAX) {
        snprintf(why, CB_PLACE_WHY, "the path is %s", *path ? "too long" : "empty");
        errno = EINVAL;
        return false;
    }
    place->fd = open_any(places, path, resolved);
    return place->fd < 0 ? refuse(places, path, resolved, errno, why) : check_kind(place, path, wanted, why);
}

bool cb_place_is_output(const struct cb_places *places, const struct cb_place *place) {
    const struct cb_root *output = &places->root[places->roots];
    return output->fd >= 0 && below(output->path, place->path);
}

/* The output itself, and the folders that it is in. */
static bool make_output(struct cb_places *places) {
    char path[PATH_MAX];
    cb_places_look(places);
    if (places->root[places->roots].fd >= 0)
        return true;
    snprintf(path, sizeof path, "%s", places->output);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return false;
    cb_places_look(places);
    return places->root[places->roots].fd >= 0;
}

static bool is_study(int folder) {
    static const char *const files[] = {"case.json", CB_FILE_RUN, CB_FILE_TRAINING, CB_FILE_SIMULATION, CB_FILE_POLICY};
    struct stat status;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (fstatat(folder, files[i], &status, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    return false;
}

static bool has_controls(const char *name) {
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0)) /* C0, delete, C1 */
            return true;
    return false;
}

/* The next part of a path that names something; NULL: there is none. *rest: what follows. */
static char *next_part(char **rest) {
    char *part;
    do
        part = strsep(rest, "/");
    while (part && (!*part || strcmp(part, ".") == 0));
    return part;
}

/* Makes one folder in another one, and goes into it. */
static bool step_into(int *fd, const char *name, bool fresh, unsigned *made) {
    bool new = mkdirat(*fd, name, 0777) == 0;
    if (!new && (fresh || errno != EEXIST))
        return false;
    *made = new ? *made + 1 : 0;
    int next = cb_open_beneath(*fd, name, O_PATH, RESOLVE_NO_SYMLINKS);
    int error = errno;
    close(*fd);
    *fd = next;
    errno = error;
    return next >= 0;
}

enum { ITSELF = EISDIR, INSIDE = ENOTEMPTY, CONTROLS = EILSEQ }; /* reasons, as errno */

/* Follows `name` from the output on. -1: see errno. */
static int make_below(const struct cb_root *output, const char *name, bool fresh, unsigned *made) {
    char text[PATH_MAX], *rest = text, *part;
    int fd = fcntl(output->fd, F_DUPFD_CLOEXEC, 0), error = fd < 0 ? errno : ITSELF;
    snprintf(text, sizeof text, "%s", name);
    *made = 0;
    for (part = next_part(&rest); fd >= 0 && part;) {
        char *next = next_part(&rest);
        error = strcmp(part, "..") == 0                       ? EXDEV
                : !step_into(&fd, part, fresh && !next, made) ? errno
                : next && is_study(fd)                        ? INSIDE
                                                              : 0;
        if (error)
            break;
        part = next;
    }
    if (error && fd >= 0)
        close(fd);
    errno = error;
    return error ? -1 : fd;
}

static const char *reason(int error) {
    return error == EXDEV      ? "it leads out of the output folder"
           : error == ELOOP    ? "it leads out of the output folder, or over a symbolic link"
           : error == ITSELF   ? "this is the output folder itself"
           : error == INSIDE   ? "it lies inside of a case or a run"
           : error == CONTROLS ? "it has a control character in it"
                               : strerror(error);
}

bool cb_place_make(struct cb_places *places, const char *name, bool fresh, struct cb_place *place,
                   char why[CB_PLACE_WHY]) {
    *place = (struct cb_place){.fd = -1};
    if (!make_output(places)) {
        snprintf(why, CB_PLACE_WHY, "the output folder %.2048s cannot be made: %s", places->output, strerror(errno));
        return false;
    }
    const struct cb_root *output = &places->root[places->roots];
    const char *rest = *name == '/' ? below(output->path, name) : name;
    unsigned made = 0;
    errno = rest && has_controls(rest) ? CONTROLS : EXDEV;
    if (rest && strlen(rest) < PATH_MAX && !has_controls(rest))
        place->fd = make_below(output, rest, fresh, &made);
    place->made = made;
    if (place->fd >= 0)
        return check_kind(place, name, CB_PLACE_FOLDER, why);
    int error = errno;
    snprintf(why, CB_PLACE_WHY, "%.1024s: %s. It must be the name of a folder below %.2048s", name, reason(error),
             output->path);
    errno = error;
    return false;
}
