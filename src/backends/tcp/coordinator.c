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

/* Both loopback addresses, because `localhost` may lead to either; one of them may not be there. */
static void listen_on_loopback(struct cb_listeners *listeners, uint16_t port, int *error) {
    int other = 0;
    cb_net_listen(listeners, "127.0.0.1", &port, error);
    if (*error != EADDRINUSE)
        cb_net_listen(listeners, "::1", &port, &other);
    if (other == EADDRINUSE)
        *error = other;
}

/* Without a token only this machine can be trusted. */
static cobre_status open_listeners(struct gathering *gathering) {
    const struct cb_tcp_options *own = gathering->own;
    struct cb_listeners *listeners = &gathering->listeners;
    uint16_t port = own->port;
    bool beyond = own->token[0] || own->open;
    int error = 0;
    if (own->listen_fd >= 0) {
        fcntl(own->listen_fd, F_SETFL, O_NONBLOCK);
        listeners->fds[listeners->count++] = own->listen_fd;
        return COBRE_OK;
    }
    if (own->bind && !beyond && !cb_net_is_loopback(own->bind))
        return CB_TCP_ERROR(
            0, "set COBRE_TCP_TOKEN to the same secret on all ranks, or COBRE_TCP_OPEN=1 to trust the network",
            "tcp: COBRE_TCP_BIND=%s would let anyone join: there is no token", own->bind);
    if (own->bind || beyond)
        cb_net_listen(listeners, own->bind, &port, &error);
    else
        listen_on_loopback(listeners, port, &error);
    if (listeners->count)
        return COBRE_OK;
    return refuse_port(own->bind ? own->bind : beyond ? "all addresses" : "loopback", own->port, error);
}

/* Where the guest can be reached for its ring link: where it comes from, at the port that it told. */
static cb_address address_of(const struct cb_guest *guest) {
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    cb_address address = {.port = guest->hello.port};
    if (guest->hello.port == 0 || getpeername(guest->fd, (struct sockaddr *)&from, &length) != 0)
        return address;
    if (from.ss_family == AF_INET) {
        address.family = 4;
        memcpy(address.bytes, &((struct sockaddr_in *)&from)->sin_addr, 4);
    } else if (from.ss_family == AF_INET6) {
        address.family = 6;
        memcpy(address.bytes, &((struct sockaddr_in6 *)&from)->sin6_addr, 16);
    }
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
    case CB_UNIX: return begun && !complete ? CB_NOT_REFUSED : CB_REFUSED_JOB; /* nothing has gone over data yet */
    default: return CB_REFUSED_KIND;
    }
}

static void seat(struct gathering *gathering, struct cb_guest *guest) {
    struct cb_tcp_comm *comm = gathering->comm;
    size_t rank = guest->hello.rank;
    if (!cb_keeper_answer(gathering->keeper, guest, CB_NOT_REFUSED))
        return;
    if (guest->hello.kind == CB_UNIX) {
        close(comm->data[rank]);
        comm->data[rank] = guest->fd;
        return;
    }
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
static size_t find_deserter(const struct cb_tcp_comm *comm) {
    char byte;
    for (size_t r = 1; r < comm->base.size; r++) {
        int fds[] = {comm->data[r], comm->controls[r]};
        for (size_t i = 0; i < 2; i++) {
            ssize_t got = fds[i] < 0 ? -1 : recv(fds[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT);
            if (fds[i] >= 0 && (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)))
                return r;
        }
    }
    return 0;
}

static size_t first_missing(const struct cb_tcp_comm *comm) {
    size_t r = 1;
    while (r + 1 < comm->base.size && comm->data[r] >= 0 && comm->controls[r] >= 0)
        r++;
    return r;
}

/* Says it here, and to those who are in. */
static cobre_status give_up(struct gathering *gathering, size_t culprit, int error, const char *text) {
    struct cb_tcp_comm *comm = gathering->comm;
    cb_failure failure = {.cause = COBRE_CAUSE_TRANSPORT, .culprit = (uint32_t)culprit, .code = error};
    snprintf(failure.text, sizeof failure.text, "%s", text);
    for (size_t r = 1; r < comm->base.size; r++)
        if (comm->controls[r] >= 0)
            cb_control_send(comm->controls[r], CB_TAG_FAILED, &failure);
    return CB_TCP_BLAME(failure.cause, culprit, error,
                        error == EMFILE ? "raise the limit of open files: ulimit -n"
                                        : "start all ranks with the same COBRE_TCP_SIZE and token, and with "
                                          "COBRE_TCP_COORDINATOR leading to this host; COBRE_TCP_TIMEOUT_SECS sets the "
                                          "longest wait",
                        "tcp: %s%s", text, cb_keeper_notes(gathering->keeper));
}

static cobre_status give_up_on(struct gathering *gathering, size_t rank, int error, const char *how) {
    char text[128];
    snprintf(text, sizeof text, "rank %zu of %zu %s", rank, gathering->comm->base.size, how);
    return give_up(gathering, rank, error, text);
}

/* No guest came for a while: is it time to stop? */
static cobre_status look_around(struct gathering *gathering, int error) {
    struct cb_tcp_comm *comm = gathering->comm;
    size_t gone = find_deserter(comm);
    if (gone)
        return give_up_on(gathering, gone, ECONNABORTED, "died while the job formed");
    if (error == EMFILE)
        return give_up(gathering, 0, EMFILE, "rank 0 has too many open files to let the others in");
    if (error == EINTR)
        return give_up_on(gathering, first_missing(comm), EINTR, "was still missing when rank 0 was interrupted");
    if (cb_now() > gathering->deadline)
        return give_up_on(gathering, first_missing(comm), ETIMEDOUT, "did not come in time");
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
    /* It knew the token, so it is one of ours, and the job cannot be what was meant. */
    if (refusal == CB_REFUSED_SIZE && gathering->own->token[0]) {
        char text[128];
        snprintf(text, sizeof text, "rank %u was told that there are %u ranks, rank 0 that there are %zu",
                 guest->hello.rank, guest->hello.size, comm->base.size);
        return give_up(gathering, guest->hello.rank < comm->base.size ? guest->hello.rank : 0, EINVAL, text);
    }
    return COBRE_OK;
}

static cobre_status gather(struct gathering *gathering) {
    cobre_status status = COBRE_OK;
    while (gathering->missing && !status) {
        struct cb_guest guest;
        struct cb_patience patience = {.until = cb_now() + 0.05, .options = gathering->options, .alarm = -1};
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
        cb_address successor = r + 1 < size ? gathering->addresses[r + 1] : (cb_address){0};
        cb_pack_header(&(cb_header){.length = bytes, .tag = CB_TAG_TABLE}, frame);
        cb_pack_table(&successor, comm->pids, size, frame + CB_HEADER_BYTES);
        struct cb_patience patience = {.until = gathering->deadline, .options = gathering->options, .alarm = -1};
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
}

static cobre_status tell(struct gathering *gathering) {
    struct cb_tcp_comm *comm = gathering->comm;
    bool sent = send_tables(gathering);
    int error = errno;
    size_t gone = sent ? 0 : find_deserter(comm);
    if (gone)
        return give_up_on(gathering, gone, ECONNABORTED, "died while the job formed");
    if (!sent)
        return give_up(gathering, 0, error, "rank 0 could not tell the others that all are in");
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
    cb_net_listen_unix(&gathering.listeners);
    gathering.addresses = calloc(comm->base.size, sizeof *gathering.addresses);
    gathering.keeper = cb_keeper_open(&gathering.listeners, gathering.own->token, comm->base.size, gathering.job);
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
