/* SPDX-License-Identifier: Apache-2.0 */
/* flow.c: the loop that moves bytes, and the only place where a collective waits.
 *
 * Each turn moves all ready bytes, straight from and into the caller's memory, then lets the operation process the input
 * (advance). When nothing moves it polls again for a moment, and then sleeps in poll, with the alarm among the descriptors.
 * Between two polls it yields, even if the ranks fit on the cores: the peer may have been woken on this core. Data that
 * has arrived takes precedence over a failure: the alarm is read only when nothing moves. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "backends/tcp/tcp.h"

enum { PIECES_AT_ONCE = 16, SLICE_MS = 50 };
#define YIELD_SECONDS 1e-3
#define LOOK_SECONDS 0.25 /* between two looks at whether the other hosts answer */

void cb_flow_start(struct cb_flow *flow, int fd, bool out, size_t peer, struct cb_piece *pieces, size_t count) {
    *flow = (struct cb_flow){.fd = fd, .out = out, .peer = peer, .pieces = pieces, .count = count};
    for (size_t i = 0; i < count; i++)
        flow->total += pieces[i].bytes;
    flow->ready = flow->total;
}

struct cb_piece *cb_list_halves(unsigned char *stage, size_t bytes, size_t *count) {
    *count = bytes / CB_TCP_HALF + (bytes % CB_TCP_HALF != 0);
    struct cb_piece *pieces = malloc((*count + 1) * sizeof *pieces);
    for (size_t i = 0; pieces && i < *count; i++)
        pieces[i] = (struct cb_piece){stage + i % 2 * CB_TCP_HALF, cb_least(CB_TCP_HALF, bytes - i * CB_TCP_HALF)};
    return pieces;
}

/* The next bytes that may move, as a vector. */
static size_t gather_ready(const struct cb_flow *flow, struct iovec vector[PIECES_AT_ONCE]) {
    size_t left = flow->ready - flow->done, used = 0, at = flow->at;
    for (size_t i = flow->piece; i < flow->count && left && used < PIECES_AT_ONCE; i++, at = 0) {
        size_t bytes = flow->pieces[i].bytes - at;
        bytes = bytes < left ? bytes : left;
        if (!bytes)
            continue;
        vector[used++] = (struct iovec){(char *)flow->pieces[i].base + at, bytes};
        left -= bytes;
    }
    return used;
}

static void step(struct cb_flow *flow, size_t moved) {
    flow->done += moved;
    while (flow->piece < flow->count && moved >= flow->pieces[flow->piece].bytes - flow->at) {
        moved -= flow->pieces[flow->piece++].bytes - flow->at;
        flow->at = 0;
    }
    flow->at += moved;
}

/* Moves what the connection takes: bytes, 0: nothing now, -1: the connection is gone, as errno says; 0: in order. */
static ssize_t move(struct cb_flow *flow) {
    struct iovec vector[PIECES_AT_ONCE];
    struct msghdr message = {.msg_iov = vector, .msg_iovlen = gather_ready(flow, vector)};
    ssize_t moved;
    do {
        moved = flow->out ? sendmsg(flow->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                          : recvmsg(flow->fd, &message, MSG_DONTWAIT);
    } while (moved < 0 && errno == EINTR);
    if (moved > 0) {
        step(flow, (size_t)moved);
        return moved;
    }
    if (moved == 0)
        errno = 0;
    return moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) ? 0 : -1;
}

struct run {
    struct cb_tcp_comm *comm;
    const cb_call *call;
    struct cb_flow *flows;
    size_t count;
    struct pollfd *polls;  /* the alarm's is the last */
    double since;          /* the last progress */
    double began, look_at; /* the next look at the links */
};

enum { MOVED, NOTHING_MOVED, FINISHED, LOST };

/* One look at every flow. */
static int turn(struct run *run, size_t *lost) {
    bool moved = false, finished = true;
    for (size_t i = 0; i < run->count; i++) {
        struct cb_flow *flow = &run->flows[i];
        if (flow->done < flow->ready) {
            ssize_t bytes = move(flow);
            if (bytes < 0) {
                *lost = flow->peer;
                return LOST;
            }
            moved |= bytes > 0;
        }
        finished &= flow->done == flow->total;
    }
    return finished ? FINISHED : moved ? MOVED : NOTHING_MOVED;
}

static void sleep_a_slice(struct run *run) {
    for (size_t i = 0; i < run->count; i++) {
        const struct cb_flow *flow = &run->flows[i];
        run->polls[i] =
            (struct pollfd){.fd = flow->done < flow->ready ? flow->fd : -1, .events = flow->out ? POLLOUT : POLLIN};
    }
    run->polls[run->count] = (struct pollfd){.fd = run->comm->alarm, .events = POLLIN};
    if (poll(run->polls, (nfds_t)run->count + 1, SLICE_MS) < 0) {
        if (errno != EINTR) /* as in watch.c */
            cb_nap(1e-3);
        run->polls[run->count].revents = POLLIN; /* look at everything again */
    }
}

/* A rank that we wait for: one that has still to send, if there is any. */
static size_t whom_we_wait_for(const struct run *run) {
    size_t peer = 0;
    for (size_t i = run->count; i-- > 0;)
        if (run->flows[i].done < run->flows[i].ready && (!run->flows[i].out || !peer))
            peer = run->flows[i].peer;
    return peer;
}

/* A worker cannot tell whom rank 0 waits for, so it gives rank 0 time to say so. */
static bool has_stalled(const struct run *run) {
    const cobre_comm *base = &run->comm->base;
    double limit = base->stall_secs + (base->rank ? 1 : 0);
    return base->stall_secs > 0 && cb_now() - run->since > limit;
}

/* Also while something moves: what does not may be what all wait for. */
static cobre_status look_at_links(struct run *run, double now) {
    if (now < run->look_at)
        return COBRE_OK;
    run->look_at = now + LOOK_SECONDS;
    return cb_links_look(run->comm, run->call, run->began);
}

static cobre_status look_around(struct run *run) {
    struct cb_tcp_comm *comm = run->comm;
    const cobre_comm *base = &comm->base;
    if (run->polls[run->count].revents && cb_tcp_alarm(comm))
        return cb_tcp_broken(comm, run->call);
    if (base->interrupted && base->interrupted(base->interrupted_arg))
        return cb_tcp_fail(comm, run->call,
                           &(cb_failure){.cause = COBRE_CAUSE_INTERRUPTED, .culprit = (uint32_t)base->rank});
    if (has_stalled(run))
        return cb_tcp_fail(comm, run->call,
                           &(cb_failure){.cause = COBRE_CAUSE_STALLED, .culprit = (uint32_t)whom_we_wait_for(run)});
    return COBRE_OK;
}

static cobre_status loop(struct run *run, cb_advance *advance, void *context) {
    double yield_until = 0;
    for (;;) {
        size_t lost = 0;
        int result = turn(run, &lost);
        if (advance && (result == MOVED || result == FINISHED))
            advance(context);
        if (result == FINISHED)
            return COBRE_OK;
        if (result == LOST)
            return cb_tcp_lost(run->comm, run->call, lost, errno);
        double now = cb_now();
        CB_TRY(look_at_links(run, now));
        if (result == MOVED) {
            yield_until = 0;
            run->since = now;
            continue;
        }
        if (yield_until == 0)
            yield_until = now + YIELD_SECONDS;
        if (now < yield_until) {
            sched_yield();
            continue;
        }
        sleep_a_slice(run);
        CB_TRY(look_around(run));
    }
}

cobre_status cb_flow_run(struct cb_tcp_comm *comm, const cb_call *call, struct cb_flow *flows, size_t count,
                         cb_advance *advance, void *context) {
    struct pollfd few[9];
    struct run run = {.comm = comm, .call = call, .flows = flows, .count = count, .polls = few, .since = cb_now()};
    run.began = run.since;
    run.look_at = run.began + LOOK_SECONDS;
    if (count + 1 > sizeof few / sizeof *few)
        run.polls = malloc((count + 1) * sizeof *run.polls);
    if (!run.polls)
        return cb_tcp_no_memory(comm, call);
    cobre_status status = loop(&run, advance, context);
    if (run.polls != few)
        free(run.polls);
    return status;
}
