/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c: what else programs do with processes: fork, exec, and ranks as threads that die together. */
#include "kit/harness.h"
#include "kit/variables.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static cobre_status sum_ranks(cobre_comm *comm) {
    uint64_t mine = self.rank + 1, sum = 0;
    cobre_status status = cobre_allreduce(comm, &mine, 1, &sum, 1, COBRE_U64, COBRE_SUM);
    CHECK(status || sum == self.size * (self.size + 1) / 2);
    return status;
}

static void must_end_well(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        CHECK(errno == EINTR);
    CHECK_SAY(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends with 0, not with wait status %#x",
              (unsigned)status);
}

static void must_be_invalid(cobre_comm *comm, cobre_region *region) {
    double x = 0, y;
    size_t counts[KIT_MAX_RANKS] = {0}, displs[KIT_MAX_RANKS] = {0};
    cobre_comm *handle = comm, *local;
    cobre_region *region_handle = region, *made;
    CHECK(cobre_barrier(comm) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_last_error()->status == COBRE_INVALID_COMMUNICATOR && strstr(cobre_last_error()->message, "fork"));
    CHECK(cobre_broadcast(comm, &x, 1, COBRE_F64, 0) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_allreduce(comm, &x, 1, &y, 1, COBRE_F64, COBRE_SUM) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_allgatherv(comm, &x, 0, &y, 1, counts, displs, COBRE_F64) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_allgatherv_region(comm, &x, 0, region, counts, displs) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_split_local(comm, &local) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_region_create(comm, 1, COBRE_F64, 0, &made) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_region_fence(region) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_region_seal(region) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_region_free(&region_handle) == COBRE_INVALID_COMMUNICATOR);
    CHECK(cobre_comm_free(&handle) == COBRE_INVALID_COMMUNICATOR);
}

/* A job of its own, of one rank, while the parent's goes on. */
static void open_in_child(void) {
    cobre_config config = rank_config();
    char name[96];
    cobre_comm *comm;
    cobre_region *region;
    snprintf(name, sizeof name, "%s-child-%zu", self.j->name, self.rank);
    config.shm_name = name;
    config.rank = 0;
    config.size = 1;
    CHECK_OK(cobre_comm_open(&config, &comm));
    CHECK_OK(cobre_barrier(comm));
    CHECK_OK(cobre_region_create(comm, 1000, COBRE_F64, 0, &region));
    CHECK_OK(cobre_region_free(&region));
    CHECK_OK(cobre_comm_free(&comm));
}

static void fork_and_go_on(void) {
    cobre_comm *comm = open_rank();
    cobre_region *region;
    CHECK_OK(cobre_region_create(comm, 100, COBRE_F64, 0, &region));
    for (int way = 0; way < 3; way++) {
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            must_be_invalid(comm, region);
            if (way == 0)
                open_in_child();
            if (way == 2)
                _exit(0);
            exit(0); /* runs what runs at exit, and must not count as the parent's leaving */
        }
        CHECK_OK(sum_ranks(comm));
        must_end_well(child);
        if ((size_t)way == self.rank)
            set_aside(0.1); /* the others fall asleep, and then look whether this rank is still there */
        for (int i = 0; i < 100; i++)
            CHECK_OK(sum_ranks(comm));
    }
    CHECK_OK(cobre_region_fence(region));
    CHECK_OK(cobre_region_free(&region));
    CHECK_OK(cobre_comm_free(&comm));
}

static void fork_of_a_rank(void) {
    job j;
    start_job(&j, 3, fork_and_go_on);
    end_job(&j);
}

/* A program that a rank starts inherits nothing of the job. */
static void exec_a_program(void) {
    cobre_comm *comm = open_rank();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c",
              "for f in /proc/$$/fd/*; do readlink $f; done | grep -q /dev/shm && exit 1; exit 0", (char *)NULL);
        _exit(2);
    }
    must_end_well(child);
    CHECK_OK(sum_ranks(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

static void exec_of_a_rank(void) {
    job j;
    start_job(&j, 2, exec_a_program);
    end_job(&j);
}

/* Signals are for the program's own threads. */
static void look_at_threads(void) {
    static const int wanted[] = {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD};
    cobre_comm *comm = open_rank();
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks);
    size_t others = 0;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        unsigned long long blocked = 0;
        char path[300], line[256];
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        CHECK(file);
        while (fgets(line, sizeof line, file) && sscanf(line, "SigBlk: %llx", &blocked) != 1)
            ;
        fclose(file);
        others++;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            CHECK_SAY(blocked >> (wanted[i] - 1) & 1, "the helper blocks signal %d", wanted[i]);
    }
    closedir(tasks);
    CHECK_SAY(others == 1, "one helper thread, not %zu", others);
    CHECK_OK(cobre_comm_free(&comm));
}

static void helper_thread(void) {
    job j;
    start_job(&j, 2, look_at_threads);
    end_job(&j);
}

/* ---- Two ranks in one process ---- */

static void *be_second_thread(void *argument) {
    cobre_config config = rank_config();
    cobre_comm *comm;
    (void)argument;
    config.rank = self.rank + 1;
    CHECK_OK(cobre_comm_open(&config, &comm));
    while (cobre_barrier(comm) == COBRE_OK)
        ;
    CHECK_NEVER("the victim's second rank failed, instead of dying with it");
}

/* Ranks 0 and 1 are threads of one process, 2 is a process. */
static void be_two_ranks(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, be_second_thread, NULL) == 0);
    cobre_comm *comm = open_rank();
    for (size_t i = 0; cobre_barrier(comm) == COBRE_OK; i++)
        if (i == 10)
            say("ready", 0);
    CHECK_NEVER("the victim's first rank failed");
}

static void be_survivor(void) {
    cobre_comm *comm = open_rank();
    while (cobre_barrier(comm) == COBRE_OK)
        ;
    tell("failed", cobre_last_error()->status);
    CHECK_OK(cobre_comm_free(&comm));
}

static void kill_of_two_ranks_in_one_process(void) {
    for (size_t i = 0; i < 10; i++) {
        job j;
        make_job(&j, 3);
        start_rank(&j, 0, be_two_ranks);
        start_rank(&j, 2, be_survivor);
        await(&j, 0, "ready");
        double since = kill_rank(&j, 0);
        const report *failed = await(&j, 2, "failed");
        CHECK(failed->culprit == 0 || failed->culprit == 1);
        must_have_failed(&j, failed, COBRE_CAUSE_PEER_DIED, failed->culprit, since);
        end_job(&j);
    }
}

/* A rank that has left its group lives on when the launcher and the guard are gone, and nobody reads its errors. */
static void outlive_launcher(void) {
    int ends[2];
    char given[80];
    CHECK(pipe(ends) == 0);
    CHECK(setenv(ENV_RUN_ERROR_FD, descriptor_text(ends[1], given), 1) == 0);
    cobre_comm *comm = open_rank();
    close(ends[0]);
    CHECK(cobre_barrier(NULL) == COBRE_INVALID_COMMUNICATOR);
    CHECK_OK(cobre_comm_free(&comm));
}

static void error_without_launcher(void) {
    job j;
    start_job(&j, 2, outlive_launcher);
    end_job(&j);
}

/* A program that forbids itself to open files, as sandboxes do: poll then refuses all descriptors. */
static void open_no_more_files(void) {
    cobre_comm *comm = open_rank();
    struct rlimit normal, none;
    CHECK_OK(sum_ranks(comm));
    CHECK(getrlimit(RLIMIT_NOFILE, &normal) == 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = normal.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK_OK(sum_ranks(comm));
    say("ready", 0);
    if (self.rank == 1)
        await_order(); /* none comes: it is killed */
    cobre_status status = cobre_barrier(comm);
    CHECK(setrlimit(RLIMIT_NOFILE, &normal) == 0); /* a report opens files */
    tell("failed", status);
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK_OK(cobre_comm_free(&comm));
    CHECK(setrlimit(RLIMIT_NOFILE, &normal) == 0); /* the leak checker opens files */
}

static void kill_where_no_file_can_be_opened(void) {
    job j;
    start_job(&j, 3, open_no_more_files);
    await_all(&j, "ready");
    double since = kill_rank(&j, 1);
    must_have_failed(&j, await(&j, 0, "failed"), COBRE_CAUSE_PEER_DIED, 1, since);
    must_have_failed(&j, await(&j, 2, "failed"), COBRE_CAUSE_PEER_DIED, 1, since);
    end_job(&j);
}

const check_case process_cases[] = {
    {.name = "fork_of_a_rank", .run = fork_of_a_rank},
    {.name = "exec_of_a_rank", .run = exec_of_a_rank},
    {.name = "error_without_launcher", .run = error_without_launcher},
    {.name = "kill_where_no_file_can_be_opened", .run = kill_where_no_file_can_be_opened, .timed = true},
    {.name = "helper_thread", .run = helper_thread, .only = COBRE_SHM},
    {.name = "kill_of_two_ranks_in_one_process", .run = kill_of_two_ranks_in_one_process, .timed = true},
    CHECK_END,
};
