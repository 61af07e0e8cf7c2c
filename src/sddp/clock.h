/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: the time. */
#ifndef COBRE_SDDP_CLOCK_H
#define COBRE_SDDP_CLOCK_H

#include <time.h>

/* Seconds, monotonic. */
static inline double cb_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
