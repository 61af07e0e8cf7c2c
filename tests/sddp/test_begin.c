/* SPDX-License-Identifier: Apache-2.0 */
/* test_begin.c: simulations that begin at any node in any state, decisions of one stage, and the texts that give both. What
 * a trajectory did from a stage on is what one does that begins there, with the same state and inflows. */
#include <math.h>
#include <unistd.h>

#include "sddp/hydro_kit.h"

enum { STAGES = 24, BEGIN = 6, TRAJECTORIES = 4, MOST = 8, COLUMNS = 128 };
#define RIO "../tests/cases/rio"
#define RIOPAR "../tests/cases/riopar"

static cobre_comm *comm;
static cobre_sddp_problem *problem;
static cobre_sddp_policy *policy;

/* A stage as it was told. */
typedef struct {
    size_t node, outcome, columns;
    double cost, future, discount, noise[MOST], in[MOST], inflow[MOST], column[COLUMNS];
} told;

static told seen[TRAJECTORIES][STAGES], again[TRAJECTORIES][STAGES];

static void keep(void *arg, const cobre_sddp_stage *stage) {
    told(*table)[STAGES] = arg;
    if (stage->trajectory >= TRAJECTORIES)
        return;
    told *one = &table[stage->trajectory][stage->step];
    *one = (told){.node = stage->node,
                  .outcome = stage->outcome,
                  .columns = cobre_sddp_problem_columns(problem, stage->node),
                  .cost = stage->stage_cost,
                  .future = stage->future_cost,
                  .discount = stage->discount};
    size_t inflows = 0;
    CHECK(one->columns <= COLUMNS && cobre_sddp_problem_states(problem) <= MOST);
    memcpy(one->noise, stage->noise, cobre_sddp_problem_randoms(problem, stage->node) * sizeof(double));
    memcpy(one->in, stage->state_in, cobre_sddp_problem_states(problem) * sizeof(double));
    memcpy(one->column, stage->columns, one->columns * sizeof(double));
    for (size_t j = 0; j < one->columns; j++)
        if (strncmp(cobre_sddp_problem_column_name(problem, stage->node, j), "inflow[", 7) == 0)
            one->inflow[inflows++] = stage->columns[j];
}

static void load(const char *scenarios) {
    CHECK_OK(cobre_sddp_load(comm, kit_folder, &(cobre_sddp_load_options){.scenarios = scenarios}, &problem));
}

static void train(void) {
    cobre_sddp_train_options options = {.struct_size = sizeof options, .iterations = 4, .lp_folder = kit_folder};
    CHECK_OK(cobre_sddp_train(problem, &options, &policy, NULL));
}

static void end(void) {
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
}

static const char *beside(const char *name) { /* the folder has nothing but tables of a case */
    static char path[2][160];
    static int next;
    snprintf(path[next ^= 1], sizeof *path, "%s-%s", kit_folder, name);
    return path[next];
}

static void put_beside(const char *name, const char *text) {
    FILE *file = fopen(beside(name), "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The same case with a table of scenarios, and its policy. */
static void load_again(const char *scenarios) {
    CHECK_OK(cobre_sddp_policy_save(policy, beside("policy")));
    end();
    load(scenarios);
    CHECK_OK(cobre_sddp_policy_load(problem, beside("policy"), &policy));
    CHECK(!cobre_sddp_policy_difference(policy));
    CHECK_EQ(unlink(beside("policy")), 0);
}

static cobre_sddp_simulate_options given_from(size_t node, const double *state) {
    return (cobre_sddp_simulate_options){.struct_size = sizeof(cobre_sddp_simulate_options),
                                         .sampling = COBRE_SDDP_GIVEN,
                                         .lp_folder = kit_folder,
                                         .arg = again,
                                         .stage = keep,
                                         .has_node = true,
                                         .node = node,
                                         .state = state};
}

/* tolerance: relative. */
static void same_from(size_t trajectory, size_t begin, double tolerance) {
    for (size_t k = begin; k < STAGES; k++) {
        const told *one = &seen[trajectory][k], *other = &again[trajectory][k - begin];
        CHECK_EQ(other->node, one->node);
        CHECK_SAY(fabs(other->cost - one->cost) <= tolerance * fabs(one->cost),
                  "trajectory %zu, stage %zu: %.17g is %.17g", trajectory + 1, k + 1, one->cost, other->cost);
        for (size_t s = 0; s < cobre_sddp_problem_states(problem); s++)
            CHECK_NEAR(other->in[s], one->in[s], tolerance * (1 + fabs(one->in[s])));
        CHECK_NEAR(other->discount, one->discount / seen[trajectory][begin].discount, 1e-12);
    }
}

static void simulate_again(size_t begin, double tolerance) {
    for (size_t m = 0; m < TRAJECTORIES; m++) {
        cobre_sddp_simulate_options options = given_from(begin, seen[m][begin].in);
        CHECK_OK(cobre_sddp_simulate(policy, &options, NULL));
        same_from(m, begin, tolerance);
    }
}

static void history(void) {
    kit_copy(RIO);
    load(NULL);
    train();
    cobre_sddp_simulate_options options = {
        .sampling = COBRE_SDDP_GIVEN, .lp_folder = kit_folder, .arg = seen, .stage = keep};
    CHECK_OK(cobre_sddp_simulate(policy, &options, NULL));
    simulate_again(BEGIN, 0);
    simulate_again(0, 0);
    end();
}

/* Inflows of the trajectories that were seen, from stage `begin` on, with all their digits. */
static void write_inflows(size_t begin) {
    FILE *file = fopen(beside("inflows.csv"), "w");
    CHECK(file);
    fprintf(file, "scenario,stage,Serra Alta,Pedra Branca,Foz do Sul\n");
    for (size_t m = 0; m < TRAJECTORIES; m++)
        for (size_t k = begin; k < STAGES; k++)
            fprintf(file, "%zu,%zu,%.17g,%.17g,%.17g\n", m + 1, k + 1, seen[m][k].inflow[0], seen[m][k].inflow[1],
                    seen[m][k].inflow[2]);
    CHECK_EQ(fclose(file), 0);
}

static void load_riopar(bool lognormal, bool first_known) {
    kit_copy(RIOPAR);
    if (lognormal)
        kit_edit("case.json", "\"source\": \"par\"", "\"source\": \"par\", \"noise\": \"lognormal\"");
    if (lognormal) /* smaller noise: the logarithm's */
        kit_put("par.csv", "hydro,mean,scale,noise,phi1,phi2\nSerra Alta,500,150,0.2,0.5,0.2\n"
                           "Pedra Branca,120,40,0.3,0.6,\nFoz do Sul,300,90,0.25,0.4,0.1\n");
    if (lognormal)
        kit_put("past_inflows.csv", "lag,Serra Alta,Pedra Branca,Foz do Sul\n1,400,100,250\n2,450,,300\n");
    if (first_known)
        kit_put("hydros.csv", "hydro,subsystem,productivity,storage_min,storage_max,storage_initial,turbine_max,"
                              "spill_cost,downstream,first_inflow\n"
                              "Serra Alta,Norte,0.9,500,5000,2800,800,0.01,Pedra Branca,300\n"
                              "Pedra Branca,Norte,0.45,,,,950,0.01,Foz do Sul,80\n"
                              "Foz do Sul,Sul,0.7,200,1800,1000,1300,0.01,,200\n");
    load(NULL);
}

/* Inflows of a model, as a scenario: the noise that makes them is found from the state, wherever it begins. */
static void inflows_of_a_model(bool lognormal, bool first_known) {
    load_riopar(lognormal, first_known);
    train();
    cobre_sddp_simulate_options options = {.sampling = COBRE_SDDP_OUT_OF_SAMPLE,
                                           .trajectories = TRAJECTORIES,
                                           .lp_folder = kit_folder,
                                           .arg = seen,
                                           .stage = keep};
    CHECK_OK(cobre_sddp_simulate(policy, &options, NULL));
    write_inflows(0);
    load_again(beside("inflows.csv"));
    options = (cobre_sddp_simulate_options){.sampling = COBRE_SDDP_GIVEN, .arg = again, .stage = keep};
    CHECK_OK(cobre_sddp_simulate(policy, &options, NULL));
    for (size_t m = 0; m < TRAJECTORIES; m++)
        same_from(m, 0, 1e-9);
    simulate_again(BEGIN, 1e-9);
    write_inflows(BEGIN);
    load_again(beside("inflows.csv"));
    simulate_again(BEGIN, 1e-9);
    CHECK_STATUS(cobre_sddp_simulate(policy, &options, NULL), COBRE_INVALID_ARGUMENT);
    CHECK_HOLDS(cobre_last_error()->message, "scenario 1 begins at node 7, which is not where the case begins");
    CHECK_HOLDS(cobre_last_error()->suggestion, "--stage");
    CHECK_EQ(unlink(beside("inflows.csv")), 0);
    end();
}

static void inflows_normal(void) {
    inflows_of_a_model(false, false);
}

static void inflows_lognormal(void) {
    inflows_of_a_model(true, false);
}

static void inflows_first_known(void) {
    inflows_of_a_model(false, true);
    inflows_of_a_model(true, true);
}

/* An inflow that no noise makes is an error, and says where. */
static void impossible_inflows(void) {
    load_riopar(true, false);
    train();
    put_beside("inflows.csv", "scenario,stage,Serra Alta,Pedra Branca,Foz do Sul\n"
                              "a,7,300,100,200\na,8,300,100,200\nb,7,300,100,200\nb,8,300,-5,200\n");
    load_again(beside("inflows.csv"));
    cobre_sddp_simulate_options options = given_from(BEGIN, NULL);
    CHECK_STATUS(cobre_sddp_simulate(policy, &options, NULL), COBRE_INVALID_CASE);
    CHECK_HOLDS(cobre_last_error()->message, "scenario 2, step 2 (node 8): inflow[Pedra Branca] cannot be -5");
    CHECK_HOLDS(cobre_last_error()->message, "lognormal");
    CHECK_HOLDS(cobre_last_error()->suggestion, "give inflows above 0");
    CHECK_STATUS(cobre_sddp_problem_write(problem, beside("problem.sof.json")), COBRE_INVALID_ARGUMENT);
    CHECK_HOLDS(cobre_last_error()->message, "its scenarios are inflows that a model makes");
    options = given_from(BEGIN + 2, NULL);
    CHECK_STATUS(cobre_sddp_simulate(policy, &options, NULL), COBRE_INVALID_ARGUMENT);
    CHECK_TEXT(cobre_last_error()->message, "scenario 1 has no step at node 9");
    CHECK_EQ(unlink(beside("inflows.csv")), 0);
    end();
}

static void refused(cobre_status status, const char *message, const char *suggestion) {
    CHECK_STATUS(status, COBRE_INVALID_ARGUMENT);
    CHECK_HOLDS(cobre_last_error()->message, message);
    CHECK_HOLDS(cobre_last_error()->suggestion, suggestion);
}

static void wrong_beginnings(void) {
    kit_copy(RIO);
    load(NULL);
    train();
    cobre_sddp_simulate_options options = given_from(STAGES, NULL);
    refused(cobre_sddp_simulate(policy, &options, NULL), "options.node is 24, but the problem has 24 nodes", "from 0");
    const double wrong[][2] = {{NAN, 500}, {INFINITY, 500}, {500, 199.999}, {5001, 500}, {-1, 500}};
    const char *const messages[] = {"storage[Serra Alta] cannot be nan", "storage[Serra Alta] cannot be inf",
                                    "storage[Foz do Sul] cannot be 199.999: at node 7 it must be from 200 to 1800",
                                    "storage[Serra Alta] cannot be 5001: at node 7 it must be from 500 to 5000",
                                    "storage[Serra Alta] cannot be -1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options = given_from(BEGIN, wrong[i]);
        refused(cobre_sddp_simulate(policy, &options, NULL), messages[i], "within these limits");
        cobre_sddp_decide_options one = {.node = BEGIN, .state = wrong[i]};
        refused(cobre_sddp_decide(policy, &one), messages[i], "within these limits");
        options.has_node = false;
        CHECK_STATUS(cobre_sddp_simulate(policy, &options, NULL), COBRE_INVALID_ARGUMENT);
    }
    const double noise[] = {1e300, 1, 1}, rounded[] = {5000.000001, 199.99999995};
    refused(cobre_sddp_decide(policy, &(cobre_sddp_decide_options){.noise = noise}), "its noise is given as 1e+300",
            "smaller number");
    refused(cobre_sddp_decide(policy, &(cobre_sddp_decide_options){.node = STAGES}), "options.node is 24", "from 0");
    options = given_from(BEGIN, rounded); /* what a table of ten digits may make of a limit */
    CHECK_OK(cobre_sddp_simulate(policy, &options, NULL));
    CHECK(again[0][0].in[0] == 5000 && again[0][0].in[1] == 200);
    end();
}

/* A sample from a node on is the same whenever it is drawn, and starts with all of a cost's worth. */
static void samples(void) {
    cobre_sddp_simulation one = {.struct_size = sizeof one}, other = one;
    const double low[] = {700, 300, 200, 50, 120}, high[] = {4800, 1700, 200, 50, 120};
    load_riopar(false, false);
    train();
    for (cobre_sddp_sampling sampling = COBRE_SDDP_IN_SAMPLE; sampling <= COBRE_SDDP_OUT_OF_SAMPLE; sampling++) {
        cobre_sddp_simulate_options options = given_from(BEGIN, low);
        options.sampling = sampling;
        options.trajectories = TRAJECTORIES;
        CHECK_OK(cobre_sddp_simulate(policy, &options, &one));
        for (size_t m = 0; m < TRAJECTORIES; m++) {
            CHECK_EQ(again[m][0].node, BEGIN);
            CHECK(again[m][0].discount == 1 && again[m][1].discount < 1);
            CHECK_BYTES(again[m][0].in, low, sizeof low);
            CHECK_EQ(again[m][0].outcome == COBRE_SDDP_NONE, sampling == COBRE_SDDP_OUT_OF_SAMPLE);
        }
        options.state = high;
        CHECK_OK(cobre_sddp_simulate(policy, &options, &other));
        CHECK(one.mean > other.mean);
        options.has_node = false;
        CHECK_OK(cobre_sddp_simulate(policy, &options, &other));
        CHECK_EQ(again[0][0].node, 0);
        CHECK_BYTES(again[0][0].in, high, sizeof high);
    }
    end();
}

/* A decision is a step of a simulation. */
static void same_decision(size_t m, size_t k, told one[1][STAGES]) {
    const told *step = &seen[m][k];
    cobre_sddp_decide_options options = {.struct_size = sizeof options,
                                         .node = k,
                                         .state = step->in,
                                         .noise = step->noise,
                                         .lp_folder = kit_folder,
                                         .arg = one,
                                         .stage = keep};
    CHECK_OK(cobre_sddp_decide(policy, &options));
    CHECK_EQ(one[0][0].node, k);
    CHECK_EQ(one[0][0].outcome, COBRE_SDDP_NONE);
    CHECK_EQ(one[0][0].columns, step->columns);
    CHECK(one[0][0].cost == step->cost && one[0][0].future == step->future && one[0][0].discount == 1);
    CHECK_BYTES(one[0][0].column, step->column, sizeof step->column);
}

static void decisions(void) {
    static told one[1][STAGES];
    for (int par = 0; par < 2; par++) {
        kit_copy(par ? RIOPAR : RIO);
        load(NULL);
        train();
        cobre_sddp_simulate_options options = {.sampling = par ? COBRE_SDDP_OUT_OF_SAMPLE : COBRE_SDDP_GIVEN,
                                               .trajectories = par ? TRAJECTORIES : 0,
                                               .arg = seen,
                                               .stage = keep};
        CHECK_OK(cobre_sddp_simulate(policy, &options, NULL));
        for (size_t k = 0; k < STAGES; k += 5)
            same_decision(k % TRAJECTORIES, k, one);
        end();
    }
}

/* Without noise: its mean; with a model that makes the expected inflow. */
static void mean_noise(void) {
    static told one[1][STAGES];
    double noise[3], state[7] = {3000, 900, 400, 450, 100, 250, 300};
    load_riopar(true, false);
    train();
    cobre_sddp_decide_options options = {.node = 3, .state = state, .arg = one, .stage = keep};
    CHECK_OK(cobre_sddp_decide(policy, &options));
    CHECK_OK(cobre_sddp_problem_mean_noise(problem, 3, noise));
    CHECK_BYTES(one[0][0].noise, noise, sizeof noise);
    const double expected = one[0][0].inflow[1];
    CHECK(expected > 50 && expected < 200 && noise[1] > 0.8 && noise[1] < 1.3);
    CHECK_OK(cobre_sddp_noise_from_text(problem, 3, state, "Pedra Branca = 50%", noise));
    CHECK(noise[0] == one[0][0].noise[0] && noise[2] == one[0][0].noise[2]);
    options.noise = noise;
    CHECK_OK(cobre_sddp_decide(policy, &options));
    CHECK_NEAR(one[0][0].inflow[1], expected / 2, 1e-9 * expected);
    CHECK_OK(cobre_sddp_noise_from_text(problem, 3, state, "inflow[Pedra Branca]=77,Foz do Sul=120", noise));
    CHECK_OK(cobre_sddp_decide(policy, &options));
    CHECK_NEAR(one[0][0].inflow[1], 77, 1e-9);
    CHECK_NEAR(one[0][0].inflow[2], 120, 1e-9);
    refused(cobre_sddp_noise_from_text(problem, 3, state, "Foz do Sul=0", noise), "inflow[Foz do Sul] cannot be 0",
            "above 0");
    refused(cobre_sddp_noise_from_text(problem, 3, (double[7]){1}, "Foz do Sul=1", noise),
            "storage[Serra Alta] cannot be 1", "limits");
    end();
}

/* Ranks decide by themselves: the last one nothing at all. */
static void decisions_of_one_rank(void) {
    static told one[1][STAGES];
    if (cobre_rank(comm) == 0)
        kit_copy(RIO);
    char folder[sizeof kit_folder];
    memcpy(folder, kit_folder, sizeof folder);
    CHECK_OK(cobre_broadcast(comm, folder, sizeof folder, COBRE_U8, 0));
    CHECK_OK(cobre_sddp_load(comm, folder, NULL, &problem));
    train();
    CHECK_OK(cobre_sddp_policy_save(policy, beside("policy")));
    char path[160];
    snprintf(path, sizeof path, "%s", beside("policy"));
    CHECK_OK(cobre_broadcast(comm, path, sizeof path, COBRE_U8, 0));
    cobre_sddp_policy_free(&policy);
    CHECK_OK(cobre_sddp_policy_load(problem, path, &policy));
    for (size_t k = 0; k + cobre_rank(comm) < cobre_size(comm) - 1; k++)
        CHECK_OK(cobre_sddp_decide(policy, &(cobre_sddp_decide_options){.node = k, .arg = one, .stage = keep}));
    CHECK(cobre_rank(comm) + 1 == cobre_size(comm) || one[0][0].cost > 0 || cobre_size(comm) == 1);
    CHECK_OK(cobre_barrier(comm));
    if (cobre_rank(comm) == 0)
        CHECK_EQ(unlink(path), 0);
    end();
}

/* What a text makes of the initial state of rio, {2800, 1000}. */
static const struct {
    const char *text;
    double state[2];
} texts[] = {
    {"Serra Alta=40%", {2300, 1000}},
    {"Serra Alta=40 % , Foz do Sul = 1200", {2300, 1200}},
    {"storage[Foz do Sul]=0%,storage[Serra Alta]=100%", {5000, 200}},
    {" Foz do Sul=1.8e3", {2800, 1800}},
    {"Serra Alta=2800.000000000001", {2800.000000000001, 1000}},
    {"\"Serra Alta\"=40%, \"storage[Foz do Sul]\" = 1200", {2300, 1200}},
};

static const struct {
    const char *text, *message, *suggestion;
} mistakes[] = {
    {"Serra Ata=40%", "\"Serra Ata\" is no state of node 7; there are Serra Alta, Foz do Sul",
     "did you mean \"Serra Alta\"?"},
    {"storage[foz do Sul]=40%", "\"storage[foz do Sul]\" is no state", "did you mean \"Foz do Sul\"?"},
    {"Pedra Branca=40%", "\"Pedra Branca\" is no state", "use one of these names"},
    {"Serra Alta=5000.1", "storage[Serra Alta] cannot be 5000.1: at node 7 it must be from 500 to 5000",
     "within these limits"},
    {"Serra Alta=101%", "storage[Serra Alta] cannot be 5045", "a percentage of them"},
    {"Serra Alta=-1%", "storage[Serra Alta] cannot be 455", "within these limits"},
    {"Serra Alta=nan", "storage[Serra Alta]: \"nan\" is not a number", "40%"},
    {"Serra Alta=inf", "\"inf\" is not a number", "40%"},
    {"Serra Alta=%", "\"%\" is not a number", "40%"},
    {"Serra Alta=4O%", "\"4O%\" is not a number", "40%"},
    {"Serra Alta=1e999", "\"1e999\" is not a number", "40%"},
    {"Serra Alta=0x10", "\"0x10\" is not a number", "40%"},
    {"Serra Alta=1200,5", "\"5\" has no value", "decimal point"},
    {"Serra Alta=40%,Serra Alta=40%", "storage[Serra Alta] is given twice", "keep one"},
    {"Serra Alta=40%,storage[Serra Alta]=1e3", "storage[Serra Alta] is given twice", "keep one"},
    {"Serra Alta", "\"Serra Alta\" has no value", "NAME=VALUE"},
    {"Serra Alta=", "\"Serra Alta\" has no value", "NAME=VALUE"},
    {"=40%", "a name and its value are missing", "NAME=VALUE"},
    {"Serra Alta=40%,", "a name and its value are missing", "NAME=VALUE"},
    {"", "a name and its value are missing", ".csv"},
    {" ", "a name and its value are missing", ".csv"},
    {"\"\"=1", "a name and its value are missing", ".csv"},
    {"\"", "a name and its value are missing", ".csv"},
    {"\"Serra Alta=1", "\"\"Serra Alta=1\" has no value", "NAME=VALUE"},
    {"\"Serra Alta\"", "\"Serra Alta\" has no value", "NAME=VALUE"},
    {"\"Serra\" Alta=1", "\"\"Serra\" Alta\" is no state", "did you mean \"Serra Alta\"?"},
    {"\"a,\"\"b\"\"=]\"=1", "\"a,\"b\"=]\" is no state", "use one of these names"},
};

static void states_from_text(void) {
    kit_copy(RIO);
    load(NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double state[2] = {2800, 1000};
        CHECK_OK(cobre_sddp_state_from_text(problem, BEGIN, texts[i].text, state));
        CHECK_BYTES(state, texts[i].state, sizeof state);
    }
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        double state[2] = {1, 2};
        char whole[200];
        refused(cobre_sddp_state_from_text(problem, BEGIN, mistakes[i].text, state), mistakes[i].message,
                mistakes[i].suggestion);
        snprintf(whole, sizeof whole, "Foz do Sul=50%%,%s", mistakes[i].text); /* what was right is not kept either */
        CHECK_STATUS(cobre_sddp_state_from_text(problem, BEGIN, whole, state), COBRE_INVALID_ARGUMENT);
        CHECK(state[0] == 1 && state[1] == 2);
    }
    double lower, upper;
    cobre_sddp_problem_state_limits(problem, BEGIN, 1, &lower, &upper);
    CHECK(lower == 200 && upper == 1800 && cobre_sddp_problem_state_initial(problem, 1) == 1000);
    cobre_sddp_problem_free(&problem);
    load_riopar(false, true);
    double state[5];
    refused(cobre_sddp_state_from_text(problem, BEGIN, "inflow[Foz do Sul,1]=40%", state),
            "state inflow[Foz do Sul,1] has no limits of which there could be 40 %", "give a number");
    CHECK_OK(cobre_sddp_state_from_text(problem, BEGIN, "inflow[Foz do Sul,1]=-4.5,Serra Alta=50%", state));
    CHECK(state[0] == 2750);
    refused(cobre_sddp_noise_from_text(problem, 0, NULL, "Serra Alta=5", state), "node 1 has no random variables",
            "leave it out");
    cobre_sddp_problem_free(&problem);
}

/* Tables: whether it works, and of a mistake where it is. */
static const struct {
    const char *table;
    size_t line; /* 0: it is right */
    const char *message, *suggestion;
} state_tables[] = {
    {"state,value\nstorage[Serra Alta],40%\nFoz do Sul,1200\n", 0, NULL, NULL},
    {"hydro,storage\n\"Serra Alta\", 40 %\nFoz do Sul,1200\n", 0, NULL, NULL},
    {"note,Storage,Hydro\nmeasured,2300,Serra Alta\n,1200,Foz do Sul\n", 0, NULL, NULL},
    {"hydro,storage\nSerra Alta,40%\nFoz do Sol,1200\n", 3, "\"Foz do Sol\" is no state",
     "did you mean \"Foz do Sul\"?"},
    {"hydro,storage\nSerra Alta,40%\nSerra Alta,1200\n", 3, "storage[Serra Alta] is given twice", "keep one"},
    {"hydro,storage\nSerra Alta,\n", 2, "\"\" is not a number", "40%"},
    {"hydro,storage\nSerra Alta,1e4\n", 2, "cannot be 10000", "limits"},
    {"hydro,volume\nSerra Alta,40%\n", 1, "there are no columns of names and values", "hydro and storage"},
    {"hydro,storage,unit\nSerra Alta,40%,hm3\n", 1, "unknown column \"unit\"", "note"},
    {"hydro,storage\nSerra Alta\n", 2, "has 1 field", "each column"},
    {"hydro,storage\n", 1, "the table has no line", "add lines"},
};

static void states_from_tables(void) {
    kit_copy(RIO);
    load(NULL);
    for (size_t i = 0; i < sizeof state_tables / sizeof *state_tables; i++) {
        double state[2] = {1, 2};
        put_beside("state.csv", state_tables[i].table);
        cobre_status status = cobre_sddp_state_from_text(problem, BEGIN, beside("state.csv"), state);
        if (state_tables[i].line) {
            refused(status, state_tables[i].message, state_tables[i].suggestion);
            CHECK_EQ(cobre_last_error()->line, state_tables[i].line);
            CHECK_TEXT(cobre_last_error()->file, beside("state.csv"));
            CHECK(state[0] == 1 && state[1] == 2);
        } else {
            CHECK_OK(status);
            CHECK(state[0] == 2300 && state[1] == 1200);
        }
    }
    CHECK_EQ(unlink(beside("state.csv")), 0);
    double state[2];
    refused(cobre_sddp_state_from_text(problem, BEGIN, beside("state.csv"), state), "cannot be read", "");
    cobre_sddp_problem_free(&problem);
}

static void noise_from_text(void) {
    double mean[3], noise[3];
    const char *const tables[] = {"random,value\ninflow[Serra Alta],120\nFoz do Sul,50%\n",
                                  "inflow,value\nSerra Alta,120\nFoz do Sul,50%\n",
                                  "hydro,inflow\nSerra Alta,120\nFoz do Sul,50%\n"};
    kit_copy(RIO);
    load(NULL);
    CHECK_OK(cobre_sddp_problem_mean_noise(problem, BEGIN, mean));
    for (size_t i = 0; i < 4; i++) {
        memcpy(noise, mean, sizeof noise);
        if (i < 3)
            put_beside("noise.csv", tables[i]);
        CHECK_OK(cobre_sddp_noise_from_text(
            problem, BEGIN, NULL, i < 3 ? beside("noise.csv") : "Serra Alta=120,inflow[Foz do Sul]=50%", noise));
        CHECK(noise[0] == 120 && noise[1] == mean[1] && noise[2] == mean[2] / 2);
    }
    CHECK_EQ(unlink(beside("noise.csv")), 0);
    refused(cobre_sddp_noise_from_text(problem, BEGIN, NULL, "Sera Alta=120", noise),
            "\"Sera Alta\" is no random variable of node 7; there are Serra Alta, Pedra Branca, Foz do Sul",
            "did you mean \"Serra Alta\"?");
    refused(cobre_sddp_noise_from_text(problem, BEGIN, NULL, "Serra Alta=1e30", noise), "out of range",
            "smaller number");
    cobre_sddp_problem_free(&problem);
}

/* Names that are no plants; a load has its whole name. */
static void names_of_a_graph(void) {
    double state = 1, noise[2] = {1, 2};
    kit_copy("gas.sof.json");
    char path[160];
    snprintf(path, sizeof path, "%s/gas.sof.json", kit_folder);
    CHECK_OK(cobre_sddp_load(comm, path, NULL, &problem));
    CHECK_OK(cobre_sddp_state_from_text(problem, 4, "store=3", &state));
    CHECK_OK(cobre_sddp_noise_from_text(problem, 4, &state, "demand=8,price=50%", noise));
    CHECK(state == 3);
    cobre_sddp_problem_free(&problem);
    kit_copy("reservoir");
    load(NULL);
    CHECK_OK(cobre_sddp_noise_from_text(problem, 0, NULL, "load[main]=8", noise));
    refused(cobre_sddp_noise_from_text(problem, 0, NULL, "main=8", noise), "\"main\" is no random variable", "");
    cobre_sddp_problem_free(&problem);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(history),
        CHECK_CASE(inflows_normal),
        CHECK_CASE(inflows_lognormal),
        CHECK_CASE(inflows_first_known),
        CHECK_CASE(impossible_inflows),
        CHECK_CASE(wrong_beginnings),
        CHECK_CASE(samples),
        CHECK_CASE(decisions),
        CHECK_CASE(mean_noise),
        CHECK_CASE(decisions_of_one_rank),
        CHECK_CASE(states_from_text),
        CHECK_CASE(states_from_tables),
        CHECK_CASE(noise_from_text),
        CHECK_CASE(names_of_a_graph),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(NULL, &comm));
    int failed = kit_main(argc, argv, cases);
    cobre_comm_free(&comm);
    return failed;
}
