/* SPDX-License-Identifier: Apache-2.0 */
/* cobre/comm.h: collective communication and node-shared memory.
 *
 * One program, unchanged, runs in one process (local), in N processes on one machine (shm), over sockets (tcp), and
 * under an MPI (mpi). The results are the same bits on all of them, for the same number of ranks.
 *
 *     cobre_comm *comm;
 *     if (cobre_comm_open(NULL, &comm) != COBRE_OK) { puts(cobre_last_error()->message); return 1; }
 *     cobre_allreduce_t(comm, mine, total, n, COBRE_SUM);
 *     cobre_comm_free(&comm);
 *
 * Rules that hold for every call:
 *   - It returns a status, 0 is success. After a failure cobre_last_error() of the same thread says what happened.
 *   - An argument error is found before anything is sent, on the rank that made it. That rank has not entered the
 *     collective; the communicator stays usable and the other ranks go on waiting for a right call.
 *   - After COBRE_COLLECTIVE_FAILED the communicator is broken: every further collective on it fails at once with the
 *     same first cause. cobre_comm_free and cobre_region_free still work and do not block.
 *   - A communicator takes one call at a time, from any thread. If another thread or the interrupted hook calls a
 *     collective or cobre_comm_free meanwhile, that call returns COBRE_INVALID_COMMUNICATOR at once ("in use by another
 *     thread"), and nobody else notices. (Calls on local never wait, and may overlap.) cobre_abort and calls that are not
 *     collective may be made at any time. Different communicators may be used by different threads at the same time.
 *   - After fork() the child's handles are invalid: calls on them return COBRE_INVALID_COMMUNICATOR.
 *   - "Collective" means: every rank calls it, in the same order among the collectives of that communicator.
 *   - A file that would outgrow its limit (ulimit -f) is an error, not the end of the process: while the library makes a
 *     file longer, or flushes what the program printed (cobre_abort), it blocks SIGXFSZ in the calling thread. It never
 *     changes what a signal does.
 *   - The shared library stays loaded after dlclose(), because it may have threads. A plugin that links the static one
 *     needs -Wl,-z,nodelete for the same reason.
 */
#ifndef COBRE_COMM_H
#define COBRE_COMM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COBRE_VERSION_MAJOR 0
#define COBRE_VERSION_MINOR 1
#define COBRE_VERSION_PATCH 0

#if defined(__GNUC__)
#define COBRE_API __attribute__((visibility("default")))
#define COBRE_NORETURN __attribute__((noreturn))
#else
#define COBRE_API
#define COBRE_NORETURN
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(code, name): the kinds of error, in three families: communication, the choice of a backend, planning (sddp.h). */
#define COBRE_COMMUNICATION_STATUS_MAP(X)                                                                              \
    X(COLLECTIVE_FAILED, "CollectiveFailed")       /* a collective operation failed; the communicator is broken */     \
    X(INVALID_BUFFER_SIZE, "InvalidBufferSize")    /* a count or buffer size does not fit the call */                  \
    X(INVALID_ROOT, "InvalidRoot")                 /* the root is not a rank of the communicator */                    \
    X(INVALID_ARGUMENT, "InvalidArgument")         /* an argument is not valid */                                      \
    X(INVALID_COMMUNICATOR, "InvalidCommunicator") /* the handle cannot be used */                                     \
    X(ALLOCATION_FAILED, "AllocationFailed")       /* there is not enough memory */

#define COBRE_SELECTION_STATUS_MAP(X)                                                                                  \
    X(BACKEND_NOT_AVAILABLE, "BackendNotAvailable")  /* the backend is not in this build */                            \
    X(INVALID_BACKEND, "InvalidBackend")             /* no backend has this name */                                    \
    X(INITIALIZATION_FAILED, "InitializationFailed") /* the backend could not start */                                 \
    X(MISSING_CONFIGURATION, "MissingConfiguration") /* the backend needs settings that are not there */

#define COBRE_PLANNING_STATUS_MAP(X)                                                                                   \
    X(INVALID_CASE, "InvalidCase")                /* the case has errors */                                            \
    X(INVALID_POLICY, "InvalidPolicy")            /* the policy file is damaged or belongs to another problem */       \
    X(FILE_FAILED, "FileFailed")                  /* a file could not be read or written */                            \
    X(SOLVER_NOT_AVAILABLE, "SolverNotAvailable") /* there is no such LP solver here */                                \
    X(LP_FAILED, "LpFailed")                      /* a stage problem has no solution */

#define COBRE_STATUS_MAP(X)                                                                                            \
    X(OK, "Ok")                                                                                                        \
    COBRE_COMMUNICATION_STATUS_MAP(X)                                                                                  \
    COBRE_SELECTION_STATUS_MAP(X)                                                                                      \
    COBRE_PLANNING_STATUS_MAP(X)

typedef enum {
#define COBRE_STATUS_ENUM(code, name) COBRE_##code,
    COBRE_STATUS_MAP(COBRE_STATUS_ENUM)
#undef COBRE_STATUS_ENUM
} cobre_status;

/* X(code, name): why a collective failed. */
#define COBRE_CAUSE_MAP(X)                                                                                             \
    X(NONE, "none")                                                                                                    \
    X(PEER_DIED, "peer died")     /* a rank's process ended without leaving */                                         \
    X(PEER_LEFT, "peer left")     /* a rank freed the communicator or exited while others still use it */              \
    X(MISMATCH, "mismatch")       /* the ranks made different calls */                                                 \
    X(STALLED, "stalled")         /* a rank stayed away for longer than the stall limit */                             \
    X(INTERRUPTED, "interrupted") /* a rank's interrupted hook ended the call */                                       \
    X(ABORTED, "aborted")         /* a rank called cobre_abort */                                                      \
    X(TRANSPORT, "transport")     /* the system below failed: socket, MPI; two hosts cannot reach each other */

typedef enum {
#define COBRE_CAUSE_ENUM(code, name) COBRE_CAUSE_##code,
    COBRE_CAUSE_MAP(COBRE_CAUSE_ENUM)
#undef COBRE_CAUSE_ENUM
} cobre_cause;

/* X(NAME, name, ...): the backends. COBRE_AUTO tries them from the last to the first. */
#define COBRE_BACKEND_MAP(X, ...)                                                                                      \
    X(LOCAL, local, __VA_ARGS__) /* one process */                                                                     \
    X(SHM, shm, __VA_ARGS__)     /* processes of one node, over shared memory */                                       \
    X(TCP, tcp, __VA_ARGS__)     /* processes on several hosts, over sockets */                                        \
    X(MPI, mpi, __VA_ARGS__)     /* the ranks of an MPI */

typedef enum {
    COBRE_AUTO,
#define COBRE_BACKEND_ENUM(NAME, name, ...) COBRE_##NAME,
    COBRE_BACKEND_MAP(COBRE_BACKEND_ENUM, )
#undef COBRE_BACKEND_ENUM
} cobre_backend;

/* Element types. 0 is none of them, so that a forgotten type is an error. */
typedef enum { COBRE_U8 = 1, COBRE_I32, COBRE_U32, COBRE_I64, COBRE_U64, COBRE_F32, COBRE_F64 } cobre_type;

typedef enum { COBRE_SUM = 1, COBRE_MIN, COBRE_MAX } cobre_op;

#define COBRE_NO_RANK SIZE_MAX

typedef struct cobre_comm cobre_comm;     /* messages among ranks */
typedef struct cobre_region cobre_region; /* lasting memory, one block for the ranks of a node */
typedef struct cobre_memory cobre_memory; /* a region's memory in this process, apart from the region */

/* Everything known about a failure, of communication or of planning. Fields that do not apply are 0, empty, or
 * COBRE_NO_RANK. */
typedef struct {
    size_t
        struct_size; /* sizeof(cobre_error) of the library, or of the program that makes one; 0 is that of version 1 */
    cobre_status status;
    cobre_cause cause;         /* CollectiveFailed, and InitializationFailed because of another rank */
    cobre_backend backend;     /* of the communicator, or the one that was being opened */
    char operation[24];        /* the call: "allreduce", "open", "train", ... */
    uint64_t sequence;         /* CollectiveFailed: number of the collective on its communicator, from 1 */
    size_t rank;               /* the rank that reports this */
    size_t culprit;            /* the rank that died, left, differs, ...; planning: the first rank that failed */
    int64_t culprit_pid;       /* its process, 0 if not known */
    int os_error;              /* errno */
    int mpi_error;             /* MPI error code */
    uint64_t expected, actual; /* InvalidBufferSize: needed, given; InvalidRoot: size, root;
                                  AllocationFailed: bytes asked for, bytes there are */
    char subject[64];          /* InvalidArgument: which one; backend errors: the name asked for */
    char list[256];       /* MissingConfiguration: the variables; InvalidBackend, BackendNotAvailable: what there is */
    char file[512];       /* planning: the case, policy or .lp file it is about */
    size_t line;          /* in that file, 0 if not known */
    char message[2048];   /* what happened and where, one line */
    char suggestion[512]; /* what to do about it */
} cobre_error;

/* How to open a communicator. Zero means: default. A program that passes one of these does not read the COBRE_
 * variables; only COBRE_AUTO then looks at the environment, for the signs of an MPI launcher. The struct and its strings
 * are read during cobre_comm_open only. */
typedef struct {
    size_t struct_size;          /* sizeof(cobre_config), so that the struct can grow; 0 is that of version 1 */
    cobre_backend backend;       /* COBRE_AUTO: mpi if launched by one, else tcp, shm, local by what is set below */
    size_t rank, size;           /* shm, tcp: this rank, number of ranks (shm: at most 1024) */
    const char *shm_name;        /* shm: "/name", the same on all ranks */
    const char *tcp_coordinator; /* tcp: host of rank 0 */
    const char *tcp_bind;        /* tcp, rank 0: address to listen at; default: all */
    const char *tcp_token;       /* tcp: the job's secret; without it: one host, one user */
    uint16_t tcp_port;           /* tcp: port of rank 0; default: 29500 */
    bool tcp_open;               /* tcp, without a token: let anyone join who reaches the port */
    bool check;                  /* mpi: explain calls that do not match, at the cost of a small collective per call */
    const char *mpi_plugin;      /* mpi: "openmpi", "mpich" or a file; default: the launcher's */
    double
        join_timeout_secs; /* longest wait for the other ranks to join, over tcp also for a host to answer; default: 60 */
    double stall_secs;     /* report an error if a rank enters a collective this much later; default: never */
    int (*interrupted)(void *); /* asked at least every 100 ms of waiting; non-zero ends the call, and with it the
                                    communicator. Called on the waiting thread, must not call cobre. */
    void *interrupted_arg;
    bool environment; /* who and where this rank is comes from the environment, as without a config; the timeouts, if
                         they are set, and interrupted count as well */
} cobre_config;

/* Joins the job that `config` (NULL: the environment, see cobre(7)) describes, and waits until all its ranks are in.
 * Collective over the job; blocks up to the join timeout. The caller owns *comm and ends it with cobre_comm_free. On
 * failure *comm is NULL and nothing is left behind. */
COBRE_API cobre_status cobre_comm_open(const cobre_config *config, cobre_comm **comm);

/* Leaves the job and frees the communicator. Collective: every rank calls it as its last call on the communicator; ranks that go on using it see "peer
 * left". It does not wait for the others (mpi may). Regions must have been freed before: if one has not, this is
 * COBRE_INVALID_ARGUMENT and nothing changes. Sets *comm to NULL. NULL and pointers to NULL are accepted. */
COBRE_API cobre_status cobre_comm_free(cobre_comm **comm);

/* Tells the other ranks why, then ends this process with exit code `code` (a 0 becomes 1). Not collective, never
 * blocks. The others' current or next collective fails with COBRE_CAUSE_ABORTED and `text`. stdout and
 * stderr are flushed, unless another thread holds them; atexit handlers do not run. comm may be NULL. */
COBRE_API COBRE_NORETURN void cobre_abort(cobre_comm *comm, int code, const char *text);

/* Tell who this rank is. They are constant for the life of the communicator, never block, and cannot fail (0 and COBRE_AUTO for NULL). The node's ranks
 * are those that share memory: all of them on shm, one on local and tcp. */
COBRE_API size_t cobre_rank(const cobre_comm *comm);
COBRE_API size_t cobre_size(const cobre_comm *comm);
COBRE_API size_t cobre_node_rank(const cobre_comm *comm);
COBRE_API size_t cobre_node_size(const cobre_comm *comm);
COBRE_API bool cobre_is_leader(const cobre_comm *comm); /* rank 0 of its node */
COBRE_API cobre_backend cobre_comm_backend(const cobre_comm *comm);

/* A communicator of the ranks of this node, in the same order, independent of `comm`: calls on one do not disturb the
 * other, and either may be freed first. shm: the same ranks; local, tcp: one rank. Collective, blocks. The caller owns
 * *local. On failure *local is NULL; after COBRE_ALLOCATION_FAILED (on all ranks) `comm` stays usable. */
COBRE_API cobre_status cobre_split_local(cobre_comm *comm, cobre_comm **local);

/* Collectives block until every rank has entered (local: never). mpi is less strict: broadcast and allgatherv return when
 * the caller has what it receives, and ranks that send it nothing may enter later; so may, in split_local, ranks of other
 * nodes. With COBRE_CHECK=1 all wait for all there, too; a barrier always does. Buffers belong to the caller, are aligned
 * as their type requires (not checked), and are not kept. Counts are in elements. After COBRE_COLLECTIVE_FAILED the
 * contents of recv are undefined. */

/* Gathers the parts of all ranks on every rank. Part r of recv, at displs[r], becomes the counts[r] elements that rank r
 * sent. The gaps between the parts stay.
 * counts must be the same on all ranks, displs may differ; send_count == counts[rank]; parts must not overlap and must
 * end within recv_count. send may be the caller's own part of recv, otherwise the two must not overlap. */
COBRE_API cobre_status cobre_allgatherv(cobre_comm *comm, const void *send, size_t send_count, void *recv,
                                        size_t recv_count, const size_t *counts, const size_t *displs, cobre_type type);

/* Reduces the buffers of all ranks to one result, which every rank gets: recv[i] = send[i] of rank 0 op send[i] of rank 1
 * op ..., computed in the order of the ranks. So all ranks get the same bits, on every backend and in every run with so many
 * ranks. Integer sums wrap. min and max: -0 < +0. A NaN operand gives the canonical quiet NaN (more than one rank).
 * Floats round to nearest, subnormals are numbers and no operand traps, whatever the thread has set (rounding mode, flush
 * to zero, traps); its settings are the same afterwards. Only a trap of inexact results (FE_INEXACT) must be off: the
 * library's times are inexact.
 * send_count == recv_count >= 1, the same on all ranks. recv may be send, otherwise the two must not overlap. */
COBRE_API cobre_status cobre_allreduce(cobre_comm *comm, const void *send, size_t send_count, void *recv,
                                       size_t recv_count, cobre_type type, cobre_op op);

/* Copies root's buf into buf of every rank. count and root must be the same on all ranks. On failure root's buf is unchanged. */
COBRE_API cobre_status cobre_broadcast(cobre_comm *comm, void *buf, size_t count, cobre_type type, size_t root);

/* Waits until every rank has entered. */
COBRE_API cobre_status cobre_barrier(cobre_comm *comm);

/* A shared region is one page-aligned, zeroed block for all ranks of a node. On backends without shared memory each
 * rank has a block of its own and is its own node, so the same program is right: fill by node rank, never by job rank.
 * A region is truly shared if, and only if, cobre_node_size(comm) > 1. */

enum {
    COBRE_REGION_INTERLEAVE = 1u /* spread the pages over the NUMA nodes instead of by the ranks' slices */
};

/* Makes a region. Collective, blocks. The memory is reserved before this returns. If there is too little, even if only one rank lacks
 * memory for its handle, this is COBRE_ALLOCATION_FAILED on all ranks, and the communicator stays usable. The caller owns
 * *region (NULL on failure). count may be 0. */
COBRE_API cobre_status cobre_region_create(cobre_comm *comm, size_t count, cobre_type type, unsigned flags,
                                           cobre_region **region);

/* Returns the whole region for reading; NULL only for NULL. Not collective, never blocks. Valid until the region is freed. */
COBRE_API const void *cobre_region_data(const cobre_region *region);

/* Returns the whole region for writing: the node's leader gets it, and other ranks get NULL. After seal all get NULL. */
COBRE_API void *cobre_region_data_mut(cobre_region *region);

/* Returns the elements [first, first + count) for writing, on any rank: rank l of the L ranks of this node
 * (cobre_node_rank, cobre_node_size) claims part l of L. Returns NULL, with an error, if they are outside the region or the
 * region is sealed. Not collective, never blocks. The program must keep the parts of different ranks apart. */
COBRE_API void *cobre_region_claim(cobre_region *region, size_t first, size_t count);

/* Returns how many elements a region has. Never blocks; 0 for NULL. */
COBRE_API size_t cobre_region_count(const cobre_region *region);

/* Makes writes visible: every rank of the node reads after it what any of them wrote before it. Collective over the node;
 * blocks on backends with shared memory. */
COBRE_API cobre_status cobre_region_fence(cobre_region *region);

/* A fence that makes the region read-only for everyone: a later write through an old pointer is a segmentation fault, not a
 * silent change. Collective over the node. If the system does not let a rank protect its pages, that rank alone gets
 * COBRE_ALLOCATION_FAILED. The region counts as sealed on all ranks all the same, so that they refuse the same calls. To
 * try again, all ranks of the node call seal once more. */
COBRE_API cobre_status cobre_region_seal(cobre_region *region);

/* Frees the caller's share; the last rank gives the memory back, and its place in the job's file. Collective, in the same
 * order on all ranks, before the communicator; it does not wait for them (mpi may). Sets *region to NULL. NULL and
 * pointers to NULL are accepted. */
COBRE_API cobre_status cobre_region_free(cobre_region **region);

/* Gives the region's memory in this process a life of its own: it stays mapped, at the same place, until
 * cobre_memory_free, whether the region and its communicator are freed before or after. A program whose own objects point
 * into the memory needs that. Not collective, never blocks. Once for each region. mpi: the memory of a region that a rank
 * of the node has detached goes when the processes end. */
COBRE_API cobre_status cobre_region_detach(cobre_region *region, cobre_memory **memory);

/* Frees memory that was detached from a region. Not collective, never blocks, from any thread. Sets *memory to NULL. NULL and pointers to NULL are accepted. */
COBRE_API void cobre_memory_free(cobre_memory **memory);

/* allgatherv into a region of this communicator: where memory is shared each rank copies only its own part. The region
 * changes only after all ranks have entered, and is complete, and visible to all, when the call returns. counts and
 * displs must be the same on all ranks. send may be the caller's own part of the region. Collective, blocks. */
COBRE_API cobre_status cobre_allgatherv_region(cobre_comm *comm, const void *send, size_t send_count,
                                               cobre_region *region, const size_t *counts, const size_t *displs);

/* An exact sum: an accumulator that holds any sum of doubles exactly. The rounded result is the correctly rounded true
 * sum: the same bits for any order, any split over ranks. Infinities and NaN behave as in IEEE sums; the empty sum is
 * +0, a sum of only -0 is -0, overflow rounds to infinity. Up to 2^62 values. The settings of the thread do not count. The
 * pointers must not be NULL. */
#define COBRE_EXACT_LIMBS 68

typedef struct {
    int64_t limb[COBRE_EXACT_LIMBS];  /* value = sum of limb[i] * 2^(32 i - 1074) */
    int64_t plus_inf, minus_inf, nan; /* how many of each were added */
    int64_t values, minus_zeros;      /* how many in all, and how many of them were -0 */
    int64_t pending;                  /* additions since the last carry; internal */
} cobre_exact;

COBRE_API void cobre_exact_init(cobre_exact *sum);                                      /* makes it the empty sum */
COBRE_API void cobre_exact_add(cobre_exact *sum, double value);                         /* adds a value */
COBRE_API void cobre_exact_add_n(cobre_exact *sum, const double *values, size_t count); /* adds count values */

/* Every rank's *sum becomes the sum of all ranks'. Collective, blocks. On failure *sum is unchanged. */
COBRE_API cobre_status cobre_exact_allreduce(cobre_comm *comm, cobre_exact *sum);

/* The sum, correctly rounded. Not collective, never blocks. */
COBRE_API double cobre_exact_round(const cobre_exact *sum);

/* The last failure on this thread, until its next failing call; never NULL (status COBRE_OK when there was none). */
COBRE_API const cobre_error *cobre_last_error(void);

/* Makes *error this thread's last error, tells it to the launcher, and returns its status: for libraries that are built on
 * this one and report as it does. error must not be NULL. */
COBRE_API cobre_status cobre_set_error(const cobre_error *error);

/* Writes an error as a JSON object into buf, always terminated when len > 0. error NULL: the last one. The members are "kind",
 * "message", "context" and "suggestion". Returns the length of the whole text as snprintf does: >= len means it was cut. */
COBRE_API size_t cobre_error_json(const cobre_error *error, char *buf, size_t len);

/* What the constants are called, for messages. The texts last as long as the program; never NULL. */
COBRE_API const char *cobre_status_name(cobre_status status);    /* "CollectiveFailed"; "?" if unknown */
COBRE_API const char *cobre_cause_name(cobre_cause cause);       /* "peer died" */
COBRE_API const char *cobre_backend_name(cobre_backend backend); /* "shm" */
COBRE_API const char *cobre_type_name(cobre_type type);          /* "f64" */
COBRE_API size_t cobre_type_size(cobre_type type);               /* in bytes; 0 if unknown */
COBRE_API const char *cobre_version(void);                       /* "0.1.0" */

#ifdef __cplusplus
}
#endif

/* These take the type from the pointer: cobre_allreduce_t(comm, send, recv, n, op), cobre_broadcast_t(comm, buf, n, root),
 * cobre_allgatherv_t(comm, send, n, recv, recv_n, counts, displs), cobre_region_create_t(comm, n, T, flags, &region):
 * a type that cobre does not know, or two buffers of different types, do not compile, and the compiler says why. C11, C++11. */
#if LONG_MAX == INT64_MAX
#define COBRE_LONG COBRE_I64
#define COBRE_ULONG COBRE_U64
#else
#define COBRE_LONG COBRE_I32
#define COBRE_ULONG COBRE_U32
#endif

/* What the compiler says then. */
#define COBRE_NO_ELEMENT                                                                                               \
    "cobre: not a pointer to an element type. Use unsigned char, int, unsigned, long, unsigned long, long long, "      \
    "unsigned long long, float or double; or call the function without _t, with a cobre_type"
#define COBRE_NOT_THE_SAME                                                                                             \
    "cobre: send and recv point to different types. Give both the same type, or call the function without _t"

#ifdef __cplusplus
template <typename S, typename R> struct cobre_same_type { static const bool value = false; };
template <typename T> struct cobre_same_type<T, T> { static const bool value = true; };
template <typename T> struct cobre_type_of {
    static_assert(!cobre_same_type<T, T>::value, COBRE_NO_ELEMENT); /* false, but not before T is known */
    static const cobre_type value = (cobre_type)0;
};
#define COBRE_CHECK_SAME(S, R) static_assert(cobre_same_type<S, R>::value, COBRE_NOT_THE_SAME)
#define COBRE_TYPE_TRAIT(T, code)                                                                                      \
    template <> struct cobre_type_of<T> { static const cobre_type value = code; };
COBRE_TYPE_TRAIT(unsigned char, COBRE_U8)
COBRE_TYPE_TRAIT(int, COBRE_I32)
COBRE_TYPE_TRAIT(unsigned, COBRE_U32)
COBRE_TYPE_TRAIT(long, COBRE_LONG)
COBRE_TYPE_TRAIT(unsigned long, COBRE_ULONG)
COBRE_TYPE_TRAIT(long long, COBRE_I64)
COBRE_TYPE_TRAIT(unsigned long long, COBRE_U64)
COBRE_TYPE_TRAIT(float, COBRE_F32)
COBRE_TYPE_TRAIT(double, COBRE_F64)
#undef COBRE_TYPE_TRAIT

template <typename S, typename R>
inline cobre_status cobre_allreduce_t(cobre_comm *comm, const S *send, R *recv, size_t count, cobre_op op) {
    COBRE_CHECK_SAME(S, R);
    return cobre_allreduce(comm, send, count, recv, count, cobre_type_of<R>::value, op);
}
template <typename T> inline cobre_status cobre_broadcast_t(cobre_comm *comm, T *buf, size_t count, size_t root) {
    return cobre_broadcast(comm, buf, count, cobre_type_of<T>::value, root);
}
template <typename S, typename R>
inline cobre_status cobre_allgatherv_t(cobre_comm *comm, const S *send, size_t send_count, R *recv, size_t recv_count,
                                       const size_t *counts, const size_t *displs) {
    COBRE_CHECK_SAME(S, R);
    return cobre_allgatherv(comm, send, send_count, recv, recv_count, counts, displs, cobre_type_of<R>::value);
}
#define cobre_region_create_t(comm, count, T, flags, region)                                                           \
    cobre_region_create(comm, count, cobre_type_of<T>::value, flags, region)

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define COBRE_CODE_OF(pointer)                                                                                         \
    _Generic((pointer),                                                                                                \
        unsigned char *: COBRE_U8, const unsigned char *: COBRE_U8,                                                    \
        int *: COBRE_I32, const int *: COBRE_I32,                                                                      \
        unsigned *: COBRE_U32, const unsigned *: COBRE_U32,                                                            \
        long *: COBRE_LONG, const long *: COBRE_LONG,                                                                  \
        unsigned long *: COBRE_ULONG, const unsigned long *: COBRE_ULONG,                                              \
        long long *: COBRE_I64, const long long *: COBRE_I64,                                                          \
        unsigned long long *: COBRE_U64, const unsigned long long *: COBRE_U64,                                        \
        float *: COBRE_F32, const float *: COBRE_F32,                                                                  \
        double *: COBRE_F64, const double *: COBRE_F64,                                                                \
        default: 0)

/* 0, if the condition holds; a struct is the one place in an expression where C lets it be asserted. */
#define COBRE_ASSERTED(condition, sentence)                                                                            \
    (0 * sizeof(struct {                                                                                               \
         _Static_assert(condition, sentence);                                                                          \
         int unused;                                                                                                   \
     }))
#define COBRE_TYPE_OF(pointer)                                                                                         \
    ((cobre_type)(COBRE_CODE_OF(pointer) + COBRE_ASSERTED(COBRE_CODE_OF(pointer) != 0, COBRE_NO_ELEMENT)))
#define COBRE_TYPE_OF_BOTH(send, recv)                                                                                 \
    ((cobre_type)(COBRE_TYPE_OF(recv) +                                                                                \
                  COBRE_ASSERTED((int)COBRE_CODE_OF(send) == (int)COBRE_CODE_OF(recv), COBRE_NOT_THE_SAME)))

/* A function, so that the macro below evaluates count once. */
static inline cobre_status cobre_allreduce_same(cobre_comm *comm, const void *send, void *recv, size_t count,
                                                cobre_type type, cobre_op op) {
    return cobre_allreduce(comm, send, count, recv, count, type, op);
}

#define cobre_allreduce_t(comm, send, recv, count, op)                                                                 \
    cobre_allreduce_same(comm, send, recv, count, COBRE_TYPE_OF_BOTH(send, recv), op)
#define cobre_broadcast_t(comm, buf, count, root) cobre_broadcast(comm, buf, count, COBRE_TYPE_OF(buf), root)
#define cobre_allgatherv_t(comm, send, send_count, recv, recv_count, counts, displs)                                   \
    cobre_allgatherv(comm, send, send_count, recv, recv_count, counts, displs, COBRE_TYPE_OF_BOTH(send, recv))
#define cobre_region_create_t(comm, count, T, flags, region)                                                           \
    cobre_region_create(comm, count, COBRE_TYPE_OF((T *)0), flags, region)
#endif

#endif
