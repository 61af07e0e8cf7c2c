/* signals.c: signals become bytes in a pipe that the launcher's poll watches, so that none is lost between a look and a
 * sleep. */
#include "cli/run/job.h"

#include <errno.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

/* Ignored by the launcher: a reader of our output that goes away, and reading the terminal from the background. */
static const int ignored[] = {SIGPIPE, SIGTTIN};
enum { IGNORED = sizeof ignored / sizeof *ignored };

static volatile sig_atomic_t raised[NSIG];
static int wake[2] = {-1, -1};
static struct sigaction before[IGNORED];
static sigset_t mask_before;

static void note(int signal) {
    int saved = errno;
    raised[signal] = 1;
    ssize_t written = write(wake[1], "", 1); /* full is fine: it is readable then */
    (void)written;
    errno = saved;
}

static void handle(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NOCLDSTOP};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

bool cb_signals_catch(void) {
    if (!cb_pipe(wake))
        return false;
    cb_unblocked(wake[0]);
    cb_unblocked(wake[1]);
    for (size_t i = 0; i < PASSED_ON; i++) {
        struct sigaction old;
        sigaction(passed_on[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* nohup, and background jobs of scripts, mean it */
            handle(passed_on[i], note);
    }
    handle(SIGCHLD, note);
    for (size_t i = 0; i < IGNORED; i++) {
        sigaction(ignored[i], NULL, &before[i]);
        handle(ignored[i], SIG_IGN);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, &mask_before);
    return true;
}

void cb_signals_block(sigset_t *old) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, old);
}

void cb_signals_unblock(const sigset_t *old) {
    sigprocmask(SIG_SETMASK, old, NULL);
}

/* Runs with all signals blocked: a handler of ours must not run in a rank, where its pipe is still the launcher's. */
void cb_signals_restore(bool terminal_output) {
    for (size_t i = 0; i < PASSED_ON; i++) {
        struct sigaction now;
        sigaction(passed_on[i], NULL, &now);
        if (now.sa_handler != SIG_IGN)
            handle(passed_on[i], SIG_DFL);
    }
    handle(SIGCHLD, SIG_DFL);
    for (size_t i = 0; i < IGNORED; i++)
        sigaction(ignored[i], &before[i], NULL);
    /* A rank's group is never the terminal's: under `stty tostop` its first line would stop it for ever. */
    if (terminal_output)
        handle(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

int cb_signals_fd(void) {
    return wake[0];
}

void cb_signals_clear(void) {
    char bytes[64];
    while (read(wake[0], bytes, sizeof bytes) > 0)
        ;
}

bool cb_signal_take(int signal) {
    if (!raised[signal])
        return false;
    raised[signal] = 0;
    return true;
}

int cb_signal_take_passed(void) {
    for (size_t i = 0; i < PASSED_ON; i++)
        if (cb_signal_take(passed_on[i]))
            return passed_on[i];
    return 0;
}

/* By SIGTSTP itself and not by SIGSTOP: the kernel drops it where no shell could ever continue us. */
void cb_signal_stop_self(void) {
    handle(SIGTSTP, SIG_DFL);
    kill(getpid(), SIGTSTP);
    handle(SIGTSTP, note);
}

const char *cb_signal_name(int signal) {
    static const char *const names[NSIG] = {
        [SIGHUP] = "SIGHUP",       [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT",   [SIGILL] = "SIGILL",
        [SIGTRAP] = "SIGTRAP",     [SIGABRT] = "SIGABRT", [SIGBUS] = "SIGBUS",     [SIGFPE] = "SIGFPE",
        [SIGKILL] = "SIGKILL",     [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV",   [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE",     [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",   [SIGCHLD] = "SIGCHLD",
        [SIGCONT] = "SIGCONT",     [SIGSTOP] = "SIGSTOP", [SIGTSTP] = "SIGTSTP",   [SIGTTIN] = "SIGTTIN",
        [SIGTTOU] = "SIGTTOU",     [SIGURG] = "SIGURG",   [SIGXCPU] = "SIGXCPU",   [SIGXFSZ] = "SIGXFSZ",
        [SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF", [SIGWINCH] = "SIGWINCH", [SIGIO] = "SIGIO",
        [SIGSYS] = "SIGSYS",
    };
    return signal > 0 && signal < NSIG && names[signal] ? names[signal] : "a signal";
}
