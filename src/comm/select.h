/* SPDX-License-Identifier: Apache-2.0 */
/* select.h: selects the backend and explains the choice, also for `cobre info`; and helpers for the backends' own
 * configuration. */
#ifndef COBRE_COMM_SELECT_H
#define COBRE_COMM_SELECT_H

#include "comm/backend.h"
#include "comm/parse.h"

/* Turns a config (NULL: the environment) into checked options, or sets an error. */
cobre_status cb_select(const cobre_config *config, cb_options *options);

/* The descriptor; NULL: there is no such backend. */
const cb_backend *cb_backend_at(cobre_backend backend);
bool cb_built_in(cobre_backend backend);
cobre_backend cb_backend_named(const char *name); /* COBRE_AUTO: none has this name */

/* The backends from the one that auto tries first to the one that it tries last: for (b = cb_first_backend(); b;
 * b = cb_next_backend(b)). */
cobre_backend cb_first_backend(void);
cobre_backend cb_next_backend(cobre_backend backend); /* COBRE_AUTO after the last */

/* "local, shm": the backends of this build. */
const char *cb_built_in_list(void);

/* Does a foreign launcher (mpiexec, srun) say that it has started more than one rank? */
bool cb_launched_among_many(void);

/* One line: why the environment leads to this backend, or what it lacks (a variable, a build option). */
void cb_explain(cobre_backend backend, char *text, size_t len);

/* Variables of the environment as values. Each sets an error that names the variable. cb_read_count needs one that is
 * set; to the others one that is not set means: *value as it is, or 0. */
cobre_status cb_read_count(cobre_backend backend, const char *name, size_t *value);
cobre_status cb_read_seconds(cobre_backend backend, const char *name, double *value);
cobre_status cb_read_switch(cobre_backend backend, const char *name, bool *value); /* 0 or 1 */

/* Checks that hold wherever the values came from; *_from names the place. */
cobre_status cb_check_ranks(const cb_options *options, const char *rank_from, const char *size_from);

/* Makes a comma-separated list of the names that have no value. */
void cb_list_missing(const char *const *names, char *list, size_t size);
cobre_status cb_missing(cobre_backend backend, const char *list, const char *example);

#define CB_REFUSE(choice, culprit, advice, ...)                                                                        \
    cb_error(NULL, choice, COBRE_INITIALIZATION_FAILED,                                                                \
             &(struct cb_details){.operation = "open", .subject = culprit, .suggestion = advice}, __VA_ARGS__)

/* The launcher passes these to its ranks besides the backend's own variables: the descriptor of the pipe that carries
 * this rank's last error; the rank, for scripts; and the number of ranks, which then counts for more than a batch system's
 * variables. */
void cb_find_launcher(void);
#define CB_ENV_BACKEND "COBRE_COMM_BACKEND"
#define CB_ENV_STALL "COBRE_STALL_SECS"
#define CB_ENV_ERROR_FD "COBRE_RUN_ERROR_FD"
#define CB_ENV_RUN_RANK "COBRE_RUN_RANK"
#define CB_ENV_RUN_SIZE "COBRE_RUN_SIZE"

#endif
