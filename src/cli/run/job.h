/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: the launcher's data about its job. There is one thread; only the file named in its comment writes a struct. */
#ifndef COBRE_CLI_RUN_JOB_H
#define COBRE_CLI_RUN_JOB_H

#include "cli/cli.h"
#include "comm/select.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

/* CB_EXIT_LAUNCHER: the launcher itself could not do its work, as env(1) and timeout(1) use 125. */
enum { CB_MAX_RANKS = 4096, CB_EXIT_LAUNCHER = 125, CB_EXIT_CANNOT_RUN = 126, CB_EXIT_NOT_FOUND = 127 };

struct host {
    char *name; /* as given; may start with "user@" */
    size_t slots;
};

struct host_list {
    struct host *hosts;
    size_t count, slots; /* slots: of all */
};

/* A job to start. */
struct run_options {
    const char *command; /* the command that starts it: "run" */
    size_t size;         /* 0: the cores that this process may use; with hosts, all their slots */
    const char *backend; /* NULL: the usual one for ranks here, or on several hosts */
    bool label;
    bool self;              /* the ranks are this command itself, which has explained exit codes 1 and 2 */
    const char *log_dir;    /* NULL: none */
    char **program;         /* with its arguments, NULL at the end */
    struct host_list hosts; /* count 0: all ranks run here */
    const char *remote_shell;
    const char *remote_cobre; /* NULL: as ours */
};

/* A growing sequence of bytes. */
struct text {
    char *data;
    size_t length, capacity;
};

struct sink; /* our standard output or error */

/* LOG_ONLY: nothing goes to our own output. */
enum relay { LINES, BYTES, LOG_ONLY };

/* One output of one rank on its way to ours: with --label, and always when the rank runs elsewhere. (output.c) */
struct stream {
    int fd;     /* read end of the rank's pipe; -1: none or ended */
    int log_fd; /* -1: none */
    enum relay relay;
    struct sink *sink;
    size_t rank;
    bool continued; /* the start of this line was too long to wait for its end */
    struct text line;
};

/* The stage of a job's early end, and the events that change it. (stage.c) */
enum stage { RUNNING, HURRYING, FAILING, TERMINATING, KILLING, CUTTING };
enum event { RANK_FAILED, RANK_NOT_STARTED, ASKED_TWICE, INTERRUPTED, TIME_OVER };

/* Signals that ask for the end and come closer together count as one request: timeout(1) sends its own to the process
 * and then to its group, and a batch system to the launcher and to each rank. */
enum { CB_ECHO_MS = 500 };

/* With the agent of a rank elsewhere:
 *   CONNECTING -> CONNECTED    the agent has started the rank
 *   CONNECTING -> NOT_RUNNING  it could not, and has said why
 *   CONNECTED  -> RANK_ENDED   the rank has ended, and the agent has said how
 *   CONNECTED  -> LOST         the connection ended, sent no valid frame, or was cut by us
 *   CONNECTING -> NO_ANSWER    the same before its first frame, or that did not come in time
 * For us the rank has ended in all states but CONNECTING and CONNECTED. */
enum contact { CONNECTING, CONNECTED, NOT_RUNNING, RANK_ENDED, LOST, NO_ANSWER };

/* The connection to the agent of a remote rank. (remote.c) */
struct link {
    int to, from; /* the remote shell's standard input and output; -1: closed */
    struct text outgoing, incoming;
    enum contact contact;
    int64_t deadline;            /* for the agent's answer */
    bool late, garbled;          /* the deadline passed; the answer was not a frame */
    bool told_closed[2];         /* the rank knows that nobody reads its output, error */
    bool shell_ended;            /* then with: */
    int shell_how, shell_status; /* as siginfo_t has it */
    pid_t pid;                   /* of the rank, there */
    int how, status;             /* of its end */
};

/* One rank. `pid` is also its process group; it stays ours, and cannot be given to a stranger, until the end of the
 * job, because the leader is looked at with WNOWAIT and reaped only after the group has been killed. */
struct rank {
    pid_t pid;       /* 0: not started (start.c); of a rank elsewhere: its remote shell */
    bool ended;      /* this, sweep and seen_in: run.c */
    int how, status; /* CLD_EXITED, CLD_KILLED or CLD_DUMPED; exit code or signal (here.c, remote.c) */
    unsigned
        sweep; /* the number of the look at the children that found its end; ends found in one look have no order */
    enum stage seen_in; /* stage of the job before that look */
    bool never_ran;     /* it ended before it had become its program (remote.c) */
    int error_fd;       /* read end of its error pipe; -1: closed */
    struct text line;   /* the beginning of an incomplete error line */
    struct text error;  /* the last complete one, with a 0 at the end; length 0: none */
    struct stream out, err;
    const char *host; /* NULL: here */
    struct link link;
    struct json_t *report; /* `error`, read by verdict.c; NULL: none, or no JSON */
};

struct job;

/* The functions for ranks here (here.c) or on other hosts (remote.c): starting, reading and ending them. */
struct place {
    size_t (*files)(const struct job *job);     /* the most descriptors that the ranks take of us */
    int (*start)(struct job *job);              /* as many as may start now; 0, or the exit code after a message */
    bool (*is_starting)(const struct job *job); /* not all have become their program; NULL: `start` waits for that */
    /* What poll should watch for the ranks; returns how many of `fds`, which are at most `files`. An earlier deadline
     * is written to *deadline. */
    size_t (*watch)(const struct job *job, struct pollfd *fds, int64_t *deadline);
    bool (*serve)(struct job *job, const struct pollfd *fds); /* true: more may start, or some may have ended */
    bool (*has_ended)(struct rank *rank);                     /* then it sets how, status and never_ran */
    void (*signal)(struct rank *rank, int signal);
    void (*cut)(struct job *job);   /* ranks that SIGKILL has not ended: ends the contact; NULL: there is none */
    void (*close)(struct job *job); /* all have ended: waits for the rest of their output; NULL: nothing to wait for */
};
extern const struct place cb_here, cb_elsewhere;

struct job {
    const struct place *place;
    struct run_options options; /* settled; pointers in it belong to the caller */
    cobre_backend backend;
    struct rank *ranks;
    size_t started, running;
    unsigned sweeps;
    enum stage stage;
    int64_t deadline;      /* of the stage, in ms of the monotonic clock; INT64_MAX: none */
    int passed_signal;     /* the last SIGINT, SIGTERM, SIGHUP or SIGQUIT passed on while all was well; 0: none */
    unsigned wishes;       /* how many times signals have asked for the end (run.c) */
    int64_t wished_at;     /* the last time */
    int start_code;        /* of a rank that we could not start; CB_GO_ON: none */
    cb_launch launch;      /* port 0: not known yet */
    const char *agent;     /* in an agent: its host, as the launcher calls it */
    pid_t guard;           /* 0: none */
    int guard_fd;          /* the only write end of the guard's pipe */
    int input_fd, null_fd; /* standard input of rank 0; of the others */
    struct rlimit files;   /* the limit we were started with, which the ranks get back */
};

/* hosts.c: false after a message of cb_usage_error's kind. */
bool cb_hosts_parse(const char *text, struct host_list *list);
bool cb_hosts_read(const char *path, struct host_list *list);
const char *cb_host_of_rank(const struct host_list *list, size_t rank);
const char *cb_host_address(const char *name); /* without "user@" */
void cb_hosts_free(struct host_list *list);

/* settle.c: fills in defaults. CB_GO_ON, or the exit code. */
int cb_settle(struct run_options *options, cobre_backend *backend);

/* environment.c: the needs of a backend before the first rank, in each rank, and at the end. */
bool cb_environment_prepare(struct job *job);
bool cb_environment_prepare_here(struct job *job); /* on the host of rank 0 */
void cb_environment_end(const struct job *job);
bool cb_environment_set(const struct job *job, size_t rank, int error_fd); /* false: errno says why */
bool cb_environment_is_of_host(const char *variable); /* "NAME=value" that means nothing elsewhere */

/* guard.c */
bool cb_guard_start(struct job *job);
bool cb_guard_tell(int guard_fd, pid_t pid);  /* pid leads a group of the job; does not wait */
void cb_guard_renew(struct job *job);         /* a child has ended: if it is the guard, starts another */
void cb_guard_dismiss(const struct job *job); /* all groups have been killed: it has nothing left to kill */
void cb_guard_end(struct job *job);

/* start.c: starts one rank. CB_GO_ON, or the exit code. */
int cb_rank_start(struct job *job, size_t index);
int cb_remote_shell_start(struct job *job, size_t index, char **command, int in, int out);

/* stage.c */
void cb_job_event(struct job *job, enum event event);
void cb_signal_ranks(const struct job *job, int signal);
bool cb_is_stopping(enum stage stage); /* the ranks have been told to end, so how they end says little */
bool cb_is_killing(enum stage stage);

/* remote.c: explains ends that are not those of a program. */
int cb_remote_explain(const struct job *job); /* prints why a rank never ran; returns its exit code, 0: all ran */
bool cb_remote_is_lost(const struct rank *rank);
void cb_remote_print_loss(const struct rank *rank);

/* signals.c */
bool cb_signals_catch(void);
void cb_signals_restore(bool terminal_output); /* in a rank: restores the signals that we were started with */
int cb_signals_fd(void);                       /* readable when one has come */
void cb_signals_read(void);                    /* those that have come can be taken then */
bool cb_signal_take(int signal);
int cb_signal_take_passed(void); /* the next one to pass on; 0: none */
void cb_signal_stop_self(void);  /* returns when continued */
bool cb_signal_ends(int signal); /* it asks the job to end */
void cb_signal_group(pid_t group, int signal);
void cb_signals_release(void); /* all ranks have ended: such a signal ends us, too */
const char *cb_signal_name(int signal);

/* output.c: lines of the ranks, labelled, whole. */
bool cb_output_directory(const char *path);
int cb_output_file(const char *directory, size_t rank, const char *ending);
void cb_output_open(void);
void cb_stream_init(struct stream *stream, size_t rank, int number, int fd, int log_fd);
void cb_stream_take(struct stream *stream, const char *bytes, size_t count);
bool cb_stream_broken(const struct stream *stream); /* nobody reads it */
bool cb_stream_wanted(const struct stream *stream); /* there is room for its output */
bool cb_stream_read(struct stream *stream);         /* false: nothing more for now */
void cb_stream_end(struct stream *stream);
int cb_sink_fd(int number); /* -1: nothing to write */
void cb_sink_write(int number);
int cb_output_lost(void); /* errno if a rank's output could not be written; 0: it could */
void cb_output_close(void);

/* terminal.c: passes typed input to rank 0. */
int cb_terminal_open(void); /* the read end for rank 0; -1: errno says why not */
int cb_terminal_fd(bool *look_again);
int cb_terminal_feed_fd(bool *pending);
void cb_terminal_read(void);
void cb_terminal_feed(bool broken);

/* run.c */
int cb_run(const struct run_options *options); /* the launcher: returns the exit code of the job */
void cb_keep_error(struct rank *rank, const char *bytes, size_t count); /* the last whole line that looks like one */
bool cb_read_error(struct rank *rank);                                  /* from its pipe; false: nothing more for now */

/* verdict.c: prints which rank failed first and how; returns the exit code of the job. */
int cb_verdict(const struct job *job);

/* text.c */
void cb_text_append(struct text *text, const char *bytes, size_t count);
void cb_text_drop(struct text *text, size_t count); /* from the front */
bool cb_text_write(struct text *text, int fd);      /* as much as fd takes now; false: it has no reader any more */
bool cb_pipe(int ends[2]);                          /* both close-on-exec */
void cb_unblocked(int fd);
void cb_close(int *fd);
int64_t cb_now_ms(void);
bool cb_has_ended(pid_t pid, int *how, int *status); /* a child, which is not reaped */
bool cb_own_path(char path[PATH_MAX]);               /* of this program; false: errno says why, and path is as it was */
_Noreturn void cb_give_up(const char *what);         /* the guard then ends the ranks */

#endif
