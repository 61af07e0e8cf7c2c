/* SPDX-License-Identifier: Apache-2.0 */
/* gap.h: the distance of a simulated mean from the bound, and what is said of a mean on the wrong side of it. */
#ifndef COBRE_SDDP_RUN_GAP_H
#define COBRE_SDDP_RUN_GAP_H

#include "cobre/sddp.h"

/* Of a training: the bound and the simulated mean, as a share of the mean; NaN where that means nothing. averse: there is a
 * risk measure. */
double cb_window_gap(bool maximises, bool averse, const cobre_sddp_progress *now);

enum { CB_GAP_ENOUGH = 30 }; /* trajectories whose interval means something */

typedef struct {
    bool maximises;
    double bound, mean, half; /* half: of the mean's interval of 95 % */
    uint64_t count;           /* of the trajectories */
    bool other_noise;         /* they have other outcomes than the training had */
    bool unproven;            /* the bound may be wrong itself: with cuts of another case */
} cb_gap;

/* Is the mean further beyond the bound than its interval reaches? With few trajectories the interval means little: false. */
bool cb_gap_is_odd(const cb_gap *gap);

/* Says so, with the probable cause. NULL: it is not. */
enum { CB_GAP_NOTE = 512 };
const char *cb_gap_note(const cb_gap *gap, char note[CB_GAP_NOTE]);

#endif
