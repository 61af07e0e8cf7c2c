/* SPDX-License-Identifier: Apache-2.0 */
/* test_floats.c: the planner gives the same bits whatever floating-point settings the program has. In a job of several ranks
 * only the last one has others than usual. */
#include "kit/float_settings.h"
#include "sddp/hydro_kit.h"

static cobre_comm *comm;

/* All that a program can get of a planning, as bytes. */
struct results {
    char *policy, *written; /* files; policy only on rank 0 */
    size_t policy_size, written_size;
    double bound, slopes[64];
    cobre_sddp_cut cut;
    cobre_sddp_simulation trained, loaded;
    struct floats_now in_callback;
};

static const char *file(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", kit_folder, name);
    return path;
}

static void look_at_floats(void *arg, const cobre_sddp_progress *progress) {
    (void)progress;
    ((struct results *)arg)->in_callback = read_floats();
}

static void simulate(cobre_sddp_policy *policy, cobre_sddp_simulation *result) {
    cobre_sddp_simulate_options options = {
        .struct_size = sizeof options, .sampling = COBRE_SDDP_OUT_OF_SAMPLE, .trajectories = 30, .seed = 7};
    *result = (cobre_sddp_simulation){.struct_size = sizeof *result};
    CHECK_OK(cobre_sddp_simulate(policy, &options, result));
    result->seconds = 0; /* no two are the same */
}

static void use(cobre_sddp_problem *problem, struct results *r) {
    cobre_sddp_policy *policy;
    cobre_sddp_train_options options = {
        .struct_size = sizeof options, .iterations = 5, .forward_passes = 2, .arg = r, .progress = look_at_floats};
    CHECK_OK(cobre_sddp_problem_write(problem, file("written.sof.json")));
    CHECK_OK(cobre_sddp_validate(problem, NULL));
    CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
    simulate(policy, &r->trained);
    r->bound = cobre_sddp_policy_bound(policy);
    r->cut.struct_size = sizeof r->cut;
    CHECK(cobre_sddp_problem_states(problem) <= sizeof r->slopes / sizeof r->slopes[0]);
    CHECK_OK(cobre_sddp_policy_cut(policy, cobre_sddp_policy_cuts(policy) - 1, &r->cut, r->slopes));
    CHECK_OK(cobre_sddp_policy_save(policy, file("policy.cobre")));
    cobre_sddp_policy_free(&policy);
    if (cobre_size(comm) == 1) { /* each rank has a folder of its own */
        CHECK_OK(cobre_sddp_policy_load(problem, file("policy.cobre"), &policy));
        simulate(policy, &r->loaded);
        cobre_sddp_policy_free(&policy);
    }
    cobre_sddp_problem_free(&problem);
}

static void read_case(const char *path, struct results *r) {
    cobre_sddp_problem *problem;
    CHECK_OK(cobre_sddp_load(comm, path, NULL, &problem));
    use(problem, r);
}

/* Two stages: a store, bought in the first, sold at a random price in the second. Sums of constants that round. */
static void build_case(const char *path, struct results *r) {
    static const double prices[] = {1.1, 3.3, 0.7};
    cobre_sddp_builder *b = NULL;
    cobre_sddp_problem *problem;
    (void)path;
    if (cobre_rank(comm) == 0) {
        CHECK_OK(cobre_sddp_builder_new("store", false, &b));
        size_t store = cobre_sddp_add_state(b, "store", 0.1);
        for (size_t n = 0; n < 2; n++) {
            size_t node = cobre_sddp_add_node(b, n ? "sell" : "buy", n + 1);
            size_t in = cobre_sddp_add_column(b, node, "in", 0, 9.7, 0),
                   out = cobre_sddp_add_column(b, node, "out", 0, 9.7, 0);
            size_t trade = cobre_sddp_add_column(b, node, "trade", 0, 9.7, n ? -2 : 1.3);
            size_t balance = cobre_sddp_add_row(b, node, "balance", 0, 0);
            cobre_sddp_add_entry(b, node, balance, in, 1);
            cobre_sddp_add_entry(b, node, balance, out, -1);
            cobre_sddp_add_entry(b, node, balance, trade, n ? -1 : 1);
            cobre_sddp_set_state(b, node, store, in, out);
            for (size_t i = 0; i < 10; i++)
                cobre_sddp_add_constant(b, node, 0.1);
            if (n) {
                size_t random = cobre_sddp_add_random(b, node, "price");
                cobre_sddp_add_noise(b, node, random, -1, COBRE_SDDP_NOISE_COST, trade, 0);
                for (size_t i = 0; i < 3; i++)
                    cobre_sddp_add_outcome(b, node, i == 2 ? 0.4 : 0.3, &prices[i]);
            }
            cobre_sddp_add_edge(b, n ? n - 1 : COBRE_SDDP_ROOT, node, 1, 1);
        }
    }
    CHECK_OK(cobre_sddp_finish(comm, &b, NULL, &problem));
    use(problem, r);
}

static void keep_files(struct results *r) {
    r->written = kit_get("written.sof.json", &r->written_size);
    if (cobre_rank(comm) == 0)
        r->policy = kit_get("policy.cobre", &r->policy_size);
}

static void must_be_alike(const struct results *a, const struct results *b) {
    CHECK_EQ(a->written_size, b->written_size);
    CHECK_BYTES(a->written, b->written, b->written_size);
    CHECK_EQ(a->policy_size, b->policy_size);
    if (b->policy)
        CHECK_BYTES(a->policy, b->policy, b->policy_size);
    CHECK_BYTES((const char *)&a->bound, (const char *)&b->bound, sizeof b->bound);
    CHECK_BYTES((const char *)a->slopes, (const char *)b->slopes, sizeof b->slopes);
    CHECK_BYTES((const char *)&a->cut, (const char *)&b->cut, sizeof b->cut);
    CHECK_BYTES((const char *)&a->trained, (const char *)&b->trained, sizeof b->trained);
    CHECK_BYTES((const char *)&a->loaded, (const char *)&b->loaded, sizeof b->loaded);
    CHECK_EQ(a->in_callback.rounding, b->in_callback.rounding);
    CHECK_EQ(a->in_callback.control, b->in_callback.control);
}

static void with_any_settings(void (*plan)(const char *path, struct results *r), const char *path) {
    static struct results usual;
    bool changes = cobre_rank(comm) == cobre_size(comm) - 1;
    memset(&usual, 0, sizeof usual);
    plan(path, &usual);
    keep_files(&usual);
    for (size_t s = 0; s < FLOAT_SETTINGS; s++) {
        static struct results other;
        memset(&other, 0, sizeof other);
        if (changes)
            set_floats(&float_settings[s]);
        struct floats_now before = read_floats();
        plan(path, &other);
        struct floats_now after = read_floats();
        set_usual_floats();
        CHECK_SAY(after.rounding == before.rounding && after.control == before.control, "%s: it is as before",
                  float_settings[s].name);
        keep_files(&other);
        must_be_alike(&other, &usual);
        free(other.policy);
        free(other.written);
    }
    free(usual.policy);
    free(usual.written);
}

static void tables(void) {
    with_any_settings(read_case, COBRE_SOURCE "/cases/cascade");
}

static void stochoptformat(void) {
    with_any_settings(read_case, COBRE_SOURCE "/cases/gas.sof.json");
}

static void built(void) {
    with_any_settings(build_case, NULL);
}

/* The solver shaky is linked as -Ofast does it: it flushes to zero when it is loaded. */
static void solver_that_flushes(void) {
    struct floats_now before = read_floats();
    bool found = false;
    for (size_t i = 0; i < cobre_sddp_solvers(); i++) {
        cobre_sddp_solver solver = {.struct_size = sizeof solver};
        CHECK_OK(cobre_sddp_solver_at(i, &solver));
        found |= strcmp(solver.name, "shaky") == 0;
    }
    CHECK_EQ(read_floats().control, before.control);
    CHECK_SAY(found || !getenv("COBRE_LP_PATH"), "the solver shaky is there"); /* it is not in the usual folder */
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(solver_that_flushes), CHECK_CASE(tables), CHECK_CASE(stochoptformat), CHECK_CASE(built), CHECK_END,
    };
    CHECK_OK(cobre_comm_open(NULL, &comm));
    int failed = kit_main(argc, argv, cases);
    cobre_comm_free(&comm);
    return failed;
}
