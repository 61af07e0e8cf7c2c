/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.h: the interface between libcobre and an mpi plugin.
 *
 * libcobre links no MPI. plugin.c and its neighbours are compiled once for each MPI into a libcobre-mpi-NAME.so, which
 * load.c picks at run time. A plugin imports nothing from libcobre: those files of the core that it uses are compiled into
 * it, but for cb_error, because the last error is libcobre's. It exports a table with the functions of a backend
 * (backend.h). */
#ifndef COBRE_BACKENDS_MPI_MPI_H
#define COBRE_BACKENDS_MPI_MPI_H

#include "comm/backend.h"

/* cb_error of libcobre. */
typedef cobre_status cb_mpi_error(const cobre_comm *comm, cobre_backend backend, cobre_status status,
                                  const struct cb_details *details, const char *format, ...);

/* The version, and a number that is raised whenever a struct that both sides use changes between two versions. */
#define CB_MPI_ABI CB_VERSION_TEXT "/6"

/* The one symbol that a plugin exports: const cb_mpi_plugin cobre_mpi_plugin. */
typedef struct {
    const char *abi;                         /* CB_MPI_ABI of the plugin's build: another one has other structs */
    void (*library)(char *text, size_t len); /* "Open MPI v4.1.4"; also before MPI is initialised */
    void (*start)(cb_mpi_error *error);      /* once, before all that follows */
    cobre_status (*open)(const cb_options *options, cobre_comm **comm);
    void (*free)(cobre_comm *comm);
    void (*abort)(cobre_comm *comm, int code, const char *text);
    void (*region_free)(cobre_region *region);
#define CB_MPI_MEMBER(CODE, operation) cobre_status (*operation)(cobre_comm * comm, const cb_call *call);
    CB_OPERATION_MAP(CB_MPI_MEMBER)
#undef CB_MPI_MEMBER
} cb_mpi_plugin;

/* cb_options.own */
struct cb_mpi_options {
    const char *plugin; /* NULL: by launcher */
    bool check;         /* compare calls */
};
CB_OWN_OPTIONS(mpi)

#endif
