/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c: see cells.h. */
#include "sddp/run/cells.h"

#include "sddp/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t size_of(const struct cb_spool *spool) {
    return spool->longest * spool->grid.cells;
}

size_t cb_cells_take(struct cb_cells_batch *batch, const void *bytes, size_t count) {
    const struct cb_spool *spool = batch->spool;
    float *its = batch->value + batch->count * size_of(spool);
    size_t whole = spool->pieces[batch->first + batch->count].length[CB_STREAM_CELLS], left = whole - batch->filled;
    size_t some = count < left ? count : left;
    memcpy((char *)its + batch->filled, bytes, some);
    batch->filled += some;
    if (batch->filled < whole)
        return some;
    for (size_t i = whole / sizeof *its; i < size_of(spool); i++) /* it ended early */
        its[i] = NAN;
    batch->filled = 0;
    batch->count++;
    return some;
}

static cobre_status take(void *arg, const void *bytes, size_t count) {
    const char *from = bytes;
    for (size_t some; count > 0; from += some, count -= some)
        some = cb_cells_take(arg, from, count);
    return COBRE_OK;
}

/* What describes the cells goes to those who have them. The spool still uses it, and must be closed first. */
static void hand_over(struct cb_spool *spool, struct cb_cells *cells) {
    spool->handed = true;
    cells->trajectories = spool->count;
    cells->steps = spool->longest;
    cells->grid = spool->grid;
    cells->outputs = spool->outputs;
    memcpy(cells->node, spool->node_at + 1, spool->longest * sizeof *cells->node);
}

cobre_status cb_cells_gather(struct cb_spool *spool, struct cb_cells *cells) {
    bool keeps = cobre_rank(spool->comm) == 0;
    size_t bytes = 0;
    bool fits = !__builtin_mul_overflow(spool->count * sizeof(float), size_of(spool), &bytes);
    if (keeps) {
        cells->value = fits ? malloc(bytes + 1) : NULL;
        cells->node = malloc((spool->longest + 1) * sizeof *cells->node);
    }
    bool room = !keeps || (cells->value && cells->node);
    CB_TRY(cb_agree(spool->comm, room ? COBRE_OK : cb_no_memory("the results of the simulation", bytes)));
    struct cb_cells_batch all = {.spool = spool, .value = cells->value};
    CB_TRY(cb_spool_gather(spool, CB_STREAM_CELLS, take, &all));
    for (size_t i = all.count * size_of(spool); keeps && i < spool->count * size_of(spool); i++)
        cells->value[i] = NAN;
    if (keeps)
        hand_over(spool, cells);
    return COBRE_OK;
}

void cb_cells_free(struct cb_cells *cells) {
    free(cells->value);
    free(cells->node);
    cb_grid_close(&cells->grid);
    cb_outputs_close(&cells->outputs);
    *cells = (struct cb_cells){0};
}
