/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.c: a communicator over one MPI: its beginning, its end, and the errors of MPI.
 *
 * MPI is initialised here unless the program has done so. In that case we finalise it, once, when the process exits in
 * order with every communicator freed. A process that exits otherwise must not wait for the others in MPI_Finalize; the
 * launcher then treats it as a failure. If the program has initialised MPI, it must finalise it itself.
 *
 * Everything runs on our own duplicate of MPI_COMM_WORLD, where errors are returned. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/mpi/plugin.h"
#include "comm/file_limit.h"

enum { SCRATCH_BYTES = 4 << 20 };

static cb_mpi_error *error_of_libcobre;

static struct {
    pid_t initialised_by; /* this process, if we did it */
    _Atomic size_t open;  /* communicators */
    _Atomic bool broken;  /* one of them */
} process;

static void start(cb_mpi_error *error) {
    error_of_libcobre = error;
}

cobre_status cb_error(const cobre_comm *comm, cobre_backend backend, cobre_status status,
                      const struct cb_details *details, const char *format, ...) {
    char text[sizeof((cobre_error){0}.message)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_of_libcobre(comm, backend, status, details, "%s", text);
}

/* The first line, and of that the part before a comma: "Open MPI v4.1.4", "MPICH Version: 4.0.2". */
static void library(char *text, size_t len) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    for (char *tab; (tab = strchr(version, '\t'));)
        *tab = ' ';
    snprintf(text, len, "%s", version);
}

bool cb_plugin_finalised(void) {
    int finalised;
    MPI_Finalized(&finalised);
    return finalised;
}

static void finalise_at_exit(void) {
    if (process.initialised_by == getpid() && !process.open && !process.broken && !cb_plugin_finalised())
        MPI_Finalize();
}

/* MPI's words for an error: the first line, and the last, which in a stack of errors is the one that says it. */
static void error_text(int code, char *text, size_t len) {
    char lines[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, lines, &length);
    while (length > 0 && lines[length - 1] == '\n')
        lines[--length] = '\0';
    char *last = strrchr(lines, '\n');
    lines[strcspn(lines, "\n")] = '\0';
    snprintf(text, len, "%.100s%s%.100s", lines, last ? " ... " : "", last ? last + 1 : "");
}

cobre_status cb_plugin_fail(struct cb_mpi_comm *comm, const cb_call *call, const char *what, int code) {
    if (!comm->failure.cause) {
        char text[224];
        error_text(code, text, sizeof text);
        comm->failure = (cb_failure){
            .cause = COBRE_CAUSE_TRANSPORT, .culprit = (uint32_t)comm->base.rank, .pid = getpid(), .mpi_code = code};
        snprintf(comm->failure.text, sizeof comm->failure.text, "%s: %s", what, text);
    }
    process.broken = true;
    return cb_report_failure(&comm->base, (cb_operation)call->print.operation, comm->sequence, &comm->failure);
}

static const cb_fingerprint *call_of(const void *comm, size_t rank) {
    return &((const struct cb_mpi_comm *)comm)->prints[rank];
}

/* With COBRE_CHECK: everyone of `on` sees everyone's call, and all come to the same verdict. */
static cobre_status compare(struct cb_mpi_comm *comm, const cb_call *call, MPI_Comm on) {
    int members;
    bool same = true;
    MPI_Comm_size(on, &members);
    int code = cb_plugin_gather_equal(comm, &call->print, sizeof call->print, comm->prints, on);
    if (code != MPI_SUCCESS)
        return cb_plugin_fail(comm, call, "MPI_Allgather", code);
    for (int r = 0; r < members; r++)
        same &= memcmp(&comm->prints[r], &call->print, sizeof call->print) == 0;
    if (same)
        return COBRE_OK;
    cb_failure *failure = &comm->failure;
    cb_find_mismatch(failure, (size_t)members, call_of, comm);
    if (on == comm->node) { /* ranks of the node: their numbers in the job are what the user knows */
        failure->culprit = (uint32_t)comm->node_members[failure->culprit];
        failure->rank_a = (uint32_t)comm->node_members[failure->rank_a];
        failure->rank_b = (uint32_t)comm->node_members[failure->rank_b];
    }
    return cb_plugin_fail(comm, call, "", MPI_SUCCESS);
}

cobre_status cb_plugin_enter(struct cb_mpi_comm *comm, const cb_call *call, MPI_Comm on) {
    if (cb_plugin_finalised()) {
        const char *name = cb_operation_name(call->print.operation);
        return cb_error(
            &comm->base, COBRE_MPI, COBRE_INVALID_COMMUNICATOR,
            &(struct cb_details){.operation = name, .suggestion = "call MPI_Finalize after the last call of cobre"},
            "%s: MPI has been finalised", name);
    }
    comm->sequence++;
    if (comm->failure.cause)
        return cb_plugin_fail(comm, call, "", MPI_SUCCESS);
    return comm->check && comm->base.size > 1 ? compare(comm, call, on) : COBRE_OK;
}

/* For tests: COBRE_TEST_MPI_NODES=0,0,1 pretends that ranks 0 and 1 share a node, and rank 2 has another. */
static int pretended_node(int rank) {
    const char *list = getenv("COBRE_TEST_MPI_NODES");
    char *end = NULL;
    long node = 0;
    for (int r = 0; list && *list && r <= rank; r++, list = *end ? end + 1 : end)
        node = strtol(list, &end, 10);
    return (int)node;
}

static int split_node(struct cb_mpi_comm *comm) {
    MPI_Comm machine;
    int rank = (int)comm->base.rank;
    int code = MPI_Comm_split_type(comm->world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
    if (code != MPI_SUCCESS)
        return code;
    code = MPI_Comm_split(machine, pretended_node(rank), rank, &comm->node);
    MPI_Comm_free(&machine);
    return code;
}

/* Who is where: the node of every rank, numbered in the order of their first ranks, and this node's ranks. */
static int find_nodes(struct cb_mpi_comm *comm) {
    size_t size = comm->base.size, leader = comm->base.rank, *leader_of = comm->part_counts;
    int code = MPI_Bcast(&leader, sizeof leader, MPI_BYTE, 0, comm->node);
    if (code == MPI_SUCCESS)
        code = MPI_Allgather(&leader, sizeof leader, MPI_BYTE, leader_of, sizeof leader, MPI_BYTE, comm->world);
    if (code != MPI_SUCCESS)
        return code;
    size_t members = 0;
    comm->nodes = 0;
    for (size_t r = 0; r < size; r++) {
        comm->node_of[r] = leader_of[r] == r ? comm->nodes++ : comm->node_of[leader_of[r]];
        if (leader_of[r] == leader)
            comm->node_members[members++] = r;
    }
    return MPI_Comm_split(comm->world, comm->base.node_rank == 0 ? 0 : MPI_UNDEFINED, (int)comm->base.rank,
                          &comm->leaders);
}

static bool allocate(struct cb_mpi_comm *comm, size_t size) {
    comm->scratch_bytes = size * CB_MPI_SMALLEST > SCRATCH_BYTES ? size * CB_MPI_SMALLEST : SCRATCH_BYTES;
    comm->prints = calloc(size, sizeof *comm->prints);
    comm->counts = calloc(2 * size, sizeof *comm->counts);
    comm->displs = calloc(2 * size, sizeof *comm->displs);
    comm->node_of = calloc(4 * size, sizeof *comm->node_of);
    comm->scratch = malloc(comm->scratch_bytes);
    if (!comm->prints || !comm->counts || !comm->displs || !comm->node_of || !comm->scratch)
        return false;
    comm->node_members = comm->node_of + size;
    comm->part_counts = comm->node_of + 2 * size;
    comm->part_displs = comm->node_of + 3 * size;
    return true;
}

static void release(struct cb_mpi_comm *comm) {
    free(comm->prints);
    free(comm->counts);
    free(comm->displs);
    free(comm->node_of);
    free(comm->scratch);
    free(comm);
}

static void free_handles(struct cb_mpi_comm *comm) {
    MPI_Comm *all[] = {&comm->leaders, &comm->node, &comm->world};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i] != MPI_COMM_NULL)
            MPI_Comm_free(all[i]);
}

/* All that MPI has to do for a communicator over the ranks of `parent`. */
static int make_handles(struct cb_mpi_comm *comm, MPI_Comm parent, bool one_node) {
    int rank, size, code = MPI_Comm_dup(parent, &comm->world);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(comm->world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm->world, &rank);
    MPI_Comm_size(comm->world, &size);
    comm->base.rank = (size_t)rank;
    comm->base.size = (size_t)size;
    code = one_node ? MPI_Comm_dup(comm->world, &comm->node) : split_node(comm);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_rank(comm->node, &rank);
    MPI_Comm_size(comm->node, &size);
    comm->base.node_rank = (size_t)rank;
    comm->base.node_size = (size_t)size;
    return find_nodes(comm);
}

/* The memory of a communicator over the ranks of `parent`; NULL: there is none. */
static struct cb_mpi_comm *find_memory(MPI_Comm parent) {
    int size;
    struct cb_mpi_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->world = comm->node = comm->leaders = MPI_COMM_NULL;
    MPI_Comm_size(parent, &size);
    if (allocate(comm, (size_t)size))
        return comm;
    release(comm);
    return NULL;
}

/* A communicator over the ranks of `parent`, or an MPI error code. *made NULL without one: a rank of `all`, which make
 * one at the same time, has no memory for its part, and so none of them has made one. */
static int make(MPI_Comm all, MPI_Comm parent, bool one_node, bool check, struct cb_mpi_comm **made) {
    struct cb_mpi_comm *comm = find_memory(parent);
    int mine = comm != NULL, able = 0;
    int code = MPI_Allreduce(&mine, &able, 1, MPI_INT, MPI_MIN, all);
    *made = NULL;
    if (code == MPI_SUCCESS && able)
        code = make_handles(comm, parent, one_node);
    if (comm && (code != MPI_SUCCESS || !able)) {
        free_handles(comm);
        release(comm);
    }
    if (code != MPI_SUCCESS || !able)
        return code;
    comm->base.backend = COBRE_MPI;
    comm->check = check;
    process.open++;
    *made = comm;
    return MPI_SUCCESS;
}

static cobre_status no_memory(const cobre_comm *comm, const char *operation) {
    return cb_no_room(comm, COBRE_MPI,
                      &(struct cb_shortage){.operation = operation,
                                            .asked = sizeof(struct cb_mpi_comm) + SCRATCH_BYTES,
                                            .there = cb_memory_free(-1),
                                            .os_error = ENOMEM});
}

static cobre_status refuse(int code, const char *advice, const char *text) {
    return cb_error(NULL, COBRE_MPI, COBRE_INITIALIZATION_FAILED,
                    &(struct cb_details){.operation = "open", .mpi_error = code, .suggestion = advice}, "%s", text);
}

static cobre_status initialise(void) {
    int initialised, level, code;
    char text[MPI_MAX_ERROR_STRING];
    if (cb_plugin_finalised())
        return refuse(0, "open communicators before MPI_Finalize; MPI cannot be started twice in a process",
                      "MPI has been finalised already");
    MPI_Initialized(&initialised);
    if (!initialised) {
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
        if (code != MPI_SUCCESS) {
            snprintf(text, sizeof text, "MPI_Init_thread failed with code %d", code);
            return refuse(code, "see whether another program of this MPI starts under the same launcher", text);
        }
        process.initialised_by = getpid();
        atexit(finalise_at_exit);
    }
    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED)
        return COBRE_OK;
    return refuse(0, "initialise MPI with MPI_Init_thread and MPI_THREAD_MULTIPLE, or leave that to cobre",
                  "MPI was initialised with a thread level below MPI_THREAD_SERIALIZED");
}

static cobre_status open_world(const cb_options *options, cobre_comm **comm) {
    struct cb_mpi_comm *made;
    CB_TRY(initialise());
    int code = make(MPI_COMM_WORLD, MPI_COMM_WORLD, false, cb_mpi_own(options)->check, &made);
    if (code != MPI_SUCCESS)
        return refuse(code, "see that there is memory, and room in /dev/shm",
                      "MPI could not make a communicator of our own");
    if (!made)
        return no_memory(NULL, "open");
    *comm = &made->base;
    return COBRE_OK;
}

static void free_comm(cobre_comm *base) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base;
    if (!comm->failure.cause && !cb_plugin_finalised())
        free_handles(comm);
    process.open--;
    release(comm);
}

static void abort_job(cobre_comm *base, int code, const char *text) {
    const struct cb_mpi_comm *comm = (const struct cb_mpi_comm *)base;
    struct cb_file_limit hold;
    cb_file_limit_hold(&hold);
    fprintf(stderr, "cobre: rank %zu aborted with code %d: %s\n", base->rank, code, text);
    cb_file_limit_release(&hold);
    cb_flush_output(); /* MPI_Abort does not come back */
    process.broken = true;
    if (!cb_plugin_finalised())
        MPI_Abort(comm->world, code & 0xff ? code & 0xff : 1);
}

cobre_status cb_plugin_split_local(cobre_comm *base, const cb_call *call) {
    struct cb_mpi_comm *comm = (struct cb_mpi_comm *)base, *made;
    CB_TRY(cb_plugin_enter(comm, call, comm->world));
    int code = make(comm->world, comm->node, true, comm->check, &made);
    if (code != MPI_SUCCESS)
        return cb_plugin_fail(comm, call, "MPI_Comm_dup", code);
    if (!made)
        return no_memory(base, "split_local");
    *call->made = &made->base;
    return COBRE_OK;
}

__attribute__((visibility("default"))) extern const cb_mpi_plugin cobre_mpi_plugin;
const cb_mpi_plugin cobre_mpi_plugin = {.abi = CB_MPI_ABI,
                                        .library = library,
                                        .start = start,
                                        .open = open_world,
                                        .free = free_comm,
                                        .abort = abort_job,
                                        .region_free = cb_plugin_region_free,
#define ROW(CODE, operation) .operation = cb_plugin_##operation,
                                        CB_OPERATION_MAP(ROW)
#undef ROW
};
