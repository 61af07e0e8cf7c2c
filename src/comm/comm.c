/* SPDX-License-Identifier: Apache-2.0 */
/* comm.c: communicators and collectives: check the arguments, describe the call, hand it to the backend.
 *
 * Wrong arguments are found here, before anything is sent. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/dispatch.h"
#include "comm/select.h"

unsigned cb_fork_generation;

/* The open communicators of this process, and the lock of that list. */
static cobre_comm *open_comms;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* In the child of a fork(): the lock may have been held at that moment. The parent's communicators are not ours; what of
 * them would keep the parent's death from being seen goes. */
static void after_fork(void) {
    cb_fork_generation++;
    list_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (cobre_comm *comm = open_comms; comm; comm = comm->next_open)
        if (cb_backend_at(comm->backend)->after_fork)
            cb_backend_at(comm->backend)->after_fork(comm);
    open_comms = NULL;
}

static bool lock_list_within(double seconds) {
    for (double end = cb_now() + seconds; pthread_mutex_trylock(&list_lock) != 0; cb_nap(1e-3))
        if (cb_now() > end)
            return false;
    return true;
}

/* exit() without cobre_comm_free is leaving, not dying. Where the list cannot be had, because a thread that holds it was
 * stopped, the others see a death. */
__attribute__((destructor)) static void leave_at_exit(void) {
    if (!open_comms || !lock_list_within(0.1))
        return;
    for (cobre_comm *comm = open_comms; comm; comm = comm->next_open)
        if (cb_backend_at(comm->backend)->at_exit)
            cb_backend_at(comm->backend)->at_exit(comm);
    pthread_mutex_unlock(&list_lock);
}

static void remember(cobre_comm *comm) {
    pthread_mutex_lock(&list_lock);
    comm->next_open = open_comms;
    open_comms = comm;
    pthread_mutex_unlock(&list_lock);
}

static void forget(cobre_comm *comm) {
    pthread_mutex_lock(&list_lock);
    cobre_comm **link = &open_comms;
    while (*link && *link != comm)
        link = &(*link)->next_open;
    if (*link)
        *link = comm->next_open;
    pthread_mutex_unlock(&list_lock);
}

static void prepare_process(void) {
    pthread_atfork(NULL, NULL, after_fork);
    cb_find_launcher();
}

const char *cobre_version(void) {
    return CB_VERSION_TEXT;
}

cobre_status cb_bad_handle(const cobre_comm *comm, const char *operation) {
    if (!comm)
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_COMMUNICATOR,
                        &(struct cb_details){.operation = operation,
                                             .suggestion = "open one with cobre_comm_open and check its status"},
                        "%s: the communicator is NULL", operation);
    if (comm->magic != CB_COMM_MAGIC)
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_COMMUNICATOR,
                        &(struct cb_details){.operation = operation,
                                             .suggestion = "do not use a communicator after cobre_comm_free"},
                        "%s: this is not an open communicator", operation);
    return cb_error(comm, comm->backend, COBRE_INVALID_COMMUNICATOR,
                    &(struct cb_details){.operation = operation,
                                         .suggestion = "use it in the parent only, or open another one in the child"},
                    "%s: the communicator was opened before fork(), in the parent process", operation);
}

cobre_status cb_in_use(const cobre_comm *comm, const char *operation) {
    return cb_error(comm, comm->backend, COBRE_INVALID_COMMUNICATOR,
                    &(struct cb_details){
                        .operation = operation,
                        .suggestion = "make one call at a time on a communicator, and none from its interrupted hook"},
                    "%s: the communicator is in use by another thread, or this is its interrupted hook", operation);
}

/* Fills in what is common to all backends' communicators. */
static void finish_open(cobre_comm *comm, double stall_secs, int (*interrupted)(void *), void *interrupted_arg) {
    comm->magic = CB_COMM_MAGIC;
    comm->fork_generation = cb_fork_generation;
    comm->stall_secs = stall_secs;
    comm->interrupted = interrupted;
    comm->interrupted_arg = interrupted_arg;
    remember(comm);
}

cobre_status cobre_comm_open(const cobre_config *config, cobre_comm **comm) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    cb_options options;
    if (!comm)
        return cb_error(NULL, COBRE_AUTO, COBRE_INVALID_ARGUMENT,
                        &(struct cb_details){.operation = "open", .subject = "comm", .suggestion = "pass &comm"},
                        "open: the place for the communicator is NULL");
    *comm = NULL;
    pthread_once(&once, prepare_process);
    cobre_comm *opened = NULL;
    cobre_status status = cb_select(config, &options);
    if (!status)
        status = cb_backend_at(options.backend)->open(&options, &opened);
    explicit_bzero(options.own, sizeof options.own);
    if (status)
        return status;
    finish_open(opened, options.stall_secs, options.interrupted, options.interrupted_arg);
    *comm = opened;
    return COBRE_OK;
}

cobre_status cobre_comm_free(cobre_comm **comm) {
    if (!comm || !*comm)
        return COBRE_OK;
    CB_TRY(cb_check_handle(*comm, "free"));
    CB_TRY(cb_enter(*comm, "free"));
    size_t regions = atomic_load_explicit(&(*comm)->regions, memory_order_relaxed);
    if (regions) {
        cb_leave(comm);
        return CB_INVALID(*comm, "free", "comm", "free the regions first, in the same order on all ranks",
                          "free: %zu regions of this communicator are not freed yet", regions);
    }
    forget(*comm);
    (*comm)->magic = 0;
    cb_backend_at((*comm)->backend)->free(*comm);
    *comm = NULL;
    return COBRE_OK;
}

void cobre_abort(cobre_comm *comm, int code, const char *text) {
    if (!text)
        text = "no reason given";
    if (comm && cb_check_handle(comm, "abort") == COBRE_OK) {
        cb_error(
            comm, comm->backend, COBRE_COLLECTIVE_FAILED,
            &(struct cb_details){
                .operation = "abort", .cause = COBRE_CAUSE_ABORTED, .culprit = comm->rank, .culprit_pid = getpid()},
            "rank %zu aborted: %s", comm->rank, text);
        cb_backend_at(comm->backend)->abort(comm, code, text);
    }
    cb_flush_output();
    _exit(code & 0xff ? code : 1);
}

size_t cobre_rank(const cobre_comm *comm) {
    return comm ? comm->rank : 0;
}

size_t cobre_size(const cobre_comm *comm) {
    return comm ? comm->size : 0;
}

size_t cobre_node_rank(const cobre_comm *comm) {
    return comm ? comm->node_rank : 0;
}

size_t cobre_node_size(const cobre_comm *comm) {
    return comm ? comm->node_size : 0;
}

bool cobre_is_leader(const cobre_comm *comm) {
    return comm && comm->node_rank == 0;
}

cobre_backend cobre_comm_backend(const cobre_comm *comm) {
    return comm ? comm->backend : COBRE_AUTO;
}

cobre_status cobre_split_local(cobre_comm *comm, cobre_comm **local) {
    if (local)
        *local = NULL;
    CB_TRY(cb_check_handle(comm, "split_local"));
    CB_ENTER(comm, "split_local");
    if (!local)
        return CB_INVALID(comm, "split_local", "local", "pass &local", "split_local: the place for the result is NULL");
    cobre_comm *made = NULL;
    cb_call call = {.print = {.operation = CB_SPLIT_LOCAL}, .made = &made};
    CB_TRY(cb_split_local(comm, &call));
    finish_open(made, comm->stall_secs, comm->interrupted, comm->interrupted_arg);
    *local = made;
    return COBRE_OK;
}

static cobre_status bad_type(const cobre_comm *comm, const char *operation, cobre_type type) {
    return CB_INVALID(comm, operation, "type", "use one of COBRE_U8 ... COBRE_F64, or the _t form of the call",
                      "%s: %d is not an element type", operation, (int)type);
}

static cobre_status bad_buffer(const cobre_comm *comm, const char *operation, const char *which) {
    return CB_INVALID(comm, operation, which, "pass a buffer, or a count of 0",
                      "%s: %s is NULL, but its count is not 0", operation, which);
}

static cobre_status bad_overlap(const cobre_comm *comm, const char *operation) {
    return CB_INVALID(comm, operation, "send", "use two buffers, or the in-place form that comm.h describes",
                      "%s: send overlaps recv", operation);
}

static cobre_status bad_size(const cobre_comm *comm, const char *operation, const char *what, uint64_t expected,
                             uint64_t actual) {
    return cb_error(comm, cb_backend_of(comm), COBRE_INVALID_BUFFER_SIZE,
                    &(struct cb_details){.operation = operation,
                                         .expected = expected,
                                         .actual = actual,
                                         .suggestion = "pass matching counts on every rank"},
                    "%s: %s (expected %" PRIu64 ", got %" PRIu64 ")", operation, what, expected, actual);
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    uintptr_t a_at = (uintptr_t)a, b_at = (uintptr_t)b;
    return a_bytes && b_bytes && a_at < b_at + b_bytes && b_at < a_at + a_bytes;
}

static bool parts_overlap(const size_t *counts, const size_t *displs, size_t a, size_t b) {
    return counts[a] && counts[b] && displs[a] < displs[b] + counts[b] && displs[b] < displs[a] + counts[a];
}

/* Parts in ascending order, the usual case, need one look each; others are compared pair by pair. */
static cobre_status check_parts_apart(const cobre_comm *comm, const char *operation, const cb_call *call) {
    size_t end = 0;
    for (size_t r = 0; r < cb_size_of(comm); r++) {
        for (size_t s = 0; call->displs[r] < end && s < r; s++)
            if (parts_overlap(call->counts, call->displs, r, s))
                return CB_INVALID(comm, operation, "displs", "leave each part its own place",
                                  "%s: part %zu and part %zu of recv overlap", operation, s, r);
        if (call->counts[r] && call->displs[r] + call->counts[r] > end)
            end = call->displs[r] + call->counts[r];
    }
    return COBRE_OK;
}

static bool sent_from_a_part(const cobre_comm *comm, const cb_call *call, size_t size) {
    const char *recv = call->recv;
    if (!call->count || call->send == recv + call->displs[comm->rank] * size)
        return false;
    for (size_t r = 0; r < cb_size_of(comm); r++)
        if (call->counts[r] &&
            overlap(call->send, call->count * size, recv + call->displs[r] * size, call->counts[r] * size))
            return true;
    return false;
}

cobre_status cb_check_gather(const cobre_comm *comm, const char *operation, const cb_call *call, size_t recv_count,
                             size_t *total) {
    size_t size = cb_type_size(call->type), own = CB_BACKEND_COUNT == 1 ? 0 : comm->rank;
    *total = 0;
    if (!size)
        return bad_type(comm, operation, call->type);
    if (!call->counts || !call->displs)
        return CB_INVALID(comm, operation, call->counts ? "displs" : "counts", "pass one entry for each rank",
                          "%s: counts or displs is NULL", operation);
    if (call->count != call->counts[own])
        return bad_size(comm, operation, "send_count is not counts[rank]", call->counts[own], call->count);
    if (recv_count > PTRDIFF_MAX / size)
        return bad_size(comm, operation, "recv_count is more than memory can hold", PTRDIFF_MAX / size, recv_count);
    for (size_t r = 0; r < cb_size_of(comm); r++) {
        size_t count = call->counts[r];
        if (count && (count > recv_count || call->displs[r] > recv_count - count))
            return bad_size(comm, operation, "a part ends behind recv",
                            call->displs[r] > SIZE_MAX - count ? SIZE_MAX : call->displs[r] + count, recv_count);
        *total += count;
    }
    if (!call->recv && *total)
        return bad_buffer(comm, operation, "recv");
    if (!call->send && call->count)
        return bad_buffer(comm, operation, "send");
    cobre_status status = check_parts_apart(comm, operation, call);
    if (!status && sent_from_a_part(comm, call, size))
        status = bad_overlap(comm, operation);
    return status;
}

uint64_t cb_hash_counts(uint64_t seed, const size_t *counts, size_t n) {
    uint64_t hash = seed;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ counts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

cobre_status cobre_allgatherv(cobre_comm *comm, const void *send, size_t send_count, void *recv, size_t recv_count,
                              const size_t *counts, const size_t *displs, cobre_type type) {
    CB_TRY(cb_check_handle(comm, "allgatherv"));
    CB_ENTER(comm, "allgatherv");
    cb_call call = {.type = type, .count = send_count, .send = send, .recv = recv, .counts = counts, .displs = displs};
    size_t total;
    CB_TRY(cb_check_gather(comm, "allgatherv", &call, recv_count, &total));
    call.print = (cb_fingerprint){.operation = CB_ALLGATHERV, .type = (uint8_t)type, .count = total};
    if (cb_size_of(comm) > 1)
        call.print.detail = cb_hash_counts(0, counts, comm->size);
    return cb_allgatherv(comm, &call);
}

static cobre_status check_allreduce(const cobre_comm *comm, const cb_call *call, size_t recv_count) {
    size_t size = cb_type_size(call->type);
    if (!size)
        return bad_type(comm, "allreduce", call->type);
    if (call->op < COBRE_SUM || call->op > COBRE_MAX)
        return CB_INVALID(comm, "allreduce", "op", "use COBRE_SUM, COBRE_MIN or COBRE_MAX",
                          "allreduce: %d is not an operation", (int)call->op);
    if (call->count != recv_count)
        return bad_size(comm, "allreduce", "recv_count is not send_count", call->count, recv_count);
    if (call->count == 0)
        return bad_size(comm, "allreduce", "there is nothing to reduce", 1, 0);
    if (call->count > PTRDIFF_MAX / size)
        return bad_size(comm, "allreduce", "the count is more than memory can hold", PTRDIFF_MAX / size, call->count);
    if (!call->send || !call->recv)
        return bad_buffer(comm, "allreduce", call->send ? "recv" : "send");
    if (call->send != call->recv && overlap(call->send, call->count * size, call->recv, call->count * size))
        return bad_overlap(comm, "allreduce");
    return COBRE_OK;
}

cobre_status cobre_allreduce(cobre_comm *comm, const void *send, size_t send_count, void *recv, size_t recv_count,
                             cobre_type type, cobre_op op) {
    CB_TRY(cb_check_handle(comm, "allreduce"));
    CB_ENTER(comm, "allreduce");
    cb_call call = {
        .print = {.operation = CB_ALLREDUCE, .type = (uint8_t)type, .op = (uint8_t)op, .count = send_count},
        .type = type,
        .op = op,
        .count = send_count,
        .send = send,
        .recv = recv,
    };
    CB_TRY(check_allreduce(comm, &call, recv_count));
    return cb_allreduce(comm, &call);
}

static cobre_status bad_root(const cobre_comm *comm, size_t root) {
    return cb_error(comm, cb_backend_of(comm), COBRE_INVALID_ROOT,
                    &(struct cb_details){.operation = "broadcast",
                                         .expected = cb_size_of(comm),
                                         .actual = root,
                                         .suggestion = "ranks count from 0 to size - 1"},
                    "broadcast: root %zu is not a rank, there are %zu", root, cb_size_of(comm));
}

static cobre_status check_broadcast(const cobre_comm *comm, const cb_call *call) {
    size_t size = cb_type_size(call->type);
    if (!size)
        return bad_type(comm, "broadcast", call->type);
    if (call->root >= cb_size_of(comm))
        return bad_root(comm, call->root);
    if (CB_CHECK_NO_OPS && call->count > PTRDIFF_MAX / size)
        return bad_size(comm, "broadcast", "the count is more than memory can hold", PTRDIFF_MAX / size, call->count);
    if (CB_CHECK_NO_OPS && !call->recv && call->count)
        return bad_buffer(comm, "broadcast", "buf");
    return COBRE_OK;
}

/* inline: gcc else keeps a call to it where link-time optimisation could fold it away (tests/local_only). */
inline cobre_status cobre_broadcast(cobre_comm *comm, void *buf, size_t count, cobre_type type, size_t root) {
    CB_TRY(CB_CHECK_NO_OPS ? cb_check_handle(comm, "broadcast") : COBRE_OK);
    CB_ENTER(comm, "broadcast");
    cb_call call = {
        .print = {.operation = CB_BROADCAST, .type = (uint8_t)type, .root = (uint32_t)root, .count = count},
        .type = type,
        .root = root,
        .count = count,
        .recv = buf,
    };
    CB_TRY(check_broadcast(comm, &call));
    return cb_broadcast(comm, &call);
}

cobre_status cobre_barrier(cobre_comm *comm) {
    CB_TRY(CB_CHECK_NO_OPS ? cb_check_handle(comm, "barrier") : COBRE_OK);
    CB_ENTER(comm, "barrier");
    static const cb_call call = {.print = {.operation = CB_BARRIER}}; /* a new one would take longer than the rest */
    return cb_barrier(comm, &call);
}
