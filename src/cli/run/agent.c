/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c: `cobre agent`, the launcher's helper on another host. It is not for users: `cobre run --hosts` starts it.
 *
 *  1. Read the order from standard input: folder, environment, program, rank and number of ranks.
 *  2. Rank 0: listen at a free port.
 *  3. Start the guard, then the rank, as the launcher does with its own; report its pid and the port.
 *  4. Pass frames on, both ways, until standard input ends: then the launcher or the connection to it is gone.
 *  5. Kill the rank and its children, as far as they still live.
 *
 * The end of the rank is only reported: its children live on until the job ends, as they do locally. */
#include "cli/run/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUE_LIMIT = 1 << 20, READS = 64, FLUSH_MS = 2000 };

struct agent {
    struct job job;
    struct order order;
    struct rank *rank;
    struct text job_frame; /* what the order points into */
    struct text incoming, outgoing;
    bool gone;          /* the launcher does not hear us */
    int feed;           /* standard input of the rank; -1: closed */
    struct text input;  /* on its way there */
    bool input_ends;    /* after that */
    bool input_is_owed; /* the launcher waits until it has been written */
};

static void flush(struct agent *agent) {
    agent->gone = agent->gone || !cb_text_write(&agent->outgoing, STDOUT_FILENO);
}

static void say(struct agent *agent, enum frame_type type, uint32_t first, uint32_t second) {
    cb_frame_put_numbers(&agent->outgoing, type, first, second);
    flush(agent);
}

/* Waits for the reader, but not for ever. */
static void flush_all(struct agent *agent) {
    int64_t deadline = cb_now_ms() + FLUSH_MS;
    for (flush(agent); agent->outgoing.length && !agent->gone && cb_now_ms() < deadline; flush(agent)) {
        struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
        poll(&out, 1, (int)(deadline - cb_now_ms() + 1));
    }
}

static bool read_more(struct agent *agent) {
    static char bytes[FRAME_CHUNK];
    ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count > 0)
        cb_text_append(&agent->incoming, bytes, (size_t)count);
    return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

static int read_order(struct agent *agent) {
    struct frame frame;
    size_t used;
    int found;
    while ((found = cb_frame_get(agent->incoming.data, agent->incoming.length, &frame, &used)) == 0)
        if (!read_more(agent))
            return CB_EXIT_LAUNCHER;
    if (found < 0 || frame.type != FRAME_JOB)
        return cb_usage_error("", "'agent' is not for you: cobre run --hosts starts it");
    cb_text_append(&agent->job_frame, frame.bytes, frame.count);
    cb_text_drop(&agent->incoming, used);
    if (cb_order_get(agent->job_frame.data, agent->job_frame.length, &agent->order))
        return CB_GO_ON;
    fprintf(stderr, "cobre run: %s: there is another version of cobre here (%s)\n", agent->order.host, cobre_version());
    return CB_EXIT_LAUNCHER;
}

/* The launcher's, over what there is here. */
static bool take_environment(char **variables) {
    for (; *variables; variables++)
        if (strchr(*variables, '=') && putenv(*variables) != 0)
            return false;
    return true;
}

static bool move_to(const char *directory, const char *host) {
    if (chdir(directory) < 0) {
        fprintf(stderr, "cobre run: %s: %s: %s\n", host, directory, strerror(errno));
        return false;
    }
    return setenv("PWD", directory, 1) == 0;
}

static bool open_input(struct agent *agent) {
    int ends[2];
    agent->job.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (agent->job.null_fd < 0 || !cb_pipe(ends))
        return false;
    agent->job.input_fd = ends[0];
    agent->feed = ends[1];
    cb_unblocked(ends[1]);
    return true;
}

/* Makes the agent a launcher with one rank of the job. */
static bool prepare(struct agent *agent) {
    struct job *job = &agent->job;
    const struct order *order = &agent->order;
    if (!take_environment(order->environment) || !move_to(order->directory, order->host))
        return false;
    cobre_backend backend = cb_backend_named(order->backend);
    if (!cb_built_in(backend) || !cb_backend_at(backend)->over_hosts) {
        fprintf(stderr, "cobre run: %s: the cobre there has no %s backend, only: %s\n", order->host, order->backend,
                cb_built_in_list());
        return false;
    }
    job->agent = order->host;
    job->backend = backend;
    job->options = (struct run_options){
        .size = order->size, .label = true /* all output comes to us */, .program = order->program};
    job->launch =
        (cb_launch){.size = order->size, .coordinator = order->coordinator, .port = order->port, .listen_fd = -1};
    snprintf(job->launch.name, sizeof job->launch.name, "%s", order->name);
    job->ranks = calloc(order->size, sizeof *job->ranks);
    bool good = job->ranks && getrlimit(RLIMIT_NOFILE, &job->files) == 0 && cb_signals_catch() && open_input(agent) &&
                (order->rank || cb_environment_prepare_here(job)) && cb_guard_start(job);
    if (!good)
        fprintf(stderr, "cobre run: %s: cannot prepare rank %zu: %s\n", order->host, order->rank, strerror(errno));
    return good;
}

static int start(struct agent *agent) {
    struct job *job = &agent->job;
    size_t index = agent->order.rank;
    int code = prepare(agent) ? cb_rank_start(job, index) : CB_EXIT_LAUNCHER;
    cb_close(&job->input_fd);
    if (code != CB_GO_ON)
        return code;
    agent->rank = &job->ranks[index];
    if (index)
        cb_close(&agent->feed);
    say(agent, FRAME_STARTED, (uint32_t)agent->rank->pid, index ? 0 : job->launch.port);
    return CB_GO_ON;
}

/* One read of a pipe of the rank, into a frame. False: nothing more for now. */
static bool relay(struct agent *agent, int *fd, enum frame_type type) {
    static char bytes[FRAME_CHUNK];
    ssize_t count = *fd < 0 ? 0 : read(*fd, bytes, sizeof bytes);
    if (count > 0)
        cb_frame_put(&agent->outgoing, type, bytes, (size_t)count);
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
        cb_close(fd);
    return count > 0;
}

/* Bounded: a process that left its group may go on writing. */
static void relay_what_is_left(struct agent *agent) {
    struct rank *rank = agent->rank;
    for (int n = 0; n < READS && relay(agent, &rank->error_fd, FRAME_ERROR); n++)
        ;
    for (int n = 0; n < READS && relay(agent, &rank->out.fd, FRAME_OUT); n++)
        ;
    for (int n = 0; n < READS && relay(agent, &rank->err.fd, FRAME_ERR); n++)
        ;
}

static void look_at_rank(struct agent *agent) {
    struct rank *rank = agent->rank;
    if (rank->ended || !cb_has_ended(rank->pid, &rank->how, &rank->status))
        return;
    rank->ended = true;
    relay_what_is_left(agent);
    say(agent, FRAME_END, (uint32_t)rank->how, (uint32_t)rank->status);
}

static void handle_signals(struct agent *agent) {
    cb_signals_read();
    if (cb_signal_take(SIGCHLD)) {
        look_at_rank(agent);
        cb_guard_renew(&agent->job);
    }
    for (int signal = cb_signal_take_passed(); signal; signal = cb_signal_take_passed())
        cb_signal_group(agent->rank->pid, signal);
}

static void close_input(struct agent *agent) {
    cb_close(&agent->feed);
    agent->input.length = 0;
    say(agent, FRAME_NO_INPUT, 0, 0);
}

static void feed(struct agent *agent) {
    ssize_t written = agent->input.length ? write(agent->feed, agent->input.data, agent->input.length) : 0;
    if (written < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (written < 0) {
        close_input(agent);
        return;
    }
    cb_text_drop(&agent->input, (size_t)written);
    if (agent->input.length == 0 && agent->input_is_owed) {
        agent->input_is_owed = false;
        say(agent, FRAME_TAKEN, 0, 0);
    }
    if (agent->input.length == 0 && agent->input_ends)
        cb_close(&agent->feed);
}

static bool take(struct agent *agent, const struct frame *frame) {
    uint32_t number = 0, none = 0;
    bool numbers = cb_frame_numbers(frame, &number, &none);
    switch (frame->type) {
    case FRAME_INPUT:
        if (agent->feed >= 0)
            cb_text_append(&agent->input, frame->bytes, frame->count);
        agent->input_is_owed = true;
        break;
    case FRAME_INPUT_END: agent->input_ends = true; break;
    case FRAME_SIGNAL:
        if (!numbers || number == 0 || number >= NSIG)
            return false;
        cb_signal_group(agent->rank->pid, (int)number);
        return true;
    case FRAME_UNWANTED:
        cb_close(number == STDOUT_FILENO ? &agent->rank->out.fd : &agent->rank->err.fd);
        return numbers;
    default: return false;
    }
    if (agent->feed >= 0)
        feed(agent);
    return true;
}

/* False: standard input has ended, or makes no sense. */
static bool take_frames(struct agent *agent) {
    struct frame frame;
    size_t done = 0, used;
    int found;
    while ((found = cb_frame_get(agent->incoming.data + done, agent->incoming.length - done, &frame, &used)) > 0 &&
           take(agent, &frame))
        done += used;
    cb_text_drop(&agent->incoming, done);
    return found == 0;
}

static void pass_on(struct agent *agent) {
    enum { ORDERS, SIGNALS, REPORTS, FEED, ERROR, OUT, ERR, PLACES };
    struct rank *rank = agent->rank;
    bool good = take_frames(agent); /* some may have come with the order */
    while (good && !agent->gone) {
        bool room = agent->outgoing.length < QUEUE_LIMIT;
        struct pollfd fds[PLACES] = {
            [ORDERS] = {.fd = STDIN_FILENO, .events = POLLIN},
            [SIGNALS] = {.fd = cb_signals_fd(), .events = POLLIN},
            [REPORTS] = {.fd = agent->outgoing.length ? STDOUT_FILENO : -1, .events = POLLOUT},
            [FEED] = {.fd = agent->feed, .events = agent->input.length ? POLLOUT : 0},
            [ERROR] = {.fd = rank->error_fd, .events = POLLIN},
            [OUT] = {.fd = room ? rank->out.fd : -1, .events = POLLIN},
            [ERR] = {.fd = room ? rank->err.fd : -1, .events = POLLIN},
        };
        if (poll(fds, PLACES, -1) < 0 && errno != EINTR && errno != EAGAIN)
            cb_give_up("poll");
        handle_signals(agent);
        if (fds[ORDERS].revents)
            good = read_more(agent) && take_frames(agent);
        if (fds[FEED].revents & POLLOUT)
            feed(agent);
        else if (fds[FEED].revents && agent->feed >= 0)
            close_input(agent);
        if (fds[ERROR].revents)
            relay(agent, &rank->error_fd, FRAME_ERROR);
        if (fds[OUT].revents)
            relay(agent, &rank->out.fd, FRAME_OUT);
        if (fds[ERR].revents)
            relay(agent, &rank->err.fd, FRAME_ERR);
        flush(agent);
    }
}

static void bury(struct agent *agent) {
    kill(-agent->rank->pid, SIGKILL);
    cb_guard_dismiss(&agent->job);
    relay_what_is_left(agent);
    flush_all(agent);
    while (waitpid(agent->rank->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    cb_guard_end(&agent->job);
}

static void forget(struct agent *agent) {
    struct text *texts[] = {&agent->job_frame, &agent->incoming, &agent->outgoing, &agent->input};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]->data);
    free(agent->order.environment);
    free(agent->order.program);
    free(agent->job.ranks);
}

int cb_command_agent(int argc, char **argv) {
    (void)argv;
    static struct agent agent = {.feed = -1,
                                 .job = {.guard_fd = -1, .null_fd = -1, .input_fd = -1, .launch.listen_fd = -1}};
    if (argc > 1 || isatty(STDIN_FILENO))
        return cb_usage_error("", "'agent' is not for you: cobre run --hosts starts it");
    int code = read_order(&agent);
    cb_unblocked(STDOUT_FILENO);
    if (code == CB_GO_ON)
        code = start(&agent);
    if (code != CB_GO_ON) {
        cb_frame_put_numbers(&agent.outgoing, FRAME_CANNOT, (uint32_t)code, 0);
        flush_all(&agent);
    } else {
        pass_on(&agent);
        bury(&agent);
        code = 0;
    }
    forget(&agent);
    return code;
}
