/* SPDX-License-Identifier: Apache-2.0 */
/* test_write.c: every reference case and every shipped case as a StochOptFormat file, and what is read back from it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sddp/cases.h"
#include "sddp/extensive.h"
#include "sddp/hydro_kit.h"

static cobre_comm *comm;
static char path[64];
static bool has_bound; /* of every node's future cost */
static double bound_of_all;

static bool has_discount(const cobre_sddp_problem *p) {
    for (size_t n = 0; n < p->nodes; n++)
        for (size_t e = 0; e < p->node[n].edges; e++)
            if (p->node[n].edge[e].discount < 1)
                return true;
    return false;
}

static bool has_one_sided_noise(const cobre_sddp_problem *p) {
    for (size_t n = 0; n < p->nodes; n++)
        for (size_t i = 0; i < p->node[n].noises; i++) {
            const cb_noise *noise = &p->node[n].noise[i];
            const cb_range *row = &p->node[n].row[noise->index];
            if (cb_noise_family(noise->target) == COBRE_SDDP_NOISE_COLUMN_LOWER)
                return true;
            if ((noise->target == COBRE_SDDP_NOISE_ROW_LOWER || noise->target == COBRE_SDDP_NOISE_ROW_UPPER) &&
                isfinite(row->lower) && isfinite(row->upper))
                return true;
        }
    return false;
}

static bool is_averse(const cobre_sddp_problem *p) {
    return cobre_sddp_problem_averse(p);
}

static void train(cobre_sddp_problem *problem, uint64_t iterations, double *bound) {
    cobre_sddp_train_options options = {.struct_size = sizeof options, .iterations = iterations, .seed = 3};
    options.has_value_bound = has_bound;
    options.value_bound = bound_of_all;
    cobre_sddp_policy *policy;
    CHECK_SAY(!cobre_sddp_train(problem, &options, &policy, NULL), "%s trains: %s", problem->name,
              cobre_last_error()->message);
    *bound = cobre_sddp_policy_bound(policy);
    cobre_sddp_policy_free(&policy);
}

static void same_scenarios(const cobre_sddp_problem *a, const cobre_sddp_problem *b) {
    CHECK_EQ(a->scenarios, b->scenarios);
    for (size_t s = 0; s < a->scenarios; s++) {
        CHECK_EQ(cb_scenario_steps(a, s), cb_scenario_steps(b, s));
        for (size_t k = 0; k < cb_scenario_steps(a, s); k++) {
            size_t node = cb_scenario_node(a, s, k);
            CHECK_EQ(node, cb_scenario_node(b, s, k));
            CHECK_BYTES(cb_scenario_values(a, s, k), cb_scenario_values(b, s, k),
                        a->node[node].randoms * sizeof(double));
        }
    }
}

/* Of states and nodes, and the numbers of their outcomes: what a policy asks for. */
static void same_names(const cobre_sddp_problem *a, const cobre_sddp_problem *b) {
    CHECK_EQ(a->maximise, b->maximise);
    CHECK_EQ(a->states, b->states);
    CHECK_EQ(a->nodes, b->nodes);
    for (size_t s = 0; s < a->states; s++)
        CHECK_TEXT(a->state[s].name, b->state[s].name);
    for (size_t n = 0; n < a->nodes; n++) {
        CHECK_TEXT(a->node[n].name, b->node[n].name);
        CHECK_EQ(a->node[n].outcomes, b->node[n].outcomes);
    }
}

static void same_problem(cobre_sddp_problem *a, cobre_sddp_problem *b, bool small) {
    double one, other;
    same_names(a, b);
    same_scenarios(a, b);
    if (!has_discount(a) && !has_one_sided_noise(a)) {
        train(a, 5, &one);
        train(b, 5, &other);
        CHECK_SAY(one == other, "%s: %a is %a", a->name, one, other);
    }
    if (small) {
        one = extensive_value(a, SIZE_MAX);
        other = extensive_value(b, SIZE_MAX);
        CHECK_SAY(fabs(one - other) <= 1e-9 * fmax(1, fabs(one)), "%s: %.17g is %.17g", a->name, one, other);
    }
}

/* The format has no value bounds: those of the case, which are the same at all nodes, are given again. */
static void write_and_read(cobre_sddp_problem *problem, bool small) {
    cobre_sddp_problem *again;
    const cb_node *first = &problem->node[0];
    has_bound = first->has_value_bound;
    bound_of_all = problem->maximise ? -first->value_bound : first->value_bound;
    CHECK_SAY(!cobre_sddp_problem_write(problem, path), "%s: %s", problem->name, cobre_last_error()->message);
    CHECK_SAY(!cobre_sddp_load(comm, path, NULL, &again), "%s: %s", problem->name, cobre_last_error()->message);
    same_problem(problem, again, small);
    cobre_sddp_problem_free(&again);
    CHECK_EQ(unlink(path), 0);
}

static void reference(void) {
    for (const reference_case *c = reference_cases; c->name; c++) {
        if (c->effort == SLOW)
            continue;
        cobre_sddp_builder *builder = c->build();
        cobre_sddp_problem *problem;
        CHECK_EQ(cobre_sddp_finish(comm, &builder, NULL, &problem), 0);
        if (is_averse(problem)) {
            CHECK_EQ(cobre_sddp_problem_write(problem, path), COBRE_INVALID_ARGUMENT);
            CHECK_HOLDS(cobre_last_error()->message, "has a risk measure");
            CHECK(access(path, F_OK) != 0);
        } else {
            write_and_read(problem, c->small);
        }
        cobre_sddp_problem_free(&problem);
    }
}

static void shipped(void) {
    static const char *const names[] = {"toy", "reservoir", "cascade", "brazil3", "brazil_ar", "gas.sof.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char from[512];
        cobre_sddp_problem *problem;
        snprintf(from, sizeof from, "%s/cases/%s", COBRE_SOURCE, names[i]);
        CHECK_EQ(cobre_sddp_load(comm, from, NULL, &problem), 0);
        write_and_read(problem, i == 0);
        cobre_sddp_problem_free(&problem);
    }
}

static void terminal(void) {
    cobre_sddp_problem *problem;
    kit_make_folder(); /* the reference cases have removed it */
    kit_copy("toy");
    kit_edit("case.json", "\"stages\": 3", "\"stages\": 3, \"terminal\": \"cuts.csv\"");
    kit_put("cuts.csv", "intercept,storage[lake]\n9000,-60\n6000,-20\n3000,0\n");
    CHECK_OK(cobre_sddp_load(comm, kit_folder, NULL, &problem));
    CHECK_EQ(problem->node[2].rows, problem->node[1].rows + 3);
    write_and_read(problem, true);
    cobre_sddp_problem_free(&problem);
}

/* A random variable with the name of a column, a row with the name of a new one, and names that JSON must escape. */
static void strange_names(void) {
    cobre_sddp_builder *p;
    cobre_sddp_problem *problem, *again;
    CHECK_EQ(cobre_sddp_builder_new("\"quoted\" \\ \n", true, &p), 0);
    size_t x = cobre_sddp_add_state(p, "a/b~c", 1);
    for (size_t t = 0; t < 2; t++) {
        size_t n = cobre_sddp_add_node(p, t ? "one -- first" : "", 0);
        size_t in = cobre_sddp_add_column(p, n, "in", -7, 7, 0), out = cobre_sddp_add_column(p, n, "out", 0, 2, 1);
        size_t w = cobre_sddp_add_random(p, n, "out"), row = cobre_sddp_add_row(p, n, "out_upper", 0, 0);
        size_t loose = cobre_sddp_add_row(p, n, "loose", -INFINITY, INFINITY);
        cobre_sddp_set_state(p, n, x, in, out);
        cobre_sddp_add_entry(p, n, row, out, 1);
        cobre_sddp_add_entry(p, n, row, in, -1);
        cobre_sddp_add_entry(p, n, loose, in, -1);
        cobre_sddp_add_noise(p, n, w, 0.5, COBRE_SDDP_NOISE_COLUMN_UPPER, out, 0);
        cobre_sddp_add_outcome(p, n, 0.5, (double[]){0});
        cobre_sddp_add_outcome(p, n, 0.5, (double[]){1});
        cobre_sddp_add_edge(p, t ? n - 1 : COBRE_SDDP_ROOT, n, 1, 1);
    }
    CHECK_EQ(cobre_sddp_finish(comm, &p, NULL, &problem), 0);
    CHECK_EQ(cobre_sddp_problem_write(problem, path), 0);
    CHECK_SAY(!cobre_sddp_load(comm, path, NULL, &again), "%s", cobre_last_error()->message);
    CHECK_TEXT(cobre_sddp_problem_name(again), "\"quoted\" \\ \n");
    CHECK_TEXT(cobre_sddp_problem_node_name(again, 1), "one -- first");
    CHECK_TEXT(cobre_sddp_problem_random_name(again, 0, 0), "out_");
    CHECK_EQ(cobre_sddp_problem_rows(again, 0), 2);
    CHECK_TEXT(cobre_sddp_problem_row_name(again, 0, 1), "out_upper_");
    CHECK(again->node[0].column[1].upper == 2.5);
    CHECK(isinf(again->node[0].column[0].upper));
    CHECK_NEAR(extensive_value(problem, SIZE_MAX), extensive_value(again, SIZE_MAX), 1e-12);
    cobre_sddp_problem_free(&problem);
    cobre_sddp_problem_free(&again);
    CHECK_EQ(unlink(path), 0);
}

static cobre_sddp_problem *one_node(const char *column, double discount) {
    cobre_sddp_builder *p;
    cobre_sddp_problem *problem;
    CHECK_EQ(cobre_sddp_builder_new("one", false, &p), 0);
    size_t n = cobre_sddp_add_node(p, NULL, 0);
    cobre_sddp_add_column(p, n, column, 0, 1, 1);
    cobre_sddp_add_edge(p, COBRE_SDDP_ROOT, n, 1, discount);
    CHECK_EQ(cobre_sddp_finish(comm, &p, NULL, &problem), 0);
    return problem;
}

static void refused(void) {
    cobre_sddp_problem *problem = one_node("x", 0.9);
    CHECK_EQ(cobre_sddp_problem_write(problem, path), COBRE_INVALID_ARGUMENT);
    CHECK_HOLDS(cobre_last_error()->message, "from the root to node n1 has a discount");
    cobre_sddp_problem_free(&problem);
    problem = one_node("\xff", 1);
    CHECK_EQ(cobre_sddp_problem_write(problem, path), COBRE_INVALID_ARGUMENT);
    CHECK_HOLDS(cobre_last_error()->message, "is not UTF-8");
    CHECK_EQ(cobre_sddp_problem_write(problem, NULL), COBRE_INVALID_ARGUMENT);
    CHECK_EQ(cobre_sddp_problem_write(NULL, path), COBRE_INVALID_ARGUMENT);
    cobre_sddp_problem_free(&problem);
    problem = one_node("x", 1);
    CHECK_EQ(cobre_sddp_problem_write(problem, "/nowhere/at/all.sof.json"), COBRE_FILE_FAILED);
    CHECK_EQ(cobre_sddp_problem_write(problem, "/dev/full"), COBRE_FILE_FAILED);
    cobre_sddp_problem_free(&problem);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(reference),     CHECK_CASE(shipped), CHECK_CASE(terminal),
        CHECK_CASE(strange_names), CHECK_CASE(refused), CHECK_END,
    };
    snprintf(path, sizeof path, "/tmp/cobre-write-%ld.sof.json", (long)getpid());
    CHECK_OK(cobre_comm_open(&(cobre_config){.struct_size = sizeof(cobre_config), .backend = COBRE_LOCAL}, &comm));
    int failed = kit_main(argc, argv, tests);
    cobre_comm_free(&comm);
    return failed;
}
