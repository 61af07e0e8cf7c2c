/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c CASE ITERATIONS PASSES: trains with multi-cuts and stays, for memory.py to look at. With 0 iterations it only loads the
 * case. Each rank says "pid cuts bytes-of-cuts bytes-of-openings"; the job ends when its input does. */
#include <cobre/sddp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int complain(const char *message) {
    fprintf(stderr, "%s\n", message);
    return 1;
}

static size_t opening_values(const cobre_sddp_problem *problem) {
    size_t values = 0;
    for (size_t node = 0; node < cobre_sddp_problem_nodes(problem); node++)
        values += cobre_sddp_problem_outcomes(problem, node) * cobre_sddp_problem_randoms(problem, node);
    return values;
}

static cobre_status stay(cobre_comm *comm, const cobre_sddp_problem *problem, const cobre_sddp_policy *policy) {
    cobre_status status = cobre_barrier(comm);
    if (status)
        return status;
    size_t cuts = policy ? cobre_sddp_policy_cuts(policy) : 0, slopes = cobre_sddp_problem_states(problem);
    printf("%d %zu %zu %zu\n", (int)getpid(), cuts, cuts * (1 + slopes) * sizeof(double),
           opening_values(problem) * sizeof(double));
    fflush(stdout);
    while (cobre_rank(comm) == 0 && getchar() != EOF)
        continue;
    return cobre_barrier(comm);
}

int main(int argc, char **argv) {
    cobre_comm *comm;
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy = NULL;
    if (argc != 4)
        return complain("usage: memory CASE ITERATIONS PASSES");
    if (cobre_comm_open(NULL, &comm))
        return complain(cobre_last_error()->message);
    cobre_sddp_train_options options = {.struct_size = sizeof options,
                                        .iterations = strtoull(argv[2], NULL, 10),
                                        .forward_passes = strtoull(argv[3], NULL, 10),
                                        .multi_cut = true};
    if (cobre_sddp_load(comm, argv[1], NULL, &problem) ||
        (options.iterations > 0 && cobre_sddp_train(problem, &options, &policy, NULL)))
        return complain(cobre_last_error()->message);
    if (stay(comm, problem, policy))
        return complain(cobre_last_error()->message);
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
    return cobre_comm_free(&comm);
}
