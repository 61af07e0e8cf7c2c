/* SPDX-License-Identifier: Apache-2.0 */
/* gap.c: see gap.h. */
#include "sddp/run/gap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define ACCURACY 1e-6 /* relative: what LPs are solved to, many times over */

double cb_window_gap(bool maximises, bool averse, const cobre_sddp_progress *now) {
    double distance = maximises ? now->bound - now->window_mean : now->window_mean - now->bound;
    bool known = now->window_passes && now->window_mean != 0 && !averse;
    return known ? distance / fabs(now->window_mean) : NAN;
}

/* How far the mean is beyond the bound. */
static double beyond(const cb_gap *gap) {
    return gap->maximises ? gap->mean - gap->bound : gap->bound - gap->mean;
}

bool cb_gap_is_odd(const cb_gap *gap) {
    return gap->count >= CB_GAP_ENOUGH && beyond(gap) > gap->half + ACCURACY * fabs(gap->bound);
}

const char *cb_gap_note(const cb_gap *gap, char note[CB_GAP_NOTE]) {
    if (!cb_gap_is_odd(gap))
        return NULL;
    const char *cause = gap->unproven ? "the bound is unproven, because cuts of another case may be wrong here"
                        : gap->other_noise
                            ? "the bound is one for the outcomes of the training, and those drawn here are kinder: "
                              "train with more of them"
                            : "the bound holds for these outcomes, so that it is chance (one sample in 40), or the "
                              "trajectories have missed rare ones that matter: simulate more of them";
    snprintf(note, CB_GAP_NOTE,
             "the mean of %" PRIu64 " trajectories is %.2g %% %s the bound, more than its interval: %s", gap->count,
             100 * beyond(gap) / fabs(gap->mean), gap->maximises ? "above" : "below", cause);
    return note;
}
