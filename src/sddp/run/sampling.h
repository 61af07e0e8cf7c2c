/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h: percentiles of simulated numbers, and how far two of them can lie apart by chance alone: half the 95 % interval
 * of their difference. */
#ifndef COBRE_SDDP_RUN_SAMPLING_H
#define COBRE_SDDP_RUN_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>

/* Of two means of independent samples: 1.96 sqrt(d1^2 / n1 + d2^2 / n2). NaN: a sample of fewer than two says nothing. Where
 * both have the same noise, the error is smaller. */
double cb_error_of_means(double deviation1, double count1, double deviation2, double count2);

/* Of two means of `count` numbers each, by the deviation of the pairs' differences. It holds for independent samples, and is
 * much smaller where pairs share their noise. */
double cb_error_of_pairs(const double *a, const double *b, size_t count);

/* Of two shares, by Agresti and Caffo: as if each sample had one more case of either kind. So it is not 0 where a share is 0
 * or 1: about 3 / n, as the rule of three says. */
double cb_error_of_shares(double share1, double count1, double share2, double count2);

/* Sorts numbers, the smallest first. What is at a share of such numbers: between two of them in proportion. */
void cb_sort(double *values, size_t count);
double cb_percentile(const double *sorted, size_t count, double share);

#define CB_WORST_SHARE 0.05 /* of the costs: what is called the worst */

/* The mean of the worst part of some numbers (CVaR): of the largest, or of the lowest. `share` of each number's value to it
 * goes to `parts`: their mean is the result, and their deviation that of its estimate, so that errors of means apply to
 * them. `room` is for `count` numbers: they are there afterwards, sorted, the worst last; the lowest are the worst
 * with their signs turned. */
double cb_worst_mean(const double *values, size_t count, double share, bool lowest, double *parts, double *room);

/* The fewest numbers in the worst part of which an error means something. */
enum { CB_WORST_LEAST = 10 };

#endif
