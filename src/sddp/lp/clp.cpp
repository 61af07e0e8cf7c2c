/* SPDX-License-Identifier: Apache-2.0 */
/* clp.cpp: COIN-OR CLP behind lp.h, from C++ because only there a solve can keep its factorisation.
 *
 * A start copies the model that was never solved over the one in use: whatever CLP remembers (weights, random numbers,
 * dual bound) is gone, so that a used object and a fresh one go the same way, bit by bit. Copying costs about as much as
 * one solve, and is done once per step of a forward pass, and once per chain of outcomes. */
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <coin/ClpFactorization.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/Clp_C_Interface.h>

#include "sddp/lp/lp.h"

struct cb_lp {
    ClpSimplex fresh, model;
    int columns, rows, extra;
    bool matrix_changed; /* the factorisation is of another matrix */
    bool rests;          /* there is no model */
    bool broken;         /* CLP threw something: it can only be destroyed */
};

namespace {

thread_local char last_words[256];

const char *trouble() {
    return last_words;
}

void say(const char *words) {
    std::snprintf(last_words, sizeof last_words, "%s", words);
}

/* C++ may throw; C must not see it. */
template <typename Work> bool succeeds(Work work) {
    try {
        work();
        return true;
    } catch (const std::bad_alloc &) {
        say("there is no memory");
    } catch (const CoinError &error) {
        say(error.message().c_str());
    } catch (...) {
        say("it threw something unknown");
    }
    return false;
}

template <typename Work> void attempt(cb_lp *lp, Work work) {
    if (!lp->broken && !succeeds(work))
        lp->broken = true;
}

double bounded(double value) {
    return std::isinf(value) ? (value > 0 ? COIN_DBL_MAX : -COIN_DBL_MAX) : value;
}

/* Changes go to both, so that they outlast the next start. */
void set_column(cb_lp *lp, int column, double lower, double upper) {
    lp->fresh.setColumnBounds(column, bounded(lower), bounded(upper));
    if (!lp->rests)
        lp->model.setColumnBounds(column, bounded(lower), bounded(upper));
}

void set_row(cb_lp *lp, int row, double lower, double upper) {
    if (row < lp->rows)
        lp->fresh.setRowBounds(row, bounded(lower), bounded(upper));
    if (!lp->rests)
        lp->model.setRowBounds(row, bounded(lower), bounded(upper));
}

void set_cost(cb_lp *lp, int column, double cost) {
    lp->fresh.setObjectiveCoefficient(column, cost);
    if (!lp->rests)
        lp->model.setObjectiveCoefficient(column, cost);
}

void set_entry(cb_lp *lp, int row, int column, double value) {
    attempt(lp, [=] {
        lp->fresh.modifyCoefficient(row, column, value, true);
        if (!lp->rests)
            lp->model.modifyCoefficient(row, column, value, true);
    });
    lp->matrix_changed = true;
}

/* What CLP has left after an exception may be freed twice: it stays. */
void destroy(cb_lp *lp) {
    if (!lp->broken)
        delete lp;
}

std::vector<double> bounded_copy(const double *values, int count) {
    std::vector<double> copy(values, values + count);
    for (double &value : copy)
        value = bounded(value);
    return copy;
}

void load(cb_lp *lp, const cb_lp_model *model) {
    std::vector<CoinBigIndex> begin(model->start, model->start + model->columns + 1);
    std::vector<double> column_lower = bounded_copy(model->column_lower, model->columns);
    std::vector<double> column_upper = bounded_copy(model->column_upper, model->columns);
    std::vector<double> row_lower = bounded_copy(model->row_lower, model->rows);
    std::vector<double> row_upper = bounded_copy(model->row_upper, model->rows);
    lp->fresh.loadProblem(model->columns, model->rows, begin.data(), model->index, model->value, column_lower.data(),
                          column_upper.data(), model->cost, row_lower.data(), row_upper.data());
    lp->fresh.setOptimizationDirection(1);
    lp->fresh.setPrimalTolerance(CB_LP_PRIMAL_TOLERANCE);
    lp->fresh.setDualTolerance(CB_LP_DUAL_TOLERANCE);
    lp->fresh.scaling(0);           /* cut rows come and go: only an unscaled matrix stays what it was */
    lp->fresh.setPerturbation(100); /* off */
}

void renew(cb_lp *lp) {
    lp->model = lp->fresh;
    lp->model.setLogLevel(0); /* not copied */
    lp->rests = false;
}

/* A model that was solved has factors and weights: nine tenths of the LP's memory. */
void rest(cb_lp *lp) {
    attempt(lp, [=] { lp->model = ClpSimplex(); });
    lp->rests = true;
}

cb_lp *create(const cb_lp_model *model) {
    std::unique_ptr<cb_lp> lp;
    bool good = succeeds([&] {
        lp.reset(new cb_lp);
        lp->columns = model->columns;
        lp->rows = model->rows;
        lp->extra = 0;
        lp->matrix_changed = true;
        lp->broken = false;
        load(lp.get(), model);
        renew(lp.get());
    });
    return good ? lp.release() : nullptr;
}

void put_row(cb_lp *lp, const cb_lp_row *row) {
    CoinBigIndex starts[2] = {0, row->count};
    double lower = row->lower, upper = COIN_DBL_MAX;
    lp->model.addRows(1, &lower, &upper, starts, row->index, row->value);
    lp->model.setRowStatus(lp->rows + lp->extra, ClpSimplex::basic);
    lp->extra++;
    lp->matrix_changed = true;
}

void add_row(cb_lp *lp, const cb_lp_row *row) {
    attempt(lp, [=] { put_row(lp, row); });
}

ClpSimplex::Status status_of(unsigned char stand, double lower, double upper) {
    if (stand == CB_BASIC)
        return ClpSimplex::basic;
    if (lower == upper)
        return ClpSimplex::isFixed;
    bool has_lower = lower > -COIN_DBL_MAX, has_upper = upper < COIN_DBL_MAX;
    if (!has_lower && !has_upper)
        return ClpSimplex::isFree;
    if (stand == CB_AT_UPPER)
        return has_upper ? ClpSimplex::atUpperBound : ClpSimplex::atLowerBound;
    return has_lower ? ClpSimplex::atLowerBound : ClpSimplex::atUpperBound;
}

void set_basis(cb_lp *lp, const unsigned char *basis) {
    ClpSimplex &model = lp->model;
    for (int j = 0; j < lp->columns; j++) {
        double lower = model.columnLower()[j], upper = model.columnUpper()[j];
        model.setColumnStatus(j, status_of(basis[j], lower, upper));
        if (basis[j] != CB_BASIC) { /* a column that is not basic must stand on its bound */
            bool high = (basis[j] == CB_AT_UPPER && upper < COIN_DBL_MAX) || lower <= -COIN_DBL_MAX;
            double at = high ? upper : lower;
            model.primalColumnSolution()[j] = std::fabs(at) < COIN_DBL_MAX ? at : 0;
        }
    }
    for (int i = 0; i < lp->rows + lp->extra; i++)
        model.setRowStatus(i, status_of(basis[lp->columns + i], model.rowLower()[i], model.rowUpper()[i]));
}

void begin(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis) {
    renew(lp);
    lp->extra = 0;
    std::vector<CoinBigIndex> starts(1, 0);
    std::vector<int> index;
    std::vector<double> value, lower, upper;
    for (int i = 0; i < count; i++) {
        index.insert(index.end(), rows[i].index, rows[i].index + rows[i].count);
        value.insert(value.end(), rows[i].value, rows[i].value + rows[i].count);
        starts.push_back(static_cast<CoinBigIndex>(index.size()));
        lower.push_back(rows[i].lower);
        upper.push_back(COIN_DBL_MAX);
    }
    if (count > 0)
        lp->model.addRows(count, lower.data(), upper.data(), starts.data(), index.data(), value.data());
    lp->extra = count;
    lp->model.createStatus();
    if (basis)
        set_basis(lp, basis);
    lp->matrix_changed = true;
}

void start(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis) {
    attempt(lp, [=] { begin(lp, rows, count, basis); });
}

cb_lp_outcome outcome_of(const ClpSimplex &model) {
    switch (model.status()) {
    case 0: return CB_LP_OPTIMAL;
    case 1: return CB_LP_INFEASIBLE;
    case 2: return CB_LP_UNBOUNDED;
    default: return CB_LP_STUCK;
    }
}

cb_lp_outcome solve_with(cb_lp *lp, int effort) {
    ClpSimplex &model = lp->model;
    enum { KEEP = 1, REUSE = 2 };
    model.setMaximumIterations(cb_lp_limit(lp->columns, lp->rows + lp->extra, effort));
    model.setNumberIterations(0);
    if (effort == 0) {
        model.dual(0, lp->matrix_changed ? KEEP : KEEP | REUSE);
    } else {
        model.factorization()->pivotTolerance(CB_LP_PIVOT_TIGHT);
        if (effort == 2 || effort == 3)
            model.createStatus();
        model.scaling(effort == 2 ? 3 : 0);
        if (effort < 3)
            model.dual(0, 0);
        else
            model.primal(0, 0);
        model.scaling(0);
        model.factorization()->pivotTolerance(CB_LP_PIVOT);
    }
    lp->matrix_changed = effort > 0;
    return outcome_of(model);
}

cb_lp_outcome solve(cb_lp *lp, int effort) {
    cb_lp_outcome outcome = CB_LP_GAVE_UP;
    attempt(lp, [&] { outcome = solve_with(lp, effort); });
    return lp->broken ? CB_LP_GAVE_UP : outcome;
}

double objective(const cb_lp *lp) {
    return lp->model.objectiveValue();
}

double column_value(const cb_lp *lp, int column) {
    return lp->model.primalColumnSolution()[column];
}

double row_dual(const cb_lp *lp, int row) {
    return lp->model.dualRowSolution()[row];
}

unsigned char stand_from(ClpSimplex::Status status) {
    return status == ClpSimplex::basic ? CB_BASIC : status == ClpSimplex::atUpperBound ? CB_AT_UPPER : CB_AT_LOWER;
}

void get_basis(const cb_lp *lp, unsigned char *basis) {
    for (int j = 0; j < lp->columns; j++)
        basis[j] = stand_from(lp->model.getColumnStatus(j));
    for (int i = 0; i < lp->rows + lp->extra; i++)
        basis[lp->columns + i] = stand_from(lp->model.getRowStatus(i));
}

unsigned char extra_stand(const cb_lp *lp, int extra) {
    return stand_from(lp->model.getRowStatus(lp->rows + extra));
}

/* "c3.storage(lake)" for column 3, storage[lake]. Of one name that it does not like CLP says so on standard output, and
 * writes numbers instead of all: a name must be made of a few characters and short, no keyword and no other's. */
std::string legal_name(char kind, int number, const char *name) {
    const std::string good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.";
    const size_t longest = 90;
    std::string all = kind + std::to_string(number) + "." + name;
    for (char &c : all)
        c = c == '[' ? '(' : c == ']' ? ')' : good.find(c) != std::string::npos ? c : '_';
    return all.substr(0, longest);
}

void do_write(cb_lp *lp, const char *path, const char *const *column_names, const char *const *row_names) {
    for (int j = 0; j < lp->columns; j++) {
        std::string name = legal_name('c', j, column_names[j] ? column_names[j] : "future");
        lp->model.setColumnName(j, name);
    }
    for (int i = 0; i < lp->rows; i++) {
        std::string name = legal_name('r', i, row_names[i] ? row_names[i] : "risk");
        lp->model.setRowName(i, name);
    }
    std::string base = path; /* CLP adds the extension itself */
    if (base.size() > 3 && base.compare(base.size() - 3, 3, ".lp") == 0)
        base.resize(base.size() - 3);
    const double epsilon = 1e-12;
    const int across = 10, decimals = 12; /* what is less than epsilon is left out */
    lp->model.writeLp(base.c_str(), "lp", epsilon, across, decimals);
}

int write_file(cb_lp *lp, const char *path, const char *const *column_names, const char *const *row_names) {
    attempt(lp, [=] { do_write(lp, path, column_names, row_names); });
    std::FILE *written = std::fopen(path, "r");
    if (!written)
        return 1;
    std::fclose(written);
    return lp->broken;
}

} // namespace

#ifdef COBRE_CLP_STATIC
#define LICENSE "Apache-2.0 AND BSD-3-Clause-Open-MPI AND EPL-1.0 AND Zlib AND bzip2-1.0.6"
#else
#define LICENSE "Apache-2.0 AND EPL-1.0"
#endif

/* From 50 rows on it is faster than GLPK: docs/rationale.md has the figures. */
const cb_lp_solver cobre_lp_plugin = {
    CB_LP_ABI, "clp",        LICENSE,   Clp_Version, 50,          create,     destroy, set_column,
    set_row,   set_cost,     set_entry, add_row,     start,       solve,      rest,    trouble,
    objective, column_value, row_dual,  get_basis,   extra_stand, write_file,
};
