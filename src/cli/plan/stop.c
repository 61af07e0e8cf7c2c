/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c: stops a training or simulation on a signal, or when the reader of its output has gone. */
#include "cli/plan/session.h"
#include "cli/run/job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies from struct cb_stop: a late signal finds them, too. */
static double grace;
static int deadly;
static char folder[PATH_MAX];         /* "": none */
static char text[CB_STOP_NOTES][256]; /* what rank 0 says; empty on the others */
static volatile sig_atomic_t wishes, kept;
static _Atomic int64_t first_at, last_at;

static void wish(void) {
    last_at = cb_now_ms();
    if (wishes == 0)
        first_at = last_at;
    wishes = wishes + 1;
}

static void ask(int number) {
    int saved = errno;
    if (wishes == 0 || cb_now_ms() > last_at + CB_ECHO_MS) {
        wish();
        if (wishes == 1)
            cb_say_in_handler(text[kept ? CB_STOP_FIRST : CB_STOP_FIRST_OF_ALL]);
        if (wishes == 2 && deadly > 2)
            cb_say_in_handler(text[kept ? CB_STOP_SECOND : CB_STOP_SECOND_OF_ALL]);
        if (wishes >= deadly) {
            if (folder[0])
                cb_folder_remove_drafts(folder);
            signal(number, SIG_DFL);
            raise(number); /* delivered when this handler returns */
        }
    }
    errno = saved;
}

void cb_stop_catch(const struct session *session, const struct cb_stop *how) {
    static const int signals[] = {SIGINT, SIGTERM, SIGUSR1}; /* USR1: mpirun passes it on and does nothing else */
    grace = how->grace;
    deadly = how->deadly;
    snprintf(folder, sizeof folder, "%s", how->folder ? how->folder : "");
    for (size_t i = 0; i < CB_STOP_NOTES && cobre_rank(session->comm) == 0; i++)
        if (how->note[i])
            snprintf(text[i], sizeof text[i], "cobre %s: %s\n", session->self.command, how->note[i]);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old, action = {.sa_handler = ask, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        for (size_t j = 0; j < sizeof signals / sizeof *signals; j++)
            sigaddset(&action.sa_mask, signals[j]);
        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup and background jobs of scripts mean it */
            sigaction(signals[i], &action, NULL);
    }
}

void cb_stop_keeps(void) {
    kept = 1;
}

/* A pipe that nobody reads; a terminal that hung up says it, too. */
static bool is_unread(void) {
    struct pollfd output = {.fd = STDOUT_FILENO};
    struct stat kind;
    return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) && fstat(STDOUT_FILENO, &kind) == 0 &&
           S_ISFIFO(kind.st_mode);
}

/* It is asked before each LP, of which there may be 100,000 a second. */
int cb_stop_asked(void *arg) {
    enum { LOOK_MS = 20 };
    static int64_t looked_at;
    (void)arg;
    int64_t now = cb_now_ms();
    if (wishes == 0 && now >= looked_at + LOOK_MS) {
        looked_at = now;
        if (is_unread())
            wish();
    }
    if (wishes == 0)
        return 0;
    return wishes > 1 || (double)(now - first_at) >= 1e3 * grace ? 2 : 1;
}
