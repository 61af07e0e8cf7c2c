/* SPDX-License-Identifier: Apache-2.0 */
/* gap.h: the distance of a simulated mean from the bound, and a note about a mean on the wrong side of it. */
#ifndef COBRE_SDDP_RUN_GAP_H
#define COBRE_SDDP_RUN_GAP_H

#include "cobre/sddp.h"

/* The gap of a training, from bound and simulated mean, as a share of the mean; NaN where it has no meaning. averse:
 * there is a risk measure. */
double cb_window_gap(bool maximises, bool averse, const cobre_sddp_progress *now);

enum { CB_GAP_ENOUGH = 30 }; /* the fewest trajectories with a meaningful interval */

typedef struct {
    bool maximises;
    double bound, mean, half; /* half: of the mean's interval of 95 % */
    uint64_t count;           /* of the trajectories */
    bool other_noise;         /* they have other outcomes than the training */
    bool unproven;            /* the bound itself may be wrong: some cuts are of another case */
} cb_gap;

/* Does the mean lie beyond the bound by more than its interval? With few trajectories that means little: false. */
bool cb_gap_is_odd(const cb_gap *gap);

/* A sentence about that, with the probable cause. NULL: it does not. */
enum { CB_GAP_NOTE = 512 };
const char *cb_gap_note(const cb_gap *gap, char note[CB_GAP_NOTE]);

#endif
