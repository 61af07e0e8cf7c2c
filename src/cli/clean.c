/* SPDX-License-Identifier: Apache-2.0 */
/* clean.c: `cobre clean`. */
#include "cli/cli.h"
#include "comm/select.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char intro[] =
    "usage: cobre clean [--dry-run]\n"
    "\n"
    "Removes the names that your killed jobs have left in " CB_SHARED_MEMORY ". Jobs that run, and\n"
    "files that are not cobre's, are never touched. See cobre-clean(1).\n"
    "\n";

struct options {
    bool dry_run;
};

static const struct cb_option rows[] = {
    {.name = "dry-run", .help = "only say what would be removed", .given = CB_FIELD(struct options, dry_run)},
    {.name = NULL},
};

const struct command_line cb_line_clean = {.command = "clean", .intro = intro, .table = {{rows, 0}}};

enum { NAME_SIZE = 240 };

/* As `clean` of a backend: each of them knows its own names. */
static int clean_name(const char *name, bool remove) {
    char path[NAME_SIZE];
    int result = 0;
    snprintf(path, sizeof path, "/%s", name);
    for (cobre_backend b = cb_first_backend(); b && result == 0; b = cb_next_backend(b))
        if (cb_backend_at(b)->clean)
            result = cb_backend_at(b)->clean(path, remove);
    return result;
}

/* Where a segment is built under its name (no O_TMPFILE), one that was never finished starts with zeros, as many a
 * stranger's file does. Only the launcher's own names tell them apart. */
static bool may_be_ours(int directory, const char *name) {
    char start[8] = {0};
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t count = read(fd, start, sizeof start);
    close(fd);
    return strncmp(name, "cobre-", 6) == 0 || (count > 0 && memcmp(start, (const char[8]){0}, sizeof start) != 0);
}

static bool is_candidate(int directory, const char *name) {
    struct stat file;
    return strlen(name) < NAME_SIZE - 1 && fstatat(directory, name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(file.st_mode) && file.st_uid == geteuid() && may_be_ours(directory, name);
}

static int clean_all(DIR *listing, bool dry_run) {
    size_t removed = 0, failed = 0;
    const struct dirent *entry;
    while ((entry = readdir(listing))) {
        if (!is_candidate(dirfd(listing), entry->d_name))
            continue;
        int result = clean_name(entry->d_name, !dry_run);
        if (result < 0)
            fprintf(stderr, "cobre clean: " CB_SHARED_MEMORY "/%s: %s\n", entry->d_name, strerror(errno));
        else if (result > 0)
            printf("%s " CB_SHARED_MEMORY "/%s\n", dry_run ? "would remove" : "removed", entry->d_name);
        failed += result < 0;
        removed += result > 0;
    }
    if (removed)
        printf("%zu stale segment%s%s\n", removed, removed == 1 ? "" : "s", dry_run ? "" : " removed");
    else if (!failed)
        printf("nothing to clean\n");
    return failed ? 1 : 0;
}

static int clean_directory(bool dry_run) {
    DIR *listing = opendir(CB_SHARED_MEMORY);
    if (!listing && errno == ENOENT) {
        printf("nothing to clean\n");
        return 0;
    }
    if (!listing) {
        fprintf(stderr, "cobre clean: " CB_SHARED_MEMORY ": %s\n", strerror(errno));
        return 1;
    }
    int code = clean_all(listing, dry_run);
    closedir(listing);
    return code;
}

int cb_command_clean(int argc, char **argv) {
    struct options options = {.dry_run = false};
    struct cb_given given;
    int code = cb_line_read(&cb_line_clean, argc, argv, &options, &given);
    return code == CB_GO_ON ? clean_directory(options.dry_run) : code;
}
