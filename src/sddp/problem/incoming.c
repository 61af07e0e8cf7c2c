/* SPDX-License-Identifier: Apache-2.0 */
/* incoming.c: the input of a node: a state that a user gives, and noise that a user gives by the column that shows
 * it. */
#include <math.h>
#include <stdio.h>

#include "sddp/problem/problem.h"

#define ROUNDING 1e-9 /* of a limit, relative: tables have ten digits */

cb_range cb_state_limits(const cobre_sddp_problem *problem, size_t node, size_t state) {
    const cb_node *its = &problem->node[node];
    const cb_column *column = &its->column[its->state_in[state]];
    return (cb_range){column->lower, column->upper};
}

bool cb_state_fits(const cobre_sddp_problem *problem, size_t node, size_t state, double *value) {
    cb_range limits = cb_state_limits(problem, node, state);
    if (!(fabs(*value) <= CB_MOST))
        return false;
    if (*value < limits.lower && *value >= limits.lower - ROUNDING * fabs(limits.lower))
        *value = limits.lower;
    if (*value > limits.upper && *value <= limits.upper + ROUNDING * fabs(limits.upper))
        *value = limits.upper;
    return *value >= limits.lower && *value <= limits.upper;
}

const char *cb_limits_text(const cobre_sddp_problem *problem, size_t node, size_t state, double value,
                           char text[CB_LIMITS_ROOM]) {
    cb_range limits = cb_state_limits(problem, node, state);
    limits.lower = fmax(limits.lower, -CB_MOST);
    limits.upper = fmin(limits.upper, CB_MOST);
    snprintf(text, CB_LIMITS_ROOM, "state %.100s cannot be %.10g: at node %.100s it must be from %.10g to %.10g",
             problem->state[state].name, value, problem->node[node].name, limits.lower, limits.upper);
    return text;
}

static cobre_status check_state(const cobre_sddp_problem *problem, size_t node, const double *given, double *own) {
    for (size_t s = 0; s < problem->states; s++) {
        double value = given[s];
        char text[CB_LIMITS_ROOM];
        if (!cb_state_fits(problem, node, s, &value))
            return cb_refuse("state", "give a number within these limits", "%s",
                             cb_limits_text(problem, node, s, given[s], text));
        if (own)
            own[s] = value;
    }
    return COBRE_OK;
}

cobre_status cb_take_state(const cobre_sddp_problem *problem, size_t start, const double *given, double *own) {
    for (size_t s = 0; !given && own && s < problem->states; s++)
        own[s] = problem->state[s].initial;
    if (given && start != CB_ROOT)
        return check_state(problem, start, given, own);
    for (size_t e = 0; given && e < problem->root_edges; e++)
        CB_TRY(check_state(problem, problem->root_edge[e].to, given, own));
    return COBRE_OK;
}

/* 0 for one that is not there. */
static double entry_of(const cb_node *node, size_t row, size_t column) {
    for (int e = node->start[column]; e < node->start[column + 1]; e++)
        if ((size_t)node->index[e] == row)
            return node->value[e];
    return 0;
}

cb_effect cb_effect_of(const cobre_sddp_problem *problem, size_t index, size_t random, const double *state) {
    const cb_node *node = &problem->node[index];
    if (!node->shown)
        return (cb_effect){0, 1};
    cb_shown shown = node->shown[random];
    cb_effect effect = {node->row[shown.row].lower, 0};
    for (size_t s = 0; s < problem->states; s++)
        effect.plain -= entry_of(node, shown.row, node->state_in[s]) * state[s];
    for (const cb_noise *noise = node->noise; noise < node->noise + node->noises; noise++) {
        if (noise->random != random || noise->index != shown.row)
            continue;
        if (noise->target == COBRE_SDDP_NOISE_ROW)
            effect.slope += noise->factor;
        if (noise->target == COBRE_SDDP_NOISE_ENTRY)
            effect.slope -= noise->factor * state[cb_incoming_state(node, noise->column)];
    }
    double unit = entry_of(node, shown.row, shown.column);
    return (cb_effect){effect.plain / unit, effect.slope / unit};
}

bool cb_noise_for(const cobre_sddp_problem *problem, size_t index, size_t random, const double *state, double value,
                  double *noise, char why[CB_LIMITS_ROOM]) {
    const cb_node *node = &problem->node[index];
    cb_effect effect = cb_effect_of(problem, index, random, state);
    bool any = effect.slope == 0 && value == effect.plain;
    *noise = any ? 1 : (value - effect.plain) / effect.slope;
    const char *name = node->shown ? cb_column_name(node, node->shown[random].column) : cb_random_name(node, random);
    if (node->shown && node->model.lognormal && !(*noise > 0 && *noise <= CB_MOST))
        snprintf(why, CB_LIMITS_ROOM,
                 "%.120s cannot be %.10g: after the inflows before it is %.10g times its noise, which is lognormal and "
                 "so above 0",
                 name, value, effect.slope);
    else if (!(fabs(*noise) <= CB_MOST))
        snprintf(why, CB_LIMITS_ROOM, "%.120s cannot be %.10g: that is out of range", name, value);
    else
        return true;
    return false;
}

const char *cb_noise_advice(const cb_node *node) {
    return node->shown && node->model.lognormal ? "give inflows above 0, here and before" : "give a smaller number";
}

double cb_mean_noise(const cb_node *node, size_t random) {
    double mean = 0, probability = 0;
    for (size_t k = 0; k < node->outcomes; k++) {
        mean += node->probability[k] * node->outcome[k * node->randoms + random];
        probability += node->probability[k];
    }
    return mean / probability;
}
