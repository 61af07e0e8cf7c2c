/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: trainings and simulations, each as a child process that is `cobre train` or `cobre simulate`. One runs at a
 * time. The last 100 are remembered. */
#ifndef COBRE_CLI_MCP_JOBS_H
#define COBRE_CLI_MCP_JOBS_H

#include "cli/mcp/mcp.h"
#include "cli/run/job.h" /* struct text */

#include <sys/types.h>

enum { CB_JOBS_KEPT = 100, CB_JOB_ERROR_TEXT = 4096, CB_JOB_WARNINGS = 20 };

enum cb_job_state { CB_JOB_RUNNING, CB_JOB_STOPPING, CB_JOB_FINISHED, CB_JOB_FAILED };

struct cb_job {
    char id[32];             /* "job-7"; "": this place is free */
    const char *command;     /* "train" or "simulate" */
    enum cb_job_state state; /* only jobs.c writes this and the members below */
    char case_path[PATH_MAX], out[PATH_MAX];
    unsigned made; /* so many folders at the end of `out` are new: they go if nothing has come into them */
    double begin, end;
    json_t *started, *iteration, *finished,
        *error;                   /* the last event of each kind; NULL: there was none. Of a simulation
                                                       `finished` is what it prints */
    json_t *warnings;             /* texts */
    char said[CB_JOB_ERROR_TEXT]; /* the end of its standard error */
    int code;                     /* exit code; 128 + n: ended by signal n */
    bool stopped;                 /* it was asked to stop, and did */
    bool ruled, ruled_by_us;      /* a rule ends it at the limit of iterations; that rule is not the caller's */
    const char *limit;            /* that has ended it: "time", "iterations"; NULL: none */
};

struct cb_jobs {
    struct cb_mcp *server;
    const char *program;
    struct cb_job job[CB_JOBS_KEPT];
    uint64_t count;         /* of all jobs so far */
    struct cb_job *running; /* NULL: none */
    pid_t pid;              /* of that */
    int out, err;           /* read ends of its pipes; -1: closed */
    struct text line;       /* of its output: the beginning of an incomplete line */
    bool too_long;          /* that line is left out */
    unsigned asked;         /* signals that have been sent */
    double next_signal;     /* when the next one is due; INFINITY: none */
    double urgency;         /* seconds between the first and the second one */
};

void cb_jobs_limit_memory(uint64_t bytes); /* of this process; 0: no limit */

struct cb_jobs *cb_jobs_new(struct cb_mcp *server, const char *program);
void cb_jobs_free(struct cb_jobs *jobs); /* asks a running job to stop */

/* Starts `program words...`; the first is "train" or "simulate". out: where the results go. NULL: errno. */
struct cb_job_words;
struct cb_job *cb_jobs_start(struct cb_jobs *jobs, const struct cb_job_words *words, const char *case_path,
                             const struct cb_place *out, size_t workers);

struct cb_job *cb_jobs_find(struct cb_jobs *jobs, const char *id); /* NULL: there is none, or it is forgotten */

/* Asks the job that runs to stop and save. hurry: the second signal, which saves at once what is finished, follows
 * soon; otherwise the job has the usual time for its iteration. */
void cb_jobs_stop(struct cb_jobs *jobs, bool hurry);

/* For the loop: the descriptors to watch, and functions to call after input, or after the end of a child. */
size_t cb_jobs_watch(const struct cb_jobs *jobs, struct pollfd fds[2]);
void cb_jobs_serve(struct cb_jobs *jobs);
double cb_jobs_due(const struct cb_jobs *jobs);
void cb_jobs_tick(struct cb_jobs *jobs);

const char *cb_job_state_name(enum cb_job_state state);

/* job_tools.c: functions for tools that start a job. */
bool cb_job_is_busy(struct cb_mcp_call *call);                          /* a job runs: the call has been refused */
void cb_job_refuse(struct cb_mcp_call *call, const struct cb_job *job); /* it has failed */
void cb_job_tell_progress(struct cb_mcp_call *call, const struct cb_job *job);
void cb_job_stop(struct cb_mcp_call *call); /* of a call that waits for it, and is cancelled: it stops and saves */

/* job_report.c: reports about a job. */
extern const struct cb_mcp_field cb_job_fields[];
json_t *cb_job_facts(const struct cb_job *job);
void cb_job_sentence(const struct cb_job *job, char text[1024]);
void cb_job_brief(const struct cb_job *job, char text[256]); /* "12 iterations, bound 2500, gap 3 %" */

/* job_options.c: the options of a command as arguments of a tool, by the tables that the command line has. */
json_t *cb_job_train_schema(const struct cb_mcp *server);
json_t *cb_job_simulate_schema(const struct cb_mcp *server);

/* The words of the command line: "--iterations", "5". False: the call has been refused. NULL-terminated in `words`,
 * whose texts belong to it; to be freed by cb_job_words_free. */
struct cb_job_words {
    char *word[96];
    size_t count;
    bool ruled, ruled_by_us; /* as in cb_job */
};
bool cb_job_words(struct cb_mcp_call *call, struct cb_job_words *words);
void cb_job_word(struct cb_job_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cb_job_words_free(struct cb_job_words *words);

#endif
