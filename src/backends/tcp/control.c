/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: reports failures between the ranks.
 *
 * A rank that finds a failure tells rank 0's watcher, which decides which one was the first and tells all ranks. The
 * reporter waits a moment for that message, so that all name the same cause. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

void cb_control_send(int fd, uint8_t tag, const cb_failure *failure) {
    unsigned char frame[CB_HEADER_BYTES + CB_FAILURE_BYTES];
    size_t bytes = failure ? CB_FAILURE_BYTES : 0;
    cb_pack_header(&(cb_header){.length = bytes, .tag = tag}, frame);
    if (failure)
        cb_pack_failure(failure, frame + CB_HEADER_BYTES);
    /* Two such frames a life always fit the buffer; where they do not, the other side is gone. */
    send(fd, frame, CB_HEADER_BYTES + bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Bytes that the frame in the inbox has in all, as far as is known; 0: it is nonsense. */
static size_t frame_bytes(const struct cb_inbox *inbox, cb_header *header) {
    if (inbox->got < CB_HEADER_BYTES)
        return CB_HEADER_BYTES;
    if (!cb_parse_header(inbox->bytes, header))
        return 0;
    size_t payload = header->tag == CB_TAG_FAILED ? CB_FAILURE_BYTES : 0;
    return header->tag >= CB_TAG_LEFT && header->length == payload ? CB_HEADER_BYTES + payload : 0;
}

int cb_control_receive(int fd, struct cb_inbox *inbox, size_t ranks, cb_failure *failure) {
    for (;;) {
        cb_header header = {0};
        size_t whole = frame_bytes(inbox, &header);
        errno = ECONNRESET;
        if (whole == 0)
            return -1;
        if (inbox->got == whole) {
            inbox->got = 0;
            if (header.tag == CB_TAG_FAILED && !cb_parse_failure(inbox->bytes + CB_HEADER_BYTES, ranks, failure))
                return -1;
            return header.tag;
        }
        ssize_t got = recv(fd, inbox->bytes + inbox->got, whole - inbox->got, MSG_DONTWAIT);
        if (got > 0)
            inbox->got += (size_t)got;
        else if (got == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
            return -1;
        else if (errno != EINTR)
            return 0;
    }
}

static void break_with(struct cb_tcp_comm *comm, const cb_failure *failure) {
    if (comm->failure.cause != COBRE_CAUSE_NONE)
        return;
    comm->failure = *failure;
    comm->failure.pid = comm->pids[failure->culprit];
}

static void end_control(struct cb_tcp_comm *comm, const cb_failure *failure) {
    comm->alarm = -1; /* no more news */
    break_with(comm, failure);
}

static void read_control(struct cb_tcp_comm *comm) {
    cb_failure failure = cb_link_closed(comm->base.rank);
    if (!cb_link_is_ours(&comm->control_link)) {
        end_control(comm, &failure);
        return;
    }
    for (;;) {
        switch (cb_control_receive(comm->control, &comm->inbox, comm->base.size, &failure)) {
        case CB_TAG_LEFT: comm->coordinator_left = true; break;
        case CB_TAG_FAILED: break_with(comm, &failure); break;
        case 0: return;
        default:
            failure = cb_link_failure(&comm->control_link, comm->base.rank, errno);
            if (comm->coordinator_left)
                comm->alarm = -1;
            else
                end_control(comm, &failure);
            return;
        }
    }
}

bool cb_tcp_alarm(struct cb_tcp_comm *comm) {
    cb_failure failure;
    if (comm->watch) {
        if (cb_watch_failure(comm->watch, &failure))
            comm->failure = failure;
    } else if (comm->alarm >= 0) {
        read_control(comm);
    }
    return comm->failure.cause != COBRE_CAUSE_NONE;
}

cobre_status cb_tcp_broken(struct cb_tcp_comm *comm, const cb_call *call) {
    return cb_report_failure(&comm->base, (cb_operation)call->print.operation, comm->sequence, &comm->failure);
}

/* Waits a moment for rank 0's word. */
static bool await_word(struct cb_tcp_comm *comm, double seconds) {
    for (double until = cb_now() + seconds; !cb_tcp_alarm(comm) && comm->alarm >= 0;) {
        struct pollfd wait = {.fd = comm->alarm, .events = POLLIN};
        const cobre_comm *base = &comm->base;
        double left = until - cb_now();
        if (left <= 0 || (base->interrupted && base->interrupted(base->interrupted_arg)))
            break;
        poll(&wait, 1, left < 0.05 ? (int)(left * 1e3) + 1 : 50);
    }
    return comm->failure.cause != COBRE_CAUSE_NONE;
}

void cb_tcp_tell(struct cb_tcp_comm *comm, uint8_t tag, const cb_failure *failure) {
    if (comm->control >= 0 && cb_link_is_ours(&comm->control_link))
        cb_control_send(comm->control, tag, failure);
}

cobre_status cb_tcp_fail(struct cb_tcp_comm *comm, const cb_call *call, const cb_failure *failure) {
    if (comm->watch) {
        comm->failure = *failure;
        cb_watch_fail(comm->watch, &comm->failure);
    } else if (!cb_tcp_alarm(comm)) { /* it may have ended, and sending would swallow how */
        cb_tcp_tell(comm, CB_TAG_FAILED, failure);
        if (!await_word(comm, 1))
            break_with(comm, failure);
    }
    return cb_tcp_broken(comm, call);
}

cobre_status cb_tcp_no_memory(struct cb_tcp_comm *comm, const cb_call *call) {
    return cb_tcp_fail(comm, call,
                       &(cb_failure){.cause = COBRE_CAUSE_TRANSPORT,
                                     .culprit = (uint32_t)comm->base.rank,
                                     .code = ENOMEM,
                                     .text = "out of memory"});
}

/* Its rank left in order, or died; the control connections know. Waits for their word. */
static bool has_left(struct cb_tcp_comm *comm, size_t peer) {
    if (comm->watch)
        return cb_watch_has_left(comm->watch, peer);
    await_word(comm, peer ? comm->timeout + 1 : 0.5); /* a host that is gone ends control within the timeout */
    return peer == 0 && comm->coordinator_left;
}

/* A connection ended that was still needed. */
cobre_status cb_tcp_lost(struct cb_tcp_comm *comm, const cb_call *call, size_t peer, int error) {
    cb_failure failure = cb_link_failure(cb_link_to(comm, peer), comm->base.rank, error);
    if (failure.cause == COBRE_CAUSE_PEER_DIED && has_left(comm, peer))
        failure.cause = COBRE_CAUSE_PEER_LEFT;
    if (!comm->watch && comm->failure.cause != COBRE_CAUSE_NONE)
        return cb_tcp_broken(comm, call);
    return cb_tcp_fail(comm, call, &failure);
}

void cb_tcp_leave(struct cb_tcp_comm *comm, const cb_failure *failure) {
    if (comm->watch)
        cb_watch_say_leave(comm->watch, failure);
    else
        cb_tcp_tell(comm, failure ? CB_TAG_FAILED : CB_TAG_LEFT, failure);
}

/* To exit inside a call, from another thread or a signal handler, is not leaving in order: the others wait for us. */
void cb_tcp_at_exit(cobre_comm *base) {
    cb_failure deserted = {.cause = COBRE_CAUSE_PEER_LEFT, .culprit = (uint32_t)base->rank};
    bool inside = atomic_load_explicit(&base->busy, memory_order_relaxed);
    cb_tcp_leave((struct cb_tcp_comm *)base, inside ? &deserted : NULL);
}
