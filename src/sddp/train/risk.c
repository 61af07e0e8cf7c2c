/* risk.c: see risk.h. A merge sort of the costs, because equal costs must keep their order for the bits to be defined. */
#include "sddp/train/risk.h"

#include <math.h>

static void merge(const double *cost, const size_t *from, size_t low, size_t middle, size_t high, size_t *to) {
    size_t a = low, b = middle;
    for (size_t i = low; i < high; i++)
        to[i] = b == high || (a < middle && cost[from[a]] >= cost[from[b]]) ? from[a++] : from[b++];
}

/* Descending and stable. order has room for 2 * count; the result is where it says. */
static size_t *sort(const double *cost, size_t count, size_t *order) {
    size_t *from = order, *to = order + count;
    for (size_t i = 0; i < count; i++)
        from[i] = i;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            merge(cost, from, low, middle, high, to);
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

void cb_risk_weights(cb_risk risk, const double *probability, const double *cost, size_t count, size_t *order,
                     double *weight) {
    for (size_t k = 0; k < count; k++)
        weight[k] = risk.beta * probability[k];
    if (risk.beta >= 1)
        return;
    const size_t *worst = sort(cost, count, order);
    double left = 1;
    for (size_t i = 0; i < count && left > 0; i++) {
        double share = fmin(probability[worst[i]] / risk.alpha, left);
        weight[worst[i]] += (1 - risk.beta) * share;
        left -= share;
    }
}
