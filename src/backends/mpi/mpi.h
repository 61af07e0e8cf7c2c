/* mpi.h: between libcobre and an mpi plugin.
 *
 * libcobre links no MPI. plugin.c and its neighbours are compiled once for each MPI into a libcobre-mpi-NAME.so, which
 * load.c picks at run time. A plugin imports nothing from libcobre: what it uses of the core is handed to it, and what it
 * does comes back in a table with the functions of a backend (backend.h). */
#ifndef COBRE_BACKENDS_MPI_MPI_H
#define COBRE_BACKENDS_MPI_MPI_H

#include "comm/backend.h"

/* What a plugin uses of the core; see backend.h. */
typedef struct {
    cobre_status (*error)(const cobre_comm *comm, cobre_backend backend, cobre_status status,
                          const struct cb_details *details, const char *format, ...)
        __attribute__((format(printf, 5, 6)));
    cobre_status (*report_failure)(cobre_comm *comm, cb_operation operation, uint64_t sequence,
                                   const cb_failure *failure);
    void (*find_mismatch)(cb_failure *failure, size_t size,
                          const cb_fingerprint *(*call_of)(const void *comm, size_t rank), const void *comm);
    const char *(*operation_name)(unsigned operation);
    void (*fold)(cobre_type type, cobre_op op, void *acc, const void *x, size_t count);
    size_t (*type_size)(cobre_type type);
    uint64_t (*memory_free)(int fd);
    size_t (*page_size)(void);
    void (*interleave)(void *base, size_t bytes);
    void (*flush)(void);
    const char *(*bytes_text)(uint64_t bytes, char text[32]);
    double (*now)(void);
    void (*nap)(double seconds);
} cb_mpi_core;

/* The version, and a number that is raised whenever a struct that both sides use changes between two versions. */
#define CB_MPI_ABI CB_VERSION_TEXT "/2"

typedef struct {
    const char *abi;                         /* CB_MPI_ABI of the plugin's build: another one has other structs */
    void (*library)(char *text, size_t len); /* "Open MPI v4.1.4"; also before MPI is initialised */
    void (*start)(const cb_mpi_core *core);  /* once, before all that follows */
    cobre_status (*open)(const cb_options *options, cobre_comm **comm);
    void (*free)(cobre_comm *comm);
    void (*abort)(cobre_comm *comm, int code, const char *text);
    void (*region_free)(cobre_region *region);
#define CB_MPI_MEMBER(CODE, operation) cobre_status (*operation)(cobre_comm * comm, const cb_call *call);
    CB_OPERATION_MAP(CB_MPI_MEMBER)
#undef CB_MPI_MEMBER
} cb_mpi_plugin;

/* The one symbol that a plugin exports. */
#define CB_MPI_SYMBOL cobre_mpi_plugin

/* cb_options.own */
struct cb_mpi_options {
    const char *plugin; /* NULL: by launcher */
    bool check;         /* compare calls */
};
CB_OWN_OPTIONS(mpi)

#endif
