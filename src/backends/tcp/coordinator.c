/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator.c: rank 0 gathers the job: a data and a control connection of every other rank, then the table for all.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

struct gathering {
    struct cb_tcp_comm *comm;
    const cb_options *options;
    const struct cb_tcp_options *own; /* part of them */
    struct cb_door_keeper *keeper;
    cb_address *addresses; /* by rank */
    struct cb_listeners listeners;
    size_t missing; /* connections */
    int endings;    /* an epoll of those that are in: readable when one ends */
    unsigned char job[CB_JOB_ID];
    double deadline;
};

static cobre_status refuse_port(const char *host, uint16_t port, int error) {
    const char *advice = error == EADDRINUSE ? "choose another COBRE_TCP_PORT, or end the program that uses this one"
                         : error < 0
                             ? "set COBRE_TCP_BIND to a name or address of this host"
                             : "set COBRE_TCP_BIND to an address of this host and COBRE_TCP_PORT to a port above 1023";
    return CB_TCP_ERROR(error > 0 ? error : 0, advice, "tcp: rank 0 cannot listen on %s port %u: %s", host, port,
                        error < 0 ? gai_strerror(error) : strerror(error));
}

cobre_status cb_tcp_check_host(const struct cb_tcp_options *own) {
    if (!cb_tcp_by_unix_only(own) || !own->coordinator || !cb_net_is_elsewhere(own->coordinator))
        return COBRE_OK;
    return CB_TCP_ERROR(0, CB_TCP_TRUST,
                        "tcp: without a token all ranks must be on one host, but %s has an address of another host",
                        own->coordinator);
}

/* Without a token only this user's processes of this machine can be trusted, and nobody else needs to reach us. */
static cobre_status check_trust(const struct cb_tcp_options *own) {
    if (own->bind && !cb_net_is_loopback(own->bind))
        return CB_TCP_ERROR(0, CB_TCP_TRUST, "tcp: COBRE_TCP_BIND=%s would let anyone join: there is no token",
                            own->bind);
    return cb_tcp_check_host(own);
}

/* The launcher's socket is bound already. */
static int listen_at_given(struct cb_listeners *listeners, int fd) {
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* the program may open the port once more */
    fcntl(fd, F_SETFL, O_NONBLOCK);
    listeners->fds[listeners->count++] = fd;
    return listen(fd, SOMAXCONN) == 0 ? 0 : errno;
}

static cobre_status listen_for_hosts(struct gathering *gathering) {
    const struct cb_tcp_options *own = gathering->own;
    struct cb_listeners *listeners = &gathering->listeners;
    uint16_t port = own->port;
    size_t before = listeners->count;
    int error = 0;
    if (own->listen_fd >= 0)
        error = listen_at_given(listeners, own->listen_fd);
    else
        cb_net_listen(listeners, own->bind, &port, &error);
    if (own->listen_fd < 0 && listeners->count > before) /* addresses that this machine has not do not count */
        error = 0;
    return error ? refuse_port(own->bind ? own->bind : "all addresses", own->port, error) : COBRE_OK;
}

/* First the Unix socket: a rank of this host that can reach the port has the better way, too. With a token the job can do
 * without it, so that nobody stops it by taking the name. Without one it cannot: at most one such job has the port. */
static cobre_status open_listeners(struct gathering *gathering) {
    const struct cb_tcp_options *own = gathering->own;
    struct cb_unix_name name;
    cb_net_name_of_port(own->port, &name);
    if (!cb_tcp_by_unix_only(own) && cb_tcp_avoids_unix())
        return listen_for_hosts(gathering);
    if (cb_tcp_by_unix_only(own))
        CB_TRY(check_trust(own));
    if (!cb_net_listen_unix(&gathering->listeners, &name) && !own->token[0])
        return refuse_port("this host's", own->port, errno);
    return cb_tcp_by_unix_only(own) ? COBRE_OK : listen_for_hosts(gathering);
}

static void set_address(const struct sockaddr_storage *from, cb_address *address) {
    if (from->ss_family == AF_INET) {
        address->family = 4;
        memcpy(address->bytes, &((const struct sockaddr_in *)from)->sin_addr, 4);
    } else if (from->ss_family == AF_INET6) {
        address->family = 6;
        memcpy(address->bytes, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
    } else {
        address->family = 1;
    }
}

/* Where the guest can be reached for its ring link: on this host by its Unix socket, else where it comes from, at the port
 * that it told. */
static cb_address address_of(const struct cb_guest *guest) {
    struct sockaddr_storage from = {0};
    socklen_t length = sizeof from;
    cb_address address = {.port = guest->hello.port};
    if (getpeername(guest->fd, (struct sockaddr *)&from, &length) == 0)
        set_address(&from, &address);
    return address;
}

/* The same as that rank sees it: who comes from elsewhere reaches a rank of this host where it has reached us. */
static cb_address address_for(const struct gathering *gathering, size_t rank, cb_address address) {
    struct sockaddr_storage here = {0};
    socklen_t length = sizeof here;
    if (address.family == 1 && getsockname(gathering->comm->data[rank], (struct sockaddr *)&here, &length) == 0)
        set_address(&here, &address);
    if (address.family != 1 && address.port == 0)
        address.family = 0;
    return address;
}

static unsigned judge(const struct gathering *gathering, const cb_hello *hello) {
    const struct cb_tcp_comm *comm = gathering->comm;
    if (hello->size != comm->base.size)
        return CB_REFUSED_SIZE;
    if (hello->rank == 0 || hello->rank >= comm->base.size)
        return CB_REFUSED_RANK_RANGE;
    bool begun = sodium_memcmp(hello->job, gathering->job, CB_JOB_ID) == 0 && comm->data[hello->rank] >= 0;
    bool complete = comm->controls[hello->rank] >= 0;
    switch (hello->kind) {
    case CB_DATA: return comm->data[hello->rank] >= 0 ? CB_REFUSED_RANK_TAKEN : CB_NOT_REFUSED;
    case CB_CONTROL: return !begun ? CB_REFUSED_JOB : complete ? CB_REFUSED_RANK_TAKEN : CB_NOT_REFUSED;
    default: return CB_REFUSED_KIND;
    }
}

static void seat(struct gathering *gathering, struct cb_guest *guest) {
    struct cb_tcp_comm *comm = gathering->comm;
    size_t rank = guest->hello.rank;
    if (!cb_keeper_answer(gathering->keeper, guest, CB_NOT_REFUSED))
        return;
    struct epoll_event ending = {.events = EPOLLRDHUP, .data.u64 = rank};
    epoll_ctl(gathering->endings, EPOLL_CTL_ADD, guest->fd, &ending);
    gathering->missing--;
    if (guest->hello.kind == CB_DATA) {
        comm->data[rank] = guest->fd;
        comm->pids[rank] = guest->hello.pid;
        gathering->addresses[rank] = address_of(guest);
    } else {
        comm->controls[rank] = guest->fd;
        cb_net_for_control(guest->fd, comm->timeout);
    }
}

/* The first rank that came and went again, 0 if none did. */
static size_t find_deserter(const struct gathering *gathering) {
    struct epoll_event ending;
    return epoll_wait(gathering->endings, &ending, 1, 0) > 0 ? (size_t)ending.data.u64 : 0;
}

static size_t first_missing(const struct cb_tcp_comm *comm) {
    size_t r = 1;
    while (r + 1 < comm->base.size && comm->data[r] >= 0 && comm->controls[r] >= 0)
        r++;
    return r;
}

/* Says it here, and to those who are in: on the data connection to who has no other yet. */
static cobre_status give_up(struct gathering *gathering, cb_failure failure, const char *advice) {
    struct cb_tcp_comm *comm = gathering->comm;
    for (size_t r = 1; r < comm->base.size; r++) {
        int fd = comm->controls[r] >= 0 ? comm->controls[r] : comm->data[r];
        if (fd >= 0)
            cb_control_send(fd, CB_TAG_FAILED, &failure);
    }
    return CB_TCP_BLAME(failure.cause, failure.culprit, failure.code, advice, "tcp: %s%s", failure.text,
                        cb_keeper_notes(gathering->keeper));
}

static const char *const how_to_come = "start all ranks with the same COBRE_TCP_SIZE and token (without a token: "
                                       "as the same user, on this host), and with COBRE_TCP_COORDINATOR leading to "
                                       "this host; COBRE_TCP_TIMEOUT_SECS sets the longest wait";

/* A rank of another host, which has been refused, cannot say so here. */
static const char *how_to_come_to(const struct cb_tcp_options *own) {
    return cb_tcp_by_unix_only(own) ? "start all ranks on this host, as this user, with the same COBRE_TCP_SIZE and "
                                      "COBRE_TCP_PORT; for ranks on other hosts " CB_TCP_TRUST
                                    : how_to_come;
}

static cobre_status give_up_on(struct gathering *gathering, cobre_cause cause, size_t rank, int error, const char *how,
                               const char *advice) {
    cb_failure failure = {.cause = cause, .culprit = (uint32_t)rank, .code = error};
    snprintf(failure.text, sizeof failure.text, "rank %zu of %zu %s", rank, gathering->comm->base.size, how);
    return give_up(gathering, failure, advice);
}

/* It has said that it leaves, or it died. */
static cobre_status give_up_without(struct gathering *gathering, size_t gone) {
    struct cb_tcp_comm *comm = gathering->comm;
    struct cb_inbox inbox = {.got = 0};
    cb_failure ignored;
    bool left = cb_control_receive(comm->data[gone], &inbox, comm->base.size, &ignored) == CB_TAG_LEFT;
    return give_up_on(gathering, left ? COBRE_CAUSE_PEER_LEFT : COBRE_CAUSE_PEER_DIED, gone, ECONNABORTED,
                      left ? "gave up while the job formed" : "died while the job formed",
                      "look at that rank's output; start all ranks again");
}

static cobre_status give_up_here(struct gathering *gathering, int error, const char *text, const char *advice) {
    cb_failure failure = {.cause = COBRE_CAUSE_TRANSPORT, .code = error};
    snprintf(failure.text, sizeof failure.text, "rank 0 %s", text);
    return give_up(gathering, failure, advice);
}

/* No guest came: is it time to stop? */
static cobre_status look_around(struct gathering *gathering, int error) {
    size_t gone = find_deserter(gathering), missing = first_missing(gathering->comm);
    if (gone)
        return give_up_without(gathering, gone);
    if (error == EMFILE)
        return give_up_here(gathering, EMFILE, "has too many open files to let the others in",
                            "raise the limit of open files: ulimit -n");
    if (error == EINTR)
        return give_up_on(gathering, COBRE_CAUSE_TRANSPORT, missing, EINTR,
                          "was still missing when rank 0 was interrupted", how_to_come);
    if (cb_now() > gathering->deadline)
        return give_up_on(gathering, COBRE_CAUSE_TRANSPORT, missing, ETIMEDOUT, "did not come in time",
                          how_to_come_to(gathering->own));
    return COBRE_OK;
}

static cobre_status judge_and_seat(struct gathering *gathering, struct cb_guest *guest) {
    struct cb_tcp_comm *comm = gathering->comm;
    unsigned refusal = judge(gathering, &guest->hello);
    if (!refusal) {
        seat(gathering, guest);
        return COBRE_OK;
    }
    cb_keeper_answer(gathering->keeper, guest, refusal);
    /* It is one of ours, and the job cannot be what was meant. */
    if (refusal == CB_REFUSED_SIZE && (gathering->own->token[0] || !gathering->own->open)) {
        cb_failure failure = {.cause = COBRE_CAUSE_TRANSPORT, .code = EINVAL};
        failure.culprit = guest->hello.rank < comm->base.size ? guest->hello.rank : 0;
        snprintf(failure.text, sizeof failure.text,
                 "rank %u was told that there are %u ranks, rank 0 that there are %zu", guest->hello.rank,
                 guest->hello.size, comm->base.size);
        return give_up(gathering, failure, how_to_come);
    }
    return COBRE_OK;
}

static struct cb_patience patience_of(const struct gathering *gathering) {
    return (struct cb_patience){
        .until = gathering->deadline, .options = gathering->options, .alarm = gathering->endings};
}

static cobre_status gather(struct gathering *gathering) {
    cobre_status status = COBRE_OK;
    struct cb_patience patience = patience_of(gathering);
    while (gathering->missing && !status) {
        struct cb_guest guest;
        if (cb_keeper_next(gathering->keeper, &patience, &guest))
            status = judge_and_seat(gathering, &guest);
        else
            status = look_around(gathering, errno);
    }
    return status;
}

static bool send_tables(struct gathering *gathering) {
    struct cb_tcp_comm *comm = gathering->comm;
    size_t size = comm->base.size, bytes = cb_table_bytes(size);
    unsigned char *frame = malloc(CB_HEADER_BYTES + bytes);
    bool sent = frame != NULL;
    for (size_t r = 1; r < size && sent; r++) {
        cb_address successor = r + 1 < size ? address_for(gathering, r, gathering->addresses[r + 1]) : (cb_address){0};
        cb_pack_header(&(cb_header){.length = bytes, .tag = CB_TAG_TABLE}, frame);
        cb_pack_table(&successor, comm->pids, size, frame + CB_HEADER_BYTES);
        struct cb_patience patience = patience_of(gathering);
        sent = cb_net_send(comm->data[r], frame, CB_HEADER_BYTES + bytes, &patience);
    }
    free(frame);
    return sent;
}

static void close_door(struct gathering *gathering) {
    if (gathering->keeper)
        cb_keeper_close(gathering->keeper);
    gathering->keeper = NULL;
    cb_net_close(&gathering->listeners);
    if (gathering->endings >= 0)
        close(gathering->endings);
    gathering->endings = -1;
}

static cobre_status tell(struct gathering *gathering) {
    struct cb_tcp_comm *comm = gathering->comm;
    bool sent = send_tables(gathering);
    int error = errno;
    size_t gone = sent ? 0 : find_deserter(gathering);
    if (gone)
        return give_up_without(gathering, gone);
    if (!sent)
        return give_up_here(gathering, error, "could not tell the others that all are in",
                            "look at the other ranks' output; start all ranks again");
    close_door(gathering); /* the watcher needs descriptors, too */
    comm->watch = cb_watch_start(comm->base.size, comm->controls, comm->pids, &comm->alarm);
    if (!comm->watch)
        return CB_TCP_ERROR(errno, "raise the limits of open files and processes: ulimit -n, ulimit -u",
                            "tcp: cannot start the watcher thread: %s", strerror(errno));
    return COBRE_OK;
}

cobre_status cb_tcp_coordinate(struct cb_tcp_comm *comm, const cb_options *options) {
    struct gathering gathering = {.comm = comm,
                                  .options = options,
                                  .own = cb_tcp_own(options),
                                  .missing = 2 * (comm->base.size - 1),
                                  .deadline = cb_now() + options->join_timeout_secs};
    comm->pids[0] = getpid();
    if (comm->base.size == 1)
        return COBRE_OK; /* nobody to wait for */
    randombytes_buf(gathering.job, CB_JOB_ID);
    cobre_status status = open_listeners(&gathering);
    gathering.endings = epoll_create1(EPOLL_CLOEXEC);
    gathering.addresses = calloc(comm->base.size, sizeof *gathering.addresses);
    gathering.keeper = cb_keeper_open(&gathering.listeners, gathering.own->token, comm->base.size, gathering.job);
    if (!status && gathering.endings < 0)
        status = CB_TCP_ERROR(errno, "raise the limit of open files: ulimit -n",
                              "tcp: rank 0 cannot watch the others come: %s", strerror(errno));
    if (!status && (!gathering.addresses || !gathering.keeper))
        status = CB_TCP_ERROR(ENOMEM, "free memory", "tcp: rank 0 is out of memory");
    if (!status)
        status = gather(&gathering);
    if (!status)
        status = tell(&gathering);
    close_door(&gathering);
    free(gathering.addresses);
    comm->next = comm->data[1];
    comm->previous = comm->data[comm->base.size - 1];
    return status;
}
