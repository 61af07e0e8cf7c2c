/* SPDX-License-Identifier: Apache-2.0 */
/* rank0.c CASE: what rank 0 reads or builds counts, whatever the other ranks have. Run by three ranks or more. */
#include <cobre/sddp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kit/check.h"

static cobre_comm *comm;
static size_t issues;

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    (void)arg;
    (void)issue;
    issues++;
}

/* The same number on all ranks? */
static void agree(uint64_t number) {
    uint64_t both[2] = {number, ~number};
    CHECK_OK(cobre_allreduce(comm, both, 2, both, 2, COBRE_U64, COBRE_MIN));
    CHECK(both[0] == ~both[1]);
}

static uint64_t bits_of(const char *text) {
    uint64_t hash = 0;
    for (; *text; text++)
        hash = 31 * hash + (unsigned char)*text;
    return hash;
}

static void train(cobre_sddp_problem *problem) {
    cobre_sddp_train_options options = {.struct_size = sizeof options, .iterations = 5, .forward_passes = 3};
    cobre_sddp_policy *policy;
    CHECK_EQ(cobre_sddp_train(problem, &options, &policy, NULL), COBRE_OK);
    double bound = cobre_sddp_policy_bound(policy);
    uint64_t bits;
    memcpy(&bits, &bound, sizeof bits);
    agree(bits);
    cobre_sddp_policy_free(&policy);
}

static void only_rank_0_reads(const char *path) {
    cobre_sddp_problem *problem;
    CHECK_EQ(cobre_sddp_load(comm, cobre_rank(comm) == 0 ? path : "/nowhere", NULL, &problem), COBRE_OK);
    agree(bits_of(cobre_sddp_problem_name(problem)));
    train(problem);
    cobre_sddp_problem_free(&problem);
}

static void only_rank_0_is_told(const char *path) {
    cobre_sddp_problem *problem;
    cobre_sddp_load_options options = {.struct_size = sizeof options, .issue = on_issue};
    CHECK_EQ(cobre_sddp_load(comm, cobre_rank(comm) == 0 ? "/nowhere" : path, &options, &problem), COBRE_INVALID_CASE);
    CHECK(!problem);
    CHECK_EQ(issues, cobre_rank(comm) == 0 ? 1 : 0);
    agree(bits_of(cobre_last_error()->message));
}

/* Rank 1 has built something else, and wrongly; the others have nothing. */
static cobre_sddp_builder *build(void) {
    cobre_sddp_builder *b = NULL;
    size_t rank = cobre_rank(comm);
    if (rank > 1)
        return NULL;
    CHECK_EQ(cobre_sddp_builder_new(rank == 0 ? "mine" : "other", false, &b), COBRE_OK);
    size_t x = cobre_sddp_add_state(b, "x", 1);
    for (size_t n = 0; n < (rank == 0 ? 3 : 1); n++) {
        cobre_sddp_add_node(b, NULL, 0);
        size_t in = cobre_sddp_add_column(b, n, "in", -INFINITY, INFINITY, 0);
        size_t out = cobre_sddp_add_column(b, n, "out", 0, rank == 0 ? 2 : NAN, 1);
        size_t row = cobre_sddp_add_row(b, n, "row", 1, INFINITY);
        cobre_sddp_set_state(b, n, x, in, out);
        cobre_sddp_add_entry(b, n, row, in, 1);
        cobre_sddp_add_entry(b, n, row, out, 1);
        cobre_sddp_add_edge(b, n == 0 ? COBRE_SDDP_ROOT : n - 1, n, 1, 1);
    }
    return b;
}

static void only_rank_0_builds(void) {
    cobre_sddp_builder *builder = build();
    cobre_sddp_problem *problem;
    bool absent = cobre_rank(comm) > 1 && cobre_rank(comm) % 2 == 0;
    CHECK_EQ(cobre_sddp_finish(comm, absent ? NULL : &builder, NULL, &problem), COBRE_OK);
    CHECK(!builder);
    CHECK_TEXT(cobre_sddp_problem_name(problem), "mine");
    CHECK_EQ(cobre_sddp_problem_nodes(problem), 3);
    train(problem);
    cobre_sddp_problem_free(&problem);
}

static void rank_0_has_nothing(void) {
    cobre_sddp_builder *builder = cobre_rank(comm) == 0 ? NULL : build();
    cobre_sddp_problem *problem;
    CHECK_EQ(cobre_sddp_finish(comm, &builder, NULL, &problem), COBRE_INVALID_ARGUMENT);
    CHECK(!builder && !problem);
    agree(bits_of(cobre_last_error()->message));
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    CHECK_OK(cobre_comm_open(NULL, &comm));
    CHECK(cobre_size(comm) > 2);
    only_rank_0_reads(argv[1]);
    only_rank_0_is_told(argv[1]);
    only_rank_0_builds();
    rank_0_has_nothing();
    return cobre_comm_free(&comm) != COBRE_OK;
}
