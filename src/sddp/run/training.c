/* SPDX-License-Identifier: Apache-2.0 */
/* training.c: training.csv, times.csv and summary.csv of a run folder. */
#include "sddp/run/training.h"

#include "sddp/draft.h"
#include "sddp/error.h"
#include "sddp/run/files.h"
#include "sddp/run/folder.h"
#include "sddp/run/numbers.h"
#include "sddp/run/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char header[] = CB_COLUMNS_TRAINING "\n";

/* Copies the rows before iteration `first` of the run that this one goes on from: from the training.csv beside its
 * policy, which may be this very one. Nothing is lost when that is interrupted: the rows are cut off in place. */
static bool copy_rows(FILE *trace, FILE *old, uint64_t first) {
    bool in_place = trace == old;
    char line[1024];
    long end = 0;
    while (fgets(line, sizeof line, old)) {
        bool good = end == 0 ? strcmp(line, header) == 0 : strchr(line, '\n') && strtoull(line, NULL, 10) < first;
        if (!good)
            break;
        if (!in_place && end > 0)
            fputs(line, trace);
        end = ftell(old);
    }
    if (in_place && (ftruncate(fileno(old), end) != 0 || fseek(old, 0, SEEK_END) != 0))
        return false;
    if (in_place && end == 0)
        fputs(header, trace);
    return true;
}

static bool is_same_file(FILE *file, const char *path) {
    struct stat open, named;
    return fstat(fileno(file), &open) == 0 && stat(path, &named) == 0 && named.st_ino == open.st_ino &&
           named.st_dev == open.st_dev && open.st_size > 0;
}

static FILE *open_older(const struct cb_training *training, uint64_t first) {
    char folder[PATH_MAX], path[PATH_MAX];
    const char *resume = training->options->resume;
    if (first <= 1 || !resume)
        return NULL;
    cb_folder_of(resume, folder);
    return cb_folder_join(folder, CB_FILE_TRAINING, path) ? NULL : fopen(path, "r"); /* it may be one to read only */
}

static cobre_status open_trace(struct cb_training *training) {
    CB_TRY(cb_folder_join(training->folder, CB_FILE_TRAINING, training->trace_path));
    FILE *old = open_older(training, training->first);
    bool in_place = old && is_same_file(old, training->trace_path);
    training->trace = fopen(training->trace_path, in_place ? "r+" : "w");
    bool good = training->trace != NULL;
    if (good && !in_place)
        fputs(header, training->trace);
    if (good && old)
        good = copy_rows(training->trace, in_place ? training->trace : old, training->first);
    good = good && fflush(training->trace) == 0 && (training->end = ftell(training->trace)) >= 0;
    int cause = errno;
    if (old)
        fclose(old);
    if (!good && training->trace) {
        fclose(training->trace);
        training->trace = NULL;
    }
    errno = cause;
    return good ? COBRE_OK : cb_file_failed(training->trace_path);
}

/* As much as can be written: the next call goes on from there, also in the middle of a row. */
static cobre_status write_rows(struct cb_training *training) {
    if (!training->trace)
        CB_TRY(open_trace(training));
    while (training->length > 0) {
        ssize_t written = pwrite(fileno(training->trace), training->rows, training->length, training->end);
        if (written <= 0)
            return cb_file_failed(training->trace_path);
        training->end += written;
        training->length -= (size_t)written;
        memmove(training->rows, training->rows + written, training->length);
    }
    return COBRE_OK;
}

cobre_status cb_training_row(struct cb_training *training, const cobre_sddp_progress *now) {
    enum { ROW = 512 };
    char bound[32], mean[32], deviation[32], window_mean[32], half[32];
    if (training->first == 0)
        training->first = now->iteration;
    if (training->length + ROW > training->room) {
        size_t room = 2 * (training->room + ROW);
        char *more = realloc(training->rows, room);
        if (!more)
            return cb_no_memory(CB_FILE_TRAINING, room);
        training->rows = more;
        training->room = room;
    }
    training->length += (size_t)snprintf(
        training->rows + training->length, ROW, "%" PRIu64 ",%s,%s,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n",
        now->iteration, cb_exact_text(now->bound, bound), cb_exact_text(now->mean, mean),
        cb_exact_text(now->deviation, deviation), cb_exact_text(now->window_mean, window_mean),
        cb_exact_text(now->window_half, half), now->window_passes, now->cuts, now->solves, now->seconds);
    return write_rows(training);
}

/* Without a row of its own a run that had nothing left to do keeps those of the run before. */
cobre_status cb_training_end(struct cb_training *training, uint64_t iterations) {
    if (training->first == 0)
        training->first = iterations + 1;
    cobre_status status = write_rows(training);
    if (training->trace && fclose(training->trace) != 0 && !status)
        status = cb_file_failed(training->trace_path);
    free(training->rows);
    training->trace = NULL;
    training->rows = NULL;
    training->length = training->room = 0;
    return status;
}

static cobre_status open_file(const struct cb_training *training, const char *name, struct cb_draft *draft) {
    char path[PATH_MAX];
    CB_TRY(cb_folder_join(training->folder, name, path));
    return cb_draft_open(draft, path);
}

static cobre_status write_times(const struct cb_training *training, const double *seconds, size_t ranks) {
#define PHASE_NAME(code, name, title) name,
    static const char *const phases[CB_PHASES] = {CB_PHASE_MAP(PHASE_NAME)};
#undef PHASE_NAME
    struct cb_draft draft;
    CB_TRY(open_file(training, CB_FILE_TIMES, &draft));
    fputs(CB_COLUMNS_TIMES "\n", draft.file);
    for (size_t i = 0; i < ranks * CB_PHASES; i++)
        fprintf(draft.file, "%zu,%s,%.6f\n", i / CB_PHASES, phases[i % CB_PHASES], seconds[i]);
    return cb_draft_close(&draft, COBRE_OK);
}

cobre_status cb_training_times(const struct cb_training *training, const cobre_sddp_training *result) {
    cobre_comm *comm = training->comm;
    size_t ranks = cobre_size(comm);
    double mine[CB_PHASES] = {
        [CB_PHASE_FORWARD] = result->forward_seconds,       [CB_PHASE_BACKWARD] = result->backward_seconds,
        [CB_PHASE_BOUND] = result->bound_seconds,           [CB_PHASE_COMMUNICATION] = result->communication_seconds,
        [CB_PHASE_SIMULATION] = result->simulation_seconds, [CB_PHASE_OTHER] = 0};
    double known = 0;
    for (size_t i = 0; i < CB_PHASES; i++)
        known += mine[i];
    mine[CB_PHASE_OTHER] = result->seconds > known ? result->seconds - known : 0;
    double *all = calloc(ranks * CB_PHASES, sizeof *all);
    size_t *counts = calloc(2 * ranks, sizeof *counts);
    cobre_status status = cb_agree(comm, all && counts ? COBRE_OK : cb_no_memory("times", 0));
    for (size_t i = 0; !status && i < ranks; i++) {
        counts[i] = CB_PHASES;
        counts[ranks + i] = i * CB_PHASES;
    }
    if (!status)
        status = cobre_allgatherv_t(comm, mine, CB_PHASES, all, ranks * CB_PHASES, counts, counts + ranks);
    if (!status && cobre_rank(comm) == 0)
        status = write_times(training, all, ranks);
    free(all);
    free(counts);
    return status;
}

static void text_row(FILE *file, const char *key, const char *value) {
    fprintf(file, "%s,", key);
    cb_field_write(file, value);
    putc('\n', file);
}

static void count_row(FILE *file, const char *key, uint64_t value) {
    fprintf(file, "%s,%" PRIu64 "\n", key, value);
}

static void real_row(FILE *file, const char *key, double value) {
    char text[32];
    fprintf(file, "%s,%s\n", key, cb_exact_text(value, text));
}

static void write_case_rows(FILE *file, const struct cb_training *training) {
    const cobre_sddp_problem *problem = training->problem;
    const cobre_sddp_train_options *options = training->options;
    size_t passes = options->forward_passes;
    char absolute[PATH_MAX];
    text_row(file, "name", cobre_sddp_problem_name(problem));
    text_row(file, "case", realpath(training->case_path, absolute) ? absolute : training->case_path);
    text_row(file, "sense", cobre_sddp_problem_maximises(problem) ? "max" : "min");
    count_row(file, "nodes", cobre_sddp_problem_nodes(problem));
    count_row(file, "states", cobre_sddp_problem_states(problem));
    count_row(file, "ranks", cobre_size(training->comm));
    text_row(file, "backend", cobre_backend_name(cobre_comm_backend(training->comm)));
    count_row(file, "forward_passes", passes ? passes : 1);
    if (options->has_value_bound)
        real_row(file, "value_bound", options->value_bound);
}

cobre_status cb_training_summary(const struct cb_training *training, const cobre_sddp_training *result,
                                 const cobre_sddp_policy *policy) {
    char date[32];
    struct cb_draft draft;
    CB_TRY(open_file(training, CB_FILE_SUMMARY, &draft));
    FILE *file = draft.file;
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    fputs(CB_COLUMNS_FACTS "\n", file);
    text_row(file, "version", cobre_version());
    text_row(file, "date", date);
    write_case_rows(file, training);
    text_row(file, "solver", cobre_sddp_policy_solver(policy));
    count_row(file, "seed", cobre_sddp_policy_seed(policy));
    text_row(file, "stop", cobre_sddp_stop_name(result->stop));
    count_row(file, "iterations", result->iterations);
    real_row(file, "bound", cobre_sddp_policy_bound(policy));
    text_row(file, "proven", cobre_sddp_policy_proven(policy) ? "yes" : "no");
    text_row(file, "averse", cobre_sddp_policy_averse(policy) ? "yes" : "no");
    real_row(file, "window_mean", result->window_mean);
    /* With a risk measure the mean bounds nothing: without an interval readers show no gap. */
    real_row(file, "window_half", cobre_sddp_policy_averse(policy) ? NAN : result->window_half);
    count_row(file, "cuts", cobre_sddp_policy_cuts(policy));
    count_row(file, "solves", result->solves);
    count_row(file, "lps_without_cut", result->unproven);
    real_row(file, "seconds", result->seconds);
    return cb_draft_close(&draft, COBRE_OK);
}
