/* session.h: what the commands of the trainer share. */
#ifndef COBRE_CLI_PLAN_SESSION_H
#define COBRE_CLI_PLAN_SESSION_H

#include "cli/cli.h"
#include "cobre/sddp.h"
#include "sddp/run/folder.h"
#include "sddp/run/numbers.h"
#include "sddp/run/options.h"
#include "sddp/run/table.h"

/* EXIT_BROKEN: the ranks lost each other. Then the launcher explains; for the other codes the rank itself does. */
enum { CB_EXIT_FAILED = 1, CB_EXIT_BROKEN = 3 };

/* Options that several commands have. Their own start at CB_OPTION_OWN. */
enum {
    CB_OPTION_BACKEND = 256,
    CB_OPTION_RANK,
    CB_OPTION_JSON,
    CB_OPTION_OUT,
    CB_OPTION_SEED,
    CB_OPTION_SOLVER,
    CB_OPTION_VALUE_BOUND,
    CB_OPTION_POLICY,
    CB_OPTION_SCENARIOS,
    CB_OPTION_OWN
};

/* What every command of the trainer knows about its run. */
struct session {
    const char *command; /* "train" */
    const char *case_path;
    size_t size;         /* -n; 0: not given */
    const char *backend; /* NULL: the launcher's default */
    bool started;        /* this is a rank that the command itself started */
    bool json;
    cobre_sddp_load_options load;
    cobre_comm *comm;
    cobre_sddp_problem *problem;
    struct cb_folder folder; /* for results, on rank 0; close removes it again if nothing has come into it */
};

/* session.c: the options -n, --backend, --json, and --rank, by which the launcher starts the ranks. */
extern const struct cb_option cb_session_rows[];

/* For `found` that is one of the options above; 0, or the exit code. */
int cb_session_option(struct session *session, int found, char **argv);

/* Becomes a rank: -1 and the communicator, or the exit code when this process has been the launcher of the ranks. */
int cb_session_open(struct session *session, int argc, char **argv);

/* The communicator of a command that has no ranks; 0, or the exit code after a message. */
int cb_session_alone(struct session *session);

/* Reads the case. load says what is wrong with it; 0, or the exit code. */
bool cb_session_read(struct session *session, void (*issue)(void *arg, const cobre_sddp_issue *issue), void *arg);
int cb_session_load(struct session *session);

/* Rank 0 makes the folder for results, and locks it for one that must be alone there. False on all ranks, after a
 * message. Collective. */
bool cb_session_folder(struct session *session, const char *path, bool lock);
void cb_session_close(struct session *session);
bool cb_session_speaks(const struct session *session); /* rank 0 */

/* After a call of the library has failed on all ranks, or on rank 0: rank 0 says why. Returns the exit code. */
int cb_session_failed(const struct session *session);

/* The same for a wrong argument, before there are ranks. */
int cb_session_refused(const struct session *session);

/* True when all is well on every rank. Collective. */
bool cb_session_agree(const struct session *session, bool good);

/* print.c: one error of a case, as "file:line: place: message". */
void cb_write_issue(FILE *file, const cobre_sddp_issue *issue);

/* print.c: the size of a problem. */
size_t cb_stages(const cobre_sddp_problem *problem);   /* how many stages its nodes have */
void cb_print_size(const cobre_sddp_problem *problem); /* "3 stages, 3 nodes, 1 state" */

/* stop.c: SIGINT and SIGTERM. The first one asks to stop, the second one ends the process. */
void cb_stop_catch(const struct session *session, const char *promise);
int cb_stop_asked(void *arg);

#endif
