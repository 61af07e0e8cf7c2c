/* SPDX-License-Identifier: Apache-2.0 */
/* train_run.c: see train_run.h. Only rank 0 writes files. */
#include "sddp/run/train_run.h"

#include "sddp/error.h"
#include "sddp/problem/problem.h"
#include "sddp/run/files.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static bool is_first(const struct cb_train_run *run) {
    return cobre_rank(run->problem->comm) == 0;
}

static void say(struct cb_train_run *run, const char *message) {
    if (run->say)
        run->say(run->arg, message);
}

/* Says that a file cannot be written, and later that it can: training goes on. */
static void note_trouble(struct cb_train_run *run, bool *trouble, cobre_status status, const char *path,
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
    say(run, message);
    cb_training_warning(&run->files, message, "");
}

static void note_files(struct cb_train_run *run, cobre_status status) {
    note_trouble(run, &run->no_trace, status, run->folder, "rows are kept until they can be written");
}

static void tell_start(struct cb_train_run *run) {
    const json_t *warning;
    size_t i;
    note_files(run, cb_training_started(&run->files, run->iterations));
    json_array_foreach(run->warnings, i, warning) {
        cb_training_warning(&run->files, json_string_value(json_array_get(warning, 0)),
                            json_string_value(json_array_get(warning, 1)));
    }
}

static void on_start(void *arg, uint64_t iterations) {
    struct cb_train_run *run = arg;
    run->started = true;
    run->before = run->iterations = iterations;
    if (is_first(run) && run->folder && cb_record_begin(&run->files, run->in_place) != COBRE_OK)
        say(run, cobre_last_error()->message);
    if (run->start)
        run->start(run->arg, iterations);
    if (!is_first(run))
        return;
    tell_start(run);
    if (run->folder)
        cb_train_steer_open(run);
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    struct cb_train_run *run = arg;
    run->iterations = progress->iteration;
    if (run->progress)
        run->progress(run->arg, progress);
    if (!is_first(run))
        return;
    note_files(run, cb_training_iteration(&run->files, progress));
    cb_train_steer_tell(run);
}

static void on_steer(void *arg, cobre_sddp_steering *steering) {
    struct cb_train_run *run = arg;
    if (run->folder)
        cb_train_steer_wish(run, steering);
}

static void on_saved(void *arg, cobre_status status) {
    struct cb_train_run *run = arg;
    const char *path = run->folder ? run->policy : run->options.checkpoint;
    note_trouble(run, &run->no_policy, status, path, "tries again at the next checkpoint");
    if (!status)
        cb_training_checkpoint(&run->files, run->iterations);
}

/* As cobre_sddp_train_options.stop. */
static int asked(void *arg) {
    struct cb_train_run *run = arg;
    int wish = run->stop ? run->stop(run->arg) : 0;
    if (is_first(run) && run->folder)
        cb_train_steer_look(run);
    return run->steer.stop && wish == 0 ? 1 : wish;
}

static bool is_same_file(const char *one, const char *other) {
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

static cobre_status refuse(struct cb_train_run *run) {
    const struct cb_record *found = &run->found;
    const char *what = found->finished  ? "holds a finished run"
                       : !found->policy ? "holds a simulation"
                       : found->known   ? "holds the policy of a run that has not come to its end"
                                        : "holds a policy";
    bool goes_on = found->same && !run->options.resume;
    run->refused = true;
    return cb_fail_at(COBRE_FILE_FAILED, run->folder, 0,
                      goes_on ? "give another folder, go on with it or replace it"
                              : "give another folder or replace it",
                      "%s %s", run->folder, what);
}

/* A run that left no policy has nothing to lose. */
static cobre_status claim(struct cb_train_run *run) {
    struct cb_record *found = &run->found;
    const char *resume = run->options.resume;
    run->in_place = resume && is_same_file(resume, run->policy);
    if (run->force || run->in_place)
        return COBRE_OK;
    CB_TRY(cb_record_look(run->folder, run->problem, &run->options, found));
    return found->finished || found->policy || found->simulated ? refuse(run) : COBRE_OK;
}

static cobre_status prepare(struct cb_train_run *run) {
    if (!run->folder)
        return COBRE_OK;
    CB_TRY(cb_folder_join(run->folder, CB_FILE_POLICY, run->policy));
    if (!is_first(run))
        return COBRE_OK;
    if (!run->held) {
        CB_TRY(cb_folder_open(&run->own, run->folder));
        CB_TRY(cb_folder_lock(&run->own));
    }
    return claim(run);
}

static cobre_status call(struct cb_train_run *run, cobre_sddp_policy **policy, cobre_sddp_training *result) {
    cobre_sddp_train_options options = run->options;
    if (run->folder) {
        options.checkpoint = run->policy;
        options.lp_folder = run->folder;
    }
    options.arg = run;
    options.stop = asked;
    options.start = on_start;
    options.progress = on_progress;
    options.saved = on_saved;
    options.steer = on_steer;
    return cobre_sddp_train(run->problem, &options, policy, result);
}

static void lose(struct cb_train_run *run) {
    if (run->lost)
        run->lost(run->arg);
    else
        say(run, cobre_last_error()->message);
}

static void note_gap(const struct cb_train_run *run, const cobre_sddp_training *result, const cobre_sddp_policy *policy,
                     char note[CB_TRAIN_NOTE]) {
    bool maximises = cobre_sddp_problem_maximises(run->problem);
    const cobre_sddp_progress last = {.bound = cobre_sddp_policy_bound(policy),
                                      .window_mean = result->window_mean,
                                      .window_half = result->window_half,
                                      .window_passes = result->window_passes};
    const cb_gap odd = {.maximises = maximises,
                        .bound = last.bound,
                        .mean = last.window_mean,
                        .half = last.window_half,
                        .count = last.window_passes,
                        .unproven = !cobre_sddp_policy_proven(policy)};
    if (isfinite(cb_window_gap(maximises, cobre_sddp_policy_averse(policy), &last)))
        cb_gap_note(&odd, note);
}

const char *cb_train_note(const struct cb_train_run *run, const cobre_sddp_training *result,
                          const cobre_sddp_policy *policy, size_t index, char note[CB_TRAIN_NOTE]) {
    *note = '\0';
    if (index == 0 && result->unfinished)
        snprintf(note, CB_TRAIN_NOTE, "iteration %" PRIu64 " was under way and is left out", result->iterations + 1);
    if (index == 1)
        note_gap(run, result, policy, note);
    if (index == 2 && result->unproven > 0)
        snprintf(note, CB_TRAIN_NOTE,
                 "%" PRIu64 " LPs gave no cut: it would have needed a limit of a column that has none; "
                 "cobre-validate(1) explains it",
                 result->unproven);
    if (index == 3 && result->stop == COBRE_SDDP_STOP_ITERATIONS && result->iterations == run->before)
        snprintf(note, CB_TRAIN_NOTE,
                 "the policy had %" PRIu64 " iterations before: give more than that to go on (--iterations)",
                 result->iterations);
    return index < CB_TRAIN_NOTES ? note : NULL;
}

/* Each file is tried, also after another one failed. */
static void keep(struct cb_train_run *run, const cobre_sddp_training *result, const cobre_sddp_policy *policy) {
    uint64_t iterations;
    char note[CB_TRAIN_NOTE];
    for (size_t i = 0; is_first(run) && cb_train_note(run, result, policy, i, note); i++)
        if (*note)
            note_files(run, cb_training_warning(&run->files, note, ""));
    if (cb_training_finished(&run->files, result, policy) != COBRE_OK)
        lose(run);
    if (is_first(run) && run->folder && cb_record_end(&run->files, result, policy, NULL, &iterations) != COBRE_OK)
        lose(run);
}

/* Of a training without a folder that has failed. */
static uint64_t iterations_saved(const struct cb_train_run *run) {
    cobre_sddp_policy *policy = NULL;
    if (run->options.checkpoint && run->iterations > 0)
        cobre_sddp_policy_read(run->options.checkpoint, &policy);
    uint64_t iterations = cobre_sddp_policy_iterations(policy);
    cobre_sddp_policy_free(&policy);
    return iterations;
}

/* The error stays. */
static cobre_status fail(struct cb_train_run *run) {
    cobre_error error = *cobre_last_error();
    if (!run->started || !is_first(run))
        return error.status;
    if (cb_training_failed(&run->files, &error) != COBRE_OK)
        say(run, cobre_last_error()->message);
    if (!run->folder)
        run->saved = iterations_saved(run);
    else if (cb_record_end(&run->files, NULL, NULL, &error, &run->saved) != COBRE_OK)
        say(run, cobre_last_error()->message);
    return cobre_set_error(&error);
}

/* It was asked to end before it had anything to save. The same on all ranks. */
static cobre_status end_empty(cobre_sddp_policy **policy) {
    cobre_sddp_policy_free(policy);
    return cb_fail(COBRE_FILE_FAILED, "let it run for longer, or give it a longer --grace",
                   "asked to stop before the first iteration was finished: there is nothing to save");
}

static cobre_status train(struct cb_train_run *run, cobre_sddp_policy **policy, cobre_sddp_training *result) {
    run->files = (struct cb_training){.folder = run->folder,
                                      .policy = run->folder ? run->policy : NULL,
                                      .case_path = run->case_path,
                                      .comm = run->problem->comm,
                                      .problem = run->problem,
                                      .options = &run->options,
                                      .arg = run->arg,
                                      .event = run->event};
    run->steer = (struct cb_train_steer){.socket = CB_STEERING_CLOSED};
    cobre_status status = call(run, policy, result);
    if (run->started && is_first(run) && run->folder)
        cb_train_steer_close(run);
    if (!status && result->iterations == 0)
        status = end_empty(policy);
    if (status)
        return fail(run);
    keep(run, result, *policy);
    return COBRE_OK;
}

cobre_status cb_train_run(struct cb_train_run *run, cobre_sddp_policy **policy, cobre_sddp_training *result) {
    *policy = NULL;
    *result = (cobre_sddp_training){.struct_size = sizeof *result};
    cobre_status status = cb_agree(run->problem->comm, prepare(run));
    if (!status)
        status = train(run, policy, result);
    cb_folder_close(&run->own);
    return status;
}
