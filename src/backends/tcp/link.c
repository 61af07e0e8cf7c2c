/* SPDX-License-Identifier: Apache-2.0 */
/* link.c: the state of a rank's connections: the rank at the other end, whether the descriptor is still ours, and
 * whether the other host answers.
 *
 * A host that has vanished ends no connection. Three things find it, each within the timeout: the kernel's keepalive,
 * where nothing is under way (it ends the connection with an errno); a waiting rank's look at TCP_INFO, where something
 * is; on control connections, which never fill, TCP_USER_TIMEOUT. The last one is not for data: a live rank that
 * computes does not read, its window closes, and TCP_USER_TIMEOUT would end the connection. Its kernel still
 * answers. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#include "backends/tcp/tcp.h"

/* A kernel leaves out answers that follow each other within 0.5 s; the next question may be a second away. */
#define LEAST_SILENCE 1.5
#define AT_ONCE_SECONDS 0.3

void cb_link_note(struct cb_link *link, int fd, size_t peer) {
    *link = (struct cb_link){.fd = fd, .peer = peer};
    cb_identify(fd, &link->id);
    cb_net_own_text(fd, link->here, sizeof link->here);
    cb_net_peer_text(fd, link->there, sizeof link->there);
}

bool cb_link_is_ours(const struct cb_link *link) {
    return cb_is_still(link->fd, &link->id);
}

static void note_data(struct cb_tcp_comm *comm, int fd, size_t peer) {
    if (fd < 0)
        return;
    cb_link_note(&comm->links[comm->link_count++], fd, peer);
    cb_net_keep_alive(fd, comm->timeout);
}

void cb_links_note(struct cb_tcp_comm *comm) {
    const cobre_comm *base = &comm->base;
    for (size_t r = 0; r < base->size; r++)
        note_data(comm, comm->data[r], r);
    if (base->rank == 0)
        return;
    if (comm->next != comm->data[0])
        note_data(comm, comm->next, base->rank + 1);
    if (comm->previous != comm->data[0])
        note_data(comm, comm->previous, base->rank - 1);
    cb_link_note(&comm->control_link, comm->control, 0);
}

bool cb_links_are_ours(const struct cb_tcp_comm *comm, bool ring) {
    size_t count = ring || comm->base.rank == 0 ? comm->link_count : 1;
    for (size_t i = 0; i < count; i++)
        if (!cb_link_is_ours(&comm->links[i]))
            return false;
    return true;
}

void cb_links_forget(struct cb_tcp_comm *comm) {
    for (size_t i = 0; i < comm->link_count; i++) {
        const struct cb_link *link = &comm->links[i];
        if (cb_link_is_ours(link))
            continue;
        int *places[] = {&comm->data[comm->base.rank ? 0 : link->peer], &comm->next, &comm->previous};
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            if (*places[p] == link->fd)
                *places[p] = -1;
    }
    if (comm->control_link.id.inode && !cb_link_is_ours(&comm->control_link))
        comm->control = -1;
    if (comm->watch)
        cb_watch_forget(comm->watch);
}

cb_failure cb_link_closed(size_t self) {
    return (cb_failure){.cause = COBRE_CAUSE_TRANSPORT,
                        .culprit = (uint32_t)self,
                        .code = EBADF,
                        .text = "the program closed cobre's connections"};
}

/* Lower rank first: both sides say the same. The one to blame is the one that cannot be reached from here; when a host
 * vanishes, that is its rank, whoever finds it. */
static cb_failure unreachable(const struct cb_link *link, size_t self) {
    cb_failure failure = {.cause = COBRE_CAUSE_TRANSPORT, .culprit = (uint32_t)link->peer, .code = ETIMEDOUT};
    bool first = self < link->peer;
    snprintf(failure.text, sizeof failure.text, "rank %zu on host %s and rank %zu on host %s cannot reach each other",
             first ? self : link->peer, first ? link->here : link->there, first ? link->peer : self,
             first ? link->there : link->here);
    return failure;
}

/* Where only one direction is cut, the other side may give up first, and the end that its kernel sends arrives here as
 * that of a process that died does. But then our kernel's questions have found no answer for a while; where a process
 * dies, or a host starts anew, the end comes at once. */
static bool was_silent(int fd) {
    struct tcp_info info = {0};
    int every = 0; /* the first question comes after so many seconds */
    socklen_t length = sizeof info, every_length = sizeof every;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
           getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every, &every_length) == 0 &&
           (info.tcpi_probes > 0 || info.tcpi_retransmits > 1) &&
           1e-3 * info.tcpi_last_ack_recv > every + AT_ONCE_SECONDS;
}

cb_failure cb_link_failure(const struct cb_link *link, size_t self, int error) {
    switch (error) {
    case 0:
    case ECONNRESET:
    case ENOTCONN:
    case EPIPE:
        if (was_silent(link->fd))
            return unreachable(link, self);
        return (cb_failure){.cause = COBRE_CAUSE_PEER_DIED, .culprit = (uint32_t)link->peer};
    case EBADF:
    case ENOTSOCK: return cb_link_closed(self);
    case EFAULT:
    case ENOMEM:
        return (cb_failure){.cause = COBRE_CAUSE_TRANSPORT,
                            .culprit = (uint32_t)self,
                            .code = error,
                            .text = "the system could not move the data"};
    default: return unreachable(link, self); /* the kernel gave up, for the reason that it heard of, if it heard one */
    }
}

const struct cb_link *cb_link_to(const struct cb_tcp_comm *comm, size_t peer) {
    size_t i = 0;
    while (i + 1 < comm->link_count && comm->links[i].peer != peer)
        i++;
    return &comm->links[i];
}

/* Has what was sent last, data or a question, not been answered yet? Who has closed its window answers with that, and
 * is asked ever more seldom: so the time since the last answer alone says nothing. A question of the kernel counts in
 * `probes` until it is answered. */
static bool is_unanswered(const struct tcp_info *info) {
    return info->tcpi_probes > 0 || (info->tcpi_unacked > 0 && info->tcpi_last_data_sent < info->tcpi_last_ack_recv);
}

/* errno of a link that does not work any more, 0: it does, or is not TCP. */
static int look_at(struct cb_link *link, double since, double timeout) {
    struct tcp_info info = {0};
    int error = 0;
    socklen_t length = sizeof info, error_length = sizeof error;
    if (getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return 0;
    if (info.tcpi_state == TCP_CLOSE) {
        getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &error_length);
        return error;
    }
    double now = cb_now(), answered = is_unanswered(&info) ? now - 1e-3 * info.tcpi_last_ack_recv : now;
    if (link->answered < since)
        link->answered = since;
    if (link->answered < answered)
        link->answered = answered;
    return now - link->answered > timeout ? ETIMEDOUT : 0;
}

cobre_status cb_links_look(struct cb_tcp_comm *comm, const cb_call *call, double since) {
    double timeout = comm->timeout > LEAST_SILENCE ? comm->timeout : LEAST_SILENCE;
    for (size_t i = 0; i < comm->link_count; i++) {
        struct cb_link *link = &comm->links[i];
        int error = look_at(link, since, timeout);
        if (!error)
            continue;
        cb_failure failure = cb_link_failure(link, comm->base.rank, error);
        if (failure.cause != COBRE_CAUSE_PEER_DIED) /* who died is missed when it is needed */
            return cb_tcp_fail(comm, call, &failure);
    }
    return COBRE_OK;
}
