/* SPDX-License-Identifier: Apache-2.0 */
/* extensive.c: see extensive.h. Built depth first. */
#include "sddp/extensive.h"

#include <math.h>
#include <stdlib.h>

#include "sddp/grow.h"
#include "sddp/lp/plugins.h"

typedef struct {
    const cobre_sddp_problem *problem;
    size_t columns, rows, entries, column_room[3], row_room[2], entry_room;
    double *lower, *upper, *cost, *row_lower, *row_upper;
    struct entry {
        int row, column;
        double value;
    } * entry;
    size_t left; /* steps that may follow */
    bool no_memory;
} tree;

static int add_column(tree *t, double lower, double upper, double cost) {
    if (!CB_GROW(t, t->lower, t->columns, t->column_room[0]) || !CB_GROW(t, t->upper, t->columns, t->column_room[1]) ||
        !CB_GROW(t, t->cost, t->columns, t->column_room[2]))
        abort();
    t->lower[t->columns] = lower;
    t->upper[t->columns] = upper;
    t->cost[t->columns] = cost;
    return (int)t->columns++;
}

static int add_row(tree *t, double lower, double upper) {
    if (!CB_GROW(t, t->row_lower, t->rows, t->row_room[0]) || !CB_GROW(t, t->row_upper, t->rows, t->row_room[1]))
        abort();
    t->row_lower[t->rows] = lower;
    t->row_upper[t->rows] = upper;
    return (int)t->rows++;
}

static void add_entry(tree *t, int row, int column, double value) {
    if (!CB_GROW(t, t->entry, t->entries, t->entry_room))
        abort();
    t->entry[t->entries++] = (struct entry){row, column, value};
}

/* The noise of one outcome, applied to a copy at (row, column) with its cost row `value`. */
static void apply_noise(tree *t, const cb_node *node, const double *w, int row, int column, int value) {
    for (size_t i = 0; i < node->noises; i++) {
        const cb_noise *noise = &node->noise[i];
        double change = noise->factor * w[noise->random];
        int r = row + (int)noise->index, c = column + (int)noise->index;
        switch (noise->target) {
        case COBRE_SDDP_NOISE_ROW:
            t->row_lower[r] += change;
            t->row_upper[r] += change;
            break;
        case COBRE_SDDP_NOISE_ROW_LOWER: t->row_lower[r] += change; break;
        case COBRE_SDDP_NOISE_ROW_UPPER: t->row_upper[r] += change; break;
        case COBRE_SDDP_NOISE_COLUMN_LOWER: t->lower[c] += change; break;
        case COBRE_SDDP_NOISE_COLUMN_UPPER: t->upper[c] += change; break;
        case COBRE_SDDP_NOISE_COST: add_entry(t, value, c, -change); break;
        case COBRE_SDDP_NOISE_CONSTANT:
            t->row_lower[value] += change;
            t->row_upper[value] += change;
            break;
        case COBRE_SDDP_NOISE_ENTRY: add_entry(t, r, column + (int)noise->column, change); break;
        }
    }
}

static int grow_tree(tree *t, size_t index, size_t outcome, const cb_node *from, int parent);

/* The future cost of a copy: entries of its cost row `value`. */
static void add_future(tree *t, const cb_node *node, int column, int value) {
    if (t->left == 0)
        return;
    t->left--;
    double going_on = 0;
    for (size_t e = 0; e < node->edges; e++)
        going_on += node->edge[e].probability;
    bool averse = node->risk.beta < 1 && node->edges > 0;
    int level = averse ? add_column(t, -INFINITY, INFINITY, 0) : 0;
    if (averse)
        add_entry(t, value, level, -going_on * (1 - node->risk.beta));
    for (size_t e = 0; e < node->edges; e++) {
        const cb_edge *edge = &node->edge[e];
        const cb_node *child = &t->problem->node[edge->to];
        for (size_t k = 0; k < child->outcomes; k++) {
            int z = grow_tree(t, edge->to, k, node, column);
            double p = edge->probability * child->probability[k];
            add_entry(t, value, z, -node->risk.beta * p * edge->discount);
            if (!averse)
                continue;
            int u = add_column(t, 0, INFINITY, 0), row = add_row(t, 0, INFINITY);
            add_entry(t, row, u, 1);
            add_entry(t, row, level, 1);
            add_entry(t, row, z, -edge->discount);
            add_entry(t, value, u, -(1 - node->risk.beta) * p / node->risk.alpha);
        }
    }
    t->left++;
}

/* A copy of node `index` under the copy of node `from` whose first column is `parent` (NULL: under the root), with all that
 * is below it; its column z. */
static int grow_tree(tree *t, size_t index, size_t outcome, const cb_node *from, int parent) {
    const cobre_sddp_problem *problem = t->problem;
    const cb_node *node = &problem->node[index];
    int column = (int)t->columns, row = (int)t->rows;
    for (size_t j = 0; j < node->columns; j++)
        add_column(t, node->column[j].lower, node->column[j].upper, 0);
    for (size_t i = 0; i < node->rows; i++)
        add_row(t, node->row[i].lower, node->row[i].upper);
    for (int j = 0; j < (int)node->columns; j++)
        for (int e = node->start[j]; e < node->start[j + 1]; e++)
            add_entry(t, row + node->index[e], column + j, node->value[e]);
    int z = add_column(t, -INFINITY, INFINITY, 0), value = add_row(t, node->constant, node->constant);
    add_entry(t, value, z, 1);
    for (size_t j = 0; j < node->columns; j++)
        add_entry(t, value, column + (int)j, -node->column[j].cost);
    apply_noise(t, node, node->outcome + outcome * node->randoms, row, column, value);
    for (size_t s = 0; s < problem->states; s++) {
        int in = column + (int)node->state_in[s];
        double start = from ? 0 : problem->state[s].initial;
        t->lower[in] = -INFINITY;
        t->upper[in] = INFINITY;
        int link = add_row(t, start, start);
        add_entry(t, link, in, 1);
        if (from)
            add_entry(t, link, parent + (int)from->state_out[s], -1);
    }
    add_future(t, node, column, value);
    return z;
}

static int by_place(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    return x->column != y->column ? (x->column < y->column ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

/* With the solver that is preferred. */
static double solve(const cb_lp_model *model) {
    cb_lp_pair pair;
    if (cb_lp_choose(NULL, model->rows, &pair) != COBRE_OK)
        return NAN;
    const cb_lp_solver *solver = pair.solver;
    cb_lp *lp = solver->create(model);
    solver->start(lp, NULL, 0, NULL);
    double value = cb_lp_solve(solver, lp) == CB_LP_OPTIMAL ? solver->objective(lp) : NAN;
    solver->destroy(lp);
    return value;
}

static double solve_tree(tree *t, double solve_model(const cb_lp_model *)) {
    int *start = calloc(t->columns + 1, sizeof *start), *index = malloc((t->entries + 1) * sizeof *index);
    double *entry = malloc((t->entries + 1) * sizeof *entry);
    size_t kept = 0;
    qsort(t->entry, t->entries, sizeof *t->entry, by_place);
    for (size_t e = 0; e < t->entries; e++) {
        if (e > 0 && by_place(&t->entry[e - 1], &t->entry[e]) == 0) {
            entry[kept - 1] += t->entry[e].value;
            continue;
        }
        index[kept] = t->entry[e].row;
        entry[kept++] = t->entry[e].value;
        start[t->entry[e].column + 1]++;
    }
    for (size_t j = 0; j < t->columns; j++)
        start[j + 1] += start[j];
    cb_lp_model model = {.columns = (int)t->columns,
                         .rows = (int)t->rows,
                         .cost = t->cost,
                         .column_lower = t->lower,
                         .column_upper = t->upper,
                         .row_lower = t->row_lower,
                         .row_upper = t->row_upper,
                         .start = start,
                         .index = index,
                         .value = entry};
    double value = solve_model(&model);
    free(start);
    free(index);
    free(entry);
    return value;
}

double extensive_value(const cobre_sddp_problem *problem, size_t steps) {
    return extensive_value_by(problem, steps, solve);
}

double extensive_value_by(const cobre_sddp_problem *problem, size_t steps, double solve_model(const cb_lp_model *)) {
    tree t = {.problem = problem, .left = steps - 1};
    for (size_t e = 0; e < problem->root_edges; e++) {
        const cb_edge *edge = &problem->root_edge[e];
        for (size_t k = 0; k < problem->node[edge->to].outcomes; k++) {
            int z = grow_tree(&t, edge->to, k, NULL, 0);
            t.cost[z] = edge->probability * edge->discount * problem->node[edge->to].probability[k];
        }
    }
    double value = solve_tree(&t, solve_model);
    free(t.lower);
    free(t.upper);
    free(t.cost);
    free(t.row_lower);
    free(t.row_upper);
    free(t.entry);
    return problem->maximise ? -value : value;
}
