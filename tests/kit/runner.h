/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h: one run of a case or of several, between the side that starts the ranks (run.c) and the ranks (runner.c). */
#ifndef COBRE_TEST_RUNNER_H
#define COBRE_TEST_RUNNER_H

#include "kit/harness.h"

/* A place where a case can run. */
typedef struct {
    const char *backend;
    cobre_backend id;
    size_t max_ranks;
    bool spins;               /* a rank that waits never yields: slow with more ranks than cores */
    const char *launcher[10]; /* its command, which goes on with "-n RANKS"; then one launch is for all cases */
} world;
const world *find_world(const char *name); /* NULL: there is none; the next call may change it */

typedef struct {
    const kit_case **tests;
    size_t test_count;
    const char *list; /* their names, as the command line has them */
    const world *place;
    size_t ranks;
    bool threads; /* all ranks in one process */
    bool check;   /* COBRE_CHECK=1 */
    uint64_t seed;
    kit_board *board; /* one per case */
    int board_fd;
    char *shared_before; /* the names in /dev/shm */
    job job;             /* has as many processes as ranks, or 1 that holds or launches them all */
    bool failed;         /* a process did */
    size_t first_failure;
} run;

bool is_over(const run *r, size_t test); /* have all ranks passed or skipped it? */

/* Starts the ranks, waits, cleans up and reports. Returns the runner's exit code. */
int do_run(run *r);

/* In a process of the run: its rank, or all of them as threads. */
void run_ranks(run *r);

#endif
