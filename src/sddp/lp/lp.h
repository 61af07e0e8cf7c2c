/* lp.h: the seam to the LP solvers. Minimise cost x, row_lower <= A x <= row_upper, column_lower <= x <= column_upper.
 *
 * An LP is a fixed model and, below its rows, extra rows (cuts) that come and go. What makes bits repeatable: after
 * cb_lp_start the object's future depends only on the model, the changes since, the extra rows and the basis that it was
 * given: never on what it solved before. Between two starts the solver keeps its factorisation and goes on from its last
 * basis, which is what makes warm solves fast.
 *
 * Infinite bounds are +-INFINITY. */
#ifndef COBRE_SDDP_LP_LP_H
#define COBRE_SDDP_LP_LP_H

#include <stddef.h>

#include "sddp/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cb_lp cb_lp;

/* By column; indices from 0, ascending within a column. */
typedef struct {
    int columns, rows;
    const double *cost, *column_lower, *column_upper, *row_lower, *row_upper;
    const int *start, *index; /* column j: index[start[j] .. start[j + 1]) */
    const double *value;
} cb_lp_model;

/* An extra row: value x >= lower. */
typedef struct {
    int count;
    const int *index;
    const double *value;
    double lower;
} cb_lp_row;

/* Where a column or row stands. A free one that is not basic is AT_LOWER. */
typedef enum { CB_BASIC, CB_AT_LOWER, CB_AT_UPPER } cb_lp_stand;

/* GAVE_UP: the solver failed inside, for want of memory for instance. Its objects can then only be destroyed. */
typedef enum { CB_LP_OPTIMAL, CB_LP_INFEASIBLE, CB_LP_UNBOUNDED, CB_LP_STUCK, CB_LP_GAVE_UP } cb_lp_outcome;

/* The retry ladder. A solve that does not end optimal is tried again one step up, and the result is believed only when
 * the last step agrees:
 *   0  dual simplex from the current basis and factorisation
 *   1  the same basis, factorised anew, tighter pivots
 *   2  from the slack basis, dual simplex, the model scaled
 *   3  from the slack basis, primal simplex, the model as it is: scaling can make a badly conditioned LP look infeasible */
enum { CB_LP_EFFORTS = 4 };

/* One solver. Extra rows follow the model's in every array: basis[columns + rows + extra]. */
typedef struct {
    const char *name;
    cb_lp *(*create)(const cb_lp_model *model); /* NULL: out of memory */
    void (*destroy)(cb_lp *lp);
    void (*set_column)(cb_lp *lp, int column, double lower, double upper);
    void (*set_row)(cb_lp *lp, int row, double lower, double upper);
    void (*set_cost)(cb_lp *lp, int column, double cost);
    void (*set_entry)(cb_lp *lp, int row, int column, double value); /* of an entry that the model has */
    void (*add_row)(cb_lp *lp, const cb_lp_row *row);                /* it starts basic */
    void (*start)(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis); /* NULL: the slack basis */
    cb_lp_outcome (*solve)(cb_lp *lp, int effort);
    const char *(*trouble)(void); /* why it gave up, in its own words */
    double (*objective)(const cb_lp *lp);
    double (*column_value)(const cb_lp *lp, int column);
    double (*column_dual)(const cb_lp *lp, int column);
    double (*row_dual)(const cb_lp *lp, int row);
    void (*basis)(const cb_lp *lp, unsigned char *basis);
    unsigned char (*extra_stand)(const cb_lp *lp, int extra); /* of one extra row: a cb_lp_stand */
    /* In CPLEX LP format, the model's columns and rows under these names (NULL: any); 0 is success. */
    int (*write)(cb_lp *lp, const char *path, const char *const *column_names, const char *const *row_names);
} cb_lp_solver;

/* NULL: no such name in this build. Index: in order of preference, NULL past the end. */
const cb_lp_solver *cb_lp_solver_by_name(const char *name);
const cb_lp_solver *cb_lp_solver_at(size_t index);

/* The solver asked for, or the one that is fastest for a model of this size (name NULL). */
cobre_status cb_lp_choose(const char *name, int rows, const cb_lp_solver **solver);

/* Climbs the ladder. */
cb_lp_outcome cb_lp_solve(const cb_lp_solver *solver, cb_lp *lp);

const char *cb_lp_outcome_name(cb_lp_outcome outcome);

#ifdef __cplusplus
}
#endif

#endif
