/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: one run of a case, or under MPI of several: starts the ranks, waits, cleans up and says how it went. */
#include "comm/select.h"
#include "kit/runner.h"
#include "kit/variables.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Worlds that an MPI starts. Each of the others is a backend of the build. */
static const world launchers[] = {
    {.backend = "openmpi",
     .id = COBRE_MPI,
     .max_ranks = KIT_MAX_RANKS,
     .launcher = {"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca",
                  "mpi_yield_when_idle", "1"}},
    {.backend = "mpich", .id = COBRE_MPI, .max_ranks = KIT_MAX_RANKS, .spins = true, .launcher = {"mpirun.mpich"}},
};

const world *find_world(const char *name) {
    static world plain;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (strcmp(launchers[i].backend, name) == 0)
            return &launchers[i];
    cobre_backend id = cb_backend_named(name);
    if (!cb_built_in(id))
        return NULL;
    plain = (world){.backend = name, .id = id, .max_ranks = cb_backend_at(id)->alone ? 1 : KIT_MAX_RANKS};
    return &plain;
}

/* ---- The process that is started ---- */

static run *own; /* that this process belongs to */

static void be_rank(void) {
    run_ranks(own);
}

/* A directory of its own for temporary files, so that those that are left can be told from those of other jobs. */
static void directory_of(const run *r, char path[128]) {
    snprintf(path, 128, "/tmp%s", r->job.name);
}

/* The ranks are this program again, and find in the environment what the others inherit. */
static void be_launcher(void) {
    char ranks[24], seed[24], program[PATH_MAX], board[64], directory[128];
    directory_of(own, directory);
    CHECK(mkdir(directory, 0700) == 0 && realpath("/proc/self/exe", program));
    snprintf(ranks, sizeof ranks, "%zu", own->ranks);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)own->seed);
    snprintf(board, sizeof board, "/proc/%d/fd/%d", (int)getppid(), own->board_fd);
    setenv("TMPDIR", directory, 1);
    setenv("COBRE_TEST_BOARD", board, 1);
    setenv("COBRE_TEST_SEED", seed, 1);
    setenv(ENV_BACKEND, "mpi", 1);
    if (own->check)
        setenv(ENV_CHECK, "1", 1);
    const char *argv[24] = {NULL};
    size_t n = 0;
    for (; own->place->launcher[n]; n++)
        argv[n] = own->place->launcher[n];
    const char *rest[] = {"-n", ranks, program, own->list, ranks, own->place->backend, "--rank-only", NULL};
    memcpy(argv + n, rest, sizeof rest);
    execvp(argv[0], (char **)(uintptr_t)argv);
    CHECK_NEVER("%s can be started: %s", argv[0], strerror(errno));
}

/* ---- What is left ---- */

/* All names in /dev/shm, each between slashes. */
static char *list_shared(void) {
    char *names = NULL;
    size_t size;
    FILE *list = open_memstream(&names, &size);
    DIR *dir = opendir("/dev/shm");
    CHECK(list && dir);
    putc('/', list);
    for (struct dirent *entry; (entry = readdir(dir));)
        fprintf(list, "%s/", entry->d_name);
    closedir(dir);
    fclose(list);
    return names;
}

/* A write lease is given only for a file that nobody else has open or mapped. */
static bool in_use(int dir, const char *name) {
    int fd = openat(dir, name, O_RDWR | O_CLOEXEC);
    bool used = fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) < 0 && errno == EAGAIN;
    if (fd >= 0)
        close(fd);
    return used;
}

/* What an MPI makes has names of its own: a new one that nobody uses. */
static size_t foreign_names_left(const run *r) {
    size_t count = 0;
    DIR *dir = opendir("/dev/shm");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char between[300];
        snprintf(between, sizeof between, "/%s/", entry->d_name);
        if (strncmp(entry->d_name, "cobre-", 6) != 0 && !strstr(r->shared_before, between) &&
            !in_use(dirfd(dir), entry->d_name))
            count += remove_names(entry->d_name);
    }
    if (dir)
        closedir(dir);
    return count;
}

static size_t files_left;

static int remove_left(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind;
    if (where->level > 0) {
        printf("left behind: %s\n", path);
        files_left++;
    }
    return remove(path);
}

static size_t all_left(const run *r) {
    char directory[128];
    size_t count = remove_names(r->job.name + 1);
    if (!r->place->launcher[0])
        return count;
    files_left = 0;
    directory_of(r, directory);
    nftw(directory, remove_left, 16, FTW_DEPTH | FTW_PHYS);
    return count + foreign_names_left(r) + files_left;
}

/* ---- How it went ---- */

static void print_process(const run *r, size_t index) {
    int status = r->job.rank[index].status;
    char label[32] = "all ranks";
    if (r->job.size == r->ranks)
        snprintf(label, sizeof label, "rank %zu", index);
    if (WIFSIGNALED(status))
        printf("%s: killed by signal %d (%s)\n", label, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        printf("%s: exit code %d\n", label, WEXITSTATUS(status));
    bool line_start = true;
    for (size_t i = 0; i < r->job.rank[index].length; i++) {
        if (line_start)
            printf("  [%s] ", label);
        putchar(r->job.rank[index].text[i]);
        line_start = r->job.rank[index].text[i] == '\n';
    }
    if (!line_start)
        putchar('\n');
}

static size_t count_state(const run *r, size_t test, kit_state state) {
    size_t count = 0;
    for (size_t i = 0; i < r->ranks; i++)
        count += r->board[test].state[i] == state;
    return count;
}

bool is_over(const run *r, size_t test) {
    return count_state(r, test, KIT_PASSED) + count_state(r, test, KIT_SKIPPED) == r->ranks;
}

static size_t tests_over(const run *r) {
    size_t over = 0;
    while (over < r->test_count && is_over(r, over))
        over++;
    return over;
}

static const char *verdict(bool failed, bool skipped) {
    return failed ? "FAILED" : skipped ? "skipped" : "passed";
}

/* Whether all ranks have come to the same good end. Of one case among several it says so. */
static bool judge_case(const run *r, size_t test) {
    size_t skipped = count_state(r, test, KIT_SKIPPED);
    bool failed = !is_over(r, test) || (skipped && skipped < r->ranks);
    if (is_over(r, test) && failed)
        printf("only %zu of %zu ranks skipped the case\n", skipped, r->ranks);
    if (r->test_count > 1)
        printf("%s: %s on %zu ranks of %s, %.2f s\n", verdict(failed, skipped), r->tests[test]->name, r->ranks,
               r->place->backend, r->board[test].seconds);
    return !failed;
}

static void print_unfinished(const run *r, const kit_board *board) {
    for (size_t i = 0; i < r->ranks; i++)
        if (board->state[i] < KIT_PASSED)
            printf("not finished at the deadline: rank %zu, last note: %.127s\n", i,
                   board->note[i][0] ? board->note[i] : "-");
}

static void print_verdict(const run *r, bool failed, bool skipped) {
    if (r->test_count > 1)
        printf("%s: %zu of %zu cases", verdict(failed, skipped), tests_over(r), r->test_count);
    else
        printf("%s: %s", verdict(failed, skipped), r->tests[0]->name);
    printf(" on %zu ranks of %s%s%s, seed %llu\n", r->ranks, r->place->backend, r->threads ? " (threads)" : "",
           r->check ? " (checked)" : "", (unsigned long long)r->seed);
}

static int judge(const run *r, bool in_time, bool orphans) {
    size_t over = tests_over(r), skipped = 0;
    bool failed = !in_time || r->failed;
    for (size_t t = 0; t < r->test_count && t <= over; t++) {
        failed |= !judge_case(r, t);
        skipped += count_state(r, t, KIT_SKIPPED) == r->ranks;
    }
    if (orphans)
        failed = true, printf("left behind: a process that outlived the ranks\n");
    failed |= all_left(r) > 0;

    print_verdict(r, failed, skipped == r->test_count);
    if (!in_time && over < r->test_count)
        print_unfinished(r, &r->board[over]);
    else if (!in_time)
        printf("all cases are over, but a process has not ended at the deadline\n");
    if (r->failed)
        print_process(r, r->first_failure);
    for (size_t i = 0; i < r->job.size; i++)
        if ((failed && !(r->failed && i == r->first_failure)) || (skipped && !failed && i == 0))
            print_process(r, i);
    return failed ? 1 : skipped == r->test_count ? CHECK_SKIP : 0;
}

static size_t running(const job *j) {
    size_t count = 0;
    for (size_t i = 0; i < j->size; i++)
        count += !j->rank[i].ended;
    return count;
}

static void look_for_failure(run *r) {
    bool any_code = r->tests[0]->breaks && r->place->launcher[0];
    for (size_t i = 0; i < r->job.size && !r->failed; i++) {
        int status = r->job.rank[i].status;
        r->failed = r->job.rank[i].ended && !(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || any_code));
        r->first_failure = i;
    }
}

/* Until all processes have ended; false at the deadline, which is one for each case. */
static bool await_ends(run *r) {
    double deadline = kit_seconds() + DEADLINE;
    for (size_t over = 0; running(&r->job);) {
        if (kit_seconds() > deadline)
            return false;
        await_news(&r->job, deadline);
        look_for_failure(r);
        if (tests_over(r) > over) {
            over = tests_over(r);
            deadline = kit_seconds() + DEADLINE;
        }
        if (r->failed && deadline > kit_seconds() + 10)
            deadline = kit_seconds() + 10; /* failed already: the others get a moment to say what they saw */
    }
    return true;
}

int do_run(run *r) {
    job *j = &r->job;
    size_t bytes = r->test_count * sizeof *r->board;
    r->board_fd = memfd_create("cobre-test-board", MFD_CLOEXEC);
    CHECK(r->board_fd >= 0 && ftruncate(r->board_fd, (off_t)bytes) == 0);
    r->board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->board_fd, 0);
    CHECK(r->board != MAP_FAILED);
    r->shared_before = list_shared();
    own = r;

    bool launched = r->place->launcher[0];
    make_job(j, r->threads || launched ? 1 : r->ranks);
    j->captures = true;
    for (size_t i = 0; i < j->size; i++)
        start_rank(j, i, launched ? be_launcher : be_rank);
    bool in_time = await_ends(r);
    if (!in_time)
        kill_processes();
    for (double until = kit_seconds() + DEADLINE; running(j) && kit_seconds() < until;)
        await_news(j, until);
    bool orphans = children_left();
    if (orphans) {
        kill_processes();
        children_left();
    }
    await_news(j, 0); /* what they printed at last */
    int result = judge(r, in_time, orphans);
    forget_job(j);
    free(r->shared_before);
    munmap(r->board, bytes);
    close(r->board_fd);
    return result;
}
