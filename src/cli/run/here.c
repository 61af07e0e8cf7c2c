/* SPDX-License-Identifier: Apache-2.0 */
/* here.c: ranks on this machine, as the launcher sees them: its children, with a pipe for errors and, with --label, one
 * for each output. */
#include "cli/run/job.h"

#include <unistd.h>

static size_t pipes(const struct job *job) {
    return job->options.size * (job->options.label ? 3 : 1);
}

static size_t files(const struct job *job) {
    return pipes(job) + (job->options.label && job->options.log_dir ? 2 * job->options.size : 0);
}

static int start(struct job *job) {
    int code = CB_GO_ON;
    while (code == CB_GO_ON && job->started < job->options.size) {
        code = cb_rank_start(job, job->started);
        if (code == CB_GO_ON)
            job->running = ++job->started;
    }
    if (job->input_fd != STDIN_FILENO)
        cb_close(&job->input_fd); /* so that the terminal is left alone once rank 0 has closed it */
    return code;
}

static int watched(const struct stream *stream) {
    return stream->fd >= 0 && cb_stream_wanted(stream) ? stream->fd : -1;
}

/* Each rank's error pipe, then each rank's two outputs. */
static size_t watch(const struct job *job, struct pollfd *fds, int64_t *deadline) {
    (void)deadline;
    struct pollfd *streams = fds + job->options.size;
    for (size_t i = 0; i < job->options.size; i++) {
        const struct rank *rank = &job->ranks[i];
        fds[i] = (struct pollfd){.fd = rank->error_fd, .events = POLLIN};
        if (job->options.label) {
            streams[2 * i] = (struct pollfd){.fd = watched(&rank->out), .events = POLLIN};
            streams[2 * i + 1] = (struct pollfd){.fd = watched(&rank->err), .events = POLLIN};
        }
    }
    return pipes(job);
}

static bool serve(struct job *job, const struct pollfd *fds) {
    const struct pollfd *streams = fds + job->options.size;
    for (size_t i = 0; i < job->options.size; i++) {
        struct rank *rank = &job->ranks[i];
        if (fds[i].revents)
            cb_read_error(rank);
        if (job->options.label && streams[2 * i].revents)
            cb_stream_read(&rank->out);
        if (job->options.label && streams[2 * i + 1].revents)
            cb_stream_read(&rank->err);
    }
    return false; /* SIGCHLD says when one has ended */
}

static bool has_ended(struct rank *rank) {
    return cb_has_ended(rank->pid, &rank->how, &rank->status);
}

static void signal_rank(struct rank *rank, int signal) {
    cb_signal_group(rank->pid, signal);
}

const struct place cb_here = {
    .files = files, .start = start, .watch = watch, .serve = serve, .has_ended = has_ended, .signal = signal_rank};
