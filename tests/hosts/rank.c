/* rank.c: one rank of a job over several hosts, as run.sh asks: `rank STEP...`, done in order.
 *
 *   mark=NAME       makes the file $COBRE_TEST_SCRATCH/NAME-RANK: run.sh has been waiting for it
 *   await=NAME      waits outside the library for the file NAME, as a rank that computes
 *   barrier, gather=BYTES, broadcast=BYTES, reduce=BYTES    a collective, and a check of every byte of its result
 *   forever=BYTES   gathers one after the other, until one fails; after the second it makes the file streaming-RANK
 *   measure=OPERATION,BYTES,ROUNDS,STAR_ROUNDS,PERCENT      the ring against the link: see measure() below
 *
 * The last line says how it ended and when (CLOCK_MONOTONIC). Exit code 0: all steps done, 3: the library returned an
 * error, 1: a result was wrong, 4: the ring was too slow. */
#include "cobre/comm.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 16, MAX_ROUNDS = 64, FAILED = 3, SLOW = 4 };

static cobre_comm *comm;
static size_t rank, size;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static _Noreturn void give_up(const char *what) {
    printf("wrong: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

static void must(cobre_status status) {
    const cobre_error *error = cobre_last_error();
    if (status == COBRE_OK)
        return;
    printf("failed at %.3f: culprit %ld: %s; %s\n", now(), error->culprit == COBRE_NO_RANK ? -1L : (long)error->culprit,
           error->message, error->suggestion);
    exit(FAILED);
}

static void path_of(const char *name, char *path, size_t len) {
    const char *scratch = getenv("COBRE_TEST_SCRATCH");
    snprintf(path, len, "%s/%s", scratch ? scratch : ".", name);
}

static void mark(const char *name) {
    char own[64], path[512];
    snprintf(own, sizeof own, "%s-%zu", name, rank);
    path_of(own, path, sizeof path);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        give_up(path);
    close(fd);
}

static void await(const char *name) {
    char path[512];
    path_of(name, path, sizeof path);
    while (access(path, F_OK) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Word i of what a rank contributes: sums over 16 ranks stay exact. */
static uint32_t word(size_t from, size_t i) {
    return (uint32_t)((i * 2654435761u + from * 40503u) & 0x0fffffffu);
}

static void expect(const uint32_t *words, size_t count, size_t from) {
    for (size_t i = 0; i < count; i++)
        if (words[i] != word(from, i)) {
            printf("wrong: word %zu of rank %zu's part\n", i, from);
            exit(1);
        }
}

static void fill(uint32_t *words, size_t count, size_t from) {
    for (size_t i = 0; i < count; i++)
        words[i] = word(from, i);
}

/* One operation on `count` words: allgatherv of count / size from each, or broadcast from rank 1 % size, or allreduce.
 * prepare fills the buffers, run is what is timed, check looks at every word. */
typedef struct {
    char kind; /* g, b, r */
    size_t count;
    uint32_t *send, *recv;
    size_t counts[MAX_RANKS], displs[MAX_RANKS];
} operation;

static operation make_operation(const char *name, size_t bytes) {
    operation op = {.kind = name[0], .count = bytes / sizeof(uint32_t)};
    for (size_t r = 0; r < size; r++) {
        op.displs[r] = op.count * r / size;
        op.counts[r] = op.count * (r + 1) / size - op.displs[r];
    }
    op.recv = malloc(bytes);
    op.send = op.kind == 'r' ? malloc(bytes) : op.kind == 'g' ? op.recv + op.displs[rank] : NULL;
    if (!op.recv || (op.kind == 'r' && !op.send))
        give_up("memory");
    return op;
}

static void prepare(const operation *op) {
    memset(op->recv, 0xff, op->count * sizeof *op->recv);
    if (op->kind == 'g')
        fill(op->send, op->counts[rank], rank);
    else if (op->kind == 'r')
        fill(op->send, op->count, rank);
    else if (rank == 1 % size)
        fill(op->recv, op->count, rank);
}

static void run(const operation *op, cobre_comm *over) {
    if (op->kind == 'g')
        must(
            cobre_allgatherv(over, op->send, op->counts[rank], op->recv, op->count, op->counts, op->displs, COBRE_U32));
    else if (op->kind == 'r')
        must(cobre_allreduce(over, op->send, op->count, op->recv, op->count, COBRE_U32, COBRE_SUM));
    else
        must(cobre_broadcast(over, op->recv, op->count, COBRE_U32, 1 % size));
}

static void check(const operation *op) {
    if (op->kind == 'b')
        expect(op->recv, op->count, 1 % size);
    for (size_t r = 0; r < size && op->kind == 'g'; r++)
        expect(op->recv + op->displs[r], op->counts[r], r);
    for (size_t i = 0; i < op->count && op->kind == 'r'; i++) {
        uint32_t sum = 0;
        for (size_t r = 0; r < size; r++)
            sum += word(r, i);
        if (op->recv[i] != sum) {
            printf("wrong: word %zu of the sum\n", i);
            exit(1);
        }
    }
}

static void free_operation(operation *op) {
    if (op->kind == 'r')
        free(op->send);
    free(op->recv);
}

static void collective(const char *name, size_t bytes) {
    operation op = make_operation(name, bytes);
    prepare(&op);
    run(&op, comm);
    check(&op);
    free_operation(&op);
}

static void forever(size_t bytes) {
    operation op = make_operation("gather", bytes);
    prepare(&op);
    for (int round = 1;; round++) {
        run(&op, comm);
        if (round == 2)
            mark("streaming");
    }
}

/* The link itself: one plain stream from rank 1 to rank 0. */
static int open_stream(void) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *to;
    int fd, on = 1;
    if (rank > 1) {
        must(cobre_barrier(comm));
        return -1;
    }
    if (getaddrinfo(getenv("COBRE_TCP_COORDINATOR"), "7000", &hints, &to) != 0)
        give_up("address of the link's other end");
    fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (rank == 0) {
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
            bind(fd, to->ai_addr, to->ai_addrlen) != 0 || listen(fd, 1) != 0)
            give_up("listen for the plain stream");
        must(cobre_barrier(comm));
        int listener = fd;
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        must(cobre_barrier(comm));
        if (connect(fd, to->ai_addr, to->ai_addrlen) != 0)
            give_up("connect the plain stream");
    }
    freeaddrinfo(to);
    return fd;
}

static void stream(int fd, char *bytes, size_t count) {
    while (fd >= 0 && count) {
        ssize_t moved = rank ? send(fd, bytes, count, MSG_NOSIGNAL) : recv(fd, bytes, count, 0);
        if (moved <= 0)
            give_up("plain stream");
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
        prepare(op);
    must(cobre_barrier(comm));
    double start = now();
    if (way == LINK)
        stream(link, (char *)op->recv, op->count * sizeof *op->recv);
    else
        run(op, way == RING ? comm : star);
    took = (now() - start) * (way == LINK ? payloads_in(op) : 1);
    must(cobre_allreduce(comm, &took, 1, &slowest, 1, COBRE_F64, COBRE_MAX));
    if (way != LINK)
        check(op);
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
static void measure(const char *what) {
    char name[16];
    size_t bytes, rounds, star_rounds;
    double percent, seconds[WAYS][MAX_ROUNDS];
    if (sscanf(what, "%15[^,],%zu,%zu,%zu,%lf", name, &bytes, &rounds, &star_rounds, &percent) != 5 ||
        rounds > MAX_ROUNDS || star_rounds > rounds || star_rounds == 0)
        give_up(what);
    cobre_comm *star;
    setenv("COBRE_TEST_TCP_STAR", "1", 1);
    setenv("COBRE_TCP_PORT", "7001", 1);
    must(cobre_comm_open(NULL, &star));
    int link = open_stream();
    operation op = make_operation(name, bytes);
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
    free_operation(&op);
}

static void step(const char *text) {
    char name[16] = "";
    const char *value = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    value = value ? value + 1 : "";
    size_t bytes = strtoull(value, NULL, 10);
    if (strcmp(name, "mark") == 0)
        mark(value);
    else if (strcmp(name, "await") == 0)
        await(value);
    else if (strcmp(name, "barrier") == 0)
        must(cobre_barrier(comm));
    else if (strcmp(name, "forever") == 0)
        forever(bytes);
    else if (strcmp(name, "measure") == 0)
        measure(value);
    else if (strcmp(name, "gather") == 0 || strcmp(name, "broadcast") == 0 || strcmp(name, "reduce") == 0)
        collective(name, bytes);
    else
        give_up(text);
}

int main(int count, char **steps) {
    must(cobre_comm_open(NULL, &comm));
    rank = cobre_rank(comm);
    size = cobre_size(comm);
    if (size > MAX_RANKS)
        give_up("too many ranks");
    for (int i = 1; i < count; i++)
        step(steps[i]);
    must(cobre_comm_free(&comm));
    printf("done at %.3f\n", now());
    return 0;
}
