/* SPDX-License-Identifier: Apache-2.0 */
/* start.c: starts a rank. */
#include "cli/run/job.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child's ends of its pipes; -1: it inherits ours. */
struct ends {
    int in, out, err;
    int error; /* of a rank; -1: this is a remote shell */
    int failure;
};

/* What a child that cannot become the program says, through a pipe that exec closes. */
struct failure {
    bool in_exec;
    int error;
};

static _Noreturn void fail(int fd, bool in_exec) {
    struct failure failure = {.in_exec = in_exec, .error = errno};
    ssize_t written = write(fd, &failure, sizeof failure);
    _exit(written < 0 ? CB_EXIT_LAUNCHER : CB_EXIT_CANNOT_RUN);
}

/* Lets the kernel kill this process when its launcher ends, whatever becomes of the guard. A parent in another process
 * namespace is 0; one that has ended is not. */
static void end_with(pid_t launcher) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pid_t parent = getppid();
    if (parent != launcher && parent != 0)
        _exit(CB_EXIT_LAUNCHER); /* it ended before the kernel was asked */
}

/* The signals that we catch are blocked here until cb_signals_restore. */
static _Noreturn void become(const struct job *job, size_t index, char **program, const struct ends *ends) {
    if (setpgid(0, 0) < 0)
        fail(ends->failure, false);
    cb_guard_tell(job->guard_fd, getpid()); /* if the guard is gone, the launcher tells the next one */
    if (dup2(ends->in, STDIN_FILENO) < 0 || (ends->out >= 0 && dup2(ends->out, STDOUT_FILENO) < 0) ||
        (ends->err >= 0 && dup2(ends->err, STDERR_FILENO) < 0) ||
        (ends->error >= 0 && !cb_environment_set(job, index, ends->error)))
        fail(ends->failure, false);
    setrlimit(RLIMIT_NOFILE, &job->files);
    cb_signals_restore(isatty(STDOUT_FILENO) || isatty(STDERR_FILENO));
    execvp(program[0], program);
    fail(ends->failure, true);
}

/* Where one output goes: the file is the rank's own unless we must read along to label. */
static bool open_output(struct job *job, size_t index, int number, struct stream *stream, int *rank_end) {
    int file = -1, ends[2] = {-1, -1};
    *rank_end = -1;
    if (job->options.log_dir) {
        file = cb_output_file(job->options.log_dir, index, number == STDOUT_FILENO ? "out" : "err");
        if (file < 0)
            return false;
    }
    if (!job->options.label) {
        *rank_end = file;
        return true;
    }
    if (!cb_pipe(ends))
        return false;
    cb_unblocked(ends[0]);
    cb_stream_init(stream, index, number, ends[0], file);
    *rank_end = ends[1];
    return true;
}

static bool open_ends(struct job *job, size_t index, struct ends *ends) {
    struct rank *rank = &job->ranks[index];
    int error[2];
    if (!open_output(job, index, STDOUT_FILENO, &rank->out, &ends->out) ||
        !open_output(job, index, STDERR_FILENO, &rank->err, &ends->err) || !cb_pipe(error))
        return false;
    cb_unblocked(error[0]);
    cb_unblocked(error[1]); /* a rank must not wait for us to say what went wrong */
    rank->error_fd = error[0];
    ends->error = error[1];
    ends->in = index ? job->null_fd : job->input_fd;
    return true;
}

static void close_ends(struct ends *ends) {
    cb_close(&ends->out);
    cb_close(&ends->err);
    cb_close(&ends->error);
}

/* Waits until the child has become the program; false: it could not. */
static bool became_program(int failure_fd, struct failure *failure) {
    ssize_t count;
    do
        count = read(failure_fd, failure, sizeof *failure);
    while (count < 0 && errno == EINTR);
    close(failure_fd);
    return count != (ssize_t)sizeof *failure;
}

__attribute__((format(printf, 2, 3))) static void complain(const struct job *job, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "cobre run: %s%s", job->agent ? job->agent : "", job->agent ? ": " : "");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

static int explain_exec(const struct job *job, const char *program, int error) {
    struct stat file;
    bool there = strchr(program, '/') && stat(program, &file) == 0;
    if (error == ENOENT && !there) {
        complain(job, "%s: not found%s", program,
                 strchr(program, '/') ? "" : " in PATH; for a program of this directory write ./ before its name");
        return CB_EXIT_NOT_FOUND;
    }
    if (error == ENOENT)
        complain(job, "%s: cannot be run: the interpreter or loader that it names is not there", program);
    else if (there && S_ISDIR(file.st_mode))
        complain(job, "%s: is a directory", program);
    else if (error == EACCES && there && !(file.st_mode & 0111))
        complain(job, "%s: is not executable; make it so (chmod +x), or name its interpreter, as in python3 %s",
                 program, program);
    else
        complain(job, "%s: cannot be run: %s", program, strerror(error));
    return CB_EXIT_CANNOT_RUN;
}

static int cannot_start(const struct job *job, size_t index, int error) {
    complain(job, "cannot start rank %zu: %s", index, strerror(error));
    if (error == EAGAIN)
        complain(job, "this user may have no more processes (ulimit -u)");
    return CB_EXIT_LAUNCHER;
}

/* Sets the pid of the rank. */
static int start(struct job *job, size_t index, char **program, struct ends *ends) {
    int failure_ends[2];
    if (!cb_pipe(failure_ends))
        return cannot_start(job, index, errno);
    ends->failure = failure_ends[1];
    pid_t launcher = getpid(), pid = fork();
    if (pid == 0) {
        end_with(launcher);
        become(job, index, program, ends);
    }
    int fork_error = errno;
    close(failure_ends[1]);
    if (pid < 0) {
        close(failure_ends[0]);
        return cannot_start(job, index, fork_error);
    }
    struct failure failure;
    if (became_program(failure_ends[0], &failure)) {
        job->ranks[index].pid = pid;
        return CB_GO_ON;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return failure.in_exec ? explain_exec(job, program[0], failure.error) : cannot_start(job, index, failure.error);
}

int cb_rank_start(struct job *job, size_t index) {
    struct ends ends = {.in = -1, .out = -1, .err = -1, .error = -1};
    int code =
        open_ends(job, index, &ends) ? start(job, index, job->options.program, &ends) : cannot_start(job, index, errno);
    close_ends(&ends);
    if (index == 0)
        cb_close(&job->launch.listen_fd); /* now it is rank 0's alone */
    return code;
}

int cb_remote_shell_start(struct job *job, size_t index, char **command, int in, int out) {
    struct ends ends = {.in = in, .out = out, .err = -1, .error = -1};
    return start(job, index, command, &ends);
}
