/* test_hydro_bounds.c: cases with published or hand-made optimal values, through the reader and the trainer.
 *
 *     test_hydro_bounds brazil_60    is the one that takes long */
#include "hydro_kit.h"

#include <math.h>

static cobre_comm *comm;
static cobre_sddp_problem *problem;
static cobre_sddp_policy *policy;

static void worked(cobre_sddp_status status) {
    CHECK_SAY(!status, "%s", cobre_sddp_last_error()->message);
}

static double train(uint64_t iterations) {
    cobre_sddp_result result;
    cobre_sddp_options options = {.struct_size = sizeof options, .iterations = iterations, .seed = 7};
    worked(cobre_sddp_load(comm, kit_folder, NULL, &problem));
    worked(cobre_sddp_train(comm, problem, &options, &policy, &result));
    return result.last.bound;
}

static void release(void) {
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
}

static void reaches(uint64_t iterations, double value, double tolerance) {
    double bound = train(iterations);
    CHECK_SAY(fabs(bound - value) <= tolerance, "the bound is %.10g, not %.10g", bound, value);
    release();
}

/* 300 MWmonth of load, and 190, 250, 250 or 310 of water: the gas plant makes up the rest, at 50. */
static void toy(void) {
    kit_copy("toy");
    reaches(30, 50 * (110 + 50 + 50 + 0) / 4.0, 1e-6);
}

static void reservoir(void) {
    static const struct {
        const char *stages;
        uint64_t iterations;
        double value;
    } horizons[] = {
        {"\"stages\": 1", 1, 55.0 / 6}, {"\"stages\": 2", 20, 21.38888889}, {"\"stages\": 4", 100, 45.83333333}};
    for (size_t i = 0; i < 3; i++) {
        kit_copy("reservoir");
        kit_edit("case.json", ",\n    \"cycle\": {\"to\": 1, \"probability\": 0.9}", "");
        kit_edit("case.json", "\"stages\": 1", horizons[i].stages);
        reaches(horizons[i].iterations, horizons[i].value, 1e-6 * horizons[i].value);
    }
    kit_copy("reservoir");
    reaches(150, 715 / 6.0, 1e-4);
}

static void put_cvar(double beta, double alpha) {
    char json[256];
    snprintf(json, sizeof json,
             "{\"units\": \"energy\", \"time_unit\": \"month\", \"stages\": 4, \"subsystems\": [\"main\"],\n"
             " \"risk\": {\"beta\": %g, \"alpha\": %g}}",
             beta, alpha);
    kit_copy("toy");
    kit_put("case.json", json);
    kit_put("thermals.csv", "thermal,subsystem,max,cost\none,main,15,5\ntwo,main,15,10\n");
    kit_put("hydros.csv", "hydro,subsystem,storage_max,storage_initial,turbine_max,spill_max,spill_cost,first_inflow\n"
                          "lake,main,100,83.222,60,200,1,0\n");
    kit_put("deficits.csv", "cost\n50\n");
    kit_put("load.csv", "main\n75\n");
    kit_put("inflows.csv", "lake\n54.79241319772865\n25.109857957182598\n27.829848747772807\n5.530869784084061\n"
                           "26.487687851952586\n51.1329266674026\n22.76831053666164\n50.36170215462795\n"
                           "64.96459616194586\n63.38225909904922\n");
}

static void nested_risk(void) {
    static const double expected[][2] = {
        {0.1, 4433.813449426}, {0.5, 1634.681619423}, {0.9, 1069.838288130}, {1, 1057.646764188}};
    for (size_t i = 0; i < 4; i++) {
        put_cvar(expected[i][0], expected[i][0]);
        reaches(1500, expected[i][1], 1e-6 * expected[i][1]);
    }
}

static void fast_hydro_thermal(void) {
    kit_copy("toy");
    kit_remove("deficits.csv");
    kit_edit("case.json", "\"stages\": 3", "\"stages\": 2");
    kit_put("thermals.csv", "thermal,subsystem,cost\nt,main,5\n");
    kit_put("hydros.csv", "hydro,subsystem,storage_max\nlake,main,8\n");
    kit_put("load.csv", "main\n6\n");
    kit_put("inflows.csv", "stage,lake\n1,6\n2,2\n2,10\n");
    reaches(10, 10, 1e-9);
}

static void brazil_3(void) {
    kit_copy("brazil3");
    reaches(400, 782309.1877977113, 1e-6 * 782309.1877977113);
}

/* The bound lies between the published one less 0.5 %, and what the policy costs. */
static void brazil_60(void) {
    cobre_sddp_simulation simulation;
    cobre_sddp_simulate_options options = {.struct_size = sizeof options, .trajectories = 1000};
    kit_copy("brazil60");
    double bound = train(118);
    worked(cobre_sddp_simulate(comm, policy, &options, &simulation));
    release();
    CHECK_SAY(bound >= 71603.4667 * 0.995 && bound <= simulation.mean + simulation.half,
              "the bound is %.10g, the simulated mean %.10g", bound, simulation.mean);
}

int main(int argc, char **argv) {
    static const check_case tests[] = {
        CHECK_CASE(toy),
        CHECK_CASE(reservoir),
        CHECK_CASE(nested_risk),
        CHECK_CASE(fast_hydro_thermal),
        CHECK_CASE(brazil_3),
        CHECK_CASE(brazil_60),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(NULL, &comm));
    int failed = kit_main(argc, argv, tests);
    cobre_comm_free(&comm);
    return failed;
}
