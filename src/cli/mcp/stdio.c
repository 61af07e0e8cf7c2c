/* SPDX-License-Identifier: Apache-2.0 */
/* stdio.c: the transport: a message is a line, on standard input and output.
 *
 * One loop waits for the client, for the child that trains, and for times. Only that wait blocks. Output that the
 * client does not take at once is kept, and when there is a lot of it, nothing more is read from the client. When the
 * client has gone, a training is asked to save, and the server ends within 2 s.
 *
 * While a tool works, the loop does not look. Then a timer does, and ends the process if the client has been gone for a
 * second: a training notices that nobody reads its events any more, and saves. */
#include "cli/mcp/stdio.h"

#include "cli/mcp/jobs.h"
#include "sddp/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define SAVING 1.7  /* seconds that a job has to save when the server ends */
#define TICK 0.2    /* between two looks of the timer */
#define READING 0.5 /* that the client has to read what is left, if there is no job */
enum { CHUNK = 1 << 13, SMALL = 1 << 20, MOST_KEPT = 16 << 20, MOST_TICKS = 5 };

struct stdio {
    struct cb_mcp *server;
    struct cb_mcp_emit emit;
    int in, out, signals;
    bool socket;            /* out is one */
    bool ended;             /* the client has gone, or a signal has come */
    bool too_long;          /* the line that is being read is left out */
    struct text line, kept; /* of the input, without its end; for the output */
    size_t sent;            /* bytes of `kept` that the client has taken */
};

/* Output. */

/* Without waiting: our standard output may be somebody else's, so its flags stay as they are. */
static ssize_t write_now(const struct stdio *io, const char *bytes, size_t count) {
    if (io->socket)
        return send(io->out, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(io->out, bytes, count);
}

static void flush(struct stdio *io) {
    while (io->sent < io->kept.length) {
        ssize_t count = write_now(io, io->kept.data + io->sent, io->kept.length - io->sent);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (count < 0) { /* nobody reads: that is an end, too */
            io->ended = true;
            io->sent = io->kept.length;
        } else {
            io->sent += (size_t)count;
        }
    }
    io->sent = io->kept.length = 0;
}

static void release(struct text *text) {
    if (text->capacity > SMALL && text->length == 0) {
        free(text->data);
        *text = (struct text){.data = NULL};
    }
}

/* One write for each message, if the client takes it. What is taken goes when it is the most: so each byte is moved once. */
static void send_message(void *arg, const char *message, size_t length) {
    struct stdio *io = arg;
    if (io->sent > io->kept.length / 2) {
        cb_text_drop(&io->kept, io->sent);
        io->sent = 0;
    }
    cb_text_append(&io->kept, message, length);
    cb_text_append(&io->kept, "\n", 1);
    flush(io);
    release(&io->kept);
}

/* Input. */

static void take_line(struct stdio *io) {
    if (io->too_long)
        cb_mcp_handle_too_long(io->server, &io->emit);
    else
        cb_mcp_handle(io->server, io->line.data ? io->line.data : "", io->line.length, &io->emit);
    io->too_long = false;
    io->line.length = 0;
    release(&io->line);
}

static void take_bytes(struct stdio *io, const char *bytes, size_t count) {
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t part = end ? (size_t)(end - bytes) : count;
        if (io->line.length + part > CB_MCP_MOST_LINE) {
            io->too_long = true;
            io->line.length = 0;
        }
        if (!io->too_long)
            cb_text_append(&io->line, bytes, part);
        if (end)
            take_line(io);
        bytes += part + (end != NULL);
        count -= part + (end != NULL);
    }
}

static void read_input(struct stdio *io) {
    static char bytes[CHUNK];
    ssize_t count = read(io->in, bytes, sizeof bytes);
    if (count > 0)
        take_bytes(io, bytes, (size_t)count);
    else if (count == 0 || (errno != EINTR && errno != EAGAIN))
        io->ended = true;
    if (count == 0 && io->line.length > 0 && !io->too_long)
        take_line(io); /* the last line may lack its end */
}

/* The timer. */

static volatile sig_atomic_t ticks; /* since the client has gone, while a tool worked */

static void tick(int number) {
    int error = errno;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLRDHUP};
    sigset_t set;
    (void)number;
    sigpending(&set);
    bool gone = (poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLRDHUP | POLLERR))) ||
                sigismember(&set, SIGTERM) > 0 || sigismember(&set, SIGINT) > 0 || sigismember(&set, SIGHUP) > 0;
    if (gone)
        ticks = ticks + 1;
    if (ticks > MOST_TICKS)
        _exit(0);
    errno = error;
}

static void set_timer(bool on) {
    struct timeval period = {.tv_usec = on ? (suseconds_t)(1e6 * TICK) : 0};
    setitimer(ITIMER_REAL, &(struct itimerval){.it_interval = period, .it_value = period}, NULL);
}

/* The loop. */

static void read_signals(struct stdio *io) {
    struct signalfd_siginfo info;
    while (read(io->signals, &info, sizeof info) == (ssize_t)sizeof info)
        io->ended |= info.ssi_signo != SIGCHLD;
}

static int wait_ms(double due) {
    double ms = ceil(1e3 * (due - cb_clock()));
    return isinf(due) ? -1 : ms < 0 ? 0 : ms > 1e6 ? 1000000 : (int)ms;
}

/* One turn: waits until something is to be done, and does it. */
static void turn(struct stdio *io, double until) {
    struct pollfd fds[5] = {
        {.fd = io->signals, .events = POLLIN},
        {.fd = io->ended ? -1 : io->in, .events = POLLRDHUP | (io->kept.length > MOST_KEPT ? 0 : POLLIN)},
        {.fd = io->kept.length ? io->out : -1, .events = POLLOUT}};
    size_t count = 3 + cb_jobs_watch(io->server->jobs, fds + 3);
    if (poll(fds, (nfds_t)count, wait_ms(fmin(until, cb_mcp_due(io->server)))) < 0 && errno != EINTR)
        io->ended = true;
    set_timer(!io->ended);
    if (fds[0].revents)
        read_signals(io);
    if (fds[2].revents)
        flush(io);
    if (fds[1].revents && (fds[1].events & POLLIN))
        read_input(io); /* also the end of it */
    else if (fds[1].revents)
        io->ended = true;
    cb_jobs_serve(io->server->jobs);
    cb_mcp_tick(io->server);
    if (!(fds[1].revents & (POLLHUP | POLLRDHUP)) || io->ended) /* else it goes on over what is left to be read */
        set_timer(false);
}

static void leave(struct stdio *io) {
    double until = cb_clock() - TICK * ticks + (io->server->jobs->running ? SAVING : READING);
    cb_jobs_stop(io->server->jobs, true);
    while ((io->server->jobs->running || io->kept.length > 0) && cb_clock() < until)
        turn(io, until);
}

static bool catch_signals(struct stdio *io) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = tick, .sa_flags = SA_RESTART}, NULL);
    signal(SIGCHLD, SIG_DFL); /* not ignored, so that children can be waited for */
    sigprocmask(SIG_BLOCK, &set, NULL);
    io->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return io->signals >= 0;
}

/* From now on what libraries print goes to standard error. A pipe is opened again, so that writing does not block.
 * Files never block, and have a place where the next bytes go. */
static bool take_output(struct stdio *io) {
    int kind;
    struct stat status;
    io->socket = getsockopt(STDOUT_FILENO, SOL_SOCKET, SO_TYPE, &kind, &(socklen_t){sizeof kind}) == 0;
    bool again = fstat(STDOUT_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
    io->out = again ? open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (io->out < 0)
        io->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return io->out >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

bool cb_mcp_stdio(struct cb_mcp *server) {
    struct stdio io = {.server = server, .emit = {.send = send_message}, .in = STDIN_FILENO, .signals = -1, .out = -1};
    io.emit.arg = &io;
    bool good = catch_signals(&io) && take_output(&io);
    while (good && !io.ended)
        turn(&io, INFINITY);
    if (good)
        leave(&io);
    free(io.line.data);
    free(io.kept.data);
    cb_close(&io.signals);
    cb_close(&io.out);
    return good;
}
