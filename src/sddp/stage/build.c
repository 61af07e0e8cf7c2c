/* SPDX-License-Identifier: Apache-2.0 */
/* build.c: the LP of a node without cuts.
 *
 * Single cuts: one future-cost column, coefficient 1, bounded from below by the node's value bound. Multi-cuts: one for
 * each outcome k of each child, Q_k, which is that outcome's cost from there on. With q_k its probability given that the
 * process goes on (with probability P), d_k the discount, and rho = beta E + (1 - beta) AVaR_alpha written as in
 * Rockafellar and Uryasev:
 *
 *     P sum q_k d_k (beta Q_k) + P (1 - beta) (t + sum q_k / alpha u_k),   u_k >= d_k Q_k - t,   u_k >= 0,   t free.
 *
 * The columns follow the node's own in the order Q_1 ... Q_K, t, u_1 ... u_K; the rows u_k + t - d_k Q_k >= 0 follow the
 * node's own. Without risk there are neither t nor u.
 *
 * All costs, Q, t and u among them, are scaled (problem.h): what is read from the LP must be scaled back. */
#include <math.h>
#include <stdlib.h>

#include "sddp/stage/stage.h"

cb_risk cb_node_risk(const cb_stage_kind *kind, const cb_node *node) {
    return kind->has_risk ? kind->risk : node->risk;
}

/* A model under construction. */
typedef struct {
    int columns, rows, entries;
    double *cost, *column_lower, *column_upper, *row_lower, *row_upper, *value;
    int *start, *index;
} draft;

static void free_draft(draft *d) {
    free(d->cost);
    free(d->column_lower);
    free(d->column_upper);
    free(d->row_lower);
    free(d->row_upper);
    free(d->value);
    free(d->start);
    free(d->index);
}

static bool alloc_draft(draft *d, size_t columns, size_t rows, size_t entries) {
    d->cost = malloc((columns + 1) * sizeof *d->cost);
    d->column_lower = malloc((columns + 1) * sizeof *d->column_lower);
    d->column_upper = malloc((columns + 1) * sizeof *d->column_upper);
    d->row_lower = malloc((rows + 1) * sizeof *d->row_lower);
    d->row_upper = malloc((rows + 1) * sizeof *d->row_upper);
    d->value = malloc((entries + 1) * sizeof *d->value);
    d->start = calloc(columns + 2, sizeof *d->start);
    d->index = malloc((entries + 1) * sizeof *d->index);
    return d->cost && d->column_lower && d->column_upper && d->row_lower && d->row_upper && d->value && d->start &&
           d->index;
}

static void put_column(draft *d, double lower, double upper, double cost) {
    d->column_lower[d->columns] = lower;
    d->column_upper[d->columns] = upper;
    d->cost[d->columns++] = cost;
    d->start[d->columns] = d->entries;
}

/* An entry of the column that comes next. */
static void put_entry(draft *d, int row, double value) {
    d->index[d->entries] = row;
    d->value[d->entries++] = value;
}

static void put_row(draft *d, double lower, double upper) {
    d->row_lower[d->rows] = lower;
    d->row_upper[d->rows++] = upper;
}

static void put_own(draft *d, const cb_node *node, double scale) {
    for (size_t i = 0; i < node->rows; i++)
        put_row(d, node->row[i].lower, node->row[i].upper);
    for (size_t j = 0; j < node->columns; j++) {
        for (int e = node->start[j]; e < node->start[j + 1]; e++)
            put_entry(d, node->index[e], node->value[e]);
        put_column(d, node->column[j].lower, node->column[j].upper, scale * node->column[j].cost);
    }
}

static void put_multi(draft *d, cb_stage *stage) {
    const cobre_sddp_problem *problem = stage->kind->problem;
    const cb_node *node = stage->node;
    cb_risk risk = cb_node_risk(stage->kind, node);
    bool averse = risk.beta < 1;
    int first = d->rows;
    size_t k = 0;
    for (size_t e = 0; e < node->edges; e++) {
        const cb_edge *edge = &node->edge[e];
        const cb_node *child = &problem->node[edge->to];
        for (size_t o = 0; o < child->outcomes; o++, k++) {
            stage->function[k] = stage->kind->function[edge->to] + o;
            if (averse)
                put_entry(d, first + (int)k, -edge->discount);
            double weight = edge->probability * child->probability[o] * edge->discount * risk.beta;
            double bound = stage->kind->own_bound[edge->to] + (child->edges ? stage->kind->value_bound[edge->to] : 0);
            put_column(d, problem->scale * bound, INFINITY, weight);
        }
    }
    if (!averse)
        return;
    double going_on = 0;
    for (size_t e = 0; e < node->edges; e++)
        going_on += node->edge[e].probability;
    for (size_t i = 0; i < k; i++) {
        put_row(d, 0, INFINITY);
        put_entry(d, first + (int)i, 1);
    }
    put_column(d, -INFINITY, INFINITY, going_on * (1 - risk.beta));
    k = 0;
    for (size_t e = 0; e < node->edges; e++) {
        const cb_node *child = &problem->node[node->edge[e].to];
        for (size_t o = 0; o < child->outcomes; o++, k++) {
            put_entry(d, first + (int)k, 1);
            double weight = node->edge[e].probability * child->probability[o] / risk.alpha;
            put_column(d, 0, INFINITY, weight * (1 - risk.beta));
        }
    }
}

static size_t count_futures(const cb_stage_kind *kind, const cb_node *node) {
    if (!kind->pool || node->edges == 0)
        return 0;
    if (!kind->multi_cut)
        return 1;
    size_t count = 0;
    for (size_t e = 0; e < node->edges; e++)
        count += kind->problem->node[node->edge[e].to].outcomes;
    return count;
}

/* Columns and rows that cb_stage_build makes. */
static size_t count_own(const cb_stage_kind *kind, const cb_node *node) {
    size_t futures = count_futures(kind, node), own = node->columns + node->rows + futures;
    bool averse = futures > 0 && kind->multi_cut && cb_node_risk(kind, node).beta < 1;
    return averse ? own + 2 * futures + 1 : own;
}

/* Is there a column for this function? */
static bool has_future(const cb_stage_kind *kind, const cb_node *node, size_t function) {
    if (!kind->multi_cut)
        return node->edges > 0 && function == (size_t)(node - kind->problem->node);
    for (size_t e = 0; e < node->edges; e++) {
        size_t first = kind->function[node->edge[e].to];
        if (function >= first && function < first + kind->problem->node[node->edge[e].to].outcomes)
            return true;
    }
    return false;
}

bool cb_start_fits(const cb_stage_kind *kind, const cb_node *node, const cb_start *start) {
    if (!start->set)
        return true;
    if (start->own != count_own(kind, node))
        return false;
    for (size_t i = 0; i < start->own + start->cuts; i++)
        if (start->stand[i] > CB_AT_UPPER)
            return false;
    for (size_t i = 0; i < start->cuts; i++)
        if (start->cut[i] >= kind->pool->cuts ||
            !has_future(kind, node, (size_t)cb_pool_cut(kind->pool, start->cut[i])[CB_CUT_FUNCTION]))
            return false;
    return true;
}

cobre_status cb_stage_build(cb_stage *stage, const cb_lp_solver *solver, cb_lp **lp) {
    const cb_node *node = stage->node;
    size_t futures = stage->futures = count_futures(stage->kind, node), extra = node->columns + 2 * futures + 1;
    draft d = {0};
    if (!stage->function)
        stage->function = malloc((futures + 1) * sizeof *stage->function);
    if (!stage->future_cost)
        stage->future_cost = malloc((2 * futures + 2) * sizeof *stage->future_cost);
    if (!stage->function || !stage->future_cost ||
        !alloc_draft(&d, extra, node->rows + futures, node->entries + 3 * futures)) {
        free_draft(&d);
        return cb_no_memory("a stage problem", extra * sizeof(double));
    }
    put_own(&d, node, stage->kind->problem->scale);
    if (futures > 0 && stage->kind->multi_cut) {
        put_multi(&d, stage);
    } else if (futures > 0) {
        stage->function[0] = (size_t)(node - stage->kind->problem->node);
        put_column(&d, stage->kind->problem->scale * stage->kind->value_bound[stage->function[0]], INFINITY, 1);
    }
    stage->columns = d.columns;
    stage->rows = d.rows;
    for (int j = (int)node->columns; j < d.columns; j++)
        stage->future_cost[j - (int)node->columns] = d.cost[j];
    cb_lp_model model = {.columns = d.columns,
                         .rows = d.rows,
                         .cost = d.cost,
                         .column_lower = d.column_lower,
                         .column_upper = d.column_upper,
                         .row_lower = d.row_lower,
                         .row_upper = d.row_upper,
                         .start = d.start,
                         .index = d.index,
                         .value = d.value};
    *lp = solver->create(&model);
    free_draft(&d);
    return *lp ? COBRE_OK : cb_no_memory("an LP", extra * sizeof(double));
}
