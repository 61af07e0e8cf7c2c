/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: `cobre train`. */
#include "cli/plan/train.h"

#include "sddp/error.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

/* Says that a file cannot be written, and later that it can: training goes on. */
static void note_trouble(struct train *train, bool *trouble, cobre_status status, const char *path,
                         const char *promise) {
    bool was = *trouble;
    *trouble = status != COBRE_OK;
    if (was == *trouble)
        return;
    char message[PATH_MAX + sizeof((cobre_error *)0)->message];
    if (status)
        snprintf(message, sizeof message, "%s: training goes on, and %s", cobre_last_error()->message, promise);
    else
        snprintf(message, sizeof message, "%s: written again", path);
    cb_say("cobre train: %s\n", message);
    cb_training_warning(&train->files, message, "");
}

static void note_files(struct train *train, cobre_status status) {
    note_trouble(train, &train->no_trace, status, train->folder, "rows are kept until they can be written");
}

static void tell_start(struct train *train, uint64_t iterations) {
    cobre_status status = cb_training_started(&train->files, iterations);
    const json_t *warnings = train->base.warnings, *warning;
    size_t i;
    note_files(train, status);
    json_array_foreach(warnings, i, warning) {
        cb_training_warning(&train->files, json_string_value(json_array_get(warning, 0)),
                            json_string_value(json_array_get(warning, 1)));
    }
}

static void on_start(void *arg, uint64_t iterations) {
    struct train *train = arg;
    train->started = true;
    train->iterations = iterations;
    if (!cb_session_speaks(&train->base))
        return;
    if (cb_record_begin(&train->files, train->in_place) != COBRE_OK)
        cb_say("cobre train: %s\n", cobre_last_error()->message);
    cb_train_print_start(train);
    tell_start(train, iterations);
    cb_train_steer_open(train);
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    struct train *train = arg;
    cb_stop_keeps();
    if (!cb_session_speaks(&train->base))
        return;
    train->iterations = progress->iteration;
    cb_train_print_row(&train->print, progress);
    note_files(train, cb_training_iteration(&train->files, progress, cb_train_gap(&train->print, progress)));
    cb_train_steer_tell(train);
}

static void on_steer(void *arg, cobre_sddp_steering *steering) {
    cb_train_steer_wish(arg, steering);
}

static void on_saved(void *arg, cobre_status status) {
    struct train *train = arg;
    note_trouble(train, &train->no_policy, status, train->policy, "tries again at the next checkpoint");
    if (!status)
        cb_training_checkpoint(&train->files, train->iterations);
}

/* Each file is tried, also after another one failed. */
static void keep(struct train *train, const cobre_sddp_training *result, const cobre_sddp_policy *policy) {
    uint64_t iterations;
    char note[CB_TRAIN_NOTE];
    for (size_t i = 0; cb_session_speaks(&train->base) && cb_train_note(train, result, policy, i, note); i++)
        if (*note)
            note_files(train, cb_training_warning(&train->files, note, ""));
    if (cb_training_finished(&train->files, result, policy) != COBRE_OK)
        train->code = cb_session_failed(&train->base);
    if (cb_session_speaks(&train->base) && cb_record_end(&train->files, result, policy, NULL, &iterations) != COBRE_OK)
        train->code = cb_session_failed(&train->base);
}

/* It says why, and how to go on from what was saved. */
static int failed(struct train *train) {
    cobre_error error = *cobre_last_error();
    uint64_t iterations;
    bool tells = train->started && cb_session_speaks(&train->base);
    cb_train_print_break(&train->print);
    train->base.json &= !tells; /* the event says it */
    int code = cb_session_failed(&train->base);
    if (!tells)
        return code;
    if (cb_training_failed(&train->files, &error) != COBRE_OK)
        cb_session_failed(&train->base);
    if (cb_record_end(&train->files, NULL, NULL, &error, &iterations) != COBRE_OK)
        cb_session_failed(&train->base);
    if (iterations == 0)
        return code;
    cb_say("cobre train: the policy as of iteration %" PRIu64 " is saved; go on with\n", iterations);
    cb_train_say_command(train, true, train->out, false);
    return code;
}

/* As cobre_sddp_train_options.stop. It is asked often enough to draw the progress. */
static int asked(void *arg) {
    struct train *train = arg;
    cb_train_print_tick(&train->print);
    if (cb_session_speaks(&train->base))
        cb_train_steer_look(train);
    int wish = cb_stop_asked(NULL);
    return train->steer.stop && wish == 0 ? 1 : wish;
}

/* What is said to signals is what happens. */
static void catch_signals(const struct train *train) {
    char first[160], first_of_all[160];
    if (train->options.resume)
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

/* True: it was asked to end before it had anything to save. The same on all ranks. */
static bool is_empty(const cobre_sddp_training *result) {
    if (result->iterations > 0)
        return false;
    cb_fail(COBRE_FILE_FAILED, "let it run for longer, or give it a longer --grace",
            "asked to stop before the first iteration was finished: there is nothing to save");
    return true;
}

/* The policy is saved, but it is not what was asked for. Rank 0 alone fails: others that fail before it would hurry it. */
static void check_converged(struct train *train, const cobre_sddp_training *result) {
    if (!train->converged || train->code || cb_rules_converged(&train->options, result->stop) ||
        !cb_session_speaks(&train->base))
        return;
    train->code = CB_EXIT_NOT_CONVERGED;
    cb_say("cobre train: it has not converged: %s; the policy is saved\n", cobre_sddp_stop_name(result->stop));
}

static int train_case(struct train *train) {
    cobre_sddp_policy *policy = NULL;
    cobre_sddp_training result = {.struct_size = sizeof result};
    struct session *base = &train->base;
    train->files = (struct cb_training){.folder = train->folder,
                                        .policy = train->policy,
                                        .case_path = base->case_path,
                                        .output = base->json ? stdout : NULL,
                                        .comm = base->comm,
                                        .problem = base->problem,
                                        .options = &train->options};
    catch_signals(train);
    train->options.stop = asked;
    train->options.start = on_start;
    train->options.progress = on_progress;
    train->options.saved = on_saved;
    train->options.steer = on_steer;
    train->options.arg = train;
    cb_progress_begin(&train->print.progress, &train->options);
    cobre_status status = cobre_sddp_train(base->problem, &train->options, &policy, &result);
    cb_train_steer_close(train);
    if (status)
        return failed(train);
    if (is_empty(&result)) {
        cobre_sddp_policy_free(&policy);
        return failed(train);
    }
    keep(train, &result, policy);
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
        code = cb_train_claim(&train);
    if (code == CB_GO_ON)
        code = train_case(&train);
    json_decref(train.base.warnings);
    cb_session_close(&train.base);
    cb_log_close();
    return code;
}
