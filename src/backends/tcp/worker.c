/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c: how every rank but 0 joins: a data connection, a control connection, the table, and its links of the ring.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

#define UNIX_SECONDS 5.0 /* for the move to a Unix socket; who has taken its name may not answer */
#define RING_SECONDS 5.0 /* for the links of the ring; where they cannot be made, everything goes over the star */

struct joining {
    struct cb_tcp_comm *comm;
    const cb_options *options;
    const struct cb_tcp_options *own; /* part of them */
    double deadline;
    unsigned char job[CB_JOB_ID];
    char address[64];              /* of the coordinator: a name may have several */
    struct cb_listeners listeners; /* for the ring link of rank - 1 */
    uint16_t listener_port;
};

/* What became of a handshake. */
enum { EXPECTED, REFUSED, CLOSED, NOT_COBRE, IMPOSTOR };

/* EXPECTED: a reply of that type. CLOSED: errno says how. The magic is looked at first: others greet
 * differently, and may then wait for us. */
static int read_reply(int fd, uint8_t expected, const struct cb_patience *patience, cb_reply *reply) {
    enum { MAGIC = 8 };
    unsigned char bytes[CB_REPLY_BYTES];
    if (!cb_net_receive(fd, bytes, MAGIC, patience))
        return CLOSED;
    if (!cb_may_be_ours(bytes, MAGIC))
        return NOT_COBRE;
    if (!cb_net_receive(fd, bytes + MAGIC, sizeof bytes - MAGIC, patience))
        return CLOSED;
    if (!cb_parse_reply(bytes, reply))
        return NOT_COBRE;
    if (reply->type != CB_REFUSAL && reply->version != CB_WIRE_VERSION) {
        reply->type = CB_REFUSAL;
        reply->reason = CB_REFUSED_VERSION;
    }
    return reply->type == expected ? EXPECTED : reply->type == CB_REFUSAL ? REFUSED : NOT_COBRE;
}

/* Both sides prove the token. */
static int shake_hands(const struct joining *joining, int fd, uint8_t kind, const struct cb_patience *patience,
                       cb_reply *reply) {
    unsigned char bytes[CB_HELLO_BYTES], proof[CB_PROOF];
    const cobre_comm *base = &joining->comm->base;
    cb_hello hello = {
        .version = CB_WIRE_VERSION,
        .byte_order = cb_native_byte_order(),
        .size_bytes = sizeof(size_t),
        .kind = kind,
        .rank = (uint32_t)base->rank,
        .size = (uint32_t)base->size,
        .port = kind == CB_DATA ? joining->listener_port : 0,
        .pid = (uint32_t)getpid(),
    };
    randombytes_buf(hello.nonce, CB_NONCE);
    memcpy(hello.job, joining->job, CB_JOB_ID);
    cb_pack_hello(&hello, bytes);
    if (!cb_net_send(fd, bytes, sizeof bytes, patience))
        return CLOSED;
    int result = read_reply(fd, CB_CHALLENGE, patience, reply);
    if (result != EXPECTED)
        return result;
    unsigned char nonce[CB_NONCE];
    memcpy(nonce, reply->secret, CB_NONCE);
    cb_make_proof(joining->own->token, "connects", bytes, nonce, proof);
    if (!cb_net_send(fd, proof, sizeof proof, patience))
        return CLOSED;
    result = read_reply(fd, CB_WELCOME, patience, reply);
    if (result != EXPECTED)
        return result;
    cb_make_proof(joining->own->token, "accepts", bytes, nonce, proof);
    return sodium_memcmp(proof, reply->secret, CB_PROOF) == 0 ? EXPECTED : IMPOSTOR;
}

static cobre_status refused(const struct joining *joining, const cb_reply *reply) {
    const struct cb_tcp_options *own = joining->own;
    static const char *const advice[] = {
        [CB_REFUSED_VERSION] = "run the same version of cobre on all hosts",
        [CB_REFUSED_BYTE_ORDER] = "run all ranks on machines of one kind",
        [CB_REFUSED_TYPE_SIZES] = "run all ranks on machines of one kind",
        [CB_REFUSED_TOKEN] = "give all ranks the same COBRE_TCP_TOKEN or COBRE_TCP_TOKEN_FILE",
        [CB_REFUSED_SIZE] = "give all ranks the same COBRE_TCP_SIZE",
        [CB_REFUSED_RANK_RANGE] = "give each process a COBRE_TCP_RANK below COBRE_TCP_SIZE; rank 0 is the coordinator",
        [CB_REFUSED_RANK_TAKEN] = "give each process its own COBRE_TCP_RANK",
        [CB_REFUSED_JOB] = "choose another COBRE_TCP_PORT for each job",
        [CB_REFUSED_KIND] = "run the same version of cobre on all hosts",
    };
    char expected[64] = "";
    if (reply->reason == CB_REFUSED_SIZE)
        snprintf(expected, sizeof expected, " (it expects %u, this rank %zu)", reply->number, joining->comm->base.size);
    if (reply->reason == CB_REFUSED_VERSION)
        snprintf(expected, sizeof expected, " (%u, this one %d)", reply->version, CB_WIRE_VERSION);
    bool known = reply->reason && reply->reason < sizeof advice / sizeof *advice;
    return CB_TCP_ERROR(ECONNREFUSED, known ? advice[reply->reason] : "look at rank 0's message",
                        "tcp: the coordinator at %s port %u refused rank %zu: %s%s", own->coordinator, own->port,
                        joining->comm->base.rank, cb_refusal_text(reply->reason), expected);
}

static cobre_status not_the_coordinator(const struct joining *joining, int result) {
    const struct cb_tcp_options *own = joining->own;
    if (result == IMPOSTOR)
        return CB_TCP_ERROR(EPROTO, "give all ranks the same token; see who listens there",
                            "tcp: what answers at %s port %u does not know this job's token", own->coordinator,
                            own->port);
    return CB_TCP_ERROR(EPROTO, "choose another COBRE_TCP_PORT, or see that COBRE_TCP_COORDINATOR leads to rank 0",
                        "tcp: what answers at %s port %u is not a cobre coordinator", own->coordinator, own->port);
}

static cobre_status never_reached(const struct joining *joining, int error) {
    const struct cb_tcp_options *own = joining->own;
    if (error == EINTR)
        return CB_TCP_ERROR(EINTR, "the program's interrupted hook asked for this",
                            "tcp: rank %zu was interrupted while it looked for the coordinator at %s port %u",
                            joining->comm->base.rank, own->coordinator, own->port);
    if (error < 0)
        return CB_TCP_ERROR(0, "set COBRE_TCP_COORDINATOR to a name or address of rank 0's host that is known here",
                            "tcp: rank %zu cannot find the coordinator's host %s: %s", joining->comm->base.rank,
                            own->coordinator, gai_strerror(error));
    return CB_TCP_ERROR(
        error,
        "see that rank 0 runs and listens there (COBRE_TCP_COORDINATOR, COBRE_TCP_PORT; without a token it "
        "listens on loopback only), and that no firewall is between",
        "tcp: rank %zu could not reach the coordinator at %s port %u within %g s: %s", joining->comm->base.rank,
        own->coordinator, own->port, joining->options->join_timeout_secs, strerror(error));
}

/* Listens where the coordinator's connection leaves this host: the others reach us there. */
static void open_ring_listener(struct joining *joining, int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[64];
    int error = 0;
    if (joining->listeners.count || joining->comm->base.rank < 2 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0)
        return;
    cb_net_listen(&joining->listeners, host, &joining->listener_port, &error);
    cb_net_listen_unix(&joining->listeners);
}

/* A connection of that kind. The coordinator may not be there yet, or may have taken us for a stranger when too many
 * stood at its door: both mean to try again. */
static cobre_status connect_as(struct joining *joining, uint8_t kind, int *connection) {
    const cb_options *options = joining->options;
    const char *host = kind == CB_CONTROL ? joining->address : joining->own->coordinator;
    struct cb_patience patience = {.until = joining->deadline, .options = options, .alarm = -1};
    for (double nap = 2e-3;; nap = nap < 0.1 ? 1.5 * nap : nap) {
        cb_reply reply;
        int error;
        int fd = cb_net_connect(host, joining->own->port, &patience, &error);
        if (fd >= 0) {
            cb_net_for_data(fd);
            if (kind == CB_DATA)
                open_ring_listener(joining, fd);
            int result = shake_hands(joining, fd, kind, &patience, &reply);
            error = errno;
            if (result == EXPECTED) {
                memcpy(joining->job, reply.job, CB_JOB_ID);
                cb_net_peer_text(fd, joining->address, sizeof joining->address);
                *connection = fd;
                return COBRE_OK;
            }
            close(fd);
            if (result == REFUSED)
                return refused(joining, &reply);
            if (result != CLOSED)
                return not_the_coordinator(joining, result);
        }
        struct cb_patience rest = {.until = cb_now() + nap, .options = options, .alarm = -1};
        if (error != EINTR && !cb_net_await(-1, 0, &rest) && errno == EINTR)
            error = EINTR;
        if (error == EAI_NONAME || error == EINTR || cb_now() > joining->deadline)
            return never_reached(joining, error);
    }
}

/* If rank 0 is on this host: a Unix socket instead of the data connection. It has been there since before rank 0 said
 * welcome. */
static void move_to_unix(struct joining *joining) {
    int *data = &joining->comm->data[0], fd = cb_net_connect_unix(*data);
    double until = cb_now() + UNIX_SECONDS;
    struct cb_patience patience = {
        .until = until < joining->deadline ? until : joining->deadline, .options = joining->options, .alarm = -1};
    cb_reply reply;
    if (fd < 0)
        return;
    bool moved = shake_hands(joining, fd, CB_UNIX, &patience, &reply) == EXPECTED;
    close(moved ? *data : fd);
    *data = moved ? fd : *data;
}

/* The coordinator gave up; its last word, if there is one, says why. */
static cobre_status did_not_form(struct joining *joining) {
    struct cb_tcp_comm *comm = joining->comm;
    cb_failure failure;
    int tag = comm->control < 0 ? -1 : cb_control_receive(comm->control, &comm->inbox, comm->base.size, &failure);
    if (tag == CB_TAG_FAILED)
        return CB_TCP_BLAME(failure.cause, failure.culprit, failure.code,
                            "look at that rank's output; start all ranks again", "tcp: %s", failure.text);
    if (cb_tcp_interrupted(joining->options))
        return CB_TCP_ERROR(EINTR, "the program's interrupted hook asked for this",
                            "tcp: rank %zu was interrupted while it waited for the others", comm->base.rank);
    if (cb_now() > joining->deadline)
        return CB_TCP_ERROR(ETIMEDOUT, "start all ranks; COBRE_TCP_TIMEOUT_SECS sets the longest wait",
                            "tcp: rank %zu has joined, but the job of %zu did not form in time", comm->base.rank,
                            comm->base.size);
    return CB_TCP_BLAME(COBRE_CAUSE_PEER_DIED, 0, ECONNABORTED, "look at rank 0's output; start all ranks again",
                        "tcp: rank 0 of %zu died while the job formed", comm->base.size);
}

static cobre_status receive_table(struct joining *joining, cb_address *successor) {
    struct cb_tcp_comm *comm = joining->comm;
    unsigned char head[CB_HEADER_BYTES];
    cb_header header;
    size_t bytes = cb_table_bytes(comm->base.size);
    /* Rank 0's own deadline comes first, and brings a better message. */
    struct cb_patience patience = {.until = joining->deadline + 2, .options = joining->options, .alarm = comm->control};
    unsigned char *body = malloc(bytes);
    bool good = body && cb_net_receive(comm->data[0], head, sizeof head, &patience) && cb_parse_header(head, &header) &&
                header.tag == CB_TAG_TABLE && header.length == bytes &&
                cb_net_receive(comm->data[0], body, bytes, &patience);
    if (good)
        cb_parse_table(body, comm->base.size, successor, comm->pids);
    free(body);
    return good ? COBRE_OK : did_not_form(joining);
}

static int try_ring(const struct joining *joining, const char *host, uint16_t port,
                    const struct cb_patience *patience) {
    cb_reply reply;
    int error, fd = cb_net_connect(host, port, patience, &error);
    if (fd < 0) {
        errno = error;
        return -1;
    }
    cb_net_for_data(fd);
    int local = cb_net_connect_unix(fd);
    if (local >= 0) {
        close(fd);
        fd = local;
    }
    if (shake_hands(joining, fd, CB_RING, patience, &reply) == EXPECTED)
        return fd;
    close(fd);
    return -1;
}

/* Strangers at the other's door may have pushed us out: try again while there is time. */
static int connect_ring(const struct joining *joining, const cb_address *to, const struct cb_patience *patience) {
    char host[64];
    int fd;
    if (to->family == 0 || !inet_ntop(to->family == 4 ? AF_INET : AF_INET6, to->bytes, host, sizeof host))
        return -1;
    while ((fd = try_ring(joining, host, to->port, patience)) < 0) {
        struct cb_patience rest = *patience;
        rest.until = cb_now() + 0.05;
        if (rest.until > patience->until || (!cb_net_await(-1, 0, &rest) && errno != ETIMEDOUT))
            return -1;
    }
    return fd;
}

static int accept_ring(const struct joining *joining, const struct cb_patience *patience) {
    const cobre_comm *base = &joining->comm->base;
    struct cb_guest guest = {.fd = -1};
    struct cb_door_keeper *keeper = cb_keeper_open(&joining->listeners, joining->own->token, base->size, joining->job);
    while (keeper && guest.fd < 0 && cb_keeper_next(keeper, patience, &guest)) {
        const cb_hello *hello = &guest.hello;
        unsigned refusal = hello->kind != CB_RING                                       ? CB_REFUSED_KIND
                           : sodium_memcmp(hello->job, joining->job, CB_JOB_ID) != 0    ? CB_REFUSED_JOB
                           : hello->rank + 1 != base->rank || hello->size != base->size ? CB_REFUSED_RANK_RANGE
                                                                                        : CB_NOT_REFUSED;
        cb_keeper_answer(keeper, &guest, refusal);
    }
    if (keeper)
        cb_keeper_close(keeper);
    return guest.fd;
}

static void link_to_next(struct joining *joining, const cb_address *successor, const struct cb_patience *patience) {
    struct cb_tcp_comm *comm = joining->comm;
    bool is_last = comm->base.rank + 1 == comm->base.size;
    comm->next = is_last ? comm->data[0] : connect_ring(joining, successor, patience);
}

static void link_to_previous(struct joining *joining, const struct cb_patience *patience) {
    struct cb_tcp_comm *comm = joining->comm;
    if (comm->base.rank == 1)
        comm->previous = comm->data[0];
    else if (joining->listeners.count)
        comm->previous = accept_ring(joining, patience);
}

/* Rank r connects to r + 1, which has been listening since before it said hello; the last rank's successor is rank 0.
 * Odd ranks connect first, even ones accept first: two steps, however many ranks. */
static void link_ring(struct joining *joining, const cb_address *successor) {
    struct cb_tcp_comm *comm = joining->comm;
    double seconds = comm->timeout / 2 < RING_SECONDS ? comm->timeout / 2 : RING_SECONDS;
    struct cb_patience patience = {.until = cb_now() + seconds, .options = joining->options, .alarm = comm->control};
    if (comm->base.rank % 2)
        link_to_next(joining, successor, &patience);
    link_to_previous(joining, &patience);
    if (comm->base.rank % 2 == 0)
        link_to_next(joining, successor, &patience);
}

cobre_status cb_tcp_work(struct cb_tcp_comm *comm, const cb_options *options) {
    struct joining joining = {.comm = comm,
                              .options = options,
                              .own = cb_tcp_own(options),
                              .deadline = cb_now() + options->join_timeout_secs};
    cb_address successor = {0};
    cobre_status status = connect_as(&joining, CB_DATA, &comm->data[0]);
    if (!status)
        move_to_unix(&joining);
    if (!status)
        status = connect_as(&joining, CB_CONTROL, &comm->control);
    if (!status) {
        cb_net_for_control(comm->control, comm->timeout);
        status = receive_table(&joining, &successor);
    }
    if (!status) {
        comm->alarm = comm->control;
        link_ring(&joining, &successor);
    }
    cb_net_close(&joining.listeners);
    return status;
}
