/* SPDX-License-Identifier: Apache-2.0 */
/* build_par.c: inflows of the autoregressive model of par.c, as rows of the stage's LP:
 *
 *     inflow[h]   inflow - sum of coefficient * inflow_in[h,l] = constant + noise             (normal)
 *     inflow[h]   inflow - noise * sum of coefficient * inflow_in[h,l] = noise * constant     (lognormal)
 *     lag[h,l]    inflow_lag[h,l] = inflow_in[h,l-1]: the inflow of l - 1 stages ago is l stages ago in the next */
#include <math.h>
#include <stdio.h>

#include "sddp/read/hydro/hydro.h"

static const cb_hydro_par *par_of(const cb_hydro_case *c, size_t period, size_t hydro) {
    return &c->par[period * cb_hydros(c) + hydro];
}

void cb_hydro_add_factors(cb_hydro_case *c) {
    size_t n = cb_hydros(c), periods = cb_hydro_periods(c, c->correlation_key);
    const cb_place at = {.file = c->json_path};
    cobre_sddp_set_opening_seed(c->builder, c->seed);
    for (size_t period = 0; period < periods; period++)
        cb_add_factor(c->builder, &at, n, &c->cholesky[period * n * n]);
}

/* Factor k is that of period k: nobody else adds factors. */
static void set_model(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    double *deviation = cb_hydro_array(c, cb_hydros(c), sizeof *deviation);
    for (size_t h = 0; deviation && h < cb_hydros(c); h++) {
        const cb_hydro_par *par = par_of(c, cb_hydro_period(c, c->par_key, b->stage), h);
        deviation[h] = c->lognormal ? par->noise : par->noise * par->scale;
    }
    if (deviation)
        cb_set_model(c->builder, &b->at, b->node, c->openings, c->lognormal, deviation,
                     cb_hydro_period(c, c->correlation_key, b->stage));
}

/* The column of the inflow, and those of the inflows before, which are states. */
static size_t add_columns(cb_hydro_builder *b, size_t h, size_t *in) {
    cb_hydro_case *c = b->c;
    const cb_hydro_hydro *hydro = cb_hydro_at(c, h);
    size_t inflow = cb_hydro_column(b, cb_hydro_name("inflow", hydro->base.name, "", ""), -INFINITY, INFINITY, 0);
    cb_hydro_entry(b, b->water[h], inflow, -b->volume);
    for (size_t l = 0; l < hydro->lags; l++) {
        char lag[32];
        snprintf(lag, sizeof lag, "%zu", l + 1);
        in[l] = cb_hydro_column(b, cb_hydro_name("inflow_in", hydro->base.name, lag, ""), -INFINITY, INFINITY, 0);
        size_t out = inflow;
        if (l > 0) {
            out = cb_hydro_column(b, cb_hydro_name("inflow_lag", hydro->base.name, lag, ""), -INFINITY, INFINITY, 0);
            size_t row = cb_hydro_row(b, cb_hydro_name("lag", hydro->base.name, lag, ""), 0, 0);
            cb_hydro_entry(b, row, out, 1);
            cb_hydro_entry(b, row, in[l - 1], -1);
        }
        cb_set_state(c->builder, &b->at, b->node, hydro->lag_state + l, in[l], out);
    }
    return inflow;
}

/* The season `lag` stages back; before the first stage, too. */
static size_t period_before(const cb_hydro_case *c, size_t stage, size_t lag) {
    size_t periods = cb_hydro_periods(c, c->par_key);
    return (cb_hydro_period(c, c->par_key, stage) + periods - lag % periods) % periods;
}

/* Of lag l in the row of this stage. With a scale of 0 the inflow back then was the mean, from which nothing follows. */
static double coefficient(const cb_hydro_builder *b, size_t h, size_t l) {
    const cb_hydro_par *par = par_of(b->c, cb_hydro_period(b->c, b->c->par_key, b->stage), h);
    double before = par_of(b->c, period_before(b->c, b->stage, l + 1), h)->scale;
    return before > 0 ? par->scale * par->phi[l] / before : 0;
}

static double constant(const cb_hydro_builder *b, size_t h) {
    const cb_hydro_par *par = par_of(b->c, cb_hydro_period(b->c, b->c->par_key, b->stage), h);
    double sum = par->mean;
    for (size_t l = 0; l < par->lags; l++)
        sum -= coefficient(b, h, l) * par_of(b->c, period_before(b->c, b->stage, l + 1), h)->mean;
    return sum;
}

/* Returns where its noise shows. */
static cb_shown add_model(cb_hydro_builder *b, size_t h, size_t inflow, const size_t *in) {
    cb_hydro_case *c = b->c;
    size_t lags = par_of(c, cb_hydro_period(c, c->par_key, b->stage), h)->lags;
    size_t random = cb_add_random(c->builder, &b->at, b->node, cb_hydro_name("noise", cb_hydro_at_name(c, h), "", ""));
    double right = c->lognormal ? 0 : constant(b, h);
    size_t row = cb_hydro_row(b, cb_hydro_name("inflow", cb_hydro_at_name(c, h), "", ""), right, right);
    cb_hydro_entry(b, row, inflow, 1);
    cb_hydro_noise(b, COBRE_SDDP_NOISE_ROW, row, 0, random, c->lognormal ? constant(b, h) : 1);
    for (size_t l = 0; l < lags; l++)
        if (c->lognormal)
            cb_hydro_noise(b, COBRE_SDDP_NOISE_ENTRY, row, in[l], random, -coefficient(b, h, l));
        else
            cb_hydro_entry(b, row, in[l], -coefficient(b, h, l));
    return (cb_shown){.row = row, .column = inflow};
}

static void add_known(cb_hydro_builder *b, size_t h, size_t inflow) {
    const cb_hydro_hydro *hydro = cb_hydro_at(b->c, h);
    size_t row =
        cb_hydro_row(b, cb_hydro_name("inflow", hydro->base.name, "", ""), hydro->first_inflow, hydro->first_inflow);
    cb_hydro_entry(b, row, inflow, 1);
}

void cb_hydro_build_par(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    bool known = b->stage == 0 && cb_hydro_first_known(c);
    cb_shown *shown = cb_hydro_array(c, cb_hydros(c), sizeof *shown);
    for (size_t h = 0; shown && h < cb_hydros(c); h++) {
        size_t in[CB_HYDRO_MAX_LAGS], inflow = add_columns(b, h, in);
        if (known)
            add_known(b, h, inflow);
        else
            shown[h] = add_model(b, h, inflow, in);
    }
    if (known || cb_hydros(c) == 0 || !shown)
        return;
    cb_show_randoms(c->builder, b->node, shown);
    set_model(b);
}
