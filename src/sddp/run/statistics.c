/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.c: mean, deviation and percentiles of each figure at each step, over all trajectories.
 *
 * Step by step, and for as many figures at once as fit into a region, the ranks gather the values of all trajectories. Each
 * rank then sorts and sums those of its share of the figures. Sorted values are summed in their order, so that the result
 * does not depend on who computed which trajectory. Step 0 is about the whole of each trajectory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sddp/error.h"
#include "sddp/run/numbers.h"
#include "sddp/run/sampling.h"
#include "sddp/run/spool.h"
#include "sddp/run/table.h"

#define ACCURACY 1e-6             /* what an LP solver may leave of a number that should be 0 */
#define REGION ((size_t)64 << 20) /* most bytes of values at once */

typedef struct {
    double count, mean, deviation, minimum, percentile[5], maximum, positive;
} statistics;
enum { NUMBERS = sizeof(statistics) / sizeof(double) };

typedef struct {
    struct cb_spool *spool;
    size_t steps, figures, width; /* width: figures at once */
    size_t ranks, rank;
    size_t *count, *place;
    double *mine; /* this rank's values of a step, and one figure's of all trajectories */
    double *column;
    statistics *own;  /* of this rank's share */
    statistics *all;  /* on rank 0: of each figure at each step */
    statistics *some; /* of `width` figures */
    cobre_region *region;
} work;

/* Changes the order of the values. */
static statistics sum_up(double *values, size_t count) {
    static const double share[5] = {0.05, 0.25, 0.5, 0.75, 0.95};
    statistics its = {.count = (double)count};
    bool equal = true;
    for (size_t i = 1; i < count; i++)
        equal &= values[i] == values[0];
    if (count == 0)
        return its;
    if (!equal)
        cb_sort(values, count);
    double squares = 0, sum = 0, positive = 0;
    double nothing = ACCURACY * fmax(1, fmax(fabs(values[0]), fabs(values[count - 1])));
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        positive += values[i] > nothing;
    }
    its.mean = equal ? values[0] : sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - its.mean) * (values[i] - its.mean);
    its.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    its.positive = positive / (double)count;
    its.minimum = values[0];
    its.maximum = values[count - 1];
    for (size_t i = 0; i < 5; i++)
        its.percentile[i] = cb_percentile(values, count, share[i]);
    return its;
}

/* This rank's values of a step: `width` figures from `first` on, trajectory by trajectory. */
static cobre_status read_own(work *w, size_t step, size_t first, size_t width) {
    const struct cb_spool *spool = w->spool;
    int file = fileno(spool->file[CB_STREAM_FIGURES]);
    off_t at = 0;
    double *to = w->mine;
    for (size_t i = 0; i < spool->count; i++) {
        const struct cb_piece *piece = &spool->pieces[i];
        if (piece->rank != w->rank)
            continue;
        off_t place = at + (off_t)((step * w->figures + first) * sizeof(double));
        if (piece->steps >= step) {
            size_t bytes = width * sizeof(double);
            if (pread(file, to, bytes, place) != (ssize_t)bytes)
                return cb_fail(COBRE_FILE_FAILED, NULL, "the tables cannot be read back from " P_tmpdir);
            to += width;
        }
        at += (off_t)piece->length[CB_STREAM_FIGURES];
    }
    return COBRE_OK;
}

/* How many values each rank has at a step, and where they come. Returns how many trajectories there are. */
static size_t lay_out(work *w, size_t step, size_t width) {
    const struct cb_spool *spool = w->spool;
    size_t rows = 0;
    memset(w->count, 0, w->ranks * sizeof *w->count);
    for (size_t i = 0; i < spool->count; i++)
        if (spool->pieces[i].steps >= step)
            w->count[spool->pieces[i].rank]++;
    for (size_t r = 0; r < w->ranks; r++) {
        w->place[r] = rows * width;
        rows += w->count[r];
        w->count[r] *= width;
    }
    return rows;
}

static void share_of(const work *w, size_t rank, size_t width, size_t *first, size_t *last) {
    *first = width * rank / w->ranks;
    *last = width * (rank + 1) / w->ranks;
}

static void sum_up_share(work *w, const double *values, size_t rows, size_t width) {
    size_t first, last;
    share_of(w, w->rank, width, &first, &last);
    for (size_t f = first; f < last; f++) {
        size_t count = 0;
        for (size_t i = 0; i < rows; i++)
            if (!isnan(values[i * width + f]))
                w->column[count++] = values[i * width + f];
        w->own[f - first] = sum_up(w->column, count);
    }
}

/* Every rank's share goes to all, in the order of figures. */
static cobre_status join(work *w, size_t width) {
    for (size_t r = 0; r < w->ranks; r++) {
        size_t first, last;
        share_of(w, r, width, &first, &last);
        w->count[r] = (last - first) * NUMBERS;
        w->place[r] = first * NUMBERS;
    }
    return cobre_allgatherv(w->spool->comm, w->own, w->count[w->rank], w->some, width * NUMBERS, w->count, w->place,
                            COBRE_F64);
}

static cobre_status sum_up_step(work *w, size_t step, size_t first, size_t width) {
    size_t rows = lay_out(w, step, width);
    CB_TRY(cb_agree(w->spool->comm, read_own(w, step, first, width)));
    const double *values = w->mine;
    if (w->ranks > 1) {
        CB_TRY(cobre_allgatherv_region(w->spool->comm, w->mine, w->count[w->rank], w->region, w->count, w->place));
        values = cobre_region_data(w->region);
    }
    sum_up_share(w, values, rows, width);
    CB_TRY(join(w, width));
    if (w->all)
        memcpy(&w->all[step * w->figures + first], w->some, width * sizeof *w->some);
    return COBRE_OK;
}

static cobre_status allocate(work *w) {
    size_t rows = w->spool->count + 1, own = 1;
    for (size_t i = 0; i < w->spool->count; i++)
        own += w->spool->pieces[i].rank == w->rank;
    w->count = calloc(w->ranks, sizeof *w->count);
    w->place = calloc(w->ranks, sizeof *w->place);
    w->mine = malloc(own * w->width * sizeof *w->mine);
    w->column = malloc(rows * sizeof *w->column);
    w->own = malloc((w->width + 1) * sizeof *w->own);
    w->some = malloc((w->width + 1) * sizeof *w->some);
    w->all = w->rank == 0 ? calloc((w->steps + 1) * w->figures, sizeof *w->all) : NULL;
    bool room = w->count && w->place && w->mine && w->column && w->own && w->some && (w->all || w->rank > 0);
    return room ? COBRE_OK : cb_no_memory("statistics", rows * w->width * sizeof *w->mine);
}

static void release(work *w) {
    cobre_region_free(&w->region);
    free(w->count);
    free(w->place);
    free(w->mine);
    free(w->column);
    free(w->own);
    free(w->some);
    free(w->all);
}

static cobre_status compute(work *w) {
    CB_TRY(cb_agree(w->spool->comm, allocate(w)));
    if (w->ranks > 1)
        CB_TRY(cobre_region_create(w->spool->comm, w->spool->count * w->width, COBRE_F64, 0, &w->region));
    for (size_t step = 0; step <= w->steps; step++)
        for (size_t first = 0; first < w->figures; first += w->width) {
            size_t left = w->figures - first;
            CB_TRY(sum_up_step(w, step, first, left < w->width ? left : w->width));
        }
    return COBRE_OK;
}

static void write_number(FILE *to, double value) {
    char text[32];
    *cb_number_put(text, value + 0.0) = '\0';
    fprintf(to, ",%s", text);
}

static void write_row(const work *w, FILE *to, size_t f, size_t step) {
    const cobre_sddp_problem *problem = w->spool->problem;
    size_t node = w->spool->node_at[step];
    const cb_figure *figure = &w->spool->outputs.figure[f];
    const statistics *its = &w->all[step * w->figures + f];
    if (its->count == 0)
        return;
    fprintf(to, "%s,", cb_table_name[figure->table]);
    cb_field_write(to, figure->kind);
    fprintf(to, ",%s,", figure->level);
    cb_field_write(to, figure->element);
    putc(',', to);
    cb_field_write(to, figure->unit);
    if (step == 0)
        fputs(",,,", to);
    else if (node == CB_NONE)
        fprintf(to, ",%zu,,", step);
    else
        fprintf(to, ",%zu,%zu,%s", step, problem->node[node].stage, problem->node[node].date);
    fprintf(to, ",%.0f", its->count);
    write_number(to, its->mean);
    write_number(to, its->deviation);
    write_number(to, its->minimum);
    for (size_t i = 0; i < 5; i++)
        write_number(to, its->percentile[i]);
    write_number(to, its->maximum);
    write_number(to, its->positive);
    putc('\n', to);
}

/* Grouped by table, then kind in the order of their first figure, then level, then as they came. */
static int compare_figures(const void *a, const void *b) {
    const size_t *x = a, *y = b; /* table, kind, level, figure */
    for (size_t i = 0; i < 4; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static size_t first_of_kind(const cb_outputs *outputs, size_t f) {
    size_t first = 0;
    while (outputs->figure[first].table != outputs->figure[f].table ||
           strcmp(outputs->figure[first].kind, outputs->figure[f].kind) != 0)
        first++;
    return first;
}

/* Costs that no kind explains are worth rows only where there are any. */
static bool is_nothing(const work *w, size_t f) {
    return f == w->spool->outputs.other && w->all[f].minimum == 0 && w->all[f].maximum == 0;
}

static cobre_status write_all(const work *w, FILE *to) {
    const cb_outputs *outputs = &w->spool->outputs;
    size_t(*order)[4] = malloc((w->figures + 1) * sizeof *order);
    if (!order)
        return cb_no_memory("statistics", w->figures * sizeof *order);
    for (size_t f = 0; f < w->figures; f++) {
        const char *level = outputs->figure[f].level;
        order[f][0] = outputs->figure[f].table;
        order[f][1] = first_of_kind(outputs, f);
        order[f][2] = strcmp(level, "system") == 0 ? 0 : strcmp(level, "subsystem") == 0 ? 1 : 2;
        order[f][3] = f;
    }
    qsort(order, w->figures, sizeof *order, compare_figures);
    fputs(CB_COLUMNS_STATISTICS "\n", to);
    for (size_t i = 0; i < w->figures; i++)
        for (size_t step = 0; step <= w->steps && !is_nothing(w, order[i][3]); step++)
            write_row(w, to, order[i][3], step);
    free(order);
    return COBRE_OK;
}

cobre_status cb_spool_statistics(struct cb_spool *spool, FILE *to) {
    work w = {.spool = spool,
              .figures = spool->outputs.figures,
              .ranks = cobre_size(spool->comm),
              .rank = cobre_rank(spool->comm)};
    w.steps = spool->longest;
    w.width = REGION / sizeof(double) / (spool->count + 1);
    w.width = w.width < 1 ? 1 : w.width > w.figures ? w.figures : w.width;
    cobre_status status = compute(&w);
    if (!status)
        status = cb_agree(spool->comm, w.rank == 0 ? write_all(&w, to) : COBRE_OK);
    release(&w);
    return status;
}
