/* SPDX-License-Identifier: Apache-2.0 */
/* compared_runs.c: the runs of a comparison: reads their files, names them, and notes differences that make a
 * comparison misleading. */
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
#include <jansson.h>
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
    run->unit = run->simulated ? cb_fact(simulation, "unit") : cb_fact(summary, "cost_unit");
    if (!run->has_policy)
        run->bound = cb_fact_number(run->simulated ? simulation : summary, "bound");
    find_worst(c, run);
    run->origin = cb_record_origin(run->path);
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

static void note_missing(cobre_sddp_comparison *c, const struct cb_run *run) {
    if (!run->simulated)
        cb_compare_note(c, cb_compare_text(c,
                                           "%s has not been simulated, so that costs, deficits and storages cannot be "
                                           "compared: simulate its policy first.",
                                           run->name));
    else if (run->results.count == 0)
        cb_compare_note(c, cb_compare_text(c, "%s has no " CB_FILE_STATISTICS ": simulate it again.", run->name));
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
                                           "themselves. Simulate more of them.",
                                           run->name, count, CB_GAP_ENOUGH));
    if (*other)
        cb_compare_note(
            c, cb_compare_text(c, "%s is of a policy that was trained for another case: %s.", run->name, other));
}

/* What the simulation was told about this; NULL: nothing. */
static const json_t *option(const struct cb_run *run, const char *name) {
    return json_object_get(json_object_get(run->origin, "options"), name);
}

static bool is_same_option(const struct cb_run *a, const struct cb_run *b, const char *name) {
    const json_t *one = option(a, name), *other = option(b, name);
    return one == other || json_equal(one, other);
}

/* A beginning that was given, but is that of the case, has a bound, too. */
static const char *start_of(const struct cb_run *run) {
    const struct cb_facts *simulation = &run->results.simulation;
    const char *start = cb_fact(simulation, "start");
    return *start && isnan(cb_fact_number(simulation, "bound")) ? start : "where the case begins";
}

static void note_start(cobre_sddp_comparison *c, const struct cb_run *first, const struct cb_run *run) {
    const char *one = start_of(first), *other = start_of(run);
    bool given = strcmp(one, "where the case begins") != 0 || strcmp(other, "where the case begins") != 0;
    if (given && (strcmp(one, other) != 0 || !is_same_option(first, run, "state")))
        cb_compare_note(c, cb_compare_text(c,
                                           "%s was simulated from another beginning (%s) than %s (%s): the differences "
                                           "are not those of the policies alone.",
                                           run->name, other, first->name, one));
}

/* By what the trainings were of, or, of a simulation alone, by its name. */
static void note_case(cobre_sddp_comparison *c, const struct cb_run *first, const struct cb_run *run) {
    const json_t *one = json_object_get(first->origin, "case"), *other = json_object_get(run->origin, "case");
    const char *name = cb_fact(&first->results.simulation, "name"), *others = cb_fact(&run->results.simulation, "name");
    bool known = json_is_object(one) && json_is_object(other), named = *name && *others && strcmp(name, others) != 0;
    if (named)
        cb_compare_note(c, cb_compare_text(c, "The runs are of different cases: %s is of %s and %s of %s.", first->name,
                                           name, run->name, others));
    else if (known && !json_equal(one, other))
        cb_compare_note(c, cb_compare_text(c, "The runs are of different cases: the data of %s are not those of %s.",
                                           run->name, first->name));
}

static void note_sample(cobre_sddp_comparison *c, const struct cb_run *first, const struct cb_run *run) {
    const char *one = cb_fact(&first->results.simulation, "sampling"),
               *two = cb_fact(&run->results.simulation, "sampling");
    size_t count = first->results.costs, others = run->results.costs;
    if (strcmp(one, two) != 0)
        cb_compare_note(
            c, cb_compare_text(c, "The noise of %s is %s and that of %s is %s: part of the differences is due to that.",
                               first->name, one, run->name, two));
    else if (!is_same_option(first, run, "scenarios"))
        cb_compare_note(c, cb_compare_text(c,
                                           "The scenarios of %s and %s are different tables: part of the differences "
                                           "is due to that.",
                                           first->name, run->name));
    else if (count != others && count && others)
        cb_compare_note(c, cb_compare_text(c,
                                           "%s has %zu trajectories and %s has %zu: they are not compared in pairs, so "
                                           "that the errors are larger.",
                                           first->name, count, run->name, others));
}

static void note_pair(cobre_sddp_comparison *c, const struct cb_run *first, const struct cb_run *run) {
    note_case(c, first, run);
    if (!first->simulated || !run->simulated)
        return;
    note_start(c, first, run);
    note_sample(c, first, run);
    if (!is_same_option(first, run, "max_steps"))
        cb_compare_note(c, cb_compare_text(c, "The trajectories of %s and %s were cut at different lengths.",
                                           first->name, run->name));
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
