/* SPDX-License-Identifier: Apache-2.0 */
/* match.c: does a policy file fit a problem?
 *
 * A cut of a node depends on the data of the nodes after it. It does not depend on the initial state, unless that
 * bounds the states that a node may leave. So there are four answers:
 *   - The states and nodes are the same, with the same data: the cuts are bounds, wherever the process begins.
 *   - The states and nodes are the same, with other data: the cuts may be used, but they prove nothing.
 *   - A hydrothermal case begins in another season: node n + shift of the file serves node n, and proves nothing.
 *   - The states or nodes differ: the file is refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/policy/policy.h"

static cobre_status refuse(const char *path, const char *advice, const char *why) {
    return cb_fail_at(COBRE_INVALID_POLICY, path, 0, advice, "%s: this policy belongs to another problem: %s", path,
                      why);
}

static cobre_status other_problem(const char *path, const char *why) {
    return refuse(path, "use a policy of a case with the same states and nodes", why);
}

/* A state of the file that the problem lacks; NULL: there is none. */
static const char *lost_state(const cb_policy_names *file, const cobre_sddp_problem *problem) {
    for (size_t i = 0; i < file->states; i++) {
        size_t s = 0;
        while (s < problem->states && strcmp(problem->state[s].name, file->name[1 + i]) != 0)
            s++;
        if (s == problem->states)
            return file->name[1 + i];
    }
    return NULL;
}

static bool has_state(const cb_policy_names *file, const char *name) {
    for (size_t i = 0; i < file->states; i++)
        if (strcmp(name, file->name[1 + i]) == 0)
            return true;
    return false;
}

/* Who takes a plant out of a hydrothermal case can say it otherwise; unless it is another system altogether. */
static cobre_status other_states(const char *path, const cb_policy_names *file, const cobre_sddp_problem *problem,
                                 const char *why) {
    const char *lost = lost_state(file, problem);
    size_t common = 0;
    for (size_t s = 0; s < problem->states; s++)
        common += has_state(file, problem->state[s].name);
    if (!lost || !*problem->contents || common == 0)
        return other_problem(path, why);
    return refuse(path,
                  "keep the plant in hydros.csv: with turbine_max 0 it is out of service, and the policy can be used; "
                  "without it, train a new one",
                  CB_TEXT("%s; %s is not here", why, lost));
}

static cobre_status check_states(const char *path, const cb_policy_names *file, const cobre_sddp_problem *problem) {
    if (file->maximise != problem->maximise)
        return other_problem(path, problem->maximise ? "that one minimises" : "that one maximises");
    if (file->states != problem->states)
        return other_states(path, file, problem,
                            CB_TEXT("it has %zu state%s, this one has %zu", file->states, file->states == 1 ? "" : "s",
                                    problem->states));
    for (size_t s = 0; s < problem->states; s++)
        if (strcmp(file->name[1 + s], problem->state[s].name) != 0)
            return other_states(
                path, file, problem,
                CB_TEXT("state %zu is %s there and %s here", s + 1, file->name[1 + s], problem->state[s].name));
    return COBRE_OK;
}

static cobre_status check_nodes(const char *path, const cb_policy_names *file, const cobre_sddp_problem *problem) {
    if (file->nodes != problem->nodes)
        return other_problem(path, CB_TEXT("it has %zu nodes, this one has %zu", file->nodes, problem->nodes));
    for (size_t n = 0; n < problem->nodes; n++) {
        const char *name = file->name[1 + file->states + n];
        if (strcmp(name, problem->node[n].name) != 0)
            return other_problem(path, CB_TEXT("node %zu is %s there and %s here", n + 1, name, problem->node[n].name));
    }
    return COBRE_OK;
}

/* Each outcome has cuts of its own. */
static cobre_status check_outcomes(const char *path, const cb_policy_names *file, const cobre_sddp_problem *problem,
                                   size_t shift) {
    for (size_t n = 0; n < problem->nodes && n + shift < file->nodes; n++)
        if (file->outcomes[n + shift] != problem->node[n].outcomes)
            return other_problem(path, CB_TEXT("it has multi-cuts, and node %s has %zu outcomes there and %zu here",
                                               problem->node[n].name, (size_t)file->outcomes[n + shift],
                                               problem->node[n].outcomes));
    return COBRE_OK;
}

/* Stages by which the horizon has moved. */
static size_t find_shift(const cb_policy_names *file, const cobre_sddp_problem *problem) {
    if (problem->seasons == 0 || file->seasons != problem->seasons)
        return 0;
    return (problem->first_season + problem->seasons - (size_t)file->first_season) % problem->seasons;
}

static void say_shift(const cb_policy_names *file, const cobre_sddp_problem *problem, cb_match *match) {
    snprintf(
        match->what, sizeof match->what,
        "stage 1 is in season %zu here and was in season %zu there, so that its cuts of stage %zu serve stage 1, and "
        "so on",
        problem->first_season, (size_t)file->first_season, 1 + match->shift);
}

static void say_beginning(const cb_policy_names *file, const cobre_sddp_problem *problem, cb_match *match) {
    size_t count = 0, first = 0;
    for (size_t s = problem->states; s-- > 0;)
        if (file->initial[s] != problem->state[s].initial) {
            first = s;
            count++;
        }
    if (count == 0)
        snprintf(match->what, sizeof match->what, "the successors of the root differ");
    else
        snprintf(match->what, sizeof match->what, "the initial state of %s is %.10g here and was %.10g there%s",
                 problem->state[first].name, problem->state[first].initial, file->initial[first],
                 count > 1 ? CB_TEXT(", and %zu more initial state%s", count - 1, count > 2 ? "s differ" : " differs")
                           : "");
}

/* True if the data of all nodes is the same. */
static bool compare_nodes(const cb_policy_names *file, const cobre_sddp_problem *problem, cb_match *match) {
    size_t count = 0, first = 0;
    for (size_t n = problem->nodes; n-- > 0;)
        if (file->sum[n] != cb_node_sum(problem, n)) {
            first = n;
            count++;
        }
    if (count > 0)
        snprintf(match->what, sizeof match->what, "the data of node %s%s differ%s", problem->node[first].name,
                 count > 1 ? CB_TEXT(" and of %zu more node%s", count - 1, count > 2 ? "s" : "") : "",
                 count > 1 ? "" : "s");
    return count == 0;
}

cobre_status cb_policy_match(const char *path, const cb_policy_names *file, bool multi_cut,
                             const cobre_sddp_problem *problem, cb_match *match) {
    *match = (cb_match){.same = file->fingerprint == problem->fingerprint};
    CB_TRY(check_states(path, file, problem));
    match->shift = match->same ? 0 : find_shift(file, problem);
    if (match->shift >= file->nodes)
        return other_problem(path, "it ends before this one begins");
    if (match->shift == 0)
        CB_TRY(check_nodes(path, file, problem));
    if (multi_cut)
        CB_TRY(check_outcomes(path, file, problem, match->shift));
    if (match->shift > 0)
        say_shift(file, problem, match);
    else
        match->valid = match->same || compare_nodes(file, problem, match);
    match->proven = match->valid && file->ranges == cb_range_sum(problem);
    if (match->valid && !match->same)
        say_beginning(file, problem, match);
    return COBRE_OK;
}
