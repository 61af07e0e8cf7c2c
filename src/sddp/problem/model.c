/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: drawing from a noise model. Row i of the factor needs only the first i + 1 normals, so the product can replace
 * them from the end. */
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

cobre_status cb_check_draw(const cb_node *node, const double *values) {
    const char *advice = "use smaller deviations";
    for (size_t i = 0; i < node->randoms; i++)
        if (!(fabs(values[i]) <= CB_MOST))
            return cb_fail_at(COBRE_INVALID_CASE, node->file, node->line, advice,
                              "node %s: its noise model draws %g, which is out of range", node->name, values[i]);
    for (size_t i = 0; i < node->noises; i++) {
        double factor = node->noise[i].factor, value = values[node->noise[i].random];
        if (!(fabs(factor * value) <= CB_MOST))
            return cb_fail_at(COBRE_INVALID_CASE, node->file, node->line, advice,
                              "node %s: its noise model draws %g, and %g times that is out of range", node->name, value,
                              factor);
    }
    return COBRE_OK;
}
