/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c: a coordinator's name with several addresses, of which one leads to rank 0. The others refuse, say nothing,
 * or belong to somebody else. */
#include "fault/tcp/peers.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "cobre-test-many"
static const char *const addresses[] = {"127.0.0.1", "127.0.0.2", "::1"};
enum { ADDRESSES = 3 };

/* A file of names that only this process and its children see. */
static void make_name(void) {
    char path[] = "/tmp/cobre-test-hosts-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    CHECK(fd >= 0);
    dprintf(fd, "127.0.0.1 localhost\n");
    for (size_t i = 0; i < ADDRESSES; i++)
        dprintf(fd, "%s " NAME "\n", addresses[i]);
    CHECK(fchmod(fd, 0644) == 0);
    close(fd);
    bool made = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
    unlink(path);
    if (!made)
        check_skip("no mount namespaces here");
}

/* What is at the wrong addresses. */
enum { NOBODY, SILENCE, ANOTHER_PROGRAM, ANOTHER_JOB, KINDS };

static void greet(int fd) {
    static const char banner[] = "SSH-2.0-OpenSSH_9.2\r\n";
    send(fd, banner, sizeof banner - 1, MSG_NOSIGNAL);
}

static void refuse(int fd) {
    unsigned char bytes[CB_REPLY_BYTES];
    cb_reply reply = {.type = CB_REFUSAL, .reason = CB_REFUSED_TOKEN, .version = CB_WIRE_VERSION};
    cb_pack_reply(&reply, bytes);
    send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
}

/* A process that answers at all these. */
static pid_t start_others(const int *listeners, size_t count, int kind) {
    pid_t parent = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (;;) {
        struct pollfd polls[ADDRESSES];
        for (size_t i = 0; i < count; i++)
            polls[i] = (struct pollfd){.fd = listeners[i], .events = POLLIN};
        poll(polls, count, -1);
        for (size_t i = 0; i < count; i++) {
            int fd = polls[i].revents ? accept(listeners[i], NULL, NULL) : -1;
            if (fd >= 0 && kind == ANOTHER_PROGRAM)
                greet(fd);
            if (fd >= 0 && kind == ANOTHER_JOB)
                refuse(fd);
            /* it stays open until this process ends */
        }
    }
}

static void form_at(size_t right, int kind, bool late) {
    job j;
    int listeners[ADDRESSES];
    size_t count = 0;
    make_plan(3, "secret");
    set_everywhere(NAME, addresses[right]);
    set_timeouts(20);
    for (size_t i = 0; i < ADDRESSES && kind != NOBODY; i++)
        if (i != right)
            listeners[count++] = listen_at(addresses[i], plan.config[0].tcp_port);
    pid_t others = count ? start_others(listeners, count, kind) : 0;
    for (size_t i = 0; i < count; i++)
        close(listeners[i]);
    make_job(&j, 3);
    if (late) { /* it is not there when the others first look */
        start_rank(&j, 1, join_by_tcp);
        await(&j, 1, "inside");
    }
    start_rank(&j, 0, join_by_tcp);
    for (size_t r = late ? 2 : 1; r < 3; r++)
        start_rank(&j, r, join_by_tcp);
    must_form_all(&j);
    if (others) {
        kill(others, SIGKILL);
        waitpid(others, NULL, 0);
    }
}

static void several_addresses(void) {
    make_name();
    for (int kind = NOBODY; kind < KINDS; kind++)
        for (size_t right = 0; right < ADDRESSES; right++)
            form_at(right, kind, ((size_t)kind + right) % 2);
}

/* No address leads to rank 0: what was found is said, not that somebody refused a connection. */
static void none_of_several(void) {
    job j;
    make_name();
    make_plan(2, "secret");
    set_everywhere(NAME, NULL);
    set_timeouts(1);
    int listener = listen_at("127.0.0.2", plan.config[0].tcp_port);
    pid_t other = start_others(&listener, 1, ANOTHER_PROGRAM);
    close(listener);
    make_job(&j, 2);
    start_rank(&j, 1, join);
    must_refuse(&j, 1, NAME " port", "(127.0.0.2) is not a cobre coordinator");
    end_job(&j);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

/* Without a token: all these addresses are this host's. */
static void several_of_this_host(void) {
    job j;
    make_name();
    make_plan(3, NULL);
    set_everywhere(NAME, NULL);
    start_all(&j, 3);
    must_form_all(&j);
}

const check_case address_cases[] = {
    {.name = "join_several_addresses", .run = several_addresses, .only = COBRE_TCP},
    {.name = "join_none_of_several", .run = none_of_several, .only = COBRE_TCP},
    {.name = "join_several_of_this_host", .run = several_of_this_host, .only = COBRE_TCP},
    CHECK_END,
};
