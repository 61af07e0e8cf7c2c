/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.h: what a simulation leaves in its folder: its tables (files.h), statistics.csv, simulation.nc, and
 * simulation.csv, one key and value per row.
 *
 * Each call returns a status; after a failure cobre_last_error() names the file. */
#ifndef COBRE_SDDP_RUN_SIMULATION_H
#define COBRE_SDDP_RUN_SIMULATION_H

#include "cobre/sddp.h"
#include "sddp/run/spool.h"

/* The tables that the options ask for. Fails when there is no such table. */
cobre_status cb_tables_choose(const cobre_sddp_simulate_options *options, struct cb_tables *tables);

/* Rank 0 writes what the spool has collected, all files or none. Collective; fails on all ranks alike. */
cobre_status cb_tables_write(struct cb_spool *spool, const struct cb_tables *tables, const char *folder);

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
