/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c: a signal asks the trainer to stop, and so does a reader of its output that has gone. */
#include "cli/plan/session.h"
#include "cli/run/job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ECHO_MS = 500 }; /* timeout(1) sends its signal to the process and to its group: that is one wish */

static volatile sig_atomic_t asked;
static int64_t asked_at;
static char note[256]; /* what rank 0 says to the first signal; empty on the others */

static void ask(int number) {
    int saved = errno;
    if (!asked && note[0]) {
        ssize_t written = write(STDERR_FILENO, note, strlen(note));
        (void)written;
    }
    if (!asked)
        asked_at = cb_now_ms();
    else if (cb_now_ms() > asked_at + ECHO_MS) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when this handler returns */
    }
    asked = 1;
    errno = saved;
}

void cb_stop_catch(const struct session *session, const char *promise) {
    if (cobre_rank(session->comm) == 0)
        snprintf(note, sizeof note, "\ncobre %s: asked to stop: %s; a second signal ends it at once\n",
                 session->self.command, promise);
    static const int signals[] = {SIGINT, SIGTERM, SIGUSR1}; /* USR1: mpirun passes it on and does nothing else */
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old, action = {.sa_handler = ask, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup and background jobs of scripts mean it */
            sigaction(signals[i], &action, NULL);
    }
}

int cb_stop_asked(void *arg) {
    (void)arg;
    struct pollfd output = {.fd = STDOUT_FILENO};
    struct stat kind;
    if (poll(&output, 1, 0) > 0 && (output.revents & POLLERR) && fstat(STDOUT_FILENO, &kind) == 0 &&
        S_ISFIFO(kind.st_mode)) /* a pipe that nobody reads; a terminal that hung up says it, too */
        asked = 1;
    return asked;
}
