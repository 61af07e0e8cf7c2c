/* SPDX-License-Identifier: Apache-2.0 */
/* test_root.c CASE ITERATIONS BETA ALPHA [multi]: do all LP solvers see the same value of one policy?
 *
 * Trains with each solver that is here, and simulates that policy with each. The value of the first LP of a trajectory,
 * cost of the stage and estimated future cost, must agree to 1e-9 relative: it is the LP that bounds are made of. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kit/check.h"
#include "sddp/lp/plugins.h"

enum { TRAJECTORIES = 40 };

static cobre_comm *comm;

typedef struct {
    double value[TRAJECTORIES];
} first_values;

static void on_stage(void *arg, const cobre_sddp_stage *stage) {
    first_values *first = arg;
    if (stage->step == 0)
        first->value[stage->trajectory] = stage->stage_cost + stage->future_cost;
}

static void worked(cobre_status status) {
    CHECK_SAY(!status, "it works: %s -- %s", cobre_last_error()->message, cobre_last_error()->suggestion);
}

static first_values simulate(cobre_sddp_policy *policy, const char *solver) {
    first_values first = {.value = {0}};
    cobre_sddp_simulate_options options = {.struct_size = sizeof options,
                                           .trajectories = TRAJECTORIES,
                                           .seed = 3,
                                           .solver = solver,
                                           .lp_folder = "/tmp",
                                           .stage = on_stage,
                                           .arg = &first};
    worked(cobre_sddp_simulate(policy, &options, NULL));
    return first;
}

static void compare(cobre_sddp_policy *policy, const char *trained) {
    const cb_lp_plugin *plugin;
    first_values own = simulate(policy, trained);
    for (size_t s = 0; (plugin = cb_lp_plugin_at(s)); s++) {
        if (!plugin->solver)
            continue;
        first_values other = simulate(policy, plugin->name);
        double worst = 0;
        for (size_t i = 0; i < TRAJECTORIES; i++)
            worst = fmax(worst, fabs(other.value[i] / own.value[i] - 1));
        printf("trained with %s, bound %.12g, first LP %.12g; %s differs by %.2g\n", trained,
               cobre_sddp_policy_bound(policy), own.value[0], plugin->name, worst);
        CHECK_SAY(worst <= 1e-9, "%s and %s agree on the first LP: they differ by %g", trained, plugin->name, worst);
    }
}

int main(int argc, char **argv) {
    cobre_sddp_problem *problem;
    const cb_lp_plugin *plugin;
    if (argc < 5)
        return 2;
    CHECK_OK(cobre_comm_open(NULL, &comm));
    worked(cobre_sddp_load(comm, argv[1], NULL, &problem));
    for (size_t s = 0; (plugin = cb_lp_plugin_at(s)); s++) {
        cobre_sddp_policy *policy;
        cobre_sddp_train_options options = {.struct_size = sizeof options,
                                            .solver = plugin->name,
                                            .iterations = strtoull(argv[2], NULL, 10),
                                            .forward_passes = 2,
                                            .has_risk = true,
                                            .risk_beta = strtod(argv[3], NULL),
                                            .risk_alpha = strtod(argv[4], NULL),
                                            .multi_cut = argc > 5,
                                            .lp_folder = "/tmp"};
        if (!plugin->solver)
            continue;
        worked(cobre_sddp_train(problem, &options, &policy, NULL));
        compare(policy, plugin->name);
        cobre_sddp_policy_free(&policy);
    }
    cobre_sddp_problem_free(&problem);
    CHECK_OK(cobre_comm_free(&comm));
    return 0;
}
