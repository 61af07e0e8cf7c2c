/* train.c: `cobre train`. */
#include "cli/plan/train.h"
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool trace_lost;

static void on_start(void *arg) {
    const struct train *train = arg;
    if (cb_session_speaks(&train->base))
        cb_table_start(train);
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    const struct train *train = arg;
    if (!cb_session_speaks(&train->base))
        return;
    cb_table_row(progress);
    if (!trace_lost)
        trace_lost = !cb_trace_row(train, progress);
}

/* Two trainings that write the same files at once would mix them up. The lock ends with the process, however that ends,
 * but one that was killed may take a moment. */
static bool lock_folder(const char *folder) {
    enum { TRIES = 40, PAUSE_US = 50000 };
    static int fd; /* open until the end */
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK) /* a file system without locks */
            return true;
        if (i == TRIES)
            return false;
        usleep(PAUSE_US);
    }
    return true;
}

static bool make_folder(struct train *train) {
    if (!cb_session_speaks(&train->base))
        return true;
    if (!cb_session_folder(&train->base, train->folder) || access(train->folder, W_OK | X_OK) != 0) {
        fprintf(stderr, "cobre train: --out %s: %s\n", train->folder, strerror(errno));
        return false;
    }
    if (lock_folder(train->folder))
        return true;
    train->base.made = NULL; /* it is the other's */
    fprintf(stderr, "cobre train: --out %s: another training writes there; wait for its end, or give another folder\n",
            train->folder);
    return false;
}

static bool keep(const struct train *train, const cobre_sddp_result *result, const cobre_sddp_policy *policy) {
    bool good = cb_write_times(train, &result->times);
    if (!cb_session_speaks(&train->base))
        return good;
    good = !trace_lost && cb_trace_end(train, result->iterations) && good;
    cobre_sddp_result kept = *result;
    if (cobre_sddp_policy_averse(policy))
        kept.last.window_half = NAN; /* so that the report shows no gap */
    return cb_write_summary(train, &kept, policy) && good;
}

static int train_case(struct train *train) {
    cobre_sddp_policy *policy = NULL;
    cobre_sddp_result result = {.stop = COBRE_SDDP_STOP_NOT_YET};
    cb_stop_catch(&train->base, "the iteration is finished and saved");
    train->options.stop = cb_stop_asked;
    train->options.start = on_start;
    train->options.progress = on_progress;
    train->options.arg = train;
    if (cobre_sddp_train(train->base.comm, train->base.problem, &train->options, &policy, &result) != COBRE_SDDP_OK)
        return cb_session_failed(&train->base);
    bool good = keep(train, &result, policy);
    if (cb_session_speaks(&train->base))
        cb_table_end(train, &result, cobre_sddp_cuts(policy));
    cobre_sddp_policy_free(&policy);
    return good ? 0 : CB_EXIT_FAILED;
}

int cb_command_train(int argc, char **argv) {
    static struct train train;
    int code = cb_train_read_line(argc, argv, &train);
    if (code < 0)
        code = cb_session_open(&train.base, argc, argv);
    if (code >= 0)
        return code;
    code = cb_session_load(&train.base);
    if (code == 0 && !cb_session_agree(&train.base, make_folder(&train)))
        code = CB_EXIT_FAILED;
    if (code == 0)
        code = train_case(&train);
    cb_session_close(&train.base);
    return code;
}
