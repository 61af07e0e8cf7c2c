/* SPDX-License-Identifier: Apache-2.0 */
/* correlation.c: correlation.csv and its Cholesky factors. */
#include <math.h>

#include "sddp/read/hydro/hydro.h"

static void identity(cb_hydro_case *c, size_t periods, bool ones) {
    size_t n = cb_hydros(c);
    c->cholesky = cb_hydro_array(c, periods * n * n, sizeof *c->cholesky);
    for (size_t i = 0; c->cholesky && i < periods * n * n; i++)
        c->cholesky[i] = !ones ? NAN : i % (n * n) % (n + 1) == 0;
}

static void read_row(cb_hydro_case *c, cb_csv *table, size_t row, size_t name, size_t key, const size_t *columns) {
    static const cb_hydro_field field = {
        .name = "correlation", .required = true, .low = -1, .high = 1, .unit = "a correlation, from -1 to 1"};
    size_t hydro = cb_hydro_refer(c, table, row, name, cb_hydro_hydro_names(c));
    size_t period = cb_hydro_read_period(c, table, row, c->correlation_key, key);
    if (hydro == CB_NONE || period == CB_NONE)
        return;
    double *values = &c->cholesky[(period * cb_hydros(c) + hydro) * cb_hydros(c)];
    if (!isnan(values[hydro])) {
        cb_error_at(c->builder, CB_CSV_AT(table, row, name), "keep one line", "hydro %s is there twice",
                    cb_hydro_at_name(c, hydro));
    }
    for (size_t h = 0; h < cb_hydros(c); h++)
        values[h] = cb_hydro_number(c, table, row, columns[h], &field);
    cb_place at = cb_csv_place(table, row, columns[hydro]);
    if (fabs(values[hydro] - 1) > 1e-6)
        cb_error_at(c->builder, &at, "give correlations, not covariances",
                    "the correlation of %s with itself is %g, not 1", cb_hydro_at_name(c, hydro), values[hydro]);
}

/* Replaces the lower triangle by its factor; false: not positive semidefinite. */
static bool factorise(double *matrix, size_t n) {
    for (size_t j = 0; j < n; j++) {
        double pivot = matrix[j * n + j];
        for (size_t k = 0; k < j; k++)
            pivot -= matrix[j * n + k] * matrix[j * n + k];
        if (pivot < -1e-6)
            return false;
        double root = pivot > 1e-12 ? sqrt(pivot) : 0;
        matrix[j * n + j] = root;
        for (size_t i = j + 1; i < n; i++) {
            double value = matrix[i * n + j];
            for (size_t k = 0; k < j; k++)
                value -= matrix[i * n + k] * matrix[j * n + k];
            if (root == 0 && fabs(value) > 1e-5)
                return false;
            matrix[i * n + j] = root > 0 ? value / root : 0;
        }
    }
    return true;
}

static void check_period(cb_hydro_case *c, const cb_csv *table, size_t period) {
    char when[32];
    size_t n = cb_hydros(c);
    double *matrix = &c->cholesky[period * n * n];
    cb_hydro_period_text(c->correlation_key, period, when);
    cb_place at = cb_csv_place(table, CB_NONE, CB_NONE);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            if (isnan(matrix[i * n + j]) || isnan(matrix[j * n + i])) {
                const char *name = cb_hydro_at_name(c, isnan(matrix[i * n + j]) ? i : j);
                cb_error_at(c->builder, &at, "give one for each hydro", "%s: hydro %s has no line", when, name);
                return;
            }
            if (fabs(matrix[i * n + j] - matrix[j * n + i]) > 1e-6) {
                cb_error_at(c->builder, &at, "make it symmetric",
                            "%s: the correlation of %s with %s is %g, the other way round %g", when,
                            cb_hydro_at_name(c, j), cb_hydro_at_name(c, i), matrix[j * n + i], matrix[i * n + j]);
                return;
            }
        }
    if (!factorise(matrix, n))
        cb_error_at(c->builder, &at, NULL,
                    "%s: no noise has these correlations: the matrix is not positive semidefinite", when);
}

static void read_table(cb_hydro_case *c, cb_csv *table) {
    size_t key, name = cb_csv_column(c->builder, table, "hydro", true);
    size_t *columns = cb_hydro_array(c, cb_hydros(c), sizeof *columns);
    c->correlation_key = cb_hydro_find_key(c, table, &key);
    identity(c, cb_hydro_periods(c, c->correlation_key), false);
    if (columns && c->cholesky) {
        for (size_t h = 0; h < cb_hydros(c); h++)
            columns[h] = cb_csv_column(c->builder, table, cb_hydro_at_name(c, h), true);
        cb_csv_check_columns(c->builder, table);
        for (size_t row = 0; row < table->rows; row++)
            read_row(c, table, row, name, key, columns);
        for (size_t period = 0; period < cb_hydro_periods(c, c->correlation_key) && cb_csv_sound(c->builder, table);
             period++)
            check_period(c, table, period);
    }
}

void cb_hydro_read_correlation(cb_hydro_case *c) {
    cb_csv table;
    if (cb_hydro_open(c, "correlation.csv", true, &table))
        read_table(c, &table);
    else
        identity(c, 1, true);
    cb_csv_free(&table);
}
