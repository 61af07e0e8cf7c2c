/* SPDX-License-Identifier: Apache-2.0 */
/* option_tables.c: the options of the calls of sddp.h. A new option is a row here and a paragraph of the man page. Those
 * of the stopping rules are in train/rules.c. */
#include "sddp/run/option_tables.h"

#include "cobre/sddp.h"
#include "sddp/run/decision.h"

#include <math.h>

#define RESULT "These change the result:"
#define TRAIN(member) CB_FIELD(cobre_sddp_train_options, member)
#define LOAD(member) CB_FIELD(cobre_sddp_load_options, member)
#define VALIDATE(member) CB_FIELD(cobre_sddp_validate_options, member)
#define BEGIN(member) CB_FIELD(struct cb_begin, member)
#define DECIDE(member) CB_FIELD(struct cb_decision, member)
#define COMPARE(member) CB_FIELD(cobre_sddp_compare_options, member)
#define SIMULATE(member) CB_FIELD(cobre_sddp_simulate_options, member)

const struct cb_option cb_train_rows[] = {
    {.name = "forward-passes",
     .help = "forward passes per iteration",
     .group = RESULT,
     .value = {{.name = "M", .kind = CB_VALUE_COUNT, .field = TRAIN(forward_passes), .least = 1, .fallback = "1"}},
     .again = true},
    {.name = "seed",
     .help = "seed of the random numbers",
     .group = RESULT,
     .value = {{.name = "S", .kind = CB_VALUE_COUNT, .field = TRAIN(seed), .fallback = "0"}},
     .again = true},
    {.name = "solver",
     .help = "LP solver: clp, glpk or highs, if it is here (default: by the size of the problem)",
     .group = RESULT,
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = TRAIN(solver)}},
     .again = true},
    {.name = "multi-cut",
     .help = "make a cut per outcome instead of one for their mean",
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
    {.name = "drop-cuts",
     .help = "stop looking for cuts that are the highest at no visited state (level-one), or that were active in no LP "
             "of the last N iterations (last-active, default N: 50); default: never",
     .group = RESULT,
     .value = {{.name = "RULE",
                .kind = CB_VALUE_CHOICE,
                .field = TRAIN(drop_cuts),
                .choices = (const struct cb_choice[]){{"never", COBRE_SDDP_DROP_NEVER},
                                                      {"level-one", COBRE_SDDP_DROP_LEVEL_ONE},
                                                      {"last-active", COBRE_SDDP_DROP_LAST_ACTIVE},
                                                      {NULL, 0}}},
               {.name = "N", .kind = CB_VALUE_COUNT, .field = TRAIN(drop_after), .least = 1, .optional = true}},
     .again = true},
    {.name = "value-bound",
     .help = "a bound of the future cost of every node (default: found from the case)",
     .group = RESULT,
     .given = TRAIN(has_value_bound),
     .value = {{.name = "X", .kind = CB_VALUE_REAL, .field = TRAIN(value_bound), .least = -INFINITY}},
     .again = true},
    {.name = "checkpoint-every",
     .help = "how often to save the policy: iterations (50) or time (300s, 5min); 0: only at the end",
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
     .help = "also take these cuts from a case with other data; the bound is unproven then",
     .group = "",
     .given = TRAIN(accept_other_case)},
    {.name = NULL},
};

/* The same option, said in the words of each command. */
#define SCENARIOS .name = "scenarios", .value = {{.name = "FILE", .kind = CB_VALUE_TEXT, .field = LOAD(scenarios)}}

const struct cb_option cb_load_rows[] = {
    {SCENARIOS, .help = "also check a table of scenarios for `cobre simulate`"},
    {.name = NULL},
};

const struct cb_option cb_validate_rows[] = {
    {.name = "value-bound",
     .help = "a bound of the future cost of every node, as in `cobre train`",
     .given = VALIDATE(has_value_bound),
     .value = {{.name = "X", .kind = CB_VALUE_REAL, .field = VALIDATE(value_bound), .least = -INFINITY}}},
    {.name = "solver",
     .help = "LP solver that finds these bounds",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = VALIDATE(solver)}}},
    {.name = NULL},
};

const struct cb_option cb_scenario_rows[] = {
    {SCENARIOS, .help = "simulate the scenarios of this table, each once, instead of sampling"},
    {.name = NULL},
};

const struct cb_option cb_begin_rows[] = {
    {.name = "stage",
     .help = "begin at this stage instead of the first",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = BEGIN(stage), .least = 1}}},
    {.name = "date",
     .help = "begin at the stage of this date: 2027-03 or 2027-03-15",
     .value = {{.name = "DATE", .kind = CB_VALUE_TEXT, .field = BEGIN(date)}}},
    {.name = "node",
     .help = "begin at this node, by its name, where a stage has several",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = BEGIN(node)}}},
    {.name = "state",
     .help = "state at that stage's beginning: NAME=VALUE,..., where NAME is a reservoir or any state, and VALUE a "
             "number, or 50% "
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
     .help = "number of trajectories",
     .value = {{.name = "K", .kind = CB_VALUE_COUNT, .field = SIMULATE(trajectories), .least = 1, .fallback = "1000"}}},
    {.name = "seed",
     .help = "seed of the random numbers",
     .value = {{.name = "S", .kind = CB_VALUE_COUNT, .field = SIMULATE(seed), .fallback = "0"}}},
    {.name = "max-steps",
     .help = "end trajectories after N steps, on a graph with cycles",
     .value = {{.name = "N", .kind = CB_VALUE_COUNT, .field = SIMULATE(max_steps), .least = 1}}},
    {.name = "tables",
     .help = "tables to write besides costs and statistics: some of stages,states,variables,duals,noise, all, or none "
             "(default)",
     .value = {{.name = "LIST", .kind = CB_VALUE_TEXT, .field = SIMULATE(tables)}}},
    {.name = "netcdf",
     .help = "write all tables as one NetCDF-4 file, simulation.nc, which is much smaller",
     .given = SIMULATE(netcdf)},
    {.name = "solver",
     .help = "LP solver (default: as in the training)",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = SIMULATE(solver)}}},
    {.name = NULL},
};

const struct cb_option cb_decide_rows[] = {
    {.name = "inflow",
     .help = "inflow of the stage: NAME=VALUE,..., where NAME is a hydro plant or any random variable, and VALUE a "
             "number or a "
             "percentage of the mean; or a table, FILE.csv (default: the mean)",
     .value = {{.name = "TEXT", .kind = CB_VALUE_TEXT, .field = DECIDE(inflow)}}},
    {.name = "solver",
     .help = "LP solver (default: as in the training)",
     .value = {{.name = "NAME", .kind = CB_VALUE_TEXT, .field = DECIDE(solver)}}},
    {.name = NULL},
};

const struct cb_option cb_compare_rows[] = {
    {.name = "by",
     .help = "show each element, or each stage of one kind (default: subsystems, as means over the stages)",
     .value = {{.name = "element|stage",
                .kind = CB_VALUE_CHOICE,
                .field = COMPARE(by),
                .choices = (const struct cb_choice[]){{"element", COBRE_SDDP_BY_ELEMENT},
                                                      {"stage", COBRE_SDDP_BY_STAGE},
                                                      {NULL, 0}}}}},
    {.name = "kind",
     .help = "only this kind of figures: marginal_cost, stored_energy, ...; all of its elements",
     .value = {{.name = "KIND", .kind = CB_VALUE_TEXT, .field = COMPARE(kind), .missing = "a kind"}}},
    {.name = NULL},
};
