/* SPDX-License-Identifier: Apache-2.0 */
/* rank_link.c: the ring of the tcp backend against the link that it runs on. */
#include "kit/rank.h"
#include "kit/variables.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ROUNDS = 64, SLOW = 4 };

/* The link itself: one plain stream from rank 1 to rank 0. */
static int open_stream(void) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *to;
    int fd, on = 1;
    if (rank > 1) {
        must(cobre_barrier(comm));
        return -1;
    }
    CHECK(getaddrinfo(getenv(ENV_TCP_COORDINATOR), "7000", &hints, &to) == 0);
    fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (rank == 0) {
        CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
        CHECK(bind(fd, to->ai_addr, to->ai_addrlen) == 0 && listen(fd, 1) == 0);
        must(cobre_barrier(comm));
        int listener = fd;
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        must(cobre_barrier(comm));
        CHECK(connect(fd, to->ai_addr, to->ai_addrlen) == 0);
    }
    freeaddrinfo(to);
    return fd;
}

static void stream(int fd, char *bytes, size_t count) {
    while (fd >= 0 && count) {
        ssize_t moved = rank ? send(fd, bytes, count, MSG_NOSIGNAL) : recv(fd, bytes, count, 0);
        CHECK(moved > 0);
        bytes += moved;
        count -= (size_t)moved;
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds, size_t count) {
    qsort(seconds, count, sizeof *seconds, compare);
    return count % 2 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
}

enum { LINK, RING, STAR, WAYS };

/* What must come into the busiest host, in payloads: (R-1)/R of the result of allgatherv; all of a broadcast; of
 * allreduce the folds from one side and the result from the other. */
static double payloads_in(const operation *op) {
    double ranks = (double)size;
    return op->kind == 'g' ? (ranks - 1) / ranks : op->kind == 'r' && size > 2 ? 2 : 1;
}

/* Seconds that one way took, of the slowest rank. For the link: that a plain stream of what must come in would take. */
static double time_once(int way, const operation *op, cobre_comm *star, int link) {
    double took, slowest;
    if (way != LINK)
        operation_prepare(op);
    must(cobre_barrier(comm));
    double start = now();
    if (way == LINK)
        stream(link, (char *)op->recv, op->count * sizeof *op->recv);
    else
        operation_run(op, way == RING ? comm : star);
    took = (now() - start) * (way == LINK ? payloads_in(op) : 1);
    must(cobre_allreduce(comm, &took, 1, &slowest, 1, COBRE_F64, COBRE_MAX));
    if (way != LINK)
        operation_check(op);
    return slowest;
}

static double report(int way, const char *name, const operation *op, double *seconds, size_t rounds, double link) {
    static const char *const names[] = {"link", "ring", "star"};
    double bytes = (double)op->count * sizeof *op->recv;
    printf("%s: %s of %.0f MB:", names[way], name, bytes / 1e6);
    for (size_t round = 0; round < rounds; round++)
        printf(" %.3f", seconds[round]);
    double took = median(seconds, rounds);
    printf(" s, median %.3f s, %.0f Mbit/s into a host, %.1f %% of the link\n", took,
           8e-6 * bytes * payloads_in(op) / took, 100 * (way == LINK ? took : link) / took);
    return took;
}

/* The link, the ring and the star in turn, round after round; medians. Link and ring first go once without being
 * counted: congestion windows and buffers grow. */
void measure_link(const char *what) {
    char name[16];
    size_t bytes, rounds, star_rounds;
    double percent, seconds[WAYS][MAX_ROUNDS];
    CHECK(sscanf(what, "%15[^,],%zu,%zu,%zu,%lf", name, &bytes, &rounds, &star_rounds, &percent) == 5);
    CHECK(rounds <= MAX_ROUNDS && star_rounds <= rounds && star_rounds > 0);
    cobre_comm *star;
    setenv("COBRE_TEST_TCP_STAR", "1", 1);
    setenv(ENV_TCP_PORT, "7001", 1);
    must(cobre_comm_open(NULL, &star));
    int link = open_stream();
    operation op = operation_make(name, bytes);
    for (int way = LINK; way <= RING; way++)
        time_once(way, &op, star, link);
    for (size_t round = 0; round < rounds; round++)
        for (int way = LINK; way <= (round < star_rounds ? STAR : RING); way++)
            seconds[way][round] = time_once(way, &op, star, link);
    must(cobre_comm_free(&star));
    if (link >= 0)
        close(link);
    if (rank == 0) {
        double whole = report(LINK, name, &op, seconds[LINK], rounds, 0);
        double reached = 100 * whole / report(RING, name, &op, seconds[RING], rounds, whole);
        report(STAR, name, &op, seconds[STAR], star_rounds, whole);
        if (reached < percent) {
            printf("slow: the ring reaches %.1f %% of the link, less than %g %%\n", reached, percent);
            exit(SLOW);
        }
    }
    operation_free(&op);
}
