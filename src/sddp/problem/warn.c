/* SPDX-License-Identifier: Apache-2.0 */
/* warn.c: warns about numbers that are not errors, but will cost accuracy.
 *
 * These are numbers of one kind that lie far apart: an LP solver has 16 digits, and one tolerance, for all of them. The
 * limits were found by experiment. A penalty that is never paid spoiled bounds from 1e13 times the smallest cost on, a
 * coefficient from 1e12 times the smallest on. Real cases had ratios of 2e10 between costs (a token price of spill, and
 * the penalty for missing water), 2e7 between bounds and 5e3 between coefficients. */
#include <math.h>

#include "sddp/problem/builder.h"

#define NOTHING 1e-9 /* bounds below are 0 to a solver, and may be what rounding left of a 0 */

/* A number and where it stands. */
typedef struct {
    double size;
    size_t node;
    const char *kind, *name;
} number;

typedef struct {
    const char *what, *advice;
    double limit; /* of the ratio */
    number least, most;
} range;

static void see(range *r, double value, number at) {
    at.size = fabs(value);
    if (at.size == 0 || isinf(at.size))
        return;
    if (r->least.size == 0 || at.size < r->least.size)
        r->least = at;
    if (at.size > r->most.size)
        r->most = at;
}

static void see_bound(range *r, double value, number at) {
    if (fabs(value) >= NOTHING)
        see(r, value, at);
}

/* What a noise term adds, where it adds most. */
static double largest_term(const cb_node *node, const cb_noise *noise) {
    double largest = 0;
    for (size_t k = 0; k < node->outcomes; k++)
        largest = fmax(largest, fabs(noise->factor * node->outcome[k * node->randoms + noise->random]));
    return largest;
}

enum { COSTS, BOUNDS, COEFFICIENTS, RANGES };

static void see_noise(range *ranges, const cb_node *node, const cb_noise *noise, size_t index) {
    double term = largest_term(node, noise);
    bool row = cb_noise_family(noise->target) == COBRE_SDDP_NOISE_ROW;
    size_t column = noise->target == COBRE_SDDP_NOISE_ENTRY ? noise->column : noise->index;
    if (noise->target == COBRE_SDDP_NOISE_CONSTANT)
        return;
    number at = {.node = index,
                 .kind = row ? "row" : "column",
                 .name = row ? cb_row_name(node, noise->index) : cb_column_name(node, column)};
    if (noise->target == COBRE_SDDP_NOISE_COST)
        see(&ranges[COSTS], term, at);
    else if (noise->target == COBRE_SDDP_NOISE_ENTRY)
        see(&ranges[COEFFICIENTS], term, at);
    else
        see_bound(&ranges[BOUNDS], term, at);
}

/* Without what is a cost altogether. cost: a flag of each row. */
static void see_node(range *ranges, const cb_node *node, size_t index, const bool *cost) {
    for (size_t j = 0; j < node->columns; j++) {
        if (cb_is_cost(&node->column[j]))
            continue;
        number at = {.node = index, .kind = "column", .name = cb_column_name(node, j)};
        see(&ranges[COSTS], node->column[j].cost, at);
        see_bound(&ranges[BOUNDS], node->column[j].lower, at);
        see_bound(&ranges[BOUNDS], node->column[j].upper, at);
        for (int e = node->start[j]; e < node->start[j + 1]; e++)
            if (!cost[node->index[e]])
                see(&ranges[COEFFICIENTS], node->value[e], at);
    }
    for (size_t i = 0; i < node->rows; i++) {
        if (cost[i])
            continue;
        number at = {.node = index, .kind = "row", .name = cb_row_name(node, i)};
        see_bound(&ranges[BOUNDS], node->row[i].lower, at);
        see_bound(&ranges[BOUNDS], node->row[i].upper, at);
    }
    for (size_t i = 0; i < node->noises; i++)
        see_noise(ranges, node, &node->noise[i], index);
}

static void warn_of_ranges(cobre_sddp_builder *builder, const cobre_sddp_problem *problem) {
    range ranges[RANGES] = {
        {.what = "costs", .limit = 1e11, .advice = "a penalty need only outweigh what it competes with"},
        {.what = "bounds", .limit = 1e12, .advice = "leave out limits that never bind, or choose other units"},
        {.what = "coefficients", .limit = 1e10, .advice = "choose other units"}};
    bool *cost = cb_builder_alloc(builder, cb_most_rows(problem), sizeof *cost);
    for (size_t n = 0; cost && n < problem->nodes; n++) {
        cb_find_cost_rows(&problem->node[n], cost);
        see_node(ranges, &problem->node[n], n, cost);
    }
    for (const range *r = ranges; r < ranges + RANGES; r++)
        if (r->most.size > r->limit * r->least.size)
            cb_warn_at(builder, &builder->node[r->most.node].at, r->advice,
                       "the %s go from %g (node %s, %s %s) to %g (node %s, %s %s): a ratio of %.0e, beyond %.0e, "
                       "costs accuracy",
                       r->what, r->least.size, problem->node[r->least.node].name, r->least.kind, r->least.name,
                       r->most.size, problem->node[r->most.node].name, r->most.kind, r->most.name,
                       r->most.size / r->least.size, r->limit);
}

void cb_builder_warn(cobre_sddp_builder *builder, const cobre_sddp_problem *problem) {
    warn_of_ranges(builder, problem);
}
