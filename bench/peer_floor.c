/* SPDX-License-Identifier: Apache-2.0 */
/* peer_floor.c: what the machine itself takes, between two processes: the yardstick for a collective.
 *
 * Their barrier is a round trip: rank 0 gives a word, rank 1 sees it and gives one back. By cache lines (both spin), by
 * futex (both sleep), by sched_yield (both on one core), by a socket on loopback (both ask without sleeping). Only swap
 * gives both words at once, which is the least that a barrier must do.
 * Their allreduce moves as many bytes as it is told and adds nothing, so its result is wrong: memory copies from send
 * to recv, on both ranks or on one; loopback sends both ways at once. Loopback's broadcast sends one way.
 */
#include "cli/bench/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_VALUES = 1024 };

/* Each rank writes its own word and values. */
static struct shared {
    struct {
        _Alignas(128) atomic_uint word; /* rounds given; 128: neighbouring lines are fetched together */
    } rank[2];
    double values[2][MOST_VALUES];
} * shared;
static size_t own_rank;
static unsigned round_number;
static int connection = -1;

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(1);
}

static void need(int result, const char *what) {
    if (result < 0)
        fail(what);
}

/* Both ends: [0] rank 0's, [1] rank 1's. */
static void connect_loopback(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    need(bind(listener, (struct sockaddr *)&address, sizeof address), "bind");
    need(listen(listener, 1), "listen");
    need(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(ends[0], (struct sockaddr *)&address, sizeof address), "connect");
    ends[1] = accept(listener, NULL, NULL);
    need(ends[1], "accept");
    for (int i = 0; i < 2; i++)
        need(setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
    close(listener);
}

/* The peers of this file are one pair of processes. */
static void start_once(void) {
    if (shared)
        return;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        fail("mmap");
    int ends[2];
    connect_loopback(ends);
    pid_t child = fork();
    need(child, "fork");
    own_rank = child == 0;
    connection = ends[own_rank];
    close(ends[!own_rank]);
}

static void open_peer(struct peer *peer) {
    start_once();
    peer->rank = own_rank;
    peer->size = 2;
}

static void close_peer(struct peer *peer) {
    (void)peer;
}

/* Both on the first core that we may use, or free again. */
static void stay_together(bool together) {
    static bool now;
    static cpu_set_t all;
    if (now == together)
        return;
    if (together) {
        sched_getaffinity(0, sizeof all, &all);
        cpu_set_t first;
        CPU_ZERO(&first);
        size_t core = 0;
        while (!CPU_ISSET(core, &all))
            core++;
        CPU_SET(core, &first);
        sched_setaffinity(0, sizeof first, &first);
    } else {
        sched_setaffinity(0, sizeof all, &all);
    }
    now = together;
}

/* The other may be a round ahead, never more: it waits for our next word. */
static bool has_come(atomic_uint *word) {
    return atomic_load_explicit(word, memory_order_acquire) - round_number < 2;
}

static void spin(atomic_uint *word) {
    while (!has_come(word))
        ;
}

static void yield_until(atomic_uint *word) {
    while (!has_come(word))
        sched_yield();
}

static void sleep_until(atomic_uint *word) {
    while (!has_come(word))
        syscall(SYS_futex, word, FUTEX_WAIT, round_number - 1, NULL, NULL, 0);
}

static void give(bool wake) {
    atomic_uint *word = &shared->rank[own_rank].word;
    atomic_store_explicit(word, round_number, memory_order_release);
    if (wake)
        syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void barrier_swap(struct peer *peer) {
    (void)peer;
    stay_together(false);
    round_number++;
    give(false);
    spin(&shared->rank[!own_rank].word);
}

static void round_trip(void (*wait)(atomic_uint *word), bool wake) {
    round_number++;
    if (own_rank == 0)
        give(wake);
    wait(&shared->rank[!own_rank].word);
    if (own_rank == 1)
        give(wake);
}

static void barrier_lines(struct peer *peer) {
    (void)peer;
    stay_together(false);
    round_trip(spin, false);
}

static void barrier_futex(struct peer *peer) {
    (void)peer;
    stay_together(false);
    round_trip(sleep_until, true);
}

static void barrier_yield(struct peer *peer) {
    (void)peer;
    stay_together(true);
    round_trip(yield_until, false);
}

static void maximum(struct peer *peer, double *values, size_t count) {
    (void)peer;
    memcpy(shared->values[own_rank], values, count * sizeof *values);
    round_trip(yield_until, false);
    for (size_t i = 0; i < count; i++)
        if (shared->values[!own_rank][i] > values[i])
            values[i] = shared->values[!own_rank][i];
    round_trip(yield_until, false);
}

static void copy_on_both(struct peer *peer, const double *send, double *recv, size_t count) {
    (void)peer;
    memcpy(recv, send, count * sizeof *send);
}

static void copy_on_one(struct peer *peer, const double *send, double *recv, size_t count) {
    if (peer->rank == 1)
        memcpy(recv, send, count * sizeof *send);
}

/* What a call of send or recv moved; none when it would have to wait. */
static size_t moved(ssize_t result) {
    if (result > 0)
        return (size_t)result;
    if (result == 0)
        exit(1); /* the other process has gone, and said why */
    if (errno != EAGAIN && errno != EINTR)
        fail("loopback");
    return 0;
}

static void exchange(const void *send_from, size_t send_bytes, void *recv_into, size_t recv_bytes) {
    const char *from = send_from;
    char *into = recv_into;
    while (send_bytes || recv_bytes) {
        size_t sent = send_bytes ? moved(send(connection, from, send_bytes, MSG_DONTWAIT | MSG_NOSIGNAL)) : 0;
        size_t got = recv_bytes ? moved(recv(connection, into, recv_bytes, MSG_DONTWAIT)) : 0;
        from += sent;
        send_bytes -= sent;
        into += got;
        recv_bytes -= got;
    }
}

static void barrier_loopback(struct peer *peer) {
    char byte = 0;
    stay_together(false);
    if (peer->rank == 0)
        exchange(&byte, 1, NULL, 0);
    exchange(NULL, 0, &byte, 1);
    if (peer->rank == 1)
        exchange(&byte, 1, NULL, 0);
}

static void allreduce_loopback(struct peer *peer, const double *send, double *recv, size_t count) {
    (void)peer;
    exchange(send, count * sizeof *send, recv, count * sizeof *recv);
}

static void broadcast_loopback(struct peer *peer, double *buffer, size_t count, size_t root) {
    size_t bytes = count * sizeof *buffer;
    exchange(buffer, peer->rank == root ? bytes : 0, buffer, peer->rank == root ? 0 : bytes);
}

#define FLOOR(word, moves, sends)                                                                                      \
    {                                                                                                                  \
        .name = #word, .open = open_peer, .close = close_peer, .barrier = barrier_##word, .maximum = maximum,          \
        .allreduce = moves, .broadcast = sends                                                                         \
    }

struct peer peer_swap = FLOOR(swap, copy_on_both, NULL);
struct peer peer_lines = FLOOR(lines, copy_on_one, NULL);
struct peer peer_futex = FLOOR(futex, NULL, NULL);
struct peer peer_yield = FLOOR(yield, NULL, NULL);
struct peer peer_loopback = FLOOR(loopback, allreduce_loopback, broadcast_loopback);
