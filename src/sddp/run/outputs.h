/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h: the output of a simulation for each step: the numbers of the problem, with their labels.
 *
 * An item is a name of the problem (a state, a column, a row, a random variable) with its label. The detailed tables have a
 * row for each item. The statistics are about figures, which are made of items:
 *
 *     level element     an item; over the load blocks the mean, weighted by their shares
 *     level subsystem   the sum over the elements of a subsystem: power; stored water as energy
 *     level system      the sum over the subsystems, and costs
 *     level component   the part of the costs that is due to the items of one kind
 *
 * Figures have the same numbers on all ranks. */
#ifndef COBRE_SDDP_RUN_OUTPUTS_H
#define COBRE_SDDP_RUN_OUTPUTS_H

#include "sddp/arena.h"
#include "sddp/problem/problem.h"
#include "sddp/run/files.h"

enum { CB_NO_FIGURE = UINT32_MAX };

typedef struct {
    enum cb_table table;
    const char *kind, *level, *element, *unit;
    const char *type, *subsystem; /* of the element; "" at other levels */
    bool adds_up;                 /* over the steps of a trajectory: it has a total */
    bool discounted;              /* in that total */
} cb_figure;

/* The figures that an item adds to. */
typedef struct {
    uint32_t element, subsystem, system;    /* its value, weighted by the share of its load block */
    uint32_t energy, all_energy;            /* that times its worth in energy */
    uint32_t least, at_least;               /* the least possible value, and whether it is reached */
    uint32_t capacity;                      /* the largest possible value, */
    uint32_t energy_capacity, all_capacity; /* the same as energy */
    uint32_t unserved, all_unserved;        /* a deficit as energy */
    uint32_t cost;                          /* its cost */
} cb_targets;

typedef struct {
    const char *name;
    cobre_sddp_part part;
    cobre_sddp_label label;
    size_t block;  /* CB_NONE: of the whole stage */
    bool is_state; /* an incoming or outgoing column of a state: the state has the same number */
    cb_targets to;
} cb_item;

/* The items of a node. */
typedef struct {
    const uint32_t *column, *row, *random;
    const uint32_t *figure; /* those that its items add to */
    size_t figures;
} cb_node_items;

typedef struct {
    const cobre_sddp_problem *problem;
    cb_arena memory;
    cb_item *item;
    cb_figure *figure;
    size_t items, figures, items_room, figures_room;
    uint32_t *state;       /* the item of each state */
    cb_node_items *node;   /* of each node */
    uint32_t cost, future; /* figures: of the step, and from then on */
    uint32_t other;        /* costs that belong to no kind */
    struct cb_index {
        uint32_t *slot;
        size_t room, used;
    } items_index, figures_index;
    bool no_memory;
} cb_outputs;

cobre_status cb_outputs_open(cb_outputs *outputs, const cobre_sddp_problem *problem);
void cb_outputs_close(cb_outputs *outputs);

/* The figures of a step; NaN for those that its node does not have. */
void cb_outputs_figures(const cb_outputs *outputs, const cobre_sddp_stage *stage, double *values);

/* The number of an item in its unit. */
static inline double cb_item_value(const cb_item *item, double value) {
    return item->label.factor * value + 0.0; /* no "-0" */
}

#endif
