/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h: the interface between the core and a backend.
 *
 * A backend is a folder and a line in COBRE_BACKEND_MAP (comm.h); backend.cmake in the folder says what it adds to the
 * build. For the collectives the core checks the arguments, describes the call in a cb_call and switches to
 * cb_<backend>_<operation> (dispatch.h). Everything else is in the backend's descriptor, cb_<backend>_backend. A backend
 * embeds struct cobre_comm as the first member of its own communicator. */
#ifndef COBRE_COMM_BACKEND_H
#define COBRE_COMM_BACKEND_H

#include <stdint.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "cobre/comm.h"
#include "comm/try.h"

/* "0.1.0" */
#define CB_TEXT_OF(number) #number
#define CB_JOIN_VERSION(major, minor, patch) CB_TEXT_OF(major) "." CB_TEXT_OF(minor) "." CB_TEXT_OF(patch)
#define CB_VERSION_TEXT CB_JOIN_VERSION(COBRE_VERSION_MAJOR, COBRE_VERSION_MINOR, COBRE_VERSION_PATCH)

/* CB_WHEN(COBRE_HAVE_X, text): the text if backend X is in this build, which the build says as 1 or 0. */
#define CB_WHEN_1(...) __VA_ARGS__
#define CB_WHEN_0(...)
#define CB_WHEN_IS(have, ...) CB_WHEN_##have(__VA_ARGS__)
#define CB_WHEN(have, ...) CB_WHEN_IS(have, __VA_ARGS__)

/* X(CODE, name) or CALL(CODE, name): everything that ranks do together, and so must agree on. The order is that of the
 * codes on the wire. For each X a backend implements cb_<backend>_<name>(comm, call); a CALL is another operation to it:
 * a seal is a fence, and then the core's work. */
#define CB_CALL_MAP(X, CALL)                                                                                           \
    X(BARRIER, barrier)                                                                                                \
    X(BROADCAST, broadcast)                                                                                            \
    X(ALLREDUCE, allreduce)                                                                                            \
    X(ALLGATHERV, allgatherv)                                                                                          \
    X(ALLGATHERV_REGION, allgatherv_region)                                                                            \
    X(REGION_CREATE, region_create)                                                                                    \
    X(REGION_FENCE, region_fence)                                                                                      \
    CALL(REGION_SEAL, region_seal)                                                                                     \
    X(SPLIT_LOCAL, split_local)
#define CB_NOTHING_FOR(CODE, name)
#define CB_OPERATION_MAP(X) CB_CALL_MAP(X, CB_NOTHING_FOR)

typedef enum {
    CB_NO_OPERATION,
#define CB_OPERATION_ENUM(code, name) CB_##code,
    CB_CALL_MAP(CB_OPERATION_ENUM, CB_OPERATION_ENUM)
#undef CB_OPERATION_ENUM
} cb_operation;

/* The parts of a call that the ranks must agree on. Equal calls have equal bytes. */
typedef struct {
    uint8_t operation, type, op, flags;
    uint32_t root;
    uint64_t count;  /* allgatherv: of all parts together */
    uint64_t detail; /* hash of counts (and displs, for a region); number of the region */
} cb_fingerprint;

/* One checked call. Fields that an operation does not use are 0. */
typedef struct {
    cb_fingerprint print;
    cobre_type type;
    cobre_op op;
    size_t root, count; /* count: elements of this rank's send (allgatherv) or of the whole (others) */
    const void *send;
    void *recv; /* broadcast: the buffer */
    const size_t *counts, *displs;
    cobre_region *region; /* calls on a region; region_create: to be filled in */
    bool unable;          /* region_create: this rank has no memory for the handle, so that no rank gets a region;
                             backends use it for split_local in the same way */
    cobre_comm **made;    /* split_local: the result */
} cb_call;

struct cobre_comm {
    uint32_t magic;           /* CB_COMM_MAGIC while open */
    unsigned fork_generation; /* cb_fork_generation at open: another value means that we are a fork's child */
    cobre_backend backend;
    size_t rank, size, node_rank, node_size;
    atomic_bool busy;                   /* a call is not over yet (dispatch.h) */
    atomic_size_t regions;              /* not yet freed; calls of local may overlap */
    atomic_uint_least64_t regions_made; /* numbers them; the same on all ranks */
    double stall_secs;                  /* 0: none */
    int (*interrupted)(void *);
    void *interrupted_arg;
    cobre_comm *next_open; /* list of this process's open communicators (comm.c) */
    char broken[768];      /* text of the first failure, once it has been reported */
};

struct cobre_region {
    uint32_t magic;
    cobre_comm *comm;
    cobre_type type;
    size_t count, bytes; /* bytes: of the data, not rounded */
    uint64_t number;
    bool sealed;
    void *data;           /* page-aligned */
    size_t mapped;        /* bytes of the mapping that holds data */
    uint64_t own;         /* the backend's handle */
    cobre_memory *memory; /* NULL: not detached */
};

struct cobre_memory {
    atomic_uint owners;       /* the region, the program */
    unsigned fork_generation; /* as in a communicator */
    void (*free)(void *data, size_t mapped);
    void *data;
    size_t mapped;
};

enum { CB_OWN_ALIGNMENT = 16 };

/* A config with its defaults filled in and its numbers checked. */
typedef struct {
    cobre_backend backend;
    size_t rank, size;
    double join_timeout_secs, stall_secs;
    int (*interrupted)(void *);
    void *interrupted_arg;
    /* The backend's own settings, a struct of its choice that from_environment or from_config fills in and open reads. They
     * may hold a secret, and are wiped after open. */
    _Alignas(CB_OWN_ALIGNMENT) unsigned char own[768];
} cb_options;

/* CB_OWN_OPTIONS(tcp): options->own is a struct cb_tcp_options, and cb_tcp_own(options) leads to it; cb_tcp_own_mut to fill
 * it in. */
#define CB_OWN_OPTIONS(name)                                                                                           \
    _Static_assert(sizeof(struct cb_##name##_options) <= sizeof((cb_options *)NULL)->own, "the options have room");    \
    _Static_assert(_Alignof(struct cb_##name##_options) <= CB_OWN_ALIGNMENT, "the room is aligned for it");            \
    static inline const struct cb_##name##_options *cb_##name##_own(const cb_options *options) {                       \
        return (const struct cb_##name##_options *)options->own;                                                       \
    }                                                                                                                  \
    static inline struct cb_##name##_options *cb_##name##_own_mut(cb_options *options) {                               \
        return (struct cb_##name##_options *)options->own;                                                             \
    }

/* Variables of the environment that tell how many ranks there are, or that there are at least rank + 1. If a launcher other
 * than `cobre run` says so, more ranks than one make auto take the backend, as a sign does. */
typedef struct {
    const char *name;
    bool is_rank;
} cb_size_sign;

/* A job that a launcher is about to start. The launcher sets `size`, `coordinator` and a listen_fd of -1, the backend
 * the rest. */
typedef struct {
    size_t size;
    const char *coordinator; /* host of rank 0; NULL: all ranks are on this machine */
    char name[96];           /* of the job: by it ranks find each other, or prove that they belong to it */
    uint16_t port;
    int listen_fd; /* a bound socket for rank 0; -1: none */
} cb_launch;

/* Everything of a backend except the collectives. If a backend is not in the build, the functions are NULL. Its variables
 * are still known, because they may indicate ranks that this build cannot join. */
typedef struct {
    const char *const *variables; /* that identify a rank, NULL at the end; a rank's children must not inherit them */
    const char *const *settings;  /* further variables of cobre that it reads, NULL at the end; NULL: none */
    const char *const *signs;     /* auto takes the backend if one is set; NULL at the end. NULL: always; none: never */
    const cb_size_sign *sizes;    /* without a name at the end; NULL: none */
    bool alone;                   /* each process is a job of its own; a user who names it means that */
    size_t most_ranks;            /* that a job can have; 0: it has no limit of its own */
    const char *launcher;         /* that starts its ranks and tells them how many there are; NULL: `cobre run` */
    bool over_hosts;              /* its ranks may run on several hosts */
    bool default_here;            /* `cobre run` takes it when all ranks are on one machine */

    /* Configuration: fills in `options`, or sets an error. */
    cobre_status (*from_environment)(cb_options *options);
    cobre_status (*from_config)(const cobre_config *config, cb_options *options);
    const char *config_sign;                       /* the member of the config that means this backend; NULL: none */
    bool (*in_config)(const cobre_config *config); /* auto: is it set? NULL: as `signs` say */
    void (*explain)(char *text, size_t len);       /* for `cobre info`; NULL: by the signs, one at least */

    cobre_status (*open)(const cb_options *options, cobre_comm **comm);
    void (*free)(cobre_comm *comm);
    void (*abort)(cobre_comm *comm, int code, const char *text); /* returns; the core ends the process */
    void (*region_free)(cobre_region *region);                   /* NULL: its memory is all there is to free */
    void (*memory_free)(void *data, size_t mapped); /* of a region; its communicator may be gone. NULL: at exit */
    /* For `cobre clean`: removes CB_SHARED_MEMORY/NAME (name starts with '/') if it is of a dead job of this backend and
     * user. 1: removed; 0: absent, live, or something else; -1: errno says why not. Without `remove`: only says which of
     * these it would be. NULL: nothing has a name. */
    int (*clean)(const char *name, bool remove);
    void (*at_exit)(cobre_comm *comm);    /* exit() without free: tell the others that we leave; NULL: nothing */
    void (*after_fork)(cobre_comm *comm); /* in the child, which must let go of it; NULL: nothing */

    /* The launcher's side: `launch` once, then `launch_here` on the host of rank 0, before any rank starts (false: errno
     * says why); `launch_rank` in each rank before it becomes the program; `launch_end` when all have ended.
     * launch NULL: `cobre run` cannot start such ranks. */
    bool (*launch)(cb_launch *launch);
    bool (*launch_here)(cb_launch *launch); /* NULL: nothing to do */
    void (*launch_rank)(const cb_launch *launch, size_t rank);
    void (*launch_end)(const cb_launch *launch); /* NULL: nothing to clean up */
} cb_backend;

#define CB_DECLARE_BACKEND(NAME, name, ...) extern const cb_backend cb_##name##_backend;
COBRE_BACKEND_MAP(CB_DECLARE_BACKEND, )
#undef CB_DECLARE_BACKEND

/* All return COBRE_OK or the status of an error that they have set. */
#define CB_DECLARE(NAME, name, operation) cobre_status cb_##name##_##operation(cobre_comm *comm, const cb_call *call);
#define CB_DECLARE_OPERATION(CODE, operation) COBRE_BACKEND_MAP(CB_DECLARE, operation)
CB_OPERATION_MAP(CB_DECLARE_OPERATION)
#undef CB_DECLARE_OPERATION
#undef CB_DECLARE

/* Regions of backends without shared memory (heap_region.c). */
cobre_status cb_heap_region_create(cobre_comm *comm, const cb_call *call);
/* Sets the error: this rank has too little memory of its own for the call. */
cobre_status cb_heap_refuse(const cobre_comm *comm, const cb_call *call, uint64_t asked, uint64_t there, int os_error);
void cb_heap_memory_free(void *data, size_t mapped);

/* types.c */
size_t cb_type_size(cobre_type type);
const char *cb_op_name(cobre_op op);
/* acc[i] = acc[i] op x[i] as spec'd in comm.h; NaN results are canonical. */
void cb_fold(cobre_type type, cobre_op op, void *acc, const void *x, size_t count);

/* copy.c: bypasses the caches, if the machine can. */
void cb_stream(unsigned char *to, const unsigned char *from, size_t bytes);
/* Copies into recv of a gather. A result that no cache can hold bypasses the caches: its lines need not be read before they
 * are written. */
void cb_copy_result(const cb_call *call, void *to, const void *from, size_t bytes);

/* error.c: each sets this thread's last error and returns its status. */
struct cb_details {
    cobre_cause cause;
    const char *operation;
    uint64_t sequence;
    size_t culprit; /* ignored unless cause is set */
    int64_t culprit_pid;
    int os_error, mpi_error;
    uint64_t expected, actual;
    const char *subject, *list;
    const char *suggestion;
};
cobre_status cb_error(const cobre_comm *comm, cobre_backend backend, cobre_status status,
                      const struct cb_details *details, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* room.c: a request for memory that failed. */
struct cb_shortage {
    const char *operation;
    bool shared;           /* the memory that is missing is shared */
    const char *where;     /* " on the node of rank 2"; NULL: here */
    uint64_t asked, there; /* bytes */
    int os_error;          /* why the system refused it; EFBIG: by the limit of file sizes, EBADF: the file is closed */
};
cobre_status cb_no_room(const cobre_comm *comm, cobre_backend backend, const struct cb_shortage *lack);

/* failure.c */
const char *cb_operation_name(unsigned operation);
/* Writes "allreduce(sum, f64, count 4)" into text. */
void cb_describe(const cb_fingerprint *print, char *text, size_t len);

/* Why a communicator broke. The same for all its ranks. */
typedef struct {
    cobre_cause cause;
    uint32_t culprit;        /* UINT32_MAX: not known */
    int32_t code;            /* aborted: the exit code; transport: errno */
    int32_t mpi_code;        /* transport: MPI's error code; it does not travel */
    int64_t pid;             /* of the culprit */
    uint32_t rank_a, rank_b; /* mismatch: the ranks of the two calls */
    cb_fingerprint call_a, call_b;
    char text[256]; /* aborted, transport */
} cb_failure;
/* Fills in who differs from whom, from the calls that each of `size` ranks made. The culprit is the first rank unlike
 * rank 0, or rank 0 if all others agree against it. So all that see all calls find the same one. */
void cb_find_mismatch(cb_failure *failure, size_t size, const cb_fingerprint *(*call_of)(const void *comm, size_t rank),
                      const void *comm);
cobre_status cb_report_failure(cobre_comm *comm, cb_operation operation, uint64_t sequence, const cb_failure *failure);

/* limits.c: the resources that this process may use. */
#define CB_SHARED_MEMORY "/dev/shm" /* the system's place for it */
size_t cb_usable_cores(void);       /* by affinity, cut by the cgroup's quota; at least 1 */
uint64_t cb_memory_free(int fd);    /* bytes that can be reserved now; fd >= 0: in the file system of fd */

/* os.c */
const char *cb_variable(const char *name); /* of the environment; an empty one counts as not set */
void cb_set_number(const char *variable, uint64_t value);
/* A descriptor for the program that this process becomes. The variable also identifies the file, so that the program
 * is not mistaken when it has closed it and its own file has the number. */
bool cb_set_descriptor(const char *variable, int fd);
int cb_take_descriptor(const char *variable); /* ours now, and closed in programs we start; -1: not there any more */
double cb_now(void);                          /* seconds of the monotonic clock */
struct timespec cb_timespec(double seconds);
void cb_nap(double seconds);
int cb_start_thread(pthread_t *thread, void *(*run)(void *), void *argument);
size_t cb_page_size(void);
void cb_interleave(void *base, size_t bytes); /* pages in turn over the memory nodes */
/* For the next pages at that place of a file: the system remembers it by the place. It takes the process, and the mapping,
 * that asked for it. */
void cb_end_interleave(void *base, size_t bytes);
size_t cb_round_up(size_t value, size_t to);
static inline size_t cb_least(size_t a, size_t b) {
    return a < b ? a : b;
}
const char *cb_bytes_text(uint64_t bytes, char text[32]); /* "1.5 GiB" */
void cb_flush_output(void);                               /* stdout and stderr, as far as no other thread holds them */

extern unsigned cb_fork_generation;
#endif
