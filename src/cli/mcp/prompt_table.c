/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_table.c: prompts: tasks that a user can give to an assistant, in steps that have proved right. */
#include "cli/mcp/mcp.h"

const struct cb_mcp_prompt cb_mcp_prompts[] = {
    {.name = "set_up_study",
     .title = "Set up a study",
     .description =
         "Check a case, train a first policy for it, simulate it, and say how far the results can be trusted.",
     .argument = {{"case", "the case: a path, absolute or below a root", true, NULL},
                  {"question", "what the study should answer", false,
                   "what does the system cost, and where is it short?"}},
     .text =
         "Set up a study of the case {case}. The question is: {question}\n"
         "\n"
         "1. Call validate_case. If there are errors, explain each with its file, line and remedy, and stop: the "
         "case must "
         "be corrected first. Warnings do not stop you, but name them.\n"
         "2. Call inspect_case and tell in a few sentences what the system consists of: "
         "subsystems, reservoirs, thermal plants, stages, the model of the inflows.\n"
         "3. Call train with stall \"20,1e-4\", iterations 500 and time \"10m\": it ends when the bound has "
         "settled. If it "
         "returns a job_id with the status running, call job_status until it is finished.\n"
         "4. Call simulate with the policy of that run and 1000 trajectories.\n"
         "5. Call query_convergence for the run. Do not go on as if the policy were good when the verdict is "
         "\"not yet\": train longer (resume with the policy, and iterations above those that the policy has), or "
         "say so. When it is \"unknown\": call simulate with as many trajectories as the reason says, and ask "
         "again.\n"
         "6. Answer the question with the numbers of the simulation (query_results), each with its unit. A mean has "
         "a sampling error: give half the 95 % interval (half) with it. Name the folder of the run, so that others can "
         "look at it.\n"},
    {.name = "diagnose_convergence",
     .title = "Diagnose convergence",
     .description = "Find out why a training has not converged, or whether it has, and what to do next.",
     .argument = {{"run", "the folder of the run", true, NULL}},
     .text =
         "Has the training in {run} converged, and if not, why?\n"
         "\n"
         "1. Call query_convergence with run {run}. Begin your answer with its verdict and the reason it gives.\n"
         "2. Look at the trace. Three patterns matter: the bound still rises (train longer: train with resume, its "
         "policy, and iterations above those that the policy has); the bound is flat but the gap is wide (more "
         "forward-passes, or too few "
         "trajectories: look at the interval of the simulated mean first); the bound is flat and the interval covers "
         "it "
         "(it has converged as far as this sample can tell).\n"
         "3. If there is no simulation, call simulate with the policy and 1000 trajectories, and ask query_convergence "
         "again: without one there is no gap to judge by. If the verdict is \"unknown\" for too few trajectories, "
         "call simulate with as many as the reason says, and ask again.\n"
         "4. With a risk measure there is no gap: judge by whether the bound has settled, and say that this is weaker "
         "evidence.\n"
         "5. If LPs gave no cut, or the bound is unproven, say what that means: columns without limits, or cuts of "
         "another case.\n"
         "6. End with one recommendation: the exact call of train or simulate to make next, or that none is needed.\n"},
    {.name = "compare_runs",
     .title = "Compare runs",
     .description = "Put two or more runs side by side, and say which differences are real.",
     .argument = {{"runs", "the folders of the runs, separated by commas; the first one is the reference", true, NULL},
                  {"question", "what the comparison is about", false, "which of them is better, and at what price?"}},
     .text =
         "Compare these runs: {runs}. The question is: {question}\n"
         "\n"
         "1. Call query_convergence for each run. A run that has not converged cannot be compared fairly: say so "
         "first.\n"
         "2. Call compare_runs with all of them. The first one is the reference. Where a run "
         "has no "
         "simulation, call simulate first, with the same number of trajectories and the same seed for all: then the "
         "sampling errors cancel as far as they can.\n"
         "3. Report a difference as real only if it is larger than its sampling error. Give each one with its error "
         "and "
         "unit. Say of the others that they may be chance.\n"
         "4. If the runs differ in their risk measure, compare the mean cost and the costs of the worst trajectories: "
         "a "
         "risk-averse policy pays on average for what it saves in bad years.\n"
         "5. If the runs are of different cases, name what differs between the cases before you explain a result by "
         "it.\n"
         "6. End with an answer to the question in two sentences.\n"},
    {.name = "explain_results",
     .title = "Explain results",
     .description =
         "Explain what a simulated policy does to somebody who has to decide: costs, shortages, water, prices.",
     .argument = {{"run", "the folder of the run", true, NULL},
                  {"audience", "who it is for", false, "an operator who knows the system but not the method"}},
     .text = "Explain the results of {run} to {audience}.\n"
             "\n"
             "1. Call query_convergence with run {run}: if the verdict is not \"converged\", begin with what that "
             "means for the "
             "numbers that follow.\n"
             "2. Call query_results by stage, once for each of the kinds cost, storage, stored_energy, "
             "hydro_generation, thermal_generation, marginal_cost and water_value. Then call it for kind "
             "unserved_energy, by total, statistic positive: that is the probability of a deficit; by stage it says "
             "when. Kind storage_at_minimum, by total, statistic positive, is the probability that a reservoir runs "
             "dry; by stage, statistic mean, it says when.\n"
             "3. Tell, in this order: what the horizon costs (kind cost, by total: mean, and half its 95 % interval); "
             "how likely a deficit is, "
             "when and "
             "where; which reservoirs run low, and in which stage; what drives the marginal costs.\n"
             "4. Use the percentiles, not only the mean: say what happens in a dry year (5 % of the trajectories are "
             "worse).\n"
             "5. Water values are what one more unit in a reservoir saves later. Where they rise towards the cost of a "
             "deficit, the water is scarce: say where. If the question is what to do now, from a state of the "
             "reservoirs, call decide with the case and the policy.\n"
             "6. Name the numbers that a decision depends on, with their units and stages, and nothing that the "
             "results do not "
             "show.\n"},
    {.name = NULL},
};
