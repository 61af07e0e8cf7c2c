/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h: percentiles of simulated numbers, and sampling errors. The error of a difference is half of its 95 % interval:
 * two numbers can lie so far apart by chance. */
#ifndef COBRE_SDDP_RUN_SAMPLING_H
#define COBRE_SDDP_RUN_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>

/* The error of two means of independent samples: 1.96 sqrt(d1^2 / n1 + d2^2 / n2). NaN: a sample has fewer than two
 * numbers. If both have the same noise, the true error is smaller. */
double cb_error_of_means(double deviation1, double count1, double deviation2, double count2);

/* The error of two means of `count` numbers each, by the deviation of the pairs' differences. It holds for independent
 * samples, and is much smaller where pairs share their noise. */
double cb_error_of_pairs(const double *a, const double *b, size_t count);

/* The error of two shares, by Agresti and Caffo: as if each sample had one more case of either kind. So it is not 0
 * where a share is 0 or 1: about 3 / n, as the rule of three says. */
double cb_error_of_shares(double share1, double count1, double share2, double count2);

/* Sorts numbers, the smallest first. The quantile of sorted numbers at a share, with linear interpolation. */
void cb_sort(double *values, size_t count);
double cb_percentile(const double *sorted, size_t count, double share);

#define CB_WORST_SHARE 0.05 /* the share of the costs that is called the worst */

/* The mean of the worst part of some numbers (CVaR): of the largest, or of the lowest. `parts` gets the contribution of
 * each number. Their mean is the result, and their deviation is that of its estimate, so that errors of means apply to
 * them. `room` has space for `count` numbers. It gets the numbers sorted, the worst last; if the lowest are the worst,
 * with their signs turned. */
double cb_worst_mean(const double *values, size_t count, double share, bool lowest, double *parts, double *room);

/* The fewest numbers in the worst part for which its error has a meaning. */
enum { CB_WORST_LEAST = 10 };

#endif
