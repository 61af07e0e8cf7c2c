/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c: the child process that trains or simulates, from its start to its end.
 *
 * Its standard output is a pipe: a training writes an event per line, a simulation one object at its end. Its standard error is
 * another one, and is passed on. To stop it, SIGTERM is sent: the first one lets a training finish its iteration, a second one,
 * at least half a second later, makes it save at once what is finished. One that does not end then is killed. When the
 * server is killed itself, nobody reads the pipe any more: the child notices that, stops and saves. */
#include "cli/mcp/jobs.h"

#include "cli/mcp/server.h"
#include "comm/select.h" /* CB_ENV_BACKEND */
#include "sddp/clock.h"
#include "sddp/open.h"
#include "sddp/run/files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_LINE = 16 << 20, PIPE_BYTES = 1 << 20 };
#define HURRY 0.6  /* seconds between two signals: what comes sooner counts as one */
#define GRACE 25.0 /* that a training has for its iteration */
#define KILL 30.0  /* seconds after the second signal */

const char *cb_job_state_name(enum cb_job_state state) {
    static const char *const names[] = {"running", "stopping", "finished", "failed"};
    return names[state];
}

struct cb_jobs *cb_jobs_new(struct cb_mcp *server, const char *program) {
    struct cb_jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs)
        return NULL;
    jobs->server = server;
    jobs->program = program ? program : "/proc/self/exe";
    jobs->out = jobs->err = -1;
    jobs->next_signal = INFINITY;
    return jobs;
}

static void forget(struct cb_job *job) {
    json_decref(job->started);
    json_decref(job->iteration);
    json_decref(job->finished);
    json_decref(job->error);
    json_decref(job->warnings);
    *job = (struct cb_job){.id = ""};
}

void cb_jobs_free(struct cb_jobs *jobs) {
    if (jobs->running && jobs->pid > 0 && jobs->asked == 0)
        kill(jobs->pid, SIGTERM);
    cb_close(&jobs->out);
    cb_close(&jobs->err);
    free(jobs->line.data);
    for (size_t i = 0; i < CB_JOBS_KEPT; i++)
        forget(&jobs->job[i]);
    free(jobs);
}

struct cb_job *cb_jobs_find(struct cb_jobs *jobs, const char *id) {
    for (size_t i = 0; i < CB_JOBS_KEPT; i++)
        if (jobs->job[i].id[0] && strcmp(jobs->job[i].id, id) == 0)
            return &jobs->job[i];
    return NULL;
}

/* The limit is of memory that is its own. */
void cb_jobs_limit_memory(uint64_t bytes) {
#ifndef __SANITIZE_ADDRESS__
    if (bytes)
        setrlimit(RLIMIT_DATA, &(struct rlimit){.rlim_cur = bytes, .rlim_max = bytes});
#else
    (void)bytes; /* the sanitizer reserves more than any limit */
#endif
}

static _Noreturn void become(const struct cb_jobs *jobs, char *const *argv, int out, int err, size_t workers) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1};
    sigset_t none;
    char name[] = "cobre", *words[128] = {name};
    for (size_t i = 0; i < 126 && argv[i]; i++)
        words[i + 1] = argv[i];
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(CB_EXIT_CANNOT_RUN);
    close_range(3, ~0U, 0);
    char *confinement = cb_confinement_text();
    if (!confinement || setenv(CB_ENV_CONFINED, confinement, 1) != 0)
        _exit(CB_EXIT_CANNOT_RUN);
    cb_jobs_limit_memory(jobs->server->limits.memory / (workers ? workers : 1)); /* each worker has its share */
    if (workers <= 1)
        setenv(CB_ENV_BACKEND, "local", 1); /* whatever job the server itself may be a rank of */
    execv(jobs->program, words);
    dprintf(STDERR_FILENO, "cobre mcp: cannot start %s: %s\n", jobs->program, strerror(errno));
    _exit(CB_EXIT_CANNOT_RUN);
}

static bool start_child(struct cb_jobs *jobs, char *const *argv, size_t workers) {
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    if (!cb_pipe(out) || !cb_pipe(err) || (jobs->pid = fork()) < 0) {
        int error = errno;
        cb_close(&out[0]);
        cb_close(&out[1]);
        cb_close(&err[0]);
        cb_close(&err[1]);
        errno = error;
        return false;
    }
    if (jobs->pid == 0)
        become(jobs, argv, out[1], err[1], workers);
    close(out[1]);
    close(err[1]);
    fcntl(out[0], F_SETPIPE_SZ, PIPE_BYTES); /* so that a training need not wait while another tool is busy */
    cb_unblocked(out[0]);
    cb_unblocked(err[0]);
    jobs->out = out[0];
    jobs->err = err[0];
    return true;
}

struct cb_job *cb_jobs_start(struct cb_jobs *jobs, const struct cb_job_words *words, const char *case_path,
                             const struct cb_place *out, size_t workers) {
    struct cb_job *job = &jobs->job[jobs->count % CB_JOBS_KEPT];
    if (!start_child(jobs, words->word, workers))
        return NULL;
    forget(job);
    snprintf(job->id, sizeof job->id, "job-%llu", (unsigned long long)++jobs->count);
    job->command = strcmp(words->word[0], "train") == 0 ? "train" : "simulate";
    snprintf(job->case_path, sizeof job->case_path, "%s", case_path);
    snprintf(job->out, sizeof job->out, "%s", out->path);
    job->made = out->made;
    job->ruled = words->ruled;
    job->ruled_by_us = words->ruled_by_us;
    job->begin = cb_clock();
    job->warnings = json_array();
    jobs->running = job;
    jobs->line.length = 0;
    jobs->too_long = false;
    jobs->asked = 0;
    jobs->next_signal = INFINITY;
    return job;
}

/* Its end, and its events. */

static void replace(json_t **at, json_t *event) {
    json_decref(*at);
    *at = json_incref(event);
}

/* What is large, and of no use here, is not kept. */
static void take_event(struct cb_jobs *jobs, json_t *event) {
    struct cb_job *job = jobs->running;
    const char *kind = json_string_value(json_object_get(event, "event"));
    json_object_del(event, "per_rank");
    json_object_del(event, "per_stage");
    json_object_del(event, "operations");
    if (!kind)
        replace(&job->finished, event); /* of a simulation */
    else if (strcmp(kind, "started") == 0)
        replace(&job->started, event);
    else if (strcmp(kind, "iteration") == 0)
        replace(&job->iteration, event);
    else if (strcmp(kind, "finished") == 0)
        replace(&job->finished, event);
    else if (strcmp(kind, "error") == 0)
        replace(&job->error, event);
    else if (strcmp(kind, "warning") == 0 && json_array_size(job->warnings) < CB_JOB_WARNINGS)
        cb_json_append(job->warnings, json_incref(json_object_get(event, "message")));
    uint64_t most = jobs->server->limits.iterations;
    json_int_t made = json_integer_value(json_object_get(event, "iteration"));
    if (most && !job->ruled && kind && strcmp(kind, "iteration") == 0 && (uint64_t)made >= most && jobs->asked == 0) {
        job->limit = "iterations";
        cb_jobs_stop(jobs, false);
    }
}

static void take_line(struct cb_jobs *jobs, const char *line, size_t length) {
    json_t *event = json_loadb(line, length, 0, NULL);
    if (json_is_object(event))
        take_event(jobs, event);
    json_decref(event);
}

static void take_bytes(struct cb_jobs *jobs, const char *bytes, size_t count) {
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t part = end ? (size_t)(end - bytes) : count;
        if (jobs->line.length + part > MOST_LINE)
            jobs->too_long = true;
        if (jobs->too_long)
            jobs->line.length = 0;
        else
            cb_text_append(&jobs->line, bytes, part);
        if (end && !jobs->too_long)
            take_line(jobs, jobs->line.data, jobs->line.length);
        if (end) {
            jobs->too_long = false;
            jobs->line.length = 0;
        }
        bytes += part + (end != NULL);
        count -= part + (end != NULL);
    }
}

/* Keeps the end of what it says. */
static void take_words(struct cb_job *job, const char *bytes, size_t count) {
    size_t length = strlen(job->said), room = sizeof job->said - 1;
    if (count > room) {
        bytes += count - room;
        count = room;
    }
    size_t drop = length + count > room ? length + count - room : 0;
    memmove(job->said, job->said + drop, length - drop);
    memcpy(job->said + length - drop, bytes, count);
    job->said[length - drop + count] = 0;
}

/* To our own standard error, as far as that takes it now: so much always fits into a pipe that can be written to. */
static void pass_on(const char *bytes, size_t count) {
    enum { PIECE = 4096 };
    while (count > 0 && poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, 0) > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, count < PIECE ? count : PIECE);
        if (written <= 0)
            return;
        bytes += written;
        count -= (size_t)written;
    }
}

/* Reads what is there; true: there was something. At the end it closes the descriptor. */
static bool drain(struct cb_jobs *jobs, int *fd) {
    static char bytes[1 << 16];
    bool any = false;
    ssize_t count;
    while (*fd >= 0 && (count = read(*fd, bytes, sizeof bytes)) != -1) {
        any = true;
        if (count == 0)
            cb_close(fd);
        else if (fd == &jobs->out)
            take_bytes(jobs, bytes, (size_t)count);
        else
            take_words(jobs->running, bytes, (size_t)count);
        if (count > 0 && fd == &jobs->err)
            pass_on(bytes, (size_t)count);
    }
    return any;
}

/* One that has failed without saying why. */
static void explain(struct cb_job *job, int status) {
    bool train = strcmp(job->command, "train") == 0;
    char text[128];
    if (job->state != CB_JOB_FAILED || job->error)
        return;
    if (job->stopped && !job->iteration) {
        snprintf(text, sizeof text, "it was stopped before its first %s was finished",
                 train ? "iteration" : "trajectory");
        job->error = json_pack("{s:s, s:s}", "message", text, "suggestion", "nothing is lost: start it again");
    } else if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "it was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        job->error = json_pack("{s:s, s:s}", "message", text, "suggestion",
                               "try it again; if it happens again, look for what ends it, such as a lack of memory");
    }
}

/* A training that came to its end by a rule, whatever it was asked meanwhile. */
static void look_at_rule(struct cb_job *job) {
    const char *stop = json_string_value(json_object_get(job->finished, "stop"));
    if (!stop || strcmp(stop, cobre_sddp_stop_name(COBRE_SDDP_STOP_ASKED)) == 0)
        return;
    bool limit = job->ruled_by_us && strcmp(stop, cobre_sddp_stop_name(COBRE_SDDP_STOP_ITERATIONS)) == 0;
    job->stopped = false;
    job->limit = limit ? "iterations" : NULL;
}

/* What a job that has failed leaves behind, and cannot remove itself. */
static void tidy_up(const struct cb_job *job) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/" CB_FILE_STEER, job->out);
    if (job->state == CB_JOB_FAILED)
        cb_remove(path);
    snprintf(path, sizeof path, "%s", job->out);
    for (unsigned i = 0; i < job->made && cb_remove(path) == 0; i++) /* nothing came into it */
        *strrchr(path, '/') = 0;
}

static void end_job(struct cb_jobs *jobs, int status) {
    struct cb_job *job = jobs->running;
    drain(jobs, &jobs->out);
    drain(jobs, &jobs->err);
    if (jobs->line.length > 0)
        take_line(jobs, jobs->line.data, jobs->line.length);
    cb_close(&jobs->out);
    cb_close(&jobs->err);
    job->end = cb_clock();
    job->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    job->state = job->code == 0 && job->finished ? CB_JOB_FINISHED : CB_JOB_FAILED;
    explain(job, status);
    look_at_rule(job);
    tidy_up(job);
    jobs->running = NULL;
    jobs->pid = 0;
    jobs->next_signal = INFINITY;
}

static bool has_ended(struct cb_jobs *jobs) {
    int status;
    if (!jobs->running || waitpid(jobs->pid, &status, WNOHANG) != jobs->pid)
        return false;
    end_job(jobs, status);
    return true;
}

size_t cb_jobs_watch(const struct cb_jobs *jobs, struct pollfd fds[2]) {
    size_t count = 0;
    if (jobs->out >= 0)
        fds[count++] = (struct pollfd){.fd = jobs->out, .events = POLLIN};
    if (jobs->err >= 0)
        fds[count++] = (struct pollfd){.fd = jobs->err, .events = POLLIN};
    return count;
}

void cb_jobs_serve(struct cb_jobs *jobs) {
    if (!jobs->running)
        return;
    bool news = drain(jobs, &jobs->out);
    news |= drain(jobs, &jobs->err);
    news |= has_ended(jobs);
    if (news)
        cb_mcp_look(jobs->server);
}

/* Signals. */

static void send_signal(struct cb_jobs *jobs) {
    if (jobs->asked >= 2)
        kill(jobs->pid, SIGKILL); /* of ranks, their guard ends them */
    else
        kill(jobs->pid, SIGTERM);
    jobs->asked++;
    jobs->running->state = CB_JOB_STOPPING;
    jobs->running->stopped = true;
    jobs->next_signal = cb_clock() + (jobs->asked >= 2 ? KILL : jobs->urgency);
}

void cb_jobs_stop(struct cb_jobs *jobs, bool hurry) {
    if (!jobs->running)
        return;
    jobs->urgency = hurry ? HURRY : GRACE + 5; /* after its own grace it hurries by itself */
    if (jobs->asked == 0)
        send_signal(jobs);
    else if (jobs->asked == 1 && hurry)
        jobs->next_signal = fmin(jobs->next_signal, cb_clock() + HURRY);
}

double cb_jobs_due(const struct cb_jobs *jobs) {
    if (!jobs->running)
        return INFINITY;
    double limit = jobs->asked == 0 && jobs->server->limits.seconds > 0
                       ? jobs->running->begin + jobs->server->limits.seconds
                       : INFINITY;
    return fmin(jobs->next_signal, limit);
}

void cb_jobs_tick(struct cb_jobs *jobs) {
    double now = cb_clock();
    if (!jobs->running || now < cb_jobs_due(jobs))
        return;
    if (jobs->asked == 0) {
        jobs->running->limit = "time";
        cb_jobs_stop(jobs, false);
    } else if (now >= jobs->next_signal) {
        send_signal(jobs);
    }
}
