/* SPDX-License-Identifier: Apache-2.0 */
/* par.c: par.csv and past_inflows.csv, the periodic autoregressive model of the inflows.
 *
 * With m the mean, s the scale, phi the coefficients and w the noise of a season, the inflow of stage t is
 *
 *     normal:     a(t) = m(t) + s(t) (sum over l of phi_l(t) (a(t-l) - m(t-l)) / s(t-l)  +  w(t) z)
 *     lognormal:  a(t) = exp(w(t) z) (m(t) + s(t) sum over l of phi_l(t) (a(t-l) - m(t-l)) / s(t-l))
 *
 * where the z of the hydros are standard normal and correlated as correlation.csv says. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "sddp/read/hydro/hydro.h"

static const cb_hydro_field par_field[] = {
    {CB_HYDRO_MEMBER(cb_hydro_par, mean), .required = true, .low = -INFINITY, .high = INFINITY,
     .unit = "the mean inflow, in m3/s or MW"},
    {CB_HYDRO_MEMBER(cb_hydro_par, scale), .fallback = NAN, .high = INFINITY,
     .unit = "the deviation of the inflow, from 0 on"},
    {CB_HYDRO_MEMBER(cb_hydro_par, noise), .required = true, .high = INFINITY,
     .unit = "the deviation of the noise, in units of the scale, from 0 on"},
};
enum { PAR_FIELDS = sizeof par_field / sizeof *par_field };

typedef struct {
    size_t hydro, key, field[PAR_FIELDS], phi[CB_HYDRO_MAX_LAGS];
} par_columns;

static void find_columns(cb_hydro_case *c, cb_csv *table, par_columns *columns) {
    columns->hydro = cb_csv_column(c->builder, table, "hydro", true);
    c->par_key = cb_hydro_find_key(c, table, &columns->key);
    if (c->par_key == CB_HYDRO_BY_STAGE) {
        cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, columns->key), "give a \"season\", not a \"stage\"",
                    "the model is periodic");
        c->par_key = CB_HYDRO_ALWAYS;
    }
    cb_hydro_field_columns(c, table, par_field, PAR_FIELDS, columns->field);
    for (size_t l = 0; l < CB_HYDRO_MAX_LAGS; l++) {
        char name[16];
        snprintf(name, sizeof name, "phi%zu", l + 1);
        columns->phi[l] = cb_csv_find(table, name);
    }
    cb_csv_check_columns(c->builder, table);
}

static void read_row(cb_hydro_case *c, cb_csv *table, size_t row, const par_columns *columns) {
    static const cb_hydro_field phi = {.name = "phi", .low = -INFINITY, .high = INFINITY, .unit = "a coefficient"};
    size_t hydro = cb_hydro_refer(c, table, row, columns->hydro, cb_hydro_hydro_names(c));
    size_t period = cb_hydro_read_period(c, table, row, c->par_key, columns->key);
    cb_hydro_par new = {.given = true};
    cb_hydro_fields(c, table, columns->field, row, par_field, PAR_FIELDS, &new);
    bool by_mean = isnan(new.scale); /* phi and noise in units of the mean */
    new.scale = by_mean ? new.mean : new.scale;
    for (size_t l = 0; l < CB_HYDRO_MAX_LAGS; l++) {
        new.phi[l] = cb_hydro_number(c, table, row, columns->phi[l], &phi);
        if (new.phi[l] != 0)
            new.lags = l + 1;
    }
    if (hydro == CB_NONE || period == CB_NONE)
        return;
    cb_place at = cb_csv_place(table, row, CB_NONE);
    if (new.scale <= 0 && (by_mean || c->lognormal))
        cb_error_at(c->builder, &at,
                    by_mean ? "give a \"scale\" above 0 when the mean is not"
                            : "give one above 0, and a \"noise\" of 0 for an inflow that never varies",
                    "hydro %s: the scale is %g", cb_hydro_at_name(c, hydro), new.scale);
    cb_hydro_par *par = &c->par[period * cb_hydros(c) + hydro];
    if (par->given)
        cb_error_at(c->builder, &at, "keep one line", "hydro %s is there twice for this season",
                    cb_hydro_at_name(c, hydro));
    *par = new;
    cb_hydro_at(c, hydro)->may_lack = true;
    if (new.lags > cb_hydro_at(c, hydro)->lags)
        cb_hydro_at(c, hydro)->lags = new.lags;
}

static void check_all_given(cb_hydro_case *c, const cb_csv *table) {
    for (size_t period = 0; period < cb_hydro_periods(c, c->par_key); period++)
        for (size_t h = 0; h < cb_hydros(c); h++)
            if (!c->par[period * cb_hydros(c) + h].given) {
                char when[32];
                cb_hydro_period_text(c->par_key, period, when);
                cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, CB_NONE), "add it", "hydro %s has no line for %s",
                            cb_hydro_at_name(c, h), when);
            }
}

static void read_model(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "par.csv", false, &table)) {
        par_columns columns;
        find_columns(c, &table, &columns);
        c->par = cb_hydro_array(c, cb_hydro_periods(c, c->par_key) * cb_hydros(c), sizeof *c->par);
        for (size_t row = 0; c->par && row < table.rows; row++)
            read_row(c, &table, row, &columns);
        if (c->par && cb_csv_sound(c->builder, &table))
            check_all_given(c, &table);
    }
    cb_csv_free(&table);
}

/* How many inflows before the first stage matter; when that stage's own is known, one less. */
static size_t looks_back(const cb_hydro_case *c, size_t h) {
    size_t lags = cb_hydro_at(c, h)->lags;
    return lags > 0 && !isnan(cb_hydro_at(c, h)->first_inflow) ? lags - 1 : lags;
}

static void read_past_row(cb_hydro_case *c, const cb_csv *table, size_t row, size_t lag_column, const size_t *columns) {
    static const cb_hydro_field inflow = {
        .name = "inflow", .required = true, .low = -INFINITY, .high = INFINITY, .unit = "the inflow, in m3/s or MW"};
    size_t lag = cb_hydro_whole(c, table, row, lag_column, 1, CB_HYDRO_MAX_LAGS, "number of stages before the first");
    for (size_t h = 0; lag != CB_NONE && h < cb_hydros(c); h++) {
        double *past = &c->past[h * CB_HYDRO_MAX_LAGS + lag - 1];
        if (columns[h] == CB_NONE || (lag > looks_back(c, h) && !*cb_csv_text(table, row, columns[h])))
            continue;
        if (!isnan(*past)) {
            cb_error_at(c->builder, CB_CSV_AT(table, row, lag_column), "keep one", "lag %zu is there twice", lag);
            return;
        }
        *past = cb_hydro_number(c, table, row, columns[h], &inflow);
    }
}

static void read_past_table(cb_hydro_case *c, cb_csv *table, size_t *columns) {
    size_t lag_column = cb_csv_column(c->builder, table, "lag", true);
    for (size_t h = 0; h < cb_hydros(c); h++)
        columns[h] = cb_csv_find(table, cb_hydro_at_name(c, h));
    cb_csv_check_columns(c->builder, table);
    for (size_t row = 0; lag_column != CB_NONE && row < table->rows; row++)
        read_past_row(c, table, row, lag_column, columns);
    for (size_t h = 0; h < cb_hydros(c) && cb_csv_sound(c->builder, table); h++)
        for (size_t l = 0; l < looks_back(c, h); l++)
            if (isnan(c->past[h * CB_HYDRO_MAX_LAGS + l])) {
                cb_error_at(c->builder, CB_CSV_AT(table, CB_NONE, CB_NONE),
                            CB_TEXT("add it, the model looks back %zu", cb_hydro_at(c, h)->lags),
                            "hydro %s: its inflow %zu stage%s before the first is missing", cb_hydro_at_name(c, h),
                            l + 1, l ? "s" : "");
                break;
            }
}

static void read_past(cb_hydro_case *c) {
    cb_csv table;
    size_t most = 0;
    for (size_t h = 0; h < cb_hydros(c); h++)
        most = looks_back(c, h) > most ? looks_back(c, h) : most;
    c->past = cb_hydro_array(c, cb_hydros(c) * CB_HYDRO_MAX_LAGS, sizeof *c->past);
    for (size_t i = 0; c->past && i < cb_hydros(c) * CB_HYDRO_MAX_LAGS; i++)
        c->past[i] = NAN;
    if (cb_hydro_open(c, "past_inflows.csv", most == 0, &table)) {
        size_t *columns = cb_hydro_array(c, cb_hydros(c), sizeof *columns);
        if (columns && c->past)
            read_past_table(c, &table, columns);
    }
    cb_csv_free(&table);
}

void cb_hydro_read_par(cb_hydro_case *c) {
    read_model(c);
    read_past(c);
    cb_hydro_read_correlation(c);
}
