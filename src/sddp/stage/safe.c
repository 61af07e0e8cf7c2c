/* SPDX-License-Identifier: Apache-2.0 */
/* safe.c: a lower bound of a node's cost that holds however inaccurate the solver was (after Neumaier and Shcherbina,
 * 2004).
 *
 * With any duals y of the rows and u >= 0 of the cuts, and the reduced costs d = c - A'y - (cuts)'u, the cost at an
 * incoming state x is at least
 *
 *     constant + sum of y times the side of its row that its sign asks for + sum of u times intercept
 *              + sum over all other columns of d times the bound that its sign asks for + d_in x.
 *
 * Only the duals are taken from the solver. A dual that asks for an infinite side becomes 0. The duals of the cuts of
 * one future-cost column are scaled down until their sum is certainly at most that column's cost. All rounding errors
 * are bounded and subtracted.
 *
 * A bound far beyond all usual numbers counts as infinite, as long as that works: a rounding error times 1e15 would
 * spoil the proof.
 *
 * A column without any bound needs a reduced cost of exactly 0. The dual of one of its rows is taken to be the real
 * number that makes it so. That number is known up to a wobble, which goes into the errors of all other columns of that
 * row.
 *
 * A column may have no finite bound where its reduced cost asks for one, even if only by 1e-18. An anchor y0 mends
 * that: duals for which the reduced costs of such columns have the right sign and are not small. The duals become
 * (1 - t) y + t y0, with a tiny t. The anchor depends on the node alone (and on the outcome, if costs or entries are
 * random), so that bits do not depend on ranks. */
#include <math.h>
#include <stdlib.h>

#include "sddp/stage/stage.h"

struct cb_anchor {
    bool tried;
    double *dual, *reduced; /* NULL: there is none */
};

static size_t longest_column(const cb_node *node) {
    int longest = 0;
    for (size_t j = 0; j < node->columns; j++)
        longest = node->start[j + 1] - node->start[j] > longest ? node->start[j + 1] - node->start[j] : longest;
    return (size_t)longest;
}

/* Values of entries that have noise are the stage's own. */
static void take_entries(cb_stage *stage) {
    const cb_node *node = stage->node;
    stage->value = node->value;
    if (!cb_has_random_dual(node))
        return;
    stage->value = stage->own_value = cb_arena_alloc(&stage->memory, node->entries, sizeof *stage->own_value);
    for (size_t e = 0; stage->own_value && e < node->entries; e++)
        stage->own_value[e] = node->value[e];
}

bool cb_safe_create(cb_stage *stage) {
    const cb_node *node = stage->node;
    cb_arena *memory = &stage->memory;
    size_t states = stage->kind->problem->states, anchors = cb_has_random_dual(node) ? node->outcomes : 1;
    stage->low = cb_arena_alloc(memory, node->columns, sizeof *stage->low);
    stage->high = cb_arena_alloc(memory, node->columns, sizeof *stage->high);
    stage->reduced = cb_arena_alloc(memory, node->columns, sizeof *stage->reduced);
    stage->error = cb_arena_alloc(memory, node->columns, sizeof *stage->error);
    stage->open = cb_arena_alloc(memory, node->columns, sizeof *stage->open);
    stage->bad = cb_arena_alloc(memory, node->columns, sizeof *stage->bad);
    stage->wobble = cb_arena_alloc(memory, node->rows, sizeof *stage->wobble);
    stage->sharing = cb_arena_alloc(memory, node->rows, sizeof *stage->sharing);
    stage->pivot = cb_arena_alloc(memory, node->columns, sizeof *stage->pivot);
    stage->shift = cb_arena_alloc(memory, node->rows, sizeof *stage->shift);
    stage->budget = cb_arena_alloc(memory, stage->futures, sizeof *stage->budget);
    stage->slope = cb_arena_alloc(memory, states, sizeof *stage->slope);
    stage->pull = cb_arena_alloc(memory, 2 * states, sizeof *stage->pull);
    stage->anchor = cb_arena_alloc(memory, anchors, sizeof *stage->anchor);
    take_entries(stage);
    if (memory->failed)
        return false;
    stage->entry_error = cb_rounding(longest_column(node));
    for (size_t j = 0; j < node->columns; j++) {
        bool state = cb_incoming_state(node, j) != CB_NONE;
        if (stage->kind->free_state || !state) /* else it is no part of the intercept */
            cb_safe_bounds(stage, j, state ? node->range[j] : (cb_range){node->column[j].lower, node->column[j].upper});
    }
    return true;
}

void cb_safe_bounds(cb_stage *stage, size_t column, cb_range bounds) {
    cb_range known = stage->node->range[column];
    cb_range near = cb_near(known, stage->unit[column]);
    bounds = (cb_range){fmax(bounds.lower, known.lower), fmin(bounds.upper, known.upper)};
    near = (cb_range){isinf(near.lower) ? near.lower : bounds.lower, isinf(near.upper) ? near.upper : bounds.upper};
    if (isfinite(near.lower) && isfinite(near.upper)) {
        stage->low[column] = bounds.lower;
        stage->high[column] = bounds.upper;
        return;
    }
    size_t i = 0;
    while (i < stage->opens && stage->open[i].column != column)
        i++;
    stage->open[i] = (cb_open){.column = column, .range = near, .whole = bounds};
    stage->opens += i == stage->opens;
}

void cb_safe_free(cb_stage *stage) {
    free(stage->stand);
    free(stage->dual);
}

static double usable(double dual, double lower, double upper) {
    return isfinite(dual) && isfinite(dual > 0 ? lower : upper) ? dual : 0;
}

void cb_safe_tidy(cb_stage *stage) {
    for (size_t i = 0; i < stage->node->rows; i++)
        stage->dual[i] = usable(stage->dual[i], stage->row_lower[i], stage->row_upper[i]);
    for (size_t i = stage->node->rows; i < (size_t)stage->rows + stage->cuts; i++)
        stage->dual[i] = usable(stage->dual[i], 0, INFINITY);
}

static cobre_status read_duals(cb_stage *stage) {
    size_t rows = (size_t)stage->rows + stage->cuts;
    if (rows >= stage->dual_room) {
        double *dual = realloc(stage->dual, (2 * rows + 1) * sizeof *dual);
        if (!dual)
            return cb_no_memory("duals", rows * sizeof *dual);
        stage->dual = dual;
        stage->dual_room = 2 * rows + 1;
    }
    for (size_t i = 0; i < rows; i++)
        stage->dual[i] = cb_stage_dual(stage, i);
    cb_safe_tidy(stage);
    return COBRE_OK;
}

/* What is found so far. */
typedef struct {
    double value, size; /* a sum, and that of the absolute values of its terms */
    double loss;        /* what rounding may have added, but for the sum's own */
    size_t bad;         /* how many are in stage->bad */
    bool lost;          /* a slope cannot be rounded safely */
} tally;

static void add(tally *sum, double term) {
    sum->value += term;
    sum->size += fabs(term);
}

/* Duals of the rows u_k + t - d_k Q_k >= 0 (build.c): each at most what u_k costs, all together at most what t costs. An
 * optimal t is never below all d_k Q_k, so that what is left of its cost has a bound to stand on. */
static void settle_risk(cb_stage *stage, tally *sum) {
    const double *cost = stage->future_cost + stage->futures; /* of t, then of each u */
    double total = 0, least = INFINITY, error = cb_rounding(stage->futures), *dual = cb_risk_duals(stage);
    for (size_t f = 0; f < stage->futures; f++) {
        dual[f] = fmin(dual[f], cost[1 + f]);
        total += dual[f];
        least = fmin(least, stage->discount[f] * stage->future_bound[f]);
    }
    double shrink = total > (1 - error) * cost[0] ? (1 - 2 * error) * cost[0] / total : 1;
    for (size_t f = 0; f < stage->futures; f++)
        dual[f] *= shrink;
    add(sum, (cost[0] - total * shrink) * least);
    sum->loss += 2 * error * cost[0] * fabs(least);
}

/* The duals of a future-cost column's cuts are together at most what it costs: by how much they must shrink, in
 * budget[f]. */
static void settle_future(cb_stage *stage, size_t f, double total, tally *sum) {
    double error = cb_rounding(stage->cuts), cost = stage->future_cost[f];
    if (cb_stage_averse(stage))
        cost += stage->discount[f] * cb_risk_duals(stage)[f];
    stage->budget[f] = total > (1 - error) * cost ? (1 - 2 * error) * cost / total : 1;
    add(sum, (cost - total * stage->budget[f]) * stage->future_bound[f]);
    sum->loss += 2 * error * cost * fabs(stage->future_bound[f]);
}

static void add_futures(cb_stage *stage, tally *sum) {
    double *dual = cb_cut_duals(stage);
    if (stage->futures > 0 && cb_stage_averse(stage))
        settle_risk(stage, sum);
    for (size_t f = 0; f < stage->futures; f++)
        stage->budget[f] = 0;
    for (size_t i = 0; i < stage->cuts; i++)
        stage->budget[stage->resident[i].future] += dual[i];
    for (size_t f = 0; f < stage->futures; f++)
        settle_future(stage, f, stage->budget[f], sum);
    for (size_t i = 0; i < stage->cuts; i++)
        dual[i] *= stage->budget[stage->resident[i].future];
}

static void add_cuts(const cb_stage *stage, tally *sum) {
    const double *dual = cb_cut_duals(stage);
    for (size_t i = 0; i < stage->cuts; i++)
        if (dual[i] != 0)
            add(sum, dual[i] * cb_pool_cut(stage->kind->pool, stage->resident[i].id)[CB_CUT_INTERCEPT]);
}

/* How the cuts pull at the outgoing states. */
static void find_pull(cb_stage *stage) {
    size_t states = stage->kind->problem->states;
    double *pull = stage->pull, *size = stage->pull + states;
    for (size_t s = 0; s < 2 * states; s++)
        pull[s] = 0;
    for (size_t i = 0; i < stage->cuts; i++) {
        double dual = cb_cut_duals(stage)[i];
        if (dual == 0)
            continue;
        const double *record = cb_pool_cut(stage->kind->pool, stage->resident[i].id);
        for (size_t s = 0; s < states; s++) {
            double term = dual * record[CB_CUT_SLOPES + s];
            pull[s] += term;
            size[s] += fabs(term);
        }
    }
}

void cb_safe_reduce(cb_stage *stage) {
    const cb_node *node = stage->node;
    const double *dual = stage->dual, *value = stage->value;
    for (size_t j = 0; j < node->columns; j++) {
        double reduced = stage->cost[j], size = fabs(reduced);
        for (int e = node->start[j]; e < node->start[j + 1]; e++) {
            double term = value[e] * dual[node->index[e]];
            reduced -= term;
            size += fabs(term);
        }
        stage->reduced[j] = reduced;
        stage->error[j] = size * stage->entry_error;
    }
    if (stage->futures == 0)
        return;
    find_pull(stage);
    size_t states = stage->kind->problem->states;
    double error = cb_rounding(stage->cuts) + stage->entry_error;
    for (size_t s = 0; s < states; s++) {
        stage->reduced[node->state_out[s]] += stage->pull[s];
        stage->error[node->state_out[s]] += error * stage->pull[states + s];
    }
}

/* As far as it is used now. */
static cb_range range_of(const cb_stage *stage, const cb_open *open) {
    return stage->far ? open->whole : open->range;
}

static bool is_free(cb_range range) {
    return isinf(range.lower) && isinf(range.upper);
}

/* May the dual of this row be another one than it is, by a little? */
static bool may_wobble(const cb_stage *stage, size_t row) {
    return stage->row_lower[row] == stage->row_upper[row] || stage->dual[row] != 0;
}

static void share_rows(cb_stage *stage, size_t column, int more) {
    const cb_node *node = stage->node;
    for (int e = node->start[column]; e < node->start[column + 1]; e++)
        stage->sharing[node->index[e]] += more;
}

/* The largest entry in a row that no other free column shares; CB_NONE: there is none. */
static size_t find_pivot(const cb_stage *stage, size_t column) {
    const cb_node *node = stage->node;
    size_t best = CB_NONE;
    for (int e = node->start[column]; e < node->start[column + 1]; e++) {
        size_t row = (size_t)node->index[e];
        if (stage->sharing[row] == 1 && may_wobble(stage, row) && stage->value[e] != 0 &&
            (best == CB_NONE || fabs(stage->value[e]) > fabs(stage->value[best])))
            best = (size_t)e;
    }
    return best;
}

static void await_pivots(cb_stage *stage) {
    for (size_t i = 0; i < stage->opens; i++) {
        stage->open[i].waits = is_free(range_of(stage, &stage->open[i]));
        if (stage->open[i].waits)
            share_rows(stage, stage->open[i].column, 1);
    }
}

/* Pivots of free columns, in such an order that the row of a pivot has no column of those after it; their number. */
static size_t find_pivots(cb_stage *stage) {
    size_t found = 0, before;
    await_pivots(stage);
    do {
        before = found;
        for (size_t i = 0; i < stage->opens; i++) {
            cb_open *open = &stage->open[i];
            size_t entry = open->waits ? find_pivot(stage, open->column) : CB_NONE;
            if (entry == CB_NONE)
                continue;
            stage->pivot[found++] = (cb_pivot){.column = open->column, .entry = entry};
            share_rows(stage, open->column, -1);
            open->waits = false;
        }
    } while (found > before);
    for (size_t i = 0; i < stage->opens; i++)
        if (stage->open[i].waits)
            share_rows(stage, stage->open[i].column, -1);
    return found;
}

static void add_wobble(cb_stage *stage, size_t column) {
    const cb_node *node = stage->node;
    double more = 0;
    for (int e = node->start[column]; e < node->start[column + 1]; e++)
        more += fabs(stage->value[e]) * stage->wobble[node->index[e]];
    stage->error[column] += 1.001 * more;
}

/* Lets the dual of a pivot's row be what makes the reduced cost 0. */
static void use_pivot(cb_stage *stage, cb_pivot *pivot, tally *sum) {
    size_t column = pivot->column, row = (size_t)stage->node->index[pivot->entry];
    double dual = stage->dual[row], lower = stage->row_lower[row], upper = stage->row_upper[row];
    add_wobble(stage, column);
    double wobble = 1.001 * (fabs(stage->reduced[column]) + stage->error[column]) / fabs(stage->value[pivot->entry]);
    pivot->used = lower == upper || wobble < fabs(dual); /* else it is not certain which side it asks for */
    if (pivot->used) {
        stage->wobble[row] = wobble;
        sum->loss += wobble * fabs(dual > 0 ? lower : upper);
    }
}

/* Reduced costs of free columns become 0, those of all others less certain. The last pivot comes first: those after it
 * change nothing in its column. */
static void settle_free(cb_stage *stage, tally *sum) {
    const cb_node *node = stage->node;
    size_t count = find_pivots(stage);
    for (size_t i = count; i-- > 0;)
        use_pivot(stage, &stage->pivot[i], sum);
    for (size_t j = 0; j < node->columns && count > 0; j++)
        add_wobble(stage, j);
    for (size_t i = 0; i < count; i++) {
        stage->wobble[node->index[stage->pivot[i].entry]] = 0;
        if (stage->pivot[i].used)
            stage->reduced[stage->pivot[i].column] = stage->error[stage->pivot[i].column] = 0;
    }
}

enum { LANES = 4 }; /* sums that do not wait for each other; their number fixes the bits */

static inline double smaller(double a, double b) {
    return a < b ? a : b;
}

/* The least that a column can add: reduced cost and value lie in intervals, and a product is least at their ends. */
static inline double least_of(const cb_stage *stage, size_t j) {
    double down = stage->reduced[j] - stage->error[j], up = stage->reduced[j] + stage->error[j];
    double low = stage->low[j], high = stage->high[j];
    return smaller(smaller(down * low, up * low), smaller(down * high, up * high));
}

static void add_columns(const cb_stage *stage, tally *sum) {
    double value[LANES] = {0}, size[LANES] = {0};
    size_t columns = stage->node->columns, j = 0;
    for (; j + LANES <= columns; j += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            double term = least_of(stage, j + lane);
            value[lane] += term;
            size[lane] += fabs(term);
        }
    for (; j < columns; j++)
        add(sum, least_of(stage, j));
    sum->value += (value[0] + value[1]) + (value[2] + value[3]);
    sum->size += (size[0] + size[1]) + (size[2] + size[3]);
}

/* The least that a column of this range can add. false: there is no least. */
static bool add_least(const cb_stage *stage, size_t column, cb_range range, tally *sum) {
    double reduced = stage->reduced[column], error = stage->error[column];
    if (reduced == 0 && error == 0)
        return true;
    double down = reduced - error, up = reduced + error;
    if ((isinf(range.lower) && up > 0) || (isinf(range.upper) && down < 0))
        return false;
    double at_lower = isinf(range.lower) ? INFINITY : smaller(down * range.lower, up * range.lower);
    double at_upper = isinf(range.upper) ? INFINITY : smaller(down * range.upper, up * range.upper);
    add(sum, smaller(at_lower, at_upper));
    return true;
}

/* The columns without a near bound on one side. */
static void add_open(cb_stage *stage, tally *sum) {
    for (size_t i = 0; i < stage->opens; i++) {
        const cb_open *open = &stage->open[i];
        if (!add_least(stage, open->column, range_of(stage, open), sum))
            stage->bad[sum->bad++] = i;
    }
}

bool cb_round_slope(double *slope, double error, cb_range range, double unit, double *loss) {
    if (!is_free(cb_near(range, unit)))
        range = cb_near(range, unit);
    if (isfinite(range.lower) && isfinite(range.upper)) {
        *loss += error * fmax(fabs(range.lower), fabs(range.upper));
        return true;
    }
    if (is_free(range))
        return error == 0;
    double side = isinf(range.upper) ? fmax(0, -range.lower) : fmax(0, range.upper);
    *slope += isinf(range.upper) ? -error : error;
    *loss += 2 * error * side;
    return true;
}

static void find_slopes(cb_stage *stage, tally *sum) {
    size_t states = stage->kind->free_state ? 0 : stage->kind->problem->states;
    for (size_t s = 0; s < states; s++) {
        size_t column = stage->node->state_in[s];
        stage->slope[s] = stage->reduced[column];
        sum->lost |= !cb_round_slope(&stage->slope[s], stage->error[column], stage->node->range[column],
                                     stage->kind->problem->unit, &sum->loss);
    }
}

/* At the state. */
static void find_bound(cb_stage *stage) {
    size_t states = stage->kind->free_state ? 0 : stage->kind->problem->states;
    double size = fabs(stage->intercept);
    stage->bound = stage->intercept;
    for (size_t s = 0; s < states; s++) {
        stage->bound += stage->slope[s] * stage->state[s];
        size += fabs(stage->slope[s] * stage->state[s]);
    }
    stage->bound -= cb_rounding(states) * size;
    stage->rounding += cb_rounding(states) * size;
}

/* What the duals prove; how many columns are bad. */
static size_t prove(cb_stage *stage) {
    const cb_node *node = stage->node;
    tally sum = {.value = stage->constant, .size = fabs(stage->constant)};
    for (size_t i = 0; i < node->rows; i++)
        if (stage->dual[i] != 0)
            add(&sum, stage->dual[i] * (stage->dual[i] > 0 ? stage->row_lower[i] : stage->row_upper[i]));
    add_futures(stage, &sum);
    add_cuts(stage, &sum);
    cb_safe_reduce(stage);
    settle_free(stage, &sum);
    add_columns(stage, &sum);
    add_open(stage, &sum);
    find_slopes(stage, &sum);
    stage->rounding =
        1.001 * sum.loss +
        cb_rounding(node->rows + node->columns / LANES + 2 * LANES + stage->futures + stage->cuts) * sum.size;
    stage->intercept = sum.value - stage->rounding;
    stage->proven = sum.bad == 0 && !sum.lost && isfinite(stage->intercept);
    if (stage->proven)
        find_bound(stage);
    return sum.bad;
}

/* Which way the reduced cost of a column must go: 1, -1, or 0 if no way is right. */
static double way(cb_range range) {
    return isfinite(range.lower) ? 1 : isfinite(range.upper) ? -1 : 0;
}

/* Which columns without a bound are cheaper in the LP of an anchor. More of an incoming state, or of a column without a
 * cost, may cost nothing, and then the LP has no optimum. */
typedef enum { ALL, NO_STATES, PRICED, CHOICES } choice;

static bool is_chosen(const cb_stage *stage, size_t column, choice which) {
    bool state = cb_incoming_state(stage->node, column) != CB_NONE;
    return which == ALL || (!state && (which == NO_STATES || stage->cost[column] != 0));
}

/* They are cheaper by a share of their cost, so that duals keep away from their limits. */
static cb_lp_outcome solve_anchor(cb_stage *stage, choice which, double share) {
    const double usual = 64; /* costs are up to 1024 in an LP */
    for (const cb_open *open = stage->open; open < stage->open + stage->opens; open++) {
        size_t j = open->column;
        double cost = stage->scale * stage->unit[j] * stage->cost[j];
        double less = share * way(open->range) * (cost != 0 ? fabs(cost) : usual);
        stage->solver->set_cost(stage->lp, (int)j, is_chosen(stage, j, which) ? cost - less : cost);
    }
    return cb_lp_solve(stage->solver, stage->lp);
}

static bool is_no_optimum(cb_lp_outcome result) {
    return result != CB_LP_OPTIMAL && result != CB_LP_GAVE_UP;
}

/* As many columns, and as large a share, as leave an optimum. */
static cb_lp_outcome search_anchor(cb_stage *stage, choice first) {
    const double half = 0.5, least = 1e-6, less = 0.0625;
    cb_lp_outcome result = CB_LP_UNBOUNDED;
    for (choice which = first; which < CHOICES && is_no_optimum(result); which++)
        for (double share = half; share > least && is_no_optimum(result); share *= less)
            result = solve_anchor(stage, which, share);
    return result;
}

/* Incoming states may be anything, or the LP may have no solution; but not without limit, or it may have no optimum. */
static void confine_states(cb_stage *own) {
    for (size_t s = 0; s < own->kind->problem->states; s++) {
        size_t column = own->node->state_in[s];
        cb_range range = own->node->range[column];
        double far = CB_FAR * own->unit[column];
        if (isinf(range.lower) || isinf(range.upper))
            cb_stage_put_column(own, column, isinf(range.lower) ? fmin(-far, range.upper - far) : range.lower,
                                isinf(range.upper) ? fmax(far, range.lower + far) : range.upper);
    }
}

static void keep_anchor(cb_stage *stage, const cb_stage *own, cb_anchor *anchor) {
    const cb_node *node = stage->node;
    anchor->dual = cb_arena_alloc(&stage->memory, node->rows, sizeof *anchor->dual);
    anchor->reduced = cb_arena_alloc(&stage->memory, node->columns, sizeof *anchor->reduced);
    for (size_t i = 0; anchor->dual && i < node->rows; i++)
        anchor->dual[i] = own->dual[i];
    for (size_t j = 0; anchor->reduced && j < node->columns; j++)
        anchor->reduced[j] = own->reduced[j];
}

static cobre_status find_anchor(cb_stage *stage, size_t outcome, cb_anchor *anchor) {
    cb_stage_kind kind = {
        .problem = stage->kind->problem, .pair = {.solver = stage->kind->pair.solver}, .free_state = true};
    cb_stage *own;
    CB_TRY(cb_stage_create(&kind, stage->node, &own));
    cobre_status status = cb_stage_start(own, NULL);
    if (!status && !stage->kind->free_state)
        confine_states(own);
    if (!status)
        cb_stage_set_noise(own, stage->node->outcome + outcome * stage->node->randoms);
    cb_lp_outcome result = CB_LP_GAVE_UP;
    if (!status) /* the reduced cost of a state that is set is a slope, and may be anything */
        result = search_anchor(own, stage->kind->free_state ? ALL : NO_STATES);
    if (!status && result == CB_LP_OPTIMAL)
        status = read_duals(own);
    if (!status && result == CB_LP_OPTIMAL) {
        cb_safe_reduce(own);
        keep_anchor(stage, own, anchor);
        if (stage->memory.failed)
            status = cb_no_memory("duals of a node", stage->node->rows * sizeof *anchor->dual);
    }
    anchor->tried = true;
    cb_stage_free(own);
    return status;
}

/* How much of the anchor mends all bad columns; 2: it cannot. */
static double share_of(const cb_stage *stage, const cb_anchor *anchor, size_t bad) {
    double share = 0;
    for (size_t i = 0; i < bad; i++) {
        const cb_open *open = &stage->open[stage->bad[i]];
        size_t j = open->column;
        double sign = way(range_of(stage, open)), need = 4 * stage->error[j] - sign * stage->reduced[j],
               gain = sign * anchor->reduced[j];
        share = gain > 0 ? fmax(share, need / (need + gain)) : 2;
        if (share > 1)
            return share;
    }
    return share;
}

static void blend(cb_stage *stage, const cb_anchor *anchor, double share) {
    for (size_t i = 0; i < stage->node->rows; i++)
        stage->dual[i] =
            usable((1 - share) * stage->dual[i] + share * anchor->dual[i], stage->row_lower[i], stage->row_upper[i]);
    for (size_t i = 0; i < stage->cuts; i++)
        cb_cut_duals(stage)[i] *= 1 - share;
}

static bool has_far(const cb_stage *stage) {
    for (const cb_open *open = stage->open; open < stage->open + stage->opens; open++)
        if (open->range.lower != open->whole.lower || open->range.upper != open->whole.upper)
            return true;
    return false;
}

/* With no more than `most` of the anchor; how many columns are still bad. */
static size_t mend(cb_stage *stage, const cb_anchor *anchor, double most, size_t bad) {
    enum { TRIES = 4 };
    double more = 1;
    for (int i = 0; i < TRIES && bad > 0 && anchor->dual; i++, more *= 2) {
        double share = more * share_of(stage, anchor, bad);
        if (!(share < most))
            break;
        blend(stage, anchor, share);
        bad = prove(stage);
    }
    return bad;
}

cobre_status cb_safe_prove(cb_stage *stage, size_t outcome) {
    const double little = 0x1p-20; /* of the anchor; what needs more is better off with bounds that are far */
    stage->far = false;
    size_t bad = prove(stage);
    if (bad == 0)
        return COBRE_OK;
    if (!cb_has_random_dual(stage->node))
        outcome = 0;
    cb_anchor *anchor = &stage->anchor[outcome];
    if (!anchor->tried)
        CB_TRY(find_anchor(stage, outcome, anchor));
    bool far = has_far(stage);
    bad = mend(stage, anchor, far ? little : 1, bad);
    if (bad > 0 && far) {
        stage->far = true;
        mend(stage, anchor, 1, prove(stage));
    }
    return COBRE_OK;
}

cobre_status cb_safe_read(cb_stage *stage, size_t outcome) {
    stage->proven = false;
    CB_TRY(read_duals(stage));
    return outcome == CB_NONE ? COBRE_OK : cb_safe_prove(stage, outcome); /* ranges are those of the outcomes */
}
