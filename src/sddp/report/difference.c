/* SPDX-License-Identifier: Apache-2.0 */
#include "sddp/report/difference.h"

#include <math.h>

#define NORMAL 1.96 /* the standard deviations that hold 95 % */

struct difference cb_difference(const struct sample *first, const struct sample *second) {
    struct difference difference = {.value = second->mean - first->mean, .error = NAN};
    if (first->count > 1 && second->count > 1)
        difference.error = NORMAL * sqrt(first->deviation * first->deviation / first->count +
                                         second->deviation * second->deviation / second->count);
    return difference;
}

struct difference cb_paired_difference(const double *first, const double *second, size_t count) {
    struct difference difference = {.value = NAN, .error = NAN};
    double sum = 0, squares = 0, n = (double)count;
    for (size_t i = 0; i < count; i++)
        sum += second[i] - first[i];
    if (count > 0)
        difference.value = sum / n;
    for (size_t i = 0; i < count; i++)
        squares += pow(second[i] - first[i] - difference.value, 2);
    if (count > 1)
        difference.error = NORMAL * sqrt(squares / (n - 1) / n);
    return difference;
}

bool cb_is_real(const struct difference *difference) {
    return fabs(difference->value) > difference->error;
}
