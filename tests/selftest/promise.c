/* SPDX-License-Identifier: Apache-2.0 */
/* promise.c: is a promise about time tested as it stands? A rank that naps for too long must be found, on a quiet machine
 * and beside busy processes; a rank that works but gets no CPU must be forgiven. */
#include "kit/harness.h"
#include "kit/sentinel.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double nap, work; /* seconds of the rank between the order and its report */

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void nap_and_work(void) {
    say("ready", 0);
    await_order();
    set_aside(nap);
    for (double end = cpu_seconds() + work; cpu_seconds() < end;)
        ;
    say("done", 0);
}

static void start_busy(pid_t *pids, size_t count) {
    pid_t parent = getpid();
    for (size_t i = 0; i < count; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            ;
        _exit(0);
    }
}

static void end_busy(const pid_t *pids, size_t count) {
    for (size_t i = 0; i < count; i++)
        CHECK(kill(pids[i], SIGKILL) == 0 && waitpid(pids[i], NULL, 0) == pids[i]);
}

/* What a case does that tests the promise. */
static void test_promise(void) {
    job j;
    start_job(&j, 2, nap_and_work);
    await_all(&j, "ready");
    double since = kill_rank(&j, 1);
    order(&j, 0, 'g');
    must_come_within(&j, await(&j, 0, "done"), since, PROMISE);
    end_job(&j);
}

/* The exit code of such a case; what it says goes to `text`. */
static int try_promise(double seconds_of_nap, double seconds_of_work, char *text, size_t size) {
    int ends[2], status;
    nap = seconds_of_nap;
    work = seconds_of_work;
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        test_promise();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Tries a longer nap only where the machine stood still for a good part of the shorter one. */
static void must_be_found(double seconds_of_nap) {
    char text[4096];
    for (double since = kit_seconds(); try_promise(seconds_of_nap, 0, text, sizeof text) == 0; since = kit_seconds()) {
        double lost = sentinel_lost(since, kit_seconds());
        CHECK_SAY(lost > seconds_of_nap / 8, "a nap of %g s is found, when %.3f s were lost", seconds_of_nap, lost);
        seconds_of_nap *= 2;
    }
    CHECK_HOLDS(text, "rank 0, done: within 0.1 s; it took ");
    CHECK_HOLDS(text, "(sentinel)");
    CHECK_HOLDS(text, "(the rank waited for a CPU)");
}

static void must_pass(double seconds_of_work) {
    char text[4096];
    CHECK_SAY(try_promise(0, seconds_of_work, text, sizeof text) == 0, "forgiven: %s", text);
}

static void quick_rank_passes(void) {
    must_pass(0);
}

static void slow_rank_is_found(void) {
    must_be_found(1.5 * PROMISE);
}

static void slow_rank_is_found_beside_busy_ones(void) {
    pid_t pids[12];
    start_busy(pids, 12);
    must_be_found(5 * PROMISE);
    end_busy(pids, 12);
}

/* All of them on one CPU, so that the rank gets a ninth of it at most. */
static void starved_rank_is_forgiven(void) {
    pid_t pids[8];
    cpu_set_t all, one;
    if (sentinel_waited(0) == 0)
        check_skip("the kernel does not count how long threads wait");
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    start_busy(pids, 8);
    must_pass(0.5 * PROMISE);
    end_busy(pids, 8);
}

static const check_case cases[] = {
    CHECK_CASE(quick_rank_passes),
    CHECK_CASE(slow_rank_is_found),
    CHECK_CASE(slow_rank_is_found_beside_busy_ones),
    CHECK_CASE(starved_rank_is_forgiven),
    CHECK_END,
};

int main(int argc, char **argv) {
    backend = COBRE_SHM;
    sentinel_start();
    int code = check_main(argc, argv, cases);
    sentinel_stop();
    return code;
}
