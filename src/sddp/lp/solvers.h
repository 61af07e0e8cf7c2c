/* solvers.h: what this build may have behind lp.h. */
#ifndef COBRE_SDDP_LP_SOLVERS_H
#define COBRE_SDDP_LP_SOLVERS_H

#include "sddp/lp/lp.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const cb_lp_solver cb_lp_glpk;
extern const cb_lp_solver cb_lp_clp;

#ifdef __cplusplus
}
#endif

#endif
