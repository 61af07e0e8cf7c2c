/* SPDX-License-Identifier: Apache-2.0 */
#include "kit/harness.h"
#include "kit/sentinel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(report) <= 4096, "a report is written whole");

self_t self;
cobre_backend backend;

static job *jobs[8]; /* those that have processes, for the end of a case that fails */

double deadline_seconds(void) {
    const char *text = getenv("COBRE_TEST_DEADLINE");
    double seconds = text ? atof(text) : 0;
    return seconds > 0 ? seconds : 300;
}

/* The groups of the ranks, and whoever has become our child since: ranks of a launcher have groups of their own. */
void kill_processes(void) {
    char path[64];
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        for (size_t r = 0; jobs[i] && r < jobs[i]->size; r++)
            if (jobs[i]->rank[r].pid)
                kill(-jobs[i]->rank[r].pid, SIGKILL);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "r");
    for (int pid; children && fscanf(children, "%d", &pid) == 1;)
        kill(pid, SIGKILL);
    if (children)
        fclose(children);
}

bool children_left(void) {
    double until = kit_seconds() + fmin(DEADLINE, 5);
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) >= 0;)
        if (pid == 0 && kit_seconds() > until)
            return true;
        else if (pid == 0)
            usleep(500);
    return false;
}

static void print_log(const job *j) {
    fprintf(stderr, "job %s, %zu ranks:\n", j->name, j->size);
    for (size_t i = j->logged > 60 ? j->logged - 60 : 0; i < j->logged; i++) {
        const report *r = j->log[i];
        if (strcmp(r->event, "mark") == 0)
            continue;
        fprintf(stderr, "  %12.6f rank %zu: %s", r->time, r->rank, r->event);
        if (r->number)
            fprintf(stderr, " %" PRIu64, r->number);
        if (r->status)
            fprintf(stderr, ", %s (%s), culprit %zd: %s", cobre_status_name(r->status), cobre_cause_name(r->cause),
                    (ssize_t)r->culprit, r->message);
        fputc('\n', stderr);
    }
    for (size_t r = 0; r < j->size; r++)
        if (j->rank[r].pid)
            fprintf(stderr, "  rank %zu: pid %d, %s, wait status %#x\n", r, (int)j->rank[r].pid,
                    j->rank[r].killed  ? "killed by the case"
                    : j->rank[r].ended ? "ended"
                                       : "running",
                    (unsigned)j->rank[r].status);
}

size_t remove_names(const char *prefix) {
    size_t count = 0;
    DIR *directory = opendir("/dev/shm");
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            printf("left behind: /dev/shm/%s\n", entry->d_name);
            unlinkat(dirfd(directory), entry->d_name, 0);
            count++;
        }
    if (directory)
        closedir(directory);
    return count;
}

static void drain(job *j);

/* A rank that fails says who it is. The parent says what it has seen of its ranks, and ends them. */
static void say_and_clean_up(void) {
    char prefix[64];
    if (self.j) {
        fprintf(stderr, "    rank %zu of %zu\n", self.rank, self.size);
        return;
    }
    fprintf(stderr, "    seed %" PRIu64 ", time %.6f\n", *chance(), kit_seconds());
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (jobs[i]) {
            drain(jobs[i]);
            print_log(jobs[i]);
        }
    kill_processes();
    snprintf(prefix, sizeof prefix, "cobre-test-%d-", (int)getpid());
    remove_names(prefix);
}

uint64_t *chance(void) {
    static uint64_t state;
    const char *seed = getenv("COBRE_TEST_SEED");
    if (!state)
        state = seed ? strtoull(seed, NULL, 0) : (uint64_t)(kit_seconds() * 1e6) ^ (uint64_t)getpid() << 40;
    return &state;
}

void set_aside(double seconds) {
    double end = kit_seconds() + seconds, left;
    while ((left = end - kit_seconds()) > 0)
        usleep((useconds_t)(1e6 * left));
}

bool name_exists(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "/dev/shm%s", name);
    return access(path, F_OK) == 0;
}

/* ---- Starting ---- */

uint16_t random_port(void) {
    static uint64_t state;
    if (!state)
        state = (uint64_t)(kit_seconds() * 1e6) ^ (uint64_t)getpid() << 40;
    return (uint16_t)(20000 + kit_below(&state, 12000));
}

const char *descriptor_text(int fd, char text[80]) {
    struct stat file;
    CHECK(fstat(fd, &file) == 0);
    snprintf(text, 80, "%d:%ju:%ju", fd, (uintmax_t)file.st_dev, (uintmax_t)file.st_ino);
    return text;
}

/* A port for this job alone. Bound without SO_REUSEADDR, so that no other job has it; with it afterwards, so that rank 0,
 * which sets it, may listen there. */
static void hold_port(job *j) {
    for (int tries = 0, on = 1; tries < 1000; tries++) {
        j->port = random_port();
        j->held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(j->port)};
        CHECK(j->held > 0);
        if (bind(j->held, (struct sockaddr *)&address, sizeof address) == 0) {
            CHECK(setsockopt(j->held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
            return;
        }
        close(j->held);
    }
    CHECK_NEVER("there is a free port");
}

void make_job(job *j, size_t size) {
    static unsigned number;
    check_at_failure = say_and_clean_up;
    *j = (job){.size = size};
    snprintf(j->name, sizeof j->name, "/cobre-test-%d-%06u", (int)getpid(), ++number);
    if (backend == COBRE_TCP)
        hold_port(j);
    CHECK(size <= KIT_MAX_RANKS && pipe2(j->pipe, O_CLOEXEC) == 0);
    fcntl(j->pipe[0], F_SETFL, O_NONBLOCK);
    size_t free_entry = 0;
    while (free_entry + 1 < sizeof jobs / sizeof *jobs && jobs[free_entry])
        free_entry++;
    jobs[free_entry] = j;
}

static int order_pipe;
static void be_late(void);

static void redirect(int output) {
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(null);
    close(output);
}

void start_rank(job *j, size_t rank, void (*body)(void)) {
    int orders[2], output[2] = {-1, -1};
    CHECK(pipe2(orders, O_CLOEXEC) == 0);
    CHECK(!j->captures || pipe2(output, O_CLOEXEC) == 0);
    fflush(NULL); /* or the child writes our buffered text again */
    pid_t parent = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) {
        setpgid(pid, pid); /* here and there, so that nobody has to wait for it */
        close(orders[0]);
        if (j->captures) {
            close(output[1]);
            fcntl(output[0], F_SETFL, O_NONBLOCK);
        }
        j->rank[rank].pid = pid;
        j->rank[rank].end = pidfd_open(pid, 0);
        CHECK(j->rank[rank].end >= 0);
        j->rank[rank].orders = orders[1];
        j->rank[rank].output = output[0];
        return;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close(orders[1]);
    order_pipe = orders[0];
    if (j->captures) {
        close(output[0]);
        redirect(output[1]);
    }
    self = (self_t){.j = j, .rank = rank, .size = j->size};
    be_late();
    body();
    exit(0);
}

void start_job(job *j, size_t size, void (*body)(void)) {
    make_job(j, size);
    for (size_t r = 0; r < size; r++)
        start_rank(j, r, body);
}

/* ---- Watching ---- */

/* Reports stay where they are: cases keep pointers to them. */
static report *add_report(job *j, const report *r) {
    if (j->logged == j->room) {
        j->room = j->room ? 2 * j->room : 32;
        j->log = realloc(j->log, j->room * sizeof *j->log);
    }
    report *copy = malloc(sizeof *copy);
    if (!j->log || !copy)
        abort();
    *copy = *r;
    return j->log[j->logged++] = copy;
}

static void drain(job *j) {
    report r;
    while (read(j->pipe[0], &r, sizeof r) == (ssize_t)sizeof r)
        add_report(j, &r);
}

static void read_output(job *j, size_t r) {
    enum { MOST = 256 * 1024 };
    char piece[4096];
    ssize_t got;
    while ((got = read(j->rank[r].output, piece, sizeof piece)) > 0) {
        size_t left = MOST - j->rank[r].length, keep = (size_t)got < left ? (size_t)got : left;
        j->rank[r].text = realloc(j->rank[r].text, j->rank[r].length + keep + 1);
        if (!j->rank[r].text)
            abort();
        memcpy(j->rank[r].text + j->rank[r].length, piece, keep);
        j->rank[r].length += keep;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(j->rank[r].output);
        j->rank[r].output = -1;
    }
}

static void look_for_ends(job *j) {
    struct rusage used;
    for (size_t r = 0; r < j->size; r++)
        if (j->rank[r].pid && !j->rank[r].ended &&
            wait4(j->rank[r].pid, &j->rank[r].status, WNOHANG, &used) == j->rank[r].pid) {
            j->rank[r].ended = true;
            j->rank[r].died = kit_seconds();
            j->rank[r].spent = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                               1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
            close(j->rank[r].end);
        }
}

void await_news(job *j, double until) {
    struct pollfd polled[2 * KIT_MAX_RANKS + 1];
    for (size_t r = 0; r < j->size; r++) {
        bool there = j->rank[r].pid != 0;
        polled[2 * r] = (struct pollfd){.fd = there && !j->rank[r].ended ? j->rank[r].end : -1, .events = POLLIN};
        polled[2 * r + 1] = (struct pollfd){.fd = there ? j->rank[r].output : -1, .events = POLLIN};
    }
    polled[2 * j->size] = (struct pollfd){.fd = j->pipe[0], .events = POLLIN};
    double left = until - kit_seconds();
    poll(polled, 2 * j->size + 1, left <= 0 ? 0 : left < 1 ? (int)(1000 * left) + 1 : 1000);
    look_for_ends(j);
    for (size_t r = 0; r < j->size; r++)
        if (polled[2 * r + 1].revents)
            read_output(j, r);
    drain(j);
}

static const report *next(job *j, size_t rank, const char *event) {
    for (size_t i = j->rank[rank].seen; i < j->logged; i++)
        if (j->log[i]->rank == rank && strcmp(j->log[i]->event, event) == 0) {
            j->rank[rank].seen = i + 1;
            return j->log[i];
        }
    return NULL;
}

const report *await(job *j, size_t rank, const char *event) {
    for (double deadline = kit_seconds() + DEADLINE;;) {
        bool over = j->rank[rank].ended || kit_seconds() > deadline;
        drain(j); /* after the look at `ended`: what a rank reported before its end is there */
        const report *found = next(j, rank, event);
        if (found)
            return found;
        CHECK_SAY(!over, "rank %zu reports \"%s\" within the deadline and before its end", rank, event);
        await_news(j, deadline);
    }
}

void await_all(job *j, const char *event) {
    for (size_t r = 0; r < j->size; r++)
        await(j, r, event);
}

bool has_reported(job *j, size_t rank, const char *event) {
    drain(j);
    for (size_t i = 0; i < j->logged; i++)
        if (j->log[i]->rank == rank && strcmp(j->log[i]->event, event) == 0)
            return true;
    return false;
}

void order(job *j, size_t rank, char what) {
    CHECK(write(j->rank[rank].orders, &what, 1) == 1);
}

void order_all(job *j, char what) {
    for (size_t r = 0; r < j->size; r++)
        order(j, r, what);
}

static double cpu_seconds(pid_t pid) {
    clockid_t clock;
    struct timespec spent = {0};
    if (clock_getcpuclockid(pid, &clock) == 0)
        clock_gettime(clock, &spent);
    return (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec;
}

double mark_time(job *j) {
    size_t first = j->logged;
    for (size_t r = 0; r < j->size; r++)
        if (j->rank[r].pid && !j->rank[r].ended)
            add_report(j, &(report){.rank = r,
                                    .event = "mark",
                                    .waited = sentinel_waited(j->rank[r].pid),
                                    .spent = cpu_seconds(j->rank[r].pid)});
    double now = kit_seconds();
    for (size_t i = first; i < j->logged; i++)
        j->log[i]->time = now;
    return now;
}

double kill_rank(job *j, size_t rank) {
    double now = mark_time(j);
    CHECK(kill(j->rank[rank].pid, SIGKILL) == 0);
    j->rank[rank].killed = true;
    return now;
}

int await_end(job *j, size_t rank) {
    for (double deadline = kit_seconds() + DEADLINE; !j->rank[rank].ended; await_news(j, deadline))
        CHECK_SAY(kit_seconds() < deadline, "rank %zu ends within the deadline", rank);
    return j->rank[rank].status;
}

static bool group_is_empty(pid_t group) {
    double deadline = kit_seconds() + DEADLINE;
    while (kill(-group, 0) == 0 && kit_seconds() < deadline) {
        while (waitpid(-group, NULL, WNOHANG) > 0)
            ;
        usleep(500);
    }
    return kill(-group, 0) != 0;
}

void end_job(job *j) {
    for (size_t r = 0; r < j->size; r++)
        if (j->rank[r].pid) {
            int status = await_end(j, r);
            CHECK_SAY(j->rank[r].killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0),
                      "rank %zu ends with exit code 0, not with wait status %#x", r, (unsigned)status);
        }
    for (size_t r = 0; r < j->size; r++)
        CHECK_SAY(!j->rank[r].pid || group_is_empty(j->rank[r].pid), "rank %zu leaves no process behind", r);
    CHECK_SAY(!name_exists(j->name), "%s is gone", j->name);
    forget_job(j);
}

void forget_job(job *j) {
    for (size_t r = 0; r < j->size; r++)
        if (j->rank[r].pid) {
            close(j->rank[r].orders);
            if (j->rank[r].output >= 0)
                close(j->rank[r].output);
            free(j->rank[r].text);
        }
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        if (jobs[i] == j)
            jobs[i] = NULL;
    close(j->pipe[0]);
    close(j->pipe[1]);
    if (j->held)
        close(j->held);
    for (size_t i = 0; i < j->logged; i++)
        free(j->log[i]);
    free(j->log);
    *j = (job){0};
}

static void work_off(size_t first, size_t step, size_t count, void (*one)(size_t index)) {
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    *chance() += first << 32; /* or all of them draw the same */
    for (size_t i = first; i < count; i += step)
        one(i);
    CHECK_SAY(!children_left(), "no process is left");
}

void side_by_side(size_t workers, size_t count, void (*one)(size_t index)) {
    pid_t pids[16], parent = getpid();
    CHECK(workers <= sizeof pids / sizeof *pids);
    for (size_t w = 0; w < workers; w++) {
        pids[w] = fork();
        CHECK(pids[w] >= 0);
        if (pids[w] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        work_off(w, workers, count, one);
        exit(0);
    }
    size_t failed = 0;
    for (size_t w = 0; w < workers; w++) {
        int status;
        while (waitpid(pids[w], &status, 0) < 0)
            CHECK(errno == EINTR);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    CHECK_SAY(failed == 0, "%zu of %zu workers fail", failed, workers);
}

/* The rank's last report up to that time; NULL: it had just begun. */
static const report *last_report(const job *j, size_t rank, double time) {
    const report *last = NULL;
    for (size_t i = 0; i < j->logged; i++)
        if (j->log[i]->rank == rank && j->log[i]->time <= time && (!last || j->log[i]->time >= last->time))
            last = j->log[i];
    return last;
}

static double delay_of(const job *j, size_t rank, double from, double to) {
    const report *first = last_report(j, rank, from), *last = last_report(j, rank, to);
    double delay = (last ? last->waited : 0) - (first ? first->waited : 0);
    return delay > 0 ? delay : 0;
}

/* A process that does nothing but end: what it did not run, it waited. */
static double delay_of_the_dying(const job *j, double from, double to) {
    double delay = 0;
    for (size_t r = 0; r < j->size; r++) {
        const report *first = last_report(j, r, from);
        bool dying = first && (j->rank[r].killed || strcmp(first->event, "ends") == 0);
        if (!dying || (j->rank[r].ended && j->rank[r].died < from))
            continue;
        double end = j->rank[r].ended ? fmin(j->rank[r].died, to) : to;
        double spent = (j->rank[r].ended ? j->rank[r].spent : cpu_seconds(j->rank[r].pid)) - first->spent;
        delay += fmax(0, end - from - spent);
    }
    return delay;
}

double time_given(const job *j, size_t rank, double from, double to) {
    return to - from - sentinel_lost(from, to) - delay_of(j, rank, from, to) - delay_of_the_dying(j, from, to);
}

void must_come_within(const job *j, const report *r, double since, double seconds) {
    CHECK_SAY(
        time_given(j, r->rank, since, r->time) <= seconds,
        "rank %zu, %s: within %g s; it took %.6f s, of which the machine took %.6f s (sentinel), %.6f s (the rank "
        "waited for a CPU) and %.6f s (so did the dying one): %s",
        r->rank, r->event, seconds, r->time - since, sentinel_lost(since, r->time),
        delay_of(j, r->rank, since, r->time), delay_of_the_dying(j, since, r->time), r->message);
}

void must_have_failed(const job *j, const report *r, cobre_cause cause, size_t culprit, double since) {
    CHECK_SAY(r->status == COBRE_COLLECTIVE_FAILED, "rank %zu, %s: CollectiveFailed, not %s", r->rank, r->event,
              cobre_status_name(r->status));
    CHECK_SAY(r->cause == cause && r->culprit == culprit,
              "rank %zu, %s: \"%s\" by rank %zu, not \"%s\" by rank %zu: %s", r->rank, r->event,
              cobre_cause_name(cause), culprit, cobre_cause_name(r->cause), r->culprit, r->message);
    CHECK_SAY(r->time >= since, "rank %zu fails after the deed, not %.6f s before", r->rank, since - r->time);
    must_come_within(j, r, since, PROMISE);
}

/* ---- A rank's side ---- */

/* COBRE_TEST_LATE=R: rank R comes 0.1 to 0.3 s late to each step, which a case must bear. As if it had waited for a CPU. */
static double late_so_far;

static void be_late(void) {
    const char *rank = getenv("COBRE_TEST_LATE");
    if (!rank || strtoul(rank, NULL, 10) != self.rank)
        return;
    double seconds = 0.1 + 2e-4 * (double)kit_below(chance(), 1000);
    set_aside(seconds);
    late_so_far += seconds;
}

static void send_report(report *r, const char *event) {
    r->time = kit_seconds();
    r->waited = sentinel_waited(0) + late_so_far;
    r->spent = cpu_seconds(0);
    r->rank = self.rank;
    snprintf(r->event, sizeof r->event, "%s", event);
    if (write(self.j->pipe[1], r, sizeof *r) != (ssize_t)sizeof *r)
        _exit(1);
}

void say(const char *event, uint64_t number) {
    be_late();
    send_report(&(report){.number = number}, event);
}

cobre_status tell(const char *event, cobre_status status) {
    report r = {.status = status, .culprit = COBRE_NO_RANK};
    if (status) {
        const cobre_error *error = cobre_last_error();
        r.cause = error->cause;
        r.culprit = error->culprit;
        r.expected = error->expected;
        r.actual = error->actual;
        snprintf(r.message, sizeof r.message, "%s", error->message);
        snprintf(r.suggestion, sizeof r.suggestion, "%s", error->suggestion);
        CHECK(error->status == status && error->message[0] && error->suggestion[0]);
    }
    send_report(&r, event);
    be_late();
    return status;
}

char await_order(void) {
    char what = 0;
    while (read(order_pipe, &what, 1) < 0 && errno == EINTR)
        ;
    return what;
}

/* The same 128 MiB again and again: the kernel has every page of every mapping to let go of, as it has with memory of our
 * own, but to find and to fill only those. */
void map_gib(size_t gib) {
    enum { BYTES = 128 << 20 };
    int fd = memfd_create("cobre-test-large", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0);
    for (size_t i = 0; i < 8 * gib; i++)
        CHECK(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0) != MAP_FAILED);
    close(fd);
}

static bool inside_asked;

static int notice_inside(void *argument) {
    (void)argument;
    if (inside_asked) {
        inside_asked = false;
        send_report(&(report){0}, "inside");
    }
    return 0;
}

void report_inside(void) {
    inside_asked = true;
}

cobre_config rank_config(void) {
    return (cobre_config){.struct_size = sizeof(cobre_config),
                          .backend = backend,
                          .rank = self.rank,
                          .size = self.size,
                          .shm_name = self.j->name,
                          .tcp_coordinator = "127.0.0.1",
                          .tcp_port = self.j->port,
                          .tcp_token = self.j->name,
                          .join_timeout_secs = DEADLINE,
                          .interrupted = notice_inside};
}

cobre_comm *open_rank(void) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    CHECK_OK(cobre_comm_open(&config, &comm));
    return comm;
}
