/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.h: what a simulation leaves in its folder: its tables (files.h), and simulation.csv, one key and value per
 * row.
 *
 * Each call returns a status; after a failure cobre_last_error() names the file. */
#ifndef COBRE_SDDP_RUN_SIMULATION_H
#define COBRE_SDDP_RUN_SIMULATION_H

#include "cobre/sddp.h"
#include "sddp/run/files.h"

#include <stdio.h>

extern const char *const cb_table_name[CB_TABLES];

/* Chooses tables by a list: "stages,states", or "none"; costs are always among them. False: there is no such table. */
bool cb_tables_choose(bool wanted[CB_TABLES], const char *list);

/* The trajectories that this rank has computed so far. A table collects in an unnamed file of the rank's host. */
struct cb_spool {
    const cobre_sddp_problem *problem;
    bool wanted[CB_TABLES];
    FILE *file[CB_TABLES];
    struct cb_piece *pieces; /* by trajectory; all zero for those of other ranks */
    size_t count, room;      /* the last one is the newest */
    long start[CB_TABLES];   /* of the newest trajectory: where its rows begin, its steps, its discounted cost */
    size_t steps;
    double cost;
    char ***labels[CB_TABLES]; /* "kind,element" of each column, row, ... of each node; made when first needed */
    bool failed;               /* out of memory or disk; told when the ranks meet */
};

void cb_spool_open(struct cb_spool *spool, const bool wanted[CB_TABLES], const cobre_sddp_problem *problem);
void cb_spool_stage(void *spool, const cobre_sddp_stage *stage); /* for cobre_sddp_simulate_options */
void cb_spool_close(struct cb_spool *spool);

/* Rank 0 writes the tables, all of them or none. Collective; fails on all ranks alike. */
cobre_status cb_spool_write(struct cb_spool *spool, cobre_comm *comm, const char *folder);

/* Scenarios that somebody chose are no sample: their mean has no interval. */
bool cb_simulation_is_sample(const cobre_sddp_simulate_options *options);

/* The bound of the policy; NaN for a simulation that begins elsewhere than its training. */
double cb_simulation_bound(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy);

/* As a share of the mean; NaN where the mean bounds nothing: with a risk measure, without a sample, or of a part of the costs;
 * and where there is no bound. */
double cb_simulation_gap(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                         const cobre_sddp_simulation *result);

/* For rank 0: simulation.csv. `sampling` is how users call it; `start`: where it begins, empty: where the case does. */
cobre_status cb_simulation_summary(const char *folder, const char *sampling, const char *start,
                                   const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                                   const cobre_sddp_simulation *result);

#endif
