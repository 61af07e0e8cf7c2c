/* SPDX-License-Identifier: Apache-2.0 */
/* closing.c: a program that closes all descriptors, cobre's among them, and opens its own under their numbers: nothing is
 * written into those, they stay open, and all ranks get an error. */
#include "fault/tcp/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 512, HIGH = 600 };
static const char *const acts[] = {"small", "large", "free", "exit", "abort", "fork"};

static size_t closer;
static const char *act;
static int ours[2]; /* a pair of sockets; the closer has [0] under all numbers that were cobre's */

static void list_open(bool is_open[NUMBERS]) {
    for (int fd = 0; fd < NUMBERS; fd++)
        is_open[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void check_still_there(const bool before[NUMBERS], const bool with_cobre[NUMBERS]) {
    struct stat own, now;
    CHECK(fstat(ours[0], &own) == 0);
    for (int fd = 0; fd < NUMBERS; fd++)
        if (with_cobre[fd] && !before[fd])
            CHECK_SAY(fstat(fd, &now) == 0 && now.st_ino == own.st_ino, "the program's descriptor %d is open", fd);
}

static void take_numbers(const bool before[NUMBERS], const bool with_cobre[NUMBERS]) {
    size_t taken = 0;
    for (int fd = 0; fd < NUMBERS; fd++)
        if (with_cobre[fd] && !before[fd])
            CHECK(close(fd) == 0);
    for (int fd = 0; fd < NUMBERS; fd++)
        if (with_cobre[fd] && !before[fd]) {
            CHECK(dup2(ours[0], fd) == fd);
            taken++;
        }
    CHECK(taken >= 2);
}

static cobre_status call_large(cobre_comm *comm) {
    static double x[100000], y[100000];
    return cobre_allreduce(comm, x, 100000, y, 100000, COBRE_F64, COBRE_SUM);
}

static void must_say_closed(cobre_status status) {
    const cobre_error *error = cobre_last_error();
    CHECK_STATUS(status, COBRE_COLLECTIVE_FAILED);
    CHECK(error->cause == COBRE_CAUSE_TRANSPORT && error->culprit == self.rank && error->os_error == EBADF);
    CHECK_HOLDS(error->message, "the program closed cobre's connections");
}

static void go_on_without(cobre_comm *comm, const bool before[NUMBERS], const bool with_cobre[NUMBERS]) {
    if (strcmp(act, "small") == 0)
        must_say_closed(cobre_barrier(comm));
    if (strcmp(act, "large") == 0)
        must_say_closed(call_large(comm));
    if (strcmp(act, "exit") == 0)
        exit(0);
    if (strcmp(act, "abort") == 0)
        cobre_abort(comm, 1, "the test wants it");
    if (strcmp(act, "fork") == 0) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            check_still_there(before, with_cobre);
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    CHECK_OK(cobre_comm_free(&comm));
    check_still_there(before, with_cobre);
}

static void one_closes(void) {
    bool before[NUMBERS], with_cobre[NUMBERS];
    cobre_config config = plan.config[self.rank];
    cobre_comm *comm;
    list_open(before);
    CHECK_OK(cobre_comm_open(&config, &comm));
    list_open(with_cobre);
    CHECK_OK(cobre_barrier(comm));
    CHECK_OK(call_large(comm));
    say("ready", 0);
    if (self.rank == closer) {
        await_order();
        say("closes", 0);
        take_numbers(before, with_cobre);
        go_on_without(comm, before, with_cobre);
        return;
    }
    tell("failed", cobre_barrier(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

static void must_be_spared(size_t ranks, size_t rank, const char *what) {
    job j;
    char byte;
    closer = rank;
    act = what;
    make_plan(ranks, "secret");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ours) == 0);
    for (size_t i = 0; i < 2; i++) { /* out of the way of the numbers that cobre gets */
        int high = fcntl(ours[i], F_DUPFD, HIGH);
        CHECK(high >= HIGH && close(ours[i]) == 0);
        ours[i] = high;
    }
    start_job(&j, ranks, one_closes);
    await_all(&j, "ready"); /* nobody needs the connections any more for what went before */
    order(&j, closer, 'c');
    double since = await(&j, closer, "closes")->time;
    for (size_t r = 0; r < ranks; r++)
        if (r != closer) { /* it died; or a last word came through while descriptors were being closed */
            const report *failed = await(&j, r, "failed");
            must_have_failed(&j, failed, failed->cause == COBRE_CAUSE_PEER_DIED ? failed->cause : COBRE_CAUSE_TRANSPORT,
                             closer, since);
        }
    j.rank[closer].killed = strcmp(act, "abort") == 0; /* its exit code is not 0 */
    end_job(&j);
    CHECK_SAY(recv(ours[1], &byte, 1, 0) < 0 && errno == EAGAIN, "rank %zu of %zu (%s): nothing came into its socket",
              rank, ranks, what);
    close(ours[0]);
    close(ours[1]);
}

static void closed_descriptors(void) {
    for (size_t ranks = 2; ranks <= 4; ranks++)
        for (size_t rank = 0; rank < ranks; rank++)
            for (size_t a = 0; a < sizeof acts / sizeof *acts; a++)
                must_be_spared(ranks, rank, acts[a]);
}

const check_case closing_cases[] = {
    {.name = "closed_descriptors", .run = closed_descriptors, .only = COBRE_TCP, .timed = true},
    CHECK_END,
};
