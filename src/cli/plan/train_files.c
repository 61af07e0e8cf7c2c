/* train_files.c: what training leaves in its folder besides the policy: training.csv, an iteration a row, written as it
 * goes; times.csv, seconds by rank and phase; summary.csv, a key and a value a row. */
#include "cli/plan/train.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static FILE *trace;
static char trace_path[PATH_MAX];

static bool file_failed(const char *path) {
    fprintf(stderr, "cobre train: %s: %s\n", path, strerror(errno));
    return false;
}

static FILE *open_file(const struct train *train, const char *name, struct draft *draft) {
    char path[PATH_MAX];
    if (!cb_join_path("train", path, train->folder, name))
        return NULL;
    if (!cb_draft_open(draft, path))
        file_failed(path);
    return draft->file;
}

static bool close_file(struct draft *draft) {
    return cb_draft_close(draft, true) || file_failed(draft->path);
}

static const char header[] =
    "iteration,bound,mean,deviation,window_mean,window_half,window_passes,cuts,solves,seconds\n";

/* Copies the rows before iteration `first` of the run that this one goes on from: from the training.csv beside its
 * policy, which may be this very one. Nothing is lost when that is interrupted: the rows are cut off in place. */
static void copy_rows(FILE *old, uint64_t first, bool in_place) {
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
        file_failed(trace_path);
    if (in_place && end == 0)
        fputs(header, trace);
}

static bool open_trace(const struct train *train, uint64_t first) {
    char folder[PATH_MAX], beside[PATH_MAX];
    struct stat ours, theirs;
    FILE *old = NULL;
    if (!cb_join_path("train", trace_path, train->folder, "training.csv"))
        return false;
    if (first > 1 && train->options.resume) {
        cb_folder_of(train->options.resume, folder);
        if (cb_join_path("train", beside, folder, "training.csv"))
            old = fopen(beside, "r"); /* that folder may be one to read only */
    }
    bool in_place = old && fstat(fileno(old), &theirs) == 0 && stat(trace_path, &ours) == 0 &&
                    ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev && theirs.st_size > 0;
    trace = fopen(trace_path, in_place ? "r+" : "w");
    if (!trace) {
        file_failed(trace_path);
    } else {
        if (!in_place)
            fputs(header, trace);
        if (old)
            copy_rows(in_place ? trace : old, first, in_place);
    }
    if (old)
        fclose(old);
    return trace != NULL;
}

bool cb_trace_row(const struct train *train, const cobre_sddp_progress *now) {
    char bound[32], mean[32], deviation[32], window_mean[32], half[32];
    if (!trace && !open_trace(train, now->iteration))
        return false;
    fprintf(trace, "%" PRIu64 ",%s,%s,%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n", now->iteration,
            cb_exact_text(now->bound, bound), cb_exact_text(now->mean, mean), cb_exact_text(now->deviation, deviation),
            cb_exact_text(now->window_mean, window_mean), cb_exact_text(now->window_half, half), now->window_passes,
            now->cuts, now->solves, now->seconds);
    return fflush(trace) == 0 || file_failed(trace_path);
}

/* Without a row of its own a run that had nothing left to do keeps those of the run before. */
bool cb_trace_end(const struct train *train, uint64_t iterations) {
    if (!trace && !open_trace(train, iterations + 1))
        return false;
    bool good = !ferror(trace);
    return (fclose(trace) == 0 && good) || file_failed(trace_path);
}

enum { PHASES = 6 };

static bool write_times(const struct train *train, const double *seconds, size_t ranks) {
    static const char *const phases[PHASES] = {"forward", "backward", "bound", "communication", "simulation", "other"};
    struct draft draft;
    FILE *file = open_file(train, "times.csv", &draft);
    if (!file)
        return false;
    fputs("rank,phase,seconds\n", file);
    for (size_t i = 0; i < ranks * PHASES; i++)
        fprintf(file, "%zu,%s,%.6f\n", i / PHASES, phases[i % PHASES], seconds[i]);
    return close_file(&draft);
}

bool cb_write_times(const struct train *train, const cobre_sddp_times *times) {
    cobre_comm *comm = train->base.comm;
    size_t ranks = cobre_size(comm);
    double known = times->forward + times->backward + times->bound + times->communication + times->simulation;
    double mine[PHASES] = {times->forward,       times->backward,   times->bound,
                           times->communication, times->simulation, times->total > known ? times->total - known : 0};
    double *all = calloc(ranks * PHASES, sizeof *all);
    size_t *counts = calloc(2 * ranks, sizeof *counts);
    bool good = cb_session_agree(&train->base, all && counts);
    for (size_t i = 0; good && i < ranks; i++) {
        counts[i] = PHASES;
        counts[ranks + i] = i * PHASES;
    }
    good = good && cobre_allgatherv_t(comm, mine, PHASES, all, ranks * PHASES, counts, counts + ranks) == COBRE_OK;
    if (!good)
        fprintf(stderr, "cobre train: the times of the ranks could not be gathered\n");
    else if (cb_session_speaks(&train->base))
        good = write_times(train, all, ranks);
    free(all);
    free(counts);
    return good;
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

static void write_case_rows(FILE *file, const struct train *train) {
    const struct session *base = &train->base;
    char absolute[PATH_MAX];
    text_row(file, "name", cobre_sddp_problem_name(base->problem));
    text_row(file, "case", realpath(base->case_path, absolute) ? absolute : base->case_path);
    text_row(file, "sense", cobre_sddp_maximises(base->problem) ? "max" : "min");
    count_row(file, "nodes", cobre_sddp_nodes(base->problem));
    count_row(file, "states", cobre_sddp_states(base->problem));
    count_row(file, "ranks", cobre_size(base->comm));
    text_row(file, "backend", cobre_backend_name(cobre_comm_backend(base->comm)));
    count_row(file, "forward_passes", train->options.forward_passes ? train->options.forward_passes : 1);
    if (base->load.has_value_bound)
        real_row(file, "value_bound", base->load.value_bound);
}

bool cb_write_summary(const struct train *train, const cobre_sddp_result *result, const cobre_sddp_policy *policy) {
    char date[32];
    struct draft draft;
    FILE *file = open_file(train, "summary.csv", &draft);
    if (!file)
        return false;
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    fputs("key,value\n", file);
    text_row(file, "version", cobre_version());
    text_row(file, "date", date);
    write_case_rows(file, train);
    text_row(file, "solver", cobre_sddp_policy_solver(policy));
    count_row(file, "seed", cobre_sddp_policy_seed(policy));
    text_row(file, "stop", cobre_sddp_stop_name(result->stop));
    count_row(file, "iterations", result->iterations);
    real_row(file, "bound", result->last.bound);
    real_row(file, "window_mean", result->last.window_mean);
    real_row(file, "window_half", result->last.window_half);
    count_row(file, "cuts", cobre_sddp_cuts(policy));
    count_row(file, "solves", result->last.solves);
    real_row(file, "seconds", result->times.total);
    return close_file(&draft);
}
