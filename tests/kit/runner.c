/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c: runs cases on all ranks of one backend.
 *
 *     runner <case>[,<case>...] <ranks> <backend> [--threads] [--check] [--repeat N]
 *     runner <case>[,<case>...] <ranks> <backend> --rank-only
 *                                             this process is one rank, all else is in the environment
 *     runner --list <backend>                 its cases, each with its numbers of ranks, for cmake/discover.cmake
 *
 * A case can be a pattern, as in '*' or 'region_*': all such cases that are listed for the backend and the number of ranks.
 *
 * Backends are those of cobre, and openmpi and mpich in the place of mpi. Those two are started by their launcher, which
 * takes half a second: one launch for all cases, which the ranks run one after the other, each with a communicator of its
 * own. Elsewhere each case is a run.
 *
 * A run:
 *   1. Make what the ranks share: the job's name and the board, an unnamed file.
 *   2. Fork a process per rank. With --threads one for all ranks (for TSan). Under MPI one that becomes the launcher, which
 *      starts this program with --rank-only.
 *   3. Collect what they print and how they end, until all have ended or the deadline is there.
 *   4. Kill what is left of them; see whether the job left a process or a file behind.
 *   5. Say what went wrong, with the ranks' output. A case that passes prints one line.
 *
 * Exit code: 0 passed, 1 failed, 77 does not apply here (all ranks said so), 2 wrong usage.
 *
 * --check sets COBRE_CHECK=1. COBRE_TEST_DEADLINE: seconds for a case (300). COBRE_TEST_SEED: for random data; --repeat
 * counts it up. COBRE_TEST_LONG: more repetitions. Under a debugger: `gdb --args runner barrier_repeated 1 local
 * --rank-only`, or start the ranks of an shm job by hand with COBRE_COMM_BACKEND, COBRE_SHM_NAME, COBRE_SHM_RANK and
 * COBRE_SHM_SIZE set. */
#include "kit/runner.h"
#include "kit/mpich_nap.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Of repetitions: they try our own waiting, and under an MPI it is the MPI that waits. Beside other programs each of its
 * waits costs a slice of the scheduler, or several where ranks that spin take the cores from each other. */
enum { MPI_CUT = 5, SPINNING_CUT = 2 };

static const kit_case *find_case(const char *name) {
    for (const kit_case *const *table = kit_tables; *table; table++)
        for (const kit_case *c = *table; c->name; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    return NULL;
}

/* Is the case listed for so many ranks there? */
static bool is_listed(const kit_case *c, size_t ranks, const world *place) {
    if (ranks > place->max_ranks || (c->on && !strstr(c->on, cobre_backend_name(place->id))))
        return false;
    const char *at = c->ranks ? c->ranks : "1,2,3,4,8";
    while (at && strtoul(at, NULL, 10) != ranks)
        at = (at = strchr(at, ',')) ? at + 1 : NULL;
    return at != NULL;
}

static void list_cases(const world *place) {
    for (const kit_case *const *table = kit_tables; *table; table++)
        for (const kit_case *c = *table; c->name; c++)
            for (size_t ranks = 1; ranks <= place->max_ranks; ranks++)
                if (is_listed(c, ranks, place))
                    printf("%s.r%zu%s\n", c->name, ranks, ranks > 1 ? " busy" : "");
}

static kit_board *open_boards(size_t count) {
    const char *path = getenv("COBRE_TEST_BOARD");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    CHECK_SAY(!path || fd >= 0, "%s can be opened", path);
    kit_board *board = mmap(NULL, count * sizeof *board, PROT_READ | PROT_WRITE,
                            fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    CHECK(board != MAP_FAILED);
    if (fd >= 0)
        close(fd);
    return board;
}

typedef struct {
    const run *r;
    const cobre_config *config; /* NULL: from the environment */
} rank_start;

static void open_comm(kit *k, const run *r) {
    if (k->config)
        k->rank = k->config->rank;
    CHECK_OK(cobre_comm_open(k->config, &k->comm));
    k->rank = cobre_rank(k->comm);
    k->backend = cobre_comm_backend(k->comm);
    CHECK(k->backend == r->place->id);
    CHECK_EQ(cobre_size(k->comm), r->ranks);
    CHECK(k->rank < k->size);
    k->note = k->board->note[k->rank];
}

static void run_case(const run *r, size_t index, const cobre_config *config) {
    kit_board *board = &r->board[index];
    kit here = {.board = board,
                .threads = r->threads,
                .seed = r->seed,
                .size = r->ranks,
                .config = config,
                .note = board->note[0]};
    kit *k = &here;
    double start = kit_seconds();
    kit_be(k);
    open_comm(k, r);
    board->state[k->rank] = KIT_BEGUN;

    r->tests[index]->run(k);

    kit_note(k, "end of the case: free");
    CHECK_OK(cobre_comm_free(&k->comm));
    CHECK(k->comm == NULL);
    if (k->skipped)
        printf("%s skipped: %s\n", r->tests[index]->name, k->skipped);
    if (k->rank == 0)
        board->seconds = kit_seconds() - start;
    board->state[k->rank] = k->skipped ? KIT_SKIPPED : KIT_PASSED;
    if (r->tests[index]->breaks && r->place->launcher[0])
        while (!is_over(r, index)) /* the launcher ends all ranks when the first has gone */
            sched_yield();
}

static void *run_rank(void *argument) {
    const rank_start *start = argument;
    for (size_t i = 0; i < start->r->test_count; i++)
        run_case(start->r, i, start->config);
    return NULL;
}

static void run_threads(const run *r, const cobre_config *common) {
    pthread_t thread[KIT_MAX_RANKS];
    rank_start start[KIT_MAX_RANKS];
    cobre_config config[KIT_MAX_RANKS];
    for (size_t i = 0; i < r->ranks; i++) {
        config[i] = *common;
        config[i].rank = i;
        start[i] = (rank_start){.r = r, .config = &config[i]};
        CHECK_EQ(pthread_create(&thread[i], NULL, run_rank, &start[i]), 0);
    }
    for (size_t i = 0; i < r->ranks; i++)
        pthread_join(thread[i], NULL);
}

void run_ranks(run *r) {
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef __GLIBC__
    if (!r->place
             ->launcher[0]) { /* large payloads find the pages of the last one: taking new ones is half of the time */
        mallopt(M_MMAP_MAX, 0);
        mallopt(M_TRIM_THRESHOLD, INT_MAX);
    }
#endif
    check_at_failure = kit_say_who;
    if (!r->board) {
        r->board = open_boards(r->test_count);
        run_rank(&(rank_start){.r = r});
        return;
    }
    cobre_config config = rank_config();
    config.size = r->ranks;
    if (r->threads)
        run_threads(r, &config);
    else
        run_rank(&(rank_start){.r = r, .config = &config});
}

/* This process is one rank that a launcher, or a person, has started. */
static void be_only_rank(run *r) {
    if (r->place->launcher[0])
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a launcher that is killed leaves its ranks to themselves */
    if (r->place->launcher[0])
        kit_cut_times(MPI_CUT);
    if (r->place->spins && r->ranks > (size_t)sysconf(_SC_NPROCESSORS_ONLN)) {
        nap_when_idle = true;
        kit_cut_times(SPINNING_CUT);
    }
    run_ranks(r);
}

static int usage(const char *why) {
    fprintf(stderr,
            "runner: %s\n"
            "usage: runner <case>[,<case>...] <ranks> <backend> [--threads] [--check] [--repeat N] [--rank-only]\n"
            "       runner --list <backend>\n",
            why);
    return 2;
}

static void add_test(run *r, const kit_case *c) {
    r->tests = realloc(r->tests, (r->test_count + 1) * sizeof *r->tests);
    CHECK(r->tests);
    r->tests[r->test_count++] = c;
}

static bool has_test(const run *r, const char *name) {
    size_t i = 0;
    while (i < r->test_count && strcmp(r->tests[i]->name, name) != 0)
        i++;
    return i < r->test_count;
}

static void add_matching(run *r, const char *pattern) {
    for (const kit_case *const *table = kit_tables; *table; table++)
        for (const kit_case *c = *table; c->name; c++)
            if (fnmatch(pattern, c->name, 0) == 0 && is_listed(c, r->ranks, r->place) && !has_test(r, c->name))
                add_test(r, c);
}

/* Sets r's tests to those that r->list names; false if one is unknown. */
static bool find_cases(run *r) {
    char *names = strdup(r->list), *rest = names;
    bool known = true;
    for (char *name; (name = strsep(&rest, ","));)
        if (strchr(name, '*'))
            add_matching(r, name);
        else if (find_case(name))
            add_test(r, find_case(name));
        else
            known = false;
    free(names);
    return known && r->test_count > 0;
}

/* All cases in one run, or each in its own. Skipped is what has nothing but skipped cases. */
static int do_runs(const run *asked) {
    size_t each = asked->place->launcher[0] ? asked->test_count : 1, failed = 0, passed = 0;
    for (size_t i = 0; i < asked->test_count; i += each) {
        static run r; /* static: what it points to stays in sight of the leak checker of a rank */
        r = *asked;
        r.tests += i;
        r.test_count = each;
        if (each == 1)
            r.list = r.tests[0]->name;
        int result = do_run(&r);
        failed += result == 1;
        passed += result == 0;
        fflush(stdout);
    }
    return failed ? 1 : passed ? 0 : CHECK_SKIP;
}

/* The ranks get our word only: a batch system's variables, or those of a launcher that started us, speak of other jobs. */
static void clean_environment(void) {
    static const char *const foreign[] = {"COBRE_", "PMI_", "PMIX_", "OMPI_", "MPI_", "MPIR_", "SLURM_"};
    for (size_t i = 0; environ[i];) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[i], "="), environ[i]);
        bool remove = false;
        for (size_t f = 0; f < sizeof foreign / sizeof foreign[0]; f++)
            remove |= strncmp(name, foreign[f], strlen(foreign[f])) == 0;
        if (!remove || strncmp(name, "COBRE_TEST_", 11) == 0 || unsetenv(name) != 0)
            i++;
    }
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--list") == 0 && find_world(argv[2])) {
        list_cases(find_world(argv[2]));
        return 0;
    }
    if (argc < 4)
        return usage("too few arguments");
    const char *seed = getenv("COBRE_TEST_SEED");
    static run asked; /* static: as in do_runs */
    asked = (run){.list = argv[1],
                  .ranks = (size_t)strtoul(argv[2], NULL, 10),
                  .place = find_world(argv[3]),
                  .seed = seed ? strtoull(seed, NULL, 0) : 1};
    unsigned long repeat = 1;
    bool rank_only = false;
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0)
            asked.threads = true;
        else if (strcmp(argv[i], "--check") == 0)
            asked.check = true;
        else if (strcmp(argv[i], "--rank-only") == 0)
            rank_only = true;
        else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc)
            repeat = strtoul(argv[++i], NULL, 10);
        else
            return usage("unknown option");
    }
    if (!asked.place)
        return usage("no such backend");
    if (!find_cases(&asked))
        return usage("no such case; --list shows them");
    if (asked.ranks < 1 || asked.ranks > asked.place->max_ranks)
        return usage("this backend cannot have so many ranks");
    if (rank_only) {
        be_only_rank(&asked);
        return 0;
    }

    backend = asked.place->id;
    clean_environment();
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); /* what the ranks leave behind comes to us */
    int result = 0;
    for (unsigned long i = 0; i < repeat && result == 0; i++, asked.seed++)
        result = do_runs(&asked);
    return result;
}
