/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: draws from a noise model. Row i of the factor needs only the first i + 1 normals, so the product can
 * overwrite them, beginning at the end. */
#include <math.h>

#include "sddp/problem/problem.h"

void cb_draw(const cb_model *model, size_t randoms, cb_rng *rng, double *values) {
    for (size_t i = 0; i < randoms; i++)
        values[i] = cb_rng_normal(rng);
    for (size_t i = randoms; i-- > 0;) {
        double sum = 0;
        for (size_t j = 0; j <= i; j++)
            sum += model->factor[i * randoms + j] * values[j];
        values[i] = model->lognormal ? exp(model->deviation[i] * sum) : model->deviation[i] * sum;
    }
}

/* Who has made the noise, and what to do about it. */
typedef struct {
    cobre_status status;
    const char *what, *advice;
} origin;

static cobre_status check(const cb_node *node, const double *values, const origin *its) {
    for (size_t i = 0; i < node->randoms; i++)
        if (!(fabs(values[i]) <= CB_MOST))
            return cb_fail_at(its->status, node->file, node->line, its->advice, "node %s: %s %g, which is out of range",
                              node->name, its->what, values[i]);
    for (size_t i = 0; i < node->noises; i++) {
        double factor = node->noise[i].factor, value = values[node->noise[i].random];
        if (!(fabs(factor * value) <= CB_MOST))
            return cb_fail_at(its->status, node->file, node->line, its->advice,
                              "node %s: %s %g, and %g times that is out of range", node->name, its->what, value,
                              factor);
    }
    return COBRE_OK;
}

cobre_status cb_check_draw(const cb_node *node, const double *values) {
    return check(node, values, &(origin){COBRE_INVALID_CASE, "its noise model draws", "use smaller deviations"});
}

cobre_status cb_check_noise(const cb_node *node, const double *values) {
    return check(node, values, &(origin){COBRE_INVALID_ARGUMENT, "its noise is given as", "give a smaller number"});
}
