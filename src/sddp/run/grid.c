/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/run/grid.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sddp/error.h"
#include "sddp/grow.h"

enum { MORE = 8 }; /* variables that are no items', and their `_before` */

/* What netcdf.c calls its own. */
static bool is_reserved(const char *name) {
    static const char *const names[] = {"trajectory", "stage", "block", "date", "duration", "block_share"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static size_t find_axis(struct cb_grid *grid, const char *name) {
    for (size_t a = 0; a < grid->axes; a++)
        if (strcmp(grid->axis[a].name, name) == 0)
            return a;
    if (!CB_GROW(grid, grid->axis, grid->axes, grid->axes_room))
        return CB_NONE;
    grid->axis[grid->axes] = (struct cb_axis){.name = name};
    return grid->axes++;
}

/* Elements come in the order of their tables, kind by kind: mostly the one after the last. */
static size_t find_element(struct cb_grid *grid, struct cb_axis *axis, const char *element, size_t near) {
    for (size_t tried = 0; tried < axis->count; tried++) {
        size_t at = (near + tried) % axis->count;
        if (strcmp(axis->element[at], element) == 0)
            return at;
    }
    if (!CB_GROW(grid, axis->element, axis->count, axis->room))
        return 0;
    axis->element[axis->count] = element;
    return axis->count++;
}

static bool is_taken(const struct cb_grid *grid, const char *name) {
    for (size_t v = 0; v < grid->variables; v++)
        if (strcmp(grid->variable[v].name, name) == 0)
            return true;
    for (size_t a = 0; a < grid->axes; a++)
        if (strcmp(grid->axis[a].name, name) == 0)
            return true;
    return is_reserved(name);
}

/* Letters, digits and underscores; an axis and its coordinate have their names already. */
static void make_name(const struct cb_grid *grid, const char *kind, const char *other, char name[128]) {
    size_t length = 0;
    for (; length < 100 && kind[length]; length++)
        name[length] = isalnum((unsigned char)kind[length]) ? kind[length] : '_';
    name[length] = '\0';
    if (is_taken(grid, name))
        snprintf(name + length, 128 - length, "_%s", other);
    for (unsigned n = 2; is_taken(grid, name) && n < 1000; n++)
        snprintf(name + length, 128 - length, "_%s_%u", other, n);
}

static struct cb_variable *add_variable(struct cb_grid *grid, const char *kind, const char *other, const char *unit,
                                        const char *description) {
    if (!CB_GROW(grid, grid->variable, grid->variables, grid->variables_room))
        return NULL;
    struct cb_variable *new = &grid->variable[grid->variables];
    *new = (struct cb_variable){.unit = unit, .description = description, .axis = CB_NONE};
    make_name(grid, kind, other, new->name);
    grid->variables++;
    return new;
}

/* What an item is called where its label says nothing. */
static const struct {
    const char *kind, *other, *description;
} words[] = {[COBRE_SDDP_STATE] = {"level", "after", "at the end of the stage"},
             [COBRE_SDDP_COLUMN] = {"value", "decided", "decided in the stage"},
             [COBRE_SDDP_ROW] = {"dual", "dual", "change of the cost for one more unit"},
             [COBRE_SDDP_RANDOM] = {"outcome", "drawn", "seen before the decision"}};

static const char *kind_of(const cb_item *item) {
    return *item->label.kind ? item->label.kind : words[item->part].kind;
}

/* A column whose state says the same under the same name. An inflow that is a state later is not. */
static bool repeats_state(const cb_item *item) {
    return item->is_state && (item->label.detail || !*item->label.kind);
}

static bool same_variable(const cb_item *a, const cb_item *b) {
    return a->part == b->part && repeats_state(a) == repeats_state(b) && strcmp(kind_of(a), kind_of(b)) == 0 &&
           strcmp(a->label.type, b->label.type) == 0 && (a->block == CB_NONE) == (b->block == CB_NONE);
}

/* The items of one variable, from `first` on: their places along the axis, then their cells. */
static void add_items(struct cb_grid *grid, const cb_outputs *outputs, size_t first) {
    const cb_item *its = &outputs->item[first];
    size_t a = find_axis(grid, its->label.type), near = 0;
    struct cb_variable *variable =
        add_variable(grid, kind_of(its), words[its->part].other, its->label.unit, words[its->part].description);
    if (a == CB_NONE || !variable)
        return;
    variable->axis = a;
    variable->by_block = its->block != CB_NONE;
    for (size_t i = first; i < outputs->items && !grid->no_memory; i++)
        if (same_variable(&outputs->item[i], its)) {
            near = find_element(grid, &grid->axis[a], outputs->item[i].label.element, near);
            grid->cell[i] = (uint32_t)near; /* for now: elements may still come */
        }
}

/* Elements are known: from places along axes to cells. */
static void number_cells(struct cb_grid *grid, const cb_outputs *outputs, const size_t *variable_of) {
    for (size_t v = 0; v < grid->variables; v++) {
        grid->variable[v].first = grid->cells;
        grid->cells += cb_grid_size(grid, outputs->problem, &grid->variable[v]);
    }
    for (size_t i = 0; i < outputs->items; i++) {
        if (grid->cell[i] == CB_NO_FIGURE)
            continue;
        const struct cb_variable *variable = &grid->variable[variable_of[i]];
        size_t block = outputs->item[i].block == CB_NONE ? 0 : outputs->item[i].block;
        grid->cell[i] += (uint32_t)(variable->first + block * grid->axis[variable->axis].count);
    }
}

/* What the states were before: variables beside theirs, which end in _before. */
static void add_before(struct cb_grid *grid, const cb_outputs *outputs, const size_t *variable_of, size_t *before_of) {
    for (size_t s = 0; s < outputs->problem->states && !grid->no_memory; s++) {
        size_t v = variable_of[outputs->state[s]];
        if (before_of[v] == CB_NONE) {
            char name[128];
            snprintf(name, sizeof name, "%.100s_before", grid->variable[v].name);
            before_of[v] = grid->variables;
            struct cb_variable *new =
                add_variable(grid, name, "state", grid->variable[v].unit, "at the beginning of the stage");
            if (new)
                new->axis = grid->variable[v].axis;
        }
    }
}

static void add_all(struct cb_grid *grid, const cb_outputs *outputs, size_t *variable_of, size_t *before_of) {
    static const char *const scalar[][2] = {{"stage_cost", "cost of the stage alone, not discounted"},
                                            {"future_cost", "what the policy expects from then on"},
                                            {"discount", "what a cost of this stage is worth at the start"}};
    for (size_t i = 0; i < 3; i++)
        add_variable(grid, scalar[i][0], "", i < 2 ? outputs->problem->money : "1", scalar[i][1]);
    for (size_t i = 0; i < outputs->items; i++) /* axes first: no variable has the name of one */
        find_axis(grid, outputs->item[i].label.type);
    for (size_t i = 0; i < outputs->items && !grid->no_memory; i++)
        if (grid->cell[i] == CB_NO_FIGURE && !repeats_state(&outputs->item[i])) {
            add_items(grid, outputs, i);
            for (size_t k = i; k < outputs->items; k++)
                if (same_variable(&outputs->item[k], &outputs->item[i]))
                    variable_of[k] = grid->variables - 1;
        }
    for (size_t v = 0; v < outputs->items + MORE; v++)
        before_of[v] = CB_NONE;
    if (!grid->no_memory)
        add_before(grid, outputs, variable_of, before_of);
}

cobre_status cb_grid_open(struct cb_grid *grid, const cb_outputs *outputs) {
    size_t states = outputs->problem->states, most = outputs->items + MORE;
    grid->cell = malloc((outputs->items + 1) * sizeof *grid->cell);
    grid->before = malloc((states + 1) * sizeof *grid->before);
    size_t *variable_of = calloc(2 * most, sizeof *variable_of);
    if (!grid->cell || !grid->before || !variable_of) {
        free(variable_of);
        return cb_no_memory("the cells of a simulation", outputs->items * sizeof *grid->cell);
    }
    memset(grid->cell, 0xff, outputs->items * sizeof *grid->cell); /* CB_NO_FIGURE */
    add_all(grid, outputs, variable_of, variable_of + most);
    if (!grid->no_memory)
        number_cells(grid, outputs, variable_of);
    for (size_t s = 0; s < states && !grid->no_memory; s++) {
        size_t item = outputs->state[s], v = variable_of[item];
        grid->before[s] =
            (uint32_t)(grid->variable[variable_of[most + v]].first + grid->cell[item] - grid->variable[v].first);
    }
    free(variable_of);
    return grid->no_memory ? cb_no_memory("the cells of a simulation", 0) : COBRE_OK;
}

void cb_grid_close(struct cb_grid *grid) {
    for (size_t a = 0; a < grid->axes; a++)
        free(grid->axis[a].element);
    free(grid->axis);
    free(grid->variable);
    free(grid->cell);
    free(grid->before);
}

size_t cb_grid_size(const struct cb_grid *grid, const cobre_sddp_problem *problem, const struct cb_variable *variable) {
    size_t elements = variable->axis == CB_NONE ? 1 : grid->axis[variable->axis].count;
    return elements * (variable->by_block ? problem->blocks : 1);
}

static void fill(const struct cb_grid *grid, const cb_outputs *outputs, const uint32_t *items, const double *values,
                 size_t count, float *cells) {
    for (size_t i = 0; i < count; i++)
        if (grid->cell[items[i]] != CB_NO_FIGURE)
            cells[grid->cell[items[i]]] = (float)cb_item_value(&outputs->item[items[i]], values[i]);
}

void cb_grid_fill(const struct cb_grid *grid, const cb_outputs *outputs, const cobre_sddp_stage *stage, float *cells) {
    const cobre_sddp_problem *problem = outputs->problem;
    const cb_node *node = &problem->node[stage->node];
    const cb_node_items *its = &outputs->node[stage->node];
    for (size_t i = 0; i < grid->cells; i++)
        cells[i] = NAN;
    cells[0] = (float)stage->stage_cost;
    cells[1] = (float)stage->future_cost;
    cells[2] = (float)stage->discount;
    fill(grid, outputs, outputs->state, stage->state_out, problem->states, cells);
    for (size_t s = 0; s < problem->states; s++)
        cells[grid->before[s]] = (float)cb_item_value(&outputs->item[outputs->state[s]], stage->state_in[s]);
    fill(grid, outputs, its->column, stage->columns, node->columns, cells);
    fill(grid, outputs, its->row, stage->row_duals, node->rows, cells);
    fill(grid, outputs, its->random, stage->noise, node->randoms, cells);
}
