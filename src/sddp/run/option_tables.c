/* SPDX-License-Identifier: Apache-2.0 */
/* option_tables.c: the options of the calls of sddp.h. A new option is a row here and a paragraph of the man page. Those
 * of the stopping rules are in train/rules.c. */
#include "sddp/run/option_tables.h"

#include "cobre/sddp.h"

#include <math.h>

#define RESULT "These change the result:"
#define TRAIN(member) CB_FIELD(cobre_sddp_train_options, member)
#define LOAD(member) CB_FIELD(cobre_sddp_load_options, member)
#define VALIDATE(member) CB_FIELD(cobre_sddp_validate_options, member)
#define BEGIN(member) CB_FIELD(struct cb_begin, member)
#define SIMULATE(member) CB_FIELD(cobre_sddp_simulate_options, member)

const struct cb_option cb_train_rows[] = {
    {.name = "forward-passes",
     .help = "forward passes per iteration",
     .group = RESULT,
     .value = {{.name = "M", .kind = CB_VALUE_COUNT, .field = TRAIN(forward_passes), .least = 1, .fallback = "1"}},
     .again = true},
    {.name = "seed",
     .help = "of the random numbers",
     .group = RESULT,
     .value = {{.name = "S", .kind = CB_VALUE_COUNT, .field = TRAIN(seed), .fallback = "0"}},
     .again = true},
    {.name = "solver",
     .help = "LP solver: clp, glpk or highs, if it is here (default: by the size of the problem)",
     .group = RESULT,
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = TRAIN(solver)}},
     .again = true},
    {.name = "multi-cut",
     .help = "a cut for each outcome instead of one for their mean",
     .group = RESULT,
     .given = TRAIN(multi_cut),
     .again = true},
    {.name = "cvar",
     .help = "risk: MEAN * mean + (1 - MEAN) * mean of the worst share TAIL; also tail=0.1,mean=0.5",
     .group = RESULT,
     .given = TRAIN(has_risk),
     .value = {{.name = "TAIL", .kind = CB_VALUE_REAL, .field = TRAIN(risk_alpha), .above = true, .most = 1},
               {.name = "MEAN", .kind = CB_VALUE_REAL, .field = TRAIN(risk_beta), .most = 1}},
     .again = true},
    {.name = "value-bound",
     .help = "bounds the future cost of every node (default: found from the case)",
     .group = RESULT,
     .given = TRAIN(has_value_bound),
     .value = {{.name = "X", .kind = CB_VALUE_REAL, .field = TRAIN(value_bound), .least = -INFINITY}},
     .again = true},
    {.name = "checkpoint-every",
     .help = "save the policy so often, and at the end: iterations (50) or time (300s, 5min); 0: only at the end",
     .group = "",
     .value = {{.name = "N|T",
                .kind = CB_VALUE_EVERY,
                .field = TRAIN(checkpoint_every),
                .time = TRAIN(checkpoint_seconds),
                .fallback = "5min"}},
     .again = true},
    {.name = "resume",
     .help = "go on from a policy, to the same result as without the break",
     .group = "",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = TRAIN(resume)}}},
    {.name = "warm-start",
     .help = "start with the cuts of a policy",
     .group = "",
     .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = TRAIN(warm_start)}}},
    {.name = "accept-other-case",
     .help = "take these cuts from a case with other data, too; the bound is unproven then",
     .group = "",
     .given = TRAIN(accept_other_case)},
    {.name = NULL},
};

/* The same option, said in the words of each command. */
#define SCENARIOS .name = "scenarios", .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = LOAD(scenarios)}}

const struct cb_option cb_load_rows[] = {
    {SCENARIOS, .help = "checks a table of scenarios for `cobre simulate`, too"},
    {.name = NULL},
};

const struct cb_option cb_validate_rows[] = {
    {.name = "value-bound",
     .help = "bounds the future cost of every node, as in `cobre train`",
     .given = VALIDATE(has_value_bound),
     .value = {{.name = "X", .kind = CB_VALUE_REAL, .field = VALIDATE(value_bound), .least = -INFINITY}}},
    {.name = "solver",
     .help = "LP solver that finds these bounds",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = VALIDATE(solver)}}},
    {.name = NULL},
};

const struct cb_option cb_scenario_rows[] = {
    {SCENARIOS, .help = "scenarios from a table of yours, each once, instead of sampling"},
    {.name = NULL},
};

const struct cb_option cb_begin_rows[] = {
    {.name = "stage",
     .help = "begins at this stage instead of the first",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = BEGIN(stage), .least = 1}}},
    {.name = "date",
     .help = "the same by a date, 2027-03 or 2027-03-15: the stage under way then",
     .value = {{.name = "DATE", .kind = CB_VALUE_TEXT, .field = BEGIN(date)}}},
    {.name = "node",
     .help = "the same by the name of a node, for a stage that has several",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = BEGIN(node)}}},
    {.name = "state",
     .help = "what comes in there: NAME=VALUE,..., where NAME is a reservoir or any state, and VALUE a number, or 50% "
             "for halfway between its limits; or a table, FILE.csv (default: the initial state)",
     .value = {{.name = "TEXT", .kind = CB_VALUE_TEXT, .field = BEGIN(state)}}},
    {.name = NULL},
};

const struct cb_option cb_simulate_rows[] = {
    {.name = "sampling",
     .help = "in-sample (default): from the outcomes of the training; out-of-sample: drawn anew where the case has a "
             "model of its noise; given: the case's own scenarios, each once",
     .value = {{.name = "WHAT",
                .kind = CB_VALUE_CHOICE,
                .field = SIMULATE(sampling),
                .choices = (const struct cb_choice[]){{"in-sample", COBRE_SDDP_IN_SAMPLE},
                                                      {"out-of-sample", COBRE_SDDP_OUT_OF_SAMPLE},
                                                      {"given", COBRE_SDDP_GIVEN},
                                                      {NULL, 0}}}}},
    {.name = "trajectories",
     .help = "how many",
     .value = {{.name = "K", .kind = CB_VALUE_COUNT, .field = SIMULATE(trajectories), .least = 1, .fallback = "1000"}}},
    {.name = "seed",
     .help = "of the random numbers",
     .value = {{.name = "S", .kind = CB_VALUE_COUNT, .field = SIMULATE(seed), .fallback = "0"}}},
    {.name = "max-steps",
     .help = "cut trajectories on a graph with cycles",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = SIMULATE(max_steps), .least = 1}}},
    {.name = "tables",
     .help = "which, besides costs and statistics: some of stages,states,variables,duals,noise, all, or none (default)",
     .value = {{.name = "LIST", .kind = CB_VALUE_TEXT, .field = SIMULATE(tables)}}},
    {.name = "netcdf",
     .help = "all of them as one NetCDF-4 file, simulation.nc, which is much smaller",
     .given = SIMULATE(netcdf)},
    {.name = "solver",
     .help = "LP solver (default: as in the training)",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = SIMULATE(solver)}}},
    {.name = NULL},
};
