/* SPDX-License-Identifier: Apache-2.0 */
/* growth.c: do the inflows of par.csv diverge from their mean?
 *
 * Without noise, x(t) = sum over l of phi_l(t) x(t-l), where x is the deviation of the inflow from its mean, in units of the
 * scale. The companion matrix of a season takes the last p values one stage further. M is the product of these matrices over
 * all seasons. A deviation grows if the spectral radius of M is above 1. That radius is the limit of |M^k|^(1/k), found by
 * squaring M repeatedly. The noise of a lognormal model multiplies everything, on average by exp(w^2 / 2). */
#include <math.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

#define GROWS (1 + 1e-6) /* a random walk, of which the radius is 1, is no mistake */
#define USELESS 1e3      /* times as much in the last stage as in the first */

typedef struct {
    size_t order;
    double value[CB_HYDRO_MAX_LAGS][CB_HYDRO_MAX_LAGS];
} matrix;

static void multiply(const matrix *a, const matrix *b, matrix *product) {
    matrix result = {.order = a->order};
    for (size_t i = 0; i < a->order; i++)
        for (size_t k = 0; k < a->order; k++)
            for (size_t j = 0; j < a->order; j++)
                result.value[i][j] += a->value[i][k] * b->value[k][j];
    *product = result;
}

static double largest(const matrix *m) {
    double most = 0;
    for (size_t i = 0; i < m->order; i++)
        for (size_t j = 0; j < m->order; j++)
            most = fmax(most, fabs(m->value[i][j]));
    return most;
}

static void divide(matrix *m, double by) {
    for (size_t i = 0; i < m->order; i++)
        for (size_t j = 0; j < m->order; j++)
            m->value[i][j] /= by;
}

/* The logarithm of the spectral radius; -INFINITY: it is 0. */
static double log_radius(matrix m) {
    enum { SQUARINGS = 40 };
    double sum = 0, power = 1; /* |M^(1 / power)| is exp(sum) times that of m */
    for (int i = 0; i < SQUARINGS; i++, power /= 2) {
        double most = largest(&m);
        if (most == 0)
            return -INFINITY;
        sum += log(most) * power;
        divide(&m, most);
        multiply(&m, &m, &m);
    }
    return sum;
}

/* One step: the newest value comes first. A season whose scale is 0 deviates by nothing. */
static matrix companion(const cb_hydro_case *c, size_t hydro, size_t period) {
    const cb_hydro_par *par = &c->par[period * cb_hydros(c) + hydro];
    matrix m = {.order = cb_hydro_at(c, hydro)->lags};
    double factor = par->scale == 0 ? 0 : c->lognormal ? exp(par->noise * par->noise / 2) : 1;
    for (size_t l = 0; l < par->lags; l++)
        m.value[0][l] = factor * par->phi[l];
    for (size_t l = 1; l < m.order; l++)
        m.value[l][l - 1] = 1;
    return m;
}

/* The logarithm of what a deviation grows by in one stage, on average over the seasons. */
static double log_growth(const cb_hydro_case *c, size_t hydro) {
    size_t periods = cb_hydro_periods(c, c->par_key);
    matrix around = companion(c, hydro, 0);
    double taken = 0; /* out of the product, so that it neither overflows nor vanishes */
    for (size_t p = 1; p < periods; p++) {
        matrix step = companion(c, hydro, p);
        multiply(&step, &around, &around);
        double most = largest(&around);
        if (most > 0)
            divide(&around, most);
        taken += most > 0 ? log(most) : 0;
    }
    return (log_radius(around) + taken) / (double)periods;
}

void cb_hydro_check_growth(cb_hydro_case *c) {
    const cb_place at = {.file = cb_hydro_text(c, "%s/par.csv", c->folder)};
    for (size_t h = 0; h < cb_hydros(c); h++) {
        double rate = cb_hydro_at(c, h)->lags > 0 ? log_growth(c, h) : -INFINITY;
        size_t cycle = c->seasons ? c->seasons : 1;
        double around = exp(rate * (double)cycle), in_all = exp(rate * (double)c->stages);
        if (!(around > GROWS))
            continue;
        (in_all > USELESS ? cb_error_at : cb_warn_at)(
            c->builder, &at, "correct its coefficients",
            "hydro %s: its inflows diverge: their deviation from the mean grows %.3g-fold in %zu stage%s, and "
            "%.3g-fold in the %zu of the case",
            cb_hydro_at_name(c, h), around, cycle, cycle == 1 ? "" : "s", in_all, c->stages);
    }
}
