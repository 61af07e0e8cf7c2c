/* SPDX-License-Identifier: Apache-2.0 */
/* train_watch.c: `cobre train --watch`. The training goes on in the background, in a session of its own, so that
 * neither the end of the dashboard nor that of the terminal ends it. What it prints is kept in memory, and shown when
 * the dashboard is closed. */
#include "cli/live.h"
#include "cli/plan/train.h"
#include "cli/watch/watch.h"
#include "sddp/run/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct background {
    pid_t pid;
    bool ended;
    int status;         /* as of waitpid */
    int output, errors; /* what it prints: files in memory */
};

static bool is_alive(void *arg) {
    struct background *training = arg;
    if (!training->ended && waitpid(training->pid, &training->status, WNOHANG) == training->pid)
        training->ended = true;
    return !training->ended;
}

static void become_background(const struct background *training) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(training->output, STDOUT_FILENO);
    dup2(training->errors, STDERR_FILENO);
}

static void copy(int from, FILE *to) {
    char part[4096];
    ssize_t length;
    for (off_t at = 0; (length = pread(from, part, sizeof part, at)) > 0; at += length)
        fwrite(part, 1, (size_t)length, to);
    fflush(to);
}

/* What the user sees on the terminal after the dashboard, and the exit code. */
static int show_rest(const struct train *train, const struct background *training) {
    copy(training->output, stdout);
    copy(training->errors, stderr);
    if (!training->ended) {
        printf("the training goes on, as process %d; to see it again, and to stop it:\n  cobre watch ",
               (int)training->pid);
        cb_shell_write(stdout, train->folder);
        printf("\n  cobre watch ");
        cb_shell_write(stdout, train->folder);
        printf(" --send stop\n");
        return 0;
    }
    if (WIFSIGNALED(training->status))
        fprintf(stderr, "cobre train: the training was ended by signal %d\n", WTERMSIG(training->status));
    return WIFSIGNALED(training->status) ? 128 + WTERMSIG(training->status) : WEXITSTATUS(training->status);
}

static int fail(const char *what) {
    fprintf(stderr, "cobre train: --watch: %s: %s\n", what, strerror(errno));
    return CB_EXIT_FAILED;
}

int cb_train_watch(struct train *train) {
    struct background training = {.output = memfd_create("cobre-output", MFD_CLOEXEC),
                                  .errors = memfd_create("cobre-errors", MFD_CLOEXEC)};
    char events[PATH_MAX];
    struct stat older;
    bool known;
    if (!isatty(STDIN_FILENO) || !cb_live_possible())
        return cb_usage_error("train", "--watch: there is no terminal here; train without it, and look from one with "
                                       "cobre watch");
    if (cb_folder_is_locked(train->folder, &known) && known)
        return CB_GO_ON; /* it will say what is wrong */
    if (training.output < 0 || training.errors < 0)
        return fail("no memory for its output");
    bool was_there = cb_folder_join(train->folder, CB_FILE_EVENTS, events) == COBRE_OK && stat(events, &older) == 0;
    training.pid = fork();
    if (training.pid < 0)
        return fail("the training cannot be started");
    if (training.pid == 0) {
        become_background(&training);
        return CB_GO_ON;
    }
    struct cb_watch how = {.command = "train",
                           .folder = train->folder,
                           .older = was_there ? &older : NULL,
                           .alive = is_alive,
                           .arg = &training};
    int code = cb_watch_run(&how);
    is_alive(&training);
    int trained = show_rest(train, &training);
    return trained ? trained : code;
}
