/* SPDX-License-Identifier: Apache-2.0 */
/* glpk.c: GLPK behind lp.h. Its rows and columns count from 1.
 *
 * A start removes the extra rows, adds the new ones in the order given and sets the basis. The first solve after it comes
 * when the noise is set. It sorts the matrix if an entry was changed, and factorises the basis. From there on a used object
 * and a fresh one give the same bits.
 *
 * GLPK ends the program when it has no memory or one of its assertions fails. Here it jumps back instead. All GLPK objects
 * of this thread are then gone, and calls on them do nothing; new objects work as before. */
#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sddp/lp/lp.h"

struct cb_lp {
    glp_prob *prob;
    unsigned long generation; /* of GLPK's environment that it lives in */
    glp_smcp simplex;
    int columns, rows, extra;
    bool entries_changed;
    bool fresh;  /* started, not yet solved */
    bool hollow; /* an entry of a basic column became 0: the column may be empty now */
    int *index;  /* scratch for one row */
    double *value;
};

static _Thread_local unsigned long generation; /* how often GLPK failed on this thread */
static _Thread_local char last_words[256];
static _Thread_local bool speaking; /* last_words are of the attempt under way */
static _Thread_local jmp_buf way_back;

/* GLPK prints only when it fails, and this is called for each piece of it. */
static int keep_words(void *unused, const char *text) {
    (void)unused;
    if (!speaking)
        last_words[0] = 0;
    speaking = true;
    size_t length = strlen(last_words);
    snprintf(last_words + length, sizeof last_words - length, "%s%s", length ? " " : "", text);
    last_words[strcspn(last_words, "\n")] = 0;
    return 1;
}

static void jump(void *unused) {
    (void)unused;
    longjmp(way_back, 1);
}

static bool alive(const cb_lp *lp) {
    return lp->generation == generation;
}

/* Does work(arg) on lp where GLPK may fail. False: lp is gone. */
static bool attempt(const cb_lp *lp, void work(void *), void *arg) {
    if (!alive(lp))
        return false;
    speaking = false;
    glp_term_hook(keep_words, NULL);
    glp_error_hook(jump, NULL);
    if (setjmp(way_back) == 0) {
        work(arg);
        glp_term_hook(NULL, NULL);
        glp_error_hook(NULL, NULL);
        return true;
    }
    generation++;
    glp_free_env();
    return false;
}

static const char *trouble(void) {
    return last_words;
}

static int bound_type(double lower, double upper) {
    if (lower == upper)
        return GLP_FX;
    if (isinf(lower))
        return isinf(upper) ? GLP_FR : GLP_UP;
    return isinf(upper) ? GLP_LO : GLP_DB;
}

static void set_column(cb_lp *lp, int column, double lower, double upper) {
    if (alive(lp))
        glp_set_col_bnds(lp->prob, column + 1, bound_type(lower, upper), lower, upper);
}

static void set_row(cb_lp *lp, int row, double lower, double upper) {
    if (alive(lp))
        glp_set_row_bnds(lp->prob, row + 1, bound_type(lower, upper), lower, upper);
}

static void set_cost(cb_lp *lp, int column, double cost) {
    if (alive(lp))
        glp_set_obj_coef(lp->prob, column + 1, cost);
}

typedef struct {
    cb_lp *lp;
    int row, column;
    double value;
} entry;

/* GLPK drops zeros, so that the entry may have to come back. */
static void put_entry(void *arg) {
    const entry *e = arg;
    cb_lp *lp = e->lp;
    int count = glp_get_mat_row(lp->prob, e->row + 1, lp->index, lp->value), at = 1;
    while (at <= count && lp->index[at] != e->column + 1)
        at++;
    if (at > count)
        count = at;
    lp->index[at] = e->column + 1;
    lp->value[at] = e->value;
    glp_set_mat_row(lp->prob, e->row + 1, count, lp->index, lp->value);
    lp->entries_changed = true;
    lp->hollow |= e->value == 0 && glp_get_col_stat(lp->prob, e->column + 1) == GLP_BS;
}

static void set_entry(cb_lp *lp, int row, int column, double value) {
    entry e = {lp, row, column, value};
    attempt(lp, put_entry, &e);
}

static void destroy(cb_lp *lp) {
    if (!lp)
        return;
    if (lp->prob && alive(lp))
        glp_delete_prob(lp->prob);
    free(lp->index);
    free(lp->value);
    free(lp);
}

typedef struct {
    cb_lp *lp;
    const cb_lp_model *model;
} loading;

static void load(void *arg) {
    cb_lp *lp = ((loading *)arg)->lp;
    const cb_lp_model *model = ((loading *)arg)->model;
    lp->prob = glp_create_prob();
    glp_init_smcp(&lp->simplex);
    lp->simplex.msg_lev = GLP_MSG_OFF;
    lp->simplex.tol_bnd = CB_LP_PRIMAL_TOLERANCE;
    lp->simplex.tol_dj = CB_LP_DUAL_TOLERANCE;
    glp_set_obj_dir(lp->prob, GLP_MIN);
    if (model->columns > 0)
        glp_add_cols(lp->prob, model->columns);
    if (model->rows > 0)
        glp_add_rows(lp->prob, model->rows);
    for (int i = 0; i < model->rows; i++)
        set_row(lp, i, model->row_lower[i], model->row_upper[i]);
    for (int j = 0; j < model->columns; j++) {
        set_column(lp, j, model->column_lower[j], model->column_upper[j]);
        set_cost(lp, j, model->cost[j]);
        int count = 0;
        for (int e = model->start[j]; e < model->start[j + 1]; e++) {
            lp->index[++count] = model->index[e] + 1;
            lp->value[count] = model->value[e];
        }
        glp_set_mat_col(lp->prob, j + 1, count, lp->index, lp->value);
    }
    glp_sort_matrix(lp->prob);
}

static cb_lp *create(const cb_lp_model *model) {
    cb_lp *lp = calloc(1, sizeof *lp);
    if (!lp)
        return NULL;
    size_t room = (size_t)(model->columns > model->rows ? model->columns : model->rows) + 2;
    lp->generation = generation;
    lp->columns = model->columns;
    lp->rows = model->rows;
    lp->index = malloc(room * sizeof *lp->index);
    lp->value = malloc(room * sizeof *lp->value);
    bool ready = glp_init_env() <= 1; /* done, or done before; GLPK itself aborts when it cannot */
    if (lp->index && lp->value && ready && attempt(lp, load, &(loading){lp, model}))
        return lp;
    destroy(lp);
    return NULL;
}

typedef struct {
    cb_lp *lp;
    const cb_lp_row *row;
    int count;
    const unsigned char *basis;
} beginning;

static void put_rows(void *arg) {
    const beginning *b = arg;
    cb_lp *lp = b->lp;
    for (int i = 0; i < b->count; i++) {
        const cb_lp_row *row = &b->row[i];
        int at = glp_add_rows(lp->prob, 1);
        for (int e = 0; e < row->count; e++) {
            lp->index[e + 1] = row->index[e] + 1;
            lp->value[e + 1] = row->value[e];
        }
        glp_set_mat_row(lp->prob, at, row->count, lp->index, lp->value);
        glp_set_row_bnds(lp->prob, at, GLP_LO, row->lower, 0);
        lp->extra++;
    }
}

static void add_row(cb_lp *lp, const cb_lp_row *row) {
    attempt(lp, put_rows, &(beginning){.lp = lp, .row = row, .count = 1});
}

/* With GLPK's own memory: when there is none it fails as everywhere else. */
static void remove_extra_rows(cb_lp *lp) {
    if (lp->extra == 0)
        return;
    int *gone = glp_alloc(lp->extra + 1, sizeof *gone);
    for (int i = 1; i <= lp->extra; i++)
        gone[i] = lp->rows + i;
    glp_del_rows(lp->prob, lp->extra, gone);
    glp_free(gone);
    lp->extra = 0;
}

static int stand_of(unsigned char stand) {
    return stand == CB_BASIC ? GLP_BS : stand == CB_AT_UPPER ? GLP_NU : GLP_NL;
}

static void begin(void *arg) {
    const beginning *b = arg;
    cb_lp *lp = b->lp;
    remove_extra_rows(lp);
    put_rows(arg);
    if (b->basis) {
        for (int j = 0; j < lp->columns; j++)
            glp_set_col_stat(lp->prob, j + 1, stand_of(b->basis[j]));
        for (int i = 0; i < lp->rows + lp->extra; i++)
            glp_set_row_stat(lp->prob, i + 1, stand_of(b->basis[lp->columns + i]));
    } else {
        glp_std_basis(lp->prob);
    }
    lp->fresh = true;
    lp->hollow = false;
}

static void start(cb_lp *lp, const cb_lp_row *rows, int count, const unsigned char *basis) {
    attempt(lp, begin, &(beginning){lp, rows, count, basis});
}

/* A basis with an empty column is not even tried: there GLPK (5.0) runs into an assertion instead of saying so. */
static void factorise(cb_lp *lp) {
    if (lp->fresh && lp->entries_changed) {
        glp_sort_matrix(lp->prob);
        lp->entries_changed = false;
    }
    if (lp->hollow)
        glp_std_basis(lp->prob);
    if ((lp->fresh || lp->hollow) && glp_factorize(lp->prob) != 0) {
        glp_std_basis(lp->prob);
        glp_factorize(lp->prob);
    }
    lp->fresh = lp->hollow = false;
}

static cb_lp_outcome run(cb_lp *lp, int method) {
    lp->simplex.meth = method;
    int code = glp_simplex(lp->prob, &lp->simplex);
    int status = glp_get_status(lp->prob);
    if (code == 0 && status == GLP_OPT)
        return CB_LP_OPTIMAL;
    if (code == GLP_EBOUND || (code == 0 && status == GLP_NOFEAS)) /* EBOUND: noise has turned bounds around */
        return CB_LP_INFEASIBLE;
    if (code == 0 && (status == GLP_UNBND || glp_get_dual_stat(lp->prob) == GLP_NOFEAS))
        return CB_LP_UNBOUNDED;
    return CB_LP_STUCK;
}

static void pivot_tolerance(cb_lp *lp, double tolerance) {
    glp_bfcp factor;
    glp_get_bfcp(lp->prob, &factor);
    factor.piv_tol = tolerance;
    glp_set_bfcp(lp->prob, &factor);
}

static cb_lp_outcome solve_with(cb_lp *lp, int effort) {
    lp->simplex.it_lim = cb_lp_limit(lp->columns, lp->rows + lp->extra, effort);
    factorise(lp);
    if (effort == 0)
        return run(lp, GLP_DUAL);
    cb_lp_outcome outcome;
    pivot_tolerance(lp, CB_LP_PIVOT_TIGHT);
    if (effort == 1 || effort == CB_LP_POLISH) {
        glp_factorize(lp->prob);
        outcome = run(lp, effort == 1 ? GLP_DUAL : GLP_PRIMAL);
    } else {
        if (effort == 2)
            glp_scale_prob(lp->prob, GLP_SF_AUTO);
        glp_std_basis(lp->prob);
        outcome = run(lp, effort == 2 ? GLP_DUALP : GLP_PRIMAL);
        glp_unscale_prob(lp->prob);
    }
    pivot_tolerance(lp, CB_LP_PIVOT);
    return outcome;
}

typedef struct {
    cb_lp *lp;
    int effort;
    cb_lp_outcome outcome;
} solving;

static void do_solve(void *arg) {
    solving *s = arg;
    s->outcome = solve_with(s->lp, s->effort);
}

static cb_lp_outcome solve(cb_lp *lp, int effort) {
    solving s = {.lp = lp, .effort = effort};
    return attempt(lp, do_solve, &s) ? s.outcome : CB_LP_GAVE_UP;
}

static double objective(const cb_lp *lp) {
    return glp_get_obj_val(lp->prob);
}

static double column_value(const cb_lp *lp, int column) {
    return glp_get_col_prim(lp->prob, column + 1);
}

static double row_dual(const cb_lp *lp, int row) {
    return glp_get_row_dual(lp->prob, row + 1);
}

static unsigned char stand_from(int status) {
    return status == GLP_BS ? CB_BASIC : status == GLP_NU ? CB_AT_UPPER : CB_AT_LOWER;
}

static void get_basis(const cb_lp *lp, unsigned char *basis) {
    for (int j = 0; j < lp->columns; j++)
        basis[j] = stand_from(glp_get_col_stat(lp->prob, j + 1));
    for (int i = 0; i < lp->rows + lp->extra; i++)
        basis[lp->columns + i] = stand_from(glp_get_row_stat(lp->prob, i + 1));
}

static unsigned char extra_stand(const cb_lp *lp, int extra) {
    return stand_from(glp_get_row_stat(lp->prob, lp->rows + extra + 1));
}

/* GLPK aborts on names that it does not take; without one it makes one up. */
static const char *good_name(const char *name) {
    size_t length = name ? strlen(name) : 0;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 32 || name[i] == 127)
            return NULL;
    return length <= 255 ? name : NULL;
}

typedef struct {
    cb_lp *lp;
    const char *path;
    const char *const *column_names, *const *row_names;
    int failed;
} writing;

static void do_write(void *arg) {
    writing *w = arg;
    for (int j = 0; j < w->lp->columns; j++)
        glp_set_col_name(w->lp->prob, j + 1, good_name(w->column_names[j]));
    for (int i = 0; i < w->lp->rows; i++)
        glp_set_row_name(w->lp->prob, i + 1, good_name(w->row_names[i]));
    w->failed = glp_write_lp(w->lp->prob, NULL, w->path);
}

static int write_file(cb_lp *lp, const char *path, const char *const *column_names, const char *const *row_names) {
    writing w = {lp, path, column_names, row_names, 1};
    return attempt(lp, do_write, &w) ? w.failed : 1;
}

const cb_lp_solver cobre_lp_plugin = {
    .abi = CB_LP_ABI,
    .name = "glpk",
    .license = "GPL-3.0-or-later",
    .version = glp_version,
    .from_rows = 0,
    .create = create,
    .destroy = destroy,
    .set_column = set_column,
    .set_row = set_row,
    .set_cost = set_cost,
    .set_entry = set_entry,
    .add_row = add_row,
    .start = start,
    .solve = solve,
    .trouble = trouble,
    .objective = objective,
    .column_value = column_value,
    .row_dual = row_dual,
    .basis = get_basis,
    .extra_stand = extra_stand,
    .write = write_file,
};
