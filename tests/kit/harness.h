/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h: real processes, which may die, freeze and err on purpose, and a parent that watches them.
 *
 * A case is a function of the parent. It starts ranks, each a forked process that runs a body. A rank reports what it
 * does through a pipe, with the time; the parent waits for reports, never for time to pass, and sends orders of one
 * letter back. Whether a rank is blocked inside a call is no guess: the communicator's `interrupted` hook, which is
 * asked only there, reports it.
 *
 * A check that fails ends the whole case: a rank that fails ends with exit code 1, which the parent takes for a
 * failure, and the parent prints all reports, kills everybody and exits with 1. */
#ifndef COBRE_TEST_HARNESS_H
#define COBRE_TEST_HARNESS_H

#include "kit/kit.h"

#include <sys/types.h>

#define SLOWNESS (KIT_SANITIZED ? 4 : 1)                        /* of all that a sanitizer looks at */
#define PROMISE (SLOWNESS * (backend == COBRE_TCP ? 1.0 : 0.1)) /* seconds from a death to every survivor's error */
#define DEADLINE deadline_seconds()                             /* for everything else; only a hang takes so long */
double deadline_seconds(void);                                  /* COBRE_TEST_DEADLINE, or 5 minutes */

typedef struct {
    double time;   /* monotonic: one clock for all processes */
    double waited; /* seconds that the rank's thread has waited for a CPU so far */
    double spent;  /* seconds of CPU time of its process so far */
    size_t rank;
    char event[20];
    cobre_status status; /* this and the next ones: of a call that tell() was given */
    cobre_cause cause;
    size_t culprit;
    uint64_t expected, actual;
    uint64_t number; /* for the case to use */
    char message[2048];
    char suggestion[512];
} report;

extern cobre_backend backend; /* that the ranks use */

typedef struct {
    char name[64]; /* shm: of the segment, with '/'; tcp: the token */
    uint16_t port; /* tcp */
    int held;      /* a socket that keeps the port for this job, 0: none */
    size_t size;
    bool captures; /* keeps what its ranks print, instead of printing it */
    struct {
        pid_t pid;    /* 0: not started */
        double died;  /* when it was seen to have ended */
        double spent; /* seconds of CPU time in all, then */
        int end;      /* a descriptor that can be read when the process has ended, -1: seen */
        int orders;
        int output; /* -1: none */
        bool ended, killed;
        int status;  /* as from waitpid, once ended */
        size_t seen; /* reports that await() has gone past */
        char *text;  /* the first part of what it printed */
        size_t length;
    } rank[KIT_MAX_RANKS];
    int pipe[2];
    report **log;
    size_t logged, room;
} job;

/* ---- The parent's side ---- */

/* A job without processes, then its ranks one by one; or all of them at once. */
void make_job(job *j, size_t size);
void start_rank(job *j, size_t rank, void (*body)(void));
void start_job(job *j, size_t size, void (*body)(void));

/* The next report of this event by this rank; others in between are passed over. Fails at the deadline, and as soon as
 * the rank has ended without it. */
const report *await(job *j, size_t rank, const char *event);
void await_all(job *j, const char *event);
bool has_reported(job *j, size_t rank, const char *event); /* ever; does not wait */

void order(job *j, size_t rank, char what);
void order_all(job *j, char what);

double mark_time(job *j);              /* now; notes how long each rank has run and has waited for a CPU so far */
double kill_rank(job *j, size_t rank); /* SIGKILL; mark_time() just before */
int await_end(job *j, size_t rank);    /* its wait status */

/* Waits until all ranks have ended, which those that nobody killed must do by themselves with exit code 0; then neither
 * a process nor a name of the job may be left. */
void end_job(job *j);

/* For who judges himself how a job went: waits until a rank has ended, reported or printed something, at most until then;
 * ends all processes of all jobs, and all children; says whether there are still children, after a moment for those that
 * are on their way out; says which names in /dev/shm begin so, and removes them; frees the job. */
void await_news(job *j, double until);
void kill_processes(void);
bool children_left(void);
size_t remove_names(const char *prefix);
void forget_job(job *j);

/* The seconds between two times in which the rank, and those that it waited for, could run: without what the sentinel
 * lost (sentinel.h), without what the rank waited for a CPU, and without what a rank that was killed, or has said "ends",
 * did not run while the kernel cleared up behind it. Exact if both times are of mark_time() or of reports of this rank; with another
 * first time it leaves out what the rank waited since its last report, too. */
double time_given(const job *j, size_t rank, double from, double to);

/* The report came within this time, as time_given() counts it. */
void must_come_within(const job *j, const report *r, double since, double seconds);

/* The report of a collective that failed because of `culprit`, not before `since` and within the promise. */
void must_have_failed(const job *j, const report *r, cobre_cause cause, size_t culprit, double since);

/* one(0) ... one(count - 1), each once, by so many processes side by side: for what is mostly waiting. No call may
 * count on what another one has changed. */
void side_by_side(size_t workers, size_t count, void (*one)(size_t index));

bool name_exists(const char *name);
uint64_t *chance(void);         /* state for kit_random, another one in each run; printed when a case fails */
void set_aside(double seconds); /* sleep: only for what happens at random moments, or must not happen for a while */

/* Not of the system's choice, which could give the same one to an outgoing connection before rank 0 listens there, at
 * worst to that of a rank that looks for rank 0; not by chance(), because two cases may run with the same seed. */
uint16_t random_port(void);

/* The value of a variable by which a launcher hands a descriptor to a rank; returns text. */
const char *descriptor_text(int fd, char text[80]);

/* ---- A rank's side ---- */

typedef struct {
    job *j; /* NULL: this process is not a rank */
    size_t rank, size;
} self_t;
extern self_t self;

cobre_config rank_config(void); /* its hook reports "inside" once after each report_inside() */
cobre_comm *open_rank(void);    /* with that config; must succeed */
void report_inside(void);
void say(const char *event, uint64_t number);
cobre_status tell(const char *event, cobre_status status); /* with the last error, if it is one; returns status */
char await_order(void);
void map_gib(size_t gib); /* the kernel takes some 35 ms for each to clear up behind this process */

#endif
