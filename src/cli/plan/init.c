/* SPDX-License-Identifier: Apache-2.0 */
/* init.c: `cobre init`. */
#include "cli/cli.h"
#include "cli/plan/start_case.h"
#include "sddp/run/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char intro[] = "usage: cobre init FOLDER\n"
                            "\n"
                            "Makes a small hydrothermal case to start from, with remarks in its tables.\n"
                            "\n";

static const char end[] = "\nIt can be trained at once. See cobre-init(1).\n";

const struct command_line cb_line_init = {.command = "init", .intro = intro, .end = end, .needs = "folder", .words = 1};

static int failed(const char *path) {
    cb_file_failed(path);
    const cobre_error *error = cobre_last_error();
    fprintf(stderr, "cobre init: %s\n", error->message);
    if (error->suggestion[0])
        fprintf(stderr, "cobre init:   %s\n", error->suggestion);
    return 1;
}

static bool write_all(int fd, const char *text) {
    for (ssize_t written; *text; text += written) {
        written = write(fd, text, strlen(text));
        if (written < 0)
            return false;
    }
    return true;
}

static bool write_file(int folder, const struct cb_start_file *file) {
    int fd = openat(folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool written = write_all(fd, file->text);
    return close(fd) == 0 && written;
}

/* All files or none. */
static bool write_files(int folder) {
    size_t i = 0;
    while (cb_start_files[i].name && write_file(folder, &cb_start_files[i]))
        i++;
    if (!cb_start_files[i].name)
        return true;
    int error = errno;
    for (size_t written = 0; written <= i; written++) /* the last one in part */
        unlinkat(folder, cb_start_files[written].name, 0);
    errno = error;
    return false;
}

static int make(const char *path) {
    if (mkdir(path, 0777) != 0) {
        if (errno != EEXIST)
            return failed(path);
        fprintf(stderr, "cobre init: %s is there already, and stays as it is; give the name of a new folder\n", path);
        return 1;
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool made = folder >= 0 && write_files(folder);
    int code = made ? 0 : failed(path);
    if (folder >= 0)
        close(folder);
    if (!made)
        rmdir(path);
    return code;
}

static void print_end(const char *path) {
    printf("%s is a case to start from; its README.md says what is what\n\nnext      cobre train ", path);
    cb_shell_write(stdout, path);
    putchar('\n');
}

int cb_command_init(int argc, char **argv) {
    struct cb_given given;
    int code = cb_line_read(&cb_line_init, argc, argv, NULL, &given);
    if (code != CB_GO_ON)
        return code;
    signal(SIGXFSZ, SIG_IGN); /* as in session.c */
    code = make(given.words[0]);
    if (code == 0)
        print_end(given.words[0]);
    return code;
}
