#include "kit/runner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TEXT = 256 * 1024 };

static void set_number(const char *name, size_t value) {
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    setenv(name, text, 1);
}

static void local_environment(const job *j, size_t rank) {
    (void)j, (void)rank;
}

static void shm_environment(const job *j, size_t rank) {
    char name[sizeof j->name + 1];
    snprintf(name, sizeof name, "/%s", j->name);
    setenv("COBRE_SHM_NAME", name, 1);
    set_number("COBRE_SHM_RANK", rank);
    set_number("COBRE_SHM_SIZE", j->ranks);
}

/* The port stays bound here, so that nobody else gets it, now and when a case opens another communicator. Who asks for it
 * by its number can listen there. */
static uint16_t hold_port(void) {
    static int held = -1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int on = 1;
    if (held >= 0)
        close(held);
    held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (held < 0 || bind(held, (struct sockaddr *)&address, length) < 0 ||
        setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        getsockname(held, (struct sockaddr *)&address, &length) < 0)
        give_up("port");
    return ntohs(address.sin_port);
}

static void tcp_environment(const job *j, size_t rank) {
    if (rank == 0)
        set_number("COBRE_TCP_PORT", hold_port());
    setenv("COBRE_TCP_COORDINATOR", "127.0.0.1", 1);
    setenv("COBRE_TCP_BIND", "127.0.0.1", 1);
    setenv("COBRE_TCP_TOKEN", j->name, 1);
    set_number("COBRE_TCP_RANK", rank);
    set_number("COBRE_TCP_SIZE", j->ranks);
}

static void mpi_environment(const job *j, size_t index) {
    (void)index;
    char directory[128];
    snprintf(directory, sizeof directory, "/tmp/%s", j->name);
    if (mkdir(directory, 0700) < 0)
        give_up(directory);
    setenv("TMPDIR", directory, 1); /* so that files that are left can be told from those of other jobs */
    if (j->check)
        setenv("COBRE_CHECK", "1", 1);
}

/* A new backend joins here. */
static const world worlds[] = {
    {.backend = "local", .id = COBRE_LOCAL, .environment = local_environment, .max_ranks = 1, .threads = true},
    {.backend = "shm", .id = COBRE_SHM, .environment = shm_environment, .max_ranks = KIT_MAX_RANKS, .threads = true},
    {.backend = "tcp", .id = COBRE_TCP, .environment = tcp_environment, .max_ranks = KIT_MAX_RANKS},
    {.backend = "openmpi",
     .id = COBRE_MPI,
     .environment = mpi_environment,
     .max_ranks = KIT_MAX_RANKS,
     .launcher = {"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca",
                  "mpi_yield_when_idle", "1"}},
    {.backend = "mpich",
     .id = COBRE_MPI,
     .environment = mpi_environment,
     .max_ranks = KIT_MAX_RANKS,
     .spins = true,
     .launcher = {"mpirun.mpich"}},
};

const world *find_world(const char *backend) {
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++)
        if (strcmp(worlds[i].backend, backend) == 0)
            return &worlds[i];
    return NULL;
}

/* The ranks get our word only: a batch system's variables, or those of a launcher that started us, speak of other jobs.
 */
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

/* All names in /dev/shm, each between slashes. */
static char *list_shared(void) {
    char *names = NULL;
    size_t size;
    FILE *list = open_memstream(&names, &size);
    DIR *dir = opendir("/dev/shm");
    if (!list || !dir)
        give_up("list of /dev/shm");
    putc('/', list);
    for (struct dirent *entry; (entry = readdir(dir));)
        fprintf(list, "%s/", entry->d_name);
    closedir(dir);
    fclose(list);
    return names;
}

static size_t board_bytes(const job *j) {
    return j->test_count * sizeof *j->board;
}

static void prepare(job *j) {
    clean_environment();
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        give_up("getrandom");
    snprintf(j->name, sizeof j->name, "cobre-test-%d-%016llx", (int)getpid(), (unsigned long long)random);
    j->board_fd = memfd_create("cobre-test-board", MFD_CLOEXEC);
    if (j->board_fd < 0 || ftruncate(j->board_fd, (off_t)board_bytes(j)) < 0)
        give_up("board");
    j->board = mmap(NULL, board_bytes(j), PROT_READ | PROT_WRITE, MAP_SHARED, j->board_fd, 0);
    if (j->board == MAP_FAILED)
        give_up("mmap of the board");
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), j->board_fd);
    setenv("COBRE_TEST_BOARD", path, 1);
    setenv("COBRE_COMM_BACKEND", cobre_backend_name(find_world(j->backend)->id), 1);
    set_number("COBRE_TEST_SEED", (size_t)j->seed);
    j->shared_before = list_shared();
}

/* Becomes a rank, or the launcher that starts them all. */
static _Noreturn void become_rank(const job *j) {
    const world *place = find_world(j->backend);
    char ranks[24], self[PATH_MAX];
    if (!realpath("/proc/self/exe", self))
        give_up("/proc/self/exe");
    snprintf(ranks, sizeof ranks, "%zu", j->ranks);
    const char *argv[24];
    size_t n = 0;
    for (; place->launcher[n]; n++)
        argv[n] = place->launcher[n];
    if (n) {
        argv[n++] = "-n";
        argv[n++] = ranks;
    }
    const char *rank[] = {self, j->list, ranks, j->backend, "--rank-only", j->threads ? "--threads" : NULL, NULL};
    memcpy(argv + n, rank, sizeof rank);
    execvp(argv[0], (char **)(uintptr_t)argv);
    give_up(argv[0]);
}

static void start_process(job *j, size_t index) {
    process *p = &j->process[index];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        give_up("pipe");
    find_world(j->backend)->environment(j, index);
    p->output = ends[0];
    pid_t runner = getpid();
    p->pid = fork();
    if (p->pid < 0)
        give_up("fork");
    if (p->pid > 0) {
        close(ends[1]);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        setpgid(p->pid, p->pid); /* here and in the child: whoever comes first, kill(-pid) reaches it */
        return;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != runner)
        _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(null);
    become_rank(j);
}

static void read_output(process *p) {
    char piece[4096];
    ssize_t got;
    while ((got = read(p->output, piece, sizeof piece)) > 0) {
        size_t keep = (size_t)got < MAX_TEXT - p->text_len ? (size_t)got : MAX_TEXT - p->text_len;
        char *text = realloc(p->text, p->text_len + keep + 1);
        if (!text)
            give_up("output of a rank");
        memcpy(text + p->text_len, piece, keep);
        p->text = text;
        p->text_len += keep;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(p->output);
        p->output = -1;
    }
}

/* Collects everybody who has ended, adopted grandchildren included. Returns whether we still have children. */
static bool reap(job *j) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < j->processes; i++) {
            process *p = &j->process[i];
            if (p->pid != pid)
                continue;
            p->ended = true;
            p->status = status;
            bool any_code = j->tests[0]->breaks && find_world(j->backend)->launcher[0];
            bool good = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || any_code);
            if (!good && !j->first_failure)
                j->first_failure = p;
        }
    return pid == 0;
}

static size_t running(const job *j) {
    size_t count = 0;
    for (size_t i = 0; i < j->processes; i++)
        count += !j->process[i].ended;
    return count;
}

/* Waits for output or a child's end, at most a second; false once the deadline has passed. */
static bool wait_for_news(job *j, int signals, double deadline) {
    struct pollfd polled[KIT_MAX_RANKS + 1];
    for (size_t i = 0; i < j->processes; i++)
        polled[i] = (struct pollfd){.fd = j->process[i].output, .events = POLLIN};
    polled[j->processes] = (struct pollfd){.fd = signals, .events = POLLIN};
    double left = deadline - kit_seconds();
    if (left <= 0)
        return false;
    if (poll(polled, (nfds_t)j->processes + 1, left < 1 ? (int)(1000 * left) + 1 : 1000) < 0 && errno != EINTR)
        give_up("poll");
    for (size_t i = 0; i < j->processes; i++)
        if (polled[i].revents)
            read_output(&j->process[i]);
    struct signalfd_siginfo news;
    while (read(signals, &news, sizeof news) > 0)
        continue;
    return true;
}

/* The groups of the processes that we started, and whoever has become our child since: ranks of a launcher have groups
 * of their own. */
static void kill_all(const job *j) {
    char path[64];
    for (size_t i = 0; i < j->processes; i++)
        kill(-j->process[i].pid, SIGKILL);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "r");
    for (int pid; children && fscanf(children, "%d", &pid) == 1;)
        kill(pid, SIGKILL);
    if (children)
        fclose(children);
}

static void print_process(const job *j, const process *p) {
    size_t index = (size_t)(p - j->process);
    char label[32] = "all ranks";
    if (j->processes == j->ranks)
        snprintf(label, sizeof label, "rank %zu", index);
    if (WIFSIGNALED(p->status))
        printf("%s: killed by signal %d (%s)\n", label, WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
    else
        printf("%s: exit code %d\n", label, WEXITSTATUS(p->status));
    bool line_start = true;
    for (size_t i = 0; i < p->text_len; i++) {
        if (line_start)
            printf("  [%s] ", label);
        putchar(p->text[i]);
        line_start = p->text[i] == '\n';
    }
    if (!line_start)
        putchar('\n');
}

/* A write lease is given only for a file that nobody else has open or mapped. */
static bool in_use(int dir, const char *name) {
    int fd = openat(dir, name, O_RDWR | O_CLOEXEC);
    bool used = fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) < 0 && errno == EAGAIN;
    if (fd >= 0)
        close(fd);
    return used;
}

/* A name is this job's if it begins as the job's. What an MPI makes has names of its own: a new one that nobody uses. */
static bool is_left(const job *j, int dir, const char *name) {
    char between[300];
    if (strncmp(name, j->name, strlen(j->name)) == 0)
        return true;
    snprintf(between, sizeof between, "/%s/", name);
    return find_world(j->backend)->launcher[0] && strncmp(name, "cobre-", 6) != 0 &&
           !strstr(j->shared_before, between) && !in_use(dir, name);
}

static bool names_left(const job *j) {
    bool left = false;
    DIR *dir = opendir("/dev/shm");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (is_left(j, dirfd(dir), entry->d_name)) {
            printf("left behind: /dev/shm/%s\n", entry->d_name);
            unlinkat(dirfd(dir), entry->d_name, 0);
            left = true;
        }
    if (dir)
        closedir(dir);
    return left;
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

/* In the directory that the job had for its own. */
static bool temporaries_left(const job *j) {
    char directory[128];
    files_left = 0;
    snprintf(directory, sizeof directory, "/tmp/%s", j->name);
    nftw(directory, remove_left, 16, FTW_DEPTH | FTW_PHYS);
    return files_left > 0;
}

static size_t count_state(const job *j, size_t test, kit_state state) {
    size_t count = 0;
    for (size_t r = 0; r < j->ranks; r++)
        count += j->board[test].state[r] == state;
    return count;
}

bool is_over(const job *j, size_t test) {
    return count_state(j, test, KIT_PASSED) + count_state(j, test, KIT_SKIPPED) == j->ranks;
}

static size_t tests_over(const job *j) {
    size_t over = 0;
    while (over < j->test_count && is_over(j, over))
        over++;
    return over;
}

static const char *verdict(bool failed, bool skipped) {
    return failed ? "FAILED" : skipped ? "skipped" : "passed";
}

/* Whether all ranks have come to the same good end. Of one case among several it says so. */
static bool judge_case(const job *j, size_t test) {
    size_t skipped = count_state(j, test, KIT_SKIPPED);
    bool failed = !is_over(j, test) || (skipped && skipped < j->ranks);
    if (is_over(j, test) && failed)
        printf("only %zu of %zu ranks skipped the case\n", skipped, j->ranks);
    if (j->test_count > 1)
        printf("%s: %s on %zu ranks of %s, %.2f s\n", verdict(failed, skipped), j->tests[test]->name, j->ranks,
               j->backend, j->board[test].seconds);
    return !failed;
}

static void print_unfinished(const job *j, const kit_board *board) {
    for (size_t r = 0; r < j->ranks; r++)
        if (board->state[r] < KIT_PASSED)
            printf("not finished at the deadline: rank %zu, last note: %.127s\n", r,
                   board->note[r][0] ? board->note[r] : "-");
}

static void print_verdict(const job *j, bool failed, bool skipped) {
    if (j->test_count > 1)
        printf("%s: %zu of %zu cases", verdict(failed, skipped), tests_over(j), j->test_count);
    else
        printf("%s: %s", verdict(failed, skipped), j->tests[0]->name);
    printf(" on %zu ranks of %s%s%s, seed %llu\n", j->ranks, j->backend, j->threads ? " (threads)" : "",
           j->check ? " (checked)" : "", (unsigned long long)j->seed);
}

static int judge(const job *j, bool in_time, bool orphans) {
    size_t over = tests_over(j), skipped = 0;
    bool failed = !in_time || j->first_failure != NULL;
    for (size_t t = 0; t < j->test_count && t <= over; t++) {
        failed |= !judge_case(j, t);
        skipped += count_state(j, t, KIT_SKIPPED) == j->ranks;
    }
    if (orphans)
        failed = true, printf("left behind: a process that outlived the ranks\n");
    failed |= names_left(j);
    failed |= temporaries_left(j);

    print_verdict(j, failed, skipped == j->test_count);
    if (!in_time && over < j->test_count)
        print_unfinished(j, &j->board[over]);
    else if (!in_time)
        printf("all cases are over, but a process has not ended at the deadline\n");
    if (failed && j->first_failure)
        print_process(j, j->first_failure);
    for (size_t i = 0; i < j->processes; i++)
        if ((failed && &j->process[i] != j->first_failure) || (skipped && !failed && i == 0))
            print_process(j, &j->process[i]);
    return failed ? 1 : skipped == j->test_count ? CHECK_SKIP : 0;
}

static double deadline_seconds(void) {
    const char *text = getenv("COBRE_TEST_DEADLINE");
    double seconds = text ? atof(text) : 0;
    return seconds > 0 ? seconds : KIT_SANITIZED ? 120 : 60;
}

int run_job(job *j) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    int signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        give_up("signalfd");

    prepare(j);
    double deadline = kit_seconds() + deadline_seconds();
    j->processes = j->threads || find_world(j->backend)->launcher[0] ? 1 : j->ranks;
    for (size_t i = 0; i < j->processes; i++)
        start_process(j, i);
    bool in_time = true;
    for (size_t over = 0; running(j) && in_time;) {
        in_time = wait_for_news(j, signals, deadline);
        reap(j);
        if (tests_over(j) > over) {
            over = tests_over(j);
            deadline = kit_seconds() + deadline_seconds();
        }
        if (j->first_failure && deadline > kit_seconds() + 10)
            deadline = kit_seconds() + 10; /* failed already: the others get a moment to say what they saw */
    }
    if (!in_time)
        kill_all(j);

    /* A process that a rank left may be on its way out; one second is for that, not for us to get lucky. */
    double grace = kit_seconds() + 1;
    bool orphans;
    while ((orphans = reap(j)) && wait_for_news(j, signals, grace))
        continue;
    do
        kill_all(j);
    while (reap(j) && wait_for_news(j, signals, kit_seconds() + 1));

    for (size_t i = 0; i < j->processes; i++)
        if (j->process[i].output >= 0)
            read_output(&j->process[i]);
    int result = judge(j, in_time, orphans);
    for (size_t i = 0; i < j->processes; i++) {
        if (j->process[i].output >= 0)
            close(j->process[i].output);
        free(j->process[i].text);
    }
    free(j->shared_before);
    munmap(j->board, board_bytes(j));
    close(j->board_fd);
    close(signals);
    return result;
}
