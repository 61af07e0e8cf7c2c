/* SPDX-License-Identifier: Apache-2.0 */
/* variables.h: the variables of the contract, word for word. The only copy in the tests, those in shell included (lib.sh
 * reads these lines): a name that is changed in the code fails here. */
#ifndef COBRE_TEST_VARIABLES_H
#define COBRE_TEST_VARIABLES_H

#define ENV_BACKEND "COBRE_COMM_BACKEND"
#define ENV_STALL_SECS "COBRE_STALL_SECS"
#define ENV_CHECK "COBRE_CHECK"

#define ENV_SHM_NAME "COBRE_SHM_NAME"
#define ENV_SHM_RANK "COBRE_SHM_RANK"
#define ENV_SHM_SIZE "COBRE_SHM_SIZE"
#define ENV_SHM_TIMEOUT "COBRE_SHM_TIMEOUT_SECS"

#define ENV_TCP_COORDINATOR "COBRE_TCP_COORDINATOR"
#define ENV_TCP_PORT "COBRE_TCP_PORT"
#define ENV_TCP_RANK "COBRE_TCP_RANK"
#define ENV_TCP_SIZE "COBRE_TCP_SIZE"
#define ENV_TCP_TIMEOUT "COBRE_TCP_TIMEOUT_SECS"
#define ENV_TCP_BIND "COBRE_TCP_BIND"
#define ENV_TCP_TOKEN_FILE "COBRE_TCP_TOKEN_FILE"
#define ENV_TCP_TOKEN "COBRE_TCP_TOKEN"
#define ENV_TCP_OPEN "COBRE_TCP_OPEN"

#define ENV_MPI_PLUGIN "COBRE_MPI_PLUGIN"
#define ENV_LP_PATH "COBRE_LP_PATH"

/* What `cobre run` tells its ranks besides. */
#define ENV_RUN_RANK "COBRE_RUN_RANK"
#define ENV_RUN_SIZE "COBRE_RUN_SIZE"
#define ENV_RUN_ERROR_FD "COBRE_RUN_ERROR_FD"
#define ENV_RUN_LISTEN_FD "COBRE_RUN_LISTEN_FD"

#endif
