/* runner.h: one run of a case or of several, between the side that starts the ranks (job.c) and the rank itself (runner.c). */
#ifndef COBRE_TEST_RUNNER_H
#define COBRE_TEST_RUNNER_H

#include "kit/kit.h"

#include <sys/types.h>

typedef struct {
    pid_t pid;
    int output; /* read end of its standard output and error, -1 after its end */
    bool ended;
    int status; /* as from waitpid, once ended */
    char *text; /* the first part of what it printed */
    size_t text_len;
} process;

typedef struct {
    const kit_case **tests;
    size_t test_count;
    const char *list; /* their names, as the command line has them */
    const char *backend;
    size_t ranks;
    bool threads; /* all ranks in one process */
    bool check;   /* COBRE_CHECK=1 */
    uint64_t seed;
    char name[64];       /* everything of this job that has a name starts with it; no '/' */
    char *shared_before; /* the names in /dev/shm */
    int board_fd;
    kit_board *board; /* one a case */
    process process[KIT_MAX_RANKS];
    size_t processes; /* as many as ranks, or 1 that holds or launches them all */
    process *first_failure;
} job;

/* A place where a case can run. `environment` says to a process, before it starts, where its job is. */
typedef struct {
    const char *backend;
    cobre_backend id;
    void (*environment)(const job *j, size_t index);
    size_t max_ranks;
    bool threads;             /* can have all its ranks in one process */
    bool spins;               /* a rank that waits never yields: slow with more ranks than cores */
    const char *launcher[10]; /* its command, which goes on with "-n RANKS"; then one launch is for all cases */
} world;
const world *find_world(const char *backend);

bool is_over(const job *j, size_t test); /* have all ranks passed or skipped it? */

/* Starts the ranks, waits, cleans up and reports. Returns the runner's exit code. */
int run_job(job *j);

_Noreturn void give_up(const char *what); /* with errno's text */

#endif
