/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c: ranks on other hosts, as the launcher sees them.
 *
 * Each rank has an agent on its host (agent.c), which a remote shell starts; its standard input and output carry
 * frames. The agent's reports go where those of a local rank would go: output into the rank's streams, error lines into
 * its error, its end into how and status. The order, with environment and token, goes by standard input, too, because
 * everyone can read a command line.
 *
 * Rank 0 is started first, because the others must be told its port, and then a few at a time: sshd turns connections
 * away when many are not logged in yet (MaxStartups, 10 by default). */
#include "cli/run/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { ANSWER_MS = 30000, AT_ONCE = 8, CLOSE_MS = 5000, LOOK_MS = 10 };

/* BatchMode: it could not ask for a password, because it is never in the foreground. */
static const char ssh[] = "ssh -T -x -o BatchMode=yes -o ServerAliveInterval=20";

static bool input_in_flight; /* a piece of standard input that the agent has not taken yet */

static const char *shell_of(const struct job *job) {
    return job->options.remote_shell ? job->options.remote_shell : ssh;
}

/* "exec /path/to/cobre agent", for the shell there. Free it; NULL: errno says why. */
static char *agent_command(const struct job *job) {
    char own[PATH_MAX], *command = NULL;
    const char *path = job->options.remote_cobre;
    size_t length;
    FILE *to = path || cb_own_path(own) ? open_memstream(&command, &length) : NULL;
    if (!to)
        return NULL;
    fputs("exec ", to);
    cb_shell_write(to, path ? path : own);
    fputs(" agent", to);
    if (fclose(to) == 0)
        return command;
    free(command);
    return NULL;
}

/* The words of the remote shell, the host, the command, NULL. All but the list itself points into its arguments. */
static char **shell_command(char *words, const char *host, char *command) {
    size_t count = 0;
    char **list = calloc(strlen(words) + 4, sizeof *list);
    char *rest = words;
    for (char *word = strtok_r(words, " \t", &rest); list && word; word = strtok_r(NULL, " \t", &rest))
        list[count++] = word;
    if (list) {
        list[count++] = (char *)host;
        list[count] = command;
    }
    return list;
}

static bool put_order(const struct job *job, size_t index, struct text *text) {
    char directory[PATH_MAX];
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **environment = calloc(count + 1, sizeof *environment);
    bool good = environment && getcwd(directory, sizeof directory);
    for (size_t i = 0; good && i < count; i++)
        if (!cb_environment_is_of_host(environ[i]))
            environment[kept++] = environ[i];
    if (good) {
        errno = E2BIG;
        good = cb_order_put(text, &(struct order){.host = job->ranks[index].host,
                                                  .backend = cobre_backend_name(job->backend),
                                                  .coordinator = job->launch.coordinator,
                                                  .name = job->launch.name,
                                                  .directory = directory,
                                                  .rank = index,
                                                  .size = job->options.size,
                                                  .port = job->launch.port,
                                                  .environment = environment,
                                                  .program = job->options.program});
    }
    free(environment);
    return good;
}

static bool open_stream(const struct job *job, size_t index, int number, struct stream *stream) {
    const char *directory = job->options.log_dir;
    int file = directory ? cb_output_file(directory, index, number == STDOUT_FILENO ? "out" : "err") : -1;
    if (directory && file < 0)
        return false;
    cb_stream_init(stream, index, number, -1, file);
    stream->relay = job->options.label ? LINES : directory ? LOG_ONLY : BYTES;
    return true;
}

static int start_shell(struct job *job, size_t index, int in, int out) {
    char *command = agent_command(job), *words = strdup(shell_of(job)), **list = NULL;
    int code = CB_EXIT_LAUNCHER;
    if (words && command)
        list = shell_command(words, job->ranks[index].host, command);
    if (list)
        code = cb_remote_shell_start(job, index, list, in, out);
    else
        fprintf(stderr, "cobre run: cannot start rank %zu: %s\n", index, strerror(errno));
    free(list);
    free(words);
    free(command);
    return code;
}

static int start_one(struct job *job, size_t index) {
    struct rank *rank = &job->ranks[index];
    int to[2] = {-1, -1}, from[2] = {-1, -1}, code = CB_EXIT_LAUNCHER;
    if (open_stream(job, index, STDOUT_FILENO, &rank->out) && open_stream(job, index, STDERR_FILENO, &rank->err) &&
        put_order(job, index, &rank->link.outgoing) && cb_pipe(to) && cb_pipe(from))
        code = start_shell(job, index, to[0], from[1]);
    else
        fprintf(stderr, "cobre run: cannot start rank %zu: %s\n", index, strerror(errno));
    cb_close(&to[0]);
    cb_close(&from[1]);
    cb_unblocked(to[1]);
    cb_unblocked(from[0]);
    rank->link.to = to[1];
    rank->link.from = from[0];
    rank->link.deadline = cb_now_ms() + ANSWER_MS;
    return code;
}

static size_t connecting(const struct job *job) {
    size_t count = 0;
    for (size_t i = 0; i < job->started; i++)
        count += job->ranks[i].link.contact == CONNECTING;
    return count;
}

static bool is_starting(const struct job *job) {
    return connecting(job) || job->started < job->options.size;
}

static int start(struct job *job) {
    int code = CB_GO_ON;
    while (code == CB_GO_ON && job->started < job->options.size &&
           (job->started == 0 || (job->launch.port && connecting(job) < AT_ONCE))) {
        code = start_one(job, job->started);
        if (code == CB_GO_ON) {
            job->started++;
            job->running++;
        }
    }
    return code;
}

static bool is_over(enum contact contact) {
    return contact != CONNECTING && contact != CONNECTED;
}

/* The rank has ended for us. False: no rank ends so. */
static bool end_contact(struct link *link, enum contact contact, uint32_t how, uint32_t status) {
    if (how != CLD_EXITED && how != CLD_KILLED && how != CLD_DUMPED)
        return false;
    link->contact = contact;
    link->how = (int)how;
    link->status = (int)status;
    return true;
}

/* No more frames can come or go. */
static void lose(struct link *link) {
    cb_close(&link->to);
    cb_close(&link->from);
    if (!is_over(link->contact))
        end_contact(link, link->contact == CONNECTING ? NO_ANSWER : LOST, CLD_EXITED, CB_EXIT_LAUNCHER);
}

static void flush(struct link *link) {
    if (link->to >= 0 && !cb_text_write(&link->outgoing, link->to))
        cb_close(&link->to); /* what it has said can still be read */
}

static void send_number(struct link *link, enum frame_type type, int number) {
    if (link->to < 0)
        return;
    cb_frame_put_numbers(&link->outgoing, type, (uint32_t)number, 0);
    flush(link);
}

/* An agent that has not answered may not be there. Without its remote shell it ends by itself. */
static void signal_rank(struct rank *rank, int signal) {
    if (signal == SIGKILL && rank->link.contact == CONNECTING)
        kill(-rank->pid, SIGKILL);
    else
        send_number(&rank->link, FRAME_SIGNAL, signal);
}

static void cut(struct job *job) {
    for (size_t i = 0; i < job->started; i++)
        if (!job->ranks[i].ended) {
            kill(-job->ranks[i].pid, SIGKILL);
            lose(&job->ranks[i].link);
        }
}

static void end_input(struct job *job) {
    if (job->input_fd != STDIN_FILENO)
        cb_close(&job->input_fd);
    job->input_fd = -1;
}

static void read_input(struct job *job) {
    static char bytes[FRAME_CHUNK];
    struct link *link = &job->ranks[0].link;
    ssize_t count = read(job->input_fd, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    cb_frame_put(&link->outgoing, count > 0 ? FRAME_INPUT : FRAME_INPUT_END, bytes, count > 0 ? (size_t)count : 0);
    input_in_flight = count > 0;
    if (count <= 0)
        end_input(job);
    flush(link);
}

static bool take_start(struct job *job, struct rank *rank, uint32_t pid, uint32_t port) {
    if (rank == job->ranks && (port == 0 || port > UINT16_MAX))
        return false;
    if (rank == job->ranks)
        job->launch.port = (uint16_t)port;
    rank->link.pid = (pid_t)pid;
    rank->link.contact = CONNECTED;
    return true;
}

/* False: no agent would say that. */
static bool take(struct job *job, struct rank *rank, const struct frame *frame) {
    uint32_t first = 0, second = 0;
    struct link *link = &rank->link;
    bool numbers = cb_frame_numbers(frame, &first, &second);
    switch (frame->type) {
    case FRAME_STARTED: return numbers && link->contact == CONNECTING && take_start(job, rank, first, second);
    case FRAME_CANNOT:
        return numbers && link->contact == CONNECTING && end_contact(link, NOT_RUNNING, CLD_EXITED, first);
    case FRAME_END: return numbers && link->contact == CONNECTED && end_contact(link, RANK_ENDED, first, second);
    case FRAME_OUT: cb_stream_take(&rank->out, frame->bytes, frame->count); return true;
    case FRAME_ERR: cb_stream_take(&rank->err, frame->bytes, frame->count); return true;
    case FRAME_ERROR: cb_keep_error(rank, frame->bytes, frame->count); return true;
    case FRAME_TAKEN: input_in_flight = false; return true;
    case FRAME_NO_INPUT: end_input(job); return true;
    default: return false;
    }
}

static void take_frames(struct job *job, struct rank *rank) {
    struct text *incoming = &rank->link.incoming;
    size_t done = 0, used;
    struct frame frame;
    int found;
    while ((found = cb_frame_get(incoming->data + done, incoming->length - done, &frame, &used)) > 0 &&
           take(job, rank, &frame))
        done += used;
    cb_text_drop(incoming, done);
    if (found == 0)
        return;
    rank->link.garbled = true;
    kill(-rank->pid, SIGKILL);
    lose(&rank->link);
}

static void read_frames(struct job *job, struct rank *rank) {
    static char bytes[FRAME_CHUNK];
    ssize_t count = read(rank->link.from, bytes, sizeof bytes);
    if (count > 0) {
        cb_text_append(&rank->link.incoming, bytes, (size_t)count);
        take_frames(job, rank);
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
        lose(&rank->link);
    }
}

/* While our own output is stuck, output waits in the agents; once the ranks are to end it cannot be much any more, and
 * the first word of an agent is not output. */
static bool wanted(const struct job *job, const struct rank *rank) {
    return cb_is_stopping(job->stage) || rank->link.contact == CONNECTING ||
           (cb_stream_wanted(&rank->out) && cb_stream_wanted(&rank->err));
}

static size_t watched(const struct job *job) {
    return 2 * job->options.size + 1;
}

static size_t files(const struct job *job) {
    return watched(job) + (job->options.log_dir ? 2 * job->options.size : 0);
}

/* The two ends of each link, then standard input. */
static size_t watch(const struct job *job, struct pollfd *fds, int64_t *deadline) {
    size_t size = job->options.size;
    for (size_t i = 0; i < size; i++) {
        const struct rank *rank = &job->ranks[i];
        bool read = i < job->started && wanted(job, rank);
        fds[2 * i] = (struct pollfd){.fd = read ? rank->link.from : -1, .events = POLLIN};
        fds[2 * i + 1] = (struct pollfd){.fd = rank->link.outgoing.length ? rank->link.to : -1, .events = POLLOUT};
        if (i < job->started && rank->link.contact == CONNECTING && rank->link.deadline < *deadline)
            *deadline = rank->link.deadline;
    }
    bool input = job->ranks[0].link.contact == CONNECTED && !input_in_flight;
    fds[2 * size] = (struct pollfd){.fd = input ? job->input_fd : -1, .events = POLLIN};
    return watched(job);
}

static void tell_unwanted(struct rank *rank) {
    const struct stream *streams[] = {&rank->out, &rank->err};
    for (int i = 0; i < 2; i++)
        if (!rank->link.told_closed[i] && cb_stream_broken(streams[i])) {
            rank->link.told_closed[i] = true;
            send_number(&rank->link, FRAME_UNWANTED, STDOUT_FILENO + i);
        }
}

static bool serve(struct job *job, const struct pollfd *fds) {
    for (size_t i = 0; i < job->started; i++) {
        struct rank *rank = &job->ranks[i];
        if (fds[2 * i].revents)
            read_frames(job, rank);
        if (fds[2 * i + 1].revents)
            flush(&rank->link);
        tell_unwanted(rank);
        if (rank->link.contact == CONNECTING && cb_now_ms() >= rank->link.deadline) {
            rank->link.late = true;
            kill(-rank->pid, SIGKILL);
            lose(&rank->link);
        }
    }
    if (fds[2 * job->options.size].revents && job->input_fd >= 0)
        read_input(job);
    return true;
}

static bool has_ended(struct rank *rank) {
    const struct link *link = &rank->link;
    rank->how = link->how;
    rank->status = link->status;
    rank->never_ran = link->contact == NOT_RUNNING || link->contact == NO_ANSWER;
    return is_over(link->contact);
}

static bool shell_ended(struct rank *rank) {
    struct link *link = &rank->link;
    link->shell_ended = cb_has_ended(rank->pid, &link->shell_how, &link->shell_status);
    return link->shell_ended;
}

static void close_links(struct job *job) {
    int64_t deadline = cb_now_ms() + CLOSE_MS;
    for (size_t i = 0; i < job->started; i++)
        cb_close(&job->ranks[i].link.to);
    for (size_t i = 0; i < job->started; i++) {
        struct rank *rank = &job->ranks[i];
        while ((rank->link.from >= 0 || !shell_ended(rank)) && cb_now_ms() < deadline) {
            struct pollfd from = {.fd = rank->link.from, .events = POLLIN};
            if (poll(&from, 1, LOOK_MS) > 0)
                read_frames(job, rank);
        }
    }
}

static void print_shell_end(const struct link *link) {
    if (!link->shell_ended)
        fprintf(stderr, "the remote shell closed its output");
    else if (link->shell_how == CLD_EXITED)
        fprintf(stderr, "the remote shell ended with exit code %d", link->shell_status);
    else
        fprintf(stderr, "the remote shell was killed by %s", cb_signal_name(link->shell_status));
}

bool cb_remote_is_lost(const struct rank *rank) {
    return rank->link.contact == NO_ANSWER || rank->link.contact == LOST;
}

void cb_remote_print_loss(const struct rank *rank) {
    fprintf(stderr, "lost contact with %s: ", rank->host);
    if (rank->link.garbled)
        fprintf(stderr, "the answer is not from cobre");
    else
        print_shell_end(&rank->link);
    fprintf(stderr, "\n");
}

static void explain(const struct job *job, const struct rank *rank) {
    const struct link *link = &rank->link;
    const char *shell = shell_of(job), *host = rank->host;
    fprintf(stderr, "cobre run: %s: ", host);
    if (link->late) {
        fprintf(stderr, "no answer within %d s", ANSWER_MS / 1000);
    } else if (link->garbled) {
        fprintf(stderr, "the answer is not from cobre; a start-up file of the shell there may print text\n");
        return;
    } else if (link->shell_ended && link->shell_how == CLD_EXITED &&
               (link->shell_status == CB_EXIT_NOT_FOUND || link->shell_status == CB_EXIT_CANNOT_RUN)) {
        fprintf(stderr, "cobre could not be run there; --remote-cobre says where it is on the hosts\n");
        return;
    } else {
        print_shell_end(link);
        fprintf(stderr, " before cobre answered");
    }
    fprintf(stderr, "; does this work: %s %s true\n", shell, host);
}

int cb_remote_explain(const struct job *job) {
    for (size_t i = 0; i < job->started && !job->passed_signal; i++) {
        const struct rank *rank = &job->ranks[i];
        if (!rank->never_ran || cb_is_stopping(rank->seen_in))
            continue;
        if (rank->link.contact == NO_ANSWER)
            explain(job, rank);
        return rank->status;
    }
    return 0;
}

const struct place cb_elsewhere = {.files = files,
                                   .start = start,
                                   .is_starting = is_starting,
                                   .watch = watch,
                                   .serve = serve,
                                   .has_ended = has_ended,
                                   .signal = signal_rank,
                                   .cut = cut,
                                   .close = close_links};
