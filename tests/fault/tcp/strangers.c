/* SPDX-License-Identifier: Apache-2.0 */
/* strangers.c: others at rank 0's door while the job forms. It forms nevertheless, and soon; what they can make rank 0
 * hold is bounded. */
#include "fault/tcp/peers.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds from the true ranks' start to the job's: far below a handshake's time, let alone the join's. */
#define SOON (SLOWNESS * 2.5)

static uint16_t port(void) {
    return plan.config[0].tcp_port;
}

static size_t descriptors_of(pid_t pid) {
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2;
}

static long memory_of(pid_t pid) {
    char path[64];
    long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void let_true_ranks_in(job *j) {
    double since = kit_seconds();
    for (size_t r = 1; r < j->size; r++)
        start_rank(j, r, join);
    for (size_t r = 0; r < j->size; r++) {
        const report *opened = await(j, r, "opened");
        CHECK_SAY(opened->status == COBRE_OK, "rank %zu gets in: %s", r, opened->message);
        must_come_within(j, opened, since, SOON);
        await(j, r, "worked");
    }
    end_job(j);
}

/* Says something that is no hello: dropped without an answer, before it is whole. */
static void must_be_dropped(const char *bytes, size_t count) {
    int fd = dial("127.0.0.1", port());
    put(fd, bytes, count);
    char byte;
    CHECK(!get(fd, &byte, 1));
    close(fd);
}

static void http_request(void) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
    job j;
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    must_be_dropped(request, sizeof request - 1);
    must_be_dropped("G", 1);
    must_be_dropped("cobretcX", 8);
    let_true_ranks_in(&j);
}

static void random_bytes(void) {
    static char bytes[65536];
    job j;
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    for (int i = 0; i < 200; i++) {
        size_t count = 1 + kit_below(chance(), i % 10 ? 300 : sizeof bytes);
        for (size_t b = 0; b < count; b++)
            bytes[b] = (char)kit_random(chance());
        if (bytes[0] == 'c')
            bytes[0] = 'd';
        int fd = dial("127.0.0.1", port());
        send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT); /* may be closed under us */
        char answer;
        CHECK_SAY(!get(fd, &answer, 1), "no answer to what is no hello");
        close(fd);
    }
    let_true_ranks_in(&j);
}

static void silent_connection(void) {
    job j;
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    int fd = dial("127.0.0.1", port());
    let_true_ranks_in(&j);
    CHECK(is_over(fd));
    close(fd);
}

/* The time of a handshake, which ends just now: long enough for who is slow, and no longer. */
static void must_have_had_5_seconds(job *j, double since) {
    double now = mark_time(j), given = time_given(j, 0, since, now);
    CHECK_SAY(now - since > 4.99 && given < 5 + PROMISE, "5 s, not %.3f s, of which rank 0 could run in %.3f s",
              now - since, given);
}

/* Its time is over after 5 seconds, though nobody else came. */
static void silent_connection_is_ended(void) {
    job j;
    make_plan(2, "secret");
    start_coordinator(&j, 2);
    double since = mark_time(&j);
    int fd = dial("127.0.0.1", port());
    CHECK(is_over(fd));
    must_have_had_5_seconds(&j, since);
    close(fd);
    let_true_ranks_in(&j);
}

/* One byte of a good hello a second: it has no more time for that than for all of it. */
static void slow_hello(void) {
    job j;
    unsigned char hello[CB_HELLO_BYTES];
    cb_hello good = make_hello(CB_DATA, 1, 2);
    make_plan(2, "secret");
    cb_pack_hello(&good, hello);
    start_coordinator(&j, 2);
    double since = mark_time(&j);
    int fd = dial("127.0.0.1", port());
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    for (size_t i = 0; i < 40 && !polled.revents; i++) {
        send(fd, hello + i, 1, MSG_NOSIGNAL);
        poll(&polled, 1, 1000);
    }
    CHECK(polled.revents);
    must_have_had_5_seconds(&j, since);
    close(fd);
    let_true_ranks_in(&j);
}

static void hello_then_silent(void) {
    job j;
    int fds[20];
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    for (size_t i = 0; i < 20; i++) {
        cb_hello hello = make_hello(i % 2 ? CB_CONTROL : CB_DATA, 1 + i % 2, 3);
        unsigned char challenge[CB_REPLY_BYTES];
        fds[i] = dial("127.0.0.1", port());
        put_hello(fds[i], &hello);
        CHECK(get(fds[i], challenge, sizeof challenge));
    }
    let_true_ranks_in(&j);
    for (size_t i = 0; i < 20; i++) {
        CHECK(is_over(fds[i]));
        close(fds[i]);
    }
}

/* Says hello and takes the challenge; comes again where too many of this address have just come. */
static int dial_for_challenge(const unsigned char hello[CB_HELLO_BYTES]) {
    unsigned char reply[CB_REPLY_BYTES];
    for (;;) { /* the case has a deadline */
        int fd = dial("127.0.0.1", port());
        put(fd, hello, CB_HELLO_BYTES);
        if (get(fd, reply, sizeof reply))
            return fd;
        close(fd);
        cb_nap(5e-3);
    }
}

/* Closed, in order or by a reset, after each number of bytes of the handshake. */
static void closed_at_each_step(void) {
    job j;
    unsigned char bytes[CB_HELLO_BYTES], junk[CB_PROOF] = {0};
    cb_hello hello = make_hello(CB_DATA, 1, 3);
    struct linger at_once = {.l_onoff = 1};
    make_plan(3, "secret");
    cb_pack_hello(&hello, bytes);
    start_coordinator(&j, 3);
    for (size_t round = 0; round < 2; round++)
        for (size_t count = 0; count < CB_HELLO_BYTES + CB_PROOF; count++) {
            bool whole = count >= CB_HELLO_BYTES;
            int fd = whole ? dial_for_challenge(bytes) : dial("127.0.0.1", port());
            put(fd, whole ? junk : bytes, whole ? count - CB_HELLO_BYTES : count);
            if (round)
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            close(fd);
        }
    let_true_ranks_in(&j);
}

/* A thousand that are connected and say nothing, or half of a hello. Rank 0 keeps a bounded number of them. */
static void half_open(void) {
    enum { MANY = 1000 };
    static int fds[MANY];
    job j;
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < MANY + 100)
        check_skip("too few descriptors allowed");
    make_plan(3, "secret");
    start_coordinator(&j, 3); /* with the limit as it was */
    size_t descriptors = descriptors_of(j.rank[0].pid), most = descriptors;
    long memory = memory_of(j.rank[0].pid);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_cur > MANY + 100 ? limit.rlim_cur : MANY + 100;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = dial("127.0.0.1", port());
        if (i % 2)
            send(fds[i], "cobretcp", 8, MSG_NOSIGNAL);
        size_t now = i % 20 ? 0 : descriptors_of(j.rank[0].pid);
        most = now > most ? now : most;
    }
    /* It has seen the last one when that, having sent nonsense, is gone. */
    must_be_dropped("x", 1);
    size_t now = descriptors_of(j.rank[0].pid);
    most = now > most ? now : most;
    printf("rank 0: %zu descriptors, at most %zu; %ld KiB more memory\n", descriptors, most,
           (memory_of(j.rank[0].pid) - memory) / 1024);
    CHECK_SAY(most <= descriptors + 64 + 3 + 1, "at most 64 + 3 of an address stand at the door, not %zu",
              most - descriptors);
    CHECK(memory_of(j.rank[0].pid) - memory < 1 << 20);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    let_true_ranks_in(&j);
    for (size_t i = 0; i < MANY; i++)
        close(fds[i]);
}

/* From 127.1.0.0 and what follows: each is an address of this host. */
static int dial_from(uint32_t number) {
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET, .sin_port = htons(port())};
    from.sin_addr.s_addr = htonl((127u << 24 | 1u << 16) + number);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&from, sizeof from) == 0);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

static void make_room_for(size_t descriptors) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < descriptors)
        check_skip("too few descriptors allowed");
    limit.rlim_cur = limit.rlim_cur > descriptors ? limit.rlim_cur : descriptors;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* The door is full, with one of each address: the oldest makes room for a newcomer, not the last that came. */
static void many_addresses(void) {
    enum { MANY = 1024 + 3 };
    static int fds[MANY + 3];
    job j;
    cb_hello hello = make_hello(CB_DATA, 1, 3);
    unsigned char challenge[CB_REPLY_BYTES];
    make_room_for(MANY + 100);
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    for (size_t i = 0; i < MANY + 3; i++)
        fds[i] = dial_from((uint32_t)i);
    CHECK(is_over(fds[0]) && is_over(fds[1]) && is_over(fds[2]));
    put_hello(fds[MANY + 1], &hello);
    CHECK_SAY(get(fds[MANY + 1], challenge, sizeof challenge), "the last but one is still in");
    for (size_t i = 0; i < MANY + 3; i++)
        close(fds[i]);
    let_true_ranks_in(&j);
}

/* More come from one address than may, all at once. Says whether the first of them stays and the last one goes. */
static bool first_stays(void) {
    enum { MANY = 64 + 3 + 1 };
    struct pollfd polls[MANY];
    for (size_t i = 0; i < MANY; i++)
        polls[i] = (struct pollfd){.fd = dial("127.0.0.1", port()), .events = POLLIN};
    struct pollfd ends[] = {polls[0], polls[MANY - 1]};
    CHECK(poll(ends, 2, (int)(DEADLINE * 1000)) > 0);
    for (size_t i = 0; i < MANY; i++)
        close(polls[i].fd);
    return !ends[0].revents && ends[1].revents;
}

/* Who has just come is not pushed out by others of its address: it has time for its handshake. To come all at once takes luck on a
 * busy machine. */
static void a_turn(void) {
    job j;
    make_plan(3, "secret");
    start_coordinator(&j, 3);
    for (size_t tries = 1; !first_stays(); tries++)
        CHECK_SAY(tries < 100, "the first one has its turn");
    let_true_ranks_in(&j);
}

/* Opens files until only this many descriptors are left. */
static void join_with_descriptors(size_t left) {
    rlim_t limit = 256;
    size_t used = descriptors_of(getpid()) - 1; /* its own look at them is over */
    CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = limit, .rlim_max = limit}) == 0);
    for (; used + left < limit; used++)
        CHECK(dup(STDIN_FILENO) >= 0);
    join();
}

static void join_with_30_descriptors(void) {
    join_with_descriptors(30);
}

static void join_with_20_descriptors(void) {
    join_with_descriptors(20);
}

/* Rank 0 may have fewer descriptors than strangers come: they must not take them all. */
static void few_descriptors(void) {
    enum { STRANGERS = 300 };
    int fds[STRANGERS];
    job j;
    make_plan(3, "secret");
    make_job(&j, 3);
    start_rank(&j, 0, join_with_30_descriptors);
    await(&j, 0, "inside");
    for (size_t i = 0; i < STRANGERS; i++)
        fds[i] = dial("127.0.0.1", port());
    let_true_ranks_in(&j);
    for (size_t i = 0; i < STRANGERS; i++)
        close(fds[i]);
}

/* Rank 0 has not enough for the 30 connections of its own ranks: it says so. */
static void too_few_descriptors(void) {
    job j;
    make_plan(16, "secret");
    set_timeouts(1); /* of those who look for rank 0 when it has given up */
    plan.config[0].join_timeout_secs = DEADLINE;
    make_job(&j, 16);
    start_rank(&j, 0, join_with_20_descriptors);
    for (size_t r = 1; r < 16; r++)
        start_rank(&j, r, join);
    const report *r = must_refuse(&j, 0, "", "");
    CHECK_SAY(strstr(r->message, "open files") || strstr(r->suggestion, "ulimit -n"), "descriptors are named: %s; %s",
              r->message, r->suggestion);
    end_job(&j);
}

/* A process that connects as fast as it can, and keeps what it has: half silent, half with half a hello. */
static pid_t start_flood(_Atomic size_t *made) {
    pid_t parent = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    static int held[400];
    struct linger at_once = {.l_onoff = 1}; /* leaves nothing behind in the system's tables */
    for (size_t i = 0;; i++) {
        int *place = &held[i % 400];
        if (*place > 0)
            close(*place);
        *place = try_dial("127.0.0.1", port());
        if (*place < 0) {
            usleep(1000);
            continue;
        }
        setsockopt(*place, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        if (i % 2)
            send(*place, "cobretcp", 8, MSG_NOSIGNAL | MSG_DONTWAIT);
        ++*made;
    }
}

static void flood(void) {
    job j;
    make_plan(4, "secret");
    start_coordinator(&j, 4);
    _Atomic size_t *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    pid_t pids[2] = {start_flood(made), start_flood(made)};
    double since = kit_seconds();
    while (*made < 2000) {
        CHECK(kit_seconds() - since < DEADLINE);
        usleep(1000);
    }
    for (size_t r = 1; r < 4; r++)
        start_rank(&j, r, join);
    since = kit_seconds();
    for (size_t r = 0; r < 4; r++)
        must_form(&j, r);
    printf("formed in %.2f s, beside %zu strangers\n", kit_seconds() - since, *made);
    munmap(made, sizeof *made);
    for (size_t i = 0; i < 2; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    end_job(&j);
}

/* Processes of another user that open connections, say a good hello on each, and then nothing; they hold them all. */
enum { CROWD = 10000, CROWDERS = 5, NOBODY = 65534 };
static _Atomic size_t *crowd_made;
static pid_t crowders[CROWDERS];

static void crowd(int (*connect_one)(void)) {
    struct rlimit room = {CROWD / CROWDERS + 100, CROWD / CROWDERS + 100};
    cb_hello hello = make_hello(CB_DATA, 1, 3);
    unsigned char bytes[CB_HELLO_BYTES];
    cb_pack_hello(&hello, bytes);
    if (setrlimit(RLIMIT_NOFILE, &room) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(77);
    for (size_t i = 0; i < CROWD / CROWDERS;) {
        int fd = connect_one();
        if (fd < 0) {
            usleep(1000); /* its queue is full */
            continue;
        }
        send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        i++;
        ++*crowd_made;
    }
    for (;;)
        pause();
}

static void start_crowd(int (*connect_one)(void)) {
    pid_t parent = getpid();
    if (!crowd_made)
        crowd_made = mmap(NULL, sizeof *crowd_made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(crowd_made != MAP_FAILED);
    *crowd_made = 0;
    for (size_t i = 0; i < CROWDERS; i++) {
        crowders[i] = fork();
        CHECK(crowders[i] >= 0);
        if (crowders[i])
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            crowd(connect_one);
        _exit(1);
    }
}

static void end_crowd(void) {
    for (size_t i = 0; i < CROWDERS; i++) {
        kill(crowders[i], SIGKILL);
        waitpid(crowders[i], NULL, 0);
    }
}

static int connect_by_tcp(void) {
    return try_dial("127.0.0.1", port());
}

static int connect_by_name(void) {
    return dial_name(port());
}

/* The ranks come while the crowd does, and the crowd goes on. */
static void form_in_a_crowd(const char *token, void (*body)(void), int (*connect_one)(void)) {
    job j;
    make_plan(3, token);
    make_job(&j, 3);
    start_rank(&j, 0, body);
    await(&j, 0, "inside");
    start_crowd(connect_one);
    for (double since = kit_seconds(); *crowd_made < CROWD / 4; usleep(1000))
        CHECK_SAY(kit_seconds() - since < DEADLINE, "the crowd comes");
    double since = mark_time(&j);
    start_rank(&j, 1, body);
    start_rank(&j, 2, body);
    for (size_t r = 0; r < 3; r++) {
        const report *opened = await(&j, r, "opened");
        CHECK_SAY(opened->status == COBRE_OK, "rank %zu gets in: %s", r, opened->message);
        if (r == 0)
            printf("formed in %.2f s, beside %zu strangers\n", opened->time - since, *crowd_made);
        must_come_within(&j, opened, since, SOON);
        await(&j, r, "worked");
    }
    end_job(&j);
    end_crowd();
}

static void must_be_root(void) {
    if (geteuid() != 0)
        check_skip("only root can act for another user");
}

/* On one host the ranks come by Unix sockets, where the crowd is not let in; and if they come by TCP, with the crowd's
 * address, they come again when they are pushed out. */
static void crowd_of_another_user(void) {
    must_be_root();
    form_in_a_crowd("secret", join, connect_by_tcp);
    form_in_a_crowd("secret", join, connect_by_name);
    form_in_a_crowd("secret", join_by_tcp, connect_by_tcp);
}

static void crowd_without_token(void) {
    must_be_root();
    form_in_a_crowd(NULL, join, connect_by_name);
}

/* Without a token it is the user that counts: a false rank of another one is dropped without an answer. */
static void another_user(void) {
    job j;
    int status;
    must_be_root();
    make_plan(2, NULL);
    start_coordinator(&j, 2);
    CHECK(try_dial("127.0.0.1", port()) < 0); /* there is no port */
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        cb_hello hello = make_hello(CB_DATA, 1, 2);
        unsigned char byte;
        bool is_nobody = setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
        int fd = dial_name(port());
        unsigned char bytes[CB_HELLO_BYTES];
        cb_pack_hello(&hello, bytes);
        send(fd, bytes, sizeof bytes, MSG_NOSIGNAL); /* it may have been dropped already */
        _exit(is_nobody && !get(fd, &byte, 1) ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    start_rank(&j, 1, join);
    must_form_all(&j);
}

static void join_as_nobody(void) {
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(1);
    join();
}

/* Who is to blame: at rank 0 the name is taken, and the others may not use it. With COBRE_TCP_OPEN=1, and with a token,
 * users can share a job. */
static void users(void) {
    job j;
    must_be_root();
    make_plan(2, NULL);
    set_timeouts(0.5);
    plan.config[0].join_timeout_secs = 2;
    start_coordinator(&j, 2);
    start_rank(&j, 1, join_as_nobody);
    CHECK(strstr(must_refuse(&j, 1, "could not reach", "ermission")->suggestion, "another user"));
    CHECK(strstr(must_refuse(&j, 0, "did not come in time", "")->suggestion, "for ranks on other hosts"));
    end_job(&j);
    for (size_t i = 0; i < 2; i++) {
        make_plan(2, i ? "secret" : NULL);
        for (size_t r = 0; r < 2; r++)
            plan.config[r].tcp_open = !i;
        start_coordinator(&j, 2);
        start_rank(&j, 1, join_as_nobody);
        must_form_all(&j);
    }
}

static bool has_socket(pid_t pid, unsigned long inode) {
    char path[64], target[64], wanted[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    for (struct dirent *entry; !found && (entry = readdir(directory));) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found = strcmp(target, wanted) == 0;
    }
    closedir(directory);
    return found;
}

/* Sockets of this process that listen, and how many of them only on loopback. */
static size_t listeners_of(pid_t pid, size_t *on_loopback) {
    static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    size_t count = 0;
    *on_loopback = 0;
    for (size_t p = 0; p < 2; p++) {
        char line[512], local[64];
        FILE *file = fopen(paths[p], "r");
        while (file && fgets(line, sizeof line, file)) {
            unsigned state;
            unsigned long inode;
            if (sscanf(line, "%*d: %63s %*s %x %*s %*s %*s %*d %*d %lu", local, &state, &inode) != 3 || state != 0x0a ||
                !has_socket(pid, inode))
                continue;
            count++;
            *on_loopback +=
                strncmp(local, "0100007F:", 9) == 0 || strncmp(local, "00000000000000000000000001000000:", 33) == 0;
        }
        if (file)
            fclose(file);
    }
    return count;
}

/* Unix sockets of this process with a name of ours: those that listen, and those that it has accepted there. */
static size_t unix_sockets_of(pid_t pid, bool listening) {
    char line[512], name[128];
    size_t count = 0;
    FILE *file = fopen("/proc/net/unix", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file)) {
        unsigned long flags, inode;
        if (sscanf(line, "%*s %*s %*s %lx %*s %*s %lu %127s", &flags, &inode, name) == 3 &&
            strncmp(name, "@cobre-tcp/", 11) == 0 && (flags != 0) == listening && has_socket(pid, inode))
            count++;
    }
    fclose(file);
    return count;
}

/* Rank 2 accepts its link of the ring where it has reached rank 0, and nowhere else; without a token nobody has a port. */
static void doors(const char *token) {
    job j;
    size_t on_loopback;
    make_plan(4, token);
    start_coordinator(&j, 4);
    start_rank(&j, 1, join);
    start_rank(&j, 2, join);
    await(&j, 1, "joined");
    await(&j, 2, "joined");
    CHECK(unix_sockets_of(j.rank[0].pid, true) == 1 && unix_sockets_of(j.rank[2].pid, true) == 1);
    CHECK((listeners_of(j.rank[0].pid, &on_loopback) > 0) == (token != NULL) &&
          on_loopback == 0); /* at all addresses */
    CHECK(listeners_of(j.rank[1].pid, &on_loopback) == 0);
    CHECK(listeners_of(j.rank[2].pid, &on_loopback) == (token != NULL) && on_loopback == (token != NULL));
    start_rank(&j, 3, join);
    must_form_all(&j);
}

static void door_of_the_ring(void) {
    doors("secret");
    doors(NULL);
}

/* All connections are Unix sockets on one host, whichever way rank 0 is reached. */
static void on_one_host(void) {
    static const char *const hosts[] = {"127.0.0.1", "::1", "localhost"};
    for (size_t h = 0; h < 4; h++) {
        job j;
        make_plan(4, "secret"); /* listens at all addresses */
        bool by_tcp = h == 3;
        for (size_t r = 0; r < 4; r++) {
            plan.hold[r] = true;
            plan.config[r].tcp_coordinator = hosts[h % 3];
        }
        make_job(&j, 4);
        for (size_t r = 0; r < 4; r++)
            start_rank(&j, r, by_tcp ? join_by_tcp : join);
        for (size_t r = 0; r < 4; r++)
            must_form(&j, r);
        static const size_t accepted[] = {6, 0, 1, 1}; /* data and control, links of the ring */
        for (size_t r = 0; r < 4; r++) {
            size_t count = unix_sockets_of(j.rank[r].pid, false);
            CHECK_SAY(count == (by_tcp ? 0 : accepted[r]), "%s: rank %zu has accepted %zu Unix sockets", hosts[h % 3],
                      r, count);
            CHECK(unix_sockets_of(j.rank[r].pid, true) == 0);
        }
        order_all(&j, 'e');
        end_job(&j);
    }
}

/* Who has taken the name that rank 0 wants, and says nothing there, does not stop the job: it forms over TCP. */
static void taken_name(void) {
    job j;
    make_plan(2, "secret");
    int fd = take_name(port());
    start_all(&j, 2);
    must_form_all(&j);
    close(fd);
}

/* Once the job has formed nobody listens any more. */
static void closed_door(void) {
    job j;
    make_plan(4, "secret");
    for (size_t r = 0; r < 4; r++)
        plan.hold[r] = true;
    start_all(&j, 4);
    for (size_t r = 0; r < 4; r++)
        must_form(&j, r);
    for (size_t r = 0; r < 4; r++) {
        size_t on_loopback;
        CHECK_SAY(listeners_of(j.rank[r].pid, &on_loopback) == 0, "rank %zu does not listen", r);
    }
    CHECK(try_dial("127.0.0.1", port()) < 0 && errno == ECONNREFUSED);
    order_all(&j, 'e');
    end_job(&j);
}

const check_case stranger_cases[] = {
    {.name = "join_http_request", .run = http_request, .only = COBRE_TCP},
    {.name = "join_random_bytes", .run = random_bytes, .only = COBRE_TCP},
    {.name = "join_silent_connection", .run = silent_connection, .only = COBRE_TCP},
    {.name = "join_silent_connection_is_ended", .run = silent_connection_is_ended, .only = COBRE_TCP, .timed = true},
    {.name = "join_slow_hello", .run = slow_hello, .only = COBRE_TCP, .timed = true},
    {.name = "join_hello_then_silent", .run = hello_then_silent, .only = COBRE_TCP},
    {.name = "join_closed_at_each_step", .run = closed_at_each_step, .only = COBRE_TCP},
    {.name = "join_half_open", .run = half_open, .only = COBRE_TCP, .timed = true, .busy = true},
    {.name = "join_many_addresses", .run = many_addresses, .only = COBRE_TCP, .timed = true, .busy = true},
    {.name = "join_a_turn", .run = a_turn, .only = COBRE_TCP, .timed = true},
    {.name = "join_few_descriptors", .run = few_descriptors, .only = COBRE_TCP, .timed = true},
    {.name = "join_too_few_descriptors", .run = too_few_descriptors, .only = COBRE_TCP},
    {.name = "join_on_one_host", .run = on_one_host, .only = COBRE_TCP},
    {.name = "join_taken_name", .run = taken_name, .only = COBRE_TCP},
    {.name = "join_flood", .run = flood, .only = COBRE_TCP, .timed = true, .busy = true},
    {.name = "join_crowd_of_another_user",
     .run = crowd_of_another_user,
     .only = COBRE_TCP,
     .timed = true,
     .busy = true},
    {.name = "join_crowd_without_token", .run = crowd_without_token, .only = COBRE_TCP, .timed = true, .busy = true},
    {.name = "join_another_user", .run = another_user, .only = COBRE_TCP},
    {.name = "join_users", .run = users, .only = COBRE_TCP},
    {.name = "join_door_of_the_ring", .run = door_of_the_ring, .only = COBRE_TCP},
    {.name = "join_closed_door", .run = closed_door, .only = COBRE_TCP},
    CHECK_END,
};
