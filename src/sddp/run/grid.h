/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h: the numbers of a step as cells of arrays, for NetCDF. Each kind is a variable. It has an axis of elements,
 * which all plants of a type share, and maybe one of load blocks. */
#ifndef COBRE_SDDP_RUN_GRID_H
#define COBRE_SDDP_RUN_GRID_H

#include "sddp/run/outputs.h"

struct cb_axis {
    const char *name;     /* "hydro" */
    const char **element; /* names along it */
    size_t count, room;
};

/* Cell (block, element) is number first + block * elements + element. */
struct cb_variable {
    char name[128];
    const char *unit, *description;
    size_t axis; /* CB_NONE: one number per step */
    bool by_block;
    size_t first;
};

struct cb_grid {
    struct cb_axis *axis;
    struct cb_variable *variable;
    size_t axes, variables, axes_room, variables_room;
    uint32_t *cell;   /* of each item; CB_NO_FIGURE: it has none */
    uint32_t *before; /* of each state: the cell of its value before the step */
    size_t cells;     /* in all; the first three are cost, future cost and discount */
    bool no_memory;
};

cobre_status cb_grid_open(struct cb_grid *grid, const cb_outputs *outputs);
void cb_grid_close(struct cb_grid *grid);
size_t cb_grid_size(const struct cb_grid *grid, const cobre_sddp_problem *problem,
                    const struct cb_variable *variable); /* its cells in a step */

/* The cells of a step; NaN where the node has nothing. */
void cb_grid_fill(const struct cb_grid *grid, const cb_outputs *outputs, const cobre_sddp_stage *stage, float *cells);

#endif
