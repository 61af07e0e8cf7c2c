/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: `cobre train`. */
#include "cli/plan/train.h"

#include "sddp/error.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static void on_start(void *arg, uint64_t iterations) {
    struct train *train = arg;
    (void)iterations;
    if (cb_session_speaks(&train->base))
        cb_train_print_start(train);
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    struct train *train = arg;
    cb_stop_keeps();
    if (cb_session_speaks(&train->base))
        cb_train_print_row(&train->print, progress);
}

static void on_event(void *arg, const char *line, size_t length) {
    struct train *train = arg;
    if (train->unread)
        return;
    fwrite(line, 1, length, stdout);
    if (fflush(stdout) != 0) { /* cb_stop_asked asks to stop for it */
        clearerr(stdout);
        train->unread = true;
    }
}

static void on_say(void *arg, const char *message) {
    (void)arg;
    cb_say("cobre train: %s\n", message);
}

static void on_steered(void *arg) {
    struct train *train = arg;
    struct time_left *left = &train->print.progress.left;
    if (train->print.paused != train->run.paused)
        cb_time_left_pause(left);
    train->print.paused = train->run.paused;
    if (train->run.files.steered)
        cb_time_left_rules(left, &train->run.options);
}

static void on_lost(void *arg) {
    struct train *train = arg;
    train->code = cb_session_failed(&train->base);
}

/* It is asked often enough to draw the progress. */
static int on_stop(void *arg) {
    struct train *train = arg;
    cb_train_print_tick(&train->print);
    return cb_stop_asked(NULL);
}

/* It says why, and how to go on from what was saved. */
static int failed(struct train *train) {
    bool tells = train->run.started && cb_session_speaks(&train->base);
    cb_train_print_break(&train->print);
    if (train->run.refused)
        return cb_train_refuse(train);
    train->base.json &= !tells; /* the event says it */
    int code = cb_session_failed(&train->base);
    if (train->run.saved == 0)
        return code;
    cb_say("cobre train: the policy as of iteration %" PRIu64 " is saved; go on with\n", train->run.saved);
    cb_train_say_command(train, true, train->out, false);
    return code;
}

/* What is said to signals is what happens. */
static void catch_signals(const struct train *train) {
    char first[160], first_of_all[160];
    if (train->run.options.resume)
        cb_stop_keeps(); /* what was finished before */
    snprintf(first, sizeof first,
             train->grace > 0 ? "asked to stop: finishing the iteration, for at most %g s, and saving; a second signal "
                                "saves at once what is finished"
                              : "asked to stop: saving what is finished",
             train->grace);
    snprintf(first_of_all, sizeof first_of_all,
             train->grace > 0 ? "asked to stop: finishing the first iteration, for at most %g s; there is nothing to "
                                "save before, and a second signal ends it"
                              : "asked to stop: nothing is finished that could be saved",
             train->grace);
    cb_stop_catch(&train->base,
                  &(struct cb_stop){.grace = train->grace,
                                    .deadly = 3,
                                    .folder = train->base.folder.path,
                                    .note = {first, "saving what is finished; a third signal ends it at once",
                                             first_of_all, "nothing is finished that could be saved"}});
}

/* The policy is saved, but it is not what was asked for. Rank 0 alone fails: others that fail before it would hurry it. */
static void check_converged(struct train *train, const cobre_sddp_training *result) {
    if (!train->converged || train->code || cb_rules_converged(&train->run.options, result->stop) ||
        !cb_session_speaks(&train->base))
        return;
    train->code = CB_EXIT_NOT_CONVERGED;
    cb_say("cobre train: it has not converged: %s; the policy is saved\n", cobre_sddp_stop_name(result->stop));
}

static int train_case(struct train *train) {
    cobre_sddp_policy *policy;
    cobre_sddp_training result;
    struct session *base = &train->base;
    struct cb_train_run *run = &train->run;
    catch_signals(train);
    run->problem = base->problem;
    run->case_path = base->case_path;
    run->warnings = base->warnings;
    run->held = true;
    run->arg = train;
    run->stop = on_stop;
    run->start = on_start;
    run->progress = on_progress;
    run->event = base->json ? on_event : NULL;
    run->say = on_say;
    run->steered = on_steered;
    run->lost = on_lost;
    cb_progress_begin(&train->print.progress, &run->options);
    if (cb_train_run(run, &policy, &result) != COBRE_OK)
        return failed(train);
    if (cb_session_speaks(base))
        cb_train_print_end(train, &result, policy);
    cobre_sddp_policy_free(&policy);
    check_converged(train, &result);
    return train->code;
}

/* Rank 0 writes it. Collective. */
static int open_log(struct train *train) {
    int code = CB_GO_ON;
    if (train->log && cb_session_speaks(&train->base) && !cb_log_open(train->log)) {
        cb_fail(COBRE_FILE_FAILED, "give a file that can be written", "--log %s: %s", train->log, strerror(errno));
        code = cb_session_failed(&train->base);
    }
    return cb_session_agree(&train->base, code);
}

int cb_command_train(int argc, char **argv) {
    struct train train;
    int code = cb_train_read_line(argc, argv, &train);
    if (code == CB_GO_ON && train.watch && !train.base.self.started)
        code = cb_train_watch(&train);
    if (code == CB_GO_ON)
        code = cb_session_open(&train.base, argc, argv);
    if (code != CB_GO_ON)
        return code;
    code = cb_session_folder(&train.base, train.folder, true);
    if (code == CB_GO_ON)
        code = open_log(&train);
    train.base.warnings = json_array();
    if (code == CB_GO_ON)
        code = cb_session_load(&train.base);
    if (code == CB_GO_ON)
        code = train_case(&train);
    json_decref(train.base.warnings);
    cb_session_close(&train.base);
    cb_log_close();
    return code;
}
