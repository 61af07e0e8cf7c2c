#include "runner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

/* The port is bound before any rank starts, and rank 0 gets the socket: nobody else can take the port meanwhile. */
static int listen_somewhere(uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        give_up("listening socket");
    *port = ntohs(address.sin_port);
    return fd;
}

static void tcp_environment(const job *j, size_t rank) {
    static int listener = -1;
    static uint16_t port;
    if (rank == 0) {
        if (listener >= 0)
            close(listener);
        listener = listen_somewhere(&port);
    }
    fcntl(listener, F_SETFD, rank == 0 ? 0 : FD_CLOEXEC);
    setenv("COBRE_TCP_COORDINATOR", "127.0.0.1", 1);
    setenv("COBRE_TCP_TOKEN", j->name, 1);
    set_number("COBRE_TCP_PORT", port);
    set_number("COBRE_TCP_RANK", rank);
    set_number("COBRE_TCP_SIZE", j->ranks);
    set_number("COBRE_RUN_LISTEN_FD", (size_t)listener);
}

/* A new backend joins here. */
static const world worlds[] = {
    {.backend = "local", .id = COBRE_LOCAL, .environment = local_environment, .max_ranks = 1, .threads = true},
    {.backend = "shm", .id = COBRE_SHM, .environment = shm_environment, .max_ranks = KIT_MAX_RANKS, .threads = true},
    {.backend = "tcp", .id = COBRE_TCP, .environment = tcp_environment, .max_ranks = KIT_MAX_RANKS},
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
    static const char *const foreign[] = {"COBRE_", "PMI_", "OMPI_", "MPI_", "SLURM_"};
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

static void prepare(job *j) {
    clean_environment();
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        give_up("getrandom");
    snprintf(j->name, sizeof j->name, "cobre-test-%d-%016llx", (int)getpid(), (unsigned long long)random);
    j->board_fd = memfd_create("cobre-test-board", MFD_CLOEXEC);
    if (j->board_fd < 0 || ftruncate(j->board_fd, sizeof *j->board) < 0)
        give_up("board");
    j->board = mmap(NULL, sizeof *j->board, PROT_READ | PROT_WRITE, MAP_SHARED, j->board_fd, 0);
    if (j->board == MAP_FAILED)
        give_up("mmap of the board");
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), j->board_fd);
    setenv("COBRE_TEST_BOARD", path, 1);
    setenv("COBRE_COMM_BACKEND", j->backend, 1);
    set_number("COBRE_TEST_SEED", (size_t)j->seed);
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
    char ranks[24];
    snprintf(ranks, sizeof ranks, "%zu", j->ranks);
    execl("/proc/self/exe", "runner", j->test->name, ranks, j->backend, "--rank-only", j->threads ? "--threads" : NULL,
          (char *)NULL);
    give_up("exec of /proc/self/exe");
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
            bool good = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == KIT_SKIP);
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

/* Waits for output or a child's end; false once the deadline has passed. */
static bool wait_for_news(job *j, int signals, double deadline) {
    struct pollfd polled[KIT_MAX_RANKS + 1];
    for (size_t i = 0; i < j->processes; i++)
        polled[i] = (struct pollfd){.fd = j->process[i].output, .events = POLLIN};
    polled[j->processes] = (struct pollfd){.fd = signals, .events = POLLIN};
    double left = deadline - kit_seconds();
    if (left <= 0)
        return false;
    if (poll(polled, (nfds_t)j->processes + 1, (int)(1000 * left) + 1) < 0 && errno != EINTR)
        give_up("poll");
    for (size_t i = 0; i < j->processes; i++)
        if (polled[i].revents)
            read_output(&j->process[i]);
    struct signalfd_siginfo news;
    while (read(signals, &news, sizeof news) > 0)
        continue;
    return true;
}

static void kill_all(const job *j) {
    for (size_t i = 0; i < j->processes; i++)
        kill(-j->process[i].pid, SIGKILL); /* the group: what a rank has forked goes with it */
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

static bool name_left(const job *j) {
    bool left = false;
    DIR *dir = opendir("/dev/shm");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, j->name, strlen(j->name)) == 0) {
            printf("left behind: /dev/shm/%s\n", entry->d_name);
            unlinkat(dirfd(dir), entry->d_name, 0);
            left = true;
        }
    if (dir)
        closedir(dir);
    return left;
}

static int judge(const job *j, bool in_time, bool orphans) {
    size_t skipped = 0;
    for (size_t i = 0; i < j->processes; i++)
        skipped += WIFEXITED(j->process[i].status) && WEXITSTATUS(j->process[i].status) == KIT_SKIP;
    bool failed = !in_time || j->first_failure != NULL;
    if (skipped && skipped < j->processes)
        failed = true, printf("only %zu of %zu ranks skipped the case\n", skipped, j->processes);
    if (orphans)
        failed = true, printf("left behind: a process that outlived the ranks\n");
    if (name_left(j))
        failed = true;

    printf("%s: %s on %zu ranks of %s%s, seed %llu\n",
           failed    ? "FAILED"
           : skipped ? "skipped"
                     : "passed",
           j->test->name, j->ranks, j->backend, j->threads ? " (threads)" : "", (unsigned long long)j->seed);
    if (!in_time)
        for (size_t r = 0; r < j->ranks; r++)
            if (strcmp(j->board->note[r], "done") != 0)
                printf("not finished at the deadline: rank %zu, last note: %.127s\n", r,
                       j->board->note[r][0] ? j->board->note[r] : "-");
    if (failed && j->first_failure)
        print_process(j, j->first_failure);
    for (size_t i = 0; i < j->processes; i++)
        if ((failed && &j->process[i] != j->first_failure) || (skipped && !failed && i == 0))
            print_process(j, &j->process[i]);
    return failed ? 1 : skipped ? KIT_SKIP : 0;
}

static double deadline_seconds(void) {
    const char *text = getenv("COBRE_TEST_DEADLINE");
    double seconds = text ? atof(text) : 0;
    return seconds > 0 ? seconds : KIT_SANITIZED ? 120 : 30;
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
    j->processes = j->threads ? 1 : j->ranks;
    for (size_t i = 0; i < j->processes; i++)
        start_process(j, i);
    bool in_time = true;
    while (running(j) && in_time) {
        in_time = wait_for_news(j, signals, deadline);
        reap(j);
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
    kill_all(j);
    while (reap(j))
        wait_for_news(j, signals, kit_seconds() + 1);

    for (size_t i = 0; i < j->processes; i++)
        if (j->process[i].output >= 0)
            read_output(&j->process[i]);
    int result = judge(j, in_time, orphans);
    for (size_t i = 0; i < j->processes; i++) {
        if (j->process[i].output >= 0)
            close(j->process[i].output);
        free(j->process[i].text);
    }
    munmap(j->board, sizeof *j->board);
    close(j->board_fd);
    close(signals);
    return result;
}
