/* SPDX-License-Identifier: Apache-2.0 */
/* two_stages: builds a problem of two stages, trains a policy, and writes the problem as a file.
 *
 *     ./two_stages                              the same bound...
 *     cobre run -n 2 ./two_stages water.sof.json        ...on any number of ranks; `cobre train water.sof.json` reads it
 *
 * Water is kept today for tomorrow, when it rains 0, 30 or 60. Demand is 50 each day; what water does not meet is bought,
 * for 10 today and 20 tomorrow.
 */
#include <cobre/sddp.h>

#include <math.h>
#include <stdio.h>

static void add_day(cobre_sddp_builder *builder, size_t water, const char *name, double price) {
    size_t node = cobre_sddp_add_node(builder, name, 0);
    size_t in = cobre_sddp_add_column(builder, node, "water_in", -INFINITY, INFINITY, 0);
    size_t out = cobre_sddp_add_column(builder, node, "water_out", 0, 100, 0);
    size_t use = cobre_sddp_add_column(builder, node, "use", 0, INFINITY, 0);
    size_t buy = cobre_sddp_add_column(builder, node, "buy", 0, INFINITY, price);
    cobre_sddp_set_state(builder, node, water, in, out);

    /* out <= in - use + rain: water may also be let go. */
    size_t balance = cobre_sddp_add_row(builder, node, "balance", -INFINITY, 0);
    cobre_sddp_add_entry(builder, node, balance, out, 1);
    cobre_sddp_add_entry(builder, node, balance, in, -1);
    cobre_sddp_add_entry(builder, node, balance, use, 1);
    size_t demand = cobre_sddp_add_row(builder, node, "demand", 50, 50);
    cobre_sddp_add_entry(builder, node, demand, use, 1);
    cobre_sddp_add_entry(builder, node, demand, buy, 1);

    if (node == 0) { /* today's rain is over */
        cobre_sddp_add_edge(builder, COBRE_SDDP_ROOT, node, 1, 1);
        return;
    }
    static const double rain[] = {0, 30, 60};
    size_t rains = cobre_sddp_add_random(builder, node, "rain");
    cobre_sddp_add_noise(builder, node, rains, 1, COBRE_SDDP_NOISE_ROW, balance, 0);
    for (size_t k = 0; k < 3; k++)
        cobre_sddp_add_outcome(builder, node, 1.0 / 3, &rain[k]);
    cobre_sddp_add_edge(builder, node - 1, node, 1, 1);
}

/* No call here can fail: cobre_sddp_finish says what was wrong. */
static void build(cobre_sddp_builder *builder) {
    size_t water = cobre_sddp_add_state(builder, "water", 60);
    add_day(builder, water, "today", 10);
    add_day(builder, water, "tomorrow", 20);
}

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    (void)arg;
    fprintf(stderr, "two_stages: %s: %s\n", issue->place, issue->message);
}

static int complain(void) {
    fprintf(stderr, "two_stages: %s\n", cobre_last_error()->message);
    return 1;
}

static int plan(cobre_comm *comm, const char *file) {
    cobre_sddp_builder *builder = NULL;
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy;
    cobre_sddp_load_options load = {.struct_size = sizeof load, .issue = on_issue};
    cobre_sddp_train_options train = {.struct_size = sizeof train, .iterations = 20};
    if (cobre_rank(comm) == 0 && cobre_sddp_builder_new("water", false, &builder) == COBRE_OK)
        build(builder);
    if (cobre_sddp_finish(comm, &builder, &load, &problem))
        return complain();
    int failed = 0;
    if (cobre_sddp_train(problem, &train, &policy, NULL))
        failed = complain();
    else if (cobre_rank(comm) == 0)
        printf("today and tomorrow cost %g on average\n", cobre_sddp_policy_bound(policy));
    if (!failed && file && cobre_rank(comm) == 0 && cobre_sddp_problem_write(problem, file))
        failed = complain();
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
    return failed;
}

int main(int argc, char **argv) {
    cobre_comm *comm;
    if (cobre_comm_open(NULL, &comm) != COBRE_OK)
        return complain();
    int failed = plan(comm, argc > 1 ? argv[1] : NULL);
    cobre_comm_free(&comm);
    return failed;
}
