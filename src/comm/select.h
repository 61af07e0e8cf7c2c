/* select.h: which backend, and why; also for `cobre info`. */
#ifndef COBRE_COMM_SELECT_H
#define COBRE_COMM_SELECT_H

#include "comm/backend.h"

/* Turns a config (NULL: the environment) into checked options, or sets an error. */
cobre_status cb_select(const cobre_config *config, cb_options *options);

bool cb_built_in(cobre_backend backend);

/* "local, shm": the backends of this build. */
const char *cb_built_in_list(void);

/* One line: why the environment leads to this backend, or what it lacks (a variable, a build option). */
void cb_explain(cobre_backend backend, char *text, size_t len);

/* What the launcher passes to its ranks besides the backend's own variables: the descriptor of the pipe that carries
 * this rank's last error, and the number of ranks, which then counts for more than a batch system's variables. */
void cb_find_launcher(void);
#define CB_ENV_ERROR_FD "COBRE_RUN_ERROR_FD"
#define CB_ENV_RUN_SIZE "COBRE_RUN_SIZE"
#define CB_ENV_LISTEN_FD "COBRE_RUN_LISTEN_FD" /* tcp, rank 0: a bound, listening socket */

#endif
