/* SPDX-License-Identifier: Apache-2.0 */
/* test_api.c: what sddp.h promises of every call: arguments, indices and struct sizes are checked, results are written
 * where there is room, errors say who and what; a policy file can be read alone, and a damaged one is refused. */
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kit/error_json.h"
#include "sddp/hash.h"
#include "sddp/hydro_kit.h"

static cobre_comm *comm;
static cobre_sddp_problem *problem; /* the gas store, which maximises */
static cobre_sddp_policy *policy;

static const char *file(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", kit_folder, name);
    return path;
}

static void train_gas(void) {
    cobre_sddp_train_options options = {.struct_size = sizeof options, .iterations = 6, .forward_passes = 2};
    kit_copy("gas.sof.json");
    CHECK_OK(cobre_sddp_load(comm, file("gas.sof.json"), NULL, &problem));
    CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
}

static void end_gas(void) {
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
}

/* A wrong argument: which, and what to do. */
static void refused(cobre_status status, const char *subject) {
    const cobre_error *error = cobre_last_error();
    CHECK_STATUS(status, COBRE_INVALID_ARGUMENT);
    CHECK_TEXT(error->subject, subject);
    CHECK(*error->message && *error->suggestion);
    check_error_json(error);
}

static void null_is_refused(void) {
    cobre_sddp_problem *no_problem = NULL;
    cobre_sddp_policy *no_policy = NULL;
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    train_gas();
    refused(cobre_sddp_load(NULL, "x", NULL, &no_problem), "comm");
    refused(cobre_sddp_load(comm, NULL, NULL, &no_problem), "path");
    refused(cobre_sddp_load(comm, "x", NULL, NULL), "problem");
    refused(cobre_sddp_problem_share(NULL, problem, &no_problem), "comm");
    refused(cobre_sddp_problem_share(comm, NULL, &no_problem), "problem");
    refused(cobre_sddp_problem_share(comm, problem, NULL), "shared");
    refused(cobre_sddp_train(NULL, NULL, &no_policy, NULL), "problem");
    refused(cobre_sddp_train(problem, NULL, NULL, NULL), "policy");
    refused(cobre_sddp_validate(NULL, NULL), "problem");
    refused(cobre_sddp_policy_load(NULL, "x", &no_policy), "problem");
    refused(cobre_sddp_policy_load(problem, NULL, &no_policy), "path");
    refused(cobre_sddp_policy_load(problem, "x", NULL), "policy");
    refused(cobre_sddp_policy_read(NULL, &no_policy), "path");
    refused(cobre_sddp_policy_read("x", NULL), "policy");
    refused(cobre_sddp_policy_save(NULL, "x"), "policy");
    refused(cobre_sddp_policy_save(policy, NULL), "path");
    refused(cobre_sddp_policy_cut(NULL, 0, &cut, NULL), "policy");
    refused(cobre_sddp_policy_cut(policy, 0, NULL, NULL), "cut");
    refused(cobre_sddp_simulate(NULL, NULL, NULL), "policy");
    refused(cobre_sddp_decide(NULL, NULL), "policy");
    refused(cobre_sddp_problem_mean_noise(NULL, 0, &(double){0}), "problem");
    refused(cobre_sddp_problem_mean_noise(problem, 0, NULL), "noise");
    refused(cobre_sddp_state_from_text(NULL, 0, "store=1", &(double){0}), "problem");
    refused(cobre_sddp_state_from_text(problem, 0, NULL, &(double){0}), "text");
    refused(cobre_sddp_state_from_text(problem, 0, "store=1", NULL), "state");
    refused(cobre_sddp_noise_from_text(NULL, 0, NULL, "price=1", &(double){0}), "problem");
    refused(cobre_sddp_noise_from_text(problem, 0, NULL, NULL, &(double){0}), "text");
    refused(cobre_sddp_noise_from_text(problem, 0, NULL, "price=1", NULL), "noise");
    refused(cobre_sddp_report(NULL, 1, "x"), "folders");
    refused(cobre_sddp_report((const char *[]){NULL}, 1, "x"), "folders");
    refused(cobre_sddp_report((const char *[]){"x"}, 1, NULL), "path");
    cobre_sddp_policy_free(NULL);
    cobre_sddp_policy_free(&no_policy);
    cobre_sddp_problem_free(NULL);
    end_gas();
}

static void save_a_training(cobre_sddp_problem *of, const char *name) {
    cobre_sddp_train_options options = {.struct_size = sizeof options, .iterations = 6, .forward_passes = 3};
    cobre_sddp_policy *trained;
    CHECK_OK(cobre_sddp_train(of, &options, &trained, NULL));
    CHECK_OK(cobre_sddp_policy_save(trained, file(name)));
    cobre_sddp_policy_free(&trained);
}

/* Also on two ranks: rank 0 has loaded it alone, and it is gone when the other one is trained. */
static void a_problem_is_shared(void) {
    cobre_config alone = {.struct_size = sizeof alone, .backend = COBRE_LOCAL};
    cobre_comm *own;
    cobre_sddp_problem *mine = NULL;
    size_t sizes[2];
    CHECK_OK(cobre_comm_open(&alone, &own));
    kit_copy("gas.sof.json");
    if (cobre_rank(comm) == 0) {
        CHECK_OK(cobre_sddp_load(own, file("gas.sof.json"), NULL, &mine));
        save_a_training(mine, "one.cobre");
    }
    CHECK_OK(cobre_sddp_problem_share(comm, mine, &problem));
    cobre_sddp_problem_free(&mine);
    CHECK_TEXT(cobre_sddp_problem_state_name(problem, 0), "store");
    save_a_training(problem, "two.cobre");
    if (cobre_rank(comm) == 0) {
        char *one = kit_get("one.cobre", &sizes[0]), *two = kit_get("two.cobre", &sizes[1]);
        CHECK(sizes[0] == sizes[1] && memcmp(one, two, sizes[0]) == 0);
        free(one);
        free(two);
    }
    cobre_sddp_problem_free(&problem);
    refused(cobre_sddp_problem_share(comm, NULL, &problem), "problem");
    CHECK(!problem);
    cobre_comm_free(&own);
}

static void accessors_answer_to_anything(void) {
    cobre_sddp_cut cut = {.struct_size = sizeof cut};
    train_gas();
    CHECK(!cobre_sddp_policy_name(NULL) && !cobre_sddp_policy_solver(NULL) && !cobre_sddp_policy_node_name(NULL, 0));
    CHECK(!cobre_sddp_policy_maximises(NULL) && !cobre_sddp_policy_averse(NULL) &&
          isnan(cobre_sddp_policy_bound(NULL)));
    CHECK(!cobre_sddp_policy_states(NULL) && !cobre_sddp_policy_nodes(NULL) && !cobre_sddp_policy_cuts(NULL));
    CHECK(!cobre_sddp_policy_iterations(NULL) && !cobre_sddp_policy_seed(NULL));
    CHECK(!cobre_sddp_policy_state_name(NULL, 0) && !cobre_sddp_policy_node_stage(NULL, 0));
    CHECK(!cobre_sddp_policy_state_name(policy, 1) && !cobre_sddp_policy_state_name(policy, COBRE_SDDP_NONE));
    CHECK(!cobre_sddp_policy_node_name(policy, 5) && !cobre_sddp_policy_node_stage(policy, COBRE_SDDP_NONE));
    refused(cobre_sddp_policy_cut(policy, cobre_sddp_policy_cuts(policy), &cut, NULL), "index");
    CHECK_TEXT(cobre_sddp_policy_state_name(policy, 0), "store");
    CHECK_TEXT(cobre_sddp_policy_node_name(policy, 4), "3 tight");
    CHECK_EQ(cobre_sddp_policy_node_stage(policy, 4), 3);
    CHECK(!cobre_sddp_problem_name(NULL) && !cobre_sddp_problem_contents(NULL) && !cobre_sddp_problem_maximises(NULL));
    CHECK(!cobre_sddp_problem_states(NULL) && !cobre_sddp_problem_nodes(NULL) && !cobre_sddp_problem_averse(NULL));
    CHECK(!cobre_sddp_problem_has_noise_model(NULL) && !cobre_sddp_problem_state_name(NULL, 0));
    for (int i = 0; i < 2; i++) {
        const cobre_sddp_problem *p = i ? problem : NULL;
        CHECK(!cobre_sddp_problem_node_name(p, 5) && !cobre_sddp_problem_node_stage(p, 5));
        CHECK(!cobre_sddp_problem_columns(p, 5) && !cobre_sddp_problem_column_name(p, 5, 0));
        CHECK(!cobre_sddp_problem_rows(p, 5) && !cobre_sddp_problem_row_name(p, 5, 0));
        CHECK(!cobre_sddp_problem_randoms(p, 5) && !cobre_sddp_problem_random_name(p, 5, 0));
        CHECK(!cobre_sddp_problem_outcomes(p, 5));
    }
    CHECK(!cobre_sddp_problem_state_name(problem, 1));
    for (int i = 0; i < 3; i++) {
        double lower = 0, upper = 0;
        cobre_sddp_problem_state_limits(i ? problem : NULL, i == 1 ? 5 : 0, i == 2 ? 1 : 0, &lower, &upper);
        CHECK(isnan(lower) && isnan(upper));
    }
    cobre_sddp_problem_state_limits(problem, 0, 0, NULL, NULL);
    CHECK(isnan(cobre_sddp_problem_state_initial(NULL, 0)) && isnan(cobre_sddp_problem_state_initial(problem, 1)));
    refused(cobre_sddp_problem_mean_noise(problem, 5, &(double){0}), "node");
    refused(cobre_sddp_state_from_text(problem, 5, "store=1", &(double){0}), "node");
    refused(cobre_sddp_noise_from_text(problem, 5, NULL, "price=1", &(double){0}), "node");
    CHECK(!cobre_sddp_problem_column_name(problem, 0, cobre_sddp_problem_columns(problem, 0)));
    CHECK(!cobre_sddp_problem_row_name(problem, 0, cobre_sddp_problem_rows(problem, 0)));
    CHECK(!cobre_sddp_problem_random_name(problem, 0, cobre_sddp_problem_randoms(problem, 0)));
    end_gas();
}

static uint64_t iterations_of(const cobre_sddp_train_options *options) {
    cobre_sddp_policy *made;
    CHECK_OK(cobre_sddp_train(problem, options, &made, NULL));
    uint64_t iterations = cobre_sddp_policy_iterations(made);
    cobre_sddp_policy_free(&made);
    return iterations;
}

static size_t trajectories_of(const cobre_sddp_simulate_options *options) {
    cobre_sddp_simulation result = {.struct_size = sizeof result};
    CHECK_OK(cobre_sddp_simulate(policy, options, &result));
    return result.trajectories;
}

/* 0 is the first version; a newer program passes more than this library knows. */
static void options_of_any_version(void) {
    struct {
        cobre_sddp_train_options known;
        char unknown[40];
    } newer = {.known = {.struct_size = sizeof newer, .iterations = 3}};
    struct {
        cobre_sddp_simulate_options known;
        char unknown[40];
    } newer_simulate = {.known = {.struct_size = sizeof newer_simulate, .trajectories = 4}};
    memset(newer.unknown, 1, sizeof newer.unknown);
    train_gas();
    CHECK_EQ(iterations_of(&(cobre_sddp_train_options){.iterations = 3}), 3);
    CHECK_EQ(iterations_of(&newer.known), 3);
    CHECK_EQ(iterations_of(NULL), 100);
    CHECK_EQ(trajectories_of(&(cobre_sddp_simulate_options){.trajectories = 5}), 5);
    CHECK_EQ(trajectories_of(&newer_simulate.known), 4);
    CHECK_OK(cobre_sddp_validate(problem, &(cobre_sddp_validate_options){.has_value_bound = true, .value_bound = 1e3}));
    end_gas();
}

static void too_small_is_refused(void) {
    cobre_sddp_problem *no_problem = NULL;
    cobre_sddp_policy *no_policy = NULL;
    train_gas();
    for (size_t size = 1; size <= sizeof(size_t) + 1; size++) {
        refused(cobre_sddp_load(comm, "x", &(cobre_sddp_load_options){.struct_size = size}, &no_problem),
                "options.struct_size");
        refused(cobre_sddp_train(problem, &(cobre_sddp_train_options){.struct_size = size}, &no_policy, NULL),
                "options.struct_size");
        refused(cobre_sddp_train(problem, NULL, &no_policy, &(cobre_sddp_training){.struct_size = size}),
                "result.struct_size");
        refused(cobre_sddp_validate(problem, &(cobre_sddp_validate_options){.struct_size = size}),
                "options.struct_size");
        refused(cobre_sddp_simulate(policy, &(cobre_sddp_simulate_options){.struct_size = size}, NULL),
                "options.struct_size");
        refused(cobre_sddp_simulate(policy, NULL, &(cobre_sddp_simulation){.struct_size = size}), "result.struct_size");
        refused(cobre_sddp_decide(policy, &(cobre_sddp_decide_options){.struct_size = size}), "options.struct_size");
        refused(cobre_sddp_policy_cut(policy, 0, &(cobre_sddp_cut){.struct_size = size}, NULL), "result.struct_size");
        refused(cobre_sddp_solver_at(0, &(cobre_sddp_solver){.struct_size = size}), "result.struct_size");
        refused(cobre_set_error(&(cobre_error){.struct_size = size}), "error.struct_size");
    }
    /* The first version ends with this member; what comes after it is younger, and may be missing. */
    size_t first = offsetof(cobre_sddp_train_options, progress) + sizeof(void (*)(void));
    refused(cobre_sddp_train(problem, &(cobre_sddp_train_options){.struct_size = first - 1}, &no_policy, NULL),
            "options.struct_size");
    CHECK(!no_problem && !no_policy);
    end_gas();
}

/* More than there are iterations, and a sum that no number holds. */
static void a_window_of_any_size(void) {
    train_gas();
    cobre_sddp_training result = {0};
    cobre_sddp_policy *made;
    cobre_sddp_train_options options = {.iterations = 3, .forward_passes = 2, .window = UINT64_MAX};
    CHECK_OK(cobre_sddp_train(problem, &options, &made, &result));
    CHECK_EQ(result.window_passes, 6);
    cobre_sddp_policy_free(&made);
    end_gas();
}

/* Results stay within the struct, and struct_size stays the program's. */
static void results_have_their_room(void) {
    struct {
        cobre_sddp_training training;
        cobre_sddp_simulation simulation;
        cobre_sddp_cut cut;
        cobre_sddp_solver solver;
        unsigned char after[sizeof(cobre_sddp_cut)];
    } own;
    train_gas();
    for (size_t more = 0; more <= 8; more += 8) { /* a newer program's structs are longer: what we do not know stays */
        memset(&own, 0xa5, sizeof own);
        own.training.struct_size = more ? sizeof own.training + more : 0;
        cobre_sddp_policy *made;
        CHECK_OK(cobre_sddp_train(problem, &(cobre_sddp_train_options){.iterations = 2}, &made, &own.training));
        cobre_sddp_policy_free(&made);
        CHECK_EQ(own.training.struct_size, more ? sizeof own.training + more : 0);
        CHECK_EQ(own.training.iterations, 2);
        CHECK_EQ(own.training.stop, COBRE_SDDP_STOP_ITERATIONS);
        CHECK(own.training.seconds > 0);
        const double *effort = own.training.effort;
        CHECK(!more || (own.training.seconds >= effort[COBRE_SDDP_EFFORT_FORWARD] &&
                        effort[COBRE_SDDP_EFFORT_SIMULATION] == 0 && effort[COBRE_SDDP_EFFORT_SOLVES] > 0));
        CHECK_EQ(own.simulation.struct_size, 0xa5a5a5a5a5a5a5a5u);
        own.simulation.struct_size = more ? sizeof own.simulation + more : 0;
        CHECK_OK(cobre_sddp_simulate(policy, &(cobre_sddp_simulate_options){.trajectories = 3}, &own.simulation));
        CHECK_EQ(own.simulation.trajectories, 3);
        CHECK(own.simulation.minimum <= own.simulation.maximum);
        CHECK_EQ(own.cut.struct_size, 0xa5a5a5a5a5a5a5a5u);
        own.cut.struct_size = more ? sizeof own.cut + more : 0;
        double slopes[2] = {7, 7};
        CHECK_OK(cobre_sddp_policy_cut(policy, 0, &own.cut, slopes));
        CHECK_EQ(own.cut.outcome, COBRE_SDDP_NONE);
        CHECK(slopes[1] == 7); /* there is one state */
        own.solver.struct_size = more ? sizeof own.solver + more : 0;
        CHECK_OK(cobre_sddp_solver_at(0, &own.solver));
        CHECK_EQ(own.solver.struct_size, more ? sizeof own.solver + more : 0);
        CHECK(own.solver.name && own.solver.file);
        for (size_t i = 0; i < sizeof own.after; i++)
            CHECK_EQ(own.after[i], 0xa5);
    }
    end_gas();
}

static void unknown_values_are_refused(void) {
    cobre_sddp_policy *no_policy = NULL;
    train_gas();
    for (int sampling = -1; sampling < 80; sampling += 78)
        refused(cobre_sddp_simulate(policy, &(cobre_sddp_simulate_options){.sampling = (cobre_sddp_sampling)sampling},
                                    NULL),
                "options.sampling");
    refused(cobre_sddp_simulate(policy, &(cobre_sddp_simulate_options){.trajectories = SIZE_MAX}, NULL),
            "options.trajectories");
    refused(cobre_sddp_train(problem, &(cobre_sddp_train_options){.simulate_every = 1, .simulate_passes = SIZE_MAX},
                             &no_policy, NULL),
            "options.simulate_passes");
    refused(cobre_sddp_train(problem, &(cobre_sddp_train_options){.has_value_bound = true, .value_bound = NAN},
                             &no_policy, NULL),
            "options.value_bound");
    refused(
        cobre_sddp_validate(problem, &(cobre_sddp_validate_options){.has_value_bound = true, .value_bound = INFINITY}),
        "options.value_bound");
    for (size_t count = 0; count <= 7; count += 7)
        refused(cobre_sddp_report((const char *[]){"a", "b", "c", "d", "e", "f", "g"}, count, "x"), "count");
    CHECK_STATUS(cobre_sddp_validate(problem, &(cobre_sddp_validate_options){.solver = "pencil"}),
                 COBRE_SOLVER_NOT_AVAILABLE);
    end_gas();
}

/* The future value of a state is that of the lowest cut of its node, in a problem that maximises. */
typedef struct {
    const cobre_sddp_policy *policy;
    size_t stages;
} watch;

static void on_stage(void *arg, const cobre_sddp_stage *stage) {
    watch *seen = arg;
    double lowest = INFINITY;
    CHECK_EQ(stage->struct_size, sizeof *stage);
    for (uint64_t c = 0; c < cobre_sddp_policy_cuts(seen->policy); c++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        double slope;
        CHECK_OK(cobre_sddp_policy_cut(seen->policy, c, &cut, &slope));
        if (cut.node == stage->node)
            lowest = fmin(lowest, cut.intercept + slope * stage->state_out[0]);
    }
    if (lowest < INFINITY)
        CHECK_NEAR(stage->future_cost, lowest, 1e-6 * fmax(1, fabs(lowest)));
    seen->stages += lowest < INFINITY;
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    CHECK_EQ(progress->struct_size, sizeof *progress);
    ++*(size_t *)arg;
}

static void cuts_of_a_problem_that_maximises(void) {
    size_t rows = 0;
    train_gas();
    cobre_sddp_policy_free(&policy);
    cobre_sddp_train_options options = {
        .struct_size = sizeof options, .iterations = 30, .arg = &rows, .progress = on_progress};
    CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
    CHECK_EQ(rows, 30);
    CHECK(cobre_sddp_policy_maximises(policy));
    watch seen = {.policy = policy};
    CHECK_OK(cobre_sddp_simulate(
        policy, &(cobre_sddp_simulate_options){.trajectories = 20, .arg = &seen, .stage = on_stage}, NULL));
    CHECK(seen.stages >= 40);
    end_gas();
}

static void check_same(const cobre_sddp_policy *a, const cobre_sddp_policy *b) {
    CHECK_TEXT(cobre_sddp_policy_name(a), cobre_sddp_policy_name(b));
    CHECK_TEXT(cobre_sddp_policy_solver(a), cobre_sddp_policy_solver(b));
    CHECK_EQ(cobre_sddp_policy_maximises(a), cobre_sddp_policy_maximises(b));
    CHECK_EQ(cobre_sddp_policy_averse(a), cobre_sddp_policy_averse(b));
    CHECK_EQ(cobre_sddp_policy_iterations(a), cobre_sddp_policy_iterations(b));
    CHECK_EQ(cobre_sddp_policy_seed(a), cobre_sddp_policy_seed(b));
    CHECK(cobre_sddp_policy_bound(a) == cobre_sddp_policy_bound(b));
    CHECK_EQ(cobre_sddp_policy_states(a), cobre_sddp_policy_states(b));
    for (size_t s = 0; s < cobre_sddp_policy_states(a); s++)
        CHECK_TEXT(cobre_sddp_policy_state_name(a, s), cobre_sddp_policy_state_name(b, s));
    CHECK_EQ(cobre_sddp_policy_nodes(a), cobre_sddp_policy_nodes(b));
    for (size_t n = 0; n < cobre_sddp_policy_nodes(a); n++) {
        CHECK_TEXT(cobre_sddp_policy_node_name(a, n), cobre_sddp_policy_node_name(b, n));
        CHECK_EQ(cobre_sddp_policy_node_stage(a, n), cobre_sddp_policy_node_stage(b, n));
    }
    CHECK_EQ(cobre_sddp_policy_cuts(a), cobre_sddp_policy_cuts(b));
    for (uint64_t c = 0; c < cobre_sddp_policy_cuts(a); c++) {
        cobre_sddp_cut x = {.struct_size = sizeof x}, y = x;
        double slope[2];
        CHECK_OK(cobre_sddp_policy_cut(a, c, &x, &slope[0]));
        CHECK_OK(cobre_sddp_policy_cut(b, c, &y, &slope[1]));
        CHECK_BYTES(&x, &y, sizeof x);
        CHECK(slope[0] == slope[1]);
    }
}

static void a_policy_is_read_alone(void) {
    cobre_sddp_policy *alone;
    train_gas();
    for (int multi = 0; multi < 2; multi++) {
        cobre_sddp_train_options options = {.multi_cut = multi, .iterations = 4, .seed = 7, .has_risk = multi};
        options.risk_alpha = options.risk_beta = 0.5;
        cobre_sddp_policy_free(&policy);
        CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
        CHECK_OK(cobre_sddp_policy_save(policy, file("policy.cobre")));
        CHECK_OK(cobre_sddp_policy_read(file("policy.cobre"), &alone));
        check_same(alone, policy);
        CHECK_EQ(cobre_sddp_policy_averse(alone), multi);
        refused(cobre_sddp_simulate(alone, NULL, NULL), "policy");
        refused(cobre_sddp_policy_save(alone, file("again.cobre")), "policy");
        cobre_sddp_policy_free(&alone);
    }
    CHECK_STATUS(cobre_sddp_policy_read(file("nowhere"), &alone), COBRE_FILE_FAILED);
    CHECK(!alone);
    end_gas();
}

static int calls_left; /* of `stop` before it answers */
static int stop_answer;
static int stop_then(void *arg) {
    (void)arg;
    return calls_left > 0 && --calls_left > 0 ? 0 : stop_answer;
}

/* A file in memory: policies and checkpoints go there, each in the place of the one before. */
static void a_descriptor_is_written(void) {
    char path[64];
    off_t sizes[2];
    int memory = memfd_create("policy", MFD_CLOEXEC);
    CHECK(memory >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    cobre_sddp_train_options options = {.iterations = 3, .checkpoint = path, .checkpoint_every = 1};
    train_gas();
    CHECK_OK(cobre_sddp_policy_save(policy, path));
    sizes[0] = lseek(memory, 0, SEEK_END);
    cobre_sddp_policy_free(&policy);
    CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
    sizes[1] = lseek(memory, 0, SEEK_END);
    CHECK(sizes[1] > 0 && sizes[1] < sizes[0]);
    double bound = cobre_sddp_policy_bound(policy);
    cobre_sddp_policy_free(&policy);
    CHECK_OK(cobre_sddp_policy_load(problem, path, &policy));
    CHECK_EQ(cobre_sddp_policy_iterations(policy), 3);
    CHECK(cobre_sddp_policy_bound(policy) == bound);
    end_gas();
    close(memory);
}

/* Wherever it is told to end now, the policy is that of the last complete iteration, and what goes on from it comes to the
 * bits of a training without the break. */
static void ends_between_two_lps(void) {
    size_t whole_size, size;
    cobre_sddp_train_options options = {.iterations = 3, .forward_passes = 2, .multi_cut = true};
    train_gas();
    cobre_sddp_policy_free(&policy);
    CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
    CHECK_OK(cobre_sddp_policy_save(policy, file("whole.cobre")));
    char *whole = kit_get("whole.cobre", &whole_size);
    uint64_t last = 0;
    size_t empty = 0, unfinished = 0, finished = 0;
    stop_answer = 2;
    for (int calls = 1; last < 3; calls++) {
        char path[512];
        cobre_sddp_training result = {.struct_size = sizeof result};
        cobre_sddp_policy_free(&policy);
        snprintf(path, sizeof path, "%s", file("part.cobre"));
        unlink(path);
        options.checkpoint = path;
        options.resume = NULL;
        options.stop = stop_then;
        calls_left = calls;
        CHECK_OK(cobre_sddp_train(problem, &options, &policy, &result));
        CHECK(result.iterations >= last && result.iterations == cobre_sddp_policy_iterations(policy));
        unfinished += result.unfinished;
        finished += result.stop == COBRE_SDDP_STOP_ASKED && !result.unfinished; /* asked after an iteration */
        last = result.iterations;
        CHECK_EQ(access(path, F_OK) == 0, last > 0); /* there is nothing to save before */
        empty += last == 0;
        if (last == 0)
            CHECK_EQ(cobre_sddp_policy_cuts(policy), 0);
        if (last == 0 || last == 3)
            continue;
        CHECK(result.stop == COBRE_SDDP_STOP_ASKED);
        cobre_sddp_policy_free(&policy);
        options.stop = NULL;
        options.resume = path;
        CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
        char *bytes = kit_get("part.cobre", &size);
        CHECK_EQ(size, whole_size);
        CHECK_BYTES(bytes, whole, size);
        free(bytes);
    }
    CHECK(empty > 10 && unfinished > 2 * empty);
    CHECK_EQ(finished, 3);
    free(whole);
    end_gas();
}

/* An error with a remedy; the program's own mask and handler stay. */
static void file_that_outgrows_its_limit(void) {
    struct rlimit old, small = {.rlim_cur = 512};
    sigset_t mask, pending;
    train_gas();
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small.rlim_max = old.rlim_max;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_STATUS(cobre_sddp_policy_save(policy, file("large.cobre")), COBRE_FILE_FAILED);
    CHECK_HOLDS(cobre_last_error()->message, "large.cobre: cannot write: no file may be larger than 512 bytes");
    CHECK_HOLDS(cobre_last_error()->suggestion, "ulimit -f");
    CHECK_STATUS(cobre_sddp_problem_write(problem, file("large.sof.json")), COBRE_FILE_FAILED);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(access(file("large.cobre.part"), F_OK) != 0 && access(file("large.cobre"), F_OK) != 0);
    CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, SIGXFSZ));
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
    CHECK(signal(SIGXFSZ, SIG_DFL) == SIG_DFL);
    end_gas();
}

/* All that can be asked of a policy, whatever was in its file. */
static void ask_all(const cobre_sddp_policy *p) {
    double *slopes = calloc(cobre_sddp_policy_states(p) + 1, sizeof *slopes);
    size_t length = strlen(cobre_sddp_policy_name(p)) + strlen(cobre_sddp_policy_solver(p));
    for (size_t s = 0; s < cobre_sddp_policy_states(p); s++)
        length += strlen(cobre_sddp_policy_state_name(p, s));
    for (size_t n = 0; n < cobre_sddp_policy_nodes(p); n++)
        length += strlen(cobre_sddp_policy_node_name(p, n));
    CHECK(length > 0);
    for (uint64_t c = 0; c < cobre_sddp_policy_cuts(p); c++) {
        cobre_sddp_cut cut = {.struct_size = sizeof cut};
        CHECK_OK(cobre_sddp_policy_cut(p, c, &cut, slopes));
        CHECK(cut.node < cobre_sddp_policy_nodes(p));
    }
    (void)cobre_sddp_policy_bound(p);
    free(slopes);
}

/* Simulates and resumes: numbers may be wrong, but nothing else. */
static void use(cobre_sddp_policy *p, bool multi_cut) {
    cobre_sddp_policy *more;
    cobre_sddp_train_options options = {
        .multi_cut = multi_cut, .iterations = 2, .resume = file("policy.cobre"), .lp_folder = kit_folder};
    (void)cobre_sddp_simulate(p, &(cobre_sddp_simulate_options){.trajectories = 2, .lp_folder = kit_folder}, NULL);
    (void)cobre_sddp_train(problem, &options, &more, NULL);
    cobre_sddp_policy_free(&more);
}

/* Reads it alone and for its problem. True: both refuse. */
static bool is_refused(bool multi_cut) {
    cobre_sddp_policy *got;
    bool all = true;
    for (int alone = 0; alone < 2; alone++) {
        cobre_status status = alone ? cobre_sddp_policy_read(file("policy.cobre"), &got)
                                    : cobre_sddp_policy_load(problem, file("policy.cobre"), &got);
        CHECK_SAY(!status || status == COBRE_INVALID_POLICY, "%s", cobre_last_error()->message);
        CHECK_EQ(got == NULL, status != COBRE_OK);
        if (!status)
            ask_all(got);
        if (!status && !alone)
            use(got, multi_cut);
        if (status)
            CHECK_HOLDS(cobre_last_error()->message, "policy.cobre: ");
        cobre_sddp_policy_free(&got);
        all &= status != COBRE_OK;
    }
    return all;
}

static void put_words(uint64_t *word, size_t words) {
    word[words - 1] = CB_HASH_START;
    cb_hash_words(&word[words - 1], word, words - 1);
    kit_put_bytes("policy.cobre", word, words * sizeof *word);
}

/* With a checksum that is right: every word of the file is something else in turn. */
static void bend_words(uint64_t *word, size_t words, bool multi) {
    static const uint64_t strange[] = {
        0, 1, UINT32_MAX, (uint64_t)1 << 32, UINT64_MAX, 0x4141414141414141, 0x7ff8000000000000};
    size_t refusals = 0;
    for (size_t w = 0; w < words - 1; w++)
        for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
            uint64_t kept = word[w];
            word[w] = strange[i];
            put_words(word, words);
            refusals += is_refused(multi);
            word[w] = kept;
        }
    CHECK(refusals > 50);
}

static void damaged_files_are_refused(void) {
    size_t size;
    train_gas();
    for (int multi = 0; multi < 2; multi++) {
        cobre_sddp_policy_free(&policy);
        cobre_sddp_train_options options = {.multi_cut = multi, .iterations = 1};
        CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
        CHECK_OK(cobre_sddp_policy_save(policy, file("policy.cobre")));
        char *bytes = kit_get("policy.cobre", &size);
        CHECK_EQ(size % 8, 0);
        for (size_t length = 0; length < size; length += 1 + length / 9) {
            kit_put_bytes("policy.cobre", bytes, length);
            CHECK(is_refused(multi));
        }
        for (size_t at = 0; at < size; at += 1 + at / 40) {
            bytes[at] ^= 16;
            kit_put_bytes("policy.cobre", bytes, size);
            CHECK(is_refused(multi));
            bytes[at] ^= 16;
        }
        uint64_t *word = malloc(size);
        CHECK(word);
        memcpy(word, bytes, size);
        bend_words(word, size / sizeof *word, multi);
        word[1]--; /* the version */
        put_words(word, size / sizeof *word);
        CHECK(is_refused(multi));
        CHECK_HOLDS(cobre_last_error()->message, "written by an older version of cobre");
        free(word);
        free(bytes);
    }
    end_gas();
}

/* All demand must be met, and a first pass leaves nothing for "2 tight": the LP fails on the rank that comes there. */
static void failure_of_rank_1(void) {
    if (cobre_size(comm) != 2) {
        puts("skipped: this is about two ranks");
        return;
    }
    kit_copy("gas.sof.json");
    kit_edit("gas.sof.json", "\"LessThan\", \"upper\": 0", "\"EqualTo\", \"value\": 0");
    kit_edit("gas.sof.json",
             "\"3 tight\": {\n            \"subproblem\": \"trade\",\n            \"realizations\": [\n"
             "                {\"probability\": 0.4, \"support\": {\"price\": 8, \"demand\": 5}},\n"
             "                {\"probability\": 0.6, \"support\": {\"price\": 12, \"demand\": 6}}\n",
             "\"3 tight\": {\n            \"subproblem\": \"trade\",\n            \"realizations\": [\n"
             "                {\"probability\": 1, \"support\": {\"price\": 8, \"demand\": 4}}\n");
    CHECK_OK(cobre_sddp_load(comm, file("gas.sof.json"), NULL, &problem));
    const cobre_error *error = cobre_last_error();
    bool found = false;
    for (uint64_t seed = 0; seed < 200 && !found; seed++) {
        cobre_sddp_train_options options = {
            .iterations = 20, .forward_passes = 2, .seed = seed, .lp_folder = kit_folder};
        CHECK_STATUS(cobre_sddp_train(problem, &options, &policy, NULL), COBRE_LP_FAILED);
        CHECK(!policy);
        CHECK_EQ(error->rank, cobre_rank(comm));
        CHECK(error->culprit < 2);
        found = error->culprit == 1;
    }
    CHECK(found);
    char json[8192], expected[64];
    CHECK(cobre_error_json(error, json, sizeof json) < sizeof json);
    check_error_json(error);
    snprintf(expected, sizeof expected, "\"rank\": %zu, \"culprit\": 1,", cobre_rank(comm));
    CHECK_HOLDS(json, expected);
    CHECK_HOLDS(error->message, "rank 1: node ");
    CHECK_OK(cobre_barrier(comm)); /* the communicator is whole */
    cobre_sddp_problem_free(&problem);
}

/* x >= demand, and x costs 2. */
static size_t add_shop(cobre_sddp_builder *builder, const char *name) {
    size_t node = cobre_sddp_add_node(builder, name, 0), x = cobre_sddp_add_column(builder, node, "x", 0, 10, 2);
    size_t row = cobre_sddp_add_row(builder, node, "demand", 0, INFINITY);
    cobre_sddp_add_entry(builder, node, row, x, 1);
    cobre_sddp_add_noise(builder, node, cobre_sddp_add_random(builder, node, "demand"), 1, COBRE_SDDP_NOISE_ROW_LOWER,
                         row, 0);
    return node;
}

/* Outcomes and edges of probability 0: nobody solves what they lead to, and a given scenario takes such an edge. */
static void what_never_happens(void) {
    const double none = 0, some = 3, other = 5, far_too_much = 99;
    for (int multi = 0; multi < 2; multi++) {
        cobre_sddp_builder *builder;
        CHECK_OK(cobre_sddp_builder_new("shop", false, &builder));
        size_t today = add_shop(builder, "today"), never = add_shop(builder, "never"),
               later = add_shop(builder, "later");
        cobre_sddp_add_outcome(builder, today, 1, &none);
        cobre_sddp_add_outcome(builder, never, 1, &far_too_much);
        cobre_sddp_add_outcome(builder, later, 0, &far_too_much);
        cobre_sddp_add_outcome(builder, later, 0.5, &some);
        cobre_sddp_add_outcome(builder, later, 0, &far_too_much);
        cobre_sddp_add_outcome(builder, later, 0.5, &other);
        cobre_sddp_add_outcome(builder, later, 0, &far_too_much);
        cobre_sddp_add_edge(builder, COBRE_SDDP_ROOT, never, 0, 1);
        cobre_sddp_add_edge(builder, COBRE_SDDP_ROOT, today, 1, 1);
        cobre_sddp_add_edge(builder, today, never, 0, 0.5);
        cobre_sddp_add_edge(builder, today, later, 1, 1);
        size_t scenario = cobre_sddp_add_scenario(builder);
        cobre_sddp_add_step(builder, scenario, today, &some);
        cobre_sddp_add_step(builder, scenario, never, &some);
        CHECK_OK(cobre_sddp_finish(comm, &builder, NULL, &problem));
        CHECK_EQ(cobre_sddp_problem_outcomes(problem, later), 2);
        cobre_sddp_train_options options = {.multi_cut = multi, .iterations = 3, .lp_folder = kit_folder};
        cobre_sddp_simulate_options in_sample = {.trajectories = 50},
                                    given = {.sampling = COBRE_SDDP_GIVEN, .lp_folder = kit_folder};
        cobre_sddp_simulation result = {.struct_size = sizeof result};
        CHECK_OK(cobre_sddp_validate(problem, NULL));
        CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
        CHECK_NEAR(cobre_sddp_policy_bound(policy), 8, 1e-9);
        CHECK_OK(cobre_sddp_simulate(policy, &in_sample, &result));
        CHECK_NEAR(result.minimum, 6, 1e-9);
        CHECK_NEAR(result.maximum, 10, 1e-9);
        CHECK_OK(cobre_sddp_simulate(policy, &given, &result));
        CHECK_NEAR(result.mean, 6 + 0.5 * 6, 1e-9);
        end_gas();
    }
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(null_is_refused),
        CHECK_CASE(a_problem_is_shared),
        CHECK_CASE(accessors_answer_to_anything),
        CHECK_CASE(options_of_any_version),
        CHECK_CASE(too_small_is_refused),
        CHECK_CASE(results_have_their_room),
        CHECK_CASE(a_window_of_any_size),
        CHECK_CASE(unknown_values_are_refused),
        CHECK_CASE(cuts_of_a_problem_that_maximises),
        CHECK_CASE(a_policy_is_read_alone),
        CHECK_CASE(a_descriptor_is_written),
        CHECK_CASE(ends_between_two_lps),
        CHECK_CASE(file_that_outgrows_its_limit),
        CHECK_CASE(damaged_files_are_refused),
        CHECK_CASE(failure_of_rank_1),
        CHECK_CASE(what_never_happens),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(NULL, &comm));
    int failed = kit_main(argc, argv, cases);
    cobre_comm_free(&comm);
    return failed;
}
