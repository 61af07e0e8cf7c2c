/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c: how every rank but 0 joins: a data connection, a control connection, the table, and its links of the ring.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/tcp/tcp.h"

#define TRY_SECONDS 3.0  /* for one way to rank 0; another may lead there */
#define RING_SECONDS 5.0 /* for the links of the ring; where they cannot be made, everything goes over the star */

/* What became of a handshake, or of a way; the more telling one is the higher. */
enum { EXPECTED, CLOSED, NOT_COBRE, IMPOSTOR, REFUSED };

/* A way to rank 0: one of the addresses of its name, or, if that is here, its Unix socket. */
struct way {
    struct sockaddr_storage to;
    socklen_t length;
    bool by_unix;
};

/* What was found instead of rank 0. */
struct finding {
    int result, error; /* error: of CLOSED; errno, or a negative getaddrinfo code */
    char where[64];
    cb_reply reply; /* of REFUSED */
};

struct joining {
    struct cb_tcp_comm *comm;
    const cb_options *options;
    const struct cb_tcp_options *own; /* part of them */
    double deadline;
    unsigned char job[CB_JOB_ID];
    struct way way;                /* that led to rank 0 */
    struct finding finding;        /* the most telling one */
    struct cb_listeners listeners; /* for the ring link of rank - 1 */
    uint16_t listener_port;
};

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
    /* From here on rank 0 may count us in: to go now would look like a death. */
    struct cb_patience longer = *patience;
    longer.until = kind == CB_RING ? patience->until : joining->deadline;
    unsigned char nonce[CB_NONCE];
    memcpy(nonce, reply->secret, CB_NONCE);
    cb_make_proof(joining->own->token, "connects", bytes, nonce, proof);
    if (!cb_net_send(fd, proof, sizeof proof, &longer))
        return CLOSED;
    result = read_reply(fd, CB_WELCOME, &longer, reply);
    if (result != EXPECTED)
        return result;
    cb_make_proof(joining->own->token, "accepts", bytes, nonce, proof);
    return sodium_memcmp(proof, reply->secret, CB_PROOF) == 0 ? EXPECTED : IMPOSTOR;
}

/* "at NAME port PORT", and where the name has led to. */
static const char *place(const struct joining *joining, char text[256]) {
    const struct cb_tcp_options *own = joining->own;
    const char *where = joining->finding.where;
    bool say = where[0] && strcmp(where, own->coordinator) != 0;
    snprintf(text, 256, "%.150s port %u%s%s%s", own->coordinator, own->port, say ? " (" : "", say ? where : "",
             say ? ")" : "");
    return text;
}

static cobre_status refused(const struct joining *joining) {
    const cb_reply *reply = &joining->finding.reply;
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
    char expected[64] = "", at[256];
    if (reply->reason == CB_REFUSED_SIZE)
        snprintf(expected, sizeof expected, " (it expects %u, this rank %zu)", reply->number, joining->comm->base.size);
    if (reply->reason == CB_REFUSED_VERSION)
        snprintf(expected, sizeof expected, " (%u, this one %d)", reply->version, CB_WIRE_VERSION);
    bool known = reply->reason && reply->reason < sizeof advice / sizeof *advice;
    return CB_TCP_ERROR(ECONNREFUSED, known ? advice[reply->reason] : "look at rank 0's message",
                        "tcp: the coordinator at %s refused rank %zu: %s%s", place(joining, at),
                        joining->comm->base.rank, cb_refusal_text(reply->reason), expected);
}

static cobre_status not_the_coordinator(const struct joining *joining) {
    char at[256];
    if (joining->finding.result == IMPOSTOR)
        return CB_TCP_ERROR(EPROTO, "give all ranks the same token; see who listens there",
                            "tcp: the process that answers at %s does not know this job's token", place(joining, at));
    return CB_TCP_ERROR(EPROTO, "choose another COBRE_TCP_PORT, or see that COBRE_TCP_COORDINATOR leads to rank 0",
                        "tcp: the process that answers at %s is not a cobre coordinator", place(joining, at));
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
    return CB_TCP_ERROR(error,
                        error == EACCES            ? "choose another COBRE_TCP_PORT: another user's job has this one"
                        : cb_tcp_by_unix_only(own) ? "see that rank 0 runs (COBRE_TCP_COORDINATOR, COBRE_TCP_PORT); "
                                                     "without a token it must be this user's, on this "
                                                     "host and in the same network namespace"
                                                   : "see that rank 0 runs and listens there (COBRE_TCP_COORDINATOR, "
                                                     "COBRE_TCP_PORT; without a token only this "
                                                     "host can reach it), and that no firewall is between",
                        "tcp: rank %zu could not reach the coordinator at %s port %u within %g s: %s",
                        joining->comm->base.rank, own->coordinator, own->port, joining->options->join_timeout_secs,
                        strerror(error));
}

/* Who has come this far and failed: the reason that says most. */
static cobre_status could_not_join(const struct joining *joining) {
    const struct finding *finding = &joining->finding;
    return finding->result == REFUSED  ? refused(joining)
           : finding->result == CLOSED ? never_reached(joining, finding->error)
                                       : not_the_coordinator(joining);
}

/* Where rank - 1 finds us if it is on another host: where our connection leaves this one, or, if rank 0 is here, at its
 * addresses. */
static void open_ring_listener(struct joining *joining, int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[64];
    int error = 0;
    cb_net_close(&joining->listeners);
    joining->listener_port = 0;
    if (joining->comm->base.rank < 2 || cb_tcp_by_unix_only(joining->own))
        return;
    if (joining->way.by_unix)
        cb_net_listen(&joining->listeners, joining->own->coordinator, &joining->listener_port, &error);
    else if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
             getnameinfo((struct sockaddr *)&address, length, host, sizeof host, NULL, 0, NI_NUMERICHOST) == 0)
        cb_net_listen(&joining->listeners, host, &joining->listener_port, &error);
    if (!joining->listeners.count)
        joining->listener_port = 0;
}

/* Where it finds us on this host. The job's id, which only its ranks know, makes the name. */
static void open_unix_ring_listener(struct joining *joining) {
    struct cb_unix_name name;
    cb_net_name_of_ring(joining->job, joining->comm->base.rank, &name);
    if (joining->comm->base.rank >= 2 && (cb_tcp_by_unix_only(joining->own) || !cb_tcp_avoids_unix()))
        cb_net_listen_unix(&joining->listeners, &name);
}

static void note(struct joining *joining, int result, int error, const cb_reply *reply) {
    struct finding *finding = &joining->finding;
    const struct way *way = &joining->way;
    if (result < finding->result && error != EINTR)
        return;
    *finding = (struct finding){.result = result, .error = error};
    if (reply)
        finding->reply = *reply;
    if (way->by_unix)
        snprintf(finding->where, sizeof finding->where, "this host");
    else if (way->length)
        getnameinfo((const struct sockaddr *)&way->to, way->length, finding->where, sizeof finding->where, NULL, 0,
                    NI_NUMERICHOST);
}

/* One try of one way, joining->way, for so many seconds: EXPECTED, or what was found there. */
static int knock(struct joining *joining, uint8_t kind, double seconds, int alarm, int *connection) {
    const struct way *way = &joining->way;
    struct cb_unix_name name;
    double now = cb_now(), until = now + seconds < joining->deadline ? now + seconds : joining->deadline;
    struct cb_patience patience = {.until = until, .options = joining->options, .alarm = alarm}, soon = patience;
    cb_reply reply = {0};
    if (now + TRY_SECONDS < until) /* a new try comes sooner than the system's next */
        soon.until = now + TRY_SECONDS;
    cb_net_name_of_port(joining->own->port, &name);
    int fd = way->by_unix ? cb_net_connect_unix(&name)
                          : cb_net_connect((const struct sockaddr *)&way->to, way->length, &soon);
    int result = CLOSED;
    if (fd >= 0) {
        cb_net_for_data(fd);
        if (kind == CB_DATA)
            open_ring_listener(joining, fd);
        result = shake_hands(joining, fd, kind, &patience, &reply);
    }
    int error = result == CLOSED ? errno : 0;
    if (result == EXPECTED) {
        memcpy(joining->job, reply.job, CB_JOB_ID);
        *connection = fd;
        return EXPECTED;
    }
    if (fd >= 0)
        close(fd);
    note(joining, result, error, result == REFUSED ? &reply : NULL);
    return result;
}

/* A rank that is refused though it knows the token has found rank 0. */
static bool is_final(const struct joining *joining) {
    return joining->finding.result == REFUSED && joining->finding.reply.reason >= CB_REFUSED_SIZE;
}

static bool is_over(const struct joining *joining) {
    return is_final(joining) || joining->finding.error == EINTR;
}

/* Both ways to an address of rank 0's name. */
static int knock_at(struct joining *joining, const struct addrinfo *at, double seconds, int *connection) {
    struct way *way = &joining->way;
    bool here = cb_net_is_here(at->ai_addr, at->ai_addrlen), alone = cb_tcp_by_unix_only(joining->own);
    int by_unix = CLOSED;
    *way = (struct way){.length = at->ai_addrlen, .by_unix = true};
    memcpy(&way->to, at->ai_addr, at->ai_addrlen);
    if (here && (alone || !cb_tcp_avoids_unix()))
        by_unix = knock(joining, CB_DATA, seconds, -1, connection);
    if (by_unix == EXPECTED || alone || is_final(joining))
        return by_unix;
    way->by_unix = false;
    int by_tcp = knock(joining, CB_DATA, seconds, -1, connection);
    return by_tcp == EXPECTED || by_tcp > by_unix ? by_tcp : by_unix;
}

/* The seconds for each of so many ways: all get their turn, more than once. One alone has all the time. */
static double share(const struct joining *joining, const struct addrinfo *found) {
    double seconds = joining->options->join_timeout_secs;
    size_t ways = 0;
    for (const struct addrinfo *at = found; at; at = at->ai_next)
        ways += cb_net_is_here(at->ai_addr, at->ai_addrlen) ? 2 : 1;
    if (ways == 1)
        return seconds;
    seconds /= 2 * (double)ways;
    return seconds < TRY_SECONDS ? seconds : TRY_SECONDS;
}

/* Every address of rank 0's name in turn. EXPECTED; CLOSED: rank 0 may still come to one of them; else no hope is left. */
static int knock_everywhere(struct joining *joining, int *connection) {
    int error, result = REFUSED;
    struct addrinfo *found = cb_net_resolve(joining->own->coordinator, joining->own->port, 0, &error);
    joining->way = (struct way){.length = 0};
    if (!found) {
        note(joining, CLOSED, error, NULL);
        return CLOSED;
    }
    double seconds = share(joining, found);
    for (const struct addrinfo *at = found; at && result != EXPECTED && !is_over(joining); at = at->ai_next) {
        int here = knock_at(joining, at, seconds, connection);
        result = here < result ? here : result;
    }
    freeaddrinfo(found);
    return result;
}

/* Rank 0 may not be there yet, or may have taken us for a stranger when too many stood at its door: then we come again.
 * alarm: readable when there is no more use in that. */
static bool rest(struct joining *joining, double *nap, int alarm) {
    struct cb_patience patience = {.until = cb_now() + *nap, .options = joining->options, .alarm = alarm};
    *nap = *nap < 0.1 ? 1.5 * *nap : *nap;
    cb_net_await(-1, 0, &patience);
    if (errno == EINTR)
        joining->finding = (struct finding){.result = CLOSED, .error = EINTR};
    return errno == ETIMEDOUT && cb_now() < joining->deadline;
}

static cobre_status connect_data(struct joining *joining) {
    double nap = 2e-3;
    do {
        int result = knock_everywhere(joining, &joining->comm->data[0]);
        if (result == EXPECTED)
            return COBRE_OK;
        if (result != CLOSED || is_over(joining) || joining->finding.error == EAI_NONAME)
            break;
    } while (rest(joining, &nap, -1));
    return could_not_join(joining);
}

/* The coordinator gave up; its last word, if there is one, says why. */
static cobre_status did_not_form(struct joining *joining) {
    struct cb_tcp_comm *comm = joining->comm;
    cb_failure failure;
    int fd = comm->control >= 0 ? comm->control : comm->data[0];
    int tag = cb_control_receive(fd, &comm->inbox, comm->base.size, &failure);
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

/* The same way. Until it is there, rank 0's word comes on the data connection. */
static cobre_status connect_control(struct joining *joining) {
    struct cb_tcp_comm *comm = joining->comm;
    double nap = 2e-3;
    joining->finding = (struct finding){0};
    do {
        int result = knock(joining, CB_CONTROL, joining->options->join_timeout_secs, comm->data[0], &comm->control);
        if (result == EXPECTED)
            return COBRE_OK;
        if (result != CLOSED)
            return could_not_join(joining);
    } while (rest(joining, &nap, comm->data[0]));
    return did_not_form(joining);
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

static socklen_t set_address(const cb_address *from, struct sockaddr_storage *to) {
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    *to = (struct sockaddr_storage){.ss_family = from->family == 4 ? AF_INET : AF_INET6};
    if (from->family == 4) {
        four->sin_port = htons(from->port);
        memcpy(&four->sin_addr, from->bytes, 4);
        return sizeof *four;
    }
    six->sin6_port = htons(from->port);
    memcpy(&six->sin6_addr, from->bytes, 16);
    return sizeof *six;
}

static int open_ring(const struct joining *joining, const cb_address *to, const struct cb_patience *patience) {
    struct sockaddr_storage address;
    struct cb_unix_name name;
    socklen_t length = set_address(to, &address);
    int fd = -1;
    cb_net_name_of_ring(joining->job, joining->comm->base.rank + 1, &name);
    if (to->family == 1 || (!cb_tcp_avoids_unix() && cb_net_is_here((struct sockaddr *)&address, length)))
        fd = cb_net_connect_unix(&name);
    return fd < 0 && to->family != 1 ? cb_net_connect((struct sockaddr *)&address, length, patience) : fd;
}

static int try_ring(const struct joining *joining, const cb_address *to, const struct cb_patience *patience) {
    cb_reply reply;
    int fd = open_ring(joining, to, patience);
    if (fd < 0)
        return -1;
    cb_net_for_data(fd);
    if (shake_hands(joining, fd, CB_RING, patience, &reply) == EXPECTED)
        return fd;
    close(fd);
    return -1;
}

/* Strangers at the other's door may have pushed us out: try again while there is time. */
static int connect_ring(const struct joining *joining, const cb_address *to, const struct cb_patience *patience) {
    int fd;
    if (to->family != 1 && to->family != 4 && to->family != 6)
        return -1;
    while ((fd = try_ring(joining, to, patience)) < 0) {
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
    cobre_status status = cb_tcp_check_host(joining.own);
    if (!status)
        status = connect_data(&joining);
    if (!status) {
        open_unix_ring_listener(&joining);
        status = connect_control(&joining);
    }
    if (!status) {
        cb_net_for_control(comm->control, comm->timeout);
        status = receive_table(&joining, &successor);
    }
    if (status && comm->data[0] >= 0)
        cb_control_send(comm->data[0], CB_TAG_LEFT, NULL); /* that we give up is no death */
    if (!status) {
        comm->alarm = comm->control;
        link_ring(&joining, &successor);
    }
    cb_net_close(&joining.listeners);
    return status;
}
