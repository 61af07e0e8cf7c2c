/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c: trains a reference case, or a file, and prints every number of it with all its bits.
 *
 *     driver CASE|FILE [iterations=N] [passes=M] [seed=S] [solver=NAME] [multi=1] [checkpoint=F] [every=K] [resume=F]
 *            [warm=F] [save=F] [simulate=N] [given=1] [stages=1] [stall=W] [gap=1] [rule=K] [beta=B alpha=A] [quiet=1] [times=1]
 *            [starve=N starved=R]: rank R gets memory only N times */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/mpich_nap.h"
#include "sddp/cases.h"
#include "sddp/starve.h"

typedef struct {
    cobre_comm *comm;
    bool quiet;
    const cobre_sddp_problem *problem;
    FILE *stages; /* what this rank was told */
} teller;

static const char *option(int argc, char **argv, const char *key) {
    size_t length = strlen(key);
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], key, length) == 0 && argv[i][length] == '=')
            return argv[i] + length + 1;
    return NULL;
}

static uint64_t number(int argc, char **argv, const char *key, uint64_t otherwise) {
    const char *text = option(argc, argv, key);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static int complain(cobre_comm *comm, const char *what) {
    const cobre_error *error = cobre_last_error();
    fprintf(stderr, "rank %zu: %s: %s: %s -- %s (failed: %zd)\n", cobre_rank(comm), what,
            cobre_status_name(error->status), error->message, error->suggestion, (ssize_t)error->culprit);
    return 1;
}

static void on_progress(void *arg, const cobre_sddp_progress *p) {
    const teller *printer = arg;
    if (cobre_rank(printer->comm) == 0 && !printer->quiet)
        printf("%llu bound %a %.9g mean %a deviation %a cuts %llu solves %llu\n", (unsigned long long)p->iteration,
               p->bound, p->bound, p->mean, p->deviation, (unsigned long long)p->cuts, (unsigned long long)p->solves);
}

static void on_issue(void *arg, const cobre_sddp_issue *issue) {
    (void)arg;
    fprintf(stderr, "%s:%zu: %s: %s -- %s\n", issue->file, issue->line, issue->place, issue->message,
            issue->suggestion);
}

static void put_values(FILE *file, const char *name, const double *value, size_t count) {
    fprintf(file, " %s", name);
    for (size_t i = 0; i < count; i++)
        fprintf(file, " %a", value[i]);
}

static void on_stage(void *arg, const cobre_sddp_stage *stage) {
    const teller *printer = arg;
    const cobre_sddp_problem *problem = printer->problem;
    fprintf(printer->stages, "trajectory %zu step %zu node %zu outcome %zd cost %a future %a discount %a",
            stage->trajectory, stage->step, stage->node, (ssize_t)stage->outcome, stage->stage_cost, stage->future_cost,
            stage->discount);
    put_values(printer->stages, "noise", stage->noise, cobre_sddp_problem_randoms(problem, stage->node));
    put_values(printer->stages, "in", stage->state_in, cobre_sddp_problem_states(problem));
    put_values(printer->stages, "out", stage->state_out, cobre_sddp_problem_states(problem));
    put_values(printer->stages, "columns", stage->columns, cobre_sddp_problem_columns(problem, stage->node));
    put_values(printer->stages, "duals", stage->row_duals, cobre_sddp_problem_rows(problem, stage->node));
    putc('\n', printer->stages);
}

/* Rank 0 prints what the ranks were told, one after the other. */
static bool print_stages(cobre_comm *comm, char *text, size_t length) {
    for (size_t r = 0; r < cobre_size(comm); r++) {
        uint64_t bytes = length;
        if (cobre_broadcast_t(comm, &bytes, 1, r) != COBRE_OK)
            return false;
        for (size_t at = 0; at < bytes; at += 4096) {
            char part[4096];
            size_t count = bytes - at < sizeof part ? (size_t)bytes - at : sizeof part;
            if (r == cobre_rank(comm))
                memcpy(part, text + at, count);
            if (cobre_broadcast(comm, part, count, COBRE_U8, r) != COBRE_OK)
                return false;
            if (cobre_rank(comm) == 0)
                fwrite(part, 1, count, stdout);
        }
    }
    return true;
}

static cobre_status load(cobre_comm *comm, const char *name, cobre_sddp_problem **problem) {
    const reference_case *reference = find_case(name);
    if (!reference)
        return cobre_sddp_load(
            comm, name, &(cobre_sddp_load_options){.struct_size = sizeof(cobre_sddp_load_options), .issue = on_issue},
            problem);
    cobre_sddp_builder *builder = cobre_rank(comm) == 0 ? reference->build() : NULL;
    return cobre_sddp_finish(comm, &builder, NULL, problem);
}

static int simulate(teller *printer, cobre_sddp_policy *policy, size_t trajectories, bool given, bool stages) {
    cobre_sddp_simulation result = {.struct_size = sizeof result};
    char *text = NULL;
    size_t length = 0;
    cobre_sddp_simulate_options options = {.struct_size = sizeof options,
                                           .trajectories = trajectories,
                                           .arg = printer,
                                           .sampling = given ? COBRE_SDDP_GIVEN : COBRE_SDDP_IN_SAMPLE,
                                           .stage = stages ? on_stage : NULL};
    printer->stages = open_memstream(&text, &length);
    int failed = !printer->stages || cobre_sddp_simulate(policy, &options, &result) || fflush(printer->stages) != 0 ||
                 !print_stages(printer->comm, text, length);
    if (failed)
        complain(printer->comm, "simulate");
    else if (cobre_rank(printer->comm) == 0)
        printf("simulated %zu mean %a %.9g deviation %a half %.9g min %.9g max %.9g\n", result.trajectories,
               result.mean, result.mean, result.deviation, result.half, result.minimum, result.maximum);
    if (printer->stages)
        fclose(printer->stages);
    free(text);
    return failed;
}

static int run(cobre_comm *comm, int argc, char **argv) {
    teller printer = {.comm = comm, .quiet = option(argc, argv, "quiet") != NULL};
    cobre_sddp_problem *problem;
    cobre_sddp_policy *policy = NULL;
    cobre_sddp_training result = {.struct_size = sizeof result};
    const char *beta = option(argc, argv, "beta"), *alpha = option(argc, argv, "alpha");
    const char *seconds = option(argc, argv, "seconds"), *save = option(argc, argv, "save");
    cobre_sddp_train_options options = {.struct_size = sizeof options,
                                        .iterations = number(argc, argv, "iterations", 0),
                                        .forward_passes = number(argc, argv, "passes", 1),
                                        .seed = number(argc, argv, "seed", 1),
                                        .solver = option(argc, argv, "solver"),
                                        .multi_cut = option(argc, argv, "multi") != NULL,
                                        .checkpoint = option(argc, argv, "checkpoint"),
                                        .checkpoint_every = number(argc, argv, "every", 0),
                                        .resume = option(argc, argv, "resume"),
                                        .warm_start = option(argc, argv, "warm"),
                                        .stall_window = number(argc, argv, "stall", 0),
                                        .gap_rule = option(argc, argv, "gap") != NULL,
                                        .simulate_every = number(argc, argv, "rule", 0),
                                        .seconds = seconds ? strtod(seconds, NULL) : 0,
                                        .has_risk = beta != NULL,
                                        .risk_beta = beta ? strtod(beta, NULL) : 0,
                                        .risk_alpha = alpha ? strtod(alpha, NULL) : 0,
                                        .lp_folder = "/tmp",
                                        .progress = on_progress,
                                        .arg = &printer};
    if (option(argc, argv, "starve") && number(argc, argv, "starved", 0) == cobre_rank(comm))
        starve_after((long)number(argc, argv, "starve", 0));
    if (load(comm, argv[1], &problem))
        return complain(comm, "load");
    printer.problem = problem;
    int failed = 0;
    if (cobre_sddp_train(problem, &options, &policy, &result))
        failed = complain(comm, "train");
    if (!failed && cobre_rank(comm) == 0)
        printf("stop %s after %llu bound %a %.12g cuts %llu\n", cobre_sddp_stop_name(result.stop),
               (unsigned long long)result.iterations, cobre_sddp_policy_bound(policy), cobre_sddp_policy_bound(policy),
               (unsigned long long)cobre_sddp_policy_cuts(policy));
    if (!failed && option(argc, argv, "times"))
        for (cobre_sddp_effort e = 0; e < COBRE_SDDP_EFFORTS; e++)
            fprintf(stderr, "rank %zu: %s %.3f\n", cobre_rank(comm), cobre_sddp_effort_name(e), result.effort[e]);
    if (!failed && save && cobre_sddp_policy_save(policy, save))
        failed = complain(comm, "save");
    if (!failed && (option(argc, argv, "simulate") || option(argc, argv, "given")))
        failed = simulate(&printer, policy, number(argc, argv, "simulate", 0), option(argc, argv, "given") != NULL,
                          option(argc, argv, "given") || option(argc, argv, "stages"));
    cobre_sddp_policy_free(&policy);
    cobre_sddp_problem_free(&problem);
    return failed;
}

int main(int argc, char **argv) {
    cobre_comm *comm;
    if (argc < 2) {
        for (const reference_case *c = reference_cases; c->name; c++)
            printf("%s\n", c->name);
        return 2;
    }
    nap_when_idle = true; /* this is about bits, not about time */
    if (cobre_comm_open(NULL, &comm) != COBRE_OK) {
        fprintf(stderr, "%s\n", cobre_last_error()->message);
        return 1;
    }
    int failed = run(comm, argc, argv);
    cobre_comm_free(&comm);
    return failed;
}
