/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: a process that outlives the launcher by a moment, to take the ranks with it.
 *
 * It reads the ids of the ranks' process groups from a pipe whose write end only the launcher has. EOF means that the
 * launcher is gone, however that came: the guard kills the groups, and so the ranks' own children too, which a
 * parent-death signal would not reach. There is no moment at which a rank runs and the guard does not know it: a rank
 * writes its own id, before exec, and holds the write end until then.
 *
 * The ids stay valid because the launcher reaps no rank before it has killed all groups and said so (record 0). */
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPE = 3, GONE_CHECKS = 30, GONE_CHECK_MS = 10 };

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

bool cb_guard_start(struct job *job) {
    int records[2], ready[2];
    if (!cb_pipe(records) || !cb_pipe(ready))
        return false;
    job->guard = fork();
    if (job->guard == 0) {
        withdraw(records[0]); /* closes our end of `ready` */
        guard(job);
    }
    close(records[0]);
    close(ready[1]);
    char none;
    while (job->guard > 0 && read(ready[0], &none, 1) < 0 && errno == EINTR)
        ;
    close(ready[0]);
    job->guard_fd = records[1];
    return job->guard > 0;
}

bool cb_guard_tell(int guard_fd, pid_t pid) {
    ssize_t written;
    do
        written = write(guard_fd, &pid, sizeof pid); /* less than PIPE_BUF: whole or not at all */
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)sizeof pid;
}

void cb_guard_end(struct job *job) {
    cb_close(&job->guard_fd);
    while (waitpid(job->guard, NULL, 0) < 0 && errno == EINTR)
        ;
}
