/* SPDX-License-Identifier: Apache-2.0 */
/* train.c CASE: a user's program that trains; valid C11 and C++17. Rank 0 prints the bound. */
#include <cobre/sddp.h>
#include <stdio.h>

static int complain(void) {
    fprintf(stderr, "%s\n", cobre_last_error()->message);
    return 1;
}

int main(int argc, char **argv) {
    static cobre_sddp_train_options options;
    cobre_comm *comm;
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
    if (argc != 2 || cobre_comm_open(NULL, &comm) != COBRE_OK)
        return 2;
    options.struct_size = sizeof options;
    options.iterations = 20;
    if (cobre_sddp_load(comm, argv[1], NULL, &problem) != COBRE_OK ||
        cobre_sddp_train(problem, &options, &policy, NULL) != COBRE_OK)
        return complain();
    if (cobre_rank(comm) == 0)
        printf("ranks %zu, bound %.6g\n", cobre_size(comm), cobre_sddp_policy_bound(policy));
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
    return cobre_comm_free(&comm) == COBRE_OK ? 0 : 1;
}
