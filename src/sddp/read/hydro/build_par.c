/* build_par.c: inflows by the autoregressive model of par.c, as rows of the stage's program:
 *
 *     inflow[p]   inflow - sum of coefficient * inflow_in[p,l] = constant + noise             (normal)
 *     inflow[p]   inflow - noise * sum of coefficient * inflow_in[p,l] = noise * constant     (lognormal)
 *     lag[p,l]    inflow_lag[p,l] = inflow_in[p,l-1]: what was l - 1 stages ago will be l stages ago */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/read/hydro/hydro.h"

static const cb_hydro_par *par_of(const cb_hydro_case *c, size_t period, size_t plant) {
    return &c->par[period * c->plants + plant];
}

void cb_hydro_add_factors(cb_hydro_case *c) {
    size_t n = c->plants, periods = cb_hydro_periods(c, c->correlation_key);
    const cb_place at = {.file = c->json_path};
    cb_set_opening_seed(c->builder, c->seed);
    for (size_t period = 0; period < periods; period++)
        cb_add_factor(c->builder, &at, n, &c->cholesky[period * n * n]);
}

/* Factor k is that of period k: nobody else adds factors. */
static void set_model(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    double *deviation = cb_hydro_array(c, c->plants, sizeof *deviation);
    for (size_t p = 0; deviation && p < c->plants; p++) {
        const cb_hydro_par *par = par_of(c, cb_hydro_period(c, c->par_key, b->stage), p);
        deviation[p] = c->lognormal ? par->noise : par->noise * par->scale;
    }
    if (deviation)
        cb_set_model(c->builder, &b->at, b->node, c->openings, c->lognormal, deviation,
                     cb_hydro_period(c, c->correlation_key, b->stage));
    free(deviation);
}

/* The column of the inflow, and those of the inflows before, which are states. */
static size_t add_columns(cb_hydro_builder *b, size_t p, size_t *in) {
    cb_hydro_case *c = b->c;
    const cb_hydro_plant *plant = &c->plant[p];
    size_t inflow = cb_add_column(c->builder, &b->at, b->node, cb_hydro_name("inflow", plant->name, "", ""), -INFINITY,
                                  INFINITY, 0);
    cb_add_entry(c->builder, &b->at, b->node, b->water[p], inflow, -b->volume);
    for (size_t l = 0; l < plant->lags; l++) {
        char lag[32];
        snprintf(lag, sizeof lag, "%zu", l + 1);
        in[l] = cb_add_column(c->builder, &b->at, b->node, cb_hydro_name("inflow_in", plant->name, lag, ""), -INFINITY,
                              INFINITY, 0);
        size_t out = inflow;
        if (l > 0) {
            out = cb_add_column(c->builder, &b->at, b->node, cb_hydro_name("inflow_lag", plant->name, lag, ""),
                                -INFINITY, INFINITY, 0);
            size_t row = cb_add_row(c->builder, &b->at, b->node, cb_hydro_name("lag", plant->name, lag, ""), 0, 0);
            cb_add_entry(c->builder, &b->at, b->node, row, out, 1);
            cb_add_entry(c->builder, &b->at, b->node, row, in[l - 1], -1);
        }
        cb_set_state(c->builder, &b->at, b->node, plant->lag_state + l, in[l], out);
    }
    return inflow;
}

/* The season `lag` stages back; before the first stage, too. */
static size_t period_before(const cb_hydro_case *c, size_t stage, size_t lag) {
    size_t periods = cb_hydro_periods(c, c->par_key);
    return (cb_hydro_period(c, c->par_key, stage) + periods - lag % periods) % periods;
}

/* Of lag l in the row of this stage. */
static double coefficient(const cb_hydro_builder *b, size_t p, size_t l) {
    const cb_hydro_par *par = par_of(b->c, cb_hydro_period(b->c, b->c->par_key, b->stage), p);
    return par->scale * par->phi[l] / par_of(b->c, period_before(b->c, b->stage, l + 1), p)->scale;
}

static double constant(const cb_hydro_builder *b, size_t p) {
    const cb_hydro_par *par = par_of(b->c, cb_hydro_period(b->c, b->c->par_key, b->stage), p);
    double sum = par->mean;
    for (size_t l = 0; l < par->lags; l++)
        sum -= coefficient(b, p, l) * par_of(b->c, period_before(b->c, b->stage, l + 1), p)->mean;
    return sum;
}

static void add_noise(cb_hydro_builder *b, cb_noise_target target, size_t row, size_t column, size_t random,
                      double factor) {
    cb_add_noise(b->c->builder, &b->at, b->node,
                 (cb_noise){.target = target, .index = row, .column = column, .random = random, .factor = factor});
}

static void add_model(cb_hydro_builder *b, size_t p, size_t inflow, const size_t *in) {
    cb_hydro_case *c = b->c;
    size_t lags = par_of(c, cb_hydro_period(c, c->par_key, b->stage), p)->lags;
    size_t random = cb_add_random(c->builder, &b->at, b->node, cb_hydro_name("noise", c->plant[p].name, "", ""));
    double right = c->lognormal ? 0 : constant(b, p);
    size_t row =
        cb_add_row(c->builder, &b->at, b->node, cb_hydro_name("inflow", c->plant[p].name, "", ""), right, right);
    cb_add_entry(c->builder, &b->at, b->node, row, inflow, 1);
    add_noise(b, COBRE_SDDP_NOISE_ROW, row, 0, random, c->lognormal ? constant(b, p) : 1);
    for (size_t l = 0; l < lags; l++)
        if (c->lognormal)
            add_noise(b, COBRE_SDDP_NOISE_ENTRY, row, in[l], random, -coefficient(b, p, l));
        else
            cb_add_entry(c->builder, &b->at, b->node, row, in[l], -coefficient(b, p, l));
}

static void add_known(cb_hydro_builder *b, size_t p, size_t inflow) {
    const cb_hydro_plant *plant = &b->c->plant[p];
    size_t row = cb_add_row(b->c->builder, &b->at, b->node, cb_hydro_name("inflow", plant->name, "", ""),
                            plant->first_inflow, plant->first_inflow);
    cb_add_entry(b->c->builder, &b->at, b->node, row, inflow, 1);
}

void cb_hydro_build_par(cb_hydro_builder *b) {
    cb_hydro_case *c = b->c;
    bool known = b->stage == 0 && c->plants > 0 && !isnan(c->plant[0].first_inflow);
    for (size_t p = 0; p < c->plants; p++) {
        size_t in[CB_HYDRO_MAX_LAGS], inflow = add_columns(b, p, in);
        if (known)
            add_known(b, p, inflow);
        else
            add_model(b, p, inflow, in);
    }
    if (!known && c->plants > 0)
        set_model(b);
}

/* Inflows before the current step, of plant and lag; as far as models look back. */
static void remember(double *past, const double *inflow, size_t plants) {
    for (size_t p = 0; p < plants; p++) {
        double *lag = &past[p * CB_HYDRO_MAX_LAGS];
        memmove(lag + 1, lag, (CB_HYDRO_MAX_LAGS - 1) * sizeof *lag);
        lag[0] = inflow[p];
    }
}

/* What the noise of plant p must be for this inflow; NaN: there is none. */
static double noise_for(const cb_hydro_builder *b, size_t p, const double *past, double inflow) {
    double expected = constant(b, p);
    size_t lags = par_of(b->c, cb_hydro_period(b->c, b->c->par_key, b->stage), p)->lags;
    for (size_t l = 0; l < lags; l++)
        expected += coefficient(b, p, l) * past[p * CB_HYDRO_MAX_LAGS + l];
    if (!b->c->lognormal)
        return inflow - expected;
    return expected > 0 && inflow > 0 ? inflow / expected : expected == 0 && inflow == 0 ? 1 : NAN;
}

static void scenario_noise(cb_hydro_case *c, const cb_place *at, size_t scenario, double *past, double *inflow) {
    const cb_scenario *its = &c->builder->scenario[scenario];
    memcpy(past, c->past, c->plants * CB_HYDRO_MAX_LAGS * sizeof *past);
    for (size_t k = 0; k < its->steps; k++) {
        cb_hydro_builder b = {.c = c, .stage = its->node[k]};
        bool known = c->builder->node[its->node[k]].randoms == 0;
        for (size_t p = 0; p < c->plants; p++) {
            inflow[p] = known ? c->plant[p].first_inflow : its->values[k][p];
            double noise = known ? 0 : noise_for(&b, p, past, inflow[p]);
            if (isnan(noise))
                cb_error_at(c->builder, at, "give inflows above 0",
                            "scenario %zu, step %zu: the lognormal model cannot make inflow %g of hydro %s from "
                            "those before",
                            scenario + 1, k + 1, inflow[p], c->plant[p].name);
            else if (!known)
                its->values[k][p] = noise;
        }
        remember(past, inflow, c->plants);
    }
}

void cb_hydro_scenario_noise(cb_hydro_case *c, const char *path) {
    const cb_place at = {.file = path};
    double *past = cb_hydro_array(c, c->plants * CB_HYDRO_MAX_LAGS, sizeof *past);
    double *inflow = cb_hydro_array(c, c->plants, sizeof *inflow);
    for (size_t s = 0; past && inflow && s < c->builder->scenarios; s++)
        scenario_noise(c, &at, s, past, inflow);
    free(past);
    free(inflow);
}
