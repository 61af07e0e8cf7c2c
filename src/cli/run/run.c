/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: the launcher, of `cobre run` and of the commands that start themselves as ranks.
 *
 *  1. Settle the options; nothing is started if they are wrong.
 *  2. Raise the limit of open files, catch signals.
 *  3. Ask the backend for what it needs before the first rank (shm: a name; tcp: a secret and a listening socket).
 *  4. Start the guard, which ends the ranks if the launcher is killed.
 *  5. Start the ranks one by one, each in a process group of its own, and wait until each has become the program: if
 *     one cannot, say why, start no more, kill the others.
 *  6. Until all ranks have ended: pass signals on, relay labelled output and typed input, keep each rank's last
 *     error. When one fails, end the others (stage.c).
 *  7. Kill all processes left in the ranks' groups, tell the guard, reap the ranks, remove the name, end the guard.
 *  8. Write the rest of the output; print which rank failed first and why; exit with its code.
 */
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FOREGROUND_MS = 250, ERROR_LIMIT = 1 << 16 };

/* What poll watches: these, then what the place of the ranks wants. */
enum { SIGNALS, TERMINAL, FEED, SINK_OUT, SINK_ERR, RANKS };

static bool raise_file_limit(struct job *job) {
    enum { OURS = 64 };
    rlim_t needed = OURS + RANKS + job->place->files(job);
    if (getrlimit(RLIMIT_NOFILE, &job->files) < 0)
        return false;
    if (job->files.rlim_cur >= needed)
        return true;
    struct rlimit more = job->files;
    more.rlim_cur = needed;
    if (more.rlim_max < needed || setrlimit(RLIMIT_NOFILE, &more) < 0) {
        fprintf(stderr, "cobre run: %zu ranks need %llu open files here, and %llu are allowed (ulimit -Hn)\n",
                job->options.size, (unsigned long long)needed, (unsigned long long)more.rlim_max);
        return false;
    }
    return true;
}

static bool open_input(struct job *job) {
    job->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    job->input_fd = isatty(STDIN_FILENO) ? cb_terminal_open() : STDIN_FILENO;
    return job->null_fd >= 0 && job->input_fd >= 0;
}

/* Steps 2 to 4. */
static bool prepare(struct job *job) {
    const char *log_dir = job->options.log_dir;
    if (log_dir && !cb_output_directory(log_dir)) {
        fprintf(stderr, "cobre run: --log-dir %s: %s\n", log_dir, strerror(errno));
        return false;
    }
    if (!raise_file_limit(job))
        return false;
    job->ranks = calloc(job->options.size, sizeof *job->ranks);
    if (!job->ranks || !cb_signals_catch() || !cb_environment_prepare(job) || !cb_guard_start(job) ||
        !open_input(job)) {
        fprintf(stderr, "cobre run: cannot prepare the job: %s\n", strerror(errno));
        return false;
    }
    cb_output_open();
    for (size_t i = 0; i < job->options.size; i++) {
        struct rank *rank = &job->ranks[i];
        rank->error_fd = rank->out.fd = rank->out.log_fd = rank->err.fd = rank->err.log_fd = -1;
        rank->link.to = rank->link.from = -1;
        rank->host = cb_host_of_rank(&job->options.hosts, i);
    }
    return true;
}

/* Those that may start now. Step 5, and again each time that more may. */
static void start_ranks(struct job *job) {
    if (job->stage != RUNNING || job->started == job->options.size)
        return;
    job->start_code = job->place->start(job);
    if (job->start_code != CB_GO_ON)
        cb_job_event(job, RANK_NOT_STARTED);
}

static void look_at_ranks(struct job *job) {
    enum stage before = job->stage;
    job->sweeps++;
    for (size_t i = 0; i < job->started; i++) {
        struct rank *rank = &job->ranks[i];
        if (rank->ended || !job->place->has_ended(rank))
            continue;
        rank->ended = true;
        rank->sweep = job->sweeps;
        rank->seen_in = before;
        job->running--;
        if (rank->never_ran)
            cb_job_event(job, RANK_NOT_STARTED);
        else if (rank->how != CLD_EXITED || rank->status != 0)
            cb_job_event(job, RANK_FAILED);
    }
}

static bool is_echo(struct job *job) {
    int64_t now = cb_now_ms();
    if (job->wishes && now < job->wished_at + CB_ECHO_MS)
        return true;
    job->wished_at = now;
    job->wishes++;
    return false;
}

/* Ranks that are the command itself end by themselves, some of them only after a third signal: `cobre train` saves after
 * the second, however long that takes. */
static void pass_on_end(struct job *job, int signal) {
    unsigned patient = job->options.self ? 3 : 2;
    bool starting = job->place->is_starting && job->place->is_starting(job), echo = is_echo(job);
    if (job->stage == RUNNING)
        job->passed_signal = signal;
    if (!starting)
        cb_signal_ranks(job, signal);
    if (!echo && (starting || job->wishes > patient))
        cb_job_event(job, INTERRUPTED);
    else if (!echo && job->wishes == patient)
        cb_job_event(job, ASKED_TWICE);
}

static void pass_on(struct job *job, int signal) {
    if (cb_signal_ends(signal)) {
        pass_on_end(job, signal);
        return;
    }
    cb_signal_ranks(job, signal);
    if (signal == SIGTSTP) {
        cb_signal_stop_self();
        cb_signal_ranks(job, SIGCONT);
    }
}

static void handle_signals(struct job *job) {
    cb_signals_read();
    if (cb_signal_take(SIGCHLD)) {
        look_at_ranks(job);
        cb_guard_renew(job);
    }
    for (int signal = cb_signal_take_passed(); signal; signal = cb_signal_take_passed())
        pass_on(job, signal);
}

/* The pipe does not block the rank, so a line can be cut off. */
void cb_keep_error(struct rank *rank, const char *bytes, size_t count) {
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t part = newline ? (size_t)(newline - bytes) : count;
        if (rank->line.length < ERROR_LIMIT)
            cb_text_append(&rank->line, bytes, part);
        if (newline && rank->line.length && rank->line.data[0] == '{') {
            rank->error.length = 0;
            cb_text_append(&rank->error, rank->line.data, rank->line.length);
            cb_text_append(&rank->error, "", 1);
        }
        if (newline)
            rank->line.length = 0;
        part += newline != NULL;
        bytes += part;
        count -= part;
    }
}

bool cb_read_error(struct rank *rank) {
    char bytes[4096];
    ssize_t count = read(rank->error_fd, bytes, sizeof bytes);
    if (count > 0)
        cb_keep_error(rank, bytes, (size_t)count);
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
        cb_close(&rank->error_fd);
    return count > 0;
}

static void watch(struct pollfd *place, int fd, short events) {
    *place = (struct pollfd){.fd = fd, .events = events};
}

/* Returns how long poll may sleep, in ms; -1: for ever. */
static int watch_all(const struct job *job, struct pollfd *fds, size_t *count) {
    bool look_again, pending;
    int64_t deadline = job->deadline;
    watch(&fds[SIGNALS], cb_signals_fd(), POLLIN);
    watch(&fds[TERMINAL], cb_terminal_fd(&look_again), POLLIN);
    int feed = cb_terminal_feed_fd(&pending);
    watch(&fds[FEED], feed, pending ? POLLOUT : 0);
    watch(&fds[SINK_OUT], cb_sink_fd(STDOUT_FILENO), POLLOUT);
    watch(&fds[SINK_ERR], cb_sink_fd(STDERR_FILENO), POLLOUT);
    *count = RANKS + job->place->watch(job, fds + RANKS, &deadline);
    int64_t sleep = look_again ? FOREGROUND_MS : INT64_MAX;
    if (deadline != INT64_MAX) {
        int64_t left = deadline - cb_now_ms();
        sleep = left < 0 ? 0 : left < sleep ? left : sleep;
    }
    return sleep == INT64_MAX ? -1 : (int)sleep;
}

static void serve(struct job *job, const struct pollfd *fds) {
    if (fds[SINK_OUT].revents)
        cb_sink_write(STDOUT_FILENO);
    if (fds[SINK_ERR].revents)
        cb_sink_write(STDERR_FILENO);
    if (fds[TERMINAL].revents)
        cb_terminal_read();
    else if (fds[FEED].revents)
        cb_terminal_feed(!(fds[FEED].revents & POLLOUT));
    if (!job->place->serve(job, fds + RANKS))
        return;
    start_ranks(job); /* before the look: rank 0 may have ended already */
    look_at_ranks(job);
}

/* Step 6. */
static void supervise(struct job *job, struct pollfd *fds) {
    while (job->running > 0) {
        size_t count;
        int sleep = watch_all(job, fds, &count);
        if (poll(fds, (nfds_t)count, sleep) < 0 && errno != EINTR && errno != EAGAIN)
            cb_give_up("poll");
        handle_signals(job);
        serve(job, fds);
        if (cb_now_ms() >= job->deadline) {
            cb_job_event(job, TIME_OVER);
            look_at_ranks(job); /* nothing else says that a contact which we have cut is an end */
        }
    }
}

/* Bounded: a process that left its group may go on writing. */
static void read_what_is_left(struct job *job) {
    enum { READS = 64 }; /* more than the largest pipe holds */
    for (size_t i = 0; i < job->options.size; i++) {
        struct rank *rank = &job->ranks[i];
        for (int n = 0; n < READS && rank->error_fd >= 0 && cb_read_error(rank); n++)
            ;
        for (int n = 0; n < READS && rank->out.fd >= 0 && cb_stream_read(&rank->out); n++)
            ;
        for (int n = 0; n < READS && rank->err.fd >= 0 && cb_stream_read(&rank->err); n++)
            ;
        cb_stream_end(&rank->out);
        cb_stream_end(&rank->err);
        cb_sink_write(STDOUT_FILENO);
        cb_sink_write(STDERR_FILENO);
    }
}

/* Step 7. */
static void bury(struct job *job) {
    if (job->place->close)
        job->place->close(job);
    for (size_t i = 0; i < job->started; i++)
        kill(-job->ranks[i].pid, SIGKILL);
    cb_guard_dismiss(job);
    read_what_is_left(job);
    for (size_t i = 0; i < job->started; i++)
        while (waitpid(job->ranks[i].pid, NULL, 0) < 0 && errno == EINTR)
            ;
    cb_environment_end(job);
    cb_guard_end(job);
}

/* Our reader may be slow, but a signal ends the wait for it. */
static void write_what_is_left(struct pollfd *fds) {
    for (;;) {
        watch(&fds[SIGNALS], cb_signals_fd(), POLLIN);
        watch(&fds[SINK_OUT], cb_sink_fd(STDOUT_FILENO), POLLOUT);
        watch(&fds[SINK_ERR], cb_sink_fd(STDERR_FILENO), POLLOUT);
        fds[TERMINAL].fd = fds[FEED].fd = -1;
        cb_signals_read();
        int signal = cb_signal_take_passed();
        if ((fds[SINK_OUT].fd < 0 && fds[SINK_ERR].fd < 0) || cb_signal_ends(signal))
            return;
        if (signal == SIGTSTP)
            cb_signal_stop_self();
        poll(fds, RANKS, -1);
        cb_sink_write(STDOUT_FILENO);
        cb_sink_write(STDERR_FILENO);
    }
}

static void forget(struct job *job, struct pollfd *fds) {
    for (size_t i = 0; job->ranks && i < job->options.size; i++) {
        free(job->ranks[i].line.data);
        free(job->ranks[i].error.data);
        free(job->ranks[i].out.line.data);
        free(job->ranks[i].err.line.data);
        free(job->ranks[i].link.outgoing.data);
        free(job->ranks[i].link.incoming.data);
    }
    cb_output_close();
    free(job->ranks);
    free(fds);
}

/* Only of what looks like a slip: other programs may have variables of such names, too. */
static void warn_of_variable(void *arg, const char *text, bool is_slip) {
    const struct job *job = arg;
    if (is_slip)
        fprintf(stderr, "cobre %s: %s\n", job->options.command, text);
}

int cb_run(const struct run_options *options) {
    struct job job = {.place = options->hosts.count ? &cb_elsewhere : &cb_here,
                      .options = *options,
                      .guard_fd = -1,
                      .null_fd = -1,
                      .launch.listen_fd = -1,
                      .start_code = CB_GO_ON,
                      .deadline = INT64_MAX};
    int code = cb_settle(&job.options, &job.backend);
    if (code != CB_GO_ON)
        return code;
    cb_unknown_variables(warn_of_variable, &job);
    struct pollfd *fds = calloc(RANKS + job.place->files(&job), sizeof *fds);
    code = CB_EXIT_LAUNCHER;
    if (fds && prepare(&job)) {
        start_ranks(&job);
        supervise(&job, fds);
        bury(&job);
        write_what_is_left(fds);
        cb_signals_release(); /* nobody may read what we say next */
        code = job.start_code != CB_GO_ON ? job.start_code : cb_remote_explain(&job);
        if (code == 0)
            code = cb_verdict(&job);
        if (code == 0 && cb_output_lost()) {
            fprintf(stderr, "cobre run: some output was lost: %s\n", strerror(cb_output_lost()));
            code = CB_EXIT_LAUNCHER;
        }
    }
    forget(&job, fds);
    return code;
}
