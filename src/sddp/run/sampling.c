/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/run/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUANTILE 1.96 /* of the normal distribution, for 95 % */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void cb_sort(double *values, size_t count) {
    if (count > 1)
        qsort(values, count, sizeof *values, ascending);
}

double cb_percentile(const double *sorted, size_t count, double share) {
    double at = share * (double)(count - 1);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

double cb_error_of_means(double deviation1, double count1, double deviation2, double count2) {
    if (!(count1 >= 2 && count2 >= 2))
        return NAN;
    return QUANTILE * sqrt(deviation1 * deviation1 / count1 + deviation2 * deviation2 / count2);
}

double cb_error_of_pairs(const double *a, const double *b, size_t count) {
    double mean = 0, squares = 0, n = (double)count;
    if (count < 2)
        return NAN;
    for (size_t i = 0; i < count; i++)
        mean += (b[i] - a[i]) / n;
    for (size_t i = 0; i < count; i++)
        squares += (b[i] - a[i] - mean) * (b[i] - a[i] - mean);
    return QUANTILE * sqrt(squares / (n - 1) / n);
}

/* Of a sample with one more case of either kind. */
struct share {
    double share, variance;
};

static struct share add_cases(double share, double count) {
    double more = (share * count + 1) / (count + 2);
    return (struct share){.share = more, .variance = more * (1 - more) / (count + 2)};
}

/* Their interval lies around the difference of the larger samples: it is widened until it lies around our own. */
double cb_error_of_shares(double share1, double count1, double share2, double count2) {
    if (!(count1 >= 2 && count2 >= 2))
        return NAN;
    struct share one = add_cases(share1, count1), two = add_cases(share2, count2);
    double shift = fabs((share2 - share1) - (two.share - one.share));
    return QUANTILE * sqrt(one.variance + two.variance) + shift;
}

/* With the quantile q that begins the worst part, q + (x - q)+ / share has the mean of that part as its mean. */
double cb_worst_mean(const double *values, size_t count, double share, bool lowest, double *parts, double *room) {
    double sign = lowest ? -1 : 1, sum = 0, length = share * (double)count;
    if (count == 0)
        return NAN;
    for (size_t i = 0; i < count; i++)
        room[i] = sign * values[i];
    cb_sort(room, count);
    size_t whole = (size_t)(length + 1e-9); /* 0.05 * 1000 may be a little less than 50 */
    double quantile = room[whole < count ? count - 1 - whole : 0];
    for (size_t i = 0; i < count; i++) {
        double beyond = sign * values[i] - quantile;
        parts[i] = sign * (quantile + (beyond > 0 ? beyond / share : 0));
        sum += parts[i];
    }
    return sum / (double)count;
}
