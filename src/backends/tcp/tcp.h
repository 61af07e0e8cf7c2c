/* SPDX-License-Identifier: Apache-2.0 */
/* tcp.h: one rank's connections, and how a collective moves bytes over them.
 *
 *   data      star: every other rank has one to rank 0. Frames of small operations, and the fingerprints of large ones.
 *   ring      rank r has one to rank r + 1; those that touch rank 0 are the data connections, so that only R - 2 more
 *             are made. Large operations stream over it, both ways at once.
 *   control   star: a second one to rank 0, where a thread watches them all. Carries "I leave", "it failed", and, by its
 *             end, a death. Never fills, so that a live rank that does not read is never taken for a dead host.
 *
 * Connections between two ranks of one host are Unix sockets (net.c); without a token nothing else is.
 *
 * Everything a collective does is a set of FLOWS: consecutive pieces of the caller's memory that go out to, or come in
 * from, one connection, of which a growing part is ready to move. One loop (flow.c) runs them all: non-blocking, full
 * duplex, with an eye on the alarm descriptor, which tells of failures elsewhere. */
#ifndef COBRE_BACKENDS_TCP_TCP_H
#define COBRE_BACKENDS_TCP_TCP_H

#include <sys/socket.h>

#include "backends/tcp/config.h"
#include "backends/tcp/wire.h"
#include "comm/same_file.h"

struct cb_piece {
    void *base;
    size_t bytes;
};

struct cb_flow {
    int fd;
    bool out;
    size_t peer; /* the rank at the other end */
    struct cb_piece *pieces;
    size_t count;              /* of pieces */
    size_t ready, done, total; /* bytes: may move, have moved, in all; done <= ready <= total */
    size_t piece, at;          /* the next byte */
    struct cb_frame *unread;   /* comes in, and its head has not been read yet (exchange.c) */
};

/* Called after each progress, to fold the input and raise `ready` of flows that depend on it. */
typedef void cb_advance(void *context);

/* The received part of a frame on a control connection. */
struct cb_inbox {
    unsigned char bytes[CB_HEADER_BYTES + CB_FAILURE_BYTES];
    size_t got;
};

enum {
    CB_TCP_SMALL = 32 << 10,  /* bytes of a rank's payload that go through the star, in one frame each way */
    CB_TCP_STAGE = 256 << 10, /* bytes that are staged: payloads of calls, operands to be folded */
};

/* A head and its payload, which lies in pieces. */
struct cb_frame {
    unsigned char head[CB_HEADER_BYTES];
    struct cb_piece *pieces; /* [0] is the head */
    size_t count;            /* of the others */
    uint8_t tag;             /* of an incoming frame: the expected tag */
};

/* Room for the frames of one operation. */
struct cb_frames {
    struct cb_frame *calls;  /* by rank; one piece each: the payload of the rank */
    struct cb_frame result;  /* rank 0's answer, with up to one piece per rank */
    struct cb_piece *pieces; /* of all these frames */
    cb_fingerprint *prints;  /* by rank: of the last frame that came */
    struct cb_flow *flows;
    unsigned char *stages; /* CB_TCP_STAGE bytes each: rank 0 has one for each rank, the others have one */
};

struct cb_watch; /* rank 0's thread: watch.c */

/* The data of a connection after it is made. */
struct cb_link {
    int fd;
    size_t peer; /* the rank at the other end */
    struct cb_identity id;
    char here[64], there[64]; /* numeric addresses, while it can still tell them */
    double answered;          /* the last time when nothing waited for an answer, or the last answer */
};

struct cb_tcp_comm {
    cobre_comm base;
    int *data;             /* by rank; rank 0 has all but its own, the others have [0] only; -1: none */
    int control;           /* not on rank 0 */
    int *controls;         /* rank 0, by rank: the watcher's */
    struct cb_inbox inbox; /* of control */
    struct cb_link control_link;
    int alarm;             /* becomes readable when something failed; -1 when there is no news to come */
    int next, previous;    /* ring; -1: none */
    bool ring;             /* all links of the ring could be made */
    struct cb_link *links; /* one for each data connection, then those of the ring */
    size_t link_count;
    bool coordinator_left;
    double outside_since; /* the end of the last one */
    uint64_t sequence;
    struct cb_frames frames;
    int64_t *pids;
    struct cb_watch *watch;
    cb_failure failure; /* cause NONE: not broken */
    double timeout;
};

/* flow.c */
void cb_flow_start(struct cb_flow *flow, int fd, bool out, size_t peer, struct cb_piece *pieces, size_t count);
cobre_status cb_flow_run(struct cb_tcp_comm *comm, const cb_call *call, struct cb_flow *flows, size_t count,
                         cb_advance *advance, void *context);
/* The two halves of a stage, over and over until there are `bytes`, and room for one piece more; NULL: no memory. */
enum { CB_TCP_HALF = CB_TCP_STAGE / 2 };
struct cb_piece *cb_list_halves(unsigned char *stage, size_t bytes, size_t *count);

/* link.c */
void cb_link_note(struct cb_link *link, int fd, size_t peer);
bool cb_link_is_ours(const struct cb_link *link); /* else the program has closed it */
void cb_links_note(struct cb_tcp_comm *comm);     /* all that have been made; the kernel now looks after them */
void cb_links_forget(struct cb_tcp_comm *comm);   /* all that are not ours any more, before the others are closed */
bool cb_links_are_ours(const struct cb_tcp_comm *comm, bool ring); /* ring: those of the ring, too */
const struct cb_link *cb_link_to(const struct cb_tcp_comm *comm, size_t peer);
/* The meaning of a connection's end with this errno: its rank died, its host cannot be reached, or the program of this rank,
 * `self`, closed it. */
cb_failure cb_link_failure(const struct cb_link *link, size_t self, int error);
cb_failure cb_link_closed(size_t self);
/* Fails if a host has not answered for the timeout, of which this rank has waited since then. */
cobre_status cb_links_look(struct cb_tcp_comm *comm, const cb_call *call, double since);

/* control.c: the first failure, reported once to all ranks. */
cobre_status cb_tcp_fail(struct cb_tcp_comm *comm, const cb_call *call, const cb_failure *failure);
cobre_status cb_tcp_no_memory(struct cb_tcp_comm *comm, const cb_call *call);
/* A rank's connection ended, with this errno; 0: in order. */
cobre_status cb_tcp_lost(struct cb_tcp_comm *comm, const cb_call *call, size_t peer, int error);
/* To rank 0, if the control connection is still ours. */
void cb_tcp_tell(struct cb_tcp_comm *comm, uint8_t tag, const cb_failure *failure);
void cb_tcp_leave(struct cb_tcp_comm *comm, const cb_failure *failure); /* failure: NULL when it is in order */
bool cb_tcp_alarm(struct cb_tcp_comm *comm); /* reads the alarm; true when the communicator is broken now */
cobre_status cb_tcp_broken(struct cb_tcp_comm *comm, const cb_call *call);

void cb_control_send(int fd, uint8_t tag, const cb_failure *failure);
/* The next frame's tag, with *failure filled for FAILED; 0: nothing more now; -1: the connection ended as errno says
 * (ECONNRESET: in order, or nonsense came). */
int cb_control_receive(int fd, struct cb_inbox *inbox, size_t ranks, cb_failure *failure);

/* watch.c, rank 0 */
struct cb_watch *cb_watch_start(size_t size, int *controls, const int64_t *pids, int *alarm);
/* Makes this the failure of the job, unless there is one already; *failure becomes the one that counts. */
void cb_watch_fail(struct cb_watch *watch, cb_failure *failure);
bool cb_watch_failure(struct cb_watch *watch, cb_failure *failure);
/* A rank's data connection ended: waits a moment for a message on its control connection; true if it left in order. */
bool cb_watch_has_left(struct cb_watch *watch, size_t rank);
void cb_watch_forget(struct cb_watch *watch);                               /* connections that are not ours any more */
void cb_watch_say_leave(struct cb_watch *watch, const cb_failure *failure); /* failure: NULL when it is in order */
void cb_watch_stop(struct cb_watch *watch);

/* How long a step of the join may take: until a time, until the program wants to stop, until rank 0 says that it
 * failed. */
struct cb_patience {
    double until;
    const cb_options *options; /* its hook */
    int alarm;                 /* readable: stop; -1: none */
};

/* net.c: sockets. What waits ends with errno ETIMEDOUT, EINTR (the hook) or ECONNABORTED (the alarm) when patience
 * does. */
enum { CB_MAX_LISTENERS = 8 };
struct cb_listeners {
    int fds[CB_MAX_LISTENERS];
    size_t count;
};
struct cb_unix_name {
    char text[64];
};
bool cb_net_await(int fd, short events, const struct cb_patience *patience); /* fd -1: just until patience ends */
struct addrinfo *cb_net_resolve(const char *host, uint16_t port, int flags, int *error); /* *error: of getaddrinfo */
bool cb_net_is_here(const struct sockaddr *address, socklen_t length); /* an address of this machine */
bool cb_net_is_loopback(const char *host);                             /* all its addresses are */
bool cb_net_is_elsewhere(const char *host);                            /* one of its addresses is */
void cb_net_listen(struct cb_listeners *listeners, const char *host, uint16_t *port, int *error);
uint16_t cb_net_port_of(int fd); /* 0: errno */
void cb_net_close(struct cb_listeners *listeners);
int cb_net_connect(const struct sockaddr *address, socklen_t length, const struct cb_patience *patience);
/* Unix sockets: where rank 0 of the job at this port listens, and a rank for its link of the ring. */
void cb_net_name_of_port(uint16_t port, struct cb_unix_name *name);
void cb_net_name_of_ring(const unsigned char job[CB_JOB_ID], size_t rank, struct cb_unix_name *name);
bool cb_net_listen_unix(struct cb_listeners *listeners, const struct cb_unix_name *name); /* false: errno */
int cb_net_connect_unix(const struct cb_unix_name *name); /* -1: errno; EACCES: another user's process is there */
bool cb_net_is_ours(int fd);                              /* of a Unix socket: the other end is of the same user */
bool cb_net_send(int fd, const void *bytes, size_t count, const struct cb_patience *patience);
bool cb_net_receive(int fd, void *bytes, size_t count, const struct cb_patience *patience);
void cb_net_for_data(int fd);
void cb_net_for_control(int fd, double timeout);
void cb_net_keep_alive(int fd, double timeout);
/* Numeric addresses; of a Unix socket "this host". */
void cb_net_peer_text(int fd, char *text, size_t len);
void cb_net_own_text(int fd, char *text, size_t len);

/* accept.c: connections that come in, strangers among them. */
struct cb_guest {
    int fd;
    cb_hello hello;
};
struct cb_door_keeper;
struct cb_door_keeper *cb_keeper_open(const struct cb_listeners *listeners, const char *token, size_t size,
                                      const unsigned char job[CB_JOB_ID]);
/* The next authenticated guest; false when patience ends, or with errno EMFILE when there is no descriptor for anyone.
 */
bool cb_keeper_next(struct cb_door_keeper *keeper, const struct cb_patience *patience, struct cb_guest *guest);
/* Answers a guest: accepts it (with our proof), or refuses it with a reason and closes its connection. */
bool cb_keeper_answer(struct cb_door_keeper *keeper, struct cb_guest *guest, unsigned refusal);
/* The connections that were refused, as text for an error; "": none. */
const char *cb_keeper_notes(const struct cb_door_keeper *keeper);
void cb_keeper_close(struct cb_door_keeper *keeper);

/* coordinator.c, worker.c: make the connections of a communicator whose rank, size and arrays are there. */
cobre_status cb_tcp_coordinate(struct cb_tcp_comm *comm, const cb_options *options);
cobre_status cb_tcp_work(struct cb_tcp_comm *comm, const cb_options *options);
cobre_status cb_tcp_check_host(const struct cb_tcp_options *own); /* without a token the coordinator is this host */

/* Without a token a job keeps to this host, and to this user: to Unix sockets. */
static inline bool cb_tcp_by_unix_only(const struct cb_tcp_options *own) {
    return !own->token[0] && !own->open;
}
#define CB_TCP_TRUST                                                                                                   \
    "set COBRE_TCP_TOKEN to the same secret on all ranks, or COBRE_TCP_OPEN=1 on all ranks to trust the network"
/* For tests: TCP also between ranks of one host, where there may be TCP. */
static inline bool cb_tcp_avoids_unix(void) {
    return cb_variable("COBRE_TEST_TCP_ONLY");
}

/* tcp.c */
bool cb_tcp_interrupted(const cb_options *options);

#define CB_TCP_ERROR(error, advice, ...) CB_TCP_BLAME(COBRE_CAUSE_NONE, 0, error, advice, __VA_ARGS__)
/* The same, with the rank to blame and why. */
#define CB_TCP_BLAME(why, whom, error, advice, ...)                                                                    \
    cb_error(NULL, COBRE_TCP, COBRE_INITIALIZATION_FAILED,                                                             \
             &(struct cb_details){.operation = "open",                                                                 \
                                  .subject = "tcp",                                                                    \
                                  .cause = why,                                                                        \
                                  .culprit = whom,                                                                     \
                                  .os_error = error,                                                                   \
                                  .suggestion = advice},                                                               \
             __VA_ARGS__)

/* exchange.c: frames that go out and come in at the same time. */
struct cb_exchange {
    struct cb_tcp_comm *comm;
    const cb_call *call;
    size_t count;           /* of flows */
    bool differs, nonsense; /* by the received heads: another call; not a valid frame at this point */
    size_t culprit;         /* whose frame is nonsense */
};
void cb_frame_write(const struct cb_tcp_comm *comm, const cb_call *call, uint8_t tag, struct cb_frame *frame);
void cb_exchange_send(struct cb_exchange *exchange, size_t peer, struct cb_frame *frame); /* a written one */
struct cb_flow *cb_exchange_take(struct cb_exchange *exchange, size_t peer, uint8_t tag, struct cb_frame *frame);
void cb_exchange_send_call(struct cb_exchange *exchange, size_t peer, struct cb_piece payload);
struct cb_flow *cb_exchange_take_call(struct cb_exchange *exchange, size_t peer, struct cb_piece place);
/* Waits until all have gone and come; fails if one does not belong to this call. */
cobre_status cb_exchange_run(struct cb_exchange *exchange);

/* pair.c, star.c, ring.c */
static inline size_t cb_bytes_of(const cb_call *call, size_t count) {
    return count * cb_type_size(call->type);
}
/* The data that this rank sends. */
static inline struct cb_piece cb_operand_of(const cb_call *call) {
    return (struct cb_piece){(void *)(uintptr_t)call->send, cb_bytes_of(call, call->count)};
}
/* The result of a broadcast or a reduction. */
static inline struct cb_piece cb_result_of(const cb_call *call) {
    return (struct cb_piece){call->recv, cb_bytes_of(call, call->count)};
}
/* Rank's part of recv; recv may be NULL when all parts are empty. */
static inline struct cb_piece cb_part_of(const cb_call *call, size_t rank) {
    size_t bytes = cb_bytes_of(call, call->counts[rank]);
    return (struct cb_piece){bytes ? (unsigned char *)call->recv + cb_bytes_of(call, call->displs[rank]) : NULL, bytes};
}
/* Copies this rank's data to its own place, unless it is there already. */
static inline void cb_put_own(const cb_call *call, struct cb_piece place) {
    cb_copy_result(call, place.base, call->send, place.bytes);
}
typedef cobre_status cb_algorithm(struct cb_tcp_comm *comm, const cb_call *call);
/* Two ranks. meet: all have entered, with the same call. */
cb_algorithm cb_pair_meet, cb_pair_broadcast, cb_pair_allreduce, cb_pair_allgatherv;
/* More ranks, payloads that fit a stage. */
cb_algorithm cb_star_meet, cb_star_broadcast, cb_star_allreduce, cb_star_allgatherv;
/* Payloads of any size, stage by stage. */
cb_algorithm cb_star_broadcast_stages, cb_star_allreduce_stages, cb_star_allgatherv_stages;
/* Over the ring, after cb_star_meet. */
cb_algorithm cb_ring_broadcast, cb_ring_allreduce, cb_ring_allgatherv;

#endif
