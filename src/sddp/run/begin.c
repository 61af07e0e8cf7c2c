/* SPDX-License-Identifier: Apache-2.0 */
/* begin.c: finds where a simulation begins. */
#include "sddp/run/begin.h"

#include "sddp/date.h"
#include "sddp/problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of the nodes of a stage, or of all for stage 0; returns how many there are. */
static size_t list_nodes(const cobre_sddp_problem *problem, size_t stage, char *text, size_t size) {
    enum { MOST = 12 };
    size_t count = 0;
    *text = '\0';
    for (size_t n = 0; n < problem->nodes; n++)
        if ((stage == 0 || problem->node[n].stage == stage) && count++ < MOST)
            snprintf(text + strlen(text), size - strlen(text), "%s%.40s", count > 1 ? ", " : "", problem->node[n].name);
    if (count > MOST)
        snprintf(text + strlen(text), size - strlen(text), " and %zu more", count - MOST);
    return count;
}

static cobre_status find_stage(const cobre_sddp_problem *problem, size_t stage, size_t *node) {
    char names[700];
    size_t last = 0, count = list_nodes(problem, stage, names, sizeof names);
    for (size_t n = problem->nodes; n-- > 0;) {
        last = problem->node[n].stage > last ? problem->node[n].stage : last;
        *node = problem->node[n].stage == stage ? n : *node;
    }
    if (count == 0)
        return cb_refuse("stage", CB_TEXT("give one from 1 to %zu", last), "there is no stage %zu", stage);
    if (count > 1)
        return cb_refuse("stage", "choose one of them (--node)", "stage %zu has %zu nodes: %s", stage, count, names);
    return COBRE_OK;
}

static cobre_status find_date(const cobre_sddp_problem *problem, const char *date, size_t *node) {
    *node = cobre_sddp_problem_node_at(problem, date);
    if (*node != CB_NONE)
        return COBRE_OK;
    cb_date unused;
    if (!cb_date_parse(date, &unused))
        return cb_refuse("date", "write it like 2027-03 or 2027-03-15", "\"%.40s\" is no date", date);
    const char *first = problem->nodes > 0 ? problem->node[0].date : "";
    if (!*first)
        return cb_refuse("date", "give case.json a \"start\", or give a stage (--stage)", "the case has no dates");
    return cb_refuse("date", CB_TEXT("give one from %s to %s", first, problem->node[problem->nodes - 1].date),
                     "no stage is under way at %.40s", date);
}

bool cb_begin_is_clear(const struct cb_begin *begin) {
    return (begin->stage > 0) + (begin->date != NULL) + (begin->node != NULL) <= 1;
}

cobre_status cb_begin_node(const cobre_sddp_problem *problem, const struct cb_begin *begin, size_t *node) {
    char names[700];
    *node = CB_ROOT;
    if (begin->stage)
        return find_stage(problem, begin->stage, node);
    if (begin->date)
        return find_date(problem, begin->date, node);
    if (!begin->node)
        return COBRE_OK;
    for (size_t n = 0; n < problem->nodes; n++)
        if (strcmp(problem->node[n].name, begin->node) == 0)
            *node = n;
    if (*node != CB_ROOT)
        return COBRE_OK;
    list_nodes(problem, 0, names, sizeof names);
    return cb_refuse("node", "correct the name", "there is no node \"%.100s\"; there are %s", begin->node, names);
}

static void add(struct cb_beginning *found, const char *text) {
    snprintf(found->text + strlen(found->text), sizeof found->text - strlen(found->text), "%s%s",
             *found->text ? ", " : "", text);
}

/* How many states of a kind there are, and how many of them have a value. */
static void count_states(const cobre_sddp_problem *problem, const double *state, bool storage, size_t counts[2]) {
    counts[0] = counts[1] = 0;
    for (size_t s = 0; s < problem->states; s++)
        if ((strncmp(problem->state[s].name, "storage[", 8) == 0) == storage) {
            counts[0]++;
            counts[1] += isnan(state[s]) ? 0 : 1;
        }
}

/* " (Furnas 2300 hm3, Itumbiara 800 hm3)"; nothing of many, or where a name is long. */
static const char *storages_text(const cobre_sddp_problem *problem, const double *state, size_t given, char text[128]) {
    enum { MOST = 3 };
    size_t length = 0;
    *text = '\0';
    for (size_t s = 0; given > 0 && given <= MOST && s < problem->states; s++) {
        cobre_sddp_label label = {.struct_size = sizeof label};
        if (isnan(state[s]) || strncmp(problem->state[s].name, "storage[", 8) != 0)
            continue;
        cobre_sddp_problem_label(problem, COBRE_SDDP_STATE, problem->state[s].name, &label);
        length += (size_t)snprintf(text + length, 128 - length, "%s%s %.6g%s%s", *text ? ", " : " (", label.element,
                                   label.factor * state[s], *label.unit ? " " : "", label.unit);
        if (length >= 126) {
            *text = '\0';
            return text;
        }
    }
    return *text ? strcat(text, ")") : text;
}

/* state: NaN where nothing was given. */
static void say_state(const cobre_sddp_problem *problem, const double *state, struct cb_beginning *found) {
    size_t storages[2], others[2];
    char values[128];
    count_states(problem, state, true, storages);
    count_states(problem, state, false, others);
    found->complete = storages[1] == storages[0] && others[1] == others[0];
    if (storages[0] > 0)
        add(found, CB_TEXT("storage given for %zu of %zu reservoir%s%s", storages[1], storages[0],
                           storages[0] > 1 ? "s" : "", storages_text(problem, state, storages[1], values)));
    if (others[0] > 0)
        add(found, CB_TEXT("%zu of %zu %s%s given", others[1], others[0], storages[0] > 0 ? "past inflow" : "state",
                           others[0] > 1 ? "s" : ""));
}

static void say_node(const cobre_sddp_problem *problem, const struct cb_begin *begin, struct cb_beginning *found) {
    if (begin->stage)
        add(found, CB_TEXT("from stage %zu", begin->stage));
    else if (begin->date)
        add(found, CB_TEXT("from stage %zu (%s)", problem->node[found->node].stage, problem->node[found->node].date));
    else if (begin->node)
        add(found, CB_TEXT("from node %.100s", problem->node[found->node].name));
    if (!begin->state && *found->text)
        add(found, "in the initial state");
}

/* The limits of states are those at the first node. */
static cobre_status read_state(const cobre_sddp_problem *problem, const char *text, struct cb_beginning *found) {
    size_t node = found->node == CB_ROOT ? problem->root_edge[0].to : found->node;
    for (size_t s = 0; s < problem->states; s++)
        found->state[s] = NAN;
    CB_TRY(cobre_sddp_state_from_text(problem, node, text, found->state));
    found->said = *found->text ? strlen(found->text) + 2 : 0;
    say_state(problem, found->state, found);
    for (size_t s = 0; s < problem->states; s++)
        found->state[s] = isnan(found->state[s]) ? problem->state[s].initial : found->state[s];
    return COBRE_OK;
}

cobre_status cb_begin_find(const cobre_sddp_problem *problem, const struct cb_begin *begin,
                           struct cb_beginning *found) {
    *found = (struct cb_beginning){.node = CB_ROOT};
    CB_TRY(cb_begin_node(problem, begin, &found->node));
    say_node(problem, begin, found);
    if (!begin->state)
        return COBRE_OK;
    found->state = malloc((problem->states + 1) * sizeof *found->state);
    cobre_status status = found->state ? COBRE_OK : cb_no_memory("a state", problem->states * sizeof *found->state);
    if (!status && cobre_rank(problem->comm) == 0)
        status = read_state(problem, begin->state, found);
    if (cobre_size(problem->comm) == 1) /* it needs no call, and so works in the child of a fork, too */
        return status;
    CB_TRY(cb_agree(problem->comm, status));
    return cobre_broadcast(problem->comm, found->state, problem->states, COBRE_F64, 0);
}

cobre_status cb_begin_decision(const cobre_sddp_problem *problem, const struct cb_beginning *found, size_t *node) {
    *node = found->node == CB_ROOT ? problem->root_edge[0].to : found->node;
    if (found->node != CB_ROOT || problem->root_edges == 1)
        return COBRE_OK;
    return cb_refuse("node", "choose one (--node)", "the case begins at one of %zu nodes", problem->root_edges);
}

void cb_begin_free(struct cb_beginning *found) {
    free(found->state);
    found->state = NULL;
}

bool cb_begins_elsewhere(const cobre_sddp_problem *problem, const cobre_sddp_simulate_options *options) {
    const cb_edge *first = problem->root_edge;
    if (options->has_node && (problem->root_edges > 1 || first->to != options->node || first->discount != 1))
        return true;
    for (size_t s = 0; options->state && s < problem->states; s++)
        if (options->state[s] != problem->state[s].initial)
            return true;
    return false;
}
