/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: code that the commands of the planner share. */
#ifndef COBRE_CLI_PLAN_SESSION_H
#define COBRE_CLI_PLAN_SESSION_H

#include "cli/cli.h"
#include "cli/run/self.h"
#include "cobre/sddp.h"
#include "sddp/draft.h"
#include "sddp/run/folder.h"
#include "sddp/run/numbers.h"
#include "sddp/run/option_tables.h"
#include "sddp/run/table.h"
#include "sddp/run/train_text.h"

/* The data of one run of a command. */
struct session {
    struct self self; /* the command, and its ranks */
    struct cb_given given;
    const char *case_path;
    bool json;
    cobre_sddp_load_options load;
    cobre_comm *comm;
    cobre_sddp_problem *problem;
    struct json_t *warnings; /* of the case, and others, as [message, suggestion]; NULL: they are not kept */
    struct cb_folder folder; /* for results, on rank 0; close removes it if it is new and empty */
};

extern const struct cb_option cb_json_rows[]; /* session.c: --json */

/* The steps of a command: CB_GO_ON, or the exit code. */

/* Becomes a rank. The exit code may be that of the ranks, when this process has been their launcher. */
int cb_session_open(struct session *session, int argc, char **argv);

/* The communicator of a command that has no ranks. */
int cb_session_alone(struct session *session);

/* Reads the case, and prints its errors. */
bool cb_session_read(struct session *session, void (*issue)(void *arg, const cobre_sddp_issue *issue), void *arg);
int cb_session_load(struct session *session);
void cb_session_keep_warning(struct session *session, const char *message, const char *suggestion);

/* Loads a policy. given: the user's path; NULL: the default. If there is none, the message tells how to train one. */
int cb_session_policy(const struct session *session, const char *path, const char *given, cobre_sddp_policy **policy);

/* CB_GO_ON if every rank goes on. Collective. */
int cb_session_agree(const struct session *session, int code);

/* Rank 0 makes the folder for results, and locks it for a command that must be alone there. Collective. */
int cb_session_folder(struct session *session, const char *path, bool lock);
void cb_session_close(struct session *session);
bool cb_session_speaks(const struct session *session); /* rank 0 */

/* Call it after a call of the library failed on all ranks, or on rank 0. Rank 0 prints why. Returns the exit code. */
int cb_session_failed(const struct session *session);

/* The same for a wrong argument, before there are ranks. */
int cb_session_refused(const struct session *session);

/* say.c: prints errors, warnings and advice to standard error and to the log, if there is one. A status line is cleared
 * first. */
void cb_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
FILE *cb_say_to(size_t i);                /* the same, file by file: standard error, the log, NULL */
void cb_say_in_handler(const char *line); /* for signal handlers; "": nothing */

bool cb_log_open(const char *path); /* appends; false: see errno. The path must last */
FILE *
cb_log(void); /* NULL: there is none. To be called after writing, too: it tells that the log could not be written */
void cb_log_close(void);

/* Writes a text in lines, broken at semicolons, and long ones at commas. prefix: before every line but the first. */
void cb_write_lines(FILE *to, const char *prefix, const char *text);

/* print.c: one error of a case, as "file:line: place: message". */
void cb_write_issue(FILE *file, const cobre_sddp_issue *issue);

/* stop.c: SIGINT, SIGTERM and SIGUSR1. The first one asks to stop, a later one to stop at once, the last one ends the
 * process. Rank 0 prints the answers. */
enum cb_stop_note {
    CB_STOP_FIRST, /* the answer to the first signal, then to the second */
    CB_STOP_SECOND,
    CB_STOP_FIRST_OF_ALL, /* the same while nothing is finished that could be kept */
    CB_STOP_SECOND_OF_ALL,
    CB_STOP_NOTES
};
struct cb_stop {
    double grace;       /* seconds until the first request becomes urgent */
    int deadly;         /* the number of the signal that ends the process */
    const char *folder; /* in which it then removes incomplete files; NULL: none */
    const char *note[CB_STOP_NOTES];
};
void cb_stop_catch(const struct session *session, const struct cb_stop *how);
void cb_stop_keeps(void);     /* from now on there is something to keep */
int cb_stop_asked(void *arg); /* as cobre_sddp_train_options.stop: 0, 1, or 2: now */

#endif
