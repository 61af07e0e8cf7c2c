/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.h: the files of a simulation: its tables (files.h), statistics.csv, simulation.nc, and simulation.csv with one
 * key and value per row.
 *
 * Each call returns a status; after a failure cobre_last_error() names the file. */
#ifndef COBRE_SDDP_RUN_SIMULATION_H
#define COBRE_SDDP_RUN_SIMULATION_H

#include "cobre/sddp.h"
#include "sddp/run/cells.h"

/* The tables that the options ask for. Fails when there is no such table. */
cobre_status cb_tables_choose(const cobre_sddp_simulate_options *options, struct cb_tables *tables);

/* The results of a simulation in the memory of rank 0. */
struct cb_kept {
    char *costs, *statistics; /* the texts of costs.csv and statistics.csv; NULL: none */
    struct cb_cells cells;    /* if tables or NetCDF were asked for */
};
void cb_kept_free(struct cb_kept *kept);

/* Both are called after the spool is finished. The first keeps the results on rank 0. The second writes all files or
 * none, from the kept results if that is not NULL. Collective; both fail on all ranks alike. */
cobre_status cb_tables_keep(struct cb_spool *spool, struct cb_kept *kept);
cobre_status cb_tables_write(struct cb_spool *spool, const struct cb_tables *tables, const char *folder,
                             const struct cb_kept *kept);

/* simulate.c: cobre_sddp_simulate. kept: receives the results on rank 0; zero before; the caller frees it, also after a
 * failure. NULL: nothing is kept. */
cobre_status cb_simulate(cobre_sddp_policy *policy, const cobre_sddp_simulate_options *options, struct cb_kept *kept,
                         cobre_sddp_simulation *result);

/* Are the trajectories a sample? Chosen scenarios are not: their mean has no interval. */
bool cb_simulation_is_sample(const cobre_sddp_simulate_options *options);

/* The bound of the policy; NaN for a simulation that begins elsewhere than its training. */
double cb_simulation_bound(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy);

/* The gap as a share of the mean. It is NaN if the mean bounds nothing (with a risk measure, without a sample, or for a part
 * of the costs) and if there is no bound. */
double cb_simulation_gap(const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                         const cobre_sddp_simulation *result);

/* For rank 0: simulation.csv, as a file in the folder, and into any file. `sampling`: its name for users. `start`: its
 * beginning; empty: that of the case. */
void cb_simulation_write(FILE *to, const char *sampling, const char *start, const cobre_sddp_simulate_options *options,
                         const cobre_sddp_policy *policy, const cobre_sddp_simulation *result);
cobre_status cb_simulation_summary(const char *folder, const char *sampling, const char *start,
                                   const cobre_sddp_simulate_options *options, const cobre_sddp_policy *policy,
                                   const cobre_sddp_simulation *result);

#endif
