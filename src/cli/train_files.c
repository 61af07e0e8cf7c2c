/* train_files.c: what training leaves in its folder besides the policy: training.csv, an iteration a row, written as it
 * goes; times.csv, seconds by rank and phase; summary.csv, a key and a value a row. */
#include "train.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static FILE *trace;
static char trace_path[PATH_MAX];

static bool file_failed(const char *path) {
    fprintf(stderr, "cobre train: %s: %s\n", path, strerror(errno));
    return false;
}

static FILE *open_file(const struct train *train, const char *name, char path[PATH_MAX]) {
    if (!cb_join_path("train", path, train->folder, name))
        return NULL;
    FILE *file = fopen(path, "w");
    if (!file)
        file_failed(path);
    return file;
}

static bool close_file(FILE *file, const char *path) {
    bool good = !ferror(file);
    good = fclose(file) == 0 && good;
    return good || file_failed(path);
}

/* The rows before `first`, of a run that this one goes on from. */
static char *earlier_rows(const char *path, uint64_t first, size_t *length) {
    *length = 0;
    FILE *old = fopen(path, "r");
    if (!old)
        return NULL;
    char *kept = NULL, line[1024];
    size_t room = 0;
    bool header = true;
    while (fgets(line, sizeof line, old)) {
        size_t count = strlen(line);
        bool wanted = !header && line[count - 1] == '\n' && strtoull(line, NULL, 10) < first;
        header = false;
        if (!wanted)
            continue;
        if (*length + count > room) {
            room = 2 * room + count;
            char *more = realloc(kept, room);
            if (!more)
                break;
            kept = more;
        }
        memcpy(kept + *length, line, count);
        *length += count;
    }
    fclose(old);
    return kept;
}

static bool open_trace(const struct train *train, uint64_t first) {
    if (!cb_join_path("train", trace_path, train->folder, "training.csv"))
        return false;
    size_t length = 0;
    char *rows = first > 1 ? earlier_rows(trace_path, first, &length) : NULL;
    trace = open_file(train, "training.csv", trace_path);
    if (trace) {
        fputs("iteration,bound,mean,deviation,window_mean,window_half,window_passes,cuts,solves,seconds\n", trace);
        if (rows)
            fwrite(rows, 1, length, trace);
    }
    free(rows);
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

bool cb_trace_end(void) {
    return !trace || close_file(trace, trace_path);
}

enum { PHASES = 6 };

static bool write_times(const struct train *train, const double *seconds, size_t ranks) {
    static const char *const phases[PHASES] = {"forward", "backward", "bound", "communication", "simulation", "other"};
    char path[PATH_MAX];
    FILE *file = open_file(train, "times.csv", path);
    if (!file)
        return false;
    fputs("rank,phase,seconds\n", file);
    for (size_t i = 0; i < ranks * PHASES; i++)
        fprintf(file, "%zu,%s,%.6f\n", i / PHASES, phases[i % PHASES], seconds[i]);
    return close_file(file, path);
}

bool cb_write_times(const struct train *train, const cobre_sddp_times *times) {
    cobre_comm *comm = train->base.comm;
    size_t ranks = cobre_size(comm);
    double known = times->forward + times->backward + times->bound + times->communication + times->simulation;
    double mine[PHASES] = {times->forward,       times->backward,   times->bound,
                           times->communication, times->simulation, times->total > known ? times->total - known : 0};
    double *all = calloc(ranks * PHASES, sizeof *all);
    size_t *counts = calloc(2 * ranks, sizeof *counts);
    bool good = all && counts;
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
    if (base->has_value_bound)
        real_row(file, "value_bound", base->value_bound);
}

bool cb_write_summary(const struct train *train, const cobre_sddp_result *result, const cobre_sddp_policy *policy) {
    char path[PATH_MAX], date[32];
    FILE *file = open_file(train, "summary.csv", path);
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
    return close_file(file, path);
}
