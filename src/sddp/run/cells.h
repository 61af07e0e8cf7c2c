/* SPDX-License-Identifier: Apache-2.0 */
/* cells.h: the cells of a simulation (grid.h) as one array, in memory or on their way to a file. Each trajectory has
 * steps x cells numbers, NaN where there is none. */
#ifndef COBRE_SDDP_RUN_CELLS_H
#define COBRE_SDDP_RUN_CELLS_H

#include "sddp/run/spool.h"

/* All of them: cell c of step s of trajectory t is value[(t * steps + s) * grid.cells + c]. Names are of the problem,
 * which must last. */
struct cb_cells {
    float *value; /* NULL: none */
    size_t trajectories, steps;
    struct cb_grid grid; /* its variables and axes */
    size_t *node;        /* of each step; COBRE_SDDP_NONE: the trajectories are in different stages */
    cb_outputs outputs;  /* owns the texts of the grid */
};

/* After the spool is finished: rank 0 gets the cells and their description. Collective; fails on all ranks alike. */
cobre_status cb_cells_gather(struct cb_spool *spool, struct cb_cells *cells);
void cb_cells_free(struct cb_cells *cells);

/* A buffer of some trajectories, while the stream of cells arrives. */
struct cb_cells_batch {
    const struct cb_spool *spool;
    float *value;
    size_t first, count; /* the number of the first trajectory; how many are complete */
    size_t filled;       /* bytes of the incomplete one */
};

/* Takes bytes up to the end of a trajectory, which is then padded with NaN, and returns how many. */
size_t cb_cells_take(struct cb_cells_batch *batch, const void *bytes, size_t count);

#endif
