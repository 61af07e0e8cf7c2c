/* SPDX-License-Identifier: Apache-2.0 */
/* test_run.c: trainings and simulations as front ends have them: with a folder of results, or in memory. Also on two ranks. */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sddp/hydro_kit.h"
#include "sddp/run/netcdf.h"
#include "sddp/run/simulate_run.h"
#include "sddp/run/train_run.h"

static cobre_comm *comm;
static cobre_sddp_problem *problem;

/* What the hooks were told. */
static struct {
    char *events;
    size_t size;
    FILE *stream;
    size_t started, iterations, said;
} told;

static const char *file(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", kit_folder, name);
    return path;
}

static void on_event(void *arg, const char *line, size_t length) {
    (void)arg;
    fwrite(line, 1, length, told.stream);
}

static void on_start(void *arg, uint64_t iterations) {
    (void)arg;
    (void)iterations;
    told.started++;
}

static void on_progress(void *arg, const cobre_sddp_progress *progress) {
    (void)arg;
    told.iterations = progress->iteration;
}

static void on_say(void *arg, const char *message) {
    (void)arg;
    (void)message;
    told.said++;
}

static int stop_at_once(void *arg) {
    (void)arg;
    return 2;
}

static struct cb_train_run new_run(const char *folder) {
    return (struct cb_train_run){.problem = problem,
                                 .options = {.struct_size = sizeof(cobre_sddp_train_options), .iterations = 4},
                                 .case_path = "",
                                 .folder = folder,
                                 .start = on_start,
                                 .progress = on_progress,
                                 .event = on_event,
                                 .say = on_say};
}

static void begin(void) {
    memset(&told, 0, sizeof told);
    told.stream = open_memstream(&told.events, &told.size);
    kit_copy("gas.sof.json");
    CHECK_OK(cobre_sddp_load(comm, file("gas.sof.json"), NULL, &problem));
}

static void end(void) {
    fclose(told.stream);
    free(told.events);
    cobre_sddp_problem_free(&problem);
}

static bool is_first(void) {
    return cobre_rank(comm) == 0;
}

static size_t count_lines(const char *with) {
    size_t count = 0;
    fflush(told.stream);
    for (const char *at = told.events; (at = strstr(at, with)); at++)
        count++;
    return count;
}

static void train_in_memory(void) {
    struct cb_train_run run;
    cobre_sddp_policy *policy;
    cobre_sddp_training result;
    begin();
    run = new_run(NULL);
    CHECK_OK(cb_train_run(&run, &policy, &result));
    CHECK_EQ(result.iterations, 4);
    CHECK_EQ(told.started, 1);
    CHECK_EQ(told.iterations, 4);
    CHECK_EQ(told.said, 0);
    CHECK_EQ(count_lines("\"event\": \"iteration\""), is_first() ? 4 : 0);
    CHECK_EQ(count_lines("\"event\": \"finished\""), is_first() ? 1 : 0);
    CHECK_EQ(count_lines("\"out\": null"), is_first() ? 1 : 0);
    CHECK_EQ(count_lines("\"policy\": null"), is_first() ? 1 : 0);
    cobre_sddp_policy_free(&policy);
    end();
}

/* A checkpoint in memory holds what was complete when it was stopped; without any there is nothing to keep. */
static void train_to_a_descriptor(void) {
    char path[64];
    int memory = memfd_create("checkpoint", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    struct cb_train_run run;
    cobre_sddp_policy *policy;
    cobre_sddp_training result;
    begin();
    run = new_run(NULL);
    run.options.checkpoint = path;
    run.options.checkpoint_every = 1;
    CHECK_OK(cb_train_run(&run, &policy, &result));
    cobre_sddp_policy_free(&policy);
    if (is_first()) {
        CHECK_OK(cobre_sddp_policy_read(path, &policy));
        CHECK_EQ(cobre_sddp_policy_iterations(policy), 4);
        cobre_sddp_policy_free(&policy);
    }
    CHECK_EQ(count_lines("\"event\": \"checkpoint\""), is_first() ? 3 : 0); /* the last one is the result */
    run = new_run(NULL);
    run.stop = stop_at_once;
    CHECK_STATUS(cb_train_run(&run, &policy, &result), COBRE_FILE_FAILED);
    CHECK(!policy && run.saved == 0);
    CHECK_HOLDS(cobre_last_error()->message, "before the first iteration");
    CHECK_EQ(count_lines("\"event\": \"error\""), is_first() ? 1 : 0);
    close(memory);
    end();
}

/* A folder that holds a run is refused, unless that is replaced, or gone on with. */
static void train_to_a_folder(void) {
    struct cb_train_run run;
    char folder[512], resume[600];
    cobre_sddp_policy *policy;
    cobre_sddp_training result;
    begin();
    snprintf(folder, sizeof folder, "%s", file("out"));
    snprintf(resume, sizeof resume, "%s/policy.cobre", folder);
    static const char *const names[] = {"policy.cobre", "events.jsonl", "training.csv",
                                        "times.csv",    "summary.csv",  "run.json"};
    for (int i = 0; i < 4; i++) {
        run = new_run(folder);
        run.force = i == 2;
        run.options.resume = i == 3 ? resume : NULL;
        run.options.iterations = i == 3 ? 6 : 4;
        cobre_status status = cb_train_run(&run, &policy, &result);
        CHECK_STATUS(status, i == 1 ? COBRE_FILE_FAILED : COBRE_OK);
        CHECK(!policy == (i == 1));
        CHECK(run.refused == (i == 1 && is_first()));
        CHECK(run.in_place == (i == 3 && is_first()));
        if (i == 1 && is_first())
            CHECK(run.found.finished && run.found.same);
        if (i == 3)
            CHECK_EQ(result.iterations, 6);
        cobre_sddp_policy_free(&policy);
        for (size_t n = 0; n < sizeof names / sizeof *names && is_first(); n++)
            CHECK(access(CB_TEXT("%s/%s", folder, names[n]), F_OK) == 0);
        CHECK(!is_first() || access(CB_TEXT("%s/steer.sock", folder), F_OK) != 0);
    }
    end();
}

static struct cb_simulate_run new_simulation(cobre_sddp_policy *policy, const char *folder, bool keep) {
    return (struct cb_simulate_run){
        .policy = policy,
        .options = {.struct_size = sizeof(cobre_sddp_simulate_options), .trajectories = 7, .tables = "all"},
        .folder = folder,
        .keep = keep,
        .note = on_say};
}

static void is_file(const char *name, const char *text) {
    size_t size;
    char *bytes = kit_get(name, &size);
    CHECK(size == strlen(text) && memcmp(bytes, text, size) == 0);
    free(bytes);
}

/* The stage costs are those of the costs. */
static void check_cells(const struct cb_kept *kept) {
    const struct cb_cells *cells = &kept->cells;
    const char *row = kept->costs;
    CHECK_EQ(cells->trajectories, 7);
    CHECK_EQ(cells->steps, 3);
    CHECK_TEXT(cells->grid.variable[0].name, "stage_cost");
    for (size_t s = 0; s < cells->steps; s++)
        CHECK(cells->node[s] == COBRE_SDDP_NONE || cobre_sddp_problem_node_stage(problem, cells->node[s]) == s + 1);
    for (size_t t = 0; t < cells->trajectories; t++) {
        double cost, sum = 0;
        row = strchr(row, '\n') + 1;
        CHECK_EQ(sscanf(row, "%*d,%*d,%lf", &cost), 1);
        for (size_t s = 0; s < cells->steps; s++) {
            const float *its = cells->value + (t * cells->steps + s) * cells->grid.cells;
            sum += isnan(its[0]) ? 0 : (double)its[0] * (double)its[2];
        }
        CHECK_NEAR(sum, cost, 1e-4 * fabs(cost));
    }
}

static cobre_sddp_policy *train(void) {
    struct cb_train_run run = new_run(NULL);
    cobre_sddp_policy *policy;
    cobre_sddp_training result;
    CHECK_OK(cb_train_run(&run, &policy, &result));
    return policy;
}

/* What is kept in memory is what is in the files, with a folder and without one. */
static void simulate_in_memory(void) {
    cobre_sddp_simulation results[3];
    struct cb_simulate_run run;
    begin();
    cobre_sddp_policy *policy = train();
    for (int i = 0; i < 3; i++) {
        run = new_simulation(policy, i < 2 ? kit_folder : NULL, i > 0);
        CHECK_OK(cb_simulate_run(&run, &results[i]));
        CHECK_TEXT(run.sampling, "in-sample");
        CHECK(run.bound == cobre_sddp_policy_bound(policy) && results[i].mean == results[0].mean);
        CHECK(!run.kept.costs == !(i > 0 && is_first()));
        if (run.kept.costs) {
            is_file("costs.csv", run.kept.costs);
            is_file("statistics.csv", run.kept.statistics);
            check_cells(&run.kept);
        }
        cb_simulate_run_free(&run);
    }
    if (is_first())
        CHECK_OK(cb_record_check(kit_folder));
    cobre_sddp_policy_free(&policy);
    end();
}

/* Of what is kept, NetCDF has the same bytes. */
static void netcdf_of_memory(void) {
    cobre_sddp_simulation result;
    struct cb_simulate_run run;
    char *bytes[2] = {NULL};
    size_t sizes[2];
    if (cb_netcdf_ready() != COBRE_OK)
        return;
    begin();
    cobre_sddp_policy *policy = train();
    for (int i = 0; i < 2; i++) {
        run = new_simulation(policy, kit_folder, i > 0);
        run.options.tables = NULL;
        run.options.netcdf = true;
        CHECK_OK(cb_simulate_run(&run, &result));
        if (is_first())
            bytes[i] = kit_get("simulation.nc", &sizes[i]);
        cb_simulate_run_free(&run);
    }
    CHECK(!is_first() || (sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0));
    free(bytes[0]);
    free(bytes[1]);
    cobre_sddp_policy_free(&policy);
    end();
}

static void options_that_exclude_each_other(void) {
    struct cb_simulate_run good = new_simulation(NULL, NULL, false), run = good;
    CHECK_OK(cb_simulate_run_check(&run));
    run.scenarios = "x.csv";
    CHECK_STATUS(cb_simulate_run_check(&run), COBRE_INVALID_ARGUMENT); /* with trajectories */
    run.options.trajectories = 0;
    for (int i = 0; i < 2; i++) { /* it can be asked again */
        CHECK_OK(cb_simulate_run_check(&run));
        CHECK_TEXT(run.sampling, "own scenarios");
    }
    run.has_sampling = true;
    CHECK_STATUS(cb_simulate_run_check(&run), COBRE_INVALID_ARGUMENT);
    CHECK_HOLDS(cobre_last_error()->message, "--scenarios and --sampling");
    run = good;
    run.begin = (struct cb_begin){.stage = 1, .date = "2027-01"};
    CHECK_STATUS(cb_simulate_run_check(&run), COBRE_INVALID_ARGUMENT);
}

/* Not beside the policy of another training; notes are told. */
static void a_folder_of_another_policy(void) {
    struct cb_train_run other;
    cobre_sddp_training trained;
    cobre_sddp_simulation result;
    char folder[512];
    begin();
    snprintf(folder, sizeof folder, "%s", file("out"));
    other = new_run(folder);
    other.options.iterations = 2;
    cobre_sddp_policy *policy = train(), *another;
    CHECK_OK(cb_train_run(&other, &another, &trained));
    struct cb_simulate_run run = new_simulation(policy, folder, false);
    CHECK_STATUS(cb_simulate_run(&run, &result), COBRE_FILE_FAILED);
    CHECK_HOLDS(cobre_last_error()->message, "a simulation of this policy does not belong there");
    cb_simulate_run_free(&run);
    run = new_simulation(another, folder, false);
    run.options.sampling = COBRE_SDDP_OUT_OF_SAMPLE;
    CHECK_OK(cb_simulate_run(&run, &result));
    CHECK_EQ(told.said, is_first() ? 1 : 0);
    cb_simulate_run_free(&run);
    cobre_sddp_policy_free(&policy);
    cobre_sddp_policy_free(&another);
    end();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CHECK_CASE(train_in_memory),
        CHECK_CASE(train_to_a_descriptor),
        CHECK_CASE(train_to_a_folder),
        CHECK_CASE(simulate_in_memory),
        CHECK_CASE(netcdf_of_memory),
        CHECK_CASE(options_that_exclude_each_other),
        CHECK_CASE(a_folder_of_another_policy),
        CHECK_END,
    };
    CHECK_OK(cobre_comm_open(NULL, &comm));
    int failed = kit_main(argc, argv, cases);
    cobre_comm_free(&comm);
    return failed;
}
