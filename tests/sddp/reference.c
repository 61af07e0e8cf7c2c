/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c: does a reference case reach its published value?
 *
 *     reference --list                          the tests of the solvers that are here, as cmake/discover.cmake reads them
 *     reference reference_CASE.SOLVER[.multi]   trains it, with single cuts or multi-cuts
 *     reference extensive_CASE                  the whole scenario tree as one LP agrees with the published value */
#include <stdio.h>
#include <string.h>

#include "kit/check.h"
#include "sddp/cases.h"
#include "sddp/extensive.h"
#include "sddp/lp/plugins.h"

static cobre_comm *comm;

static void list(const reference_case *c) {
    static const char *const marks[] = {[QUICK] = "busy quick", [LONG] = "busy", [SLOW] = "busy slow"};
    case_effort multi = c->multi > c->effort ? c->multi : c->effort;
    if (c->small)
        printf("extensive_%s %s\n", c->name, marks[c->effort]);
    const cb_lp_plugin *plugin;
    for (size_t i = 0; (plugin = cb_lp_plugin_at(i)); i++) {
        if (!plugin->solver)
            continue;
        printf("reference_%s.%s %s\n", c->name, plugin->name, marks[c->effort]);
        if (multi != NEVER)
            printf("reference_%s.%s.multi %s\n", c->name, plugin->name, marks[multi]);
    }
}

static void worked(cobre_status status) {
    CHECK_SAY(!status, "it works: %s -- %s", cobre_last_error()->message, cobre_last_error()->suggestion);
}

static void compare(const reference_case *c, double value) {
    double missing = c->value - value, below = c->below > 0 ? c->below : c->tolerance;
    printf("%.12g, published %.12g\n", value, c->value);
    CHECK_SAY(missing <= below && missing >= -c->tolerance, "%.12g is the published %.12g", value, c->value);
}

/* A bound that has not converged stays below what the policy costs. */
static void simulate(cobre_sddp_policy *policy) {
    cobre_sddp_simulation simulation = {.struct_size = sizeof simulation};
    cobre_sddp_simulate_options options = {.struct_size = sizeof options, .trajectories = 1000};
    worked(cobre_sddp_simulate(policy, &options, &simulation));
    CHECK_SAY(cobre_sddp_policy_bound(policy) <= simulation.mean + simulation.half,
              "the bound, %.10g, is below %.10g + %.10g", cobre_sddp_policy_bound(policy), simulation.mean,
              simulation.half);
}

static void train(const reference_case *c, cobre_sddp_problem *problem, const char *solver, bool multi) {
    cobre_sddp_train_options options = {
        .struct_size = sizeof options, .solver = solver, .multi_cut = multi, .seed = 7, .iterations = c->iterations};
    cobre_sddp_policy *policy;
    worked(cobre_sddp_train(problem, &options, &policy, NULL));
    compare(c, cobre_sddp_policy_bound(policy));
    if (c->below > 0)
        simulate(policy);
    cobre_sddp_policy_free(&policy);
}

int main(int argc, char **argv) {
    char name[64], solver[16] = "", multi[8] = "";
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (const reference_case *c = reference_cases; c->name; c++)
            list(c);
        return 0;
    }
    bool extensive = argc == 2 && sscanf(argv[1], "extensive_%63s", name) == 1;
    if (!extensive && (argc != 2 || sscanf(argv[1], "reference_%63[^.].%15[^.].%7s", name, solver, multi) < 2))
        return 2;
    const reference_case *c = find_case(name);
    CHECK_SAY(c, "there is a case %s", name);
    cobre_sddp_builder *builder = c->build();
    cobre_sddp_problem *problem;
    CHECK_OK(cobre_comm_open(NULL, &comm));
    worked(cobre_sddp_finish(comm, &builder, NULL, &problem));
    if (extensive)
        compare(c, extensive_value(problem, SIZE_MAX));
    else
        train(c, problem, solver, strcmp(multi, "multi") == 0);
    cobre_sddp_problem_free(&problem);
    CHECK_OK(cobre_comm_free(&comm));
    return 0;
}
