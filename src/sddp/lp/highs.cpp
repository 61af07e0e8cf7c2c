/* SPDX-License-Identifier: Apache-2.0 */
/* highs.cpp: HiGHS behind lp.h, by its C interface; from C++ because it throws where it has no memory.
 *
 * The model is kept here, by rows, with the extra rows below. A start passes it to HiGHS anew: whatever HiGHS remembers
 * (basis, factors, weights, the order of a column's entries) is gone, so that a used object and a fresh one go the same way,
 * bit by bit. Passing it costs about as much as one solve, and is done once for all openings of a state.
 *
 * HiGHS takes an entry of at most SMALLEST for zero. */
#include <cctype>
#include <climits>
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <interfaces/highs_c_api.h>

#include "sddp/lp/lp.h"

struct cb_lp {
    void *highs = nullptr;
    int columns = 0, rows = 0, extra = 0;
    std::vector<double> cost, column_lower, column_upper, row_lower, row_upper;
    std::vector<HighsInt> begin, index; /* row i: index[begin[i] .. begin[i + 1]) */
    std::vector<double> value;
    std::vector<double> x, reduced, activity, dual;  /* of the last optimum */
    std::vector<HighsInt> column_status, row_status; /* the same, or what is under way to HiGHS */
    HighsInt limit = 0;                              /* on iterations, as HiGHS has it */
    bool broken = false;                             /* HiGHS threw something: it can only be destroyed */
};

namespace {

static_assert(sizeof(HighsInt) == sizeof(int), "HiGHS with indices of 32 bits");

constexpr double SMALLEST = 1e-12; /* the least that it allows */
constexpr double INFINITE = 1e25;  /* from here on: beyond all numbers of a problem */

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
    } catch (const std::exception &error) {
        say(error.what());
    } catch (...) {
        say("it threw something unknown");
    }
    return false;
}

template <typename Work> void attempt(cb_lp *lp, Work work) {
    if (!lp->broken && !succeeds(work))
        lp->broken = true;
}

struct refused : std::exception {
    const char *what() const noexcept override {
        return "it refused the model";
    }
};

void must(HighsInt status) {
    if (status == kHighsStatusError)
        throw refused();
}

void set_column(cb_lp *lp, int column, double lower, double upper) {
    lp->column_lower[column] = lower;
    lp->column_upper[column] = upper;
    attempt(lp, [=] { must(Highs_changeColBounds(lp->highs, column, lower, upper)); });
}

void set_row(cb_lp *lp, int row, double lower, double upper) {
    lp->row_lower[row] = lower;
    lp->row_upper[row] = upper;
    attempt(lp, [=] { must(Highs_changeRowBounds(lp->highs, row, lower, upper)); });
}

void set_cost(cb_lp *lp, int column, double cost) {
    lp->cost[column] = cost;
    attempt(lp, [=] { must(Highs_changeColCost(lp->highs, column, cost)); });
}

void set_entry(cb_lp *lp, int row, int column, double value) {
    int at = lp->begin[row];
    while (lp->index[at] != column)
        at++;
    lp->value[at] = value;
    attempt(lp, [=] { must(Highs_changeCoeff(lp->highs, row, column, value)); });
}

void destroy(cb_lp *lp) {
    if (lp && lp->highs)
        Highs_destroy(lp->highs);
    delete lp;
}

/* One thread. No presolve, no perturbed costs and cheap weights: a warm solve takes a few iterations. Unscaled: cut rows come and
 * go, and only an unscaled matrix stays what it was. */
void set_options(void *highs) {
    Highs_setBoolOptionValue(highs, "output_flag", 0);
    Highs_setIntOptionValue(highs, "threads", 1);
    Highs_setStringOptionValue(highs, "parallel", "off");
    Highs_setStringOptionValue(highs, "presolve", "off");
    Highs_setStringOptionValue(highs, "solver", "simplex");
    Highs_setIntOptionValue(highs, "simplex_strategy", 1);                  /* dual */
    Highs_setIntOptionValue(highs, "simplex_dual_edge_weight_strategy", 1); /* Devex */
    Highs_setIntOptionValue(highs, "simplex_scale_strategy", 0);
    Highs_setIntOptionValue(highs, "random_seed", 0);
    Highs_setDoubleOptionValue(highs, "dual_simplex_cost_perturbation_multiplier", 0);
    Highs_setDoubleOptionValue(highs, "primal_feasibility_tolerance", CB_LP_PRIMAL_TOLERANCE);
    Highs_setDoubleOptionValue(highs, "dual_feasibility_tolerance", CB_LP_DUAL_TOLERANCE);
    Highs_setDoubleOptionValue(highs, "factor_pivot_threshold", CB_LP_PIVOT);
    Highs_setDoubleOptionValue(highs, "small_matrix_value", SMALLEST);
    Highs_setDoubleOptionValue(highs, "large_matrix_value", INFINITE);
    Highs_setDoubleOptionValue(highs, "infinite_cost", INFINITE);
    Highs_setDoubleOptionValue(highs, "infinite_bound", INFINITE);
}

void copy_rows(cb_lp *lp, const cb_lp_model *model) {
    int entries = model->start[model->columns];
    lp->begin.assign(model->rows + 1, 0);
    lp->index.resize(entries);
    lp->value.resize(entries);
    for (int e = 0; e < entries; e++)
        lp->begin[model->index[e] + 1]++;
    for (int i = 0; i < model->rows; i++)
        lp->begin[i + 1] += lp->begin[i];
    std::vector<int> next(lp->begin.begin(), lp->begin.end());
    for (int j = 0; j < model->columns; j++)
        for (int e = model->start[j]; e < model->start[j + 1]; e++) {
            int at = next[model->index[e]]++;
            lp->index[at] = j;
            lp->value[at] = model->value[e];
        }
}

void pass_model(cb_lp *lp) {
    must(Highs_passLp(lp->highs, lp->columns, lp->rows + lp->extra, lp->begin.back(), kHighsMatrixFormatRowwise,
                      kHighsObjSenseMinimize, 0, lp->cost.data(), lp->column_lower.data(), lp->column_upper.data(),
                      lp->row_lower.data(), lp->row_upper.data(), lp->begin.data(), lp->index.data(),
                      lp->value.data()));
}

struct destroyer {
    void operator()(cb_lp *lp) const {
        destroy(lp);
    }
};

cb_lp *create(const cb_lp_model *model) {
    std::unique_ptr<cb_lp, destroyer> lp;
    bool good = succeeds([&] {
        lp.reset(new cb_lp);
        lp->columns = model->columns;
        lp->rows = model->rows;
        lp->cost.assign(model->cost, model->cost + model->columns);
        lp->column_lower.assign(model->column_lower, model->column_lower + model->columns);
        lp->column_upper.assign(model->column_upper, model->column_upper + model->columns);
        lp->row_lower.assign(model->row_lower, model->row_lower + model->rows);
        lp->row_upper.assign(model->row_upper, model->row_upper + model->rows);
        copy_rows(lp.get(), model);
        lp->highs = Highs_create();
        set_options(lp->highs);
        pass_model(lp.get());
    });
    return good ? lp.release() : nullptr;
}

void keep_row(cb_lp *lp, const cb_lp_row *row) {
    lp->index.insert(lp->index.end(), row->index, row->index + row->count);
    lp->value.insert(lp->value.end(), row->value, row->value + row->count);
    lp->begin.push_back(static_cast<HighsInt>(lp->index.size()));
    lp->row_lower.push_back(row->lower);
    lp->row_upper.push_back(INFINITY);
    lp->extra++;
}

void add_row(cb_lp *lp, const cb_lp_row *row) {
    attempt(lp, [=] {
        keep_row(lp, row);
        must(Highs_addRow(lp->highs, row->lower, INFINITY, row->count, row->index, row->value));
    });
}

HighsInt status_of(unsigned char stand, double lower, double upper) {
    if (stand == CB_BASIC)
        return kHighsBasisStatusBasic;
    if (std::isinf(lower) && std::isinf(upper))
        return kHighsBasisStatusZero;
    bool at_upper = std::isinf(lower) || (stand == CB_AT_UPPER && !std::isinf(upper));
    return at_upper ? kHighsBasisStatusUpper : kHighsBasisStatusLower;
}

/* A basis that HiGHS cannot take leaves it with none, which is the slack basis. */
void set_basis(cb_lp *lp, const unsigned char *basis) {
    lp->column_status.resize(lp->columns);
    lp->row_status.resize(lp->rows + lp->extra);
    for (int j = 0; j < lp->columns; j++)
        lp->column_status[j] = status_of(basis[j], lp->column_lower[j], lp->column_upper[j]);
    for (int i = 0; i < lp->rows + lp->extra; i++)
        lp->row_status[i] = status_of(basis[lp->columns + i], lp->row_lower[i], lp->row_upper[i]);
    Highs_setBasis(lp->highs, lp->column_status.data(), lp->row_status.data());
}

void begin(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis) {
    lp->begin.resize(lp->rows + 1);
    lp->index.resize(lp->begin.back());
    lp->value.resize(lp->begin.back());
    lp->row_lower.resize(lp->rows);
    lp->row_upper.resize(lp->rows);
    lp->extra = 0;
    for (int i = 0; i < count; i++)
        keep_row(lp, &rows[i]);
    pass_model(lp);
    if (basis)
        set_basis(lp, basis);
}

void start(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis) {
    attempt(lp, [=] { begin(lp, rows, count, basis); });
}

/* Only of an optimum can anything be read. */
cb_lp_outcome outcome_of(cb_lp *lp) {
    HighsInt status = Highs_getModelStatus(lp->highs);
    if (status == kHighsModelStatusInfeasible)
        return CB_LP_INFEASIBLE;
    if (status == kHighsModelStatusUnbounded || status == kHighsModelStatusUnboundedOrInfeasible)
        return CB_LP_UNBOUNDED;
    if (status != kHighsModelStatusOptimal && status != kHighsModelStatusModelEmpty)
        return CB_LP_STUCK;
    lp->x.resize(lp->columns);
    lp->reduced.resize(lp->columns);
    lp->activity.resize(lp->rows + lp->extra);
    lp->dual.resize(lp->rows + lp->extra);
    lp->column_status.resize(lp->columns);
    lp->row_status.resize(lp->rows + lp->extra);
    must(Highs_getSolution(lp->highs, lp->x.data(), lp->reduced.data(), lp->activity.data(), lp->dual.data()));
    must(Highs_getBasis(lp->highs, lp->column_status.data(), lp->row_status.data()));
    return CB_LP_OPTIMAL;
}

cb_lp_outcome run(cb_lp *lp, int effort) {
    HighsInt limit = cb_lp_limit(lp->columns, lp->rows + lp->extra, effort);
    if (limit != lp->limit)
        Highs_setIntOptionValue(lp->highs, "simplex_iteration_limit", limit);
    lp->limit = limit;
    Highs_run(lp->highs);
    return outcome_of(lp);
}

/* The last basis once more, so that it is factorised anew; or the slack basis. */
void renew_basis(cb_lp *lp, bool slack) {
    lp->column_status.resize(lp->columns);
    lp->row_status.resize(lp->rows + lp->extra);
    if (slack)
        Highs_setLogicalBasis(lp->highs);
    else if (Highs_getBasis(lp->highs, lp->column_status.data(), lp->row_status.data()) != kHighsStatusError)
        Highs_setBasis(lp->highs, lp->column_status.data(), lp->row_status.data());
}

cb_lp_outcome solve_with(cb_lp *lp, int effort) {
    if (effort == 0)
        return run(lp, effort);
    Highs_setDoubleOptionValue(lp->highs, "factor_pivot_threshold", CB_LP_PIVOT_TIGHT);
    Highs_setIntOptionValue(lp->highs, "simplex_scale_strategy", effort == 2 ? 2 : 0);
    Highs_setIntOptionValue(lp->highs, "simplex_strategy", effort >= 3 ? 4 : 1); /* 4: primal */
    renew_basis(lp, effort == 2 || effort == 3);
    cb_lp_outcome outcome = run(lp, effort);
    Highs_setDoubleOptionValue(lp->highs, "factor_pivot_threshold", CB_LP_PIVOT);
    Highs_setIntOptionValue(lp->highs, "simplex_scale_strategy", 0);
    Highs_setIntOptionValue(lp->highs, "simplex_strategy", 1);
    return outcome;
}

cb_lp_outcome solve(cb_lp *lp, int effort) {
    cb_lp_outcome outcome = CB_LP_GAVE_UP;
    attempt(lp, [&] { outcome = solve_with(lp, effort); });
    return lp->broken ? CB_LP_GAVE_UP : outcome;
}

double objective(const cb_lp *lp) {
    return Highs_getObjectiveValue(lp->highs);
}

double column_value(const cb_lp *lp, int column) {
    return lp->x[column];
}

double row_dual(const cb_lp *lp, int row) {
    return lp->dual[row];
}

unsigned char stand_from(HighsInt status) {
    return status == kHighsBasisStatusBasic ? CB_BASIC : status == kHighsBasisStatusUpper ? CB_AT_UPPER : CB_AT_LOWER;
}

void get_basis(const cb_lp *lp, unsigned char *basis) {
    for (int j = 0; j < lp->columns; j++)
        basis[j] = stand_from(lp->column_status[j]);
    for (int i = 0; i < lp->rows + lp->extra; i++)
        basis[lp->columns + i] = stand_from(lp->row_status[i]);
}

unsigned char extra_stand(const cb_lp *lp, int extra) {
    return stand_from(lp->row_status[lp->rows + extra]);
}

/* "storage(lake)" for storage[lake]: brackets and spaces have a meaning in the format. What has no name gets one. */
std::string legal_name(const char *name, const char *otherwise, int number) {
    std::string all = name ? name : otherwise + std::to_string(number);
    for (char &c : all)
        c = c == '[' ? '(' : c == ']' ? ')' : std::isalnum(static_cast<unsigned char>(c)) || c == '.' ? c : '_';
    return all;
}

/* A name that HiGHS refuses stays one that it has made up. */
void do_write(cb_lp *lp, const char *path, const char *const *column_names, const char *const *row_names) {
    for (int j = 0; j < lp->columns; j++)
        Highs_passColName(lp->highs, j, legal_name(column_names[j], "future", j).c_str());
    for (int i = 0; i < lp->rows; i++)
        Highs_passRowName(lp->highs, i, legal_name(row_names[i], "risk", i).c_str());
    must(Highs_writeModel(lp->highs, path));
}

int write_file(cb_lp *lp, const char *path, const char *const *column_names, const char *const *row_names) {
    return lp->broken || !succeeds([=] { do_write(lp, path, column_names, row_names); });
}

} // namespace

/* It is never the fastest: docs/rationale.md has the figures. So it is taken by name, or where there is no other. */
const cb_lp_solver cobre_lp_plugin = {
    CB_LP_ABI,     "highs",    "Apache-2.0 AND MIT",
    Highs_version, INT_MAX,    create,
    destroy,       set_column, set_row,
    set_cost,      set_entry,  add_row,
    start,         solve,      nullptr,
    trouble,       objective,  column_value,
    row_dual,      get_basis,  extra_stand,
    write_file,
};
