/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: functions of the mpi backend that its descriptor names. */
#ifndef COBRE_BACKENDS_MPI_CONFIG_H
#define COBRE_BACKENDS_MPI_CONFIG_H

#include "backends/mpi/mpi.h"

#define CB_ENV_MPI_PLUGIN "COBRE_MPI_PLUGIN"

cobre_status cb_mpi_open(const cb_options *options, cobre_comm **comm);
void cb_mpi_free(cobre_comm *comm);
void cb_mpi_abort(cobre_comm *comm, int code, const char *text);
void cb_mpi_region_free(cobre_region *region);
void cb_mpi_explain(char *text, size_t len); /* which plugin this process would load, or why there is none */

#endif
