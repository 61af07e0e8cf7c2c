/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_run.c: see simulate_run.h. */
#include "sddp/run/simulate_run.h"

#include "sddp/error.h"
#include "sddp/policy/policy.h"
#include "sddp/run/option_tables.h"
#include "sddp/run/results.h"

#include <math.h>
#include <string.h>

static bool is_first(const struct cb_simulate_run *run) {
    return cobre_rank(run->policy->comm) == 0;
}

/* As on the command line. */
static const char *name_of(cobre_sddp_sampling sampling) {
    const struct cb_choice *choice = cb_option_find(cb_simulate_rows, "sampling")->value[0].choices;
    while (choice->word && choice->value != sampling)
        choice++;
    return choice->word ? choice->word : "";
}

cobre_status cb_simulate_run_check(struct cb_simulate_run *run) {
    struct cb_tables unused;
    cobre_sddp_simulate_options *options = &run->options;
    CB_TRY(cb_tables_choose(options, &unused));
    if (run->scenarios && run->has_sampling)
        return cb_refuse("sampling", NULL, "--scenarios and --sampling: give one of them");
    if (run->scenarios)
        options->sampling = COBRE_SDDP_GIVEN;
    run->sampling = run->scenarios ? "own scenarios" : name_of(options->sampling);
    if (options->sampling == COBRE_SDDP_GIVEN && options->trajectories)
        return cb_refuse("trajectories", NULL, "--trajectories: each scenario is simulated once");
    if (options->sampling == COBRE_SDDP_GIVEN && options->max_steps)
        return cb_refuse("max_steps", NULL, "--max-steps: a scenario is as long as it is given");
    if (!cb_begin_is_clear(&run->begin))
        return cb_refuse("stage", NULL, "--stage, --date and --node: give one of them");
    return COBRE_OK;
}

cobre_status cb_simulate_run_claim(struct cb_simulate_run *run) {
    return run->policy_path ? cb_record_policy(run->folder, run->policy_path, run->hash)
                            : cb_record_own_policy(run->folder, run->policy, run->hash);
}

static cobre_status open_folder(struct cb_simulate_run *run, struct cb_folder *folder) {
    if (!run->folder || !is_first(run))
        return COBRE_OK;
    if (!run->held)
        CB_TRY(cb_folder_open(folder, run->folder));
    return *run->hash ? COBRE_OK : cb_simulate_run_claim(run);
}

static cobre_status find_beginning(struct cb_simulate_run *run) {
    CB_TRY(cb_begin_find(run->policy->problem, &run->begin, &run->beginning));
    run->options.has_node = run->beginning.node != COBRE_SDDP_ROOT;
    run->options.node = run->beginning.node;
    run->options.state = run->beginning.state;
    return COBRE_OK;
}

/* A simulation of something else than this one would go unnoticed. */
static void note_replaced(const struct cb_simulate_run *run) {
    struct cb_results old;
    const char *difference = cobre_sddp_policy_difference(run->policy);
    cb_results_facts(&old, run->folder);
    const struct cb_facts *facts = &old.simulation;
    if (facts->count && (strcmp(cb_fact(facts, "sampling"), run->sampling) != 0 ||
                         strcmp(cb_fact(facts, "start"), run->beginning.text) != 0 ||
                         strcmp(cb_fact(facts, "difference"), difference ? difference : "") != 0)) {
        char text[2 * PATH_MAX];
        snprintf(text, sizeof text, "this replaces another simulation in %s: %s trajectories, %s; --out DIR keeps both",
                 run->folder, cb_fact(facts, "trajectories"), cb_fact(facts, "sampling"));
        run->note(run->arg, text);
    }
    cb_results_free(&old);
}

static void tell_notes(const struct cb_simulate_run *run) {
    const char *difference = cobre_sddp_policy_difference(run->policy);
    if (!run->note || !is_first(run))
        return;
    if (run->options.sampling == COBRE_SDDP_OUT_OF_SAMPLE && !cobre_sddp_problem_has_noise_model(run->policy->problem))
        run->note(run->arg, "this case has no model of its noise: out-of-sample is the same as in-sample");
    if (difference) {
        char text[2 * PATH_MAX];
        snprintf(text, sizeof text, "%s was trained for another case: %s",
                 run->policy_path ? run->policy_path : "the policy", difference);
        run->note(run->arg, text);
    }
    if (run->folder && !run->chosen)
        note_replaced(run);
}

static void measure_gap(struct cb_simulate_run *run, const cobre_sddp_simulation *result) {
    const cobre_sddp_problem *problem = run->policy->problem;
    run->bound = cb_simulation_bound(&run->options, run->policy);
    run->gap = cb_simulation_gap(&run->options, run->policy, result);
    const cb_gap gap = {.maximises = cobre_sddp_problem_maximises(problem),
                        .bound = run->bound,
                        .mean = result->mean,
                        .half = result->half,
                        .count = result->trajectories,
                        .unproven = !cobre_sddp_policy_proven(run->policy),
                        .other_noise = run->options.sampling == COBRE_SDDP_OUT_OF_SAMPLE &&
                                       cobre_sddp_problem_has_noise_model(problem)};
    if (!isfinite(run->gap) || !cb_gap_note(&gap, run->why))
        *run->why = '\0';
}

static cobre_status write_record(const struct cb_simulate_run *run, const cobre_sddp_simulation *result) {
    if (!run->folder || !is_first(run))
        return COBRE_OK;
    CB_TRY(cb_simulation_summary(run->folder, run->sampling, run->beginning.text, &run->options, run->policy, result));
    return cb_record_simulation(run->folder, run->hash, &run->options, run->sampling, run->scenarios, run->policy,
                                result);
}

static cobre_status simulate(struct cb_simulate_run *run, cobre_sddp_simulation *result) {
    CB_TRY(find_beginning(run));
    tell_notes(run);
    run->options.arg = run->arg;
    run->options.stop = run->stop;
    run->options.folder = run->folder;
    if (run->folder)
        run->options.lp_folder = run->folder;
    CB_TRY(cb_simulate(run->policy, &run->options, run->keep ? &run->kept : NULL, result));
    measure_gap(run, result);
    return cb_agree(run->policy->comm, write_record(run, result));
}

cobre_status cb_simulate_run(struct cb_simulate_run *run, cobre_sddp_simulation *result) {
    struct cb_folder folder = {.path = NULL};
    *result = (cobre_sddp_simulation){.struct_size = sizeof *result};
    CB_TRY(cb_simulate_run_check(run));
    cobre_status status = cb_agree(run->policy->comm, open_folder(run, &folder));
    if (!status)
        status = simulate(run, result);
    cb_folder_close(&folder);
    return status;
}

void cb_simulate_run_free(struct cb_simulate_run *run) {
    cb_kept_free(&run->kept);
    cb_begin_free(&run->beginning);
}
