/* SPDX-License-Identifier: Apache-2.0 */
/* difference.h: do two runs differ by more than their samples do by chance? */
#ifndef COBRE_SDDP_REPORT_DIFFERENCE_H
#define COBRE_SDDP_REPORT_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

struct difference {
    double value; /* second minus first; NaN: they cannot be compared */
    double error; /* half the 95 % interval of it; NaN: not known */
};

struct sample {
    double mean, deviation, count;
};

/* Of the means of two samples that have nothing to do with each other. */
struct difference cb_difference(const struct sample *first, const struct sample *second);

/* Of the means of two samples with the same outcomes, value by value. */
struct difference cb_paired_difference(const double *first, const double *second, size_t count);

/* It is larger than its error. */
bool cb_is_real(const struct difference *difference);

#endif
