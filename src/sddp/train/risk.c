/* SPDX-License-Identifier: Apache-2.0 */
/* risk.c: see risk.h. Equal costs keep their order, because it decides the bits. */
#include "sddp/train/risk.h"

#include <math.h>
#include <stdlib.h>

/* Descending. */
static int by_cost(const void *a, const void *b) {
    const double *x = *(const double *const *)a, *y = *(const double *const *)b;
    return *x != *y ? (*x < *y) - (*x > *y) : (x > y) - (x < y);
}

void cb_risk_weights(cb_risk risk, const double *probability, const double *cost, size_t count, const double **worst,
                     double *weight) {
    for (size_t k = 0; k < count; k++)
        weight[k] = risk.beta * probability[k];
    if (risk.beta >= 1)
        return;
    for (size_t k = 0; k < count; k++)
        worst[k] = &cost[k];
    qsort(worst, count, sizeof *worst, by_cost);
    double left = 1;
    for (size_t i = 0; i < count && left > 0; i++) {
        size_t k = (size_t)(worst[i] - cost);
        double share = fmin(probability[k] / risk.alpha, left);
        weight[k] += (1 - risk.beta) * share;
        left -= share;
    }
}
