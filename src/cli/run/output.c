/* SPDX-License-Identifier: Apache-2.0 */
/* output.c: the ranks' output, line by line.
 *
 * Each output of each rank has a pipe, or comes in frames from another host. Bytes collect in the stream until a line
 * is whole; then it goes, with its label, to the queue of our own output (the sink). Sinks are written only as far as
 * they take it without blocking, so that a stuck reader of our output never keeps signals from the ranks; while a
 * sink's queue is long, its streams are not read, and the ranks wait as they would on any full pipe. When both our
 * outputs are one terminal or file they share one sink: otherwise a line of one could land inside a line of the other.
 */
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_LIMIT = 1 << 20, QUEUE_LIMIT = 1 << 20, READ_SIZE = 1 << 16, WRITE_SIZE = 4096 /* PIPE_BUF on Linux */ };

struct sink {
    int fd;
    bool broken; /* nobody reads it any more */
    struct text queue;
    size_t written; /* of the queue */
};

static struct sink sinks[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
static bool one_sink;

/* Makes the parents too, as mkdir -p. */
bool cb_output_directory(const char *path) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST && errno != EISDIR)
            return false;
    }
    struct stat status;
    if (stat(path, &status) < 0)
        return false;
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode);
}

int cb_output_file(const char *directory, size_t rank, const char *ending) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/rank-%zu.%s", directory, rank, ending);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        fprintf(stderr, "cobre run: %s: %s\n", path, strerror(errno));
    return fd;
}

void cb_output_open(void) {
    struct stat out, err;
    one_sink = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
               out.st_ino == err.st_ino;
}

void cb_stream_init(struct stream *stream, size_t rank, int number, int fd, int log_fd) {
    stream->fd = fd;
    stream->log_fd = log_fd;
    stream->rank = rank;
    stream->sink = &sinks[one_sink || number == STDOUT_FILENO ? 0 : 1];
}

bool cb_stream_wanted(const struct stream *stream) {
    return stream->sink->queue.length - stream->sink->written < QUEUE_LIMIT;
}

bool cb_stream_broken(const struct stream *stream) {
    return stream->sink->broken && stream->log_fd < 0;
}

/* Sends the line so far. One that is cut for its length goes on as "[2+] ...". */
static void emit(struct stream *stream) {
    struct sink *sink = stream->sink;
    char label[32];
    int length = snprintf(label, sizeof label, stream->continued ? "[%zu+] " : "[%zu] ", stream->rank);
    if (!sink->broken) {
        cb_text_append(&sink->queue, label, (size_t)length);
        cb_text_append(&sink->queue, stream->line.data, stream->line.length);
        cb_text_append(&sink->queue, "\n", 1);
    }
    stream->line.length = 0;
}

static void take_lines(struct stream *stream, const char *bytes, size_t count) {
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t part = newline ? (size_t)(newline - bytes) : count;
        size_t room = LINE_LIMIT - stream->line.length;
        bool cut = part > room;
        if (cut)
            part = room;
        cb_text_append(&stream->line, bytes, part);
        if (cut || newline) {
            emit(stream);
            stream->continued = cut;
        }
        part += newline && !cut;
        bytes += part;
        count -= part;
    }
}

static void write_log(struct stream *stream, const char *bytes, size_t count) {
    while (count > 0 && stream->log_fd >= 0) {
        ssize_t written = write(stream->log_fd, bytes, count);
        if (written < 0 && errno != EINTR) {
            fprintf(stderr, "cobre run: log of rank %zu: %s; it ends here\n", stream->rank, strerror(errno));
            cb_close(&stream->log_fd);
        } else if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        }
    }
}

void cb_stream_take(struct stream *stream, const char *bytes, size_t count) {
    write_log(stream, bytes, count);
    if (stream->relay == LINES)
        take_lines(stream, bytes, count);
    else if (stream->relay == BYTES && !stream->sink->broken)
        cb_text_append(&stream->sink->queue, bytes, count);
}

void cb_stream_end(struct stream *stream) {
    if (stream->line.length)
        emit(stream);
    cb_close(&stream->fd);
    cb_close(&stream->log_fd);
}

bool cb_stream_read(struct stream *stream) {
    static char bytes[READ_SIZE];
    /* The rank then gets SIGPIPE, as it would without us in between; a log goes on. */
    if (cb_stream_broken(stream)) {
        cb_stream_end(stream);
        return false;
    }
    ssize_t count = read(stream->fd, bytes, sizeof bytes);
    if (count > 0) {
        cb_stream_take(stream, bytes, (size_t)count);
        return true;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR))
        cb_stream_end(stream);
    return false;
}

static int lost_output; /* errno of the last write that failed */

int cb_output_lost(void) {
    return lost_output;
}

int cb_sink_fd(int number) {
    const struct sink *sink = &sinks[number - STDOUT_FILENO];
    return sink->queue.length > sink->written ? sink->fd : -1;
}

/* Never blocks, though the descriptor may: one that is ready takes WRITE_SIZE bytes. */
void cb_sink_write(int number) {
    struct sink *sink = &sinks[number - STDOUT_FILENO];
    struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};
    while (sink->written < sink->queue.length && poll(&ready, 1, 0) > 0) {
        size_t count = sink->queue.length - sink->written;
        ssize_t written = write(sink->fd, sink->queue.data + sink->written, count < WRITE_SIZE ? count : WRITE_SIZE);
        if (written < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        sink->broken = written < 0;
        if (sink->broken && errno != EPIPE) /* a reader that went, as `head` does, is no error */
            lost_output = errno;
        sink->written += sink->broken ? count : (size_t)written;
    }
    cb_text_drop(&sink->queue, sink->written);
    sink->written = 0;
}

void cb_output_close(void) {
    free(sinks[0].queue.data);
    free(sinks[1].queue.data);
}
