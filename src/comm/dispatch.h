/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h: from a checked collective to its backend: a switch, no table of function pointers.
 *
 * With one backend in the build the switch folds to a direct call, and an operation that this backend does not need
 * leaves no instruction: in that build the checks of operations that do nothing are for debugging only. */
#ifndef COBRE_COMM_DISPATCH_H
#define COBRE_COMM_DISPATCH_H

#include "comm/backend.h"

#define CB_COUNT_ONE(NAME, name, ...) +COBRE_HAVE_##NAME
enum { CB_BACKEND_COUNT = 0 COBRE_BACKEND_MAP(CB_COUNT_ONE, ) };
#undef CB_COUNT_ONE

/* Are calls checked that do nothing on local: barrier, broadcast? */
#ifdef NDEBUG
enum { CB_CHECK_NO_OPS = CB_BACKEND_COUNT > 1 };
#else
enum { CB_CHECK_NO_OPS = 1 };
#endif

static inline cobre_backend cb_backend_of(const cobre_comm *comm) {
    return CB_BACKEND_COUNT == 1 ? COBRE_LOCAL : comm->backend;
}

static inline size_t cb_size_of(const cobre_comm *comm) {
    return CB_BACKEND_COUNT == 1 ? 1 : comm->size;
}

enum { CB_COMM_MAGIC = 0xc0b4ec01, CB_REGION_MAGIC = 0xc0b4e4e6 };

/* Sets the error that tells why the handle cannot be used. */
cobre_status cb_bad_handle(const cobre_comm *comm, const char *operation);

/* One call at a time: from CB_ENTER to the end of the function the communicator is this call's, and another call on it, by
 * another thread or by the hook, is refused. The calls of local keep nothing in the communicator and never wait: they may
 * overlap, and pay nothing. */
#define CB_ENTER(comm, operation)                                                                                      \
    CB_TRY(cb_enter(comm, operation));                                                                                 \
    __attribute__((cleanup(cb_leave))) cobre_comm *entered_ = (comm);                                                  \
    (void)entered_

cobre_status cb_in_use(const cobre_comm *comm, const char *operation);

static inline cobre_status cb_enter(cobre_comm *comm, const char *operation) {
    if (cb_backend_of(comm) == COBRE_LOCAL || !atomic_exchange_explicit(&comm->busy, true, memory_order_acquire))
        return COBRE_OK;
    return cb_in_use(comm, operation);
}

static inline void cb_leave(cobre_comm **comm) {
    if (cb_backend_of(*comm) != COBRE_LOCAL)
        atomic_store_explicit(&(*comm)->busy, false, memory_order_release);
}

/* cb_barrier(comm, call), cb_broadcast(comm, call), ...: each a switch over the backends of this build. */
#define CB_ARM(NAME, name, operation)                                                                                  \
    CB_WHEN(COBRE_HAVE_##NAME, case COBRE_##NAME : return cb_##name##_##operation(comm, call);)
#define CB_DEFINE_DISPATCH(CODE, operation)                                                                            \
    static inline cobre_status cb_##operation(cobre_comm *comm, const cb_call *call) {                                 \
        switch ((int)cb_backend_of(comm)) {                                                                            \
            COBRE_BACKEND_MAP(CB_ARM, operation)                                                                       \
        default: return cb_bad_handle(comm, #operation);                                                               \
        }                                                                                                              \
    }
CB_OPERATION_MAP(CB_DEFINE_DISPATCH)
#undef CB_DEFINE_DISPATCH
#undef CB_ARM

static inline cobre_status cb_check_handle(const cobre_comm *comm, const char *operation) {
    if (!comm || comm->magic != CB_COMM_MAGIC || comm->fork_generation != cb_fork_generation)
        return cb_bad_handle(comm, operation);
    return COBRE_OK;
}

/* The checks of allgatherv, which serve allgatherv_region as well; on success *total holds the sum of counts. */
cobre_status cb_check_gather(const cobre_comm *comm, const char *operation, const cb_call *call, size_t recv_count,
                             size_t *total);

/* The bytes of n numbers, stirred; equal lists have equal hashes. */
uint64_t cb_hash_counts(uint64_t seed, const size_t *counts, size_t n);

#define CB_INVALID(comm, what, which, advice, ...)                                                                     \
    cb_error(comm, cb_backend_of(comm), COBRE_INVALID_ARGUMENT,                                                        \
             &(struct cb_details){.operation = what, .subject = which, .suggestion = advice}, __VA_ARGS__)

#endif
