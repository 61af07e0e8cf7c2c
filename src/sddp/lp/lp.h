/* SPDX-License-Identifier: Apache-2.0 */
/* lp.h: the seam to the LP solvers. Minimise cost x, row_lower <= A x <= row_upper, column_lower <= x <= column_upper.
 *
 * An LP is a fixed model and, below its rows, extra rows (cuts) that come and go. Bits are
 * repeatable: after cb_lp_start the results depend only on the model, the changes since, the extra rows and the given
 * basis, never on earlier solves. Between two starts the solver keeps its factorisation and goes on from its last basis,
 * so that warm solves are fast.
 *
 * A solver is a plugin, libcobre-lp-NAME.so: a shared object that exports one symbol, cobre_lp_plugin, and imports nothing
 * from cobre. It includes this file and nothing else of cobre; code that the solvers share is inline here.
 *
 * Infinite bounds are +-INFINITY. */
#ifndef COBRE_SDDP_LP_LP_H
#define COBRE_SDDP_LP_LP_H

#include "cobre/comm.h"

typedef struct cb_lp cb_lp;

/* By column; indices from 0, ascending within a column. */
typedef struct {
    int columns, rows;
    double *cost, *column_lower, *column_upper, *row_lower, *row_upper;
    int *start, *index; /* column j: index[start[j] .. start[j + 1]) */
    double *value;
} cb_lp_model;

/* An extra row: value x >= lower. */
typedef struct {
    int count;
    const int *index;
    const double *value;
    double lower;
} cb_lp_row;

/* The basis status of a column or row. A nonbasic free one is AT_LOWER. */
typedef enum { CB_BASIC, CB_AT_LOWER, CB_AT_UPPER } cb_lp_stand;

/* GAVE_UP: the solver itself failed, for example without memory. Its objects can then only be destroyed. */
typedef enum { CB_LP_OPTIMAL, CB_LP_INFEASIBLE, CB_LP_UNBOUNDED, CB_LP_STUCK, CB_LP_GAVE_UP } cb_lp_outcome;

/* The retry ladder. A solve that does not end optimal is tried again one step up. What each effort must do:
 *
 *   effort  starts from        method   model      pivots                 iterations
 *   0       the last basis     dual     as it is   CB_LP_PIVOT            cb_lp_limit
 *   1       the last basis     dual     as it is   CB_LP_PIVOT_TIGHT      cb_lp_limit
 *   2       the slack basis    dual     scaled     CB_LP_PIVOT_TIGHT      8 times that
 *   3       the slack basis    primal   as it is   CB_LP_PIVOT_TIGHT      8 times that
 *   POLISH  the last basis     primal   as it is   CB_LP_PIVOT_TIGHT      cb_lp_limit
 *
 * Effort 0 goes on with the factorisation where the matrix is the same, the others factorise anew. The last one does
 * not scale, because scaling can make a badly conditioned LP look infeasible. After any effort the model is unscaled
 * again, pivots are CB_LP_PIVOT, and the next solve may be of any effort. */
enum { CB_LP_EFFORTS = 4, CB_LP_POLISH = 4 }; /* POLISH is no step of the ladder: stage/polish.c asks for it */

#define CB_LP_PRIMAL_TOLERANCE 1e-8 /* of bounds and rows */
#define CB_LP_DUAL_TOLERANCE 1e-9   /* of reduced costs */
#define CB_LP_PIVOT 0.1             /* the smallest pivot, relative to the largest entry of its column */
#define CB_LP_PIVOT_TIGHT 0.5

/* Solvers can cycle for ever on degenerate LPs (seen: GLPK's dual simplex, once in 440,000 warm solves of 157 columns).
 * A limit on iterations, unlike one on time, gives the same bits on every machine; a solve that reaches it climbs the
 * ladder. */
static inline int cb_lp_limit(int columns, int rows, int effort) {
    int limit = 100 + rows + columns / 8;
    return effort == 2 || effort == 3 ? 8 * limit : limit;
}

/* A plugin of another build may have other structs. */
#define CB_LP_TEXT_(number) #number
#define CB_LP_ABI_(major, minor, patch) CB_LP_TEXT_(major) "." CB_LP_TEXT_(minor) "." CB_LP_TEXT_(patch) "/lp3"
#define CB_LP_ABI CB_LP_ABI_(COBRE_VERSION_MAJOR, COBRE_VERSION_MINOR, COBRE_VERSION_PATCH)

enum { CB_LP_NAME = 16, CB_LP_VERSION = 32 }; /* bytes for a solver's name and version, as policy files have them */

/* One solver. Extra rows follow the model's in every array: basis[columns + rows + extra]. */
typedef struct {
    const char *abi;              /* CB_LP_ABI */
    const char *name;             /* that of the file */
    const char *license;          /* of the plugin with the solver it is linked with, as an SPDX expression */
    const char *(*version)(void); /* of the solver's library, as it is at run time */
    int from_rows; /* the preferred solver has the largest value that the model's rows reach; INT_MAX: the last choice */
    cb_lp *(*create)(const cb_lp_model *model); /* NULL: out of memory */
    void (*destroy)(cb_lp *lp);
    void (*set_column)(cb_lp *lp, int column, double lower, double upper);
    void (*set_row)(cb_lp *lp, int row, double lower, double upper); /* also of an extra row, until the next start */
    void (*set_cost)(cb_lp *lp, int column, double cost);
    void (*set_entry)(cb_lp *lp, int row, int column, double value); /* of an entry that the model has */
    void (*add_row)(cb_lp *lp, const cb_lp_row *row);                /* it starts basic */
    void (*start)(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis); /* NULL: the slack basis */
    cb_lp_outcome (*solve)(cb_lp *lp, int effort);
    /* Frees memory that the next start allocates again; until then the LP may only be changed. NULL: nothing to free. */
    void (*rest)(cb_lp *lp);
    const char *(*trouble)(void); /* why it gave up, in the solver's words */
    double (*objective)(const cb_lp *lp);
    double (*column_value)(const cb_lp *lp, int column);
    double (*row_dual)(const cb_lp *lp, int row);
    void (*basis)(const cb_lp *lp, unsigned char *basis);
    unsigned char (*extra_stand)(const cb_lp *lp, int extra); /* of one extra row: a cb_lp_stand */
    /* In CPLEX LP format, the model's columns and rows under these names (NULL: any); 0 is success. */
    int (*write)(cb_lp *lp, const char *path, const char *const *column_names, const char *const *row_names);
} cb_lp_solver;

#ifdef __cplusplus
extern "C" {
#endif
COBRE_API extern const cb_lp_solver cobre_lp_plugin; /* in each plugin */
#ifdef __cplusplus
}
#endif

#endif
