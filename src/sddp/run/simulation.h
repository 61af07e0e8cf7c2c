/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.h: what a simulation leaves in its folder: its tables (files.h), statistics.csv, simulation.nc, and
 * simulation.csv, one key and value per row.
 *
 * Each call returns a status; after a failure cobre_last_error() names the file. */
#ifndef COBRE_SDDP_RUN_SIMULATION_H
#define COBRE_SDDP_RUN_SIMULATION_H

#include "cobre/sddp.h"
#include "sddp/run/cells.h"

/* The tables that the options ask for. Fails when there is no such table. */
cobre_status cb_tables_choose(const cobre_sddp_simulate_options *options, struct cb_tables *tables);

/* What rank 0 has of a simulation in memory. */
struct cb_kept {
    char *costs, *statistics; /* the texts of costs.csv and statistics.csv; NULL: none */
    struct cb_cells cells;    /* if tables or NetCDF were asked for */
};
void cb_kept_free(struct cb_kept *kept);

/* When the spool is finished. Rank 0 keeps what it has collected; and writes it, all files or none, from what it keeps if that
 * is not NULL. Collective; fail on all ranks alike. */
cobre_status cb_tables_keep(struct cb_spool *spool, struct cb_kept *kept);
cobre_status cb_tables_write(struct cb_spool *spool, const struct cb_tables *tables, const char *folder,
                             const struct cb_kept *kept);

/* simulate.c: cobre_sddp_simulate. kept: what rank 0 keeps, zero before, and to be freed also after a failure; NULL: nothing. */
cobre_status cb_simulate(cobre_sddp_policy *policy, const cobre_sddp_simulate_options *options, struct cb_kept *kept,
                         cobre_sddp_simulation *result);

/* Scenarios that somebody chose are no sample: their mean has no interval. */
bool cb_simulation_is_sample(const cobre_sddp_simulate_options *options);

/* The bound of the policy; NaN for a simulation that begins elsewhere than its training. */
double cb_simulation_bound(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy);

/* As a share of the mean; NaN where the mean bounds nothing: with a risk measure, without a sample, or of a part of the costs;
 * and where there is no bound. */
double cb_simulation_gap(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                         const cobre_sddp_simulation *result);

/* For rank 0: simulation.csv, as a file in the folder, and into any file. `sampling` is how users call it; `start`: where it
 * begins, empty: where the case does. */
void cb_simulation_write(FILE *to, const char *sampling, const char *start, const cobre_sddp_simulate_options *options,
                         const cobre_sddp_policy *policy, const cobre_sddp_simulation *result);
cobre_status cb_simulation_summary(const char *folder, const char *sampling, const char *start,
                                   const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                                   const cobre_sddp_simulation *result);

#endif
