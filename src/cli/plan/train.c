/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: `cobre train`. */
#include "cli/plan/train.h"

static void on_start(void *arg) {
    struct train *train = arg;
    if (cb_session_speaks(&train->base))
        cb_train_print_start(train);
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    struct train *train = arg;
    if (!cb_session_speaks(&train->base))
        return;
    cb_train_print_row(&train->print, progress);
    if (cb_training_row(&train->files, progress) != COBRE_OK)
        train->code = cb_session_failed(&train->base);
}

/* Each file is tried, also after another one failed. */
static void keep(struct train *train, const cobre_sddp_training *result, const cobre_sddp_policy *policy) {
    if (cb_training_times(&train->files, result) != COBRE_OK)
        train->code = cb_session_failed(&train->base);
    if (!cb_session_speaks(&train->base))
        return;
    if (cb_training_end(&train->files, result->iterations) != COBRE_OK)
        train->code = cb_session_failed(&train->base);
    if (cb_training_summary(&train->files, result, policy) != COBRE_OK)
        train->code = cb_session_failed(&train->base);
}

static int train_case(struct train *train) {
    cobre_sddp_policy *policy = NULL;
    cobre_sddp_training result = {.struct_size = sizeof result};
    struct session *base = &train->base;
    train->files = (struct cb_training){.folder = train->folder,
                                        .case_path = base->case_path,
                                        .comm = base->comm,
                                        .problem = base->problem,
                                        .options = &train->options};
    cb_stop_catch(base, "the iteration is finished and saved");
    train->options.stop = cb_stop_asked;
    train->options.start = on_start;
    train->options.progress = on_progress;
    train->options.arg = train;
    if (cobre_sddp_train(base->problem, &train->options, &policy, &result) != COBRE_OK)
        return cb_session_failed(base);
    keep(train, &result, policy);
    if (cb_session_speaks(base))
        cb_train_print_end(train, &result, policy);
    cobre_sddp_policy_free(&policy);
    return train->code;
}

int cb_command_train(int argc, char **argv) {
    struct train train;
    int code = cb_train_read_line(argc, argv, &train);
    if (code == CB_GO_ON)
        code = cb_session_open(&train.base, argc, argv);
    if (code != CB_GO_ON)
        return code;
    code = cb_session_load(&train.base);
    if (code == CB_GO_ON)
        code = cb_session_folder(&train.base, train.folder, true);
    if (code == CB_GO_ON)
        code = train_case(&train);
    cb_session_close(&train.base);
    return code;
}
