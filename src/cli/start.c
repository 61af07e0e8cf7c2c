/* start.c: from nothing to a running rank. */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The rank's ends of its pipes; -1: it inherits ours. */
struct ends {
    int out, err, error, failure;
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

/* All signals are blocked here until cb_signals_restore. */
static _Noreturn void become_rank(const struct job *job, size_t index, const struct ends *ends) {
    if (setpgid(0, 0) < 0 || !cb_guard_tell(job->guard_fd, getpid()))
        fail(ends->failure, false);
    if (dup2(index ? job->null_fd : job->input_fd, STDIN_FILENO) < 0 ||
        (ends->out >= 0 && dup2(ends->out, STDOUT_FILENO) < 0) ||
        (ends->err >= 0 && dup2(ends->err, STDERR_FILENO) < 0) || fcntl(ends->error, F_SETFD, 0) < 0)
        fail(ends->failure, false);
    cb_environment_set(job, index, ends->error);
    setrlimit(RLIMIT_NOFILE, &job->files);
    cb_signals_restore(isatty(STDOUT_FILENO) || isatty(STDERR_FILENO));
    execvp(job->options.program[0], job->options.program);
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

static bool open_ends(struct job *job, size_t index, struct ends *ends, int *failure_fd) {
    struct rank *rank = &job->ranks[index];
    int error[2], failure[2];
    if (!open_output(job, index, STDOUT_FILENO, &rank->out, &ends->out) ||
        !open_output(job, index, STDERR_FILENO, &rank->err, &ends->err) || !cb_pipe(error) || !cb_pipe(failure))
        return false;
    cb_unblocked(error[0]);
    cb_unblocked(error[1]); /* a rank must not wait for us to say what went wrong */
    rank->error_fd = error[0];
    ends->error = error[1];
    ends->failure = failure[1];
    *failure_fd = failure[0];
    return true;
}

static void close_ends(struct ends *ends) {
    cb_close(&ends->out);
    cb_close(&ends->err);
    cb_close(&ends->error);
    cb_close(&ends->failure);
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

static int explain_exec(const char *program, int error) {
    struct stat file;
    bool there = strchr(program, '/') && stat(program, &file) == 0;
    if (error == ENOENT && !there) {
        fprintf(stderr, "cobre run: %s: not found%s\n", program,
                strchr(program, '/') ? "" : " in PATH; for a program of this directory write ./ before its name");
        return CB_EXIT_NOT_FOUND;
    }
    if (error == ENOENT)
        fprintf(stderr, "cobre run: %s: cannot be run: the interpreter or loader that it names is not there\n",
                program);
    else if (there && S_ISDIR(file.st_mode))
        fprintf(stderr, "cobre run: %s: is a directory\n", program);
    else
        fprintf(stderr, "cobre run: %s: cannot be run: %s\n", program, strerror(error));
    return CB_EXIT_CANNOT_RUN;
}

static int cannot_start(size_t index, int error) {
    fprintf(stderr, "cobre run: cannot start rank %zu: %s\n", index, strerror(error));
    if (error == EAGAIN)
        fprintf(stderr, "cobre run: this user may have no more processes (ulimit -u)\n");
    return CB_EXIT_LAUNCHER;
}

int cb_rank_start(struct job *job, size_t index) {
    struct ends ends = {.out = -1, .err = -1, .error = -1, .failure = -1};
    int failure_fd;
    if (!open_ends(job, index, &ends, &failure_fd))
        return cannot_start(index, errno);
    sigset_t old;
    cb_signals_block(&old);
    pid_t pid = fork();
    if (pid == 0)
        become_rank(job, index, &ends);
    int fork_error = errno;
    cb_signals_unblock(&old);
    close_ends(&ends);
    if (pid < 0)
        return cannot_start(index, fork_error);
    struct failure failure;
    if (became_program(failure_fd, &failure)) {
        job->ranks[index].pid = pid;
        return 0;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return failure.in_exec ? explain_exec(job->options.program[0], failure.error) : cannot_start(index, failure.error);
}
