/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: a process that outlives the launcher by a moment, to end the ranks.
 *
 * It reads the ids of the ranks' process groups from a pipe whose write end only the launcher has. EOF means that the
 * launcher has ended, in whatever way. Then the guard kills the groups. That includes the ranks' own children, which a
 * parent-death signal would not reach. The guard knows every rank that runs: a rank writes its own id before exec, and
 * holds the write end until then.
 *
 * The ids stay valid because the launcher reaps no rank before it has killed all groups and said so (record 0).
 *
 * The guard may be killed or stopped as any process may. The launcher never waits for it without a limit, and starts
 * another one when it is gone; the ranks themselves end with the launcher anyway (start.c). */
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPE = 3, GONE_CHECKS = 30, GONE_CHECK_MS = 10, READY_MS = 10000 };

/* Out of reach of signals, of the terminal and of the ranks' groups, and holding nothing that someone may wait for. */
static void withdraw(int pipe_fd) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    if (chdir("/") < 0)
        _exit(1);
    prctl(PR_SET_NAME, "cobre-guard");
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < PIPE; fd++)
        dup2(null, fd);
    dup2(pipe_fd, PIPE);
    closefrom(PIPE + 1);
}

static void wait_until_gone(const pid_t *groups, size_t count) {
    struct timespec pause = {.tv_nsec = GONE_CHECK_MS * 1000000L};
    size_t gone = 0;
    /* Bounded: zombies stay until someone reaps them. This only gives a killed rank the time to leave the kernel. */
    for (int i = 0; i < GONE_CHECKS; i++) {
        while (gone < count && kill(-groups[gone], SIGKILL) < 0)
            gone++;
        if (gone == count)
            return;
        nanosleep(&pause, NULL);
    }
}

static _Noreturn void guard(const struct job *job) {
    static pid_t groups[CB_MAX_RANKS];
    size_t count = 0;
    pid_t record;
    while (read(PIPE, &record, sizeof record) == (ssize_t)sizeof record) {
        if (record == 0)
            count = 0;
        else if (count < CB_MAX_RANKS)
            groups[count++] = record;
    }
    for (size_t i = 0; i < count; i++)
        kill(-groups[i], SIGKILL);
    wait_until_gone(groups, count);
    cb_environment_end(job);
    _exit(0);
}

static bool has_withdrawn(int ready_fd) {
    struct pollfd ready = {.fd = ready_fd, .events = POLLIN};
    int64_t deadline = cb_now_ms() + READY_MS, left;
    int count;
    do {
        left = deadline - cb_now_ms();
        count = poll(&ready, 1, left > 0 ? (int)left : 0);
    } while (count < 0 && errno == EINTR);
    if (count == 0)
        errno = ETIMEDOUT;
    return count > 0;
}

bool cb_guard_start(struct job *job) {
    int records[2], ready[2];
    if (!cb_pipe(records))
        return false;
    if (!cb_pipe(ready)) {
        close(records[0]);
        close(records[1]);
        return false;
    }
    job->guard = fork();
    if (job->guard == 0) {
        withdraw(records[0]); /* closes our end of `ready` */
        guard(job);
    }
    close(records[0]);
    close(ready[1]);
    cb_unblocked(records[1]); /* a guard that is stopped does not read */
    job->guard_fd = records[1];
    bool good = job->guard > 0 && has_withdrawn(ready[0]);
    int error = errno;
    close(ready[0]);
    if (!good)
        cb_guard_end(job);
    errno = error;
    return good;
}

bool cb_guard_tell(int guard_fd, pid_t pid) {
    ssize_t written;
    do
        written = write(guard_fd, &pid, sizeof pid); /* less than PIPE_BUF: whole or not at all */
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)sizeof pid;
}

void cb_guard_renew(struct job *job) {
    int how, status;
    if (job->guard <= 0 || !cb_has_ended(job->guard, &how, &status))
        return;
    cb_guard_end(job);
    bool good = cb_guard_start(job);
    for (size_t i = 0; good && i < job->options.size; i++)
        good = !job->ranks[i].pid || cb_guard_tell(job->guard_fd, job->ranks[i].pid);
    if (!good)
        fprintf(stderr, "cobre run: the guard was killed, and there can be no other: %s\n", strerror(errno));
}

void cb_guard_dismiss(const struct job *job) {
    if (job->guard > 0 && !cb_guard_tell(job->guard_fd, 0))
        kill(job->guard, SIGKILL);
}

/* By SIGKILL: one that is stopped, or waits behind other programs, must not hold us up. */
void cb_guard_end(struct job *job) {
    cb_close(&job->guard_fd);
    if (job->guard > 0) {
        kill(job->guard, SIGKILL);
        while (waitpid(job->guard, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    job->guard = 0;
}
