/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c: signals are blocked and arrive through a descriptor that the launcher's poll watches. So none is lost
 * between a check and a sleep. */
#include "cli/run/job.h"

#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

/* Ignored by the launcher: a reader of our output that goes away, and reading the terminal from the background. */
static const int ignored[] = {SIGPIPE, SIGTTIN};
enum { IGNORED = sizeof ignored / sizeof *ignored };

static int signal_fd = -1;
static sigset_t come; /* that have come and have not been taken */
static struct sigaction before[IGNORED];
static sigset_t mask_before;

static void handle(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NOCLDSTOP};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

bool cb_signals_catch(void) {
    sigset_t caught;
    sigemptyset(&caught);
    sigemptyset(&come);
    for (size_t i = 0; i < PASSED_ON; i++) {
        struct sigaction old;
        sigaction(passed_on[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup, and background jobs of scripts, mean it */
            sigaddset(&caught, passed_on[i]);
    }
    handle(SIGCHLD, SIG_DFL); /* if it was ignored, ranks would be reaped when they end */
    sigaddset(&caught, SIGCHLD);
    for (size_t i = 0; i < IGNORED; i++) {
        sigaction(ignored[i], NULL, &before[i]);
        handle(ignored[i], SIG_IGN);
    }
    sigprocmask(SIG_SETMASK, &caught, &mask_before);
    signal_fd = signalfd(-1, &caught, SFD_NONBLOCK | SFD_CLOEXEC);
    return signal_fd >= 0;
}

/* A signal that comes before this waits, and then does to the rank what it would do to any program. */
void cb_signals_restore(bool terminal_output) {
    for (size_t i = 0; i < IGNORED; i++)
        sigaction(ignored[i], &before[i], NULL);
    /* A rank's group is never the terminal's: under `stty tostop` its first line would stop it for ever. */
    if (terminal_output)
        handle(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

int cb_signals_fd(void) {
    return signal_fd;
}

void cb_signals_read(void) {
    struct signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        sigaddset(&come, (int)info.ssi_signo);
}

bool cb_signal_take(int signal) {
    return sigismember(&come, signal) == 1 && sigdelset(&come, signal) == 0;
}

int cb_signal_take_passed(void) {
    for (size_t i = 0; i < PASSED_ON; i++)
        if (cb_signal_take(passed_on[i]))
            return passed_on[i];
    return 0;
}

bool cb_signal_ends(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/* A stopped process takes only SIGKILL before it is continued. */
void cb_signal_group(pid_t group, int signal) {
    kill(-group, signal);
    if (cb_signal_ends(signal))
        kill(-group, SIGCONT);
}

void cb_signals_release(void) {
    sigset_t ending;
    sigemptyset(&ending);
    for (size_t i = 0; i < PASSED_ON; i++)
        if (cb_signal_ends(passed_on[i]))
            sigaddset(&ending, passed_on[i]);
    cb_signals_read(); /* what came until now was meant for the ranks */
    sigprocmask(SIG_UNBLOCK, &ending, NULL);
}

/* By SIGTSTP itself and not by SIGSTOP: the kernel drops it where no shell could ever continue us. */
void cb_signal_stop_self(void) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    kill(getpid(), SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL); /* here it stops */
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

const char *cb_signal_name(int signal) {
    static char name[16];
    const char *abbreviation = sigabbrev_np(signal);
    snprintf(name, sizeof name, "SIG%s", abbreviation ? abbreviation : "");
    return abbreviation ? name : "a signal";
}
