/* runner.c: runs one case on all ranks of one backend.
 *
 *     runner <case> <ranks> <backend> [--threads] [--repeat N]
 *     runner <case> <ranks> <backend> --rank-only     this process is one rank, all else is in the environment
 *     runner --list
 *
 * A run:
 *   1. Make what the ranks share: the job's name and the board, an unnamed file that they open through /proc.
 *   2. Start this program again, once a rank, with --rank-only. With --threads once for all ranks (for TSan).
 *   3. Collect what they print and how they end, until all have ended or the deadline is there.
 *   4. Kill what is left of them; see whether the job left a process or a name in /dev/shm behind.
 *   5. Say what went wrong, with the ranks' output. A case that passes prints one line.
 *
 * Exit code: 0 passed, 1 failed, 77 does not apply here (all ranks said so), 2 wrong usage.
 *
 * COBRE_TEST_DEADLINE: seconds for a run (30; 120 with sanitizers). COBRE_TEST_SEED: for random data; --repeat counts
 * it up. Under a debugger: `gdb --args runner barrier_repeated 1 local --rank-only`, or start the ranks of an shm job
 * by hand with COBRE_COMM_BACKEND, COBRE_SHM_NAME, COBRE_SHM_RANK and COBRE_SHM_SIZE set. */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Noreturn void give_up(const char *what) {
    fprintf(stderr, "runner: %s: %s\n", what, strerror(errno));
    exit(1);
}

static const kit_case *find_case(const char *name) {
    for (const kit_case *const *table = kit_tables; *table; table++)
        for (const kit_case *c = *table; c->name; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    return NULL;
}

static void list_cases(void) {
    for (const kit_case *const *table = kit_tables; *table; table++)
        for (const kit_case *c = *table; c->name; c++)
            puts(c->name);
}

static kit_board *open_board(void) {
    const char *path = getenv("COBRE_TEST_BOARD");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (path && fd < 0)
        give_up(path);
    kit_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (board == MAP_FAILED)
        give_up("mmap of the board");
    if (fd >= 0)
        close(fd);
    return board;
}

typedef struct {
    const job *j;
    const cobre_config *config; /* NULL: from the environment */
    int exit_code;
} rank_start;

static void *run_rank(void *argument) {
    rank_start *start = argument;
    const job *j = start->j;
    kit here = {.board = j->board, .threads = j->threads, .seed = j->seed, .size = j->ranks, .note = j->board->note[0]};
    kit *k = &here;
    if (start->config)
        k->rank = start->config->rank;
    CHECK_OK(cobre_comm_open(start->config, &k->comm));
    k->rank = cobre_rank(k->comm);
    k->backend = cobre_comm_backend(k->comm);
    CHECK(strcmp(cobre_backend_name(k->backend), j->backend) == 0);
    CHECK_EQ(cobre_size(k->comm), j->ranks);
    CHECK(k->rank < k->size);
    k->note = j->board->note[k->rank];

    j->test->run(k);

    kit_note(k, "end of the case: free");
    CHECK_OK(cobre_comm_free(&k->comm));
    CHECK(k->comm == NULL);
    if (k->skipped)
        printf("skipped: %s\n", k->skipped);
    kit_note(k, "done");
    start->exit_code = k->skipped ? KIT_SKIP : 0;
    return NULL;
}

static int run_threads(const job *j) {
    pthread_t thread[KIT_MAX_RANKS];
    rank_start start[KIT_MAX_RANKS];
    cobre_config config[KIT_MAX_RANKS];
    for (size_t r = 0; r < j->ranks; r++) {
        config[r] = (cobre_config){.struct_size = sizeof config[r],
                                   .backend = find_world(j->backend)->id,
                                   .shm_name = getenv("COBRE_SHM_NAME"),
                                   .rank = r,
                                   .size = j->ranks};
        start[r] = (rank_start){.j = j, .config = &config[r]};
        if ((errno = pthread_create(&thread[r], NULL, run_rank, &start[r])))
            give_up("pthread_create");
    }
    size_t skipped = 0;
    for (size_t r = 0; r < j->ranks; r++) {
        pthread_join(thread[r], NULL);
        skipped += start[r].exit_code == KIT_SKIP;
    }
    if (skipped && skipped < j->ranks)
        fprintf(stderr, "only %zu of %zu ranks skipped the case\n", skipped, j->ranks);
    return skipped == 0 ? 0 : skipped == j->ranks ? KIT_SKIP : 1;
}

static int run_here(job *j) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    j->board = open_board();
    if (j->threads)
        return run_threads(j);
    rank_start start = {.j = j};
    run_rank(&start);
    return start.exit_code;
}

static int usage(const char *why) {
    fprintf(stderr,
            "runner: %s\nusage: runner <case> <ranks> <backend> [--threads] [--repeat N] [--rank-only]\n"
            "       runner --list\n",
            why);
    return 2;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list_cases();
        return 0;
    }
    if (argc < 4)
        return usage("too few arguments");
    const char *seed = getenv("COBRE_TEST_SEED");
    job asked = {.test = find_case(argv[1]),
                 .ranks = (size_t)strtoul(argv[2], NULL, 10),
                 .backend = argv[3],
                 .seed = seed ? strtoull(seed, NULL, 0) : 1};
    unsigned long repeat = 1;
    bool rank_only = false;
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0)
            asked.threads = true;
        else if (strcmp(argv[i], "--rank-only") == 0)
            rank_only = true;
        else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            repeat = strtoul(argv[++i], NULL, 10);
        else
            return usage("unknown option");
    }
    const world *place = find_world(asked.backend);
    if (!asked.test)
        return usage("no such case; --list shows them");
    if (!place)
        return usage("no such backend");
    if (asked.ranks < 1 || asked.ranks > place->max_ranks)
        return usage("this backend cannot have so many ranks");
    if (asked.threads && !place->threads)
        return usage("this backend cannot have its ranks in one process");
    if (rank_only)
        return run_here(&asked);

    int result = 0;
    for (unsigned long i = 0; i < repeat && result == 0; i++) {
        job j = asked;
        j.seed += i;
        result = run_job(&j);
        fflush(stdout);
    }
    return result;
}
