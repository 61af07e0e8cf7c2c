/* SPDX-License-Identifier: Apache-2.0 */
/* compared_runs.c: the runs of a comparison: their files, their names, and what of them cannot be compared as it seems. */
#include "sddp/run/compare.h"

#include "sddp/error.h"
#include "sddp/grow.h"
#include "sddp/policy/policy.h"
#include "sddp/run/files.h"
#include "sddp/run/folder.h"
#include "sddp/run/gap.h"
#include "sddp/run/record.h"
#include "sddp/run/sampling.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cb_compare_text(cobre_sddp_comparison *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = cb_arena_text(&c->memory, format, arguments);
    va_end(arguments);
    return text ? text : "";
}

void cb_compare_note(cobre_sddp_comparison *c, const char *text) {
    if (CB_GROW(c, c->note, c->notes, c->notes_room))
        c->note[c->notes++] = text;
}

/* The policy says more than summary.csv does, and is there also when a training was killed. */
static cobre_status read_policy(struct cb_run *run, const char *path) {
    cobre_sddp_policy *policy;
    CB_TRY(cobre_sddp_policy_read(path, &policy));
    run->has_policy = true;
    run->averse = cobre_sddp_policy_averse(policy);
    run->maximises = cobre_sddp_policy_maximises(policy);
    run->unproven = !cobre_sddp_policy_proven(policy);
    if (policy->kind.has_risk)
        run->risk = policy->kind.risk;
    run->bound = cobre_sddp_policy_bound(policy);
    run->iterations = (double)cobre_sddp_policy_iterations(policy);
    run->cuts = (double)cobre_sddp_policy_cuts(policy);
    cobre_sddp_policy_free(&policy);
    return COBRE_OK;
}

static void find_worst(cobre_sddp_comparison *c, struct cb_run *run) {
    const struct cb_results *results = &run->results;
    double *room = cb_arena_alloc(&c->memory, results->costs, sizeof *room);
    run->worst = cb_arena_alloc(&c->memory, results->costs, sizeof *run->worst);
    if (run->worst && room)
        run->worst_mean =
            cb_worst_mean(results->cost, results->costs, CB_WORST_SHARE, run->maximises, run->worst, room);
}

static cobre_status no_run(const char *path) {
    return cb_fail_at(COBRE_FILE_FAILED, path, 0,
                      "give folders that `cobre train` or `cobre simulate` wrote, such as NAME-out",
                      "%s is no folder of a run: it has neither " CB_FILE_POLICY " nor tables of results", path);
}

static cobre_status read_folder(cobre_sddp_comparison *c, struct cb_run *run) {
    char policy[PATH_MAX], sentence[CB_RECORD_SENTENCE];
    bool known;
    CB_TRY(cb_folder_join(run->path, CB_FILE_POLICY, policy));
    CB_TRY(cb_record_known(run->path, &known));
    CB_TRY(cb_record_check(run->path));
    CB_TRY(cb_results_read(&run->results, run->path));
    if (access(policy, F_OK) == 0)
        CB_TRY(read_policy(run, policy));
    const struct cb_facts *simulation = &run->results.simulation, *summary = &run->results.summary;
    if (!run->has_policy && simulation->count == 0 && summary->count == 0)
        return no_run(run->path);
    run->simulated = simulation->count > 0;
    run->maximises |= strcmp(cb_fact(simulation, "sense"), "max") == 0;
    run->sample = strcmp(cb_fact(simulation, "sampling"), "in-sample") == 0 ||
                  strcmp(cb_fact(simulation, "sampling"), "out-of-sample") == 0;
    run->unit = cb_fact(simulation, "unit");
    if (!run->has_policy)
        run->bound = cb_fact_number(run->simulated ? simulation : summary, "bound");
    find_worst(c, run);
    cb_record_unfinished(run->path, sentence);
    if (!known || *sentence)
        cb_compare_note(c, cb_compare_text(c, "%s: %s", run->path,
                                           known ? sentence
                                                 : "there is no " CB_FILE_RUN " of its training, so that it cannot be "
                                                   "checked whether its files belong together."));
    return COBRE_OK;
}

static cobre_status read_run(cobre_sddp_comparison *c, struct cb_run *run, const char *path) {
    struct stat status;
    *run = (struct cb_run){.path = cb_compare_text(c, "%s", path),
                           .words = "",
                           .unit = "",
                           .bound = NAN,
                           .iterations = NAN,
                           .cuts = NAN,
                           .worst_mean = NAN};
    if (stat(path, &status) != 0)
        return cb_fail_at(COBRE_FILE_FAILED, path, 0, "give the folders of two runs or more", "%s: %s", path,
                          strerror(errno));
    return S_ISDIR(status.st_mode) ? read_folder(c, run) : read_policy(run, path);
}

/* The last `parts` names of a path: those of folders; policy.cobre says nothing. */
static const char *tail_of(cobre_sddp_comparison *c, const char *path, size_t parts) {
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s", path);
    if (!realpath(path, full))
        snprintf(full, sizeof full, "%s", path);
    char *last = strrchr(full, '/');
    if (last > full && strcmp(last + 1, CB_FILE_POLICY) == 0)
        *last = '\0';
    char *at = full + strlen(full);
    while (at > full && parts > 0)
        parts -= *--at == '/';
    return cb_compare_text(c, "%s", *at == '/' && at[1] ? at + 1 : at);
}

static bool is_unique(const cobre_sddp_comparison *c, size_t run) {
    bool unique = true;
    for (size_t i = 0; i < c->runs; i++)
        unique &= i == run || strcmp(c->run[i].name, c->run[run].name) != 0;
    return unique;
}

/* By their folders; if these are called the same, with the folder above; if it is one run twice, with a number. */
static void name_runs(cobre_sddp_comparison *c) {
    bool unique[CB_COMPARE_MOST] = {false};
    for (size_t parts = 1; parts <= 2; parts++) {
        for (size_t i = 0; i < c->runs; i++)
            if (!unique[i])
                c->run[i].name = tail_of(c, c->run[i].path, parts);
        for (size_t i = 0; i < c->runs; i++)
            unique[i] = is_unique(c, i);
    }
    for (size_t i = 0; i < c->runs; i++)
        if (!unique[i])
            c->run[i].name = cb_compare_text(c, "%s (%zu)", tail_of(c, c->run[i].path, 1), i + 1);
}

cobre_status cb_compare_read(cobre_sddp_comparison *c, const char *const *paths) {
    for (size_t i = 0; i < c->runs; i++)
        CB_TRY(read_run(c, &c->run[i], paths[i]));
    name_runs(c);
    return COBRE_OK;
}

static const char *command(cobre_sddp_comparison *c, const struct cb_run *run) {
    struct stat status;
    const char *name = cb_fact(&run->results.summary, "case");
    bool folder = stat(run->path, &status) == 0 && S_ISDIR(status.st_mode);
    return cb_compare_text(c, "`cobre simulate %s --policy %s%s`", *name ? name : "CASE", run->path,
                           folder ? "/" CB_FILE_POLICY : "");
}

static void note_missing(cobre_sddp_comparison *c, const struct cb_run *run) {
    if (!run->simulated)
        cb_compare_note(c, cb_compare_text(c,
                                           "%s has not been simulated, so that costs, deficits and storages cannot be "
                                           "compared: %s makes what is needed.",
                                           run->name, command(c, run)));
    else if (run->results.count == 0)
        cb_compare_note(c, cb_compare_text(c, "%s has no " CB_FILE_STATISTICS ": simulate it again: %s.", run->name,
                                           command(c, run)));
}

static void note_simulation(cobre_sddp_comparison *c, const struct cb_run *run) {
    const struct cb_facts *simulation = &run->results.simulation;
    const char *other = cb_fact(simulation, "difference");
    double count = cb_fact_number(simulation, "trajectories");
    if (!run->sample)
        cb_compare_note(c, cb_compare_text(c,
                                           "The scenarios of %s were given and are no sample: its differences have no "
                                           "sampling error.",
                                           run->name));
    else if (count < CB_GAP_ENOUGH)
        cb_compare_note(c, cb_compare_text(c,
                                           "%s has %.0f trajectories: with fewer than %d the errors are guesses "
                                           "themselves. --trajectories of `cobre simulate` makes more.",
                                           run->name, count, CB_GAP_ENOUGH));
    if (*other)
        cb_compare_note(
            c, cb_compare_text(c, "%s is of a policy that was trained for another case: %s.", run->name, other));
}

static void note_pair(cobre_sddp_comparison *c, const struct cb_run *first, const struct cb_run *run) {
    const char *one = cb_fact(&first->results.simulation, "sampling"),
               *two = cb_fact(&run->results.simulation, "sampling");
    if (*one && *two && strcmp(one, two) != 0)
        cb_compare_note(
            c, cb_compare_text(c, "The noise of %s is %s and that of %s is %s: part of the differences is due to that.",
                               first->name, one, run->name, two));
}

void cb_compare_notes(cobre_sddp_comparison *c) {
    for (size_t i = 0; i < c->runs; i++) {
        note_missing(c, &c->run[i]);
        if (c->run[i].simulated)
            note_simulation(c, &c->run[i]);
        if (c->run[i].unproven)
            cb_compare_note(
                c, cb_compare_text(c, "The bound of %s is unproven: it has cuts of another case.", c->run[i].name));
        if (i > 0)
            note_pair(c, &c->run[0], &c->run[i]);
    }
}
