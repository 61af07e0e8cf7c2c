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
 * All columns, rows and costs are scaled (stage.h); Q, t and u have one unit, which each start chooses. */
#include <math.h>

#include "sddp/stage/stage.h"

cb_risk cb_node_risk(const cb_stage_kind *kind, const cb_node *node) {
    return kind->has_risk ? kind->risk : node->risk;
}

double cb_cost_bound(const cb_stage_kind *kind, size_t node) {
    return kind->own_bound[node] + (kind->problem->node[node].edges > 0 ? kind->value_bound[node] : 0);
}

bool cb_model_alloc(cb_arena *memory, cb_lp_model *model, size_t columns, size_t rows, size_t entries) {
    *model = (cb_lp_model){.cost = cb_arena_alloc(memory, columns, sizeof *model->cost),
                           .column_lower = cb_arena_alloc(memory, columns, sizeof *model->column_lower),
                           .column_upper = cb_arena_alloc(memory, columns, sizeof *model->column_upper),
                           .row_lower = cb_arena_alloc(memory, rows, sizeof *model->row_lower),
                           .row_upper = cb_arena_alloc(memory, rows, sizeof *model->row_upper),
                           .start = cb_arena_alloc(memory, columns + 1, sizeof *model->start),
                           .index = cb_arena_alloc(memory, entries, sizeof *model->index),
                           .value = cb_arena_alloc(memory, entries, sizeof *model->value)};
    return !memory->failed;
}

static void put_row(cb_lp_model *model, double lower, double upper) {
    model->row_lower[model->rows] = lower;
    model->row_upper[model->rows++] = upper;
}

static void put_column(cb_lp_model *model, double lower, double upper, double cost) {
    int j = model->columns++;
    model->column_lower[j] = lower;
    model->column_upper[j] = upper;
    model->cost[j] = cost;
    model->start[j + 1] = model->start[j];
}

/* An entry of the last column. */
static void put_entry(cb_lp_model *model, int row, double value) {
    int at = model->start[model->columns]++;
    model->index[at] = row;
    model->value[at] = value;
}

static void put_own(cb_lp_model *model, const cb_stage *stage) {
    const cb_node *node = stage->node;
    for (size_t i = 0; i < node->rows; i++)
        put_row(model, stage->factor[i] * node->row[i].lower, stage->factor[i] * node->row[i].upper);
    for (size_t j = 0; j < node->columns; j++) {
        double unit = stage->unit[j];
        put_column(model, node->column[j].lower / unit, node->column[j].upper / unit,
                   stage->scale * unit * node->column[j].cost);
        for (int e = node->start[j]; e < node->start[j + 1]; e++)
            put_entry(model, node->index[e], stage->factor[node->index[e]] * node->value[e] * unit);
    }
}

/* The rows and t, whose column has an entry in each of them, and the u. */
static void put_risk(cb_lp_model *model, const cb_stage *stage, cb_risk risk) {
    const cb_node *node = stage->node;
    int row = model->rows;
    put_column(model, -INFINITY, INFINITY, cb_going_on(node) * (1 - risk.beta));
    for (size_t k = 0; k < stage->futures; k++) {
        put_entry(model, model->rows, 1);
        put_row(model, 0, INFINITY);
    }
    for (size_t e = 0; e < node->edges; e++) {
        const cb_node *child = &stage->kind->problem->node[node->edge[e].to];
        for (size_t o = 0; o < child->outcomes; o++) {
            double weight = node->edge[e].probability * child->probability[o] / risk.alpha;
            put_column(model, 0, INFINITY, weight * (1 - risk.beta));
            put_entry(model, row++, 1);
        }
    }
}

static void put_multi(cb_lp_model *model, cb_stage *stage) {
    const cb_stage_kind *kind = stage->kind;
    const cb_node *node = stage->node;
    cb_risk risk = cb_node_risk(kind, node);
    size_t k = 0;
    for (size_t e = 0; e < node->edges; e++) {
        const cb_edge *edge = &node->edge[e];
        const cb_node *child = &kind->problem->node[edge->to];
        for (size_t o = 0; o < child->outcomes; o++, k++) {
            double weight = edge->probability * child->probability[o] * edge->discount * risk.beta;
            stage->future_bound[k] = cb_cost_bound(kind, edge->to);
            put_column(model, stage->future_bound[k] / stage->future_unit, INFINITY, weight);
            stage->discount[k] = edge->discount;
            if (risk.beta < 1)
                put_entry(model, model->rows + (int)k, -edge->discount);
            stage->function[k] = kind->function[edge->to] + o;
        }
    }
    if (risk.beta < 1)
        put_risk(model, stage, risk);
}

static void put_single(cb_lp_model *model, cb_stage *stage) {
    stage->function[0] = (size_t)(stage->node - stage->kind->problem->node);
    stage->future_bound[0] = stage->kind->value_bound[stage->function[0]];
    put_column(model, stage->future_bound[0] / stage->future_unit, INFINITY, 1);
}

static size_t count_futures(const cb_stage_kind *kind, const cb_node *node) {
    if (!kind->pool)
        return 0;
    return kind->multi_cut ? cb_child_outcomes(kind->problem, node) : node->edges > 0;
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

static bool is_state(const cb_stage *stage, size_t column) {
    bool found = false;
    for (size_t s = 0; s < stage->kind->problem->states; s++)
        found |= stage->node->state_in[s] == column || stage->node->state_out[s] == column;
    return found;
}

/* A column of its own unit takes a penalty down that would dwarf the other costs. */
static double unit_of(const cb_stage *stage, size_t column) {
    enum { USUAL = 13, MOST = 20 };
    int exponent;
    double unit = stage->kind->plain ? 1 : stage->kind->problem->unit;
    frexp(stage->scale * unit * stage->node->column[column].cost, &exponent);
    if (exponent <= USUAL || stage->kind->plain || is_state(stage, column))
        return unit;
    return ldexp(unit, -(exponent - USUAL < MOST ? exponent - USUAL : MOST));
}

/* Brings the largest entry of a row to about 1. */
static double row_factor(double largest) {
    int exponent;
    frexp(largest, &exponent);
    return largest > 0 ? ldexp(1, 1 - exponent) : 1;
}

/* Units and factors of an LP that solvers like, whatever the units of the case. */
static void find_units(cb_stage *stage) {
    const cb_node *node = stage->node;
    stage->scale = stage->kind->plain ? 1 : stage->kind->problem->scale;
    stage->future_unit = 1; /* a start chooses it */
    stage->unit = cb_arena_alloc(&stage->memory, node->columns, sizeof *stage->unit);
    stage->factor = cb_arena_alloc(&stage->memory, node->rows, sizeof *stage->factor);
    stage->dual_unit = cb_arena_alloc(&stage->memory, node->rows, sizeof *stage->dual_unit);
    for (size_t j = 0; stage->unit && j < node->columns; j++)
        stage->unit[j] = unit_of(stage, j);
    for (size_t j = 0; !stage->memory.failed && j < node->columns; j++)
        for (int e = node->start[j]; e < node->start[j + 1]; e++)
            stage->factor[node->index[e]] = fmax(stage->factor[node->index[e]], fabs(node->value[e]));
    for (size_t i = 0; !stage->memory.failed && i < node->rows; i++) {
        stage->factor[i] = stage->kind->plain ? 1 : row_factor(stage->factor[i]) / stage->kind->problem->unit;
        stage->dual_unit[i] = stage->factor[i] / stage->scale;
    }
}

cobre_status cb_stage_build(cb_stage *stage, const cb_lp_solver *solver, cb_lp **lp) {
    const cb_node *node = stage->node;
    size_t futures = stage->futures = count_futures(stage->kind, node), columns = node->columns + 2 * futures + 1;
    cb_arena memory = {0};
    cb_lp_model model;
    if (!stage->function) {
        find_units(stage);
        stage->function = cb_arena_alloc(&stage->memory, futures, sizeof *stage->function);
        stage->future_bound = cb_arena_alloc(&stage->memory, futures, sizeof *stage->future_bound);
        stage->discount = cb_arena_alloc(&stage->memory, futures, sizeof *stage->discount);
        stage->future_cost = cb_arena_alloc(&stage->memory, 2 * futures + 1, sizeof *stage->future_cost);
    }
    if (!stage->memory.failed &&
        cb_model_alloc(&memory, &model, columns, node->rows + futures, node->entries + 3 * futures)) {
        put_own(&model, stage);
        if (futures > 0)
            (stage->kind->multi_cut ? put_multi : put_single)(&model, stage);
        stage->columns = model.columns;
        stage->rows = model.rows;
        for (int j = (int)node->columns; j < model.columns; j++) {
            stage->future_cost[j - (int)node->columns] = model.cost[j];
            model.cost[j] *= stage->scale * stage->future_unit;
        }
        *lp = solver->create(&model);
    }
    cb_arena_free(&memory);
    return *lp ? COBRE_OK : cb_no_memory("an LP", columns * sizeof(double));
}
