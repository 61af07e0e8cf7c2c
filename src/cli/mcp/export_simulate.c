/* SPDX-License-Identifier: Apache-2.0 */
/* export_simulate.c: makes tables that a run does not have: simulates its policy again, with the options that run.json tells. The
 * results do not depend on the number of ranks, so that they are those of the run. */
#include "cli/mcp/export_results.h"

#include "sddp/clock.h"
#include "sddp/run/option_tables.h"
#include "sddp/run/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SECONDS 45.0 /* others wait so long */

static bool refuse(struct cb_export *export, const char *field, const char *problem, const char *next) {
    cb_export_drop(export);
    cb_mcp_mistake(export->call,
                   &(struct cb_mcp_mistake){
                       .field = field, .received = cb_mcp_text(export->call, field), .problem = problem, .next = next});
    return false;
}

static const json_t *simulation_of(const struct cb_export *export) {
    return json_object_get(export->record, "simulation");
}

static const json_t *option(const struct cb_export *export, const char *name) {
    return json_object_get(json_object_get(simulation_of(export), "options"), name);
}

/* The policy: the argument, or that of the run's folder. */
static bool open_policy(struct cb_export *export, struct cb_study *study) {
    char path[PATH_MAX + 32], why[CB_PLACE_WHY];
    snprintf(path, sizeof path, "%s/" CB_FILE_POLICY, export->run.path);
    if (cb_mcp_text(export->call, "policy"))
        return cb_study_policy(export->call, study);
    if (!cb_place_find(&export->call->server->places, path, CB_PLACE_FILE, &study->policy_place, why))
        return refuse(export, "policy", "the run has no policy in its folder, and tables of it must be simulated",
                      "give policy, too");
    if (cobre_sddp_policy_load(study->problem, study->policy_place.path, &study->policy) == COBRE_OK)
        return true;
    cb_mcp_failed(export->call);
    return false;
}

static bool check_policy(struct cb_export *export, const struct cb_study *study, char hash[CB_SHA256_TEXT]) {
    const char *its = json_string_value(json_object_get(simulation_of(export), "policy"));
    if (cb_record_policy(export->run.path, study->policy_place.path, hash) != COBRE_OK) {
        cb_mcp_failed(export->call);
        return false;
    }
    return !its || strcmp(its, hash) == 0 ||
           refuse(export, "policy", "the run was simulated with another policy", "give the policy of that simulation");
}

/* Where it begins: a node by its name, and a state by name and value. */
static bool begin_of(struct cb_export *export, const struct cb_study *study, cobre_sddp_simulate_options *options,
                     double **state) {
    const cobre_sddp_problem *problem = study->problem;
    const char *node = json_string_value(option(export, "node"));
    const json_t *given = option(export, "state");
    size_t states = cobre_sddp_problem_states(problem);
    for (size_t n = 0; node && n < cobre_sddp_problem_nodes(problem); n++)
        if (strcmp(cobre_sddp_problem_node_name(problem, n), node) == 0) {
            options->has_node = true;
            options->node = n;
        }
    if (node && !options->has_node)
        return refuse(export, "case", "the case does not have the node that the simulation begins at",
                      "give the case of the run");
    if (!given)
        return true;
    *state = malloc((states + 1) * sizeof **state);
    for (size_t s = 0; *state && s < states; s++) {
        const json_t *value = json_object_get(given, cobre_sddp_problem_state_name(problem, s));
        (*state)[s] = value ? json_number_value(value) : cobre_sddp_problem_state_initial(problem, s);
    }
    options->state = *state;
    return *state || refuse(export, "case", "there is no memory for its state", "try again");
}

static cobre_sddp_sampling sampling_of(const char *word) {
    for (const struct cb_choice *choice = cb_simulate_rows[0].value[0].choices; word && choice->word; choice++)
        if (strcmp(choice->word, word) == 0)
            return (cobre_sddp_sampling)choice->value;
    return COBRE_SDDP_IN_SAMPLE;
}

/* Ends it when it takes too long. */
static int is_late(void *arg) {
    const struct cb_export *export = arg;
    return cb_clock() > export->deadline;
}

/* Also the facts and the record, so that the folder is that of a run. */
static bool simulate(struct cb_export *export, const struct cb_study *study, cobre_sddp_simulate_options *options,
                     const char *hash) {
    const char *sampling = cb_fact(&export->results.simulation, "sampling");
    cobre_sddp_simulation result = {.struct_size = sizeof result};
    if (!cb_export_open(export))
        return false;
    options->folder = export->folder.path;
    export->deadline = cb_clock() + MOST_SECONDS;
    options->arg = export;
    options->stop = is_late;
    cobre_status status = cobre_sddp_simulate(study->policy, options, &result);
    size_t wanted = (size_t)cb_fact_number(&export->results.simulation, "trajectories");
    if (!status && result.trajectories < wanted)
        return refuse(export, "tables", "the simulation would take more than 45 seconds",
                      "call simulate with these tables, which is a job that may take long");
    if (!status)
        status = cb_simulation_summary(export->folder.path, sampling, cb_fact(&export->results.simulation, "start"),
                                       options, study->policy, &result);
    if (!status)
        status = cb_record_simulation(export->folder.path, hash, options, sampling, NULL, study->policy, &result);
    if (status) {
        cb_export_drop(export);
        cb_mcp_failed(export->call);
        return false;
    }
    double mean = cb_fact_number(&export->results.simulation, "mean");
    return fabs(result.mean - mean) <= 1e-9 * fabs(mean) ||
           refuse(export, "case", "simulated again, the costs are not those of the run: the case is another one",
                  "give the case that the run was simulated with");
}

static bool simulate_policy(struct cb_export *export, struct cb_study *study) {
    char hash[CB_SHA256_TEXT];
    double *state = NULL;
    cobre_sddp_sampling sampling = sampling_of(json_string_value(option(export, "sampling")));
    size_t trajectories = (size_t)json_integer_value(option(export, "trajectories"));
    cobre_sddp_simulate_options options = {.struct_size = sizeof options,
                                           .sampling = sampling,
                                           .trajectories = sampling == COBRE_SDDP_GIVEN ? 0 : trajectories,
                                           .seed = (uint64_t)json_integer_value(option(export, "seed")),
                                           .max_steps = (size_t)json_integer_value(option(export, "max_steps")),
                                           .lp_folder = CB_STUDY_NO_FOLDER,
                                           .tables = export->tables   ? export->tables
                                                     : export->netcdf ? NULL
                                                                      : "all",
                                           .netcdf = export->netcdf};
    bool good = open_policy(export, study) && check_policy(export, study, hash) &&
                begin_of(export, study, &options, &state) && simulate(export, study, &options, hash);
    free(state);
    return good;
}

bool cb_export_simulate(struct cb_export *export) {
    struct cb_study study = cb_study_none;
    if (!simulation_of(export))
        return refuse(export, "run", "how this run was simulated is not recorded: it has no run.json, or no simulation",
                      "call simulate with the tables that you want");
    if (option(export, "scenarios"))
        return refuse(export, "run", "this run was simulated with a table of scenarios, which is not recorded",
                      "call simulate with scenarios and the tables that you want");
    if (!cb_mcp_text(export->call, "case"))
        return refuse(export, "case",
                      "the run does not have these tables: it must be simulated again, for which the case is "
                      "needed",
                      "give case, too; or call simulate with the tables that you want");
    bool good = cb_study_case(export->call, &study) && simulate_policy(export, &study);
    cb_study_close(&study);
    return good;
}
