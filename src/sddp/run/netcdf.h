/* SPDX-License-Identifier: Apache-2.0 */
/* netcdf.h: a simulation as one NetCDF-4 file. */
#ifndef COBRE_SDDP_RUN_NETCDF_H
#define COBRE_SDDP_RUN_NETCDF_H

#include "sddp/draft.h"
#include "sddp/run/cells.h"

/* Is the library installed? If not, the error tells what to do. */
cobre_status cb_netcdf_ready(void);

/* Rank 0 writes the cells of all trajectories into the draft. cells: rank 0 has them already; NULL: it does not.
 * Collective; fails on all ranks alike. */
cobre_status cb_netcdf_write(struct cb_spool *spool, const struct cb_draft *draft, const struct cb_cells *cells);

#endif
