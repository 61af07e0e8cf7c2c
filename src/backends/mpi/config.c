/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: the mpi backend as the core sees it: the variables of MPI launchers, and its own. */
#include "backends/mpi/config.h"

#include "comm/select.h"

#if COBRE_HAVE_MPI

static cobre_status from_environment(cb_options *options) {
    struct cb_mpi_options *own = cb_mpi_own_mut(options);
    own->plugin = cb_variable(CB_ENV_MPI_PLUGIN);
    CB_TRY(cb_read_switch(COBRE_MPI, CB_ENV_CHECK, &own->check));
    return cb_mpi_check_step(own->plugin);
}

static cobre_status from_config(const cobre_config *config, cb_options *options) {
    *cb_mpi_own_mut(options) = (struct cb_mpi_options){.plugin = config->mpi_plugin, .check = config->check};
    return cb_mpi_check_step(config->mpi_plugin);
}

#endif

const cb_backend cb_mpi_backend = {
    .settings = (const char *const[]){CB_ENV_MPI_PLUGIN, CB_ENV_CHECK, NULL},
    .signs = (const char *const[]){"PMI_RANK", "PMI_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                   "MPI_LOCALRANKID", NULL},
    .sizes = (const cb_size_sign[]){{.name = "OMPI_COMM_WORLD_SIZE"},
                                    {.name = "PMI_SIZE"},
                                    {.name = CB_ENV_STEP_TASKS},
                                    {.name = "OMPI_COMM_WORLD_RANK", .is_rank = true},
                                    {.name = "PMI_RANK", .is_rank = true},
                                    {.name = "MPI_LOCALRANKID", .is_rank = true},
                                    {.name = NULL}},
    .launcher = "mpiexec",
#if COBRE_HAVE_MPI
    .from_environment = from_environment,
    .from_config = from_config,
    .explain = cb_mpi_explain,
    .open = cb_mpi_open,
    .free = cb_mpi_free,
    .abort = cb_mpi_abort,
    .region_free = cb_mpi_region_free,
#endif
};
