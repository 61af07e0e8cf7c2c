/* SPDX-License-Identifier: Apache-2.0 */
/* again.c: many jobs one after the other: nothing grows, and a port is free as soon as its job is over. */
#include "fault/tcp/peers.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static size_t entries(const char *path) {
    size_t count = 0;
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* The kernel takes a thread that has ended, and was waited for, from the list a moment later. */
static bool is_alone(void) {
    for (double since = kit_seconds(); entries("/proc/self/task") != 3; usleep(1000)) /* ".", "..", this one */
        if (kit_seconds() - since > 10)
            return false;
    return true;
}

static long resident_kib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void cycle(void) {
    cobre_config config = plan.config[self.rank];
    cobre_comm *comm;
    CHECK_OK(cobre_comm_open(&config, &comm));
    CHECK_OK(cobre_barrier(comm));
    CHECK_OK(cobre_comm_free(&comm));
}

/* On one port all the time: a job that starts finds it free, though connections of the last one are just ending. */
static void open_and_free(void) {
    size_t times = kit_times(200), descriptors = 0;
    long memory = 0;
    for (size_t i = 0; i < times; i++) {
        cycle();
        if (i + 1 == times / 4) {
            descriptors = entries("/proc/self/fd");
            memory = resident_kib();
        }
    }
    CHECK_SAY(entries("/proc/self/fd") == descriptors, "descriptors stay: %zu, not %zu", entries("/proc/self/fd"),
              descriptors);
    CHECK_SAY(is_alone(), "no thread stays: %zu", entries("/proc/self/task") - 2);
    CHECK_SAY(KIT_SANITIZED || resident_kib() - memory < 512, "memory stays: %ld KiB more", resident_kib() - memory);
    say("cycled", (uint64_t)(resident_kib() - memory));
}

static void open_free_cycles(void) {
    static const char *const tokens[] = {NULL, "secret"};
    for (size_t i = 0; i < 2; i++) {
        job j;
        make_plan(3, tokens[i]);
        start_job(&j, 3, open_and_free);
        await_all(&j, "cycled");
        end_job(&j);
    }
}

/* An error must not leak either: nobody comes, 50 times. */
static void fail_often(void) {
    cobre_config config = plan.config[self.rank];
    cobre_comm *comm;
    size_t descriptors = 0;
    for (size_t i = 0; i < 50; i++) {
        CHECK(cobre_comm_open(&config, &comm) == COBRE_INITIALIZATION_FAILED);
        if (i == 10)
            descriptors = entries("/proc/self/fd");
    }
    CHECK(entries("/proc/self/fd") == descriptors && is_alone());
    say("failed", 0);
}

static void failed_opens(void) {
    job j;
    make_plan(3, NULL);
    set_timeouts(0.02);
    make_job(&j, 3);
    start_rank(&j, 0, fail_often);
    await(&j, 0, "failed");
    end_job(&j);
    make_plan(3, NULL);
    set_timeouts(0.02);
    make_job(&j, 3);
    start_rank(&j, 1, fail_often);
    await(&j, 1, "failed");
    end_job(&j);
}

/* Another job takes the port over at once, also from a job that was killed. */
static void same_port_again(void) {
    make_plan(3, "secret");
    for (size_t round = 0; round < kit_times(80); round++) {
        job j;
        for (size_t r = 0; r < 3; r++)
            plan.hold[r] = round % 2;
        start_all(&j, 3);
        for (size_t r = 0; r < 3; r++)
            must_form(&j, r);
        if (round % 2)
            for (size_t r = 0; r < 3; r++)
                kill_rank(&j, r);
        end_job(&j);
    }
}

const check_case again_cases[] = {
    {.name = "join_open_free_cycles", .run = open_free_cycles, .only = COBRE_TCP, .busy = true},
    {.name = "join_failed_opens", .run = failed_opens, .only = COBRE_TCP},
    {.name = "join_same_port_again", .run = same_port_again, .only = COBRE_TCP, .busy = true},
    CHECK_END,
};
