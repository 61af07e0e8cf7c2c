/* SPDX-License-Identifier: Apache-2.0 */
/* tcp.c: the tcp backend's side of backend.h: opening, leaving, and choosing the way of an operation (pair, star or
 * ring). */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

static struct cb_tcp_comm *tcp(cobre_comm *comm) {
    return (struct cb_tcp_comm *)comm;
}

bool cb_tcp_interrupted(const cb_options *options) {
    return options->interrupted && options->interrupted(options->interrupted_arg);
}

static void close_one(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Also in a fork's child: the parent's connections must end when the parent does. */
void cb_tcp_close(cobre_comm *base) {
    struct cb_tcp_comm *comm = tcp(base);
    cb_links_forget(comm);
    if (base->rank && comm->data && comm->next != comm->data[0])
        close_one(&comm->next);
    if (base->rank && comm->data && comm->previous != comm->data[0])
        close_one(&comm->previous);
    close_one(&comm->control);
    for (size_t r = 0; r < base->size && comm->data && comm->controls; r++) {
        close_one(&comm->controls[r]);
        close_one(&comm->data[r]);
    }
}

static void release(struct cb_tcp_comm *comm) {
    if (comm->watch)
        cb_watch_stop(comm->watch);
    comm->watch = NULL;
    cb_tcp_close(&comm->base);
    free(comm->data);
    free(comm->controls);
    free(comm->links);
    free(comm->pids);
    free(comm->frames.calls);
    free(comm->frames.pieces);
    free(comm->frames.prints);
    free(comm->frames.flows);
    free(comm->frames.stages);
    free(comm);
}

/* The pieces: a head and one more for each call, a head and one per rank for the result. */
static bool allocate_frames(struct cb_frames *frames, size_t rank, size_t size) {
    size_t stages = rank == 0 ? size : 1;
    frames->calls = calloc(size, sizeof *frames->calls);
    frames->pieces = calloc(2 * size + size + 1, sizeof *frames->pieces);
    frames->prints = calloc(size, sizeof *frames->prints);
    frames->flows = calloc(size, sizeof *frames->flows);
    frames->stages = malloc(stages * (size_t)CB_TCP_STAGE);
    if (!frames->calls || !frames->pieces || !frames->prints || !frames->flows || !frames->stages)
        return false;
    for (size_t r = 0; r < size; r++)
        frames->calls[r].pieces = frames->pieces + 2 * r;
    frames->result.pieces = frames->pieces + 2 * size;
    return true;
}

static bool allocate(struct cb_tcp_comm *comm) {
    size_t size = comm->base.size;
    comm->data = malloc(size * sizeof *comm->data);
    comm->controls = malloc(size * sizeof *comm->controls);
    for (size_t r = 0; r < size && comm->data && comm->controls; r++)
        comm->data[r] = comm->controls[r] = -1;
    comm->pids = calloc(size, sizeof *comm->pids);
    comm->links = calloc(comm->base.rank ? 3 : size, sizeof *comm->links);
    return comm->data && comm->controls && comm->pids && comm->links &&
           allocate_frames(&comm->frames, comm->base.rank, size);
}

/* The algorithms of an operation, by what they are for. */
struct algorithms {
    cb_algorithm *alone;   /* one rank; NULL: it has nothing to do */
    cb_algorithm *pair;    /* two */
    cb_algorithm *small;   /* more, up to CB_TCP_SMALL bytes */
    cb_algorithm *large;   /* over the ring, when all have met */
    cb_algorithm *no_ring; /* large, where the ring could not be made */
};

static cobre_status copy_operand(struct cb_tcp_comm *comm, const cb_call *call) {
    (void)comm;
    cb_put_own(call, cb_result_of(call));
    return COBRE_OK;
}

static cobre_status copy_part(struct cb_tcp_comm *comm, const cb_call *call) {
    (void)comm;
    cb_put_own(call, cb_part_of(call, 0));
    return COBRE_OK;
}

static const struct algorithms barrier = {
    .pair = cb_pair_meet,
    .small = cb_star_meet,
};
static const struct algorithms broadcast = {
    .pair = cb_pair_broadcast,
    .small = cb_star_broadcast,
    .large = cb_ring_broadcast,
    .no_ring = cb_star_broadcast_stages,
};
static const struct algorithms allreduce = {
    .alone = copy_operand,
    .pair = cb_pair_allreduce,
    .small = cb_star_allreduce,
    .large = cb_ring_allreduce,
    .no_ring = cb_star_allreduce_stages,
};
static const struct algorithms allgatherv = {
    .alone = copy_part,
    .pair = cb_pair_allgatherv,
    .small = cb_star_allgatherv,
    .large = cb_ring_allgatherv,
    .no_ring = cb_star_allgatherv_stages,
};

/* bytes: of the largest frame that the star would need. */
static cobre_status choose_and_run(struct cb_tcp_comm *comm, const cb_call *call, const struct algorithms *algorithms,
                                   size_t bytes) {
    if (comm->base.size == 1)
        return algorithms->alone ? algorithms->alone(comm, call) : COBRE_OK;
    if (comm->base.size == 2)
        return algorithms->pair(comm, call);
    if (bytes <= CB_TCP_SMALL)
        return algorithms->small(comm, call);
    if (!comm->ring)
        return algorithms->no_ring(comm, call);
    cobre_status status = cb_star_meet(comm, call);
    return status ? status : algorithms->large(comm, call);
}

/* All ranks use the ring, or none; this is also the moment when everybody knows that everybody is in. */
static cobre_status agree_on_ring(struct cb_tcp_comm *comm) {
    bool star_only = cb_variable("COBRE_TEST_TCP_STAR"); /* for tests: one rank's word is enough */
    uint8_t mine = comm->next >= 0 && comm->previous >= 0 && !star_only, all = 0;
    cb_call call = {
        .print = {.operation = CB_ALLREDUCE, .type = COBRE_U8, .op = COBRE_MIN, .count = 1},
        .type = COBRE_U8,
        .op = COBRE_MIN,
        .count = 1,
        .send = &mine,
        .recv = &all,
    };
    comm->base.stall_secs = comm->timeout; /* while the job forms; the core sets the program's own limit after that */
    cobre_status status = choose_and_run(comm, &call, &allreduce, sizeof mine);
    comm->ring = all;
    if (status == COBRE_OK)
        return status;
    if (comm->failure.cause == COBRE_CAUSE_PEER_DIED)
        return CB_TCP_BLAME(COBRE_CAUSE_PEER_DIED, comm->failure.culprit, ECONNABORTED,
                            "look at that rank's output; start all ranks again",
                            "tcp: rank %u of %zu died while the job formed", comm->failure.culprit, comm->base.size);
    return CB_TCP_BLAME(comm->failure.cause, comm->failure.culprit, ECONNABORTED,
                        "look at that rank's output; start all ranks again", "tcp: the job broke while it formed: %s",
                        comm->base.broken);
}

cobre_status cb_tcp_open(const cb_options *options, cobre_comm **result) {
    struct cb_tcp_comm *comm = calloc(1, sizeof *comm);
    if (!comm || sodium_init() < 0) {
        free(comm);
        return CB_TCP_ERROR(ENOMEM, "free memory", "tcp: out of memory, or no source of random numbers");
    }
    comm->base.backend = COBRE_TCP;
    comm->base.rank = options->rank;
    comm->base.size = options->size;
    comm->base.node_size = 1;
    comm->control = comm->alarm = comm->next = comm->previous = -1;
    comm->timeout = options->join_timeout_secs;
    comm->base.interrupted = options->interrupted;
    comm->base.interrupted_arg = options->interrupted_arg;
    cobre_status status;
    if (!allocate(comm))
        status =
            CB_TCP_ERROR(ENOMEM, "free memory, or use fewer ranks", "tcp: out of memory for %zu ranks", options->size);
    else
        status = options->rank == 0 ? cb_tcp_coordinate(comm, options) : cb_tcp_work(comm, options);
    if (!status) {
        cb_links_note(comm);
        status = agree_on_ring(comm);
    }
    if (status) {
        release(comm);
        return status;
    }
    *result = &comm->base;
    return COBRE_OK;
}

void cb_tcp_free(cobre_comm *base) {
    cb_tcp_leave(tcp(base), NULL);
    release(tcp(base));
}

void cb_tcp_abort(cobre_comm *base, int code, const char *text) {
    struct cb_tcp_comm *comm = tcp(base);
    cb_failure failure = {.cause = COBRE_CAUSE_ABORTED, .culprit = (uint32_t)base->rank, .code = code};
    snprintf(failure.text, sizeof failure.text, "%s", text);
    if (comm->watch)
        cb_watch_fail(comm->watch, &failure);
    else
        cb_tcp_tell(comm, CB_TAG_FAILED, &failure);
}

/* To close descriptors and open others takes longer than this. */
#define CLOSING_SECONDS 1e-6

/* Has the program closed our connections since the last collective? To ask costs a system call for each. */
static bool are_closed(const struct cb_tcp_comm *comm, bool ring) {
    return cb_now() - comm->outside_since > CLOSING_SECONDS && !cb_links_are_ours(comm, ring);
}

/* Numbers a collective and runs it, unless the communicator is broken. What failed elsewhere since the last one is seen
 * here for rank 0, whose watcher knows; the others find it when they wait. */
static cobre_status run(cobre_comm *base, const cb_call *call, const struct algorithms *algorithms, size_t bytes) {
    struct cb_tcp_comm *comm = tcp(base);
    comm->sequence++;
    if (comm->failure.cause != COBRE_CAUSE_NONE || (comm->watch && cb_tcp_alarm(comm)))
        return cb_tcp_broken(comm, call);
    if (are_closed(comm, bytes > CB_TCP_SMALL)) {
        cb_failure closed = cb_link_closed(base->rank);
        return cb_tcp_fail(comm, call, &closed);
    }
    cobre_status status = choose_and_run(comm, call, algorithms, bytes);
    comm->outside_since = cb_now();
    return status;
}

cobre_status cb_tcp_barrier(cobre_comm *base, const cb_call *call) {
    return run(base, call, &barrier, 0);
}

cobre_status cb_tcp_broadcast(cobre_comm *base, const cb_call *call) {
    return run(base, call, &broadcast, cb_bytes_of(call, call->count));
}

cobre_status cb_tcp_allreduce(cobre_comm *base, const cb_call *call) {
    return run(base, call, &allreduce, cb_bytes_of(call, call->count));
}

cobre_status cb_tcp_allgatherv(cobre_comm *base, const cb_call *call) {
    return run(base, call, &allgatherv, cb_bytes_of(call, (size_t)call->print.count));
}

cobre_status cb_tcp_allgatherv_region(cobre_comm *base, const cb_call *call) {
    return cb_tcp_allgatherv(base, call); /* call->recv is the region's memory, this rank's own */
}

/* Each rank has made its own part, or not, and tells how many bytes it had, or that they were enough. The ranks agree on the
 * least, so that all have what the call makes or none: COBRE_OK or an error on all of them. */
static cobre_status agree(cobre_comm *base, const cb_call *call, cobre_status made, size_t asked) {
    const uint64_t enough = UINT64_MAX;
    uint64_t mine = made ? cobre_last_error()->actual : enough, least = enough;
    if (made && mine == enough) /* a machine that does not tell */
        mine--;
    cb_call vote = {
        .print = call->print, .type = COBRE_U64, .op = COBRE_MIN, .count = 1, .send = &mine, .recv = &least};
    CB_TRY(cb_tcp_allreduce(base, &vote));
    if (least == enough || made)
        return made;
    return cb_heap_refuse(base, call, asked, least, ENOMEM);
}

cobre_status cb_tcp_split_local(cobre_comm *base, const cb_call *call) {
    cobre_status made = cb_local_split_local(base, call);
    cobre_status status = agree(base, call, made, sizeof **call->made);
    if (status && !made)
        cb_local_backend.free(*call->made);
    return status;
}

cobre_status cb_tcp_region_create(cobre_comm *base, const cb_call *call) {
    const cobre_region *region = call->region;
    cobre_status made = cb_heap_region_create(base, call);
    cobre_status status = agree(base, call, made, region->bytes);
    if (status && !made)
        cb_heap_memory_free(region->data, region->mapped);
    return status;
}

cobre_status cb_tcp_region_fence(cobre_comm *base, const cb_call *call) {
    (void)base, (void)call;
    return COBRE_OK;
}
