/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: functions of the mpi backend that its descriptor names. */
#ifndef COBRE_BACKENDS_MPI_CONFIG_H
#define COBRE_BACKENDS_MPI_CONFIG_H

#include "backends/mpi/mpi.h"

#define CB_ENV_MPI_PLUGIN "COBRE_MPI_PLUGIN"
#define CB_ENV_CHECK "COBRE_CHECK"
/* Slurm: how many tasks srun started as this step. The shells of sbatch and salloc have other variables of tasks
 * (SLURM_PROCID, SLURM_NTASKS), but are not ranks, and do not have this one; the step that salloc may start for its
 * shell has one task. */
#define CB_ENV_STEP_TASKS "SLURM_STEP_NUM_TASKS"

/* Refuses a task of a Slurm step that this MPI (NULL: any) cannot start in; see load.c. */
cobre_status cb_mpi_check_step(const char *plugin);
cobre_status cb_mpi_open(const cb_options *options, cobre_comm **comm);
void cb_mpi_free(cobre_comm *comm);
void cb_mpi_abort(cobre_comm *comm, int code, const char *text);
void cb_mpi_region_free(cobre_region *region);
void cb_mpi_explain(char *text, size_t len); /* which plugin this process would load, or why there is none */

#endif
