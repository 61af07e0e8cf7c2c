/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h: ranks that join over tcp, and raw connections that pretend to be one, beside the harness.
 *
 * `plan` says how each process of a job opens its communicator: slot r of the job uses plan[r], which may lie about its
 * rank, its size or its token. The parent's own connections play strangers, false ranks and false coordinators. */
#ifndef COBRE_TEST_FAULT_TCP_PEERS_H
#define COBRE_TEST_FAULT_TCP_PEERS_H

#include "backends/tcp/wire.h"
#include "kit/harness.h"

extern struct plan {
    cobre_config config[KIT_MAX_RANKS];
    const char *environment[KIT_MAX_RANKS][8]; /* "NAME=value"; if there are any, the slot opens from them alone */
    bool hold[KIT_MAX_RANKS];                  /* waits for an order between working and leaving */
} plan;

/* All slots: their rank, this size and token (NULL: none), a free port on 127.0.0.1, and much time. */
void make_plan(size_t size, const char *token);
void set_everywhere(const char *coordinator, const char *bind);
void set_timeouts(double seconds);
void interrupt_rank(size_t rank); /* from now on its hook says so, and reports "interrupts" once */

/* Free on 127.0.0.1 and ::1, and outside the range that the system gives to outgoing connections. */
uint16_t free_port(void);

/* The body of every rank: opens, reports "opened", computes over all links, reports "worked", leaves. No error text may
 * hold a token of the plan. While it waits to get in it reports "inside", and "joined" once rank 0 has welcomed it. */
void join(void);
void join_by_tcp(void); /* not by Unix sockets */

void start_all(job *j, size_t slots);         /* with join */
void start_coordinator(job *j, size_t slots); /* rank 0 alone, until it listens */
void must_form(job *j, size_t rank);          /* it opens and works */
void must_form_all(job *j);                   /* and the job ends in order */
/* Its open fails with InitializationFailed and a message that holds both texts. */
const report *must_refuse(job *j, size_t rank, const char *one, const char *two);

/* Raw connections: all waits end at the deadline, which fails the case. */
int dial(const char *address, uint16_t port);
int try_dial(const char *address, uint16_t port); /* -1: refused */
int dial_without_waiting(const char *address, uint16_t port);
int listen_at(const char *address, uint16_t port);
int take_name(uint16_t port); /* the Unix name that goes with the port */
int dial_name(uint16_t port); /* -1: refused */
int answer(int listener);
void put(int fd, const void *bytes, size_t count);
bool get(int fd, void *bytes, size_t count); /* false: the connection ended before */
bool is_over(int fd);                        /* waits for its end; what comes before is dropped */

cb_hello make_hello(uint8_t kind, size_t rank, size_t size);
void put_hello(int fd, const cb_hello *hello);
/* The handshake of one who connects. The last reply, or false if the connection ended. */
bool shake_hands(int fd, const cb_hello *hello, const char *token, cb_reply *reply);
/* The handshake of one who accepts, and lets in. */
void welcome(int fd, const char *token);
/* Must be refused with this reason. */
void must_be_refused(uint16_t port, const cb_hello *hello, const char *token, unsigned reason);

/* A false rank that is in: its data and its control connection. */
struct member {
    int data, control;
};
struct member sneak_in(uint16_t port, size_t rank, size_t size, const char *token, uint16_t ring_port);
void must_get_table(const struct member *member, size_t size);

#endif
