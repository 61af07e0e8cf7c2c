/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h: each rank stores the output of its trajectories here until rank 0 has all of them.
 *
 * A stream is a sequence of bytes per trajectory. The rows of each table are one, as text; the figures are one, for the
 * statistics; and the cells are one, for NetCDF. Each rank collects its own in unnamed files of its host. Then rank 0 takes
 * each stream in the order of the trajectories, so that its output is the same for any number of ranks. Its own bytes come
 * from its files. The other ranks send theirs, each once, through a region: where memory is shared, only sender and
 * receiver touch them. All ranks know the rank and the length of each trajectory, so all know which rank sends next. */
#ifndef COBRE_SDDP_RUN_SPOOL_H
#define COBRE_SDDP_RUN_SPOOL_H

#include <stdio.h>

#include "sddp/run/grid.h"
#include "sddp/run/outputs.h"

enum { CB_STREAM_FIGURES = CB_TABLES, CB_STREAM_CELLS, CB_STREAMS };

/* All members are words, because the pieces of all ranks are added up. */
struct cb_piece {
    uint64_t rank; /* the one that has the trajectory */
    uint64_t steps;
    uint64_t length[CB_STREAMS];
};

struct cb_spool {
    const cobre_sddp_problem *problem;
    cobre_comm *comm;
    cb_outputs outputs;
    struct cb_grid grid;     /* of the cells */
    bool wanted[CB_STREAMS]; /* the same on all ranks */
    FILE *file[CB_STREAMS];  /* of those that are wanted */
    struct cb_piece *pieces; /* by trajectory; all zero for those of other ranks */
    size_t count, room;      /* the last one is the newest */
    long start[CB_STREAMS]; /* of the newest trajectory: where it begins in each file, its steps, its discounted cost */
    size_t steps;
    double cost;
    double *total;     /* of its figures */
    double *figures;   /* the total, then those of each step */
    size_t steps_room; /* how many steps `figures` has room for */
    float *cells;      /* of a step */
    uint64_t *node;    /* of each step: node, lowest and highest stage of the trajectories, three words */
    size_t *node_at;   /* when finished, of each step from 1 on: a node; CB_NONE: they are in several stages */
    size_t longest;    /* when finished: steps of the longest trajectory */
    size_t own_longest, node_room; /* the same of this rank */
    struct cb_text {
        char **head, **tail; /* the row of each item before its value, and after it */
        char (*block)[128];  /* of each load block: its name and its share at the node of the step; then for none */
    } text;
    char *row;   /* under construction */
    bool failed; /* out of memory or disk; reported when the ranks meet */
    bool handed; /* grid and outputs now belong to cells.c */
};

/* Costs and statistics are always written; the others on request. */
struct cb_tables {
    bool wanted[CB_TABLES]; /* as CSV */
    bool netcdf;            /* all of them, as one file */
    bool cells;             /* the numbers of each step are collected: for NetCDF, or for memory */
};

/* Collective. The caller closes the spool, also after a failure. */
cobre_status cb_spool_open(struct cb_spool *spool, cobre_comm *comm, const struct cb_tables *tables,
                           const cobre_sddp_problem *problem);
void cb_spool_stage(void *spool, const cobre_sddp_stage *stage); /* for cobre_sddp_simulate_options */
void cb_spool_close(struct cb_spool *spool);

/* After all trajectories: exchanges the pieces of all ranks. Collective; fails on all ranks alike. */
cobre_status cb_spool_finish(struct cb_spool *spool);

/* Passes a stream, in the order of the trajectories, to `take` on rank 0, in parts of any size. Collective. A
 * failure of `take` there is a failure on all ranks. */
cobre_status cb_spool_gather(struct cb_spool *spool, size_t stream,
                             cobre_status (*take)(void *arg, const void *bytes, size_t count), void *arg);

/* statistics.c: statistics.csv, on rank 0. Collective. */
cobre_status cb_spool_statistics(struct cb_spool *spool, FILE *to);

#endif
