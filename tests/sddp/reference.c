/* reference.c: does a reference case reach its published value?
 *
 *     reference --list               name, then "slow" for those that take long
 *     reference CASE SOLVER [multi]  trains it, single cuts or multi-cuts
 *     reference CASE extensive       the whole scenario tree as one LP agrees with the published value
 * Exit code 77: the solver is not in this build. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "extensive.h"

static int list(void) {
    for (const reference_case *c = reference_cases; c->name; c++)
        printf("%s%s%s\n", c->name, c->small ? " small" : "", c->slow ? " slow" : "");
    return 0;
}

static int compare(const reference_case *c, const char *what, double value) {
    double wrong = c->value - value, below = c->below > 0 ? c->below : c->tolerance;
    bool good = wrong <= below && wrong >= -c->tolerance;
    printf("%s %s: %.12g, published %.12g, %s\n", c->name, what, value, c->value, good ? "agrees" : "does NOT agree");
    return good ? 0 : 1;
}

static int fail(const char *what) {
    printf("%s: %s -- %s\n", what, cobre_sddp_last_error()->message, cobre_sddp_last_error()->suggestion);
    return 1;
}

static int train(cobre_comm *comm, const reference_case *c, cobre_sddp_problem *problem, const char *solver,
                 bool multi) {
    cobre_sddp_options options = {
        .struct_size = sizeof options, .solver = solver, .multi_cut = multi, .seed = 7, .iterations = c->iterations};
    cobre_sddp_policy *policy;
    if (cobre_sddp_train(comm, problem, &options, &policy, NULL))
        return fail("train");
    int result = compare(c, solver, cobre_sddp_bound(policy));
    cobre_sddp_policy_free(&policy);
    return result;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    const reference_case *c = argc >= 3 ? find_case(argv[1]) : NULL;
    if (!c)
        return 2;
    bool extensive = strcmp(argv[2], "extensive") == 0, found = extensive;
    for (size_t i = 0; cobre_sddp_solver(i); i++)
        found |= strcmp(cobre_sddp_solver(i), argv[2]) == 0;
    if (!found)
        return 77;
    cobre_comm *comm;
    cobre_sddp_problem *problem = c->build();
    if (!problem || cobre_comm_open(NULL, &comm) != COBRE_OK) {
        puts(problem ? "no communicator" : "the tables of the case are not there");
        return 1;
    }
    int result = cb_problem_finish(comm, problem, extensive ? NULL : argv[2]) ? fail("finish")
                 : extensive ? compare(c, "extensive", extensive_value(problem, SIZE_MAX))
                             : train(comm, c, problem, argv[2], argc > 3);
    cobre_sddp_problem_free(&problem);
    cobre_comm_free(&comm);
    return result;
}
